#include "server/server.h"

#include "base/mem.h"
#include "server/commit_log.h"
#include "server/primary.h"
#include "server/pull_keys.h"
#include "server/replication.h"
#include "server/server_run.h"
#include "server/session.h"
#include "server/snapshots.h"
#include "server/waiting_pulls.h"
#include "wire/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server {
	uint64_t life, lease_ms;
	struct server_world world;
	server_can_save *can_save;	/* NULL: it can always save */
	void *saver;
	struct session *session;
	struct server_run *run;		/* NULL: no plan yet */
	struct snapshots *snapshots;
	struct waiting_pulls waiting_pulls;	/* pulls that wait for a
						   round */
	struct pull_keys pull_keys;	/* keys of pulls, for pushes to refer
					   to */
	struct commit_log commit_log;	/* changes that wait to be acted on */
	struct replication *replication;	/* link to our standby */
	struct primary *primary;	/* the server whose standby we are */
	bool standby_due;		/* a standby that waits may be sent a
					   snapshot */
	uint64_t asked_term;		/* term of the newest PLAN received */
	bool stopping;
	struct fail over;		/* why the server cannot continue; kind
					   0: it can */
	char state[160];
};

struct server *
server_new(uint64_t life, uint64_t lease_ms, struct outbox *outbox)
{
	struct server *s = mem_alloc(1, sizeof(*s));

	s->life = life;
	s->lease_ms = lease_ms;
	s->session = session_new(outbox, lease_ms);
	s->snapshots = snapshots_new();
	s->replication = replication_new(outbox);
	s->primary = primary_new(outbox, life);
	return s;
}

static void
forget_run(struct server *s)
{
	replication_forget(s->replication);	/* its snapshot is of this */
	snapshots_forget(s->snapshots);
	waiting_pulls_release(&s->waiting_pulls);
	pull_keys_release(&s->pull_keys);
	server_run_free(s->run);
	s->run = NULL;
	session_release(s->session);
}

void
server_free(struct server *s)
{
	if (!s)
		return;
	forget_run(s);
	primary_free(s->primary);
	replication_free(s->replication);
	commit_log_release(&s->commit_log);
	snapshots_free(s->snapshots);
	session_free(s->session);
	free(s);
}

void
server_limit(struct server *s, uint64_t memory, bool (*stopped)(void))
{
	s->world.memory = memory;
	s->world.stopped = stopped;
}

void
server_forgets(struct server *s, bool (*forgets)(void))
{
	s->world.forgets = forgets;
}

void
server_saves(struct server *s, server_can_save *can_save, void *self)
{
	s->can_save = can_save;
	s->saver = self;
}

/* ---- which messages are taken, from whom, and what each does ---- */

struct event {
	enum sender from;
	uint64_t peer, now;
	const struct message *m;
	struct message *whole;	/* room for a message in place of m, */
	void *owned;		/* whose frames lie here; free() it */
	struct message *answer;	/* an OK, which the handler may change */
	struct fail *why;	/* it is refused */
};

enum { ANSWER, SILENCE };	/* or -1: refused, see `why' */

typedef int handler(struct server *, struct event *);

/* What a message needs.  MAKES_CHANGE: it changes the state, so it goes to the
   log and the standby first. */
enum {
	NEEDS_RUN = 1,		/* there must be a plan */
	NEEDS_TERM = 2,		/* its run and term must be ours when it is
				   acted on */
	NEEDS_LEADER = 4,	/* the server must not be a standby, unless this
				   message promotes it */
	MAKES_CHANGE = 8
};

#define ANY		((enum message_kind)0)
#define KNOWN		(SENDER_CLIENT | SENDER_RELAY | SENDER_STANDBY | \
			 SENDER_COORDINATOR | SENDER_OUSTED)
#define ANYBODY		(KNOWN | SENDER_STRANGER)
#define ORDER		(NEEDS_TERM | NEEDS_LEADER | MAKES_CHANGE)

static handler pull, whole_push, push, bundle, hello, ping, do_nothing,
	remove_peer, leave_run, stop, receive_plan, plan, mark, void_steps,
	freeze, thaw, add_job, check, commit, count_standby, receive_standby,
	sync, state, follow_stop, refused, follow_primary;

/*
 * For a kind and a sender the first matching row counts; if there is none, the
 * sender is told so.  A change is admitted when it is received, but acted on
 * when it is durable (in the log, and with the standby); then its sender does
 * not matter any more.
 */
