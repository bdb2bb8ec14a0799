/*
 * keys - the rows of tables that a push or pull is about, packed.
 *
 * For each table piece of the part, in order:
 * - the number of rows, in LEB128: seven bits a byte, low bits first; the high
 *   bit says that more bytes follow; in the shortest form;
 * - the first row, counted from the piece's first one, and behind it the gaps
 *   between neighbouring rows, less one, in blocks of KEYS_BLOCK numbers; the
 *   last block may be shorter.  A block is a byte that says how many bits each
 *   number has, the fewest that do for the block, and the numbers, low bits
 *   first, padded to a whole byte.
 *
 * So rows are sorted and unique by construction, and a block of neighbouring
 * rows takes one byte.  Dense pieces have no keys.
 */
#ifndef PS_KEYS_H
#define PS_KEYS_H

#include "wire/pack.h"

#define KEYS_BLOCK	128
#define KEYS_MOST	((uint64_t)1 << 24)	/* rows of a piece in a message:
						   as many as a frame has
						   floats */

/* Append count sorted unique rows, each at or over first. */
void keys_write(struct pack *, const uint64_t *rows, size_t count,
		uint64_t first);

/*
 * Returns how many rows the next keys claim to have, before memory is taken for
 * them.  The claim may be false; keys_read() checks it.
 */
uint64_t keys_count(struct unpack);

/*
 * Read the keys of one piece whose rows are first to last; at most KEYS_MOST
 * rows.  *rows, of room *room, is made larger as needed; it stays the caller's.
 * Returns the number of rows; malformed keys set u->bad and return 0.
 */
size_t keys_read(struct unpack *u, uint64_t first, uint64_t last,
		 uint64_t **rows, size_t *room);

#endif
