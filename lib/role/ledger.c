#include "role/ledger.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_OF_RNG	0x6c6564676572u		/* "ledger" */
#define MAX_RECORDS	((uint64_t)1 << 48)

enum count { COUNT_WANTED, COUNT_ASKED, COUNT_KNOWN };

struct tally {
	enum count state;
	uint64_t records, number;	/* in all splits of the file before */
	uint64_t *place;
	size_t places;
};

/* The splits as an epoch has them. */
struct order {
	uint64_t epoch;		/* UINT64_MAX: of none yet */
	size_t *split;		/* those with records */
	uint64_t *start;	/* of each, and the end of the last */
	size_t count;
};

/* From an epoch on there are so many streams. */
struct since {
	uint64_t epoch, streams, unit;
};

#define VISITS_AT	9	/* in a position */

struct ledger {
	struct ledger_options o;
	struct splits in;
	struct tally *tally;	/* of each split */
	size_t known;
	uint64_t records;
	struct order order[2];	/* of two epochs, one after the other */
	struct since *since;
	size_t sinces, since_room;
	uint64_t begun;		/* epochs that have streams */
	uint64_t next;		/* place */
	uint64_t *returned;	/* ascending */
	size_t returns, returns_room;
	struct ledger_visits visits;
};

struct ledger *
ledger_new(const struct ledger_options *o, struct splits *in)
{
	struct ledger *l = mem_alloc(1, sizeof(*l));

	l->o = *o;
	if (l->o.slots == 0)
		l->o.slots = 1;
	if (l->o.unit == 0 || l->o.slots > 1)
		l->o.unit = 1;
	/* A block is whole batches. */
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
ledger_free(struct ledger *l)
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
	free(l->returned);
	splits_release(&l->in);
	free(l);
}

/* ---- counting ---- */

bool
ledger_ready(const struct ledger *l)
{
	return l->known == l->in.count;
}

size_t
ledger_count_next(struct ledger *l)
{
	for (size_t i = 0; i < l->in.count; i++)
		if (l->tally[i].state == COUNT_WANTED) {
			l->tally[i].state = COUNT_ASKED;
			return i;
		}
	return LEDGER_NONE;
}

void
ledger_count_again(struct ledger *l, size_t split)
{
	if (l->tally[split].state == COUNT_ASKED)
		l->tally[split].state = COUNT_WANTED;
}

struct span
ledger_span(const struct ledger *l, size_t split)
{
	const struct split *s = &l->in.split[split];
	const struct split_file *file = &l->in.file[s->file];

	return (struct span){ .file = file->name, .label = file->label,
			      .begin = s->begin, .end = s->end,
			      .count = UINT64_MAX };
}

size_t
ledger_file(const struct ledger *l, size_t split)
{
	return l->in.split[split].file;
}

/* All splits are counted: number the records of each file. */
static int
sum_up(struct ledger *l, struct fail *f)
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
			return fail(f, FAIL_PROTOCOL, "more records than "
				    "there can be");
	}
	return 0;
}

/* A place for each SPAN_EVERY records, ascending; or none. */
static bool
sound(uint64_t records, const uint64_t *place, size_t places)
{
	if (records > MAX_RECORDS ||
	    (places > 0 &&
	     places != (records + SPAN_EVERY - 1) / SPAN_EVERY))
		return false;
	for (size_t i = 1; i < places; i++)
		if (place[i] <= place[i - 1])
			return false;
	return true;
}

int
ledger_counted(struct ledger *l, size_t split, uint64_t records,
	       const uint64_t *place, size_t places, struct fail *f)
{
	struct tally *t = &l->tally[split];
	const struct split *s = &l->in.split[split];

	if (t->state != COUNT_ASKED)
		return 0;
	if (!sound(records, place, places) ||
	    (s->end != UINT64_MAX && records > 0 && places == 0))
		return fail(f, FAIL_PROTOCOL, "%s: it cannot have been "
			    "counted so", l->in.file[s->file].name);
	t->state = COUNT_KNOWN;
	t->records = records;
	t->places = places;
	if (places > 0)
		t->place = mem_copy(place, places * sizeof(*place));
	l->known++;
	return ledger_ready(l) ? sum_up(l, f) : 0;
}

void
ledger_whole(struct ledger *l, size_t split)
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

/* ---- arithmetic ---- */

static uint64_t
batches(const struct ledger *l)
{
	return (l->records + l->o.batch - 1) / l->o.batch;
}

uint64_t
ledger_records(const struct ledger *l)
{
	return l->records;
}

