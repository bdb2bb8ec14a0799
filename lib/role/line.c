#include "role/line.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character that a text begins with; 0: that is no UTF-8. */
static size_t
character_size(const char *text)
{
	for (size_t n = 1; n <= 4 && text[n - 1] != '\0'; n++) {
		json_t *one = json_stringn(text, n);

		json_decref(one);
		if (one)
			return n;
	}
	return 0;
}

/* Names and messages have bytes of files in them, and may be cut short. */
static json_t *
string_of(const char *text)
{
	json_t *string = json_string(text);
	struct text mended = { 0 };

	while (!string && *text) {
		const size_t size = character_size(text);

		text_add_bytes(&mended, size ? text : "?", size ? size : 1);
		text += size ? size : 1;
	}
	if (!string)
		string = json_stringn(mended.data, mended.size);
	text_release(&mended);
	return string;
}

void
line_string(struct text *out, const char *text)
{
	json_t *string = string_of(text);
	char *json = json_dumps(string, JSON_ENCODE_ANY);

	text_add(out, "%s", json);
	free(json);
	json_decref(string);
}

void
line_number(struct text *out, double x)
{
	if (isfinite(x))
		text_add(out, "%.9g", x);
	else
		text_add(out, "null");	/* JSON has no word for it */
}

void
line_scores(struct text *out, uint64_t examples, double loss,
	    const struct metric *metric, size_t count,
	    const struct metric_state *state)
{
	text_add(out, "\"examples\":%llu,\"loss\":",
		 (unsigned long long)examples);
	line_number(out, loss / (double)examples);
	text_add(out, ",\"metrics\":{");
	for (size_t i = 0; i < count; i++) {
		text_add(out, "%s\"%s\":", i ? "," : "",
			 metric_name(&metric[i]));
		line_number(out, metric_value(&metric[i], &state[i]));
	}
	text_add(out, "}");
}
