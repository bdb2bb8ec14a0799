#include "coord/sampler_private.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_OF_RNG	0x6c6564676572u		/* "sampler" */

struct sampler *
sampler_new(const struct sampler_options *o, struct splits *in)
{
	struct sampler *l = mem_alloc(1, sizeof(*l));

	l->o = *o;
	if (l->o.replicas == 0)
		l->o.replicas = 1;
	if (l->o.unit == 0 || l->o.replicas > 1)
		l->o.unit = 1;
	/* Round the buffer up, so that a block is a number of whole batches. */
	if (l->o.buffer < l->o.batch)
		l->o.buffer = l->o.batch;
	l->o.buffer += l->o.batch - 1;
	l->o.buffer -= l->o.buffer % l->o.batch;
	l->in = *in;
	*in = (struct splits){ 0 };
	l->tally = mem_alloc(l->in.count, sizeof(*l->tally));
	l->order[0].epoch = l->order[1].epoch = UINT64_MAX;
	return l;
}

void
sampler_free(struct sampler *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->in.count; i++)
		free(l->tally[i].place);
	for (size_t i = 0; i < 2; i++) {
		free(l->order[i].split);
		free(l->order[i].start);
	}
	free(l->tally);
	free(l->since);
	ranges_release(&l->returned);
	splits_release(&l->in);
	free(l);
}

/* ---- arithmetic ---- */

uint64_t
sampler_batches(const struct sampler *l)
{
	return (l->records + l->o.batch - 1) / l->o.batch;
}

uint64_t
sampler_records(const struct sampler *l)
{
	return l->records;
}

uint64_t
sampler_batch(const struct sampler *l)
{
	return l->o.batch;
}

void
sampler_write_files(const struct sampler *l, struct pack *p)
{
	size_t count = l->in.files;

	for (size_t i = 0; i < l->in.files; i++)
		count += l->in.file[i].label != NULL;
	pack_array(p, count);
	for (size_t i = 0; i < l->in.files; i++) {
		pack_text(p, l->in.file[i].name);
		if (l->in.file[i].label)
			pack_text(p, l->in.file[i].label);
	}
}

uint64_t
sampler_epoch(const struct sampler *l, uint64_t place)
{
	return place / sampler_batches(l);
}

/* Where a batch lies in its epoch. */
struct spot {
	uint64_t streams, unit, units;	/* of the epoch: the number of streams,
					   batches of a unit, units */
	uint64_t stream, at;	/* it is batch number at of this stream */
};

static struct spot
find(const struct sampler *l, uint64_t place)
{
	const uint64_t epoch = sampler_epoch(l, place);
	const uint64_t batch = place % sampler_batches(l);
	struct spot s = { .streams = 1, .unit = l->o.unit };
	size_t i = l->sinces;

	while (i > 0 && l->since[i - 1].epoch > epoch)
		i--;
	if (i > 0) {
		s.streams = l->since[i - 1].streams;
		s.unit = l->since[i - 1].unit;
	}
	if (l->o.replicas > 1)
		s.streams = l->o.replicas;
	s.units = (sampler_batches(l) + s.unit - 1) / s.unit;
	if (s.streams > s.units)
		s.streams = s.units;
	s.stream = batch / s.unit % s.streams;
	s.at = batch / s.unit / s.streams * s.unit + batch % s.unit;
	return s;
}

/*
 * The number of records that lie before a stream in the epoch's order.  Streams
 * lie by rank, not by number: those with one unit less come first, those with
 * one more behind them, and the one with the epoch's last batch, which may be
 * short, is the last of all.
 */
static uint64_t
records_before(const struct sampler *l, const struct spot *s, uint64_t rank)
{
	const uint64_t more = s->units % s->streams, less = s->streams - more;
	const uint64_t units = rank * (s->units / s->streams) +
		(rank > less ? rank - less : 0);
	const uint64_t records = units * s->unit * l->o.batch;

	return records < l->records ? records : l->records;
}

void
sampler_slice(const struct sampler *l, uint64_t place, struct slice *to)
{
	const struct spot s = find(l, place);
	const uint64_t last = (s.units - 1) % s.streams;
	const uint64_t rank = (s.stream + s.streams - 1 - last) % s.streams;
	const uint64_t first = records_before(l, &s, rank);
	const uint64_t end = records_before(l, &s, rank + 1);
	const uint64_t in_block = l->o.buffer / l->o.batch;

	*to = (struct slice){ .epoch = sampler_epoch(l, place),
			      .stream = s.stream };
	to->first = first + s.at / in_block * l->o.buffer;
	to->size = end - to->first < l->o.buffer ? end - to->first :
		l->o.buffer;
	to->from = s.at % in_block * l->o.batch;
	to->count = to->size - to->from < l->o.batch ? to->size - to->from :
		l->o.batch;
}

uint64_t
sampler_stream(const struct sampler *l, uint64_t place)
{
	return l->o.replicas > 1 ? 0 : find(l, place).stream;
}

