#include "scenario.h"

#include "base/mem.h"
#include "base/rng.h"
#include "coord/submitters.h"

#include <stdio.h>
#include <string.h>

static const char *const fault_names[FAULT_KINDS] = {
	[FAULT_KILL] = "kill", [FAULT_CRASH] = "crash",
	[FAULT_FREEZE] = "freeze", [FAULT_CUT] = "cut",
	[FAULT_BLOCK] = "block", [FAULT_SPLIT] = "split",
	[FAULT_SLOW] = "slow", [FAULT_FULL] = "full",
	[FAULT_CLOCK] = "clock", [FAULT_SUSPEND] = "suspend",
	[FAULT_ADD] = "add", [FAULT_LEAVE] = "leave",
	[FAULT_POWER] = "power", [FAULT_AGE] = "age",
	[FAULT_EVALUATE] = "evaluate"
};

const char *const scenario_warnings[WARNINGS] = {
	"", " takes over", " is back after ", " has a standby ", " hangs",
	" is gone", "goes on without one"
};

const char *
fault_name(enum fault_kind kind)
{
	return fault_names[kind];
}

static bool
chance(struct rng *r, uint64_t in)
{
	return rng_below(r, in) == 0;
}

static uint64_t
between(struct rng *r, uint64_t least, uint64_t most)
{
	return least + rng_below(r, most - least + 1);
}

/* Returns a number up to most; small ones are about as likely as large ones. */
static uint64_t
skewed(struct rng *r, uint64_t most)
{
	return most == 0 ? 0 : rng_below(r, 1 + (most >> rng_below(r, 8)));
}

/* ---- the cluster ---- */

static void
draw_mode(struct scenario *s, struct rng *r)
{
	struct coord_options *o = &s->o;

	o->mode = (enum mode)rng_below(r, 3);
	if (o->mode == MODE_SSP)
		o->ahead = rng_below(r, 6);
	if (o->mode != MODE_SYNC)
		return;
	o->replicas = (uint64_t)1 << rng_below(r, 3);
	o->backup = rng_below(r, 3);
	if (!s->sampler && chance(r, 3))
		o->replicas = rng_below(r, 6);
}

static void
draw_servers(struct scenario *s, struct rng *r)
{
	const uint64_t durable = rng_below(r, 4);

	s->o.servers = between(r, 1, MAX_SERVERS);
	for (size_t i = 0; i < s->o.servers; i++) {
		char endpoint[32];

		snprintf(endpoint, sizeof(endpoint), "node:%zu",
			 FIRST_SERVER + i);
		s->endpoint[i] = mem_text(endpoint);
		s->wal[i] = durable == 1;
		s->standby[i] = durable >= 2 && chance(r, 4 - durable);
		s->standby_at[i] = skewed(r, 3000);
		s->load_ms[i] = chance(r, 3) ? skewed(r, 2000) : 0;
	}
	s->o.server = s->endpoint;
	s->informed = chance(r, 2);
	s->registers = chance(r, 3);
	if (s->registers)
		s->o.server = s->registered;
}

static void
draw_workers(struct scenario *s, struct rng *r)
{
	static const uint64_t usual[] = { 0, 2, 10, 40 };
	const uint64_t compute = usual[rng_below(r, 4)];

	s->workers = between(r, 1, 5);
	for (size_t i = 0; i < MAX_WORKERS; i++) {
		s->prefetch[i] = chance(r, 2);
		s->overlap[i] = !chance(r, 4);
		s->compute_ms[i] = compute + skewed(r, chance(r, 8) ? 200 :
						    compute);
	}
	/* One worker is often so slow that the others run ahead of it. */
	if (chance(r, 3))
		s->compute_ms[0] = 1 + compute *
			between(r, 2, chance(r, 2) ? 5 : 30);
	/* Keep steps shorter than a lease: unlike a real worker, this one sends
	   no heartbeat while it computes. */
	if (s->compute_ms[0] > s->o.lease_ms / 2)
		s->compute_ms[0] = s->o.lease_ms / 2;
}

static void
draw_network(struct scenario *s, struct rng *r)
{
	struct network_options *n = &s->network;
	const uint64_t lease = s->o.lease_ms;
	const uint64_t far = 1000 * (lease / 16 < ROUND_TRIP_MAX_MS / 2 ?
				     lease / 16 : ROUND_TRIP_MAX_MS / 2);
	const bool uneven = chance(r, 3);
	const uint64_t usual = chance(r, 4) ? rng_below(r, far) :
		rng_below(r, 2000);

	n->seed = rng_next(r);
	n->jitter_us = skewed(r, 3000);
	n->silence_ms = lease;
	n->redial_ms = 100;
	for (int i = 0; i < OLD_NODES; i++)
		for (int k = 0; k < OLD_NODES; k++)
			n->delay_us[i][k] = uneven && chance(r, 4) ?
				rng_below(r, far) : usual;
}

uint64_t
scenario_step_records(const struct scenario *s)
{
	return s->o.batch * s->o.batches *
		(s->o.mode == MODE_SYNC ? s->o.replicas : 1);
}

static void
draw_data(struct scenario *s, struct rng *r)
{
	const uint64_t of_a_step = scenario_step_records(s);
	uint64_t steps, most;

	if (!s->sampler)
		return;
	most = 340 / of_a_step;		/* the check at the end pulls all rows
					   at once */
	s->shuffle = chance(r, 2);
	s->files = between(r, 1, 3);
	/* All steps are full, so that each record has the same weight. */
	steps = chance(r, 2) ? between(r, 3, 20) :
		between(r, 20, 320 / of_a_step > 20 ? 320 / of_a_step : 20);
	if (steps > most)
		steps = most;
	s->file_records = of_a_step * steps;
}

/*
 * The second data set has another length than the first: it ends earlier or
 * later than that.  It has a generator of its own, so that old seeds draw as
 * before.
 */
