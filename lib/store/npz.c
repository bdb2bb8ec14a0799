/*
 * npz - arrays in the format of NumPy's savez(): a zip of .npy files.
 */
#include "store/arrays.h"

#include "base/mem.h"
#include "store/archive_source.h"
#include "store/disk.h"
#include "store/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
	struct archive *archive;
	struct disk_file *file;
	struct fail fail;
	bool failed;
};

/* An archive_write_callback that never fails for libarchive; outcome() reports
   the failure.  See tar.c. */
static la_ssize_t
write_block(struct archive *a, void *data, const void *bytes, size_t size)
{
	struct output *o = data;

	(void)a;
	if (!o->failed && disk_write(o->file, bytes, size, &o->fail) < 0)
		o->failed = true;
	return (la_ssize_t)size;
}

static int
outcome(struct output *o, bool well, struct fail *f)
{
	if (o->failed) {
		*f = o->fail;
		return -1;
	}
	return well ? 0 : fail(f, FAIL_IO, "%s: %s", o->file->path,
			       archive_error_string(o->archive));
}

static int
add(void *to, const void *bytes, size_t size, struct fail *f)
{
	struct output *o = to;

	return outcome(o, archive_write_data(o->archive, bytes, size) ==
		       (la_ssize_t)size, f);
}

static int
write_array(struct output *o, const struct arrays_source *source, size_t i,
	    struct fail *f)
{
	const struct arrays_item *item = &source->item[i];
	struct archive_entry *e = archive_entry_new();
	char header[NPY_HEADER_MAX];
	const size_t head = item->numbers ?
		npy_header_numbers(item->shape, header) :
		npy_header(item->shape, header);
	char *name = disk_path("%s.npy", item->name);
	int r;

	archive_entry_set_pathname(e, name);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_mtime(e, tar_time(), 0);
	archive_entry_set_size(e, (la_int64_t)(head +
			       arrays_item_bytes(item) *
			       (uint64_t)shape_size(item->shape)));
	r = archive_write_header(o->archive, e);
	archive_entry_free(e);
	free(name);
	if (outcome(o, r == ARCHIVE_OK, f) < 0 || add(o, header, head, f) < 0)
		return -1;
	return arrays_each(source, i, add, o, f);
}

static int
write_npz(struct disk_file *file, const struct arrays_source *source,
	  struct fail *f)
{
	struct output o = { .archive = archive_write_new(), .file = file };
	int r;

	if (!o.archive)
		abort();
	archive_write_set_format_zip(o.archive);
	archive_write_set_options(o.archive, "zip:compression=store");
	archive_write_set_bytes_per_block(o.archive, 0);
	r = outcome(&o, archive_write_open(o.archive, &o, NULL, write_block,
					   NULL) == ARCHIVE_OK, f);
	for (size_t i = 0; r == 0 && i < source->count; i++)
		r = write_array(&o, source, i, f);
	if (r == 0)
		r = outcome(&o, archive_write_close(o.archive) == ARCHIVE_OK,
			    f);
	o.failed = true;
	archive_write_free(o.archive);
	return r;
}

/* ---- reading ---- */

/* libarchive's seek callback: a zip's directory is at its end. */
static la_int64_t
seek_block(struct archive *a, void *data, la_int64_t offset, int whence)
{
	struct archive_source *in = data;
	const la_int64_t to = offset + (la_int64_t)(whence == SEEK_SET ? 0 :
					whence == SEEK_CUR ? in->at :
					in->size);

	if (to < 0 || (uint64_t)to > in->size) {
		archive_set_error(a, EINVAL, "cut short");
		return ARCHIVE_FATAL;
	}
	in->at = (uint64_t)to;
	return to;
}

static int
fail_zip(struct archive *a, const struct archive_source *in, struct fail *f)
{
	const char *reason = archive_error_string(a);

	if (in->failed)
		return -1;
	return fail(f, FAIL_DATA, "%s: not a zip, or damaged: %s", in->path,
		    reason ? reason : "cut short");
}

static int
fail_member(struct archive *a, const struct archive_source *in,
	    const char *name, struct fail *f)
{
	const char *reason = archive_error_string(a);

	if (in->failed)
		return -1;
	return fail(f, FAIL_DATA, "%s: '%.80s': %s", in->path, name,
		    reason ? reason : "cut short");
}

/* Read up to size bytes, fewer only at the end of the member.  Return their
   number; -1: the member is damaged. */
