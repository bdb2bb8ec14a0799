/*
 * host - looks up the IPv4 addresses of hosts that endpoints name.
 */
#ifndef PS_HOST_H
#define PS_HOST_H

#include "base/fail.h"

#include <netinet/in.h>
#include <stdint.h>

/*
 * Write the IPv4 address of a tcp endpoint's host, which may be a name or such
 * an address already.  Return 0, or -1 (FAIL_PEER).
 */
int host_find(const char *endpoint, char number[INET_ADDRSTRLEN],
	      struct fail *);

/*
 * Wait, before a program listens, until the name in its endpoint is an address
 * of this machine.  In a cluster the name of a new machine may not be in DNS
 * yet, or may still be that of an older machine.  Return 0; or -1 (FAIL_PEER)
 * with what is wrong, after ms milliseconds or when stop_fd is readable.  A
 * warning says what is waited for.  An endpoint without a name is good at once.
 */
int host_await(const char *endpoint, uint64_t ms, int stop_fd, struct fail *);

#endif
