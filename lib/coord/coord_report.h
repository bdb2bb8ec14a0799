/*
 * coord_report - lines of results, totals and warnings.
 */
#ifndef PS_COORD_REPORT_H
#define PS_COORD_REPORT_H

#include "coord/coord_private.h"
#include "wire/result.h"

#define STALENESS	256	/* told apart; the last one: or more */

struct totals {
	uint64_t steps, examples, mixed, began_ms;
	uint64_t step;		/* what they are of; WIRE_NONE: all */
	double loss;
	struct metric_state state[RESULT_METRICS];
	struct noes noes;	/* of all workers' labels */
	bool unscored;		/* there were more scores than are kept */
	bool evaluates;		/* nothing was trained */
	uint64_t stale[STALENESS];	/* steps that met so many pushes */
	struct traffic traffic;
};

void report_init(struct coord *, uint64_t now_ms);
void report_release(struct coord *);
bool report_is_full(const struct coord *);	/* of lines to be printed */
void report_begin(struct coord *, uint64_t now_ms);
/* What is told from now on was told before, or is not any more. */
void report_again(struct coord *, bool);
/* A step of an epoch, or WIRE_NONE, by a worker or in so many replicas. */
void report_step(struct coord *, uint64_t epoch, const struct result *,
		 const char *worker, size_t replicas,
		 const float *scores, const unsigned char *positive);
/* A result is one of the run, and of those until the next join of whoever asked
   for it.  -1: its labels and those of others are three classes. */
void report_count(struct coord *, const struct request *asked,
		  const struct result *, const float *scores,
		  const unsigned char *positive);
int report_classes(struct coord *, const struct result *, const char *worker,
		   struct fail *);
const struct totals *report_all(const struct coord *);
const struct totals *report_since_join(const struct coord *);
uint64_t report_steps(const struct coord *);	/* done, of the run */
/* A line goes to whoever asked for what it is about; NULL: nobody did. */
void report_error(struct coord *, const struct request *asked, const char *op,
		  uint64_t step, const char *worker, const char *why);
/* Of those that were cancelled, a request that had begun or has steps, and a
   barrier.  All are told when report_given_up() returns. */
void report_cancelled(void *coord, const struct request *, uint64_t steps);
void report_passed_over(struct coord *, const struct request *);
void report_given_up(struct coord *);
uint64_t report_cancelled_requests(const struct coord *);
/* That of the sampler that it is counted by. */
void report_epoch(struct coord *, const struct request *asked, size_t by,
		  uint64_t epoch, const struct totals *, uint64_t now_ms);
void report_totals(struct coord *, const struct request *asked, const char *op,
		   const struct totals *, uint64_t now_ms,
		   const char *error);
void report_join(struct coord *, const struct request *asked,
		 const char *error, uint64_t now_ms);
/* A submitter that is new has had no join. */
void report_new_owner(struct coord *, size_t owner, uint64_t now_ms);
/* So many requests were cancelled, for one that asked for that. */
void report_cancel(struct coord *, const struct request *asked,
		   size_t requests);
struct text *report_begin_line(struct coord *, const struct request *asked,
			       const char *op);
void report_saved(struct coord *, const struct request *asked, const char *name,
		  uint64_t step);
void report_warning(struct coord *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* How many pushes of others the steps met: quantiles, and pairs of so many
   pushes and of the steps that met them, in JSON; and the same in words. */
void report_staleness(struct text *, const struct totals *);
void report_staleness_notified(struct text *, const struct totals *);
/* What was moved, in words; the relative error of coded gradients. */
void report_traffic_notified(struct text *, const struct totals *);
double report_error_of(const struct traffic *);
void report_write(const struct coord *, struct pack *, uint64_t now_ms);
void report_read(struct coord *, struct unpack *);
/* Of one submitter, since its last join. */
void report_write_owner(const struct coord *, size_t owner, struct pack *,
			uint64_t now_ms);
void report_read_owner(struct coord *, size_t owner, struct unpack *);

void totals_reset(struct totals *, uint64_t now_ms);
void totals_release(struct totals *);
/* Put a result's labels to those of others: -1 if they are three classes. */
int totals_add_noes(struct totals *, const struct result *,
		    const char *worker, struct fail *);
void totals_add(struct totals *, const struct coord *,
		const struct result *, const float *scores,
		const unsigned char *positive);
void totals_write(struct pack *, const struct coord *, const struct totals *,
		  uint64_t now_ms);
void totals_read(struct unpack *, const struct coord *, struct totals *);

#endif
