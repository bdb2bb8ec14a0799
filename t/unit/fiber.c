/* Functions that wait while their caller continues. */
#include "base/fiber.h"

#include "tap.h"

static bool there[2];
static int done;
static bool given_up;

static bool
is_there(const void *of)
{
	return *(const bool *)of;
}

static void
wait_twice(void *arg)
{
	int *steps = arg;

	for (size_t i = 0; i < 2; i++) {
		given_up = !fiber_wait(is_there, &there[i]);
		++*steps;
	}
	ok(fiber_is_given_up() == given_up);
	done++;
}

/* Runs another fiber, which waits, within this one. */
static void
nested(void *arg)
{
	struct fiber *inner = fiber_new();
	int steps = 0;

	there[0] = there[1] = false;
	ok(!fiber_call(inner, wait_twice, &steps));
	ok(fiber_wait(is_there, arg));
	there[0] = there[1] = true;
	ok(fiber_go_on(inner) && steps == 2);
	fiber_free(inner);
	done++;
}

static void
waits(void)
{
	struct fiber *f = fiber_new();
	int steps = 0;

	there[0] = there[1] = false;
	ok(!fiber_is_busy(f) && !fiber_can_go_on(f));
	named(!fiber_call(f, wait_twice, &steps) && steps == 0 &&
	      fiber_is_busy(f) && !fiber_can_go_on(f),
	      "a function that waits returns to its caller");
	ok(!fiber_go_on(f) && steps == 0);
	there[0] = true;
	named(fiber_can_go_on(f) && !fiber_go_on(f) && steps == 1,
	      "a function continues up to its next wait");
	there[1] = true;
	named(fiber_go_on(f) && steps == 2 && done == 1 && !fiber_is_busy(f),
	      "a function continues to its end");
	named(fiber_call(f, wait_twice, &steps) && done == 2,
	      "a function that need not wait ends within the call");
	fiber_free(f);
}

static void
given_up_while_it_waits(void)
{
	struct fiber *f = fiber_new();
	int steps = 0;

	there[0] = there[1] = false;
	ok(!fiber_call(f, wait_twice, &steps));
	fiber_give_up(f);
	there[0] = true;
	named(fiber_go_on(f) && steps == 2 && given_up,
	      "a function that was given up takes what is there, and waits no "
	      "more");
	there[0] = false;
	ok(!fiber_call(f, wait_twice, &steps));
	fiber_free(f);
	named(steps == 4 && given_up, "a freed function runs to its end");
	fiber_free(NULL);
}

static void
within_another(void)
{
	struct fiber *f = fiber_new();
	bool come = false;

	done = 0;
	ok(!fiber_call(f, nested, &come));
	named(!fiber_is_given_up() && fiber_wait(is_there, &there[1]),
	      "a function outside a fiber does not wait");
	come = true;
	ok(fiber_go_on(f) && done == 2);
	fiber_free(f);
}

int
main(void)
{
	waits();
	given_up_while_it_waits();
	within_another();
	return tap_done();
}
