/*
 * The queue with a sampler: workers get steps of their own streams, idle
 * workers those of others; every step is leased once and every record is read
 * once, under any order of events.
 */
#include "coord/queue.h"

#include "base/mem.h"
#include "base/rng.h"
#include "wire/message.h"

#include "samplers_of.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS	4
#define PLACES	4096

static char crew[WORKERS];	/* only their addresses count */
static struct lease_terms l;

static struct sampler *
make_sampler(uint64_t records, uint64_t batch, uint64_t unit, uint64_t buffer)
{
	const struct sampler_options o = { .batch = batch, .unit = unit,
					   .buffer = buffer };
	struct splits s = { .files = 1, .count = 1 };
	struct sampler *sampler;
	struct fail f;

	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(1, sizeof(*s.split));
	s.file[0].name = mem_text("a");
	s.split[0].end = UINT64_MAX;
	sampler = sampler_new(&o, &s);
	sampler_count_next(sampler);
	sampler_counted(sampler, 0, records, NULL, 0, &f);
	return sampler;
}

static void
put(struct queue *q, enum request_op op, uint64_t n)
{
	struct request r = { .op = op, .steps = n, .epochs = n };

	queue_put(q, &r);
}

/* Leases steps of a stream to worker w; returns their number. */
static size_t
lease(struct queue *q, int w, uint64_t stream, size_t most, uint64_t ahead)
{
	const struct lease_choice c = { stream, 2, ahead };

	return queue_lease_stream(q, &crew[w], most, UINT64_MAX, &c, &l);
}

static void
test_affinity(void)
{
	struct sampler *sampler = make_sampler(100, 1, 1, 10);
	struct samplers *samplers = samplers_of(sampler, 0);
	struct queue *q = queue_new(7);

	queue_follow(q, samplers);
	put(q, REQUEST_TRAIN, 10);	/* steps 7 to 16, of streams 0 1 0 1 */
	ok(lease(q, 0, 0, 1, 6) == 1 && l.first == 7 && l.places.first[0] == 0);
	ok(lease(q, 0, 0, 1, 6) == 1 && l.first == 9 && l.places.first[0] == 2);
	ok(lease(q, 1, 1, 1, 6) == 1 && l.first == 8);
	ok(lease(q, 0, 0, 1, 6) == 1 && l.first == 11);
	named(lease(q, 0, 0, 1, 6) == 1 && l.first == 10,
	      "a worker that is far ahead gets a step of the other stream");
	ok(lease(q, 0, WIRE_NONE, 1, 6) == 1 && l.first == 12);
	named_equals(lease(q, 0, 0, 1, 6), 0,
		     "no step further ahead than the bound is leased");
	queue_end(q, 7);
	queue_end(q, 8);
	equals(queue_watermark(q), 9);
	ok(lease(q, 2, 1, 1, 6) == 1 && l.first == 14);
	queue_return(q, &crew[1]);	/* had but the one that has ended */
	equals(queue_return(q, &crew[0]), 4);
	named(lease(q, 1, 1, 1, 6) == 1 && l.first == 9 && l.attempt == 2,
	      "a returned step is leased first, to any worker that is free");
	equals(l.places.first[0], 2);
	queue_free(q);
	samplers_free(samplers);
}

static void
test_together(void)
{
	struct sampler *sampler = make_sampler(23, 1, 4, 6);
	struct samplers *samplers = samplers_of(sampler, 0);
	struct queue *q = queue_new(0);

	queue_follow(q, samplers);
	put(q, REQUEST_TRAIN, 3);
	put(q, REQUEST_TRAIN, 20);
	ok(lease(q, 0, 0, 8, 99) == 3 && l.first == 0);	/* the request's end */
	ok(lease(q, 0, 0, 8, 99) == 1 && l.first == 3);	/* the unit's */
	ok(lease(q, 0, 0, 8, 99) == 2 && l.first == 8);	/* the block's */
	ok(lease(q, 0, 0, 1, 99) == 1 && l.first == 10);
	ok(lease(q, 0, 0, 8, 99) == 1 && l.first == 11);
	ok(lease(q, 1, 1, 8, 99) == 4 && l.first == 4);
	equals(queue_return(q, &crew[1]), 4);
	ok(lease(q, 0, 0, 8, 99) == 4 && l.first == 4 && l.attempt == 2);
	queue_free(q);
	samplers_free(samplers);
}

static void
tell(void *to, const struct request *r, uint64_t steps)
{
	uint64_t *told = to;

	told[0] += r->op == REQUEST_EPOCH;
	told[1] += steps;
}

