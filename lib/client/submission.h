/*
 * submission - the requests of one of several submitters to a coordinator, and
 * their results.
 *
 * The coordinator knows a submitter by its name, and numbers its requests and
 * its results from 1.  After a loss the submission sends the requests again
 * that the coordinator has not accepted; results that the coordinator sends
 * again are taken once.  Like every role a submission has no socket, clock or
 * file: its program brings lines, messages and the time, writes the output, and
 * says when that is on disk.
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
	uint64_t wishes;		/* bits: see enum submitter_wish of
					   coord/submitters.h */
	uint64_t life;			/* random, new for every start */
	uint64_t timeout_ms;
	uint64_t received;		/* results that the output has from
					   earlier starts; WIRE_NONE: unknown,
					   believe the coordinator */
	bool whole;			/* the lines begin with the first
					   request, also on a later start */
	bool reused;			/* later submissions may have the same
					   name */
};

/* Dials the coordinator.  Options are copied.  NULL: it cannot be dialled, and
   the failure says why. */
struct submission *submission_new(const struct submission_options *,
				  struct outbox *, uint64_t now_ms,
				  struct fail *);
void submission_free(struct submission *);

void submission_up(struct submission *, uint64_t now_ms);
void submission_down(struct submission *, uint64_t now_ms);
/* -1: the submission cannot continue, and the failure says why. */
int submission_receive(struct submission *, const struct message *,
		       uint64_t now_ms, struct fail *);
/* Sends requests that wait, asks whether the coordinator is alive, and checks
   deadlines.  Call it after each event, and several times in timeout_ms.  -1:
   the submission cannot continue, and the failure says why. */
int submission_tick(struct submission *, uint64_t now_ms, struct fail *);

/*
 * submission_has_room(): is there room for a line?  submission_add_line() adds
 * a line of size bytes, without its newline; -1: the lines are not those that
 * this name sent on an earlier start (FAIL_DATA).  submission_end_lines():
 * there are no more lines.
 */
bool submission_has_room(const struct submission *);
int submission_add_line(struct submission *, const char *line, size_t size,
			struct fail *);
void submission_end_lines(struct submission *);

/*
 * submission_output(): the results to write, which the program empties.
 * submission_needs_sync(): is it time to bring to disk what was written?  It is
 * after many results, so that the coordinator need not keep them, and when
 * nothing else is left to do.  submission_synced(): all that was written is on
 * disk.
 */
struct text *submission_output(struct submission *);
bool submission_needs_sync(const struct submission *);
void submission_synced(struct submission *);

/*
 * True if all requests were sent and answered, or no more will be; *status is
 * then the kind of the first error, or 0.  If the name is reused, the
 * coordinator has also confirmed that this submission has ended, or was not
 * there to do so within timeout_ms; then submission_is_confirmed() is false.
 */
bool submission_over(const struct submission *, int *status);
bool submission_is_confirmed(const struct submission *);
/* Fails if the run failed, and no result that has come says why. */
int submission_check(const struct submission *, struct fail *);
/* Numbers of requests: that the coordinator has accepted; that were given and
   that it has not accepted; and, of those accepted, that have no result yet. */
uint64_t submission_accepted(const struct submission *);
uint64_t submission_unaccepted(const struct submission *);
uint64_t submission_pending(const struct submission *);
/* The number of requests that the coordinator accepted from earlier starts.
   Only one call returns it, after the coordinator has first reported it; all
   others return 0. */
uint64_t submission_resumed(struct submission *);
/* Says BYE.  What is pending continues or is given up, as the wishes of the
   options say. */
void submission_leave(struct submission *);

#endif
