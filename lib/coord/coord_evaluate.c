/*
 * The coordinator's evaluations by the workers: the files are cut into shards,
 * each worker scores one at a time, and the results are added up.  There is one
 * evaluation at a time: the barrier at the front of the queue, or the first of
 * those in the background.
 */
#include "coord/coord_evaluate.h"

#include "base/mem.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shard that a worker scores. */
struct scorer {
	bool evaluating, dropped;	/* EVALUATE was: see outbox.h */
	uint64_t shard, request;	/* as EVALUATE of this number asks */
};

struct shards {
	struct scorer *of;		/* each member, by its index */
	size_t room;
	bool begun;			/* an evaluation is under way, */
	const struct request *request;	/* for this one, borrowed */
	struct evaluation_cut cut;	/* number WIRE_NONE: the live model */
	enum evaluation_state state;	/* how one of a cut has ended, */
	struct fail why;		/* and why it failed, */
	char worker[32];		/* on this worker */
	/* shards; those without a result; the next one; EVALUATEs sent */
	uint64_t count, unscored, next, requests;
	uint64_t *back;			/* shards that came back */
	size_t backs;
	struct deaths deaths;		/* of workers, for each shard */
	struct totals totals;
};

void
evaluate_init(struct coord *c)
{
	c->shards = mem_alloc(1, sizeof(*c->shards));
}

void
evaluate_release(struct coord *c)
{
	if (!c->shards)
		return;
	totals_release(&c->shards->totals);
	free(c->shards->of);
	deaths_release(&c->shards->deaths);
	free(c->shards->back);
	free(c->shards);
}

static struct scorer *
scorer(const struct coord *c, const struct member *w)
{
	return &c->shards->of[w->at];
}

void
evaluate_join(struct coord *c, const struct member *w)
{
	struct shards *s = c->shards;

	s->of = members_room(s->of, &s->room, w, sizeof(*s->of));
}

static bool
evaluates(const struct member *m)
{
	return m->role == ROLE_WORKER && m->ready && worker_answers(m);
}

/* Takes a shard for the worker, one that came back first.  false: each has its
   worker. */
static bool
take_shard(struct coord *c, struct member *w)
{
	if (c->shards->backs > 0)
		scorer(c, w)->shard = c->shards->back[--c->shards->backs];
	else if (c->shards->next < c->shards->count)
		scorer(c, w)->shard = c->shards->next++;
	else
		return false;
	return true;
}

void
evaluate_take_back(struct coord *c, struct member *w)
{
	if (!scorer(c, w)->evaluating)
		return;
	scorer(c, w)->evaluating = false;
	c->shards->back = mem_resize(c->shards->back, c->shards->backs + 1,
				    sizeof(*c->shards->back));
	c->shards->back[c->shards->backs++] = scorer(c, w)->shard;
}

static void
send_evaluate(struct coord *c, struct member *w, const struct pack *files)
{
	struct message m = { .kind = MESSAGE_EVALUATE };

	scorer(c, w)->evaluating = true;
	scorer(c, w)->request = m.request = ++c->shards->requests;
	m.evaluate.term = c->plan.term;
	m.evaluate.shard = scorer(c, w)->shard;
	m.evaluate.shards = c->shards->count;
	m.evaluate.batch = c->o.batch < 256 ? 256 : c->o.batch;
	m.evaluate.cut = c->shards->cut.number;
	m.frames = 1;
	m.frame[0] = (struct frame){ files->data, files->size, NULL };
	scorer(c, w)->dropped = !outbox_reaches(c->outbox, w->peer, &m);
}

static void
begin(struct coord *c, const struct request *r,
      const struct evaluation_cut *cut, size_t count, uint64_t now)
{
	struct shards *s = c->shards;

	s->begun = true;
	s->request = r;
	s->cut = cut ? *cut : (struct evaluation_cut){ WIRE_NONE, WIRE_NONE };
	s->state = EVALUATION_RUNS;
	s->count = s->unscored = count;
	s->next = 0;
	s->backs = 0;
	deaths_release(&s->deaths);
	totals_reset(&s->totals, now);
	s->totals.evaluates = true;
	s->totals.step = s->cut.step;
}

/* Begins the evaluation, if it has not begun, with a shard for each worker that
   is there; and gives one to each worker that has none. */
static void
assign_shards(struct coord *c, const struct request *r,
	      const struct evaluation_cut *cut, uint64_t now)
{
	struct pack files = { 0 };
	size_t count = 0;

	for (const struct member *w = c->member; w; w = w->next)
		count += evaluates(w);
	if (count == 0)
		return;
	if (!c->shards->begun)
		begin(c, r, cut, count, now);
	if (r->files > 0 || !data_write_scored(c, &files))
		pack_array(&files, r->files);
	for (size_t i = 0; i < r->files; i++)
		pack_text(&files, r->file[i]);
	for (struct member *w = c->member; w; w = w->next) {
		if (!evaluates(w) || scorer(c, w)->evaluating)
			continue;
		if (!take_shard(c, w))
			break;
		send_evaluate(c, w, &files);
	}
	pack_release(&files);
}

