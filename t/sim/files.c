#include "files.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct safe {
	dev_t device;
	ino_t inode;
	off_t size;
};

static struct safe *safe;
static size_t safes, safe_room;
static bool full;

static struct safe *
find(const struct stat *st)
{
	for (size_t i = 0; i < safes; i++)
		if (safe[i].inode == st->st_ino &&
		    safe[i].device == st->st_dev)
			return &safe[i];
	return NULL;
}

/* ---- replacements of system calls ---- */

static int
make_safe(int fd)
{
	struct stat st;
	struct safe *s;

	if (full) {
		errno = ENOSPC;
		return -1;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	s = find(&st);
	if (!s) {
		safe = mem_grow(safe, safes, &safe_room, sizeof(*safe));
		s = &safe[safes++];
		*s = (struct safe){ st.st_dev, st.st_ino, 0 };
	}
	s->size = st.st_size;
	return 0;
}

int
fsync(int fd)
{
	return make_safe(fd);
}

int
fdatasync(int fd)
{
	return make_safe(fd);
}

static bool
refused(int fd)
{
	struct stat st;

	if (!full || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	errno = ENOSPC;
	return true;
}

ssize_t
write(int fd, const void *bytes, size_t size)
{
	return refused(fd) ? -1 : syscall(SYS_write, fd, bytes, size);
}

ssize_t
pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	return refused(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

/* ---- faults ---- */

void
files_full(bool is_full)
{
	full = is_full;
}

void
files_begin(char folder[64])
{
	static const char *const memory = "/dev/shm";
	const char *parent = access(memory, W_OK) == 0 ? memory : "/tmp";

	snprintf(folder, 64, "%s/ps-sim.XXXXXX", parent);
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(70);
	}
	full = false;
	safes = 0;
}

typedef void each(const char *path, void *arg);

static void
for_each(const char *folder, each *act, void *arg)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	char path[600];

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%.300s/%s", folder, e->d_name);
		act(path, arg);
	}
	if (d)
		closedir(d);
}

static void
remove_one(const char *path, void *arg)
{
	if (unlink(path) < 0) {
		for_each(path, remove_one, arg);
		rmdir(path);
	}
}

void
files_end(const char *folder)
{
	remove_one(folder, NULL);
	free(safe);
	safe = NULL;
	safes = safe_room = 0;
}

static void
tear(const char *path, const struct stat *st, off_t kept, struct rng *rng)
{
	const off_t loose = st->st_size - kept;
	const off_t at = kept + (off_t)rng_below(rng, (uint64_t)loose);
	char zeros[64] = { 0 };
	int fd;

	if (rng_below(rng, 3) > 0) {
		if (truncate(path, at) < 0)
			perror(path);
		return;
	}
	/* The size reached the disk, but some blocks did not: they are zero. */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && pwrite(fd, zeros, (size_t)(st->st_size - at) <
			      sizeof(zeros) ? (size_t)(st->st_size - at) :
			      sizeof(zeros), at) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

static void
crash_one(const char *path, void *arg)
{
	const struct safe *s;
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		for_each(path, crash_one, arg);
		return;
	}
	s = find(&st);
	if (S_ISREG(st.st_mode) && st.st_size > (s ? s->size : 0))
		tear(path, &st, s ? s->size : 0, arg);
}

void
files_crash(const char *path, struct rng *rng)
{
	const bool was = full;

	full = false;
	crash_one(path, rng);
	full = was;
}

static void
pick_newest(const char *path, void *arg)
{
	char *newest = arg;
	const char *name = strrchr(path, '/') + 1;

	if (name[0] >= '0' && name[0] <= '9' &&
	    (!*newest || strcmp(path, newest) > 0))
		snprintf(newest, 600, "%s", path);
}

bool
files_age(const char *folder, struct rng *rng, char *what, size_t room)
{
	char newest[600] = "";
	struct stat st;
	off_t left;

	for_each(folder, pick_newest, newest);
	if (!*newest || stat(newest, &st) < 0 || st.st_size == 0)
		return false;
	if (rng_below(rng, 3) == 0) {
		snprintf(what, room, "%s is removed", strrchr(newest, '/'));
		return unlink(newest) == 0;
	}
	left = (off_t)rng_below(rng, (uint64_t)st.st_size);
	snprintf(what, room, "%s is cut from %lld to %lld bytes",
		 strrchr(newest, '/'), (long long)st.st_size,
		 (long long)left);
	return truncate(newest, left) == 0;
}

bool
files_shorten(const char *path, uint64_t least, struct rng *rng)
{
	struct stat st;

	if (stat(path, &st) < 0 || (uint64_t)st.st_size <= least)
		return false;
	least += rng_below(rng, (uint64_t)st.st_size - least);
	return truncate(path, (off_t)least) == 0;
}

bool
files_copy(const char *from, const char *to)
{
	char bytes[4096];
	FILE *in = fopen(from, "re"), *out = in ? fopen(to, "we") : NULL;
	size_t n;

	while (out && (n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		fwrite(bytes, 1, n, out);
	if (in)
		fclose(in);
	return out && fclose(out) == 0;
}
