/*
 * The server's values: what is pulled and pushed, and which steps count: those
 * below the mark have ended, of those above it some were applied, or given up.
 */
#include "server/server_inside.h"

#include "base/failpoint.h"

#include <math.h>
#include <stdlib.h>

#define PARKED_BYTES	((size_t)64 << 20)	/* that wait */

/* ---- steps ---- */

static void
advance_round(struct server *s)
{
	if (stage_advance(s->stage, s->mark, &s->voided))
		s->round_ended = true;
}

void
server_mark(struct server *s, uint64_t step)
{
	if (step <= s->mark)
		return;
	for (size_t i = 0; i < s->plan.parts; i++)
		window_forget(&s->applied[i], s->mark, step);
	window_forget(&s->voided, s->mark, step);
	s->mark = step;
	advance_round(s);
}

void
server_settled(const struct server *s, struct window *steps)
{
	size_t variables, parts = 0;
	const struct variable *v = model_variables(s->model, &variables);

	for (size_t i = 0; i < s->plan.parts; i++) {
		const struct part *part = &s->plan.part[i];

		if (part->server != s->index ||
		    v[s->plan.piece[part->first].variable].unused)
			continue;
		if (parts++ == 0)
			window_join(steps, &s->applied[i]);
		else
			window_keep(steps, &s->applied[i]);
	}
	window_join(steps, &s->voided);
}

int
server_void_steps(struct server *s, const struct message *m, struct fail *f)
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

static void
count_pushed(struct server *s, uint64_t step)
{
	s->initial = false;
	if (step >= s->above)
		s->above = step + 1;
}

int
server_commit(struct server *s, const struct message *m, struct fail *f)
{
	if (stage_commit(s->stage, m->commit.step, &m->frame[0], f) < 0)
		return -1;
	count_pushed(s, m->commit.step);
	s->round_ended = true;
	advance_round(s);
	return 0;
}

/* The variables are as they were at this step: so is what we know of them. */
void
server_go_back(struct server *s, uint64_t step)
{
	for (size_t i = 0; i < s->plan.parts; i++)
		window_release(&s->applied[i]);
	window_release(&s->voided);
	stage_reset(s->stage, step);
	s->mark = s->above = step;
}

/* ---- pulls ---- */

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
check_codec(uint64_t codec, struct fail *f)
{
	return codec_find(codec) ? 0 :
		fail(f, FAIL_PROTOCOL, "there is no codec %llu",
		     (unsigned long long)codec);
}

/* Nobody tells a server who left: what they waited for is to go, too. */
static void
forget_leavers(struct server *s)
{
	const struct message ping = { .kind = MESSAGE_PING };

	for (size_t i = s->parked.count; i-- > 0; ) {
		const uint64_t peer = s->parked.pull[i].peer;

		server_say(s, peer, &ping);
		if (!peers_find(&s->peers, peer))
			parked_forget(&s->parked, i);
	}
	s->parked_enough = 2 * s->parked.bytes;
}

/* It waits for its round. */
static int
park(struct server *s, uint64_t peer, const struct message *m, struct fail *f)
{
	if (m->pull.after - stage_step(s->stage) > WINDOW)
		return fail(f, FAIL_PROTOCOL, "step %llu is beyond the window",
			    (unsigned long long)m->pull.after);
	if (shard_rows_read(s->rows, m->pull.part, &m->frame[0], f) < 0)
		return -1;
	shard_rows_forget(s->rows);
	parked_add(&s->parked, peer, m);
	if (s->parked.bytes > s->parked_enough + PARKED_BYTES)
		forget_leavers(s);
	return 0;
}

