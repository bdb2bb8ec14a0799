/*
 * cluster - the addresses of all programs of a run, and the task of this one,
 * from JSON like TensorFlow's TF_CONFIG.
 *
 *	{"cluster": {"chief":  ["h0:2222"],
 *	             "ps":     ["h1:2222", "h2:2222"],
 *	             "worker": ["h3:2222", "h4:2222"]},
 *	 "task": {"type": "worker", "index": 1}}
 *
 * The cluster is the same on every machine, the task differs.  A machine that
 * has to know only some members may get a "sparseCluster" instead.  In place of
 * a list, a job may be an object from index to address.  An evaluator needs
 * only checkpoints, so its cluster may lack all other members, or be missing.
 * Unknown keys are ignored.
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
	CLUSTER_EVALUATOR,	/* ps-eval; its address is not used */
	CLUSTER_RELAY,		/* ps-relay */
	CLUSTER_TYPES
};

struct cluster_job {
	char **endpoint;	/* to connect to; NULL: not given */
	size_t count;		/* the highest index + 1 */
};

struct cluster {
	struct cluster_job job[CLUSTER_TYPES];
	bool has_jobs, has_task;
	enum cluster_type type;	/* of this task */
	uint64_t index;		/* of this task */
	const char *where;	/* who told: a file, "-f", "TF_CONFIG"; NULL:
				   nobody; borrowed */
};

/*
 * Read the cluster from source, which is the name of a file or the JSON itself
 * (-f); if it is NULL, from TF_CONFIG in the environment.  task, "TYPE:INDEX"
 * (-t), unless it is NULL, replaces the task that these have.  Without all
 * three the cluster is empty.  Return 0, or -1: FAIL_CONFIG for wrong content,
 * FAIL_NOINPUT for a missing file, FAIL_USAGE for a wrong -t; messages begin
 * with the place.
 */
int cluster_read(struct cluster *, const char *source, const char *task,
		 struct fail *);
void cluster_release(struct cluster *);

/* Fail (FAIL_CONFIG) if there are jobs, but not that of the chief; ways are the
   options by which a user may do without. */
int cluster_needs_chief(const struct cluster *, const char *ways,
			struct fail *);

/* "chief", "worker", "ps", "evaluator", "relay". */
const char *cluster_type_name(enum cluster_type);

/* Return a member's endpoint, borrowed from the cluster; NULL: not given. */
const char *cluster_endpoint(const struct cluster *, enum cluster_type,
			     uint64_t index);

#endif
