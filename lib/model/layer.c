#include "model/layer.h"

#include "base/choices.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/parse.h"
#include "tensor/kernels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM	((uint64_t)1 << 20)	/* floats of a row, at most */

int
node_wants_floats(const struct node *n, struct fail *f)
{
	for (size_t i = 0; i < n->ins; i++)
		if (node_ids(n->in[i]))
			return fail(f, FAIL_CONFIG, "%s: %s: %s takes floats, "
				    "but %s holds ids; put an embedding "
				    "between", n->where, n->name, n->kind,
				    n->in[i]->name);
	return 0;
}

int
node_wants_ids(const struct node *n, struct fail *f)
{
	for (size_t i = 0; i < n->ins; i++)
		if (!node_ids(n->in[i]))
			return fail(f, FAIL_CONFIG, "%s: %s: %s takes ids (an "
				    "input of kind id, string or sparse), but "
				    "%s holds floats", n->where, n->name,
				    n->kind, n->in[i]->name);
	return 0;
}

int
node_wants_same_shapes(const struct node *n, struct fail *f)
{
	for (size_t i = 1; i < n->ins; i++) {
		char a[SHAPE_TEXT], b[SHAPE_TEXT];

		if (!shape_equal(n->in[0]->shape, n->in[i]->shape))
			return fail(f, FAIL_CONFIG, "%s: %s: %s takes inputs "
				    "of one shape, but %s is %s and %s is %s",
				    n->where, n->name, n->kind,
				    n->in[0]->name,
				    shape_text(n->in[0]->shape, a),
				    n->in[i]->name,
				    shape_text(n->in[i]->shape, b));
	}
	return 0;
}

int
node_axis(const struct node *n, struct settings *s, int *axis,
	  struct fail *f)
{
	const struct shape shape = n->in[0]->shape;
	const char *text = settings_text(s, "axis");
	char dims[SHAPE_TEXT];

	if (text) {
		char *end;
		const long value = strtol(text, &end, 10);

		*axis = end == text || *end || value < -99 || value > 99 ?
			0 : (int)value;
	}
	const int from_0 = *axis < 0 ? *axis + shape.rank : *axis - 1;

	if (*axis == 0 || from_0 < 0 || from_0 >= shape.rank)
		return fail(f, FAIL_CONFIG, "%s: %s: axis=%s is none of %s, "
			    "which is %s: its axes are 1 to %d, or -1 from "
			    "the last (0 is the batch)", n->where, n->name,
			    text ? text : "1", n->in[0]->name,
			    shape_text(shape, dims), shape.rank);
	*axis = from_0;
	return 0;
}

int
node_missing(const struct node *n, const struct settings *s, const char *key,
	     struct fail *f)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < s->count && !wrong; i++) {
		struct choices near = { .word = s->list[i].key };

		choices_add(&near, key);
		if (near.nearest && !s->list[i].used)
			wrong = s->list[i].key;
		choices_release(&near);
	}
	if (!wrong)
		return fail(f, FAIL_CONFIG, "%s: %s: %s= is missing",
			    n->where, n->name, key);
	return fail(f, FAIL_CONFIG, "%s: %s: %s= is missing; unknown setting "
		    "%s, did you mean %s?", n->where, n->name, key, wrong,
		    key);
}

int
node_shape(struct node *n, const char *key, struct settings *s,
	   struct fail *f)
{
	const char *text = settings_text(s, key);

	if (!text)
		return node_missing(n, s, key, f);
	if (parse_shape(text, &n->shape) && n->shape.rank > 0)
		return 0;
	return fail(f, FAIL_CONFIG, "%s: %s: %s=%s is not like [3,4]",
		    n->where, n->name, key, text);
}

/*
 * Read "l1:A", "l2:A" or "l1_l2:A:B"; a number left out is Keras's .01.  Return
 * false for any other text.
 */
static bool
regularizer(char *text, struct variable *v)
{
	size_t count;
	char **part = text_split(text, ':', &count);
	const bool both = count > 0 && strcmp(part[0], "l1_l2") == 0;
	const bool l1 = both || (count > 0 && strcmp(part[0], "l1") == 0);
	const bool l2 = both || (count > 0 && strcmp(part[0], "l2") == 0);
	float number[2] = { .01f, .01f };
	bool good = (l1 || l2) && count <= (both ? 3 : 2);

	for (size_t i = 1; good && i < count; i++)
		good = text_float(part[i], &number[i - 1]) &&
		       number[i - 1] >= 0;
	v->l1 = l1 ? number[0] : 0;
	v->l2 = l2 ? number[both] : 0;
	free(part);
	return good;
}

int
variable_regularizer(struct variable *v, const char *key, struct settings *s,
		     struct fail *f)
{
	const char *text = settings_text(s, key);

	if (!text)
		return 0;

	char *copy = mem_text(text);
	const bool good = regularizer(copy, v);

	free(copy);
	if (good)
		return 0;
	return fail(f, FAIL_CONFIG, "%s: %s=%s is not l1:NUMBER, l2:NUMBER or "
		    "l1_l2:NUMBER:NUMBER", s->where, key, text);
}

/* Read "age:UPDATES", "rows:MOST", or both with a comma between. */
static bool
eviction(char *text, struct variable *v)
{
	size_t count;
	char **part = text_split(text, ',', &count);
	bool good = count > 0;

	for (size_t i = 0; good && i < count; i++) {
		char *colon = strchr(part[i], ':');
		const bool age = strncmp(part[i], "age:", 4) == 0;
		uint64_t *to = age ? &v->age : &v->most;

		good = (age || strncmp(part[i], "rows:", 5) == 0) &&
			*to == 0 && text_uint(colon + 1, to) && *to > 0 &&
			*to <= (uint64_t)1 << 48;
	}
	free(part);
	return good;
}

