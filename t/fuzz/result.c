/* Results that are read are written back the same, and can be added up. */
#include "wire/result.h"

#include "fuzz.h"

#include <string.h>

#define METRICS	3

static void
read_scores(const uint8_t *data, size_t size)
{
	const size_t cut = size / 5 * 4;
	struct message m = { .kind = MESSAGE_DONE, .frames = 3 };
	const unsigned char *positive;
	const void *scores;
	size_t count;
	struct fail f;

	m.frame[1] = (struct frame){ data, cut, NULL };
	m.frame[2] = (struct frame){ data + cut, size - cut, NULL };
	if (result_scores(&m, &scores, &positive, &count, &f) == 0)
		FUZZ_CHECK(count <= cut);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct unpack u = unpack_from(data, size);
	struct pack pack = { 0 };
	struct result r;

	while (unpack_left(&u) > 0) {
		const unsigned char *from = u.next;

		if (!result_read(&u, &r, METRICS))
			break;
		pack_reset(&pack);
		result_write(&pack, &r);
		FUZZ_CHECK(pack.size == (size_t)(u.next - from));
		FUZZ_CHECK(memcmp(pack.data, from, pack.size) == 0);
	}
	pack_release(&pack);
	read_scores(data, size);
	return 0;
}
