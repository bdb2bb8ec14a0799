/*
 * text - reads numbers, sizes and lists from text, and builds text that grows.
 *
 * A reader accepts the whole text or nothing.  It returns false, and leaves the
 * result alone, if the text does not fit or has anything after the number; the
 * caller knows which option or line to name in a message.
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
bool text_duration(const char *, uint64_t *ms);	/* 500ms 5s 2m 1h; 5 is 5s */
bool text_bytes(const char *, uint64_t *);	/* 512 64k 1M 2G, KiB MiB GiB;
						   k is 1000, Ki is 1024 */

/* Write the shortest decimal that strtod(), or strtof(), reads as the same
   number again.  Return text. */
#define TEXT_NUMBER	32
const char *text_number(double, char text[TEXT_NUMBER]);
const char *text_number_float(float, char text[TEXT_NUMBER]);

/* Does a text match a shell pattern (* ? [...])?  "*" matches "/", too. */
bool text_match(const char *pattern, const char *text);

/*
 * Cut a text, in place, at each separator.  Return a list of *count items and a
 * NULL; the items are parts of the text.  An empty text has no items.  The
 * caller frees the list, not the items.
 */
char **text_split(char *text, char separator, size_t *count);

/* Return 3 if a text begins with a byte order mark of UTF-8, which some editors
   put there; else 0. */
size_t text_mark(const char *text, size_t size);

/* A text that grows.  { 0 } is an empty one, whose data is NULL; other texts
   have a NUL after their size bytes. */
struct text {
	char *data;
	size_t size, room;
};

void text_release(struct text *);
/* Make it empty, but keep the room. */
void text_reset(struct text *);
/* Append, as sprintf() writes it, or size bytes. */
void text_add(struct text *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *, const void *, size_t);

#endif
