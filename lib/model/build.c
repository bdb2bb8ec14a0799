#include "model/build.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/buffer_plan.h"
#include "model/dataset.h"
#include "model/layer.h"
#include "model/local_line.h"
#include "model/parse.h"
#include "model/step_line.h"

#include <ctype.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
check_letters(const char *name, const char *where, struct fail *f)
{
	const char *p = name;

	for (; isalnum((unsigned char)*p) || *p == '_' ||
	       (p > name && (*p == '.' || *p == '-')); p++)
		;
	if (*p || p == name || p - name >= NODE_NAME)
		return fail(f, FAIL_CONFIG, "%s: '%s' is not a name: it takes "
			    "letters, digits, _ - . and at most %d of them",
			    where, name, NODE_NAME - 1);
	return 0;
}

static int
check_name(const struct model *m, const char *name, const char *where,
	   struct fail *f)
{
	const struct node *other = model_find(m, name);

	if (check_letters(name, where, f) < 0)
		return -1;
	if (other)
		return fail(f, FAIL_CONFIG, "%s: %s is already defined at %s",
			    where, name, other->where);
	if (m->labelled && strcmp(m->label.name, name) == 0)
		return fail(f, FAIL_CONFIG, "%s: %s is already the label, at "
			    "%s", where, name, m->label.where);
	if (model_variable(m, name))
		return fail(f, FAIL_CONFIG, "%s: %s is already a variable",
			    where, name);
	return 0;
}

static int
define_input(struct model *m, struct statement *st, struct fail *f)
{
	struct input *in = &m->input[m->inputs];
	const char *where = st->settings.where;

	if (check_name(m, st->word[1], where, f))
		return -1;
	m->inputs++;	/* from here on the model releases it */
	in->name = mem_text(st->word[1]);
	snprintf(in->where, sizeof(in->where), "%s", where);
	if (parse_input(in, m, st, false, f) ||
	    (in->from && check_letters(in->from, where, f)))
		return -1;
	if (shape_size(in->shape) > NODE_FLOATS) {
		char dims[SHAPE_TEXT];

		return fail(f, FAIL_CONFIG, "%s: %s: %s is too large for one "
			    "example; the limit is %zu numbers", where,
			    in->name, shape_text(in->shape, dims),
			    NODE_FLOATS);
	}

	struct node *n = model_add_node(m, in->name, where);

	n->input = in;
	n->feature = m->inputs - 1;
	n->shape = in->shape;
	if (n->shape.rank == 0)
		n->shape = (struct shape){ 1, { 1 } };
	return 0;
}

static int
define_label(struct model *m, struct statement *st, struct fail *f)
{
	const char *where = st->settings.where;

	if (m->labelled)
		return fail(f, FAIL_CONFIG, "%s: a second label; the first is "
			    "%s, at %s", where, m->label.name, m->label.where);
	if (check_name(m, st->word[1], where, f))
		return -1;
	m->labelled = true;
	m->label.name = mem_text(st->word[1]);
	snprintf(m->label.where, sizeof(m->label.where), "%s", where);
	return parse_input(&m->label, m, st, true, f) ||
		(m->label.from && check_letters(m->label.from, where, f)) ?
		-1 : 0;
}

static void
keep_optimizer(struct model *m, struct optimizer *o)
{
	m->optimizer = mem_grow(m->optimizer, m->optimizers,
				&m->optimizer_room,
				sizeof(struct optimizer *));
	m->optimizer[m->optimizers++] = o;
}

/*
 * Read trainable=.  A variable with trainable=false is a buffer, whose new
 * value a program computes: its optimizer is an average with a momentum of 0,
 * so each value replaces the one before.
 */
static int
take_trainable(struct model *m, struct variable *v, struct settings *s,
	       struct fail *f)
{
	bool trainable = true;
	struct optimizer *o;

	if (settings_bool(s, "trainable", &trainable, f) < 0)
		return -1;
	if (trainable)
		return 0;
	if (v->l1 > 0 || v->l2 > 0)
		return fail(f, FAIL_CONFIG, "%s: %s: what is not trained takes "
			    "no regularizer", s->where, v->name);
	o = mem_alloc(1, sizeof(*o));
	optimizer_average(o, 0);
	keep_optimizer(m, o);
	v->averaged = true;
	v->optimizer = o;
	return 0;
}

