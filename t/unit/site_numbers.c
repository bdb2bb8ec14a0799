/* The numbers that the workers of sites get: as many whole nodes as
   possible. */
#include "base/rng.h"
#include "coord/site_numbers.h"

#include "tap.h"

#include <stdlib.h>

#define MOST	40

/* Returns the numbers of workers as text.  sites: a character for the site of
   each worker, "." for none. */
static const char *
numbers(const char *sites)
{
	static char text[4 * MOST];
	static char name[MOST][2];
	const char *site[MOST] = { NULL };
	size_t number[MOST], count = strlen(sites);

	*text = '\0';
	for (size_t k = 0; k < count; k++) {
		name[k][0] = sites[k] == '.' ? '\0' : sites[k];
		site[k] = name[k];
	}
	site_numbers(site, count, number);
	for (size_t k = 0; k < count; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%zu", k ? " " : "", number[k]);
	return text;
}

/* Returns the number of largest whole nodes that the leaves of a site form. */
static size_t
nodes(const bool *leaf, size_t leaves)
{
	size_t count = 0, size;

	for (size_t at = 0; at < leaves; at += size) {
		size = 1;
		if (!leaf[at])
			continue;
		count++;
		for (bool all = true; all;) {
			all = at % (2 * size) == 0 && at + 2 * size <= leaves;
			for (size_t k = size; all && k < 2 * size; k++)
				all = leaf[at + k];
			size *= all ? 2 : 1;
		}
	}
	return count;
}

static size_t
bits(size_t n)
{
	return n == 0 ? 0 : n % 2 + bits(n / 2);
}

/* Numbers this many workers of random sites, or of none; returns NULL, or the
   fault of the numbers. */
static const char *
check(struct rng *rng, size_t workers, size_t sites)
{
	static const char name[] = "\0abcdefg";	/* the first: none */
	char text[MOST][2] = { 0 };
	const char *site[MOST] = { NULL };
	size_t number[MOST], of[MOST];
	bool given[MOST] = { false };

	for (size_t k = 0; k < workers; k++) {
		of[k] = rng_below(rng, sites);
		text[k][0] = name[of[k]];
		site[k] = text[k];
	}
	site_numbers(site, workers, number);
	for (size_t k = 0; k < workers; k++) {
		if (number[k] >= workers || given[number[k]])
			return "a number is one worker's";
		given[number[k]] = true;
	}
	for (size_t s = 0; s < sites; s++) {
		bool leaf[MOST] = { false };
		size_t size = 0, next = 0;

		for (size_t k = 0; k < workers; k++) {
			if (of[k] != s)
				continue;
			if (number[k] < next)
				return "workers of a site are in order";
			next = number[k] + 1;
			leaf[number[k]] = true;
			size++;
		}
		if (s > 0 && nodes(leaf, workers) > bits(size))
			return "a site has no more nodes than it must";
	}
	return NULL;
}

int
main(void)
{
	struct rng rng = { .seed = 7 };
	const char *wrong = NULL;

	equals(numbers("aaaa"), "0 1 2 3");
	equals(numbers("...."), "0 1 2 3");
	equals(numbers("abcd"), "0 1 2 3");
	equals(numbers("abab"), "0 2 1 3");
	equals(numbers("bbbaaaaa"), "4 5 6 0 1 2 3 7");
	equals(numbers("aabb."), "0 1 2 3 4");
	equals(numbers(".aab"), "2 0 1 3");
	equals(numbers("aaab"), "0 1 2 3");
	equals(numbers("baa.a"), "2 0 1 4 3");
	equals(numbers(".a.b.a"), "2 0 3 4 5 1");
	for (size_t i = 0; i < 2000 && !wrong; i++)
		wrong = check(&rng, 1 + rng_below(&rng, MOST - 1),
			      1 + rng_below(&rng, 8));
	named(!wrong,
	      wrong ? wrong : "sites have whole nodes, as few as possible");
	return tap_done();
}
