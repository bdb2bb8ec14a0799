/*
 * A server and its hot standby, with messages passed by hand: whatever order
 * things come in, what the server has answered the standby has, bit for bit,
 * and takes over with.
 */
#include "role/server.h"

#include "role/changes.h"
#include "role/window.h"
#include "wire/keys.h"

#include "rig.h"
#include "tap.h"

#include <math.h>

#define COORD	1	/* peers of the server and, if promoted, the standby */
#define WORKER	2
#define STANDBY	3	/* of the server: the standby */
#define PRIMARY	4	/* of the standby: the server */
#define TERM	4
#define STEPS	120
#define CHANGES	4000

static const char model[] =
	"input  id id rows=40\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"h  = dense e units=5\n"
	"p  = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam learning_rate=0.1\n";

/* A server, and what is on its way to the other one. */
static struct side {
	struct server *server;
	struct outbox outbox;
	struct changes out;		/* messages, in order */
	uint64_t answered[CHANGES];	/* outcome + 1 of each, or 1 */
	struct message said;		/* the last to the coordinator */
	uint64_t standby_life;		/* as said to the coordinator */
	bool told;
} primary, standby, reference;

static struct rig rig;
static struct plan plan;
static struct pack model_frame, plan_frame;
static const unsigned char run[PLAN_RUN] = "a run, 16 bytes";

static struct changes script;		/* what the server is to be told */
static uint64_t heard, synced_at;	/* of the script */
static bool unreachable;		/* the standby */

static int
send_to(void *to, uint64_t peer, const struct message *m)
{
	struct side *s = to;

	if (peer == STANDBY && unreachable)
		return -1;
	if (peer == STANDBY || peer == PRIMARY) {
		if (m->kind == MESSAGE_SYNC)
			synced_at = heard;
		changes_add(&s->out, 0, m);
	} else if (m->kind == MESSAGE_STANDBY) {
		s->told = true;
		s->standby_life = m->standby.life;
	} else if (m->request > 0 && m->request < CHANGES) {
		s->answered[m->request] = 1 + (m->kind == MESSAGE_VALUES ?
					       m->values.outcome : 0);
		s->said = *m;
	}
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	(void)endpoint;
	(void)f;
	*peer = PRIMARY;
	return 0;
}

static void
side_new(struct side *s, uint64_t life)
{
	*s = (struct side){ .outbox = { send_to, dial, NULL, s } };
	s->server = server_new(life, 1000, &s->outbox);
}

static void
side_free(struct side *s)
{
	server_free(s->server);
	changes_release(&s->out);
	*s = (struct side){ 0 };
}

/* ---- the script ---- */

static void
greet(struct side *s, uint64_t peer, enum role role, uint64_t term)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.term = term;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	server_hear(s->server, peer, &m, 0);
}

static struct message
plan_message(uint64_t term, uint64_t life)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	m.plan.term = term;
	m.plan.plan = 1;
	m.plan.seed = 7;
	m.plan.standby = life;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return m;
}

static void
add(struct message *m, uint64_t peer)
{
	m->request = script.last + 1;
	changes_add(&script, peer, m);
}

static void
add_push(struct rng *rng, uint64_t step)
{
	const uint64_t rows[] = { rng_below(rng, 20), 20 + rng_below(rng, 20)};
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };
	const size_t part = rng_below(rng, plan.parts);
	float value[64];
	struct pack keys = { 0 };
	size_t floats = 0;

	for (size_t i = 0; i < plan.part[part].count; i++) {
		const struct piece *p = &plan.piece[plan.part[part].first + i];

		if (p->table)
			keys_write(&keys, rows, 2, 0);
		floats += (p->table ? 2 : p->count) * p->width;
	}
	for (size_t i = 0; i < floats; i++)
		value[i] = rig_random(rng);
	if (rng_below(rng, 50) == 0)
		value[0] = NAN;		/* refused, on both */
	m.push.run = plan_run(&plan);
	m.push.term = rng_below(rng, 30) ? TERM : TERM - 1;
	m.push.plan = 1;
	m.push.part = part;
	m.push.step = step;
	m.push.examples = 1 + rng_below(rng, 4);
	m.frame[0] = (struct frame){ keys.data, keys.size, NULL };
	m.frame[1] = (struct frame){ value, floats * sizeof(float), NULL };
	add(&m, WORKER);
	pack_release(&keys);
}

