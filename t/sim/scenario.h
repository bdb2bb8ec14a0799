/*
 * scenario - all that a seed decides about a run, before it begins: the
 * cluster, its options, the requests, and the faults.
 *
 * Faults are a list, any of which can be left out to find those that matter.
 */
#ifndef PS_SIM_SCENARIO_H
#define PS_SIM_SCENARIO_H

#include "coord/coord.h"
#include "network.h"

#include <stdio.h>

/* Nodes. */
#define COORDINATOR	0
#define FIRST_SERVER	1
#define MAX_SERVERS	3
#define FIRST_STANDBY	4
#define FIRST_WORKER	8
#define MAX_WORKERS	16
#define FIRST_EVALUATOR	24
#define MAX_EVALUATORS	4
#define FIRST_SUBMITTER	28
#define MAX_SUBMITTERS	3
#define STOPPER		(FIRST_SUBMITTER + MAX_SUBMITTERS)
#define FIRST_RELAY	32
#define MAX_RELAYS	2
#define OLD_NODES	FIRST_RELAY	/* so that old seeds draw as before
					   relays */

#define MAX_REQUESTS	24
#define MAX_FAULTS	24
#define NEVER		UINT64_MAX

enum fault_kind {
	FAULT_KILL,		/* the process is killed, and started again */
	FAULT_CRASH,		/* its machine dies: what was not synced is
				   lost */
	FAULT_FREEZE,		/* its main thread hangs */
	FAULT_CUT,		/* connections between two nodes break */
	FAULT_BLOCK,		/* messages of one direction are held up */
	FAULT_SPLIT,		/* those of both directions are */
	FAULT_SLOW,		/* one direction is slow */
	FAULT_FULL,		/* its disk is full */
	FAULT_CLOCK,		/* its clock jumps forward */
	FAULT_SUSPEND,		/* the coordinator gets SIGTERM; it is started
				   again if the run can be resumed */
	FAULT_ADD,		/* a worker joins */
	FAULT_LEAVE,		/* a worker gets SIGTERM and is not replaced */
	FAULT_POWER,		/* all servers' machines die at once */
	FAULT_AGE,		/* it is started again with older files: beyond
				   the promise */
	FAULT_EVALUATE,		/* an evaluator joins, and is killed if it takes
				   too long; not a fault */
	FAULT_KINDS
};

enum trigger {
	AT_TIME,		/* milliseconds from the start */
	AT_STEPS,		/* this number of steps are done */
	AT_MESSAGE,		/* the nth message of a kind arrives */
	AT_WARNING,		/* the nth warning of the coordinator with these
				   words */
	AT_PUBLISH,		/* the nth checkpoint is being published */
	AFTER_LAST,		/* the fault before it in the list has
				   happened */
	TRIGGERS
};

/* The process that a fault hits: a node, or the sender or receiver of the
   message that triggered it. */
enum target { TARGET_NODE, TARGET_SENDER, TARGET_RECEIVER };

struct fault {
	enum fault_kind kind;
	enum trigger trigger;
	uint64_t nth;			/* time, steps, messages, warnings */
	enum message_kind message;
	size_t words;
	uint64_t later;			/* milliseconds after the trigger */
	enum target target;
	int node, other;		/* other: the second one of a pair */
	uint64_t span;			/* milliseconds that it lasts, or until
					   the process is started again; or
					   NEVER */
	bool left_out;
};

/* A request. */
struct ask_line {
	char op;		/* t(rain), p: epoch, j(oin), e(val), b: eval in
				   the background, s(ave), q: stop, x: a line
				   that is not a request; from submitters also
				   c(ancel), u: status */
	uint64_t steps, batch, wait_ms;
	uint64_t priority;
	size_t target;		/* c: the request to cancel */
};

/* A submitter.  The last one of the array asks for the stop when all others
   have ended. */
struct submitter_plan {
	struct ask_line ask[MAX_REQUESTS];
	size_t asks;
	uint64_t wishes, at_ms;
};

/* What is wrong with some records, or with some batches of a worker's own
   data. */
