/* Keys that are read ascend within their piece, and are written back the
   same.  The first byte says how many rows the piece has. */
#include "wire/keys.h"

#include "fuzz.h"

#include <string.h>

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct pack pack = { 0 };
	struct unpack u;
	uint64_t *rows = NULL, limit;
	size_t room = 0, n;

	if (size < 1)
		return 0;
	limit = data[0] < 64 ? (uint64_t)1 << data[0] : data[0];
	u = unpack_from(data + 1, size - 1);
	n = keys_read(&u, 0, limit - 1, &rows, &room);
	FUZZ_CHECK(n <= room || n == 0);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(rows[i] < limit && (i == 0 ||
			   rows[i - 1] < rows[i]));
	if (!u.bad) {
		keys_write(&pack, rows, n, 0);
		FUZZ_CHECK(pack.size == size - 1 - unpack_left(&u));
		FUZZ_CHECK(memcmp(pack.data, data + 1, pack.size) == 0);
	}
	pack_release(&pack);
	free(rows);
	return 0;
}
