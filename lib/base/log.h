/*
 * log - messages to the operator, on standard error or in --log=FILE.
 *
 * One event is one line: "name: text".  There are no time stamps: the program
 * that keeps the log adds them (s6-log, systemd, ts).
 */
#ifndef PS_LOG_H
#define PS_LOG_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

/*
 * Set the name and the level of this program, and append to a file; a path of
 * NULL is standard error.  The name and the path are borrowed.
 * Return 0, or -1 (FAIL_CREATE).
 */
int log_begin(const char *name, enum log_level, const char *path,
	      struct fail *);

/*
 * Is the log, which is open at a descriptor, no longer the plain file of this
 * path, since that was moved away, as logrotate does, or removed?  Then it is
 * opened again before the next line.  log_begin()'s file is.
 */
bool log_is_moved(const char *path, int fd);

/* Always written: the reason why the program ends. */
void log_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* Always written: the answer to a question of the operator, as by SIGUSR1. */
void log_answer(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* Written unless the level is LOG_QUIET. */
void log_warn(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* A warning for each line of a text of size bytes. */
void log_warn_lines(const char *text, size_t size);
/* Written only if the level is LOG_VERBOSE. */
void log_info(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
