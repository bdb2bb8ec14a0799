/*
 * submission - requests to a coordinator that others ask, too, and its results.
 *
 * The coordinator knows a submitter by its name, and numbers its requests and
 * its results from 1.  What it has not accepted is sent again after a loss;
 * what it sends again is taken once.  Like every role it has no socket, clock
 * or file: its program brings lines, messages and the time, writes the output,
 * and says when that is written.
 */
#ifndef PS_SUBMISSION_H
#define PS_SUBMISSION_H

#include "base/text.h"
#include "wire/message.h"
#include "wire/outbox.h"

struct submission;

struct submission_options {
	const char *coordinator;	/* its endpoint, borrowed */
	const char *name;		/* borrowed */
	uint64_t wishes;		/* coord/submitters.h says which */
	uint64_t life;			/* random, new for every start */
	uint64_t timeout_ms;
	uint64_t received;		/* results that it has from before;
					   WIRE_NONE: what it had is not ours
					   to know */
	bool whole;			/* the requests come from the first one
					   on, also those asked before */
};

/* Dials the coordinator.  Options are copied. */
struct submission *submission_new(const struct submission_options *,
				  struct outbox *, uint64_t now_ms,
				  struct fail *);
void submission_free(struct submission *);

void submission_up(struct submission *, uint64_t now_ms);
void submission_down(struct submission *, uint64_t now_ms);
/* -1: it cannot go on, and the failure says why. */
int submission_receive(struct submission *, const struct message *,
		       uint64_t now_ms, struct fail *);
/* Send what there is, ask whether anybody is there.  Call it after whatever
   has happened, and now and then. */
int submission_tick(struct submission *, uint64_t now_ms, struct fail *);

/* Is there room for a line?  One of so many bytes, without its newline; and:
   there will be no more. */
bool submission_wants(const struct submission *);
int submission_line(struct submission *, const char *line, size_t size,
		    struct fail *);
void submission_end(struct submission *);

/*
 * Results to write; the program empties it.  Is it time to make safe what was
 * written, so that the coordinator need not keep it, or as nothing else is left
 * to do?  And: all is.
 */
struct text *submission_output(struct submission *);
bool submission_unsafe(const struct submission *);
void submission_safe(struct submission *);

/*
 * All has been asked and answered, or no more will be: true, with the kind of
 * the first error, or 0.  And: how many requests the coordinator has said to
 * have; and has not.
 */
bool submission_over(const struct submission *, int *status);
uint64_t submission_accepted(const struct submission *);
uint64_t submission_unasked(const struct submission *);
uint64_t submission_pending(const struct submission *);
/* So many were accepted of an earlier start, when the coordinator has said so
   for the first time; once. */
uint64_t submission_resumed(struct submission *);
/* Leave: what is pending stays or is given up, as the coordinator was told. */
void submission_leave(struct submission *);

#endif