uint64_t
sampler_streams(const struct sampler *l, uint64_t place)
{
	return l->o.replicas > 1 ? 1 : find(l, place).streams;
}

uint64_t
sampler_run(const struct sampler *l, uint64_t place)
{
	const uint64_t batch = place % sampler_batches(l);
	const uint64_t left = sampler_batches(l) - batch;
	const struct spot s = find(l, place);
	const uint64_t in_block = l->o.buffer / l->o.batch;
	uint64_t run = s.unit - batch % s.unit;

	if (l->o.replicas > 1)
		return 1;
	if (run > in_block - s.at % in_block)
		run = in_block - s.at % in_block;
	return run < left ? run : left;
}

/* ---- blocks ---- */

static uint64_t
seed_of(const struct sampler *l, uint64_t epoch)
{
	return rng_at(l->o.seed, STREAM_OF_RNG, epoch);
}

static void
plan_epoch(const struct sampler *l, struct order *o, uint64_t epoch)
{
	size_t *all = mem_alloc(l->in.count, sizeof(*all));
	uint64_t end = 0;

	free(o->split);
	free(o->start);
	o->epoch = epoch;
	o->split = mem_alloc(l->in.count, sizeof(*o->split));
	o->start = mem_alloc(l->in.count + 1, sizeof(*o->start));
	o->count = 0;
	block_order(l->o.shuffle ? seed_of(l, epoch) >> 1 : BLOCK_IN_ORDER,
		    all, l->in.count);
	for (size_t i = 0; i < l->in.count; i++) {
		if (l->tally[all[i]].records == 0)
			continue;
		o->split[o->count] = all[i];
		o->start[o->count++] = end;
		end += l->tally[all[i]].records;
	}
	o->start[o->count] = end;
	free(all);
}

static const struct order *
order_of(struct sampler *l, uint64_t epoch)
{
	struct order *o = &l->order[epoch % 2];

	if (o->epoch != epoch)
		plan_epoch(l, o, epoch);
	return o;
}

/* The split, as an index into the order, that has this record of the epoch. */
static size_t
split_with(const struct order *o, uint64_t record)
{
	size_t low = 0, high = o->count;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (o->start[middle] <= record)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Add records of a split to a block: from this record on at most count, and at
 * most to the end of their segment.  Returns how many.  If the split has byte
 * offsets (one for each RECORD_RANGE_EVERY records, several in a segment), the
 * reader enters it at the last one before the first record; else at its front.
 */
static uint64_t
add_span(const struct sampler *l, struct block *b, size_t split,
	 uint64_t record, uint64_t count)
{
	const struct tally *t = &l->tally[split];
	const uint64_t inside = record % SEGMENT_RECORDS;
	struct record_range s = sampler_range(l, split);

	if (count > SEGMENT_RECORDS - inside)
		count = SEGMENT_RECORDS - inside;
	s.begin = 0;
	s.end = UINT64_MAX;
	s.skip = record;
	s.count = count;
	s.number = t->number + record;
	s.at = (struct segment_place){ 0, record };
	s.segment = t->records - (record - inside);
	if (s.segment > SEGMENT_RECORDS)
		s.segment = SEGMENT_RECORDS;
	if (t->places > 0) {
		s.begin = t->place[record / RECORD_RANGE_EVERY];
		s.skip = record % RECORD_RANGE_EVERY;
		s.at.origin = t->place[(record - inside) / RECORD_RANGE_EVERY];
		s.at.inside = inside;
	}
	block_add(b, &s);
	return count;
}

void
sampler_block(struct sampler *l, const struct slice *s, struct block *b)
{
	const struct order *o = order_of(l, s->epoch);
	uint64_t record = s->first, left = s->size;
	size_t i = split_with(o, record);

	*b = (struct block){ .seed = BLOCK_IN_ORDER };
	if (l->o.shuffle)
		b->seed = rng_at(seed_of(l, s->epoch), 1, s->first) >> 1;
	while (left > 0) {
		uint64_t count = o->start[i + 1] - record;

		if (count > left)
			count = left;
		count = add_span(l, b, o->split[i], record - o->start[i],
				 count);
		record += count;
		left -= count;
		i += record == o->start[i + 1];
	}
}

bool
sampler_block_after(struct sampler *l, const struct slice *s, struct block *b)
{
	const struct spot spot = find(l, s->epoch * sampler_batches(l));
	const uint64_t last = (spot.units - 1) % spot.streams;
	const uint64_t rank = (s->stream + spot.streams - 1 - last) %
		spot.streams;
	const uint64_t end = records_before(l, &spot, rank + 1);
	struct slice next = *s;

	next.first += s->size;
	if (next.first >= end)
		return false;
	next.size = end - next.first < l->o.buffer ? end - next.first :
		l->o.buffer;
	sampler_block(l, &next, b);
	return true;
}