void
ledger_write_files(const struct ledger *l, struct pack *p)
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
ledger_steps(const struct ledger *l)
{
	return (batches(l) + l->o.slots - 1) / l->o.slots;
}

uint64_t
ledger_epoch(const struct ledger *l, uint64_t place)
{
	return place / ledger_steps(l);
}

/* Where a batch of an epoch is. */
struct spot {
	uint64_t streams, unit, units;	/* of the epoch */
	uint64_t stream, at;	/* which of its stream's batches it is */
};

static struct spot
find(const struct ledger *l, uint64_t epoch, uint64_t batch)
{
	struct spot s = { .streams = 1, .unit = l->o.unit };
	size_t i = l->sinces;

	while (i > 0 && l->since[i - 1].epoch > epoch)
		i--;
	if (i > 0) {
		s.streams = l->since[i - 1].streams;
		s.unit = l->since[i - 1].unit;
	}
	if (l->o.slots > 1)
		s.streams = l->o.slots;
	s.units = (batches(l) + s.unit - 1) / s.unit;
	if (s.streams > s.units)
		s.streams = s.units;
	s.stream = batch / s.unit % s.streams;
	s.at = batch / s.unit / s.streams * s.unit + batch % s.unit;
	return s;
}

/*
 * Records that are in front of a stream in the epoch's order.  Some streams
 * have a unit more than others; those come last, and the one with the epoch's
 * last batch, which may be short, is the very last of them.
 */
static uint64_t
records_before(const struct ledger *l, const struct spot *s, uint64_t rank)
{
	const uint64_t more = s->units % s->streams, less = s->streams - more;
	const uint64_t units = rank * (s->units / s->streams) +
		(rank > less ? rank - less : 0);
	const uint64_t records = units * s->unit * l->o.batch;

	return records < l->records ? records : l->records;
}

bool
ledger_slice(const struct ledger *l, uint64_t place, uint64_t slot,
	     struct slice *to)
{
	const uint64_t epoch = ledger_epoch(l, place);
	const uint64_t batch = place % ledger_steps(l) * l->o.slots + slot;
	const struct spot s = find(l, epoch, batch);
	const uint64_t last = (s.units - 1) % s.streams;
	const uint64_t rank = (s.stream + s.streams - 1 - last) % s.streams;
	const uint64_t first = records_before(l, &s, rank);
	const uint64_t end = records_before(l, &s, rank + 1);
	const uint64_t in_block = l->o.buffer / l->o.batch;

	*to = (struct slice){ .epoch = epoch, .stream = s.stream };
	if (batch >= batches(l))
		return false;
	to->first = first + s.at / in_block * l->o.buffer;
	to->size = end - to->first < l->o.buffer ? end - to->first :
		l->o.buffer;
	to->from = s.at % in_block * l->o.batch;
	to->count = to->size - to->from < l->o.batch ? to->size - to->from :
		l->o.batch;
	return true;
}

uint64_t
ledger_stream(const struct ledger *l, uint64_t place)
{
	if (l->o.slots > 1)
		return 0;
	return find(l, ledger_epoch(l, place),
		    place % ledger_steps(l)).stream;
}

uint64_t
ledger_streams(const struct ledger *l, uint64_t place)
{
	return l->o.slots > 1 ? 1 :
		find(l, ledger_epoch(l, place), 0).streams;
}

uint64_t
ledger_run(const struct ledger *l, uint64_t place)
{
	const uint64_t batch = place % ledger_steps(l);
	const struct spot s = find(l, ledger_epoch(l, place), batch);
	const uint64_t in_block = l->o.buffer / l->o.batch;
	uint64_t run = s.unit - batch % s.unit;

	if (l->o.slots > 1)
		return 1;
	if (run > in_block - s.at % in_block)
		run = in_block - s.at % in_block;
	return run < batches(l) - batch ? run : batches(l) - batch;
}

/* ---- blocks ---- */

static uint64_t
seed_of(const struct ledger *l, uint64_t epoch)
{
	return rng_at(l->o.seed, STREAM_OF_RNG, epoch);
}

static void
lay_out(const struct ledger *l, struct order *o, uint64_t epoch)
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
order_of(struct ledger *l, uint64_t epoch)
{
	struct order *o = &l->order[epoch % 2];

	if (o->epoch != epoch)
		lay_out(l, o, epoch);
	return o;
}

/* Which of its splits has that record? */
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

