/*
 * A window remembers exactly the steps that were added and not forgotten.
 */
#include "base/window.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>

#define STEPS	((size_t)4 * WINDOW)

/* Does a window agree with a list of all steps, for any steps and
   watermarks? */
static bool
agrees(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	struct window w = { 0 };
	unsigned char *has = mem_alloc(STEPS, 1);
	uint64_t mark = rng_below(&rng, WINDOW);
	bool good = true;

	while (mark + WINDOW <= STEPS && good) {
		for (int i = 0; i < 200; i++) {
			const uint64_t step = mark + rng_below(&rng, WINDOW);

			window_add(&w, step);
			has[step] = 1;
		}
		for (int i = 0; i < 2000; i++) {
			const uint64_t step = mark + rng_below(&rng, WINDOW);

			good = good && window_has(&w, step) == has[step];
		}
		const uint64_t to = mark + rng_below(&rng, rng_below(&rng, 2) ?
						     200 : WINDOW / 2);

		window_forget(&w, mark, to);
		mark = to;
	}
	for (uint64_t s = mark; s < mark + WINDOW && s < STEPS; s++)
		good = good && window_has(&w, s) == has[s];
	window_release(&w);
	free(has);
	return good;
}

int
main(void)
{
	struct window w = { 0 };
	bool good = true;

	ok(!window_has(&w, 0));
	window_forget(&w, 0, 5);
	ok(!w.bits);
	window_add(&w, 3);
	window_add(&w, 3 + WINDOW - 1);
	ok(window_has(&w, 3) && window_has(&w, 2 + WINDOW) &&
	   !window_has(&w, 4));
	window_forget(&w, 3, 4);
	ok(!window_has(&w, 3) && window_has(&w, 2 + WINDOW));
	window_forget(&w, 4, 4 + WINDOW);
	ok(!window_has(&w, 2 + WINDOW));
	window_add(&w, 9);
	window_forget(&w, 0, UINT64_MAX);
	ok(!window_has(&w, 9));
	window_release(&w);
	ok(!window_has(&w, 9));
	for (uint64_t seed = 0; seed < 20; seed++)
		good = good && agrees(seed);
	named(good,
	      "the window equals a plain set under any steps and watermarks");
	return tap_done();
}
