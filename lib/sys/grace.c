#include "sys/grace.h"

#include "base/log.h"
#include "sys/cli.h"
#include "sys/clock.h"

#define LOOK_MS	250

bool
grace_over(struct grace *g, bool needed)
{
	if (!cli_stop)
		return false;
	if (g->until == 0) {
		g->until = clock_ms() + g->ms;
		if (needed && g->ms > 0)
			log_info("told to end; the run may take another %g s",
				 (double)g->ms / 1000);
	}
	return !needed || clock_ms() >= g->until;
}

/* cli_stop_fd stays readable, so poll() must not have it after the signal. */
struct pollfd
grace_fd(const struct grace *g)
{
	return (struct pollfd){ .fd = g->until ? -1 : cli_stop_fd,
				.events = POLLIN };
}

int
grace_wait(const struct grace *g)
{
	const uint64_t now = clock_ms();

	if (g->until == 0)
		return -1;
	return g->until <= now ? 0 : g->until - now < LOOK_MS ?
		(int)(g->until - now) : LOOK_MS;
}
