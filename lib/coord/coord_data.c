/*
 * The coordinator's data sets: workers count the records of their splits,
 * leases say which records a step reads, epochs begin and end.
 */
#include "coord/coord_data.h"

#include "base/mem.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "wire/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a worker reads or counts. */
struct reader {
	uint64_t stream;	/* of the samplers; WIRE_NONE: it has none */
	bool counting;		/* it counts this split of this sampler, */
	bool dropped;		/* but its INDEX was: see outbox.h */
	size_t sampler, split;
	uint64_t request;	/* as INDEX of this number asks it to */
};

/* The newest epoch of a data set, and the totals of its steps; open: it has
   begun, and no line has reported them yet. */
struct epoch {
	uint64_t number;
	struct totals totals;
	bool open;
};

struct dataset {
	struct reader *of;		/* each member, by its index */
	size_t room;
	uint64_t requests;		/* the last number of an INDEX */
	struct deaths deaths;		/* of workers, for each split */
	struct pack block, blocks, after;	/* frames of a message */
	struct epoch epoch[SAMPLERS];	/* of each sampler, and: */
	uint64_t kept[SAMPLERS];	/* epochs begun, in the journal */
};

#define AHEAD	8	/* leases, beyond those in flight, by which a stream
			   may be ahead of the low watermark */

void
data_init(struct coord *c)
{
	c->data = mem_alloc(1, sizeof(*c->data));
	for (size_t i = 0; i < SAMPLERS; i++)
		totals_reset(&c->data->epoch[i].totals, c->now_ms);
}

void
data_release(struct coord *c)
{
	free(c->data->of);
	deaths_release(&c->data->deaths);
	pack_release(&c->data->block);
	pack_release(&c->data->blocks);
	pack_release(&c->data->after);
	for (size_t i = 0; i < SAMPLERS; i++)
		totals_release(&c->data->epoch[i].totals);
	free(c->data);
}

static struct reader *
reader(const struct coord *c, const struct member *w)
{
	return &c->data->of[w->at];
}

void
data_join(struct coord *c, const struct member *w)
{
	struct dataset *d = c->data;

	d->of = members_room(d->of, &d->room, w, sizeof(*d->of));
	d->of[w->at].stream = WIRE_NONE;
}

bool
data_ready(const struct coord *c)
{
	return !c->o.samplers || samplers_ready(c->o.samplers);
}

static size_t
count_samplers(const struct coord *c)
{
	return c->o.samplers ? samplers_count(c->o.samplers) : 0;
}

static struct sampler *
sampler(const struct coord *c, size_t i)
{
	return samplers_get(c->o.samplers, i);
}

/* Returns the step line that the request names, or NULL. */
static const char *
line_of(const struct request *r)
{
	return r->call ? r->call->step : NULL;
}

/* Returns the sampler by which the request's epochs are counted. */
static size_t
counted_by(const struct coord *c, const struct request *r)
{
	return r->data ? samplers_find(c->o.samplers, r->data) :
		samplers_first(c->o.samplers, line_of(r));
}

/* Checks a request whose steps read the coordinator's data. */
static int
can_read(const struct coord *c, const struct request *r, struct fail *f)
{
	const uint64_t taken = samplers_taken(c->o.samplers, line_of(r));
	const size_t by = counted_by(c, r);

	if (taken == 0)
		return fail(f, FAIL_DATA, "the step line has no input from the "
			    "data of ps-coord (-d), which every step must "
			    "read");
	if (r->data && (by == SAMPLER_NONE || !(taken >> by & 1)))
		return fail(f, FAIL_DATA, "data=%.64s: the step line has no "
			    "input from a data set of this name of ps-coord",
			    r->data);
	if (r->op == REQUEST_TRAIN && r->batch > 0)
		return fail(f, FAIL_DATA, "batch=%llu: with data of ps-coord "
			    "(-d) all steps have one size, --batch",
			    (unsigned long long)r->batch);
	return 0;
}

int
data_can(const struct coord *c, const struct request *r, struct fail *f)
{
	size_t line, dataset;

	if (r->op == REQUEST_EVAL &&
	    !model_scored(c->model, &line, &dataset))
		return fail(f, FAIL_DATA, "eval: no step line of the model "
			    "takes inputs of one data set: there is nothing to "
			    "score");
	if (r->op == REQUEST_EPOCH && !c->o.samplers)
		return fail(f, FAIL_DATA, "epoch: workers read inputs of their "
			    "own, so there is no common epoch; say train N, or "
			    "give ps-coord the data (-d)");
	return c->o.samplers &&
		(r->op == REQUEST_TRAIN || r->op == REQUEST_EPOCH) ?
		can_read(c, r, f) : 0;
}

