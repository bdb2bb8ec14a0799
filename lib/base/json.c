#include "base/json.h"

#include "base/mem.h"
#include "base/visible.h"
#include "base/visible_text.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *
json_words(const char *text)
{
	json_t *string = json_string(text);
	struct text mended = { 0 };

	while (!string && *text) {
		bool shown;
		const size_t size = visible_character(text, strlen(text),
						      &shown);

		text_add_bytes(&mended, size ? text : "?", size ? size : 1);
		text += size ? size : 1;
	}
	if (!string)
		string = json_stringn(mended.data, mended.size);
	text_release(&mended);
	return string;
}

char *
json_line(const json_t *value, size_t flags)
{
	char *dump = json_dumps(value, flags), *line;
	struct text escaped = { 0 };

	if (!dump)
		return NULL;
	visible_add_json(&escaped, dump);
	line = mem_text(escaped.data);
	text_release(&escaped);
	free(dump);
	return line;
}

/* ---- members as they were written ---- */

#define BLANKS	" \t\r\n"

/* Return the place after the string that begins at p. */
static const char *
skip_string(const char *p)
{
	for (p++; *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

/* Return the number of bytes of the value that begins here. */
static size_t
value_length(const char *from)
{
	const char *p = from;
	int depth = 0;

	for (; depth > 0 || !strchr(BLANKS ",}", *p); p++) {
		if (*p == '"')
			p = skip_string(p) - 1;
		depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
	}
	return (size_t)(p - from);
}

char *
json_member(const char *line, const char *key, const json_t *value)
{
	const size_t n = strlen(key);
	char *text;
	int depth = 0;

	for (const char *p = line; *p; p++) {
		const char *start = p + 1, *end;

		depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
		if (*p != '"')
			continue;
		end = skip_string(p);
		p = end + strspn(end, BLANKS) - 1;
		if (depth != 1 || p[1] != ':' ||
		    (size_t)(end - start) != n + 1 ||
		    memcmp(start, key, n) != 0)
			continue;
		p += 2 + strspn(p + 2, BLANKS);
		return mem_text_n(p, value_length(p));
	}
	text = json_line(value, JSON_ENCODE_ANY);
	return text ? text : mem_text("null");
}

/* ---- reading ---- */

/* Bytes that jansson may still allocate in this thread; SIZE_MAX: no limit. */
static _Thread_local size_t left = SIZE_MAX;

static void *
alloc_limited(size_t size)
{
	if (left == SIZE_MAX)
		return malloc(size);
	if (size > left) {
		left = 0;
		return NULL;
	}
	left -= size;
	return malloc(size);
}

static void
limit_memory(void)
{
	json_set_alloc_funcs(alloc_limited, free);
}

static json_t *
load(const char *text, size_t size, size_t flags, bool of_any_size,
     json_error_t *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *value;

	pthread_once(&once, limit_memory);
	left = JSON_MOST;
	value = json_loadb(text, size, flags, error);
	if (!value && left > 0 && of_any_size &&
	    json_error_code(error) == json_error_numeric_overflow) {
		left = JSON_MOST;	/* what was allocated is free again */
		value = json_loadb(text, size, flags | JSON_DECODE_INT_AS_REAL,
				   error);
	}
	if (!value && left == 0)
		snprintf(error->text, sizeof(error->text), "its contents take "
			 "more than %zu MiB of memory", JSON_MOST >> 20);
	left = SIZE_MAX;
	return value;
}

json_t *
json_read(const char *text, size_t size, size_t flags, json_error_t *error)
{
	return load(text, size, flags, true, error);
}

json_t *
json_read_integers(const char *text, size_t size, size_t flags,
		   json_error_t *error)
{
	return load(text, size, flags, false, error);
}
