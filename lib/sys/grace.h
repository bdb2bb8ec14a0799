/*
 * grace - keeps a program running for a while after a signal to stop, so that
 * the other programs of its run can end the run with it.
 */
#ifndef PS_GRACE_H
#define PS_GRACE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct grace {
	uint64_t ms;		/* from the signal on; 0: stop at once */
	uint64_t until;		/* end of this time; 0: no signal came yet */
};

/* Must the program end now?  A signal came (cli_stop), and it is not needed any
   more, or its time is over. */
bool grace_over(struct grace *, bool needed);

/*
 * Return what poll() should wait for: grace_fd() is cli_stop_fd until
 * grace_over() has seen the signal, then none; grace_wait() is the
 * milliseconds, at most 250, until grace_over() should be asked again, -1
 * before the signal.
 */
struct pollfd grace_fd(const struct grace *);
int grace_wait(const struct grace *);

#endif
