#include "worker/residuals.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A residual, and the push that left it. */
struct version {
	uint64_t step, attempt;		/* attempt 0: it is 0 */
	float **value;			/* of each variable; NULL: 0 */
	float *rate;			/* the same: of the push; */
	uint64_t batch;			/* and its examples */
};

struct replica {
	uint64_t number;
	struct version version[2];	/* what counts, and what the newest
					   push has left, in any order */
	struct replica *next;
};

struct residuals {
	const struct plan *plan;
	const struct variable *variable;
	size_t variables;
	struct replica *first;
	float **left;			/* what residuals_add() returns */
};

struct residuals *
residuals_new(const struct plan *plan, const struct model *model)
{
	struct residuals *r = mem_alloc(1, sizeof(*r));

	r->plan = plan;
	r->variable = model_variables(model, &r->variables);
	r->left = mem_alloc(r->variables, sizeof(*r->left));
	return r;
}

static void
forget(struct residuals *r, struct replica *k)
{
	for (int i = 0; i < 2; i++) {
		for (size_t v = 0; v < r->variables; v++)
			free(k->version[i].value[v]);
		free(k->version[i].value);
		free(k->version[i].rate);
	}
	free(k);
}

void
residuals_free(struct residuals *r)
{
	struct replica *next;

	if (!r)
		return;
	for (struct replica *k = r->first; k; k = next) {
		next = k->next;
		forget(r, k);
	}
	free(r->left);
	free(r);
}

static struct replica **
find(const struct residuals *r, uint64_t number)
{
	struct residuals *of = (struct residuals *)(uintptr_t)r;
	struct replica **at = &of->first;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

static struct replica *
add(struct residuals *r, struct replica **at, uint64_t number)
{
	struct replica *k = mem_alloc(1, sizeof(*k));

	k->number = number;
	for (int i = 0; i < 2; i++) {
		k->version[i].value = mem_alloc(r->variables, sizeof(float *));
		k->version[i].rate = mem_alloc(r->variables, sizeof(float));
	}
	return *at = k;
}

/* Another worker has the residual: ours does not count. */
static void
drop(struct residuals *r, uint64_t number)
{
	struct replica **at = find(r, number), *k = *at;

	if (!k)
		return;
	*at = k->next;
	forget(r, k);
}

/* ---- one push ---- */

/* The version that the push of this step and attempt left; NULL: it is not
   here. */
static struct version *
find_version(struct replica *k, uint64_t step, uint64_t attempt)
{
	for (int i = 0; i < 2; i++)
		if (k->version[i].attempt == attempt &&
		    k->version[i].step == step)
			return &k->version[i];
	return NULL;
}

/*
 * The learning rate that a push of a variable will have.  A server whose
 * checkpoint was restored under another optimizer counts the schedule from a
 * later step: then a residual is scaled by what this schedule has moved, which
 * is about as much.
 */
static float
rate_of(const struct variable *v, const struct lease *l)
{
	return v->optimizer ? schedule_asked(&v->optimizer->schedule, l->first,
					     l->learning_rate) : 0;
}

/*
 * A gradient is multiplied by the learning rate of its step, and divided by the
 * examples, only on the server.  What was lost of it in another step is to
 * count as it would have then.
 */
static float
scale_of(const struct version *from, size_t v, float rate, uint64_t batch)
{
	const float then = from->rate[v];
	const float examples = (float)batch / (float)from->batch;

	return then > 0 && rate > 0 ? examples * then / rate : examples;
}

static void
add_version(const struct residuals *r, const struct version *from,
	    const struct lease *l, struct compute *compute)
{
	for (size_t v = 0; v < r->variables; v++) {
		const size_t size = shape_size(r->variable[v].shape);
		const float *value = from->value[v];
		const float scale = scale_of(from, v,
					     rate_of(&r->variable[v], l),
					     l->batch);
		float *to;

		if (!value || !compute_trains(compute, v))
			continue;
		to = compute_gradient(compute, v);
		for (size_t i = 0; i < size; i++)
			to[i] += scale * value[i];
	}
}

/* Does the codec of the variable lose what is to be kept, in this step? */
static bool
is_coded(const struct residuals *r, size_t v, uint64_t step)
{
	const struct coding *c = &r->plan->codings->of[v][WAY_PUSH];

	return c->codec->sparse && step >= c->from;
}

/* Make room for what the push of the lease leaves. */
static void
begin_version(struct residuals *r, struct version *to, const struct lease *l,
	      bool coded)
{
	to->step = l->first;
	to->attempt = l->attempt;
	to->batch = l->batch;
	for (size_t v = 0; v < r->variables; v++) {
		const size_t size = shape_size(r->variable[v].shape);

		r->left[v] = NULL;
		to->rate[v] = rate_of(&r->variable[v], l);
		if (!coded || !is_coded(r, v, l->first)) {
			free(to->value[v]);
			to->value[v] = NULL;
			continue;
		}
		if (!to->value[v])
			to->value[v] = mem_alloc(size, sizeof(float));
		r->left[v] = to->value[v];
	}
}

int
residuals_add(struct residuals *r, const struct lease *l,
	      struct compute *compute, float *const **left, struct fail *f)
{
	const bool coded = l->push.how == PUSH_CODED;
	struct replica **at = find(r, l->replica), *k = *at;
	struct version *counts, *other;

	*left = NULL;
	if (l->push.how == PUSH_EXACT) {
		drop(r, l->replica);
		return 0;
	}
	if (!k)
		k = add(r, at, l->replica);
	counts = l->push.attempt == 0 ? NULL :
		find_version(k, l->push.step, l->push.attempt);
	if (l->push.attempt > 0 && !counts)
		return fail(f, FAIL_PROTOCOL, "a residual that is not here");
	other = counts == &k->version[0] ? &k->version[1] : &k->version[0];
	if (counts)
		add_version(r, counts, l, compute);
	begin_version(r, other, l, coded);
	*left = coded ? r->left : NULL;
	return 0;
}

double
residuals_squares(const struct residuals *r, const struct lease *l)
{
	struct replica *k = *find(r, l->replica);
	const struct version *of = k ? find_version(k, l->first, l->attempt) :
		NULL;
	double sum = 0;

	for (size_t v = 0; of && v < r->variables; v++) {
		const size_t size = !of->value[v] ? 0 :
			shape_size(r->variable[v].shape);

		for (size_t i = 0; i < size; i++)
			sum += (double)of->value[v][i] *
				(double)of->value[v][i];
	}
	return sum;
}
