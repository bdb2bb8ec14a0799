/*
 * host - the numbers of hosts, which endpoints call by their names.
 */
#ifndef PS_HOST_H
#define PS_HOST_H

#include "base/fail.h"

#include <netinet/in.h>
#include <stdint.h>

/* The number of a tcp endpoint's host, by name or number of IPv4. */
int host_find(const char *endpoint, char number[INET_ADDRSTRLEN],
	      struct fail *);

/*
 * Before a program listens: the name of its own machine may come to be known
 * only when others have been told that it is there, or still be that of the
 * machine that it had before.  Wait for it, for so long, or until the
 * descriptor can be read from; -1 says what it is not.  A warning says what is
 * waited for.  Endpoints without a name are good at once.
 */
int host_await(const char *endpoint, uint64_t ms, int stop_fd, struct fail *);

#endif
