#include "base/log.h"

#include "base/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *log_name = "?";
static enum log_level log_level = LOG_NORMAL;
static FILE *log_file;
static const char *log_path;		/* of log_file */

static FILE *
open_log(const char *path)
{
	FILE *file = fopen(path, "ae");

	if (file)
		setvbuf(file, NULL, _IOLBF, 0);
	return file;
}

int
log_begin(const char *name, enum log_level level, const char *path,
	  struct fail *f)
{
	log_name = name;
	log_level = level;
	if (!path)
		return 0;
	log_file = open_log(path);
	if (!log_file)
		return fail_sys(f, FAIL_CREATE, "cannot write the log %s",
				path);
	log_path = path;
	return 0;
}

bool
log_is_moved(const char *path, int fd)
{
	struct stat ours, now;

	if (fstat(fd, &ours) < 0 || !S_ISREG(ours.st_mode))
		return false;
	if (stat(path, &now) < 0)
		return errno == ENOENT;
	return S_ISREG(now.st_mode) && (now.st_ino != ours.st_ino ||
					now.st_dev != ours.st_dev);
}

/* A log that cannot be begun again is written on where it is. */
static void
follow_path(void)
{
	FILE *file = log_is_moved(log_path, fileno(log_file)) ?
		open_log(log_path) : NULL;

	if (!file)
		return;
	fclose(log_file);
	log_file = file;
}

/* One fputs() is one write(), so that the lines of several programs that share
   a log stay whole. */
static void
write_line(const char *format, va_list args)
{
	char text[640], shown[sizeof(text)], line[680];

	vsnprintf(text, sizeof(text), format, args);
	visible_copy(shown, sizeof(shown), text, strlen(text));
	snprintf(line, sizeof(line), "%.24s: %s\n", log_name, shown);
	if (log_file)
		follow_path();
	fputs(line, log_file ? log_file : stderr);
}

void
log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

void
log_answer(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

void
log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (log_level >= LOG_NORMAL)
		write_line(format, args);
	va_end(args);
}

void
log_warn_lines(const char *text, size_t size)
{
	const char *end;

	for (const char *at = text; size > 0; size -= (size_t)(end - at) + 1,
	     at = end + 1) {
		end = memchr(at, '\n', size);
		if (!end)
			end = at + size - 1;
		log_warn("%.*s", (int)(end - at), at);
	}
}

void
log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (log_level >= LOG_VERBOSE)
		write_line(format, args);
	va_end(args);
}