bool
data_write_scored(const struct coord *c, struct pack *files)
{
	size_t line, dataset;

	model_scored(c->model, &line, &dataset);
	for (size_t i = 0; i < count_samplers(c); i++)
		if (samplers_dataset(c->o.samplers, i) == dataset) {
			sampler_write_files(sampler(c, i), files);
			return true;
		}
	return false;
}

/* ---- counting ---- */

static void
ask(struct coord *c, struct member *w, size_t i, size_t split)
{
	struct message m = { .kind = MESSAGE_INDEX };
	const struct record_range span = sampler_range(sampler(c, i), split);
	struct reader *r = reader(c, w);

	r->counting = true;
	r->sampler = i;
	r->split = split;
	r->request = m.request = ++c->data->requests;
	m.index.term = c->plan.term;
	m.index.dataset = samplers_dataset(c->o.samplers, i);
	pack_reset(&c->data->block);
	block_write_span(&c->data->block, &span);
	m.frames = 1;
	m.frame[0] = (struct frame){ c->data->block.data,
				     c->data->block.size, NULL };
	r->dropped = !outbox_reaches(c->outbox, w->peer, &m);
}

/* Asks a free worker to count a split; false: none is left. */
static bool
give_split(struct coord *c, struct member *w)
{
	for (size_t i = 0; i < count_samplers(c); i++) {
		const size_t split = sampler_count_next(sampler(c, i));

		if (split == SAMPLER_NONE)
			continue;
		ask(c, w, i, split);
		return true;
	}
	return false;
}

void
data_count(struct coord *c)
{
	for (struct member *w = c->member; w; w = w->next)
		if (w->role == ROLE_WORKER && w->ready &&
		    worker_answers(w) && !reader(c, w)->counting &&
		    !give_split(c, w))
			return;
}

void
data_take_back(struct coord *c, struct member *w)
{
	const struct reader *r = reader(c, w);

	if (r->counting)
		sampler_count_again(sampler(c, r->sampler), r->split);
	reader(c, w)->counting = false;
	reader(c, w)->stream = WIRE_NONE;
}

/* The file of this split cannot be counted in parts: it becomes one split, and
   answers about its parts no longer count. */
static void
count_whole(struct coord *c, size_t i, size_t split)
{
	const size_t file = sampler_file(sampler(c, i), split);

	for (struct member *w = c->member; w; w = w->next) {
		struct reader *r = reader(c, w);

		if (r->counting && r->sampler == i &&
		    sampler_file(sampler(c, i), r->split) == file)
			r->counting = false;
	}
	sampler_whole(sampler(c, i), split);
}

void
data_note(const struct coord *c, struct pack *place,
	  struct samplers_reads *visits)
{
	pack_reset(place);
	if (!c->o.samplers || !samplers_ready(c->o.samplers))
		return;
	samplers_write_position(c->o.samplers, place, false);
	*visits = samplers_reads(c->o.samplers);
}

char *
data_position(const struct coord *c, const struct pack *place,
	      const struct samplers_reads *visits)
{
	struct text text = { 0 };
	struct pack p = { 0 };

	if (!c->o.samplers)
		return NULL;
	if (place->size == 0)	/* where the run began */
		return c->o.restored.sampler ? mem_text(c->o.restored.sampler) :
			NULL;
	samplers_copy_position(place, visits, &p);
	for (size_t i = 0; i < p.size; i++)
		text_add(&text, "%02x", p.data[i]);
	pack_release(&p);
	return text.data;
}

