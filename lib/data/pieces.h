/*
 * pieces - caches of a file of which a reader reads but some places.
 *
 * A piece holds PIECE_RECORDS records, or those up to the end of a split.
 * It is known by a byte, at which a record begins, and by how many records lie
 * between that and its first one: so it is right whoever numbers the records,
 * and however.  Who reads the first record of a piece makes it.
 */
#ifndef PS_PIECES_H
#define PS_PIECES_H

#include "data/cache.h"

#define PIECE_RECORDS	((uint64_t)32768)

struct pieces;

/* A record: so many behind the one that begins at a byte. */
struct piece_place {
	uint64_t origin, inside;
};

/* All is borrowed.  NULL: the file is none that is kept. */
struct pieces *pieces_new(struct cache *, const struct format *,
			  const struct want *, char *const *files);
void pieces_free(struct pieces *);

/*
 * Put the record of that place, and up to most in all of its piece, behind
 * the examples of the batch, for the caller to count.  How many; 0: that one
 * is not kept.
 */
size_t pieces_read(struct pieces *, struct piece_place, struct batch *,
		   size_t most);

/*
 * Where that record is to be read, as it will be kept; NULL: it will not.
 * size: of its piece.
 */
struct batch *pieces_room(struct pieces *, struct piece_place, uint64_t size);

/* Does a piece that is being made go on with that record? */
bool pieces_wants(const struct pieces *, struct piece_place);

/*
 * It was read there: keep it, and put it into the batch if not NULL.  sure:
 * it lies where the piece says; or nothing comes of that.
 */
void pieces_add(struct pieces *, struct batch *, bool sure);

/* Nothing comes of what is being made. */
void pieces_abandon(struct pieces *);

#endif
