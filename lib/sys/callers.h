/*
 * callers - logs that callers were refused, but not each time.
 *
 * Bytes that are not a message of ours are logged only with -v, and those of
 * peers that never stop are counted (base/ration.h).  A HELLO of
 * another release is a warning, so that the operators at both ends learn of it;
 * at most one in 10 seconds, since anybody can send HELLO.
 */
#ifndef PS_CALLERS_H
#define PS_CALLERS_H

#include "base/ration.h"
#include "sys/net.h"

struct callers {
	uint64_t next_ms;	/* no warning before this time */
	struct ration told;	/* with -v */
};

/* Log an event if it is one of these. */
void callers_note(struct callers *, const struct net_event *, uint64_t now_ms);

#endif
