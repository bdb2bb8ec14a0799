/* A coordinator's rounds: which worker gets which replica, and which attempt
   counts. */
#include "base/mem.h"
#include "base/rng.h"
#include "coord/round.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

static char worker[8];		/* only their addresses count */

#define W(n)	((void *)&worker[n])

static struct attempt a;

/* Is this attempt leased to worker n? */
static bool
gives(struct rounds *r, int n, uint64_t step, uint64_t replica, uint64_t number)
{
	return rounds_lease(r, W(n), true, true, true, &a) && a.step == step &&
		a.replica == replica && a.number == number;
}

static bool
nothing(struct rounds *r, int n)
{
	return !rounds_lease(r, W(n), true, true, true, &a);
}

static struct attempt
try(uint64_t step, uint64_t replica, uint64_t number)
{
	return (struct attempt){ step, replica, number };
}

/* The results of the programs of replicas. */
static const struct frame given[] = {
	{ "{\"a\":1}", 7, NULL }, { NULL, 0, NULL }, { "2", 1, NULL }
};

/* Worker n reports the attempt as done.  overtaken: the worker whose attempt is
   now superfluous, or -1. */
static bool
done(struct rounds *r, int n, struct attempt at, int overtaken)
{
	const struct result result = { .examples = 4 + at.replica,
				       .loss = (double)at.replica + .25,
				       .staleness = at.replica,
				       .microseconds = 9 - at.replica,
				       .metrics = 1, .sum[0][0] = 1,
				       .scores = 2, .mixed = true,
				       .json = given[at.replica % 3]
	};
	const float scores[] = { (float)at.replica, (float)at.number };
	const unsigned char positive[] = { 1, 0 };
	void *other;

	return rounds_choose(r, W(n), &at, &result, scores, positive,
			     &other) &&
		other == (overtaken < 0 ? NULL : W(overtaken));
}

static struct rounds *
begin(size_t replicas, size_t backups)
{
	struct rounds *r = rounds_new(replicas, backups);

	rounds_open(r, 10);
	rounds_open(r, 11);
	return r;
}

static void
replicas_and_owners(void)
{
	struct rounds *r = begin(2, 0);

	ok(!rounds_room(r) && rounds_replicas(r) == 2 && rounds_turn(r) == 10);
	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 1, 1));
	ok(nothing(r, 3));
	ok(gives(r, 2, 11, 1, 1));
	named(gives(r, 1, 11, 0, 1),
	      "a worker keeps its replica in the next round");
	ok(done(r, 2, try(10, 1, 1), -1) && !rounds_whole(r));
	ok(!done(r, 2, try(10, 1, 1), -1));
	equals(rounds_running(r), 1);
	ok(done(r, 1, try(10, 0, 1), -1) && rounds_whole(r));
	ok(rounds_step(r) == 10 && rounds_turn(r) == 11);
	rounds_close(r);
	ok(rounds_room(r) && rounds_step(r) == 11 && rounds_running(r) == 2);
	rounds_open(r, 12);
	named(nothing(r, 3),
	      "a spare worker takes no other worker's replica of a later "
	      "round");
	ok(!rounds_lease(r, W(1), true, false, true, &a));
	ok(gives(r, 1, 12, 0, 1));
	rounds_free(r);
}

static void
losses(void)
{
	struct rounds *r = begin(2, 0);
	const unsigned char *positive;
	const float *scores;
	struct result all;

	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 1, 1) &&
	   gives(r, 1, 11, 0, 1));
	rounds_lose(r, W(1));
	named(gives(r, 3, 10, 0, 2) && gives(r, 3, 11, 0, 2),
	      "the replicas of a lost worker are leased again");
	ok(!done(r, 1, try(10, 0, 1), -1));
	ok(!rounds_live(r, W(1), &(struct attempt){ 10, 0, 1 }) &&
	   rounds_live(r, W(3), &(struct attempt){ 10, 0, 2 }) &&
	   !rounds_live(r, W(2), &(struct attempt){ 10, 0, 2 }));
	a = try(10, 0, 2);
	rounds_drop(r, W(3), &a);
	ok(gives(r, 2, 10, 0, 3));
	ok(done(r, 2, a, -1) && done(r, 2, try(10, 1, 1), -1));
	ok(rounds_whole(r) && rounds_chosen(r, 0) == 3 &&
	   rounds_chosen(r, 1) == 1);
	rounds_result(r, &all, &scores, &positive);
	named(all.mixed,
	      "a replica whose first attempt was lost is marked as mixed");
	rounds_reset(r, true);
	ok(rounds_room(r) && !rounds_whole(r) && rounds_running(r) == 0 &&
	   rounds_turn(r) == WIRE_NONE && nothing(r, 2));
	rounds_open(r, 10);
	named(gives(r, 2, 10, 0, 1), "a reset begins the round again");
	rounds_reset(r, true);
	rounds_number(r, 1000);
	rounds_open(r, 10);
	rounds_open(r, 11);
	named(gives(r, 2, 10, 0, 1001) && gives(r, 3, 10, 1, 1001),
	      "a reset with a new base numbers the attempts from there");
	ok(done(r, 2, try(10, 0, 1001), -1) &&
	   done(r, 3, try(10, 1, 1001), -1));
	rounds_reset(r, false);
	named(rounds_whole(r) && rounds_step(r) == 10 &&
	      rounds_chosen(r, 1) == 1001 && rounds_turn(r) == WIRE_NONE,
	      "a complete round is kept by a partial reset");
	rounds_free(r);
}