static const struct rule {
	enum message_kind kind;
	unsigned from;		/* set of senders */
	unsigned is;
	handler *act;
	handler *admit;		/* called first; NULL: admit all */
} rules[] = {
	{ MESSAGE_PULL, KNOWN, NEEDS_RUN, pull, NULL },
	{ MESSAGE_PUSH, KNOWN, NEEDS_RUN | MAKES_CHANGE, push, whole_push },
	{ MESSAGE_PUSHPULL, KNOWN, NEEDS_RUN | MAKES_CHANGE, push,
	  whole_push },
	{ MESSAGE_BUNDLE, SENDER_RELAY, 0, bundle, NULL },
	{ MESSAGE_HELLO, ANYBODY, 0, hello, NULL },
	{ MESSAGE_PING, KNOWN & ~SENDER_OUSTED, 0, ping, NULL },
	{ MESSAGE_PONG, KNOWN, 0, do_nothing, NULL },
	{ MESSAGE_BYE, SENDER_STRANGER, 0, do_nothing, NULL },
	{ MESSAGE_BYE, SENDER_CLIENT | SENDER_RELAY | SENDER_OUSTED, 0,
	  remove_peer, NULL },
	{ MESSAGE_BYE, SENDER_COORDINATOR, 0, leave_run, NULL },
	{ MESSAGE_STOP, SENDER_COORDINATOR, 0, stop, NULL },
	{ MESSAGE_PLAN, SENDER_COORDINATOR, NEEDS_LEADER | MAKES_CHANGE,
	  plan, receive_plan },
	{ MESSAGE_MARK, SENDER_COORDINATOR, ORDER, mark, NULL },
	{ MESSAGE_VOID, SENDER_COORDINATOR, ORDER, void_steps, NULL },
	{ MESSAGE_CHECK, SENDER_COORDINATOR, NEEDS_TERM | NEEDS_LEADER, check,
	  NULL },
	{ MESSAGE_COMMIT, SENDER_COORDINATOR, ORDER, commit, NULL },
	{ MESSAGE_FREEZE, SENDER_COORDINATOR, ORDER, freeze, NULL },
	{ MESSAGE_THAW, SENDER_COORDINATOR, ORDER, thaw, NULL },
	{ MESSAGE_LOAD, SENDER_COORDINATOR, ORDER, add_job, NULL },
	{ MESSAGE_SAVE, SENDER_COORDINATOR, NEEDS_TERM | NEEDS_LEADER,
	  add_job, NULL },
	{ MESSAGE_STANDBY, SENDER_COORDINATOR, NEEDS_LEADER, count_standby,
	  NULL },
	{ ANY, SENDER_STANDBY, 0, receive_standby, NULL },
	{ MESSAGE_SYNC, SENDER_PRIMARY, 0, sync, NULL },
	{ MESSAGE_STATE, SENDER_PRIMARY, 0, state, NULL },
	{ MESSAGE_STOP, SENDER_PRIMARY, 0, follow_stop, NULL },
	{ MESSAGE_REFUSED, SENDER_PRIMARY, 0, refused, NULL },
	{ ANY, SENDER_PRIMARY, 0, follow_primary, NULL },
};

#define RULES	(sizeof(rules) / sizeof(*rules))

static const struct rule *
find_rule(enum message_kind kind, unsigned from)
{
	for (size_t i = 0; i < RULES; i++)
		if ((rules[i].kind == kind || rules[i].kind == ANY) &&
		    rules[i].from & from)
			return &rules[i];
	return NULL;
}

/* The row by which a change is acted on, whoever sent it; NULL: this kind is
   not a change. */
static const struct rule *
find_change(enum message_kind kind)
{
	const struct rule *r = find_rule(kind, SENDER_COORDINATOR);

	return r && r->is & MAKES_CHANGE ? r : NULL;
}

static int
deny(const struct event *e, struct fail *f)
{
	const char *name = message_name(e->m->kind);

	if (e->from == SENDER_STRANGER)
		return fail(f, FAIL_PROTOCOL, "say HELLO first");
	if (e->from == SENDER_OUSTED)
		return fail(f, FAIL_AGAIN, "this server belongs to another "
			    "coordinator");
	if (find_rule(e->m->kind, SENDER_COORDINATOR))
		return fail(f, FAIL_DENIED, "only the coordinator may send %s",
			    name);
	return fail(f, FAIL_PROTOCOL, "%s is not for a server", name);
}

/* Is a message of our run, and of a term that is not over? */
static int
check_term(const struct server *s, const struct message *m, struct fail *f)
{
	/* All these kinds begin with the run and the term. */
	if (!s->run || m->mark.run != server_run_short_id(s->run))
		return fail(f, FAIL_AGAIN, "another run");
	return m->mark.term >= server_run_term(s->run) ? 0 :
		session_check_term(s->session, m->mark.term, f);
}

/* Act on a message, and answer it. */
static void
act_on(struct server *s, const struct rule *r, struct event *e)
{
	struct message answer = message_answer(e->m, MESSAGE_OK);
	struct fail f;
	int status = 0;

	e->answer = &answer;
	e->why = &f;
	if (r->is & NEEDS_RUN && !s->run)
		status = fail(&f, FAIL_AGAIN, "no plan yet");
	if (r->is & NEEDS_TERM)
		status = check_term(s, e->m, &f);
	if (status == 0)
		status = r->act(s, e);
	if (status == ANSWER)
		session_send(s->session, e->peer, &answer);
	else if (status < 0)
		session_refuse(s->session, e->peer, e->m, &f);
}

/* ---- changes, durable or not yet ---- */

/* Must changes wait here before they are acted on? */
static bool
must_wait(const struct server *s)
{
	return commit_log_hold(&s->commit_log) ||
		replication_is_there(s->replication) ||
		primary_followed(s->primary);
}

static uint64_t
limit(const struct server *s)
{
	const uint64_t ours = replication_limit(s->replication);
	const uint64_t theirs = primary_limit(s->primary);

	return ours < theirs ? ours : theirs;
}

