/*
 * The coordinator's sampler: its splits are counted, its blocks leased, its
 * epochs closed.
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

/* What a worker is at. */
struct reader {
	uint64_t stream;	/* of the sampler; WIRE_NONE: it has none */
	bool counting;		/* a split of the sampler: */
	size_t split;
	uint64_t request;
};

struct dataset {
	struct reader *of;		/* each member */
	size_t room;
	uint64_t requests;		/* to count a split */
	struct deaths deaths;		/* of each that is counted */
	struct pack block, blocks, after;	/* of a lease */
	uint64_t epoch;			/* the newest, and */
	struct totals totals;		/* of its steps, if */
	bool open;			/* some were done */
	uint64_t kept;		/* epochs that have begun, in the journal */
};

#define AHEAD	8	/* leases of a stream, of which none has ended */

void
data_init(struct coord *c)
{
	c->data = mem_alloc(1, sizeof(*c->data));
}

void
data_release(struct coord *c)
{
	free(c->data->of);
	deaths_release(&c->data->deaths);
	pack_release(&c->data->block);
	pack_release(&c->data->blocks);
	pack_release(&c->data->after);
	totals_release(&c->data->totals);
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
	return !c->o.sampler || sampler_ready(c->o.sampler);
}

/* Are its steps of our data, which are those of the data set without a name? */
static bool
reads_ours(const struct coord *c, const struct request *r)
{
	size_t line;

	return !model_find_step(c->model, r->call ? r->call->step : NULL,
				&line) || (model_reads(c->model, line) & 1);
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
	if ((r->op == REQUEST_TRAIN || r->op == REQUEST_EPOCH) &&
	    c->o.sampler && !reads_ours(c, r))
		return fail(f, FAIL_DATA, "the step line takes no input of "
			    "the data of ps-coord (-d), of which all steps "
			    "are");
	if (r->op == REQUEST_EPOCH && !c->o.sampler)
		return fail(f, FAIL_DATA, "epoch: workers read inputs of "
			    "their own and know no common pass; say train N, "
			    "or give ps-coord the data (-d)");
	if (r->op == REQUEST_TRAIN && c->o.sampler && r->batch > 0)
		return fail(f, FAIL_DATA, "batch=%llu: with data of ps-coord "
			    "(-d) all steps are of one size, --batch",
			    (unsigned long long)r->batch);
	return 0;
}

/* ---- counting ---- */

static void
ask(struct coord *c, struct member *w, size_t split)
{
	struct message m = { .kind = MESSAGE_INDEX };
	const struct record_range span = sampler_range(c->o.sampler, split);

	reader(c, w)->counting = true;
	reader(c, w)->split = split;
	reader(c, w)->request = m.request = ++c->data->requests;
	m.index.term = c->plan.term;
	pack_reset(&c->data->block);
	block_write_span(&c->data->block, &span);
	m.frames = 1;
	m.frame[0] = (struct frame){ c->data->block.data,
				     c->data->block.size, NULL };
	outbox_send(c->outbox, w->peer, &m);
}

void
data_count(struct coord *c)
{
	for (struct member *w = c->member; w; w = w->next) {
		size_t split;

		if (w->role != ROLE_WORKER || !w->ready ||
		    !worker_answers(w) || reader(c, w)->counting)
			continue;
		split = sampler_count_next(c->o.sampler);
		if (split == SAMPLER_NONE)
			return;
		ask(c, w, split);
	}
}

void
data_take_back(struct coord *c, struct member *w)
{
	if (reader(c, w)->counting)
		sampler_count_again(c->o.sampler, reader(c, w)->split);
	reader(c, w)->counting = false;
	reader(c, w)->stream = WIRE_NONE;
}

/* The file is to be counted as one: what is known of its parts is void. */
static void
count_whole(struct coord *c, size_t split)
{
	const size_t file = sampler_file(c->o.sampler, split);

	for (struct member *w = c->member; w; w = w->next)
		if (reader(c, w)->counting &&
		    sampler_file(c->o.sampler, reader(c, w)->split) == file)
			reader(c, w)->counting = false;
	sampler_whole(c->o.sampler, split);
}

void
data_note(const struct coord *c, struct pack *place,
	  struct sampler_reads *visits)
{
	pack_reset(place);
	if (!c->o.sampler || !sampler_ready(c->o.sampler))
		return;
	sampler_write_position(c->o.sampler, place, false);
	*visits = sampler_reads(c->o.sampler);
}

char *
data_position(const struct coord *c, const struct pack *place,
	      const struct sampler_reads *visits)
{
	struct text text = { 0 };
	struct pack p = { 0 };

	if (!c->o.sampler)
		return NULL;
	if (place->size == 0)	/* where the run began */
		return c->o.restored.sampler ? mem_text(c->o.restored.sampler) :
			NULL;
	sampler_copy_position(place, visits, &p);
	for (size_t i = 0; i < p.size; i++)
		text_add(&text, "%02x", p.data[i]);
	pack_release(&p);
	return text.data;
}

