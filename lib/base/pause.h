/*
 * pause - recognizes a time in which this program itself did not run: it was
 * stopped, its machine slept, or it waited for a disk.
 *
 * Messages that peers sent in a pause are still unread, so the pause must not
 * count as silence of these peers.
 */
#ifndef PS_PAUSE_H
#define PS_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Note that the program runs now, at now ms; *ticked is the time of the last
 * call, 0 if there was none, and is set to now.  Return the milliseconds since
 * the last call if they are a pause, that is at least 1000 and at least half a
 * lease; else 0.
 */
uint64_t pause_since(uint64_t *ticked, uint64_t now, uint64_t lease_ms);

/*
 * After a pause of that many ms has ended, return the time from which a state
 * that began at since counts now: the pause later, but not after now.
 */
uint64_t pause_skip(uint64_t since, uint64_t now, uint64_t pause);

/*
 * Do both for a program that waits for one peer, last heard at *heard, or for
 * its return or its answer since *since: the peer counts as heard now, and the
 * wait as shorter by the pause.  Return whether there was a pause.
 */
bool pause_excuse(uint64_t *ticked, uint64_t now, uint64_t lease_ms,
		  uint64_t *heard, uint64_t *since);

#endif
