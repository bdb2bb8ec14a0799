/*
 * window - a set of steps, bounded: those from a mark up to WINDOW beyond it.
 *
 * What became of the steps below the mark is settled and forgotten.
 */
#ifndef PS_WINDOW_H
#define PS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW	((uint64_t)1 << 16)

struct window {
	uint64_t *bits;		/* WINDOW of them, a ring; NULL: empty */
};

void window_release(struct window *);
bool window_has(const struct window *, uint64_t step);
void window_add(struct window *, uint64_t step);

/* The mark moves: forget the steps from .. to - 1. */
void window_forget(struct window *, uint64_t from, uint64_t to);

/* The one behind its last step from a mark on; the mark if it has none. */
uint64_t window_end(const struct window *, uint64_t mark);

/* Keep of the first what the second has, too; add what the second has. */
void window_keep(struct window *, const struct window *);
void window_join(struct window *, const struct window *);

/*
 * Its steps from a mark on as bits, the mark's the lowest of the first byte:
 * how many bytes, at most WINDOW_BYTES.  And back again, as many as fit.
 */
#define WINDOW_BYTES	(WINDOW / 8)
size_t window_write(const struct window *, uint64_t mark,
		    unsigned char bytes[WINDOW_BYTES]);
void window_read(struct window *, uint64_t mark, const unsigned char *bytes,
		 size_t size);

#endif
