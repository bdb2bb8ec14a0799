#include "model/step_program.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/external_inputs.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED_BITS	53	/* JSON readers represent whole numbers of this
				   size exactly */

struct step_program {
	const struct model *model;
	const struct step_line *line;
	const struct externals *externals;
	uint64_t stream;		/* of random numbers */
	struct external_inputs sent;	/* inputs, and then variables */
	struct external_array *wanted;
	size_t wanteds;
	float *prediction, *gradient;	/* gradients of layers, end to end */
	size_t prediction_room, gradient_room;
	struct external_answer answer;
	enum step_op op;		/* of the last question, */
	struct step_batch batch;	/* and its batch */
	struct text args;
	struct external_call call;
};

struct step_program *
step_program_new(const struct model *m, size_t line,
		 const struct externals *externals)
{
	struct step_program *p = mem_alloc(1, sizeof(*p));
	const struct step_line *s = &m->step[line];

	p->model = m;
	p->line = s;
	p->externals = externals;
	p->stream = hash64(s->name, strlen(s->name));
	external_inputs_open(&p->sent, s->ins, s->variables);
	p->wanted = mem_alloc(s->ins + s->variables + 1, sizeof(*p->wanted));
	return p;
}

void
step_program_free(struct step_program *p)
{
	if (!p)
		return;
	external_inputs_close(&p->sent);
	free(p->wanted);
	free(p->prediction);
	free(p->gradient);
	text_release(&p->answer.result);
	text_release(&p->args);
	free(p);
}

/* Make room for n numbers; the content is lost. */
static float *
room(float *was, size_t *has, size_t n)
{
	if (n <= *has && was)
		return was;
	free(was);
	*has = n;
	return mem_alloc(n, sizeof(float));
}

/* ---- what is sent ---- */

static const struct feature *
feature_of(const struct step_batch *b, const struct node *n)
{
	return n ? &b->batch->feature[n->feature] : &b->batch->label;
}

/*
 * Return the number of examples of a layer's data set, or for NULL of the
 * label's.
 */
static size_t
examples_of(const struct step_batch *b, const struct node *n)
{
	if (!n)
		return batch_examples(b->batch, &b->batch->label);
	return b->batch->each ? b->batch->each[n->dataset] :
		b->batch->examples;
}

/* Return whether an input, or for NULL the label, has ids. */
static bool
has_ids(const struct step_program *p, const struct node *n)
{
	return n ? node_ids(n) : p->model->label.kind != INPUT_FLOAT;
}

static size_t
count_ids(const struct step_program *p, const struct step_batch *b)
{
	const struct step_line *s = p->line;
	size_t sum = 0;

	for (size_t i = 0; i < s->ins; i++)
		if (has_ids(p, s->in[i]))
			sum += external_inputs_ids(feature_of(b, s->in[i]),
						   examples_of(b, s->in[i]));
	return sum;
}

static void
send_inputs(struct step_program *p, const struct step_batch *b)
{
	const struct step_line *s = p->line;
	const struct shape one = { 0 };

	external_inputs_begin(&p->sent, count_ids(p, b));
	for (size_t i = 0; i < s->ins; i++) {
		const struct node *n = s->in[i];
		const char *name = n ? n->name : p->model->label.name;
		const size_t examples = examples_of(b, n);

		if (!feature_of(b, NULL)->input && !n)
			continue;	/* the batch has no labels */
		if (has_ids(p, n))
			external_inputs_add_ids(&p->sent, name,
						feature_of(b, n), examples);
		else if (n)
			external_inputs_add_floats(&p->sent, name, n->shape,
				b->pass[n->index].out.value, examples);
		else
			external_inputs_add_floats(&p->sent, name, one,
						   b->label, examples);
	}
}

static struct external_array
variable_of(const struct step_program *p, size_t v, float *at)
{
	const struct variable *of = &p->model->variable[v];

	return (struct external_array){ .name = of->name, .shape = of->shape,
					.at = at, .fixed = of->averaged };
}

/* ---- what is to be answered ---- */

/*
 * Ask for the gradients of layers.  They go to memory of their own, because
 * they are added to other gradients of these layers.
 */