enum flaw { FLAW_NONE, FLAW_VALUE, FLAW_READ, FLAWS };

struct scenario {
	uint64_t seed;
	struct coord_options o;		/* without what belongs to one
					   incarnation */
	struct coding_rule rule[WAYS];	/* for some variables, after those of
					   o */
	struct coding_rule wide[WAYS];	/* for W (program.h), before these; no
					   codec: there is no W */
	char *endpoint[MAX_SERVERS];
	char *registered[MAX_SERVERS];	/* all NULL: servers register their
					   endpoints */
	bool standby[MAX_SERVERS], wal[MAX_SERVERS];
	uint64_t standby_at[MAX_SERVERS];
	bool journal, informed;		/* supervisors start a server in its
					   present role, not in its first one */
	size_t most_bytes;		/* the journal writes a longer record in
					   parts; 0: the default */
	bool registers;			/* servers register */
	size_t relays;
	uint64_t relay_site[MAX_RELAYS], relay_at[MAX_RELAYS];
	uint64_t worker_site[MAX_WORKERS];	/* some sites have no relay */
	size_t workers;
	bool prefetch[MAX_WORKERS], overlap[MAX_WORKERS];
	uint64_t compute_ms[MAX_WORKERS], load_ms[MAX_SERVERS];
	uint64_t publish_ms;
	uint64_t files, file_records;	/* of the coordinator's data */
	bool local;		/* workers take a local step with each batch;
				   o.in_line is true then */
	bool program;		/* a step program computes the steps
				   (program.h) */
	uint64_t answer_ms;	/* the longest time to its answer; 0: it answers
				   at once */
	bool lines;		/* the model has two step lines, and every
				   second request is for the second */
	bool sets;		/* with lines: the second one takes a second
				   data set, too: */
	uint64_t second_files, second_records;	/* of the coordinator; 0: it is
						   workers' own data */
	bool ends[2];		/* the epochs of the steps that take this data
				   set end with its epochs */
	bool layer;		/* a program computes a layer of the model that
				   no step program computes */
	bool own;		/* the program has data of its own
				   (program.h) */
	bool sampler, shuffle;
	enum flaw flaw;
	uint64_t flaw_in;		/* of this number of records one is
					   bad */
	struct network_options network;
	struct ask_line ask[MAX_REQUESTS];
	size_t asks, heard;		/* all requests; those up to "stop" */
	size_t submitters;		/* with o.queue */
	struct submitter_plan submitter[MAX_SUBMITTERS + 1];
	struct fault fault[MAX_FAULTS];
	size_t faults;
};

#define ROUND_TRIP_MAX_MS	400

/* Words by which AT_WARNING finds a warning; the first text is in all. */
#define WARNINGS	7
#define WARNING_TAKES_OVER	1
extern const char *const scenario_warnings[WARNINGS];

/* Is this request an epoch of the second data set? */
bool scenario_counts_second(const struct scenario *, size_t request);

/* Draws everything from the seed; end with scenario_release(). */
void scenario_draw(struct scenario *, uint64_t seed);
void scenario_release(struct scenario *);

/* Can this node have this fault?  A coordinator without a journal, for example,
   cannot be killed: nobody could resume its run. */
bool scenario_fits(const struct scenario *, enum fault_kind, int node);

/* Returns the number of records of a step, all its replicas together, when all
   batches are full. */
uint64_t scenario_step_records(const struct scenario *);

/* Returns the requests of the coordinator's own input (owner 0) or of a
   submitter (owner from 1 on). */
const struct ask_line *scenario_asks(const struct scenario *, size_t owner,
				     size_t *asks);

/* Do workers keep what a codec loses of the gradients of W? */
bool scenario_keeps_residuals(const struct scenario *);
/* May the run end with an error?  Only faults beyond what is promised allow
   it. */
bool scenario_may_fail(const struct scenario *);

/* Prints the scenario for people; each line begins with "# ". */
void scenario_print(const struct scenario *, FILE *);

const char *fault_name(enum fault_kind);

#endif
