#include "base/failpoint.h"
#include "base/mem.h"
#include "store/checkpoint.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/npy.h"
#include "store/parts.h"
#include "store/rows.h"
#include "store/tar.h"
#include "tensor/kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void
checkpoint_name(uint64_t step, char name[CHECKPOINT_NAME])
{
	snprintf(name, CHECKPOINT_NAME, "ckpt-%08ju", (uintmax_t)step);
}

/* Append what an array has of one row of a table. */
static void
add_row(const struct checkpoint_array *a, const struct table_walk *at,
	struct text *to)
{
	const uint64_t number = strcmp(a->slot, CHECKPOINT_ID) == 0 ?
		hash_unmix(at->key) : at->update;

	if (manifest_is_number(a->slot))
		text_add_bytes(to, (const char *)&number, sizeof(number));
	else
		text_add_bytes(to, (const char *)(at->row + a->column),
			       shape_width(a->shape) * sizeof(float));
}

#define BLOCK	((size_t)1 << 18)	/* bytes: small enough for a cache, as
					   they are checked, hashed, written */

/*
 * With -fno-trapping-math gcc 12 takes "isfinite(x) || (slot && isinf(x))" for
 * true of a NaN.
 */
bool
checkpoint_sound(const char *slot, float largest)
{
	return *slot ? !isnan(largest) : isfinite(largest);
}

/* Refuse numbers that make a checkpoint useless. */
static int
check_numbers(const struct checkpoint_array *a, const void *x, size_t n,
	      struct fail *f)
{
	const float largest = kernel_largest(x, n);
	const char *name = a->variable;
	struct rows_part part;
	const int length = (int)(a->table && rows_part(&part, name) ?
				 part.table : strlen(name));

	if (checkpoint_sound(a->slot, largest))
		return 0;
	return fail(f, FAIL_DATA, "%.*s%s%s has numbers that are not finite: "
		    "the run has diverged", length, name,
		    *a->slot ? "@" : "", a->slot);
}

static int
write_floats(struct tar_writer *tar, const struct checkpoint_array *a,
	     const void *floats, size_t size, struct fail *f)
{
	const char *at = floats;
	int r = 0;

	for (size_t left = size, some; r == 0 && left > 0; left -= some) {
		some = left < BLOCK ? left : BLOCK;
		r = check_numbers(a, at, some / sizeof(float), f);
		if (r == 0)
			r = tar_add(tar, at, some, f);
		at += some;
	}
	return r;
}

static int
write_block(struct tar_writer *tar, const struct checkpoint_array *a,
	    const struct text *block, struct fail *f)
{
	return manifest_is_number(a->slot) ?
		tar_add(tar, block->data, block->size, f) :
		write_floats(tar, a, block->data, block->size, f);
}

static int
write_rows(struct tar_writer *tar, const struct checkpoint_array *a,
	   struct fail *f)
{
	struct table_walk walk = { 0 };
	struct text block = { 0 };
	size_t rows = 0;
	int r = 0;

	while (r == 0 && table_next(a->table, &walk)) {
		add_row(a, &walk, &block);
		rows++;
		if (block.size < BLOCK)
			continue;
		r = write_block(tar, a, &block, f);
		text_reset(&block);
	}
	if (r == 0 && block.size > 0)
		r = write_block(tar, a, &block, f);
	if (r == 0 && rows != a->rows.count)
		r = fail(f, FAIL_INTERNAL, "'%s': %zu rows are there, not %zu",
			 a->variable, rows, a->rows.count);
	table_walk_release(&walk);
	text_release(&block);
	return r;
}

static int
write_array(struct tar_writer *tar, const struct checkpoint_array *array,
	    struct manifest_member *m, struct fail *f)
{
	const bool numbers = manifest_is_number(m->slot);
	const struct shape shape = manifest_member_shape(m);
	char header[NPY_HEADER_MAX], *file = manifest_member_file(m);
	const size_t head = numbers ? npy_header_numbers(shape, header) :
		npy_header(shape, header);
	int r;

	m->size = head + (numbers ? 8 : 4) * (uint64_t)shape_size(shape);
	r = tar_begin(tar, file, m->size, f);
	free(file);
	if (r == 0)
		r = tar_add(tar, header, head, f);
	for (size_t i = 0; r == 0 && i < array->pieces; i++)
		r = write_floats(tar, array, array->piece[i].data,
				 array->piece[i].count * sizeof(float), f);
	if (r == 0 && array->table)
		r = write_rows(tar, array, f);
	if (r == 0 && array->number)
		r = tar_add(tar, array->number,
			    array->rows.count * sizeof(*array->number), f);
	tar_hash(tar, m->hash);
	return r;
}

