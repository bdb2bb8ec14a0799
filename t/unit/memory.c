/* Freed memory is returned to the system, wherever it lies. */
#include "sys/memory.h"
#include "tap.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK	((size_t)16 << 10)
#define CHUNKS	((size_t)4096)

/* Returns the bytes of this process that are in memory. */
static size_t
resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t all = 0, here = 0;

	if (!file || fscanf(file, "%zu %zu", &all, &here) != 2)
		printf("# no /proc/self/statm\n");
	if (file)
		fclose(file);
	return here * (size_t)sysconf(_SC_PAGESIZE);
}

int
main(void)
{
	static char *chunk[CHUNKS];
	size_t before, most;

#ifdef __SANITIZE_ADDRESS__
	printf("1..0 # SKIP its allocator is another one\n");
	return 0;
#endif
	/* A net sets this, too: see prepare_process(). */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
	before = resident();
	for (size_t i = 0; i < CHUNKS; i++) {
		chunk[i] = malloc(CHUNK);
		if (chunk[i])
			memset(chunk[i], 1, CHUNK);
	}
	most = resident();
	ok(most - before >= CHUNKS * CHUNK);
	memory_trim();
	ok(resident() >= most);		/* all of it is in use */

	/* The last chunk stays, so the chunks below it are not at the end of
	   the heap. */
	for (size_t i = 0; i + 1 < CHUNKS; i++)
		free(chunk[i]);
	ok(resident() >= most);
	memory_trim();
	named(resident() < before + CHUNKS * CHUNK / 4,
	      "freed memory below the end of the heap is returned to the "
	      "system");
	free(chunk[CHUNKS - 1]);
	return tap_done();
}
