#include "store/parts.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/npy.h"
#include "store/tar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *
parts_path(const char *folder, size_t i, size_t n)
{
	return disk_path("%s/shard-%zu-of-%zu.tar", folder, i, n);
}

/* Read the manifest of a part, which is its last member. */
static int
read_manifest(struct manifest_part *m, const struct parts_file *file,
	      const struct tar_index *index, struct fail *f)
{
	const struct tar_member *last = &index->member[index->count - 1];
	char *text;
	int r;

	if (strcmp(last->name, MANIFEST_FILE) != 0 ||
	    last->size > MANIFEST_MAX)
		return fail(f, FAIL_DATA, "%s: byte %ju: '%.80s' is last, "
			    "where a manifest should be", file->path,
			    (uintmax_t)last->offset, last->name);
	text = mem_alloc((size_t)last->size + 1, 1);
	r = disk_read_at(file->fd, file->path, text, (size_t)last->size,
			 last->offset, f);
	if (r == 0 && manifest_part_read(m, text, (size_t)last->size, f) < 0)
		r = fail_at(f, "%s: byte %ju: " MANIFEST_FILE, file->path,
			    (uintmax_t)last->offset);
	free(text);
	return r;
}

/* Check that the header of an array has the type, shape and size that are in
   the manifest. */
static int
check_array(struct manifest_member *m, const struct parts_file *file,
	    struct fail *f)
{
	const struct shape shape = manifest_member_shape(m);
	const bool numbers = manifest_is_number(m->slot);
	const size_t item = numbers ? 8 : 4;
	char header[NPY_HEADER_MAX];
	struct npy npy;
	size_t n = sizeof(header);

	if (n > m->size)
		n = (size_t)m->size;
	if (disk_read_at(file->fd, file->path, header, n, m->offset, f) < 0)
		return -1;
	if (npy_read(&npy, header, n, f) < 0)
		return fail_at(f, "%s: byte %ju", file->path,
			       (uintmax_t)m->offset);
	if (npy.kind != (numbers ? 'u' : 'f') || npy.item != item ||
	    npy.big ||
	    !shape_equal(npy.shape, shape) ||
	    npy.offset + item * (uint64_t)shape_size(shape) != m->size)
		return fail(f, FAIL_DATA, "%s: byte %ju: the array of '%s' "
			    "has another type, shape or size than its "
			    "manifest says", file->path,
			    (uintmax_t)m->offset, m->variable);
	m->numbers = m->offset + npy.offset;
	return 0;
}

static int
check_member(struct manifest_member *m, const struct tar_member *found,
	     const struct parts_file *file, bool verify, struct fail *f)
{
	char *name = manifest_member_file(m);
	const char *reason = NULL;

	if (strcmp(found->name, name) != 0)
		reason = "not the member that the manifest lists here";
	else if (found->size != m->size)
		reason = "not as large as the manifest says";
	else if (verify && strcmp(found->hash, m->hash) != 0)
		reason = "damaged: its hash does not match";
	free(name);
	if (reason)
		return fail(f, FAIL_DATA, "%s: byte %ju: '%.80s': %s",
			    file->path, (uintmax_t)found->offset,
			    found->name, reason);
	m->offset = found->offset;
	m->verified = verify;
	return check_array(m, file, f);
}

static void
move_list(struct manifest_member **to, size_t *count,
	  const struct manifest_member *from, size_t *n)
{
	*to = mem_resize(*to, *count + *n, sizeof(**to));
	if (*n > 0)
		memcpy(*to + *count, from, *n * sizeof(*from));
	*count += *n;
	*n = 0;
}

/* Check a part's members, then move them into the list of all. */
static int
move_members(struct parts *p, struct manifest_part *m,
	     const struct tar_index *index, const struct parts_file *file,
	     bool verify, struct fail *f)
{
	if (m->count != index->count - 1)
		return fail(f, FAIL_DATA, "%s: %zu arrays, its manifest "
			    "lists %zu", file->path, index->count - 1,
			    m->count);
	for (size_t i = 0; i < m->count; i++)
		if (check_member(&m->member[i], &index->member[i], file,
				 verify, f) < 0)
			return -1;
	move_list(&p->member, &p->members, m->member, &m->count);
	move_list(&p->empty, &p->empties, m->empty, &m->empties);
	return 0;
}

static int
open_part(struct parts *p, int folder, size_t i, const char *name,
	  const struct checkpoint_part *vouched, bool verify, struct fail *f)
{
	struct parts_file *file = &p->file[i];
	struct manifest_part m = { 0 };
	struct tar_index index = { 0 };
	char hash[HASH_TEXT];
	uint64_t size;
	int r = -1;

	file->fd = disk_open(folder, file->path, &size, f);
	if (file->fd < 0)
		return -1;
	if (size != vouched->size)
		return fail(f, FAIL_DATA, "%s: byte %ju: %s", file->path,
			    (uintmax_t)(size < vouched->size ? size :
			    vouched->size), size < vouched->size ?
			    "cut short" : "bytes behind the end");
	if (tar_read(&index, file->fd, file->path, size,
		     verify ? hash : NULL, f) < 0 ||
	    read_manifest(&m, file, &index, f) < 0)
		goto out;
	if (strcmp(m.name, name) != 0 || m.part != i || m.parts != p->count) {
		fail(f, FAIL_DATA, "%s: is part %zu of %zu of '%.60s', not "
		     "of this checkpoint", file->path, m.part, m.parts,
		     m.name);
		goto out;
	}
	r = move_members(p, &m, &index, file, verify, f);
	if (r == 0 && verify && strcmp(hash, vouched->hash) != 0)
		r = fail(f, FAIL_DATA, "%s: damaged outside of its arrays: "
			 "the file's hash does not match", file->path);
out:
	manifest_part_release(&m);
	tar_index_release(&index);
	return r;
}

