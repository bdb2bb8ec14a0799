/* A misspelt name is answered with the name that was probably meant. */
#include "base/choices.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "adam", "adamax", "adagrad", "sgd", "lr",
				     "x", "learning_rate" };

static const char *
asked(const char *word)
{
	static struct fail f;
	struct choices c = { .word = word };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		choices_add(&c, names[i]);
	choices_fail(&c, FAIL_DATA, &f, "%s", "");
	return f.text;
}

static void
test_nearest(void)
{
	static const struct {
		const char *word, *question;
	} cases[] = {
		{ "adm", "; did you mean adam?" },
		{ "aadm", "; did you mean adam?" },	/* swapped */
		{ "adamx", "; did you mean adam?" },	/* the first */
		{ "adammax", "; did you mean adamax?" },
		{ "adagrat", "; did you mean adagrad?" },
		{ "sdg", "; did you mean sgd?" },
		{ "rl", "; did you mean lr?" },
		{ "lerning_rat", "; did you mean learning_rate?" },
		{ "learningrate", "; did you mean learning_rate?" },
		{ "lrning_rte", "; did you mean learning_rate?" },
		{ "LR", "; did you mean lr?" },
		{ "AdaGrad", "; did you mean adagrad?" },
		{ "LearningRate", "; did you mean learning_rate?" },
		{ "rate", "" },
		{ "momentum", "" },
		{ "y", "" },		/* any letter is near another one */
		{ "", "" },
		{ "ad", "" },
		{ "a_word_of_more_letters_than_any_name_that_there_is_has",
		  "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		named_for(strcmp(asked(cases[i].word), cases[i].question) == 0,
			  "the unknown name '%s' is answered by '%s'",
			  cases[i].word, cases[i].question);
}

static void
test_refusal(void)
{
	struct choices c = { .word = "adm" };
	struct fail f;

	choices_add(&c, "adam");
	choices_add(&c, "sgd");
	ok(choices_refuse(&c, FAIL_CONFIG, "m:3", "optimizer", &f) == -1 &&
	   f.kind == FAIL_CONFIG && strcmp(f.text, "m:3: unknown optimizer "
	   "'adm', there are: adam sgd; did you mean adam?") == 0);
	c = (struct choices){ .word = "adm" };
	ok(choices_refuse(&c, FAIL_USAGE, NULL, "thing", &f) == -1 &&
	   strcmp(f.text, "unknown thing 'adm'") == 0);
}

int
main(void)
{
	test_nearest();
	test_refusal();
	return tap_done();
}
