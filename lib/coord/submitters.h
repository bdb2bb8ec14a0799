/*
 * submitters - who asks for what, whose turn it is, and whose the results are.
 *
 * A submitter is a name, and has a number here.  SUBMITTER_OWN is whoever
 * feeds the coordinator's own input: it is always there, and its program takes
 * its results.  The others call with --queue.
 *
 * Requests of one submitter wait in the order they came, and what was asked is
 * kept until it has ended.  submitters_turn() says what is next of all of
 * them: a few steps, or a whole request of another kind, which comes when all
 * that its own submitter asked before has ended.  So a long request keeps
 * nobody else waiting for longer than a turn.
 *
 * It holds no socket: who calls is a peer's number here.
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

/* What a submitter says of itself when it calls: the bits of a number. */
enum submitter_wish {
	SUBMITTER_DETACH = 1,		/* its requests outlive it */
	SUBMITTER_KEEP_GOING = 2	/* ... and its errors */
};

struct submitters;

/* open: others than SUBMITTER_OWN may call.  Without that, there are no turns:
   requests go where they are to go at once. */
struct submitters *submitters_new(bool open, bool keep_going);
void submitters_free(struct submitters *);
bool submitters_open(const struct submitters *);
size_t submitters_count(const struct submitters *);	/* numbers in use */

/* ---- who is there ---- */

/*
 * One calls by that name: a new one, or one that returns.  Its number, or
 * SUBMITTER_NONE: FAIL_AGAIN, there are too many; FAIL_PROTOCOL, that is not a
 * name.  *before is the peer at which it was, which is to be hung up on, or
 * SUBMITTER_AWAY.
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
/* It is not there any more, since now. */
void submitters_away(struct submitters *, size_t, uint64_t now_ms);
/*
 * One that is away for good, and is to be forgotten: its requests were not to
 * outlive it, and it could have returned for so long; or they were, and it has
 * not come back for them in the other time.  Or SUBMITTER_NONE.
 */
size_t submitters_gone(const struct submitters *, uint64_t now_ms,
		       uint64_t for_ms, uint64_t forget_ms);
/* What waits is dropped, and its name is free; its number is when all that was
   given out has ended. */
void submitters_forget(struct submitters *, size_t);

/* ---- requests ---- */

/*
 * What it asked so far: the number of the last request, from 1, and the hash
 * of the lines of all.  One more: takes what the request holds and empties it.
 */
uint64_t submitters_accepted(const struct submitters *, size_t);
uint64_t submitters_hash(const struct submitters *, size_t);
void submitters_accept(struct submitters *, size_t, const char *line,
		       size_t size);
void submitters_put(struct submitters *, size_t, struct request *,
		    size_t bytes);
/* The number of the last request that there is room for. */
uint64_t submitters_room(const struct submitters *, size_t);
/* No more will come: of this one; and of nobody. */
void submitters_close(struct submitters *, size_t);
void submitters_close_all(struct submitters *);
bool submitters_closed(const struct submitters *, size_t);
size_t submitters_pending(const struct submitters *, size_t);
size_t submitters_all_pending(const struct submitters *);

/*
 * Whose turn is it?  So many steps of a request, most at the most; 0 of one
 * that is not of steps.  The request is borrowed until all that was given out
 * of it has ended.  false: nobody has anything that can begin now.
 *
 * data: steps read the data of an epoch, which is one submitter's as long as
 * it has any pending.
 */
struct turn {
	const struct request *request;
	uint64_t steps;
};
bool submitters_turn(struct submitters *, uint64_t most, bool data,
		     struct turn *);

/* Of what was given out of a request so much has ended: steps, of which so
   many were not done; or the whole, with 0. */
void submitters_ended(struct submitters *, size_t, uint64_t number,
		      uint64_t steps, uint64_t undone);

/* The number of the first request that stays when others are given up: the one
   at or behind the next barrier, or one that is yet to come. */
uint64_t submitters_cancel_end(const struct submitters *, size_t);

