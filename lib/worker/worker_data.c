/*
 * The worker's data: which batch is read next, for whom it is, and where the
 * data end; blocks of the coordinator's, and spans that it has counted.
 */
#include "worker/worker_inside.h"

#include <string.h>

/* Examples for the step that is so many behind the next one; 0: no step. */
static uint64_t
size_of(const struct worker *w, uint64_t behind)
{
	for (size_t i = 0; i < w->leases; i++) {
		const struct lease *l = worker_lease_at(w, i);

		if (l->cancelled)
			continue;
		if (l->end - l->next > behind)
			return l->batch;
		behind -= l->end - l->next;
	}
	return w->more ? w->more_size : 0;
}

size_t
worker_want(const struct worker *w)
{
	const struct lease *l = worker_next_lease(w);
	const size_t before = worker_early(w).count;

	if (w->has_batch || w->over)
		return 0;
	return l && before == 0 ? l->batch : size_of(w, before);
}

/* What was read for an early step is for one of another size. */
bool
worker_misread(const struct worker *w)
{
	const struct lease *l = worker_next_lease(w);
	const struct work *work = worker_early(w).first;

	return work && l && l->batch != work->size;
}

/* What was read last goes back first, but not while values come for it. */
void
worker_unload(struct worker *w)
{
	struct work *work = worker_early(w).last;
	const struct batch empty = w->waiting;

	if (work->stage == STAGE_PULLING)
		return;
	w->waiting = work->batch;
	work->batch = empty;
	w->has_batch = w->unwanted = true;
	work_drop(work);
}

bool
worker_put_back(struct worker *w, struct batch *batch)
{
	const struct batch old = *batch;

	if (!w->unwanted)
		return false;
	*batch = w->waiting;
	w->waiting = old;
	w->has_batch = w->unwanted = w->over = false;
	w->bad.kind = 0;
	if (worker_misread(w))
		worker_unload(w);
	return true;
}

const struct worker_next *
worker_next(struct worker *w)
{
	const struct lease *l = worker_next_lease(w);

	if (!l || worker_want(w) == 0)
		return NULL;
	w->wanted = (struct worker_next){ l->next, l->slot, l->slots,
					  l->attempt, l->batch };
	return &w->wanted;
}

void
worker_batch(struct worker *w, struct batch *batch, uint64_t now,
	     uint64_t now_us)
{
	const struct batch old = w->waiting;

	w->waiting_size = worker_want(w);
	w->waiting = *batch;
	*batch = old;
	w->has_batch = true;
	w->waiting_for = worker_next_lease(w) ? worker_next_lease(w)->id : 0;
	worker_advance(w, now, now_us);
}

/* The coordinator's data were read for a lease that is no more. */
void
worker_forget_records(struct worker *w)
{
	if (!w->leased_data || !w->has_batch)
		return;
	for (size_t i = 0; i < w->leases; i++)
		if (worker_lease_at(w, i)->id == w->waiting_for &&
		    !worker_lease_at(w, i)->cancelled)
			return;
	w->has_batch = w->unwanted = false;
}

/* Once what was begun has ended, the rest goes back to the coordinator. */
void
worker_say_exhausted(struct worker *w)
{
	struct message m = { .kind = MESSAGE_EXHAUSTED };

	if (!w->exhausted || w->exhausted_said || !w->ready_said)
		return;
	/* What waits for a round may wait for others to do our part of it. */
	for (size_t i = 0; i < WORKS; i++)
		if (w->work[i].stage != STAGE_NONE &&
		    (!w->work[i].lease || w->work[i].lease->slots == 0))
			return;
	w->exhausted_said = true;
	m.exhausted.term = w->plan.term;
	m.exhausted.records = w->records;
	worker_say(w, &m);
}

/*
 * The data have ended.  A step that was read for before still has its turn;
 * data that cannot be read are the error of the step behind it.
 */
void
worker_end_data(struct worker *w)
{
	struct lease *l = worker_next_lease(w);

	if (!w->over || w->exhausted || w->has_batch ||
	    worker_early(w).count > 0 || (w->bad.kind && !l))
		return;
	if (w->bad.kind)
		worker_say_failed(w, l, l->next++, &w->bad);
	w->exhausted = true;
	for (size_t i = 0; i < w->leases; i++) {
		l = worker_lease_at(w, i);
		l->end = l->next;
		if (!l->cancelled)
			worker_end_lease(w, l);
	}
	worker_drop_leases(w);
	worker_say_exhausted(w);
}

void
worker_exhausted(struct worker *w, uint64_t records)
{
	w->over = true;
	w->records = records;
	worker_end_data(w);
}

void
worker_bad_data(struct worker *w, const struct fail *why)
{
	w->bad = *why;
	worker_exhausted(w, WIRE_NONE);	/* nothing behind it can be read */
}

/* ---- data of the coordinator's ---- */

const struct span_format *
worker_format(const struct worker *w)
{
	return w->leased_data ? &w->format : NULL;
}

bool
worker_slice(const struct worker *w, struct worker_slice *s)
{
	const struct lease *l =
		worker_want(w) > 0 ? worker_next_lease(w) : NULL;

	if (!l)
		return false;
	s->block = (struct frame){ l->block.data, l->block.size, NULL };
	s->from = l->from + (l->next - l->first) * l->batch;
	s->count = l->batch;
	return true;
}

/* Another block than those that are there already? */
static size_t
add_block(struct frame *frame, size_t count, const struct text *block)
{
	for (size_t i = 0; i < count; i++)
		if (frame[i].size == block->size &&
		    memcmp(frame[i].data, block->data, block->size) == 0)
			return count;
	frame[count] = (struct frame){ block->data, block->size, NULL };
	return count + 1;
}

size_t
worker_blocks(const struct worker *w, struct frame *frame, size_t most)
{
	const struct lease *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < w->leases && count < most; i++) {
		const struct lease *l = worker_lease_at(w, i);

		if (l->next == l->end || l->cancelled)
			continue;
		count = add_block(frame, count, &l->block);
		last = l;
	}
	if (last && last->after.size > 0 && count < most)
		count = add_block(frame, count, &last->after);
	return count;
}

void
worker_bad_block(struct worker *w, const struct fail *why)
{
	struct lease *l = worker_next_lease(w);

	if (l)
		worker_say_failed(w, l, l->next++, why);
	worker_drop_leases(w);
}

void
worker_take_index(struct worker *w, const struct message *m)
{
	w->index_request = *m;
	worker_keep_frame(&w->index, m, 0);
	w->index_request.frame[0] = (struct frame){ w->index.data,
						    w->index.size, NULL };
	w->indexing = w->welcome;
}

const struct frame *
worker_index(const struct worker *w, uint64_t *number)
{
	*number = w->index_request.request;
	return w->indexing ? &w->index_request.frame[0] : NULL;
}

void
worker_indexed(struct worker *w, const struct span_tally *t)
{
	struct message m = message_answer(&w->index_request, MESSAGE_INDEXED);

	pack_reset(&w->out);
	pack_array(&w->out, t->places);
	for (size_t i = 0; i < t->places; i++)
		pack_uint(&w->out, t->place[i]);
	m.indexed.term = w->plan.term;
	m.indexed.records = t->whole ? WIRE_NONE : t->records;
	m.frames = 1;
	m.frame[0] = (struct frame){ w->out.data, w->out.size, NULL };
	w->indexing = false;
	worker_say(w, &m);
}

void
worker_index_failed(struct worker *w, const struct fail *why)
{
	const struct message m = message_refuse(&w->index_request, why->kind,
						why->text);

	w->indexing = false;
	worker_say(w, &m);
}