/* Pushes, some twice, some void; marks; a cut. */
static void
write_script(struct rng *rng)
{
	uint64_t mark = 0;
	struct message m = plan_message(TERM, 0);

	add(&m, COORD);
	while (mark < STEPS) {
		const uint64_t kind = rng_below(rng, 20);

		if (kind > 2) {
			add_push(rng, mark + rng_below(rng, 12));
			continue;
		}
		m = (struct message){ .kind = MESSAGE_VOID };
		m.voided.run = plan_run(&plan);
		m.voided.term = TERM;
		m.voided.first = mark + rng_below(rng, 12);
		m.voided.count = 1;
		if (kind == 1) {
			m.kind = MESSAGE_MARK;
			m.mark.step = mark += rng_below(rng, 5);
		}
		if (kind == 2) {
			m.kind = MESSAGE_FREEZE;
			m.cut.cut = 1;
			m.cut.step = mark;
		}
		add(&m, COORD);
	}
}

/* ---- what happens ---- */

static void
hear_script(struct side *s, uint64_t number)
{
	const struct change *c = changes_find(&script, number);

	server_hear(s->server, c->peer, &c->message, 0);
}

/* One message from one side to the other arrives. */
static bool
deliver(struct side *from, struct side *to, uint64_t as)
{
	struct change *c = changes_take(&from->out, UINT64_MAX);

	if (!c)
		return false;
	server_hear(to->server, as, &c->message, 0);
	hold_drop(&c->hold);
	return true;
}

static void
deliver_all(void)
{
	do
		server_flush(standby.server);
	while (deliver(&primary, &standby, PRIMARY) ||
	       deliver(&standby, &primary, STANDBY));
}

static void
begin(struct rng *rng)
{
	write_script(rng);
	heard = synced_at = 0;
	side_new(&primary, 1);
	side_new(&standby, 2);
	greet(&primary, COORD, ROLE_COORDINATOR, TERM);
	hear_script(&primary, ++heard);
	greet(&primary, WORKER, ROLE_WORKER, TERM);
}

static void
end(void)
{
	side_free(&primary);
	side_free(&standby);
	changes_release(&script);
	script = (struct changes){ 0 };
}

static void
call(void)
{
	struct fail f;

	server_follow(standby.server, "node:1", "node:2", &f);
	server_up(standby.server, PRIMARY);
}

/* The coordinator has the standby take over. */
static void
promote(void)
{
	struct message m = plan_message(TERM + 1, 0);

	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);
	m.request = CHANGES - 1;
	server_hear(standby.server, COORD, &m, 0);
	greet(&standby, WORKER, ROLE_WORKER, TERM + 1);
}

/* ---- are they the same? ---- */

static struct server_job
saved(struct side *s)
{
	struct message m = { .kind = MESSAGE_FREEZE };
	struct server_job job = { 0 };

	m.cut.run = plan_run(&plan);
	m.cut.term = TERM + 1;
	m.cut.cut = 2;
	server_hear(s->server, COORD, &m, 0);
	m.kind = MESSAGE_SAVE;
	m.cut.parts = 1;
	m.blob = (struct frame){ "x", 1, NULL };
	server_hear(s->server, COORD, &m, 0);
	server_job(s->server, &job);
	return job;
}

static bool
same_array(const struct checkpoint_array *a, const struct checkpoint_array *b)
{
	if (strcmp(a->variable, b->variable) != 0 ||
	    strcmp(a->slot, b->slot) != 0 || a->updates != b->updates ||
	    a->pieces != b->pieces)
		return false;
	for (size_t i = 0; i < a->pieces; i++)
		if (a->piece[i].count != b->piece[i].count ||
		    memcmp(a->piece[i].data, b->piece[i].data,
			   a->piece[i].count * sizeof(float)) != 0)
			return false;
	return true;
}

/* The mark and the pushes of both; repeats are nobody's state. */
static bool
same_state(struct side *x, struct side *y)
{
	const char *a = server_state(x->server), *b = server_state(y->server);

	return strncmp(a, b, strcspn(a, "p")) == 0;
}

