/*
 * coding - which codec each variable has, in which direction, from which step
 * on.
 *
 * The user gives rules, --push and --pull.  The coordinator applies them to
 * each variable of the model, and PLAN carries the result.  So each peer knows
 * how the values and gradients of a step travel.
 */
#ifndef PS_CODING_H
#define PS_CODING_H

#include "base/fail.h"
#include "tensor/variable.h"
#include "wire/codec.h"
#include "wire/pack.h"

enum way { WAY_PUSH, WAY_PULL, WAYS };

/* How a variable travels in one direction. */
struct coding {
	const struct codec *codec;	/* never NULL */
	uint64_t keep;		/* as in struct codec_slice */
	bool delta;		/* the codec is for the differences since an
				   earlier pull; a whole copy travels as
				   floats */
	uint64_t from;		/* as floats in the steps before this one */
};

/* The codings of all variables of a model. */
struct codings {
	size_t variables;
	struct coding (*of)[WAYS];
	struct codings *older;	/* earlier codings that can still arrive;
				   owned */
};

/* Returns codings of float32 for all variables; free them with codings_free(),
   which frees all older ones, too. */
struct codings *codings_new(size_t variables);
void codings_free(struct codings *);

/* How the values or the gradient of a step travel. */
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

/* The coding of a variable whose differences are pulled; NULL: it is pulled
   whole. */
static inline const struct coding *
coding_delta(const struct codings *c, size_t variable)
{
	const struct coding *one = &c->of[variable][WAY_PULL];

	return one->delta ? one : NULL;
}

/* The bytes of an encoded slice, at most. */
static inline size_t
encoding_most(struct encoding e, size_t variable, struct codec_slice s)
{
	if (e.codings)
		s.keep = e.codings->of[variable][s.pulled ? WAY_PULL :
						 WAY_PUSH].keep;
	return codec_most(encoding_codec(e, variable, s), s);
}

/*
 * A rule of --push or --pull, in a list.  The head is for the variables that no
 * pattern matches; those behind it have patterns, and the first one that
 * matches a variable counts.
 */
struct coding_rule {
	const struct codec *codec;	/* NULL: float32 */
	uint64_t keep;
	bool delta;
	uint64_t from;
	const char *pattern;		/* borrowed; NULL: any */
	const char *option, *text;	/* where it stands, for messages;
					   borrowed */
	bool both;			/* one option gave it for both
					   directions */
	struct coding_rule *next;
};

/*
 * Add the rule of an option's text, "[delta:]CODEC[:P][,from=STEP][@PATTERN]".
 * A rule without a pattern replaces the head.  both: the option is for both
 * directions.  FAIL_CONFIG: the text is not a rule.  The texts are borrowed.
 */
int coding_add(struct coding_rule *head, const char *option, const char *text,
	       bool both, struct fail *);
void coding_release(struct coding_rule *head);

/* Check that each rule codes some variable.  FAIL_CONFIG: one does not, and
   why. */
int coding_check(const struct coding_rule *head, enum way,
		 const struct variable *, size_t variables, struct fail *);

/* Does the rule's pattern also name a large variable that its codec cannot
   code?  If so, *fail says which: a warning. */
bool coding_check_pattern(const struct coding_rule *head,
			  const struct coding_rule *, enum way,
			  const struct variable *, size_t variables,
			  struct fail *);

/*
 * Apply the rules to each variable, in one direction.  A variable that its
 * rule's codec does not make smaller, or that is too delicate, keeps float32.
 */
void codings_make(struct codings *, enum way, const struct coding_rule *head,
		  const struct variable *);

/* Does every variable travel as floats in every step? */
bool codings_exact(const struct codings *);
bool codings_same(const struct codings *, const struct codings *);

/* Does a rule ask for pulled differences; or for gradients of which a worker
   keeps what the codec has lost?  Returns that rule; NULL: none. */
const struct coding_rule *coding_find_delta(const struct coding_rule *head);
const struct coding_rule *coding_find_residual(const struct coding_rule *head);

/* Has some variable gradients of which a worker keeps what the codec has lost,
   to be added to its next one? */
bool codings_residual(const struct codings *);

/* Returns for each variable how many neighbouring rows must not be cut apart;
   free() them. */
size_t *codings_groups(const struct codings *, const struct variable *);

/* A slice of a variable: of `rows' rows of a table, or elements of another
   variable. */
struct codec_slice coding_slice(const struct variable *, size_t rows);

/*
 * Write and read codings as PLAN has them: an array of [variable, way, codec,
 * keep, delta, from] for those that do not have float32, in order.
 * codings_read() returns false if they are malformed, or codings_make() would
 * never make them.
 */
void codings_write(struct pack *, const struct codings *);
bool codings_read(struct unpack *, struct codings *, const struct variable *);

#endif
