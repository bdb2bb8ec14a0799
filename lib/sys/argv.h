/*
 * argv - builds the command line of a program, word by word.
 */
#ifndef PS_ARGV_H
#define PS_ARGV_H

#include <stddef.h>
#include <stdint.h>

struct argv {			/* { 0 } has no words */
	char **word;		/* owned; a NULL follows the last */
	size_t count, room;
};

void argv_release(struct argv *);

/* Append a word, as sprintf() writes it. */
void argv_add(struct argv *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append a word in which %i is replaced by index, and %n by count. */
void argv_fill(struct argv *, const char *word, size_t index,
	       uint64_t count);

#endif
