/* The memory that a JSON text can take is bounded. */
#include "base/json.h"

#include "base/mem.h"

#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The size of a text, which can take fifty times as much memory. */
#define SIZE	((size_t)20 << 20)

static json_error_t error;

/* Returns a list of SIZE bytes of these items, with commas. */
static char *
list_of(const char *each)
{
	const size_t n = strlen(each);
	char *text = mem_alloc(SIZE, 1);

	text[0] = '[';
	for (size_t i = 0; i < SIZE - 1; i++)
		text[1 + i] = each[i % n];
	/* The last item has no comma after it. */
	for (size_t i = 1 + (SIZE - 2) / n * n - 1; i < SIZE - 1; i++)
		text[i] = ' ';
	text[SIZE - 1] = ']';
	return text;
}

static bool
is_refused(const char *each)
{
	char *text = list_of(each);
	json_t *value = json_read(text, SIZE, 0, &error);
	const bool refused = !value &&
		strstr(error.text, "take more than 512 MiB of memory");

	json_decref(value);
	free(text);
	return refused;
}

static bool
is_read(const char *each)
{
	char *text = list_of(each);
	json_t *value = json_read(text, SIZE, 0, &error);
	const bool read = json_is_array(value);

	json_decref(value);
	free(text);
	return read;
}

int
main(void)
{
	json_t *value;

	named(is_refused("[],"),
	      "a text of empty lists is refused for the memory it would take");
	named(is_refused("{},"),
	      "a text of empty objects is refused for the memory it would "
	      "take");
	named(is_read("\"a text of some hundred bytes, as there are in "
		      "files of ours, which takes little more than it is "
		      "long\","), "a text of long strings is read");
	value = json_read("{\"a\":1}", 7, 0, &error);
	equals(json_integer_value(json_object_get(value, "a")), 1);
	json_decref(value);
	value = json_read("{\"a\":9223372036854775808}", 25, 0, &error);
	equals(json_real_value(json_object_get(value, "a")), 0x1p63);
	json_decref(value);
	named(!json_read_integers("[1,\n9223372036854775808]", 23, 0, &error) &&
	      error.line == 2 && strstr(error.text, "too big integer"),
	      "a count beyond 64 bits is refused, with its line");
	named(!json_read("[1e999]", 7, 0, &error) && *error.text,
	      "a number beyond any double is refused");
	named(!json_read("[1", 2, 0, &error) && *error.text &&
	      !strstr(error.text, "512 MiB"),
	      "other errors do not name the limit of memory");
	return tap_done();
}