static bool
act_on_next(struct server *s)
{
	struct change *c;

	if (snapshots_loading(s->snapshots) ||
	    !(c = commit_log_take(&s->commit_log, limit(s))))
		return false;

	struct event e = { .peer = c->peer, .m = &c->message };

	act_on(s, find_change(c->message.kind), &e);
	refcount_drop(&c->hold);
	return true;
}

/* ---- what follows from an event ---- */

/* The coordinator's newest term.  It is newer than that of our run while its
   PLAN waits in the commit log for a standby that is lost. */
static uint64_t
newest_term(const struct server *s)
{
	const uint64_t term = server_run_term(s->run);

	return s->asked_term > term ? s->asked_term : term;
}

/* Tell the coordinator of news about the standby: is one in sync, reached,
   counted on? */
static void
report_standby(struct server *s)
{
	struct message m;

	if (!replication_has_news(s->replication))
		return;
	m = replication_news(s->replication);
	m.standby.run = server_run_short_id(s->run);
	m.standby.term = newest_term(s);
	session_send(s->session, session_coordinator(s->session), &m);
}

/* Do the resets whose turn it is: LOADs without a name, back to the initial
   values. */
static void
run_resets(struct server *s)
{
	struct server_job job;

	while (snapshots_take_reset(s->snapshots, &job)) {
		const struct message ok = message_answer(&job.request,
							 MESSAGE_OK);

		snapshots_let_go(s->snapshots);
		replication_drop_copying(s->replication);
		if (!server_run_reset(s->run, job.request.cut.step)) {
			forget_run(s);
			return;
		}
		session_send(s->session, job.peer, &ok);
	}
}

/* Answer a pull that waited for a round which has ended. */
static void
answer_pull(struct server *s, const struct waiting_pull *p)
{
	struct event e = { .peer = p->peer, .m = &p->pull };
	struct message confirmed;

	if (session_sender(s->session, p->peer) == SENDER_STRANGER)
		return;
	if (server_run_confirm(s->run, &p->pull, p->ahead, &confirmed))
		session_send(s->session, p->peer, &confirmed);
	else
		act_on(s, find_rule(MESSAGE_PULL, SENDER_CLIENT), &e);
}

static void
answer_waiting(struct server *s)
{
	const uint64_t round = server_run_round(s->run);
	struct waiting_pull *p;

	while ((p = waiting_pulls_take(&s->waiting_pulls, round))) {
		answer_pull(s, p);
		free(p);
	}
}

/* A push was staged for a part, which may now have all of its round: send the
   result ahead to the pulls that wait for it. */
static void
answer_ahead(struct server *s)
{
	const int64_t part = s->run ? server_run_staged(s->run) : -1;
	struct waiting_pull *p;
	struct message values;

	if (part < 0)
		return;
	for (p = waiting_pulls_first(&s->waiting_pulls,
				     server_run_round(s->run) + 1); p;
	     p = waiting_pulls_next(p)) {
		if (p->pull.pull.part != (uint64_t)part || p->ahead > 0 ||
		    session_sender(s->session, p->peer) == SENDER_STRANGER)
			continue;
		p->ahead = server_run_pull_ahead(s->run, &p->pull, &values);
		if (p->ahead > 0)
			session_send(s->session, p->peer, &values);
	}
}

/* Send our state to a peer that waits to be our standby, if that is possible
   now. */
static void
begin_standby(struct server *s)
{
	struct pack model = { 0 }, plan = { 0 }, windows = { 0 };
	const bool due = s->standby_due;
	struct message m;

	s->standby_due = false;
	/* Staged pushes are not part of the state: wait until the round has
	   ended. */
	if (!due || !replication_waits(s->replication) || !s->run ||
	    snapshots_loading(s->snapshots) ||
	    !server_run_between_rounds(s->run))
		return;
	m = server_run_sync(s->run, &model, &plan, &windows);
	m.sync.number = s->commit_log.taken;
	replication_begin(s->replication,
			  shard_snapshot_new(server_run_shard(s->run)), &m,
			  s->commit_log.first);
	pack_release(&model);
	pack_release(&plan);
	pack_release(&windows);
}

/*
 * The end of every event: act on the changes that may be acted on, one at a
 * time.  Each may end a round; pulls that waited for that round are answered
 * before the next change.
 */
static void
run_changes(struct server *s)
{
	do {
		bool ended;

		report_standby(s);
		run_resets(s);
		ended = s->run && server_run_ended(s->run);
		s->standby_due = s->standby_due || ended;
		begin_standby(s);
		if (ended)
			answer_waiting(s);
		answer_ahead(s);
	} while (act_on_next(s) || replication_has_news(s->replication));
}

/* ---- peers come and go ---- */

/* The standby that took over calls: it was promoted, and this server does not
   know it yet. */
static int
hello_server(struct server *s, const struct message *m, struct fail *f)
{
	char at[256];

	if (!replication_endpoint(m, at, sizeof(at)) ||
	    (s->run && (!server_run_is(s->run, &m->blob) ||
			m->hello.index != server_run_index(s->run) ||
			m->hello.term <= server_run_term(s->run))))
		return fail(f, FAIL_PROTOCOL, "a server has no connections "
			    "from this role");
	fail(&s->over, FAIL_AGAIN, "the standby %s took over in term %llu: "
	     "start this one again with --standby-of", at,
	     (unsigned long long)m->hello.term);
	*f = s->over;
	return -1;
}

/* Is there a run, with its whole state, none of it on its way from our
   primary? */
