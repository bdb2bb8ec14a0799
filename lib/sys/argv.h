/*
 * argv - a command line that grows.
 */
#ifndef PS_ARGV_H
#define PS_ARGV_H

#include <stddef.h>
#include <stdint.h>

struct argv {			/* { 0 } has none */
	char **word;		/* NULL behind the last */
	size_t count, room;
};

void argv_release(struct argv *);
void argv_add(struct argv *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A word for member index of count, with these for %i and %n. */
void argv_fill(struct argv *, const char *word, size_t index,
	       uint64_t count);

#endif