static void
draw_second(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x7365636f6e64) };
	uint64_t of_a_step, most;

	if (!s->sets || !s->sampler || chance(&rng, 4))
		return;
	of_a_step = scenario_step_records(s);
	most = 340 / of_a_step;
	s->second_files = between(&rng, 1, 2);
	s->second_records = of_a_step * between(&rng, 1, most < 30 ? most :
						30);
	for (size_t i = 0; i < 2; i++)
		s->ends[i] = chance(&rng, 5);
}

bool
scenario_counts_second(const struct scenario *s, size_t request)
{
	return s->second_records > 0 && request % 2 > 0 &&
		rng_mix(s->seed ^ request) % 2 > 0;
}

static void
draw_end(struct scenario *s)
{
	if (!s->own || rng_mix(s->seed ^ 6) % 2 > 0)
		return;
	s->flaw = FLAW_READ;
	s->flaw_in = 10 + rng_mix(s->seed ^ 7) % 100;
}

static void
draw_flaw(struct scenario *s, struct rng *r)
{
	static const uint64_t in[] = { 3, 10, 40, 150 };

	if (!chance(r, 3))
		return;
	s->flaw = (enum flaw)between(r, FLAW_VALUE, FLAWS - 1);
	s->flaw_in = in[rng_below(r, 4)];
	s->o.keep_going = !chance(r, 4);
	/* A slow worker is often still at an earlier step when the others come
	   to the bad record. */
	if (chance(r, 2)) {
		s->workers = between(r, 3, 5);
		s->compute_ms[0] = between(r, 50, 400);
	}
}

/* The result of several local steps equals that of one step only if all their
   batches can be read. */
static void
draw_local(struct scenario *s)
{
	s->local = !s->program && rng_mix(s->seed ^ 12) % 3 == 0 &&
		(s->o.batches == 1 || s->flaw != FLAW_READ);
	s->o.in_line = s->local;
}

static void
draw_requests(struct scenario *s, struct rng *r)
{
	static const char barrier[] = { 'j', 'e', 's', 'p', 'x' };
	const size_t count = between(r, 2, 10);

	for (size_t i = 0; i < count; i++) {
		struct ask_line *a = &s->ask[s->asks++];

		a->op = 't';
		a->steps = between(r, 1, chance(r, 4) ? 150 : 40);
		a->batch = between(r, 3, 5);
		a->wait_ms = chance(r, 3) ? skewed(r, 1000) : 0;
		if (s->sampler && chance(r, 3))
			a->op = 'p';
		else if (chance(r, 3))
			a->op = barrier[rng_below(r, 3)];
		if (a->op == 't' && chance(r, 6))
			a->op = 'u';
		if (a->op == 's' && !s->o.checkpoint)
			a->op = 'j';
		if (s->o.keep_going && chance(r, 8))
			a->op = 'x';
		if (a->op == 'p')
			a->steps = between(r, 1, 2);
	}
	s->ask[s->asks++] = (struct ask_line){ .op = 't', .batch = 4,
					       .steps = between(r, 1, 20) };
	s->ask[s->asks++] = (struct ask_line){ .op = 'e' };
	s->ask[s->asks++] = (struct ask_line){ .op = 'j' };
	s->heard = s->asks;
	if (!chance(r, 12))
		return;
	s->heard = between(r, 1, s->asks - 1);
	s->ask[s->heard].op = 'q';
}

/* ---- faults ---- */

/* Each row has messages of one subject, so that the faults of a seed affect the
   same part of the protocol. */
static const enum message_kind subjects[][8] = {
	{ MESSAGE_HELLO, MESSAGE_WELCOME, MESSAGE_REFUSED, MESSAGE_OK,
	  MESSAGE_PLAN, MESSAGE_MARK, MESSAGE_LOAD, MESSAGE_READY },
	{ MESSAGE_STANDBY, MESSAGE_STANDBY, MESSAGE_SYNC, MESSAGE_STATE,
	  MESSAGE_HELD, MESSAGE_PLAN, MESSAGE_WELCOME, MESSAGE_OK },
	{ MESSAGE_FREEZE, MESSAGE_THAW, MESSAGE_SAVE, MESSAGE_SAVED,
	  MESSAGE_SAVED, MESSAGE_LOAD, MESSAGE_MARK, MESSAGE_CUT },
	{ MESSAGE_PULL, MESSAGE_PUSH, MESSAGE_PUSHPULL, MESSAGE_LEASE,
	  MESSAGE_DONE, MESSAGE_COMMIT, MESSAGE_COMMIT, MESSAGE_LOST },
	{ MESSAGE_FAILED, MESSAGE_CANCEL, MESSAGE_VOID, MESSAGE_VOID,
	  MESSAGE_OK, MESSAGE_DONE, MESSAGE_LEASE, MESSAGE_PLAN },
	{ MESSAGE_INDEX, MESSAGE_INDEXED, MESSAGE_EVALUATE,
	  MESSAGE_EVALUATED, MESSAGE_LEASE, MESSAGE_DONE, MESSAGE_PLAN,
	  MESSAGE_MARK }
};

#define SUBJECTS	(sizeof(subjects) / sizeof(subjects[0]))
#define SUBJECT_SAVE	2
#define SUBJECT_VOID	4

/* One server of each seed has most faults, so that some come while it
   recovers. */
static int
draw_server_node(const struct scenario *s, struct rng *r)
{
	const int i = chance(r, 3) ? (int)rng_below(r, s->o.servers) :
		(int)(s->seed % s->o.servers);

	return s->standby[i] && chance(r, 3) ? FIRST_STANDBY + i :
		FIRST_SERVER + i;
}

/* The first worker has most faults: it may be the slowest. */
static int
draw_worker_node(const struct scenario *s, struct rng *r)
{
	return FIRST_WORKER + (chance(r, 2) ? 0 :
			       (int)rng_below(r, s->workers));
}

static int
draw_node(const struct scenario *s, struct rng *r)
{
	switch (rng_below(r, s->journal ? 6 : 4)) {
	case 0:
		return draw_worker_node(s, r);
	case 4:
		return COORDINATOR;
	default:
		return draw_server_node(s, r);
	}
}

