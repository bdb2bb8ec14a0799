/*
 * coord - the coordinator of a run: members, steps, results.
 *
 * It owns the plan, leases steps to workers, leases lost steps again, and
 * turns request lines into result lines.  It holds no socket, clock or file:
 * the program passes it messages, request lines and the time, writes its
 * output, and publishes its checkpoints (coord_job()).
 */
#ifndef PS_COORD_H
#define PS_COORD_H

#include "base/text.h"
#include "coord/journal.h"
#include "coord/samplers.h"
#include "store/checkpoint.h"
#include "wire/outbox.h"
#include "wire/plan.h"

struct coord;

enum results { RESULTS_ALL, RESULTS_ERRORS, RESULTS_NONE };

/* What a step waits for; see ps-coord(1). */
enum mode { MODE_ASYNC, MODE_SSP, MODE_SYNC };

struct coord_options {
	const char *endpoint;		/* where workers connect, borrowed */
	bool any_port;			/* the system chose the port: a warning
					   shows the endpoint */
	char **server;			/* endpoints; NULL: this server will
					   register itself */
	size_t servers;
	struct partitioner partitioner;
	struct placement placement;
	/* examples of a batch; steps of a lease, at most; leases of a worker,
	   at most; workers before the first step is leased */
	uint64_t seed, batch, pack, in_flight, min_workers;
	uint64_t batches;		/* of a step, or of each replica; 0:
					   1 */
	bool in_line;			/* MODE_SYNC: the batches of a replica
					   follow each other in one stream, as
					   local steps do; else each batch has
					   its own */
	uint64_t workers;		/* of the cluster; 0: not known */
	enum results results;
	bool keep_going, keep_servers;
	bool suspend;			/* coord_stop() suspends the run, which
					   can be resumed */
	bool queue;			/* submitters may connect */
	uint64_t forget_ms;		/* a submitter whose requests outlive
					   it is forgotten when it has been
					   away for this long */
	/* for the servers to be there at first; a peer that does not answer
	   for lease_ms hangs */
	uint64_t timeout_ms, lease_ms;
	uint64_t patience_ms;		/* how long a server that is gone is
					   waited for */
	uint64_t step_timeout_ms;	/* a step that takes longer is given to
					   another worker; 0: no limit */
	uint64_t grace_ms;		/* from coord_stop() to the end */
	bool checkpoint;		/* servers write checkpoints to a
					   directory, */
	bool beside_journal;		/* in which the journal is, too */
	uint64_t every_steps, every_ms;	/* between two checkpoints; 0: only on
					   request, and at the end */
	uint64_t fold_bytes;		/* without checkpoints, a journal with
					   fewer bytes is not folded; 0: the
					   default */
	char restore[CHECKPOINT_NAME];	/* the checkpoint to load; "": none */
	struct checkpoint_info restored;	/* of that one; its texts are
						   borrowed */
	struct samplers *samplers;	/* borrowed; NULL: workers read inputs
					   of their own */
	struct record_range_format format;	/* of the samplers' inputs;
						   borrowed */
	const struct journal *journal;	/* NULL: none; borrowed */
	uint64_t life;			/* random: this coordinator's
					   incarnation */
	unsigned char run[PLAN_RUN];	/* the run's identifier: random, or
					   that of the checkpoint */
	enum mode mode;
	uint64_t ahead;			/* MODE_SSP: the bound of staleness,
					   steps */
	uint64_t replicas, backup;	/* MODE_SYNC: replicas of a round (0: as
					   many as workers), spare workers */
	size_t piece_bytes;		/* most bytes of a dense piece; 0: the
					   default */
	struct coding_rule push, pull;	/* how steps' gradients and values
					   travel; the lists are borrowed */
};

/*
 * Returns how many streams of the data a step, or a replica of a round, reads,
 * one batch from each: o->batches in MODE_SYNC, unless in_line; else 1.
 */
static inline uint64_t
coord_streams(const struct coord_options *o)
{
	return o->mode == MODE_SYNC && !o->in_line ? o->batches : 1;
}

/*
 * Creates a coordinator, which copies the options and borrows the model, its
 * source and the outbox.  NULL: FAIL_CONFIG, the model or its plan is larger
 * than a message may be; or why fleet_new() failed.
 */
struct coord *coord_new(const struct coord_options *,
			const struct model_source *, const struct model *,
			struct outbox *, uint64_t now_ms, struct fail *);
void coord_free(struct coord *);

/*
 * With a journal, in this order, where each call returns -1 after a failure:
 *
 *  - coord_check_journal() checks the first record in the file, if there is
 *    one: 0.  FAIL_DATA: that is not a journal; FAIL_CONFIG: it is one of
 *    another version.
 *  - coord_replay() takes each record of the run that broke off: 0.
 *    FAIL_CONFIG: the record is of another model or plan; FAIL_DATA: it makes
 *    no sense.
 *  - coord_start() begins: 1 if it resumes that run, and sets how far it came;
 *    0 if the run is a new one.  FAIL_DATA: the newest checkpoint has steps
 *    that the journal does not have.
 */
struct coord_progress {
	uint64_t line;		/* the number of the last request line taken */
	uint64_t lines_hash;	/* hash_chain() of all lines up to that one */
	uint64_t written;	/* bytes of results that were printed */
};
int coord_check_journal(uint32_t kind, const void *, size_t, struct fail *);
int coord_replay(struct coord *, uint32_t kind, const void *, size_t,
		 struct fail *);
