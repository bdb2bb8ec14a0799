#include "coord/queue.h"

#include "base/mem.h"

#include <stdlib.h>

/* A request in the queue.  One in the background keeps its place until it has
   ended, but nothing waits for it once it has begun. */
struct order {
	struct request request;
	uint64_t given;		/* steps that have a number, */
	uint64_t ended;		/* and those of them that have ended */
	bool begun;		/* an epoch: its steps are known; an evaluation
				   in the background: steps behind it may have
				   numbers */
	bool part;		/* what its request holds is borrowed */
	struct order *next;
};

struct queue {
	struct order *front, **back;
	size_t orders, bytes;	/* bytes: of their calls */
	size_t backgrounds;	/* orders that are in the background */
	bool passes;		/* these never hold up what is behind them */
	struct step *step;	/* WINDOW of them, a ring by number */
	/* low: all steps below have ended; next: the next number; pass:
	   barriers passed and cancellations so far */
	uint64_t low, next, pass;
	uint64_t ahead;		/* the bound of staleness: see queue_bound() */
	size_t running, returned;	/* steps LEASED, and RETURNED */
	struct part_ended *ended;	/* to be taken by queue_ended() */
	size_t ends, ends_room;
	struct samplers *samplers;	/* or NULL; with them: */
	struct places *places;		/* of each step, a ring, too */
};

struct queue *
queue_new(uint64_t first_step)
{
	struct queue *q = mem_alloc(1, sizeof(*q));

	q->back = &q->front;
	q->step = mem_alloc(WINDOW, sizeof(*q->step));
	q->low = q->next = first_step;
	q->ahead = WINDOW - 1;
	return q;
}

void
queue_bound(struct queue *q, uint64_t ahead)
{
	q->ahead = ahead < WINDOW ? ahead : WINDOW - 1;
}

static bool
is_background(const struct order *o)
{
	return o->request.background;
}

/* Does the request have steps: is it train, or an epoch that has begun? */
static bool
has_steps(const struct order *o)
{
	return o->request.op == REQUEST_TRAIN ||
		(o->begun && !is_background(o));
}

static void
add_ended(struct queue *q, const struct order *o, bool given_up)
{
	const struct request *r = &o->request;
	const bool steps = r->op == REQUEST_TRAIN;
	uint64_t undone = given_up;

	/* An epoch that is given up before it has begun has no steps yet. */
	if (steps || (given_up && has_steps(o) && r->steps > o->ended))
		undone = r->steps - o->ended;
	q->ended = mem_grow(q->ended, q->ends, &q->ends_room,
			    sizeof(*q->ended));
	q->ended[q->ends++] = (struct part_ended){
		.owner = r->owner, .number = r->number,
		.steps = steps ? r->steps : 0,
		.undone = undone
	};
}

bool
queue_ended(struct queue *q, struct part_ended *e)
{
	if (q->ends == 0)
		return false;
	*e = q->ended[--q->ends];
	return true;
}

static void
drop_order(struct queue *q, struct order **at, bool given_up)
{
	struct order *o = *at;

	*at = o->next;
	if (q->back == &o->next)
		q->back = at;
	q->orders--;
	q->backgrounds -= is_background(o);
	q->bytes -= call_size(o->request.call);
	if (o->part)
		add_ended(q, o, given_up);
	else
		request_release(&o->request);
	free(o);
}

void
queue_free(struct queue *q)
{
	if (!q)
		return;
	while (q->front)
		drop_order(q, &q->front, true);
	free(q->step);
	free(q->places);
	free(q->ended);
	free(q);
}

static struct order *
append_order(struct queue *q, const struct request *r)
{
	struct order *o = mem_alloc(1, sizeof(*o));

	o->request = *r;
	*q->back = o;
	q->back = &o->next;
	q->orders++;
	q->backgrounds += is_background(o);
	q->bytes += call_size(o->request.call);
	return o;
}

void
queue_put(struct queue *q, struct request *r)
{
	append_order(q, r);
	*r = (struct request){ 0 };
}