static uint64_t
draw_span(const struct scenario *s, struct rng *r)
{
	switch (rng_below(r, 4)) {
	case 0:
		return rng_below(r, 30);
	case 1:
		return rng_below(r, 300);
	case 2:
		return rng_below(r, s->o.lease_ms);
	default:
		return rng_below(r, 4 * s->o.lease_ms);
	}
}

/* Each seed has its own few kinds of faults and messages, so that a combination
   that is rare over all seeds is common in some (swarm testing: Groce et al.,
   2012). */
struct swarm {
	enum fault_kind kind[24];
	size_t kinds;
	enum message_kind message[3];
};

/* Draws a row of subjects whose messages occur in this run. */
static size_t
draw_subject(const struct scenario *s, struct rng *r)
{
	if (s->flaw && s->o.keep_going && chance(r, 2))
		return SUBJECT_VOID;
	if (s->o.checkpoint && chance(r, 3))
		return SUBJECT_SAVE;
	return rng_below(r, SUBJECTS);
}

static void
draw_swarm(const struct scenario *s, struct swarm *w, struct rng *r)
{
	static const enum fault_kind kind[] = {
		FAULT_KILL, FAULT_KILL, FAULT_KILL, FAULT_CRASH, FAULT_CRASH,
		FAULT_FREEZE,
		FAULT_CUT, FAULT_CUT, FAULT_BLOCK, FAULT_SPLIT, FAULT_SLOW,
		FAULT_FULL, FAULT_CLOCK, FAULT_SUSPEND, FAULT_ADD,
		FAULT_LEAVE, FAULT_LEAVE, FAULT_POWER, FAULT_AGE,
		FAULT_EVALUATE, FAULT_EVALUATE
	};
	const size_t kinds = sizeof(kind) / sizeof(kind[0]);
	const size_t subject = draw_subject(s, r);

	*w = (struct swarm){ .kinds = 0 };
	/* An older log or journal may end a run early.  So this fault is rare,
	   unless servers have logs. */
	for (size_t i = 0; i < kinds; i++)
		if (chance(r, 3) && (kind[i] != FAULT_AGE || s->wal[0] ||
				     chance(r, 2)))
			w->kind[w->kinds++] = kind[i];
	w->kind[w->kinds++] = FAULT_KILL;
	for (size_t i = 0; i < 3; i++)
		w->message[i] = subjects[i == 0 ? rng_below(r, SUBJECTS) :
					 subject][rng_below(r, 8)];
}

static void
draw_trigger(const struct scenario *s, struct rng *r, struct fault *f,
	     const struct swarm *w)
{
	static const enum trigger usual[] = {
		AT_TIME, AT_STEPS, AT_MESSAGE, AT_MESSAGE, AT_WARNING,
		AT_PUBLISH, AFTER_LAST, AFTER_LAST
	};

	/* Often a fault follows soon after the one before it. */
	f->trigger = usual[rng_below(r, sizeof(usual) / sizeof(usual[0]))];
	if (s->faults == 0 && f->trigger == AFTER_LAST)
		f->trigger = AT_MESSAGE;
	f->later = chance(r, 2) ? 0 : skewed(r, f->trigger == AFTER_LAST ?
					     4000 : 500);
	switch (f->trigger) {
	case AT_TIME:
		f->nth = skewed(r, 20000);
		break;
	case AT_STEPS:
		f->nth = rng_below(r, 150);
		break;
	case AT_MESSAGE:
		f->message = w->message[rng_below(r, 3)];
		f->nth = 1 + (chance(r, 2) ? rng_below(r, 4) :
			      skewed(r, 60));
		f->target = (enum target)rng_below(r, 3);
		break;
	case AT_WARNING:
		f->words = chance(r, 3) ? 0 : rng_below(r, WARNINGS);
		if (s->standby[s->seed % s->o.servers] && chance(r, 3))
			f->words = WARNING_TAKES_OVER;
		f->nth = 1 + rng_below(r, f->words == 0 ? 6 : 2);
		break;
	case AT_PUBLISH:
		f->nth = 1 + rng_below(r, 4);
		f->later = chance(r, 2) ? 0 : skewed(r, s->publish_ms);
		break;
	default:
		break;
	}
}

bool
scenario_fits(const struct scenario *s, enum fault_kind kind, int node)
{
	switch (kind) {
	case FAULT_KILL:
	case FAULT_CRASH:
	case FAULT_FULL:
		return s->journal || node != COORDINATOR;
	case FAULT_LEAVE:
		return s->workers > 1;
	case FAULT_AGE:
		if (node == COORDINATOR)
			return s->journal;
		return node >= FIRST_SERVER &&
			node < FIRST_SERVER + MAX_SERVERS &&
			s->wal[node - FIRST_SERVER];
	default:
		return true;
	}
}

static void
add_fault(struct scenario *s, const struct fault *f)
{
	if (scenario_fits(s, f->kind, f->node) && s->faults < MAX_FAULTS)
		s->fault[s->faults++] = *f;
}

/*
 * A main thread may hang so long that the coordinator removes the process, but
 * not so long that it ends the run.  Only a worker may hang longer, if other
 * workers can do its steps.
 */
static uint64_t
draw_hang(const struct scenario *s, struct rng *r, int node)
{
	const uint64_t most = s->o.patience_ms / 4;
	const uint64_t span = rng_below(r, 12 * s->o.lease_ms);

	if (node >= FIRST_WORKER && s->workers > 1 && chance(r, 2))
		return between(r, 2 * s->o.lease_ms, 2 * s->o.patience_ms);
	return span > most ? most : span;
}

