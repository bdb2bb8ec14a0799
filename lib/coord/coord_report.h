/*
 * coord_report - lines of results, totals and warnings.
 */
#ifndef PS_COORD_REPORT_H
#define PS_COORD_REPORT_H

#include "coord/coord_private.h"
#include "wire/result.h"

#define STALENESS	256	/* counts of stalenesses 0 to 254, and of all
				   that are larger */

struct totals {
	uint64_t steps, examples, mixed, began_ms;
	uint64_t step;		/* evaluated: the model before this step;
				   WIRE_NONE: the totals are of training */
	double loss;		/* the sum over examples */
	struct metric_state state[RESULT_METRICS];
	struct negative_labels negatives;	/* those of all workers */
	bool unscored;		/* there were more scores than are kept: metrics
				   that need all of them are null */
	bool evaluates;		/* nothing was trained */
	uint64_t stale[STALENESS];	/* [i]: steps of staleness i, which met
					   i pushes of other steps */
	struct traffic traffic;
	double kept;		/* the sum of squares of the residuals that the
				   last step has left */
};

void report_init(struct coord *, uint64_t now_ms);
void report_release(struct coord *);
/* Do too many lines wait to be printed? */
bool report_is_full(const struct coord *);
/* Resets the totals of the run, and those of its own input until a join. */
void report_begin(struct coord *, uint64_t now_ms);
/* true: lines from now on are dropped, as they were reported before the journal
   was read; false: they are not any more. */
void report_again(struct coord *, bool);
/* Reports a step, of this epoch (WIRE_NONE: of none), done by a worker; or
   (NULL) a round of this many replicas. */
void report_step(struct coord *, uint64_t epoch, const struct result *,
		 const char *worker, size_t replicas,
		 const float *scores, const unsigned char *positive);
/*
 * report_count() adds a result to the totals of the run, and to those that the
 * next join of the request's submitter will report.  report_classes() compares
 * its labels with those before; -1 (FAIL_DATA): together they are three
 * classes, -1, 0 and 1.
 */
void report_count(struct coord *, const struct request *asked,
		  const struct result *, const float *scores,
		  const unsigned char *positive);
int report_classes(struct coord *, const struct result *, const char *worker,
		   struct fail *);
const struct totals *report_all(const struct coord *);
const struct totals *report_since_join(const struct coord *);
uint64_t report_steps(const struct coord *);	/* done, of the run */
/* Report to the submitter of the request asked, with its id; NULL: to the
   coordinator's own output. */
void report_error(struct coord *, const struct request *asked, const char *op,
		  uint64_t step, const char *worker, const char *why);
/*
 * Report a cancelled request: report_cancelled() one that has steps, with the
 * number of steps not done; report_passed_over() any other one.  Requests
 * without an id have one line for all of a kind, which report_given_up() adds
 * at the end.
 */
void report_cancelled(void *coord, const struct request *, uint64_t steps);
void report_passed_over(struct coord *, const struct request *);
void report_given_up(struct coord *);
/* Counts the requests that report_cancelled() has had. */
uint64_t report_cancelled_requests(const struct coord *);
/* Reports the end of an epoch of sampler by. */
void report_epoch(struct coord *, const struct request *asked, size_t by,
		  uint64_t epoch, const struct totals *, uint64_t now_ms);
void report_totals(struct coord *, const struct request *asked, const char *op,
		   const struct totals *, uint64_t now_ms,
		   const char *error);
void report_join(struct coord *, const struct request *asked,
		 const char *error, uint64_t now_ms);
/* Resets the totals until the first join of a new submitter. */
void report_new_owner(struct coord *, size_t owner, uint64_t now_ms);
/* Answers a cancel request: this many requests were cancelled. */
void report_cancel(struct coord *, const struct request *asked,
		   size_t requests);
/* Begins a line, {"id":...,"op":"...", and returns the text in which the caller
   ends it. */
struct text *report_begin_line(struct coord *, const struct request *asked,
			       const char *op);
void report_saved(struct coord *, const struct request *asked, const char *name,
		  uint64_t step);
void report_warning(struct coord *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A warning of what a member or a submitter did: peers that come again and
   again do not fill the log.  report_left_out() reports how many were left out,
   when it may. */
void report_peer(struct coord *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void report_left_out(struct coord *, uint64_t now_ms);
/* Append the staleness of the steps: in JSON, quantiles and pairs of a
   staleness and the number of its steps; and in words. */
void report_staleness(struct text *, const struct totals *);
void report_staleness_notified(struct text *, const struct totals *);
/* Appends in words how much was pushed and pulled. */
void report_traffic_notified(struct text *, const struct totals *);
/* Returns the relative error of coded gradients, |coded - g| / |g|; 0: no codec
   was used. */
double report_error_of(const struct traffic *);
/* Write and read the totals of the run, and those since the last join of its
   own input. */
void report_write(const struct coord *, struct pack *, uint64_t now_ms);
void report_read(struct coord *, struct unpack *);
/* The same for the totals since the last join of one submitter. */
void report_write_owner(const struct coord *, size_t owner, struct pack *,
			uint64_t now_ms);
void report_read_owner(struct coord *, size_t owner, struct unpack *);

void totals_reset(struct totals *, uint64_t now_ms);
void totals_release(struct totals *);
/* Adds the labels for "no" of a result; -1 (FAIL_DATA): with those before they
   are three classes.  worker is the one that the error names. */
int totals_add_negatives(struct totals *, const struct result *,
			 const char *worker, struct fail *);
void totals_add(struct totals *, const struct coord *,
		const struct result *, const float *scores,
		const unsigned char *positive);
void totals_write(struct pack *, const struct coord *, const struct totals *,
		  uint64_t now_ms);
void totals_read(struct unpack *, const struct coord *, struct totals *);

#endif
