#include "sys/cores.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PATH	4096

/* Read two positive numbers: both from the first file, or one from each.
   false: a number is missing, or is a word such as "max". */
static bool
read_numbers(const char *first, const char *second, int64_t *a, int64_t *b)
{
	FILE *f = fopen(first, "re");
	int n = f ? fscanf(f, "%" SCNd64, a) : 0;

	if (second && f) {
		fclose(f);
		f = fopen(second, "re");
	}
	n += f && n == 1 ? fscanf(f, "%" SCNd64, b) : 0;
	if (f)
		fclose(f);
	return n == 2 && *a > 0 && *b > 0;
}

/* Return the CPU quota of a control group, rounded up, but at most many. */
static size_t
quota_of(const char *group, size_t many)
{
	char first[PATH + 64], second[PATH + 64];
	int64_t quota, period;
	size_t cores;

	snprintf(first, sizeof(first), "/sys/fs/cgroup%s/cpu.max", group);
	if (!read_numbers(first, NULL, &quota, &period)) {
		snprintf(first, sizeof(first),
			 "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
		snprintf(second, sizeof(second),
			 "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
		if (!read_numbers(first, second, &quota, &period))
			return many;
	}
	cores = (size_t)((quota + period - 1) / period);
	return cores < many ? cores : many;
}

/* Return the least quota of a group and of all groups above it. */
static size_t
least_quota(char *group, size_t many)
{
	for (char *slash; (slash = strrchr(group, '/')); *slash = '\0')
		many = quota_of(group, many);
	return quota_of("", many);
}

/* Return whether "cpu" is in a list "cpu,cpuacct". */
static bool
lists_cpu(const char *list)
{
	static const char name[] = "cpu";
	const size_t length = sizeof(name) - 1;

	while (strncmp(list, name, length) != 0 ||
	       !strchr(",", list[length])) {	/* a comma, or the end */
		list = strchr(list, ',');
		if (!list++)
			return false;
	}
	return true;
}

/* Return the group in a line "0::/a/b"; of version 1, in
   "4:cpu,cpuacct:/a/b".  NULL: the line is about something else. */
static char *
group_of(char *line)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	line[strcspn(line, "\n")] = '\0';
	if (!path)
		return NULL;
	*path++ = '\0';
	return *++names == '\0' || lists_cpu(names) ? path : NULL;
}

size_t
cores_granted(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH], *group;
	size_t cores = 1;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) == 0)
		cores = (size_t)CPU_COUNT(&all);
	while (f && fgets(line, sizeof(line), f))
		if ((group = group_of(line)))
			cores = least_quota(group, cores);
	if (f)
		fclose(f);
	return cores > 0 ? cores : 1;
}
