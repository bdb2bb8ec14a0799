#include "role/server_inside.h"

#include "base/failpoint.h"
#include "base/hash.h"
#include "base/mem.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PEERS	65536

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
	shard_free(s->shard);
	s->shard = NULL;
	plan_release(&s->plan);
	model_free(s->model);
	s->model = NULL;
	model_source_release(&s->source);
	s->mark = s->pushes = s->repeats = s->above = 0;
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

	if (m->hello.version != WIRE_VERSION)
		return fail(f, FAIL_PROTOCOL, "protocol version %llu, "
			    "not %d: use programs of one release",
			    (unsigned long long)m->hello.version,
			    WIRE_VERSION);
	if (s->peers.count >= MAX_PEERS)
		forget_leavers(s);
	if (s->peers.count >= MAX_PEERS)
		return fail(f, FAIL_AGAIN, "too many peers");
	if (m->hello.role == ROLE_COORDINATOR) {
		if (check_coordinator(s, m, now, f) < 0)
			return -1;
		s->coordinator = peer;
		s->coordinator_heard = now;
		if (s->shard && server_same_run(s, &m->blob))
			s->term = m->hello.term;
		s->primary.greeted = whole;
	} else if (m->hello.role == ROLE_STANDBY) {
		if (server_hello_standby(s, peer, m, f) < 0)
			return -1;
	} else if (m->hello.role == ROLE_SERVER) {
		return server_hello_server(s, m, f);
	} else if (primary_followed(&s->primary)) {
		return fail(f, FAIL_AGAIN, "a standby of %s",
			    s->primary.at);
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
	out.welcome.role = ROLE_SERVER;
	out.welcome.index = s->index;
	out.welcome.life = s->life;
	out.welcome.term = s->plan.term;
	out.welcome.plan = whole ? s->plan.number : WIRE_NONE;
	out.blob = (struct frame){ s->plan.run, whole ? PLAN_RUN : 0, NULL };
	server_say(s, peer, &out);
	if (m->hello.role == ROLE_COORDINATOR)
		server_report_standby(s);
	if (m->hello.role == ROLE_STANDBY)
		server_begin_standby(s);
	return 0;
}

/* ---- the coordinator's ---- */

static bool
saving(const struct server *s, const struct named_cut *cut)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].cut == cut->cut)
			return true;
	return false;
}

/* What the coordinator of an earlier term had us hold. */
static void
let_cuts_go(struct server *s)
{
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && saving(s, &s->cut[i])) {
			s->cut[i].id = WIRE_NONE;	/* until it is saved */
		} else {
			cut_free(s->cut[i].cut);
			s->cut[i].cut = NULL;
		}
}

/* We have this plan: it is the term that may be new. */
static int
take_term(struct server *s, uint64_t term, struct fail *f)
{
	if (term < s->term)
		return fail_term(s, term, f);
	if (term > s->plan.term)
		let_cuts_go(s);
	s->term = s->plan.term = term;
	s->busy = true;
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

int
server_take_plan(struct server *s, const struct message *m, struct fail *f)
{
	if (m->blob.size != PLAN_RUN)
		return fail(f, FAIL_PROTOCOL, "a plan of no run");
	if (server_has_plan(s, m))
		return take_term(s, m->plan.term, f);
	if (s->shard && server_same_run(s, &m->blob) &&
	    m->plan.term < s->term)
		return fail_term(s, m->plan.term, f);
	if (s->jobs > 0)	/* the writer still reads what we hold */
		return fail(f, FAIL_AGAIN, "a checkpoint is being written");
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
	s->plan.number = m->plan.plan;
	s->plan.seed = m->plan.seed;
	s->term = s->plan.term = m->plan.term;
	memcpy(s->plan.run, m->blob.data, PLAN_RUN);
	s->model_hash = hash64(m->frame[0].data, m->frame[0].size);
	s->index = m->plan.server;
	s->mark = m->plan.step;
	s->shard = shard_new(&s->plan, s->model, s->index);
	s->applied = mem_alloc(s->plan.parts, sizeof(*s->applied));
	s->stage = stage_new(&s->plan, s->model, s->index, s->shard, s->mark);
	s->busy = true;
	return 0;
}

static int
check_term(const struct server *s, uint64_t run, uint64_t term,
	   struct fail *f)
{
	if (!s->shard || run != plan_run(&s->plan))
		return fail(f, FAIL_AGAIN, "another run");
	return term >= s->plan.term ? 0 : fail_term(s, term, f);
}

static void
advance_round(struct server *s)
{
	if (stage_advance(s->stage, s->mark, &s->voided))
		s->round_ended = true;
}

static void
mark(struct server *s, uint64_t step)
{
	if (step <= s->mark)
		return;
	for (size_t i = 0; i < s->plan.parts; i++)
		window_forget(&s->applied[i], s->mark, step);
	window_forget(&s->voided, s->mark, step);
	s->mark = step;
	advance_round(s);
}

static int
void_steps(struct server *s, const struct message *m, struct fail *f)
{
	uint64_t first = m->voided.first, count = m->voided.count;

	/* Asked again after a mark: what is below it has ended anyway. */
	if (first < s->mark) {
		const uint64_t ended = s->mark - first;

		first = s->mark;
		count -= ended < count ? ended : count;
	}
	if (count > WINDOW || first - s->mark > WINDOW - count)
		return fail(f, FAIL_PROTOCOL, "steps beyond the window");
	for (uint64_t i = 0; i < count; i++)
		window_add(&s->voided, first + i);
	advance_round(s);
	return 0;
}

static int
commit(struct server *s, const struct message *m, struct fail *f)
{
	if (stage_commit(s->stage, m->commit.step, &m->frame[0], f) < 0)
		return -1;
	s->round_ended = true;
	advance_round(s);
	return 0;
}

static struct named_cut *
find_cut(struct server *s, uint64_t id)
{
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && s->cut[i].id == id)
			return &s->cut[i];
	return NULL;
}

