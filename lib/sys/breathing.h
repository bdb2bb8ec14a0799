/*
 * breathing - limits how often breathe() sends a sign of life: see
 * base/breath.h.
 */
#ifndef PS_BREATHING_H
#define PS_BREATHING_H

#include <stdint.h>

struct breathing {
	uint64_t every_ms, last_ms;
	void (*say)(void *);
	void *to;
};

/*
 * Let breathe(), in this thread, call say(to) at most once in a quarter of a
 * lease.  The struct is borrowed until breathing_end().
 */
void breathing_begin(struct breathing *, uint64_t lease_ms,
		     void (*say)(void *), void *to);
void breathing_end(void);

#endif
