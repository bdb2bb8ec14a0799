/*
 * log - what a program tells its operator, on standard error or in --log=FILE.
 *
 * One event is one line: "name: text".  No time stamps: whoever keeps the
 * log adds them (s6-log, systemd, ts).
 */
#ifndef PS_LOG_H
#define PS_LOG_H

#include "base/fail.h"

#include <stddef.h>

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

/* A path of NULL is standard error. */
int log_begin(const char *name, enum log_level, const char *path,
	      struct fail *);

void log_error(const char *format, ...)	/* always; the reason of an end */
	__attribute__((format(printf, 1, 2)));
void log_answer(const char *format, ...)	/* always; who asked wants it */
	__attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...)	/* unless quiet */
	__attribute__((format(printf, 1, 2)));
void log_warn_lines(const char *text, size_t size);	/* one for each */
void log_info(const char *format, ...)	/* if verbose */
	__attribute__((format(printf, 1, 2)));

#endif
