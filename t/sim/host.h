/*
 * host - the programs of a simulated cluster: the real roles, and what their
 * main() does around them, without sockets, clocks and threads.
 *
 * A host takes one packet at a time (x_receive()), and then acts (x_act()): it
 * writes files and sends answers.  Both return HOST_RUNS, or the exit status of
 * the program.  x_free() is kill -9: nothing more is sent or written.
 */
#ifndef PS_SIM_HOST_H
#define PS_SIM_HOST_H

#include "scenario.h"

#include "model/batch.h"

#define HOST_RUNS	(-1)

struct program;

/* The data that all programs of a run share; all pointers are borrowed. */
struct site {
	const struct scenario *scenario;
	const struct model *model;
	const struct model_source *source;
	const char *folder;	/* of the run's files: requests, results, ck/ */
	const struct externals *externals;	/* compute the steps, if the
						   model has a step line */
	struct program *program;	/* behind the externals, or NULL */
};

/* ---- ps-coord ---- */

struct host_coord;

/* Returns NULL if the program ended at once, and its exit status in *status. */
struct host_coord *host_coord_new(const struct site *, struct outbox *,
				  uint64_t life, uint64_t now_ms,
				  int *status);
void host_coord_free(struct host_coord *);
void host_coord_receive(struct host_coord *, const struct packet *,
			uint64_t now_ms);
int host_coord_act(struct host_coord *, uint64_t now_ms);
/* Stops the coordinator as SIGTERM does. */
void host_coord_stop(struct host_coord *, uint64_t now_ms);
/* Lets the coordinator read its requests up to this number. */
void host_coord_allow(struct host_coord *, size_t requests);
/* Returns the number of bytes of results that are known to be written. */
uint64_t host_coord_written(const struct host_coord *);
/* Returns the number of requests that the coordinator has taken. */
size_t host_coord_taken(const struct host_coord *);
/* Returns the step of the newest checkpoint. */
uint64_t host_coord_newest(const struct host_coord *);
bool host_coord_publishes(const struct host_coord *);	/* a checkpoint, now */
/* Returns the warnings since the last call, a line each; the caller empties the
   text. */
struct text *host_coord_warnings(struct host_coord *);
/* Returns NULL, or the invariant of coord_check() that does not hold. */
const char *host_coord_check(const struct host_coord *, uint64_t now_ms);
/* Returns whether the coordinator waits for the submitter of this index, which
   was there before. */
bool host_coord_expects(const struct host_coord *, size_t index);
/* host_coord_ends() returns whether the coordinator is ending; host_coord_why()
   returns the reason. */
bool host_coord_ends(const struct host_coord *);
const struct fail *host_coord_why(const struct host_coord *);
/* After the coordinator has ended: does its journal exist, so that the next
   coordinator resumes the run? */
bool host_coord_left(const struct host_coord *);
/* Returns a line of progress, good until the next call. */
const char *host_coord_state(struct host_coord *, uint64_t now_ms);

/* ---- ps-serve ---- */

struct host_server;

/* primary: the endpoint of the server to stand by for, or NULL. */
struct host_server *host_server_new(const struct site *, struct outbox *,
				    size_t index, const char *endpoint,
				    const char *primary, uint64_t life,
				    int *status);
void host_server_free(struct host_server *);
void host_server_receive(struct host_server *, const struct packet *,
			 uint64_t now_ms);
int host_server_act(struct host_server *, uint64_t now_ms);
const struct fail *host_server_why(const struct host_server *);
const char *host_server_check(const struct host_server *);

/* ---- ps-work ---- */

struct host_worker;

struct host_worker *host_worker_new(const struct site *, struct outbox *,
				    size_t index, uint64_t life,
				    uint64_t now_ms);
void host_worker_free(struct host_worker *);
int host_worker_receive(struct host_worker *, const struct packet *,
			uint64_t now_ms);
int host_worker_act(struct host_worker *, uint64_t now_ms);
/* Sends a heartbeat, as a worker does while it computes. */
void host_worker_heartbeat(struct host_worker *);
const struct fail *host_worker_why(const struct host_worker *);
const char *host_worker_check(const struct host_worker *);
/* Returns whether the worker has read all its examples. */
bool host_worker_exhausted(const struct host_worker *);

