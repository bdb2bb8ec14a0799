/*
 * visible_text - text of peers and files behind a text that grows, made fit for
 * eyes and terminals: see base/visible.h.
 */
#ifndef PS_VISIBLE_TEXT_H
#define PS_VISIBLE_TEXT_H

#include "base/text.h"

#include <stddef.h>

/* As visible_copy() does. */
void visible_add(struct text *, const char *text, size_t size);

/* As "\u009b" in the strings of JSON that is there already; no byte is lost. */
void visible_add_json(struct text *, const char *json);

#endif
