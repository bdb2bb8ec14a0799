/*
 * tap - the smallest test harness: one line for each check, and a plan.
 */
#ifndef PS_TAP_H
#define PS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

#define ok(claim)	tap_ok(claim, #claim, __FILE__, __LINE__)
/* The same with a sentence as its name; a failure prints the claim, too. */
#define named(claim, name)						\
	tap_named(claim, name, #claim, __FILE__, __LINE__)
/* The same for one of many cases, with a name that is formatted. */
#define named_for(claim, ...)						\
	tap_named_for(claim, #claim, __FILE__, __LINE__, __VA_ARGS__)
/* A claim about a component, whose invariants hold afterwards, too: check
   returns NULL, or the broken one, which is printed. */
#define ok_and_sound(claim, check, name)				\
	do {								\
		const bool holds_ = (claim);				\
		const char *const broken_ = (check);			\
									\
		if (broken_)						\
			printf("# broken invariant: %s\n", broken_);	\
		tap_ok(holds_ && !broken_, name, __FILE__, __LINE__);	\
	} while (0)

static inline void
tap_ok(bool holds, const char *claim, const char *file, int line)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++tap_count, claim);
	if (!holds) {
		printf("# at %s:%d\n", file, line);
		tap_failed++;
	}
}

static inline void
tap_named(bool holds, const char *name, const char *claim, const char *file,
	  int line)
{
	tap_ok(holds, name, file, line);
	if (!holds)
		printf("# false: %s\n", claim);
}

static inline void __attribute__((format(printf, 5, 6)))
tap_named_for(bool holds, const char *claim, const char *file, int line,
	      const char *format, ...)
{
	char name[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	for (char *at = name; (at = strchr(at, '\n')); )
		*at = ' ';
	tap_named(holds, name, claim, file, line);
}

/* Prints a text, of which further lines are indented. */
static inline void
tap_show(const char *what, const char *text)
{
	printf("# %-9s ", what);
	for (; text && *text; text++)
		printf(*text == '\n' && text[1] ? "\n#           " : "%c",
		       *text);
	printf("%s", text ? "\n" : "(none)\n");
}

/* Prints two texts that differ. */
static inline void
tap_differ(const char *got, const char *expected)
{
	tap_show("expected:", expected);
	tap_show("got:", got);
}

/* Are two numbers, or two texts, the same?  If not, both are printed.  Floats
   are compared bit for bit, except that 0 is -0. */
#define equals(got, expected)						\
	named_equals(got, expected, #got " is " #expected)
/* The same with a sentence as its name. */
#define named_equals(got, expected, name)				\
	_Generic((got), char *: tap_equal_text,				\
		 const char *: tap_equal_text,				\
		 float: tap_equal_real, double: tap_equal_real,		\
		 default: tap_equal_whole)(got, expected, name,		\
					   __FILE__, __LINE__)

static inline void
tap_equal_whole(long long got, long long expected, const char *claim,
		const char *file, int line)
{
	tap_ok(got == expected, claim, file, line);
	if (got != expected)
		printf("# expected: %lld\n# got:      %lld\n", expected, got);
}

static inline void
tap_equal_real(double got, double expected, const char *claim,
	       const char *file, int line)
{
	const bool same = !(got < expected) && !(got > expected) &&
		got == got && expected == expected;

	tap_ok(same, claim, file, line);
	if (!same)
		printf("# expected: %.17g\n# got:      %.17g\n", expected,
		       got);
}

static inline void
tap_equal_text(const char *got, const char *expected, const char *claim,
	       const char *file, int line)
{
	const bool same = got && expected && strcmp(got, expected) == 0;

	tap_ok(same, claim, file, line);
	if (!same)
		tap_differ(got, expected);
}

/* Skips a check that cannot be made here; why. */
static inline void
tap_skip(const char *why)
{
	printf("ok %d # SKIP %s\n", ++tap_count, why);
}

/* Do arrays of floats have the same bits?  If not, prints the first two that
   differ. */
static inline bool
same_floats(const float *got, const float *expected, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&got[i], &expected[i], sizeof(*got)) != 0) {
			printf("# expected: %.9g\n# got:      %.9g, at %zu of "
			       "%zu\n", (double)expected[i], (double)got[i], i,
			       n);
			return false;
		}
	return true;
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif
