/*
 * submitters - the submitters of a run: their requests, their turns, and their
 * results.
 *
 * A submitter has a name, and a number by which it is passed here (a size_t
 * below submitters_count()).  SUBMITTER_OWN is the coordinator's own input: it
 * is always there, and the coordinator's program prints its results.  The
 * others connect if the coordinator runs with --queue.
 *
 * Requests of one submitter wait in the order in which they came, and each is
 * kept until it has ended.  submitters_turn() chooses what is next among all
 * submitters: a few steps of a train request, or a whole request of another
 * kind, when all requests that its submitter sent before have ended.  So a long
 * request makes other submitters wait for a turn at most.
 *
 * There is no socket here: a peer is a connection's number in the outbox.
 */
#ifndef PS_SUBMITTERS_H
#define PS_SUBMITTERS_H

#include "base/fail.h"
#include "base/text.h"
#include "coord/request.h"
#include "wire/pack.h"

#define SUBMITTER_OWN	((size_t)0)
#define SUBMITTER_NONE	SIZE_MAX
#define SUBMITTERS_MOST	1024
#define SUBMITTER_NAME	WIRE_NAME	/* bytes of a name, with its NUL */
#define SUBMITTER_PENDING	4096	/* requests that have not ended */

/* The bits of the number in a submitter's HELLO. */
enum submitter_wish {
	SUBMITTER_DETACH = 1,		/* its requests stay when it goes */
	SUBMITTER_KEEP_GOING = 2	/* its requests stay when one fails */
};

struct submitters;

/* open: other submitters than SUBMITTER_OWN may connect.  Otherwise there are
   no turns: the coordinator does not wait for submitters_turn(). */
struct submitters *submitters_new(bool open, bool keep_going);
void submitters_free(struct submitters *);
bool submitters_open(const struct submitters *);
size_t submitters_count(const struct submitters *);	/* numbers in use */

/* ---- who is there ---- */

/*
 * Lets in the submitter of this name, at this peer: a new one, or one that
 * returns.  wishes: bits of enum submitter_wish.  Returns its number, or
 * SUBMITTER_NONE: there are too many (FAIL_AGAIN), or that is not a name
 * (FAIL_PROTOCOL).  *before is the peer at which it was until now, to be hung
 * up on, or SUBMITTER_AWAY.
 */
#define SUBMITTER_AWAY	UINT64_MAX
size_t submitters_call(struct submitters *, const char *name, size_t size,
		       uint64_t peer, uint64_t wishes, uint64_t *before,
		       struct fail *);
bool submitters_knows(const struct submitters *, const char *name,
		      size_t size);
size_t submitters_at(const struct submitters *, uint64_t peer);
uint64_t submitters_peer(const struct submitters *, size_t);
const char *submitters_name(const struct submitters *, size_t);
/* Notes that a submitter's connection is gone, since now_ms. */
void submitters_away(struct submitters *, size_t, uint64_t now_ms);
/*
 * Note that a submitter was sent a PING; that a message came from it.
 * submitters_silent() returns one that is there and has not answered for
 * for_ms, and counts from its next PING on; or SUBMITTER_NONE.
 * submitters_skip_pause(): this process stood still until now_ms, so their
 * silence does not count.
 */
void submitters_asked(struct submitters *, size_t, uint64_t now_ms);
void submitters_heard(struct submitters *, size_t);
size_t submitters_silent(struct submitters *, uint64_t now_ms,
			 uint64_t for_ms);
void submitters_skip_pause(struct submitters *, uint64_t now_ms);
/*
 * Returns a submitter that has been away for too long and is to be forgotten:
 * for for_ms, or with SUBMITTER_DETACH for forget_ms.  SUBMITTER_NONE: there is
 * none.
 */
size_t submitters_gone(const struct submitters *, uint64_t now_ms,
		       uint64_t for_ms, uint64_t forget_ms);
/* Drops the waiting requests of a submitter and frees its name.  Its number is
   free when all that was given out has ended. */
void submitters_forget(struct submitters *, size_t);

/* ---- requests ---- */

