/*
 * words - a command line that grows.
 */
#ifndef PS_WORDS_H
#define PS_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct words {			/* { 0 } has none */
	char **word;		/* NULL behind the last */
	size_t count, room;
};

void words_release(struct words *);
void words_add(struct words *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A word for member index of count, with these for %i and %n. */
void words_fill(struct words *, const char *word, size_t index,
		uint64_t count);

#endif
