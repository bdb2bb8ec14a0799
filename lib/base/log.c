#include "base/log.h"

#include "base/visible.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *log_name = "?";
static enum log_level log_level = LOG_NORMAL;
static FILE *log_file;

int
log_begin(const char *name, enum log_level level, const char *path,
	  struct fail *f)
{
	log_name = name;
	log_level = level;
	if (!path)
		return 0;

	FILE *file = fopen(path, "ae");

	if (!file)
		return fail_sys(f, FAIL_CREATE, "cannot write the log %s",
				path);
	setvbuf(file, NULL, _IOLBF, 0);
	log_file = file;
	return 0;
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
