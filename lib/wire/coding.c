#include "wire/coding.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct codings *
codings_new(size_t variables)
{
	struct codings *c = mem_alloc(1, sizeof(*c));

	c->variables = variables;
	c->of = mem_alloc(variables, sizeof(*c->of));
	for (size_t i = 0; i < variables; i++)
		for (int way = 0; way < WAYS; way++)
			c->of[i][way].codec = &codec_float32;
	return c;
}

void
codings_free(struct codings *c)
{
	struct codings *older;

	for (; c; c = older) {
		older = c->older;
		free(c->of);
		free(c);
	}
}

/* ---- what a variable is to a codec ---- */

/* A variable of fewer bytes (less than a network's block) always travels as
   floats, as do those that a lossy codec would harm. */
#define EXACT_BYTES	4096

static bool
is_exact(const struct variable *v)
{
	return v->averaged || v->l1 > 0 || (!v->table && v->shape.rank < 2) ||
		(v->optimizer && optimizer_thresholds(v->optimizer)) ||
		(!v->hashed && shape_size(v->shape) * sizeof(float) <
		 EXACT_BYTES);
}

struct codec_slice
coding_slice(const struct variable *v, size_t rows)
{
	return (struct codec_slice){
		.rows = rows, .width = v->table ? shape_width(v->shape) : 1,
		.table = v->table, .exact = is_exact(v),
		.of = v->table ? 0 : shape_size(v->shape)
	};
}

/* The codec that a variable gets when a rule asks for this one. */
static const struct codec *
codec_of(const struct codec *codec, bool delta, enum way way,
	 const struct variable *v)
{
	struct codec_slice s = coding_slice(v, 1);

	s.pulled = way == WAY_PULL;
	s.difference = delta;
	/* Differences exist only for variables of which every round makes all
	   elements, and residuals only where a round chooses its pushes. */
	return (delta || codec->sparse) &&
		(v->table || v->async || v->unused) ?
		&codec_float32 : codec_for(codec, s);
}

/* ---- rules ---- */

/* Room for a list of all codecs' names. */
#define NAMES	128

static const char *
list_names(char names[NAMES])
{
	size_t n = 0;

	for (uint64_t i = 0; i < CODECS; i++)
		n += (size_t)snprintf(names + n, NAMES - n, "%s%s%s",
				      i == 0 ? "" : ", ",
				      codec_find(i)->name,
				      codec_find(i)->keep ? ":P" : "");
	return names;
}

static const struct codec *
find_name(const char *name)
{
	for (uint64_t i = 0; i < CODECS; i++)
		if (strcmp(codec_find(i)->name, name) == 0)
			return codec_find(i);
	return NULL;
}

/* Read "CODEC[:P]". */
static int
parse_codec(struct coding_rule *r, char *text, struct fail *f)
{
	char *argument = strchr(text, ':'), names[NAMES];
	double value;

	if (argument)
		*argument = '\0';
	r->codec = find_name(text);
	if (argument)
		*argument = ':';
	if (!r->codec || (argument && !r->codec->keep))
		return fail(f, FAIL_CONFIG, "'%s' is none of %s", text,
			    list_names(names));
	if (!r->codec->keep)
		return 0;
	r->keep = argument && text_double(argument + 1, &value) ?
		r->codec->keep(value) : 0;
	return r->keep > 0 ? 0 :
		fail(f, FAIL_CONFIG, "'%s' has no P from 0.001 to 0.5, the "
		     "share of the numbers that are sent, as %s:0.01", text,
		     r->codec->name);
}

#define DELTA	"delta:"

/* Read "[delta:]CODEC[:P][,from=STEP]"; the text is modified. */
static int
parse(struct coding_rule *r, char *text, struct fail *f)
{
	char *comma = strchr(text, ',');

	if (comma)
		*comma++ = '\0';
	r->delta = strncmp(text, DELTA, strlen(DELTA)) == 0;
	if (r->delta)
		text += strlen(DELTA);
	if (parse_codec(r, text, f) < 0)
		return -1;
	if (r->codec->sparse && !r->delta &&
	    strcmp(r->option, "--push") != 0)
		return fail(f, FAIL_CONFIG, "'%s' is for gradients and for "
			    "what rounds change: --push=%s, or --pull=" DELTA
			    "%s, with --mode=sync", text, text, text);
	if (r->delta && r->codec->exact)
		return fail(f, FAIL_CONFIG, "'" DELTA "%s': differences in "
			    "float32 are as large as values", text);
	if (r->delta && strcmp(r->option, "--pull") != 0)
		return fail(f, FAIL_CONFIG, "'" DELTA "%s' is for --pull "
			    "alone: a gradient is not a difference", text);
	if (comma && (strncmp(comma, "from=", 5) != 0 ||
		      !text_uint(comma + 5, &r->from)))
		return fail(f, FAIL_CONFIG, "'%s' is not from=STEP, the first "
			    "step that %s is for", comma, text);
	return 0;
}

