#include "wire/keys.h"

#include "base/mem.h"

static void
put_number(struct pack *p, uint64_t number)
{
	unsigned char *to = p->data + p->size;
	size_t n = 0;

	for (; number >= 0x80; number >>= 7)
		to[n++] = (unsigned char)(number | 0x80);
	to[n++] = (unsigned char)number;
	p->size += n;
}

#define NUMBER_MAX	10	/* bytes of 64 bits by sevens */

static void
reserve(struct pack *p, size_t n)
{
	if (p->room - p->size >= n)
		return;
	p->room = 2 * p->room + n;
	p->data = mem_resize(p->data, p->room, 1);
}

void
keys_write(struct pack *p, const uint64_t *rows, size_t count, uint64_t first)
{
	uint64_t next = first;

	reserve(p, (count + 1) * NUMBER_MAX);
	put_number(p, count);
	for (size_t i = 0; i < count; i++) {
		put_number(p, rows[i] - next);
		next = rows[i] + 1;
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

size_t
keys_read(struct unpack *u, uint64_t piece_rows, uint64_t **rows,
	  size_t *room)
{
	const uint64_t count = u->bad ? 0 : take_number(u);
	uint64_t next = 0;

	/* A key takes a byte at least: what is left bounds the memory. */
	if (u->bad || count > piece_rows || count > unpack_left(u)) {
		u->bad = true;
		return 0;
	}
	if (count > *room) {
		*room = count;
		*rows = mem_resize(*rows, count, sizeof(**rows));
	}
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t gap = take_number(u);

		if (u->bad || gap >= piece_rows - next) {
			u->bad = true;
			return 0;
		}
		(*rows)[i] = next + gap;
		next += gap + 1;
	}
	return count;
}
