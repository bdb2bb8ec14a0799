/*
 * The queue, compared with the requirements of TensorFlow's tests (the ids Q
 * and S are those of the acceptance list), and with a simple model under random
 * orders.
 */
#include "coord/queue.h"

#include "base/mem.h"
#include "base/rng.h"

#include "samplers_of.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define ANY	UINT64_MAX	/* no limit but the window */

static char w1[1], w2[1];	/* workers: only their addresses count */
static struct lease_terms l;

static void
put(struct queue *q, enum request_op op, const char *id, uint64_t steps)
{
	struct request r = { .op = op, .id = id ? mem_text(id) : NULL,
			     .steps = steps };

	queue_put(q, &r);
}

static void
train(struct queue *q, const char *id)
{
	put(q, REQUEST_TRAIN, id, 1);
}

/* The requests that were cancelled: "id:steps " for each. */
static char told[256];

static void
tell(void *to, const struct request *r, uint64_t steps)
{
	(void)to;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s:%llu ",
		 r->id ? r->id : "-", (unsigned long long)steps);
}

static void
q1(void)
{
	struct queue *q = queue_new(0);

	train(q, "c");
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && l.first == 0 &&
	   l.attempt == 1);
	named(strcmp(queue_id(q, 0), "c") == 0 && !queue_idle(q) &&
	      queue_running(q) == 1,
	      "Q1 a queue with a step in flight is not idle");
	ok(queue_return(q, w1) == 1 && queue_running(q) == 0);
	ok(!queue_idle(q) && queue_watermark(q) == 0);
	equals(queue_lease(q, w2, 1, ANY, &l), 1);
	named(l.first == 0 && l.attempt == 2 &&
	      strcmp(queue_id(q, 0), "c") == 0,
	      "Q1 a returned step is leased again");
	queue_end(q, 0);
	named(queue_idle(q) && queue_running(q) == 0 && queue_watermark(q) == 1,
	      "Q1 a queue whose steps have ended is idle");
	queue_free(q);
}

static void
q2(void)
{
	struct queue *q = queue_new(0);
	int ended[5] = { 0 };
	bool once = true;

	for (int i = 0; i < 5; i++)
		train(q, NULL);
	/* Each of two workers returns the first step that it leases. */
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	equals(queue_lease(q, w2, 1, ANY, &l), 1);
	ok(queue_return(q, w1) == 1 && queue_return(q, w2) == 1);
	for (int i = 0; queue_lease(q, i % 2 ? w1 : w2, 1, ANY, &l); i++) {
		ended[l.first]++;
		queue_end(q, l.first);
	}
	for (int i = 0; i < 5; i++)
		once = once && ended[i] == 1;
	named(once && queue_idle(q), "Q2 each step ends exactly once");
	equals(queue_lease(q, w1, 1, ANY, &l), 0);
	queue_free(q);
}

/* A join is a barrier; TensorFlow's done() asks whether a step is left. */
static void
q3(void)
{
	struct queue *q = queue_new(0);

	train(q, "a");
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	queue_end(q, 0);
	put(q, REQUEST_JOIN, "j", 1);
	named(queue_barrier(q) && strcmp(queue_barrier(q)->id, "j") == 0,
	      "Q3 a join after the last step has ended passes at once");
	queue_pass(q);
	ok(queue_idle(q));

	put(q, REQUEST_JOIN, NULL, 1);
	named(queue_barrier(q) != NULL,
	      "S1 a join without steps passes at once");
	queue_pass(q);
	queue_free(q);
}

static void
errors(void)
{
	struct queue *q = queue_new(0);

	train(q, "1");
	train(q, "2");
	train(q, "3");
	put(q, REQUEST_JOIN, "j", 1);
	train(q, "4");
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	equals(queue_lease(q, w2, 1, ANY, &l), 1);
	named(!queue_barrier(q), "Q4 a join waits for steps in flight");

	/* The first step fails: it has ended, and the steps before the join are
	   cancelled. */
	queue_end(q, 0);
	told[0] = '\0';
	ok(queue_cancel(q, tell, NULL) == 2);
	named(strcmp(told, "2:1 3:1 ") == 0,
	      "Q5/6/7 queued steps and steps in flight are reported as "
	      "cancelled");
	named(queue_running(q) == 0 && queue_watermark(q) == 2 &&
	      queue_step(q, 1) == NULL,
	      "Q8 after an error no step is in flight");
	queue_end(q, 1);
	named_equals(queue_watermark(q), 2,
		     "Q8 the late end of a cancelled step changes nothing");
	named(queue_barrier(q) && queue_barrier(q)->op == REQUEST_JOIN,
	      "a cancel stops at the first barrier");
	queue_pass(q);
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	named(l.first == 2 && l.attempt == 1 &&
	      strcmp(queue_id(q, 2), "4") == 0,
	      "Q9 steps after an error run under new numbers");
	queue_end(q, 2);
	ok(queue_idle(q) && queue_requests(q) == 0);
	ok(queue_cancel(q, tell, NULL) == 0);
	queue_free(q);
}