static int
define_variable(struct model *m, struct statement *st, struct fail *f)
{
	struct settings *s = &st->settings;
	const char *initializer = settings_text(s, "initializer");
	const char *at = settings_text(s, "where");
	struct shape shape;

	if (check_name(m, st->word[1], s->where, f))
		return -1;
	if (!parse_shape(st->word[2], &shape))
		return fail(f, FAIL_CONFIG, "%s: %s: '%s' is not a shape, like "
			    "[7,20]", s->where, st->word[1], st->word[2]);
	if (at && strcmp(at, "servers") != 0)
		return fail(f, FAIL_CONFIG, "%s: where=%s: variables live on "
			    "servers", s->where, at);

	const int v = model_add_variable(m, s->where, st->word[1], NULL,
					 shape, f);

	if (v < 0)
		return -1;
	m->variable[v].unused = true;
	if (initializer_parse(&m->variable[v].initializer, initializer ?
			      initializer : "glorot_uniform", f))
		return fail_at(f, "%s: initializer", s->where);
	if (variable_regularizer(&m->variable[v], "regularizer", s, f) ||
	    take_trainable(m, &m->variable[v], s, f))
		return -1;
	return settings_done(s, f);
}

/*
 * Add a node of a layer, and build it.  The list of inputs is copied.  Return
 * NULL on failure.
 */
static struct node *
add_node(struct model *m, const char *name, const char *kind,
	 const struct layer *layer, struct node *const *in, size_t ins,
	 struct settings *s, struct fail *f)
{
	struct node *n = model_add_node(m, name, s->where);
	char dims[SHAPE_TEXT];

	n->kind = kind;
	n->layer = layer;
	n->in = mem_copy(in, ins * sizeof(struct node *));
	n->ins = ins;
	n->private = mem_alloc(1, n->layer->private);
	if (n->layer->build(m, n, s, f))
		return NULL;
	if (!shape_sound(&n->shape) || node_size(n) > NODE_FLOATS ||
	    n->scratch > NODE_FLOATS) {
		fail(f, FAIL_CONFIG, "%s: %s: %s is too large for one "
		     "example; the limit is %zu numbers", n->where, n->name,
		     shape_text(n->shape, dims), NODE_FLOATS);
		return NULL;
	}
	n->trained = n->variables > 0;
	for (size_t i = 0; i < ins; i++)
		n->trained = n->trained || in[i]->trained;
	return n;
}

static struct node *
add_layer(struct model *m, const char *name, const char *kind,
	  struct node *const *in, size_t ins, struct settings *s,
	  struct fail *f)
{
	return add_node(m, name, kind, layer_find(kind), in, ins, s, f);
}

/*
 * Add a node for each output of a layer that has several. Return the first,
 * which has the layer's own name; n itself if the layer has one output; NULL on
 * failure.
 */
static struct node *
add_outputs(struct model *m, struct node *n, struct settings *s,
	    struct fail *f)
{
	struct node *first = NULL;
	const char *name;

	for (size_t k = 0; n->layer->output && (name = n->layer->output(n, k));
	     k++) {
		struct node *one;

		if (k > 0 && check_name(m, name, s->where, f) < 0)
			return NULL;
		one = add_node(m, name, n->kind, n->layer->output_layer, &n, 1,
			       s, f);
		if (!one)
			return NULL;
		first = first ? first : one;
	}
	return first ? first : n;
}

static int
unknown_layer(const char *where, const char *name, bool activation,
	      struct fail *f)
{
	struct choices near = { .word = name };

	layer_names(&near, activation);
	return choices_fail(&near, FAIL_CONFIG, f, "%s: unknown %s '%s'",
			    where, activation ? "activation" : "layer", name);
}

/* Add activation=NAME as a node of its own behind a layer's. */
static int
add_activation(struct model *m, struct node *n, struct settings *s,
	       struct fail *f)
{
	const char *name = settings_text(s, "activation");
	const struct layer *layer = name ? layer_find(name) : NULL;

	if (!name || strcmp(name, "linear") == 0)
		return 0;
	if (!layer || !layer->is_activation)
		return unknown_layer(s->where, name, true, f);
	return add_layer(m, n->name, name, &n, 1, s, f) ? 0 : -1;
}

static int
undefined(const struct model *m, const struct statement *st, size_t word,
	  struct fail *f)
{
	struct choices near = { .word = st->word[word] };

