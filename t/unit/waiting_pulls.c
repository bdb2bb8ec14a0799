/* Pulls that wait: the last one of each peer and part is kept, and no byte
   more. */
#include "server/waiting_pulls.h"

#include "tap.h"

static struct waiting_pulls waiting_pulls;

static void
park(uint64_t peer, uint64_t part, size_t bytes)
{
	static const char keys[64];
	struct message m = { .kind = MESSAGE_PULL, .frames = 1 };

	m.pull.part = part;
	m.pull.after = 1;
	m.frame[0] = (struct frame){ keys, bytes, NULL };
	waiting_pulls_add(&waiting_pulls, peer, false, &m, 0);
}

static bool
is_here(void *self, uint64_t peer)
{
	(void)self;
	return peer != 2;
}

int
main(void)
{
	struct waiting_pulls taken;

	park(1, 0, 10);
	park(2, 0, 20);
	park(1, 1, 30);
	ok(waiting_pulls.count == 3 && waiting_pulls.bytes == 60);
	park(1, 0, 5);
	named(waiting_pulls.count == 3 && waiting_pulls.bytes == 55,
	      "the one before is given up");
	named(!waiting_pulls_check(&waiting_pulls, 0),
	      "none has reason to be answered");
	waiting_pulls_forget_leavers(&waiting_pulls, is_here, NULL);
	named(waiting_pulls.count == 2 && waiting_pulls.bytes == 35 &&
	      waiting_pulls_at(&waiting_pulls, 1)->pull.pull.part == 1 &&
	      !waiting_pulls_at(&waiting_pulls, 2), "one is forgotten");
	taken = waiting_pulls_take(&waiting_pulls);
	ok(taken.count == 2 && waiting_pulls.count == 0 &&
	   waiting_pulls.bytes == 0);
	waiting_pulls_release(&taken);
	ok(taken.count == 0 && taken.bytes == 0);
	return tap_done();
}
