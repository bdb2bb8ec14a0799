/*
 * bundle - several messages of a relay to a server, in one frame.
 *
 * Each message is five numbers of 32 bits, little-endian (the bytes of its
 * header, how many frames it has, and the bytes of each of at most three
 * frames), then the header and the frames.  Empty frames of keys at the front
 * are left out, as in any message; see message_unsent().
 */
#ifndef PS_BUNDLE_H
#define PS_BUNDLE_H

#include "wire/message.h"

#define BUNDLE_FRAMES	3

/* Append a PULL, PUSH or PUSHPULL to a bundle. */
void bundle_add(struct pack *, const struct message *);

/* Returns the most bytes that bundle_add() of this message appends. */
size_t bundle_size(const struct message *);

/* The rest of a bundle that is being read. */
struct bundle {
	const unsigned char *at;
	size_t left;
};

/*
 * Read the next message, which points into the bundle.  1; 0: there are no
 * more; -1 (FAIL_PROTOCOL): what is left is not a PULL, PUSH or PUSHPULL.
 */
int bundle_next(struct bundle *, struct message *, struct fail *);

#endif