static void
draw_fault(struct scenario *s, struct rng *r, const struct swarm *w)
{
	struct fault f = { .kind = w->kind[rng_below(r, w->kinds)] };

	draw_trigger(s, r, &f, w);
	f.node = f.kind == FAULT_LEAVE ? draw_worker_node(s, r) :
		draw_node(s, r);
	if (f.kind == FAULT_AGE)
		f.node = s->wal[0] ? draw_server_node(s, r) : COORDINATOR;
	/* The journal may lack the steps that were just reported or
	   published. */
	if (((f.trigger == AT_WARNING && f.words > 0) ||
	     f.trigger == AT_PUBLISH) && s->journal && chance(r, 2)) {
		f.kind = FAULT_CRASH;
		f.node = COORDINATOR;
	}
	f.other = draw_node(s, r);
	f.span = draw_span(s, r);
	if (f.kind == FAULT_FREEZE)
		f.span = draw_hang(s, r, f.node);
	/* Half of the evaluators are never killed. */
	if (f.kind == FAULT_EVALUATE && chance(r, 2))
		f.span = NEVER;
	/* A worker that leaves early leaves more records unread than the others
	   may read ahead. */
	if (f.kind == FAULT_LEAVE && s->sampler && chance(r, 2)) {
		f.trigger = AT_STEPS;
		f.nth = 1 + rng_below(r, 30);
		f.later = 0;
		f.node = FIRST_WORKER;
	}
	/* A worker need not be started again; kill_process() keeps one of
	   them. */
	if (f.kind == FAULT_KILL && chance(r, 2))
		f.span = chance(r, 2) ? NEVER : 0;
	add_fault(s, &f);
	/* Often a server is killed soon after: the standby, or another one. */
	if (f.kind == FAULT_KILL && f.node != COORDINATOR && chance(r, 3)) {
		f.trigger = AFTER_LAST;
		f.later = chance(r, 2) ? 0 : rng_below(r, 100);
		f.target = TARGET_NODE;
		f.node = draw_server_node(s, r);
		add_fault(s, &f);
	}
}

/* Some variables may be placed on a range of servers. */
static void
draw_ranges(struct scenario *s)
{
	static const char *const patterns[] = { "e*", "d/*", "*" };
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x706c616365) };
	struct fail f;

	if (chance(&rng, 4)) {
		placement_beside(&s->o.placement,
				 between(&rng, 1, s->o.servers), s->o.servers);
		s->o.partitioner.kind = chance(&rng, 2) ? PARTITION_SPREAD :
			s->o.partitioner.kind;
	}
	for (size_t i = 0; i < 3; i++) {
		const uint64_t first = rng_below(&rng, s->o.servers);
		const uint64_t last = between(&rng, first, s->o.servers - 1);
		char text[64];

		if (!chance(&rng, 6))
			continue;
		snprintf(text, sizeof(text), "%s@%d-%d", patterns[i],
			 (int)first, (int)last);
		if (placement_add(&s->o.placement, text, &f) < 0)
			abort();
	}
}

/* Some variables may travel in another codec than the others, from some step
   on. */
static void
draw_codings(struct scenario *s)
{
	static const char *const patterns[] = { "e*", "d/*", "*" };
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x636f6465) };
	struct coding_rule *head[WAYS] = { &s->o.push, &s->o.pull };

	for (int way = 0; way < WAYS; way++) {
		if (chance(&rng, 4))
			head[way]->from = skewed(&rng, 200);
		if (!chance(&rng, 3))
			continue;
		s->rule[way] = (struct coding_rule){
			.codec = codec_find(rng_below(&rng, CODECS)),
			.from = chance(&rng, 2) ? skewed(&rng, 200) : 0,
			.pattern = patterns[rng_below(&rng, 3)],
			.option = "--wire", .text = "drawn", .both = true
		};
		head[way]->next = &s->rule[way];
	}
	/* bfloat16 has 8 bits, too few for weights that count steps; their
	   differences from the round before are small, and exact in it. */
	for (struct coding_rule *r = &s->o.pull; r; r = r->next)
		if (s->o.mode == MODE_SYNC && chance(&rng, 3)) {
			r->codec = &codec_bfloat16;
			r->delta = true;
		}
}

/* Adds W (program.h): it is larger than a block of a codec, and its changes are
   pulled in few bits. */
static void
draw_wide(struct scenario *s)
{
	static const struct coding_rule few[] = {
		{ .codec = &codec_int8, .delta = true },
		{ .codec = &codec_onebit, .delta = true },
		{ .codec = &codec_topk, .delta = true, .keep = 512 }
	};
	struct coding_rule *head[WAYS] = { &s->o.push, &s->o.pull };
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x77696465) };

	if (!s->program || s->lines || s->o.mode != MODE_SYNC)
		return;
	/* Weights count gradients, so gradients must be exact, or residuals
	   must be kept. */
	s->wide[WAY_PULL] = few[rng_below(&rng, 3)];
	s->wide[WAY_PULL].from = chance(&rng, 3) ? skewed(&rng, 50) : 0;
	s->wide[WAY_PUSH] = few[between(&rng, 1, 2)];
	s->wide[WAY_PUSH].delta = false;
	if (chance(&rng, 4))
		s->wide[WAY_PUSH].codec = &codec_float32;
	s->wide[WAY_PUSH].from = chance(&rng, 3) ? skewed(&rng, 50) : 0;
	for (int way = 0; way < WAYS; way++) {
		s->wide[way].pattern = "W";
		s->wide[way].option = "--wire";
		s->wide[way].text = "drawn";
		s->wide[way].both = true;
		s->wide[way].next = head[way]->next;
		head[way]->next = &s->wide[way];
	}
}

/* The times at which a fault may come: at one of these messages, either one of
   the first few of a kind or up to the many-th, or within ms milliseconds. */
struct moments {
	const enum message_kind *message;
	size_t messages;
	uint64_t ms, few, many;
};

static void
draw_moment(const struct scenario *s, struct rng *r, struct fault *f,
	    const struct moments *m)
{
	f->trigger = chance(r, 4) ? AT_TIME : chance(r, 3) ? AT_STEPS :
		AT_MESSAGE;
	if (s->faults > 0 && chance(r, 4))
		f->trigger = AFTER_LAST;
	f->message = m->message[rng_below(r, m->messages)];
	f->nth = f->trigger == AT_TIME ? skewed(r, m->ms) :
		f->trigger == AT_STEPS ? rng_below(r, 150) :
		1 + (chance(r, 2) ? rng_below(r, m->few) :
		     skewed(r, m->many));
	f->later = chance(r, 2) ? 0 : skewed(r, 500);
	f->span = draw_span(s, r);
}

