/*
 * text - numbers, sizes and lists out of text, and text that grows.
 *
 * The readers take the whole of a text or nothing: trailing characters are a
 * misfit.  They return false on a misfit and leave the result alone; the
 * caller knows which option or which line to name.
 */
#ifndef PS_TEXT_H
#define PS_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_uint(const char *, uint64_t *);	/* decimal digits only */
bool text_float(const char *, float *);		/* finite, in the C locale */
bool text_double(const char *, double *);
bool text_bool(const char *, bool *);		/* true, false, 1, 0 */
bool text_duration(const char *, uint64_t *ms);	/* 500ms 5s 2m 1h; bare: s */
bool text_bytes(const char *, uint64_t *);	/* 512 64k 1M 2G, KiB MiB GiB;
						   k is 1000, Ki is 1024 */

/* The shortest decimal that is read as this double, or float, again. */
#define TEXT_NUMBER	32
const char *text_number(double, char text[TEXT_NUMBER]);
const char *text_number_float(float, char text[TEXT_NUMBER]);

/* Is it "path" as a shell pattern (* ? [...]) would have it? */
bool text_match(const char *pattern, const char *text);

/*
 * Cut text in place at each separator; item i is list[i], NULL behind the
 * last.  An empty text has no items.  Free the list, not the items.
 */
char **text_split(char *text, char separator, size_t *count);

/* Bytes that some editors put in front of a text, if these are there; or 0. */
size_t text_mark(const char *text, size_t size);

/* A text that grows; { 0 } is an empty one, data is then NULL. */
struct text {
	char *data;
	size_t size, room;
};

void text_release(struct text *);
void text_reset(struct text *);
void text_add(struct text *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *, const void *, size_t);

#endif
