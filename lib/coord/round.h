/*
 * round - the coordinator's rounds: which worker is at which replica, and which
 * result of a replica counts.
 *
 * In a synchronous run a step is a round of a fixed number of replicas.  To
 * give a replica to a worker is an attempt.  The first attempt that is done is
 * chosen, and when every replica has a chosen attempt the round is whole and
 * can be committed.  At most two rounds are open: the one whose turn it is, and
 * the next, whose replicas are given out ahead, so that workers can read their
 * examples and ask for values early.
 *
 * A replica goes to its owner, the worker that had it last, if that worker is
 * there: so each worker keeps to its own part of the data.  When a worker is
 * lost its replicas are given to others.  Backups are spare workers: when no
 * more replicas of a round are open than there are backups, a spare worker does
 * one of them, too.  The first result is chosen, and its worker is the owner
 * from then on.
 *
 * Only the two newest attempts at a replica may be chosen, as a server keeps
 * two (see round_buffer).
 *
 * Workers are pointers that are compared and never followed here.
 */
#ifndef PS_ROUND_H
#define PS_ROUND_H

#include "coord/holders.h"
#include "wire/result.h"

struct rounds;

/* replicas: 1 to WIRE_REPLICAS; backups: the number of replicas of a round that
   may be done by two workers at the same time. */
struct rounds *rounds_new(size_t replicas, size_t backups);
void rounds_free(struct rounds *);

size_t rounds_replicas(const struct rounds *);

/* Makes workers keep residuals: see "residuals", below. */
void rounds_keep_residuals(struct rounds *);

/* Makes a worker the owner of a replica. */
void rounds_own(struct rounds *, size_t replica, void *worker);

/* Can another round be opened?  rounds_open() opens it; its step must be higher
   than that of the last one. */
bool rounds_room(const struct rounds *);
void rounds_open(struct rounds *, uint64_t step);
/* Marks a replica of the round just opened as one without work. */
void rounds_skip(struct rounds *, size_t replica);

/*
 * Finds which gradients of the round just opened a relay may add up before the
 * servers have them: those of whole nodes of the tree over replicas (see
 * message_node()).  Call it when rounds_skip() has been called for all replicas
 * without work.  A node may be added up if
 *
 *  - each of its replicas has work, and an owner that owns no other replica (so
 *    no push of the sum waits for a worker that is at something else);
 *  - all these owners are at one place.
 *
 * A place is what the callback returns for a worker: a number, 0: at none.
 */
typedef uint64_t rounds_place(const void *self, const void *worker);
void rounds_group(struct rounds *, rounds_place *, const void *self);

/* An attempt at a replica. */
struct attempt {
	uint64_t step, replica, number;	/* number: 1 for the first */
};

/*
 * Gives a worker something to do:
 *
 *  1. if more is set, a replica of the round whose turn it is, that nobody
 *     is at;
 *  2. if ahead is set, one of the next round that is its own, or nobody's;
 *  3. if spare is set, one that another worker is at, as a backup.
 *
 * false: there is nothing now.
 */
bool rounds_lease(struct rounds *, void *worker, bool more, bool ahead,
		  bool spare, struct attempt *);

/* Returns the level of the node in which the gradient of this attempt, just
   leased to this worker, may be added up.  0, by itself, unless it is the first
   attempt of this term and the worker was the owner in rounds_group(). */
unsigned rounds_level(struct rounds *, const struct attempt *,
		      const void *worker);

/* Counts the attempts at replicas whose earlier attempts had all failed. */
uint64_t rounds_retried(const struct rounds *);

/* The step whose replicas are given out first; WIRE_NONE: there is no round. */
uint64_t rounds_turn(const struct rounds *);

/* May this attempt still be chosen? */
bool rounds_live(const struct rounds *, const void *worker,
		 const struct attempt *);

/*
 * Takes the result of an attempt.  true: the attempt is chosen, and its result
 * and scores are copied; *overtaken is the other worker that is at the replica,
 * now in vain, or NULL.  false: it may not be chosen any more.
 */
bool rounds_choose(struct rounds *, void *worker, const struct attempt *,
		   const struct result *, const float *scores,
		   const unsigned char *positive, void **overtaken);