static void
want_layers(struct step_program *p, const struct step_batch *b)
{
	const struct step_line *s = p->line;
	size_t size = 0;
	float *to;

	for (size_t i = 0; i < s->ins; i++)
		if (s->in[i] && s->in[i]->trained)
			size += examples_of(b, s->in[i]) *
				node_size(s->in[i]);
	to = p->gradient = room(p->gradient, &p->gradient_room, size);
	for (size_t i = 0; i < s->ins; i++) {
		const struct node *n = s->in[i];

		if (!n || !n->trained)
			continue;
		p->wanted[p->wanteds++] = (struct external_array){
			.name = n->name, .examples = examples_of(b, n),
			.shape = n->shape, .at = to };
		to += examples_of(b, n) * node_size(n);
	}
}

static void
want_prediction(struct step_program *p, const struct step_batch *b)
{
	const struct step_line *s = p->line;
	const size_t size = b->batch->examples * model_outputs(p->model);

	p->prediction = room(p->prediction, &p->prediction_room, size);
	p->wanted[p->wanteds++] = (struct external_array){
		.name = s->name, .examples = b->batch->examples,
		.shape = s->prediction, .at = p->prediction };
}

static void
fill_arrays(struct step_program *p, enum step_op op,
	    const struct step_batch *b)
{
	const struct step_line *s = p->line;

	p->wanteds = 0;
	send_inputs(p, b);
	if (op == STEP_TRAIN)
		want_layers(p, b);
	for (size_t i = 0; i < s->variables; i++) {
		const size_t v = s->variable[i];

		p->sent.array[p->sent.count++] =
			variable_of(p, v, b->value[v]);
		if (op == STEP_TRAIN && !s->reads[i])
			p->wanted[p->wanteds++] =
				variable_of(p, v, b->gradient[v]);
	}
	if (op == STEP_PREDICT)
		want_prediction(p, b);
}

/* ---- the answer ---- */

static const struct metric *
find_metric(const struct model *m, const char *name, size_t *at)
{
	for (*at = 0; *at < m->metrics; ++*at)
		if (strcmp(metric_name(&m->metric[*at]), name) == 0)
			return &m->metric[*at];
	return NULL;
}

/*
 * Check the number of examples in the answer.  For a line without inputs the
 * program counts its own.
 */
static int
check_examples(const struct step_program *p, uint64_t sent, struct fail *f)
{
	const unsigned long long said = p->answer.examples;
	const bool own = p->line->ins == 0;

	if (p->answer.ended && !own)
		return fail(f, FAIL_DATA, "\"end\":true is for a step line "
			    "without inputs");
	if (p->answer.ended && said > 0)
		return fail(f, FAIL_DATA, "\"examples\":%llu with "
			    "\"end\":true, which is of none", said);
	if (own && said == 0 && !p->answer.ended)
		return fail(f, FAIL_DATA, "the answer does not say how many "
			    "\"examples\" it took, or \"end\":true");
	if (!own && (said == 0 || said > sent))
		return fail(f, FAIL_DATA, "\"examples\":%llu, where %llu were "
			    "sent", said, (unsigned long long)sent);
	return 0;
}

/* Return the number of examples sent, of all data sets of the line. */
static uint64_t
count_sent(const struct step_program *p)
{
	const struct batch *batch = p->batch.batch;
	uint64_t sum = 0;

	for (size_t d = 0; d < batch->datasets; d++)
		if (p->line->datasets >> d & 1)
			sum += batch->each[d];
	return batch->each ? sum : batch->examples;
}

static int
check_answer(const struct step_program *p, struct fail *f)
{
	const struct external_answer *a = &p->answer;
	size_t at;

	if (p->op == STEP_PREDICT)
		return 0;
	if (!a->has_loss && !a->ended)
		return fail(f, FAIL_DATA, "the answer has no \"loss\"");
	if (check_examples(p, count_sent(p), f) < 0)
		return -1;
	for (size_t i = 0; i < a->metrics; i++)
		if (!find_metric(p->model, a->metric[i].name, &at))
			return fail(f, FAIL_DATA, "\"metrics\": the model has "
				    "no line 'metric %s'", a->metric[i].name);
	return 0;
}

