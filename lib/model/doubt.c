/*
 * What can be said of a model before it has seen any data: that its loss takes
 * for a probability what is not one, that nothing is trained, that zeros stay
 * zeros.  What can only be a mistake is refused; for what may be meant there is
 * a warning.
 */
#include "model/model.h"

#include "base/mem.h"
#include "model/external.h"
#include "model/graph.h"
#include "model/layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool
is_kind(const struct node *n, const char *kind)
{
	return n->kind && strcmp(n->kind, kind) == 0;
}

/* Return whether the kind of a node is one of these words. */
static bool
is_one_of(const struct node *n, const char *words)
{
	const size_t size = n->kind ? strlen(n->kind) : 0;
	const char *at = words;

	for (; n->kind && (at = strstr(at, n->kind)); at += size)
		if ((at == words || at[-1] == ' ') &&
		    (at[size] == ' ' || at[size] == '\0'))
			return true;
	return false;
}

/* ---- the range of a layer's numbers ---- */

struct range {
	double low, high;		/* NaN: not known */
};

static const struct {
	const char *kinds;
	struct range range;
} outputs[] = {
	{ "sigmoid hard_sigmoid softmax", { 0, 1 } },
	{ "tanh softsign", { -1, 1 } },
	{ "relu softplus exponential", { 0, INFINITY } },
	{ "relu6", { 0, 6 } },
	{ "elu", { -1, INFINITY } },
	{ "selu", { -1.7581, INFINITY } },
	{ "gelu", { -.17, INFINITY } },
	{ "silu swish", { -.2785, INFINITY } },
	{ "dense linear embedding factorization attention conv1d dot "
	  "leaky_relu layer_normalization batch_normalization",
	  { -INFINITY, INFINITY } },
};

