/* Characters and bytes that must not be printed are not printed. */
#include "base/visible.h"
#include "base/visible_text.h"

#include "base/json.h"
#include "base/rng.h"

#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Encodes any number as UTF-8, also one that is not a character. */
static size_t
encode(char *to, unsigned long c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool
hides(unsigned long c)
{
	char text[5] = { 0 };
	bool shown;

	return visible_character(text, encode(text, c), &shown) > 0 && !shown;
}

/* Every character is accepted, and every other number refused, as by
   jansson. */
static void
test_characters(void)
{
	size_t wrong = 0, hidden = 0;

	for (unsigned long c = 1; c < 0x120000; c++) {
		char text[5] = { 0 };
		bool shown;
		const size_t n = encode(text, c);
		const size_t got = visible_character(text, n, &shown);
		json_t *one = json_stringn(text, n);

		wrong += got != (one ? n : 0) || (!one && shown);
		hidden += got > 0 && !shown;
		json_decref(one);
	}
	equals(wrong, 0);
	ok(hidden > 64 && hidden < 5000);
	for (unsigned long c = 1; c < 0x20; c++)
		wrong += !hides(c) || !hides(c + 0x7f);
	equals(wrong, 0);
	ok(hides(0x7f) && hides(0x9b) && hides(0x9f) && !hides(0xa0));
	ok(hides(0x061c) && hides(0x200e) && hides(0x200f) &&
	   hides(0x202a) && hides(0x202e) && hides(0x2066) && hides(0x2069));
	ok(hides(0x2028) && hides(0x2029) && hides(0xfeff) &&
	   hides(0xe0041));
	ok(!hides('a') && !hides(0xe9) && !hides(0x5d0) && !hides(0x4e2d) &&
	   !hides(0x200d) && !hides(0x1f600));
}

static bool
copies(const char *text, size_t room, const char *expected)
{
	char to[64];
	const size_t size = strlen(text);
	size_t taken;
	bool same;

	memset(to, 'x', sizeof(to));
	taken = visible_copy(to, room, text, size);
	same = strcmp(to, expected) == 0 && to[room] == 'x' &&
		taken <= size;
	if (!same)
		tap_differ(to, expected);
	return same;
}

static void
test_copies(void)
{
	ok(copies("a\x1b[31mb", 20, "a?[31mb"));
	ok(copies("a\xc2\x9b" "31mb", 20, "a?31mb"));
	ok(copies("a\x9b" "b\xe2\x80\xae" "c\xff", 20, "a?b?c?"));
	ok(copies("\xc3\xa9t\xc3\xa9", 20, "\xc3\xa9t\xc3\xa9"));
	ok(copies("\xc3\xa9t\xc3\xa9", 5, "\xc3\xa9t"));
	ok(copies("\xc3\xa9t\xc3\xa9", 4, "\xc3\xa9t"));
	ok(copies("\xc3", 20, "?") && copies("\xf0\x9f\x98", 20, "???"));
	ok(copies("\xc0\xaf\xed\xa0\x80", 20, "?????"));
	ok(copies("", 1, "") && copies("abc", 1, ""));
}

/* Any bytes are printed as UTF-8 without invisible characters. */
static void
test_any(void)
{
	struct rng rng = { .seed = 1 };
	size_t wrong = 0;

	for (int i = 0; i < 20000; i++) {
		char from[64];
		const size_t size = (size_t)rng_below(&rng, sizeof(from));
		struct text t = { 0 };
		bool shown = true;

		for (size_t k = 0; k < size; k++)
			from[k] = (char)(rng_below(&rng, 2) ? 0x80 +
				rng_below(&rng, 0x80) : rng_below(&rng, 256));
		visible_add(&t, from, size);
		for (size_t at = 0, n; at < t.size && shown; at += n)
			n = visible_character(t.data + at, t.size - at,
					      &shown);
		wrong += !shown || t.size > size;
		text_release(&t);
	}
	equals(wrong, 0);
}

/* JSON keeps every character, and shows no control character. */
static void
test_json(void)
{
	static const char id[] = "a\xc2\x9b\xe2\x80\xae\x7f\xf3\xa0\x81\x81"
		"\xc3\xa9\n\"\\";
	json_t *string = json_words(id);
	char *line = json_line(string, JSON_ENCODE_ANY);
	json_t *again = json_loads(line, JSON_DECODE_ANY, NULL);

	ok(strcmp(line, "\"a\\u009b\\u202e\\u007f\\udb40\\udc41\xc3\xa9"
		  "\\n\\\"\\\\\"") == 0);
	ok(again && strcmp(json_string_value(again), id) == 0);
	json_decref(again);
	json_decref(string);
	free(line);

	string = json_words("r\xe9sum\xe9\xc2");
	equals(json_string_value(string), "r?sum??");
	json_decref(string);
	string = json_pack("{s:[i,i]}", "a", 1, 2);
	line = json_line(string, JSON_INDENT(1));
	again = json_loads(line, 0, NULL);
	ok(json_equal(string, again));
	json_decref(again);
	json_decref(string);
	free(line);
}

int
main(void)
{
	test_characters();
	test_copies();
	test_any();
	test_json();
	return tap_done();
}
