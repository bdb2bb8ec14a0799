#include "store/checkpoint.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often to open a checkpoint that is replaced while it is opened. */
#define LOOKS	8

struct checkpoint {
	char *path, *folder;
	struct manifest manifest;
	struct parts parts;
	struct checkpoint_entry *entry;
	size_t *first;			/* for each entry: its first member */
	size_t entries;
	struct checkpoint_entry *empty;
};

/* Make an entry for each array, whose members stand side by side. */
static void
index_entries(struct checkpoint *c)
{
	const struct parts *p = &c->parts;
	size_t room = 0, room_first = 0;

	for (size_t i = 0; i < p->members; i++) {
		const struct manifest_member *m = &p->member[i];
		struct checkpoint_entry *e = c->entries > 0 ?
			&c->entry[c->entries - 1] : NULL;

		if (!e || strcmp(e->variable, m->variable) != 0 ||
		    strcmp(e->slot, m->slot) != 0) {
			c->entry = mem_grow(c->entry, c->entries, &room,
					    sizeof(*c->entry));
			c->first = mem_grow(c->first, c->entries,
					    &room_first, sizeof(*c->first));
			c->first[c->entries] = i;
			e = &c->entry[c->entries++];
			*e = (struct checkpoint_entry){
				.variable = m->variable, .slot = m->slot,
				.shape = m->shape,
			};
		}
		e->shards++;
		if (e->updates < m->updates)
			e->updates = m->updates;
		if (e->since < m->since)
			e->since = m->since;
		e->begun = m->begun;
	}
	c->empty = mem_alloc(p->empties, sizeof(*c->empty));
	for (size_t i = 0; i < p->empties; i++)
		c->empty[i] = (struct checkpoint_entry){
			.variable = p->empty[i].variable, .slot = "",
			.updates = p->empty[i].updates,
			.since = p->empty[i].since, .begun = p->empty[i].begun,
		};
}

/* Return "ckpt-00000300" for "DIR/ckpt-00000300/"; made for a path without a
   name. */
static char *
last_component(const char *path, const char *made)
{
	char *name = disk_base(path);

	if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return name;
	free(name);
	return mem_text(made);
}

/* Does another folder have this path by now? */
static bool
was_replaced(const char *path, int folder)
{
	struct stat ours, now;

	return fstat(folder, &ours) == 0 && stat(path, &now) == 0 &&
	       (ours.st_ino != now.st_ino || ours.st_dev != now.st_dev);
}

/*
 * Open a checkpoint.  All files are opened in one folder, so those of another
 * checkpoint, which takes its name meanwhile, are never mixed in.  But the old
 * files may then be removed before they are opened: *again is set, and the new
 * checkpoint can be opened.
 */
static struct checkpoint *
try_to_open(const char *path, bool verify, bool *again, struct fail *f)
{
	const int folder = disk_open_folder(path, f);
	struct checkpoint *c;
	const struct manifest *m;
	int r;

	*again = false;
	if (folder < 0)
		return NULL;
	c = mem_alloc(1, sizeof(*c));
	m = &c->manifest;
	c->path = mem_text(path);
	r = manifest_load(&c->manifest, folder, path, f);
	if (r == 0)
		r = parts_open(&c->parts, folder, path, m->name, m->part,
			       m->parts, verify, f);
	*again = r < 0 && was_replaced(path, folder);
	close(folder);
	if (r == 0 && !manifest_agrees(m, c->parts.member, c->parts.members))
		r = fail(f, FAIL_DATA, "%s/" MANIFEST_FILE ": lists other "
			 "variables than the parts hold", path);
	if (r < 0) {
		checkpoint_close(c);
		return NULL;
	}
	c->folder = last_component(path, m->name);
	index_entries(c);
	return c;
}

struct checkpoint *
checkpoint_open(const char *path, bool verify, struct fail *f)
{
	struct checkpoint *c = NULL;
	bool again = true;

	for (int i = 0; i < LOOKS && !c && again; i++)
		c = try_to_open(path, verify, &again, f);
	return c;
}

void
checkpoint_close(struct checkpoint *c)
{
	if (!c)
		return;
	parts_release(&c->parts);
	manifest_release(&c->manifest);
	free(c->entry);
	free(c->empty);
	free(c->first);
	free(c->folder);
	free(c->path);
	free(c);
}

