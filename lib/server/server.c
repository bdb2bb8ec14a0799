#include "server/server.h"

#include "base/hash.h"
#include "base/mem.h"
#include "server/server_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PEERS	65536
#define PROBE_MS	250	/* is the coordinator there? */

/* Who a peer said it is; items of the peers map point into this. */
static char as_coordinator[1], as_client[1], as_standby[1];

struct server *
server_new(uint64_t life, uint64_t lease_ms, struct outbox *outbox)
{
	struct server *s = mem_alloc(1, sizeof(*s));

	s->outbox = outbox;
	s->life = life;
	s->lease_ms = lease_ms;
	s->logged = WIRE_NONE;
	return s;
}

void
server_limit(struct server *s, uint64_t memory, bool (*stopped)(void))
{
	s->memory = memory;
	s->stopped = stopped;
}

void
server_saves(struct server *s, server_can_save *can_save, void *self)
{
	s->can_save = can_save;
	s->saver = self;
}

bool
server_stopped(const struct server *s)
{
	return s->stopped && s->stopped();
}

void
server_forget_run(struct server *s)
{
	standby_forget(&s->standby);	/* its cut is of what we had */
	for (size_t i = 0; i < MAX_CUTS; i++) {
		cut_free(s->cut[i].cut);
		s->cut[i].cut = NULL;
	}
	for (size_t i = 0; s->applied && i < s->plan.parts; i++)
		window_release(&s->applied[i]);
	free(s->applied);
	s->applied = NULL;
	window_release(&s->voided);
	parked_release(&s->parked);
	recall_release(&s->recall);
	stage_free(s->stage);
	s->stage = NULL;
	shard_rows_free(s->rows);
	s->rows = NULL;
	shard_free(s->shard);
	s->shard = NULL;
	plan_release(&s->plan);
	model_free(s->model);
	s->model = NULL;
	model_source_release(&s->source);
	s->mark = s->pushes = s->repeats = s->above = s->journal = 0;
	s->run_over = s->initial = false;
	s->jobs = 0;
}

void
server_free(struct server *s)
{
	if (!s)
		return;
	server_forget_run(s);
	changes_release(&s->changes);
	peers_release(&s->peers);
	free(s);
}

bool
server_stopping(const struct server *s)
{
	return s->stopping;
}

bool
server_has_run(struct server *s, uint64_t now)
{
	const struct message ping = { .kind = MESSAGE_PING };

	if (now - s->probed >= PROBE_MS) {
		s->probed = now;
		server_say(s, s->coordinator, &ping);
	}
	return s->busy && s->shard &&
		peers_find(&s->peers, s->coordinator) &&
		now - s->coordinator_heard <= s->lease_ms;
}

bool
server_awaits(const struct server *s)
{
	return s->stopping && (s->standby.peer || s->waiting.peer);
}

const char *
server_state(struct server *s)
{
	snprintf(s->state, sizeof(s->state),
		 "mark %llu, %llu pushes applied, %llu repeats",
		 (unsigned long long)s->mark, (unsigned long long)s->pushes,
		 (unsigned long long)s->repeats);
	return s->state;
}

void
server_say(struct server *s, uint64_t peer, const struct message *m)
{
	/* What was replayed, or is followed, was answered elsewhere. */
	if (peer && outbox_send(s->outbox, peer, m) < 0)
		peers_remove(&s->peers, peer);	/* nobody to tell */
}

void
server_refuse(struct server *s, uint64_t peer, const struct message *to,
	      const struct fail *why)
{
	const struct message m = message_refuse(to, why->kind, why->text);

	server_say(s, peer, &m);
}

bool
server_same_run(const struct server *s, const struct frame *run)
{
	return run->size == PLAN_RUN &&
		memcmp(run->data, s->plan.run, PLAN_RUN) == 0;
}

/* ---- who is there ---- */

static int
fail_term(const struct server *s, uint64_t term, struct fail *f)
{
	return fail(f, FAIL_AGAIN, "term %llu is over, %llu began: another "
		    "coordinator has this run", (unsigned long long)term,
		    (unsigned long long)s->term);
}

