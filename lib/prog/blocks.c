#include "prog/blocks.h"

#include "base/mem.h"
#include "data/order.h"
#include "base/text.h"
#include "data/block.h"
#include "sys/clock.h"
#include "sys/task.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NONE		SIZE_MAX
#define PATIENCE_MS	1000	/* for finishing a file of the cache, at the
				   end */

/* A block that has been read. */
struct cached_block {
	struct text frame;	/* the block that it is; empty: none */
	struct batch batch;
	size_t *order;		/* for each record its example, or NONE if it
				   was passed over */
	size_t *hole, holes, hole_room;
	uint64_t used;		/* clock, when it was last wanted */
	bool bad;
	struct fail why;
};

enum job { JOB_NONE, JOB_BLOCK, JOB_COUNT, JOB_BLOCK_DONE, JOB_COUNT_DONE };

struct blocks {
	struct model_dataset data;
	struct record_range_format how;
	struct cache cache;
	struct skip_records bad;
	struct negative_labels negatives;
	struct order order;
	struct cached_block *cached;
	size_t count;		/* number of cached blocks */
	uint64_t clock;
	/* The thread's job, and its result: */
	enum job job;
	struct cached_block read;	/* to be swapped with a cached one */
	struct record_range_tally tally;
	int status;
	struct record_range_reader *reader;	/* the thread's alone */
	bool quit;
	atomic_bool stop;
	int event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
};

static size_t
records(const struct cached_block *k)
{
	return k->batch.examples + k->holes;
}

/* Read some records, or pass over one. */
static int
read_some(struct record_range_reader *r, struct cached_block *k, struct fail *f)
{
	const size_t before = records(k);
	const int got = record_range_read(r, &k->batch, f);

	if (got > 0 && records(k) == before) {
		k->hole = mem_grow(k->hole, k->holes, &k->hole_room,
				   sizeof(*k->hole));
		k->hole[k->holes++] = before;
	}
	return got;
}

static int
read_span(struct blocks *b, const struct record_range *s,
	  struct cached_block *to, struct fail *f)
{
	const struct model_dataset *d = &b->data;
	int got = 1;

	if (!b->reader || !record_range_follow(b->reader, s)) {
		while (b->reader && record_range_finish(b->reader))
			;
		record_range_close(b->reader);
		b->reader = record_range_open(s, &b->how, d->input, d->inputs,
					      d->label, f);
	}
	while (b->reader && got > 0)
		got = read_some(b->reader, to, f);
	if (b->reader && got == 0)
		return 0;
	record_range_close(b->reader);
	b->reader = NULL;
	return -1;
}

/*
 * Turn the order of records into that of examples, with NONE for records that
 * were passed over.
 */
static void
skip_holes(struct cached_block *k)
{
	const size_t count = records(k);
	size_t *example = mem_alloc(count, sizeof(*example));

	for (size_t i = 0; i < k->holes; i++)
		example[k->hole[i]] = NONE;
	for (size_t i = 0, n = 0; i < count; i++)
		if (example[i] != NONE)
			example[i] = n++;
	for (size_t i = 0; i < count; i++)
		k->order[i] = example[k->order[i]];
	free(example);
}

static int
read_block(struct blocks *b, struct fail *f)
{
	struct cached_block *k = &b->read;
	struct block block;
	int got;

	batch_reset(&k->batch);
	k->holes = 0;
	k->batch.label.input = b->data.label;
	got = block_read(&block, k->frame.data, k->frame.size, f);
	for (size_t i = 0; i < block.spans && got == 0; i++)
		got = read_span(b, &block.span[i], k, f);
	if (got == 0) {
		k->order = mem_resize(k->order, records(k) + 1,
				      sizeof(*k->order));
		block_order(block.seed, k->order, records(k));
		if (k->holes > 0)
			skip_holes(k);
	}
	block_release(&block);
	return got;
}

static int
count_span(struct blocks *b, struct fail *f)
{
	const struct model_dataset *d = &b->data;
	struct record_range span;
	int got = block_read_span(&span, b->read.frame.data,
				  b->read.frame.size, f);

	if (got == 0)
		got = record_range_count(&span, &b->how, d->input, d->inputs,
					 d->label, &b->tally, f);
	record_range_release(&span);
	return got;
}

