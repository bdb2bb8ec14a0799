#include "wire/result_json.h"

#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

void
result_json_string(struct text *out, const char *text)
{
	json_t *string = json_words(text);
	char *json = json_line(string, JSON_ENCODE_ANY);

	text_add(out, "%s", json);
	free(json);
	json_decref(string);
}

void
result_json_number(struct text *out, double x)
{
	if (isfinite(x))
		text_add(out, "%.9g", x);
	else
		text_add(out, "null");	/* JSON has no word for it */
}

void
result_json_scores(struct text *out, uint64_t examples, double loss,
		   const struct metric *metric, size_t count,
		   const struct metric_state *state)
{
	text_add(out, "\"examples\":%llu,\"loss\":",
		 (unsigned long long)examples);
	result_json_number(out, loss / (double)examples);
	text_add(out, ",\"metrics\":{");
	for (size_t i = 0; i < count; i++) {
		text_add(out, "%s\"%s\":", i ? "," : "",
			 metric_name(&metric[i]));
		result_json_number(out, metric_value(&metric[i], &state[i]));
	}
	text_add(out, "}");
}