static void
s2(void)
{
	struct queue *q = queue_new(0);
	int sum = 0;

	for (int round = 1; round <= 2; round++) {
		for (int i = 0; i < 5; i++)
			train(q, NULL);
		put(q, REQUEST_JOIN, NULL, 1);
		while (queue_lease(q, w1, 1, ANY, &l)) {
			sum += 2;
			queue_end(q, l.first);
		}
		named(queue_barrier(q) && sum == 10 * round,
		      "S2 each of several joins waits for all steps before "
		      "it");
		queue_pass(q);
	}
	ok(queue_idle(q));
	queue_free(q);
}

static void
packs(void)
{
	struct queue *q = queue_new(7);

	put(q, REQUEST_TRAIN, "a", 10);
	put(q, REQUEST_TRAIN, "b", 10);
	equals(queue_waiting(q), 20);
	ok(queue_lease(q, w1, 4, ANY, &l) == 4 && l.first == 7 &&
	   l.count == 4);
	ok(queue_lease(q, w2, 8, ANY, &l) == 6 && l.first == 11);
	named(strcmp(queue_id(q, 16), "a") == 0,
	      "a lease has steps of one request");
	ok(queue_lease(q, w2, 8, 20, &l) == 3 && l.first == 17);
	named_equals(queue_lease(q, w2, 8, 20, &l), 0,
		     "no step at or above the limit is leased");
	equals(queue_return(q, w1), 4);
	queue_return(q, w2);
	equals(queue_lease(q, w1, 2, 7, &l), 0);
	ok(queue_lease(q, w1, 2, ANY, &l) == 2 && l.first == 7);
	named_equals(l.attempt, 2,
		     "returned steps are leased first, the lowest first");
	ok(queue_lease(q, w1, 100, ANY, &l) == 8 && l.first == 9);
	ok(queue_lease(q, w1, 100, ANY, &l) == 3 && l.first == 17);
	ok(queue_lease(q, w1, 100, ANY, &l) == 7 && l.first == 20 &&
	   l.attempt == 1);
	equals(queue_lease(q, w1, 100, ANY, &l), 0);
	queue_end(q, 9);
	ok(queue_watermark(q) == 7 && queue_waiting(q) == 19);
	ok(queue_step(q, 9) == NULL && queue_step(q, 8) != NULL &&
	   queue_step(q, 6) == NULL && queue_step(q, 27) == NULL);
	queue_end(q, 8);
	queue_end(q, 7);
	ok(queue_watermark(q) == 10 && queue_next(q) == 27);
	queue_free(q);
}

/* The batch and learning rate of a request are those of its steps. */
static void
terms(void)
{
	struct queue *q = queue_new(0);
	struct request r = { .op = REQUEST_TRAIN, .steps = 2, .batch = 9,
			     .learning_rate = .5f };

	queue_put(q, &r);
	ok(r.op == REQUEST_NONE && r.steps == 0);
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && l.batch == 9 &&
	   l.learning_rate == .5f);
	queue_return(q, w1);
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && l.batch == 9 &&
	   l.learning_rate == .5f && l.attempt == 2);
	queue_free(q);
}

/* Steps that are leased together have the same name and arguments. */
static void
calls(void)
{
	static const char *const args[] = { "{}", "{}", "{\"a\":1}" };
	struct queue *q = queue_new(0);

	for (size_t i = 0; i < 3; i++) {
		struct request r = { .op = REQUEST_TRAIN, .steps = 1,
				     .call = call_new("fit", args[i]) };

		queue_put(q, &r);
	}
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	named(strcmp(l.call->args, "{}") == 0 && l.more,
	      "a lease announces more steps with the same arguments");
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	named(!l.more, "a step with other arguments is not announced");
	queue_return(q, w1);
	queue_asked(q, 1, &l);
	named(strcmp(l.call->args, "{}") == 0,
	      "a returned step keeps its arguments");
	queue_free(q);
}