/* rounds_drop(): an attempt has failed.  rounds_lose(): a worker is lost, with
   all its attempts and all that it owned. */
void rounds_drop(struct rounds *, const void *worker, const struct attempt *);
void rounds_lose(struct rounds *, const void *worker);

/* Counts the attempts of the round whose turn it is that are under way and may
   be chosen. */
size_t rounds_running(const struct rounds *);

/* Is every replica of the first round chosen? */
bool rounds_whole(const struct rounds *);

/* The step of the first round; and the number of the chosen attempt at each
   replica of it, 0 if that had no work. */
uint64_t rounds_step(const struct rounds *);
uint64_t rounds_chosen(const struct rounds *, size_t replica);

/*
 * Is it certain that servers can apply the chosen attempts of the first round?
 * Each was acknowledged, but a first attempt may be on a server only inside a
 * relay's sum.  Such a sum is of no use if, for another replica in it, a later
 * attempt was chosen.
 */
bool rounds_sure(const struct rounds *);

/* Notes that servers have the chosen attempts of the first round, as they were
   asked, or are sent COMMIT.  Until then the turn stays with that round, so
   that there is a worker for a replica that must be done again.  Returns how
   many residuals are lost: those of chosen pushes whose workers are, and those
   that a flushed round has left. */
size_t rounds_settle(struct rounds *);

/* Opens a replica of the first round again: some server has the gradient of the
   chosen attempt only inside a sum, or not at all. */
void rounds_reopen(struct rounds *, size_t replica);

/*
 * Returns the result of the first round, which must be whole: sums over the
 * replicas in their order, the longest time, the largest staleness, and the
 * list of what the workers' step programs returned.  The scores and the list
 * are good until the next call.
 */
void rounds_result(struct rounds *, struct result *, const float **scores,
		   const unsigned char **positive);

/* Closes the first round, which servers have committed. */
void rounds_close(struct rounds *);

/* Forgets all open rounds, when their steps are given up or begin again; first
   false: all but the first one. */
void rounds_reset(struct rounds *, bool first);

/* Sets the number below which no attempt of this term is: the first attempt at
   a replica is base + 1.  So attempts of a round that begins again are newer
   than those that servers have of it. */
void rounds_number(struct rounds *, uint64_t base);

/*
 * Residuals.  A replica is given only to the worker that has its residual, if
 * one has; others do it as backups, and push it exactly.  How an attempt is
 * pushed is known when the rounds before its own are closed, and when it is
 * known whether its own is the last one before a checkpoint, or before nothing:
 * then all residuals are flushed, so that none is kept back.  In such a round
 * nobody else does a replica of which a worker has the residual.  So every
 * round that is not flushed is followed by one that is open.
 */

/* Is it not known yet how the first round is pushed?  rounds_next(): the step
   of the round that follows it, WIRE_NONE: none is open.  rounds_decide() says
   that it is known; last: residuals are flushed. */
bool rounds_undecided(const struct rounds *);
uint64_t rounds_next(const struct rounds *);
void rounds_decide(struct rounds *, bool last);

/* Is it known how the replicas of the round of this step are pushed? */
bool rounds_decided(const struct rounds *, uint64_t step);
/* How an attempt of a round that is decided is pushed, and with which residual.
   One that cannot be chosen any more is pushed in vain. */
void rounds_push(struct rounds *, const void *worker, const struct attempt *,
		 enum push_how *, struct residual *);

/* Are there replicas that nobody is at, and have other workers the residuals of
   all of them?  Then this worker waits for those. */
bool rounds_wait_for_holders(const struct rounds *, const void *worker);

/* Was rounds_keep_residuals() called? */
bool rounds_has_residuals(const struct rounds *);
/* See holders_lose(), holders_drop() and holders_reset().  What is lost is also
   counted by rounds_residuals_lost(), as is what rounds_settle() finds lost. */
size_t rounds_lose_residuals(struct rounds *, const void *worker);
size_t rounds_drop_residuals(struct rounds *, uint64_t below);
void rounds_reset_residuals(struct rounds *);
uint64_t rounds_residuals_lost(const struct rounds *);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *rounds_check(const struct rounds *);

#endif
