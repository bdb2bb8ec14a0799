#include "coord/samplers.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct one {
	struct sampler *sampler;
	size_t dataset;
	bool ends;
};

struct samplers {
	const struct model *model;
	uint64_t replicas, datasets;
	struct one of[SAMPLERS];
	size_t count;
};

/* ---- places ---- */

struct places
places_none(void)
{
	struct places p = { .batches = 0 };

	for (size_t i = 0; i < SAMPLERS; i++)
		p.first[i] = PLACES_NONE;
	return p;
}

struct places
places_behind(const struct places *p, uint64_t steps)
{
	struct places behind = *p;

	for (size_t i = 0; i < SAMPLERS; i++)
		if (p->first[i] != PLACES_NONE)
			behind.first[i] += steps * p->batches;
	return behind;
}

bool
places_follow(const struct places *p, uint64_t steps, const struct places *q)
{
	const struct places behind = places_behind(p, steps);

	return memcmp(&behind, q, sizeof(behind)) == 0;
}

/* PLACES_NONE becomes 0, and those at the end are left out, so that a record is
   short. */
void
places_write(const struct places *p, struct pack *out)
{
	size_t count = SAMPLERS;

	while (count > 0 && p->first[count - 1] == PLACES_NONE)
		count--;
	pack_uint(out, p->batches);
	pack_uint(out, count);
	for (size_t i = 0; i < count; i++)
		pack_uint(out, p->first[i] + 1);
}

struct places
places_read(struct unpack *in)
{
	struct places p = places_none();
	uint64_t count;

	p.batches = unpack_uint(in);
	count = unpack_below(in, SAMPLERS + 1);
	for (uint64_t i = 0; i < count && !in->bad; i++)
		p.first[i] = unpack_uint(in) - 1;
	return p;
}

/* ---- samplers ---- */

struct samplers *
samplers_new(const struct model *model, uint64_t replicas)
{
	struct samplers *s = mem_alloc(1, sizeof(*s));

	s->model = model;
	s->replicas = replicas > 0 ? replicas : 1;
	return s;
}

void
samplers_free(struct samplers *s)
{
	for (size_t i = 0; s && i < s->count; i++)
		sampler_free(s->of[i].sampler);
	free(s);
}

void
samplers_add(struct samplers *s, struct sampler *sampler, size_t dataset,
	     bool ends)
{
	assert(s->count < SAMPLERS);
	s->of[s->count++] = (struct one){ sampler, dataset, ends };
	s->datasets |= UINT64_C(1) << dataset;
}

size_t
samplers_count(const struct samplers *s)
{
	return s->count;
}

struct sampler *
samplers_get(const struct samplers *s, size_t i)
{
	return s->of[i].sampler;
}

size_t
samplers_dataset(const struct samplers *s, size_t i)
{
	return s->of[i].dataset;
}

const char *
samplers_name(const struct samplers *s, size_t i)
{
	return s->model ? model_dataset(s->model, s->of[i].dataset).name : "";
}

uint64_t
samplers_datasets(const struct samplers *s)
{
	return s->datasets;
}

size_t
samplers_find(const struct samplers *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(samplers_name(s, i), name) == 0)
			return i;
	return SAMPLER_NONE;
}

bool
samplers_ready(const struct samplers *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!sampler_ready(s->of[i].sampler))
			return false;
	return true;
}

/* ---- the steps of a line ---- */

/* The step line of this name.  A name that the model lacks gives the first
   line: the request is refused elsewhere. */
static size_t
find_line(const struct samplers *s, const char *step)
{
	size_t line;

	return model_find_step(s->model, step, &line) ? line : 0;
}

uint64_t
samplers_taken(const struct samplers *s, const char *step)
{
	const uint64_t reads = s->model ?
		model_reads(s->model, find_line(s, step)) : UINT64_MAX;
	uint64_t taken = 0;

	for (size_t i = 0; i < s->count; i++)
		taken |= (reads >> s->of[i].dataset & 1) << i;
	return taken;
}

/* The sampler whose records the result of a step counts as examples; SAMPLERS:
   that data set has no sampler. */