/* There is to be a cut of the steps below this one. */
static int
freeze(struct server *s, uint64_t id, uint64_t step, struct fail *f)
{
	if (find_cut(s, id))
		return 0;
	if (s->above > step)	/* for a coordinator that has forgotten */
		return fail(f, FAIL_AGAIN, "steps up to %llu are applied",
			    (unsigned long long)s->above - 1);
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (!s->cut[i].cut) {
			s->cut[i].id = id;
			s->cut[i].cut = cut_below(s->shard, step);
			return 0;
		}
	return fail(f, FAIL_AGAIN, "too many cuts are held");
}

static int
thaw(struct server *s, uint64_t id, struct fail *f)
{
	struct named_cut *cut = find_cut(s, id);

	if (cut && saving(s, cut))
		return fail(f, FAIL_AGAIN, "the cut is being saved");
	if (cut) {
		cut_free(cut->cut);
		cut->cut = NULL;
	}
	return 0;
}

/* Names travel, never paths. */
static bool
plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') &&
		!strchr(name, '?');
}

/* The variables are as they were at this step: so is what we know of them. */
static void
go_back(struct server *s, uint64_t step)
{
	for (size_t i = 0; i < s->plan.parts; i++)
		window_release(&s->applied[i]);
	window_release(&s->voided);
	stage_reset(s->stage, step);
	s->mark = s->above = step;
}

static void
drop_job(struct server *s)
{
	s->jobs--;
	memmove(s->job, s->job + 1, s->jobs * sizeof(*s->job));
}

/*
 * A LOAD without a name, back to the initial values, is no work on files, but
 * has its turn: what is being saved is of the shard that goes.
 */
static void
start_over(struct server *s)
{
	while (s->jobs > 0 && s->job[0].kind == JOB_LOAD &&
	       *s->job[0].name == '\0') {
		const struct server_job job = s->job[0];
		const struct message m = message_answer(&job.request,
							MESSAGE_OK);

		drop_job(s);
		let_cuts_go(s);
		if (s->standby.cut)
			server_drop_standby(s);
		stage_free(s->stage);
		shard_free(s->shard);
		s->shard = shard_new(&s->plan, s->model, s->index);
		s->stage = stage_new(&s->plan, s->model, s->index, s->shard,
				     job.request.cut.step);
		go_back(s, job.request.cut.step);
		server_say(s, job.peer, &m);
	}
}

static int
add_job(struct server *s, uint64_t peer, const struct message *m,
	struct fail *f)
{
	struct server_job job = {
		.kind = m->kind == MESSAGE_SAVE ? JOB_SAVE : JOB_LOAD,
		.part = m->cut.part, .parts = m->cut.parts,
		.peer = peer, .request = *m
	};
	struct named_cut *cut = find_cut(s, m->cut.cut);

