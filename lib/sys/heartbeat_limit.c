#include "sys/heartbeat_limit.h"

#include "base/heartbeat.h"
#include "sys/clock.h"

#include <stddef.h>

static void
send_heartbeat(void *self)
{
	struct heartbeat_limit *b = self;
	const uint64_t now = clock_ms();

	if (now - b->last_ms < b->every_ms)
		return;
	b->last_ms = now;
	b->send(b->to);
}

void
heartbeat_limit_begin(struct heartbeat_limit *b, uint64_t lease_ms,
		      void (*send)(void *), void *to)
{
	*b = (struct heartbeat_limit){ .every_ms = lease_ms / 4,
				       .last_ms = clock_ms(), .send = send,
				       .to = to };
	heartbeat_set(send_heartbeat, b);
}

void
heartbeat_limit_end(void)
{
	heartbeat_set(NULL, NULL);
}