static void
test_epochs(void)
{
	struct sampler *sampler = make_sampler(10, 1, 1, 10);
	struct samplers *samplers = samplers_of(sampler, 0);
	struct queue *q = queue_new(0);
	uint64_t left, told[2] = { 0 };

	queue_follow(q, samplers);
	put(q, REQUEST_TRAIN, 3);
	put(q, REQUEST_EPOCH, 2);
	put(q, REQUEST_TRAIN, 5);
	for (uint64_t i = 0; i < 3; i++) {
		ok(!queue_barrier(q) && lease(q, 0, 0, 1, 99) == 1);
		queue_end(q, l.first);
	}
	ok(lease(q, 0, 0, 1, 99) == 0 && !queue_begun(q, &left));
	ok(queue_barrier(q) && queue_barrier(q)->op == REQUEST_EPOCH);
	queue_begin(q, sampler_left(sampler));
	ok(queue_begun(q, &left) && left == 7 && queue_waiting(q) == 12);
	for (uint64_t i = 0; i < 7; i++) {
		lease(q, 0, 0, 1, 99);
		queue_end(q, l.first);
	}
	named(queue_begun(q, &left) && left == 0 &&
	      lease(q, 0, 0, 1, 99) == 0,
	      "steps of the next epoch wait for the end of this one");
	equals(queue_barrier(q)->epochs, 1);
	queue_begin(q, sampler_left(sampler));
	ok(lease(q, 0, 0, 1, 99) == 1 && l.places.first[0] == 10);
	ok(lease(q, 0, 0, 1, 99) == 1 && l.places.first[0] == 12);
	queue_end(q, l.first);
	queue_cancel(q, tell, told);
	named(told[0] == 1 && told[1] == 9 + 5,
	      "steps that have not ended are reported as cancelled");
	named(queue_idle(q) && queue_watermark(q) == queue_next(q) &&
	      sampler_left(sampler) == 8,
	      "records of steps that were never leased are read by later "
	      "steps");
	put(q, REQUEST_TRAIN, 1);
	ok(lease(q, 0, 0, 1, 99) == 1 && l.places.first[0] == 11 &&
	   l.first == 20);
	queue_free(q);
	samplers_free(samplers);
}

/* A step of a run, by its number. */
struct given {
	uint64_t place;
	int worker;		/* -1: none, -2: it has ended */
};

/* Is every step leased, and every record read, once, for random leases, ends,
   losses and errors? */
static bool
any_order(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	const uint64_t records = 1 + rng_below(&rng, 300);
	const size_t pack = 1 + rng_below(&rng, 4);
	struct sampler *sampler = make_sampler(records, 1 + rng_below(&rng, 5),
					      pack, rng_below(&rng, 30));
	struct samplers *samplers = samplers_of(sampler, 0);
	struct given given[PLACES];
	unsigned char read[PLACES] = { 0 };
	struct queue *q = queue_new(0);
	const uint64_t steps = 3 * sampler_batches(sampler);
	uint64_t asked = 0, done = 0, lost = 0;
	bool good = true;

	for (size_t i = 0; i < PLACES; i++)
		given[i].worker = -1;
	queue_follow(q, samplers);
	for (int n = 0; good && done + lost < steps && n < 100000; n++) {
		const int w = (int)rng_below(&rng, WORKERS);

		if (asked < steps && rng_below(&rng, 3) == 0) {
			const uint64_t some = 1 + rng_below(&rng,
							    steps - asked);

			put(q, REQUEST_TRAIN, some);
			asked += some;
		}
		if (lease(q, w, rng_below(&rng, 3), pack,
			  pack * (2 + rng_below(&rng, 9))) > 0) {
			for (uint64_t i = 0; i < l.count; i++) {
				struct given *g = &given[l.first + i];

				good = good && g->worker == -1 &&
					(l.attempt == 1 ||
					 g->place == l.places.first[0] + i) &&
					l.places.first[0] + i < steps;
				*g = (struct given){
					l.places.first[0] + i, w };
			}
		}
		for (uint64_t i = queue_watermark(q); i < queue_next(q); i++)
			if (given[i].worker == w && rng_below(&rng, 2)) {
				queue_end(q, i);
				read[given[i].place]++;
				given[i].worker = -2;
				done++;
			}
		if (rng_below(&rng, 20) == 0) {
			queue_return(q, &crew[w]);
			for (uint64_t i = 0; i < queue_next(q); i++)
				if (given[i].worker == w)
					given[i].worker = -1;
		}
		if (rng_below(&rng, 100) == 0) {
			/* The records of steps in flight are not read. */
			for (uint64_t i = queue_watermark(q); i < queue_next(q);
			     i++) {
				const struct step *s = queue_step(q, i);

				if (!s || s->attempts == 0)
					continue;
				read[queue_places(q, i).first[0]]++;
				given[i].worker = -2;
				lost++;
			}
			queue_cancel(q, NULL, NULL);
			asked = done + lost;
		}
	}
	for (uint64_t i = 0; i < steps; i++)
		good = good && read[i] == 1;
	if (!good)
		printf("# seed %llu\n", (unsigned long long)seed);
	queue_free(q);
	samplers_free(samplers);
	return good;
}

int
main(void)
{
	bool good = true;

	test_affinity();
	test_together();
	test_epochs();
	for (uint64_t seed = 0; seed < 300 && good; seed++)
		good = any_order(seed);
	named(good, "every record is read once, under any order of events");
	return tap_done();
}