int
server_pull(struct server *s, uint64_t peer, const struct message *m,
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
	if (check_part(s, m->pull.part, f) < 0 ||
	    check_codec(m->pull.codec, f) < 0)
		return -1;
	if (m->pull.after > stage_step(s->stage))
		return park(s, peer, m, f);
	if (m->pull.cut != WIRE_NONE) {
		cut = server_find_cut(s, m->pull.cut);
		if (!cut)
			return fail(f, FAIL_AGAIN, "the cut is no longer "
				    "held");
	}
	if (shard_pull(s->shard, m->pull.part, &m->frame[0],
		       cut ? cut->cut : NULL, codec_find(m->pull.codec),
		       &out.frame[0], f) < 0)
		return -1;
	out.frames = 1;
	out.values.version = shard_version(s->shard, m->pull.part);
	server_say(s, peer, &out);
	if (!cut)
		recall_keep(&s->recall, peer, m->request, &m->frame[0]);
	return 0;
}

/* Rounds have ended: answer who waited, but for those who wait for more. */
void
server_answer_parked(struct server *s)
{
	struct parked taken = parked_take(&s->parked);
	struct fail f;

	s->round_ended = false;
	s->parked_enough = 0;
	for (size_t i = 0; i < taken.count; i++) {
		const struct parked_pull *p = &taken.pull[i];

		if (peers_find(&s->peers, p->peer) &&
		    server_pull(s, p->peer, &p->pull, &f) < 0)
			server_refuse(s, p->peer, &p->pull, &f);
	}
	parked_release(&taken);
}

/* ---- pushes ---- */

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
	if (*outcome == OUTCOME_APPLIED) {
		s->pushes++;
		count_pushed(s, m->push.step);
	}
	return 0;
}

static int
apply(struct server *s, const struct message *m, const struct frame *values,
      struct message *out, struct fail *f)
{
	const struct shard_push push = {
		.keys = &m->frame[0], .values = values,
		.codec = codec_find(m->push.codec),
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
	count_pushed(s, m->push.step);
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

	if (check_part(s, m->push.part, f) < 0 ||
	    check_codec(m->push.codec, f) < 0)
		return -1;
	if (m->push.examples == 0)
		return fail(f, FAIL_PROTOCOL, "a push of no examples");
	if (m->push.rate > UINT32_MAX)
		return fail(f, FAIL_PROTOCOL, "a learning rate of more than "
			    "32 bits");
	if (!isfinite(rate))
		return fail(f, FAIL_PROTOCOL, "a learning rate of %g",
			    (double)rate);
	if (m->push.slot >= WIRE_SLOTS)
		return fail(f, FAIL_PROTOCOL, "there is no slot %llu",
			    (unsigned long long)m->push.slot);
	return m->kind == MESSAGE_PUSHPULL ?
		shard_rows_read(s->rows, m->push.part, &m->frame[1], f) : 0;
}

/* Apply it, and answer with what it pulls. */
static int
take_push(struct server *s, const struct message *m, struct message *out,
	  struct fail *f)
{
	const bool pulls = m->kind == MESSAGE_PUSHPULL;
	int r;

	if (check_push(s, m, f) < 0)
		return -1;
	r = apply(s, m, &m->frame[pulls ? 2 : 1], out, f);
	if (pulls && r == 0)
		shard_rows_pull(s->shard, s->rows, NULL,
				codec_find(m->push.codec), &out->frame[0]);
	else if (pulls)
		shard_rows_forget(s->rows);
	return r;
}

/* PUSH: keys, values.  PUSHPULL: keys, keys to pull, values. */
int
server_push(struct server *s, uint64_t peer, const struct message *m,
	    struct fail *f)
{
	struct message out = message_answer(m, MESSAGE_VALUES);
	const bool pulls = m->kind == MESSAGE_PUSHPULL;

	out.values.outcome = check_plan(s, m->push.run, m->push.term,
					m->push.plan);
	if (out.values.outcome == OUTCOME_NONE) {
		if (take_push(s, m, &out, f) < 0)
			return -1;
		out.frames = pulls;
		out.values.version = shard_version(s->shard, m->push.part);
		if (pulls && peer)
			recall_keep(&s->recall, peer, m->request,
				    &m->frame[1]);
	}
	server_say(s, peer, &out);
	return 0;
}

/*
 * A push of the rows of a pull is given their keys here: whoever keeps it, log
 * or standby, has it whole.
 */
int
server_hear_push(struct server *s, uint64_t peer, const struct message *m,
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