static bool
is_empty(const struct checkpoint_array *a)
{
	return a->table && a->rows.count == 0;
}

/* The caller is our own code, but files outlive it: find its mistakes before
   they are written. */
static int
check_arrays(const struct checkpoint_array *array, size_t arrays,
	     struct fail *f)
{
	for (size_t i = 0; i < arrays; i++) {
		const struct checkpoint_array *a = &array[i];
		const size_t rows = shape_rows(a->shape);
		size_t n = 0;

		if (manifest_check_names(a->variable, a->slot, f) < 0)
			return -1;
		if (is_empty(a))
			continue;
		for (size_t k = 0; k < a->pieces; k++)
			n += a->piece[k].count;
		if (!shape_sound(&a->shape) || a->rows.count == 0 ||
		    a->rows.first >= rows ||
		    a->rows.count > rows - a->rows.first ||
		    (!a->table && !a->number &&
		     n != a->rows.count * shape_width(a->shape)) ||
		    (a->number && (!manifest_is_number(a->slot) ||
				   shape_width(a->shape) != 1)))
			return fail(f, FAIL_INTERNAL, "'%s': shape, rows and "
				    "pieces do not fit", a->variable);
	}
	return 0;
}

static int
write_manifest(struct tar_writer *tar, const struct manifest_part *m,
	       struct fail *f)
{
	struct text text = { 0 };
	int r;

	manifest_part_write(m, &text);
	r = tar_begin(tar, MANIFEST_FILE, text.size, f);
	if (r == 0)
		r = tar_add(tar, text.data, text.size, f);
	text_release(&text);
	return r;
}

static int
write_tar(const char *path, struct manifest_part *m,
	  const struct checkpoint_array *array, struct checkpoint_part *part,
	  struct fail *f)
{
	struct tar_writer *tar = tar_create(path, f);
	int r = tar ? 0 : -1;

	for (size_t i = 0; r == 0 && i < m->count; array++)
		if (!is_empty(array))
			r = write_array(tar, array, &m->member[i++], f);
	if (r == 0)
		r = write_manifest(tar, m, f);
	if (r == 0)
		return tar_commit(tar, &part->size, part->hash, f);
	tar_abandon(tar);
	return -1;
}

int
checkpoint_write_part(const char *dir, const char *name, size_t i, size_t n,
		      const struct checkpoint_array *array, size_t arrays,
		      struct checkpoint_part *part, struct fail *f)
{
	char *folder, *path;
	int r;

	/* A name may come from a peer. */
	if (!manifest_sound_name(name) || i >= n || n > MANIFEST_PARTS)
		return fail(f, FAIL_DATA, "'%.80s', part %zu of %zu, is not a "
			    "checkpoint's name", name, i, n);
	if (check_arrays(array, arrays, f) < 0)
		return -1;

	struct manifest_part m = {
		.name = mem_text(name), .part = i, .parts = n,
		.member = mem_alloc(arrays, sizeof(*m.member)),
		.empty = mem_alloc(arrays, sizeof(*m.empty)),
	};

	for (size_t k = 0; k < arrays; k++)
		*(is_empty(&array[k]) ? &m.empty[m.empties++] :
		  &m.member[m.count++]) = (struct manifest_member){
			.variable = mem_text(array[k].variable),
			.slot = mem_text(array[k].slot),
			.shape = array[k].shape,
			.rows = array[k].rows,
			.updates = array[k].updates,
			.since = array[k].since, .begun = array[k].begun,
		};
	folder = disk_path("%s/" DISK_TEMP "%s", dir, name);
	path = parts_path(folder, i, n);
	r = disk_make_folder(dir, f);
	if (r == 0)
		r = disk_make_folder(folder, f);
	if (r == 0)
		r = write_tar(path, &m, array, part, f);
	free(path);
	free(folder);
	manifest_part_release(&m);
	return r;
}