/*
 * submitters_accepted() is the number of the submitter's last request, from 1;
 * submitters_hash() the hash of all its lines.  submitters_accept() counts and
 * hashes one more line.  submitters_put() puts the request of that line at the
 * end: takes what the request holds and empties it; bytes: of the line.
 */
uint64_t submitters_accepted(const struct submitters *, size_t);
uint64_t submitters_hash(const struct submitters *, size_t);
void submitters_accept(struct submitters *, size_t, const char *line,
		       size_t size);
void submitters_put(struct submitters *, size_t, struct request *,
		    size_t bytes);
/* Returns the number of the last request that there is room for. */
uint64_t submitters_room(const struct submitters *, size_t);
/* Takes no more requests: of this submitter; of any. */
void submitters_close(struct submitters *, size_t);
void submitters_close_all(struct submitters *);
/* Takes requests again, unless one has failed and ended the others. */
void submitters_reopen(struct submitters *, size_t);
bool submitters_closed(const struct submitters *, size_t);
/* Count requests that have not ended. */
size_t submitters_pending(const struct submitters *, size_t);
size_t submitters_all_pending(const struct submitters *);

/*
 * Chooses what is next, and gives it out: at most most steps of a train
 * request, one epoch of an epoch request, or another request whole.  The
 * highest priority comes first, then whoever has waited longest.  The request
 * is borrowed until all that was given out of it has ended.  false: no
 * submitter has anything that can begin now.
 *
 * data: steps read the coordinator's data sets (-d).  Then one submitter holds
 * the data as long as it has a train or epoch request pending, and those of
 * others wait.
 */
struct turn {
	const struct request *request;
	uint64_t steps;		/* of a train request; else 0 */
};
bool submitters_turn(struct submitters *, uint64_t most, bool data,
		     struct turn *);

/* Notes what has ended of a request that was given out: this many steps, of
   which undone were not done; steps is 0 of a request without steps. */
void submitters_ended(struct submitters *, size_t, uint64_t number,
		      uint64_t steps, uint64_t undone);

/* Returns the number of the first request that stays when a step has failed and
   the requests up to the next barrier are given up: that barrier, or if it is
   the epoch whose step failed, the request behind it. */
uint64_t submitters_cancel_end(const struct submitters *, size_t);

/*
 * Gives up what waits of all requests whose number is below end; UINT64_MAX: of
 * all requests, those in the background, too.  For each, tell is called with
 * the number of its steps that were not done.
 */
void submitters_cancel(struct submitters *, size_t, uint64_t end,
		       void (*tell)(void *to, const struct request *,
				    uint64_t steps), void *to);
/* Gives up what is yet to be given out of all requests with this id (as JSON).
   Returns the number of these requests. */
size_t submitters_cancel_id(struct submitters *, size_t, const char *id,
			    void (*tell)(void *to, const struct request *,
					 uint64_t steps), void *to);

/* ---- errors ---- */

/* Notes that a request of the submitter has failed.  Without
   SUBMITTER_KEEP_GOING all its pending requests are to be given up, and it is
   closed. */
void submitters_fail(struct submitters *, size_t, const struct fail *);
/* Sets the status of a submitter, if it had none; submitters_failure() returns
   it (kind 0: none). */
void submitters_note(struct submitters *, size_t, const struct fail *);
const struct fail *submitters_failure(const struct submitters *, size_t);
/* Returns a submitter whose requests are to be given up after a failure, once
   for each failure, or SUBMITTER_NONE.  *all: all of them, not only those up to
   its next barrier. */
size_t submitters_failed(struct submitters *, bool *all);
/*
 * Notes that a step of the submitter has failed: its requests up to its next
 * barrier are to be given up, and its next join is to repeat the reason (why,
 * copied).  submitters_owed() returns the reason, or NULL; submitters_paid()
 * clears it when a join has repeated it.
 */
void submitters_owe(struct submitters *, size_t, const char *why);
const char *submitters_owed(const struct submitters *, size_t);
void submitters_paid(struct submitters *, size_t);

/* ---- results ---- */

/* submitters_output() is the text to which a submitter's result lines are
   added, each with its newline; submitters_ready() the text from which those of
   SUBMITTER_OWN are printed; submitters_bytes() the size of all that wait. */
