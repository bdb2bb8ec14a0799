#include "role/window.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define WORDS	(WINDOW / 64)

void
window_release(struct window *w)
{
	free(w->bits);
	w->bits = NULL;
}

bool
window_has(const struct window *w, uint64_t step)
{
	const uint64_t at = step % WINDOW;

	return w->bits && w->bits[at / 64] >> at % 64 & 1;
}

void
window_add(struct window *w, uint64_t step)
{
	const uint64_t at = step % WINDOW;

	if (!w->bits)
		w->bits = mem_alloc(WORDS, sizeof(*w->bits));
	w->bits[at / 64] |= (uint64_t)1 << at % 64;
}

void
window_forget(struct window *w, uint64_t from, uint64_t to)
{
	if (!w->bits)
		return;
	if (to - from >= WINDOW) {
		memset(w->bits, 0, WORDS * sizeof(*w->bits));
		return;
	}
	while (from < to) {
		const uint64_t at = from % WINDOW;

		if (at % 64 == 0 && to - from >= 64) {
			w->bits[at / 64] = 0;
			from += 64;
		} else {
			w->bits[at / 64] &= ~((uint64_t)1 << at % 64);
			from++;
		}
	}
}
