/*
 * trace - the events of a simulated run, a line each, for people.
 *
 * A line begins with the virtual time and the process that it is about.  The
 * trace is off, and costs nothing, unless trace_to() was called.  The log lines
 * of programs come here, too: in the simulator this file replaces lib/base/log.
 */
#ifndef PS_SIM_TRACE_H
#define PS_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Lines go to this file from now on; NULL: tracing is off. */
void trace_to(FILE *);
bool trace_on(void);

/* Sets the time and the process name of the lines that follow; the name is
   borrowed. */
void trace_at(uint64_t now_ms, const char *who);

void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