/* May this coordinator have us?  Of our run, only one that is no older. */
static int
check_coordinator(const struct server *s, const struct message *m,
		  uint64_t now, struct fail *f)
{
	if (s->shard && server_same_run(s, &m->blob))
		return m->hello.term >= s->term ? 0 :
			fail_term(s, m->hello.term, f);
	if (!s->busy || now - s->coordinator_heard > s->lease_ms)
		return 0;
	return fail(f, FAIL_AGAIN, "busy with another run, whose coordinator "
		    "was heard %llu ms ago",
		    (unsigned long long)(now - s->coordinator_heard));
}

/* Nobody tells a server who left: those to whom nothing can be said have. */
static void
forget_leavers(struct server *s)
{
	const struct message ping = { .kind = MESSAGE_PING };
	uint64_t *peer = mem_alloc(s->peers.count, sizeof(*peer));
	size_t count = 0;

	for (size_t i = 0; i < s->peers.room; i++)
		if (s->peers.entry[i].item)
			peer[count++] = s->peers.entry[i].peer;
	for (size_t i = 0; i < count; i++)
		server_say(s, peer[i], &ping);
	free(peer);
}

static int
hello(struct server *s, uint64_t peer, const struct message *m, uint64_t now,
      struct fail *f)
{
	struct message out = message_answer(m, MESSAGE_WELCOME);
	const bool whole = s->shard && (!primary_followed(&s->primary) ||
					primary_copied(&s->primary));

	if (message_check_hello(m, f) < 0)
		return -1;
	if (s->peers.count >= MAX_PEERS)
		forget_leavers(s);
	if (s->peers.count >= MAX_PEERS)
		return fail(f, FAIL_AGAIN, "too many peers");
	if (m->hello.role == ROLE_COORDINATOR) {
		if (check_coordinator(s, m, now, f) < 0)
			return -1;
		s->coordinator = peer;
		s->coordinator_heard = now;
		s->needed = true;
		s->ours = s->shard && server_same_run(s, &m->blob);
		if (s->ours)
			s->term = m->hello.term;
		s->primary.greeted = whole;
	} else if (primary_followed(&s->primary)) {
		return fail(f, FAIL_AGAIN, "a standby of %s",
			    s->primary.at);
	} else if (m->hello.role != ROLE_STANDBY && m->blob.size == 0) {
		/* Who calls a server names a run, and who registers none. */
		return fail(f, FAIL_CONFIG, "it is a server, no coordinator");
	} else if (m->hello.role == ROLE_STANDBY) {
		if (server_hello_standby(s, peer, m, f) < 0)
			return -1;
	} else if (m->hello.role == ROLE_SERVER) {
		return server_hello_server(s, m, f);
	} else if (m->hello.role != ROLE_WORKER &&
		   m->hello.role != ROLE_EVALUATOR) {
		return fail(f, FAIL_PROTOCOL, "not a role that a server "
			    "talks to");
	} else if (!s->shard || !server_same_run(s, &m->blob)) {
		return fail(f, FAIL_AGAIN, "another run");
	}
	peers_set(&s->peers, peer, m->hello.role == ROLE_COORDINATOR ?
		  as_coordinator : m->hello.role == ROLE_STANDBY ?
		  as_standby : as_client);
	out.welcome.version = WIRE_VERSION;
	out.welcome.role = primary_followed(&s->primary) ? ROLE_STANDBY :
		ROLE_SERVER;
	out.welcome.index = s->index;
	out.welcome.life = s->life;
	out.welcome.term = s->plan.term;
	out.welcome.plan = whole ? s->plan.number : WIRE_NONE;
	out.welcome.journal = s->journal;
	out.blob = (struct frame){ s->plan.run, whole ? PLAN_RUN : 0, NULL };
	server_say(s, peer, &out);
	if (m->hello.role == ROLE_COORDINATOR)
		server_report_standby(s);
	if (m->hello.role == ROLE_STANDBY)
		server_begin_standby(s);
	return 0;
}

/* ---- the plan ---- */

/* We have this plan: it is the term that may be new. */
static int
take_term(struct server *s, uint64_t term, struct fail *f)
{
	if (term < s->term)
		return fail_term(s, term, f);
	if (term > s->plan.term)
		server_let_cuts_go(s);
	s->term = s->plan.term = term;
	s->busy = s->ours = true;
	s->run_over = s->kept = false;
	return 0;
}

