/*
 * json - reads JSON from files and peers with a limit of memory, and writes
 * JSON that is fit for a terminal.
 */
#ifndef PS_JSON_H
#define PS_JSON_H

#include <stddef.h>

struct json_t;
struct json_error_t;

/*
 * Return the text of a member's value exactly as it is written in the line from
 * which the object was read, so that no digit of a number is lost.  The line
 * must be a valid object.  If the key is not found there, the text is that of
 * json_line() of the value.  The caller frees it.
 */
char *json_member(const char *line, const char *key, const struct json_t *);

#define JSON_MOST	((size_t)512 << 20)	/* bytes: see json_read() */

/*
 * Return a new JSON string.  JSON allows only UTF-8, but names and messages may
 * contain bytes of files, and may be cut off within a character: each byte that
 * is not a part of a character becomes a question mark.
 */
struct json_t *json_words(const char *);

/*
 * Return the value as text, for the caller to free; NULL: json_dumps() failed.
 * A character that must not reach a terminal is written as an escape, such as
 * "\u009b".  The flags are those of json_dumps().
 */
char *json_line(const struct json_t *, size_t flags);

/*
 * Read a text that comes from a file or a peer, as json_loadb() does.  Values
 * can take fifty times the memory of their text; reading fails if they take
 * more than JSON_MOST bytes.  Other calls of jansson have no such limit.
 *
 * Whole numbers of any size are JSON.  If one in the text is beyond int64_t,
 * all numbers of the text are read as reals; json_member() has them exactly.
 */
struct json_t *json_read(const char *text, size_t size, size_t flags,
			 struct json_error_t *);
/* The same for a text of counts and sizes: a whole number beyond int64_t is an
   error, which names its line. */
struct json_t *json_read_integers(const char *text, size_t size, size_t flags,
				  struct json_error_t *);

#endif