/* Read the settings of a hashed table: which rows are made, and which go. */
static int
read_rows(struct variable *v, struct settings *s, struct fail *f)
{
	const char *text = settings_text(s, "evict");

	v->hashed = true;
	v->admit = 1;
	if (settings_uint(s, "admit", &v->admit, 1, 1 << 20, f) < 0)
		return -1;
	if (!text)
		return 0;

	char *copy = mem_text(text);
	const bool good = eviction(copy, v);

	free(copy);
	if (good)
		return 0;
	return fail(f, FAIL_CONFIG, "%s: evict=%s is not age:UPDATES, "
		    "rows:NUMBER or both with a comma between", s->where,
		    text);
}

int
node_variable(struct model *m, struct node *n, const char *weight,
	      struct shape shape, bool table, const char *initializer,
	      struct settings *s, struct fail *f)
{
	const int at = model_add_variable(m, n->where, n->name, weight, shape,
					  f);
	char key[64];
	const char *text;

	if (at < 0)
		return -1;

	struct variable *v = &m->variable[at];

	v->table = table;
	snprintf(key, sizeof(key), "%s_initializer", weight);
	text = settings_text(s, key);
	if (initializer_parse(&v->initializer, text ? text : initializer, f))
		return fail_at(f, "%s: %s", n->where, key);
	if (table && n->in[0]->input->hashed &&
	    initializer_has_fan(&v->initializer))
		return fail(f, FAIL_CONFIG, "%s: %s: %s=%s depends on the "
			    "number of rows, which a hashed table does not "
			    "have; take random_uniform, random_normal or "
			    "truncated_normal", n->where, n->name, key, text);
	assert(n->variables < NODE_VARIABLES);
	n->variable[n->variables++] = (size_t)at;
	if (table && n->in[0]->input->hashed && read_rows(v, s, f) < 0)
		return -1;
	snprintf(key, sizeof(key), "%s_regularizer", weight);
	return variable_regularizer(v, key, s, f);
}

static int
node_share(struct node *n, const struct node *other, struct fail *f)
{
	const struct input *a = n->in[0]->input, *b = other->in[0]->input;

	if (a->hashed != b->hashed || a->rows != b->rows)
		return fail(f, FAIL_CONFIG, "%s: %s: share=%s: %s has not as "
			    "many rows as %s", n->where, n->name, other->name,
			    a->name, b->name);
	if (!lookup_same(a->lookup, b->lookup))
		return fail(f, FAIL_CONFIG, "%s: %s: share=%s: the words of %s "
			    "have other ids than those of %s", n->where,
			    n->name, other->name, a->name, b->name);
	n->shares = other;
	n->variable[n->variables++] = other->variable[0];
	return 0;
}

int
node_embeddings(struct model *m, struct node *n, struct settings *s,
		size_t *dim, struct fail *f)
{
	const char *name = settings_text(s, "share");
	const struct node *other = name ? model_find(m, name) : NULL;
	uint64_t width = 0;

	if (name && (!other || other == n || !other->layer ||
		     !other->layer->has_embeddings))
		return fail(f, FAIL_CONFIG, "%s: %s: share=%s: that is not an "
			    "embedding above", n->where, n->name, name);
	if (other) {
		*dim = m->variable[other->variable[0]].shape.dim[1];
		return node_share(n, other, f);
	}
	if (settings_uint(s, "dim", &width, 1, DIM, f))
		return -1;
	if (width == 0)
		return node_missing(n, s, "dim", f);
	*dim = (size_t)width;
	return node_variable(m, n, "embeddings", (struct shape){
		2, { input_table_rows(n->in[0]->input), *dim } }, true,
		"random_uniform", s, f);
}

struct bag
flow_bag(const struct flow *flow, size_t i)
{
	const struct feature *feature = flow->feature;
	const size_t width = input_width(feature->input);

	if (width > 0)
		return (struct bag){ i * width, width };
	return (struct bag){ feature->offset[i],
			     feature->offset[i + 1] - feature->offset[i] };
}

float
flow_weight(const struct flow *flow, size_t at)
{
	return flow->feature->weight ? flow->feature->weight[at] : 1;
}

#define LONG	1024	/* a bag of more ids is added up in double precision */
#define COLUMNS	64	/* columns added up at a time */

/* Add n columns of the rows of a bag. */
static void
add_columns(const struct flow *flow, struct bag bag, double scale,
	    const float *rows, size_t width, size_t n, float *y)
{
	double sum[COLUMNS] = { 0 };

	for (size_t j = bag.first; j < bag.first + bag.count; j++) {
		const double share = (double)flow_share(flow, j, scale);
		const float *row = rows + flow->row[j] * width;

		for (size_t k = 0; k < n; k++)
			sum[k] += share * (double)row[k];
	}
	for (size_t k = 0; k < n; k++)
		y[k] += (float)sum[k];
}

void
flow_add_rows(const struct flow *flow, struct bag bag, double scale,
	      const float *rows, size_t width, float *y)
{
	if (bag.count > LONG) {
		for (size_t at = 0; at < width; at += COLUMNS)
			add_columns(flow, bag, scale, rows + at, width,
				    width - at < COLUMNS ? width - at :
				    COLUMNS, y + at);
		return;
	}
	for (size_t j = bag.first; j < bag.first + bag.count; j++)
		kernel_axpy(y, flow_share(flow, j, scale),
			    rows + flow->row[j] * width, width);
}
