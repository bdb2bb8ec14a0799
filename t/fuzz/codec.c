/*
 * A slice that a codec accepts is decoded within its bounds, and adding it to
 * zeros gives the decoded numbers.  The first bytes say which codec it is,
 * where in its variable the slice begins, and how long it is.
 */
#include "wire/codec.h"

#include "fuzz.h"

#include <string.h>

#define HEAD	4
#define MOST	4095	/* numbers of a slice */

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct codec_slice s = { .width = 1, .difference = true,
				 .pulled = true, .keep = 512 };
	const struct codec *codec;
	float *to, *sum;
	size_t length;

	if (size < HEAD)
		return 0;
	codec = codec_find(data[0] % CODECS);
	s.first = data[1] * 8;
	s.rows = ((size_t)data[2] << 8 | data[3]) % (MOST + 1);
	s.of = s.first + s.rows;
	if (!codec_length(codec, data + HEAD, size - HEAD, s, &length))
		return 0;
	FUZZ_CHECK(length <= size - HEAD);
	to = malloc((s.rows + 1) * sizeof(*to));
	sum = calloc(s.rows + 1, sizeof(*sum));
	if (!to || !sum)
		abort();
	FUZZ_CHECK(codec_decode(codec, to, data + HEAD, s) == length);
	FUZZ_CHECK(codec_add(codec, sum, data + HEAD, s) == length);
	if (codec_finite(codec, data + HEAD, s))
		for (size_t i = 0; i < s.rows; i++)
			FUZZ_CHECK(!(to[i] < sum[i]) && !(to[i] > sum[i]));
	free(to);
	free(sum);
	return 0;
}
