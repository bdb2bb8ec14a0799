/* Decimal numbers are read as strtof() reads them, to the last bit. */
#include "data/number.h"
#include "data/number_format.h"

#include "base/rng.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rng rng = { .seed = 7 };

static size_t
below(size_t n)
{
	return (size_t)rng_below(&rng, n);
}

/* Makes a text of digits, a point, an exponent, or some of these, or that is
   not a number. */
static void
random_text(char text[80])
{
	size_t n = 0, digits = 1 + below(below(4) == 0 ? 40 : 12);
	const size_t point = below(2) ? below(digits + 1) : SIZE_MAX;

	if (below(4) == 0)
		text[n++] = "+-"[below(2)];
	for (size_t i = 0; i <= digits; i++) {
		if (i == point)
			text[n++] = '.';
		if (i < digits)
			text[n++] = (char)('0' + below(10));
	}
	if (below(3) == 0)
		n += (size_t)snprintf(text + n, 20, "%c%s%zu",
				      "eE"[below(2)],
				      below(2) ? "-" : below(2) ? "+" : "",
				      below(below(2) ? 50 : 10));
	if (below(9) == 0)
		text[n++] = " xe.-:"[below(6)];
	text[n] = '\0';
}

/* Makes the middle between two floats with all its digits, or a number beside
   it. */
static void
middle_text(char text[80])
{
	const uint32_t bits = (uint32_t)(0x3f800000 + below(0x8000000));
	float x;

	memcpy(&x, &bits, sizeof(x));

	const double d = ((double)x + (double)nextafterf(x, INFINITY)) / 2;

	snprintf(text, 80, "%.*g", 8 + (int)below(22), d);
}

/* Returns a copy of the text with slack after it, valid until the next call. */
static const char *
roomy(const char *text)
{
	static char room[80 + NUMBER_SLACK];

	memset(room, 0, sizeof(room));
	return strcpy(room, text);
}

static bool
same_as_strtof(const char *text)
{
	char *end;
	float mine = 0;
	const float theirs = strtof(text, &end);
	const char *room = roomy(text), *stop = number_float(room, &mine);

	if ((stop ? stop - room : 0) == end - text &&
	    memcmp(&mine, &theirs, sizeof(mine)) == 0)
		return true;
	printf("# '%s': %.9g, not %.9g\n", text, (double)mine,
	       (double)theirs);
	return false;
}

/* Is it a short number: at most eight digits, besides a 0 before the point? */
static bool
is_short(const char *text)
{
	const char *point;
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	point = text + digits;
	if (*point == '.')
		digits += strspn(point + 1, "0123456789");
	if (text[digits + (*point == '.')] || point == text + 8)
		return digits > 0 && digits <= 8 && !text[digits];
	return (digits > 0 && digits <= 8) ||
		(digits == 9 && strncmp(text, "0.", 2) == 0);
}

/* Is the text read, and right, if it is a short number, and else not? */
static bool
short_same(const char *text)
{
	const size_t size = strlen(text);
	const bool expected = is_short(text);
	const float theirs = strtof(text, NULL);
	float mine = 0;

	if (number_short(roomy(text), size, &mine) == expected &&
	    (!expected || memcmp(&mine, &theirs, sizeof(mine)) == 0))
		return true;
	printf("# short '%s': %.9g, not %.9g\n", text, (double)mine,
	       (double)theirs);
	return false;
}

#define LIST	40		/* numbers of a list, at most */

/* Writes a list of short numbers, mostly in one format, sometimes with a
   fault. */
static size_t
put_list(char *to, size_t count, size_t places)
{
	const bool with_signs = below(2);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const double x = (double)below(20000) - 10000 * with_signs;

		n += (size_t)sprintf(to + n, "%s%.*f", i ? "," : "",
				     (int)places, below(9) ? x / 10000 : x);
		if (below(50) == 0)
			to[n - 1] = ",e+. x-"[below(7)];
	}
	memset(to + n, 0, NUMBER_SLACK);
	return n;
}

/* Is the list read, and right, if it has the right number of short numbers, and
   else not? */
static bool
list_same(size_t places, struct number_format *form)
{
	char text[LIST * 12 + NUMBER_SLACK];
	const size_t count = 1 + below(LIST);
	const size_t size = put_list(text, count + (below(9) == 0), places);
	float mine[LIST], each = 0;
	const char *end = number_list(text, ',', mine, form, count);
	char *next = text;
	bool plain = true;
	size_t n = 0;

	for (; next && plain; n++) {
		char *one = strsep(&next, ",");

		plain = number_short(one, strlen(one), &each) && n < count &&
			(!end || memcmp(&each, &mine[n], sizeof(each)) == 0);
	}
	if (end == (plain && n == count ? text + size : NULL))
		return true;
	printf("# '%s': number %zu of %zu\n", text, n, count);
	return false;
}

