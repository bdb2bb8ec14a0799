/*
 * window - a bounded set of steps: those from a low watermark (the mark) to
 * mark + WINDOW - 1.
 *
 * The owner keeps the mark.  Steps below the mark are settled and forgotten.
 */
#ifndef PS_WINDOW_H
#define PS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW	((uint64_t)1 << 16)

struct window {
	uint64_t *bits;		/* WINDOW bits, a ring: step S has bit
				   S % WINDOW; NULL: the set is empty */
};

void window_release(struct window *);

/* Is a step in the set?  Add a step.  It must be one of the window. */
bool window_has(const struct window *, uint64_t step);
void window_add(struct window *, uint64_t step);

/* The mark moves up to a step: forget the steps from the old mark on, and below
   the new one. */
void window_forget(struct window *, uint64_t from, uint64_t to);

/* Return the step after the last one in the set; the mark if it is empty. */
uint64_t window_end(const struct window *, uint64_t mark);

/* Make the first set the intersection of both sets, or their union. */
void window_keep(struct window *, const struct window *);
void window_join(struct window *, const struct window *);

/*
 * Write the set as bits: step mark + i is bit i % 8 of byte i / 8.  Return the
 * number of bytes, at most WINDOW_BYTES; zero bytes at the end are left out.
 */
#define WINDOW_BYTES	(WINDOW / 8)
size_t window_write(const struct window *, uint64_t mark,
		    unsigned char bytes[WINDOW_BYTES]);

/* Add the steps of bits that window_write() wrote; bytes after WINDOW_BYTES are
   ignored. */
void window_read(struct window *, uint64_t mark, const unsigned char *bytes,
		 size_t size);

#endif
