/* The messages of a bundle lie within it, and are the same when they are
   written and read again. */
#include "wire/bundle.h"

#include "fuzz.h"

#include <string.h>

static void
check(const struct message *m, const uint8_t *data, size_t size)
{
	struct pack again = { 0 };
	struct message read;
	struct bundle b;
	struct fail f;

	FUZZ_CHECK(m->frames <= BUNDLE_FRAMES);
	for (size_t i = 0; i < m->frames; i++) {
		const uint8_t *at = m->frame[i].data;

		FUZZ_CHECK(m->frame[i].size == 0 ||
			   (at >= data && at <= data + size &&
			    m->frame[i].size <= (size_t)(data + size - at)));
	}
	bundle_add(&again, m);
	FUZZ_CHECK(again.size <= bundle_size(m));
	b = (struct bundle){ again.data, again.size };
	FUZZ_CHECK(bundle_next(&b, &read, &f) == 1);
	FUZZ_CHECK(read.kind == m->kind && read.request == m->request &&
		   read.frames == m->frames);
	FUZZ_CHECK(bundle_next(&b, &read, &f) == 0);
	pack_release(&again);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct bundle b = { data, size };
	struct message m;
	struct fail f;

	while (bundle_next(&b, &m, &f) == 1)
		check(&m, data, size);
	return 0;
}
