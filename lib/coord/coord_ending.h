/*
 * coord_ending - whether the run goes on, and what it ends with.
 */
#ifndef PS_COORD_ENDING_H
#define PS_COORD_ENDING_H

#include "coord/coord_private.h"

enum ending_state {
	ENDING_RUN,
	ENDING_DRAIN,		/* what was begun ends, the rest is given up */
	ENDING_SUSPEND,		/* only what was begun is done */
	ENDING_STOP,		/* members are told to stop */
	ENDING_OVER
};

void ending_init(struct coord *);
void ending_release(struct coord *);
enum ending_state ending_state(const struct coord *);
bool ending_begun(const struct coord *);	/* nothing new is begun */
/* The run ends with this error when coord.c hears of it; and: has it, since
   this was last asked? */
void ending_fail(struct coord *, const struct fail *);
bool ending_failed(struct coord *, struct fail *);
/* What it ends with is this; or, if there was nothing before. */
void ending_set(struct coord *, const struct fail *);
/* With many submitters it is the status of the one that asked. */
void ending_note(struct coord *, const struct request *asked,
		 const struct fail *);
/* A request's own error: it ends the run, or (keep_going) only its status; or,
   of many submitters, what that one has pending. */
void ending_error(struct coord *, const struct request *asked,
		  const struct fail *);
/* The run ends with this error, but what was trained is kept. */
void ending_wind_up(struct coord *, const struct fail *);
const struct fail *ending_failure(const struct coord *);
int ending_status(const struct coord *);
/* No request will come any more. */
void ending_last_request(struct coord *);
bool ending_had_last_request(const struct coord *);
void ending_drain(struct coord *);
void ending_suspend(struct coord *);
void ending_stop(struct coord *);
void ending_over(struct coord *);
/* It is over, but has not ended: whoever starts it again goes on with it. */
void ending_leave(struct coord *, const struct fail *);
bool ending_is_left(const struct coord *);
/* Nobody takes our results. */
void ending_output_closed(struct coord *);
bool ending_output_is_open(const struct coord *);
void ending_write(const struct coord *, struct pack *);
void ending_read(struct coord *, struct unpack *);
/* It was ending: what it had not given up is given up now. */
void ending_read_drain(struct coord *);
const char *ending_check(const struct coord *);

#endif
