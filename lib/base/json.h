/*
 * json - texts of files and peers, read, and their words, as strings.
 */
#ifndef PS_JSON_H
#define PS_JSON_H

#include <stddef.h>

struct json_t;
struct json_error_t;

/*
 * The value of this member of a sound object, as it stands in the line that
 * the object was read from, or else as json_line() writes it; to be freed.
 */
char *json_member(const char *line, const char *key, const struct json_t *);

#define JSON_MOST	((size_t)512 << 20)	/* bytes of what is read */

/*
 * A new string with this text.  JSON knows UTF-8 only, but names and messages
 * have bytes of files in them, and may be cut short: what is no character is
 * a question mark.
 */
struct json_t *json_words(const char *);

/*
 * As text, to be freed: what must not reach a terminal is written as "\u009b".
 * The flags are those of json_dumps().
 */
char *json_line(const struct json_t *, size_t flags);

/*
 * json_loadb(), of a text from outside: what is read can take fifty times as
 * much memory as the text, and is given up when it takes more than JSON_MOST.
 * Elsewhere the limit is that of the text.
 */
struct json_t *json_read(const char *text, size_t size, size_t flags,
			 struct json_error_t *);

#endif
