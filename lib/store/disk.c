#include "store/disk.h"

#include "base/failpoint.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Past the page cache, bytes are written in blocks of this size, which are
 * aligned to pages in memory and in the file: large enough for a disk, and
 * small enough for a second level cache.
 */
#define BLOCK	((size_t)1 << 20)
#define PAGE	((size_t)4096)

char *
disk_path(const char *format, ...)
{
	char *path = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		abort();
	va_end(args);
	return path;
}

char *
disk_base(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	return mem_text_n(path + start, end - start);
}

/* Return "DIR/.tmp-NAME" for "DIR/NAME". */
static char *
temporary(const char *path)
{
	const char *slash = strrchr(path, '/');
	const int folder = slash ? (int)(slash - path) + 1 : 0;

	return disk_path("%.*s" DISK_TEMP "%s", folder, path, path + folder);
}

bool
disk_is_named(int fd, const char *name)
{
	struct stat open, named;

	return fstat(fd, &open) == 0 && stat(name, &named) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* Remove our temporary file, unless another writer has its name by now. */
static void
remove_temporary(const struct disk_file *file)
{
	if (disk_is_named(file->fd, file->temp))
		unlink(file->temp);
}

/* Begin a file under a temporary name, which is taken over. */
static int
create(struct disk_file *file, const char *path, char *temp, struct fail *f)
{
	int fd;

	/* A killed writer may have left a file there.  A writer that still has
	   it open keeps a file without a name. */
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		fail_sys(f, FAIL_CREATE, "cannot create %s", temp);
		free(temp);
		*file = (struct disk_file){ .fd = -1 };
		return -1;
	}
	*file = (struct disk_file){
		.fd = fd, .path = mem_text(path), .temp = temp,
		.hash = hash_new(),
	};
	return 0;
}

int
disk_create(struct disk_file *file, const char *path, struct fail *f)
{
	return create(file, path, temporary(path), f);
}

void
disk_pass_cache(struct disk_file *file)
{
	const int flags = fcntl(file->fd, F_GETFL);
	uintptr_t room;

	if (flags < 0 || fcntl(file->fd, F_SETFL, flags | O_DIRECT) < 0)
		return;
	file->room = mem_resize(NULL, 1, BLOCK + PAGE);
	room = (uintptr_t)file->room;
	file->block = file->room + (PAGE - room % PAGE);
}