static double
lesser(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

static double
greater(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* Return the range of a layer whose numbers lie between those of its inputs. */
static struct range
hull(const struct node *n, const struct range *of)
{
	struct range r = of[n->in[0]->index];

	for (size_t i = 1; i < n->ins; i++) {
		const struct range *in = &of[n->in[i]->index];

		r.low = lesser(r.low, in->low);
		r.high = greater(r.high, in->high);
	}
	return r;
}

static struct range
sum(const struct node *n, const struct range *of)
{
	struct range r = of[n->in[0]->index];

	for (size_t i = 1; i < n->ins; i++) {
		const struct range *in = &of[n->in[i]->index];
		const bool minus = is_kind(n, "subtract");

		r.low += minus ? -in->high : in->low;
		r.high += minus ? -in->low : in->high;
	}
	return r;
}

/* Return the range of a product.  An infinity times 0 is NaN: not known. */
static struct range
product(const struct node *n, const struct range *of)
{
	struct range r = of[n->in[0]->index];

	for (size_t i = 1; i < n->ins; i++) {
		const struct range *in = &of[n->in[i]->index];
		const double a = r.low * in->low, b = r.low * in->high;
		const double c = r.high * in->low, d = r.high * in->high;

		r.low = lesser(lesser(a, b), lesser(c, d));
		r.high = greater(greater(a, b), greater(c, d));
	}
	return r;
}

/* Return the range of an input's numbers, times a factor and plus a number.  An
   unlimited one is not known: who scales it may know how far it goes. */
static struct range
scaled(const struct node *n, const struct range *of, double factor, double plus)
{
	const struct range *in = &of[n->in[0]->index];
	const double a = in->low * factor + plus, b = in->high * factor + plus;

	return isfinite(a) && isfinite(b) ?
		(struct range){ fmin(a, b), fmax(a, b) } :
		(struct range){ NAN, NAN };
}

/* Return the range of sums over an axis. */
static struct range
total(const struct node *n, const struct range *of)
{
	const double terms = (double)node_size(n->in[0]) /
		(double)node_size(n);
	const struct range *in = &of[n->in[0]->index];

	return (struct range){ in->low * terms, in->high * terms };
}

static struct range
range_of(const struct node *n, const struct range *of)
{
	if (n->low < n->high)
		return (struct range){ (double)n->low, (double)n->high };
	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
		if (is_one_of(n, outputs[i].kinds))
			return outputs[i].range;
	if (is_one_of(n, "flatten reshape concat average maximum dropout "
		      "reduce_max reduce_mean"))
		return hull(n, of);
	if (is_one_of(n, "add subtract"))
		return sum(n, of);
	if (is_kind(n, "multiply"))
		return product(n, of);
	if (is_kind(n, "rescaling"))
		return scaled(n, of, (double)n->scale, (double)n->offset);
	if (is_kind(n, "reduce_sum"))
		return total(n, of);
	return (struct range){ NAN, NAN };
}

/* Return the range of each node; the caller frees it. */
static struct range *
find_ranges(const struct model *m)
{
	struct range *of = mem_alloc(m->nodes, sizeof(*of));

	for (size_t i = 0; i < m->nodes; i++)
		of[i] = range_of(m->node[i], of);
	return of;
}

/* ---- the loss ---- */

static void
add_range(struct text *out, struct range r)
{
	if (isinf(r.low))
		text_add(out, "anything up to %g", r.high);
	else if (isinf(r.high))
		text_add(out, "%g or more", r.low);
	else
		text_add(out, "from %g to %g", r.low, r.high);
}

/* Check a loss that takes the numbers of a layer for probabilities. */
static int
check_probability(const struct model *m, struct range r, struct text *out,
		  struct fail *f)
{
	const struct node *n = m->loss_node;
	const char *link = m->loss.kind->link;

	if (isnan(r.low) || isnan(r.high))
		return 0;
	if (isinf(r.low) && isinf(r.high))
		return fail(f, FAIL_CONFIG, "%s: %s does not end in a %s, so "
			    "it is not a probability, and what it gives beyond "
			    "0 and 1 has no gradient; say from_logits=true, or "
			    "activation=%s", m->loss_where, n->name, link,
			    link);
	if (r.low < 0 || r.high > 1) {
		text_add(out, "%s: %s gives ", m->loss_where, n->name);
		add_range(out, r);
		text_add(out, ", which is not a probability, and has no "
			 "gradient beyond 0 and 1; %s is, or from_logits=true "
			 "makes one of it\n", link);
	} else if (m->loss.kind->classes && is_kind(n, "sigmoid")) {
		text_add(out, "%s: %s ends in a sigmoid, which gives each "
			 "class a probability of its own; with softmax they "
			 "add up to 1\n", m->loss_where, n->name);
	}
	return 0;
}

/* Check a loss that takes the numbers of a layer for logits. */
static void
check_logits(const struct model *m, struct range r, struct text *out)
{
	const struct node *n = m->loss_node;
	const bool one_sided = r.low >= 0 || r.high <= 0;
	const bool bounded = isfinite(r.low) && isfinite(r.high);

	if (bounded || (one_sided && !m->loss.kind->classes)) {
		text_add(out, "%s: %s gives ", m->loss_where, n->name);
		add_range(out, r);
		text_add(out, ", so as the input of a %s it cannot give every "
			 "probability\n", m->loss.kind->link);
	}
}

static void
check_value(const struct model *m, struct range r, struct text *out)
{
	const struct node *n = m->loss_node;
	const char *loss = m->loss.kind->name;

	if (strcmp(loss, "hinge") == 0 && (r.low >= 0 || r.high <= 0)) {
		text_add(out, "%s: %s gives ", m->loss_where, n->name);
		add_range(out, r);
		text_add(out, ", but hinge wants numbers below -1 for one "
			 "class and above 1 for the other; without an "
			 "activation it can give both\n");
	}
	if (strcmp(loss, "poisson") == 0 && r.low < 0) {
		text_add(out, "%s: %s gives ", m->loss_where, n->name);
		if (isinf(r.high) && isinf(r.low))
			text_add(out, "anything");
		else
			add_range(out, r);
		text_add(out, ", and below 0 poisson has no value; "
			 "activation=softplus or exponential is above 0\n");
	}
}

/* Return why the output of a layer does not depend on its input; or NULL. */
static const char *
constant(const struct node *n)
{
	const size_t last = n->ins > 0 && n->in[0]->shape.rank > 0 ?
		n->in[0]->shape.dim[n->in[0]->shape.rank - 1] : 0;

	if (is_kind(n, "softmax") && last == 1)
		return "a softmax of one number is always 1";
	if (is_kind(n, "layer_normalization") && last == 1)
		return "one number less its own mean is always 0";
	if (is_kind(n, "dot") && last == 1 && n->low < n->high)
		return "of single numbers the cosine is always 1 or -1";
	if (is_kind(n, "dot") && n->in[0] == n->in[1] && n->low < n->high &&
	    n->shape.rank == 1)
		return "the cosine of a layer and itself is always 1";
	if (is_kind(n, "subtract") && n->in[0] == n->in[1])
		return "a layer less itself is always 0";
	if (is_kind(n, "rescaling") && n->scale <= 0 && n->scale >= 0)
		return "with scale=0 all numbers are the offset";
	if (is_kind(n, "factorization") && n->in[0]->input &&
	    input_width(n->in[0]->input) == 1)
		return "a single id has no pairs, so it is always 0";
	return NULL;
}

/*
 * Look for layers whose output is constant: they pass no gradient on, so what
 * leads to them is not trained.
 */
static int
check_constants(const struct model *m, struct text *out, struct fail *f)
{
	for (size_t i = 0; i < m->nodes; i++) {
		const struct node *n = m->node[i];
		const char *why = constant(n);

		if (is_kind(n, "attention") && n->in[0]->input &&
		    input_width(n->in[0]->input) == 1)
			text_add(out, "%s: %s: the weight of a single id is "
				 "always 1, and nothing is trained by the "
				 "query %s\n", n->where, n->name,
				 n->in[1]->name);

		if (!why)
			continue;
		if (n == m->prediction || n == m->loss_node)
			return fail(f, FAIL_CONFIG, "%s: %s: %s%s", n->where,
				    n->name, why, is_kind(n, "softmax") ?
				    "; take sigmoid" : "");
		text_add(out, "%s: %s: %s, and nothing %s is trained\n",
			 n->where, n->name, why, is_kind(n, "factorization") ?
			 "of it" : "before it");
	}
	return 0;
}

/* Look for layers that compare the examples of a batch, of which there is only
   one. */
static void
check_singles(const struct model *m, struct text *out)
{
	for (size_t i = 0; i < m->nodes; i++) {
		const struct node *n = m->node[i];

		if (is_kind(n, "batch_normalization") &&
		    node_size(n) == n->shape.dim[n->shape.rank - 1])
			text_add(out, "%s: %s: in batches of 1 example each "
				 "number is its own mean, so it is always 0, "
				 "and nothing before it is trained; let -B be "
				 "2 or more\n", n->where, n->name);
	}
}

static int
check_weights(const struct model *m, struct text *out, struct fail *f)
{
	const size_t n = m->loss.kind->classes ? node_size(m->loss_node) : 2;
	size_t zeros = 0;

	for (size_t i = 0; m->class_weight && i < n; i++)
		zeros += m->class_weight[i] == 0;
	if (zeros == n)
		return fail(f, FAIL_CONFIG, "%s: class_weight: no class counts "
			    "anything", m->loss_where);
	if (zeros == n - 1)
		text_add(out, "%s: class_weight: examples of one class alone "
			 "count\n", m->loss_where);
	return 0;
}

static void
check_classes(const struct model *m, struct text *out)
{
	const size_t classes = node_size(m->prediction);
	const uint64_t labels = m->label.binary ? 2 : m->label.rows;

	if (m->loss.kind->classes && labels > 0 && labels < classes)
		text_add(out, "%s: %s tells %zu classes apart, but %s has "
			 "%llu\n", m->loss_where, m->prediction->name, classes,
			 m->label.name, (unsigned long long)labels);
}

/* ---- metrics ---- */

/* Return whether all numbers of a layer are on one side of the threshold. */
static bool
is_one_sided(const struct node *n, struct range r, double threshold)
{
	return threshold < r.low || threshold >= r.high ||
		(threshold <= r.low && is_one_of(n, "sigmoid softmax"));
}

static void
check_threshold(const struct metric *metric, const struct node *n,
		struct range r, struct text *out)
{
	const char *name = metric_name(metric);
	const double threshold = (double)metric->threshold;

	if (node_size(n) > 1 || !is_one_sided(n, r, threshold) ||
	    (strcmp(name, "accuracy") != 0 && strcmp(name, "precision") != 0 &&
	     strcmp(name, "recall") != 0 && strcmp(name, "f1_score") != 0))
		return;
	text_add(out, "metric %s: all predictions are on one side of "
		 "threshold=%g, because %s gives ", name, threshold, n->name);
	add_range(out, r);
	text_add(out, "\n");
}

static void
check_metrics(const struct model *m, const struct range *of,
	      struct text *out)
{
	for (size_t i = 0; i < m->metrics; i++) {
		const struct node *n = m->metric_node[i];
		const struct range r = of[n->index];
		const char *name = metric_name(&m->metric[i]);

		check_threshold(&m->metric[i], n, r, out);
		if (strcmp(name, "sparse_top_k_categorical_accuracy") == 0 &&
		    m->metric[i].k >= node_size(n))
			text_add(out, "metric %s: %s has %zu classes, so that "
				 "the label is always among the largest %llu\n",
				 name, n->name, node_size(n),
				 (unsigned long long)m->metric[i].k);
		if (strcmp(name, "log_loss") != 0 &&
		    strcmp(name, "calibration") != 0)
			continue;
		if (r.low < 0 || r.high > 1)
			text_add(out, "metric %s: %s is not a probability\n",
				 name, n->name);
	}
}

/* ---- what is trained ---- */

static bool
is_trained(const struct variable *v)
{
	return !v->averaged && !v->unused;
}

static void
check_rates(const struct model *m, struct text *out)
{
	size_t trained = 0, frozen = 0;
	bool external = false;

	for (size_t i = 0; i < m->nodes; i++)
		external = external || is_kind(m->node[i], "external");
	for (size_t i = 0; i < m->variables; i++) {
		const struct variable *v = &m->variable[i];

		trained += is_trained(v);
		frozen += is_trained(v) && v->optimizer->frozen;
	}
	if (trained == 0 && m->loss.kind && !external)
		text_add(out, "no step changes a variable: the model has "
			 "none\n");
	if (trained > 0 && frozen == trained)
		text_add(out, "no step changes a variable: all optimizers have "
			 "the learning rate 0\n");
}

/*
 * Find the variables that never get a gradient: their initial values are zeros,
 * and keep the gradients of each other zero.  A variable that has a gradient
 * does not stay zero, which may give others a gradient; so the search is
 * repeated until it finds no more.
 */
struct start {
	const struct model *m;
	bool *zero;		/* for each variable: it is all zeros */
	bool *moves;		/* for each variable: it has a gradient */
	bool *none;		/* for each node: its output is zeros */
	bool *reached;		/* for each node: a gradient reaches it */
};

/* Return whether the layer's variable i is all zeros, or does not exist. */
static bool
starts_zero(const struct start *s, const struct node *n, size_t i)
{
	return i >= n->variables || s->zero[n->variable[i]];
}

/* Return how many of a layer's inputs are zeros. */
static size_t
count_none(const struct start *s, const struct node *n)
{
	size_t count = 0;

	for (size_t i = 0; i < n->ins; i++)
		count += s->none[n->in[i]->index];
	return count;
}

#define MATRICES	"dense linear conv1d"	/* kernel, and perhaps bias */
#define TABLES		"embedding factorization attention"

static bool
gives_zeros(const struct start *s, const struct node *n)
{
	const size_t none = count_none(s, n);

	if (is_one_of(n, MATRICES))
		return (none > 0 || starts_zero(s, n, 0)) &&
			starts_zero(s, n, 1);
	if (is_one_of(n, TABLES))
		return starts_zero(s, n, 0);
	if (is_one_of(n, "multiply dot"))
		return none > 0;
	return none == n->ins && none > 0 &&
		is_one_of(n, "relu relu6 leaky_relu tanh gelu elu selu "
			  "softsign silu swish add subtract average concat "
			  "maximum flatten reshape dropout reduce_max "
			  "reduce_mean reduce_sum");
}

/* Return whether a gradient that has reached the layer reaches its input i. */
static bool
reaches_input(const struct start *s, const struct node *n, size_t i)
{
	const bool none = s->none[n->in[i]->index];

	if (is_one_of(n, MATRICES))
		return !starts_zero(s, n, 0);
	if (is_kind(n, "attention") && i > 0)
		return !starts_zero(s, n, 0);
	if (is_one_of(n, "relu relu6"))
		return !none;
	if (is_one_of(n, "multiply dot"))
		return count_none(s, n) == none;
	return true;
}

/*
 * Return whether a gradient that has reached the layer reaches its variable i.
 */
static bool
reaches_variable(const struct start *s, const struct node *n, size_t i)
{
	if (is_one_of(n, MATRICES) && i == 0)
		return !s->none[n->in[0]->index];
	if (is_kind(n, "factorization"))
		return !starts_zero(s, n, 0);
	return true;
}

static bool
find_more(struct start *s)
{
	const struct model *m = s->m;
	const struct node *top = m->loss_node;
	bool more = false;

	for (size_t i = 0; i < m->nodes; i++)
		s->none[i] = gives_zeros(s, m->node[i]);
	/* A probability of 0 is clipped, and has no gradient. */
	s->reached[top->index] = !s->none[top->index] || m->loss.logits ||
		!m->loss.kind->link;
	for (size_t i = m->nodes; i-- > 0;) {
		const struct node *n = m->node[i];

		for (size_t k = 0; s->reached[i] && k < n->ins; k++)
			if (reaches_input(s, n, k))
				s->reached[n->in[k]->index] = true;
		for (size_t k = 0; s->reached[i] && k < n->variables; k++) {
			const size_t v = n->variable[k];

			if (s->moves[v] || !reaches_variable(s, n, k))
				continue;
			s->moves[v] = more = true;
			s->zero[v] = s->zero[v] &&
				m->variable[v].optimizer &&
				m->variable[v].optimizer->frozen;
		}
	}
	return more;
}

/*
 * Return for each variable whether a layer that leads to the loss has it; the
 * caller frees it.
 */
static bool *
find_used(const struct model *m)
{
	bool *used = mem_alloc(m->variables, sizeof(*used));
	bool *leads = mem_alloc(m->nodes, sizeof(*leads));

	leads[m->loss_node->index] = true;
	for (size_t i = m->nodes; i-- > 0;) {
		const struct node *n = m->node[i];

		for (size_t k = 0; leads[i] && k < n->ins; k++)
			leads[n->in[k]->index] = true;
		for (size_t k = 0; leads[i] && k < n->variables; k++)
			used[n->variable[k]] = true;
	}
	free(leads);
	return used;
}

static void
check_zeros(const struct model *m, struct text *out)
{
	bool *used = find_used(m);
	struct start s = {
		.m = m,
		.zero = mem_alloc(m->variables, sizeof(bool)),
		.moves = mem_alloc(m->variables, sizeof(bool)),
		.none = mem_alloc(m->nodes, sizeof(bool)),
		.reached = mem_alloc(m->nodes, sizeof(bool)),
	};
	struct text names = { 0 };

	for (size_t i = 0; i < m->variables; i++)
		s.zero[i] = initializer_zeros(&m->variable[i].initializer);
	while (find_more(&s))
		;
	for (size_t i = 0; i < m->variables; i++) {
		const struct variable *v = &m->variable[i];

		if (used[i] && !s.moves[i] && is_trained(v) && s.zero[i])
			text_add(&names, "%s%s", names.size > 0 ? ", " : "",
				 v->name);
	}
	if (names.size > 0)
		text_add(out, "these variables are 0 and stay 0, because both "
			 "factors of a product, or the input of a relu, are 0 "
			 "at the start: %s; give one of them another "
			 "initializer\n", names.data);
	text_release(&names);
	free(used);
	free(s.zero);
	free(s.moves);
	free(s.none);
	free(s.reached);
}

static int
check_loss(const struct model *m, struct text *out, struct fail *f)
{
	struct range *of = find_ranges(m);
	const struct range r = of[m->loss_node->index];
	int status = 0;

	if (!m->loss.kind->link)
		check_value(m, r, out);
	else if (m->loss.logits)
		check_logits(m, r, out);
	else
		status = check_probability(m, r, out, f);
	if (status == 0)
		status = check_weights(m, out, f);
	if (status == 0 && m->loss.label_smoothing >= 1)
		status = fail(f, FAIL_CONFIG, "%s: with label_smoothing=1 all "
			      "labels are the same", m->loss_where);
	if (status == 0) {
		check_classes(m, out);
		check_metrics(m, of, out);
	}
	free(of);
	return status;
}

/* Nothing is known of what a step's program computes. */
int
model_doubts(const struct model *m, uint64_t batch, struct text *out,
	     struct fail *f)
{
	if (batch == 1)
		check_singles(m, out);
	if (check_constants(m, out, f) < 0 ||
	    (m->loss.kind && check_loss(m, out, f) < 0))
		return -1;
	check_rates(m, out);
	if (m->loss.kind)
		check_zeros(m, out);
	return 0;
}
