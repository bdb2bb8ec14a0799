/* However much peers say, a log gets no more than a thousand lines at once and
   one a second, and the number of those that were left out. */
#include "base/ration.h"

#include "tap.h"

static uint64_t
take(struct ration *r, uint64_t from, uint64_t count, uint64_t every)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < count; i++)
		taken += ration_take(r, from + i * every);
	return taken;
}

int
main(void)
{
	struct ration r = { 0 };

	equals(take(&r, 5000000, RATION_LINES, 0), RATION_LINES);
	named(ration_left_out(&r, 5000000) == 0, "none was left out");
	equals(take(&r, 5000000, 50, 0), 0);
	named(ration_left_out(&r, 5000000) == 0, "and none may say so yet");
	equals(ration_left_out(&r, 5001000), 50);
	named(!ration_take(&r, 5001000), "that was the second's line");
	equals(ration_left_out(&r, 5002500), 1);
	named(ration_left_out(&r, 5009000) == 0, "it is told once");
	named(take(&r, 5010000, 100000, 10) < 1010, "one a second comes back");
	named(ration_take(&r, 0) == 0, "a clock that goes back adds none");
	equals(take(&r, 900000000, 2000, 0), RATION_LINES);
	return tap_done();
}
