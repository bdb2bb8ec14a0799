/* ${name} in a model is replaced by the value on the command line; errors name
   the line. */
#include "model/definitions.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT	((size_t)1000)

/* Returns the text with these definitions (NULL after the last), or the
   error. */
static const char *
expanded(const char *text, const char *const *define)
{
	static char result[2 * LIMIT];
	struct definitions d = { 0 };
	struct text out = { 0 };
	struct fail f;
	bool bad = false;

	for (; *define && !bad; define++)
		bad = definitions_add(&d, *define, &f) < 0;
	bad = bad || definitions_expand(&d, "m.ps", text, strlen(text), LIMIT,
					&out, &f) < 0;
	snprintf(result, sizeof(result), "%s", bad ? f.text :
		 out.data ? out.data : "");
	if (bad && f.kind != FAIL_CONFIG)
		printf("# of kind %d\n", f.kind);
	definitions_release(&d);
	text_release(&out);
	return result;
}

#define is(result, text, ...) \
	named_for(strcmp(expanded(text, (const char *const[]){ __VA_ARGS__ }), \
			 result) == 0, "'%s' gives '%s'", text, result)

static void
values_take_the_places_of_names(void)
{
	is("", "", NULL);
	is("rate=0.1\n", "rate=${r}\n", "r=0.1", NULL);
	is("a=1=2 b= c=1=2", "a=${x} b=${_Y9} c=${x}", "x=1=2", "_Y9=", NULL);
	is("adam rate=1 epsilon=2", "${o} ${o2}", "o=adam rate=1",
	   "o2=epsilon=2", NULL);
	is("$ $x {x} $}", "$ $x {x} $}", NULL);
	named(strcmp(expanded("$${x} $$${x} ${x}", (const char *const[]){
			"x=y", NULL }), "${x} $${x} y") == 0,
	      "$${ gives ${ without a value");
	is("${y} ${y}", "${x} $${y}", "x=${y}", NULL);
}

static void
comments_are_left_alone(void)
{
	is("# ${no} \" $${\na#b \"# 1\" # ${no}",
	   "# ${no} \" $${\na#b \"# ${x}\" # ${no}", "x=1", NULL);
	is("a \"open\n# ${no}\n1", "a \"open\n# ${no}\n${x}", "x=1", NULL);
	is("a#1", "a#${x}", "x=1", NULL);
}

static void
what_is_not_quite_that_is_refused(void)
{
	is("m.ps:3: ${rate} is not defined: say -D rate=VALUE",
	   "\n# x\n ${rate}", "rates=1", NULL);
	is("-D rates: there is no ${rates} in m.ps", "${rate}", "rate=1",
	   "rates=1", NULL);
	is("-D x: there is no ${x} in m.ps", "# ${x}\n$${x}", "x=1", NULL);
	is("m.ps:1: a ${ without a name and a } behind it; $${ is a plain ${",
	   "${", NULL);
	is(expanded("${a", (const char *const[]){ "a=1", NULL }), "${}", NULL);
	is("m.ps:2: a ${ without a name and a } behind it; $${ is a plain ${",
	   "\n${a:-1}", "a=1", NULL);
	is("'1a' is not a name of letters, digits and _, which begins with no "
	   "digit", "", "1a=1", NULL);
	is("'' is not a name of letters, digits and _, which begins with no "
	   "digit", "", "=1", NULL);
	is("'a' is not NAME=VALUE", "", "a", NULL);
	is("a has a value already", "${a}", "a=1", "a=1", NULL);
	is("the value of a is not one line", "${a}", "a=1\n2", NULL);
}

static void
no_more_is_made_than_a_model_may_have(void)
{
	char define[600] = "x=";
	const char *const list[] = { define, NULL };

	memset(define + 2, 'y', 500);
	ok(strlen(expanded("${x}${x}", list)) == LIMIT);
	ok(strcmp(expanded("${x}${x}z", list),
		  "m.ps is larger than 1000 bytes") == 0);
}

/* Any bytes are read to their end, and not beyond it. */
static void
any_bytes_come_to_an_end(void)
{
	static const char some[] = "${}ax \n#\"\t$";
	struct rng r = { .seed = 1 };
	size_t taken = 0;

	for (size_t i = 0; i < 20000; i++) {
		const size_t size = rng_below(&r, 12);
		char *text = mem_alloc(size + 1, 1);
		struct definitions d = { 0 };
		struct text out = { 0 };
		struct fail f;

		for (size_t k = 0; k < size; k++)
			text[k] = some[rng_below(&r, sizeof(some))];
		if (i % 2 == 0)
			definitions_add(&d, "a=1", &f);
		taken += definitions_expand(&d, "m.ps", text, size, LIMIT, &out,
					    &f) == 0;
		text_release(&out);
		definitions_release(&d);
		free(text);
	}
	printf("# %zu of 20000 were taken\n", taken);
	ok(taken > 1000 && taken < 19000);
}

int
main(void)
{
	values_take_the_places_of_names();
	comments_are_left_alone();
	what_is_not_quite_that_is_refused();
	no_more_is_made_than_a_model_may_have();
	any_bytes_come_to_an_end();
	return tap_done();
}