/*
 * Give up what waits, all requests below a number, or UINT64_MAX: all, what is
 * in the background, too; none of it is under way.  For each one tell is
 * called, and how many of its steps were not done.
 */
void submitters_cancel(struct submitters *, size_t, uint64_t end,
		       void (*tell)(void *to, const struct request *,
				    uint64_t steps), void *to);
/* Give up steps that are yet to be given out, of all requests with this id (as
   JSON): how many requests. */
size_t submitters_cancel_id(struct submitters *, size_t, const char *id,
			    void (*tell)(void *to, const struct request *,
					 uint64_t steps), void *to);

/* ---- errors ---- */

/* A request of its has failed: unless it wants to go on all the same, all that
   it has pending is to be given up, and no more will come. */
void submitters_fail(struct submitters *, size_t, const struct fail *);
/* Its status is this from now on, unless it had one. */
void submitters_note(struct submitters *, size_t, const struct fail *);
const struct fail *submitters_failure(const struct submitters *, size_t);
/* One whose requests are to be given up for that; asked once.  *all: not only
   those up to its next barrier. */
size_t submitters_failed(struct submitters *, bool *all);
/* A step of its has failed: the others up to its next barrier are to be given
   up, and its next join is to repeat why; or NULL; and: it has. */
void submitters_owe(struct submitters *, size_t, const char *why);
const char *submitters_owed(const struct submitters *, size_t);
void submitters_paid(struct submitters *, size_t);

/* ---- results ---- */

/* Where its lines are added, each with its newline; where our own are taken
   from, to be printed; and how many bytes of them there are. */
struct text *submitters_output(const struct submitters *, size_t);
struct text *submitters_ready(struct submitters *);
size_t submitters_bytes(const struct submitters *, size_t);
/*
 * Lines that it has not been sent since it called: good until the next call.
 * Its first line is number *first, from 1.  And: they are sent, as is what it
 * has pending; is there anything else to be told?
 */
const char *submitters_unsent(const struct submitters *, size_t, size_t *size,
			      uint64_t *first);
void submitters_sent(struct submitters *, size_t, size_t size);
bool submitters_news(const struct submitters *, size_t);
/* It has so many lines: -1, they are not those that it was sent. */
int submitters_received(struct submitters *, size_t, uint64_t lines,
			struct fail *);
/* It has all results, and nothing is pending. */
bool submitters_done(const struct submitters *, size_t);

/* ---- in the journal ---- */

/* From now on no line is sent or printed before it is kept. */
void submitters_keep(struct submitters *);
/* Are there lines that wait for that, or is anything else new?  Of this one;
   and all of it is kept. */
bool submitters_unkept(const struct submitters *, bool *changed);
bool submitters_changed(const struct submitters *, size_t);
void submitters_kept(struct submitters *);
/* Bytes of our own lines that were printed. */
uint64_t submitters_printed(const struct submitters *);
bool submitters_used(const struct submitters *, size_t);
bool submitters_leaving(const struct submitters *, size_t);

/* Whose turn it was; and what one is, all but its name and what it has pending:
   its lines are those that are not kept yet, or the whole of them. */
void submitters_write_turns(const struct submitters *, struct pack *);
void submitters_read_turns(struct submitters *, struct unpack *);
void submitters_write(const struct submitters *, size_t, bool whole,
		      struct pack *);
int submitters_read(struct submitters *, size_t, struct unpack *);
/* So much of our own has been printed. */
void submitters_read_printed(struct submitters *, uint64_t bytes);

/* There is one of that name and number, who is away; -1: there cannot be. */
int submitters_restore(struct submitters *, size_t, const char *name,
		       size_t size);
/* It had this turn. */
int submitters_read_turn(struct submitters *, size_t, uint64_t number,
			 uint64_t steps, struct turn *);

/*
 * What is pending, when all steps that have a number are taken for done: with
 * what is yet to be given out, or was not done.  First it is said of what the
 * queue has a part without a number.  And back again: such a request, and then
 * such a part.
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
