/*
 * ranges - a set of numbers that are mostly consecutive.
 */
#ifndef PS_RANGES_H
#define PS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range has the numbers first to end - 1.  Ranges are sorted and have a gap
   between any two; { 0 } is an empty set. */
struct ranges {
	struct range {
		uint64_t first, end;
	} *range;
	size_t count, room;
};

void ranges_release(struct ranges *);
/* Add, or remove, count numbers from first on; some may be there, or not. */
void ranges_add(struct ranges *, uint64_t first, uint64_t count);
void ranges_remove(struct ranges *, uint64_t first, uint64_t count);
bool ranges_has(const struct ranges *, uint64_t number);
uint64_t ranges_total(const struct ranges *);	/* count of the numbers */

#endif
