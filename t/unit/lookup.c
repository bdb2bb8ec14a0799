/* Words become the ids that Keras's StringLookup gives them. */
#include "model/lookup.h"

#include "base/hash.h"

#include "tap.h"

#include <string.h>

static char list[][8] = { "avenger", "ironman", "", "batman" };
static char *words[] = { list[0], list[1], list[2], list[3] };
static struct fail f;

static uint64_t
find(const struct lookup *l, const char *word)
{
	return lookup_find(l, word, strlen(word));
}

static bool
spells(const struct lookup *l, uint64_t id, const char *word)
{
	const char *found = lookup_word(l, id);

	return found && strcmp(found, word) == 0;
}

static void
test_plain(void)
{
	struct lookup *l = lookup_vocabulary(words, 4, 0, NULL, &f);

	equals(lookup_rows(l), 4);
	ok(find(l, "avenger") == 0 && find(l, "") == 2 &&
	   find(l, "batman") == 3);
	equals(find(l, "hulk"), LOOKUP_UNKNOWN);
	equals(lookup_find(l, "batmanx", 6), 3);
	equals(lookup_find(l, "batman", 5), LOOKUP_UNKNOWN);
	ok(spells(l, 0, "avenger") && spells(l, 3, "batman") &&
	   !lookup_word(l, 4) && !lookup_word(l, UINT64_MAX));
	lookup_free(l);
}

static void
test_unknown_and_mask(void)
{
	struct lookup *l = lookup_vocabulary(words, 4, 1, NULL, &f);

	ok(lookup_rows(l) == 5 && find(l, "hulk") == 0 &&
	   find(l, "avenger") == 1 && find(l, "batman") == 4);
	ok(!lookup_word(l, 0) && spells(l, 1, "avenger"));
	lookup_free(l);

	l = lookup_vocabulary(words, 4, 3, "[PAD]", &f);
	ok(lookup_rows(l) == 8 && find(l, "[PAD]") == 0);
	ok(find(l, "avenger") == 4 && find(l, "batman") == 7);
	ok(find(l, "hulk") == 1 + hash64("hulk", 4) % 3);
	ok(spells(l, 0, "[PAD]") && !lookup_word(l, 3) &&
	   spells(l, 4, "avenger") && !lookup_word(l, 8));
	lookup_free(l);
}

static void
test_refused(void)
{
	char a[] = "a", b[] = "b";
	char *twice[] = { a, b, a };

	ok(!lookup_vocabulary(twice, 3, 0, NULL, &f) &&
	   f.kind == FAIL_CONFIG &&
	   strcmp(f.text, "'a' stands twice in the vocabulary") == 0);
	ok(!lookup_vocabulary(words, 4, 1, "batman", &f));
}

/* There are so many words that many collide in the table. */
static void
test_many(void)
{
	static char text[5000][8];
	char *many[5000];
	size_t right = 0;

	for (size_t i = 0; i < 5000; i++) {
		snprintf(text[i], sizeof(text[i]), "w%zu", i);
		many[i] = text[i];
	}

	struct lookup *l = lookup_vocabulary(many, 5000, 1, NULL, &f);

	for (size_t i = 0; i < 5000; i++)
		right += find(l, many[i]) == i + 1 &&
			 spells(l, i + 1, many[i]);
	equals(right, 5000);
	lookup_free(l);
}

static void
test_hashing(void)
{
	struct lookup *l = lookup_hashing(10);

	ok(lookup_rows(l) == 10 &&
	   find(l, "hulk") == hash64("hulk", 4) % 10);
	ok(!lookup_word(l, 3));
	lookup_free(l);
}

int
main(void)
{
	test_plain();
	test_unknown_and_mask();
	test_refused();
	test_many();
	test_hashing();
	return tap_done();
}
