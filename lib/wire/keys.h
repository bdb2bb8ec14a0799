/*
 * keys - the rows of tables that a push or pull is about, packed.
 *
 * For each table piece of the part, in order: how many rows, as a LEB128
 * number (seven bits a byte, low bits first, the high bit says that more
 * follow; shortest form).  Then the first row, counted from the piece's first
 * one, and the gaps between neighbours less one, in blocks of KEYS_BLOCK and
 * what is left: a byte that says in how many bits, the fewest that do for the
 * block, and behind it the numbers in so many bits each, low bits first, up
 * to a whole byte.  So rows are sorted and unique by construction, and
 * neighbouring ones take no room; dense pieces have no keys.
 */
#ifndef PS_KEYS_H
#define PS_KEYS_H

#include "wire/pack.h"

#define KEYS_BLOCK	128
#define KEYS_MOST	((uint64_t)1 << 24)	/* rows of a message's piece:
						   floats of a frame */

/* Append count sorted unique rows, each at or over first. */
void keys_write(struct pack *, const uint64_t *rows, size_t count,
		uint64_t first);

/*
 * How many rows are said to come next, before memory is taken for them.  It may
 * not be so: keys_read() finds out.
 */
uint64_t keys_count(struct unpack);

/*
 * Read the keys of one piece whose rows are first to last; at most KEYS_MOST
 * of them.  *rows grows by *room as it must.  A misfit leaves u bad and
 * returns 0.
 */
size_t keys_read(struct unpack *u, uint64_t first, uint64_t last,
		 uint64_t **rows, size_t *room);

#endif
