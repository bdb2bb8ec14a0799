#include "sys/memory.h"

#include "store/disk.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#define GROUPS	"/sys/fs/cgroup"
#define SIZE	4096
#define SPARE	((size_t)8 << 20)	/* bytes that may stay free */

/* Read a small file; "" if it cannot be read. */
static void
read_text(const char *path, char bytes[SIZE])
{
	struct text text = { 0 };
	struct fail f;

	*bytes = '\0';
	if (disk_read_text(AT_FDCWD, path, SIZE - 1, &text, &f) == 0)
		snprintf(bytes, SIZE, "%.*s", (int)text.size,
			 text.size > 0 ? text.data : "");
	text_release(&text);
}

/* Return the lower one of a limit and that in a file; a file that is missing or
   has "max" sets no limit. */
static uint64_t
lower(uint64_t limit, const char *path)
{
	char text[SIZE];
	uint64_t bytes;

	read_text(path, text);
	text[strcspn(text, "\n")] = '\0';
	return text_uint(text, &bytes) && bytes < limit ? bytes : limit;
}

/*
 * Lower a limit to those of our control group and of all groups above it.  The
 * name of the group follows these words in /proc/self/cgroup; groups that a
 * container does not see have no files there.
 */
static uint64_t
group_limit(uint64_t limit, const char *words, const char *folder,
	    const char *file)
{
	char text[SIZE], *group, *end;

	read_text("/proc/self/cgroup", text);
	group = strstr(text, words);
	if (!group)
		return limit;
	group += strlen(words);
	group[strcspn(group, "\n")] = '\0';
	do {
		char *path = disk_path("%s%s/%s", folder, group, file);

		limit = lower(limit, path);
		free(path);
		end = strrchr(group, '/');
		if (end)
			*end = '\0';
	} while (end);
	return limit;
}

uint64_t
memory_limit(void)
{
	const int kind[] = { RLIMIT_AS, RLIMIT_DATA };
	struct sysinfo machine;
	struct rlimit own;
	uint64_t limit;

	if (sysinfo(&machine) != 0)
		return 0;
	limit = ((uint64_t)machine.totalram + machine.totalswap) *
		machine.mem_unit;
	for (size_t i = 0; i < 2; i++)
		if (getrlimit(kind[i], &own) == 0 && own.rlim_cur < limit)
			limit = own.rlim_cur;
	limit = group_limit(limit, "0::", GROUPS, "memory.max");
	return group_limit(limit, ":memory:", GROUPS "/memory",
			   "memory.limit_in_bytes");
}

void
memory_trim(void)
{
	const struct mallinfo2 have = mallinfo2();

	if (have.fordblks > SPARE && have.fordblks > have.uordblks / 4)
		malloc_trim(SPARE / 2);
}