static void
barriers(void)
{
	struct queue *q = queue_new(0);

	put(q, REQUEST_SAVE, "s", 1);
	put(q, REQUEST_EVAL, "e", 1);
	train(q, "t");
	named_equals(queue_lease(q, w1, 1, ANY, &l), 0,
		     "no step behind a barrier is leased");
	ok(queue_waiting(q) == 0 && queue_requests(q) == 3);
	equals(queue_barrier(q)->op, REQUEST_SAVE);
	queue_pass(q);
	equals(queue_barrier(q)->op, REQUEST_EVAL);
	queue_pass(q);
	ok(!queue_barrier(q) && queue_lease(q, w1, 1, ANY, &l) == 1);
	queue_free(q);
}

static bool
writes(const struct queue *q, const char *lines)
{
	struct text out = { 0 };
	const bool same = queue_write(q, &out) && out.data &&
		strcmp(out.data, lines) == 0;

	text_release(&out);
	return same;
}

static void
put_background(struct queue *q, const char *id)
{
	struct request r = { .op = REQUEST_EVAL, .id = mem_text(id),
			     .background = true };

	queue_put(q, &r);
}

static bool
is_background(const struct queue *q, size_t i, const char *id)
{
	const struct request *r = queue_background(q, i);

	return r && strcmp(r->id, id) == 0 && !queue_check(q);
}

/* Evaluations in the background: requests that wait for them, and requests for
   which they wait. */
static void
backgrounds(void)
{
	struct queue *q = queue_new(0);
	struct part_ended e;

	put(q, REQUEST_TRAIN, NULL, 2);
	put_background(q, "1");
	put(q, REQUEST_TRAIN, NULL, 1);
	put_background(q, "2");
	put(q, REQUEST_SAVE, "s", 1);
	put(q, REQUEST_JOIN, "j", 1);
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && !queue_background_due(q));
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && queue_background_due(q) ==
	   queue_background(q, 0));
	named(queue_lease(q, w1, 1, ANY, &l) == 0 && queue_waiting(q) == 2,
	      "steps behind an evaluation wait until it has begun");
	queue_background_begin(q, 0, true);
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && l.first == 2 &&
	   is_background(q, 1, "2") && queue_background_due(q) ==
	   queue_background(q, 1));
	ok(writes(q, "{\"op\":\"eval\",\"id\":1,\"background\":true}\n"
		  "{\"op\":\"eval\",\"id\":2,\"background\":true}\n"
		  "{\"op\":\"save\",\"id\":s}\n"
		  "{\"op\":\"join\",\"id\":j}\n"));
	for (uint64_t i = 0; i < 3; i++)
		queue_end(q, i);
	ok(!queue_barrier(q));
	queue_background_begin(q, 1, true);
	named_equals(queue_barrier(q)->op, REQUEST_SAVE,
		     "a checkpoint does not wait for an evaluation that has "
		     "begun");
	queue_pass(q);
	named(!queue_barrier(q) && queue_requests(q) == 3,
	      "a join waits for an evaluation that has begun");
	queue_background_end(q, 0, false);
	ok(is_background(q, 0, "2") && !queue_barrier(q));
	queue_background_end(q, 0, false);
	ok(queue_barrier(q)->op == REQUEST_JOIN && !queue_ended(q, &e));
	queue_free(q);
}

/* A cancel of steps does not cancel evaluations in the background; a journal
   has those that have begun. */
static void
backgrounds_stay(void)
{
	struct queue *q = queue_new(0);

	put_background(q, "1");
	put(q, REQUEST_TRAIN, NULL, 2);
	put_background(q, "2");
	put(q, REQUEST_JOIN, NULL, 1);
	ok(queue_replay_next(q, &l) && queue_next(q) == 1);
	named(!queue_background_due(q),
	      "the replay of a journal passes evaluations that had begun");
	queue_pass_background(q, false);
	ok(queue_background_due(q) == queue_background(q, 0));
	ok(queue_cancel(q, NULL, NULL) == 1 && is_background(q, 0, "1") &&
	   is_background(q, 1, "2"));
	queue_replay_end(q, 1);
	ok(queue_requests(q) == 2 && is_background(q, 1, "2"));
	queue_free(q);
}