	if (m->labelled && strcmp(m->label.name, st->word[word]) == 0)
		return fail(f, FAIL_CONFIG, "%s: %s is the label, which only "
			    "an external layer may take",
			    st->settings.where, st->word[word]);
	for (size_t i = 0; i < m->nodes; i++)
		choices_add(&near, m->node[i]->name);
	return choices_fail(&near, FAIL_CONFIG, f, "%s: %s is not defined "
			    "above", st->settings.where, st->word[word]);
}

/*
 * Find the nodes of the inputs.  The label is not a node: if the layer takes
 * it, *label is its place among the inputs, from 1; else 0.
 */
static int
find_inputs(const struct model *m, const struct statement *st,
	    const struct layer *layer, struct node **in, size_t *ins,
	    size_t *label, struct fail *f)
{
	*ins = *label = 0;
	for (size_t i = 3; i < st->words; i++) {
		const bool is_label = layer->takes_label && m->labelled &&
			strcmp(m->label.name, st->word[i]) == 0;

		if (is_label && *label > 0)
			return fail(f, FAIL_CONFIG, "%s: %s: %s comes twice",
				    st->settings.where, st->word[0],
				    st->word[i]);
		if (is_label) {
			*label = i - 2;
			continue;
		}
		in[*ins] = model_find(m, st->word[i]);
		if (!in[(*ins)++])
			return undefined(m, st, i, f);
	}
	return *ins > 0 ? 0 :
		fail(f, FAIL_CONFIG, "%s: %s: %s takes an input besides the "
		     "label", st->settings.where, st->word[0], st->word[2]);
}

static int
check_layer(const struct statement *st, const struct layer *layer,
	    struct fail *f)
{
	const char *where = st->settings.where, *kind = st->word[2];
	const size_t ins = st->words - 3;

	if (!layer)
		return unknown_layer(where, kind, false, f);
	if (ins < layer->min_inputs)
		return fail(f, FAIL_CONFIG, "%s: %s: %s takes %s%zu input%s, "
			    "not %zu", where, st->word[0], kind,
			    layer->max_inputs > layer->min_inputs ?
			    "at least " : "", layer->min_inputs,
			    layer->min_inputs == 1 ? "" : "s", ins);
	if (ins > layer->max_inputs)
		return fail(f, FAIL_CONFIG, "%s: %s: %s takes %zu input%s, "
			    "not %zu", where, st->word[0], kind,
			    layer->max_inputs,
			    layer->max_inputs == 1 ? "" : "s", ins);
	return 0;
}

static int
define_layer(struct model *m, struct statement *st, struct fail *f)
{
	struct settings *s = &st->settings;
	const struct layer *layer = layer_find(st->word[2]);
	struct node **in, *n = NULL;
	size_t ins, label;

	if (check_name(m, st->word[0], s->where, f) ||
	    check_layer(st, layer, f))
		return -1;
	in = mem_alloc(st->words - 3, sizeof(struct node *));
	if (!find_inputs(m, st, layer, in, &ins, &label, f))
		n = add_layer(m, st->word[0], st->word[2], in, ins, s, f);
	free(in);
	if (n)
		n->label = label;
	if (!n || !(n = add_outputs(m, n, s, f)) ||
	    (layer->takes_activation && add_activation(m, n, s, f)))
		return -1;
	return settings_done(s, f);
}

/*
 * Link the loss to its nodes.  A sigmoid or softmax at the end is skipped: the
 * loss is computed from its input, the logits, which is more exact.  If the
 * model ends in logits itself, a sigmoid or softmax is added to make the
 * prediction.
 */
static int
link_loss(struct model *m, struct node *n, struct settings *s,
	  struct fail *f)
{
	struct loss *l = &m->loss;
	const char *link = l->kind->link;

	m->loss_node = m->prediction = n;
	if (link && n->kind && strcmp(n->kind, link) == 0) {
		if (l->logits)
			return fail(f, FAIL_CONFIG, "%s: %s ends in a %s, so "
				    "it holds no logits; leave out "
				    "from_logits", s->where, n->name, link);
		l->logits = true;
		m->loss_node = n->in[0];
	} else if (l->logits) {
		m->prediction = add_layer(m, n->name, link, &n, 1, s, f);
	}
	return m->prediction ? 0 : -1;
}

