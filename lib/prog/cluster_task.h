/*
 * cluster_task - which member of a cluster a program is, and where the
 * coordinator is.  Both functions end the program, with a message, if the user
 * must say more.
 */
#ifndef PS_CLUSTER_TASK_H
#define PS_CLUSTER_TASK_H

#include "store/cluster.h"
#include "sys/cli.h"

/*
 * Read what the options and the environment say of the cluster and of the task.
 * A task must be of this type.  The caller releases the cluster.
 */
void cluster_task_read(struct cluster *, const struct cli_common *,
		       enum cluster_type);

/*
 * Return the coordinator's endpoint: what the user said, or the cluster's
 * chief, or that of the environment.  The ways to say it and the question are
 * for the message if there is none.  It is borrowed from whoever said it.
 */
const char *cluster_task_coordinator(const struct cluster *, const char *said,
				     const char *ways, const char *question);

#endif
