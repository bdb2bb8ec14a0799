/*
 * The position of the sampler: the next place, the returned places, the number
 * of streams of each epoch, and how many records were read; also as bytes.
 */
#include "coord/sampler_private.h"

#include "base/mem.h"

#define VISITS_AT	9	/* index of the records read in a position */

static void
begin_epoch(struct sampler *l, uint64_t epoch, uint64_t streams, uint64_t unit)
{
	const struct since now = { epoch, streams, unit };
	const struct since *last = l->sinces ? &l->since[l->sinces - 1] :
		NULL;

	l->begun = epoch + 1;
	if (last && last->streams == now.streams && last->unit == now.unit)
		return;
	l->since = mem_grow(l->since, l->sinces, &l->since_room,
			    sizeof(*l->since));
	l->since[l->sinces++] = now;
}

static uint64_t
newest_streams(const struct sampler *l)
{
	return l->sinces ? l->since[l->sinces - 1].streams : 1;
}

/* The place at a cursor; *end: the end of the row that begins there. */
static uint64_t
row(const struct sampler *l, const struct sampler_cursor *at, uint64_t *end)
{
	const bool returned = at->range < l->returned.count;
	const struct range *r = returned ? &l->returned.range[at->range] :
		NULL;
	const uint64_t place = at->passed + (r ? r->first : l->next);

	*end = (sampler_epoch(l, place) + 1) * sampler_batches(l);
	if (r && r->end < *end)
		*end = r->end;
	return place;
}

uint64_t
sampler_row(const struct sampler *l, const struct sampler_cursor *at,
	    uint64_t *count)
{
	const uint64_t place = row(l, at, count);

	*count -= place;
	return place;
}

void
sampler_pass(const struct sampler *l, struct sampler_cursor *at,
	     uint64_t count)
{
	at->passed += count;
	if (at->range < l->returned.count &&
	    l->returned.range[at->range].first + at->passed ==
	    l->returned.range[at->range].end)
		*at = (struct sampler_cursor){ .range = at->range + 1 };
}

uint64_t
sampler_take(struct sampler *l, uint64_t count, uint64_t streams)
{
	uint64_t place;

	if (l->returned.count > 0) {
		place = l->returned.range[0].first;
		ranges_remove(&l->returned, place, count);
		return place;
	}
	place = l->next;
	l->next += count;
	if (sampler_epoch(l, place) >= l->begun)
		begin_epoch(l, sampler_epoch(l, place),
			    streams > 0 ? streams : newest_streams(l),
			    l->o.unit);
	return place;
}

void
sampler_return(struct sampler *l, uint64_t place, uint64_t count)
{
	ranges_add(&l->returned, place, count);
}

uint64_t
sampler_now(const struct sampler *l)
{
	uint64_t end;

	return sampler_epoch(l, row(l, &(struct sampler_cursor){ 0 }, &end));
}

uint64_t
sampler_left(const struct sampler *l)
{
	const uint64_t epoch = sampler_now(l);
	struct sampler_cursor at = { 0 };
	uint64_t place, count, left = 0;

	while (place = sampler_row(l, &at, &count),
	       sampler_epoch(l, place) == epoch) {
		left += count * l->o.batch;
		/* The last batch of an epoch may be short. */
		if ((place + count) % sampler_batches(l) == 0)
			left -= sampler_batches(l) * l->o.batch - l->records;
		sampler_pass(l, &at, count);
	}
	return left;
}

void
sampler_reads_add(const struct sampler *l, struct sampler_reads *v,
		  uint64_t place, uint64_t records)
{
	const uint64_t epoch = sampler_epoch(l, place);

	if (epoch > v->epoch)
		*v = (struct sampler_reads){ .epoch = epoch };
	if (epoch == v->epoch)
		v->records += records;
}

struct sampler_reads
sampler_reads(const struct sampler *l)
{
	return l->visits;
}

void
sampler_add_read(struct sampler *l, uint64_t place, uint64_t records)
{
	sampler_reads_add(l, &l->visits, place, records);
}

uint64_t
sampler_records_read(const struct sampler *l, uint64_t epoch)
{
	return epoch == l->visits.epoch ? l->visits.records : 0;
}

/* ---- as bytes ---- */

uint64_t
sampler_begun(const struct sampler *l)
{
	return l->begun;
}

void
sampler_write_begun(const struct sampler *l, struct pack *p)
{
	pack_uint(p, l->begun);
	pack_uint(p, newest_streams(l));
	pack_uint(p, l->sinces ? l->since[l->sinces - 1].unit : l->o.unit);
}

bool
sampler_read_begun(struct sampler *l, struct unpack *u)
{
	const uint64_t begun = unpack_uint(u), streams = unpack_uint(u);
	const uint64_t unit = unpack_uint(u);

	if (u->bad || streams == 0 || unit == 0 || begun < l->begun)
		return false;
	if (begun > l->begun)
		begin_epoch(l, l->begun, streams, unit);
	l->begun = begun;
	return true;
}

/* How many of the first entries of "since" are of epochs of which no place is
   left: they need not be written. */
static size_t
count_unneeded(const struct sampler *l)
{
	size_t count = 0;

	while (count + 1 < l->sinces &&
	       l->since[count + 1].epoch <= sampler_now(l))
		count++;
	return count;
}

/* Write ranges as small numbers: of each the gap before it, and its length. */
static void
write_returned(const struct ranges *r, struct pack *p)
{
	uint64_t end = 0;

	pack_uint(p, r->count);
	for (size_t i = 0; i < r->count; i++) {
		pack_uint(p, r->range[i].first - end);
		end = r->range[i].end;
		pack_uint(p, end - r->range[i].first);
	}
}