/* Check that the loss can be computed for labels of this kind. */
static int
check_label(struct model *m, const char *where, struct fail *f)
{
	const struct loss_kind *kind = m->loss.kind;
	struct input *label = &m->label;
	const uint64_t most = kind->classes ? node_size(m->loss_node) :
			      kind->two_sided ? 2 : 0;
	const bool ids = label->kind != INPUT_FLOAT;

	if (most == 0 && ids)
		return fail(f, FAIL_CONFIG, "%s: %s takes a label of kind "
			    "float, but %s (%s) is none", where, kind->name,
			    label->name, label->where);
	if (most > 0 && !ids && !label->binary)
		return fail(f, FAIL_CONFIG, "%s: %s takes a label of kind "
			    "%s, but %s (%s) is a float", where, kind->name,
			    kind->classes ? "id or string" :
			    "binary, id or string", label->name,
			    label->where);
	if (ids && label->rows > most)
		return fail(f, FAIL_CONFIG, "%s: %s (%s) can be any of %llu, "
			    "but %s tells %llu apart", where, label->name,
			    label->where, (unsigned long long)label->rows,
			    m->loss_node->name, (unsigned long long)most);
	if (ids && label->rows == 0)
		label->rows = most;
	return 0;
}

/* Return how many classes the labels have; 0: they are any numbers. */
static size_t
label_classes(const struct model *m)
{
	if (m->loss.kind->classes)
		return node_size(m->loss_node);
	return m->loss.kind->two_sided || m->label.binary ? 2 : 0;
}

/* Read class_weight=NUMBER,...: the weight of an example of each class. */
static int
take_class_weight(struct model *m, struct settings *s, struct fail *f)
{
	const char *text = settings_text(s, "class_weight");
	const size_t classes = label_classes(m);
	size_t count;
	bool good;

	if (!text)
		return 0;
	if (classes == 0)
		return fail(f, FAIL_CONFIG, "%s: class_weight: %s (%s) is a "
			    "float, and has no classes", s->where,
			    m->label.name, m->label.where);
	m->class_weight = settings_floats(s, "class_weight", &count);
	good = m->class_weight && count == classes;
	for (size_t i = 0; good && i < count; i++)
		good = m->class_weight[i] >= 0;
	if (!good)
		return fail(f, FAIL_CONFIG, "%s: class_weight=%s: it takes %zu "
			    "numbers from 0 on, one for each class", s->where,
			    text, classes);
	return 0;
}

/* Read sample_weight=INPUT: the weight of each example. */
static int
take_sample_weight(struct model *m, struct settings *s, struct fail *f)
{
	const char *name = settings_text(s, "sample_weight");
	const struct node *n = name ? model_find(m, name) : NULL;

	if (name && (!n || !n->input || n->input->kind != INPUT_FLOAT ||
		     n->input->ragged || node_size(n) != 1))
		return fail(f, FAIL_CONFIG, "%s: sample_weight=%s: that is not "
			    "an input of a single float", s->where, name);
	m->sample_weight = n;
	return 0;
}

/* Mark the input of sample_weight= if nothing else uses it. */
static void
find_weigher(struct model *m)
{
	const struct node *by = m->sample_weight;
	bool more = by == m->prediction || by == m->loss_node;

	for (size_t i = 0; i < m->metrics; i++)
		more = more || by == m->metric_node[i];
	for (size_t i = 0; i < m->nodes; i++)
		for (size_t k = 0; k < m->node[i]->ins; k++)
			more = more || by == m->node[i]->in[k];
	if (by)
		m->input[by->feature].weighs = !more;
}

static int
define_loss(struct model *m, struct statement *st, struct fail *f)
{
	struct node *n = model_find(m, st->word[2]);
	const char *where = st->settings.where;
	char dims[SHAPE_TEXT];

	if (m->loss.kind)
		return fail(f, FAIL_CONFIG, "%s: a second loss", where);
	if (m->steps > 0)
		return fail(f, FAIL_CONFIG, "%s: a loss and a step line, at "
			    "%s: a step's program has its own loss", where,
			    m->step->where);
	if (!n || node_ids(n))
		return fail(f, FAIL_CONFIG, "%s: %s is not the name of a "
			    "layer", where, st->word[2]);
	if (loss_parse(&m->loss, st->word[1], &st->settings, f))
		return -1;

	const bool classes = m->loss.kind->classes;

	m->loss_where = where;
	if (classes ? n->shape.rank != 1 || node_size(n) < 2 :
	    node_size(n) != 1)
		return fail(f, FAIL_CONFIG, "%s: %s takes %s, but %s is %s",
			    where, m->loss.kind->name, classes ?
			    "[n], one number for each of n classes" :
			    "[1], a single number", n->name,
			    shape_text(n->shape, dims));
	if (!m->labelled)
		return fail(f, FAIL_CONFIG, "%s: a loss needs a label line",
			    where);
	if (link_loss(m, n, &st->settings, f))
		return -1;
	if (check_label(m, where, f) ||
	    take_class_weight(m, &st->settings, f) ||
	    take_sample_weight(m, &st->settings, f))
		return -1;
	return settings_done(&st->settings, f);
}

