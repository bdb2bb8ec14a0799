/* TF_CONFIG, and the task, "TYPE:INDEX", before the first line end. */
#include "store/cluster.h"

#include "fuzz.h"

#include <string.h>

int
fuzz_one(const uint8_t *data, size_t size)
{
	char *task = malloc(size + 2), *json;
	struct cluster c = { 0 };
	struct fail f;

	/* A text that does not begin with a brace is the name of a file. */
	if (size > 0)
		memcpy(task, data, size);
	task[size] = task[size + 1] = '\0';
	json = task + strcspn(task, "\n");
	if (*json)
		*json++ = '\0';
	if (*json == '{' && cluster_read(&c, json, *task ? task : NULL,
					 &f) == 0)
		for (int t = 0; t < CLUSTER_TYPES; t++)
			for (size_t i = 0; i < c.job[t].count + 2; i++)
				cluster_endpoint(&c, (enum cluster_type)t, i);
	cluster_release(&c);
	free(task);
	return 0;
}
