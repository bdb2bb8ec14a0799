#include "prog/answer.h"

#include "base/json.h"
#include "base/text.h"
#include "base/visible_text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES	((double)((uint64_t)1 << 32))	/* examples of an
							   answer, at most */

/* ---- numbers that JSON does not have ---- */

/*
 * Return how many bytes at this place are NaN or an infinity, as Python's json
 * and others write them; 0: none.
 */
static size_t
odd_number(const char *at, size_t left)
{
	static const char *const words[] = { "NaN", "-Infinity", "Infinity" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const size_t n = strlen(words[i]);

		if (n <= left && memcmp(at, words[i], n) == 0)
			return n;
	}
	return 0;
}

/* Append the line to a text, with null in place of these numbers. */
static void
replace_odd(struct text *to, const char *line, size_t size)
{
	bool string = false;
	size_t n;

	for (size_t i = 0; i < size; i += n) {
		const size_t odd = string ? 0 : odd_number(line + i, size - i);
		const bool escape = string && line[i] == '\\' && i + 1 < size;

		n = odd > 0 ? odd : escape ? 2 : 1;
		if (line[i] == '"')
			string = !string;
		text_add_bytes(to, odd > 0 ? "null" : line + i,
			       odd > 0 ? strlen("null") : n);
	}
}

/*
 * Parse the line; NULL: it is not JSON, and the error says why.  The text is
 * what was parsed.
 */
static json_t *
load(const char *line, size_t size, struct text *text, json_error_t *error)
{
	json_t *answer;

	text_add_bytes(text, line, size);
	answer = json_read(text->data, size, JSON_ALLOW_NUL, error);
	if (answer)
		return answer;
	text_reset(text);
	replace_odd(text, line, size);
	text_add(text, "%s", "");
	return json_read(text->data, text->size, JSON_ALLOW_NUL, error);
}

/* ---- the answer of a step ---- */

static int
unfit(struct fail *f, const char *key, const json_t *value, const char *why)
{
	char *text = json_line(value, JSON_ENCODE_ANY | JSON_COMPACT);

	fail(f, FAIL_DATA, "\"%.64s\":%.60s%s %s", key, text ? text : "?",
	     text && strlen(text) > 60 ? "..." : "", why);
	free(text);
	return -1;
}

/* A null stands for a number that JSON does not have. */
static int
read_loss(struct external_answer *to, const json_t *value, struct fail *f)
{
	if (!json_is_number(value) && !json_is_null(value))
		return unfit(f, "loss", value, "is not a number");
	to->loss = json_is_null(value) ? (double)NAN :
		json_number_value(value);
	to->has_loss = true;
	return 0;
}

static int
read_examples(struct external_answer *to, const json_t *value, struct fail *f)
{
	const double x = json_number_value(value);

	if (!json_is_number(value) || !(x >= 0) || x > EXAMPLES ||
	    x != floor(x))
		return unfit(f, "examples", value,
			     "is not a whole number from 0 on");
	to->examples = (uint64_t)x;
	return 0;
}

static int
read_metric(struct external_answer *to, const char *name, const json_t *value,
	    struct fail *f)
{
	struct external_metric *m = &to->metric[to->metrics];
	const json_t *sum = json_array_get(value, 0);
	const json_t *weight = json_array_get(value, 1);

	if (json_array_size(value) != 2 || !json_is_number(sum) ||
	    !json_is_number(weight) || json_number_value(weight) < 0)
		return unfit(f, name, value, "in \"metrics\" is not a "
			     "[SUM,WEIGHT] of finite numbers");
	if (to->metrics == EXTERNAL_METRICS ||
	    strlen(name) >= sizeof(m->name))
		return fail(f, FAIL_DATA, "\"metrics\": more than %d, or a "
			    "name of more than %zu letters", EXTERNAL_METRICS,
			    sizeof(m->name) - 1);
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->sum = json_number_value(sum);
	m->weight = json_number_value(weight);
	to->metrics++;
	return 0;
}

static int
read_metrics(struct external_answer *to, json_t *value, struct fail *f)
{
	const char *name;
	json_t *metric;

	if (!json_is_object(value))
		return unfit(f, "metrics", value, "is not an object");
	json_object_foreach(value, name, metric)
		if (read_metric(to, name, metric, f) < 0)
			return -1;
	return 0;
}

/*
 * Keep the result as it was written, on one line and with nothing that a
 * terminal would act on.
 */
static int
read_result(struct external_answer *to, const char *line, const json_t *value,
	    struct fail *f)
{
	char *text = json_member(line, "result", value);
	const size_t size = strlen(text);

	for (char *p = text; *p; p++)
		if (strchr("\t\r\n", *p))
			*p = ' ';
	text_reset(&to->result);
	if (size <= ANSWER_RESULT)
		visible_add_json(&to->result, text);
	free(text);
	if (to->result.size <= ANSWER_RESULT && size <= ANSWER_RESULT)
		return 0;
	return fail(f, FAIL_DATA, "\"result\" has %zu bytes, more than %zu",
		    size, ANSWER_RESULT);
}

static int
read_flag(bool *to, const char *key, const json_t *value, struct fail *f)
{
	*to = json_is_true(value);
	return json_is_boolean(value) ? 0 :
		unfit(f, key, value, "is not true or false");
}

