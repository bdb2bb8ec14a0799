/*
 * cluster - who is where in a run, from JSON in the shape of TF_CONFIG.
 *
 *	{"cluster": {"chief":  ["h0:2222"],
 *	             "ps":     ["h1:2222", "h2:2222"],
 *	             "worker": ["h3:2222", "h4:2222"]},
 *	 "task": {"type": "worker", "index": 1}}
 *
 * The cluster is the same on every machine, the task is another on each.  A
 * job may also be an object from index to address, and the whole be called
 * "sparseCluster", when a machine is told only of those that it must know.  An
 * evaluator, which checkpoints are enough for, need not be told of anybody: its
 * cluster may lack all others, or be missing.  Keys that are not ours are
 * ignored.
 */
#ifndef PS_CLUSTER_H
#define PS_CLUSTER_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cluster_type {
	CLUSTER_CHIEF,		/* ps-coord; "master" is another name */
	CLUSTER_WORKER,		/* ps-work */
	CLUSTER_PS,		/* ps-serve */
	CLUSTER_EVALUATOR,	/* ps-eval; where it is does not matter */
	CLUSTER_RELAY,		/* ps-relay */
	CLUSTER_TYPES
};

struct cluster_job {
	char **endpoint;	/* to connect to; NULL where one is not told */
	size_t count;		/* the highest index + 1 */
};

struct cluster {
	struct cluster_job job[CLUSTER_TYPES];
	bool has_jobs, has_task;
	enum cluster_type type;	/* of this task */
	uint64_t index;		/* of this task */
};

/*
 * From source, a file or the JSON itself (-f), or else from the environment's
 * TF_CONFIG; task, "TYPE:INDEX" (-t), wins over what these say.  Either may be
 * NULL; without all three the cluster is empty.  Messages name the place; what
 * is wrong is FAIL_CONFIG, a file that is not there FAIL_NOINPUT, -t itself
 * FAIL_USAGE.
 */
int cluster_read(struct cluster *, const char *source, const char *task,
		 struct fail *);
void cluster_release(struct cluster *);

/* "chief", "worker", "ps", "evaluator", "relay". */
const char *cluster_type_name(enum cluster_type);

/* A member's endpoint, or NULL; borrowed, as long as the cluster. */
const char *cluster_endpoint(const struct cluster *, enum cluster_type,
			     uint64_t index);

#endif