/* Does it lay out the same variables in the same way? */
static bool
same_layout(const struct plan *a, const struct plan *b)
{
	for (size_t i = 0; i < a->pieces && i < b->pieces; i++) {
		const struct piece *p = &a->piece[i], *q = &b->piece[i];

		if (p->variable != q->variable || p->first != q->first ||
		    p->count != q->count)
			return false;
	}
	for (size_t i = 0; i < a->parts && i < b->parts; i++)
		if (a->part[i].server != b->part[i].server ||
		    a->part[i].count != b->part[i].count)
			return false;
	return a->pieces == b->pieces && a->parts == b->parts &&
		a->servers == b->servers;
}

/* Is it the plan that we have, perhaps under a newer term? */
bool
server_has_plan(const struct server *s, const struct message *m)
{
	struct plan plan = { 0 };
	struct fail none;
	bool same;

	if (!s->shard || !server_same_run(s, &m->blob) ||
	    m->plan.plan != s->plan.number || m->plan.server != s->index ||
	    m->plan.seed != s->plan.seed ||
	    hash64(m->frame[0].data, m->frame[0].size) != s->model_hash)
		return false;
	same = plan_read(&plan, s->model, m->frame[1].data, m->frame[1].size,
			 &none) == 0 && same_layout(&plan, &s->plan);
	plan_release(&plan);
	return same;
}

/* What cannot be had would be noticed one by one, and late. */
static int
check_memory(const struct server *s, size_t server, struct fail *f)
{
	const double bytes = shard_bytes(&s->plan, s->model, server);
	const double gib = 1 << 30;

	if (s->memory == 0 || bytes <= (double)s->memory)
		return 0;
	return fail(f, FAIL_CONFIG, "its variables need %.3g GiB, all its "
		    "memory is %.3g GiB: take more servers, and cut variables "
		    "into parts for them (ps-coord --partition), or fewer rows",
		    bytes / gib, (double)s->memory / gib);
}

/* May it begin anew with this plan, which is not ours? */
int
server_check_begin(const struct server *s, const struct message *m,
		   struct fail *f)
{
	if (m->blob.size != PLAN_RUN)
		return fail(f, FAIL_PROTOCOL, "a plan of no run");
	if (s->shard && server_same_run(s, &m->blob) &&
	    m->plan.term < s->term)
		return fail_term(s, m->plan.term, f);
	if (s->jobs > 0)	/* the writer still reads what we hold */
		return fail(f, FAIL_AGAIN, "a checkpoint is being written");
	return 0;
}

int
server_take_plan(struct server *s, const struct message *m, struct fail *f)
{
	if (server_has_plan(s, m))
		return take_term(s, m->plan.term, f);
	if (server_check_begin(s, m, f) < 0)
		return -1;
	server_forget_run(s);
	s->busy = false;
	if (plan_read_model(&s->source, m->frame[0].data, m->frame[0].size,
			    f) < 0)
		return -1;
	s->model = model_parse(&s->source, f);
	if (!s->model || plan_read(&s->plan, s->model, m->frame[1].data,
				   m->frame[1].size, f) < 0)
		return -1;
	if (m->plan.server >= s->plan.servers)
		return fail(f, FAIL_PROTOCOL, "a plan without this server");
	if (check_memory(s, m->plan.server, f) < 0)
		return -1;
	s->plan.number = m->plan.plan;
	s->plan.seed = m->plan.seed;
	s->term = s->plan.term = m->plan.term;
	memcpy(s->plan.run, m->blob.data, PLAN_RUN);
	s->model_hash = hash64(m->frame[0].data, m->frame[0].size);
	s->index = m->plan.server;
	s->mark = m->plan.step;
	s->initial = true;
	s->shard = shard_new(&s->plan, s->model, s->index, s->stopped);
	if (!s->shard)
		return 1;
	s->rows = shard_rows_new(s->shard);
	s->applied = mem_alloc(s->plan.parts, sizeof(*s->applied));
	s->stage = stage_new(&s->plan, s->model, s->index, s->shard, s->mark);
	s->busy = s->ours = true;
	s->kept = false;
	return 0;
}

/* ---- what is said ---- */

