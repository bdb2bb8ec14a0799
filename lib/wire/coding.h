/*
 * coding - which codec each variable has, in which direction, and when.
 *
 * A user says it in rules, --push and --pull; the coordinator works out what
 * they come to for each variable of the model, and PLAN carries that.  Of what
 * is told of a step everybody then knows how it travels.
 */
#ifndef PS_CODING_H
#define PS_CODING_H

#include "base/fail.h"
#include "tensor/variable.h"
#include "wire/codec.h"
#include "wire/pack.h"

enum way { WAY_PUSH, WAY_PULL, WAYS };

/* A variable's, in one direction. */
struct coding {
	const struct codec *codec;	/* never NULL */
	uint64_t keep;		/* as in struct codec_slice */
	bool delta;		/* for what has changed since an earlier pull;
				   all of it travels as floats */
	uint64_t from;		/* exact in the steps before this one */
};

/* Those of all variables of a model. */
struct codings {
	size_t variables;
	struct coding (*of)[WAYS];
	struct codings *older;	/* the owner's, of what came before these */
};

/* Of the variables' slices; float32 for each. */
struct codings *codings_new(size_t variables);
void codings_free(struct codings *);		/* with all older ones */

/* How something of a step travels. */
struct encoding {
	const struct codings *codings;	/* NULL: as floats */
	uint64_t step;
};

static inline const struct codec *
encoding_codec(struct encoding e, size_t variable, struct codec_slice s)
{
	const struct coding *c = !e.codings ? NULL :
		&e.codings->of[variable][s.pulled ? WAY_PULL : WAY_PUSH];

	return !c || e.step < c->from || c->delta ? &codec_float32 :
		codec_for(c->codec, s);
}

/* A variable whose differences are pulled is cut at multiples of this number of
   elements, which is a multiple of each codec's block. */
#define CODING_BLOCK	((size_t)1024)

/* The coding of a variable whose differences are pulled; or NULL. */
static inline const struct coding *
coding_delta(const struct codings *c, size_t variable)
{
	const struct coding *one = &c->of[variable][WAY_PULL];

	return one->delta ? one : NULL;
}

static inline size_t
encoding_bytes(struct encoding e, size_t variable, struct codec_slice s)
{
	return encoding_codec(e, variable, s)->size(s);
}

/*
 * Rules: the head of a list is for the variables that no pattern matches,
 * those behind it have patterns, and the first that matches counts.
 */
struct coding_rule {
	const struct codec *codec;	/* NULL: float32 */
	uint64_t keep;
	bool delta;
	uint64_t from;
	const char *pattern;		/* borrowed; NULL: any */
	const char *option, *text;	/* that say it; borrowed */
	bool both;			/* there is one for the other way */
	struct coding_rule *next;
};

/*
 * Add what the text of an option says, "CODEC[:P][,from=STEP][@PATTERN]", CODEC
 * perhaps behind "delta:": without a pattern it takes the place of the head.
 * FAIL_CONFIG: it says nothing.
 */
int coding_add(struct coding_rule *head, const char *option, const char *text,
	       bool both, struct fail *);
void coding_release(struct coding_rule *head);

/* FAIL_CONFIG: a rule has no variable that is sent by it, and why. */
int coding_check(const struct coding_rule *head, enum way,
		 const struct variable *, size_t variables, struct fail *);

/* true: the rule's pattern also names a large variable that its codec cannot
   code; the failure says which. */
bool coding_doubt(const struct coding_rule *head, const struct coding_rule *,
		  enum way, const struct variable *, size_t variables,
		  struct fail *);

/*
 * What the rules come to: what no codec makes smaller, or what is too delicate,
 * has float32, whatever is asked.
 */
void codings_make(struct codings *, enum way, const struct coding_rule *head,
		  const struct variable *);

/* Does all of it travel as floats, whatever the step? */
bool codings_exact(const struct codings *);
bool codings_same(const struct codings *, const struct codings *);

/* Does a rule have differences pulled? */
bool coding_has_delta(const struct coding_rule *head);

/* Rows of each variable that are not to be cut apart; free them. */
size_t *codings_groups(const struct codings *, const struct variable *);

/* What a variable's rows, of a table, or elements are to a codec. */
struct codec_slice coding_slice(const struct variable *, size_t rows);

/*
 * As PLAN has them: an array of [variable, way, codec, keep, delta, from] for
 * those that have another one than float32, in order.  false: malformed, or
 * nothing that codings_make() makes.
 */
void codings_write(struct pack *, const struct codings *);
bool codings_read(struct unpack *, struct codings *, const struct variable *);

#endif
