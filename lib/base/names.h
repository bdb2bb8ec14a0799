/*
 * names - numbers by name, and names by pattern, without a look at each.
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
	struct names_entry *entry;	/* in the order of their coming */
	size_t count, room;
	size_t *slot, slots;		/* entry + 1, or 0; open addressing */
};

void names_release(struct names *);

/* A name, copied, of any bytes; its number takes the place of an earlier. */
void names_put(struct names *, const char *name, size_t size, size_t number);

/* Or NAMES_NONE. */
size_t names_get(const struct names *, const char *name, size_t size);

/*
 * Many names in their order; several may be the same.  They are borrowed, and
 * their numbers are their places in the list.
 */
struct names_sorted {
	const char *const *name;
	size_t *order, count;
	size_t *found, room;
};

void names_sort(struct names_sorted *, const char *const *name, size_t count);
void names_sorted_release(struct names_sorted *);

/*
 * Those that are the text, or fit it if it is a shell pattern: their numbers,
 * ascending, good until the next call.  Which are looked at is told by what
 * stands before the first character that is special to patterns.
 */
const size_t *names_match(struct names_sorted *, const char *text,
			  bool pattern, size_t *count);

#endif
