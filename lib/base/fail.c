#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
fail(struct fail *f, enum fail_kind kind, const char *format, ...)
{
	va_list args;

	f->kind = kind;
	f->passable = false;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return -1;
}

int
fail_sys(struct fail *f, enum fail_kind kind, const char *format, ...)
{
	const char *reason = strerror(errno);
	va_list args;

	f->kind = kind;
	f->passable = false;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);

	const size_t n = strlen(f->text);

	snprintf(f->text + n, sizeof(f->text) - n, ": %s", reason);
	return -1;
}

int
fail_at(struct fail *f, const char *format, ...)
{
	char text[sizeof(f->text)];
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, ": %.*s",
		 (int)(sizeof(text) - n), f->text);
	memcpy(f->text, text, sizeof(text));
	return -1;
}

int
fail_mark_skippable(struct fail *f)
{
	f->passable = true;
	return -1;
}