/* Write through the page cache from now on; false: it was so already. */
static bool
use_page_cache(const struct disk_file *file)
{
	const int flags = fcntl(file->fd, F_GETFL);

	return flags >= 0 && flags & O_DIRECT &&
		fcntl(file->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

static int
write_all(const struct disk_file *file, const char *at, size_t left,
	  struct fail *f)
{
	while (left > 0) {
		const ssize_t n = write(file->fd, at, left);

		/* Some file systems, and the last bytes of a full disk, do not
		   take our blocks past the cache. */
		if (n < 0 && (errno == EINTR ||
			      (errno == EINVAL && use_page_cache(file))))
			continue;
		if (n < 0)
			return fail_sys(f, FAIL_IO, "cannot write %s",
					file->path);
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

static int
write_block(struct disk_file *file, struct fail *f)
{
	const size_t size = file->filled;

	file->filled = 0;
	return write_all(file, file->block, size, f);
}

/* Collect bytes in the block, and write it when it is full. */
static int
write_blocks(struct disk_file *file, const char *at, size_t left,
	     struct fail *f)
{
	while (left > 0) {
		const size_t room = BLOCK - file->filled;
		const size_t some = left < room ? left : room;

		memcpy(file->block + file->filled, at, some);
		file->filled += some;
		if (file->filled == BLOCK && write_block(file, f) < 0)
			return -1;
		at += some;
		left -= some;
	}
	return 0;
}

void
disk_trust_reader(struct disk_file *file)
{
	hash_free(file->hash);
	file->hash = NULL;
}

int
disk_write(struct disk_file *file, const void *bytes, size_t size,
	   struct fail *f)
{
	if (failpoint("disk-write", f) < 0 ||
	    (file->block ? write_blocks(file, bytes, size, f) :
	     write_all(file, bytes, size, f)) < 0)
		return -1;
	if (file->hash)
		hash_add(file->hash, bytes, size);
	file->size += size;
	return 0;
}

/* Write the bytes that do not fill a block. */
static int
write_rest(struct disk_file *file, struct fail *f)
{
	if (file->filled == 0)
		return 0;
	use_page_cache(file);
	return write_block(file, f);
}

static void
release_file(struct disk_file *file)
{
	hash_free(file->hash);
	free(file->room);
	free(file->path);
	free(file->temp);
	*file = (struct disk_file){ .fd = -1 };
}

void
disk_abandon(struct disk_file *file)
{
	if (file->fd < 0)
		return;
	remove_temporary(file);
	close(file->fd);	/* last, since it releases the lock */
	release_file(file);
}

int
disk_lock(int fd, const char *path, struct fail *f)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return fail(f, FAIL_AGAIN, "%s: another program has it open",
			    path);
	return fail_sys(f, FAIL_CREATE, "cannot lock %s", path);
}

int
disk_create_alone(struct disk_file *file, const char *path, struct fail *f)
{
	char *temp = temporary(path);
	const int fd = open(temp, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	*file = (struct disk_file){ .fd = -1 };
	if (fd < 0) {
		fail_sys(f, FAIL_CREATE, "cannot create %s", temp);
		free(temp);
		return -1;
	}
	/* The file of a killed writer is not locked, and is overwritten. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !disk_is_named(fd, temp)) {
		close(fd);
		free(temp);
		return 1;
	}
	*file = (struct disk_file){
		.fd = fd, .path = mem_text(path), .temp = temp,
		.hash = hash_new(),
	};
	if (ftruncate(fd, 0) == 0)
		return 0;
	fail_sys(f, FAIL_CREATE, "cannot create %s", temp);
	disk_abandon(file);
	return -1;
}

int
disk_sync_parent(const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? mem_text_n(path, (size_t)(slash - path) + 1) :
			       mem_text(".");
	const int r = disk_sync_folder(folder, f);

	free(folder);
	return r;
}

int
disk_commit(struct disk_file *file, struct fail *f)
{
	int r = write_rest(file, f);

	if (r == 0)
		r = failpoint("disk-sync", f);
	if (r == 0 && file->hash && fsync(file->fd) < 0)
		r = fail_sys(f, FAIL_IO, "cannot write %s", file->path);
	/* The bytes are safe now, the name is not. */
	if (r == 0)
		r = failpoint("disk-rename", f);
	/* Never rename the unfinished file of another writer. */
	if (r == 0 && !disk_is_named(file->fd, file->temp))
		r = fail(f, FAIL_CREATE, "cannot create %s: %s was removed or "
			 "replaced by another program", file->path,
			 file->temp);
	if (r == 0 && rename(file->temp, file->path) < 0)
		r = fail_sys(f, FAIL_CREATE, "cannot create %s", file->path);
	if (r < 0)
		remove_temporary(file);
	else if ((r = failpoint("disk-renamed", f)) == 0 && file->hash)
		r = disk_sync_parent(file->path, f);
	close(file->fd);	/* last, since it releases the lock */
	release_file(file);
	return r;
}

static int
create_for_readers(struct disk_file *file, const char *path, struct fail *f)
{
	char *temp = temporary(path);
	const int r = create(file, path, disk_path("%s~", temp), f);

	free(temp);
	if (r == 0)
		disk_trust_reader(file);
	return r;
}

int
disk_replace(const char *path, const void *bytes, size_t size,
	     struct fail *f)
{
	struct disk_file file;

	if (create_for_readers(&file, path, f) < 0)
		return -1;
	if (disk_write(&file, bytes, size, f) == 0)
		return disk_commit(&file, f);
	disk_abandon(&file);
	return -1;
}

int
disk_check_plain(const char *path, struct fail *f)
{
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return fail(f, FAIL_CREATE, "%s exists, but is not a plain "
			    "file",
			    path);
	return 0;
}

int
disk_probe(const char *path, struct fail *f)
{
	struct disk_file file;

	if (disk_check_plain(path, f) < 0)
		return -1;
	if (create_for_readers(&file, path, f) < 0)
		return -1;
	disk_abandon(&file);
	return 0;
}

int
disk_make_folder(const char *path, struct fail *f)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return fail_sys(f, FAIL_CREATE, "cannot create %s", path);
}

int
disk_sync_folder(const char *path, struct fail *f)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return fail_sys(f, FAIL_IO, "cannot open %s", path);
	/* Some file systems cannot sync folders, and need not. */
	if (fsync(fd) < 0 && errno != EINVAL)
		r = fail_sys(f, FAIL_IO, "cannot write %s", path);
	close(fd);
	return r;
}

int
disk_remove_folder(const char *path, struct fail *f)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	if (!dir && (errno == ENOENT ||
		     ((errno == ENOTDIR || errno == ELOOP) &&
		      unlink(path) == 0)))
		return 0;
	if (!dir)
		return fail_sys(f, FAIL_IO, "cannot remove %s", path);
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	if (rmdir(path) < 0 && errno != ENOENT)
		return fail_sys(f, FAIL_IO, "cannot remove %s", path);
	return 0;
}

static const volatile sig_atomic_t *stop_reading;

void
disk_read_until(const volatile sig_atomic_t *stop)
{
	stop_reading = stop;
}

int
disk_read_at(int fd, const char *path, void *bytes, size_t size,
	     uint64_t offset, struct fail *f)
{
	char *at = bytes;

	while (size > 0) {
		if (stop_reading && *stop_reading)
			return fail(f, FAIL_AGAIN, "%s: not read to its end: "
				    "asked to stop", path);

		const ssize_t n = pread(fd, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_sys(f, FAIL_IO, "cannot read %s", path);
		if (n == 0)
			return fail(f, FAIL_DATA, "%s: ends at byte %ju, cut "
				    "short", path, (uintmax_t)offset);
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

bool
disk_is_same(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool
disk_is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ||
		(errno != ENOENT && errno != ENOTDIR);
}

int
disk_open_folder(const char *path, struct fail *f)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? fail_sys(f, FAIL_NOINPUT, "cannot open %s", path) : fd;
}

int
disk_open(int folder, const char *path, uint64_t *size, struct fail *f)
{
	const char *slash = folder == AT_FDCWD ? NULL : strrchr(path, '/');
	/* Without O_NONBLOCK, open() of a FIFO waits for a writer. */
	const int fd = openat(folder, slash ? slash + 1 : path,
			      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail(f, FAIL_DATA, "%s: not a plain file", path);
	}
	if (size)
		*size = (uint64_t)st.st_size;
	return fd;
}

int
disk_read_text(int folder, const char *path, size_t limit,
	       struct text *text, struct fail *f)
{
	const int fd = disk_open(folder, path, NULL, f);
	char block[16384];
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return -1;
	while (r == 0 && (n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = fail_sys(f, FAIL_IO, "cannot read %s", path);
		else if (text->size + (size_t)n > limit)
			r = fail(f, FAIL_DATA, "%s: larger than %zu bytes",
				 path, limit);
		else
			text_add_bytes(text, block, (size_t)n);
	}
	close(fd);
	return r;
}