/*
 * Multiply the values of buffers by the number of examples: the program answers
 * the value itself, and the servers divide what is pushed.
 */
static void
weigh_buffers(const struct step_program *p)
{
	const struct step_line *s = p->line;
	const float examples = (float)p->answer.examples;

	for (size_t i = 0; i < s->variables; i++) {
		const struct variable *v = &p->model->variable[s->variable[i]];
		float *to = p->batch.gradient[s->variable[i]];

		for (size_t k = 0; v->averaged && !s->reads[i] &&
		     k < shape_size(v->shape); k++)
			to[k] *= examples;
	}
}

int
step_program_ask(struct step_program *p, enum step_op op,
		 const struct step_batch *b, struct fail *f)
{
	static const char *const ops[] = { "step", "evaluate", "predict" };
	const struct step_line *s = p->line;

	if (op == STEP_PREDICT && !s->predicts)
		return fail(f, FAIL_CONFIG, "%s: %s: it predicts nothing: "
			    "there is no predicts=SHAPE", s->where, s->name);
	p->op = op;
	p->batch = *b;
	text_reset(&p->args);
	text_add(&p->args, "%s", b->args ? b->args : "{}");
	fill_arrays(p, op, b);
	external_answer_begin(&p->answer, b->batch->examples);
	p->call = (struct external_call){
		.op = ops[op], .name = s->name, .training = op == STEP_TRAIN,
		.args = p->args.data, .step = b->step,
		.batch = s->ins == 0 ? b->wants : 0,
		.seed = rng_at(b->seed, p->stream, 0) >> (64 - SEED_BITS),
		.sent = p->sent.array, .sents = p->sent.count,
		.wanted = p->wanted, .wanteds = p->wanteds,
		.answer = &p->answer
	};
	return externals_ask(p->externals, &p->call, f);
}

bool
step_program_answered(const struct step_program *p)
{
	const struct externals *e = p->externals;

	return !e->ask || e->answered(e->own, &p->call);
}

int
step_program_take(struct step_program *p, struct fail *f)
{
	const struct step_line *s = p->line;

	if (externals_take(p->externals, &p->call, f) < 0 ||
	    check_answer(p, f) < 0)
		return fail_at(f, "%s: %s", s->where, s->name);
	if (p->op == STEP_TRAIN && !p->answer.ended)
		weigh_buffers(p);
	return 0;
}

int
step_program_run(struct step_program *p, enum step_op op,
		 const struct step_batch *b, struct fail *f)
{
	return step_program_ask(p, op, b, f) < 0 ? -1 :
		step_program_take(p, f);
}

bool
step_program_fills(const struct step_program *p, size_t v)
{
	const struct step_line *s = p->line;

	/*
	 * A program with data of its own may answer that they have ended, and
	 * then sets nothing.
	 */
	for (size_t i = 0; i < s->variables && s->ins > 0; i++)
		if (s->variable[i] == v)
			return !s->reads[i];
	return false;
}

double
step_program_loss(const struct step_program *p)
{
	return p->answer.loss * (double)p->answer.examples;
}

uint64_t
step_program_examples(const struct step_program *p)
{
	return p->answer.examples;
}

bool
step_program_ended(const struct step_program *p)
{
	return p->answer.ended;
}

void
step_program_metrics(const struct step_program *p, struct metric_state *state)
{
	size_t at;

	for (size_t i = 0; i < p->answer.metrics; i++) {
		const struct external_metric *m = &p->answer.metric[i];

		if (find_metric(p->model, m->name, &at))
			metric_add_mean(&state[at], m->sum, m->weight);
	}
}

const struct text *
step_program_result(const struct step_program *p)
{
	return &p->answer.result;
}

const float *
step_program_prediction(const struct step_program *p)
{
	return p->prediction;
}

void
step_program_add(const struct step_program *p, const struct pass *pass)
{
	const struct step_line *s = p->line;
	const struct external_array *a = p->wanted;

	for (size_t i = 0; i < s->ins; i++)
		if (s->in[i] && s->in[i]->trained) {
			kernel_add(pass[s->in[i]->index].out.gradient, a->at,
				   external_size(a));
			a++;
		}
}
