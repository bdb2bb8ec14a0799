/*
 * The coordinator's evaluations in the background.  The turn of an evaluation
 * comes when all steps in front of it have numbers: then the servers are asked
 * to keep the values that these steps make (FREEZE, a cut).  When they have
 * answered, the steps behind it may get numbers.  When the steps in front of it
 * have ended, the evaluation scores the cut, and the servers let the cut go
 * (THAW).  Evaluations are scored one at a time.
 *
 * An evaluation that has begun is still in the queue, and so in the journal:
 * the coordinator that resumes the run begins it again, with a new cut.
 */
#include "coord/coord_background.h"

#include "base/mem.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_ending.h"
#include "coord/coord_evaluate.h"
#include "coord/coord_journal.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"

#include <stdlib.h>

#define MOST	8	/* cuts of evaluations in the background at once: the
			   next evaluation waits */

/*
 * States of an evaluation.  A server holds at most 64 cuts, with those of
 * evaluators.
 *
 *	none --background_begin()--> FREEZE --background_frozen()--> OPEN
 *	OPEN --background_advance()--> WHOLE
 *	FREEZE, WHOLE --end()--> none
 *	FREEZE, OPEN --background_spoil()--> none, and it begins again
 *	any --background_lose()--> none, and it begins again
 *	WHOLE --score()--> none, and it begins again	(a cut was lost)
 *	any --background_give_up(), background_cancel()--> none
 */
struct one {
	const struct request *request;	/* borrowed from the queue */
	enum { FREEZE, OPEN, WHOLE } state;
	uint64_t cut, step;	/* its number; it is of the steps below */
};

struct background {
	struct one of[MOST];		/* in the order in which they began */
	size_t count;
};

void
background_init(struct coord *c)
{
	c->background = mem_alloc(1, sizeof(*c->background));
}

void
background_release(struct coord *c)
{
	free(c->background);
}

/* Returns the request's index among the queue's background requests. */
static size_t
index_of(const struct coord *c, const struct request *r)
{
	size_t i = 0;

	while (queue_background(c->queue, i) != r)
		i++;
	return i;
}

/* Forgets the evaluation; servers that hold its cut let it go. */
static void
drop_evaluation(struct coord *c, struct one *one)
{
	struct background *b = c->background;

	if (one == b->of && one->state == WHOLE)
		evaluate_give_up(c);
	cut_thaw(c, one->cut);
	b->count--;
	for (; one < b->of + b->count; one++)
		one[0] = one[1];
}

/* The evaluation waits for a new cut, and the steps behind it wait, too. */
static void
retry_with_new_cut(struct coord *c, struct one *one)
{
	queue_background_begin(c->queue, index_of(c, one->request), false);
	drop_evaluation(c, one);
}

/* The evaluation has a result or an error: its request ends. */
static void
end(struct coord *c, struct one *one)
{
	const size_t i = index_of(c, one->request);

	drop_evaluation(c, one);
	journal_background(c, i, false);
	queue_background_end(c->queue, i, false);
}

static void
fail_one(struct coord *c, struct one *one, const struct fail *why)
{
	const struct request asked = { .owner = one->request->owner };

	end(c, one);
	ending_error(c, &asked, why);
}

/* ---- what becomes of one ---- */

static struct one *
find(const struct coord *c, const struct request *r)
{
	struct background *b = c->background;
	struct one *one = b->of;

	while (one < b->of + b->count && one->request != r)
		one++;
	return one < b->of + b->count ? one : NULL;
}

/*
 * Can an evaluation begin now?  One without a cut holds up the steps behind it,
 * but not those that an earlier coordinator has leased, and that servers may
 * have: they get their numbers first, and the cut is made above them.
 */
static bool
can_begin(struct coord *c)
{
	bool can;

	queue_pass_background(c->queue, true);
	can = queue_next(c->queue) >= fleet_high_watermark(c->fleet) ||
		(queue_waiting(c->queue) == 0 && !queue_barrier(c->queue));
	queue_pass_background(c->queue, !can);
	return can && !ending_begun(c) && !cancel_under_way(c) &&
		rerun_idle(c) && c->background->count < MOST;
}

