#include "store/record_log.h"

#include "base/failpoint.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER	(1U << 20)	/* bytes held before they are written */
#define ASIDE	".new"		/* suffix of the file that will replace it */

struct record_log {
	char *path;
	int fd;
	size_t limit;		/* bytes of one record */
	uint64_t written;	/* bytes in the file */
	uint64_t safe;		/* bytes of these that are safe on disk */
	struct text held;	/* records to be written after these */
	bool broken;		/* a write or sync failed */
};

struct head {
	uint32_t size, kind;
	uint64_t safe, hash;
};

static void
put_number(unsigned char *at, uint64_t n, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(n >> 8 * i);
}

static uint64_t
get_number(const unsigned char *at, size_t bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n |= (uint64_t)at[i] << 8 * i;
	return n;
}

/* Hash a head with its offset, so that it is not valid at another place. */
static uint64_t
head_hash(const unsigned char bytes[RECORD_HEAD], uint64_t offset)
{
	unsigned char hashed[RECORD_HEAD];

	memcpy(hashed, bytes, RECORD_HEAD - 8);
	put_number(hashed + RECORD_HEAD - 8, offset, 8);
	return hash64(hashed, sizeof(hashed));
}

static void
head_write(unsigned char bytes[RECORD_HEAD], const struct head *h,
	   uint64_t offset)
{
	put_number(bytes, h->size, 4);
	put_number(bytes + 4, h->kind, 4);
	put_number(bytes + 8, h->safe, 8);
	put_number(bytes + 16, h->hash, 8);
	put_number(bytes + 24, head_hash(bytes, offset), 8);
}

static bool
head_read(struct head *h, const unsigned char bytes[RECORD_HEAD],
	  uint64_t offset)
{
	*h = (struct head){
		.size = (uint32_t)get_number(bytes, 4),
		.kind = (uint32_t)get_number(bytes + 4, 4),
		.safe = get_number(bytes + 8, 8),
		.hash = get_number(bytes + 16, 8),
	};
	return get_number(bytes + 24, 8) == head_hash(bytes, offset);
}

/*
 * Reading.
 */

struct reading {
	int fd;
	const char *path;
	uint64_t size;		/* of the file */
	size_t limit;
	void *bytes;		/* of one record */
	size_t room;
};

enum found { WHOLE, TORN, FAILED };

static enum found
read_record(struct reading *in, uint64_t at, struct record *r, struct fail *f)
{
	unsigned char bytes[RECORD_HEAD];
	struct head h;

	if (in->size - at < RECORD_HEAD)
		return TORN;
	if (disk_read_at(in->fd, in->path, bytes, sizeof(bytes), at, f) < 0)
		return FAILED;
	if (!head_read(&h, bytes, at) || h.size > in->size - at - RECORD_HEAD)
		return TORN;
	if (h.size > in->limit) {
		fail(f, FAIL_DATA, "%s: a record of %u bytes at byte %ju, "
		     "more than %zu", in->path, h.size, (uintmax_t)at,
		     in->limit);
		return FAILED;
	}
	if (h.size > in->room) {
		in->room = h.size;
		in->bytes = mem_resize(in->bytes, in->room, 1);
	}
	if (disk_read_at(in->fd, in->path, in->bytes, h.size,
			 at + RECORD_HEAD, f) < 0)
		return FAILED;
	if (hash64(in->bytes, h.size) != h.hash)
		return TORN;
	*r = (struct record){ .kind = h.kind, .bytes = in->bytes,
			      .size = h.size, .offset = at };
	return WHOLE;
}

/*
 * At an offset there is no whole record.  Fail if any head after it shows that
 * the record there was safe.  The damaged part may be the size that would lead
 * to the next head, so a head is looked for at every byte.
 */
static int
check_torn(const struct reading *in, uint64_t torn, struct fail *f)
{
	const size_t block = 1 << 16;
	unsigned char *bytes = mem_alloc(block, 1);
	int r = 0;

	for (uint64_t at = torn; r == 0 && in->size - at >= RECORD_HEAD;) {
		const size_t n = in->size - at < block ?
				 (size_t)(in->size - at) : block;
		struct head h;

		r = disk_read_at(in->fd, in->path, bytes, n, at, f);
		for (size_t i = 0; r == 0 && i + RECORD_HEAD <= n; i++)
			if (head_read(&h, bytes + i, at + i) && h.safe > torn)
				r = fail(f, FAIL_DATA, "%s: damaged at byte "
					 "%ju of %ju", in->path,
					 (uintmax_t)torn, (uintmax_t)in->size);
		at += n - RECORD_HEAD + 1;
	}
	free(bytes);
	return r;
}

