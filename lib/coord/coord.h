/*
 * coord - the coordinator of a run: members, steps, results.
 *
 * It owns the plan, gives out steps, retries what is lost, and turns request
 * lines into result lines.  It holds no socket, clock or file: its program
 * brings messages, lines and the time, takes the output away, and does the
 * jobs on files.
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
	const char *endpoint;		/* where workers call, borrowed */
	bool any_port;			/* nobody has chosen it: it is told */
	char **server;			/* endpoints; NULL: will register */
	size_t servers;
	struct partitioner partitioner;
	struct placement placement;
	uint64_t seed, batch, pack, in_flight, min_workers;
	uint64_t batches;		/* of a step, or of each replica; 0:
					   1 */
	bool in_line;			/* MODE_SYNC: the batches of a replica
					   follow each other in one stream, as
					   local steps do; else each batch has
					   its own */
	uint64_t workers;		/* of the cluster, if that is known */
	enum results results;
	bool keep_going, keep_servers;
	bool suspend;			/* who is to stop can be gone on with */
	bool queue;			/* submitters may call */
	uint64_t forget_ms;		/* one that is away for so long */
	uint64_t timeout_ms, lease_ms;
	uint64_t patience_ms;		/* with a server that is gone */
	uint64_t step_timeout_ms;	/* then another worker gets it; 0:
					   never */
	uint64_t grace_ms;		/* to come to an end when asked to */
	bool checkpoint;		/* the servers have a directory, */
	bool beside_journal;		/* in which the journal is, too */
	uint64_t every_steps, every_ms;	/* 0: only when asked, and at the end */
	uint64_t fold_bytes;		/* a journal with fewer, without
					   checkpoints, is not folded; 0: the
					   usual */
	char restore[CHECKPOINT_NAME];	/* ""; or the checkpoint to load */
	struct checkpoint_info restored;	/* what it says, borrowed */
	struct samplers *samplers;	/* borrowed; NULL: workers read inputs
					   of their own */
	struct record_range_format format;	/* of their inputs, borrowed */
	const struct journal *journal;	/* NULL: none; borrowed */
	uint64_t life;			/* random */
	unsigned char run[PLAN_RUN];	/* random; or that of the checkpoint */
	enum mode mode;
	uint64_t ahead;			/* MODE_SSP: steps */
	uint64_t replicas, backup;	/* MODE_SYNC: replicas of a round (0: as
					   many as workers), spare workers */
	size_t piece_bytes;		/* of a dense piece, at most; 0: the
					   usual */
	struct coding_rule push, pull;	/* how steps' gradients and values
					   travel; the lists are borrowed */
};

/* Return how many streams of the data a step, or a replica of a round, reads:
   each has as many of its batches. */
static inline uint64_t
coord_streams(const struct coord_options *o)
{
	return o->mode == MODE_SYNC && !o->in_line ? o->batches : 1;
}

/* Options are copied; model and source are borrowed. */
struct coord *coord_new(const struct coord_options *,
			const struct model_source *, const struct model *,
			struct outbox *, uint64_t now_ms, struct fail *);
void coord_free(struct coord *);

/*
 * With a journal.  First it is told all records of a run that broke off, in
 * order, if there was one (FAIL_CONFIG: of another model or plan); then it
 * begins: 1 if it goes on with that run, behind this line of the requests
 * and after so many bytes of results, or 0.
 */
/* Is what a journal begins with of our format?  FAIL_CONFIG if not. */
int coord_check_journal(uint32_t kind, const void *, size_t, struct fail *);
int coord_replay(struct coord *, uint32_t kind, const void *, size_t,
		 struct fail *);
int coord_start(struct coord *, uint64_t *line, uint64_t *written,
		struct fail *);

/* All results until now are written, so many bytes in all; call it often. */
void coord_note(struct coord *, uint64_t written, bool now_or_never,
		uint64_t now_ms);