void
queue_put_part(struct queue *q, const struct request *r, uint64_t steps)
{
	struct order *o = append_order(q, r);

	o->part = true;
	if (r->op == REQUEST_TRAIN)
		o->request.steps = steps;
	if (r->op == REQUEST_EPOCH)
		o->request.epochs = 1;
}

uint64_t
queue_unnumbered(const struct queue *q)
{
	uint64_t steps = 0;

	for (const struct order *o = q->front; o; o = o->next)
		steps += has_steps(o) ? o->request.steps - o->given :
			!o->begun;
	return steps;
}

void
queue_follow(struct queue *q, struct samplers *samplers)
{
	q->samplers = samplers;
	if (samplers && !q->places)
		q->places = mem_alloc(WINDOW, sizeof(*q->places));
}

size_t
queue_requests(const struct queue *q)
{
	return q->orders;
}

size_t
queue_bytes(const struct queue *q)
{
	return q->bytes;
}

static struct step *
at(const struct queue *q, uint64_t number)
{
	return &q->step[number % WINDOW];
}

struct places
queue_places(const struct queue *q, uint64_t number)
{
	return q->places ? q->places[number % WINDOW] : places_none();
}

const struct step *
queue_step(const struct queue *q, uint64_t number)
{
	if (number < q->low || number >= q->next ||
	    at(q, number)->state == STEP_ENDED)
		return NULL;
	return at(q, number);
}

const struct request *
queue_request(const struct queue *q, uint64_t number)
{
	const struct step *s = queue_step(q, number);

	return s ? &s->order->request : NULL;
}

const char *
queue_id(const struct queue *q, uint64_t number)
{
	const struct request *r = queue_request(q, number);

	return r ? r->id : NULL;
}

static void
lease_step(struct queue *q, uint64_t number, void *worker)
{
	struct step *s = at(q, number);

	q->returned -= s->state == STEP_RETURNED;
	s->state = STEP_LEASED;
	s->worker = worker;
	s->attempts++;
	q->running++;
}

/* The first request that keeps those behind it from getting numbers: not all of
   its steps have one yet, or it is another request. */
static struct order *
first_open(const struct queue *q)
{
	struct order *o = q->front;

	while (o && (is_background(o) ? o->begun || q->passes :
		     o->request.op == REQUEST_TRAIN &&
		     o->given == o->request.steps))
		o = o->next;
	return o;
}

static struct order *
first_with_steps(const struct queue *q)
{
	struct order *o = first_open(q);

	return o && has_steps(o) && o->given < o->request.steps ? o : NULL;
}

/* Where the first request stands that is not in the background. */
static struct order **
first_foreground(struct queue *q)
{
	struct order **p = &q->front;

	while (*p && is_background(*p))
		p = &(*p)->next;
	return p;
}

static void
set_terms(const struct queue *q, const struct order *o, struct lease_terms *l)
{
	const struct order *next = first_with_steps(q);

	l->batch = o->request.batch;
	l->learning_rate = o->request.learning_rate;
	l->call = o->request.call;
	l->pass = q->pass;
	/* "more" lets a worker prepare the next steps before they are leased.
	   With samplers it does not know yet what they read, and where
	   staleness is bounded it may not pull for them yet. */
	l->more = next && next->request.batch == l->batch &&
		call_equal(next->request.call, l->call) && !q->samplers &&
		q->ahead == WINDOW - 1;
}

/* Do the places of this step follow those of the first one, steps before? */
static bool
is_behind(const struct queue *q, const struct places *first, uint64_t steps,
	  uint64_t number)
{
	return !q->samplers ||
		places_follow(first, steps, &q->places[number % WINDOW]);
}

/* Lease this step, and up to most - 1 of those behind it, below end, that are
   in the same state, of the same request and read records in a row with it. */
