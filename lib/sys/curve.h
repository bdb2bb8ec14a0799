/*
 * curve - encrypts connections with a key that all members of a cluster share.
 *
 * A program without the key can neither send to a member nor receive from one.
 * This is CURVE of ZeroMQ (its RFC 26), with one pair of keys for all members,
 * made of one secret.  A listener admits callers by ZAP (RFC 27), in its own
 * thread.
 *
 * The file has 40 characters of base64 or Z85, and only its owner may read it:
 *
 *	(umask 077; head -c 30 /dev/urandom | base64 >key)
 */
#ifndef PS_CURVE_H
#define PS_CURVE_H

#include "base/fail.h"

#include <stdbool.h>

#define CURVE_TEXT	41	/* bytes: a key in Z85, and a NUL */

struct curve {
	char secret[CURVE_TEXT], public[CURVE_TEXT];
};

/*
 * Read the key of a file.  Return 0, or -1: FAIL_NOINPUT or FAIL_IO (the file
 * cannot be read), FAIL_DATA (it has no key), FAIL_DENIED (others may read or
 * write it), FAIL_CONFIG (libzmq was built without encryption).
 */
int curve_read(struct curve *, const char *path, struct fail *);

/* Make a new random key, such as a stranger would have.  Return 0 or -1. */
int curve_make(struct curve *, struct fail *);

/* Make a ZeroMQ socket accept only callers with our key; before it binds. */
void curve_guard(const struct curve *, void *socket);

/* Make a ZeroMQ socket use our key, and talk only to a listener with this
   public key; before it connects. */
void curve_use(const struct curve *ours, const char *public, void *socket);

/*
 * Open the socket (ZAP's handler) on which libzmq asks, for each connection to
 * this context, if the caller is admitted.  The caller closes it.
 */
void *curve_open_zap(void *context, struct fail *);

/* Answer one of these questions; false: there is none. */
bool curve_answer_zap(const struct curve *, void *zap);

#endif
