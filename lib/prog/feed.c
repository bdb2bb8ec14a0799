#include "prog/feed.h"

#include "base/log.h"
#include "base/mem.h"
#include "data/source.h"
#include "model/dataset.h"
#include "prog/blocks.h"
#include "prog/prefetch.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

#define MORE_BLOCKS	2	/* blocks of the steps after those at hand */
#define NONE		SIZE_MAX

/* A data set of the coordinator's. */
struct leased {
	struct blocks *blocks;	/* NULL: the data set is our own */
	struct batch part;	/* of the batch that is put together */
};

struct feed {
	struct worker *worker;
	struct feed_options o;
	struct inputs *data;	/* NULL: the model is not known yet */
	bool data_over;
	struct leased *leased;	/* INPUTS_FDS of them, for each data set of the
				   model; NULL: the coordinator has none */
	struct frame *want;	/* frames of the blocks that are needed */
	size_t wants;
	size_t counting;	/* the data set of the range being counted, or
				   NONE */
	uint64_t count;		/* number of the range being counted */
	struct prefetch *eval;	/* inputs of the evaluation under way */
	uint64_t evaluation;	/* its number */
	struct batch batch, eval_batch;
	bool begun;		/* the batches are ready */
	bool bad;		/* the inputs do not fit the model, or cannot
				   be read */
	struct fail why;	/* why data cannot be read; kind 0: they can */
	bool told;		/* the coordinator was sent that */
};

struct feed *
feed_new(struct worker *worker, const struct feed_options *o)
{
	struct feed *feed = mem_alloc(1, sizeof(*feed));

	feed->worker = worker;
	feed->o = *o;
	feed->counting = NONE;
	return feed;
}

void
feed_free(struct feed *feed)
{
	if (!feed)
		return;
	prefetch_close(feed->eval);
	for (size_t d = 0; feed->leased && d < INPUTS_FDS; d++) {
		blocks_free(feed->leased[d].blocks);
		batch_release(&feed->leased[d].part);
	}
	free(feed->leased);
	inputs_free(feed->data);
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
		count = inputs_fds(feed->data, fds);
	for (size_t d = 0; feed->leased && d < INPUTS_FDS; d++)
		if (feed->leased[d].blocks)
			fds[count++] = (struct pollfd){
				blocks_fd(feed->leased[d].blocks), POLLIN, 0 };
	if (feed->eval)
		fds[count++] = (struct pollfd){ prefetch_fd(feed->eval),
						POLLIN, 0 };
	return count;
}

/* Return the inputs of the data set without a name. */
static const struct input_files *
unnamed_input(const struct feed *feed)
{
	return &feed->o.input[0];
}

/* Return our own inputs of a data set; NULL: there are none. */
static const struct input_files *
own_files(const struct feed *feed, const char *name)
{
	for (size_t i = 0; i < feed->o.inputs; i++)
		if (strcmp(feed->o.input[i].name, name) == 0)
			return &feed->o.input[i];
	return NULL;
}

static bool
is_leased(const struct feed *feed, size_t dataset)
{
	return worker_leased(feed->worker) >> dataset & 1;
}

/*
 * Begin to read blocks of the coordinator's data.  One more block than can be
 * wanted is kept, so that the one used before stays.
 */
static int
begin_blocks(struct feed *feed, struct fail *f)
{
	const struct model *model = worker_model(feed->worker);
	const struct reader_options *o = &unnamed_input(feed)->reader;

	feed->wants = worker_batches(feed->worker) + MORE_BLOCKS;
	feed->want = mem_alloc(feed->wants, sizeof(*feed->want));
	feed->leased = mem_alloc(INPUTS_FDS, sizeof(*feed->leased));
	for (size_t i = 0; i < model_datasets(model); i++) {
		const struct model_dataset d = model_dataset(model, i);
		struct leased *l = &feed->leased[i];

		if (!is_leased(feed, i))
			continue;
		l->blocks = blocks_new(model, i, worker_format(feed->worker),
				       o->max_bad, o->cache, feed->wants + 1,
				       f);
		if (!l->blocks)
			return -1;
		batch_begin(&l->part, d.input, d.inputs, d.label);
	}
	return 0;
}

/* Give each data set a seed of its own, and so another order. */
static void
set_seeds(struct feed *feed)
{
	const struct feed_options *o = &feed->o;
	uint64_t seed = worker_seed(feed->worker) ^ o->life;

	if (o->index != WIRE_NONE)	/* the same in every run */
		seed = worker_seed(feed->worker) ^ (o->index + 1) << 32;
	for (size_t i = 0; i < o->inputs; i++)
		o->input[i].reader.seed = seed ^ i << 48;
}

