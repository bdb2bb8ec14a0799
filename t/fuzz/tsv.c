/* Records of tsv. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("tsv", data, size);
	return 0;
}
