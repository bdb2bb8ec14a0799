#include "wire/codec.h"

#include <assert.h>

#define ADDRESS(name)	&codec_##name,
static const struct codec *const table[] = { CODEC_TABLE(ADDRESS) };

const struct codec *
codec_find(uint64_t number)
{
	return number < CODECS ? table[number] : NULL;
}

uint64_t
codec_number(const struct codec *codec)
{
	uint64_t number = 0;

	while (table[number] != codec) {
		number++;
		assert(number < CODECS);
	}
	return number;
}
