/* Samples out of archives. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("tar", data, size);
	return 0;
}
