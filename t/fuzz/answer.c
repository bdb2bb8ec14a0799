/* A line of a program is an answer or not, and the numbers of an answer are in
   bounds. */
#include "prog/answer.h"

#include "fuzz.h"

#include <math.h>

int
fuzz_one(const uint8_t *data, size_t size)
{
	static const struct external_array wanted[] = {
		{ .name = "W", .shape = { 2, { 4, 1 } } },
		{ .name = "y", .examples = 2, .shape = { 0 } }
	};
	struct external_answer a = { .examples = 5 };
	struct fail f = { 0 };
	const char *line = (const char *)data;

	switch (answer_read(line, size, &a, &f)) {
	case ANSWER_GOOD:
		FUZZ_CHECK(a.examples <= (uint64_t)1 << 32);
		FUZZ_CHECK(a.metrics <= EXTERNAL_METRICS);
		for (size_t i = 0; i < a.metrics; i++)
			FUZZ_CHECK(isfinite(a.metric[i].sum) &&
				   a.metric[i].weight >= 0);
		FUZZ_CHECK(a.result.size <= ANSWER_RESULT);
		for (size_t i = 0; i < a.result.size; i++)
			FUZZ_CHECK((unsigned char)a.result.data[i] >= ' ');
		break;
	case ANSWER_UNFIT:
	case ANSWER_REFUSED:
		FUZZ_CHECK(f.kind == FAIL_DATA);
		break;
	default:
		break;
	}
	text_release(&a.result);
	if (answer_read(line, size, NULL, &f) == ANSWER_GOOD)
		FUZZ_CHECK(answer_check_shapes(line, size, wanted, 2, &f) ==
			   0 || f.kind == FAIL_DATA ||
			   f.kind == FAIL_PROTOCOL);
	return 0;
}
