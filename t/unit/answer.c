/* The line that begins a program's answer: what it may contain, and what is
   refused. */
#include "prog/answer.h"

#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The result of a line of a step, or the text of the failure. */
static const struct {
	const char *line;
	enum answer is;
	const char *why;
} steps[] = {
	{ "{\"loss\":0.5}", ANSWER_GOOD, NULL },
	{ "{\"loss\":1,\"examples\":3}", ANSWER_GOOD, NULL },
	{ "{}", ANSWER_GOOD, NULL },
	{ "{\"loss\":1,\"metrics\":{\"hits\":[1.5,2]}}", ANSWER_GOOD, NULL },
	{ "{\"loss\": NaN}", ANSWER_GOOD, NULL },
	{ "{\"loss\": -Infinity, \"examples\": 2}", ANSWER_GOOD, NULL },
	{ "{\"error\":\"no logarithm\"}", ANSWER_REFUSED, "no logarithm" },
	{ "{\"error\":\"NaN\",\"loss\":2}", ANSWER_REFUSED, "NaN" },
	{ "{\"error\":\"\\\"NaN\",\"loss\":NaN}", ANSWER_REFUSED, "\"NaN" },
	{ "{\"error\":\"\"}", ANSWER_REFUSED,
	  "the program reports an error without a text" },
	{ "{\"error\":7}", ANSWER_NONE, NULL },
	{ "", ANSWER_NONE, NULL },
	{ "[]", ANSWER_NONE, NULL },
	{ "hello", ANSWER_NONE, NULL },
	{ "{\"loss\":1}x", ANSWER_NONE, NULL },
	{ "{\"loss\":1", ANSWER_NONE, NULL },
	{ "{\"loss\":\"1\"}", ANSWER_UNFIT, "\"loss\":\"1\" is not a number" },
	{ "{\"examples\":-1}", ANSWER_UNFIT,
	  "\"examples\":-1 is not a whole number from 0 on" },
	{ "{\"examples\":2.5}", ANSWER_UNFIT,
	  "\"examples\":2.5 is not a whole number from 0 on" },
	{ "{\"examples\":NaN}", ANSWER_UNFIT,
	  "\"examples\":null is not a whole number from 0 on" },
	{ "{\"examples\":5000000000}", ANSWER_UNFIT,
	  "\"examples\":5000000000 is not a whole number from 0 on" },
	{ "{\"metrics\":[1,2]}", ANSWER_UNFIT,
	  "\"metrics\":[1,2] is not an object" },
	{ "{\"metrics\":{\"a\":1}}", ANSWER_UNFIT,
	  "\"a\":1 in \"metrics\" is not a [SUM,WEIGHT] of finite numbers" },
	{ "{\"metrics\":{\"a\":[1]}}", ANSWER_UNFIT,
	  "\"a\":[1] in \"metrics\" is not a [SUM,WEIGHT] of finite numbers" },
	{ "{\"metrics\":{\"a\":[NaN,1]}}", ANSWER_UNFIT,
	  "\"a\":[null,1] in \"metrics\" is not a [SUM,WEIGHT] of finite "
	  "numbers" },
	{ "{\"metrics\":{\"a\":[1,-1]}}", ANSWER_UNFIT,
	  "\"a\":[1,-1] in \"metrics\" is not a [SUM,WEIGHT] of finite "
	  "numbers" },
	{ "{\"los\":1}", ANSWER_UNFIT, "\"los\":1 means nothing in an answer, "
	  "which has loss, examples, metrics, result, end and shm" },
	{ "{\"examples\":0,\"end\":true}", ANSWER_ENDED, NULL },
	{ "{\"end\":true,\"shm\":true}", ANSWER_ENDED, NULL },
	{ "{\"loss\":1,\"examples\":3,\"end\":false}", ANSWER_GOOD, NULL },
	{ "{\"end\":1}", ANSWER_UNFIT, "\"end\":1 is not true or false" },
};

