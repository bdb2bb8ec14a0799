/*
 * leases - what the coordinator gave a worker to do, and is told of it.
 *
 * Steps are begun in the order of their leases, but those of rounds, of which
 * the lowest comes first.  Each step that is begun comes to one end: it is
 * done, has failed or is dropped.  The results of a lease are reported when
 * all of them are in, or nothing more comes of it.
 */
#ifndef PS_LEASES_H
#define PS_LEASES_H

#include "base/text.h"
#include "model/metric.h"
#include "wire/outbox.h"
#include "wire/result.h"

/* As it was given; steps first to end - 1. */
struct lease {
	uint64_t id, first, end, attempt, batch, pass, server;
	float learning_rate;
	uint64_t replica, replicas;	/* of a round; replicas 0: of none */
	unsigned level;			/* as in message_node() */
	struct text blocks, after;	/* of the coordinator's data */
	struct text step, args;		/* what a program is told, with a NUL
					   behind it; empty: nothing */
};

struct leases;

/* The outbox is borrowed; peer is the coordinator. */
struct leases *leases_new(struct outbox *, uint64_t peer);
void leases_free(struct leases *);

/* A term begins: nobody waits for what was leased in an earlier one. */
void leases_begin_term(struct leases *, uint64_t term);

/*
 * One more; declined: no step of it will be begun.  false: it cannot be.
 * Leases are good until leases_settle().
 */
bool leases_take(struct leases *, const struct message *, bool declined);

/*
 * Give up what has not been begun of leases with one of these steps, or of
 * that one lease (id not 0).  What is done is reported.
 */
void leases_cancel(struct leases *, uint64_t first, uint64_t count,
		   uint64_t id);
/* OK is to be said when all that was begun of cancelled ones has ended. */
void leases_send_cancelled(struct leases *);
/* The coordinator takes everything back, as it does when we were gone. */
void leases_revoke(struct leases *);
/* No more steps will be begun: the coordinator has what is left of them. */
void leases_end(struct leases *);

/* The lease whose next step is to be begun, and that step; NULL: none. */
const struct lease *leases_next(const struct leases *, uint64_t *step);
/* That lease, if it is there and not cancelled; or NULL. */
const struct lease *leases_find(const struct leases *, uint64_t id);
/* Is there a step of it that has not been begun?  Has this one been? */
bool lease_has_more(const struct lease *);
bool lease_has_begun(const struct lease *, uint64_t step);
bool lease_is_cancelled(const struct lease *);

/* The lease of the step that is so many behind the next one; NULL: none. */
const struct lease *leases_behind(const struct leases *, uint64_t behind);
/* More steps are announced, like those of the last lease: true; of which
   batch and pass. */
bool leases_announced(const struct leases *, uint64_t *batch, uint64_t *pass);

/* Its next step is begun: which is that? */
uint64_t leases_begin(struct leases *, const struct lease *);
/* It was computed and pushed; of the states, which may be NULL, one has the
   scores that go with it. */
void leases_done(struct leases *, const struct lease *, struct result *,
		const struct metric *, const struct metric_state *,
		size_t metrics);
/* It cannot be computed: what is left of the lease is the coordinator's. */
void leases_failed(struct leases *, const struct lease *, uint64_t step,
		  const struct fail *why);
/* Nothing comes of it, as its lease was cancelled. */
void leases_dropped(struct leases *, const struct lease *);

/* Those that are over are forgotten; say what is to be said of that. */
void leases_settle(struct leases *);

/* The k-th slice of its first step: so many records of a data set's block,
   which lies in the lease; false: there is none. */
struct lease_slice {
	uint64_t dataset, from, count;
	struct frame block;
};
bool lease_slice(const struct lease *, size_t k, struct lease_slice *);

/* Different blocks of a data set that unfinished leases need, in that
   order. */
size_t leases_blocks(const struct leases *, uint64_t dataset, struct frame *,
		     size_t most);

/* NULL, or what does not hold; see worker_check(). */
const char *leases_check(const struct leases *);
bool leases_have(const struct leases *, const struct lease *);

#endif