static int
check_term(const struct server *s, uint64_t run, uint64_t term,
	   struct fail *f)
{
	if (!s->shard || run != plan_run(&s->plan))
		return fail(f, FAIL_AGAIN, "another run");
	return term >= s->plan.term ? 0 : fail_term(s, term, f);
}

/* So much of its journal the coordinator cannot have lost. */
static void
note_journal(struct server *s, uint64_t records)
{
	if (records > s->journal)
		s->journal = records;
}

/*
 * Its coordinator leaves us to others.  One that ends before it has begun, be
 * it of another run or started again, leaves our run as it is.
 */
static void
be_left(struct server *s)
{
	const bool ended = s->busy && s->ours && s->plan.term == s->term;

	s->run_over = s->run_over || ended;
	s->kept = s->kept || ended;
	s->busy = false;
}

/* What only the coordinator may say.  1: it will be answered later. */
static int
obey(struct server *s, uint64_t peer, const struct message *m,
     struct fail *f)
{
	int later;

	switch (m->kind) {
	case MESSAGE_PLAN:
		if ((later = server_take_plan(s, m, f)) == 0)
			note_journal(s, m->plan.journal);
		return later;
	case MESSAGE_MARK:
		if (check_term(s, m->mark.run, m->mark.term, f) < 0)
			return -1;
		note_journal(s, m->mark.journal);
		server_mark(s, m->mark.step);
		return 0;
	case MESSAGE_VOID:
		if (check_term(s, m->voided.run, m->voided.term, f) < 0)
			return -1;
		note_journal(s, m->voided.journal);
		return server_void_steps(s, m, f);
	case MESSAGE_FREEZE:
	case MESSAGE_THAW:
		if (check_term(s, m->cut.run, m->cut.term, f) < 0)
			return -1;
		return m->kind == MESSAGE_THAW ? server_thaw(s, m->cut.cut, f) :
			server_freeze(s, m->cut.cut, m->cut.step, f);
	case MESSAGE_SAVE:
	case MESSAGE_LOAD:
		if (check_term(s, m->cut.run, m->cut.term, f) < 0 ||
		    server_add_job(s, peer, m, f) < 0)
			return -1;
		return 1;
	case MESSAGE_COMMIT:
		if (check_term(s, m->commit.run, m->commit.term, f) < 0)
			return -1;
		return server_commit(s, m, f);
	case MESSAGE_STOP:
		s->run_over = s->run_over || s->ours;
		s->stopping = true;
		server_say(s, s->standby.peer, m);
		server_say(s, s->waiting.peer, m);
		return 0;
	case MESSAGE_BYE:
		be_left(s);
		return 0;
	default:
		return fail(f, FAIL_PROTOCOL, "%s is not for a server",
			    message_name(m->kind));
	}
}

/* All that it has, for the coordinator, who is to believe nothing else. */
static void
say_standing(struct server *s, uint64_t peer, const struct message *plan)
{
	struct message m = message_answer(plan, MESSAGE_OK);
	unsigned char bytes[WINDOW_BYTES];
	struct window steps = { 0 };

	server_settled(s, &steps);
	m.ok.above = s->above;
	m.ok.mark = s->mark;
	m.ok.round = stage_step(s->stage);
	m.ok.initial = s->initial;
	m.ok.standby = server_standby(s);
	m.frame[0].data = bytes;
	m.frame[0].size = window_write(&steps, s->mark, bytes);
	m.frames = m.frame[0].size > 0;
	server_say(s, peer, &m);
	window_release(&steps);
}

/* One of those that server_is_change() tells. */
int
server_apply(struct server *s, uint64_t peer, const struct message *m,
	     struct fail *f)
{
	const struct message done = message_answer(m, MESSAGE_OK);
	int later;

	if (m->kind == MESSAGE_PUSH || m->kind == MESSAGE_PUSHPULL)
		return s->shard ? server_push(s, peer, m, f) :
			fail(f, FAIL_AGAIN, "no plan yet");
	later = obey(s, peer, m, f);
	if (later == 0 && m->kind == MESSAGE_PLAN)
		say_standing(s, peer, m);
	else if (later == 0)
		server_say(s, peer, &done);
	if (m->kind == MESSAGE_PLAN || s->round_ended)
		server_begin_standby(s);
	if (s->round_ended)
		server_answer_parked(s);
	return later;
}

