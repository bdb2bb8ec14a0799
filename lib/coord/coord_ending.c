/*
 * Whether the run goes on, and what it ends with.  coord_end.c does what has to
 * be done for that.
 *
 *	RUN --ending_drain(), ending_wind_up()--> DRAIN
 *	RUN --ending_suspend()--> SUSPEND
 *	SUSPEND --ending_drain(), ending_wind_up()--> DRAIN
 *	RUN, DRAIN, SUSPEND --ending_stop()--> STOP
 *	RUN, DRAIN, SUSPEND --ending_leave()--> OVER
 *	STOP --ending_over()--> OVER
 */
#include "coord/coord_ending.h"

#include "base/mem.h"
#include "coord/coord_journal.h"
#include "coord/submitters.h"

#include <stdlib.h>

struct ending {
	enum ending_state state;
	bool last_request;	/* no more requests will come */
	bool output_closed;	/* results cannot be written any more */
	bool abandoned;		/* the run is left to be resumed, because: */
	struct fail why_left;
	int status;		/* of the run; not 0: for this reason */
	struct fail failure;
	bool failed;		/* for this reason; coord.c is yet to ask */
	struct fail why;
};

void
ending_init(struct coord *c)
{
	c->ending = mem_alloc(1, sizeof(*c->ending));
}

void
ending_release(struct coord *c)
{
	free(c->ending);
}

enum ending_state
ending_state(const struct coord *c)
{
	return c->ending->state;
}

bool
ending_begun(const struct coord *c)
{
	return c->ending->state != ENDING_RUN;
}

/* ---- a failure ---- */

void
ending_fail(struct coord *c, const struct fail *why)
{
	if (!c->ending->failed)
		c->ending->why = *why;
	c->ending->failed = true;
}

bool
ending_failed(struct coord *c, struct fail *why)
{
	const bool failed = c->ending->failed;

	if (failed)
		*why = c->ending->why;
	c->ending->failed = false;
	return failed;
}

void
ending_set(struct coord *c, const struct fail *why)
{
	c->ending->failure = *why;
	c->ending->status = (int)why->kind;
}

/* Does an error of this request count for the run's status, and not for a
   submitter's?  It does if the request is nobody's or of our own input. */
static bool
is_own(const struct coord *c, const struct request *asked)
{
	return !submitters_open(c->submitters) || !asked ||
		asked->owner == SUBMITTER_OWN;
}

void
ending_note(struct coord *c, const struct request *asked,
	    const struct fail *why)
{
	if (is_own(c, asked) && c->ending->status == 0)
		ending_set(c, why);
	else if (asked)
		submitters_note(c->submitters, asked->owner, why);
}

const struct fail *
ending_failure(const struct coord *c)
{
	return &c->ending->failure;
}

int
ending_status(const struct coord *c)
{
	return c->ending->status;
}

/* ---- states ---- */

/* STOP and OVER are not left for an earlier state. */
static void
set_state(struct coord *c, enum ending_state state)
{
	if (c->ending->state < ENDING_STOP)
		c->ending->state = state;
}

void
ending_last_request(struct coord *c)
{
	c->ending->last_request = true;
}

bool
ending_had_last_request(const struct coord *c)
{
	return c->ending->last_request;
}

void
ending_drain(struct coord *c)
{
	c->ending->last_request = true;
	set_state(c, ENDING_DRAIN);
}

void
ending_suspend(struct coord *c)
{
	set_state(c, ENDING_SUSPEND);
}

void
ending_output_closed(struct coord *c)
{
	c->ending->output_closed = true;
	if (c->ending->state == ENDING_SUSPEND)
		set_state(c, ENDING_RUN);
}

bool
ending_output_is_open(const struct coord *c)
{
	return !c->ending->output_closed;
}

void
ending_wind_up(struct coord *c, const struct fail *why)
{
	ending_set(c, why);
	ending_drain(c);
	journal_ending(c);
}

void
ending_error(struct coord *c, const struct request *asked,
	     const struct fail *why)
{
	if (submitters_open(c->submitters)) {
		ending_note(c, asked, why);
		submitters_fail(c->submitters, asked->owner, why);
	} else if (c->o.keep_going)
		ending_note(c, asked, why);
	else
		ending_wind_up(c, why);
}

void
ending_stop(struct coord *c)
{
	c->ending->state = ENDING_STOP;
	c->phase = PHASE_END;
}

void
ending_over(struct coord *c)
{
	c->ending->state = ENDING_OVER;
	c->phase = PHASE_END;
}

void
ending_leave(struct coord *c, const struct fail *why)
{
	c->ending->abandoned = true;
	c->ending->why_left = *why;
	ending_over(c);
}

bool
ending_is_left(const struct coord *c)
{
	return c->ending->abandoned;
}

bool
coord_over(const struct coord *c, int *status, struct fail *f)
{
	const struct ending *e = c->ending;
	const bool abandoned = e->abandoned && e->why_left.kind;

	if (e->state != ENDING_OVER)
		return false;
	*status = abandoned ? (int)e->why_left.kind : e->status;
	*f = abandoned ? e->why_left : e->failure;
	return true;
}

/* ---- in the journal ---- */

void
ending_write(const struct coord *c, struct pack *out)
{
	pack_uint(out, (uint64_t)c->ending->status);
	pack_text(out, c->ending->failure.text);
}

void
ending_read(struct coord *c, struct unpack *in)
{
	struct ending *e = c->ending;
	const uint64_t status = unpack_uint(in);

	e->failure.kind = status ? message_status(status) : 0;
	e->status = (int)e->failure.kind;
	unpack_text(in, e->failure.text, sizeof(e->failure.text));
}

void
ending_read_drain(struct coord *c)
{
	ending_drain(c);
	journal_has_ending(c);
}

/* ---- what always holds ---- */

const char *
ending_check(const struct coord *c)
{
	const struct ending *e = c->ending;

	if (e->state == ENDING_DRAIN && !e->last_request)
		return "coord 31: a run that stops has read its last request";
	if (e->abandoned && e->state != ENDING_OVER)
		return "coord 32: a run that was given up is over";
	if ((e->status != 0) != (e->failure.kind != 0) && !e->abandoned)
		return "coord 33: a status that is not 0 has a reason";
	if ((c->phase == PHASE_END) != (e->state >= ENDING_STOP))
		return "coord 37: a run that has ended is in no other phase";
	return NULL;
}
