/* Every sorted set of rows is the same when it is written and read again, also
   several pieces in a row; bytes that no writer writes are refused. */
#include "wire/keys.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define ROWS	4000

static uint64_t set[ROWS];

/* Draws each row of the piece with some probability: sorted and unique. */
static size_t
random_set(struct rng *rng, uint64_t first, uint64_t rows)
{
	const uint64_t one_of = 1 + rng_below(rng, 40);
	size_t count = 0;

	for (uint64_t i = 0; i < rows; i++)
		if (rng_below(rng, one_of) == 0)
			set[count++] = first + i;
	return count;
}

static bool
goes_round(struct rng *rng, uint64_t **rows, size_t *room)
{
	const uint64_t first = rng_next(rng) >> (1 + rng_below(rng, 63));
	const uint64_t piece = 1 + rng_below(rng, ROWS);
	const size_t count = random_set(rng, first, piece);
	struct pack p = { 0 };
	bool same = true;

	keys_write(&p, set, count, first);
	keys_write(&p, set, count, first);	/* a second piece */

	struct unpack u = unpack_from(p.data, p.size);

	for (int k = 0; k < 2; k++) {
		same = same && keys_read(&u, first, first + piece - 1, rows,
					room) == count;
		for (size_t i = 0; i < count && same; i++)
			same = (*rows)[i] == set[i];
	}
	same = same && unpack_ok(&u);
	pack_release(&p);
	return same;
}

/* Writes rows with gaps of so many bits, up to the last possible row. */
static bool
far_apart(struct rng *rng, unsigned bits, uint64_t **rows, size_t *room)
{
	const uint64_t first = rng_next(rng) >> 1 >> (bits / 2);
	struct pack p = { 0 };
	uint64_t next = first;
	size_t count = 0, most = 300;
	struct unpack u;
	bool good;

	for (; count < most; next = set[count++] + 1) {
		const uint64_t gap = bits ? rng_next(rng) >> (64 - bits) : 0;

		if (gap >= UINT64_MAX - next)
			break;
		set[count] = next + gap;
	}
	if (count < most)
		set[count++] = UINT64_MAX;
	keys_write(&p, set, count, first);
	u = unpack_from(p.data, p.size);
	good = keys_read(&u, first, set[count - 1], rows, room) == count &&
		unpack_ok(&u) && memcmp(*rows, set, count * sizeof(*set)) == 0;
	u = unpack_from(p.data, p.size);
	good = good && keys_read(&u, first, set[count - 1] - 1, rows,
				 room) == 0 && u.bad;
	pack_release(&p);
	return good;
}

/* Are damaged bytes refused, or read as sorted rows that are written as the
   same bytes? */
static bool
sound(struct rng *rng, uint64_t **rows, size_t *room)
{
	const uint64_t piece = 1 + rng_below(rng, 300);
	const size_t count = random_set(rng, 0, piece);
	struct pack p = { 0 }, again = { 0 };
	bool good = true;

	keys_write(&p, set, count, 0);
	for (size_t i = 0; i < p.size; i++) {
		unsigned char *copy = mem_copy(p.data, p.size);
		struct unpack u = unpack_from(copy, i);

		keys_read(&u, 0, piece - 1, rows, room);
		good = good && !unpack_ok(&u);
		copy[i] = (unsigned char)rng_next(rng);
		u = unpack_from(copy, p.size);

		const size_t n = keys_read(&u, 0, piece - 1, rows, room);

		pack_reset(&again);
		keys_write(&again, *rows, n, 0);
		if (unpack_ok(&u))
			good = good && again.size == p.size &&
				memcmp(again.data, copy, p.size) == 0;
		free(copy);
	}
	pack_release(&p);
	pack_release(&again);
	return good;
}

static bool
refused(const char *data, size_t size, uint64_t piece)
{
	struct unpack u = unpack_from(data, size);
	uint64_t *rows = NULL;
	size_t room = 0;
	const size_t count = keys_read(&u, 0, piece - 1, &rows, &room);

	free(rows);
	return count == 0 && u.bad;
}

#define REFUSED(text, piece)	refused(text, sizeof(text) - 1, piece)

int
main(void)
{
	struct rng rng = { .seed = 3 };
	uint64_t *rows = NULL;
	size_t room = 0;
	bool round = true, good = true, far_good = true;

	for (int i = 0; i < 200; i++) {
		round = round && goes_round(&rng, &rows, &room);
		good = good && sound(&rng, &rows, &room);
	}
	for (unsigned bits = 0; bits <= 64; bits++)
		far_good = far_good && far_apart(&rng, bits, &rows, &room);
	named(far_good,
	      "gaps of any size are kept, and no row is beyond the last");
	named(round, "any sorted set of rows is read back as it was written");
	named(good, "damaged keys are refused, or are other valid keys");
	ok(room <= ROWS);

	ok(REFUSED("", 5));			/* not even a count */
	ok(REFUSED("\x01", 5));			/* a row is missing */
	ok(REFUSED("\x01\x03", 5));		/* the same */
	ok(REFUSED("\x01\x03\x05", 5));	/* beyond the piece */
	ok(REFUSED("\x02\x03\x04", 5));	/* the second one is */
	ok(REFUSED("\x06\x00", 5));		/* more rows than there are */
	ok(REFUSED("\x81\x00\x00", 5));		/* not the shortest form */
	ok(REFUSED("\x01\x03\x03", 5));	/* in more bits than it needs */
	ok(REFUSED("\x01\x02\x07", 5));	/* not zeros behind the last */
	ok(REFUSED("\x01\x41\0\0\0\0\0\0\0\x80\x01", UINT64_MAX));
	ok(REFUSED("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 5));
	ok(REFUSED("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", UINT64_MAX));
	ok(!REFUSED("\x02\x00", 2));
	ok(!REFUSED("\x02\x01\x02", 3));

	struct pack p = { 0 };
	static const uint64_t far[] = { 0, UINT64_MAX };
	struct unpack u;

	keys_write(&p, far, 2, 0);
	u = unpack_from(p.data, p.size);
	ok(keys_read(&u, 0, UINT64_MAX, &rows, &room) == 2 &&
	   rows[1] == UINT64_MAX && unpack_ok(&u));
	u = unpack_from(p.data, p.size);
	ok(keys_read(&u, 0, UINT64_MAX - 1, &rows, &room) == 0 && u.bad);

	/* Any number of consecutive rows takes a byte for each block. */
	for (size_t i = 0; i < ROWS; i++)
		set[i] = 70000 + i;
	pack_reset(&p);
	keys_write(&p, set, ROWS, 70000);
	ok(p.size == 2 + (ROWS + 127) / 128);
	pack_release(&p);
	free(rows);
	return tap_done();
}