static size_t
lease_run(struct queue *q, void *worker, uint64_t number, size_t most,
	  uint64_t end, struct lease_terms *l)
{
	const struct step first = *at(q, number);
	const struct places places = queue_places(q, number);
	const uint64_t run = q->samplers ?
		samplers_run(q->samplers, &places) : most;

	if (most > run)
		most = (size_t)run;
	if (first.deaths > 0)	/* so that the next death is of this step */
		most = 1;
	*l = (struct lease_terms){ .first = number, .places = places,
				   .attempt = first.attempts + 1 };
	set_terms(q, first.order, l);
	while (l->count < most && number < q->next && number < end &&
	       at(q, number)->state == first.state &&
	       at(q, number)->deaths == first.deaths &&
	       at(q, number)->order == first.order &&
	       at(q, number)->attempts == first.attempts &&
	       is_behind(q, &places, l->count, number)) {
		lease_step(q, number++, worker);
		l->count++;
	}
	return l->count;
}

/* The first step that is neither ended nor quarantined, or the next number. */
static uint64_t
open_step(const struct queue *q)
{
	uint64_t step = q->low;

	while (step < q->next && (at(q, step)->state == STEP_QUARANTINED ||
				  at(q, step)->state == STEP_ENDED))
		step++;
	return step;
}

/*
 * The step below which steps may be leased; no other function decides that.
 * Both bounds, of staleness and of ahead, count from the first open step, so
 * that this step can always be leased: when none is leased, a free worker gets
 * one.  A quarantined step does not count, and so holds up nobody.
 */
static uint64_t
lease_end(const struct queue *q, uint64_t limit, uint64_t ahead)
{
	const uint64_t first = open_step(q);

	if (limit > first + q->ahead + 1)
		limit = first + q->ahead + 1;
	if (limit > first + ahead)
		limit = first + ahead;
	/* Steps are kept in a ring. */
	return limit < q->low + WINDOW ? limit : q->low + WINDOW;
}

/*
 * The step to be leased, or end: the lowest that came back; else the lowest of
 * this stream that waits; else the lowest that waits.
 */
static uint64_t
next_step(const struct queue *q, uint64_t end, uint64_t stream)
{
	uint64_t waits = end, own = end;

	for (uint64_t i = q->low; i < q->next && i < end; i++) {
		const struct step *s = at(q, i);

		if (s->state == STEP_RETURNED)
			return i;
		if (s->state != STEP_WAITING)
			continue;
		if (waits == end)
			waits = i;
		if (own == end && s->stream == stream)
			own = i;
		if (own < end && q->returned == 0)
			break;
	}
	return own < end ? own : waits;
}

size_t
queue_lease(struct queue *q, void *worker, size_t most, uint64_t limit,
	    struct lease_terms *l)
{
	const uint64_t end = lease_end(q, limit, WINDOW);
	struct order *o;

	if (q->returned > 0) {
		const uint64_t back = next_step(q, end, UINT64_MAX);

		return back < end ? lease_run(q, worker, back, most, end, l) :
			0;
	}
	o = first_with_steps(q);
	if (!o || q->next >= end)
		return 0;
	if (most > o->request.steps - o->given)
		most = o->request.steps - o->given;
	if (most > end - q->next)
		most = end - q->next;
	*l = (struct lease_terms){ .first = q->next, .count = most,
				   .attempt = 1 };
	o->given += most;
	set_terms(q, o, l);
	for (size_t i = 0; i < most; i++, q->next++) {
		*at(q, q->next) = (struct step){ .order = o };
		lease_step(q, q->next, worker);
	}
	return most;
}

/* Number the steps from here on up to the limit. */
static void
number_steps(struct queue *q, uint64_t limit, uint64_t streams)
{
	struct order *o;

	while (q->next < limit && (o = first_with_steps(q))) {
		const struct call *call = o->request.call;
		struct places *to = &q->places[q->next % WINDOW];

		*to = samplers_take(q->samplers, call ? call->step : NULL,
				    streams);
		*at(q, q->next++) = (struct step){
			.state = STEP_WAITING, .order = o,
			.stream = samplers_stream(q->samplers, to)
		};
		o->given++;
	}
}

