/*
 * host - the programs of a simulated cluster: the real roles, and what their
 * main() does around them, without sockets, clocks and threads.
 *
 * A host is given what arrived, an event at a time, then is to act: it writes
 * files, answers.  Both return HOST_RUNS, or the exit status of the program.
 * To free a host is kill -9: nothing more is sent or written.
 */
#ifndef PS_SIM_HOST_H
#define PS_SIM_HOST_H

#include "scenario.h"

#include "model/batch.h"

#define HOST_RUNS	(-1)

/* What all programs of a run have in common; all borrowed. */
struct program;

struct site {
	const struct scenario *scenario;
	const struct model *model;
	const struct model_source *source;
	const char *folder;	/* its files: requests, results, ck/ */
	const struct externals *externals;	/* who computes its steps, if
						   its model has a line */
	struct program *program;	/* of these, or NULL */
};

/* ---- ps-coord ---- */

struct host_coord;

/* NULL: it ended at once, with *status. */
struct host_coord *host_coord_new(const struct site *, struct outbox *,
				  uint64_t life, uint64_t now_ms,
				  int *status);
void host_coord_free(struct host_coord *);
void host_coord_receive(struct host_coord *, const struct packet *,
			uint64_t now_ms);
int host_coord_act(struct host_coord *, uint64_t now_ms);
/* As by SIGTERM. */
void host_coord_stop(struct host_coord *, uint64_t now_ms);
/* The next request may be read. */
void host_coord_allow(struct host_coord *, size_t requests);
/* Bytes of results that it knows to have been written. */
uint64_t host_coord_written(const struct host_coord *);
size_t host_coord_taken(const struct host_coord *);	/* requests */
uint64_t host_coord_newest(const struct host_coord *);	/* checkpoint */
bool host_coord_publishes(const struct host_coord *);	/* one, now */
/* Warnings since the last call, a line each; the caller empties it. */
struct text *host_coord_warnings(struct host_coord *);
/* NULL, or what does not hold of it: see coord_check(). */
const char *host_coord_check(const struct host_coord *, uint64_t now_ms);
/* Why it ended. */
bool host_coord_ends(const struct host_coord *);
const struct fail *host_coord_why(const struct host_coord *);
/* A line of progress; good until the next call. */
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
/* It computes, and says so meanwhile. */
void host_worker_breathe(struct host_worker *);
const struct fail *host_worker_why(const struct host_worker *);
const char *host_worker_check(const struct host_worker *);
/* It can read nothing any more. */
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
/* When it has ended with 0: the loss, and the step that it is of. */
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
/* The next request may be read. */
void host_submit_allow(struct host_submit *, size_t requests);
/* It has ended as all that was accepted is answered: so many requests. */
bool host_submit_is_over(const struct host_submit *, uint64_t *accepted);
const struct fail *host_submit_why(const struct host_submit *);

/* ---- the model that they train ---- */

#define MODEL_ROWS	4
#define MODEL_TABLES	3

/*
 * Each step adds one to every weight but those of "visits", and for a second
 * data set of "visits2", of which each record of the coordinator's data adds to
 * its own, divided by the examples of its step.
 */
void host_model_text(const struct scenario *, char *text, size_t size);

/* One more record to be scored: its loss is the sum of the weights, without
   visits. */
void host_record_score(struct batch *, const struct scenario *,
		       const struct model *);

/* What servers hold: the least and the largest of all weights but visits',
   and those by record, which are added to. */
/* U and V, which together are what any other weight is: see program.h. */
bool host_counts_steps(const char *variable);
/* W, which is as any other weight, but of no loss. */
bool host_is_wide(const char *variable);
/* Does it have H, and is it that: see program.h. */
bool host_tells_attempts(const struct scenario *);
bool host_is_of_attempts(const char *variable);

struct holding {
	float least, most;
	double sum;		/* of these, each row once */
	double *visits;		/* NULL: there are none; of the second data set
				   behind those of the first */
	uint32_t variable[2];	/* visits' numbers in the model */
	uint64_t records;	/* of the first data set */
	const struct variable *model;	/* the model's, */
	float counted;		/* of those that count steps of a line */
	double odd;		/* the sum of what tells attempts apart */
};

/*
 * What this server holds of the plan, by its own answers to pulls.  false: it
 * does not have this run.
 */
bool host_server_values(struct host_server *, const struct plan *,
			size_t index, struct holding *, uint64_t now_ms);

#endif