enum evaluation_state
evaluate_advance(struct coord *c, const struct request *r,
		 const struct evaluation_cut *cut, uint64_t now)
{
	struct shards *s = c->shards;
	const enum evaluation_state state = s->state;

	if (state != EVALUATION_RUNS) {
		s->state = EVALUATION_RUNS;
		return state;
	}
	if (!s->begun || s->unscored > 0) {
		assign_shards(c, r, cut, now);
		return EVALUATION_RUNS;
	}
	s->begun = false;
	report_totals(c, r, "eval", &s->totals, now, NULL);
	return EVALUATION_DONE;
}

void
evaluate_report_failure(struct coord *c, struct fail *why)
{
	const struct shards *s = c->shards;

	report_error(c, s->request, "eval", s->cut.step, s->worker,
		     s->why.text);
	*why = s->why;
}

static void
forget_shards(struct coord *c)
{
	for (struct member *m = c->member; m; m = m->next)
		scorer(c, m)->evaluating = false;
	c->shards->begun = false;
}

void
evaluate_give_up(struct coord *c)
{
	forget_shards(c);
	c->shards->state = EVALUATION_RUNS;
}

static void
evaluation_failed(struct coord *c, const struct member *w,
		  const struct fail *why)
{
	struct shards *s = c->shards;
	const struct request asked = { .owner = s->request->owner };
	struct fail told;

	forget_shards(c);
	s->why = *why;
	snprintf(s->worker, sizeof(s->worker), "%s", w->name);
	if (s->cut.number != WIRE_NONE) {
		s->state = EVALUATION_FAILED;
		return;
	}
	evaluate_report_failure(c, &told);
	journal_pass(c);
	ending_error(c, &asked, why);
}

void
evaluate_died(struct coord *c, const struct member *w)
{
	struct fail why;

	if (!scorer(c, w)->evaluating || scorer(c, w)->dropped ||
	    !deaths_add(&c->shards->deaths, scorer(c, w)->shard))
		return;
	fail(&why, FAIL_DATA, "%d workers died under it", QUEUE_DEATHS);
	evaluation_failed(c, w, &why);
}

int
evaluate_done(struct coord *c, struct member *w, const struct message *m,
	      struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	const bool scored = !c->shards->totals.unscored;
	struct result r;
	struct fail why;
	size_t count;

	if (!scorer(c, w)->evaluating || m->request != scorer(c, w)->request)
		return 0;	/* that evaluation is over */
	if (result_scores(m, &bytes, &positive, &count, f) < 0)
		return -1;
	if (!result_read(&u, &r, c->metrics) ||
	    (r.scores > count && r.scores <= RESULT_SCORES))
		return fail(f, FAIL_PROTOCOL, "malformed result");

	float *scores = mem_alloc(count, sizeof(*scores));

	if (count > 0)
		memcpy(scores, bytes, count * sizeof(*scores));
	scorer(c, w)->evaluating = false;
	totals_add(&c->shards->totals, c, &r, scores, positive);
	if (scored && c->shards->totals.unscored)
		report_warning(c, "eval: auc is null: it would need more than "
			       "%zu scores", RESULT_SCORES);
	c->shards->unscored--;
	free(scores);
	if (totals_add_negatives(&c->shards->totals, &r, w->name, &why) < 0)
		evaluation_failed(c, w, &why);
	return 0;
}

void
evaluate_refused(struct coord *c, struct member *w, const struct message *m)
{
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	if (!scorer(c, w)->evaluating || m->request != scorer(c, w)->request)
		return;
	if (c->shards->cut.number != WIRE_NONE &&
	    m->refused.status == FAIL_AGAIN) {
		forget_shards(c);
		c->shards->state = EVALUATION_CUT_LOST;
		return;
	}
	message_text(m, text, sizeof(text));
	fail(&why, message_status(m->refused.status), "%s", text);
	evaluation_failed(c, w, &why);
}

/* ---- what always holds ---- */

static const char *
check_scorers(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next) {
		const struct scorer *s = scorer(c, m);

		if (m->gone && s->evaluating)
			return "coord 6: nothing is expected of a member that "
				"is gone";
		for (const struct member *o = m->next; o; o = o->next)
			if (!m->gone && !o->gone && s->evaluating &&
			    scorer(c, o)->evaluating &&
			    s->shard == scorer(c, o)->shard)
				return "coord 9: a shard is scored by one "
					"worker";
	}
	return NULL;
}

const char *
evaluate_check(const struct coord *c)
{
	const struct shards *s = c->shards;
	uint64_t unscored = s->count - s->next + s->backs;
	const char *violation = check_scorers(c);

	if (violation)
		return violation;

	if (!s->begun || ending_state(c) == ENDING_DRAIN ||
	    c->phase != PHASE_RUN)
		return NULL;
	for (const struct member *m = c->member; m; m = m->next)
		unscored += scorer(c, m)->evaluating;
	return unscored == s->unscored ? NULL :
		"coord 30: a shard that is left waits, or is being scored";
}