static bool
is_whole(const struct server *s)
{
	return s->run && (!primary_followed(s->primary) ||
			  primary_copied(s->primary));
}

static int
hello_coordinator(struct server *s, const struct event *e, struct fail *f)
{
	if (session_greet(s->session, e->peer,
			  server_run_is(s->run, &e->m->blob),
			  e->m->hello.term, e->now, f) < 0)
		return -1;
	primary_greet(s->primary, is_whole(s));
	replication_report(s->replication);
	return 0;
}

static int
admit(struct server *s, const struct event *e, struct fail *f)
{
	const struct message *m = e->m;

	if (m->hello.role == ROLE_COORDINATOR)
		return hello_coordinator(s, e, f);
	if (primary_followed(s->primary))
		return fail(f, FAIL_AGAIN, "a standby of %s",
			    primary_at(s->primary));
	/* Peers that call a server name a run; those that call a coordinator to
	   join do not. */
	if (m->hello.role != ROLE_STANDBY && m->blob.size == 0)
		return fail(f, FAIL_CONFIG, "it is a server, not a "
			    "coordinator");
	if (m->hello.role == ROLE_STANDBY) {
		if (replication_hello(s->replication, e->peer, m, f) < 0)
			return -1;
		s->standby_due = true;
		return 0;
	}
	if (m->hello.role == ROLE_SERVER)
		return hello_server(s, m, f);
	if (m->hello.role != ROLE_WORKER && m->hello.role != ROLE_EVALUATOR &&
	    m->hello.role != ROLE_RELAY)
		return fail(f, FAIL_PROTOCOL, "a server has no connections "
			    "from this role");
	if (!server_run_is(s->run, &m->blob))
		return fail(f, FAIL_AGAIN, "another run");
	/* The log may hold less than was answered for: the coordinator finds
	   out, and its PLAN says what counts. */
	return session_is_claimed(s->session) ? 0 :
		fail(f, FAIL_AGAIN, "no plan since it was started");
}

static int
hello(struct server *s, struct event *e)
{
	struct message *out = e->answer;
	const bool whole = is_whole(s);

	if (message_check_hello(e->m, e->why) < 0 ||
	    session_make_room(s->session, e->why) < 0 ||
	    admit(s, e, e->why) < 0)
		return -1;
	session_add(s->session, e->peer, (enum role)e->m->hello.role);
	out->kind = MESSAGE_WELCOME;
	out->welcome.version = WIRE_VERSION;
	out->welcome.role = primary_followed(s->primary) ? ROLE_STANDBY :
		ROLE_SERVER;
	out->welcome.index = server_run_index(s->run);
	out->welcome.life = s->life;
	out->welcome.term = server_run_term(s->run);
	out->welcome.plan = whole ? server_run_number(s->run) : WIRE_NONE;
	out->welcome.journal = server_run_journal(s->run);
	if (whole)
		out->blob = server_run_id(s->run);
	return ANSWER;
}

static int
ping(struct server *s, struct event *e)
{
	(void)s;
	e->answer->kind = MESSAGE_PONG;
	return ANSWER;
}

static int
do_nothing(struct server *s, struct event *e)
{
	(void)s;
	(void)e;
	return SILENCE;
}

static int
remove_peer(struct server *s, struct event *e)
{
	session_remove(s->session, e->peer);
	return SILENCE;
}

/* The coordinator leaves us to others. */
static int
leave_run(struct server *s, struct event *e)
{
	(void)e;
	session_leave(s->session, server_run_term(s->run));
	return ANSWER;
}

static int
stop(struct server *s, struct event *e)
{
	session_end_run(s->session);
	s->stopping = true;
	replication_send(s->replication, e->m);
	return ANSWER;
}

/* ---- values ---- */

static bool
session_has_peer(void *session, uint64_t peer)
{
	return session_has(session, peer);
}

/* Keep a pull until its round has ended; perhaps its result can be sent
   ahead. */
static int
keep_pull(struct server *s, struct event *e)
{
	const uint64_t ahead = server_run_pull_ahead(s->run, e->m, e->answer);
	const bool relayed = session_sender(s->session, e->peer) ==
		SENDER_RELAY;

	if (waiting_pulls_add(&s->waiting_pulls, e->peer, relayed, e->m,
			      ahead))
		waiting_pulls_forget_leavers(&s->waiting_pulls,
					     session_has_peer, s->session);
	return ahead > 0 ? ANSWER : SILENCE;
}

static int
pull(struct server *s, struct event *e)
{
	struct message *out = e->answer;
	const struct message *m = e->m;
	const struct shard_snapshot *snapshot = m->pull.cut == WIRE_NONE ?
		NULL : snapshots_find(s->snapshots, m->pull.cut);
	int status;

	if (session_check_unread(s->session, e->peer, e->why) < 0)
		return -1;
	status = server_run_pull(s->run, m, snapshot, out, e->why);
	if (status == 1)
		return keep_pull(s, e);
	if (status == 0 && out->frames > 0 && !snapshot)
		pull_keys_keep(&s->pull_keys, e->peer, m->request,
			       &m->frame[0]);
	return status;
}

/*
 * Whether the sender may be sent more is checked before the push becomes a
 * change, which the log and the standby have, too.  A push that refers to the
 * keys of a pull is given these keys here, so that log and standby hold it
 * complete.
 */