	message_text(m, job.name, sizeof(job.name));
	if (!plain_name(job.name) &&
	    (job.kind == JOB_SAVE || m->blob.size > 0))
		return fail(f, FAIL_PROTOCOL, "not a name of a checkpoint");
	if (job.kind == JOB_SAVE && !cut)
		return fail(f, FAIL_PROTOCOL, "no such cut");
	if (s->jobs == MAX_JOBS)
		return fail(f, FAIL_AGAIN, "too many files at once");
	if (job.kind == JOB_SAVE) {
		job.cut = cut->cut;
		job.array = cut_arrays(cut->cut, &job.arrays);
	}
	s->job[s->jobs++] = job;
	start_over(s);
	return 0;
}

bool
server_loading(const struct server *s)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].kind == JOB_LOAD)
			return true;
	return false;
}

bool
server_job(struct server *s, struct server_job *job)
{
	if (s->jobs == 0)
		return false;
	*job = s->job[0];
	return true;
}

static void
end_job(struct server *s, const struct server_job *job)
{
	if (s->jobs == 0 || s->job[0].request.request != job->request.request)
		return;		/* of a run that was forgotten */
	drop_job(s);
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && s->cut[i].id == WIRE_NONE &&
		    !saving(s, &s->cut[i])) {
			cut_free(s->cut[i].cut);
			s->cut[i].cut = NULL;
		}
}

void
server_saved(struct server *s, const struct server_job *job,
	     const struct checkpoint_part *part, const struct fail *why)
{
	struct message m = message_answer(&job->request, MESSAGE_SAVED);

	end_job(s, job);
	if (!part) {
		server_refuse(s, job->peer, &job->request, why);
	} else {
		m.saved.size = part->size;
		m.blob = (struct frame){ part->hash, strlen(part->hash),
					 NULL };
		server_say(s, job->peer, &m);
	}
	start_over(s);
	server_settle(s);
}

void
server_load(struct server *s, const struct server_job *job,
	    struct checkpoint *from, struct fail *why)
{
	const struct message m = message_answer(&job->request, MESSAGE_OK);

	end_job(s, job);
	if (!s->shard)		/* the run was forgotten meanwhile */
		return;
	if (!from || shard_restore(s->shard, from, why) < 0) {
		server_refuse(s, job->peer, &job->request, why);
		if (primary_followed(&s->primary))
			s->over = *why;		/* it has what we have not */
	} else {
		go_back(s, job->request.cut.step);
		server_say(s, job->peer, &m);
	}
	start_over(s);
	server_begin_standby(s);
	server_settle(s);
}

/* What only the coordinator may say.  1: it will be answered later. */
static int
obey(struct server *s, uint64_t peer, const struct message *m,
     struct fail *f)
{
	switch (m->kind) {
	case MESSAGE_PLAN:
		return server_take_plan(s, m, f);
	case MESSAGE_MARK:
		if (check_term(s, m->mark.run, m->mark.term, f) < 0)
			return -1;
		mark(s, m->mark.step);
		return 0;
	case MESSAGE_VOID:
		if (check_term(s, m->voided.run, m->voided.term, f) < 0)
			return -1;
		return void_steps(s, m, f);
	case MESSAGE_FREEZE:
	case MESSAGE_THAW:
		if (check_term(s, m->cut.run, m->cut.term, f) < 0)
			return -1;
		return m->kind == MESSAGE_THAW ? thaw(s, m->cut.cut, f) :
			freeze(s, m->cut.cut, m->cut.step, f);
	case MESSAGE_SAVE:
	case MESSAGE_LOAD:
		if (check_term(s, m->cut.run, m->cut.term, f) < 0 ||
		    add_job(s, peer, m, f) < 0)
			return -1;
		return 1;
	case MESSAGE_COMMIT:
		if (check_term(s, m->commit.run, m->commit.term, f) < 0)
			return -1;
		return commit(s, m, f);
	case MESSAGE_STOP:
		s->stopping = true;
		server_say(s, s->standby.peer, m);
		server_say(s, s->waiting.peer, m);
		return 0;
	case MESSAGE_BYE:
		s->busy = false;
		return 0;
	default:
		return fail(f, FAIL_PROTOCOL, "%s is not for a server",
			    message_name(m->kind));
	}
}

/* ---- workers' and evaluators' ---- */

/* Is it of our run, our term, our plan?  If not, tell the sender which. */
static enum outcome
check_plan(const struct server *s, uint64_t run, uint64_t term,
	   uint64_t plan)
{
	if (run != plan_run(&s->plan) || term != s->plan.term)
		return OUTCOME_STALE;
	return plan == s->plan.number ? OUTCOME_NONE : OUTCOME_WRONG_PLAN;
}