static int
read_position(struct sampler *l, const char *text, struct fail *f)
{
	const size_t size = text ? strlen(text) / 2 : 0;
	unsigned char *bytes;
	unsigned byte;
	int r = 0;

	if (size == 0)
		return fail(f, FAIL_DATA, "it does not say how far they "
			    "were read");
	bytes = mem_alloc(size, 1);
	for (size_t i = 0; i < size && r == 0; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			r = fail(f, FAIL_DATA, "no hexadecimal: '%.2s'",
				 text + 2 * i);
		bytes[i] = (unsigned char)byte;
	}
	if (r == 0)
		r = sampler_read_position(l, bytes, size, f);
	free(bytes);
	return r;
}

/* Go on where the checkpoint that was loaded had come to, if it is so. */
static void
restore(struct coord *c)
{
	struct fail why;

	if (!c->o.sampler || !*c->o.restore || c->o.restored.step == 0)
		return;
	if (read_position(c->o.sampler, c->o.restored.sampler, &why) < 0)
		report_warning(c, "the data begin with epoch 0, not where %s "
			       "was: %s", c->o.restore, why.text);
}

/* The first request cannot be, and so none can. */
static void
no_data(struct coord *c, const struct fail *why, const char *worker)
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
		return 0;	/* of a file that is counted anew */
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
		count_whole(c, reader(c, w)->split);
	else
		got = sampler_counted(c->o.sampler, reader(c, w)->split,
				      m->indexed.records, place, count, &why);
	free(place);
	if (got < 0)
		no_data(c, &why, NULL);
	else if (sampler_ready(c->o.sampler)) {
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
	no_data(c, &why, w->name);
}

void
data_died(struct coord *c, const struct member *w)
{
	const struct reader *r = reader(c, w);
	struct fail why;

	if (!r->counting || !deaths_add(&c->data->deaths, r->split))
		return;
	reader(c, w)->counting = false;
	fail(&why, FAIL_DATA, "%d workers died under it", QUEUE_DEATHS);
	no_data(c, &why, w->name);
}

/* ---- leases ---- */

/* A stream that nobody has. */
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
data_run(const struct coord *c, uint64_t place)
{
	const uint64_t run = c->o.sampler ? sampler_run(c->o.sampler, place) :
		c->o.pack;

	return run < c->o.pack ? (size_t)run : c->o.pack;
}

size_t
data_lease(struct coord *c, struct member *w, uint64_t limit, bool any,
	   struct lease_terms *terms)
{
	const uint64_t now = sampler_now(c->o.sampler) *
		sampler_steps(c->o.sampler);
	const uint64_t workers = workers_ready(c);
	struct lease_choice choice = {
		.streams = workers,
		.ahead = workers * c->o.pack * (c->o.in_flight + AHEAD)
	};
	uint64_t streams = sampler_streams(c->o.sampler, now);