size_t
queue_lease_stream(struct queue *q, void *worker, size_t most,
		   uint64_t limit, const struct lease_choice *choice,
		   struct lease_terms *l)
{
	const uint64_t end = lease_end(q, limit, choice->ahead);
	uint64_t number;

	if (q->returned == 0)
		number_steps(q, end, choice->streams);
	number = next_step(q, end, choice->stream);
	return number < end ? lease_run(q, worker, number, most, end, l) : 0;
}

void *
queue_held_up(const struct queue *q)
{
	const struct step *s = queue_step(q, q->low);

	return s && s->state == STEP_LEASED && q->returned == 0 &&
		q->next > q->low + q->ahead && first_with_steps(q) ?
		s->worker : NULL;
}

static void
forget_order(struct queue *q, const struct order *o)
{
	for (struct order **p = &q->front; *p; p = &(*p)->next)
		if (*p == o) {
			drop_order(q, p, false);
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
	if (++s->order->ended == s->order->request.steps && !s->order->begun)
		forget_order(q, s->order);
	while (q->low < q->next && at(q, q->low)->state == STEP_ENDED)
		q->low++;
}

static void
return_step(struct queue *q, uint64_t number)
{
	at(q, number)->state = STEP_RETURNED;
	q->running--;
	q->returned++;
}

size_t
queue_return(struct queue *q, const void *worker)
{
	size_t count = 0;

	for (uint64_t i = q->low; i < q->next; i++)
		if (at(q, i)->state == STEP_LEASED &&
		    (!worker || at(q, i)->worker == worker)) {
			return_step(q, i);
			count++;
		}
	return count;
}

void
queue_unlease(struct queue *q)
{
	for (uint64_t i = q->low; i < q->next; i++)
		if (at(q, i)->state == STEP_LEASED &&
		    at(q, i)->attempts == 1) {
			at(q, i)->state = STEP_WAITING;
			at(q, i)->attempts = 0;
			q->running--;
		}
}

void
queue_return_again(struct queue *q, uint64_t high)
{
	for (uint64_t i = q->low; i < q->next; i++) {
		struct step *s = at(q, i);

		if (s->state == STEP_LEASED && (s->attempts > 1 || i < high)) {
			return_step(q, i);
		} else if (s->state == STEP_WAITING && i < high) {
			s->state = STEP_RETURNED;
			s->attempts = 1;
			q->returned++;
		}
	}
}

size_t
queue_returned(const struct queue *q)
{
	return q->returned;
}

void
queue_quarantine(struct queue *q, uint64_t number)
{
	struct step *s = (struct step *)(uintptr_t)queue_step(q, number);

	if (!s)
		return;
	q->running -= s->state == STEP_LEASED;
	q->returned -= s->state == STEP_RETURNED;
	s->state = STEP_QUARANTINED;
}

bool
queue_blame(struct queue *q, uint64_t number, const void *worker)
{
	struct step *s = at(q, number);

	if (!queue_step(q, number) || s->state == STEP_QUARANTINED)
		return false;
	s->deaths++;
	if (!s->first_dead)
		s->first_dead = worker;
	s->killer = s->killer || s->first_dead != worker;
	if (s->deaths < QUEUE_DEATHS || !s->killer)
		return false;
	queue_quarantine(q, number);
	return true;
}

bool
queue_references(const struct queue *q, const void *worker)
{
	for (uint64_t i = q->low; i < q->next; i++)
		if (queue_step(q, i) && (at(q, i)->worker == worker ||
					 at(q, i)->first_dead == worker))
			return true;
	return false;
}

/* End all steps.  The places of those that were never leased are returned, for
   other steps to read. */
static void
end_all(struct queue *q)
{
	for (uint64_t i = q->low; i < q->next; i++) {
		if (at(q, i)->state == STEP_WAITING)
			samplers_return(q->samplers, &q->places[i % WINDOW]);
		at(q, i)->state = STEP_ENDED;
	}
	q->low = q->next;
	q->running = q->returned = 0;
	q->pass++;
}

size_t
queue_cancel(struct queue *q,
	     void (*tell)(void *to, const struct request *, uint64_t steps),
	     void *to)
{
	size_t count = 0;
	struct order **p;

	while (*(p = first_foreground(q)) && has_steps(*p)) {
		const struct order *o = *p;

		if (tell)
			tell(to, &o->request, o->request.steps - o->ended);
		drop_order(q, p, true);
		count++;
	}
	end_all(q);
	return count;
}

void
queue_cancel_of(struct queue *q, size_t owner)
{
	struct order **p = &q->front;

	while (*p) {
		struct order *o = *p;
		const bool steps = has_steps(o);

		if (steps && o->request.owner == owner) {
			drop_order(q, p, true);
			continue;
		}
		if (steps)
			o->given = o->ended;
		p = &o->next;
	}
	end_all(q);
}

/* ---- in the background ---- */

void
queue_pass_background(struct queue *q, bool passes)
{
	q->passes = passes;
}

static struct order **
find_background(struct queue *q, size_t i)
{
	struct order **p = &q->front;

	while (!is_background(*p) || i-- > 0)
		p = &(*p)->next;
	return p;
}

const struct request *
queue_background(const struct queue *q, size_t i)
{
	return i >= q->backgrounds ? NULL :
		&(*find_background((struct queue *)(uintptr_t)q, i))->request;
}

const struct request *
queue_background_due(const struct queue *q)
{
	const struct order *o = first_open(q);

	return o && is_background(o) ? &o->request : NULL;
}

void
queue_background_begin(struct queue *q, size_t i, bool begun)
{
	(*find_background(q, i))->begun = begun;
}

void
queue_background_end(struct queue *q, size_t i, bool given_up)
{
	drop_order(q, find_background(q, i), given_up);
}

void
queue_asked(const struct queue *q, uint64_t number, struct lease_terms *l)
{
	const struct step *s = at(q, number);

	*l = (struct lease_terms){ .first = number, .count = 1, .attempt = 1,
				   .places = queue_places(q, number) };
	set_terms(q, s->order, l);
}

bool
queue_replay_next(struct queue *q, struct lease_terms *l)
{
	const uint64_t number = q->next;
	struct order *o;

	queue_pass_background(q, true);
	o = first_with_steps(q);

	if (!o || number >= q->low + WINDOW)
		return false;
	if (q->samplers)
		number_steps(q, number + 1, 0);
	else
		*at(q, q->next++) = (struct step){ .order = o };
	o->given += !q->samplers;
	at(q, number)->state = STEP_RETURNED;
	at(q, number)->attempts = 1;
	q->returned++;
	queue_asked(q, number, l);
	return true;
}

void
queue_replay_unleased(struct queue *q, uint64_t number)
{
	struct step *s = at(q, number);

	if (!queue_step(q, number) || s->state != STEP_RETURNED)
		return;
	s->state = STEP_WAITING;
	s->attempts = 0;
	q->returned--;
}

void
queue_replay_end(struct queue *q, size_t requests)
{
	while (requests-- > 0 && *first_foreground(q))
		drop_order(q, first_foreground(q), true);
	end_all(q);
}

/* Is this an epoch whose last steps have numbers?  Such an epoch cannot be
   written as a request, as none of its steps is left to be asked for. */
static bool
is_all_numbered(const struct order *o)
{
	return o->request.op == REQUEST_EPOCH && o->begun &&
		o->given == o->request.steps;
}

bool
queue_write(const struct queue *q, struct text *out)
{
	for (const struct order *o = q->front; o; o = o->next) {
		struct request left = o->request;

		if (left.op == REQUEST_BAD ||
		    left.epochs > INT64_MAX - 1 || is_all_numbered(o))
			return false;
		left.steps -= o->given;
		left.epochs += has_steps(o) && o->begun;
		if (left.op == REQUEST_TRAIN && left.steps == 0)
			continue;	/* its steps are under way */
		request_write(out, &left);
		text_add(out, "\n");
	}
	return true;
}

bool
queue_write_parts(const struct queue *q,
		  void (*tell)(void *, const struct request *, uint64_t),
		  void *to)
{
	for (const struct order *o = q->front; o; o = o->next) {
		const bool steps = o->request.op == REQUEST_TRAIN;

		if (is_all_numbered(o))
			return false;
		if (!steps || o->given < o->request.steps)
			tell(to, &o->request,
			     steps ? o->request.steps - o->given : 0);
	}
	return true;
}

/* An epoch and a checkpoint wait for nothing that is in the background. */
const struct request *
queue_barrier(const struct queue *q)
{
	const struct order *o = *first_foreground((struct queue *)(uintptr_t)q);
	const bool overtakes = o && (o->request.op == REQUEST_EPOCH ||
				     o->request.op == REQUEST_SAVE);

	if (!o || o->request.op == REQUEST_TRAIN ||
	    (o != q->front && (!overtakes || is_background(first_open(q)))))
		return NULL;
	return &o->request;
}

void
queue_pass(struct queue *q)
{
	drop_order(q, first_foreground(q), false);
	q->pass++;
}

void
queue_begin(struct queue *q, uint64_t steps)
{
	struct order *o = *first_foreground(q);

	o->request.steps = steps;
	o->request.epochs--;
	o->given = o->ended = 0;
	o->begun = true;
}

bool
queue_begun(const struct queue *q, uint64_t *left)
{
	const struct order *o = *first_foreground((struct queue *)(uintptr_t)q);

	*left = o && o->begun ? o->request.steps - o->ended : 0;
	return o && o->begun;
}

uint64_t
queue_watermark(const struct queue *q)
{
	return q->low;
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
	     o && (has_steps(o) ||
		   (is_background(o) && (o->begun || q->passes)));
	     o = o->next) {
		const uint64_t left = has_steps(o) ?
			o->request.steps - o->ended : 0;

		steps = left < UINT64_MAX - steps ? steps + left : UINT64_MAX;
	}
	return steps;
}