static int
read_position(struct samplers *s, const char *text, struct fail *f)
{
	const size_t size = text ? strlen(text) / 2 : 0;
	const size_t good = text ? strspn(text, "0123456789abcdefABCDEF") / 2 :
		0;
	unsigned char *bytes;
	char digits[3] = "";
	int r;

	if (size == 0)
		return fail(f, FAIL_DATA, "the checkpoint does not say how far "
			    "they were read");
	if (good < size)
		return fail(f, FAIL_DATA, "no hexadecimal: '%.2s'",
			    text + 2 * good);
	bytes = mem_alloc(size, 1);
	for (size_t i = 0; i < size; i++) {
		memcpy(digits, text + 2 * i, 2);
		bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	r = samplers_read_position(s, bytes, size, f);
	free(bytes);
	return r;
}

/* Resumes the data where the checkpoint that the run begins with stood; if that
   does not suit them, warns, and they begin with epoch 0. */
static void
restore(struct coord *c)
{
	struct fail why;

	if (!c->o.samplers || !*c->o.restore || c->o.restored.step == 0)
		return;
	if (read_position(c->o.samplers, c->o.restored.sampler, &why) < 0)
		report_warning(c, "the data start with epoch 0, not at the "
			       "position of %s: %s", c->o.restore, why.text);
}

/* The data cannot be read, so no request can be done: the run fails. */
static void
fail_data(struct coord *c, const struct fail *why, const char *worker)
{
	report_error(c, NULL, "data", WIRE_NONE, worker, why->text);
	ending_fail(c, why);
}

int
data_counted(struct coord *c, struct member *w, const struct message *m,
	     struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const uint32_t count = unpack_array(&u);
	struct fail why;
	uint64_t *place;
	int got = 0;

	if (!reader(c, w)->counting || m->request != reader(c, w)->request)
		return 0;	/* its file is counted anew */
	if (u.bad || count > unpack_left(&u))
		return fail(f, FAIL_PROTOCOL, "malformed INDEXED");
	place = mem_alloc(count, sizeof(*place));
	for (uint32_t i = 0; i < count; i++)
		place[i] = unpack_uint(&u);
	if (!unpack_ok(&u)) {
		free(place);
		return fail(f, FAIL_PROTOCOL, "malformed INDEXED");
	}
	reader(c, w)->counting = false;
	if (m->indexed.records == WIRE_NONE)
		count_whole(c, reader(c, w)->sampler, reader(c, w)->split);
	else
		got = sampler_counted(sampler(c, reader(c, w)->sampler),
				      reader(c, w)->split,
				      m->indexed.records, place, count, &why);
	free(place);
	if (got < 0)
		fail_data(c, &why, NULL);
	else if (data_ready(c)) {
		restore(c);
		data_write_counts(c, true);
	}
	return 0;
}

void
data_refused(struct coord *c, struct member *w, const struct message *m)
{
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	if (!reader(c, w)->counting || m->request != reader(c, w)->request)
		return;
	reader(c, w)->counting = false;
	message_text(m, text, sizeof(text));
	fail(&why, message_status(m->refused.status), "%s", text);
	fail_data(c, &why, w->name);
}

void
data_died(struct coord *c, const struct member *w)
{
	const struct reader *r = reader(c, w);
	struct fail why;

	if (!r->counting || r->dropped ||
	    !deaths_add(&c->data->deaths, r->split * SAMPLERS + r->sampler))
		return;
	reader(c, w)->counting = false;
	fail(&why, FAIL_DATA, "%d workers died under it", QUEUE_DEATHS);
	fail_data(c, &why, w->name);
}

/* ---- leases ---- */

/* Returns the first stream that no worker reads; WIRE_NONE: each has one. */
static uint64_t
free_stream(const struct coord *c, uint64_t streams)
{
	bool *had = mem_alloc(streams, sizeof(*had));
	uint64_t stream = 0;

	for (const struct member *w = c->member; w; w = w->next)
		if (!w->gone && reader(c, w)->stream < streams)
			had[reader(c, w)->stream] = true;
	while (stream < streams && had[stream])
		stream++;
	free(had);
	return stream < streams ? stream : WIRE_NONE;
}

size_t
data_run(const struct coord *c, const struct places *places)
{
	const uint64_t run = c->o.samplers ?
		samplers_run(c->o.samplers, places) : c->o.pack;

	return run < c->o.pack ? (size_t)run : c->o.pack;
}

size_t
data_lease(struct coord *c, struct member *w, uint64_t limit, bool any,
	   struct lease_terms *terms)
{
	const uint64_t workers = workers_ready(c);
	struct lease_choice choice = {
		.streams = workers,
		.ahead = workers * c->o.pack * (c->o.in_flight + AHEAD)
	};
	uint64_t streams = samplers_streams(c->o.samplers);

	if (streams < workers)	/* the next epoch may have more streams */
		streams = workers;
	if (reader(c, w)->stream >= streams)
		reader(c, w)->stream = free_stream(c, streams);
	choice.stream = reader(c, w)->stream;
	if (any) {
		choice.stream = WIRE_NONE;
		choice.ahead = WINDOW;
	}
	return queue_lease_stream(c->queue, w, c->o.pack, limit, &choice,
				  terms);
}

static void
add_block(struct dataset *d, struct pack *to, struct block *b)
{
	pack_reset(&d->block);
	block_write(&d->block, b);
	block_release(b);
	pack_blob(to, d->block.data, d->block.size);
}

/* Adds the batch at this place of a data set, and, for reading ahead, the block
   that follows its own in the stream. */
static void
add_slice(struct coord *c, size_t i, uint64_t place)
{
	const uint64_t dataset = samplers_dataset(c->o.samplers, i);
	struct dataset *d = c->data;
	struct slice slice;
	struct block b;

	sampler_slice(sampler(c, i), place, &slice);
	sampler_block(sampler(c, i), &slice, &b);
	pack_uint(&d->blocks, dataset);
	pack_uint(&d->blocks, slice.from);
	pack_uint(&d->blocks, sampler_batch(sampler(c, i)));
	add_block(d, &d->blocks, &b);
	if (!sampler_block_after(sampler(c, i), &slice, &b))
		return;
	pack_uint(&d->after, dataset);
	add_block(d, &d->after, &b);
}

/* Each stream that a replica of a round reads has a slice of its own, of each
   data set. */
void
data_describe(struct coord *c, const struct lease_terms *terms,
	      uint64_t replica, struct message *m)
{
	const uint64_t streams = coord_streams(&c->o);
	const struct places *p = &terms->places;
	struct dataset *d = c->data;

	pack_reset(&d->blocks);
	pack_reset(&d->after);
	for (size_t i = 0; i < count_samplers(c); i++)
		for (uint64_t k = replica * streams;
		     k < (replica + 1) * streams && k < p->batches &&
		     p->first[i] != PLACES_NONE; k++)
			add_slice(c, i, p->first[i] + k);
	m->frame[m->frames++] = (struct frame){ d->blocks.data,
						d->blocks.size, NULL };
	if (d->after.size > 0)
		m->frame[m->frames++] = (struct frame){ d->after.data,
							d->after.size, NULL };
}

/* ---- epochs ---- */

static void
open_epoch(struct epoch *e, uint64_t number, uint64_t now)
{
	totals_reset(&e->totals, now);
	e->number = number;
	e->open = true;
}

uint64_t
data_epoch_of(const struct coord *c, uint64_t step)
{
	const struct request *r = queue_request(c->queue, step);
	const struct places p = queue_places(c->queue, step);
	size_t first;

	if (!c->o.samplers || !r)
		return WIRE_NONE;
	first = samplers_first(c->o.samplers, line_of(r));
	return sampler_epoch(sampler(c, first), p.first[first]);
}

void
data_add_read(struct coord *c, const struct result *r,
	      struct samplers_reads *v)
{
	const struct places p = queue_places(c->queue, r->step);
	const struct request *asked = queue_request(c->queue, r->step);

	if (c->o.samplers)
		samplers_add_read(c->o.samplers, v, &p, line_of(asked),
				  r->examples);
}

/* Totals are kept only of the newest epoch that has begun: it ends last. */
void
data_done(struct coord *c, const struct result *r, const float *scores,
	  const unsigned char *positive, uint64_t now)
{
	const struct places p = queue_places(c->queue, r->step);

	data_add_read(c, r, NULL);
	for (size_t i = 0; i < count_samplers(c); i++) {
		struct epoch *e = &c->data->epoch[i];
		uint64_t number;

		if (p.first[i] == PLACES_NONE)
			continue;
		number = sampler_epoch(sampler(c, i), p.first[i]);
		if (number > e->number || !e->open)
			open_epoch(e, number, now);
		if (number == e->number)
			totals_add(&e->totals, c, r, scores, positive);
	}
}

/* Has an epoch begun that is not in the journal? */
static bool
have_begun(const struct coord *c)
{
	for (size_t i = 0; i < count_samplers(c); i++)
		if (sampler_begun(sampler(c, i)) != c->data->kept[i])
			return true;
	return false;
}

/* Does the step read records of an epoch that is not in the journal? */
static bool
is_unknown(const struct coord *c, uint64_t step)
{
	const struct places p = queue_places(c->queue, step);

	for (size_t i = 0; i < count_samplers(c); i++)
		if (p.first[i] != PLACES_NONE &&
		    sampler_epoch(sampler(c, i), p.first[i]) >=
		    c->data->kept[i])
			return true;
	return false;
}

bool
data_knows_epochs(struct coord *c, uint64_t first)
{
	const uint64_t high = fleet_high_watermark(c->fleet);
	struct fail why;

	if (!c->resumed || journal_replays(c) || first >= high ||
	    !have_begun(c))
		return true;
	while (first < high && first < queue_next(c->queue) &&
	       !is_unknown(c, first))
		first++;
	if (first >= high || first >= queue_next(c->queue))
		return true;
	fail(&why, FAIL_DATA, "a server has step %llu, of an epoch that is not "
	     "in this run's journal: the journal was cut short, or is an older "
	     "one. Put the right one in its place, or remove it to begin anew",
	     (unsigned long long)first);
	journal_lose(c);		/* the file stays as it is */
	ending_fail(c, &why);
	return false;
}

/* The request may continue an epoch, of which steps have been done. */
void
data_begin_epoch(struct coord *c, const struct request *r, uint64_t now)
{
	const size_t by = counted_by(c, r);
	struct epoch *e = &c->data->epoch[by];
	const uint64_t number = sampler_now(sampler(c, by));

	if (number != e->number || !e->open)
		open_epoch(e, number, now);
	queue_begin(c->queue,
		    samplers_left(c->o.samplers, line_of(r), by));
	journal_begun(c);
}

int
data_epoch(struct coord *c, const struct request *r, uint64_t now)
{
	const size_t by = counted_by(c, r);
	struct epoch *e = &c->data->epoch[by];
	uint64_t left;

	if (!queue_begun(c->queue, &left)) {
		data_begin_epoch(c, r, now);
		return 0;
	}
	if (left > 0)
		return 0;
	report_epoch(c, r, by, e->number, &e->totals, now);
	e->open = false;
	if (r->epochs > 0) {
		journal_closed(c);
		data_begin_epoch(c, r, now);
		return 0;
	}
	return 1;
}

/* ---- in the journal ---- */

static void
note_begun(struct coord *c)
{
	for (size_t i = 0; i < count_samplers(c); i++)
		c->data->kept[i] = sampler_begun(sampler(c, i));
}

void
data_write_counts(struct coord *c, bool all)
{
	struct pack out = { 0 }, part = { 0 };

	if (!c->o.samplers)
		return;
	samplers_write_counts(c->o.samplers, &out);
	samplers_write_position(c->o.samplers, &part, all);
	pack_blob(&out, part.data, part.size);
	journal_add(c, JOURNAL_COUNTS, &out, true);
	note_begun(c);
	pack_release(&part);
	pack_release(&out);
}

void
data_write_streams(struct coord *c)
{
	struct pack out = { 0 };

	if (!have_begun(c))
		return;
	note_begun(c);
	for (size_t i = 0; i < count_samplers(c); i++)
		sampler_write_begun(sampler(c, i), &out);
	journal_add(c, JOURNAL_STREAMS, &out, true);
	pack_release(&out);
}

void
data_write_epoch(const struct coord *c, struct pack *out, uint64_t now)
{
	for (size_t i = 0; i < count_samplers(c); i++) {
		const struct epoch *e = &c->data->epoch[i];

		pack_uint(out, e->open);
		pack_uint(out, e->number);
		pack_uint(out, sampler_records_read(sampler(c, i), e->number));
		totals_write(out, c, &e->totals, now);
	}
}

int
data_read_counts(struct coord *c, struct unpack *u, struct fail *f)
{
	const void *position;
	size_t size;

	if (!c->o.samplers || samplers_read_counts(c->o.samplers, u, f) < 0)
		return -1;
	position = unpack_blob(u, &size);
	if (u->bad ||
	    samplers_read_position(c->o.samplers, position, size, f) < 0)
		return -1;
	note_begun(c);
	return 0;
}

int
data_read_streams(struct coord *c, struct unpack *u)
{
	if (!c->o.samplers)
		return -1;
	for (size_t i = 0; i < count_samplers(c); i++)
		if (!sampler_read_begun(sampler(c, i), u))
			return -1;
	note_begun(c);
	return 0;
}

int
data_read_epoch(struct coord *c, struct unpack *u)
{
	if (!data_ready(c))
		return 0;
	for (size_t i = 0; i < count_samplers(c); i++) {
		struct sampler *l = sampler(c, i);
		struct epoch *e = &c->data->epoch[i];
		uint64_t visited;

		e->open = unpack_uint(u);
		e->number = unpack_uint(u);
		visited = unpack_uint(u);
		totals_read(u, c, &e->totals);
		sampler_add_read(l, e->number * sampler_batches(l),
				 visited - sampler_records_read(l, e->number));
	}
	return u->bad ? -1 : 0;
}

/* ---- what always holds ---- */

const char *
data_check(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next) {
		const struct reader *r = reader(c, m);

		if (m->gone && r->counting)
			return "coord 6: nothing is expected of a member that "
				"is gone";
		for (const struct member *o = m->next; o; o = o->next) {
			const struct reader *q = reader(c, o);

			if (m->gone || o->gone)
				continue;
			if (r->stream != WIRE_NONE && r->stream == q->stream)
				return "coord 7: a stream is read by one "
					"worker";
			if (r->counting && q->counting &&
			    r->sampler == q->sampler && r->split == q->split)
				return "coord 8: a split is counted by one "
					"worker";
		}
	}
	return NULL;
}