/*
 * Check that the worker's inputs are for the model, and that ps-coord has no
 * data as well.
 */
static int
check_inputs(const struct feed *feed, struct fail *f)
{
	const struct model *model = worker_model(feed->worker);

	for (size_t d = 0; d < model_datasets(model); d++) {
		const struct input_files *in =
			own_files(feed, model_dataset(model, d).name);

		if (in && in->count > 0 && is_leased(feed, d))
			return fail(f, FAIL_USAGE, "ps-work has inputs, and "
				    "ps-coord data for all workers (-d): name "
				    "them in one place");
	}
	if (unnamed_input(feed)->count == 0 ||
	    model_dataset(model, 0).inputs > 0)
		return 0;
	return fail(f, FAIL_USAGE, "ps-work has inputs, and the model reads "
		    "none of them: %s", model_datasets(model) > 1 ?
		    "say --input=NAME:FILE for each from=NAME" :
		    "the program of its steps has data of its own");
}

/* Begin to read, now that the model is known. */
static void
begin_data(struct feed *feed)
{
	const struct feed_options *o = &feed->o;
	const struct model *model = worker_model(feed->worker);
	const size_t none = unnamed_input(feed)->count == 0;
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	set_seeds(feed);
	batch_begin(&feed->batch, input, inputs, model_label(model));
	batch_begin(&feed->eval_batch, input, inputs, model_label(model));
	feed->begun = true;
	feed->data = inputs_new(model, o->input + none, o->inputs - none,
				&feed->why);
	feed->bad = !feed->data || check_inputs(feed, &feed->why) < 0 ||
		(worker_format(feed->worker) &&
		 begin_blocks(feed, &feed->why) < 0);
	if (feed->bad)
		worker_fail_all(feed->worker, &feed->why);
}

/*
 * Report data that cannot be read.  They are an error of the step that needs
 * them; if no step does, they are no error.
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

/*
 * Give the worker a batch.  Of several data sets, the one of the line's first
 * input counts as the batch's examples.
 */
static void
give_batch(struct feed *feed)
{
	const struct batch *b = &feed->batch;

	if (b->each)
		feed->batch.examples = b->each[worker_dataset(feed->worker)];
	worker_batch(feed->worker, &feed->batch, clock_ms(), clock_us());
}

/* Have the blocks read that will be needed. */
static void
want_blocks(struct feed *feed)
{
	for (size_t d = 0; d < INPUTS_FDS; d++)
		if (feed->leased[d].blocks)
			blocks_want(feed->leased[d].blocks, feed->want,
				    worker_blocks(feed->worker, d, feed->want,
						  feed->wants));
}

/* The split that is counted, if that has come to its end. */
static void
end_count(struct feed *feed)
{
	uint64_t number;
	const struct frame *span = worker_index(feed->worker, &number);
	struct record_range_tally tally;
	struct fail why;
	const int got = blocks_counted(feed->leased[feed->counting].blocks,
				       &tally, &why);

	if (got == 0)
		return;
	feed->counting = NONE;
	if (span && number == feed->count && got > 0)
		worker_indexed(feed->worker, &tally);
	else if (span && number == feed->count)
		worker_index_failed(feed->worker, &why);
	if (got > 0)
		free(tally.place);
}

/*
 * Count a range of records if the coordinator asks for it; that comes before
 * any step.
 */
static void
count_split(struct feed *feed)
{
	const struct frame *span;
	uint64_t number;
	size_t dataset;

	if (feed->counting != NONE)
		end_count(feed);
	if (feed->counting != NONE ||
	    !(span = worker_index(feed->worker, &number)))
		return;
	dataset = worker_index_dataset(feed->worker);
	if (blocks_count(feed->leased[dataset].blocks, span)) {
		feed->counting = dataset;
		feed->count = number;
	}
}

/* Report that an input has ended, or cannot be read. */
static void
end_data(struct feed *feed)
{
	uint64_t records;

	feed->data_over = true;
	if (inputs_end(feed->data, &records, &feed->why) < 0) {
		feed->told = true;
		worker_bad_data(feed->worker, &feed->why);
	} else {
		log_info("the data has ended: %llu records",
			 (unsigned long long)records);
		worker_exhausted(feed->worker, records);
	}
}

/* Read the next step's batch from our own data; returns as inputs_take(). */
static int
read_own_batch(struct feed *feed, uint64_t datasets)
{
	const size_t want = worker_want(feed->worker);
	const int got = feed->data_over || want == 0 ? 0 :
		inputs_take(feed->data, datasets, want, &feed->batch);

	if (got < 0)
		end_data(feed);
	return got;
}

/*
 * Return whether the next step wants slices of blocks, and all of them have
 * been read.
 */
