/*
 * names - a map from names to numbers, a sorted list of names in which a
 * pattern is looked up without a comparison with each name, and an order of
 * names with numbers in them.
 *
 * A zeroed struct is an empty one.
 */
#ifndef PS_NAMES_H
#define PS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define NAMES_NONE	((size_t)-1)

struct names_entry;

struct names {
	struct names_entry *entry;	/* in the order in which they came */
	size_t count, room;
	size_t *slot, slots;		/* a hash table with open addressing:
					   number of an entry + 1, or 0 */
};

void names_release(struct names *);

/* Set the number of a name, which is copied and may have any bytes. */
void names_put(struct names *, const char *name, size_t size, size_t number);

/* Return the number of a name, or NAMES_NONE. */
size_t names_get(const struct names *, const char *name, size_t size);

/*
 * A list of names, which is borrowed, with its alphabetical order.  The number
 * of a name is its place in the list; a name may be there more than once.
 */
struct names_sorted {
	const char *const *name;
	size_t *order, count;
	size_t *found, room;
};

/* Sort a list of names. */
void names_sort(struct names_sorted *, const char *const *name, size_t count);
void names_sorted_release(struct names_sorted *);

/*
 * Find the names that equal a text; if pattern, also those that match it as a
 * shell pattern.  Return *count numbers of names, ascending, good until the
 * next call.  Only names with the same beginning, up to the first special
 * character of the pattern, are compared.
 */
const size_t *names_match(struct names_sorted *, const char *text,
			  bool pattern, size_t *count);

/*
 * Sort count numbers of names in a list by the names: bytes are compared, but
 * digits that stand together as one number, so f2 is before f10.  Names that
 * are equal so, as f02 and f2, are sorted by their bytes, equal names by their
 * numbers.
 */
void names_order(const char *const *name, size_t *number, size_t count);

#endif
