/* Rules of codecs: the first pattern that matches counts; variables that are
   too small or too sensitive stay exact; rules from a peer are checked. */
#include "wire/coding.h"

#include "base/rng.h"
#include "model_fixture.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const char model[] =
	"input  id id rows=1000\n"
	"input  x float[100]\n"
	"label  y float\n"
	"e  = embedding id dim=16\n"
	"n  = embedding id dim=4\n"
	"d  = dense x units=64\n"
	"m  = concat e n d\n"
	"p  = dense m units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam\n";

#define DENSE	2	/* d/kernel */

static struct model_fixture fixture;
static struct fail f;

static bool
says(struct coding_rule *head, const char *text)
{
	return coding_add(head, "--push", text, false, &f) == 0;
}

static const struct coding *
coding_of(const struct codings *c, const char *name, enum way way)
{
	for (size_t i = 0; i < fixture.variables; i++)
		if (strcmp(fixture.variable[i].name, name) == 0)
			return &c->of[i][way];
	return NULL;
}

static void
rules(void)
{
	struct coding_rule head = { 0 };
	struct codings *c = codings_new(fixture.variables);

	ok(says(&head, "int8@d*") && says(&head, "bfloat16,from=7@*bias") &&
	   says(&head, "float32@d/bias") && says(&head, "int8"));
	codings_make(c, WAY_PUSH, &head, fixture.variable);
	codings_make(c, WAY_PULL, &head, fixture.variable);
	named(coding_of(c, "d/kernel", WAY_PUSH)->codec == &codec_int8 &&
	      coding_of(c, "p/bias", WAY_PUSH)->codec == &codec_bfloat16 &&
	      coding_of(c, "p/bias", WAY_PUSH)->from == 7,
	      "a variable has the codec of the first rule whose pattern "
	      "matches");
	named(coding_of(c, "e/embeddings", WAY_PUSH)->codec == &codec_int8,
	      "a rule without a pattern is for variables that no pattern "
	      "matches");
	named(coding_of(c, "d/bias", WAY_PUSH)->codec == &codec_float32 &&
	      coding_of(c, "p/kernel", WAY_PUSH)->codec == &codec_float32 &&
	      coding_of(c, "d/kernel", WAY_PULL)->codec == &codec_float32,
	      "variables that a codec does not suit travel as floats");
	ok(says(&head, "float32"));
	named(coding_check(&head, WAY_PUSH, fixture.variable,
			   fixture.variables, &f) < 0 &&
	      strstr(f.text, "d/bias matches no variable but those"),
	      "a pattern whose variables all match an earlier rule is "
	      "refused");
	codings_free(c);
	coding_release(&head);
}

static void
steps(void)
{
	struct coding_rule head = { 0 };
	struct codings *c = codings_new(fixture.variables);
	struct codec_slice s;

	ok(says(&head, "int8,from=7"));
	codings_make(c, WAY_PUSH, &head, fixture.variable);
	s = coding_slice(&fixture.variable[0], 5);
	named(encoding_codec((struct encoding){ c, 6 }, 0, s) ==
	      &codec_float32 &&
	      encoding_codec((struct encoding){ c, 7 }, 0, s) == &codec_int8,
	      "steps before from= travel as floats");
	ok(encoding_codec((struct encoding){ NULL, 9 }, 0, s) ==
	   &codec_float32);
	codings_free(c);
}

/* The groups in which a variable is encoded if differences are pulled. */
static void
groups(void)
{
	struct coding_rule head = { 0 };
	struct codings *c = codings_new(fixture.variables);
	size_t *rows;

	ok(coding_add(&head, "--pull", "delta:int8", false, &f) == 0 &&
	   coding_find_delta(&head) == &head);
	codings_make(c, WAY_PULL, &head, fixture.variable);
	rows = codings_groups(c, fixture.variable);
	named(coding_delta(c, DENSE) && rows[DENSE] == 16 &&
	      !coding_delta(c, 0) && rows[0] == 1,
	      "a dense variable travels as differences, a table does not");
	free(rows);
	named(coding_add(&head, "--push", "delta:int8", false, &f) < 0 &&
	      strstr(f.text, "is for --pull alone"),
	      "--push refuses delta, which is for values");
	ok(coding_add(&head, "--pull", "delta:float32", false, &f) < 0);
	codings_free(c);
}

static bool
reads(const struct pack *p, size_t size, struct codings *c)
{
	struct unpack u = unpack_from(p->data, size);

	return codings_read(&u, c, fixture.variable) && unpack_ok(&u);
}