static void
full(void)
{
	struct queue *q = queue_new(0);
	uint64_t given = 0;

	put(q, REQUEST_TRAIN, NULL, 2 * WINDOW);
	while (queue_lease(q, w1, 1000, ANY, &l))
		given += l.count;
	named(given == WINDOW && queue_next(q) == WINDOW,
	      "Q12 no step beyond the window is leased");
	for (uint64_t i = 1; i < WINDOW; i++)
		queue_end(q, i);
	named_equals(queue_lease(q, w2, 1, ANY, &l), 0,
		     "Q12 the oldest step in flight blocks new steps");
	equals(queue_return(q, w1), 1);
	named(queue_lease(q, w2, 1, ANY, &l) == 1 && l.first == 0,
	      "Q12 the oldest step can be leased again");
	queue_end(q, 0);
	equals(queue_watermark(q), WINDOW);
	equals(queue_lease(q, w2, WINDOW, ANY, &l), WINDOW);
	queue_cancel(q, NULL, NULL);
	ok(queue_watermark(q) == 2 * WINDOW && queue_idle(q));
	queue_free(q);
}

/* ---- Q10: any order of calls, against a model that forgets nothing ---- */

#define WORKERS	10
#define STEPS	4000

struct history {
	char state[STEPS];	/* 0 not given, l(eased), r(eturned), e(nded) */
	int worker[STEPS];
	uint64_t next, asked;
};

static char crew[WORKERS];

static bool
lease_fits(struct history *h, size_t most, size_t got, int worker)
{
	uint64_t back = 0;

	while (back < h->next && h->state[back] != 'r')
		back++;
	if (got == 0)
		return back == h->next && h->next == h->asked;
	if (l.count != got || got > most ||
	    l.first != (back < h->next ? back : h->next))
		return false;
	for (uint64_t i = l.first; i < l.first + got; i++) {
		if (h->state[i] != (back < h->next ? 'r' : '\0'))
			return false;
		h->state[i] = 'l';
		h->worker[i] = worker;
	}
	if (l.first + got > h->next)
		h->next = l.first + got;
	return true;
}

static size_t
end_some(struct history *h, struct queue *q, struct rng *rng, int worker)
{
	size_t ended = 0;

	for (uint64_t i = 0; i < h->next; i++)
		if (h->state[i] == 'l' && h->worker[i] == worker &&
		    rng_below(rng, 2)) {
			h->state[i] = 'e';
			queue_end(q, i);
			queue_end(q, i);	/* changes nothing */
			ended++;
		}
	return ended;
}

static bool
agrees(const struct history *h, const struct queue *q)
{
	uint64_t low = 0, running = 0, ended = 0;

	while (low < h->next && h->state[low] == 'e')
		low++;
	for (uint64_t i = 0; i < h->next; i++) {
		running += h->state[i] == 'l';
		ended += h->state[i] == 'e';
		if ((queue_step(q, i) == NULL) != (h->state[i] == 'e'))
			return false;
	}
	return queue_watermark(q) == low && queue_next(q) == h->next &&
		queue_running(q) == running &&
		queue_waiting(q) == h->asked - ended &&
		queue_idle(q) == (h->asked == ended);
}

static bool
act(struct history *h, struct queue *q, struct rng *rng)
{
	const int worker = (int)rng_below(rng, WORKERS);
	const size_t most = 1 + rng_below(rng, 5);
	uint64_t steps = 1 + rng_below(rng, 9);

	switch (rng_below(rng, 5)) {
	case 0:
		if (h->asked + steps <= STEPS) {
			put(q, REQUEST_TRAIN, NULL, steps);
			h->asked += steps;
		}
		return true;
	case 1:
		for (uint64_t i = 0; i < h->next; i++)
			if (h->state[i] == 'l' && h->worker[i] == worker)
				h->state[i] = 'r';
		queue_return(q, &crew[worker]);
		return true;
	case 2:
		end_some(h, q, rng, worker);
		return true;
	default:
		return lease_fits(h, most, queue_lease(q, &crew[worker], most,
						       ANY, &l), worker);
	}
}

static bool
any_order(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	struct history h = { .next = 0 };
	struct queue *q = queue_new(0);
	bool good = true;
	int rest = 0;

	for (int i = 0; i < 300 && good; i++)
		good = act(&h, q, &rng) && agrees(&h, q);
	/* Then end all steps. */
	while (good && !queue_idle(q)) {
		const size_t got = queue_lease(q, crew, 3, ANY, &l);

		good = lease_fits(&h, 3, got, 0) && rest++ < 100000;
		for (int w = 0; w < WORKERS; w++)
			end_some(&h, q, &rng, w);
	}
	queue_free(q);
	return good && h.next == h.asked;
}