/* Records of a split; they may go on with what the block ends with. */
static void
add_span(const struct ledger *l, struct block *b, size_t split,
	 uint64_t record, uint64_t count)
{
	const struct tally *t = &l->tally[split];
	struct span s = ledger_span(l, split);
	struct span *last = b->spans ? &b->span[b->spans - 1] : NULL;

	s.begin = 0;
	s.end = UINT64_MAX;
	s.skip = record;
	s.count = count;
	s.number = t->number + record;
	if (t->places > 0) {
		s.begin = t->place[record / SPAN_EVERY];
		s.skip = record % SPAN_EVERY;
	}
	if (last && strcmp(last->file, s.file) == 0 &&
	    last->number + last->count == s.number)
		last->count += count;
	else
		block_add(b, &s);
}

void
ledger_block(struct ledger *l, const struct slice *s, struct block *b)
{
	const struct order *o = order_of(l, s->epoch);
	uint64_t record = s->first, left = s->size;
	size_t i = split_with(o, record);

	*b = (struct block){ .seed = BLOCK_IN_ORDER };
	if (l->o.shuffle)
		b->seed = rng_at(seed_of(l, s->epoch), 1, s->first) >> 1;
	for (; left > 0; i++) {
		uint64_t count = o->start[i + 1] - record;

		if (count > left)
			count = left;
		add_span(l, b, o->split[i], record - o->start[i], count);
		record += count;
		left -= count;
	}
}

bool
ledger_block_after(struct ledger *l, const struct slice *s, struct block *b)
{
	const struct spot spot = find(l, s->epoch, 0);
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
	ledger_block(l, &next, b);
	return true;
}

/* ---- places ---- */

static void
begin_epoch(struct ledger *l, uint64_t epoch, uint64_t streams, uint64_t unit)
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
newest_streams(const struct ledger *l)
{
	return l->sinces ? l->since[l->sinces - 1].streams : 1;
}

uint64_t
ledger_take(struct ledger *l, uint64_t streams)
{
	uint64_t place;

	if (l->returns > 0) {
		place = l->returned[0];
		memmove(l->returned, l->returned + 1,
			--l->returns * sizeof(*l->returned));
		return place;
	}
	place = l->next++;
	if (ledger_epoch(l, place) >= l->begun)
		begin_epoch(l, ledger_epoch(l, place),
			    streams > 0 ? streams : newest_streams(l),
			    l->o.unit);
	return place;
}

void
ledger_return(struct ledger *l, uint64_t place)
{
	size_t i = l->returns;

	l->returned = mem_grow(l->returned, l->returns, &l->returns_room,
			       sizeof(*l->returned));
	for (; i > 0 && l->returned[i - 1] > place; i--)
		l->returned[i] = l->returned[i - 1];
	l->returned[i] = place;
	l->returns++;
}

uint64_t
ledger_now(const struct ledger *l)
{
	return ledger_epoch(l, l->returns > 0 ? l->returned[0] : l->next);
}

uint64_t
ledger_left(const struct ledger *l)
{
	const uint64_t now = ledger_now(l);
	uint64_t left = 0;

	for (size_t i = 0; i < l->returns; i++)
		left += ledger_epoch(l, l->returned[i]) == now;
	if (ledger_epoch(l, l->next) == now)
		left += ledger_steps(l) - l->next % ledger_steps(l);
	return left;
}

void
ledger_visits_add(const struct ledger *l, struct ledger_visits *v,
		  uint64_t place, uint64_t records)
{
	const uint64_t epoch = ledger_epoch(l, place);

	if (epoch > v->epoch)
		*v = (struct ledger_visits){ .epoch = epoch };
	if (epoch == v->epoch)
		v->records += records;
}

struct ledger_visits
ledger_visits(const struct ledger *l)
{
	return l->visits;
}

void
ledger_visit(struct ledger *l, uint64_t place, uint64_t records)
{
	ledger_visits_add(l, &l->visits, place, records);
}

uint64_t
ledger_visited(const struct ledger *l, uint64_t epoch)
{
	return epoch == l->visits.epoch ? l->visits.records : 0;
}

/* ---- as bytes ---- */

