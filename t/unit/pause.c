/* A time in which the program itself did not run does not count as a peer's
   silence. */
#include "base/pause.h"

#include "tap.h"

static void
only_long_ones_count(void)
{
	uint64_t ticked = 0;

	named(pause_since(&ticked, 5000, 500) == 0 && ticked == 5000,
	      "the first call finds no pause");
	named(pause_since(&ticked, 5999, 500) == 0 && ticked == 5999,
	      "less than a second is no pause");
	named_equals(pause_since(&ticked, 6999, 500), 1000,
		     "a second is a pause");
	named(pause_since(&ticked, 11998, 10000) == 0 &&
	      pause_since(&ticked, 16998, 10000) == 5000,
	      "with a long lease only half a lease is a pause");
}

static void
what_lasted_before_counts(void)
{
	named_equals(pause_skip(1000, 9000, 5000), 6000,
		     "silence before the pause counts");
	named_equals(pause_skip(6000, 9000, 5000), 9000,
		     "silence that began within the pause begins anew");
	named_equals(pause_skip(4000, 9000, 5000), 9000,
		     "silence that began with the pause begins anew");
}

int
main(void)
{
	only_long_ones_count();
	what_lasted_before_counts();
	return tap_done();
}
