#include "sys/shared_memory.h"

#include "base/failpoint.h"
#include "base/mem.h"
#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST	((off_t)1 << 40)	/* bytes of the file, mostly holes */
#define PIECE	((size_t)1 << 21)	/* bytes mapped are a multiple of it */

struct shared_memory {
	int file;
	char *at;
	size_t mapped, used;
};

struct shared_memory *
shared_memory_new(void)
{
	struct shared_memory *s = mem_alloc(1, sizeof(*s));

	s->file = memfd_create("pskit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->file >= 0 && ftruncate(s->file, MOST) == 0 &&
	    fcntl(s->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_SEAL) == 0)
		return s;
	shared_memory_free(s);
	return NULL;
}

void
shared_memory_free(struct shared_memory *s)
{
	if (!s)
		return;
	if (s->mapped > 0)
		munmap(s->at, s->mapped);
	spawn_close(&s->file);
	free(s);
}

int
shared_memory_file(const struct shared_memory *s)
{
	return s->file;
}

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Map the first size bytes, which may move. */
static int
map(struct shared_memory *s, size_t size, struct fail *f)
{
	void *at;

	if (size <= s->mapped)
		return 0;
	size = round_up(size + size / 2, PIECE);
	at = s->mapped > 0 ? mremap(s->at, s->mapped, size, MREMAP_MAYMOVE) :
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->file,
		     0);
	if (at == MAP_FAILED)
		return fail_sys(f, FAIL_AGAIN, "cannot map %zu bytes", size);
	s->at = at;
	s->mapped = size;
	return 0;
}

/* Without posix_fallocate() a lack of memory would be a SIGBUS at the first
   access; with it, it is a failure here. */
int
shared_memory_take(struct shared_memory *s, size_t bytes, size_t *offset,
		   struct fail *f)
{
	const size_t room = round_up(bytes > 0 ? bytes : 1, SHARED_ALIGN);
	int why;

	if (room > (size_t)MOST - s->used)
		return fail(f, FAIL_AGAIN, "no room for %zu bytes", bytes);
	if (failpoint("shared_memory", f) < 0)
		return -1;
	do
		why = posix_fallocate(s->file, (off_t)s->used, (off_t)room);
	while (why == EINTR);
	errno = why;
	if (why != 0)
		return fail_sys(f, FAIL_AGAIN, "no memory for %zu bytes",
				bytes);
	if (map(s, s->used + room, f) < 0)
		return -1;
	*offset = s->used;
	s->used += room;
	return 0;
}

void *
shared_memory_at(const struct shared_memory *s, size_t offset)
{
	return s->at + offset;
}

size_t
shared_memory_used(const struct shared_memory *s)
{
	return s->used;
}
