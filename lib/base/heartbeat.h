/*
 * heartbeat - lets long work send signs of life.
 *
 * A function that may take long, such as the computation of a large batch,
 * calls heartbeat() between its parts.  A program whose peers would take its
 * silence for death sets, by heartbeat_set(), a function that sends them a sign
 * of life.
 */
#ifndef PS_HEARTBEAT_H
#define PS_HEARTBEAT_H

/*
 * Set the function, and its argument, that heartbeat() calls in this thread;
 * the argument is borrowed.  NULL: heartbeat() does nothing.
 */
void heartbeat_set(void (*)(void *), void *);
void heartbeat(void);

#endif
