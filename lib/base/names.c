#include "base/names.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	"0123456789"

struct names_entry {
	char *name;
	size_t size, number;
};

void
names_release(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->entry[i].name);
	free(n->entry);
	free(n->slot);
	*n = (struct names){ 0 };
}

/* Return the slot where a name is, or where it would go. */
static size_t *
find_slot(const struct names *n, const char *name, size_t size)
{
	size_t at = (size_t)hash64(name, size) & (n->slots - 1);

	for (;; at = (at + 1) & (n->slots - 1)) {
		const struct names_entry *e;

		if (n->slot[at] == 0)
			return &n->slot[at];
		e = &n->entry[n->slot[at] - 1];
		if (e->size == size && memcmp(e->name, name, size) == 0)
			return &n->slot[at];
	}
}

/* Double the slots, so that at most half of them are taken. */
static void
grow_slots(struct names *n)
{
	n->slots = n->slots ? 2 * n->slots : 16;
	free(n->slot);
	n->slot = mem_alloc(n->slots, sizeof(*n->slot));
	for (size_t i = 0; i < n->count; i++)
		*find_slot(n, n->entry[i].name, n->entry[i].size) = i + 1;
}

void
names_put(struct names *n, const char *name, size_t size, size_t number)
{
	size_t *slot;

	if (2 * (n->count + 1) > n->slots)
		grow_slots(n);
	slot = find_slot(n, name, size);
	if (*slot > 0) {
		n->entry[*slot - 1].number = number;
		return;
	}
	n->entry = mem_grow(n->entry, n->count, &n->room, sizeof(*n->entry));
	n->entry[n->count] = (struct names_entry){ mem_text_n(name, size),
						   size, number };
	*slot = ++n->count;
}

size_t
names_get(const struct names *n, const char *name, size_t size)
{
	const size_t *slot = n->slots ? find_slot(n, name, size) : NULL;

	return slot && *slot > 0 ? n->entry[*slot - 1].number : NAMES_NONE;
}

/* ---- sorted names ---- */

static int
by_name(const void *left, const void *right, void *list)
{
	const char *const *name = list;
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const int order = strcmp(name[a], name[b]);

	return order != 0 ? order : a < b ? -1 : a > b;
}

void
names_sort(struct names_sorted *s, const char *const *name, size_t count)
{
	*s = (struct names_sorted){ .name = name, .count = count };
	s->order = mem_alloc(count, sizeof(*s->order));
	for (size_t i = 0; i < count; i++)
		s->order[i] = i;
	qsort_r(s->order, count, sizeof(*s->order), by_name,
		(void *)(uintptr_t)name);
}

void
names_sorted_release(struct names_sorted *s)
{
	free(s->order);
	free(s->found);
	*s = (struct names_sorted){ 0 };
}

/* Return the place, in alphabetical order, of the first name that is not below
   the first n characters of the text. */
static size_t
lower_bound(const struct names_sorted *s, const char *text, size_t n)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strncmp(s->name[s->order[middle]], text, n) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
by_number(const void *left, const void *right)
{
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;

	return a < b ? -1 : a > b;
}

const size_t *
names_match(struct names_sorted *s, const char *text, bool pattern,
	    size_t *count)
{
	/* Names that share a beginning stand side by side.  With its NUL, a
	   text that is not a pattern is such a beginning. */
	const size_t plain = pattern ? strcspn(text, "*?[\\") : strlen(text);
	const size_t n = text[plain] ? plain : plain + 1;

	*count = 0;
	for (size_t i = lower_bound(s, text, n); i < s->count &&
	     strncmp(s->name[s->order[i]], text, n) == 0; i++) {
		const char *name = s->name[s->order[i]];

		if (text[plain] && strcmp(name, text) != 0 &&
		    !text_match(text, name))
			continue;
		s->found = mem_grow(s->found, *count, &s->room,
				    sizeof(*s->found));
		s->found[(*count)++] = s->order[i];
	}
	if (*count > 1)
		qsort(s->found, *count, sizeof(*s->found), by_number);
	return s->found;
}

/* ---- names with numbers ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Compare the digits at which two texts begin, of any number, by value; move
   behind them. */
static int
compare_digits(const char **left, const char **right)
{
	const char *a = *left + strspn(*left, "0");
	const char *b = *right + strspn(*right, "0");
	const size_t n = strspn(a, DIGITS), m = strspn(b, DIGITS);

	*left = a + n;
	*right = b + m;
	return n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
}

static int
compare_values(const char *a, const char *b)
{
	int order = 0;

	for (;; a++, b++) {
		if (is_digit(*a) && is_digit(*b))
			order = compare_digits(&a, &b);
		if (order == 0)
			order = (unsigned char)*a - (unsigned char)*b;
		if (order != 0 || *a == '\0')
			return order;
	}
}

static int
by_value(const void *left, const void *right, void *list)
{
	const char *const *name = list;
	const int order = compare_values(name[*(const size_t *)left],
					 name[*(const size_t *)right]);

	return order != 0 ? order : by_name(left, right, list);
}

void
names_order(const char *const *name, size_t *number, size_t count)
{
	if (count > 1)
		qsort_r(number, count, sizeof(*number), by_value,
			(void *)(uintptr_t)name);
}
