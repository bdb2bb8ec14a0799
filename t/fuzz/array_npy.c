/* Records out of npy arrays. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("npy", data, size);
	return 0;
}