void
background_begin(struct coord *c)
{
	struct background *b = c->background;
	const struct request *r;

	if (!queue_background(c->queue, 0) || !can_begin(c))
		return;
	r = queue_background_due(c->queue);
	if (!r || find(c, r))
		return;
	b->of[b->count] = (struct one){ .request = r,
					.step = queue_next(c->queue) };
	b->of[b->count].cut = cut_freeze(c, b->of[b->count].step);
	b->count++;
}

void
background_frozen(struct coord *c, uint64_t cut, const struct fail *why)
{
	struct background *b = c->background;
	struct one *one = b->of;

	while (one < b->of + b->count && one->cut != cut)
		one++;
	if (one == b->of + b->count)
		return;		/* that cut was let go meanwhile */
	if (why) {
		report_error(c, one->request, "eval", WIRE_NONE, NULL,
			     why->text);
		fail_one(c, one, why);
		return;
	}
	one->state = OPEN;
	queue_background_begin(c->queue, index_of(c, one->request), true);
}

/* Scores the first evaluation.  false: that is not over. */
static bool
score(struct coord *c, uint64_t now)
{
	struct one *one = c->background->of;
	const struct evaluation_cut at = { one->cut, one->step };
	struct fail why;

	switch (evaluate_advance(c, one->request, &at, now)) {
	case EVALUATION_RUNS:
		return false;
	case EVALUATION_FAILED:
		evaluate_report_failure(c, &why);
		fail_one(c, one, &why);
		return true;
	case EVALUATION_CUT_LOST:
		retry_with_new_cut(c, one);
		return true;
	default:
		end(c, one);
		return true;
	}
}

void
background_advance(struct coord *c, uint64_t now)
{
	struct background *b = c->background;

	for (size_t i = 0; i < b->count; i++)
		if (b->of[i].state == OPEN && !cancel_under_way(c) &&
		    rerun_idle(c) &&
		    queue_watermark(c->queue) >= b->of[i].step)
			b->of[i].state = WHOLE;
	while (b->count > 0 && b->of->state == WHOLE && !ending_begun(c) &&
	       score(c, now))
		;
	background_begin(c);
}

bool
background_scores(const struct coord *c)
{
	return c->background->count > 0 &&
		c->background->of->state == WHOLE;
}

/* ---- what happens to all ---- */

void
background_spoil(struct coord *c)
{
	struct background *b = c->background;

	for (size_t i = b->count; i-- > 0;)
		if (b->of[i].state != WHOLE)
			retry_with_new_cut(c, &b->of[i]);
}

void
background_lose(struct coord *c)
{
	struct background *b = c->background;

	if (background_scores(c))
		evaluate_give_up(c);
	for (; b->count > 0; b->count--)
		queue_background_begin(c->queue, index_of(c,
				       b->of[b->count - 1].request), false);
}

void
background_give_up(struct coord *c)
{
	while (c->background->count > 0)
		drop_evaluation(c, c->background->of);
}

size_t
background_cancel(struct coord *c, size_t owner, const char *id,
		  void (*tell)(void *, const struct request *, uint64_t))
{
	const struct request *r;
	size_t count = 0, i = 0;

	while ((r = queue_background(c->queue, i))) {
		struct one *one = find(c, r);

		if (r->owner != owner || !r->id || !request_is_id(r->id, id)) {
			i++;
			continue;
		}
		if (one)
			drop_evaluation(c, one);
		tell(c, r, 0);
		queue_background_end(c->queue, i, false);
		count++;
	}
	return count;
}

/* ---- what always holds ---- */

const char *
background_check(const struct coord *c)
{
	const struct background *b = c->background;

	for (size_t i = 0; i < b->count; i++) {
		const struct request *r;

		for (size_t k = 0; (r = queue_background(c->queue, k)); k++)
			if (r == b->of[i].request)
				break;
		if (!r)
			return "coord 40: an evaluation that has a cut is in "
				"the queue";
		if (c->phase == PHASE_RUN && b->of[i].state == FREEZE &&
		    !fleet_asking(c->fleet, MESSAGE_FREEZE))
			return "coord 41: servers have been asked for a cut "
				"that an evaluation waits for";
		if (b->of[i].state == FREEZE &&
		    queue_next(c->queue) > b->of[i].step)
			return "coord 42: no step at or above a cut has a "
				"number before servers have the cut";
	}
	return NULL;
}
