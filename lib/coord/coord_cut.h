/*
 * coord_cut - checkpoints, and cuts for evaluators.
 */
#ifndef PS_COORD_CUT_H
#define PS_COORD_CUT_H

#include "coord/coord_private.h"

struct member;
struct result;

/* The newest checkpoint, by name and step ("", WIRE_NONE: none yet), and the
   step that the run begins with. */
void cut_init(struct coord *, const char *name, uint64_t step,
	      uint64_t next);
void cut_release(struct coord *);
void cut_begin_run(struct coord *, uint64_t now_ms);
/* What a journal says of the newest one. */
void cut_resume(struct coord *, uint64_t saved_step);
/* No number comes twice. */
void cut_begin_term(struct coord *);
void cut_advance(struct coord *, uint64_t now_ms);
/* Has the last step below it been given out just now?  Now it is known what
   the cut has, and steps behind it can be. */
bool cut_come_to(struct coord *);
/* None is under way, but perhaps one lies ahead that can be called off. */
bool cut_idle(const struct coord *);
/*
 * The coordinator before us may have given out steps of which we do not know,
 * and servers have them: a cut below them would hold what is not its own.
 */
bool cut_possible(const struct coord *);
/* The cut has all of its steps: it can be saved when that is noted. */
bool cut_whole(const struct coord *);
/* A step is done: perhaps one of the cut. */
void cut_count(struct coord *, const struct result *);
/* The servers have saved it (NULL: long since): it is to be published. */
void cut_saved(struct coord *, const struct ask *, uint64_t now_ms);
/* It is on disk, or not. */
void cut_published(struct coord *, const struct fail *, uint64_t now_ms);
/* A server cannot freeze, or not write: that cut fails, the run goes on. */
void cut_failed(struct coord *, const struct fail *, uint64_t now_ms);
/* Begin the last checkpoint; false: there is none to make any more. */
bool cut_final(struct coord *, uint64_t now_ms);
/* All servers know of it. */
void cut_frozen(struct coord *);
/* Whether it becomes the newest checkpoint is about to be known. */
bool cut_publishing(const struct coord *);
/* No step at or over this one is begun, for the sake of cuts. */
uint64_t cut_limit(const struct coord *);
/* The step of the newest checkpoint of this run; WIRE_NONE: none yet. */
uint64_t cut_saved_step(const struct coord *);
bool cut_is_for(const struct coord *, const struct member *);
/* Has the last step below a checkpoint's cut had its number, since this was
   last asked?  The journal is folded then, before any other has one. */
bool cut_reached(struct coord *, uint64_t *step);
/* A cut that is nobody's here: of the steps below one, none of which is to be
   given out before the servers have answered; its number.  And it is let go. */
uint64_t cut_freeze(struct coord *, uint64_t step);
void cut_thaw(struct coord *, uint64_t number);
/* Is that the number of ours? */
bool cut_is(const struct coord *, uint64_t number);
/* The newest checkpoint: what a server without variables loads. */
struct cut_base {
	char name[CHECKPOINT_NAME];	/* "": initial values */
	uint64_t step;
	bool ours;			/* this run has made it */
};
const struct cut_base *cut_base(const struct coord *);
void cut_begin_with(struct coord *, const char *name, uint64_t step,
		    bool ours);
int cut_read(struct coord *, struct unpack *);
/* A checkpoint is to be made for the request at the front; or no more: false:
   it is under way. */
void cut_want(struct coord *);
bool cut_unwant(struct coord *);
/* The run is to be suspended: one more try; and is it still to be begun? */
void cut_want_last(struct coord *);
bool cut_save_due(const struct coord *);
/* Steps of it were void, and what they were to read others will. */
void cut_spoil(struct coord *);
/* Servers that held it were lost. */
void cut_give_up(struct coord *);
/* An evaluator wants one; does it wait while a checkpoint is written?  It wants
   none; it has none; and it no longer needs the one that it has. */
void cut_join(struct coord *, const struct member *);
void cut_ask(struct coord *, const struct member *, uint64_t request);
bool cut_awaits(const struct coord *, const struct member *,
		uint64_t *request);
void cut_leave(struct coord *, const struct member *);
void cut_forget(struct coord *, const struct member *);
void cut_let_go(struct coord *, const struct member *);
const char *cut_check(const struct coord *);

struct cut_figures {
	uint64_t published, failures;	/* checkpoints, since we began */
	uint64_t published_ms, saving_ms;	/* when the last one was; how
						   long that took */
};
struct cut_figures cut_figures(const struct coord *);

#endif
