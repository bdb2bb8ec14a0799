/*
 * round - the coordinator's rounds: which replicas, who is at them, who counts.
 *
 * In a synchronous run a step is a round of so many replicas.  A replica is
 * given to a worker, that is an attempt; the first one that is done is chosen,
 * and a round of which every replica has one is committed.  Two rounds are open
 * at most: the one whose turn it is, and the one after, whose replicas are
 * given out ahead, so that workers read their examples and ask for values
 * before they are there.
 *
 * A replica goes to the worker that had it last, its owner, if that one is
 * there: so each keeps to its own part of the data.  When a worker is lost its
 * replicas are given out again.  Backups are spare workers that do a replica
 * once more when all but so few of a round are done: the first answer wins, and
 * its worker is the owner from then on.
 *
 * Of a replica the two newest attempts may be chosen, no older ones: that is
 * how many a server keeps (see round_buffer).
 */
#ifndef PS_ROUND_H
#define PS_ROUND_H

#include "wire/result.h"

struct rounds;

/* 1 to WIRE_REPLICAS replicas; backups: replicas that may be done twice at a
   time. */
struct rounds *rounds_new(size_t replicas, size_t backups);
void rounds_free(struct rounds *);

size_t rounds_replicas(const struct rounds *);

/* This worker is to have that replica, as long as it is there. */
void rounds_own(struct rounds *, size_t replica, void *worker);

/* Is there room for another one?  Its step is to follow the last one's. */
bool rounds_room(const struct rounds *);
void rounds_open(struct rounds *, uint64_t step);
/* Of the one just opened this replica has nothing to do. */
void rounds_skip(struct rounds *, size_t replica);

/*
 * What comes to be of the one just opened, whose replicas without work are
 * known, may be added up before servers have it, in whole nodes of the tree
 * over replicas (see message_node()).  A node's replicas have work, and each
 * has an owner of its own, who has no other one and so waits for nobody with
 * it; and all of these are at one place, which is a number, or 0: nowhere.
 */
typedef uint64_t rounds_place(const void *self, const void *worker);
void rounds_group(struct rounds *, rounds_place *, const void *self);

/* A try at a replica. */
struct attempt {
	uint64_t step, replica, number;	/* number: 1 for the first */
};

/*
 * Something to do for this worker: a replica of the round whose turn it is;
 * else, if it may be given one ahead, its own of the next; else, if it is
 * spare, one that is late.  false: nothing now.
 */
bool rounds_lease(struct rounds *, void *worker, bool ahead, bool spare,
		  struct attempt *);

/* The level that this attempt, which the worker has just been leased, may be
   added up in: of the first one, by who was the owner; else 0. */
unsigned rounds_level(struct rounds *, const struct attempt *,
		      const void *worker);

/* Attempts so far at replicas whose earlier ones had all come to nothing. */
uint64_t rounds_retried(const struct rounds *);

/* The step whose replicas are given out first; WIRE_NONE: there is no round. */
uint64_t rounds_turn(const struct rounds *);

/* May this attempt still be chosen? */
bool rounds_live(const struct rounds *, const void *worker,
		 const struct attempt *);

/*
 * An attempt is done.  true: it is chosen, its result and scores are copied;
 * *overtaken is another worker that is at the replica in vain, or NULL.
 */
bool rounds_choose(struct rounds *, void *worker, const struct attempt *,
		   const struct result *, const float *scores,
		   const unsigned char *positive, void **overtaken);

/* An attempt has come to nothing; all those of a worker, which is lost. */
void rounds_drop(struct rounds *, const void *worker, const struct attempt *);
void rounds_lose(struct rounds *, const void *worker);

/*
 * Attempts under way that may be chosen, of the round whose turn it is: those
 * ahead of it wait.
 */
size_t rounds_running(const struct rounds *);

/* Is every replica of the first round chosen? */
bool rounds_whole(const struct rounds *);

/*
 * Of the first round: its step; of each replica the chosen attempt's number, 0
 * if there was nothing to do.
 */
uint64_t rounds_step(const struct rounds *);
uint64_t rounds_chosen(const struct rounds *, size_t replica);

/*
 * Do servers have the chosen attempts of the first round for certain?  Each has
 * been answered for; but a first attempt may be there only as a part of a sum,
 * which is of no use if another attempt than the one in the sum was chosen.
 */
bool rounds_sure(const struct rounds *);

/* They do: they have said so, or are told to apply it.  Until then nobody is
   given what comes behind that round but ahead of its turn: so there is room
   for what is to be done once more. */
void rounds_settle(struct rounds *);

/* This replica of the first round is to be done once more: what was chosen some
   server does not have apart from others. */
void rounds_reopen(struct rounds *, size_t replica);

/*
 * What the replicas of the first round, which is whole, come to together: sums
 * in the order of the replicas, the longest time, the largest staleness, a list
 * of what their programs gave back.  That and the scores are good until the
 * next call.
 */
void rounds_result(struct rounds *, struct result *, const float **scores,
		   const unsigned char **positive);

/* The first round has ended. */
void rounds_close(struct rounds *);

/*
 * Forget all rounds, as when steps are given up or begin again; or all but
 * the first one.
 */
void rounds_reset(struct rounds *, bool first);

/*
 * Attempts at replicas are numbered from here on, so that those of a round that
 * begins again are newer than what servers have of it.
 */
void rounds_number(struct rounds *, uint64_t base);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *rounds_check(const struct rounds *);

#endif
