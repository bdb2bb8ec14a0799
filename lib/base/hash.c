#include "base/hash.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

/* If the library has it: the same hash, by the processor's widest vectors. */
#ifdef HAVE_XXH3_128BITS_UPDATE_DISPATCH
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define update	XXH3_128bits_update_dispatch
#else
#define update	XXH3_128bits_update
#endif

struct hash {
	XXH3_state_t *state;
};

uint64_t
hash64(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

uint64_t
hash_chain(uint64_t before, const void *bytes, size_t size)
{
	return hash_mix(before + 1) ^ hash64(bytes, size);
}

/* The factors are the inverses of those of hash_mix(), modulo 2^64. */
uint64_t
hash_unmix(uint64_t z)
{
	z = (z ^ z >> 31 ^ z >> 62) * 0x319642b2d24d8ec3u;
	z = (z ^ z >> 27 ^ z >> 54) * 0x96de1b173f119089u;
	return z ^ z >> 30 ^ z >> 60;
}

struct hash *
hash_new(void)
{
	struct hash *h = mem_alloc(1, sizeof(*h));

	h->state = XXH3_createState();
	if (!h->state)
		abort();
	hash_reset(h);
	return h;
}

void
hash_free(struct hash *h)
{
	if (!h)
		return;
	XXH3_freeState(h->state);
	free(h);
}

void
hash_reset(struct hash *h)
{
	XXH3_128bits_reset(h->state);
}

void
hash_add(struct hash *h, const void *bytes, size_t size)
{
	update(h->state, bytes, size);
}

void
hash_text(const struct hash *h, char text[HASH_TEXT])
{
	XXH128_hash_t sum = XXH3_128bits_digest(h->state);

	snprintf(text, HASH_TEXT, "%016llx%016llx",
		 (unsigned long long)sum.high64,
		 (unsigned long long)sum.low64);
}
