/* Records out of npz arrays. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("npz", data, size);
	return 0;
}
