/*
 * json - words of files and peers, as strings of JSON.
 */
#ifndef PS_JSON_H
#define PS_JSON_H

#include <stddef.h>

struct json_t;

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

#endif
