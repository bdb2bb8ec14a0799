#include "wire/keys.h"

#include "base/mem.h"
#include "tensor/target_clones.h"

#include <string.h>

#define NUMBER_MAX	10	/* bytes of a number of 64 bits, seven bits a
				   byte */
#define NARROW		56	/* bits; the gaps of a block, of this many bits
				   each, add up to less than 2^64 */
#define BLOCK_MAX	(1 + KEYS_BLOCK * sizeof(uint64_t))

static void
reserve(struct pack *p, size_t n)
{
	if (p->room - p->size >= n)
		return;
	p->room = 2 * p->room + n;
	p->data = mem_resize(p->data, p->room, 1);
}

static void
put_number(struct pack *p, uint64_t number)
{
	reserve(p, NUMBER_MAX);
	for (; number >= 0x80; number >>= 7)
		p->data[p->size++] = (unsigned char)(number | 0x80);
	p->data[p->size++] = (unsigned char)number;
}

static unsigned
bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Write the numbers of a block, of `bits' bits each.  Returns where they
   end. */
static unsigned char *
put_bits(unsigned char *to, const uint64_t *number, size_t count,
	 unsigned bits)
{
	uint64_t word = 0;
	unsigned filled = 0;

	for (size_t i = 0; i < count && bits > 0; i++) {
		word |= number[i] << filled;
		filled += bits;
		if (filled < 64)
			continue;
		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		filled -= 64;
		word = filled > 0 ? number[i] >> (bits - filled) : 0;
	}
	memcpy(to, &word, sizeof(word));
	return to + (filled + 7) / 8;
}

/* The same, for numbers of at most 16 bits, eight at a time: eight numbers end
   at a byte. */
static inline unsigned char *
put_eights(unsigned char *to, const uint64_t *number, size_t count,
	   unsigned bits)
{
	const unsigned half = 4 * bits, odd = half % 8;

	for (size_t i = 0; i < count; i += 8, to += bits) {
		uint64_t low = 0, high = 0;

		for (unsigned j = 0; j < 4; j++) {
			low |= number[i + j] << j * bits;
			high |= number[i + 4 + j] << j * bits;
		}
		high = high << odd | (odd ? low >> (half - odd) : 0);
		memcpy(to, &low, sizeof(low));
		memcpy(to + half / 8, &high, sizeof(high));
	}
	return to;
}

/* Write a block of rows, the first counted from `first'.  Returns where it
   ends. */
static TARGET_CLONES unsigned char *
put_block(unsigned char *to, const uint64_t *restrict row, size_t count,
	  uint64_t first)
{
	uint64_t gap[KEYS_BLOCK], any;

	any = gap[0] = row[0] - first;
	for (size_t i = 1; i < count; i++) {
		gap[i] = row[i] - row[i - 1] - 1;
		any |= gap[i];
	}
	*to = (unsigned char)bits_of(any);
	return *to <= 64 / 4 && count % 8 == 0 ?
		put_eights(to + 1, gap, count, *to) :
		put_bits(to + 1, gap, count, *to);
}

void
keys_write(struct pack *p, const uint64_t *rows, size_t count, uint64_t first)
{
	put_number(p, count);
	for (size_t done = 0, some; done < count; done += some) {
		unsigned char *to;

		some = count - done < KEYS_BLOCK ? count - done : KEYS_BLOCK;
		reserve(p, BLOCK_MAX + sizeof(uint64_t));
		to = put_block(p->data + p->size, rows + done, some, first);
		p->size = (size_t)(to - p->data);
		first = rows[done + some - 1] + 1;
	}
}

static uint64_t
take_number(struct unpack *u)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64 && u->next < u->end; shift += 7) {
		const unsigned char byte = *u->next++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte == 0 && shift > 0) || (shift == 63 && byte > 1))
			break;	/* not the shortest form, or too large */
		return number;
	}
	u->bad = true;
	return 0;
}

/* Read number i, of `bits' bits.  Two words behind the numbers must be
   readable. */
static inline uint64_t
get_bits(const unsigned char *from, size_t i, unsigned bits, uint64_t mask)
{
	const size_t at = i * bits;
	const unsigned shift = at & 7;
	uint64_t word, more;

	memcpy(&word, from + (at >> 3), sizeof(word));
	word >>= shift;
	if (bits > NARROW && shift + bits > 64) {
		memcpy(&more, from + (at >> 3) + 8, sizeof(more));
		word |= more << (64 - shift);
	}
	return word & mask;
}

/*
 * Turn the gaps of a block into rows, from next on; several gaps are taken out
 * of one word.  Returns all gaps or'ed.  Each row is computed from the sum of
 * the gaps before it, which keeps the chain of dependent additions short.  A
 * word behind the gaps must be readable.
 */