void
ledger_write_counts(const struct ledger *l, struct pack *p)
{
	pack_array(p, 7 * l->in.count);
	for (size_t i = 0; i < l->in.count; i++) {
		const struct split *s = &l->in.split[i];
		const struct tally *t = &l->tally[i];
		const struct split_file *file = &l->in.file[s->file];

		pack_text(p, file->name);
		pack_text(p, file->label ? file->label : "");
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

/* One split, counted; false: it is another. */
static bool
read_count(struct ledger *l, struct unpack *u, size_t i)
{
	struct split *s = &l->in.split[i];
	const struct split_file *file = &l->in.file[s->file];
	const bool same = same_name(u, file->name);
	const bool label = same_name(u, file->label ? file->label : "");
	const uint64_t begin = unpack_uint(u), end = unpack_uint(u);
	const bool known = unpack_below(u, 2);
	const uint64_t records = unpack_uint(u);
	size_t size;
	const void *place = unpack_blob(u, &size);
	struct fail ignored;

	if (u->bad || !same || !label || size % sizeof(uint64_t) != 0)
		return false;
	/* A file that is one split, as it was found to be. */
	if (begin == 0 && end == UINT64_MAX && s->end != end)
		ledger_whole(l, i);
	if (!known || l->tally[i].state == COUNT_KNOWN)
		return known == (l->tally[i].state == COUNT_KNOWN);
	if (begin != s->begin || end != s->end)
		return false;
	l->tally[i].state = COUNT_ASKED;

	/* The blob may lie at any address. */
	uint64_t *copy = mem_alloc(size + 1, 1);

	if (size > 0)
		memcpy(copy, place, size);
	const int got = ledger_counted(l, i, records, copy,
				       size / sizeof(*copy), &ignored);

	free(copy);
	return got == 0;
}

int
ledger_read_counts(struct ledger *l, const void *data, size_t size,
		   struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	bool same = unpack_array(&u) == 7 * l->in.count;

	for (size_t i = 0; i < l->in.count && same; i++)
		same = read_count(l, &u, i);
	if (same && unpack_ok(&u))
		return 0;
	return fail(f, FAIL_CONFIG, "the records of other inputs were "
		    "counted");
}

uint64_t
ledger_begun(const struct ledger *l)
{
	return l->begun;
}

void
ledger_write_begun(const struct ledger *l, struct pack *p)
{
	pack_uint(p, l->begun);
	pack_uint(p, newest_streams(l));
	pack_uint(p, l->sinces ? l->since[l->sinces - 1].unit : l->o.unit);
}

bool
ledger_read_begun(struct ledger *l, struct unpack *u)
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

/* Epochs of which no record is left to be read need not be known. */
static size_t
superfluous(const struct ledger *l)
{
	uint64_t low = l->next;
	size_t count = 0;

	if (l->returns > 0 && l->returned[0] < low)
		low = l->returned[0];
	while (count + 1 < l->sinces &&
	       l->since[count + 1].epoch <= ledger_epoch(l, low))
		count++;
	return count;
}

void
ledger_write_position(const struct ledger *l, struct pack *p)
{
	const size_t first = superfluous(l);

	pack_array(p, 13 + 3 * (l->sinces - first) + l->returns);
	pack_uint(p, l->o.seed);
	pack_uint(p, l->o.batch);
	pack_uint(p, l->o.slots);
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
	pack_uint(p, l->returns);
	for (size_t i = 0; i < l->returns; i++)
		pack_uint(p, l->returned[i]);
}

void
ledger_copy_position(const struct pack *from, const struct ledger_visits *v,
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
read_since(struct ledger *l, struct unpack *u, uint64_t count)
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

int
ledger_read_position(struct ledger *l, const void *data, size_t size,
		     struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	const uint64_t count = unpack_array(&u);
	bool same = unpack_uint(&u) == l->o.seed;

	same = unpack_uint(&u) == l->o.batch && same;
	same = unpack_uint(&u) == l->o.slots && same;
	same = unpack_uint(&u) == l->o.buffer && same;
	same = unpack_uint(&u) == l->o.shuffle && same;
	same = unpack_uint(&u) == l->in.count && same;
	same = unpack_uint(&u) == l->records && same;
	if (u.bad || !same)
		return fail(f, FAIL_CONFIG, "it was another ledger's: the "
			    "inputs, --split, --batch, --seed, --shuffle and "
			    "--replicas have to stay");
	l->next = unpack_uint(&u);
	l->begun = unpack_uint(&u);
	l->visits.epoch = unpack_uint(&u);
	l->visits.records = unpack_uint(&u);
	read_since(l, &u, unpack_uint(&u));
	l->returns = 0;
	for (uint64_t left = unpack_uint(&u); left > 0 && !u.bad; left--)
		ledger_return(l, unpack_uint(&u));
	if (!unpack_ok(&u) || count != 13 + 3 * l->sinces + l->returns)
		return fail(f, FAIL_DATA, "a malformed position of the "
			    "ledger");
	return 0;
}
