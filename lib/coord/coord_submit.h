/*
 * coord_submit - takes the requests of submitters, and sends them the results.
 */
#ifndef PS_COORD_SUBMIT_H
#define PS_COORD_SUBMIT_H

#include "coord/coord_journal.h"

void submit_init(struct coord *);
void submit_release(struct coord *);

/* Reads a line of size bytes, the number-th of its submitter.  What is not a
   request, or cannot be done, becomes REQUEST_BAD with the reason. */
void submit_read(struct coord *, struct request *, const char *line,
		 size_t size, uint64_t number);
/* Reads a line of the coordinator's own input and takes the request. */
void submit_own(struct coord *, const char *line, size_t size,
		uint64_t number);
/* The same without --queue, for a request that waits for no other one.  While
   the journal is read: it is answered after that, unless submit_answered()
   says that it was. */
void submit_at_once(struct coord *, const char *line, size_t size,
		    uint64_t number);
void submit_answered(struct coord *);
/* Is there room for another line of the own input? */
bool submit_wants(const struct coord *);

/* Is this message from a submitter, or from a peer that is to become one? */
bool submit_is_for(const struct coord *, uint64_t peer,
		   const struct message *);
void submit_receive(struct coord *, uint64_t peer, const struct message *,
		    uint64_t now_ms);
/* Pings submitters, hangs up on those that have not answered for a lease, and
   forgets those that have been away for too long. */
void submit_probe(struct coord *, uint64_t now_ms);

/* Puts requests into the queue in their turns; true: any. */
bool submit_turns(struct coord *);
/* Ends the requests that have ended in the queue, and gives up those of
   submitters that have failed, or of all when the run ends. */
void submit_settle(struct coord *);
/* Sends each submitter its new results, if the journal has them. */
void submit_notify(struct coord *);
/* When the run ends: were submitters sent all results, and that it ends, unless
   the journal is lost?  True, too, if there can be none. */
bool submit_notified(const struct coord *);
/* When the run ends: have all submitters that were there received all results
   and left? */
bool submit_have_all(const struct coord *);

/*
 * The submitters' part of a record ENDS.
 *
 * submit_can_commit(): is it time for one, as the last was long ago or the
 * queue has nothing left to be given out?  submit_is_awaited(): does a
 * submitter wait for one?  submit_write() writes it, whole or only what is new,
 * submit_kept() notes that it is safe, submit_replay() reads it (-1: it makes
 * no sense).  submit_printed(): bytes of the own results that were printed.
 */
bool submit_can_commit(const struct coord *, uint64_t now_ms);
bool submit_is_awaited(const struct coord *, uint64_t now_ms);
void submit_write(struct coord *, bool whole, struct pack *, uint64_t now_ms);
void submit_kept(struct coord *);
int submit_replay(struct coord *, struct unpack *);
uint64_t submit_printed(const struct coord *);
/* Appends notes that, read back, make all requests pending that are so when all
   steps with a number have ended.  false: notes cannot describe that. */
bool submit_fold(struct coord *, struct pack *notes);
/* Reads a note of a submitter; -1: it makes no sense. */
int submit_replay_note(struct coord *, enum journal_note, size_t owner,
		       uint64_t number, struct unpack *);
/* Ends the requests that ended in the queue by a note of another part. */
void submit_replayed(struct coord *);
/* The whole journal was read. */
void submit_resume(struct coord *);

#endif
