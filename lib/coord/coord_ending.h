/*
 * coord_ending - whether the run goes on, and what it ends with.
 */
#ifndef PS_COORD_ENDING_H
#define PS_COORD_ENDING_H

#include "coord/coord_private.h"

enum ending_state {
	ENDING_RUN,
	ENDING_DRAIN,		/* steps under way end, the rest is given up */
	ENDING_SUSPEND,		/* steps under way end, the rest is for the
				   coordinator that resumes the run */
	ENDING_STOP,		/* members are told to stop */
	ENDING_OVER
};

void ending_init(struct coord *);
void ending_release(struct coord *);
enum ending_state ending_state(const struct coord *);
bool ending_begun(const struct coord *);	/* nothing new is begun */
/* Notes the error that the run is to end with; coord.c asks for it with
   ending_failed(), which returns the first one, once. */
void ending_fail(struct coord *, const struct fail *);
bool ending_failed(struct coord *, struct fail *);
/* Sets the error that the run ends with. */
void ending_set(struct coord *, const struct fail *);
/* The same, unless there is one already.  With many submitters the error is
   that of the submitter that asked. */
void ending_note(struct coord *, const struct request *asked,
		 const struct fail *);
/* A request has failed: ends the run with that error; or (keep_going) only
   notes it; or, with many submitters, ends what its submitter has pending. */
void ending_error(struct coord *, const struct request *asked,
		  const struct fail *);
/* Ends the run with this error, but keeps what was trained: it drains. */
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
/* The coordinator ends, but the run does not: started again, it resumes it. */
void ending_leave(struct coord *, const struct fail *);
bool ending_is_left(const struct coord *);
/* The results cannot be written any more. */
void ending_output_closed(struct coord *);
bool ending_output_is_open(const struct coord *);
void ending_write(const struct coord *, struct pack *);
void ending_read(struct coord *, struct unpack *);
/* The journal says that the run was ending: it drains again. */
void ending_read_drain(struct coord *);
const char *ending_check(const struct coord *);

#endif
