/*
 * breathing - signs of life at the right times: see base/breath.
 */
#ifndef PS_BREATHING_H
#define PS_BREATHING_H

#include <stdint.h>

struct breathing {
	uint64_t every_ms, last_ms;
	void (*say)(void *);
	void *to;
};

/* Have this thread say so, a few times in each lease. */
void breathing_begin(struct breathing *, uint64_t lease_ms,
		     void (*say)(void *), void *to);
void breathing_end(void);

#endif
