/*
 * visible_text - appends text from peers and files to a struct text, made fit
 * for logs and terminals: see base/visible.h.
 */
#ifndef PS_VISIBLE_TEXT_H
#define PS_VISIBLE_TEXT_H

#include "base/text.h"

#include <stddef.h>

/* Append size bytes, with question marks as visible_copy() has them. */
void visible_add(struct text *, const char *text, size_t size);

/*
 * Append JSON, which jansson has written.  Each character that must not be
 * shown becomes an escape, such as "\u009b", so nothing is lost.
 */
void visible_add_json(struct text *, const char *json);

#endif