static int
read_member(struct external_answer *to, const char *line, const char *key,
	    json_t *value, struct fail *f)
{
	if (strcmp(key, "loss") == 0)
		return read_loss(to, value, f);
	if (strcmp(key, "examples") == 0)
		return read_examples(to, value, f);
	if (strcmp(key, "metrics") == 0)
		return read_metrics(to, value, f);
	if (strcmp(key, "result") == 0)
		return read_result(to, line, value, f);
	if (strcmp(key, "shm") == 0)
		return read_flag(&to->shares, key, value, f);
	if (strcmp(key, "end") == 0)
		return read_flag(&to->ended, key, value, f);
	return unfit(f, key, value, "means nothing in an answer, which has "
		     "loss, examples, metrics, result, end and shm");
}

static enum answer
read_step(const char *line, json_t *answer, struct external_answer *to,
	  struct fail *f)
{
	const char *key;
	json_t *value;

	json_object_foreach(answer, key, value)
		if (read_member(to, line, key, value, f) < 0)
			return ANSWER_UNFIT;
	return to->ended ? ANSWER_ENDED : ANSWER_GOOD;
}

/* ---- the answer of a layer ---- */

static bool
is_shape(const json_t *value, const struct external_array *a)
{
	const size_t first = a->examples > 0;
	size_t dim, k;
	json_t *item;

	if (json_array_size(value) != first + (size_t)a->shape.rank)
		return false;
	json_array_foreach(value, k, item) {
		dim = k < first ? a->examples : a->shape.dim[k - first];
		if (!json_is_integer(item) ||
		    json_integer_value(item) != (json_int_t)dim)
			return false;
	}
	return true;
}

/*
 * Return how many numbers an array of this shape has; -1 or less: it is not a
 * shape.
 */
static double
count_numbers(const json_t *shape)
{
	double count = 1;
	json_t *item;
	size_t k;

	json_array_foreach(shape, k, item)
		count *= json_is_integer(item) ? json_number_value(item) : -1;
	return json_is_array(shape) ? count : -1;
}

static void
add_shape(struct text *to, const struct external_array *a)
{
	if (a->examples > 0)
		text_add(to, "%zu%s", a->examples,
			 a->shape.rank > 0 ? "," : "");
	for (int k = 0; k < a->shape.rank; k++)
		text_add(to, "%s%zu", k > 0 ? "," : "", a->shape.dim[k]);
}

static int
check_shape(const char *name, const json_t *shape,
	    const struct external_array *wanted, size_t wanteds,
	    struct fail *f)
{
	const struct external_array *a = wanted;
	struct text text = { 0 };
	char *is;

	while (a < wanted + wanteds && strcmp(a->name, name) != 0)
		a++;
	if (a == wanted + wanteds)
		return fail(f, FAIL_DATA, "\"shapes\" has %.64s, which is not "
			    "wanted", name);
	if (is_shape(shape, a))
		return 0;
	add_shape(&text, a);
	is = json_line(shape, JSON_ENCODE_ANY | JSON_COMPACT);
	fail(f, count_numbers(shape) < (double)external_size(a) ||
	     count_numbers(shape) > (double)external_size(a) ?
	     FAIL_PROTOCOL : FAIL_DATA, "the answer's %.64s has the shape "
	     "%.60s, where [%s] is wanted", name, is, text.data);
	free(is);
	text_release(&text);
	return -1;
}

int
answer_check_shapes(const char *line, size_t size,
		    const struct external_array *wanted, size_t wanteds,
		    struct fail *f)
{
	struct text text = { 0 };
	json_error_t error;
	json_t *answer = load(line, size, &text, &error), *shape;
	const char *name;
	int status = 0;

	json_object_foreach(json_object_get(answer, "shapes"), name, shape)
		if (status == 0)
			status = check_shape(name, shape, wanted, wanteds, f);
	json_decref(answer);
	text_release(&text);
	return status;
}

/* Return whether the answer is {} or {"shapes":{...}}. */
static bool
is_layers(const json_t *answer)
{
	const json_t *shapes = json_object_get(answer, "shapes");

	return json_object_size(answer) == (shapes ? 1 : 0) &&
		(!shapes || json_is_object(shapes));
}

enum answer
answer_read(const char *line, size_t size, struct external_answer *to,
	    struct fail *f)
{
	struct text text = { 0 };
	json_error_t why;
	json_t *answer = load(line, size, &text, &why);
	const json_t *error = json_object_get(answer, "error");
	const char *said = json_string_value(error);
	enum answer is = ANSWER_GOOD;

	*f = (struct fail){ 0 };
	if (!answer) {
		fail(f, FAIL_PROTOCOL, "not JSON: %s", why.text);
		is = ANSWER_NONE;
	} else if (!json_is_object(answer) || (error && !said) ||
		   (!to && (error ? json_object_size(answer) != 1 :
			    !is_layers(answer)))) {
		is = ANSWER_NONE;
	} else if (error) {
		fail(f, FAIL_DATA, "%s", *said ? said :
		     "the program reports an error without a text");
		is = ANSWER_REFUSED;
	} else if (to) {
		is = read_step(text.data, answer, to, f);
	}
	json_decref(answer);
	text_release(&text);
	return is;
}
