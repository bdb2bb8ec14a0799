/*
 * heartbeat_limit - limits how often heartbeat() sends a sign of life: see
 * base/heartbeat.h.
 */
#ifndef PS_HEARTBEAT_LIMIT_H
#define PS_HEARTBEAT_LIMIT_H

#include <stdint.h>

struct heartbeat_limit {
	uint64_t every_ms, last_ms;
	void (*send)(void *);
	void *to;
};

/*
 * Let heartbeat(), in this thread, call send(to) at most once in a quarter of a
 * lease.  The struct is borrowed until heartbeat_limit_end().
 */
void heartbeat_limit_begin(struct heartbeat_limit *, uint64_t lease_ms,
			   void (*send)(void *), void *to);
void heartbeat_limit_end(void);

#endif
