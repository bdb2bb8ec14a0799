#include "prog/prefetch.h"

#include "base/mem.h"
#include "data/source.h"
#include "model/compute.h"
#include "model/dataset.h"
#include "sys/task.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define AHEAD	8	/* batches that are read ahead, at most */
#define LOW	4	/* batches left when the reader wakes */

/*
 * If a batch has this many bytes, one is read ahead: more of them, beside those
 * being computed, would push each other out of the processor's cache.
 */
#define ENOUGH	((size_t)2 << 20)

struct prefetch {
	struct reader *reader;
	struct batch ring[AHEAD];	/* `ready` batches, from first on */
	size_t first, ready;
	struct batch rest, spare;	/* see rebatch() */
	struct batch part;		/* see prefetch_take_into() */
	size_t size;			/* examples of a batch; 0: not asked for
					   yet */
	bool over, waiting, quit;
	bool woken;			/* the event has a count to be read */
	bool busy;			/* the thread is opening or reading */
	bool may_block;			/* and perhaps blocked for ever */
	struct commands commands;	/* run by the reader */
	atomic_bool stop;		/* the reader is to stop */
	struct prefetch *next;		/* in the list left_behind */
	size_t dataset;
	const struct model *model;	/* what the reader is opened with; until
					   then reader is NULL */
	char **file;
	size_t files;
	struct reader_options options;
	int status;			/* of the reader, at its end */
	struct fail why;
	struct sorter sorter;	/* of the thread */
	int event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t room;
};

/* Wake the caller if it waits for a batch or the end. */
static void
wake(struct prefetch *p)
{
	const uint64_t one = 1;

	if (!p->waiting)
		return;
	if (write(p->event, &one, sizeof(one)) < 0)
		abort();	/* a counter of ones does not overflow */
	p->waiting = false;
	p->woken = true;
}

static int
open_reader(struct prefetch *p, struct fail *f)
{
	const struct model_dataset d = model_dataset(p->model, p->dataset);

	p->reader = reader_open(p->file, p->files, &p->options, d.input,
				d.inputs, d.label, f);
	return p->reader ? 0 : -1;
}

/* Read the next batch, and do what can be done of its step in this thread. */
static int
read_batch(struct prefetch *p, size_t size, struct batch *b, struct fail *f)
{
	const int got = !p->reader && open_reader(p, f) < 0 ? -1 :
		reader_next(p->reader, size, b, f);

	if (got > 0 && model_datasets(p->model) == 1) {
		compute_prepare(p->model, b, &p->sorter);
		if (p->options.trained_with)
			compute_prepare_blocks(p->model, b);
	}
	return got;
}

static bool
is_full(const struct prefetch *p)
{
	return p->ready == AHEAD ||
		(p->ready > 0 && batch_bytes(&p->ring[p->first]) > ENOUGH);
}

