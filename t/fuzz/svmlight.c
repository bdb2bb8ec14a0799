/* Records of svmlight. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	fuzz_reader("svmlight", data, size);
	return 0;
}