static int
whole_push(struct server *s, struct event *e)
{
	struct pulled_keys *pulled;

	if (e->m->kind == MESSAGE_PUSHPULL &&
	    session_check_unread(s->session, e->peer, e->why) < 0)
		return -1;
	if (message_level(e->m->push.slot) > 0 && e->from != SENDER_RELAY)
		return fail(e->why, FAIL_PROTOCOL, "only a relay may send a "
			    "sum of replicas");
	if (e->m->push.back == 0)
		return 0;
	if (e->m->frame[0].size > 0)
		return fail(e->why, FAIL_PROTOCOL, "a push with keys of its "
			    "own and keys of a pull");
	pulled = pull_keys_take(&s->pull_keys, e->peer,
				e->m->request - e->m->push.back);
	if (!pulled) {
		struct message gone = message_answer(e->m, MESSAGE_VALUES);

		gone.values.outcome = OUTCOME_GONE;
		session_send(s->session, e->peer, &gone);
		return SILENCE;
	}
	*e->whole = *e->m;
	e->whole->push.back = 0;
	e->whole->frame[0] = pulled->keys;
	e->m = e->whole;
	e->owned = pulled;
	return 0;
}

static int
push(struct server *s, struct event *e)
{
	struct message *out = e->answer;
	const struct message *m = e->m;

	if (server_run_push(s->run, m, out, e->why) < 0)
		return -1;
	if (out->frames > 0 && e->peer)
		pull_keys_keep(&s->pull_keys, e->peer, m->request,
			       &m->frame[1]);
	return ANSWER;
}

/* ---- the plan ---- */

/* Ask now whether checkpoints can be written, not when the first one fails. */
static int
receive_plan(struct server *s, struct event *e)
{
	const struct message *m = e->m;

	if (s->can_save && !server_run_has_plan(s->run, m) &&
	    s->can_save(s->saver, (enum saves)m->plan.saves, m->plan.server,
			e->why) < 0)
		return -1;
	if (server_run_is(s->run, &m->blob) &&
	    m->plan.term < server_run_term(s->run))
		return 0;
	s->asked_term = m->plan.term;
	replication_keep(s->replication, m->plan.standby);
	return 0;
}

/* We have this plan already; its term may be new. */
static int
take_term(struct server *s, const struct message *m, struct fail *f)
{
	const uint64_t term = m->plan.term;

	if (session_check_term(s->session, term, f) < 0)
		return -1;
	if (term > server_run_term(s->run))
		snapshots_let_go(s->snapshots);
	server_run_begin_term(s->run, m);
	session_claim(s->session, term);
	return 0;
}

/* May the server begin anew with a plan that is not ours? */
static int
check_begin(const struct server *s, const struct message *m, struct fail *f)
{
	if (server_run_check_id(m, f) < 0)
		return -1;
	if (server_run_is(s->run, &m->blob) &&
	    session_check_term(s->session, m->plan.term, f) < 0)
		return -1;
	if (snapshots_have_jobs(s->snapshots))	/* the writer still reads the
						   shard */
		return fail(f, FAIL_AGAIN, "a checkpoint is being written");
	return 0;
}

/* 1: the program is to end. */
static int
take_plan(struct server *s, const struct message *m, struct fail *f)
{
	int status;

	if (server_run_has_plan(s->run, m))
		return take_term(s, m, f);
	if (check_begin(s, m, f) < 0)
		return -1;
	forget_run(s);
	status = server_run_new(&s->run, m, &s->world, f);
	if (status == 0)
		session_claim(s->session, m->plan.term);
	return status;
}

/* The answer reports which steps are here; the coordinator believes only this
   report. */
static int
plan(struct server *s, struct event *e)
{
	struct message *out = e->answer;
	unsigned char bytes[SERVER_RUN_STANDING];
	const int status = take_plan(s, e->m, e->why);

	s->standby_due = true;
	if (status != 0)
		return status;
	server_run_note_journal(s->run, e->m->plan.journal);
	server_run_standing(s->run, out, bytes);
	out->ok.standby = replication_counted(s->replication);
	session_send(s->session, e->peer, out);
	return SILENCE;
}

/* ---- other messages of the coordinator ---- */

static int
mark(struct server *s, struct event *e)
{
	server_run_note_journal(s->run, e->m->mark.journal);
	server_run_mark(s->run, e->m->mark.step, e->m->mark.replicas);
	return ANSWER;
}

static int
void_steps(struct server *s, struct event *e)
{
	server_run_note_journal(s->run, e->m->voided.journal);
	return server_run_void(s->run, e->m, e->why);
}

static int
check(struct server *s, struct event *e)
{
	struct pack missing = { 0 };
	int status = server_run_check_round(s->run, e->m, &missing, e->why);

	if (status == 0) {
		e->answer->kind = MESSAGE_MISSING;
		e->answer->frames = 1;
		e->answer->frame[0] = (struct frame){ missing.data,
						      missing.size, NULL };
		session_send(s->session, e->peer, e->answer);
		status = SILENCE;
	}
	pack_release(&missing);
	return status;
}

static int
commit(struct server *s, struct event *e)
{
	return server_run_commit(s->run, e->m, e->why);
}