/* The same values, slots, counts, and judgement of every step. */
static bool
same(struct side *x, struct side *y)
{
	struct server_job a = saved(x), b = saved(y);
	bool equal = a.arrays == b.arrays && a.arrays > 0 && same_state(x, y);

	for (size_t i = 0; equal && i < a.arrays; i++)
		equal = same_array(&a.array[i], &b.array[i]);
	for (uint64_t n = 2; equal && n < 200 && n <= script.last; n++) {
		const struct change *c = changes_find(&script,
						      script.last + 2 - n);
		struct message m = c->message;

		if (m.kind != MESSAGE_PUSH)
			continue;
		m.push.term = TERM + 1;
		m.request = CHANGES - 2;
		x->answered[m.request] = y->answered[m.request] = 0;
		server_hear(x->server, WORKER, &m, 0);
		server_hear(y->server, WORKER, &m, 0);
		equal = x->answered[m.request] == y->answered[m.request] &&
			x->answered[m.request] > 0;
	}
	if (!equal)
		printf("# %s, %s\n", server_state(x->server),
		       server_state(y->server));
	return equal;
}

/* One that never had a standby, told the first so many of the script. */
static void
make_reference(uint64_t count)
{
	struct message m = plan_message(TERM + 1, 0);

	side_new(&reference, 3);
	greet(&reference, COORD, ROLE_COORDINATOR, TERM);
	hear_script(&reference, 1);
	greet(&reference, WORKER, ROLE_WORKER, TERM);
	for (uint64_t n = 2; n <= count; n++)
		hear_script(&reference, n);
	server_hear(reference.server, COORD, &m, 0);
	greet(&reference, WORKER, ROLE_WORKER, TERM + 1);
}

/* ---- tests ---- */

/* The standby calls at any time, the server dies at any time after. */
static bool
interleaving(uint64_t seed)
{
	struct rng rng = { seed, 0 };
	uint64_t calls, dies, held;
	bool equal, kept = true, in_sync;

	begin(&rng);
	calls = 2 + rng_below(&rng, script.last);
	dies = calls + rng_below(&rng, script.last);
	while (heard < script.last && heard < dies) {
		const uint64_t what = rng_below(&rng, 8);

		if (heard == calls && !standby.out.last)
			call();
		if (what < 4)
			hear_script(&primary, ++heard);
		else if (what < 6)
			deliver(&primary, &standby, PRIMARY);
		else if (what < 7)
			deliver(&standby, &primary, STANDBY);
		else
			server_flush(standby.server);
	}
	in_sync = primary.told;
	if (!in_sync) {		/* then nobody would have it take over */
		end();
		return true;
	}
	while (rng_below(&rng, 4))	/* some of what was under way */
		deliver(&primary, &standby, PRIMARY);
	promote();
	held = synced_at + server_acted(standby.server);
	for (uint64_t n = 1; n <= script.last; n++)
		kept = kept && (!primary.answered[n] || n <= held);
	make_reference(held);
	equal = same(&standby, &reference);
	if (!kept || !equal)
		printf("# seed %llu: called at %llu, died at %llu, held "
		       "%llu\n", (unsigned long long)seed,
		       (unsigned long long)calls, (unsigned long long)heard,
		       (unsigned long long)held);
	side_free(&reference);
	end();
	return kept && equal;
}

static void
interleavings(void)
{
	bool all = true;

	for (uint64_t seed = 1; seed <= 60; seed++)
		all = interleaving(seed) && all;
	named(all, "whatever was answered the standby has, bit for bit");
}

/* So many answers to the script were given. */
static bool
answered(uint64_t count)
{
	uint64_t n = 0;

	for (uint64_t i = 1; i <= script.last; i++)
		n += primary.answered[i] > 0;
	return n == count;
}

static void
tell_plan(struct side *s, uint64_t term, uint64_t life)
{
	struct message m = plan_message(term, life);

	m.request = CHANGES - 1;
	s->answered[m.request] = 0;
	server_hear(s->server, COORD, &m, 0);
}

static void
in_sync(void)
{
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver_all();
	while (heard < 20)
		hear_script(&primary, ++heard);
}

/* Only the coordinator lets a server go on without its standby. */
static void
stalled(void)
{
	in_sync();
	ok(primary.told && primary.standby_life == 2);
	ok(answered(1));	/* the PLAN, before there was a standby */
	deliver_all();
	ok(answered(20));
	while (heard < 40)
		hear_script(&primary, ++heard);
	tell_plan(&primary, TERM, 2);
	ok(answered(20) && !primary.answered[CHANGES - 1]);
	tell_plan(&primary, TERM + 1, 0);
	ok(answered(40) && primary.answered[CHANGES - 1] == 1);
	hear_script(&primary, ++heard);
	ok(answered(41));

	/* It wakes up, and begins anew. */
	primary.told = false;
	deliver_all();
	ok(primary.told && primary.standby_life == 2);
	hear_script(&primary, ++heard);
	ok(answered(41));
	deliver_all();
	ok(answered(42));
	end();
}

