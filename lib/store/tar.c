#include "store/tar.h"

#include "base/mem.h"
#include "base/text.h"
#include "store/archive_source.h"
#include "store/disk.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK		512
#define STRETCH		((size_t)32 << 10)	/* bytes, see tar_add() */
#define MAX_MEMBERS	((size_t)1 << 20)
#define MAX_NAME	1024

int64_t
tar_time(void)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t t;

	return text && text_uint(text, &t) && t < (uint64_t)1 << 33 ?
	       (int64_t)t : 0;
}

/* ---- writing ---- */

struct tar_writer {
	struct archive *archive;
	struct disk_file file;
	struct hash *hash;		/* of the member */
	struct fail fail;		/* why file could not be written */
	bool failed;
};

/*
 * An archive_write_callback that never fails for libarchive: version 3.6 leaks
 * memory when a write fails.  The failure is kept, and outcome() reports it.
 */
static la_ssize_t
write_block(struct archive *a, void *data, const void *bytes, size_t size)
{
	struct tar_writer *w = data;

	(void)a;
	if (!w->failed && disk_write(&w->file, bytes, size, &w->fail) < 0)
		w->failed = true;
	return (la_ssize_t)size;
}

/* Return 0 after a call of libarchive; -1 if write_block() failed, or if the
   call itself did (well is false). */
static int
outcome(struct tar_writer *w, bool well, struct fail *f)
{
	if (w->failed) {
		*f = w->fail;
		return -1;
	}
	return well ? 0 : fail(f, FAIL_IO, "%s: %s", w->file.path,
			       archive_error_string(w->archive));
}

struct tar_writer *
tar_create(const char *path, struct fail *f)
{
	struct disk_file file;
	struct tar_writer *w;

	if (disk_create(&file, path, f) < 0)
		return NULL;
	disk_pass_cache(&file);
	w = mem_alloc(1, sizeof(*w));
	w->file = file;
	w->hash = hash_new();
	w->archive = archive_write_new();
	if (!w->archive)
		abort();
	archive_write_set_format_pax_restricted(w->archive);
	/* Do not fill up to a tape's block: two empty records end the file. */
	archive_write_set_bytes_per_block(w->archive, 0);
	if (outcome(w, archive_write_open(w->archive, w, NULL, write_block,
					  NULL) == ARCHIVE_OK, f) < 0) {
		tar_abandon(w);
		return NULL;
	}
	return w;
}

int
tar_begin(struct tar_writer *w, const char *name, uint64_t size,
	  struct fail *f)
{
	struct archive_entry *entry = archive_entry_new();
	int r;

	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_mtime(entry, tar_time(), 0);
	archive_entry_set_size(entry, (la_int64_t)size);
	r = archive_write_header(w->archive, entry);
	archive_entry_free(entry);
	hash_reset(w->hash);
	return outcome(w, r == ARCHIVE_OK, f);
}

/* Add STRETCH bytes at a time: hashing reads them first, and all later passes
   find them in the processor's cache. */
int
tar_add(struct tar_writer *w, const void *bytes, size_t size, struct fail *f)
{
	const char *at = bytes;
	int r = 0;

	for (size_t left = size, some; r == 0 && left > 0; left -= some) {
		some = left < STRETCH ? left : STRETCH;
		hash_add(w->hash, at, some);
		r = outcome(w, archive_write_data(w->archive, at, some) ==
			    (la_ssize_t)some, f);
		at += some;
	}
	return r;
}

void
tar_hash(const struct tar_writer *w, char hash[HASH_TEXT])
{
	hash_text(w->hash, hash);
}

int
tar_commit(struct tar_writer *w, uint64_t *size, char hash[HASH_TEXT],
	   struct fail *f)
{
	int r = outcome(w, archive_write_close(w->archive) == ARCHIVE_OK, f);

	if (r == 0) {
		*size = w->file.size;
		hash_text(w->file.hash, hash);
		r = disk_commit(&w->file, f);
	}
	tar_abandon(w);
	return r;
}

void
tar_abandon(struct tar_writer *w)
{
	if (!w)
		return;
	/* Freeing an open archive writes its end, which must go nowhere. */
	w->failed = true;
	archive_write_free(w->archive);
	disk_abandon(&w->file);
	hash_free(w->hash);
	free(w);
}

/* ---- reading ---- */

/* libarchive's skip callback.  It may skip fewer bytes than asked for, as when
   every byte must be hashed: libarchive then reads them. */
static la_int64_t
skip_block(struct archive *a, void *data, la_int64_t n)
{
	struct archive_source *in = data;

	(void)a;
	if (in->hash || n <= 0 || (uint64_t)n > in->size - in->at)
		return 0;
	in->at += (uint64_t)n;
	return n;
}

static int
fail_damaged(const struct archive_source *in, uint64_t offset,
	     const char *reason, struct fail *f)
{
	if (in->failed)
		return -1;
	return fail(f, FAIL_DATA, "%s: byte %ju: %s", in->path,
		    (uintmax_t)offset, reason);
}

static const char *
archive_reason(struct archive *a)
{
	const char *reason = archive_error_string(a);

	return reason ? reason : "no tar archive";
}