static void *
run_reader(void *arg)
{
	struct prefetch *p = arg;
	struct fail why;

	pthread_mutex_lock(&p->lock);
	while (!p->quit && !p->over) {
		if (p->size == 0 || is_full(p)) {
			/* The ring is filled up again when LOW are left. */
			pthread_cond_wait(&p->room, &p->lock);
			continue;
		}
		struct batch *b = &p->ring[(p->first + p->ready) % AHEAD];
		const size_t size = p->size;

		p->busy = true;
		pthread_mutex_unlock(&p->lock);
		const int got = read_batch(p, size, b, &why);

		pthread_mutex_lock(&p->lock);
		p->busy = false;
		if (got > 0) {
			p->ready++;
		} else {
			p->over = true;
			p->status = got;
			if (got < 0)
				p->why = why;
		}
		wake(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/*
 * Return whether an input may block for ever: a pipe or a stream may, a plain
 * file or one that does not exist does not.
 */
static bool
may_block(char *const *file, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (source_once(file[i]) ||
		    strncmp(file[i], "pipe:", 5) == 0)
			return true;
	return false;
}

/* Free what the thread used, which has ended or was not started. */
static void
release(struct prefetch *p)
{
	if (p->event >= 0)
		close(p->event);
	pthread_cond_destroy(&p->room);
	pthread_mutex_destroy(&p->lock);
	reader_close(p->reader);
	for (size_t i = 0; i < AHEAD; i++)
		batch_release(&p->ring[i]);
	batch_release(&p->rest);
	batch_release(&p->spare);
	batch_release(&p->part);
	sorter_release(&p->sorter);
	for (size_t i = 0; i < p->files; i++)
		free(p->file[i]);
	free(p->file);
	free(p);
}

struct prefetch *
prefetch_open(const struct model *model, size_t dataset, char *const *files,
	      size_t count, const struct reader_options *options,
	      struct fail *f)
{
	struct prefetch *p = mem_alloc(1, sizeof(*p));
	const struct model_dataset d = model_dataset(model, dataset);

	p->model = model;
	p->dataset = dataset;
	p->options = *options;
	p->options.commands = options->allow_pipe ? &p->commands : NULL;
	p->options.stop = &p->stop;
	p->file = mem_alloc(count, sizeof(*p->file));
	for (; p->files < count; p->files++)
		p->file[p->files] = mem_text(files[p->files]);
	p->may_block = may_block(files, count);
	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->room, NULL);
	if (!p->may_block && open_reader(p, f) < 0) {
		release(p);
		return NULL;
	}
	for (size_t i = 0; i < AHEAD; i++)
		batch_begin(&p->ring[i], d.input, d.inputs, d.label);
	batch_begin(&p->rest, d.input, d.inputs, d.label);
	batch_begin(&p->spare, d.input, d.inputs, d.label);
	batch_begin(&p->part, d.input, d.inputs, d.label);
	if (task_thread(&p->thread, p->event, run_reader, p, f) < 0) {
		release(p);
		return NULL;
	}
	return p;
}

/*
 * What detached threads may still use; the list keeps leak checkers from
 * reporting that memory.
 */
static struct prefetch *left_behind;

/*
 * Close it.  The reader may be blocked in a read that never ends (a pipe that
 * nobody writes): then the thread is left until the end of the process, and the
 * model with it.  Its command is told to end, so that it does not outlive us.
 */
void
prefetch_close(struct prefetch *p)
{
	bool hangs;

	if (!p)
		return;
	atomic_store(&p->stop, true);
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	hangs = p->busy && p->may_block;
	pthread_cond_signal(&p->room);
	pthread_mutex_unlock(&p->lock);
	if (hangs) {
		commands_end(&p->commands);
		p->next = left_behind;
		left_behind = p;
		model_keep(p->model);
		pthread_detach(p->thread);
		return;
	}
	pthread_join(p->thread, NULL);
	release(p);
}

static void
drop_front(struct prefetch *p)
{
	p->first = (p->first + 1) % AHEAD;
	p->ready--;
}

/*
 * Fill the batch that was used last next: its memory is still in the cache, and
 * batches of the ring that are never needed take no memory.
 */
static void
recycle_batch(struct prefetch *p, struct batch used)
{
	struct batch *left = &p->ring[(p->first + AHEAD - 1) % AHEAD];
	struct batch *next = &p->ring[(p->first + p->ready + p->busy) % AHEAD];

	*left = *next;
	*next = used;
}

/* Return whether the batch at the front is what is asked for. */
static bool
front_fits(const struct prefetch *p, size_t n)
{
	const struct batch *front = &p->ring[p->first];

	return p->ready > 0 && p->rest.examples == 0 &&
		(front->examples == n ||
		 (front->examples < n && p->over && p->ready == 1));
}

static void
append(struct batch *to, const struct batch *from, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		batch_append(to, from, i);
}

/*
 * Make a batch of n examples from batches that were read for another size.  The
 * examples left over are the rest.  Return false if there are not enough yet.
 */
static bool
rebatch(struct prefetch *p, size_t n, struct batch *batch)
{
	struct batch rest;

	for (; p->rest.examples < n && p->ready > 0; drop_front(p))
		append(&p->rest, &p->ring[p->first], 0,
		       p->ring[p->first].examples);
	if (p->rest.examples < n && (!p->over || p->rest.examples == 0))
		return false;

	const size_t count = p->rest.examples < n ? p->rest.examples : n;

	batch_reset(batch);
	append(batch, &p->rest, 0, count);
	batch_reset(&p->spare);
	append(&p->spare, &p->rest, count, p->rest.examples);
	rest = p->rest;
	p->rest = p->spare;
	p->spare = rest;
	return true;
}

int
prefetch_take(struct prefetch *p, size_t n, struct batch *batch)
{
	const struct batch empty = *batch;
	uint64_t events;
	int got = 0;

	pthread_mutex_lock(&p->lock);
	if (p->woken && read(p->event, &events, sizeof(events)) < 0)
		abort();	/* it was written to */
	p->woken = false;
	const bool asked_anew = p->size != n;
	const bool fits = front_fits(p, n);

	p->size = n;
	if (fits) {
		*batch = p->ring[p->first];
		drop_front(p);
		recycle_batch(p, empty);
		got = 1;
	} else if (rebatch(p, n, batch)) {
		got = 1;
	} else if (p->over) {
		got = -1;
	} else {
		p->waiting = true;
	}
	/*
	 * Wake the reader for several batches at once, since each wake-up costs
	 * two context switches.
	 */
	if (asked_anew || !fits || p->ready <= LOW)
		pthread_cond_signal(&p->room);
	pthread_mutex_unlock(&p->lock);
	return got;
}

int
prefetch_take_into(struct prefetch *p, size_t n, struct batch *batch)
{
	int got;

	if (model_datasets(p->model) == 1)
		return prefetch_take(p, n, batch);
	got = prefetch_take(p, n, &p->part);
	if (got <= 0)
		return got;
	batch_reset(batch);
	batch->examples = p->part.examples;
	dataset_join(p->model, p->dataset, batch, &p->part);
	return got;
}

void
prefetch_put_back(struct prefetch *p, const struct batch *batch)
{
	struct batch rest;

	pthread_mutex_lock(&p->lock);
	batch_reset(&p->spare);
	append(&p->spare, batch, 0, batch->examples);
	append(&p->spare, &p->rest, 0, p->rest.examples);
	rest = p->rest;
	p->rest = p->spare;
	p->spare = rest;
	batch_reset(&p->spare);
	pthread_mutex_unlock(&p->lock);
}

int
prefetch_fd(const struct prefetch *p)
{
	return p->event;
}

int
prefetch_end(const struct prefetch *p, uint64_t *records, struct fail *f)
{
	*records = p->reader ? reader_records(p->reader) : 0;
	if (p->status < 0)
		*f = p->why;
	return p->status;
}
