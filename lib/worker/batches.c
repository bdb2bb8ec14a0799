#include "worker/batches.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

/*
 * The state of the batch.
 *
 *	NONE --batches_put()--> READY
 *	READY --batches_take(), batches_drop()--> NONE
 *	READY --batches_take(), batches_reject()--> REJECTED
 *	NONE --batches_return()--> REJECTED
 *	REJECTED --batches_put_back(), batches_drop()--> NONE
 */
enum waiting { WAITING_NONE, WAITING_READY, WAITING_REJECTED };

/*
 * The state of the data.
 *
 *	OPEN --batches_end()--> ENDED --batches_put_back()--> OPEN
 *	ENDED --batches_exhaust()--> EXHAUSTED --batches_report()--> REPORTED
 *	REPORTED --batches_begin_term()--> EXHAUSTED
 */
enum data { DATA_OPEN, DATA_ENDED, DATA_EXHAUSTED, DATA_REPORTED };

struct batches {
	enum waiting waiting;
	struct batch batch;
	uint64_t asked;		/* examples; the batch may have fewer */
	uint64_t lease;
	enum data data;
	uint64_t records;	/* that were read, once the data have ended */
	struct fail why;	/* why they have; no kind: nothing is wrong */
};

struct batches *
batches_new(void)
{
	return mem_alloc(1, sizeof(struct batches));
}

void
batches_free(struct batches *b)
{
	if (!b)
		return;
	batch_release(&b->batch);
	free(b);
}

void
batches_begin(struct batches *b, const struct input *input, size_t inputs,
	      const struct input *label)
{
	batch_begin(&b->batch, input, inputs, label);
}

/* ---- the batch that was read ---- */

static void
swap(struct batch *a, struct batch *b)
{
	const struct batch old = *a;

	*a = *b;
	*b = old;
}

bool
batches_want(const struct batches *b)
{
	return b->waiting == WAITING_NONE && b->data == DATA_OPEN;
}

void
batches_put(struct batches *b, struct batch *batch, uint64_t asked,
	    uint64_t lease)
{
	assert(b->waiting == WAITING_NONE);
	swap(&b->batch, batch);
	b->waiting = WAITING_READY;
	b->asked = asked;
	b->lease = lease;
}

bool
batches_have(const struct batches *b, uint64_t *lease)
{
	*lease = b->lease;
	return b->waiting != WAITING_NONE;
}

enum batch_fit
batches_take(struct batches *b, struct batch *batch, uint64_t asked,
	     uint64_t datasets)
{
	if (b->waiting != WAITING_READY)
		return BATCH_NONE;
	if (b->asked != asked || batch_datasets(&b->batch) != datasets) {
		b->waiting = WAITING_REJECTED;
		return BATCH_REJECTED;
	}
	swap(&b->batch, batch);
	b->waiting = WAITING_NONE;
	return BATCH_TAKEN;
}

void
batches_assign(struct batches *b, uint64_t lease)
{
	b->lease = lease;
}

void
batches_drop(struct batches *b)
{
	b->waiting = WAITING_NONE;
}

void
batches_reject(struct batches *b)
{
	assert(b->waiting != WAITING_NONE);
	b->waiting = WAITING_REJECTED;
}

void
batches_return(struct batches *b, struct batch *batch)
{
	assert(b->waiting == WAITING_NONE);
	swap(&b->batch, batch);
	b->waiting = WAITING_REJECTED;
}

bool
batches_put_back(struct batches *b, struct batch *batch)
{
	if (b->waiting != WAITING_REJECTED)
		return false;
	swap(&b->batch, batch);
	b->waiting = WAITING_NONE;
	b->data = DATA_OPEN;
	b->why.kind = 0;
	return true;
}

/* ---- the end of the data ---- */

void
batches_end(struct batches *b, uint64_t records, const struct fail *why)
{
	if (b->data != DATA_OPEN)
		return;
	b->data = DATA_ENDED;
	b->records = records;
	if (why)
		b->why = *why;
}

bool
batches_ended(const struct batches *b, const struct fail **why)
{
	*why = &b->why;
	return b->data == DATA_ENDED && b->waiting == WAITING_NONE;
}

void
batches_exhaust(struct batches *b)
{
	b->data = DATA_EXHAUSTED;
}

bool
batches_are_exhausted(const struct batches *b)
{
	return b->data >= DATA_EXHAUSTED;
}

bool
batches_report(struct batches *b, uint64_t *records)
{
	if (b->data != DATA_EXHAUSTED)
		return false;
	b->data = DATA_REPORTED;
	*records = b->records;
	return true;
}

void
batches_begin_term(struct batches *b)
{
	if (b->data == DATA_REPORTED)
		b->data = DATA_EXHAUSTED;
}

const char *
batches_check(const struct batches *b)
{
	if (b->waiting != WAITING_NONE && b->data >= DATA_EXHAUSTED)
		return "worker 10: no batch waits behind the end of the data";
	return NULL;
}
