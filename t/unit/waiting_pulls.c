/* Pulls that wait: the last one of each peer and part is kept, and no byte
   more; those of a round are found without a look at the others. */
#include "server/waiting_pulls.h"

#include "tap.h"

#include <stdlib.h>

static struct waiting_pulls all;

static void
park_for(uint64_t round, uint64_t peer, uint64_t part, uint64_t request,
	 size_t bytes)
{
	static const char keys[64];
	struct message m = { .kind = MESSAGE_PULL, .request = request,
			     .frames = 1 };

	m.pull.part = part;
	m.pull.after = round;
	m.frame[0] = (struct frame){ keys, bytes, NULL };
	waiting_pulls_add(&all, peer, request > 0, &m, 0);
}

static void
park(uint64_t peer, uint64_t part, size_t bytes)
{
	park_for(1, peer, part, 0, bytes);
}

static bool
is_here(void *self, uint64_t peer)
{
	(void)self;
	return peer != 2;
}

/* The bytes of the keys alone. */
static size_t
keys(void)
{
	return all.bytes - all.count * sizeof(struct waiting_pull);
}

/* Takes all pulls that wait for this round or an earlier one, and returns how
   many there were. */
static size_t
take(uint64_t round)
{
	struct waiting_pull *p;
	size_t count = 0;

	while ((p = waiting_pulls_take(&all, round))) {
		count += p->pull.pull.after <= round;
		free(p);
	}
	return count;
}

static void
test_one_of_each(void)
{
	park(1, 0, 10);
	park(2, 0, 20);
	park(1, 1, 30);
	ok(all.count == 3 && keys() == 60);
	park(1, 0, 5);
	named(all.count == 3 && keys() == 55,
	      "a new pull replaces the waiting one of its peer and part");
	named(!waiting_pulls_check(&all, 0),
	      "all waiting pulls have a reason to wait");
	named(waiting_pulls_check(&all, 1),
	      "a pull whose round has ended breaks an invariant");
	waiting_pulls_forget_leavers(&all, is_here, NULL);
	named(all.count == 2 && keys() == 35,
	      "the pull of a peer that has left is removed");
	park_for(2, 1, 1, 0, 7);
	named(all.count == 2 && keys() == 12,
	      "a new pull replaces the waiting one of another round");
	equals(take(1), 1);
	equals(take(2), 1);
	ok(all.count == 0 && all.bytes == 0);
}

static void
test_rounds(void)
{
	const struct waiting_pull *p;

	park_for(2, 1, 0, 1, 0);
	park_for(2 + WAITING_PULLS_LISTS, 1, 0, 2, 0);
	park_for(2, 1, 0, 3, 0);
	park_for(3, 1, 0, 4, 0);
	p = waiting_pulls_first(&all, 2);
	ok(p && p->pull.request == 1);
	p = waiting_pulls_next(p);
	ok(p && p->pull.request == 3 && !waiting_pulls_next(p));
	equals(take(2), 2);
	named_equals(take(UINT64_C(1) << 40), 2,
		     "the end of many rounds answers all their pulls");
	park_for(1, 1, 0, 5, 0);
	named_equals(take(1), 1,
		     "pulls of a first round wait again after all have ended");
}

/* A peer may ask for any rounds of the window: with a look at each of these
   pulls for each of them, or for each round, this takes minutes. */
static void
test_many_of_one(void)
{
	for (uint64_t i = 1; i <= 200000; i++)
		park_for(60000, 1, 0, i, 0);
	equals(all.count, 200000);
	for (uint64_t round = 1; round < 60000; round++) {
		park_for(round, 3, 0, 0, 0);
		if (take(round) != 1)
			break;
	}
	equals(take(59999), 0);
	equals(take(60000), 200000);
}

int
main(void)
{
	test_one_of_each();
	test_rounds();
	test_many_of_one();
	waiting_pulls_release(&all);
	ok(all.count == 0 && all.bytes == 0);
	return tap_done();
}
