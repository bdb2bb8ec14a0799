/* Records of csv. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("csv", data, size);
	return 0;
}