/*
 * A file has no whole record.  Fail if it is not what a crash can have left of
 * the first record, but a file of another kind.  A crash leaves the head whole,
 * or zeros, or a part of the head; and the first head has 0 as its safe size.
 */
static int
check_is_log(const struct reading *in, struct fail *f)
{
	const size_t n = in->size < RECORD_HEAD ? (size_t)in->size :
		RECORD_HEAD;
	const unsigned char none[RECORD_HEAD] = { 0 };
	unsigned char bytes[RECORD_HEAD] = { 0 };
	struct head h;

	if (disk_read_at(in->fd, in->path, bytes, n, 0, f) < 0)
		return -1;
	if (n < RECORD_HEAD ? memcmp(bytes + 8, none, 8) == 0 :
	    head_read(&h, bytes, 0) || memcmp(bytes, none, n) == 0)
		return 0;
	return fail(f, FAIL_DATA, "%s: holds something other than records",
		    in->path);
}

/* Call told() with each record; *end is the offset after the last whole one. */
static int
replay(int fd, const char *path, size_t limit, record_log_fn *told, void *self,
       uint64_t *end, uint64_t *cut, struct fail *f)
{
	struct reading in = { .fd = fd, .path = path, .limit = limit };
	enum found found = WHOLE;
	struct record record;
	struct stat st;
	uint64_t at = 0;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return fail_sys(f, FAIL_IO, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_DATA, "%s: not a plain file", path);
	in.size = (uint64_t)st.st_size;
	while (r == 0 && at < in.size &&
	       (found = read_record(&in, at, &record, f)) == WHOLE) {
		r = told(self, &record, f);
		at += RECORD_HEAD + record.size;
	}
	if (found == TORN)
		r = check_torn(&in, at, f);
	if (found == TORN && r == 0 && at == 0)
		r = check_is_log(&in, f);
	free(in.bytes);
	*end = at;
	*cut = in.size - at;
	return found == FAILED ? -1 : r;
}

int
record_log_replay(const char *path, size_t limit, record_log_fn *told,
		  void *self, uint64_t *cut, struct fail *f)
{
	const int fd = disk_open(AT_FDCWD, path, NULL, f);
	uint64_t end;
	int r;

	if (fd < 0)
		return -1;
	r = replay(fd, path, limit, told, self, &end, cut, f);
	close(fd);
	return r;
}

/*
 * Opening.
 */

static int
open_locked(const char *path, struct fail *f)
{
	int fd;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK,
			  0666);
		if (fd < 0)
			return fail_sys(f, FAIL_CREATE, "cannot open %s",
					path);
		if (disk_lock(fd, path, f) < 0) {
			close(fd);
			return -1;
		}
		if (disk_is_named(fd, path))
			return fd;
		close(fd);	/* replaced before we had the lock */
	}
}

/* Cut off the torn end, make file and name safe from a power failure, and
   remove a file that was about to replace it when its program died. */
static int
prepare_file(struct record_log *file, uint64_t cut, struct fail *f)
{
	char *aside = disk_path("%s" ASIDE, file->path);

	unlink(aside);
	free(aside);
	if (cut > 0 && ftruncate(file->fd, (off_t)file->written) < 0)
		return fail_sys(f, FAIL_IO, "cannot write %s", file->path);
	if (fsync(file->fd) < 0)
		return fail_sys(f, FAIL_IO, "cannot write %s", file->path);
	file->safe = file->written;
	return disk_sync_parent(file->path, f);
}

struct record_log *
record_log_open(const char *path, size_t limit, record_log_fn *told, void *self,
		uint64_t *cut, struct fail *f)
{
	const int fd = open_locked(path, f);
	struct record_log *file;

	assert(limit <= UINT32_MAX);
	if (fd < 0)
		return NULL;
	file = mem_alloc(1, sizeof(*file));
	file->path = mem_text(path);
	file->fd = fd;
	file->limit = limit;
	if (replay(fd, path, limit, told, self, &file->written, cut, f) < 0 ||
	    prepare_file(file, *cut, f) < 0) {
		record_log_close(file);
		return NULL;
	}
	return file;
}

void
record_log_close(struct record_log *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	text_release(&file->held);
	free(file->path);
	free(file);
}

/*
 * Appending.
 */

static int
check_broken(const struct record_log *file, struct fail *f)
{
	if (file->broken)
		return fail(f, FAIL_IO, "cannot write %s: an earlier write "
			    "failed", file->path);
	return 0;
}

static int
break_off(struct record_log *file, struct fail *f)
{
	file->broken = true;
	return fail_sys(f, FAIL_IO, "cannot write %s", file->path);
}