static void
empty_replicas(void)
{
	struct rounds *r = begin(3, 0);

	rounds_reset(r, true);
	rounds_open(r, 10);
	rounds_skip(r, 1);
	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 2, 1) && nothing(r, 3));
	ok(done(r, 1, try(10, 0, 1), -1) && !rounds_whole(r) &&
	   done(r, 2, try(10, 2, 1), -1));
	named(rounds_whole(r) && rounds_chosen(r, 0) == 1 &&
	      rounds_chosen(r, 1) == 0 && rounds_chosen(r, 2) == 1,
	      "a replica without work does not delay the round");
	rounds_free(r);
}

static void
backups(void)
{
	struct rounds *r = begin(3, 1);

	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 1, 1) &&
	   gives(r, 3, 10, 2, 1) && nothing(r, 4));
	ok(done(r, 1, try(10, 0, 1), -1) && nothing(r, 4));
	ok(done(r, 2, try(10, 1, 1), -1));
	ok(!rounds_lease(r, W(4), true, true, false, &a));
	named(gives(r, 4, 10, 2, 2),
	      "a backup attempts the last replica, too");
	ok(gives(r, 1, 11, 0, 1) && nothing(r, 1));
	named(done(r, 4, try(10, 2, 2), 3),
	      "the first attempt that ends counts");
	named(!done(r, 3, try(10, 2, 1), -1),
	      "the later attempt does not count");
	ok(rounds_whole(r) && rounds_chosen(r, 2) == 2);
	rounds_close(r);
	named(gives(r, 4, 11, 2, 1),
	      "the worker of the counted attempt keeps the replica");
	rounds_free(r);

	/* The two newest attempts at a replica count. */
	r = begin(1, 1);
	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 0, 2));
	rounds_lose(r, W(2));
	ok(gives(r, 3, 10, 0, 3) && !done(r, 1, try(10, 0, 1), -1) &&
	   done(r, 3, try(10, 0, 3), -1));
	rounds_free(r);
}

static void
sums(void)
{
	struct rounds *r = begin(3, 0);
	const unsigned char *positive;
	const float *scores;
	struct result all;

	for (int n = 0; n < 3; n++)
		ok(gives(r, n, 10, (uint64_t)n, 1));
	for (int n = 2; n >= 0; n--)
		ok(done(r, n, try(10, (uint64_t)n, 1), -1));
	rounds_result(r, &all, &scores, &positive);
	ok(all.step == 10 && all.examples == 15 && all.loss == 3.75 &&
	   all.staleness == 2 && all.microseconds == 9 &&
	   all.metrics == 1 && all.sum[0][0] == 3);
	ok(all.scores == 6 && scores[0] == 0 && scores[2] == 1 &&
	   scores[4] == 2 && scores[5] == 1 && positive[4] == 1 &&
	   positive[5] == 0);
	named(!all.mixed,
	      "a push sent again by the only attempt does not mark the round "
	      "as mixed");
	named(all.json.size == 16 &&
	      memcmp(all.json.data, "[{\"a\":1},null,2]", 16) == 0,
	      "the results of step programs form a list by replica");
	rounds_close(r);
	rounds_result(r, &all, &scores, &positive);
	named_equals(all.json.size, 0,
		     "a round without results of step programs has no list");
	rounds_free(r);
}

/* Does every round end, and each replica count once, whichever workers are
   lost? */