static void
broken(void)
{
	in_sync();
	deliver_all();
	unreachable = true;
	server_left(primary.server);
	unreachable = false;
	ok(primary.standby_life == 0);
	hear_script(&primary, ++heard);
	ok(answered(20));
	primary.told = false;
	greet(&primary, COORD, ROLE_COORDINATOR, TERM);
	ok(primary.told && primary.standby_life == 0);
	tell_plan(&primary, TERM + 1, 0);
	ok(answered(21));
	end();

	/* One of whom the coordinator never heard may just go. */
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver(&standby, &primary, STANDBY);
	hear_script(&primary, ++heard);
	ok(answered(1));
	unreachable = true;
	hear_script(&primary, ++heard);
	unreachable = false;
	ok(answered(3) && !primary.told);
	end();
}

/* What the coordinator counts on is not thrown away. */
static void
promised(void)
{
	struct fail f;

	in_sync();
	deliver_all();
	greet(&standby, WORKER, ROLE_WORKER, TERM);
	ok(standby.said.kind == 0);
	tell_plan(&standby, TERM, 0);	/* from nobody: refused */
	ok(server_acted(standby.server) == 19);
	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);

	/* A server back from its log has a cut for it, of the same term. */
	server_up(standby.server, PRIMARY);
	deliver_all();
	ok(server_acted(standby.server) == 19);

	tell_plan(&standby, TERM, 0);
	ok(standby.said.kind == MESSAGE_REFUSED);
	tell_plan(&standby, TERM + 1, 0);
	ok(standby.said.kind == MESSAGE_OK);
	ok(!server_over(primary.server, &f));
	deliver_all();
	ok(server_over(primary.server, &f) && f.kind == FAIL_AGAIN &&
	   strcmp(f.text, "the standby node:2 took over in term 5: start "
		  "this one again with --standby-of") == 0);
	end();
}

/* The log: nothing is answered before it is durable, and all is replayed. */
static void
logged(void)
{
	struct rng rng = { 9, 0 };
	uint64_t durable = 0;
	const struct change *c;
	bool kept = true;

	begin(&rng);
	server_log(primary.server);
	server_replay(standby.server, &changes_find(&script, 1)->message);
	while (heard < script.last) {
		hear_script(&primary, ++heard);
		kept = kept && answered(durable + 1);
		if (rng_below(&rng, 3) > 0)
			continue;
		while ((c = server_change(primary.server, durable + 1))) {
			server_replay(standby.server, &c->message);
			durable++;
			if (rng_below(&rng, 4) == 0)
				break;
		}
		server_durable(primary.server, durable);
		kept = kept && answered(durable + 1);
	}
	ok(kept && durable > 0);
	make_reference(durable + 1);
	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);
	tell_plan(&standby, TERM + 1, 0);
	greet(&standby, WORKER, ROLE_WORKER, TERM + 1);
	ok(same(&standby, &reference));
	side_free(&reference);
	end();
}

int
main(void)
{
	char *endpoint[] = { (char *)(uintptr_t)"-" };
	struct place *place;
	size_t places;

	rig_begin(&rig, model);
	place = partition_plan(rig.variable, rig.variables,
			       &(struct partitioner){ PARTITION_NONE, 0, 0 },
			       PLACE_BALANCED, 1, &places);
	plan_make(&plan, rig.model, place, places, endpoint, 1);
	/* A part for each piece. */
	plan.part = mem_resize(plan.part, plan.pieces, sizeof(*plan.part));
	for (size_t i = 0; i < plan.pieces; i++)
		plan.part[i] = (struct part){ 0, i, 1 };
	plan.parts = plan.pieces;
	memcpy(plan.run, run, PLAN_RUN);
	plan_write_model(&model_frame, &rig.source);
	plan_write(&plan_frame, &plan);
	free(place);
	interleavings();
	stalled();
	broken();
	promised();
	logged();
	plan_release(&plan);
	pack_release(&model_frame);
	pack_release(&plan_frame);
	rig_end(&rig);
	return tap_done();
}