static void
bounded(void)
{
	struct queue *q = queue_new(5);

	queue_bound(q, 2);
	put(q, REQUEST_TRAIN, NULL, 9);
	ok(queue_lease(q, w1, 1, ANY, &l) == 1 && l.first == 5);
	ok(!queue_held_up(q));
	named(queue_lease(q, w2, 9, ANY, &l) == 2 && l.first == 6 &&
	      queue_lease(q, w2, 1, ANY, &l) == 0,
	      "no step is leased further ahead than the bound");
	named(queue_held_up(q) == w1,
	      "the worker that blocks the others is known");
	queue_end(q, 6);
	equals(queue_lease(q, w2, 1, ANY, &l), 0);
	queue_return(q, w1);
	ok(!queue_held_up(q));
	ok(queue_lease(q, w2, 1, ANY, &l) == 1 && l.first == 5);
	queue_end(q, 5);
	ok(queue_lease(q, w1, 9, ANY, &l) == 2 && l.first == 8);
	queue_free(q);

	q = queue_new(0);
	queue_bound(q, 0);
	put(q, REQUEST_TRAIN, NULL, 2);
	equals(queue_lease(q, w1, 1, ANY, &l), 1);
	named_equals(queue_lease(q, w2, 1, ANY, &l), 0,
		     "with a bound of 0 one step runs at a time");
	queue_end(q, 0);
	ok(queue_lease(q, w2, 1, ANY, &l) == 1 && !queue_held_up(q));
	queue_free(q);
}

/* The requests that are left when all steps that have begun have ended. */
static void
left(void)
{
	struct request epoch = { .op = REQUEST_EPOCH, .steps = 1,
				 .epochs = 1 };
	struct queue *q = queue_new(0);

	put(q, REQUEST_TRAIN, NULL, 5);
	put(q, REQUEST_JOIN, NULL, 1);
	queue_put(q, &epoch);
	equals(queue_lease(q, w1, 2, ANY, &l), 2);
	queue_end(q, 0);
	queue_end(q, 1);
	ok(writes(q, "train 3\n{\"op\":\"join\"}\n"
		  "{\"op\":\"epoch\",\"epochs\":1}\n"));
	equals(queue_lease(q, w1, 3, ANY, &l), 3);
	for (uint64_t i = 2; i < 5; i++)
		queue_end(q, i);
	queue_pass(q);
	queue_begin(q, 2);
	named(writes(q, "{\"op\":\"epoch\",\"epochs\":1}\n"),
	      "an epoch that has begun is written as one that is left");
	equals(queue_lease(q, w1, 2, ANY, &l), 2);
	named(!writes(q, ""),
	      "an epoch that is only to be closed is written as nothing");
	queue_free(q);

	q = queue_new(0);
	put(q, REQUEST_TRAIN, NULL, UINT64_MAX);
	put(q, REQUEST_TRAIN, NULL, UINT64_MAX);
	equals(queue_lease(q, w1, 2, ANY, &l), 2);
	named_equals(queue_waiting(q), UINT64_MAX,
		     "the number of waiting steps stops at the largest number");
	named(writes(q, "train 18446744073709551613\n"
		     "train 18446744073709551615\n"),
	      "requests of any number of steps are written");
	queue_free(q);
}

/* ---- with a sampler: workers of streams of their own come and go ---- */

#define EPOCH	700

static struct sampler *
make_sampler(uint64_t seed)
{
	const struct sampler_options o = { .seed = seed, .batch = 1,
					   .unit = 1 + seed % 3, .buffer = 32,
					   .shuffle = seed % 2 };
	struct splits s = { .files = 1, .count = 1 };
	struct fail none;
	struct sampler *sampler;

	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(1, sizeof(*s.split));
	s.file[0].name = mem_text("a.svm");
	s.split[0] = (struct split){ 0, 0, UINT64_MAX };
	sampler = sampler_new(&o, &s);
	sampler_counted(sampler, sampler_count_next(sampler), EPOCH, NULL, 0,
			&none);
	return sampler;
}

/*
 * The limit on how far steps may be ahead depends on the number of workers, as
 * in the coordinator.  Workers lease steps, end them, or are lost.  If no
 * worker has a step, the next worker that asks must get one.
 */
