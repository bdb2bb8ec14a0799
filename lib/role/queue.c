#include "role/queue.h"

#include "base/mem.h"

#include <stdlib.h>

#define MAX_DEATHS	5	/* of workers, more than one of them */

/* A request on its way. */
struct order {
	struct request request;
	uint64_t given;		/* steps that have a number */
	uint64_t ended;
	struct order *next;
};

struct queue {
	struct order *front, **back;
	size_t orders;
	struct step *step;	/* WINDOW of them, a ring by number */
	uint64_t mark, next;
	size_t running, returned;
};

struct queue *
queue_new(uint64_t first_step)
{
	struct queue *q = mem_alloc(1, sizeof(*q));

	q->back = &q->front;
	q->step = mem_alloc(WINDOW, sizeof(*q->step));
	q->mark = q->next = first_step;
	return q;
}

static void
drop_order(struct queue *q, struct order **at)
{
	struct order *o = *at;

	*at = o->next;
	if (q->back == &o->next)
		q->back = at;
	q->orders--;
	request_release(&o->request);
	free(o);
}

void
queue_free(struct queue *q)
{
	if (!q)
		return;
	while (q->front)
		drop_order(q, &q->front);
	free(q->step);
	free(q);
}

void
queue_put(struct queue *q, struct request *r)
{
	struct order *o = mem_alloc(1, sizeof(*o));

	o->request = *r;
	*r = (struct request){ 0 };
	*q->back = o;
	q->back = &o->next;
	q->orders++;
}

size_t
queue_requests(const struct queue *q)
{
	return q->orders;
}

static struct step *
at(const struct queue *q, uint64_t number)
{
	return &q->step[number % WINDOW];
}

const struct step *
queue_step(const struct queue *q, uint64_t number)
{
	if (number < q->mark || number >= q->next ||
	    at(q, number)->state == STEP_ENDED)
		return NULL;
	return at(q, number);
}

const char *
queue_id(const struct queue *q, uint64_t number)
{
	const struct step *s = queue_step(q, number);

	return s ? s->order->request.id : NULL;
}

static void
take(struct queue *q, uint64_t number, void *worker)
{
	struct step *s = at(q, number);

	q->returned -= s->state == STEP_RETURNED;
	s->state = STEP_LEASED;
	s->worker = worker;
	s->attempts++;
	q->running++;
}

static void
describe(const struct order *o, struct lease_terms *l)
{
	l->batch = o->request.batch;
	l->learning_rate = o->request.learning_rate;
}

/* Steps that came back, the lowest first. */
static size_t
lease_returned(struct queue *q, void *worker, size_t most, uint64_t limit,
	       struct lease_terms *l)
{
	uint64_t number = q->mark;
	struct step *first;

	while (at(q, number)->state != STEP_RETURNED)
		number++;
	if (number >= limit)
		return 0;
	first = at(q, number);
	if (first->deaths > 0)
		most = 1;
	l->first = number;
	l->attempt = first->attempts + 1;
	l->count = 0;
	describe(first->order, l);
	while (l->count < most && number < q->next &&
	       at(q, number)->state == STEP_RETURNED &&
	       number < limit && at(q, number)->order == first->order &&
	       (at(q, number)->deaths == 0 || l->count == 0) &&
	       at(q, number)->attempts + 1 == l->attempt) {
		take(q, number++, worker);
		l->count++;
	}
	return l->count;
}

static struct order *
first_with_steps(const struct queue *q)
{
	struct order *o = q->front;

	while (o && o->request.op == REQUEST_TRAIN &&
	       o->given == o->request.steps)
		o = o->next;
	return o && o->request.op == REQUEST_TRAIN ? o : NULL;
}

size_t
queue_lease(struct queue *q, void *worker, size_t most, uint64_t limit,
	    struct lease_terms *l)
{
	struct order *o;

	if (q->returned > 0)
		return lease_returned(q, worker, most, limit, l);
	o = first_with_steps(q);
	if (limit > q->mark + WINDOW)
		limit = q->mark + WINDOW;
	if (!o || q->next >= limit)
		return 0;
	if (most > o->request.steps - o->given)
		most = o->request.steps - o->given;
	if (most > limit - q->next)
		most = limit - q->next;
	*l = (struct lease_terms){ .first = q->next, .count = most,
				   .attempt = 1 };
	describe(o, l);
	o->given += most;
	for (size_t i = 0; i < most; i++, q->next++) {
		*at(q, q->next) = (struct step){ .order = o };
		take(q, q->next, worker);
	}
	return most;
}

static void
forget_order(struct queue *q, const struct order *o)
{
	for (struct order **p = &q->front; *p; p = &(*p)->next)
		if (*p == o) {
			drop_order(q, p);
			return;
		}
}

void
queue_end(struct queue *q, uint64_t number)
{
	struct step *s = (struct step *)(uintptr_t)queue_step(q, number);

	if (!s)
		return;
	q->running -= s->state == STEP_LEASED;
	q->returned -= s->state == STEP_RETURNED;
	s->state = STEP_ENDED;
	if (++s->order->ended == s->order->request.steps)
		forget_order(q, s->order);
	while (q->mark < q->next && at(q, q->mark)->state == STEP_ENDED)
		q->mark++;
}

size_t
queue_return(struct queue *q, const void *worker)
{
	size_t count = 0;

	for (uint64_t i = q->mark; i < q->next; i++)
		if (at(q, i)->state == STEP_LEASED &&
		    (!worker || at(q, i)->worker == worker)) {
			at(q, i)->state = STEP_RETURNED;
			q->running--;
			q->returned++;
			count++;
		}
	return count;
}

bool
queue_blame(struct queue *q, uint64_t number, const void *worker)
{
	struct step *s = at(q, number);

	if (!queue_step(q, number) || s->state == STEP_SET_ASIDE)
		return false;
	s->deaths++;
	if (!s->first_dead)
		s->first_dead = worker;
	s->killer = s->killer || s->first_dead != worker;
	if (s->deaths < MAX_DEATHS || !s->killer)
		return false;
	q->running -= s->state == STEP_LEASED;
	q->returned -= s->state == STEP_RETURNED;
	s->state = STEP_SET_ASIDE;
	return true;
}

size_t
queue_cancel(struct queue *q,
	     void (*tell)(void *to, const char *id, uint64_t steps), void *to)
{
	size_t count = 0;

	while (q->front && q->front->request.op == REQUEST_TRAIN) {
		const struct order *o = q->front;

		if (tell)
			tell(to, o->request.id, o->request.steps - o->ended);
		drop_order(q, &q->front);
		count++;
	}
	for (uint64_t i = q->mark; i < q->next; i++)
		at(q, i)->state = STEP_ENDED;
	q->mark = q->next;
	q->running = q->returned = 0;
	return count;
}

const struct request *
queue_barrier(const struct queue *q)
{
	return q->front && q->front->request.op != REQUEST_TRAIN ?
		&q->front->request : NULL;
}

void
queue_pass(struct queue *q)
{
	drop_order(q, &q->front);
}

uint64_t
queue_mark(const struct queue *q)
{
	return q->mark;
}

uint64_t
queue_next(const struct queue *q)
{
	return q->next;
}

size_t
queue_running(const struct queue *q)
{
	return q->running;
}

bool
queue_idle(const struct queue *q)
{
	return !q->front;
}

uint64_t
queue_waiting(const struct queue *q)
{
	uint64_t steps = 0;

	for (const struct order *o = q->front;
	     o && o->request.op == REQUEST_TRAIN; o = o->next)
		steps += o->request.steps - o->ended;
	return steps;
}
