/*
 * The counts of the sampler's splits.  Workers, which can read the files, count
 * the records; the counts are kept as bytes in the journal.
 */
#include "coord/sampler_private.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RECORDS	((uint64_t)1 << 48)

bool
sampler_ready(const struct sampler *l)
{
	return l->known == l->in.count;
}

size_t
sampler_count_next(struct sampler *l)
{
	for (size_t i = 0; i < l->in.count; i++)
		if (l->tally[i].state == COUNT_WANTED) {
			l->tally[i].state = COUNT_ASKED;
			return i;
		}
	return SAMPLER_NONE;
}

void
sampler_count_again(struct sampler *l, size_t split)
{
	if (l->tally[split].state == COUNT_ASKED)
		l->tally[split].state = COUNT_WANTED;
}

struct record_range
sampler_range(const struct sampler *l, size_t split)
{
	const struct split *s = &l->in.split[split];
	const struct split_file *file = &l->in.file[s->file];

	return (struct record_range){ .file = file->name, .label = file->label,
				      .begin = s->begin, .end = s->end,
				      .count = UINT64_MAX };
}

size_t
sampler_file(const struct sampler *l, size_t split)
{
	return l->in.split[split].file;
}

/* All splits are counted: sum up the records, and number those of each file. */
static int
sum_up(struct sampler *l, struct fail *f)
{
	uint64_t in_file = 0;

	l->records = 0;
	for (size_t i = 0; i < l->in.count; i++) {
		const size_t file = l->in.split[i].file;

		if (i == 0 || l->in.split[i - 1].file != file)
			in_file = 0;
		l->tally[i].number = in_file;
		in_file += l->tally[i].records;
		l->records += l->tally[i].records;
		if (in_file == 0 && (i + 1 == l->in.count ||
				     l->in.split[i + 1].file != file))
			return fail(f, FAIL_NOINPUT, "%s: it has no records",
				    l->in.file[file].name);
		if (l->records > MAX_RECORDS)
			return fail(f, FAIL_PROTOCOL, "more records than an "
				    "epoch can have");
	}
	return 0;
}

/* Is there a byte offset for each RECORD_RANGE_EVERY records, in ascending
   order, or none at all?  The numbers come from a worker. */
static bool
sound(uint64_t records, const uint64_t *place, size_t places)
{
	if (records > MAX_RECORDS ||
	    (places > 0 &&
	     places != (records + RECORD_RANGE_EVERY - 1) / RECORD_RANGE_EVERY))
		return false;
	for (size_t i = 1; i < places; i++)
		if (place[i] <= place[i - 1])
			return false;
	return true;
}

int
sampler_counted(struct sampler *l, size_t split, uint64_t records,
		const uint64_t *place, size_t places, struct fail *f)
{
	struct tally *t = &l->tally[split];
	const struct split *s = &l->in.split[split];

	if (t->state != COUNT_ASKED)
		return 0;
	if (!sound(records, place, places) ||
	    (s->end != UINT64_MAX && records > 0 && places == 0))
		return fail(f, FAIL_PROTOCOL, "%s: a worker sent an impossible "
			    "count of its records", l->in.file[s->file].name);
	t->state = COUNT_KNOWN;
	t->records = records;
	t->places = places;
	if (places > 0)
		t->place = mem_copy(place, places * sizeof(*place));
	l->known++;
	return sampler_ready(l) ? sum_up(l, f) : 0;
}

void
sampler_whole(struct sampler *l, size_t split)
{
	const size_t file = l->in.split[split].file;
	bool first = true;

	for (size_t i = 0; i < l->in.count; i++) {
		struct tally *t = &l->tally[i];

		if (l->in.split[i].file != file)
			continue;
		l->known -= t->state == COUNT_KNOWN;
		free(t->place);
		*t = (struct tally){ .state = first ? COUNT_WANTED :
				     COUNT_KNOWN };
		l->known += !first;
		if (first) {
			l->in.split[i].begin = 0;
			l->in.split[i].end = UINT64_MAX;
		}
		first = false;
	}
}