int
coding_add(struct coding_rule *head, const char *option, const char *text,
	   bool both, struct fail *f)
{
	const char *at = strchr(text, '@');
	char *copy = at ? mem_text_n(text, (size_t)(at - text)) :
		mem_text(text);
	struct coding_rule found = { .pattern = at ? at + 1 : NULL,
				     .option = option, .text = text,
				     .both = both };
	struct coding_rule *last = head;
	const int status = at && !at[1] ?
		fail(f, FAIL_CONFIG, "'%s' has no pattern behind its @",
		     text) : parse(&found, copy, f);

	free(copy);
	if (status < 0)
		return -1;
	if (!found.pattern) {
		found.next = head->next;
		*head = found;
		return 0;
	}
	while (last->next)
		last = last->next;
	last->next = mem_alloc(1, sizeof(*last));
	*last->next = found;
	return 0;
}

void
coding_release(struct coding_rule *head)
{
	struct coding_rule *next;

	for (; head->next; head->next = next) {
		next = head->next->next;
		free(head->next);
	}
}

static const struct coding_rule *
find_rule(const struct coding_rule *head, const char *name)
{
	const struct coding_rule *r = head->next;

	while (r && !text_match(r->pattern, name))
		r = r->next;
	return r ? r : head;
}

/* Say why a rule's codec cannot code the variable. */
static int
refuse(const struct coding_rule *r, const struct variable *v, struct fail *f)
{
	const char *what = r->pattern ? r->pattern : r->text;

	if (is_exact(v))
		return fail(f, FAIL_CONFIG, "%s: %s: %s has fewer than %d "
			    "bytes, is a bias or a moving average, or has l1 "
			    "or ftrl, and always travels as floats",
			    r->option, what, v->name, EXACT_BYTES);
	if (r->delta || r->codec->sparse)
		return fail(f, FAIL_CONFIG, "%s: %s: %s is a table, or waits "
			    "for no round: %s%s is not for it", r->option,
			    what, v->name, r->delta ? DELTA : "",
			    r->codec->name);
	return fail(f, FAIL_CONFIG, "%s: %s: %s is not a table: its values "
		    "cannot be pulled as %s, but as " DELTA "%s in rounds",
		    r->option, what, v->name, r->codec->name,
		    r->codec->name);
}

/* Does a rule code a variable?  A rule for both directions need code it in one
   only. */
static bool
rule_codes(const struct coding_rule *r, enum way way, const struct variable *v)
{
	return !codec_of(r->codec, r->delta, way, v)->exact ||
		(r->both && !codec_of(r->codec, false, WAY_PUSH, v)->exact);
}

/* used: the rule codes some variable.  passed_over: the first variable that it
   does not code; a small one only if a pattern names it and no large one. */
struct rule_use {
	bool used;
	const struct variable *passed_over;	/* or NULL */
};

static struct rule_use
use_of(const struct coding_rule *head, const struct coding_rule *r,
       enum way way, const struct variable *v, size_t variables)
{
	struct rule_use use = { .used = !r->codec || r->codec->exact };
	const struct variable *small = NULL;

	for (size_t i = 0; i < variables && r->codec; i++) {
		if (find_rule(head, v[i].name) != r)
			continue;
		if (rule_codes(r, way, &v[i]))
			use.used = true;
		else if (is_exact(&v[i]))
			small = small || !r->pattern ? small : &v[i];
		else if (!use.passed_over)
			use.passed_over = &v[i];
	}
	if (!use.passed_over)
		use.passed_over = small;
	return use;
}

/* Check that a pattern matches a variable that none before it matches. */
static int
check_matches(const struct coding_rule *head, const struct coding_rule *r,
	      const struct variable *v, size_t variables, struct fail *f)
{
	bool matched = false;

	for (size_t i = 0; i < variables; i++) {
		if (find_rule(head, v[i].name) == r)
			return 0;
		matched |= text_match(r->pattern, v[i].name);
	}
	return fail(f, FAIL_CONFIG, "%s: %s matches no variable%s", r->option,
		    r->pattern, matched ? " but those that patterns before it "
		    "match" : "");
}

int
coding_check(const struct coding_rule *head, enum way way,
	     const struct variable *v, size_t variables, struct fail *f)
{
	for (const struct coding_rule *r = head; r; r = r->next) {
		const struct rule_use use = use_of(head, r, way, v, variables);

		if (r->pattern &&
		    check_matches(head, r, v, variables, f) < 0)
			return -1;
		if (!use.used && use.passed_over)
			return refuse(r, use.passed_over, f);
	}
	return 0;
}