void
sampler_write_position(const struct sampler *l, struct pack *p, bool all)
{
	const size_t first = all ? 0 : count_unneeded(l);
	const size_t ranges = l->returned.count;

	pack_array(p, 13 + 3 * (l->sinces - first) +
		   (ranges > 0 ? 1 + 2 * ranges : 0));
	pack_uint(p, l->o.seed);
	pack_uint(p, l->o.batch);
	pack_uint(p, l->o.replicas);
	pack_uint(p, l->o.buffer);
	pack_uint(p, l->o.shuffle);
	pack_uint(p, l->in.count);
	pack_uint(p, l->records);
	pack_uint(p, l->next);
	pack_uint(p, l->begun);
	pack_uint(p, l->visits.epoch);	/* VISITS_AT */
	pack_uint(p, l->visits.records);
	pack_uint(p, l->sinces - first);
	for (size_t i = first; i < l->sinces; i++) {
		pack_uint(p, l->since[i].epoch);
		pack_uint(p, l->since[i].streams);
		pack_uint(p, l->since[i].unit);
	}
	pack_uint(p, 0);	/* old releases wrote returned places here, one
				   by one */
	if (ranges > 0)
		write_returned(&l->returned, p);
}

void
sampler_copy_position(const struct pack *from, const struct sampler_reads *v,
		      struct pack *to)
{
	struct unpack u = unpack_from(from->data, from->size);
	const uint32_t count = unpack_array(&u);

	pack_array(to, count);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t was = unpack_uint(&u);

		pack_uint(to, i == VISITS_AT ? v->epoch :
			  i == VISITS_AT + 1 ? v->records : was);
	}
}

static void
read_since(struct sampler *l, struct unpack *u, uint64_t count)
{
	l->sinces = 0;
	for (uint64_t i = 0; i < count && !u->bad; i++) {
		struct since s;

		s.epoch = unpack_uint(u);
		s.streams = unpack_uint(u);
		s.unit = unpack_uint(u);
		if (s.streams == 0 || s.unit == 0)
			u->bad = true;
		l->since = mem_grow(l->since, l->sinces, &l->since_room,
				    sizeof(*l->since));
		l->since[l->sinces++] = s;
	}
}

/* Add count returned places; they must lie below the next place. */
static void
read_range(struct sampler *l, struct unpack *u, uint64_t first, uint64_t count)
{
	if (u->bad || first > l->next || count > l->next - first)
		u->bad = true;
	else
		ranges_add(&l->returned, first, count);
}

/* Read the returned places; how many numbers of the position they took. */
static uint64_t
read_returned(struct sampler *l, struct unpack *u)
{
	const uint64_t single = unpack_uint(u);
	uint64_t ranges = 0, end = 0;

	ranges_release(&l->returned);
	for (uint64_t i = 0; i < single && !u->bad; i++)
		read_range(l, u, unpack_uint(u), 1);
	if (unpack_left(u) == 0)
		return 1 + single;
	ranges = unpack_uint(u);
	for (uint64_t i = 0; i < ranges && !u->bad; i++) {
		const uint64_t gap = unpack_uint(u), count = unpack_uint(u);

		if (gap > l->next - end)
			u->bad = true;
		read_range(l, u, end + gap, count);
		end += gap + count;
	}
	return 2 + single + 2 * ranges;
}

/* The place of the first batch of a step, where places count steps. */
static uint64_t
in_batches(const struct sampler *l, uint64_t step)
{
	const uint64_t steps = (sampler_batches(l) + l->o.replicas - 1) /
		l->o.replicas;

	return step / steps * sampler_batches(l) +
		step % steps * l->o.replicas;
}

static void
count_batches(struct sampler *l)
{
	l->next = in_batches(l, l->next);
	for (size_t i = 0; i < l->returned.count; i++) {
		struct range *r = &l->returned.range[i];

		*r = (struct range){ in_batches(l, r->first),
				     in_batches(l, r->end) };
	}
}

int
sampler_read_position(struct sampler *l, const void *data, size_t size,
		      bool of_steps, struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	const uint64_t count = unpack_array(&u);
	const struct {
		uint64_t ours;
		const char *name;
	} setting[] = {
		{ l->o.seed, "--seed" }, { l->o.batch, "--batch" },
		{ l->o.replicas, "--replicas" }, { l->o.buffer, "--shuffle" },
		{ l->o.shuffle, "--shuffle" }
	};
	const char *other = NULL;
	uint64_t returned;

	for (size_t i = 0; i < sizeof(setting) / sizeof(*setting); i++)
		if (unpack_uint(&u) != setting[i].ours && !other)
			other = setting[i].name;
	if (other && !u.bad)
		return fail(f, FAIL_CONFIG, "the data were read with another "
			    "%s, which must be as before", other);
	if (unpack_uint(&u) != l->in.count ||
	    unpack_uint(&u) != l->records || u.bad)
		return sampler_fail_other(f);
	l->next = unpack_uint(&u);
	l->begun = unpack_uint(&u);
	l->visits.epoch = unpack_uint(&u);
	l->visits.records = unpack_uint(&u);
	read_since(l, &u, unpack_uint(&u));
	returned = read_returned(l, &u);
	if (!unpack_ok(&u) || count != 12 + 3 * l->sinces + returned)
		return fail(f, FAIL_DATA, "a malformed position in the "
			    "data");
	if (of_steps)
		count_batches(l);
	return 0;
}
