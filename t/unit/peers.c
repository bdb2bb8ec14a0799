/*
 * The map of peers, against a list, under any order of calls: removal is
 * where open addressing goes wrong.
 */
#include "base/peers.h"

#include "base/rng.h"

#include "tap.h"

#include <stdbool.h>

#define PEERS	300

static char item[2 * PEERS];

static bool
agrees(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	struct peers p = { 0 };
	char *has[PEERS] = { NULL };
	size_t count = 0;
	bool good = true;

	for (int i = 0; i < 5000 && good; i++) {
		const uint64_t k = rng_below(&rng, PEERS);
		char *what = &item[rng_below(&rng, sizeof(item))];

		if (rng_below(&rng, 2)) {
			count += !has[k];
			has[k] = what;
			peers_set(&p, k << 32 | 7, what);
		} else {
			count -= has[k] != NULL;
			has[k] = NULL;
			peers_remove(&p, k << 32 | 7);
		}
		good = p.count == count;
		for (uint64_t j = 0; j < PEERS && i % 50 == 0; j++)
			good = good && peers_find(&p, j << 32 | 7) == has[j];
	}
	peers_release(&p);
	return good;
}

int
main(void)
{
	struct peers p = { 0 };
	bool good = true;

	ok(!peers_find(&p, 1));
	peers_remove(&p, 1);
	peers_set(&p, 0, item);
	ok(peers_find(&p, 0) == item && p.count == 1);
	peers_remove(&p, 0);
	ok(!peers_find(&p, 0) && p.count == 0);
	peers_release(&p);
	for (uint64_t seed = 0; seed < 20; seed++)
		good = good && agrees(seed);
	named(good, "the map equals a list under any order of calls");
	return tap_done();
}