bool
coding_check_pattern(const struct coding_rule *head,
		     const struct coding_rule *r, enum way way,
		     const struct variable *v, size_t variables,
		     struct fail *f)
{
	const struct rule_use use = use_of(head, r, way, v, variables);

	if (!r->pattern || r->both || r->codec->exact || !use.passed_over ||
	    is_exact(use.passed_over))
		return false;
	refuse(r, use.passed_over, f);
	return true;
}

void
codings_make(struct codings *c, enum way way, const struct coding_rule *head,
	     const struct variable *v)
{
	for (size_t i = 0; i < c->variables; i++) {
		const struct coding_rule *r = find_rule(head, v[i].name);

		if (r->codec &&
		    !codec_of(r->codec, r->delta, way, &v[i])->exact)
			c->of[i][way] = (struct coding){
				r->codec, r->keep, r->delta, r->from
			};
	}
}

const struct coding_rule *
coding_find_delta(const struct coding_rule *head)
{
	while (head && !head->delta)
		head = head->next;
	return head;
}

const struct coding_rule *
coding_find_residual(const struct coding_rule *head)
{
	while (head && (!head->codec || !head->codec->sparse))
		head = head->next;
	return head;
}

bool
codings_residual(const struct codings *c)
{
	for (size_t i = 0; i < c->variables; i++)
		if (c->of[i][WAY_PUSH].codec->sparse)
			return true;
	return false;
}

/* ---- all of them ---- */

static size_t
gcd(size_t a, size_t b)
{
	return b == 0 ? a : gcd(b, a % b);
}

/* A server can encode a block of differences only if it has all of it.  Blocks
   are the largest of all codecs', so that a run can resume with any codec. */
size_t *
codings_groups(const struct codings *c, const struct variable *v)
{
	size_t *rows = mem_alloc(c->variables, sizeof(*rows));

	for (size_t i = 0; i < c->variables; i++) {
		const size_t block = coding_delta(c, i) ? CODING_BLOCK : 1;

		rows[i] = block / gcd(block, shape_width(v[i].shape));
	}
	return rows;
}

bool
codings_exact(const struct codings *c)
{
	for (size_t i = 0; i < c->variables; i++)
		for (int way = 0; way < WAYS; way++)
			if (!c->of[i][way].codec->exact)
				return false;
	return true;
}

bool
codings_same(const struct codings *a, const struct codings *b)
{
	for (size_t i = 0; i < a->variables; i++)
		for (int way = 0; way < WAYS; way++)
			if (a->of[i][way].codec != b->of[i][way].codec ||
			    a->of[i][way].keep != b->of[i][way].keep ||
			    a->of[i][way].delta != b->of[i][way].delta ||
			    a->of[i][way].from != b->of[i][way].from)
				return false;
	return a->variables == b->variables;
}

void
codings_write(struct pack *out, const struct codings *c)
{
	uint32_t count = 0;

	for (size_t i = 0; i < c->variables; i++)
		for (int way = 0; way < WAYS; way++)
			count += !c->of[i][way].codec->exact;
	pack_array(out, count);
	for (size_t i = 0; i < c->variables; i++)
		for (unsigned way = 0; way < WAYS; way++) {
			const struct coding *one = &c->of[i][way];

			if (one->codec->exact)
				continue;
			pack_array(out, 6);
			pack_uint(out, i);
			pack_uint(out, way);
			pack_uint(out, codec_number(one->codec));
			pack_uint(out, one->keep);
			pack_uint(out, one->delta);
			pack_uint(out, one->from);
		}
}

/* Can the codec have this keep? */
static bool
is_keep_valid(const struct coding *one)
{
	const struct codec *codec = one->codec;

	return !codec->keep ? one->keep == 0 : one->keep <= codec->block &&
		codec->keep((double)one->keep / (double)codec->block) > 0;
}

bool
codings_read(struct unpack *u, struct codings *c, const struct variable *v)
{
	const uint32_t count = unpack_array(u);
	uint64_t least = 0;	/* least variable and way of the next entry */

	u->bad = u->bad || count > WAYS * c->variables;
	for (uint32_t i = 0; i < count && !u->bad; i++) {
		uint64_t variable, way, number;
		struct coding one;

		u->bad = unpack_array(u) != 6 || u->bad;
		variable = unpack_below(u, c->variables);
		way = unpack_below(u, WAYS);
		number = unpack_below(u, CODECS);
		one.keep = unpack_uint(u);
		one.delta = unpack_below(u, way == WAY_PULL ? 2 : 1);
		one.from = unpack_uint(u);
		if (u->bad || variable * WAYS + way < least)
			return false;
		one.codec = codec_find(number);
		if (!is_keep_valid(&one) ||
		    codec_of(one.codec, one.delta, (enum way)way,
			     &v[variable])->exact)
			return false;
		c->of[variable][way] = one;
		least = variable * WAYS + way + 1;
	}
	return !u->bad;
}