static enum answer
read(const char *line, struct external_answer *a, struct fail *f)
{
	*a = (struct external_answer){ .examples = 9 };
	return answer_read(line, strlen(line), a, f);
}

static void
test_steps(void)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct external_answer a;
		struct fail f = { 0 };
		const enum answer is = read(steps[i].line, &a, &f);

		const bool good = is == steps[i].is && (!steps[i].why ||
			(f.kind == FAIL_DATA &&
			 strcmp(f.text, steps[i].why) == 0));

		if (!good)
			tap_differ(is == ANSWER_GOOD ? "it is read" : f.text,
				   steps[i].why);
		named_for(good, "the answer '%s' is %s", steps[i].line,
			  steps[i].why ? "refused" : "read");
	}
}

static void
test_values(void)
{
	struct external_answer a;
	struct fail f = { 0 };

	ok(read("{\"loss\":0.25,\"metrics\":{\"a\":[1,2],\"b\":[3,4.5]}}", &a,
		&f) == ANSWER_GOOD);
	named(a.has_loss && fabs(a.loss - .25) < 1e-12,
	      "the answer's loss is read");
	named_equals(a.examples, 9,
		     "an answer without examples leaves their number as it "
		     "was");
	named_equals(a.metrics, 2, "both metrics are read");
	named(fabs(a.metric[0].sum + a.metric[1].sum - 4) < 1e-12 &&
	      fabs(a.metric[0].weight + a.metric[1].weight - 6.5) < 1e-12,
	      "sums and weights of the metrics are read");
	ok(read("{}", &a, &f) == ANSWER_GOOD && !a.has_loss);
	ok(read("{\"loss\":NaN}", &a, &f) == ANSWER_GOOD && a.has_loss &&
	   isnan(a.loss));
	ok(read("{\"loss\":null}", &a, &f) == ANSWER_GOOD && isnan(a.loss));
	ok(read("{\"examples\":3.0}", &a, &f) == ANSWER_GOOD &&
	   a.examples == 3);
}

/* A result is kept as it was written, except for characters that would break or
   hide a line. */
static void
test_result(void)
{
	static const struct {
		const char *line, *result;
	} all[] = {
		{ "{\"loss\":1}", "" },
		{ "{\"loss\":1,\"result\":0.10}", "0.10" },
		{ "{\"result\":null,\"loss\":1}", "null" },
		{ "{\"result\": {\"a\": [1, \"}\\\"\"]} ,\"loss\":1}",
		  "{\"a\": [1, \"}\\\"\"]}" },
		{ "{\"result\":[1,\t2],\"loss\":1}", "[1, 2]" },
		{ "{\"result\":[NaN],\"loss\":NaN}", "[null]" },
		{ "{\"result\":\"a\\u0000b\"}", "\"a\\u0000b\"" },
		{ "{\"examples\":3,\"result\":18446744073709551616}",
		  "18446744073709551616" },
		{ "{\"result\":\"a\xc2\x9b\",\"loss\":1}",
		  "\"a\\u009b\"" },
		{ "{\"re\\u0073ult\":7,\"loss\":1}", "7" },
	};
	struct external_answer a = { 0 };
	struct fail f = { 0 };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const bool good = answer_read(all[i].line, strlen(all[i].line),
					      &a, &f) == ANSWER_GOOD &&
			strcmp(a.result.size ? a.result.data : "",
			       all[i].result) == 0;

		if (!good)
			tap_differ(a.result.size ? a.result.data : "",
				   all[i].result);
		named_for(good, "the result of the answer %s is '%s'",
			  all[i].line, all[i].result);
		text_reset(&a.result);
	}
	text_release(&a.result);
}

static void
test_large_result(void)
{
	struct external_answer a = { 0 };
	struct text line = { 0 };
	struct fail f = { 0 };

	text_add(&line, "{\"loss\":1,\"result\":\"");
	while (line.size < ANSWER_RESULT + 20)
		text_add(&line, "0123456789");
	text_add(&line, "\"}");
	named(answer_read(line.data, line.size, &a, &f) == ANSWER_UNFIT &&
	      strstr(f.text, " bytes, more than 1048576"),
	      "an answer with a result of more than 1 MiB is refused");
	text_release(&line);
	text_release(&a.result);
}

