#include "wire/keys.h"

#include "base/mem.h"

#include <string.h>

#define NUMBER_MAX	10	/* bytes of 64 bits by sevens */
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

/* The numbers of a block, of so many bits each, and where they end. */
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

void
keys_write(struct pack *p, const uint64_t *rows, size_t count, uint64_t first)
{
	uint64_t gap[KEYS_BLOCK];

	put_number(p, count);
	for (size_t done = 0, some; done < count; done += some) {
		unsigned char *to;
		uint64_t any = 0;

		some = count - done < KEYS_BLOCK ? count - done : KEYS_BLOCK;
		for (size_t i = 0; i < some; i++) {
			gap[i] = rows[done + i] - first;
			first = rows[done + i] + 1;
			any |= gap[i];
		}
		reserve(p, BLOCK_MAX + sizeof(uint64_t));
		to = p->data + p->size;
		*to = (unsigned char)bits_of(any);
		to = put_bits(to + 1, gap, some, *to);
		p->size = (size_t)(to - p->data);
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

/*
 * The inverse of put_bits(); two words more than the numbers can be read.
 * Returns all of them, or'ed: it says how many bits were needed.
 */
static uint64_t
get_bits(uint64_t *number, const unsigned char *from, size_t count,
	 unsigned bits)
{
	const uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 :
		UINT64_MAX;
	uint64_t any = 0;

	for (size_t i = 0, at = 0; i < count; i++, at += bits) {
		const unsigned shift = at & 7;
		uint64_t word, more;

		memcpy(&word, from + (at >> 3), sizeof(word));
		word >>= shift;
		if (shift + bits > 64) {
			memcpy(&more, from + (at >> 3) + 8, sizeof(more));
			word |= more << (64 - shift);
		}
		number[i] = word & mask;
		any |= number[i];
	}
	return any;
}

static bool
get_block(struct unpack *u, uint64_t *gap, size_t count)
{
	unsigned char padded[BLOCK_MAX + 2 * sizeof(uint64_t)];
	const unsigned char *from = u->next + 1;
	const unsigned bits = unpack_left(u) > 0 ? *u->next : 65;
	const size_t bytes = (count * bits + 7) / 8;
	const unsigned tail = (unsigned)(count * bits & 7);

	if (bits > 64 || bytes > unpack_left(u) - 1)
		return false;
	u->next = from + bytes;
	if (unpack_left(u) < 2 * sizeof(uint64_t)) {
		memcpy(padded, from, bytes);
		memset(padded + bytes, 0, 2 * sizeof(uint64_t));
		from = padded;
	}
	/* As few bits as do, and zeros behind the last. */
	return bits_of(get_bits(gap, from, count, bits)) == bits &&
		(tail == 0 || from[bytes - 1] >> tail == 0);
}

size_t
keys_read(struct unpack *u, uint64_t last, uint64_t **rows, size_t *room)
{
	const uint64_t count = u->bad ? 0 : take_number(u);
	uint64_t next = 0, gap[KEYS_BLOCK];

	/* What is taken is bounded by what is there, and by a limit. */
	if (u->bad || count > KEYS_MOST ||
	    (count + KEYS_BLOCK - 1) / KEYS_BLOCK > unpack_left(u) ||
	    (count > 0 && count - 1 > last)) {
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
		bool good = get_block(u, gap, some);

		/* Behind the last row next is 0 again, or too large. */
		for (size_t i = 0; i < some && good; i++) {
			good = next <= last && gap[i] <= last - next &&
				(next > 0 || done + i == 0);
			next += gap[i];
			(*rows)[done + i] = next++;
		}
		if (!good) {
			u->bad = true;
			return 0;
		}
	}
	return count;
}
