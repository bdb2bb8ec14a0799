/*
 * codec_topk - the largest numbers of each block, wherever they are in it.
 *
 * The codec's argument is the share of a block's numbers that is sent.  Which
 * numbers these are depends on the block alone.  A threshold taken from a
 * sample of the variable would depend on how the variable is cut.
 */
#include "wire/codec_blocks.h"

#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

#define BLOCK		((size_t)1024)
#define PLACE_BITS	10
#define PLACES		((uint32_t)BLOCK - 1)	/* the bits of a place */
#define NUMBER		sizeof(uint16_t)
#define MOST_SHARE	0.5	/* of a larger share bfloat16 is smaller */

static uint64_t
keep(double share)
{
	const double count = rint(share * (double)BLOCK);

	return count >= 1 && share <= MOST_SHARE ? (uint64_t)count : 0;
}

/* The bytes of an encoded run: the count of its numbers, the numbers
   (bfloat16), and their places in the block, in ascending order. */
static size_t
bytes_of(size_t count)
{
	return NUMBER + count * NUMBER + (count * PLACE_BITS + 7) / 8;
}

static size_t
run_size(struct codec_slice s, size_t count)
{
	return bytes_of(s.keep < count ? s.keep : count);
}

static size_t
count_of(const char *from)
{
	uint16_t count;

	memcpy(&count, from, sizeof(count));
	return count;
}

/* A place begins at an even bit, and so lies in two bytes. */
static uint32_t
place_at(const char *places, size_t i)
{
	const size_t bit = i * PLACE_BITS;
	const unsigned char *at = (const unsigned char *)places + bit / 8;

	return ((uint32_t)at[0] | (uint32_t)at[1] << 8) >> bit % 8 & PLACES;
}

static void
put_place(char *places, size_t i, uint32_t place)
{
	const size_t bit = i * PLACE_BITS;
	unsigned char *at = (unsigned char *)places + bit / 8;
	const uint32_t shifted = place << bit % 8;

	at[0] |= (unsigned char)shifted;
	at[1] |= (unsigned char)(shifted >> 8);
}

/* The places of the numbers that are sent, rising.  Returns how many. */
static size_t
select(const float *block, size_t count, uint64_t most, uint16_t *place)
{
	const uint32_t least = kernel_rank(block, count, most);
	size_t n = 0;
	/* Of equally large numbers the first ones are sent. */
	size_t room = most - kernel_count_reaching(block, count, least + 1);

	for (size_t i = 0; i < count; i++) {
		const uint32_t size = kernel_magnitude(block[i]);

		if (size < least || (size == least && room == 0))
			continue;
		room -= size == least;
		place[n++] = (uint16_t)i;
	}
	return n;
}

static char *
encode_run(char *to, const float *from, struct codec_slice s,
	   struct codec_run r)
{
	uint16_t place[BLOCK], number, n = 0;
	size_t count;
	const float *whole = codec_whole_block(from, s, BLOCK, r, &count);
	const size_t all = select(whole, count, s.keep, place);
	size_t first = 0;
	char *places;

	while (first < all && place[first] < r.inside)
		first++;
	while (first + n < all && place[first + n] < r.inside + r.count)
		n++;
	memcpy(to, &n, sizeof(n));
	places = to + NUMBER + n * NUMBER;
	memset(places, 0, bytes_of(n) - NUMBER - n * NUMBER);
	for (size_t i = 0; i < n; i++) {
		kernel_to_bfloat16(&number, &whole[place[first + i]], 1);
		memcpy(to + NUMBER + i * NUMBER, &number, NUMBER);
		put_place(places, i, place[first + i]);
	}
	return to + bytes_of(n);
}

/* Places that do not rise, or are not in the run, are malformed. */
static size_t
run_length(const char *from, size_t left, struct codec_run r)
{
	const size_t count = left < NUMBER ? SIZE_MAX : count_of(from);
	uint32_t least = (uint32_t)r.inside;
	const char *places;

	if (count > r.count || bytes_of(count) > left)
		return 0;
	places = from + NUMBER + count * NUMBER;
	for (size_t i = 0; i < count; i++) {
		const uint32_t place = place_at(places, i);

		if (place < least || place >= r.inside + r.count)
			return 0;
		least = place + 1;
	}
	return bytes_of(count);
}

static void
add_run(float *to, const char *from, struct codec_run r)
{
	const size_t count = count_of(from);
	const char *numbers = from + NUMBER;
	const char *places = numbers + count * NUMBER;

	for (size_t i = 0; i < count; i++) {
		float x;

		kernel_from_bfloat16(&x, numbers + i * NUMBER, 1);
		to[place_at(places, i) - r.inside] += x;
	}
}

static bool
is_run_finite(const char *from)
{
	return kernel_finite_bfloat16(from + NUMBER, count_of(from));
}

static const struct codec_sparse blocks = {
	BLOCK, run_size, encode_run, run_length, add_run, is_run_finite
};

const struct codec codec_topk = {
	.name = "topk",
	.most = 0x1.fefffep127f,	/* as bfloat16 */
	.block = BLOCK,
	.keep = keep,
	.sparse = &blocks,
};