static int
compare(const void *left, const void *right)
{
	const struct manifest_member *a = left, *b = right;
	int r = strcmp(a->variable, b->variable);

	if (r == 0)
		r = strcmp(a->slot, b->slot);
	if (r == 0)
		r = (a->rows.first > b->rows.first) -
		    (a->rows.first < b->rows.first);
	return r;
}

/* Check that each array has all of its rows once, and that the slots of a
   variable have its shape. */
static int
check_rows(const struct parts *p, const char *folder, struct fail *f)
{
	size_t next = 0;

	for (size_t i = 0; i < p->members; i++) {
		const struct manifest_member *m = &p->member[i];
		const struct manifest_member *after =
			i + 1 < p->members ? m + 1 : NULL;

		if (m->rows.first != next)
			return fail(f, FAIL_DATA, "%s: rows %zu to %zu of "
				    "'%s%s%s' are %s", folder,
				    m->rows.first < next ? m->rows.first :
				    next, m->rows.first < next ? next - 1 :
				    m->rows.first - 1, m->variable,
				    *m->slot ? "@" : "", m->slot,
				    m->rows.first < next ? "there twice" :
				    "missing");
		next = m->rows.first + m->rows.count;
		if (after && strcmp(after->variable, m->variable) == 0 &&
		    (manifest_is_number(after->slot) ||
		     manifest_is_number(m->slot) ?
		     shape_rows(after->shape) != shape_rows(m->shape) :
		     !shape_equal(after->shape, m->shape)))
			return fail(f, FAIL_DATA, "%s: '%s' has two shapes",
				    folder, m->variable);
		if (after && strcmp(after->variable, m->variable) == 0 &&
		    strcmp(after->slot, m->slot) == 0)
			continue;
		if (next != shape_rows(m->shape))
			return fail(f, FAIL_DATA, "%s: rows %zu to %zu of "
				    "'%s%s%s' are missing", folder, next,
				    shape_rows(m->shape) - 1, m->variable,
				    *m->slot ? "@" : "", m->slot);
		next = 0;
	}
	return 0;
}

int
parts_open(struct parts *p, int folder, const char *path, const char *name,
	   const struct checkpoint_part *vouched, size_t n, bool verify,
	   struct fail *f)
{
	*p = (struct parts){
		.file = mem_alloc(n, sizeof(*p->file)), .count = n,
	};
	for (size_t i = 0; i < n; i++) {
		p->file[i].fd = -1;
		p->file[i].path = parts_path(path, i, n);
	}
	for (size_t i = 0; i < n; i++)
		if (open_part(p, folder, i, name, &vouched[i], verify,
			      f) < 0)
			return -1;
	if (p->members > 0)
		qsort(p->member, p->members, sizeof(*p->member), compare);
	return check_rows(p, path, f);
}

void
parts_release(struct parts *p)
{
	for (size_t i = 0; i < p->members; i++)
		manifest_member_release(&p->member[i]);
	for (size_t i = 0; i < p->empties; i++)
		manifest_member_release(&p->empty[i]);
	for (size_t i = 0; i < p->count; i++) {
		if (p->file[i].fd >= 0)
			close(p->file[i].fd);
		free(p->file[i].path);
	}
	free(p->member);
	free(p->empty);
	free(p->file);
	*p = (struct parts){ 0 };
}

static int
verify_member(struct manifest_member *m, const struct parts_file *file,
	      struct fail *f)
{
	const size_t room = (size_t)1 << 18;
	char *block = mem_alloc(room, 1), sum[HASH_TEXT];
	struct hash *hash = hash_new();
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < m->size; at += room) {
		const size_t n = m->size - at < room ?
				 (size_t)(m->size - at) : room;

		r = disk_read_at(file->fd, file->path, block, n,
				 m->offset + at, f);
		hash_add(hash, block, n);
	}
	hash_text(hash, sum);
	hash_free(hash);
	free(block);
	if (r == 0 && strcmp(sum, m->hash) != 0)
		r = fail(f, FAIL_DATA, "%s: byte %ju: array of '%s' is "
			 "damaged: its hash does not match", file->path,
			 (uintmax_t)m->offset, m->variable);
	m->verified = r == 0;
	return r;
}

static int
read_rows(const struct parts *p, struct manifest_member *m, struct rows rows,
	  void *out, size_t width, struct fail *f)
{
	const struct parts_file *file = &p->file[m->part];

	if (!m->verified && verify_member(m, file, f) < 0)
		return -1;
	return disk_read_at(file->fd, file->path, out, rows.count * width,
			    m->numbers + rows.first * width, f);
}

int
parts_numbers(const struct parts *p, struct manifest_member *m,
	      struct rows rows, uint64_t *out, struct fail *f)
{
	return read_rows(p, m, rows, out, sizeof(*out), f);
}

int
parts_floats(const struct parts *p, struct manifest_member *m,
	     struct rows rows, float *out, struct fail *f)
{
	uint64_t *number;
	int r;

	if (!manifest_is_number(m->slot))
		return read_rows(p, m, rows, out, shape_width(m->shape) *
				 sizeof(*out), f);
	number = mem_alloc(rows.count, sizeof(*number));
	r = parts_numbers(p, m, rows, number, f);
	for (size_t i = 0; r == 0 && i < rows.count; i++)
		out[i] = (float)number[i];
	free(number);
	return r;
}