static int
freeze(struct server *s, struct event *e)
{
	if (snapshots_freeze(s->snapshots, server_run_shard(s->run),
			     e->m->cut.cut, e->m->cut.step,
			     server_run_high(s->run), e->why) < 0)
		return -1;
	if (e->m->cut.part > 0)		/* a run may begin with it */
		server_run_publish_at(s->run, e->m->cut.step);
	return ANSWER;
}

static int
thaw(struct server *s, struct event *e)
{
	return snapshots_thaw(s->snapshots, e->m->cut.cut, e->why);
}

static int
add_job(struct server *s, struct event *e)
{
	return snapshots_add_job(s->snapshots, e->peer, e->m, e->why) < 0 ?
		-1 : SILENCE;
}

/* The coordinator counts on this standby from now on, or on none (life 0). */
static int
count_standby(struct server *s, struct event *e)
{
	const struct message *m = e->m;

	if (m->standby.run == server_run_short_id(s->run) &&
	    m->standby.term == newest_term(s))	/* else it is of an earlier
						   coordinator */
		replication_count(s->replication, m->standby.life);
	return SILENCE;
}

static int
receive_standby(struct server *s, struct event *e)
{
	replication_receive(s->replication, e->peer, e->m, s->commit_log.taken);
	return SILENCE;
}

/* ---- the server that we follow ---- */

static void
send_hello(const struct server *s)
{
	primary_hello(s->primary, server_run_index(s->run),
		      server_run_term(s->run), server_run_id(s->run));
}

/*
 * Take over from the server that we followed, if this is the PLAN that promotes
 * us.  Changes that came from that server are acted on first.
 */
static int
promote(struct server *s, const struct message *m, struct fail *f)
{
	if (!primary_followed(s->primary))
		return 0;
	if (m->kind != MESSAGE_PLAN || !primary_copied(s->primary) ||
	    !server_run_is(s->run, &m->blob) ||
	    m->plan.plan != server_run_number(s->run) ||
	    m->plan.term <= server_run_term(s->run))
		return fail(f, FAIL_AGAIN, "a standby, which was not "
			    "promoted");
	primary_promote(s->primary, s->commit_log.last);
	primary_hello(s->primary, server_run_index(s->run), m->plan.term,
		      server_run_id(s->run));
	run_changes(s);		/* an event of its own, before the PLAN */
	return 0;
}

/* Begin to copy the primary's state. */
static int
take_sync(struct server *s, const struct message *m, struct fail *f)
{
	const bool newer = !server_run_is(s->run, &m->blob) ||
		m->sync.term > server_run_term(s->run);
	int status;

	if (primary_check_sync(s->primary, newer, f) < 0)
		return -1;
	primary_forget(s->primary);
	forget_run(s);
	status = server_run_new_copy(&s->run, m, &s->world, f);
	if (status != 0)
		return status;
	session_claim(s->session, m->sync.term);
	commit_log_begin(&s->commit_log, m->sync.number);
	primary_begin(s->primary, m);
	return 0;
}

static int
take_state(struct server *s, const struct message *m, struct fail *f)
{
	const struct shard_chunk chunk = {
		.piece = m->state.piece, .chunk = m->state.chunk,
		.updates = m->state.updates, .since = m->state.since,
		.begun = m->state.begun, .data = m->frame[0]
	};

	return primary_next_chunk(s->primary) ?
		shard_take_chunk(server_run_shard(s->run), &chunk, f) : 0;
}

/* An error that a new copy would not mend ends the program. */
static int
give_up(struct server *s, int status, const struct fail *f)
{
	if (status < 0 && f->kind != FAIL_AGAIN)
		s->over = *f;
	return status;
}

static int
sync(struct server *s, struct event *e)
{
	return give_up(s, take_sync(s, e->m, e->why), e->why);
}

static int
state(struct server *s, struct event *e)
{
	return give_up(s, take_state(s, e->m, e->why), e->why);
}

/* The primary stops, since the run is over. */
static int
follow_stop(struct server *s, struct event *e)
{
	s->stopping = true;
	*e->answer = (struct message){ .kind = MESSAGE_BYE };
	return ANSWER;
}

static int
refused(struct server *s, struct event *e)
{
	char text[MESSAGE_BLOB + 1];

	if (primary_refused(s->primary, e->m)) {
		send_hello(s);
	} else if (!primary_copied(s->primary)) {	/* no successor */
		message_text(e->m, text, sizeof(text));
		fail(&s->over, message_status(e->m->refused.status),
		     "%s refuses this standby: %s",
		     primary_at(s->primary), text);
	}
	return SILENCE;
}

/* Every change of the primary is one here, too. */
static int
follow_primary(struct server *s, struct event *e)
{
	if (primary_synced(s->primary) && find_change(e->m->kind))
		commit_log_add(&s->commit_log, 0, e->m);
	return SILENCE;
}

/* ---- events ---- */

/* The only place that decides which messages of which senders are taken. */
static int
receive(struct server *s, struct event *e, struct fail *f)
{
	const struct rule *r = find_rule(e->m->kind, e->from);
	int status = 0;

	if (!r)
		return deny(e, f);
	if (r->is & NEEDS_RUN && !s->run)
		return fail(f, FAIL_AGAIN, "no plan yet");
	if (r->is & NEEDS_LEADER && promote(s, e->m, f) < 0)
		return -1;
	e->why = f;
	if (r->admit)
		status = r->admit(s, e);
	if (status != 0)
		return status;
	if (r->is & MAKES_CHANGE && must_wait(s))
		replication_forward(s->replication,
				    commit_log_add(&s->commit_log, e->peer,
						   e->m));
	else
		act_on(s, r, e);
	return 0;
}