/* Said by somebody else. */
static int
deny(const struct message *m, struct fail *f)
{
	if (server_is_change(m->kind) || m->kind == MESSAGE_SAVE ||
	    m->kind == MESSAGE_STOP)
		return fail(f, FAIL_DENIED, "%s is the coordinator's to say",
			    message_name(m->kind));
	return fail(f, FAIL_PROTOCOL, "%s is not for a server",
		    message_name(m->kind));
}

/* What would be noticed when the first checkpoint is lost. */
static int
check_saves(const struct server *s, const struct message *m, struct fail *f)
{
	if (m->kind != MESSAGE_PLAN || !s->can_save || server_has_plan(s, m))
		return 0;
	return s->can_save(s->saver, (enum saves)m->plan.saves,
			   m->plan.server, f);
}

/* What only the coordinator may say, and does. */
static int
hear_coordinator(struct server *s, uint64_t peer, const struct message *m,
		 struct fail *f)
{
	const struct message done = message_answer(m, MESSAGE_OK);
	int later;

	if (primary_followed(&s->primary) && m->kind != MESSAGE_STOP &&
	    m->kind != MESSAGE_BYE && server_promote(s, m, f) < 0)
		return -1;
	if (check_saves(s, m, f) < 0)
		return -1;
	if (m->kind == MESSAGE_PLAN && !(server_same_run(s, &m->blob) &&
					 m->plan.term < s->plan.term)) {
		s->asked_term = m->plan.term;
		server_keep_standby(s, m->plan.standby);
	}
	if (m->kind == MESSAGE_STANDBY) {
		server_count_standby(s, m);
		return 0;
	}
	if (server_is_change(m->kind))
		return server_do(s, peer, m, f);
	later = obey(s, peer, m, f);
	if (later == 0)
		server_say(s, peer, &done);
	return later;
}

static int
act(struct server *s, uint64_t peer, const struct message *m, uint64_t now,
    struct fail *f)
{
	const void *known = peers_find(&s->peers, peer);

	if (m->kind == MESSAGE_HELLO)
		return hello(s, peer, m, now, f);
	if (!known)
		return m->kind == MESSAGE_BYE ? 0 :
			fail(f, FAIL_PROTOCOL, "say HELLO first");
	if (m->kind >= MESSAGE_PULL && m->kind <= MESSAGE_PUSHPULL &&
	    !s->shard)
		return fail(f, FAIL_AGAIN, "no plan yet");
	if (peer == s->coordinator) {
		s->coordinator_heard = now;
		s->needed = true;
	}
	switch (m->kind) {
	case MESSAGE_PULL:
		return server_pull(s, peer, m, f);
	case MESSAGE_PUSH:
	case MESSAGE_PUSHPULL:
		return server_hear_push(s, peer, m, f);
	case MESSAGE_PING: {
		const struct message pong = message_answer(m, MESSAGE_PONG);

		if (known == as_coordinator && peer != s->coordinator)
			break;
		server_say(s, peer, &pong);
		return 0;
	}
	case MESSAGE_PONG:
		return 0;
	default:
		break;
	}
	if (known == as_standby) {
		server_hear_standby(s, peer, m);
		return 0;
	}
	if (known == as_coordinator && peer != s->coordinator &&
	    m->kind != MESSAGE_BYE)
		return fail(f, FAIL_AGAIN, "another coordinator has this "
			    "server");
	if (known != as_coordinator || peer != s->coordinator) {
		if (m->kind != MESSAGE_BYE)
			return deny(m, f);
		peers_remove(&s->peers, peer);
		return 0;
	}
	return hear_coordinator(s, peer, m, f);
}

void
server_hear(struct server *s, uint64_t peer, const struct message *m,
	    uint64_t now_ms)
{
	const bool followed = s->primary.peer && peer == s->primary.peer;
	struct fail f;

	s->needed = s->needed || followed;
	server_watch_standby(s, now_ms);
	if (followed && s->primary.promoted)
		return;		/* its time is over */
	if ((followed ? server_hear_primary(s, m, &f) :
	     act(s, peer, m, now_ms, &f)) < 0)
		server_refuse(s, peer, m, &f);
}

bool
server_over(const struct server *s, struct fail *f)
{
	*f = s->over;
	return s->over.kind != 0;
}
