#include "base/window.h"

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

uint64_t
window_end(const struct window *w, uint64_t mark)
{
	uint64_t end = mark + WINDOW;

	if (!w->bits)
		return mark;
	while (end > mark && !window_has(w, end - 1)) {
		const uint64_t at = (end - 1) % WINDOW;

		/* A word without steps is passed over as a whole. */
		if (w->bits[at / 64] == 0 && at % 64 == 63 && end - mark >= 64)
			end -= 64;
		else
			end--;
	}
	return end;
}

void
window_keep(struct window *w, const struct window *of)
{
	for (size_t i = 0; w->bits && i < WORDS; i++)
		w->bits[i] &= of->bits ? of->bits[i] : 0;
}

void
window_join(struct window *w, const struct window *of)
{
	if (!of->bits)
		return;
	if (!w->bits)
		w->bits = mem_alloc(WORDS, sizeof(*w->bits));
	for (size_t i = 0; i < WORDS; i++)
		w->bits[i] |= of->bits[i];
}

size_t
window_write(const struct window *w, uint64_t mark,
	     unsigned char bytes[WINDOW_BYTES])
{
	size_t size = 0;

	if (!w->bits)
		return 0;
	memset(bytes, 0, WINDOW_BYTES);
	for (size_t i = 0; i < WINDOW; i++)
		if (window_has(w, mark + i)) {
			bytes[i / 8] |= (unsigned char)(1 << i % 8);
			size = i / 8 + 1;
		}
	return size;
}

void
window_read(struct window *w, uint64_t mark, const unsigned char *bytes,
	    size_t size)
{
	for (size_t i = 0; i / 8 < size && i < WINDOW; i++)
		if (bytes[i / 8] >> i % 8 & 1)
			window_add(w, mark + i);
}