/* Take one message, of any sender. */
static void
receive_one(struct server *s, struct event *e)
{
	struct message whole;
	struct fail f;

	e->whole = &whole;
	if (receive(s, e, &f) < 0)
		session_refuse(s->session, e->peer, e->m, &f);
	run_changes(s);
	free(e->owned);
}

/* Take each message of a bundle as if it had come by itself. */
static int
bundle(struct server *s, struct event *e)
{
	struct bundle left = { e->m->frame[0].data, e->m->frame[0].size };
	struct message m;
	uint64_t count = 0;
	int more;

	while ((more = bundle_next(&left, &m, e->why)) == 1) {
		struct event one = { .from = e->from, .peer = e->peer,
				     .now = e->now, .m = &m };

		receive_one(s, &one);
		count++;
	}
	if (more == 0 && count != e->m->bundle.count)
		return fail(e->why, FAIL_PROTOCOL, "a bundle of %llu messages "
			    "has %llu",
			    (unsigned long long)e->m->bundle.count,
			    (unsigned long long)count);
	return more < 0 ? -1 : SILENCE;
}

void
server_receive(struct server *s, uint64_t peer, const struct message *m,
	       uint64_t now_ms)
{
	const uint64_t acted = s->commit_log.taken;
	const bool followed = primary_is(s->primary, peer);
	struct event e = { .peer = peer, .now = now_ms, .m = m };

	e.from = followed ? SENDER_PRIMARY : session_sender(s->session, peer);
	if (e.from == SENDER_COORDINATOR && m->kind != MESSAGE_HELLO)
		session_received(s->session, now_ms);
	if (followed)
		session_need(s->session);
	replication_watch(s->replication, acted < s->commit_log.last &&
			  acted >= replication_limit(s->replication),
			  s->lease_ms, now_ms);
	/* After we took over, messages of the old primary do not count. */
	if (followed && primary_promoted(s->primary))
		run_changes(s);
	else
		receive_one(s, &e);
}

void
server_up(struct server *s, uint64_t peer)
{
	if (primary_is(s->primary, peer))
		send_hello(s);
}

void
server_ping_standbys(struct server *s)
{
	replication_ping(s->replication);
	run_changes(s);
}

void
server_flush(struct server *s)
{
	primary_hold(s->primary, s->commit_log.last);
	run_changes(s);
}

int
server_follow(struct server *s, const char *primary, const char *endpoint,
	      struct fail *f)
{
	return primary_follow(s->primary, primary, endpoint, f);
}

/* ---- work on files ---- */

bool
server_job(struct server *s, struct server_job *job)
{
	return snapshots_next_job(s->snapshots, job);
}

void
server_saved(struct server *s, const struct server_job *job,
	     const struct checkpoint_part *part, const struct fail *why)
{
	struct message m = message_answer(&job->request, MESSAGE_SAVED);

	snapshots_end_job(s->snapshots, job);
	if (!part) {
		session_refuse(s->session, job->peer, &job->request, why);
	} else {
		m.saved.size = part->size;
		m.blob = (struct frame){ part->hash, strlen(part->hash),
					 NULL };
		session_send(s->session, job->peer, &m);
	}
	run_changes(s);
}

/*
 * Is a checkpoint that of the run that the coordinator means?  Two runs give
 * their checkpoints the same names, and someone may have put back a backup of
 * the wrong one.
 */
static int
check_same_run(const struct message *load, const struct checkpoint *from,
	       struct fail *f)
{
	const struct checkpoint_info *info = checkpoint_info(from);
	uint64_t run = 0;
	char digits[3] = "";

	for (size_t i = 0; i < sizeof(run); i++) {
		memcpy(digits, info->run + 2 * i, 2);
		((unsigned char *)&run)[i] =
			(unsigned char)strtoul(digits, NULL, 16);
	}
	if (load->cut.part != 0 && load->cut.part != run)
		return fail(f, FAIL_DATA, "%s is of another run: put back the "
			    "checkpoint of this run, or remove it to start "
			    "from an older one", checkpoint_path(from));
	return 0;
}

/*
 * A standby cannot load a checkpoint that its primary has loaded.  If the
 * checkpoint is gone, because newer ones have replaced it, copy the whole state
 * again; any other failure needs a person.
 */
static void
fail_load(struct server *s, const struct message *load, const struct fail *why)
{
	if (why->kind != FAIL_NOINPUT) {
		s->over = *why;
		return;
	}
	primary_forget(s->primary);
	forget_run(s);
	commit_log_release(&s->commit_log);
	primary_refuse(s->primary, load, why);
	send_hello(s);
}

int
server_load(struct server *s, const struct server_job *job,
	    struct checkpoint *from, const struct checkpoint_reader *reader,
	    struct fail *why)
{
	const struct message *load = &job->request;
	const struct message ok = message_answer(load, MESSAGE_OK);
	int r = from ? 0 : -1;