int
record_log_flush(struct record_log *file, struct fail *f)
{
	size_t done = 0;

	if (check_broken(file, f) < 0)
		return -1;
	while (done < file->held.size) {
		const ssize_t n = pwrite(file->fd, file->held.data + done,
					 file->held.size - done,
					 (off_t)(file->written + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return break_off(file, f);
		done += (size_t)n;
	}
	file->written += done;
	text_reset(&file->held);
	return 0;
}

int
record_log_sync(struct record_log *file, struct fail *f)
{
	if (record_log_flush(file, f) < 0)
		return -1;
	if (file->safe == file->written)
		return 0;
	/* A second fdatasync() that succeeds would prove nothing: the kernel
	   drops pages that it could not write. */
	if (fdatasync(file->fd) < 0)
		return break_off(file, f);
	file->safe = file->written;
	return 0;
}

int
record_log_reset(struct record_log *file, struct fail *f)
{
	if (check_broken(file, f) < 0)
		return -1;
	text_reset(&file->held);
	file->written = file->safe = 0;
	if (ftruncate(file->fd, 0) < 0 || fsync(file->fd) < 0)
		return break_off(file, f);
	return 0;
}

struct copying {
	struct record_log *to;
	uint64_t from;
};

static int
copy_record(void *self, const struct record *r, struct fail *f)
{
	const struct copying *c = self;

	return r->offset < c->from ? 0 :
		record_log_append(c->to, r->kind, r->bytes, r->size, f);
}

static int
ignore_record(void *self, const struct record *r, struct fail *f)
{
	(void)self;
	(void)r;
	(void)f;
	return 0;
}

/* Rename the other file, which is locked, to ours, and use it from now on. */
static int
replace_file(struct record_log *file, struct record_log *by, struct fail *f)
{
	if (failpoint("record-rename", f) < 0)
		return -1;
	if (rename(by->path, file->path) < 0)
		return fail_sys(f, FAIL_CREATE, "cannot create %s",
				file->path);
	close(file->fd);
	file->fd = by->fd;
	file->written = by->written;
	file->safe = by->safe;
	by->fd = -1;
	if (failpoint("record-renamed", f) < 0 ||
	    disk_sync_parent(file->path, f) < 0) {
		/* After a crash either file may have the name. */
		file->broken = true;
		return -1;
	}
	return 0;
}

int
record_log_drop(struct record_log *file, uint64_t before, struct fail *f)
{
	struct copying c = { .from = before };
	char *path = disk_path("%s" ASIDE, file->path);
	uint64_t end, cut;
	int r = -1;

	if (record_log_flush(file, f) == 0)
		c.to = record_log_open(path, file->limit, ignore_record, NULL,
				       &cut, f);
	if (c.to && record_log_reset(c.to, f) == 0 &&
	    replay(file->fd, file->path, file->limit, copy_record, &c, &end,
		   &cut, f) == 0 && record_log_sync(c.to, f) == 0)
		r = replace_file(file, c.to, f);
	if (c.to && c.to->fd >= 0)
		unlink(path);
	record_log_close(c.to);
	free(path);
	return r;
}

int
record_log_append_pieces(struct record_log *file, uint32_t kind,
			 const struct iovec *piece, size_t count,
			 struct fail *f)
{
	const uint64_t offset = record_log_size(file);
	const size_t start = file->held.size;
	unsigned char bytes[RECORD_HEAD] = { 0 };
	struct head h = { .kind = kind, .safe = file->safe };
	size_t size = 0;

	if (check_broken(file, f) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		size += piece[i].iov_len;
	assert(size <= file->limit);
	text_add_bytes(&file->held, bytes, sizeof(bytes));
	for (size_t i = 0; i < count; i++)
		text_add_bytes(&file->held, piece[i].iov_base,
			       piece[i].iov_len);
	h.size = (uint32_t)size;
	h.hash = hash64(file->held.data + start + RECORD_HEAD, size);
	head_write(bytes, &h, offset);
	memcpy(file->held.data + start, bytes, sizeof(bytes));
	return file->held.size < BUFFER ? 0 : record_log_flush(file, f);
}

int
record_log_append(struct record_log *file, uint32_t kind, const void *bytes,
		  size_t size, struct fail *f)
{
	const struct iovec piece = { (void *)(uintptr_t)bytes, size };

	return record_log_append_pieces(file, kind, &piece, 1, f);
}

uint64_t
record_log_size(const struct record_log *file)
{
	return file->written + file->held.size;
}

uint64_t
record_log_safe(const struct record_log *file)
{
	return file->safe;
}