/*
 * It is over, and all has been written: the next run begins anew, unless this
 * one was resumed and did not come so far as to go on.
 */
void coord_finish(struct coord *, uint64_t written, uint64_t now_ms);

void coord_up(struct coord *, uint64_t peer, uint64_t now_ms);
void coord_down(struct coord *, uint64_t peer, uint64_t now_ms);
void coord_receive(struct coord *, uint64_t peer, const struct message *,
		   uint64_t now_ms);
void coord_somebody_left(struct coord *, uint64_t now_ms);
void coord_tick(struct coord *, uint64_t now_ms);
/* Does anybody wait for the next tick, which is to come that soon? */
#define COORD_HOLD_MS	4
bool coord_holds(const struct coord *);

uint64_t coord_term(const struct coord *);

/* Is there room for another request line? */
bool coord_wants(const struct coord *);
/* A request line, so many bytes without its newline, with a NUL behind them;
   number counts from 1. */
void coord_request(struct coord *, const char *line, size_t size,
		   uint64_t number, uint64_t now_ms);
/* Has the run come to its end, be it with an error?  No more is begun. */
bool coord_ends(const struct coord *);
/* There will be no more: drain, save, end. */
void coord_end_of_requests(struct coord *, uint64_t now_ms);
/* No worker will come any more, because of that: when all are gone, and one
   is wanted, nobody waits for it. */
void coord_forsaken(struct coord *, const struct fail *why);
/* Asked to stop: give out no more steps, wait for those under way. */
void coord_stop(struct coord *, uint64_t now_ms);
/*
 * The same, because its results cannot be written any more.  again: they are
 * for a file, which may have room later: a run with a journal is left as it
 * is, and the coordinator that resumes it reports what was lost.
 */
void coord_output_closed(struct coord *, const struct fail *why, bool again,
			 uint64_t now_ms);

/*
 * Result lines to print; the program empties it.  While it has so many bytes
 * no more steps are begun, and no more requests wanted.
 */
#define COORD_OUTPUT	((size_t)1 << 20)
struct text *coord_output(struct coord *);
/* Lines for the operator; the program empties it. */
struct text *coord_warnings(struct coord *);

/* A checkpoint whose parts are safe: to publish. */
struct coord_job {
	char name[CHECKPOINT_NAME];
	struct checkpoint_info info;	/* with a sampler of its own */
	struct checkpoint_part *part;
	size_t parts;
	bool again;		/* published before, now the final one */
};
const struct coord_job *coord_job(const struct coord *);
/* The step of the last one of this run, or that it began with; or 0. */
uint64_t coord_newest(const struct coord *);
/* Has one failed?  Then what there is of it can be swept up.  Asked once. */
bool coord_needs_cleanup(struct coord *);
void coord_published(struct coord *, const struct fail *why,
		     uint64_t now_ms);

/* It is over.  0, or the kind of the failure, which f tells. */
bool coord_over(const struct coord *, int *status, struct fail *f);

/* One line of what is going on, for a terminal. */
void coord_progress(const struct coord *, struct text *, uint64_t now_ms);

/*
 * The state of the run in Prometheus's format, as in ps-coord(1).  zero: the
 * unix time, in seconds, when the clock of now_ms was at 0.
 */
void coord_status(const struct coord *, struct text *, uint64_t now_ms,
		  double zero);

/*
 * For tests, when it has taken an event: NULL, or the words of what does not
 * hold, though it always should.
 */
const char *coord_check(const struct coord *, uint64_t now_ms);

/* For people: "300 steps ..."; good until the next call. */
const char *coord_state(struct coord *);

/* The plan of these options; free with plan_release() and free(). */
void coord_plan(const struct coord_options *, const struct model *,
		struct plan *, struct place **, size_t *places);

/* The plan of these options for people, without a cluster (--plan). */
void coord_print_plan(struct text *, const struct coord_options *,
		      const struct model *, const struct plan_bags *);

#endif
