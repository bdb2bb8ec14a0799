/* Pulls that wait: the last of each peer and part, and no byte more. */
#include "server/parked.h"

#include "tap.h"

static struct parked parked;

static void
park(uint64_t peer, uint64_t part, size_t bytes)
{
	static const char keys[64];
	struct message m = { .kind = MESSAGE_PULL, .frames = 1 };

	m.pull.part = part;
	m.pull.after = 1;
	m.frame[0] = (struct frame){ keys, bytes, NULL };
	parked_add(&parked, peer, &m);
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
	struct parked taken;

	park(1, 0, 10);
	park(2, 0, 20);
	park(1, 1, 30);
	ok(parked.count == 3 && parked.bytes == 60);
	park(1, 0, 5);
	named(parked.count == 3 && parked.bytes == 55,
	      "the one before is given up");
	named(!parked_check(&parked, 0), "none has reason to be answered");
	parked_forget_leavers(&parked, is_here, NULL);
	named(parked.count == 2 && parked.bytes == 35 &&
	      parked_at(&parked, 1)->pull.pull.part == 1 &&
	      !parked_at(&parked, 2), "one is forgotten");
	taken = parked_take(&parked);
	ok(taken.count == 2 && parked.count == 0 && parked.bytes == 0);
	parked_release(&taken);
	ok(taken.count == 0 && taken.bytes == 0);
	return tap_done();
}
