#include "base/text.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read digits and return where they end; NULL: there are none, or the number
   does not fit 64 bits. */
static const char *
digits(const char *text, uint64_t *value)
{
	uint64_t n = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		const uint64_t digit = (uint64_t)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return NULL;
		n = n * 10 + digit;
	}
	if (p == text)
		return NULL;
	*value = n;
	return p;
}

bool
text_uint(const char *text, uint64_t *value)
{
	uint64_t n;
	const char *end = digits(text, &n);

	if (!end || *end)
		return false;
	*value = n;
	return true;
}

bool
text_double(const char *text, double *value)
{
	char *end;
	const double x = strtod(text, &end);

	if (end == text || *end || isspace((unsigned char)*text) ||
	    !isfinite(x))
		return false;
	*value = x;
	return true;
}

bool
text_float(const char *text, float *value)
{
	char *end;
	const float x = strtof(text, &end);

	if (end == text || *end || isspace((unsigned char)*text) ||
	    !isfinite(x))
		return false;
	*value = x;
	return true;
}

bool
text_bool(const char *text, bool *value)
{
	const bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

	if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return false;
	*value = yes;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static bool
with_unit(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t n;
	const char *end = digits(text, &n);

	for (; end && units->name; units++) {
		if (strcmp(end, units->name) != 0)
			continue;
		if (n > UINT64_MAX / units->factor)
			return false;
		*value = n * units->factor;
		return true;
	}
	return false;
}

/* 139 years: the sum with a time fits 64 bits, in microseconds, too. */
#define LONGEST_MS	((uint64_t)1 << 42)

bool
text_duration(const char *text, uint64_t *ms)
{
	static const struct unit units[] = {
		{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 }, { NULL, 0 }
	};

	return with_unit(text, units, ms) && *ms <= LONGEST_MS;
}

bool
text_bytes(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "k", 1000 }, { "K", 1000 }, { "M", 1000000 },
		{ "G", 1000000000 }, { "T", 1000000000000 },
		{ "Ki", 1 << 10 }, { "Mi", 1 << 20 }, { "Gi", 1 << 30 },
		{ "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
		{ NULL, 0 }
	};

	return with_unit(text, units, bytes);
}

const char *
text_number(double x, char text[TEXT_NUMBER])
{
	for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(text, TEXT_NUMBER, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	return text;
}

const char *
text_number_float(float x, char text[TEXT_NUMBER])
{
	for (int digits = 1; digits <= FLT_DECIMAL_DIG; digits++) {
		snprintf(text, TEXT_NUMBER, "%.*g", digits, (double)x);
		if (strtof(text, NULL) == x)
			break;
	}
	return text;
}

bool
text_match(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

char **
text_split(char *text, char separator, size_t *count)
{
	size_t n = 0, room = 0;
	char **list = mem_grow(NULL, 0, &room, sizeof(*list));

	while (text && (*text || n > 0)) {
		char *end = strchr(text, separator);

		list = mem_grow(list, n + 1, &room, sizeof(*list));
		list[n++] = text;
		if (end)
			*end++ = '\0';
		text = end;
	}
	list[n] = NULL;
	*count = n;
	return list;
}

size_t
text_mark(const char *text, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t n = sizeof(mark) - 1;

	return size >= n && memcmp(text, mark, n) == 0 ? n : 0;
}

void
text_release(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

void
text_reset(struct text *t)
{
	t->size = 0;
	if (t->data)
		t->data[0] = '\0';
}

static void
reserve(struct text *t, size_t n)
{
	if (t->room - t->size > n)
		return;
	t->room = 2 * t->room + n + 64;
	t->data = mem_resize(t->data, t->room, 1);
}

void
text_add(struct text *t, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n > 0) {
		reserve(t, (size_t)n);
		vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
		t->size += (size_t)n;
	}
	va_end(again);
}

void
text_add_bytes(struct text *t, const void *bytes, size_t size)
{
	reserve(t, size);
	if (size > 0)		/* else bytes may be NULL */
		memcpy(t->data + t->size, bytes, size);
	t->size += size;
	t->data[t->size] = '\0';
}