static int
check_part(const struct server *s, uint64_t part, struct fail *f)
{
	if (part < s->plan.parts && s->plan.part[part].server == s->index)
		return 0;
	return fail(f, FAIL_PROTOCOL, "part %llu is not here",
		    (unsigned long long)part);
}

static int
pull(struct server *s, uint64_t peer, const struct message *m,
     struct fail *f)
{
	struct message out = message_answer(m, MESSAGE_VALUES);
	const struct named_cut *cut = NULL;

	out.values.outcome = check_plan(s, m->pull.run, m->pull.term,
					m->pull.plan);
	if (out.values.outcome != OUTCOME_NONE) {
		server_say(s, peer, &out);
		return 0;
	}
	if (check_part(s, m->pull.part, f) < 0)
		return -1;
	if (m->pull.after > stage_step(s->stage)) {
		parked_add(&s->parked, peer, m);
		return 0;
	}
	if (m->pull.cut != WIRE_NONE) {
		cut = find_cut(s, m->pull.cut);
		if (!cut)
			return fail(f, FAIL_AGAIN, "the cut is no longer "
				    "held");
	}
	if (shard_pull_keys(s->shard, m->pull.part, &m->frame[0], f) < 0)
		return -1;
	shard_pull_values(s->shard, cut ? cut->cut : NULL, &out.frame[0]);
	out.frames = 1;
	out.values.version = shard_version(s->shard, m->pull.part);
	server_say(s, peer, &out);
	if (!cut)
		recall_keep(&s->recall, peer, m->request, &m->frame[0]);
	return 0;
}

/* Rounds have ended: answer who waited, but for those who wait for more. */
static void
answer_parked(struct server *s)
{
	struct parked taken = parked_take(&s->parked);
	struct fail f;

	s->round_ended = false;
	for (size_t i = 0; i < taken.count; i++) {
		const struct parked_pull *p = &taken.pull[i];

		if (peers_find(&s->peers, p->peer) &&
		    pull(s, p->peer, &p->pull, &f) < 0)
			server_refuse(s, p->peer, &p->pull, &f);
	}
	parked_release(&taken);
}

/* What is to become of a push of this step to this part. */
static enum outcome
judge(const struct server *s, uint64_t part, uint64_t step)
{
	struct fail none;

	if (step < s->mark)
		return OUTCOME_DUP;	/* ended; how, no longer matters */
	if (step - s->mark >= WINDOW)
		return OUTCOME_LATER;
	if (window_has(&s->voided, step))
		return OUTCOME_VOID;
	/* An error here switches off what the nemesis is to miss. */
	return window_has(&s->applied[part], step) &&
		failpoint("dedup", &none) == 0 ? OUTCOME_DUP :
		OUTCOME_APPLIED;
}

/* A push of a slot: it is staged, or applied if its part does not wait. */
static int
take_slot(struct server *s, const struct message *m,
	  const struct shard_push *push, enum outcome *outcome,
	  struct fail *f)
{
	*outcome = judge(s, m->push.part, m->push.step);
	if (*outcome != OUTCOME_VOID &&
	    stage_push(s->stage, m->push.part, m->push.step, m->push.slot,
		       m->push.attempt, push, outcome, f) < 0)
		return -1;
	s->repeats += *outcome == OUTCOME_DUP;
	s->pushes += *outcome == OUTCOME_APPLIED;
	return 0;
}

static int
apply(struct server *s, const struct message *m, const struct frame *values,
      struct message *out, struct fail *f)
{
	const struct shard_push push = {
		.keys = &m->frame[0], .values = values,
		.examples = m->push.examples,
		.learning_rate = message_float(m->push.rate),
		.step = m->push.step
	};
	const uint64_t version = shard_version(s->shard, m->push.part);
	enum outcome outcome;

	if (m->push.attempt > 0) {
		if (take_slot(s, m, &push, &outcome, f) < 0)
			return -1;
		out->values.outcome = outcome;
		if (outcome == OUTCOME_APPLIED && version > m->push.version)
			out->values.staleness = version - m->push.version;
		return 0;
	}
	out->values.outcome = judge(s, m->push.part, m->push.step);
	if (out->values.outcome == OUTCOME_DUP)
		s->repeats++;
	if (out->values.outcome != OUTCOME_APPLIED)
		return 0;
	if (shard_push(s->shard, m->push.part, &push, f) < 0)
		return -1;
	window_add(&s->applied[m->push.part], m->push.step);
	if (m->push.step >= s->above)
		s->above = m->push.step + 1;
	s->pushes++;
	if (version > m->push.version)
		out->values.staleness = version - m->push.version;
	return 0;
}