	if (streams < workers)	/* an epoch that begins may have more */
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

/* Each stream that a replica of a round reads has a slice of its own, from the
   same place. */
void
data_describe(struct coord *c, const struct lease_terms *terms,
	      uint64_t replica, struct message *m)
{
	const uint64_t streams = coord_streams(&c->o);
	struct dataset *d = c->data;
	struct slice slice;
	struct block b;

	pack_reset(&d->blocks);
	pack_reset(&d->after);
	for (uint64_t k = replica * streams; k < (replica + 1) * streams; k++) {
		if (!sampler_slice(c->o.sampler, terms->place, k, &slice))
			break;
		m->lease.from = slice.from;
		sampler_block(c->o.sampler, &slice, &b);
		add_block(d, &d->blocks, &b);
		if (sampler_block_after(c->o.sampler, &slice, &b))
			add_block(d, &d->after, &b);
	}
	m->frame[m->frames++] = (struct frame){ d->blocks.data,
						d->blocks.size, NULL };
	if (d->after.size > 0)
		m->frame[m->frames++] = (struct frame){ d->after.data,
							d->after.size, NULL };
}

/* ---- epochs ---- */

static void
open_epoch(struct coord *c, uint64_t epoch, uint64_t now)
{
	totals_reset(&c->data->totals, now);
	c->data->epoch = epoch;
	c->data->open = true;
}

/* Totals are kept of the newest epoch that has begun: it closes last. */
void
data_done(struct coord *c, const struct step *step, const struct result *r,
	  const float *scores, const unsigned char *positive, uint64_t now)
{
	uint64_t epoch;

	if (!c->o.sampler)
		return;
	epoch = sampler_epoch(c->o.sampler, step->place);
	sampler_add_read(c->o.sampler, step->place, r->examples);
	if (epoch > c->data->epoch || !c->data->open)
		open_epoch(c, epoch, now);
	if (epoch == c->data->epoch)
		totals_add(&c->data->totals, c, r, scores, positive);
}

bool
data_knows_epochs(struct coord *c, uint64_t first)
{
	const uint64_t high = fleet_high_watermark(c->fleet);
	struct lease_terms l;
	uint64_t epoch;
	struct fail why;

	if (!c->resumed || journal_replays(c) || !c->o.sampler ||
	    first >= high || sampler_begun(c->o.sampler) == c->data->kept)
		return true;
	/* Those that begin now are the last ones that have steps. */
	queue_asked(c->queue, queue_next(c->queue) - 1, &l);
	epoch = l.place / sampler_steps(c->o.sampler) + 1 -
		(sampler_begun(c->o.sampler) - c->data->kept);
	for (; first < high && first < queue_next(c->queue); first++) {
		queue_asked(c->queue, first, &l);
		if (l.place / sampler_steps(c->o.sampler) >= epoch)
			break;
	}
	if (first >= high || first >= queue_next(c->queue))
		return true;
	fail(&why, FAIL_DATA, "a server has step %llu, of an epoch of which "
	     "this run's journal does not know: it was cut short, or is an "
	     "older one. Put the right one in its place, or remove it to "
	     "begin anew", (unsigned long long)first);
	journal_lose(c);		/* it stays as it was */
	ending_fail(c, &why);
	return false;
}

/* It may go on with one of which steps have been done. */
void
data_begin_epoch(struct coord *c, uint64_t now)
{
	const uint64_t epoch = sampler_now(c->o.sampler);

	if (epoch != c->data->epoch || !c->data->open)
		open_epoch(c, epoch, now);
	queue_begin(c->queue, sampler_left(c->o.sampler));
	journal_begun(c);
}

int
data_epoch(struct coord *c, const struct request *r, uint64_t now)
{
	uint64_t left;

	if (!queue_begun(c->queue, &left)) {
		data_begin_epoch(c, now);
		return 0;
	}
	if (left > 0)
		return 0;
	report_epoch(c, r, c->data->epoch, &c->data->totals, now);
	c->data->open = false;
	if (r->epochs > 0) {
		journal_closed(c);
		data_begin_epoch(c, now);
		return 0;
	}
	return 1;
}

/* ---- in the journal ---- */

void
data_write_counts(struct coord *c, bool all)
{
	struct pack out = { 0 }, part = { 0 };

	if (!c->o.sampler)
		return;
	sampler_write_counts(c->o.sampler, &part);
	pack_blob(&out, part.data, part.size);
	pack_reset(&part);
	sampler_write_position(c->o.sampler, &part, all);
	pack_blob(&out, part.data, part.size);
	journal_add(c, JOURNAL_COUNTS, &out, true);
	c->data->kept = sampler_begun(c->o.sampler);
	pack_release(&part);
	pack_release(&out);
}

void
data_write_streams(struct coord *c)
{
	struct pack out = { 0 };

	if (!c->o.sampler || sampler_begun(c->o.sampler) == c->data->kept)
		return;
	c->data->kept = sampler_begun(c->o.sampler);
	sampler_write_begun(c->o.sampler, &out);
	journal_add(c, JOURNAL_STREAMS, &out, true);
	pack_release(&out);
}

void
data_write_epoch(const struct coord *c, struct pack *out, uint64_t now)
{
	if (!c->o.sampler)
		return;
	pack_uint(out, c->data->open);
	pack_uint(out, c->data->epoch);
	pack_uint(out, sampler_records_read(c->o.sampler, c->data->epoch));
	totals_write(out, c, &c->data->totals, now);
}

int
data_read_counts(struct coord *c, struct unpack *u, struct fail *f)
{
	size_t counts_size, position_size;
	const void *counts = unpack_blob(u, &counts_size);
	const void *position = unpack_blob(u, &position_size);

	if (u->bad || !c->o.sampler)
		return -1;
	if (sampler_read_counts(c->o.sampler, counts, counts_size, f) < 0 ||
	    sampler_read_position(c->o.sampler, position, position_size, f) < 0)
		return -1;
	c->data->kept = sampler_begun(c->o.sampler);
	return 0;
}

int
data_read_streams(struct coord *c, struct unpack *u)
{
	if (!c->o.sampler || !sampler_read_begun(c->o.sampler, u))
		return -1;
	c->data->kept = sampler_begun(c->o.sampler);
	return 0;
}

int
data_read_epoch(struct coord *c, struct unpack *u)
{
	struct sampler *l = c->o.sampler;
	uint64_t visited;

	if (!l || !sampler_ready(l))
		return 0;
	c->data->open = unpack_uint(u);
	c->data->epoch = unpack_uint(u);
	visited = unpack_uint(u);
	totals_read(u, c, &c->data->totals);
	sampler_add_read(l, c->data->epoch * sampler_steps(l),
			 visited - sampler_records_read(l, c->data->epoch));
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
			if (r->counting && q->counting && r->split == q->split)
				return "coord 8: a split is counted by one "
					"worker";
		}
	}
	return NULL;
}