int coord_start(struct coord *, struct coord_progress *, struct fail *);

/*
 * Takes note that all results until now are written: written bytes of them
 * since the run began.  The journal says so from time to time, or, if
 * now_or_never, with this call.  Call it often: checkpoints and the steps
 * behind a barrier wait for it.
 */
void coord_note(struct coord *, uint64_t written, bool now_or_never,
		uint64_t now_ms);
/*
 * To be called when coord_over() and all results are written: the journal says
 * that the run has finished, so that the next one begins anew; unless this run
 * is to be resumed (ending_leave()).
 */
void coord_finish(struct coord *, uint64_t written, uint64_t now_ms);

/* The connection to a server or a standby, which this coordinator dials, is
   made, or broken. */
void coord_up(struct coord *, uint64_t peer, uint64_t now_ms);
void coord_down(struct coord *, uint64_t peer, uint64_t now_ms);
void coord_receive(struct coord *, uint64_t peer, const struct message *,
		   uint64_t now_ms);
/* Some peer has hung up: finds out which by sending to all of them. */
void coord_somebody_left(struct coord *, uint64_t now_ms);
void coord_tick(struct coord *, uint64_t now_ms);
/* Does a submitter wait for the journal?  Then the next tick is to come within
   COORD_HOLD_MS. */
#define COORD_HOLD_MS	4
bool coord_holds(const struct coord *);

uint64_t coord_term(const struct coord *);

/* Is there room for another request line?  false, too, when no more requests
   are taken. */
bool coord_wants(const struct coord *);
/*
 * Takes a request line: size bytes without the newline, with a NUL behind them.
 * The line is copied.  number: of the line, from 1.
 */
void coord_request(struct coord *, const char *line, size_t size,
		   uint64_t number, uint64_t now_ms);
/* Is the run ending, well or with an error?  Then nothing new is begun. */
bool coord_ends(const struct coord *);
/* The input has ended: the run does what was asked, saves it, and ends.  With
   submitters it goes on until one of them stops it. */
void coord_end_of_requests(struct coord *, uint64_t now_ms);
/* No new worker will come, and why: the run fails when all workers are gone
   and there is something to do for one. */
void coord_forsaken(struct coord *, const struct fail *why);
/* Stops the run, as at a signal: no more steps are leased, and those under way
   end within grace_ms. */
void coord_stop(struct coord *, uint64_t now_ms);
/*
 * Stops the run because its results cannot be written any more.  again: they
 * go to a file, which may have room later: a run with a journal is left as it
 * is, and the coordinator that resumes it reports the results that were lost.
 */
void coord_output_closed(struct coord *, const struct fail *why, bool again,
			 uint64_t now_ms);

/*
 * Returns the result lines to print; the program empties the text.  While it
 * has COORD_OUTPUT bytes or more, no step is begun and no request is taken.
 */
#define COORD_OUTPUT	((size_t)1 << 20)
struct text *coord_output(struct coord *);
/* Returns the lines for the operator; the program empties the text. */
struct text *coord_warnings(struct coord *);

/* A checkpoint to publish: its servers have written their parts to disk. */
struct coord_job {
	char name[CHECKPOINT_NAME];
	struct checkpoint_info info;	/* the job owns its sampler's text */
	struct checkpoint_part *part;
	size_t parts;
	bool again;		/* it was published before: now it is marked
				   as the final one */
};
/* Returns the checkpoint to publish, or NULL; good until coord_published(). */
const struct coord_job *coord_job(const struct coord *);
/* Returns the step of the newest checkpoint of this run, or of the one that it
   began with; without either the first step. */
uint64_t coord_newest(const struct coord *);
/* Has a checkpoint failed since the last call?  Then the program removes what
   there is of it. */
bool coord_needs_cleanup(struct coord *);
/* The job is done; why: it failed; NULL: it did not. */
void coord_published(struct coord *, const struct fail *why,
		     uint64_t now_ms);

/* Is the run over?  Then *status is 0, or the kind of its failure, which *f
   says. */
bool coord_over(const struct coord *, int *status, struct fail *f);

/* Writes one line about the state of the run, for a terminal. */
void coord_progress(const struct coord *, struct text *, uint64_t now_ms);

/*
 * Writes the state of the run in Prometheus's format, as in ps-coord(1).
 * zero: the unix time, in seconds, at which the clock of now_ms was 0.
 */
void coord_status(const struct coord *, struct text *, uint64_t now_ms,
		  double zero);

/*
 * For tests, between two events: returns NULL, or the text of an invariant
 * that does not hold.
 */
const char *coord_check(const struct coord *, uint64_t now_ms);

/* Returns the state of the run for people, "300 steps ..."; good until the
   next call. */
const char *coord_state(struct coord *);

/* Makes the plan of these options, which the caller frees: the plan with
   plan_release(), the places with free(). */
void coord_plan(const struct coord_options *, const struct model *,
		struct plan *, struct place **, size_t *places);

/* Writes the plan of these options for people; needs no cluster (--plan). */
void coord_print_plan(struct text *, const struct coord_options *,
		      const struct model *, const struct plan_bags *);

#endif
