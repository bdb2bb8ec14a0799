#include "prog/feed.h"

#include "base/log.h"
#include "base/mem.h"
#include "data/source.h"
#include "prog/blocks.h"
#include "prog/prefetch.h"
#include "sys/clock.h"

#include <stdlib.h>

#define MORE_BLOCKS	2	/* of the steps behind the next one */

struct feed {
	struct worker *worker;
	struct feed_options o;
	struct prefetch *data;	/* NULL: not opened yet */
	bool data_over;
	struct blocks *blocks;	/* the coordinator's data, instead: */
	struct frame *want;	/* these, at most */
	size_t wants;
	bool counting;
	uint64_t count;		/* its number */
	struct prefetch *eval;	/* of the evaluation under way */
	uint64_t evaluation;	/* its number */
	struct batch batch, eval_batch;
	bool begun;		/* the batches are */
	struct fail why;	/* it cannot be read; kind 0: it can */
	bool told;		/* the coordinator of that */
};

struct feed *
feed_new(struct worker *worker, const struct feed_options *o)
{
	struct feed *feed = mem_alloc(1, sizeof(*feed));

	feed->worker = worker;
	feed->o = *o;
	return feed;
}

void
feed_free(struct feed *feed)
{
	if (!feed)
		return;
	prefetch_close(feed->eval);
	prefetch_close(feed->data);
	blocks_free(feed->blocks);
	free(feed->want);
	batch_release(&feed->batch);
	batch_release(&feed->eval_batch);
	free(feed);
}

size_t
feed_fds(const struct feed *feed, struct pollfd *fds)
{
	size_t count = 0;

	if (feed->data && !feed->data_over)
		fds[count++] = (struct pollfd){ prefetch_fd(feed->data),
						POLLIN, 0 };
	if (feed->blocks)
		fds[count++] = (struct pollfd){ blocks_fd(feed->blocks),
						POLLIN, 0 };
	if (feed->eval)
		fds[count++] = (struct pollfd){ prefetch_fd(feed->eval),
						POLLIN, 0 };
	return count;
}

/* There is room for one from before. */
static void
begin_blocks(struct feed *feed)
{
	feed->wants = worker_batches(feed->worker) + MORE_BLOCKS;
	feed->want = mem_alloc(feed->wants, sizeof(*feed->want));
	feed->blocks = blocks_new(worker_model(feed->worker),
				  worker_format(feed->worker),
				  feed->o.reader.max_bad,
				  feed->o.reader.cache, feed->wants + 1);
}

/* Files that no step reads were named for another model. */
static void
check_used(struct feed *feed)
{
	const struct model *model = worker_model(feed->worker);
	struct fail why;
	size_t line;

	if (feed->o.count == 0 || model_scored(model, &line))
		return;
	fail(&why, FAIL_USAGE, "ps-work has inputs, and no step line of the "
	     "model takes any: their program has data of its own");
	worker_unfit(feed->worker, &why);
}

/* The model is known: the inputs can be read. */
static void
begin_data(struct feed *feed)
{
	struct reader_options o = feed->o.reader;
	const struct model *model = worker_model(feed->worker);
	const struct record_range_format *how = worker_format(feed->worker);
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	o.seed = worker_seed(feed->worker) ^ feed->o.life;
	if (feed->o.index != WIRE_NONE)	/* the same in every run */
		o.seed = worker_seed(feed->worker) ^
			(feed->o.index + 1) << 32;
	batch_begin(&feed->batch, input, inputs, model_label(model));
	batch_begin(&feed->eval_batch, input, inputs, model_label(model));
	feed->begun = true;
	check_used(feed);
	if (how && feed->o.count > 0)
		fail(&feed->why, FAIL_USAGE, "ps-work has inputs, and ps-coord "
		     "data for all workers (-d): name them in one place");
	else if (how)
		begin_blocks(feed);
	else if (feed->o.count == 0)
		fail(&feed->why, FAIL_USAGE, "no input: name files, - or "
		     "pipe:COMMAND for ps-work, or data for all workers for "
		     "ps-coord (-d)");
	else
		feed->data = prefetch_open(model, feed->o.inputs,
					   feed->o.count, &o, &feed->why);
}

/*
 * Data that cannot be read are the error of the step that needs them, and of
 * nobody if no step does.
 */
static void
bad_data(struct feed *feed)
{
	uint64_t number;

	if (worker_index(feed->worker, &number)) {
		feed->told = true;
		worker_index_failed(feed->worker, &feed->why);
	}
	if (worker_want(feed->worker) > 0) {
		feed->told = feed->data_over = true;
		worker_bad_data(feed->worker, &feed->why);
	}
}

/* Have those blocks read that will be needed. */
static void
want_blocks(struct feed *feed)
{
	blocks_want(feed->blocks, feed->want,
		    worker_blocks(feed->worker, feed->want, feed->wants));
}

/* A split to be counted comes before any step. */
static void
count_split(struct feed *feed)
{
	uint64_t number;
	const struct frame *span = worker_index(feed->worker, &number);
	struct record_range_tally tally;
	struct fail why;

	if (feed->counting) {
		const int got = blocks_counted(feed->blocks, &tally, &why);

		if (got == 0)
			return;
		feed->counting = false;
		if (span && number == feed->count && got > 0)
			worker_indexed(feed->worker, &tally);
		else if (span && number == feed->count)
			worker_index_failed(feed->worker, &why);
		if (got > 0)
			free(tally.place);
		span = worker_index(feed->worker, &number);
	}
	if (span && blocks_count(feed->blocks, span)) {
		feed->counting = true;
		feed->count = number;
	}
}

