/*
 * callers - say what was refused of those who call, but not each time.
 *
 * What is no message of ours is for the curious (-v).  That a program of
 * another release calls is for everybody: its people read it at their end, and
 * ours here; at most one line in 10 seconds, since anybody can say HELLO.
 */
#ifndef PS_CALLERS_H
#define PS_CALLERS_H

#include "sys/net.h"

struct callers {
	uint64_t next_ms;	/* no line before that */
};

void callers_note(struct callers *, const struct net_event *, uint64_t now_ms);

#endif