/*
 * Check a metric: its name may come once, since results tell metrics apart by
 * name; and labels that are floats have no classes.
 */
static int
check_metric(const struct model *m, const struct metric *metric,
	     const struct node *n, const char *where, struct fail *f)
{
	const struct input *label = &m->label;
	const size_t classes = metric_classes(metric);

	for (size_t i = 0; i < m->metrics; i++)
		if (m->metric[i].kind == metric->kind)
			return fail(f, FAIL_CONFIG, "%s: a second metric %s; "
				    "results tell them apart by name", where,
				    metric_name(metric));
	if (metric->weighted && metric_keeps_scores(metric))
		return fail(f, FAIL_CONFIG, "%s: weighted: %s counts all "
			    "examples alike", where, metric_name(metric));
	if (metric->weighted && !m->sample_weight && !m->class_weight)
		return fail(f, FAIL_CONFIG, "%s: weighted: the loss has "
			    "neither sample_weight nor class_weight", where);
	if (classes == 0)
		return 0;
	if (label->kind == INPUT_FLOAT && !label->binary)
		return fail(f, FAIL_CONFIG, "%s: %s takes a label of kind "
			    "binary, but %s (%s) is a float", where,
			    metric_name(metric), label->name, label->where);
	if (metric_takes_k(metric) && node_size(n) < 2)
		return fail(f, FAIL_CONFIG, "%s: %s is a measure of several "
			    "classes, but %s has one number", where,
			    metric_name(metric), n->name);
	if (node_size(n) > classes)
		return fail(f, FAIL_CONFIG, "%s: %s is a measure of two "
			    "classes, but %s has %zu", where,
			    metric_name(metric), n->name, node_size(n));
	return 0;
}

/*
 * Let a metric that ranks scores read logits in place of probabilities.  There
 * are few floats near 1, so probabilities tie where logits differ; and neither
 * a sigmoid nor a softmax of two changes the order.
 */
static void
rank_by_logits(struct metric *metric, const struct node *n)
{
	if (!metric_keeps_scores(metric) || !n->kind)
		return;
	metric->margin = strcmp(n->kind, "softmax") == 0 &&
			 n->shape.dim[n->shape.rank - 1] == 2;
	metric->logits = metric->margin || strcmp(n->kind, "sigmoid") == 0;
}

static void
add_metric(struct model *m, const struct metric *metric, struct node *n)
{
	m->metric = mem_grow(m->metric, m->metrics, &m->metric_room,
			     sizeof(*m->metric));
	m->metric_node = mem_grow(m->metric_node, m->metrics,
				  &m->metric_node_room,
				  sizeof(struct node *));
	m->metric[m->metrics] = *metric;
	m->metric_node[m->metrics++] = n;
}

/*
 * Define a metric of a step's program: a mean that the program computes, under
 * any name.
 */
static int
define_mean(struct model *m, struct statement *st, struct fail *f)
{
	const char *where = st->settings.where, *name = st->word[1];
	const struct metric mean = metric_mean(name);

	if (check_letters(name, where, f) < 0)
		return -1;
	if (st->words > 2)
		return fail(f, FAIL_CONFIG, "%s: %s: what a step's program "
			    "measures is of no layer", where, name);
	for (size_t i = 0; i < m->metrics; i++)
		if (strcmp(metric_name(&m->metric[i]), name) == 0)
			return fail(f, FAIL_CONFIG, "%s: a second metric %s; "
				    "results tell them apart by name", where,
				    name);
	add_metric(m, &mean, NULL);
	return settings_done(&st->settings, f);
}

