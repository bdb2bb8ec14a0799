#include "sys/process_group.h"

#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void
process_group_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool
process_group_is_gone(pid_t group)
{
	siginfo_t info;

	return group <= 0 || waitid(P_PGID, (id_t)group, &info,
				    WEXITED | WNOHANG | WNOWAIT) < 0;
}

void
process_group_signal(pid_t group, int number)
{
	if (!process_group_is_gone(group))
		kill(-group, number);
}

/* Without this file in /proc (CONFIG_PROC_CHILDREN) there are no children. */
size_t
process_group_children(pid_t **group, size_t *room)
{
	FILE *children = fopen("/proc/thread-self/children", "re");
	size_t n = 0;
	int pid;

	while (children && fscanf(children, "%d", &pid) == 1)
		if (getsid(pid) == getsid(0)) {
			*group = mem_grow(*group, n, room, sizeof(**group));
			(*group)[n++] = getpgid(pid);
		}
	if (children)
		fclose(children);
	return n;
}
