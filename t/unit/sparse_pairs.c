/* Pairs that are read many at a time are as strtoull() and strtof() read them;
   where they cannot be read in this way, reading stops before them. */
#include "data/lines.h"
#include "data/number.h"

#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define MOST	40

static struct rng rng = { .seed = 11 };
static char line[2000 + LINE_SLACK];

static size_t
below(size_t n)
{
	return (size_t)rng_below(&rng, n);
}

/* Writes a number in one of several formats, with up to so many digits. */
static size_t
put_number(char *to, size_t digits)
{
	const size_t point = below(2) ? below(digits + 1) : SIZE_MAX;
	size_t n = 0;

	if (below(3) == 0)
		to[n++] = '-';
	for (size_t i = 0; i <= digits; i++) {
		if (i == point)
			to[n++] = '.';
		if (i < digits)
			to[n++] = (char)('0' + below(10));
	}
	return n;
}

/* Makes a line of many pairs, with ids mostly ascending; odd: sometimes with a
   fault. */
static void
random_line(bool odd)
{
	const size_t count = below(MOST), digits = 1 + below(7);
	size_t n = 0, id = 0;

	for (size_t i = 0; i < count; i++) {
		id += 1 + below(below(2) ? 10 : 100000);
		n += (size_t)sprintf(line + n, "%s%zu:", i ? " " : "", id);
		n += put_number(line + n, below(9) ? digits : 1 + below(7));
		if (odd && below(40) == 0)
			line[n - 1 - below(3)] = " :.-+e\t#x"[below(9)];
		if (odd && below(40) == 0)
			n += (size_t)sprintf(line + n, "e%d",
					     (int)below(9) - 4);
	}
	memset(line + n, 0, LINE_SLACK);
}

/* Is each pair that was read right? */
static bool
agrees(const char *end, const uint32_t *id, const float *value, size_t count)
{
	char *p = line;
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t key = strtoull(p, &p, 10);
		const char colon = *p++;
		const float x = strtof(p, &p);

		if (colon != ':' || key != (uint64_t)id[i] + 1 || key <= last ||
		    memcmp(&x, &value[i], sizeof(x)) != 0 ||
		    (*p && *p != ' ' && *p != '\t')) {
			printf("# '%s', pair %zu\n", line, i);
			return false;
		}
		p += *p == ' ';
		last = key;
	}
	return p == end;
}

static bool
many(bool odd)
{
	uint32_t id[MOST * 8];
	float value[MOST * 8];
	size_t count;

	for (int i = 0; i < 100000; i++) {
		random_line(odd);

		const char *end = number_sparse_pairs(line, 1, 0, 99999999, id,
						      value, &count);

		if (!agrees(end, id, value, count))
			return false;
		if (!odd && *end) {
			printf("# '%s' is plain, but not '%s'\n", line, end);
			return false;
		}
	}
	return true;
}

/* Does reading from a row on take this many rows, and stop at the right
   place? */
static bool
takes_from(uint64_t first, uint64_t next, const char *text, size_t count,
	   const char *rest)
{
	uint32_t id[MOST];
	float value[MOST];
	size_t got;

	memset(line, 0, sizeof(line));
	strcpy(line, text);

	const char *end = number_sparse_pairs(line, first, next, 5000, id,
					      value, &got);

	if (got == count && strcmp(end, rest) == 0)
		return true;
	printf("# '%s': %zu, then '%s'\n", text, got, end);
	return false;
}

static bool
takes(const char *text, size_t count, const char *rest)
{
	return takes_from(1, 4, text, count, rest);
}

int
main(void)
{
	ok(many(false));
	ok(many(true));
	ok(takes("5:1 6:-.5 12:3. 5000:12345678", 4, ""));
	ok(takes("5:1 5001:1", 1, "5001:1") && takes("5:1 5:1", 1, "5:1") &&
	   takes("4:1", 0, "4:1") && takes("123456789:1", 0, "123456789:1"));
	ok(takes("5:1 6:1e3", 1, "6:1e3") && takes("5:+1", 0, "5:+1") &&
	   takes("5:nan", 0, "5:nan") && takes("5:0x1", 0, "5:0x1") &&
	   takes("5:.", 0, "5:.") && takes("5:", 0, "5:") &&
	   takes("5:-", 0, "5:-") && takes("5:1/2", 0, "5:1/2") &&
	   takes("5:1.2 6:1/2", 1, "6:1/2") &&
	   takes("5:123456789", 0, "5:123456789") && takes("", 0, ""));
	ok(takes("5:1  6:1", 1, " 6:1") && takes("5:1\t6:1", 1, "\t6:1") &&
	   takes("5:1 ", 1, "") && takes("5:1\xa0 6:1", 0, "5:1\xa0 6:1"));
	ok(takes_from(1, UINT32_MAX, "5:1", 0, "5:1") &&
	   takes_from(1, UINT64_C(1) << 32, "5:1", 0, "5:1") &&
	   takes_from(1, UINT64_MAX, "5:1", 0, "5:1"));
	named(takes_from(0, 0, "0:1 1:1 4999:1", 3, "") &&
	      takes_from(0, 0, "0:1 0:1", 1, "0:1") &&
	      takes_from(0, 1, "0:1", 0, "0:1") &&
	      takes_from(0, 0, "5000:1", 0, "5000:1") &&
	      takes_from(1, 0, "0:1", 0, "0:1"),
	      "ids from 0 are read in order, up to the limit");
	return tap_done();
}
