/*
 * trace - what happens in a simulated run, a line each, for who reads it.
 *
 * A line begins with the virtual time and the process that it is about.  The
 * trace is off unless trace_to() was called, and costs nothing then.  What
 * programs say to their operators comes by here, too: lib/base/log is
 * replaced by this file in the simulator.
 */
#ifndef PS_SIM_TRACE_H
#define PS_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Lines go to this file from now on; NULL: nowhere. */
void trace_to(FILE *);
bool trace_on(void);

/* The time of the lines that follow, and the name of who writes them; the
   name is borrowed. */
void trace_at(uint64_t now_ms, const char *who);

void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
