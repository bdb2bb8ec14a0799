/* Numbers, sizes and lists are read completely or not at all. */
#include "base/text.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

int
main(void)
{
	uint64_t n = 7;
	float x = 7;

	ok(text_uint("18446744073709551615", &n) && n == UINT64_MAX);
	ok(!text_uint("18446744073709551616", &n) && n == UINT64_MAX);
	ok(!text_uint("", &n) && !text_uint("-1", &n) && !text_uint("1x", &n));
	ok(text_float("-1.5e3", &x) && x == -1500);
	ok(!text_float("nan", &x) && !text_float(" 1", &x) &&
	   !text_float("1-1", &x) && !text_float("1e99", &x) && x == -1500);
	ok(text_duration("500ms", &n) && n == 500);
	ok(text_duration("2m", &n) && n == 120000);
	ok(text_duration("3", &n) && n == 3000);
	ok(!text_duration("3 s", &n) && !text_duration("s", &n));
	ok(text_bytes("64k", &n) && n == 64000);
	ok(text_bytes("2MiB", &n) && n == 2 << 20);
	ok(!text_bytes("99999999999999T", &n));

	char list[] = "a,,b,", none[] = "";
	size_t count;
	char **item = text_split(list, ',', &count);

	ok(count == 4 && strcmp(item[0], "a") == 0 && *item[1] == '\0' &&
	   strcmp(item[2], "b") == 0 && *item[3] == '\0' && !item[4]);
	free(item);
	item = text_split(none, ',', &count);
	ok(count == 0 && !item[0]);
	free(item);

	struct text t = { 0 };

	for (int i = 0; i < 100; i++)
		text_add(&t, "%d,", i);
	text_add_bytes(&t, "end", 3);
	ok(t.size == 293 && strcmp(t.data + 288, "9,end") == 0);
	text_release(&t);
	return tap_done();
}