static bool
never_stands(struct queue *q, struct sampler *sampler, struct rng *rng)
{
	struct history h = { .next = 0 };
	size_t workers = WORKERS;

	while (queue_waiting(q) > 0) {
		const size_t w = rng_below(rng, workers);
		const struct lease_choice choice = {
			.stream = w, .streams = workers,
			.ahead = workers * (1 + rng_below(rng, 3))
		};
		const bool none = queue_running(q) == 0;
		size_t got = 0;

		if (none || rng_below(rng, 2))
			got = queue_lease_stream(q, &crew[w], 2, ANY, &choice,
						 &l);
		if (none && got == 0)
			return false;
		for (uint64_t i = l.first; got > 0 && i < l.first + got; i++) {
			h.state[i] = 'l';
			h.worker[i] = (int)w;
		}
		h.next = queue_next(q);
		if (rng_below(rng, 3))
			end_some(&h, q, rng, (int)w);
		if (workers > 1 && rng_below(rng, 40) == 0)
			queue_return(q, &crew[--workers]);
		else if (workers < WORKERS && rng_below(rng, 400) == 0)
			workers++;
	}
	return queue_watermark(q) == EPOCH &&
		sampler_left(sampler) % EPOCH == 0;
}

static bool
streams(uint64_t seed)
{
	struct request epoch = { .op = REQUEST_EPOCH, .steps = 1,
				 .epochs = 1 };
	struct sampler *sampler = make_sampler(seed);
	struct samplers *samplers = samplers_of(sampler, 0);
	struct rng rng = { .seed = seed };
	struct queue *q = queue_new(0);
	bool good;

	queue_follow(q, samplers);
	queue_put(q, &epoch);
	queue_begin(q, sampler_left(sampler));
	good = never_stands(q, sampler, &rng);
	queue_free(q);
	samplers_free(samplers);
	return good;
}

/* A returned step does not prevent that a lower one is leased. */
static void
limits(void)
{
	const struct lease_choice any = { .stream = 0, .streams = 2,
					  .ahead = 8 };
	struct request epoch = { .op = REQUEST_EPOCH, .steps = 1,
				 .epochs = 1 };
	struct sampler *sampler = make_sampler(0);
	struct samplers *samplers = samplers_of(sampler, 0);
	struct queue *q = queue_new(0);

	queue_follow(q, samplers);
	queue_put(q, &epoch);
	queue_begin(q, sampler_left(sampler));
	ok(queue_lease_stream(q, w1, 1, ANY, &any, &l) == 1 && l.first == 0);
	ok(queue_lease_stream(q, w1, 1, ANY, &any, &l) == 1 && l.first == 2);
	queue_end(q, 0);
	queue_return(q, w1);
	named(queue_lease_stream(q, w2, 1, 2, &any, &l) == 1 && l.first == 1,
	      "a returned step at the limit does not block a lower one");
	named_equals(queue_lease_stream(q, w2, 1, 2, &any, &l), 0,
		     "a returned step at the limit is not leased");
	queue_free(q);
	samplers_free(samplers);
}

/* A step that servers may have must be done, even if it was not leased
   again. */
static void
what_was_pushed_before_returns(void)
{
	struct queue *q = queue_new(0);

	put(q, REQUEST_TRAIN, "a", 5);
	for (int i = 0; i < 4; i++)
		ok(queue_replay_next(q, &l));
	queue_replay_unleased(q, 1);
	queue_replay_unleased(q, 3);
	equals(queue_returned(q), 2);
	queue_return_again(q, 3);
	named(queue_returned(q) == 3 &&
	      queue_step(q, 1)->state == STEP_RETURNED &&
	      queue_step(q, 3)->state == STEP_WAITING,
	      "a replayed step that servers may have is returned, although it "
	      "was not leased again");
	queue_free(q);
}

int
main(void)
{
	bool good = true;

	q1();
	q2();
	q3();
	errors();
	s2();
	packs();
	terms();
	calls();
	barriers();
	backgrounds();
	backgrounds_stay();
	full();
	bounded();
	left();
	limits();
	for (uint64_t seed = 0; seed < 100; seed++)
		good = good && streams(seed);
	named(good,
	      "with a sampler some step can always be leased, however many "
	      "workers are left");
	good = true;
	for (uint64_t seed = 0; seed < 100; seed++)
		good = good && any_order(seed);
	named(good,
	      "Q10 workers come and go in any order: no step is lost, leased "
	      "twice or out of order");
	what_was_pushed_before_returns();
	return tap_done();
}
