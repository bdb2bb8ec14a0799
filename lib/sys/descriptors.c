#include "sys/descriptors.h"

#include <sys/resource.h>

#define ENOUGH	((rlim_t)1 << 20)
#define LEAST	256	/* if the limit cannot be read */

size_t
descriptors_raise(void)
{
	struct rlimit own;
	rlim_t wanted;

	if (getrlimit(RLIMIT_NOFILE, &own) < 0)
		return LEAST;
	wanted = own.rlim_max < ENOUGH ? own.rlim_max : ENOUGH;
	if (own.rlim_cur < wanted) {
		const struct rlimit raised = { wanted, own.rlim_max };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			own = raised;
	}
	return (size_t)(own.rlim_cur < ENOUGH ? own.rlim_cur : ENOUGH);
}