/* ---- ps-relay ---- */

struct host_relay;

struct host_relay *host_relay_new(const struct site *, struct outbox *,
				  size_t index, const char *endpoint,
				  uint64_t life, uint64_t now_ms);
void host_relay_free(struct host_relay *);
int host_relay_receive(struct host_relay *, const struct packet *,
		       uint64_t now_ms);
int host_relay_act(struct host_relay *, uint64_t now_ms);
const struct fail *host_relay_why(const struct host_relay *);
const char *host_relay_check(const struct host_relay *);

/* ---- ps-eval, of a live model ---- */

struct host_eval;

struct host_eval *host_eval_new(const struct site *, struct outbox *,
				uint64_t life, uint64_t now_ms);
void host_eval_free(struct host_eval *);
int host_eval_receive(struct host_eval *, const struct packet *,
		      uint64_t now_ms);
int host_eval_act(struct host_eval *, uint64_t now_ms);
const struct fail *host_eval_why(const struct host_eval *);
/* After the evaluator has ended with status 0: returns the loss, and sets *step
   to the step of its cut. */
double host_eval_scored(const struct host_eval *, uint64_t *step);

/* ---- ps-submit, with -n, -o and --detach ---- */

struct host_submit;

struct host_submit *host_submit_new(const struct site *, struct outbox *,
				    size_t index, uint64_t life,
				    uint64_t now_ms, int *status);
void host_submit_free(struct host_submit *);
int host_submit_receive(struct host_submit *, const struct packet *,
			uint64_t now_ms);
int host_submit_act(struct host_submit *, uint64_t now_ms);
/* Lets the submitter read its requests up to this number. */
void host_submit_allow(struct host_submit *, size_t requests);
/* Returns whether the submitter has ended because every accepted request is
   answered; sets *accepted to the number of these. */
bool host_submit_is_over(const struct host_submit *, uint64_t *accepted);
/* Returns whether the coordinator has confirmed the end of one that is over. */
bool host_submit_is_confirmed(const struct host_submit *);
const struct fail *host_submit_why(const struct host_submit *);

/* ---- the model that they train ---- */

#define MODEL_ROWS	4
#define MODEL_TABLES	3

/*
 * Writes the model.  Each step adds one to every weight except those of
 * "visits" and, for a second data set, "visits2".  There each record of the
 * coordinator's data adds to its own row: 1 divided by the examples of its
 * step.
 */
void host_model_text(const struct scenario *, char *text, size_t size);

/* Adds a record to be scored: its loss is the sum of the weights, without
   visits. */
void host_record_score(struct batch *, const struct scenario *,
		       const struct model *);

/* Returns whether the variable is U or V, whose sum equals any other weight
   (program.h). */
bool host_counts_steps(const char *variable);
/* Returns whether the variable is W, which counts steps like any other weight,
   but is not part of the loss. */
bool host_is_wide(const char *variable);
/* Returns the number of steps that element k of W counts if it has this value.
   A result that differs from a whole number by no more than the rounding of the
   codec is that number.  uneven: see program_new(). */
float host_wide_steps(bool uneven, size_t k, float value);
/* Return whether the model has the variables G and H, and whether this is one
   of them (program.h). */
bool host_tells_attempts(const struct scenario *);
bool host_is_of_attempts(const char *variable);

/* The values of all servers: the least and the largest of all weights except
   visits, and the visits of each record. */
struct holding {
	float least, most;
	double sum;		/* of these weights, each row once */
	double *visits;		/* NULL: there are none; those of the second
				   data set follow those of the first */
	uint32_t variable[2];	/* of visits and visits2, by its number in the
				   model */
	uint64_t records;	/* of the first data set */
	const struct variable *model;	/* the variables of the model */
	bool uneven, unsure;	/* W is so (see program_new()); or residuals of
				   its gradients were lost */
	float counted;		/* U + V */
	double odd;		/* G + H, which must be 0 */
};

/* Pulls the part of the plan that this server holds, and adds it to the struct.
   false: the server does not have this run. */
bool host_server_values(struct host_server *, const struct plan *,
			size_t index, struct holding *, uint64_t now_ms);

#endif
