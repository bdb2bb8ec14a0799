/*
 * keys - the rows of tables that a push or pull is about, packed.
 *
 * For each table piece of the part, in order: how many rows, then the first
 * row and the gaps between neighbours less one, all counted from the piece's
 * first row, as LEB128 numbers (seven bits a byte, low bits first, the high
 * bit says that more follow; shortest form).  Sorted and unique by
 * construction; dense pieces have no keys.
 */
#ifndef PS_KEYS_H
#define PS_KEYS_H

#include "wire/pack.h"

/* Append count sorted unique rows, each at or over first. */
void keys_write(struct pack *, const uint64_t *rows, size_t count,
		uint64_t first);

/*
 * Read the keys of one piece of so many rows.  *rows grows by *room as it
 * must, up to piece_rows; rows count from 0.  A misfit leaves u bad and
 * returns 0.
 */
size_t keys_read(struct unpack *u, uint64_t piece_rows, uint64_t **rows,
		 size_t *room);

#endif
