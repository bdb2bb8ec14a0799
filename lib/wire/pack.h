/*
 * pack - the part of MessagePack that headers use.
 *
 * Arrays, unsigned integers and byte strings ("bin"); see ps-wire(7).
 *
 * Writing uses msgpack-c and cannot fail: the buffer grows.  Reading a peer's
 * bytes is our own code, without any allocation; it takes only the shortest
 * form of each number.  An error is sticky: after the first misfit every read
 * returns zero, so a decoder reads straight down and asks unpack_ok() once, at
 * the end.  A blob is a view of the bytes that are read.
 */
#ifndef PS_PACK_H
#define PS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
	unsigned char *data;
	size_t size, room;
};

void pack_release(struct pack *);
void pack_reset(struct pack *);		/* empty it, keep the room */

void pack_array(struct pack *, size_t count);
void pack_uint(struct pack *, uint64_t);
void pack_blob(struct pack *, const void *, size_t size);
void pack_append(struct pack *, const struct pack *);	/* its bytes,
							   unchanged */
void pack_text(struct pack *, const char *);	/* as a blob, without NUL */

struct unpack {
	const unsigned char *next, *end;
	bool bad;
};

struct unpack unpack_from(const void *, size_t size);
bool unpack_ok(const struct unpack *);	/* all was read, and nothing bad */
size_t unpack_left(const struct unpack *);	/* bytes */

/* Read the next item: the count of an array, a number, or a blob, which points
   into the bytes that are read. */
uint32_t unpack_array(struct unpack *);
uint64_t unpack_uint(struct unpack *);
const void *unpack_blob(struct unpack *, size_t *size);
/* Read a blob as text, with a NUL; cut to what there is room for. */
void unpack_text(struct unpack *, char *text, size_t room);

/* Read a number below the limit; the limit itself or more is a misfit. */
uint64_t unpack_below(struct unpack *, uint64_t limit);

#endif