/* A metric's name that is too long for a model overflows no buffer. */
static void
test_sizes(void)
{
	struct external_answer a;
	struct fail f = { 0 };
	char line[4096] = "{\"metrics\":{";
	size_t n = strlen(line);

	for (int i = 0; i <= EXTERNAL_METRICS; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n,
				      "%s\"m%d\":[1,1]", i ? "," : "", i);
	snprintf(line + n, sizeof(line) - n, "}}");
	named_equals(read(line, &a, &f), ANSWER_UNFIT,
		     "an answer with too many metrics is refused");
	snprintf(line, sizeof(line), "{\"metrics\":{\"%064d\":[1,1]}}", 7);
	named_equals(read(line, &a, &f), ANSWER_UNFIT,
		     "a metric's name that is too long is refused");
}

static void
test_layers(void)
{
	struct fail f = { 0 };

	ok(answer_read("{}", 2, NULL, &f) == ANSWER_GOOD);
	ok(answer_read("{\"loss\":1}", 10, NULL, &f) == ANSWER_NONE);
	ok(answer_read("{\"error\":\"no\"}", 14, NULL, &f) == ANSWER_REFUSED);
	equals(f.text, "no");
	ok(answer_read("{\"error\":\"no\",\"a\":1}", 20, NULL, &f) ==
	   ANSWER_NONE);
	ok(answer_read("{\"shapes\":{}}", 13, NULL, &f) == ANSWER_GOOD);
	ok(answer_read("{\"shapes\":[]}", 13, NULL, &f) == ANSWER_NONE);
	ok(answer_read("{\"shapes\":{},\"a\":1}", 19, NULL, &f) ==
	   ANSWER_NONE);
}

/* Reads the shapes of W, which must be 4 x 1, and of y, for two examples. */
static bool
shapes(const char *text, enum fail_kind kind, const char *why)
{
	const struct external_array wanted[] = {
		{ .name = "W", .shape = { 2, { 4, 1 } } },
		{ .name = "y", .examples = 2, .shape = { 1, { 3 } } }
	};
	char line[200];
	struct fail f = { 0 };
	int status;

	snprintf(line, sizeof(line), "{\"shapes\":{%s}}", text);
	status = answer_check_shapes(line, strlen(line), wanted, 2, &f);
	if (f.kind != kind || strcmp(f.text, why) != 0)
		tap_differ(f.text, why);
	return f.kind == kind && (status < 0) == (kind != 0) &&
		strcmp(f.text, why) == 0;
}

static void
test_shapes(void)
{
	ok(shapes("", 0, ""));
	ok(shapes("\"W\":[4,1],\"y\":[2,3]", 0, ""));
	ok(shapes("\"W\":[1,4]", FAIL_DATA, "the answer's W has the shape "
		  "[1,4], where [4,1] is wanted"));
	ok(shapes("\"W\":[4]", FAIL_DATA, "the answer's W has the shape [4], "
		  "where [4,1] is wanted"));
	ok(shapes("\"y\":[3]", FAIL_PROTOCOL, "the answer's y has the shape "
		  "[3], where [2,3] is wanted"));
	ok(shapes("\"y\":[2.0,3]", FAIL_PROTOCOL, "the answer's y has the "
		  "shape [2.0,3], where [2,3] is wanted"));
	ok(shapes("\"y\":\"[2,3]\"", FAIL_PROTOCOL, "the answer's y has the "
		  "shape \"[2,3]\", where [2,3] is wanted"));
	ok(shapes("\"b\":[1]", FAIL_DATA,
		  "\"shapes\" has b, which is not wanted"));
}

int
main(void)
{
	test_steps();
	test_values();
	test_result();
	test_large_result();
	test_sizes();
	test_layers();
	test_shapes();
	return tap_done();
}