/* ---- relays ---- */

/* Relays die, hang, and lose connections. */
static void
draw_relay_fault(struct scenario *s, struct rng *r)
{
	static const enum fault_kind kind[] = {
		FAULT_KILL, FAULT_KILL, FAULT_KILL, FAULT_CRASH, FAULT_FREEZE,
		FAULT_FREEZE, FAULT_CUT, FAULT_BLOCK, FAULT_SPLIT,
		FAULT_SPLIT, FAULT_SLOW
	};
	static const enum message_kind message[] = {
		MESSAGE_PUSH, MESSAGE_PUSHPULL, MESSAGE_PULL, MESSAGE_VALUES,
		MESSAGE_BUNDLE, MESSAGE_BUNDLE, MESSAGE_RELAY, MESSAGE_PLAN,
		MESSAGE_CHECK, MESSAGE_MISSING
	};
	struct fault f = { .kind = kind[rng_below(r, 11)] };

	f.node = FIRST_RELAY + (int)rng_below(r, s->relays);
	f.other = chance(r, 4) ? COORDINATOR :
		chance(r, 2) ? FIRST_WORKER + (int)rng_below(r, s->workers) :
		FIRST_SERVER + (int)rng_below(r, s->o.servers);
	draw_moment(s, r, &f, &(struct moments){ message, 10, 8000, 8, 200 });
	if (f.kind == FAULT_KILL && chance(r, 4))
		f.span = NEVER;
	add_fault(s, &f);
}

/* Kills a worker or a relay after servers acknowledged its sum, before it
   reports that: the replica is computed again while servers have the sum. */
static void
draw_answered_fault(struct scenario *s, struct rng *r)
{
	const struct fault f = {
		.kind = chance(r, 4) ? FAULT_CUT : FAULT_KILL,
		.trigger = AT_MESSAGE, .target = TARGET_RECEIVER,
		.message = MESSAGE_VALUES,
		.nth = rng_below(r, chance(r, 2) ? 600 : 6000),
		.other = COORDINATOR, .span = skewed(r, 500)
	};

	add_fault(s, &f);
}

/* Draws so many workers that each has one replica, and sites whose replicas
   form whole nodes of the tree of sums, so that relays may add up their
   pushes. */
static void
draw_whole_sites(struct scenario *s, struct rng *r)
{
	const size_t each = chance(r, 2) ? MAX_WORKERS : 2;
	const size_t most = s->o.replicas + rng_below(r, 2);

	if (s->workers < most)
		s->workers = most < MAX_WORKERS ? most : MAX_WORKERS;
	for (size_t i = 0; i < MAX_WORKERS; i++)
		s->worker_site[i] = i / each % s->relays;
	for (uint64_t i = rng_below(r, 8); i > 0; i--)
		draw_answered_fault(s, r);
}

/* It has a generator of its own, so that old seeds draw as before. */
static void
draw_relays(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x72656c6179) };
	const uint64_t far = 1000 * s->o.lease_ms / 16;
	const uint64_t most = chance(&rng, 4) ? far : 2000;
	size_t faults;

	if (!chance(&rng, s->o.mode == MODE_SYNC ? 2 : 3))
		return;
	s->relays = between(&rng, 1, MAX_RELAYS);
	for (size_t i = 0; i < MAX_WORKERS; i++)
		s->worker_site[i] = chance(&rng, 5) ? 9 :
			rng_below(&rng, s->relays);
	for (size_t i = 0; i < s->relays; i++) {
		/* Two relays of one site: the second is the successor. */
		s->relay_site[i] = chance(&rng, 3) ? 0 : i;
		s->relay_at[i] = skewed(&rng, 8000);
	}
	for (int i = 0; i < NETWORK_NODES; i++)
		for (int k = 0; k < NETWORK_NODES; k++)
			if (i >= OLD_NODES || k >= OLD_NODES)
				s->network.delay_us[i][k] =
					rng_below(&rng, most);
	faults = chance(&rng, 4) ? 0 : between(&rng, 1, 6);
	for (size_t i = 0; i < faults; i++)
		draw_relay_fault(s, &rng);
	if (s->o.mode == MODE_SYNC && !chance(&rng, 4))
		draw_whole_sites(s, &rng);
}

/* ---- backups ---- */

/* Lets a worker hang when it is leased a replica, or when its replica is
   cancelled, since another worker has done it; or kills a worker, and soon
   after its restart lets a worker hang that may have taken over its replica. */
static void
draw_hung_fault(struct scenario *s, struct rng *r)
{
	struct fault f = {
		.kind = FAULT_FREEZE, .trigger = AT_MESSAGE,
		.message = chance(r, 3) ? MESSAGE_CANCEL : MESSAGE_LEASE,
		.target = TARGET_RECEIVER, .nth = 1 + skewed(r, 300),
		.node = FIRST_WORKER, .other = COORDINATOR,
		.span = between(r, s->o.lease_ms / 2, 2 * s->o.lease_ms)
	};
	struct fault before = f;

	if (chance(r, 2)) {
		before.kind = FAULT_KILL;
		before.message = MESSAGE_LEASE;
		before.span = skewed(r, 300);
		add_fault(s, &before);
		f.trigger = AFTER_LAST;
		f.target = TARGET_NODE;
		f.node = FIRST_WORKER + (int)rng_below(r, s->workers);
		f.later = skewed(r, 400);
	}
	add_fault(s, &f);
}

/* Draws as many workers as replicas and backups, and few other faults, with a
   generator of its own. */
static void
draw_backups(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x6261636b7570) };
	struct rng *r = &rng;

	if (s->o.mode != MODE_SYNC || s->o.replicas == 0 ||
	    s->o.backup == 0 || s->relays > 0 || !chance(r, 2))
		return;
	s->workers = s->o.replicas + s->o.backup;
	s->faults = chance(r, 4) ? s->faults : 0;
	for (uint64_t i = between(r, 1, 4); i > 0; i--)
		draw_hung_fault(s, r);
}

