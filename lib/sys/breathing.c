#include "sys/breathing.h"

#include "base/breath.h"
#include "sys/clock.h"

#include <stddef.h>

static void
breathe_out(void *self)
{
	struct breathing *b = self;
	const uint64_t now = clock_ms();

	if (now - b->last_ms < b->every_ms)
		return;
	b->last_ms = now;
	b->say(b->to);
}

void
breathing_begin(struct breathing *b, uint64_t lease_ms, void (*say)(void *),
		void *to)
{
	*b = (struct breathing){ .every_ms = lease_ms / 4,
				 .last_ms = clock_ms(), .say = say,
				 .to = to };
	breath_by(breathe_out, b);
}

void
breathing_end(void)
{
	breath_by(NULL, NULL);
}
