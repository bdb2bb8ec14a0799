/* Names are found as a search of all of them would find them. */
#include "base/names.h"

#include "base/rng.h"
#include "base/text.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY	5000

static void
test_numbers(void)
{
	struct names n = { 0 };
	char name[24];
	size_t wrong = 0;

	equals(names_get(&n, "a", 1), NAMES_NONE);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "n%zu", i % (MANY / 2));
		names_put(&n, name, strlen(name), i);
	}
	for (size_t i = 0; i < MANY / 2; i++) {
		snprintf(name, sizeof(name), "n%zu", i);
		wrong += names_get(&n, name, strlen(name)) != MANY / 2 + i;
	}
	ok(wrong == 0 && n.count == MANY / 2);
	ok(names_get(&n, "n", 1) == NAMES_NONE &&
	   names_get(&n, "", 0) == NAMES_NONE);
	names_put(&n, "a\0b", 3, 7);
	names_put(&n, "", 0, 8);
	ok(names_get(&n, "a\0b", 3) == 7 && names_get(&n, "a\0c", 3) ==
	   NAMES_NONE && names_get(&n, "", 0) == 8);
	names_release(&n);
}

/* Does a search find the same names as a comparison with each name? */
static bool
same(struct names_sorted *s, const char *text, bool pattern)
{
	size_t count, n = 0;
	const size_t *found = names_match(s, text, pattern, &count);
	bool good = true;

	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(text, s->name[i]) != 0 &&
		    !(pattern && text_match(text, s->name[i])))
			continue;
		good = good && n < count && found[n] == i;
		n++;
	}
	if (!good || n != count)
		printf("# '%s': %zu instead of %zu\n", text, count, n);
	return good && n == count;
}

static void
test_patterns(void)
{
	static const char letters[] = "abcab.*[]?\\-\xc3";
	static const char *const fixed[] = {
		"", "*", "a*", "*a", "a[bc]", "[", "a\\*", "?", "\\", "a*b*c",
	};
	struct rng rng = { .seed = 1 };
	char *name[300], pattern[8];
	struct names_sorted s;
	size_t wrong = 0;

	for (size_t i = 0; i < 300; i++) {
		const size_t size = (size_t)rng_below(&rng, 5);

		name[i] = calloc(6, 1);
		for (size_t k = 0; name[i] && k < size; k++)
			name[i][k] = letters[rng_below(&rng,
						       sizeof(letters) - 1)];
	}
	names_sort(&s, (const char *const *)name, 300);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		wrong += !same(&s, fixed[i], true) +
			!same(&s, fixed[i], false);
	for (size_t i = 0; i < 3000; i++) {
		const size_t size = (size_t)rng_below(&rng, 7);

		memset(pattern, 0, sizeof(pattern));
		for (size_t k = 0; k < size; k++)
			pattern[k] = letters[rng_below(&rng,
						       sizeof(letters) - 1)];
		wrong += !same(&s, pattern, i % 3 > 0);
	}
	equals(wrong, 0);
	names_sorted_release(&s);
	for (size_t i = 0; i < 300; i++)
		free(name[i]);

	names_sort(&s, NULL, 0);
	ok(same(&s, "*", true));
	names_sorted_release(&s);
}

static size_t
place(const char *name, const char *const *sorted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(sorted[i], name) == 0)
			return i;
	return count;
}

static void
test_order(void)
{
	/* As names_order() has them; no two are equal. */
	static const char *const sorted[] = {
		"", "\x01", "-1", "-2", "/", "0", "00", "001", "01", "1", "1.2",
		"1.10", "2", "02a1", "2a1", "2a2", "02b", "9", "10",
		"18446744073709551615", "18446744073709551616",
		"0018446744073709551617", "100000000000000000000000000", ":",
		"F2", "f", "f-", "f0", "f00", "f1", "f1-1", "f1-2", "f1-10",
		"f1a", "f02", "f2", "f9", "f09x", "f10", "f:", "fa", "\xc3\xa4",
	};
	static const size_t count = sizeof(sorted) / sizeof(*sorted);
	struct rng rng = { .seed = 1 };
	const char *name[sizeof(sorted) / sizeof(*sorted)];
	size_t number[sizeof(sorted) / sizeof(*sorted)], wrong = 0;

	for (size_t times = 0; times < 100; times++) {
		for (size_t i = 0; i < count; i++) {
			const size_t k = (size_t)rng_below(&rng, i + 1);

			name[i] = name[k];
			name[k] = sorted[i];
			number[i] = i;
		}
		names_order(name, number, count);
		for (size_t i = 0; i < count; i++)
			wrong += place(name[number[i]], sorted, count) != i;
	}
	equals(wrong, 0);

	/* Equal names are sorted by their numbers; a part of a list, too. */
	const char *const same[] = { "b", "a", "b", "a", "b" };
	size_t some[] = { 4, 2, 3, 1 };

	names_order(same, some, 4);
	ok(some[0] == 1 && some[1] == 3 && some[2] == 2 && some[3] == 4);
	names_order(same, some, 0);
}

int
main(void)
{
	test_numbers();
	test_patterns();
	test_order();
	return tap_done();
}