static void *
run_reader(void *arg)
{
	struct blocks *b = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&b->lock);
	while (!b->quit) {
		const enum job job = b->job;
		int status;

		if (job != JOB_BLOCK && job != JOB_COUNT) {
			pthread_cond_wait(&b->work, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		status = job == JOB_BLOCK ? read_block(b, &b->read.why) :
			count_span(b, &b->read.why);
		pthread_mutex_lock(&b->lock);
		b->status = status;
		b->job = job == JOB_BLOCK ? JOB_BLOCK_DONE : JOB_COUNT_DONE;
		if (write(b->event, &one, sizeof(one)) < 0)
			abort();	/* a counter of ones does not
					   overflow */
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void
release(struct cached_block *k)
{
	text_release(&k->frame);
	batch_release(&k->batch);
	free(k->order);
	free(k->hole);
}

/* Finish the file of the cache that was begun, within PATIENCE_MS. */
static void
finish_cache(struct blocks *b)
{
	const uint64_t until = clock_ms() + PATIENCE_MS;

	atomic_store(&b->stop, false);
	while (b->reader && record_range_finish(b->reader) &&
	       clock_ms() < until)
		;
	record_range_close(b->reader);
}

/* Free what the thread used, which has ended or was not started. */
static void
dispose(struct blocks *b)
{
	if (b->event >= 0)
		close(b->event);
	pthread_cond_destroy(&b->work);
	pthread_mutex_destroy(&b->lock);
	finish_cache(b);
	skip_records_end(&b->bad);
	order_release(&b->order);
	if (b->job == JOB_COUNT_DONE && b->status == 0)
		free(b->tally.place);
	for (size_t i = 0; i < b->count; i++)
		release(&b->cached[i]);
	release(&b->read);
	free(b->cached);
	free(b);
}

struct blocks *
blocks_new(const struct model *model, size_t dataset,
	   const struct record_range_format *how, uint64_t max_bad,
	   const char *cache, size_t cached, struct fail *f)
{
	struct blocks *b = mem_alloc(1, sizeof(*b));
	const struct model_dataset d = model_dataset(model, dataset);

	b->data = d;
	b->how = *how;
	b->how.stop = &b->stop;
	b->cache.folder = cache;
	b->how.cache = cache ? &b->cache : NULL;
	b->bad.most = max_bad;
	b->how.bad = &b->bad;
	b->how.negatives = &b->negatives;
	b->how.order = &b->order;
	b->cached = mem_alloc(cached, sizeof(*b->cached));
	b->count = cached;
	for (size_t i = 0; i < b->count; i++)
		batch_begin(&b->cached[i].batch, d.input, d.inputs, d.label);
	batch_begin(&b->read.batch, d.input, d.inputs, d.label);
	b->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->work, NULL);
	if (task_thread(&b->thread, b->event, run_reader, b, f) == 0)
		return b;
	dispose(b);
	return NULL;
}

void
blocks_free(struct blocks *b)
{
	if (!b)
		return;
	atomic_store(&b->stop, true);
	pthread_mutex_lock(&b->lock);
	b->quit = true;
	pthread_cond_signal(&b->work);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	dispose(b);
}

int
blocks_fd(const struct blocks *b)
{
	return b->event;
}

static bool
is_same_frame(const struct text *frame, const struct frame *f)
{
	return frame->size == f->size && f->size > 0 &&
		memcmp(frame->data, f->data, f->size) == 0;
}

static struct cached_block *
find(struct blocks *b, const struct frame *f)
{
	for (size_t i = 0; i < b->count; i++)
		if (is_same_frame(&b->cached[i].frame, f))
			return &b->cached[i];
	return NULL;
}

static struct cached_block *
least_used(struct blocks *b)
{
	struct cached_block *least = &b->cached[0];

	for (size_t i = 1; i < b->count; i++)
		if (b->cached[i].used < least->used)
			least = &b->cached[i];
	return least;
}

/*
 * Put the block that has been read in the place of the one that was wanted
 * longest ago.
 */
static void
collect_block(struct blocks *b)
{
	struct cached_block *to = least_used(b);
	uint64_t events;
	struct cached_block old;

	if (read(b->event, &events, sizeof(events)) < 0)
		events = 0;	/* there is no event: the descriptor does not
				   block */
	if (b->job != JOB_BLOCK_DONE)
		return;
	old = *to;
	*to = b->read;
	b->read = old;
	to->bad = b->status < 0;
	to->used = ++b->clock;
	b->job = JOB_NONE;
}

static void
begin(struct blocks *b, enum job job, const struct frame *f)
{
	text_reset(&b->read.frame);
	text_add_bytes(&b->read.frame, f->data, f->size);
	b->job = job;
	pthread_cond_signal(&b->work);
}

void
blocks_want(struct blocks *b, const struct frame *want, size_t count)
{
	pthread_mutex_lock(&b->lock);
	collect_block(b);
	/* The most urgent block is touched last, so it is replaced last. */
	for (size_t i = count; i > 0; i--) {
		struct cached_block *k = find(b, &want[i - 1]);

		if (k)
			k->used = ++b->clock;
	}
	for (size_t i = 0; i < count && b->job == JOB_NONE; i++)
		if (!find(b, &want[i]))
			begin(b, JOB_BLOCK, &want[i]);
	pthread_mutex_unlock(&b->lock);
}

bool
blocks_have(struct blocks *b, const struct frame *block)
{
	return find(b, block) != NULL;
}

int
blocks_slice(struct blocks *b, const struct frame *block, uint64_t from,
	     uint64_t count, struct batch *to, struct fail *f)
{
	struct cached_block *k = find(b, block);
	const size_t before = to->examples;

	if (!k)
		return 0;
	if (k->bad) {
		*f = k->why;
		text_reset(&k->frame);
		k->used = 0;
		return -1;
	}
	if (from >= records(k))
		return fail(f, FAIL_PROTOCOL, "a slice of no records");
	if (count > records(k) - from)
		count = records(k) - from;
	for (uint64_t i = from, n; i < from + count; i += n) {
		n = 1;
		if (k->order[i] == NONE)
			continue;
		while (i + n < from + count &&
		       k->order[i + n] == k->order[i] + n)
			n++;
		batch_append_run(to, &k->batch, k->order[i], n);
	}
	if (to->examples == before)
		return fail(f, FAIL_DATA, "none of a step's %llu records is "
			    "good", (unsigned long long)count);
	return 1;
}

bool
blocks_count(struct blocks *b, const struct frame *span)
{
	bool begun = false;

	pthread_mutex_lock(&b->lock);
	collect_block(b);
	if (b->job == JOB_NONE) {
		begin(b, JOB_COUNT, span);
		begun = true;
	}
	pthread_mutex_unlock(&b->lock);
	return begun;
}

int
blocks_counted(struct blocks *b, struct record_range_tally *tally,
	       struct fail *f)
{
	int got = 0;

	pthread_mutex_lock(&b->lock);
	collect_block(b);
	if (b->job == JOB_COUNT_DONE) {
		got = b->status < 0 ? -1 : 1;
		*tally = b->tally;
		*f = b->read.why;
		b->job = JOB_NONE;
	}
	pthread_mutex_unlock(&b->lock);
	return got;
}