/* The records of the next step, when all are there; as blocks_slice(). */
static int
take_slices(struct feed *feed)
{
	struct worker_slice s;
	int got = 0;

	for (size_t k = 0; worker_slice(feed->worker, k, &s); k++)
		if (!blocks_have(feed->blocks, &s.block))
			return 0;
	batch_reset(&feed->batch);
	for (size_t k = 0; worker_slice(feed->worker, k, &s); k++) {
		got = blocks_slice(feed->blocks, &s.block, s.from, s.count,
				   &feed->batch, &feed->why);
		if (got <= 0)
			break;
	}
	return got;
}

static void
feed_slices(struct feed *feed)
{
	int got;

	count_split(feed);
	want_blocks(feed);
	while ((got = take_slices(feed)) != 0) {
		if (got > 0) {
			worker_batch(feed->worker, &feed->batch, clock_ms(),
				     clock_us());
		} else {
			feed->told = true;
			worker_bad_block(feed->worker, &feed->why);
		}
		want_blocks(feed);
	}
}

void
feed_steps(struct feed *feed)
{
	uint64_t records;
	size_t want;

	if (!feed->begun && worker_model(feed->worker))
		begin_data(feed);
	if (feed->blocks) {
		feed_slices(feed);
		return;
	}
	if (feed->begun && !feed->data && !feed->data_over)
		bad_data(feed);
	while (worker_put_back(feed->worker, &feed->batch)) {
		prefetch_put_back(feed->data, &feed->batch);
		feed->data_over = false;
	}
	while (feed->data && !feed->data_over &&
	       (want = worker_want(feed->worker)) > 0) {
		const int got = prefetch_take(feed->data, want, &feed->batch);

		if (got == 0)
			break;
		if (got > 0) {
			worker_batch(feed->worker, &feed->batch, clock_ms(),
				     clock_us());
			continue;
		}
		feed->data_over = true;
		if (prefetch_end(feed->data, &records, &feed->why) < 0) {
			feed->told = true;
			worker_bad_data(feed->worker, &feed->why);
		} else {
			log_info("the data has ended: %llu records",
				 (unsigned long long)records);
			worker_exhausted(feed->worker, records);
		}
	}
}

int
feed_failure(const struct feed *feed, struct fail *f)
{
	if (!feed->told)
		return 0;
	*f = feed->why;
	return -1;
}

/* It would take the records of steps away from them. */
static int
check_evaluated(char *const *file, size_t count, struct fail *f)
{
	for (size_t i = 0; i < count; i++)
		if (source_once(file[i]))
			return fail(f, FAIL_NOINPUT, "%s: it can be read only "
				    "once, and not to score on: name files "
				    "for that", file[i]);
	return 0;
}

static void
begin_evaluation(struct feed *feed, const struct worker_evaluation *e)
{
	const bool own = e->count == 0;
	char *const *file = own ? feed->o.inputs : e->file;
	const size_t count = own ? feed->o.count : e->count;
	const struct record_range_format *how = worker_format(feed->worker);
	struct reader_options o = {
		.format = feed->o.reader.format,
		.no_header = feed->o.reader.no_header,
		.shard = e->shard, .shards = e->shards,
		.max_bad = feed->o.reader.max_bad,
		/* A peer's word is no command, and makes no files. */
		.allow_pipe = own,
		.cache = own ? feed->o.reader.cache : NULL
	};
	struct fail f;

	if (how && !o.format)	/* as what is trained with */
		o.format = how->name;
	if (how)
		o.no_header = o.no_header || how->no_header;
	feed->evaluation = e->number;
	if (check_evaluated(file, count, &f) == 0)
		feed->eval = prefetch_open(worker_model(feed->worker), file,
					   count, &o, &f);
	if (!feed->eval)
		worker_evaluation_failed(feed->worker, &f);
}

static void
end_evaluation(struct feed *feed)
{
	uint64_t records;
	struct fail f;

	/* A shard without a record is none of an evaluation's faults. */
	if (prefetch_end(feed->eval, &records, &f) < 0)
		worker_evaluation_failed(feed->worker, &f);
	else
		worker_evaluation_batch(feed->worker, NULL, clock_ms());
}

void
feed_evaluation(struct feed *feed)
{
	const struct worker_evaluation *e = worker_evaluation(feed->worker);

	if (feed->eval && (!e || e->number != feed->evaluation)) {
		prefetch_close(feed->eval);
		feed->eval = NULL;
	}
	if (e && !feed->eval)
		begin_evaluation(feed, e);
	while (feed->eval && (e = worker_evaluation(feed->worker)) &&
	       worker_evaluation_wants(feed->worker)) {
		const int got = prefetch_take(feed->eval, e->batch,
					      &feed->eval_batch);

		if (got == 0)
			return;
		if (got > 0)
			worker_evaluation_batch(feed->worker,
						&feed->eval_batch,
						clock_ms());
		else
			end_evaluation(feed);
	}
	if (feed->eval && !worker_evaluation(feed->worker)) {
		prefetch_close(feed->eval);
		feed->eval = NULL;
	}
}
