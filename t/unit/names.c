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

int
main(void)
{
	test_numbers();
	test_patterns();
	return tap_done();
}