/* Return what is wrong with a member: it must be a plain file, with a size that
   the file has room for.  NULL: nothing. */
static const char *
member_error(struct archive_entry *e, uint64_t offset, uint64_t size)
{
	const char *name = archive_entry_pathname(e);

	if (!name || *name == '\0' || strlen(name) > MAX_NAME)
		return "member without a valid name";
	if (archive_entry_filetype(e) != AE_IFREG ||
	    archive_entry_hardlink(e) || archive_entry_symlink(e) ||
	    archive_entry_sparse_count(e) > 0)
		return "member is not a plain file";
	if (!archive_entry_size_is_set(e) || archive_entry_size(e) < 0 ||
	    offset > size ||
	    (uint64_t)archive_entry_size(e) > size - offset)
		return "member is larger than the file; cut short?";
	return NULL;
}

static int
hash_member(struct archive *a, struct tar_member *m)
{
	struct hash *hash = hash_new();
	uint64_t got = 0;
	const void *bytes;
	la_int64_t at;
	size_t n;
	int r;

	while ((r = archive_read_data_block(a, &bytes, &n, &at)) ==
	       ARCHIVE_OK) {
		hash_add(hash, bytes, n);
		got += n;
	}
	hash_text(hash, m->hash);
	hash_free(hash);
	return r == ARCHIVE_EOF && got == m->size ? 0 : -1;
}

static int
read_members(struct tar_index *index, struct archive *a,
	     struct archive_source *in, struct fail *f)
{
	struct archive_entry *e;
	size_t room = 0;
	int r;

	while ((r = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
		const uint64_t start =
			(uint64_t)archive_read_header_position(a);
		const uint64_t offset = (uint64_t)archive_filter_bytes(a, 0);
		const char *reason = member_error(e, offset, in->size);
		struct tar_member *m;

		if (!reason && index->count == MAX_MEMBERS)
			reason = "too many members";
		if (reason)
			return fail_damaged(in, start, reason, f);
		index->member = mem_grow(index->member, index->count, &room,
					 sizeof(*m));
		m = &index->member[index->count++];
		*m = (struct tar_member){
			.name = mem_text(archive_entry_pathname(e)),
			.offset = offset,
			.size = (uint64_t)archive_entry_size(e),
		};
		if (in->hash && hash_member(a, m) < 0)
			return fail_damaged(in, offset, archive_reason(a), f);
	}
	if (r != ARCHIVE_EOF)
		return fail_damaged(in, (uint64_t)archive_filter_bytes(a, 0),
				    archive_reason(a), f);
	return 0;
}

/* Check that the file ends exactly, with zeros, after the last member. */
static int
check_end(const struct tar_index *index, const struct archive_source *in,
	  struct fail *f)
{
	const struct tar_member *last;
	uint64_t end, whole;
	char tail[3 * BLOCK];

	if (index->count == 0)
		return fail_damaged(in, 0, "no tar archive", f);
	last = &index->member[index->count - 1];
	end = last->offset + last->size;
	whole = (end + BLOCK - 1) / BLOCK * BLOCK + 2 * BLOCK;
	if (in->size != whole)
		return fail_damaged(in, in->size < whole ? in->size : whole,
				    in->size < whole ? "cut short" :
				    "bytes behind the end", f);
	if (disk_read_at(in->fd, in->path, tail, (size_t)(whole - end), end,
			 f) < 0)
		return -1;
	for (size_t i = 0; i < whole - end; i++)
		if (tail[i] != 0)
			return fail_damaged(in, end + i, "padding is not zero",
					    f);
	return 0;
}

/* Read the bytes after the archive's end, so that the hash includes them. */
static int
read_rest(struct archive *a, struct archive_source *in)
{
	const void *bytes;

	while (in->at < in->size)
		if (archive_source_read(a, in, &bytes) < 0)
			return -1;
	return 0;
}

int
tar_read(struct tar_index *index, int fd, const char *path, uint64_t size,
	 char *hash, struct fail *f)
{
	struct archive_source *in = mem_alloc(1, sizeof(*in));
	struct archive *a = archive_read_new();
	int r = 0;

	if (!a)
		abort();
	in->fd = fd;
	in->path = path;
	in->size = size;
	in->fail = f;
	in->hash = hash ? hash_new() : NULL;
	archive_read_support_format_tar(a);
	if (archive_read_open2(a, in, NULL, archive_source_read, skip_block,
			       NULL) !=
	    ARCHIVE_OK)
		r = fail_damaged(in, 0, archive_reason(a), f);
	if (r == 0)
		r = read_members(index, a, in, f);
	if (r == 0)
		r = check_end(index, in, f);
	if (r == 0 && hash) {
		r = read_rest(a, in);
		hash_text(in->hash, hash);
	}
	archive_read_free(a);
	hash_free(in->hash);
	free(in);
	return r;
}

void
tar_index_release(struct tar_index *index)
{
	for (size_t i = 0; i < index->count; i++)
		free(index->member[i].name);
	free(index->member);
	*index = (struct tar_index){ 0 };
}