static bool
chaos(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	const size_t replicas = 1 + rng_below(&rng, 5);
	struct rounds *r = rounds_new(replicas, rng_below(&rng, 3));
	struct { int n; struct attempt at; } held[64];
	uint64_t step = 0, closed = 0, chosen = 0;
	size_t count = 0;

	for (int turn = 0; turn < 100000 && closed < 50; turn++) {
		const int n = (int)rng_below(&rng, 8);

		if (rounds_room(r))
			rounds_open(r, step++);
		if (count < 64 &&
		    rounds_lease(r, W(n), true, rng_below(&rng, 2),
				 rng_below(&rng, 2), &a)) {
			held[count].n = n;
			held[count++].at = a;
		}
		if (rng_below(&rng, 20) == 0)
			rounds_lose(r, W(n));
		if (count > 0 && rng_below(&rng, 3) == 0) {
			const size_t i = rng_below(&rng, count);
			const bool live = rounds_live(r, W(held[i].n),
						      &held[i].at);
			bool won = done(r, held[i].n, held[i].at, -1);

			for (int o = 0; live && !won && o < 8; o++)
				won = !rounds_live(r, W(held[i].n),
						   &held[i].at);
			chosen += live;
			if (won != live)
				break;
			held[i] = held[--count];
		}
		if (rounds_whole(r)) {
			rounds_close(r);
			closed++;
		}
	}
	for (size_t k = 0; k < replicas; k++)	/* of rounds still open */
		chosen -= rounds_chosen(r, k) != 0;
	rounds_free(r);
	return closed == 50 && chosen >= 50 * replicas &&
		chosen <= 51 * replicas;
}

/* ---- replicas that may be added up ---- */

static uint64_t place_of[8];		/* of each worker */

static uint64_t
find_worker_place(const void *self, const void *w)
{
	(void)self;
	return place_of[(const char *)w - worker];
}

/* Returns the levels of the first attempts of four workers, each at its own
   replica, as digits of one number. */
static unsigned
levels(struct rounds *r, uint64_t step)
{
	unsigned all = 0;

	for (int k = 0; k < 4; k++) {
		if (!rounds_lease(r, W(k), true, true, true, &a) ||
		    a.step != step)
			return 9999;
		all = all * 10 + rounds_level(r, &a, W(k));
	}
	return all;
}

static struct rounds *
begin_grouped(void)
{
	struct rounds *r = rounds_new(4, 0);

	for (size_t k = 0; k < 4; k++)
		rounds_own(r, k, W(k));
	rounds_open(r, 10);
	rounds_group(r, find_worker_place, NULL);
	return r;
}

static void
nodes(void)
{
	struct rounds *r;

	for (size_t k = 0; k < 4; k++)
		place_of[k] = 1;
	r = begin_grouped();
	equals(levels(r, 10), 2222);
	named(rounds_sure(r), "a round of first attempts alone is certain");
	rounds_lose(r, W(1));
	ok(gives(r, 3, 10, 1, 2));
	equals(rounds_level(r, &a, W(3)), 0);
	ok(done(r, 3, a, -1));
	for (int k = 0; k < 4; k += 1 + (k == 0))
		ok(done(r, k, try(10, (uint64_t)k, 1), -1));
	named(rounds_whole(r) && !rounds_sure(r),
	      "a round with two attempts of one node is in question");
	rounds_open(r, 11);
	named_equals(rounds_turn(r), 10, "a round in question keeps the turn");
	rounds_settle(r);
	named_equals(rounds_turn(r), 11,
		     "the next round has the turn when the servers have "
		     "answered");
	rounds_reopen(r, 0);
	rounds_reopen(r, 2);
	named(!rounds_whole(r) && !rounds_check(r) && gives(r, 0, 10, 0, 2) &&
	      gives(r, 2, 10, 2, 2),
	      "replicas that servers lack are leased once more");
	ok(done(r, 0, try(10, 0, 2), -1) && done(r, 2, try(10, 2, 2), -1) &&
	   rounds_whole(r) && rounds_chosen(r, 0) == 2 &&
	   rounds_chosen(r, 3) == 1);
	rounds_close(r);
	rounds_group(r, find_worker_place, NULL);
	named(gives(r, 3, 11, 1, 1) && rounds_level(r, &a, W(3)) == 0,
	      "a worker with two replicas pushes both without a sum");
	rounds_free(r);

	place_of[3] = 2;
	r = begin_grouped();
	equals(levels(r, 10), 1100);
	rounds_free(r);
	place_of[2] = 0;
	place_of[3] = 0;
	r = begin_grouped();
	equals(levels(r, 10), 1100);
	named(rounds_sure(r), "a round without second attempts is certain");
	rounds_free(r);

	place_of[2] = place_of[3] = 1;
	r = rounds_new(4, 0);
	for (size_t k = 0; k < 4; k++)
		rounds_own(r, k, W(k));
	rounds_open(r, 10);
	rounds_skip(r, 3);
	rounds_group(r, find_worker_place, NULL);
	ok(gives(r, 0, 10, 0, 1) && rounds_level(r, &a, W(0)) == 1);
	named(gives(r, 2, 10, 2, 1) && rounds_level(r, &a, W(2)) == 0,
	      "a replica beside one without work is pushed without a sum");
	rounds_free(r);
}

/* Is the attempt of worker n pushed in this way, with the residual of this
   attempt? */
static bool
pushes(struct rounds *r, int n, struct attempt at, enum push_how how,
       uint64_t step, uint64_t number)
{
	struct residual residual;
	enum push_how is;

	rounds_push(r, W(n), &at, &is, &residual);
	return rounds_decided(r, at.step) && is == how &&
		residual.step == step && residual.attempt == number;
}