static size_t
find_counted(const struct samplers *s, const char *step)
{
	const size_t dataset = s->model ?
		model_reads_first(s->model, find_line(s, step)) : 0;
	size_t i = 0;

	while (i < s->count && s->of[i].dataset != dataset)
		i++;
	return i < s->count ? i : SAMPLERS;
}

size_t
samplers_first(const struct samplers *s, const char *step)
{
	const uint64_t taken = samplers_taken(s, step);
	size_t first = find_counted(s, step);

	if (first == SAMPLERS)
		for (first = 0; first + 1 < s->count && !(taken >> first & 1);)
			first++;
	return first;
}

struct places
samplers_take(struct samplers *s, const char *step, uint64_t streams)
{
	const uint64_t taken = samplers_taken(s, step);
	struct places p = places_none();
	uint64_t count;

	p.batches = s->replicas;
	for (size_t i = 0; i < s->count; i++) {
		if (!(taken >> i & 1))
			continue;
		sampler_row(s->of[i].sampler, &(struct sampler_cursor){ 0 },
			    &count);
		if (count < p.batches)
			p.batches = count;
	}
	for (size_t i = 0; i < s->count; i++)
		if (taken >> i & 1)
			p.first[i] = sampler_take(s->of[i].sampler, p.batches,
						  streams);
	return p;
}

void
samplers_return(struct samplers *s, const struct places *p)
{
	for (size_t i = 0; i < s->count; i++)
		if (p->first[i] != PLACES_NONE)
			sampler_return(s->of[i].sampler, p->first[i],
				       p->batches);
}

/* The length of the shortest row at the cursors of the samplers that are taken;
   0: the epoch that is asked about is over there. */
static uint64_t
shortest(const struct samplers *s, uint64_t taken, size_t counted,
	 const struct sampler_cursor *at)
{
	uint64_t least = UINT64_MAX, count;

	for (size_t i = 0; i < s->count; i++) {
		const struct sampler *l = s->of[i].sampler;
		uint64_t place;

		if (!(taken >> i & 1))
			continue;
		place = sampler_row(l, &at[i], &count);
		if ((i == counted || s->of[i].ends) &&
		    sampler_epoch(l, place) > sampler_now(l))
			return 0;
		least = count < least ? count : least;
	}
	return least;
}

uint64_t
samplers_left(const struct samplers *s, const char *step, size_t counted)
{
	const uint64_t taken = samplers_taken(s, step);
	struct sampler_cursor at[SAMPLERS] = { { 0 } };
	uint64_t steps = 0, row;

	assert(taken >> counted & 1);
	while ((row = shortest(s, taken, counted, at)) > 0) {
		const uint64_t full = row / s->replicas;

		if (full > 0)
			row = full * s->replicas;
		steps += full > 0 ? full : 1;
		for (size_t i = 0; i < s->count; i++)
			if (taken >> i & 1)
				sampler_pass(s->of[i].sampler, &at[i], row);
	}
	return steps;
}

/* ---- places in them ---- */

uint64_t
samplers_run(const struct samplers *s, const struct places *p)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->count; i++) {
		const uint64_t run = p->first[i] == PLACES_NONE ? least :
			sampler_run(s->of[i].sampler, p->first[i]);

		least = run < least ? run : least;
	}
	return least;
}

uint64_t
samplers_stream(const struct samplers *s, const struct places *p)
{
	size_t i = 0;

	while (i + 1 < s->count && p->first[i] == PLACES_NONE)
		i++;
	return p->first[i] == PLACES_NONE ? 0 :
		sampler_stream(s->of[i].sampler, p->first[i]);
}

uint64_t
samplers_streams(const struct samplers *s)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sampler *l = s->of[i].sampler;
		const uint64_t streams = sampler_streams(l,
			sampler_now(l) * sampler_batches(l));

		most = streams > most ? streams : most;
	}
	return most;
}

struct samplers_reads
samplers_reads(const struct samplers *s)
{
	struct samplers_reads v = { { { 0 } } };

	for (size_t i = 0; i < s->count; i++)
		v.of[i] = sampler_reads(s->of[i].sampler);
	return v;
}

