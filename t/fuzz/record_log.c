/*
 * A file of records, such as a journal or a log.
 *
 * In every second run the checksums of complete records are corrected first.
 * The records that were replayed lie within the file, in order.
 */
#include "base/hash.h"
#include "store/record_log.h"

#include "fuzz.h"

#include <string.h>

#define LIMIT	((size_t)1 << 16)

struct seen {
	uint64_t end, size;
};

static int
see(void *self, const struct record *r, struct fail *f)
{
	struct seen *seen = self;

	(void)f;
	FUZZ_CHECK(r->offset >= seen->end && r->size <= LIMIT);
	seen->end = r->offset + RECORD_HEAD + r->size;
	FUZZ_CHECK(seen->end <= seen->size);
	return 0;
}

static void
seal(uint8_t *data, size_t size)
{
	uint64_t at = 0, sum;
	uint32_t n;

	while (size - at >= RECORD_HEAD) {
		uint8_t head[32];

		memcpy(&n, data + at, sizeof(n));
		if (n > size - at - RECORD_HEAD)
			return;
		sum = hash64(data + at + RECORD_HEAD, n);
		memcpy(data + at + 16, &sum, sizeof(sum));
		memcpy(head, data + at, 24);
		memcpy(head + 24, &at, sizeof(at));
		sum = hash64(head, sizeof(head));
		memcpy(data + at + 24, &sum, sizeof(sum));
		at += RECORD_HEAD + n;
	}
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct seen seen = { .size = size };
	uint8_t *copy = malloc(size + 1);
	char path[32];
	uint64_t cut;
	struct fail f;

	if (size > 0)
		memcpy(copy, data, size);
	if (size % 2 == 0)
		seal(copy, size);

	const int fd = fuzz_file(copy, size, path);

	if (record_log_replay(path, LIMIT, see, &seen, &cut, &f) == 0)
		FUZZ_CHECK(cut <= size && seen.end <= size - cut);
	close(fd);
	free(copy);
	return 0;
}