/* Is a kept entry with this content accepted? */
static bool
reads_kept(uint64_t variable, uint64_t way, const struct codec *codec,
	   uint64_t keep, uint64_t delta, uint64_t from)
{
	struct codings *c = codings_new(fixture.variables);
	struct pack p = { 0 };
	bool good;

	pack_array(&p, 1);
	pack_array(&p, 6);
	pack_uint(&p, variable);
	pack_uint(&p, way);
	pack_uint(&p, codec ? codec_number(codec) : CODECS);
	pack_uint(&p, keep);
	pack_uint(&p, delta);
	pack_uint(&p, from);
	good = reads(&p, p.size, c);
	pack_release(&p);
	codings_free(c);
	return good;
}

static bool
reads_one(uint64_t variable, uint64_t way, const struct codec *codec,
	  uint64_t delta, uint64_t from)
{
	return reads_kept(variable, way, codec, 0, delta, from);
}

static void
travels(void)
{
	struct coding_rule head = { 0 };
	struct codings *c = codings_new(fixture.variables);
	struct codings *read = codings_new(fixture.variables);
	struct pack p = { 0 };
	bool cut = true;

	ok(says(&head, "int8,from=300") && says(&head, "bfloat16@n*"));
	codings_make(c, WAY_PUSH, &head, fixture.variable);
	ok(coding_add(&head, "--pull", "delta:topk:0.25@d*", false, &f) == 0);
	codings_make(c, WAY_PULL, &head, fixture.variable);
	named_equals(coding_of(c, "d/kernel", WAY_PULL)->keep, 256,
		     "topk:0.25 keeps 256 numbers of each block of 1024");
	codings_write(&p, c);
	named(reads(&p, p.size, read) && codings_same(c, read) &&
	      !codings_exact(read),
	      "codings are read back as they were written");
	for (size_t i = 0; i < p.size; i++) {
		struct codings *some = codings_new(fixture.variables);

		cut = cut && !reads(&p, i, some);
		codings_free(some);
	}
	named(cut, "codings that are cut short are refused");
	ok(reads_one(DENSE, WAY_PULL, &codec_int8, 1, 0) &&
	   !reads_one(DENSE, WAY_PULL, &codec_int8, 0, 0));
	named(!reads(&p, p.size, c) || codings_same(c, read),
	      "reading the same codings again changes nothing");
	ok(reads_one(0, WAY_PUSH, &codec_int8, 0, UINT64_MAX));
	named(!reads_one(0, WAY_PUSH, &codec_float32, 0, 0) &&
	      !reads_one(0, WAYS, &codec_int8, 0, 0) &&
	      !reads_one(fixture.variables, 0, &codec_int8, 0,
			 0) && !reads_one(0, WAY_PUSH, NULL, 0, 0) &&
	      !reads_one(0, WAY_PULL, &codec_int8, 1, 0) &&
	      !reads_one(DENSE, WAY_PUSH, &codec_int8, 1, 0) &&
	      !reads_one(DENSE, WAY_PULL, &codec_float32, 1, 0),
	      "codings that no options can make are refused");
	ok(reads_one(DENSE, WAY_PULL, &codec_onebit, 1, 9) &&
	   reads_kept(DENSE, WAY_PULL, &codec_topk, 1, 1, 9) &&
	   reads_kept(DENSE, WAY_PULL, &codec_topk, 512, 1, 9));
	named(!reads_one(DENSE, WAY_PULL, &codec_onebit, 0, 0) &&
	      !reads_one(0, WAY_PUSH, &codec_onebit, 0, 0) &&
	      !reads_one(0, WAY_PULL, &codec_onebit, 1, 0),
	      "onebit is refused for tables, and for values that are not "
	      "differences");
	named(reads_one(DENSE, WAY_PUSH, &codec_onebit, 0, 0) &&
	      reads_kept(DENSE, WAY_PUSH, &codec_topk, 7, 0, 0),
	      "onebit and topk are accepted for gradients of dense variables");
	named(!reads_kept(DENSE, WAY_PULL, &codec_onebit, 1, 1, 0) &&
	      !reads_kept(DENSE, WAY_PULL, &codec_topk, 0, 1, 0) &&
	      !reads_kept(DENSE, WAY_PULL, &codec_topk, 513, 1, 0) &&
	      !reads_kept(DENSE, WAY_PULL, &codec_topk, UINT64_MAX, 1, 0),
	      "the number that a codec keeps of a block must be from 1 to "
	      "512, for topk alone");
	pack_release(&p);
	codings_free(c);
	codings_free(read);
	coding_release(&head);
}

int
main(void)
{
	fixture_begin(&fixture, model);
	rules();
	steps();
	groups();
	travels();
	fixture_end(&fixture);
	return tap_done();
}
