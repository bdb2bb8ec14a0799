#include "prog/cluster_task.h"

#include <stdlib.h>

void
cluster_task_read(struct cluster *c, const struct cli_common *common,
		  enum cluster_type type)
{
	struct fail f;

	if (cluster_read(c, common->cluster, common->task, &f) < 0)
		cli_die(&f);
	if (c->has_task && c->type != type)
		cli_usage("the task is %s, not %s", cluster_type_name(c->type),
			  cluster_type_name(type));
}

const char *
cluster_task_coordinator(const struct cluster *c, const char *said,
			 const char *ways, const char *question)
{
	const char *endpoint = said ? said :
		cluster_endpoint(c, CLUSTER_CHIEF, 0);
	struct fail f;

	if (!endpoint)
		endpoint = getenv("PS_COORD");
	if (!endpoint && cluster_needs_chief(c, ways, &f) < 0)
		cli_die(&f);
	if (!endpoint)
		cli_usage("%s say %s", question, ways);
	return endpoint;
}