static int
define_metric(struct model *m, struct statement *st, struct fail *f)
{
	struct settings *s = &st->settings;
	struct metric metric;
	struct node *n;

	if (m->steps > 0)
		return define_mean(m, st, f);
	if (!m->loss.kind)
		return fail(f, FAIL_CONFIG, "%s: a metric needs a loss line",
			    s->where);
	/*
	 * If the loss is from logits, the prediction has the same name as its
	 * logits, and model_find() gives the prediction.
	 */
	n = st->words > 2 ? model_find(m, st->word[2]) : m->prediction;
	if (!n || node_ids(n) || node_size(n) != node_size(m->prediction))
		return fail(f, FAIL_CONFIG, "%s: %s is not the name of a "
			    "layer with as many numbers as %s", s->where,
			    st->word[2], m->prediction->name);
	if (metric_parse(&metric, st->word[1], f))
		return fail_at(f, "%s", s->where);
	metric.threshold = m->loss.kind->threshold;
	rank_by_logits(&metric, n);
	if (settings_bool(s, "weighted", &metric.weighted, f) ||
	    check_metric(m, &metric, n, s->where, f))
		return -1;
	if (settings_float(s, "threshold", &metric.threshold, -FLT_MAX,
			   FLT_MAX, f) ||
	    (metric_takes_k(&metric) &&
	     settings_uint(s, "k", &metric.k, 1, UINT32_MAX, f)))
		return -1;
	add_metric(m, &metric, n);
	return settings_done(s, f);
}

static int
add_optimizer(struct model *m, struct optimizer *o, const char *name,
	      struct settings *s, struct fail *f)
{
	keep_optimizer(m, o);
	return optimizer_parse(o, name, s, f) || settings_done(s, f) ? -1 : 0;
}

/*
 * Fail because a pattern has no variable; matched: earlier patterns match all
 * of its variables.
 */
static int
refuse_pattern(const struct settings *s, const char *pattern, bool matched,
	       struct fail *f)
{
	return fail(f, FAIL_CONFIG, "%s: for=%s matches no variable%s",
		    s->where, pattern, matched ? " but those that patterns "
		    "above it match" : "");
}

/*
 * Give an optimizer to the variables that match a pattern and have none yet.
 * Return -1, with FAIL_CONFIG, if there are none.
 */
static int
assign_optimizer(struct model *m, const struct optimizer *o,
		 struct names_sorted *names, const struct settings *s,
		 const char *pattern, struct fail *f)
{
	bool matched = false, used = false;
	size_t count;
	const size_t *at = names_match(names, pattern, true, &count);

	for (size_t i = 0; i < count; i++) {
		struct variable *v = &m->variable[at[i]];

		if (v->averaged)
			continue;
		matched = true;
		if (v->optimizer)
			continue;
		used = true;
		v->optimizer = o;
	}
	return used ? 0 : refuse_pattern(s, pattern, matched, f);
}

static int
define_optimizer(struct model *m, struct statement *st,
		 struct names_sorted *names, struct fail *f)
{
	struct settings *s = &st->settings;
	const char *pattern = settings_text(s, "for");
	struct optimizer *o;

	if (!pattern && m->fallback)
		return fail(f, FAIL_CONFIG, "%s: a second optimizer without "
			    "for=", s->where);
	o = mem_alloc(1, sizeof(*o));
	if (!pattern)
		m->fallback = o;
	else if (assign_optimizer(m, o, names, s, pattern, f) < 0) {
		free(o);
		return -1;
	}
	return add_optimizer(m, o, st->word[1], s, f);
}

/*
 * Give the remaining variables the optimizer without for=; if there is none,
 * rmsprop, which is the default of Keras's compile().
 */
static int
assign_fallback(struct model *m, struct fail *f)
{
	struct settings none = { 0 };
	struct optimizer *o;

	if (!m->fallback) {
		m->fallback = o = mem_alloc(1, sizeof(*o));
		if (add_optimizer(m, o, "rmsprop", &none, f))
			return -1;
	}
	for (size_t i = 0; i < m->variables; i++)
		if (!m->variable[i].averaged && !m->variable[i].optimizer)
			m->variable[i].optimizer = m->fallback;
	return 0;
}

/*
 * Read "mode async for=PATTERN": the gradients of these variables wait for no
 * round.
 */
