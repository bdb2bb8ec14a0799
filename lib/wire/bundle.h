/*
 * bundle - several messages of a relay to a server, in one frame.
 *
 * Each is five numbers of 32 bits, little-endian: the bytes of its header, how
 * many frames it has, and the bytes of each of at most three; then the header
 * and the frames.  Empty frames of keys at the front are left out, as in any
 * message.
 */
#ifndef PS_BUNDLE_H
#define PS_BUNDLE_H

#include "wire/message.h"

#define BUNDLE_FRAMES	3

/* Append a PULL, PUSH or PUSHPULL. */
void bundle_add(struct pack *, const struct message *);

/* How many bytes that takes, at most. */
size_t bundle_size(const struct message *);

/* What is left of a bundle that is read. */
struct bundle {
	const unsigned char *at;
	size_t left;
};

/*
 * The next message, which points into the bundle: 1; 0: there is no more; -1:
 * what is left is none (FAIL_PROTOCOL).
 */
int bundle_next(struct bundle *, struct message *, struct fail *);

#endif