static void
held(void)
{
	struct rounds *r = begin(1, 0);

	rounds_keep_residuals(r);
	ok(gives(r, 1, 10, 0, 1) && !rounds_wait_for_holders(r, W(2)));
	rounds_decide(r, false);
	ok(pushes(r, 1, try(10, 0, 1), PUSH_CODED, 0, 0) &&
	   done(r, 1, try(10, 0, 1), -1));
	rounds_settle(r);
	rounds_close(r);
	ok(nothing(r, 2));
	ok(rounds_wait_for_holders(r, W(2)));
	named(!rounds_wait_for_holders(r, W(1)),
	      "the holder of the residual does not wait for itself");
	rounds_lose(r, W(1));
	rounds_lose_residuals(r, W(1));
	named(!rounds_wait_for_holders(r, W(2)) && gives(r, 2, 11, 0, 1),
	      "the replica is free when the worker with its residual is lost");
	rounds_free(r);
}

static void
residuals(void)
{
	struct rounds *r = begin(2, 1);

	rounds_keep_residuals(r);
	ok(gives(r, 1, 10, 0, 1) && gives(r, 2, 10, 1, 1));
	named(rounds_undecided(r) && rounds_next(r) == 11 &&
	      !rounds_decided(r, 10) && rounds_decided(r, 9),
	      "the kind of push is not decided when the replica is leased");
	rounds_decide(r, false);
	ok(!rounds_undecided(r) && !rounds_decided(r, 11) &&
	   pushes(r, 1, try(10, 0, 1), PUSH_CODED, 0, 0));
	ok(done(r, 1, try(10, 0, 1), -1) && gives(r, 3, 10, 1, 2) &&
	   pushes(r, 2, try(10, 1, 1), PUSH_CODED, 0, 0) &&
	   pushes(r, 3, try(10, 1, 2), PUSH_EXACT, 0, 0) &&
	   done(r, 3, try(10, 1, 2), 2));
	rounds_settle(r);
	rounds_close(r);
	rounds_open(r, 12);
	ok(gives(r, 3, 11, 1, 1));
	named(nothing(r, 2),
	      "a replica with a residual goes to its holder alone");
	ok(gives(r, 1, 11, 0, 1) && nothing(r, 2));
	rounds_decide(r, false);
	ok(pushes(r, 3, try(11, 1, 1), PUSH_CODED, 0, 0) &&
	   done(r, 3, try(11, 1, 1), -1));
	named(gives(r, 2, 11, 0, 2) &&
	      pushes(r, 2, try(11, 0, 2), PUSH_EXACT, 0, 0) &&
	      done(r, 2, try(11, 0, 2), 1), "a backup pushes without a codec");
	named(pushes(r, 1, try(11, 0, 1), PUSH_CODED, 10, 1),
	      "a worker whose attempt comes too late keeps its residual");
	rounds_settle(r);
	rounds_close(r);
	rounds_open(r, 13);
	rounds_skip(r, 1);
	ok(gives(r, 1, 12, 0, 1) && gives(r, 3, 12, 1, 1));
	rounds_decide(r, false);
	named(pushes(r, 1, try(12, 0, 1), PUSH_CODED, 10, 1) &&
	      pushes(r, 3, try(12, 1, 1), PUSH_FLUSH, 11, 1),
	      "the holder keeps its residual, and flushes it before a round "
	      "without work for it");
	ok(done(r, 1, try(12, 0, 1), -1) && done(r, 3, try(12, 1, 1), -1));
	rounds_lose(r, W(1));
	ok(rounds_lose_residuals(r, W(1)) == 1);
	rounds_settle(r);
	named_equals(rounds_residuals_lost(r), 2,
		     "the residuals of lost workers are counted as lost");
	rounds_close(r);
	ok(gives(r, 2, 13, 0, 1));
	rounds_decide(r, true);
	ok(pushes(r, 2, try(13, 0, 1), PUSH_FLUSH, 0, 0) &&
	   gives(r, 3, 13, 0, 2) &&
	   pushes(r, 3, try(13, 0, 2), PUSH_EXACT, 0, 0) &&
	   done(r, 2, try(13, 0, 1), 3));
	rounds_settle(r);
	ok(rounds_drop_residuals(r, WIRE_NONE) == 0 && !rounds_check(r));
	rounds_free(r);
}

int
main(void)
{
	bool good = true;

	nodes();

	replicas_and_owners();
	losses();
	empty_replicas();
	backups();
	residuals();
	held();
	sums();
	for (uint64_t seed = 1; seed <= 200; seed++)
		good = chaos(seed) && good;
	named(good, "every round ends, whichever workers are lost");
	return tap_done();
}