static uint64_t
count_records(const struct sampler *l, uint64_t first, uint64_t batches)
{
	struct slice slice;
	uint64_t records = 0;

	for (uint64_t k = 0; k < batches; k++) {
		sampler_slice(l, first + k, &slice);
		records += slice.count;
	}
	return records;
}

void
samplers_add_read(struct samplers *s, struct samplers_reads *v,
		  const struct places *p, const char *step, uint64_t examples)
{
	const size_t counted = find_counted(s, step);

	for (size_t i = 0; i < s->count; i++) {
		struct sampler *l = s->of[i].sampler;
		uint64_t records = examples;

		if (p->first[i] == PLACES_NONE)
			continue;
		if (i != counted)
			records = count_records(l, p->first[i], p->batches);
		if (v)
			sampler_reads_add(l, &v->of[i], p->first[i], records);
		else
			sampler_add_read(l, p->first[i], records);
	}
}

/* ---- as bytes ---- */

void
samplers_write_counts(const struct samplers *s, struct pack *out)
{
	struct pack part = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		pack_reset(&part);
		sampler_write_counts(s->of[i].sampler, &part);
		pack_blob(out, part.data, part.size);
	}
	pack_release(&part);
}

int
samplers_read_counts(struct samplers *s, struct unpack *in, struct fail *f)
{
	int got = 0;

	for (size_t i = 0; i < s->count && got == 0; i++) {
		size_t size;
		const void *part = unpack_blob(in, &size);

		got = in->bad ? -1 : sampler_read_counts(s->of[i].sampler,
							 part, size, f);
	}
	return got;
}

void
samplers_write_position(const struct samplers *s, struct pack *out, bool all)
{
	struct pack part = { 0 };

	pack_array(out, 2 * s->count);
	for (size_t i = 0; i < s->count; i++) {
		pack_reset(&part);
		sampler_write_position(s->of[i].sampler, &part, all);
		pack_text(out, samplers_name(s, i));
		pack_blob(out, part.data, part.size);
	}
	pack_release(&part);
}

void
samplers_copy_position(const struct pack *from, const struct samplers_reads *v,
		       struct pack *to)
{
	struct unpack u = unpack_from(from->data, from->size);
	const uint32_t count = unpack_array(&u);
	size_t size;

	pack_array(to, count);
	for (uint32_t i = 0; i < count / 2; i++) {
		const void *name = unpack_blob(&u, &size);
		struct pack was = { 0 }, part = { 0 };

		pack_blob(to, name, size);
		was.data = (unsigned char *)(uintptr_t)
			unpack_blob(&u, &was.size);
		sampler_copy_position(&was, &v->of[i], &part);
		pack_blob(to, part.data, part.size);
		pack_release(&part);
	}
}

/* Read the position of one data set, which must have this one's name. */
static int
read_position(struct samplers *s, size_t i, struct unpack *in, struct fail *f)
{
	size_t size, length;
	const char *name = unpack_blob(in, &length);
	const void *part = unpack_blob(in, &size);

	if (in->bad || strlen(samplers_name(s, i)) != length ||
	    memcmp(name, samplers_name(s, i), length) != 0)
		return fail(f, FAIL_CONFIG, "the data sets are not the same as "
			    "before");
	return sampler_read_position(s->of[i].sampler, part, size, false, f);
}

int
samplers_read_position(struct samplers *s, const void *data, size_t size,
		       struct fail *f)
{
	struct unpack u = unpack_from(data, size), old = u;
	const uint64_t count = unpack_array(&u);
	int got = 0;

	/* Old releases had one data set: its position has no name and begins
	   with a number. */
	unpack_array(&old);
	unpack_uint(&old);
	if (!old.bad && s->count == 1)
		return sampler_read_position(s->of[0].sampler, data, size,
					     true, f);
	if (u.bad || count != 2 * s->count)
		return fail(f, FAIL_CONFIG, "the data sets are not the same as "
			    "before");
	for (size_t i = 0; i < s->count && got == 0; i++)
		got = read_position(s, i, &u, f);
	if (got == 0 && !unpack_ok(&u))
		return fail(f, FAIL_DATA, "a malformed position in the data");
	return got;
}