static bool
lists(void)
{
	struct number_format form[LIST];
	size_t places = 0;

	for (size_t i = 0; i < LIST; i++)
		form[i] = form_digit;
	for (int i = 0; i < 100000; i++) {
		if (i % 10 == 0)
			places = below(5);
		if (!list_same(places, form))
			return false;
	}
	return true;
}

static bool
many(void (*make)(char *), size_t count)
{
	char text[80];
	size_t right = 0;

	for (size_t i = 0; i < count; i++) {
		make(text);
		right += same_as_strtof(text) && short_same(text);
	}
	return right == count;
}

/* Makes any float, as it is commonly printed, or with enough digits to be read
   again. */
static void
bits_text(char text[80])
{
	const uint32_t bits = (uint32_t)rng_below(&rng, (uint64_t)1 << 32);
	float x;

	memcpy(&x, &bits, sizeof(x));
	if (!isfinite(x))
		x = 0;
	snprintf(text, 80, below(2) ? "%.9g" : "%.17g", (double)x);
}

/* The same for floats that are nearly zero, or nearly too large. */
static void
edge_text(char text[80])
{
	const uint32_t bits = (uint32_t)(below(2) ? below(0x1000000) :
					 0x7f000000 + below(0x800000));
	float x;

	memcpy(&x, &bits, sizeof(x));
	snprintf(text, 80, "%.*e", below(2) ? 8 : 20,
		 (double)x * (below(2) ? 1 : 1.9));
}

/* Makes a few digits and a point, as in most files. */
static void
short_text(char text[80])
{
	const size_t digits = 1 + below(10);
	const size_t point = below(digits + 2);
	size_t n = 0;

	if (below(3) == 0)
		text[n++] = '-';
	for (size_t i = 0; i < digits; i++) {
		if (i == point)
			text[n++] = '.';
		text[n++] = (char)('0' + below(10));
	}
	text[n] = '\0';
}

/* The same with a character that may be out of place. */
static void
odd_text(char text[80])
{
	short_text(text);
	text[below(strlen(text))] = " +-./:e\xb1"[below(8)];
}

static bool
many_short(void (*make)(char *), size_t count)
{
	char text[80];
	size_t right = 0;

	for (size_t i = 0; i < count; i++) {
		make(text);
		right += short_same(text);
	}
	return right == count;
}

static bool
is_uint(const char *text, uint64_t n, size_t size)
{
	uint64_t got = 1;
	bool fits = false;
	const char *room = roomy(text), *end = number_uint(room, &got, &fits);

	return end == room + size && got == n && fits;
}

static bool
too_large(const char *text)
{
	uint64_t got;
	bool fits = true;
	const char *room = roomy(text), *end = number_uint(room, &got, &fits);

	return end == room + strlen(text) && !fits;
}

int
main(void)
{
	float x;

	ok(many(random_text, 200000));
	ok(many(middle_text, 100000));
	ok(many(bits_text, 200000));
	ok(many(edge_text, 100000));
	ok(many(short_text, 200000));
	ok(many_short(odd_text, 200000));
	ok(lists());
	ok(same_as_strtof("1e22") && same_as_strtof("1e23") &&
	   same_as_strtof("999999999999999e22") && same_as_strtof("1e-45") &&
	   same_as_strtof("7e-46") && same_as_strtof("-0") &&
	   same_as_strtof("0e999999999999") && same_as_strtof("1e") &&
	   same_as_strtof("1e+") && same_as_strtof(".5") &&
	   same_as_strtof("5.") && same_as_strtof("1.2.3") &&
	   same_as_strtof("16777217") && same_as_strtof("0000000000000001"));
	ok(number_float(roomy("1e39"), &x) && isinf(x));
	ok(number_float(roomy("-1e99999999999"), &x) && isinf(x) && x < 0);
	ok(!number_float(roomy(""), &x) && !number_float(roomy("-"), &x) &&
	   !number_float(roomy("."), &x) && !number_float(roomy("e5"), &x) &&
	   !number_float(roomy("nan"), &x) &&
	   !number_float(roomy("inf"), &x) && !number_float(roomy(" 1"), &x));

	const char *hex = roomy("0x10");

	ok(number_float(hex, &x) == hex + 1 && x == 0);
	ok(is_uint("0", 0, 1) && is_uint("123:4", 123, 3) &&
	   is_uint("0000000000000000000000007", 7, 25));
	ok(is_uint("18446744073709551614", UINT64_MAX - 1, 20) &&
	   is_uint("18446744073709551615", UINT64_MAX, 20));
	ok(too_large("18446744073709551616") &&
	   too_large("18446744073709551620") &&
	   too_large("100000000000000000000") &&
	   too_large("99999999999999999999999"));

	uint64_t n;
	bool fits;

	ok(!number_uint(roomy(""), &n, &fits) &&
	   !number_uint(roomy("-1"), &n, &fits) &&
	   !number_uint(roomy("+1"), &n, &fits));
	return tap_done();
}