bool
queue_is_followed(const struct queue *q, uint64_t number)
{
	const struct step *s = queue_step(q, number);
	const struct order *o = s ? s->order : NULL;

	for (uint64_t i = number + 1; s && i < q->next; i++)
		if (queue_step(q, i))
			return true;
	for (; o; o = o->next) {
		if (has_steps(o) && o->given < o->request.steps)
			return true;
		/* An epoch that has begun is a barrier, too. */
		if (is_background(o) ? !o->begun && !q->passes :
		    !has_steps(o) || o->begun)
			return false;
	}
	return false;
}

/* ---- what always holds ---- */

const char *
queue_check(const struct queue *q)
{
	size_t running = 0, returned = 0, orders = 0, backgrounds = 0;
	uint64_t open = 0, asked = 0;

	if (q->next < q->low || q->next - q->low > WINDOW)
		return "queue 1: the numbers of steps that have not ended fit "
			"into the window";
	if (q->low < q->next && at(q, q->low)->state == STEP_ENDED)
		return "queue 2: the step at the watermark has not ended";
	for (uint64_t i = q->low; i < q->next; i++) {
		const struct step *s = at(q, i);

		running += s->state == STEP_LEASED;
		returned += s->state == STEP_RETURNED;
		open += s->state != STEP_ENDED;
		if (s->state == STEP_LEASED && !s->worker)
			return "queue 3: a leased step has a worker";
	}
	if (running != q->running || returned != q->returned)
		return "queue 4: the counts of leased and returned steps are "
			"right";
	for (const struct order *o = q->front; o; o = o->next, orders++) {
		if (o->given < o->ended || o->given > o->request.steps)
			return "queue 5: a request's steps have numbers before "
				"they end";
		asked += o->given - o->ended;
		backgrounds += is_background(o);
	}
	if (open != asked)
		return "queue 6: a step that has not ended belongs to a "
			"request";
	return orders == q->orders && backgrounds == q->backgrounds ? NULL :
		"queue 7: the count of requests is right";
}