/* ---- many submitters ---- */

static void
draw_asks(struct scenario *s, struct submitter_plan *p, struct rng *r)
{
	static const char barrier[] = { 'j', 'e', 's', 'j' };
	const size_t count = between(r, 1, 10);

	for (size_t i = 0; i < count; i++) {
		struct ask_line *a = &p->ask[p->asks++];

		a->op = 't';
		a->steps = between(r, 1, chance(r, 4) ? 80 : 20);
		a->batch = between(r, 3, 5);
		a->wait_ms = chance(r, 3) ? skewed(r, 1000) : 0;
		a->priority = chance(r, 4) ? rng_below(r, 3) : 0;
		if (chance(r, 4))
			a->op = barrier[rng_below(r, 4)];
		else if (chance(r, 8))
			a->op = chance(r, 2) ? 'u' : 'x';
		else if (i > 0 && chance(r, 6))
			a->op = 'c';
		if (s->sampler && chance(r, 8))
			a->op = 'p';
		if (a->op == 's' && !s->o.checkpoint)
			a->op = 'j';
		if (a->op == 'p')
			a->steps = 1;
		a->target = i > 0 ? rng_below(r, i) : 0;
	}
	p->ask[p->asks++] = (struct ask_line){ .op = 't', .batch = 4,
					       .steps = between(r, 1, 8) };
	p->ask[p->asks++] = (struct ask_line){ .op = 'j' };
}

/* Submitters die and are started again, and so is the coordinator. */
static void
draw_submitter_fault(struct scenario *s, struct rng *r)
{
	static const enum fault_kind kind[] = {
		FAULT_KILL, FAULT_KILL, FAULT_KILL, FAULT_CRASH, FAULT_CRASH,
		FAULT_CUT, FAULT_FREEZE, FAULT_FULL
	};
	static const enum message_kind message[] = {
		MESSAGE_SUBMIT, MESSAGE_RESULTS, MESSAGE_RESULTS, MESSAGE_DONE,
		MESSAGE_LEASE
	};
	struct fault f = { .kind = kind[rng_below(r, 8)] };
	const bool coordinator = s->journal && chance(r, 2);

	f.node = coordinator ? COORDINATOR :
		FIRST_SUBMITTER + (int)rng_below(r, s->submitters);
	f.other = coordinator ? FIRST_SUBMITTER : COORDINATOR;
	draw_moment(s, r, &f, &(struct moments){ message, 5, 5000, 4, 60 });
	if (f.kind == FAULT_FREEZE)
		f.span = draw_hang(s, r, COORDINATOR);
	add_fault(s, &f);
}

/* It has a generator of its own, so that old seeds draw as before. */
static void
draw_queue(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x7175657565) };
	struct rng *r = &rng;
	size_t faults;

	if (!chance(r, 4) || scenario_may_fail(s))
		return;
	s->o.queue = true;
	s->o.forget_ms = 24 * 3600 * 1000;
	s->submitters = between(r, 1, MAX_SUBMITTERS);
	if (s->ask[s->heard].op == 'q')
		s->ask[s->heard].op = 'j';
	s->heard = s->asks;
	for (size_t i = 0; i < s->submitters; i++) {
		struct submitter_plan *p = &s->submitter[i];

		p->wishes = SUBMITTER_DETACH |
			(chance(r, 2) ? SUBMITTER_KEEP_GOING : 0);
		p->at_ms = skewed(r, 3000);
		draw_asks(s, p, r);
	}
	s->submitter[MAX_SUBMITTERS] = (struct submitter_plan){
		.ask = { { .op = 'q' } }, .asks = 1,
		.wishes = SUBMITTER_DETACH
	};
	faults = chance(r, 4) ? 0 : between(r, 1, 6);
	for (size_t i = 0; i < faults; i++)
		draw_submitter_fault(s, r);
}

/* ---- while steps are given up ---- */

/* A server loses its variables when a step has failed, or soon before the next
   one fails: its steps are run again while others are given up. */
static void
draw_failing_fault(struct scenario *s, struct rng *r)
{
	static const enum message_kind message[] = {
		MESSAGE_FAILED, MESSAGE_FAILED, MESSAGE_CANCEL, MESSAGE_LEASE
	};

	add_fault(s, &(struct fault){
		.kind = FAULT_CRASH, .trigger = AT_MESSAGE,
		.target = TARGET_NODE,
		.message = message[rng_below(r, 4)],
		.nth = 1 + rng_below(r, 4), .other = COORDINATOR,
		.later = chance(r, 2) ? 0 : skewed(r, 500),
		.node = FIRST_SERVER + (int)rng_below(r, s->o.servers),
		.span = skewed(r, 300)
	});
}

/* A worker hangs for longer than a lease, and pushes when nobody waits for it
   any more. */
static void
draw_late_fault(struct scenario *s, struct rng *r)
{
	add_fault(s, &(struct fault){
		.kind = FAULT_FREEZE, .trigger = AT_MESSAGE,
		.target = TARGET_RECEIVER, .message = MESSAGE_LEASE,
		.nth = 1 + skewed(r, 60), .node = FIRST_WORKER,
		.other = COORDINATOR, .later = skewed(r, 60),
		.span = between(r, s->o.lease_ms, 3 * s->o.lease_ms)
	});
}

/* A worker dies while steps are given up; its last pushes are still on a slow
   link, and arrive when the server has been told to refuse them. */
static void
draw_dead_push(struct scenario *s, struct rng *r)
{
	static const enum message_kind message[] = {
		MESSAGE_FAILED, MESSAGE_CANCEL, MESSAGE_SUBMIT, MESSAGE_LEASE
	};
	const int worker = FIRST_WORKER + (int)rng_below(r, s->workers);

	add_fault(s, &(struct fault){
		.kind = FAULT_SLOW, .trigger = AT_TIME,
		.nth = skewed(r, 2000), .node = worker,
		.other = FIRST_SERVER + (int)rng_below(r, s->o.servers),
		.span = 1000 + skewed(r, 60000)
	});
	add_fault(s, &(struct fault){
		.kind = FAULT_KILL, .trigger = AT_MESSAGE,
		.message = message[rng_below(r, 4)],
		.nth = 1 + skewed(r, 30), .target = TARGET_NODE,
		.node = worker, .other = COORDINATOR,
		.later = chance(r, 2) ? 0 : skewed(r, 300),
		.span = chance(r, 2) ? NEVER : skewed(r, 20000)
	});
}