static inline uint64_t
add_gaps(uint64_t *row, const unsigned char *from, size_t count,
	 unsigned bits, uint64_t next, size_t each)
{
	const uint64_t mask = ((uint64_t)1 << bits) - 1;
	uint64_t words = 0, any = 0;

	for (size_t i = 0, at = 0; i < count; i += each, at += each * bits) {
		uint64_t word;

		memcpy(&word, from + (at >> 3), sizeof(word));
		word >>= at & 7;
		words |= word;
		for (size_t j = 0; j < each; j++, word >>= bits) {
			next += word & mask;
			row[i + j] = next + i + j;
		}
	}
	for (size_t j = 0; j < each; j++, words >>= bits)
		any |= words & mask;
	return any;
}

/* The same, for gaps of any size, one by one. */
static void
add_each(uint64_t *row, const unsigned char *from, size_t count,
	 unsigned bits, uint64_t next, uint64_t *any)
{
	const uint64_t mask = ((uint64_t)1 << bits) - 1;

	for (size_t i = 0; i < count; i++) {
		const uint64_t gap = get_bits(from, i, bits, mask);

		*any |= gap;
		row[i] = next + gap;
		next = row[i] + 1;
	}
}

/*
 * Read the rows of a block, from next on; *any becomes all gaps or'ed, which
 * tells how many bits were needed.  Gaps of at most NARROW bits cannot
 * overflow, so that it is enough to check the last row.  Where eight gaps begin
 * and end at a byte, one load has all eight of them, or four.
 */
static bool
add_narrow(uint64_t *row, const unsigned char *from, size_t count,
	   unsigned bits, uint64_t next, uint64_t last, uint64_t *any)
{
	const bool eights = count % 8 == 0;

	if (eights && bits <= 64 / 8)
		*any = add_gaps(row, from, count, bits, next, 8);
	else if (eights && bits <= (64 - 4) / 4)
		*any = add_gaps(row, from, count, bits, next, 4);
	else
		add_each(row, from, count, bits, next, any);
	return row[count - 1] - next <= last - next;
}

static bool
add_wide(uint64_t *row, const unsigned char *from, size_t count,
	 unsigned bits, uint64_t next, uint64_t last, uint64_t *any)
{
	const uint64_t mask = UINT64_MAX >> (64 - bits);

	for (size_t i = 0; i < count; i++) {
		const uint64_t gap = get_bits(from, i, bits, mask);

		if (gap > last - next || (i > 0 && row[i - 1] == last))
			return false;
		*any |= gap;
		row[i] = next + gap;
		next = row[i] + 1;
	}
	return true;
}

/* Read a block of rows, each from next to last.  false: it is malformed. */
static bool
get_block(struct unpack *u, uint64_t *row, size_t count, uint64_t next,
	  uint64_t last)
{
	unsigned char padded[BLOCK_MAX + 2 * sizeof(uint64_t)];
	const unsigned char *from = u->next + 1;
	const unsigned bits = unpack_left(u) > 0 ? *u->next : 65;
	const size_t bytes = (count * bits + 7) / 8;
	const unsigned tail = (unsigned)(count * bits & 7);
	uint64_t any = 0;

	if (bits > 64 || bytes > unpack_left(u) - 1)
		return false;
	u->next = from + bytes;
	if (unpack_left(u) < 2 * sizeof(uint64_t)) {
		memcpy(padded, from, bytes);
		memset(padded + bytes, 0, 2 * sizeof(uint64_t));
		from = padded;
	}
	if (!(bits > NARROW ? add_wide : add_narrow)(row, from, count, bits,
						     next, last, &any))
		return false;
	/* The fewest bits that are enough, and zeros as padding. */
	return bits_of(any) == bits &&
		(tail == 0 || from[bytes - 1] >> tail == 0);
}

uint64_t
keys_count(struct unpack u)
{
	return u.bad ? 0 : take_number(&u);
}

size_t
keys_read(struct unpack *u, uint64_t first, uint64_t last, uint64_t **rows,
	  size_t *room)
{
	const uint64_t count = u->bad ? 0 : take_number(u);

	/* Bounds before memory: by the bytes that are there, and by
	   KEYS_MOST. */
	if (u->bad || count > KEYS_MOST ||
	    (count + KEYS_BLOCK - 1) / KEYS_BLOCK > unpack_left(u) ||
	    (count > 0 && count - 1 > last - first)) {
		u->bad = true;
		return 0;
	}
	if (count > *room) {
		*room = count;
		*rows = mem_resize(*rows, count, sizeof(**rows));
	}
	for (uint64_t done = 0; done < count; done += KEYS_BLOCK) {
		const size_t some = count - done < KEYS_BLOCK ?
			(size_t)(count - done) : KEYS_BLOCK;
		uint64_t *row = *rows + done;

		if ((done > 0 && row[-1] == last) ||
		    !get_block(u, row, some, done > 0 ? row[-1] + 1 : first,
			       last)) {
			u->bad = true;
			return 0;
		}
	}
	return count;
}