const struct checkpoint_info *
checkpoint_info(const struct checkpoint *c)
{
	return &c->manifest.info;
}

const struct model_source *
checkpoint_model(const struct checkpoint *c)
{
	return &c->manifest.model;
}

const char *
checkpoint_path(const struct checkpoint *c)
{
	return c->path;
}

const char *
checkpoint_folder(const struct checkpoint *c)
{
	return c->folder;
}

uint64_t
checkpoint_size(const struct checkpoint *c)
{
	uint64_t size = 0;

	for (size_t i = 0; i < c->manifest.parts; i++)
		size += c->manifest.part[i].size;
	return size;
}

const struct checkpoint_entry *
checkpoint_entries(const struct checkpoint *c, size_t *count)
{
	*count = c->entries;
	return c->entry;
}

const struct checkpoint_entry *
checkpoint_empty(const struct checkpoint *c, size_t *count)
{
	*count = c->parts.empties;
	return c->empty;
}

const struct checkpoint_entry *
checkpoint_find(const struct checkpoint *c, const char *variable,
		const char *slot)
{
	size_t low = 0, high = c->entries;

	while (low < high) {
		const size_t i = low + (high - low) / 2;
		int r = strcmp(variable, c->entry[i].variable);

		if (r == 0)
			r = strcmp(slot, c->entry[i].slot);
		if (r == 0)
			return &c->entry[i];
		if (r < 0)
			high = i;
		else
			low = i + 1;
	}
	return NULL;
}

/* Only hashed tables have slots of numbers, and an array of theirs is never cut
   into shards. */
int
checkpoint_numbers(struct checkpoint *c, const char *variable,
		   const char *slot, struct rows rows, uint64_t *out,
		   struct fail *f)
{
	const struct checkpoint_entry *e = checkpoint_find(c, variable, slot);

	if (!e || e->shards != 1 || shape_width(e->shape) != 1 ||
	    rows.first > shape_rows(e->shape) ||
	    rows.count > shape_rows(e->shape) - rows.first)
		return fail(f, FAIL_DATA, "%s: '%s' has no %s for each row",
			    c->path, variable, slot);
	return parts_numbers(&c->parts, &c->parts.member[c->first[e -
			     c->entry]], rows, out, f);
}

static int
read_rows(struct checkpoint *c, const struct checkpoint_entry *e,
	  struct rows want, float *out, uint64_t *updates, struct fail *f)
{
	const size_t first = c->first[e - c->entry];
	const size_t end = want.first + want.count;
	const size_t width = shape_width(e->shape);

	*updates = 0;
	for (size_t i = first; i < first + e->shards; i++) {
		struct manifest_member *m = &c->parts.member[i];
		const size_t last = m->rows.first + m->rows.count;
		const size_t from = want.first > m->rows.first ?
				    want.first : m->rows.first;
		const size_t to = end < last ? end : last;

		if (from >= to)
			continue;
		if (parts_floats(&c->parts, m, (struct rows){
				 from - m->rows.first, to - from },
				 out + (from - want.first) * width, f) < 0)
			return -1;
		if (*updates < m->updates)
			*updates = m->updates;
	}
	return 0;
}

int
checkpoint_read(struct checkpoint *c, const char *variable, const char *slot,
		struct shape shape, struct rows rows, float *out,
		uint64_t *updates, struct fail *f)
{
	const struct checkpoint_entry *e = checkpoint_find(c, variable, slot);
	char here[SHAPE_TEXT], wanted[SHAPE_TEXT];
	uint64_t ignored;

	if (!e)
		return fail(f, FAIL_DATA, "%s: holds no '%s%s%s'", c->path,
			    variable, *slot ? "@" : "", slot);
	if (!shape_equal(e->shape, shape))
		return fail(f, FAIL_DATA, "%s: '%s%s%s' has shape %s, not %s",
			    c->path, variable, *slot ? "@" : "", slot,
			    shape_text(e->shape, here),
			    shape_text(shape, wanted));
	if (rows.first > shape_rows(shape) ||
	    rows.count > shape_rows(shape) - rows.first)
		return fail(f, FAIL_INTERNAL, "'%s' has no rows %zu to %zu",
			    variable, rows.first,
			    rows.first + rows.count - 1);
	return read_rows(c, e, rows, out, updates ? updates : &ignored, f);
}