struct text *submitters_output(const struct submitters *, size_t);
struct text *submitters_ready(struct submitters *);
size_t submitters_bytes(const struct submitters *, size_t);
/*
 * submitters_unsent() returns the lines that were not sent on the submitter's
 * present connection, good until the next call, or NULL; *size is their bytes,
 * *first the number of the first line, from 1.  submitters_sent() notes that
 * this many bytes of them, and the state of its requests, were sent.
 * submitters_news(): is there anything to be sent?
 */
const char *submitters_unsent(const struct submitters *, size_t, size_t *size,
			      uint64_t *first);
void submitters_sent(struct submitters *, size_t, size_t size);
bool submitters_news(const struct submitters *, size_t);
/* Forgets the first lines, which the submitter has received: all up to number
   lines.  -1 (FAIL_DATA): it was not sent that many, or had received more. */
int submitters_received(struct submitters *, size_t, uint64_t lines,
			struct fail *);
/* Has the submitter received all results, and is none of its requests
   pending? */
bool submitters_done(const struct submitters *, size_t);

/* ---- in the journal ---- */

/* From now on no line is sent or printed before the journal has it. */
void submitters_keep(struct submitters *);
/*
 * submitters_unkept(): do lines wait for the journal?  *changed: is anything
 * else of any submitter not in the journal?  submitters_changed(): has this
 * submitter lines or anything else that is not?  submitters_kept() notes that
 * the journal has everything.
 */
bool submitters_unkept(const struct submitters *, bool *changed);
bool submitters_changed(const struct submitters *, size_t);
void submitters_kept(struct submitters *);
/* Returns the bytes of SUBMITTER_OWN's lines that were taken to be printed. */
uint64_t submitters_printed(const struct submitters *);
/* Is the number in use?  Was the submitter forgotten, while steps of it are
   still under way? */
bool submitters_used(const struct submitters *, size_t);
bool submitters_leaving(const struct submitters *, size_t);

/*
 * Write and read back the turns (how many there were, who holds the data), and
 * one submitter without its name and its pending requests.  whole: with all its
 * lines, not only those that the journal lacks.  -1: the bytes make no sense.
 */
void submitters_write_turns(const struct submitters *, struct pack *);
void submitters_read_turns(struct submitters *, struct unpack *);
void submitters_write(const struct submitters *, size_t, bool whole,
		      struct pack *);
int submitters_read(struct submitters *, size_t, struct unpack *);
/* Drops the lines of SUBMITTER_OWN among the first bytes, which were
   printed. */
void submitters_read_printed(struct submitters *, uint64_t bytes);

/* Makes the submitter of this number and name, who is away from now on.  -1:
   the number is another one's, or that is not a name. */
int submitters_restore(struct submitters *, size_t, const char *name,
		       size_t size, uint64_t now);
/* Gives out again the turn that the journal noted.  -1: the submitter has no
   such request, or not as many steps. */
int submitters_read_turn(struct submitters *, size_t, uint64_t number,
			 uint64_t steps, struct turn *);

/*
 * Write the pending requests of a submitter as if all steps that have a number
 * were done.  submitters_queued() first marks each request of which the queue
 * has a part without a number; submitters_each_left() then calls tell for each
 * request that is marked, or has left steps to be given out or undone ones, and
 * clears the marks.  submitters_read_left() reads such a request back;
 * submitters_read_part() such a part, -1: there is no such request.
 */
void submitters_queued(struct submitters *, size_t, uint64_t number);
void submitters_each_left(struct submitters *, size_t,
			  void (*tell)(void *to, const struct request *,
				       uint64_t left, uint64_t undone),
			  void *to);
void submitters_read_left(struct submitters *, size_t, struct request *,
			  uint64_t number, size_t bytes, uint64_t left,
			  uint64_t undone);
int submitters_read_part(struct submitters *, size_t, uint64_t number,
			 uint64_t steps, struct turn *);

/* For tests: NULL, or the words of what does not hold. */
const char *submitters_check(const struct submitters *);

#endif