static bool
has_all_slices(const struct feed *feed)
{
	struct lease_slice s;
	size_t k = 0;

	for (; worker_slice(feed->worker, k, &s); k++)
		if (!blocks_have(feed->leased[s.dataset].blocks, &s.block))
			return false;
	return k > 0;
}

/* Copy the slices, which have been read; returns as blocks_slice(). */
static int
copy_slices(struct feed *feed, size_t dataset, struct batch *to)
{
	struct lease_slice s;
	int got = 0;

	batch_reset(to);
	for (size_t k = 0; worker_slice(feed->worker, k, &s); k++) {
		if (s.dataset != dataset)
			continue;
		got = blocks_slice(feed->leased[dataset].blocks, &s.block,
				   s.from, s.count, to, &feed->why);
		if (got <= 0)
			break;
	}
	return got;
}

/*
 * Copy the slices, and read what the step takes from our own data, which comes
 * first.
 */
static int
assemble_batch(struct feed *feed)
{
	const struct model *model = worker_model(feed->worker);
	const uint64_t all = worker_datasets(feed->worker);
	const uint64_t own = all & ~worker_leased(feed->worker);
	int got = 1;

	if (!has_all_slices(feed))
		return 0;
	if (model_datasets(model) == 1)
		return copy_slices(feed, 0, &feed->batch);
	if (own == 0)
		batch_reset(&feed->batch);
	else if (read_own_batch(feed, own) <= 0)
		return 0;
	for (size_t d = 0; d < model_datasets(model) && got > 0; d++) {
		struct batch *part = &feed->leased[d].part;

		if (!((all & ~own) >> d & 1))
			continue;
		got = copy_slices(feed, d, part);
		dataset_join(model, d, &feed->batch, part);
	}
	return got;
}

static void
feed_slices(struct feed *feed)
{
	int got;

	count_split(feed);
	want_blocks(feed);
	while ((got = assemble_batch(feed)) != 0) {
		if (got > 0) {
			give_batch(feed);
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
	if (!feed->begun && worker_model(feed->worker))
		begin_data(feed);
	if (feed->leased && !feed->bad) {
		feed_slices(feed);
		return;
	}
	if (feed->bad && !feed->data_over)
		bad_data(feed);
	if (!feed->begun || feed->bad)
		return;
	while (worker_put_back(feed->worker, &feed->batch)) {
		inputs_put_back(feed->data, &feed->batch);
		feed->data_over = false;
	}
	while (read_own_batch(feed, worker_datasets(feed->worker)) > 0)
		give_batch(feed);
}

int
feed_failure(const struct feed *feed, struct fail *f)
{
	if (!feed->told)
		return 0;
	*f = feed->why;
	return -1;
}

/*
 * Refuse inputs that can be read only once: an evaluation would take records
 * away from steps.
 */
static int
check_evaluated(char *const *file, size_t count, struct fail *f)
{
	for (size_t i = 0; i < count; i++)
		if (source_once(file[i]))
			return fail(f, FAIL_NOINPUT, "%s: it can be read only "
				    "once, so it cannot be scored: name files "
				    "for eval", file[i]);
	return 0;
}

static void
begin_evaluation(struct feed *feed, const struct worker_evaluation *e)
{
	const struct model *model = worker_model(feed->worker);
	const struct reader_options *usual = &unnamed_input(feed)->reader;
	const bool own = e->count == 0;
	const struct record_range_format *how = worker_format(feed->worker);
	struct reader_options o = {
		.format = usual->format, .no_header = usual->no_header,
		.shard = e->shard, .shards = e->shards,
		.max_bad = usual->max_bad,
		/* A peer may not make us run commands or write files. */
		.allow_pipe = own, .cache = own ? usual->cache : NULL
	};
	const struct input_files *from;
	char *const *file = e->file;
	size_t line, dataset, count = e->count;
	struct fail f;

	/*
	 * The result is true: the coordinator asks only for models that can be
	 * scored.
	 */
	model_scored(model, &line, &dataset);
	from = own ? own_files(feed, model_dataset(model, dataset).name) :
		NULL;
	if (from) {
		file = from->file;
		count = from->count;
	}
	if (how && !o.format)	/* the same format as that of the training
				   data */
		o.format = how->name;
	if (how)
		o.no_header = o.no_header || how->no_header;
	feed->evaluation = e->number;
	if (check_evaluated(file, count, &f) == 0)
		feed->eval = prefetch_open(model, dataset, file, count, &o,
					   &f);
	if (!feed->eval)
		worker_evaluation_failed(feed->worker, &f);
}

static void
end_evaluation(struct feed *feed)
{
	uint64_t records;
	struct fail f;

	/* A shard without any record is not an error. */
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
		const int got = prefetch_take_into(feed->eval, e->batch,
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