static la_ssize_t
read_full(struct archive *a, char *bytes, size_t size)
{
	size_t got = 0;

	while (got < size) {
		const la_ssize_t n =
			archive_read_data(a, bytes + got, size - got);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (la_ssize_t)got;
}

/*
 * Convert all numbers of an array into out.  They go through a block of room
 * bytes, whose first held bytes were read with the header.  Return 0 if the
 * member ends exactly there, where libarchive compares its checksum; 1 if it
 * continues; -1 if it is damaged.
 */
static int
read_numbers(struct archive *a, const struct npy *npy, char *block,
	     size_t room, size_t held, bool integers, void *out)
{
	size_t left = shape_size(npy->shape);
	la_ssize_t n;

	while (left > 0) {
		size_t want = room / npy->item;

		if (want > left)
			want = left;
		if (held < want * npy->item) {
			n = read_full(a, block + held,
				      want * npy->item - held);
			if (n < 0 || held + (size_t)n < want * npy->item)
				return -1;
			held = want * npy->item;
		}
		out = arrays_put(npy, block, want, integers, out);
		left -= want;
		held -= want * npy->item;
		memmove(block, block + want * npy->item, held);
	}
	n = held > 0 ? (la_ssize_t)held : read_full(a, block, 1);
	return n > 0 ? 1 : (int)n;
}

/* The most bytes that Deflate can compress into one. */
#define PACKED	1032

static int
read_array(struct archive *a, const struct archive_source *in, char *name,
	   const struct arrays_sink *sink, struct fail *f)
{
	const size_t room = (size_t)1 << 18;
	char *block = mem_alloc(room, 1);
	const la_ssize_t n = read_full(a, block, NPY_HEADER_MAX);
	bool integers = false;
	struct npy npy;
	void *out;
	int r = -1;

	if (n < 0) {
		fail_member(a, in, name, f);
	} else if (npy_read(&npy, block, (size_t)n, f) < 0) {
		fail_at(f, "%s: '%.80s'", in->path, name);
	} else if (shape_size(npy.shape) > in->size * PACKED / npy.item) {
		fail(f, FAIL_DATA, "%s: '%.80s': has more numbers than there "
		     "is room for in the file", in->path, name);
	} else if (!(out = sink->place(sink->data, name, &npy, &integers,
				       f))) {
		fail_at(f, "%s", in->path);
	} else {
		memmove(block, block + npy.offset, (size_t)n - npy.offset);
		r = read_numbers(a, &npy, block, room,
				 (size_t)n - npy.offset, integers, out);
		if (r < 0)
			fail_member(a, in, name, f);
		if (r > 0)
			r = fail(f, FAIL_DATA, "%s: '%.80s': goes on behind "
				 "its numbers", in->path, name);
	}
	free(block);
	return r;
}

static int
read_entry(struct archive *a, struct archive_entry *e,
	   const struct archive_source *in, const struct arrays_sink *sink,
	   struct fail *f)
{
	const char *text = archive_entry_pathname(e);
	const size_t n = text ? strlen(text) : 0;
	char *name;
	int r;

	if (n <= 4 || strcmp(text + n - 4, ".npy") != 0 ||
	    archive_entry_filetype(e) != AE_IFREG)
		return fail(f, FAIL_DATA, "%s: '%.80s' is not a .npy",
			    in->path, text ? text : "");
	name = mem_text_n(text, n - 4);
	r = read_array(a, in, name, sink, f);
	free(name);
	return r;
}

#define LIST_END	22	/* bytes at the end of a zip, before its
				   comment */

/* Is it a zip without members?  numpy.savez() writes one for no arrays, and
   libarchive does not recognize it. */
static bool
has_no_members(int fd, const char *path, uint64_t size)
{
	static const char end[LIST_END - 2] = "PK\5\6";
	unsigned char bytes[LIST_END];
	struct fail ignored;

	return size >= LIST_END && disk_read_at(fd, path, bytes, LIST_END, 0,
						&ignored) == 0 &&
		memcmp(bytes, end, sizeof(end)) == 0 &&
		size == LIST_END + bytes[20] + 256u * bytes[21];
}

/* Read members by the directory at the end of the zip, which a file that was
   cut short does not have. */
static int
read_npz(int fd, const char *path, uint64_t size,
	 const struct arrays_sink *sink, struct fail *f)
{
	struct archive_source *in;
	struct archive *a;
	struct archive_entry *e;
	int r, got = ARCHIVE_OK;

	if (has_no_members(fd, path, size))
		return 0;
	in = mem_alloc(1, sizeof(*in));
	a = archive_read_new();
	if (!a)
		abort();
	in->fd = fd;
	in->path = path;
	in->size = size;
	in->fail = f;
	archive_read_support_format_zip_seekable(a);
	archive_read_set_seek_callback(a, seek_block);
	r = archive_read_open(a, in, NULL, archive_source_read,
			      NULL) == ARCHIVE_OK ?
		0 : fail_zip(a, in, f);
	while (r == 0 &&
	       (got = archive_read_next_header(a, &e)) == ARCHIVE_OK)
		r = read_entry(a, e, in, sink, f);
	if (r == 0 && got != ARCHIVE_EOF)
		r = fail_zip(a, in, f);
	archive_read_free(a);
	free(in);
	return r;
}

const struct arrays_format arrays_npz = {
	.suffix = ".npz", .write = write_npz, .read = read_npz,
};
