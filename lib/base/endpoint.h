/*
 * endpoint - addresses as they are written: tcp://HOST:PORT or ipc://PATH.
 *
 * Checked here, as text, because the transport is too forgiving: it takes
 * port 99999 for 34463, and ":80abc" for port 80.
 */
#ifndef PS_ENDPOINT_H
#define PS_ENDPOINT_H

#include "base/fail.h"

#include <stdbool.h>

/* A path longer than this has no room in a socket's address. */
#define ENDPOINT_PATH	107

/* To bind, the port may be * or 0 (any free one) and the host *. */
enum endpoint_use { ENDPOINT_BIND, ENDPOINT_CONNECT };

/* 0, or -1 with FAIL_USAGE and a line that quotes the endpoint. */
int endpoint_check(const char *, enum endpoint_use, struct fail *);

/* Is it out of reach for other machines?  Of one that was checked. */
bool endpoint_loopback(const char *);

/* Does it stand for all addresses of a machine, so that none is to be called?
   Of any text. */
bool endpoint_wildcard(const char *);

#endif