static void
write_time(char time_text[32])
{
	const time_t now = getenv("SOURCE_DATE_EPOCH") ?
			   (time_t)tar_time() : time(NULL);
	struct tm tm;

	strftime(time_text, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

/*
 * Rename a finished folder.  A run that was restored from an earlier step comes
 * to the same step again, and replaces the checkpoint there, in one step if the
 * file system can exchange names.
 */
static int
publish_folder(const char *dir, const char *from, const char *name,
	       struct fail *f)
{
	char *to = disk_path("%s/%s", dir, name);
	char *old = disk_path("%s/" DISK_TEMP "old-%s", dir, name);
	int r = 0;

	/* An interrupted removal may have left a folder of this name. */
	if (failpoint("publish-rename", f) < 0 ||
	    disk_remove_folder(old, f) < 0)
		r = -1;
	else if (rename(from, to) < 0) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			r = fail_sys(f, FAIL_CREATE, "cannot create %s", to);
		else if (renameat2(AT_FDCWD, from, AT_FDCWD, to,
				   RENAME_EXCHANGE) == 0)
			rename(from, old);
		else if (rename(to, old) < 0 || rename(from, to) < 0)
			r = fail_sys(f, FAIL_CREATE, "cannot replace %s", to);
	}
	if (r == 0)
		r = failpoint("publish-renamed", f);
	if (r == 0)
		r = disk_sync_folder(dir, f);
	if (r == 0)
		r = disk_remove_folder(old, f);
	free(old);
	free(to);
	return r;
}

static int
write_text(const char *folder, const struct text *text, struct fail *f)
{
	char *path = disk_path("%s/" MANIFEST_FILE, folder);
	struct disk_file file;
	int r = disk_create(&file, path, f);

	if (r == 0)
		r = disk_write(&file, text->data, text->size, f);
	if (r == 0)
		r = disk_commit(&file, f);
	disk_abandon(&file);
	free(path);
	return r;
}

/* Find the checkpoint before this one.  It may be pruned later; then readers
   that follow the folder know that they have missed it. */
static void
find_previous(const char *dir, struct checkpoint_info *info)
{
	struct checkpoint_list list = { 0 };
	struct fail f;

	info->has_previous = false;
	if (checkpoint_list(&list, dir, &f) < 0)
		return;
	for (size_t i = 0; i < list.count && list.step[i] < info->step; i++) {
		info->has_previous = true;
		info->previous = list.step[i];
	}
	checkpoint_list_free(&list);
}

int
checkpoint_publish(const char *dir, const char *name,
		   const struct checkpoint_info *info,
		   const struct model_source *model,
		   const struct checkpoint_part *part, size_t n,
		   struct fail *f)
{
	char *folder = disk_path("%s/" DISK_TEMP "%s", dir, name);
	char *copy = mem_text(name);
	/* All pointers are borrowed: m is never released. */
	struct manifest m = {
		.name = copy, .info = *info, .model = *model,
		.part = (struct checkpoint_part *)part, .parts = n,
	};
	struct parts parts = { 0 };
	struct text text = { 0 };
	int fd = disk_open_folder(folder, f);
	int r = fd < 0 ? -1 : parts_open(&parts, fd, folder, name, part, n,
					 false, f);

	if (fd >= 0)
		close(fd);
	if (*m.info.time == '\0')
		write_time(m.info.time);
	find_previous(dir, &m.info);
	if (r == 0) {
		manifest_write(&m, parts.member, parts.members, &text);
		if (text.size > MANIFEST_MAX)
			r = fail(f, FAIL_DATA, "%s: the model and what it "
				 "names are too large for a checkpoint",
				 name);
	}
	if (r == 0)
		r = failpoint("publish-manifest", f);
	if (r == 0)
		r = write_text(folder, &text, f);
	if (r == 0)
		r = publish_folder(dir, folder, name, f);
	text_release(&text);
	parts_release(&parts);
	free(copy);
	free(folder);
	return r;
}

/* The new manifest is written beside the old one, and renamed: at any time the
   checkpoint has one. */
int
checkpoint_finish(const char *dir, const char *name, struct fail *f)
{
	char *folder = disk_path("%s/%s", dir, name);
	struct manifest m = { 0 };
	struct parts parts = { 0 };
	struct text text = { 0 };
	const int fd = disk_open_folder(folder, f);
	int r = fd < 0 ? -1 : manifest_load(&m, fd, folder, f);

	if (r == 0)
		r = parts_open(&parts, fd, folder, name, m.part, m.parts,
			       false, f);
	if (fd >= 0)
		close(fd);
	if (r == 0) {
		m.info.final = true;
		manifest_write(&m, parts.member, parts.members, &text);
		r = write_text(folder, &text, f);
	}
	text_release(&text);
	parts_release(&parts);
	manifest_release(&m);
	free(folder);
	return r;
}
