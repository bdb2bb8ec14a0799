#include "base/choices.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST	48	/* letters; longer words are not compared */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Are two letters the same, be they capital or small? */
static bool
same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * Return the fewest changes that make b of a: a letter left out, put in,
 * exchanged, or swapped with a neighbour, each place at most once (the "optimal
 * string alignment" distance).  Capital and small letters are the same.
 * row[i][j] is the distance of the first i letters of a from the first j of b.
 */
static size_t
distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[LONGEST + 1][LONGEST + 1];

	for (size_t j = 0; j <= m; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[i][0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[i][j] = least(row[i - 1][j] + 1,
					  row[i][j - 1] + 1);
			row[i][j] = least(row[i][j], row[i - 1][j - 1] +
					  !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				row[i][j] = least(row[i][j],
						  row[i - 2][j - 2] + 1);
		}
	}
	return row[n][m];
}

void
choices_release(struct choices *c)
{
	text_release(&c->names);
}

void
choices_add(struct choices *c, const char *name)
{
	const size_t n = strlen(c->word), m = strlen(name);
	const size_t third = (n > m ? n : m) / 3;
	size_t d;

	text_add(&c->names, " %s", name);
	/* With one change allowed, a single letter is near any other. */
	if (n < 2 || m < 2 || n > LONGEST || m > LONGEST)
		return;
	d = distance(c->word, n, name, m);
	if (d > (third > 1 ? third : 1) || (c->nearest && d >= c->distance))
		return;
	c->nearest = name;
	c->distance = d;
}

int
choices_fail(struct choices *c, enum fail_kind kind, struct fail *f,
	     const char *format, ...)
{
	char text[sizeof(f->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fail(f, kind, "%s%s%s%s", text, c->nearest ? "; did you mean " : "",
	     c->nearest ? c->nearest : "", c->nearest ? "?" : "");
	choices_release(c);
	return -1;
}

int
choices_refuse(struct choices *c, enum fail_kind kind, const char *where,
	       const char *what, struct fail *f)
{
	return choices_fail(c, kind, f, "%s%sunknown %s '%s'%s%s",
			    where ? where : "", where ? ": " : "", what,
			    c->word, c->names.size ? ", there are:" : "",
			    c->names.size ? c->names.data : "");
}