static int
define_mode(struct model *m, struct statement *st,
	    struct names_sorted *names, struct fail *f)
{
	struct settings *s = &st->settings;
	const char *pattern = settings_text(s, "for");
	const bool async = strcmp(st->word[1], "async") == 0;
	const size_t *at;
	bool used = false;
	size_t count;

	if (!async && strcmp(st->word[1], "sync") != 0)
		return fail(f, FAIL_CONFIG, "%s: '%s' is not async or sync",
			    s->where, st->word[1]);
	if (!pattern)
		return fail(f, FAIL_CONFIG, "%s: which variables? say "
			    "for=PATTERN", s->where);
	at = names_match(names, pattern, true, &count);
	for (size_t i = 0; i < count; i++) {
		struct variable *v = &m->variable[at[i]];

		if (v->has_mode)
			continue;
		used = v->has_mode = true;
		v->async = async;
	}
	if (!used)
		return refuse_pattern(s, pattern, count > 0, f);
	return settings_done(s, f);
}

static int
define_step(struct model *m, struct statement *st, struct fail *f)
{
	return check_name(m, st->word[1], st->settings.where, f) ||
		step_line_define(m, st, f) ? -1 : 0;
}

/*
 * How a statement begins.  Statements are handled in three rounds, so that a
 * loss may stand in the file before the layers that it names.
 */
struct keyword {
	const char *name;
	int round;
	size_t least, most;		/* of words */
	const char *usage;
	int (*define)(struct model *, struct statement *, struct fail *);
	/*
	 * In place of define, for statements that choose variables by their
	 * names, when all are there.
	 */
	int (*choose)(struct model *, struct statement *,
		      struct names_sorted *, struct fail *);
};

static const struct keyword keywords[] = {
	{ "input", 0, 3, 3, "input NAME KIND", define_input, NULL },
	{ "label", 0, 3, 3, "label NAME KIND", define_label, NULL },
	{ "variable", 0, 3, 3, "variable NAME SHAPE", define_variable,
	  NULL },
	{ "loss", 1, 3, 3, "loss NAME LAYER", define_loss, NULL },
	{ "step", 1, 2, SIZE_MAX, "step NAME [INPUT...]", define_step, NULL },
	{ "metric", 2, 2, 3, "metric NAME [LAYER]", define_metric, NULL },
	{ "optimizer", 2, 2, 2, "optimizer NAME", NULL, define_optimizer },
	{ "local", 2, 2, 2, "local OPTIMIZER steps=K", NULL,
	  local_line_define },
	{ "mode", 2, 2, 2, "mode async for=PATTERN", NULL, define_mode },
};

static const struct keyword layer_line = {
	NULL, 0, 3, SIZE_MAX, "NAME = LAYER INPUT...", define_layer, NULL
};

static const struct keyword *
find_keyword(const struct statement *st)
{
	if (st->words > 1 && strcmp(st->word[1], "=") == 0)
		return &layer_line;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcmp(keywords[i].name, st->word[0]) == 0)
			return &keywords[i];
	return NULL;
}

static int
define_one(struct model *m, struct statement *st, int round,
	   struct names_sorted *names, struct fail *f)
{
	const struct keyword *k = find_keyword(st);
	const char *where = st->settings.where;

	if (!k)
		return fail(f, FAIL_CONFIG, "%s: '%s' begins no statement; "
			    "they are input, label, variable, NAME = LAYER, "
			    "loss, step, metric, optimizer, local, mode%s",
			    where, st->word[0], strchr(st->word[0], '=') ?
			    "; put blanks around the =" : "");
	if (k->round != round)
		return 0;
	if (st->words > k->most)
		return fail(f, FAIL_CONFIG, "%s: '%s' is one word too many: "
			    "a line like '%s [KEY=VALUE]...' is expected",
			    where, st->word[k->most], k->usage);
	if (st->words < k->least)
		return fail(f, FAIL_CONFIG, "%s: a line like '%s [KEY=VALUE]"
			    "...' is expected", where, k->usage);
	return k->define ? k->define(m, st, f) : k->choose(m, st, names, f);
}

/*
 * Return for each table the inputs of the layers that look it up, as a group;
 * the caller frees it.
 */