static bool
has_cancel(const struct scenario *s)
{
	for (size_t i = 0; i < s->submitters; i++)
		for (size_t k = 0; k < s->submitter[i].asks; k++)
			if (s->submitter[i].ask[k].op == 'c')
				return true;
	return false;
}

/* It has a generator of its own, so that old seeds draw as before. */
static void
draw_given_up(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x676976656e) };
	struct rng *r = &rng;

	if ((!s->flaw && !has_cancel(s)) || !chance(r, 2))
		return;
	s->faults = chance(r, 2) ? s->faults : 0;
	/* Nobody else may push, so that only the late push reaches a server. */
	if (s->o.mode != MODE_SYNC && chance(r, 2))
		s->workers = between(r, 1, 2);
	for (uint64_t i = rng_below(r, 4); s->flaw && i > 0; i--)
		draw_failing_fault(s, r);
	for (uint64_t i = rng_below(r, 4); i > 0; i--)
		chance(r, 2) ? draw_late_fault(s, r) : draw_dead_push(s, r);
}

/* Turns some evaluations, and some steps, into evaluations in the background,
   with a generator of its own. */
static void
draw_background(struct scenario *s)
{
	struct rng rng = { .seed = rng_mix(s->seed ^ 0x6261636b) };

	if (chance(&rng, 2))
		return;
	for (size_t k = 0; k <= s->submitters; k++) {
		struct ask_line *ask = k == 0 ? s->ask :
			s->submitter[k - 1].ask;
		const size_t asks = k == 0 ? s->asks - 3 :
			s->submitter[k - 1].asks;

		for (size_t i = 0; i < asks; i++)
			if ((ask[i].op == 'e' && !chance(&rng, 3)) ||
			    (ask[i].op == 't' && chance(&rng, 5)))
				ask[i].op = 'b';
	}
}

const struct ask_line *
scenario_asks(const struct scenario *s, size_t owner, size_t *asks)
{
	*asks = owner == 0 ? s->heard : s->submitter[owner - 1].asks;
	return owner == 0 ? s->ask : s->submitter[owner - 1].ask;
}

void
scenario_draw(struct scenario *s, uint64_t seed)
{
	static const uint64_t leases[] = { 500, 1000, 4000, 10000 };
	struct rng rng = { .seed = rng_mix(seed) }, *r = &rng;
	struct swarm swarm;
	const size_t faults = chance(r, 10) ? 0 : between(r, 1, 10);

	*s = (struct scenario){ .seed = seed };
	s->o = (struct coord_options){
		.endpoint = "node:0",
		.partitioner = { .kind = PARTITION_FIXED,
				 .shards = between(r, 1, 3) },
		.placement.rule = chance(r, 2) ? PLACE_ROUND_ROBIN :
			PLACE_BALANCED,
		.seed = seed, .batch = (uint64_t)1 << rng_below(r, 3),
		.pack = chance(r, 2) ? 1 : between(r, 1, 4),
		.in_flight = between(r, 1, 3),
		.min_workers = 1, .timeout_ms = 60000,
		.lease_ms = leases[rng_below(r, 4)], .patience_ms = 60000,
		.grace_ms = 7000, .checkpoint = chance(r, 2),
		.keep_going = chance(r, 4),
		.push = { .codec = codec_find(rng_below(r, CODECS)),
			  .option = "--push", .text = "drawn" },
		.run = "run of the tests",
	};
	/* These have generators of their own, so that old seeds draw as
	   before. */
	s->program = rng_mix(~seed) % 3 == 0;
	s->layer = !s->program && rng_mix(seed ^ 16) % 3 == 0;
	s->answer_ms = s->program || s->layer ? (uint64_t[]){ 0, 2, 60, 400 }[
		rng_mix(seed ^ 8) % 4] : 0;
	s->o.pull = (struct coding_rule){
		.codec = codec_find(rng_mix(seed ^ 4) % CODECS),
		.option = "--pull", .text = "drawn"
	};
	s->o.batches = s->program || rng_mix(seed ^ 1) % 3 > 0 ? 1 :
		2 << rng_mix(seed ^ 2) % 2;	/* powers of 2 keep sums
						   exact */
	s->lines = s->program && rng_mix(~seed) % 2 == 0;
	s->o.fold_bytes = 1 + rng_mix(seed ^ 10) % 2 *
		(rng_mix(seed ^ 11) % 3000);
	s->most_bytes = rng_mix(seed ^ 8) % 3 > 0 ? 0 :
		1 + (size_t)(rng_mix(seed ^ 9) % 200);
	s->sampler = chance(r, 2);
	s->journal = s->o.checkpoint || chance(r, 2);
	s->o.suspend = s->journal && !chance(r, 3);
	draw_mode(s, r);
	s->own = s->program && !s->sampler && s->o.mode != MODE_SYNC &&
		rng_mix(seed ^ 5) % 2 > 0;
	s->lines = s->lines && !s->own;
	s->sets = s->lines && rng_mix(seed ^ 21) % 3 > 0;
	if (s->o.checkpoint && chance(r, 2))
		s->o.every_steps = between(r, 3, 12);
	else if (s->o.checkpoint)
		s->o.every_ms = between(r, 50, 1000);
	draw_servers(s, r);
	draw_ranges(s);
	draw_codings(s);
	draw_wide(s);
	draw_workers(s, r);
	draw_network(s, r);
	draw_data(s, r);
	draw_second(s);
	draw_flaw(s, r);
	draw_end(s);
	draw_local(s);
	draw_requests(s, r);
	s->publish_ms = skewed(r, 500);
	draw_swarm(s, &swarm, r);
	for (size_t i = 0; i < faults; i++)
		draw_fault(s, r, &swarm);
	draw_queue(s);
	draw_given_up(s);
	draw_background(s);
	draw_relays(s);
	draw_backups(s);
}

