/*
 * curve - the key that the members of a cluster share.
 *
 * With it connections are encrypted, and whoever does not have it is neither
 * heard nor spoken to: CURVE of ZeroMQ (its RFC 26), one pair of keys for all
 * members, made of one secret; who dials is admitted by ZAP (RFC 27), in the
 * thread of who listens.
 *
 * The file has 40 characters of base64 or Z85, and nobody but its owner may
 * read it:
 *
 *	(umask 077; head -c 30 /dev/urandom | base64 >key)
 */
#ifndef PS_CURVE_H
#define PS_CURVE_H

#include "base/fail.h"

#include <stdbool.h>

#define CURVE_TEXT	41	/* a key in Z85, ended by a 0 */

struct curve {
	char secret[CURVE_TEXT], public[CURVE_TEXT];
};

/* FAIL_NOINPUT, FAIL_DATA; FAIL_DENIED: others can read the file. */
int curve_read(struct curve *, const char *path, struct fail *);

/* A key like no other, as a stranger has it. */
int curve_make(struct curve *, struct fail *);

/* What this socket of ZeroMQ listens for is to have our key. */
void curve_guard(const struct curve *, void *socket);

/* What it dials has the public key, and is shown ours. */
void curve_show(const struct curve *ours, const char *public, void *socket);

/* The socket that is asked who may come in, of those who dial the context. */
void *curve_door(void *context, struct fail *);

/* Answer one who asks there.  False: nobody does. */
bool curve_answer(const struct curve *, void *door);

#endif