/* ---- as bytes ---- */

void
sampler_write_counts(const struct sampler *l, struct pack *p)
{
	pack_array(p, 9 * l->in.count);
	for (size_t i = 0; i < l->in.count; i++) {
		const struct split *s = &l->in.split[i];
		const struct tally *t = &l->tally[i];
		const struct split_file *file = &l->in.file[s->file];

		pack_text(p, file->name);
		pack_text(p, file->label ? file->label : "");
		pack_uint(p, file->bytes);
		pack_uint(p, file->ends);
		pack_uint(p, s->begin);
		pack_uint(p, s->end);
		pack_uint(p, t->state == COUNT_KNOWN);
		pack_uint(p, t->records);
		pack_blob(p, t->place, t->places * sizeof(*t->place));
	}
}

static bool
same_name(struct unpack *u, const char *name)
{
	size_t size;
	const char *text = unpack_blob(u, &size);

	return !u->bad && strlen(name) == size &&
		memcmp(text, name, size) == 0;
}

int
sampler_fail_other(struct fail *f)
{
	return fail(f, FAIL_CONFIG, "the data are of other files, or were cut "
		    "otherwise: the inputs, their order and --split must be "
		    "as before");
}

/* Read the count of one split; it may be of another one. */
static int
read_count(struct sampler *l, struct unpack *u, size_t i, struct fail *f)
{
	struct split *s = &l->in.split[i];
	const struct split_file *file = &l->in.file[s->file];
	const bool same = same_name(u, file->name);
	const bool label = same_name(u, file->label ? file->label : "");
	const uint64_t bytes = unpack_uint(u), ends = unpack_uint(u);
	const uint64_t begin = unpack_uint(u), end = unpack_uint(u);
	const bool known = unpack_below(u, 2);
	const uint64_t records = unpack_uint(u);
	size_t size;
	const void *place = unpack_blob(u, &size);
	struct fail ignored;

	if (u->bad || !same || !label || size % sizeof(uint64_t) != 0)
		return sampler_fail_other(f);
	if (bytes != file->bytes)
		return fail(f, FAIL_DATA, "%s has %llu bytes, and had %llu "
			    "when its records were counted: a run is resumed "
			    "with the data that it began with", file->name,
			    (unsigned long long)file->bytes,
			    (unsigned long long)bytes);
	if (ends != file->ends)
		return fail(f, FAIL_DATA, "%s has other bytes than when its "
			    "records were counted: a run is resumed with the "
			    "data that it began with", file->name);
	/* When the file was counted, a worker found that it can only be read
	   whole. */
	if (begin == 0 && end == UINT64_MAX && s->end != end)
		sampler_whole(l, i);
	if (!known || l->tally[i].state == COUNT_KNOWN)
		return known == (l->tally[i].state == COUNT_KNOWN) ? 0 :
			sampler_fail_other(f);
	if (begin != s->begin || end != s->end)
		return sampler_fail_other(f);
	l->tally[i].state = COUNT_ASKED;

	/* The blob may lie at any address. */
	uint64_t *copy = mem_alloc(size + 1, 1);

	if (size > 0)
		memcpy(copy, place, size);
	const int got = sampler_counted(l, i, records, copy,
					size / sizeof(*copy), &ignored);

	free(copy);
	return got == 0 ? 0 : sampler_fail_other(f);
}

int
sampler_read_counts(struct sampler *l, const void *data, size_t size,
		    struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	const uint32_t count = unpack_array(&u);
	size_t known = l->in.count, at = 0;

	/* Of the counts of fewer or more splits, those of the same files say
	   which file has changed. */
	for (; at < known && at < count / 9; at++)
		if (read_count(l, &u, at, f) < 0)
			return -1;
	return at == known && count == 9 * known && unpack_ok(&u) ? 0 :
		sampler_fail_other(f);
}
