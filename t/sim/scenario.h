/*
 * scenario - all that a seed decides about a run, before it begins.
 *
 * The cluster, its options, what is asked of it, and the faults that befall
 * it: a list, any of which can be left out to find those that matter.
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
#define OLD_NODES	FIRST_RELAY	/* whose draws are as they were */

#define MAX_REQUESTS	24
#define MAX_FAULTS	24
#define NEVER		UINT64_MAX

enum fault_kind {
	FAULT_KILL,		/* the process is killed, and comes back */
	FAULT_CRASH,		/* its machine dies: what was not synced, too */
	FAULT_FREEZE,		/* its main thread stands still */
	FAULT_CUT,		/* connections between two nodes break */
	FAULT_BLOCK,		/* nothing gets from one node to the other */
	FAULT_SPLIT,		/* nor back */
	FAULT_SLOW,		/* little does */
	FAULT_FULL,		/* no room on its disk */
	FAULT_CLOCK,		/* its clock goes forward */
	FAULT_SUSPEND,		/* the coordinator is told to end, and comes
				   back if it can be gone on with */
	FAULT_ADD,		/* a worker comes */
	FAULT_LEAVE,		/* a worker is told to end, and none comes */
	FAULT_POWER,		/* all servers' machines die at once */
	FAULT_AGE,		/* its files are of an earlier time when it
				   comes back: beyond the promise */
	FAULT_EVALUATE,		/* an evaluator comes; it is no fault, but is
				   killed if it takes too long */
	FAULT_KINDS
};

enum trigger {
	AT_TIME,		/* milliseconds from the begin */
	AT_STEPS,		/* so many have been done */
	AT_MESSAGE,		/* the nth message of a kind arrives */
	AT_WARNING,		/* the nth warning of the coordinator that has
				   these words */
	AT_PUBLISH,		/* the nth checkpoint is being published */
	AFTER_LAST,		/* the fault before has happened */
	TRIGGERS
};

/* Whom it befalls. */
enum target { TARGET_NODE, TARGET_SENDER, TARGET_RECEIVER };

struct fault {
	enum fault_kind kind;
	enum trigger trigger;
	uint64_t nth;			/* time, steps, messages, warnings */
	enum message_kind message;
	size_t words;
	uint64_t later;			/* milliseconds behind the trigger */
	enum target target;
	int node, other;		/* other: of two */
	uint64_t span;			/* milliseconds that it lasts, or until
					   it comes back; NEVER */
	bool left_out;
};

/* What is asked. */
struct ask_line {
	char op;		/* t(rain) p(epoch) j(oin) e(val) s(ave) q: stop
				   b: eval in the background x: no request at
				   all; and of submitters c(ancel) u: status */
	uint64_t steps, batch, wait_ms;
	uint64_t priority;
	size_t target;		/* c: which one */
};

/* One who calls; the last one says stop when all others have ended. */
struct submitter_plan {
	struct ask_line ask[MAX_REQUESTS];
	size_t asks;
	uint64_t wishes, at_ms;
};

/* What is wrong with some records, or batches of a worker's own. */
enum flaw { FLAW_NONE, FLAW_VALUE, FLAW_READ, FLAWS };

struct scenario {
	uint64_t seed;
	struct coord_options o;		/* without what belongs to a life */
	struct coding_rule rule[WAYS];	/* for some variables, behind o's */
	struct coding_rule wide[WAYS];	/* for W, before these: see program.h;
					   no codec: there is no W */
	char *endpoint[MAX_SERVERS];
	char *registered[MAX_SERVERS];	/* NULL each: not known yet */
	bool standby[MAX_SERVERS], wal[MAX_SERVERS];
	uint64_t standby_at[MAX_SERVERS];
	bool journal, informed;		/* servers start as what they are now */
	size_t most_bytes;		/* in one piece in it; 0: the usual */
	bool registers;			/* ... and say themselves where */
	size_t relays;
	uint64_t relay_site[MAX_RELAYS], relay_at[MAX_RELAYS];
	uint64_t worker_site[MAX_WORKERS];	/* some have no relay */
	size_t workers;
	bool prefetch[MAX_WORKERS], overlap[MAX_WORKERS];
	uint64_t compute_ms[MAX_WORKERS], load_ms[MAX_SERVERS];
	uint64_t publish_ms;
	uint64_t files, file_records;	/* of the coordinator's data */
	bool local;		/* workers train copies with each batch; so
				   o.in_line is true */
	bool program;		/* computes the steps: see program.h */
	uint64_t answer_ms;	/* an answer of it takes up to so long; 0: it
				   is there before anything else happens */
	bool lines;		/* of two step lines, every second request is
				   for the other one */
	bool sets;		/* and that takes a second data set, too: */
	uint64_t second_files, second_records;	/* the coordinator's; 0: of
						   workers' own */
	bool ends[2];		/* epochs of what takes it, with its own */
	bool own;		/* with data of its own: see program.h */
	bool sampler, shuffle;
	enum flaw flaw;
	uint64_t flaw_in;		/* one of so many */
	struct network_options network;
	struct ask_line ask[MAX_REQUESTS];
	size_t asks, heard;		/* all; but for those behind "stop" */
	size_t submitters;		/* with o.queue */
	struct submitter_plan submitter[MAX_SUBMITTERS + 1];
	struct fault fault[MAX_FAULTS];
	size_t faults;
};

#define ROUND_TRIP_MAX_MS	400

/* What warnings are told apart by; the first is in all. */
#define WARNINGS	7
#define WARNING_TAKES_OVER	1
extern const char *const scenario_warnings[WARNINGS];

/* Is an epoch that is asked for so counted by the second data set? */
bool scenario_counts_second(const struct scenario *, size_t request);

/* Everything is drawn from the seed; end with scenario_release(). */
void scenario_draw(struct scenario *, uint64_t seed);
void scenario_release(struct scenario *);

/* Can this befall that node?  In the coordinator's place, without a journal,
   nobody could go on. */
bool scenario_fits(const struct scenario *, enum fault_kind, int node);

/* Records that a step reads, all its replicas together, when all are full. */
uint64_t scenario_step_records(const struct scenario *);

/* What is asked, by the coordinator's own input (0) or a submitter (from 1). */
const struct ask_line *scenario_asks(const struct scenario *, size_t owner,
				     size_t *asks);

/* May the run end in a failure that says why, beyond what is promised? */
bool scenario_may_fail(const struct scenario *);

/* The scenario for people; each line begins with "# ". */
void scenario_print(const struct scenario *, FILE *);

const char *fault_name(enum fault_kind);

#endif
