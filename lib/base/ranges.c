#include "base/ranges.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void
ranges_release(struct ranges *r)
{
	free(r->range);
	*r = (struct ranges){ 0 };
}

/* Return the place of the first range whose end is the number or above it. */
static size_t
find(const struct ranges *r, uint64_t number)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->range[middle].end < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
drop(struct ranges *r, size_t at, size_t count)
{
	memmove(r->range + at, r->range + at + count,
		(r->count - at - count) * sizeof(*r->range));
	r->count -= count;
}

static void
insert(struct ranges *r, size_t at, uint64_t first, uint64_t end)
{
	r->range = mem_grow(r->range, r->count, &r->room, sizeof(*r->range));
	memmove(r->range + at + 1, r->range + at,
		(r->count - at) * sizeof(*r->range));
	r->range[at] = (struct range){ first, end };
	r->count++;
}

void
ranges_add(struct ranges *r, uint64_t first, uint64_t count)
{
	const size_t at = find(r, first);
	uint64_t end = first + count;
	size_t last = at;

	if (count == 0)
		return;
	/* Merge the ranges that overlap the new one or are next to it. */
	while (last < r->count && r->range[last].first <= end) {
		if (r->range[last].first < first)
			first = r->range[last].first;
		if (r->range[last].end > end)
			end = r->range[last].end;
		last++;
	}
	if (last == at) {
		insert(r, at, first, end);
		return;
	}
	r->range[at] = (struct range){ first, end };
	drop(r, at + 1, last - at - 1);
}

void
ranges_remove(struct ranges *r, uint64_t first, uint64_t count)
{
	const uint64_t end = first + count;
	size_t at = find(r, first + 1);

	while (count > 0 && at < r->count && r->range[at].first < end) {
		const struct range had = r->range[at];

		drop(r, at, 1);
		if (had.first < first)
			insert(r, at++, had.first, first);
		if (had.end > end)
			insert(r, at++, end, had.end);
	}
}

bool
ranges_has(const struct ranges *r, uint64_t number)
{
	const size_t at = find(r, number + 1);

	return at < r->count && r->range[at].first <= number;
}

uint64_t
ranges_total(const struct ranges *r)
{
	uint64_t total = 0;

	for (size_t i = 0; i < r->count; i++)
		total += r->range[i].end - r->range[i].first;
	return total;
}