static struct group *
find_features(const struct model *m)
{
	struct group *by = mem_alloc(m->variables, sizeof(*by));
	struct names had = { 0 };

	for (size_t i = 0; i < m->nodes; i++) {
		struct node *n = m->node[i];
		size_t pair[2];
		struct group *g;

		if (n->variables == 0 || !m->variable[n->variable[0]].table)
			continue;
		g = &by[n->variable[0]];
		pair[0] = n->variable[0];
		pair[1] = n->in[0]->feature;
		n->place = names_get(&had, (const char *)pair, sizeof(pair));
		if (n->place != NAMES_NONE)
			continue;
		n->place = g->features;
		names_put(&had, (const char *)pair, sizeof(pair), n->place);
		g->feature = mem_grow(g->feature, g->features,
				      &g->feature_room, sizeof(*g->feature));
		g->feature[g->features++] = pair[1];
	}
	names_release(&had);
	return by;
}

/*
 * Return the group of the same inputs, or a new one.  Takes over like->feature.
 */
static struct group *
add_group(struct model *m, struct names *known, struct group *like)
{
	const size_t size = like->features * sizeof(*like->feature);
	const size_t at = names_get(known, (const char *)like->feature, size);

	if (at != NAMES_NONE) {
		free(like->feature);
		return &m->group[at];
	}
	names_put(known, (const char *)like->feature, size, m->groups);
	m->group[m->groups] = *like;
	return &m->group[m->groups++];
}

/*
 * Return how many ids an example has in a group; 0: it is not fixed.  An input
 * without a fixed number counts as most[input] ids, unless most is NULL.
 */
static size_t
count_lookups(const struct model *m, const struct group *g, const size_t *most)
{
	size_t sum = 0;

	for (size_t i = 0; i < g->features; i++) {
		const size_t at = g->feature[i];
		size_t width = input_width(&m->input[at]);

		if (width == 0 && most)
			width = most[at] > 0 ? most[at] : 1;
		if (width == 0)
			return 0;
		sum += width;
	}
	return sum;
}

static void
find_groups(struct model *m)
{
	struct group *by = find_features(m), *g;
	struct names known = { 0 };
	size_t first = 0;

	m->group = mem_alloc(m->variables, sizeof(*m->group));
	for (size_t v = 0; v < m->variables; v++) {
		if (!m->variable[v].table)
			continue;
		g = add_group(m, &known, &by[v]);
		g->variable = mem_grow(g->variable, g->variables,
				       &g->variable_room,
				       sizeof(*g->variable));
		g->variable[g->variables++] = v;
		m->variable[v].lookups = count_lookups(m, g, NULL);
	}
	for (g = m->group; g < m->group + m->groups; g++) {
		g->first = first;
		first += g->features + 1;
	}
	names_release(&known);
	free(by);
}

void
model_expect(struct model *m, const size_t *ids)
{
	for (const struct group *g = m->group; g < m->group + m->groups; g++)
		for (size_t i = 0; i < g->variables; i++)
			m->variable[g->variable[i]].lookups =
				count_lookups(m, g, ids);
}

static int
define_round(struct model *m, int round, struct names_sorted *names,
	     struct fail *f)
{
	struct statements *all = &m->statements;

	for (size_t i = 0; i < all->count; i++)
		if (define_one(m, &all->list[i], round, names, f))
			return -1;
	return 0;
}

/*
 * Handle the last round of statements, with the names of all variables sorted.
 */
static int
define_last(struct model *m, struct fail *f)
{
	const char **name = mem_alloc(m->variables, sizeof(*name));
	struct names_sorted names;
	int status;

	for (size_t i = 0; i < m->variables; i++)
		name[i] = m->variable[i].name;
	names_sort(&names, name, m->variables);
	status = define_round(m, 2, &names, f);
	names_sorted_release(&names);
	free(name);
	return status;
}

int
build_all(struct model *m, struct fail *f)
{
	m->input = mem_alloc(m->statements.count, sizeof(*m->input));
	if (define_round(m, 0, NULL, f) || define_round(m, 1, NULL, f) ||
	    define_last(m, f))
		return -1;
	if (!m->loss.kind && m->steps == 0)
		return fail(f, FAIL_CONFIG, "%s: there is no loss line",
			    m->source->file[0].name);
	if (step_line_check(m, f) < 0)
		return -1;
	if (dataset_build(m, f) < 0)
		return -1;
	step_line_mark(m);
	find_weigher(m);
	find_groups(m);
	buffer_plan_find(m);
	return local_line_check(m, f) < 0 ? -1 : assign_fallback(m, f);
}