void
scenario_release(struct scenario *s)
{
	for (size_t i = 0; i < MAX_SERVERS; i++)
		free(s->endpoint[i]);
	placement_release(&s->o.placement);
}

bool
scenario_keeps_residuals(const struct scenario *s)
{
	return s->wide[WAY_PUSH].codec && s->wide[WAY_PUSH].codec->sparse;
}

bool
scenario_may_fail(const struct scenario *s)
{
	for (size_t i = 0; i < s->faults; i++)
		if (s->fault[i].kind == FAULT_AGE && !s->fault[i].left_out)
			return true;
	return false;
}

/* ---- the scenario as text ---- */

static void
print_fault(const struct fault *f, FILE *to)
{
	static const char *const at[TRIGGERS] = {
		[AT_TIME] = "at ms", [AT_STEPS] = "at step",
		[AT_MESSAGE] = "at message", [AT_WARNING] = "at warning",
		[AT_PUBLISH] = "at publication",
		[AFTER_LAST] = "after the last"
	};
	static const char *const who[] = { "node", "sender", "receiver" };

	fprintf(to, "#   %s %s", fault_name(f->kind), who[f->target]);
	if (f->target == TARGET_NODE)
		fprintf(to, " %d", f->node);
	if (f->kind >= FAULT_CUT && f->kind <= FAULT_SLOW)
		fprintf(to, " and %d", f->other);
	fprintf(to, ", %s %llu", at[f->trigger], (unsigned long long)f->nth);
	if (f->trigger == AT_MESSAGE)
		fprintf(to, " of %s", message_name(f->message));
	if (f->trigger == AT_WARNING && f->words > 0)
		fprintf(to, " with \"%s\"", scenario_warnings[f->words]);
	if (f->later > 0)
		fprintf(to, " and %llu ms", (unsigned long long)f->later);
	if (f->span == NEVER)
		fprintf(to, ", for good\n");
	else
		fprintf(to, ", for %llu ms\n", (unsigned long long)f->span);
}

void
scenario_print(const struct scenario *s, FILE *to)
{
	static const char *const modes[] = { "async", "ssp", "sync" };

	fprintf(to, "# seed %llu: %s, %zu servers, %zu workers, lease %llu "
		"ms%s%s%s%s%s%s%s%s, batches %llu%s, pack %llu, in flight "
		"%llu\n",
		(unsigned long long)s->seed, modes[s->o.mode], s->o.servers,
		s->workers, (unsigned long long)s->o.lease_ms,
		s->o.checkpoint ? ", checkpoints" :
		s->journal ? ", a journal" : "",
		s->second_records > 0 ? ", a program's steps of two lines and "
		"of two data sets of the coordinator's" :
		s->sets ? ", a program's steps of two lines and data sets" :
		s->lines ? ", a program's steps of two lines" :
		s->own ? ", a program's steps, of data of its own" :
		s->program ? ", a program's steps" :
		s->layer ? ", a program's layer" : "",
		s->answer_ms > 0 ? ", which take their time" : "",
		s->sampler ? ", the coordinator's data" : "",
		s->informed ? ", servers start as what they are now" : "",
		s->registers ? ", servers register" : "",
		s->flaw ? ", some data are bad" : "",
		s->o.keep_going ? ", errors are passed over" : "",
		(unsigned long long)s->o.batches,
		s->local ? " in local steps" : "",
		(unsigned long long)s->o.pack,
		(unsigned long long)s->o.in_flight);
	for (size_t i = 0; i < s->o.servers; i++)
		fprintf(to, "#   server %zu:%s%s\n", i,
			s->wal[i] ? " log" : "",
			s->standby[i] ? " standby" : "");
	for (size_t i = 0; i < s->relays; i++)
		fprintf(to, "#   relay %zu: of site %llu, from %llu ms on\n", i,
			(unsigned long long)s->relay_site[i],
			(unsigned long long)s->relay_at[i]);
	for (size_t i = 0; s->relays > 0 && i < s->workers; i++)
		fprintf(to, "#   worker %zu: of site %llu\n", i,
			(unsigned long long)s->worker_site[i]);
	for (const struct placement_range *p = s->o.placement.range; p;
	     p = p->next)
		fprintf(to, "#   %s on servers %d to %d\n", p->pattern,
			(int)p->first, (int)p->last);
	if (s->o.placement.hybrid)
		fprintf(to, "#   %zu servers are beside workers\n",
			placement_count_beside(&s->o.placement));
	for (const struct coding_rule *r = &s->o.pull; r; r = r->next)
		fprintf(to, "#   pulls of %s: %s%s from step %llu on\n",
			r->pattern ? r->pattern : "others",
			r->delta ? "delta:" : "", r->codec->name,
			(unsigned long long)r->from);
	if (scenario_keeps_residuals(s))
		fprintf(to, "#   pushes of W: %s from step %llu on\n",
			s->wide[WAY_PUSH].codec->name,
			(unsigned long long)s->wide[WAY_PUSH].from);
	fprintf(to, "#   asked:");
	for (size_t i = 0; i < s->asks; i++)
		fprintf(to, " %c%llu", s->ask[i].op,
			(unsigned long long)s->ask[i].steps);
	fprintf(to, "\n");
	for (size_t k = 0; k < s->submitters; k++) {
		const struct submitter_plan *p = &s->submitter[k];

		fprintf(to, "#   submitter %zu%s:", k,
			p->wishes & SUBMITTER_KEEP_GOING ?
			", which passes over errors" : "");
		for (size_t i = 0; i < p->asks; i++)
			fprintf(to, " %c%llu", p->ask[i].op,
				(unsigned long long)p->ask[i].steps);
		fprintf(to, "\n");
	}
	for (size_t i = 0; i < s->faults; i++)
		if (!s->fault[i].left_out)
			print_fault(&s->fault[i], to);
}