	snapshots_end_job(s->snapshots, job);
	if (!s->run)		/* it was forgotten meanwhile */
		return r;
	if (r == 0 && (check_same_run(load, from, why) < 0 ||
		       server_run_restore(s->run, from, reader,
					  load->cut.step, why) < 0))
		r = -1;
	if (r < 0 && s->world.stopped && s->world.stopped()) {
		session_release(s->session);	/* its values are partly
						   loaded */
		return r;
	}
	if (r == 0)
		session_send(s->session, job->peer, &ok);
	else if (primary_followed(s->primary))
		fail_load(s, load, why);
	else
		session_refuse(s->session, job->peer, load, why);
	s->standby_due = true;
	run_changes(s);
	return r;
}

/* ---- the log ---- */

void
server_log(struct server *s)
{
	commit_log_set_logged(&s->commit_log, s->commit_log.last);
}

const struct change *
server_change(const struct server *s, uint64_t number)
{
	return commit_log_find(&s->commit_log, number);
}

void
server_durable(struct server *s, uint64_t number)
{
	commit_log_set_logged(&s->commit_log, number);
	run_changes(s);
}

uint64_t
server_acted(const struct server *s)
{
	return s->commit_log.taken;
}

int
server_begins(const struct server *s, const struct message *m)
{
	struct fail none;

	if (server_run_has_plan(s->run, m))
		return 0;
	return check_begin(s, m, &none) < 0 ? -1 : 1;
}

bool
server_ended(const struct server *s, uint64_t step)
{
	return s->run && server_run_high(s->run) <= step;
}

bool
server_unsaved(const struct server *s, uint64_t step, uint64_t *last,
	       char run[33])
{
	const unsigned char *id = server_run_id(s->run).data;

	if (!s->run || server_ended(s, step))
		return false;
	*last = server_run_high(s->run) - 1;
	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(run + 2 * i, 3, "%02x", id[i]);
	return true;
}

bool
server_run_over(const struct server *s)
{
	return session_run_over(s->session);
}

struct message
server_plan(const struct server *s, uint64_t step, struct pack *model,
	    struct pack *plan)
{
	return server_run_plan(s->run, step, model, plan);
}

void
server_replay(struct server *s, const struct message *m)
{
	const struct rule *r = find_change(m->kind);
	struct event e = { .m = m };

	/* A change that is refused now was refused before, too. */
	if (r)
		act_on(s, r, &e);
	run_changes(s);
	session_release(s->session);	/* any coordinator may have us */
}

/* ---- what the program asks ---- */

bool
server_stopping(const struct server *s)
{
	return s->stopping;
}

bool
server_awaits(const struct server *s)
{
	return s->stopping && replication_reached(s->replication);
}

bool
server_over(const struct server *s, struct fail *f)
{
	*f = s->over;
	return s->over.kind != 0;
}

bool
server_has_run(struct server *s, uint64_t now_ms)
{
	return session_has_run(s->session, now_ms) && s->run;
}

void
server_look(struct server *s, uint64_t now_ms)
{
	/* A ping tells our standby that it is used.  While nobody uses this
	   server, nobody uses the standby. */
	if (session_look(s->session, SERVER_LOOK_MS, now_ms))
		server_ping_standbys(s);
}

int
server_check_idle(const struct server *s, uint64_t limit_ms,
		  const char *coordinator, struct fail *f)
{
	const double seconds = (double)limit_ms / 1000;
	const char *name = coordinator ? coordinator : "";
	const char *space = coordinator ? " " : "";

	if (!session_idle(s->session, limit_ms))
		return 0;
	if (primary_followed(s->primary))
		return fail(f, FAIL_PEER, "no coordinator has connected for %g "
			    "s, and its primary %s is gone, or has none "
			    "either: it ends (--idle)", seconds,
			    primary_at(s->primary));
	if (session_coordinator(s->session))
		return fail(f, FAIL_PEER, "its coordinator%s%s has been silent "
			    "for %g s: it ends (--idle)", space, name,
			    seconds);
	return fail(f, FAIL_PEER, "its coordinator%s%s has not connected for "
		    "%g s: it ends (--idle)", space, name, seconds);
}

const char *
server_state(struct server *s)
{
	server_run_text(s->run, s->state, sizeof(s->state));
	return s->state;
}

/* ---- what always holds ---- */

static const char *
check_run(const struct server *s)
{
	const char *violation;

	if (!s->run)
		return snapshots_have_jobs(s->snapshots) ||
			s->waiting_pulls.count > 0 ?
			"server 1: no state is left of a run that was "
			"forgotten" : NULL;
	if (server_run_term(s->run) > session_term(s->session))
		return "server 2: the plan's term is not above the session's";
	violation = server_run_check(s->run);
	return violation ? violation :
		waiting_pulls_check(&s->waiting_pulls,
				    server_run_round(s->run));
}

const char *
server_check(const struct server *s)
{
	const bool follows = primary_followed(s->primary);
	const uint64_t acted = s->commit_log.taken;
	const uint64_t most = replication_limit(s->replication);
	const char *violation = check_run(s);

	violation = violation ? violation :
		commit_log_check(&s->commit_log, follows ||
				 snapshots_loading(s->snapshots) ? NULL :
				 &most);
	violation = violation ? violation : primary_check(s->primary, acted);
	violation = violation ? violation :
		replication_check(s->replication, follows, acted);
	return violation ? violation : snapshots_check(s->snapshots);
}
