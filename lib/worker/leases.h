/*
 * leases - the steps that the coordinator gave a worker, and the reports on
 * them.
 *
 * Steps begin in the order of their leases, except those of rounds: of these
 * the lowest step begins first.  Each step that has begun ends in one way: it
 * is done, has failed or is dropped.  The results of a lease are reported when
 * all of them are there, or when no more will come.
 */
#ifndef PS_LEASES_H
#define PS_LEASES_H

#include "base/text.h"
#include "model/metric.h"
#include "wire/outbox.h"
#include "wire/result.h"

/* A lease as it was received, of the steps first to end - 1. */
struct lease {
	uint64_t id, first, end, attempt, batch, pass, server;
	float learning_rate;
	uint64_t replica, replicas;	/* of a round; replicas 0: of none */
	unsigned level;			/* as in message_node() */
	struct {			/* what RESIDUAL says, if it has come */
		bool known;
		enum push_how how;
		uint64_t step, attempt;
	} push;
	struct text blocks, after;	/* of the coordinator's data */
	struct text step, args;		/* what a program is sent, with a NUL
					   behind it; empty: nothing */
};

struct leases;

/* The outbox is borrowed; peer is the coordinator. */
struct leases *leases_new(struct outbox *, uint64_t peer);
void leases_free(struct leases *);

/* Begins a term and forgets all leases: nobody waits for those of an earlier
   term. */
void leases_begin_term(struct leases *, uint64_t term);

/*
 * Takes a LEASE.  If it is declined, none of its steps will begin.  False: the
 * message is malformed, or there are too many leases.  Pointers to leases are
 * good until leases_settle().
 */
bool leases_take(struct leases *, const struct message *, bool declined);

/* Takes a RESIDUAL.  False: it is malformed. */
bool leases_take_residual(struct leases *, const struct message *);

/*
 * Cancels the leases that have one of the steps first to first + count - 1, or
 * (id not 0) the one of them with that id: steps that have not begun are given
 * up, and results that are there are reported.
 */
void leases_cancel(struct leases *, uint64_t first, uint64_t count,
		   uint64_t id);
/* Lets OK be sent when all steps in flight of cancelled leases have ended. */
void leases_send_cancelled(struct leases *);
/* Cancels all leases without an OK: the coordinator has taken them back, as it
   does when a connection was lost. */
void leases_revoke(struct leases *);
/* Begins no more steps: those that have not begun go back to the
   coordinator. */
void leases_end(struct leases *);

/* The lease whose step is the next to begin, and that step; NULL: none. */
const struct lease *leases_next(const struct leases *, uint64_t *step);
/* The lease with that id; NULL: it is not there or is cancelled. */
const struct lease *leases_find(const struct leases *, uint64_t id);
/* Has the lease a step that has not begun?  Has this step of it begun? */
bool lease_has_more(const struct lease *);
bool lease_has_begun(const struct lease *, uint64_t step);
bool lease_is_cancelled(const struct lease *);

/* The lease of a step that has not begun, with `behind' such steps before it in
   the order of the leases (0: the first); NULL: none. */
const struct lease *leases_behind(const struct leases *, uint64_t behind);
/* True if the coordinator has announced more steps like those of the last
   lease, whose batch and pass are set. */
bool leases_announced(const struct leases *, uint64_t *batch, uint64_t *pass);

/* Begins the lease's next step and returns its number. */
uint64_t leases_begin(struct leases *, const struct lease *);
/* Ends a step that was computed and pushed.  Of the metrics' states, which may
   be NULL, one has the scores that belong to the result. */
void leases_done(struct leases *, const struct lease *, struct result *,
		const struct metric *, const struct metric_state *,
		size_t metrics);
/* Ends a step that cannot be computed: the rest of its lease goes back to the
   coordinator. */
void leases_failed(struct leases *, const struct lease *, uint64_t step,
		  const struct fail *why);
/* Ends a step without a result, as its lease was cancelled. */
void leases_dropped(struct leases *, const struct lease *);

/* Forgets leases that are over, and sends the OK that is owed. */
void leases_settle(struct leases *);

/* The k-th slice of the lease's first step: count records of a data set's
   block, from its record number from on.  The block lies in the lease.  False:
   there is no k-th slice. */
struct lease_slice {
	uint64_t dataset, from, count;
	struct frame block;
};
bool lease_slice(const struct lease *, size_t k, struct lease_slice *);

/* The different blocks of a data set that leases with steps to begin need, in
   the order of their use: puts at most `most' frames, which lie in the leases,
   and returns their number. */
size_t leases_blocks(const struct leases *, uint64_t dataset, struct frame *,
		     size_t most);

/* NULL, or what does not hold; see worker_check(). */
const char *leases_check(const struct leases *);
bool leases_have(const struct leases *, const struct lease *);

#endif