/* All that may be wrong is found before anything is applied. */
static int
check_push(const struct server *s, const struct message *m, struct fail *f)
{
	const float rate = message_float(m->push.rate);

	if (check_part(s, m->push.part, f) < 0)
		return -1;
	if (m->push.examples == 0)
		return fail(f, FAIL_PROTOCOL, "a push of no examples");
	if (!(rate >= 0 && rate <= FLT_MAX))
		return fail(f, FAIL_PROTOCOL, "a learning rate of %g",
			    (double)rate);
	if (m->push.slot >= WIRE_SLOTS)
		return fail(f, FAIL_PROTOCOL, "there is no slot %llu",
			    (unsigned long long)m->push.slot);
	return m->kind == MESSAGE_PUSHPULL ?
		shard_pull_keys(s->shard, m->push.part, &m->frame[1], f) : 0;
}

/* PUSH: keys, values.  PUSHPULL: keys, keys to pull, values. */
static int
push(struct server *s, uint64_t peer, const struct message *m,
     struct fail *f)
{
	struct message out = message_answer(m, MESSAGE_VALUES);
	const bool pulls = m->kind == MESSAGE_PUSHPULL;

	out.values.outcome = check_plan(s, m->push.run, m->push.term,
					m->push.plan);
	if (out.values.outcome == OUTCOME_NONE) {
		if (check_push(s, m, f) < 0 ||
		    apply(s, m, &m->frame[pulls ? 2 : 1], &out, f) < 0)
			return -1;
		if (pulls)
			shard_pull_values(s->shard, NULL, &out.frame[0]);
		out.frames = pulls;
		out.values.version = shard_version(s->shard, m->push.part);
		if (pulls && peer)
			recall_keep(&s->recall, peer, m->request,
				    &m->frame[1]);
	}
	server_say(s, peer, &out);
	return 0;
}

/* One of those that server_is_change() tells. */
int
server_apply(struct server *s, uint64_t peer, const struct message *m,
	     struct fail *f)
{
	struct message done = message_answer(m, MESSAGE_OK);
	int later;

	if (m->kind == MESSAGE_PUSH || m->kind == MESSAGE_PUSHPULL)
		return s->shard ? push(s, peer, m, f) :
			fail(f, FAIL_AGAIN, "no plan yet");
	later = obey(s, peer, m, f);
	if (m->kind == MESSAGE_PLAN && later == 0)
		done.ok.above = s->above;
	if (later == 0)
		server_say(s, peer, &done);
	if (m->kind == MESSAGE_PLAN || s->round_ended)
		server_begin_standby(s);
	if (s->round_ended)
		answer_parked(s);
	return later;
}

/*
 * A push of the rows of a pull is given their keys here: whoever keeps it, log
 * or standby, has it whole.
 */
static int
hear_push(struct server *s, uint64_t peer, const struct message *m,
	  struct fail *f)
{
	struct message whole = *m, out = message_answer(m, MESSAGE_VALUES);
	struct recalled *pull;
	int done;

	if (m->push.back == 0)
		return server_do(s, peer, m, f);
	if (m->frame[0].size > 0)
		return fail(f, FAIL_PROTOCOL, "a push with keys, and those "
			    "of a pull");
	pull = recall_take(&s->recall, peer, m->request - m->push.back);
	if (!pull) {
		out.values.outcome = OUTCOME_GONE;
		server_say(s, peer, &out);
		return 0;
	}
	whole.push.back = 0;
	whole.frame[0] = pull->keys;
	done = server_do(s, peer, &whole, f);
	free(pull);
	return done;
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
	if (m->kind == MESSAGE_PLAN && !(server_same_run(s, &m->blob) &&
					 m->plan.term < s->plan.term))
		server_keep_standby(s, m->plan.standby);
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
	if (peer == s->coordinator)
		s->coordinator_heard = now;
	switch (m->kind) {
	case MESSAGE_PULL:
		return pull(s, peer, m, f);
	case MESSAGE_PUSH:
	case MESSAGE_PUSHPULL:
		return hear_push(s, peer, m, f);
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
			return fail(f, FAIL_DENIED, "%s is the coordinator's "
				    "to say", message_name(m->kind));
		peers_remove(&s->peers, peer);
		return 0;
	}
	return hear_coordinator(s, peer, m, f);
}

/* ---- what happens ---- */

void
server_hear(struct server *s, uint64_t peer, const struct message *m,
	    uint64_t now_ms)
{
	const bool followed = s->primary.peer && peer == s->primary.peer;
	struct fail f;

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
