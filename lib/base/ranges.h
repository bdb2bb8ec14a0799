/*
 * ranges - a set of numbers that come mostly in a row.
 */
#ifndef PS_RANGES_H
#define PS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* first .. end - 1; in order, with gaps between them; { 0 } is empty. */
struct ranges {
	struct range {
		uint64_t first, end;
	} *range;
	size_t count, room;
};

void ranges_release(struct ranges *);
void ranges_add(struct ranges *, uint64_t first, uint64_t count);
void ranges_remove(struct ranges *, uint64_t first, uint64_t count);
bool ranges_has(const struct ranges *, uint64_t number);
uint64_t ranges_total(const struct ranges *);	/* how many numbers */

#endif
