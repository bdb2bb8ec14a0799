/*
 * endpoint - checks addresses as users write them: tcp://HOST:PORT or
 * ipc://PATH.
 *
 * The text is checked here because ZeroMQ is too forgiving: it takes port 99999
 * for 34463, and ":80abc" for port 80.
 */
#ifndef PS_ENDPOINT_H
#define PS_ENDPOINT_H

#include "base/fail.h"

#include <stdbool.h>

/* A path longer than this has no room in a socket's address. */
#define ENDPOINT_PATH	107

/* To bind, the port may be * or 0 (any free port), and the host may be *. */
enum endpoint_use { ENDPOINT_BIND, ENDPOINT_CONNECT };

/* Return 0, or -1 (FAIL_USAGE) with a message that quotes the endpoint. */
int endpoint_check(const char *, enum endpoint_use, struct fail *);

/* Is a checked endpoint out of reach for other machines? */
bool endpoint_loopback(const char *);

/* Does a text, checked or not, stand for all addresses of a machine, so that
   nobody can connect to it? */
bool endpoint_wildcard(const char *);

#endif
