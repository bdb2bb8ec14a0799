#include "host.h"
#include "accounts.h"
#include "trace.h"

#include "base/mem.h"
#include "client/evaluation.h"
#include "client/evaluator.h"

#include <stdlib.h>

struct host_eval {
	const struct site *site;
	struct evaluator *evaluator;
	struct evaluation evaluation;
	struct batch batch;
	bool begun, pulling, over;
	uint64_t at;		/* records that were scored or are being
				   scored */
	struct fail why;
};

struct host_eval *
host_eval_new(const struct site *site, struct outbox *outbox, uint64_t life,
	      uint64_t now)
{
	const struct evaluator_options o = {
		.coordinator = "node:0", .life = life, .index = WIRE_NONE,
		.timeout_ms = site->scenario->o.timeout_ms
	};
	struct host_eval *h = mem_alloc(1, sizeof(*h));

	h->site = site;
	h->evaluator = evaluator_new(&o, outbox, now, &h->why);
	return h;
}

void
host_eval_free(struct host_eval *h)
{
	if (h->begun) {
		evaluation_close(&h->evaluation);
		batch_release(&h->batch);
	}
	evaluator_free(h->evaluator);
	free(h);
}

static void
begin(struct host_eval *h, const struct model *model)
{
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	batch_begin(&h->batch, input, inputs, model_label(model));
	evaluation_open(&h->evaluation, model, h->site->externals);
	h->begun = true;
}

/* Scores one record at a time, so that training continues meanwhile. */
static int
advance(struct host_eval *h, uint64_t now, struct fail *f)
{
	const struct model *model = evaluator_model(h->evaluator);
	uint64_t step;

	if (model && !h->begun)
		begin(h, model);
	while (!h->over && evaluator_has_cut(h->evaluator, &step) &&
	       evaluator_is_idle(h->evaluator)) {
		if (h->pulling && evaluation_end(&h->evaluation, true, f) < 0)
			return -1;
		h->pulling = false;
		if (h->at++ == EVALUATED) {
			h->over = true;
			break;
		}
		batch_reset(&h->batch);
		host_record_score(&h->batch, h->site->scenario, model);
		evaluation_begin(&h->evaluation, &h->batch);
		h->pulling = true;
		if (evaluator_pull(h->evaluator, h->evaluation.compute, now,
				   f) < 0)
			return -1;
	}
	return 0;
}

static int
status(struct host_eval *h, int r)
{
	if (r < 0)
		trace("dies: %s", h->why.text);
	return r < 0 ? (int)h->why.kind : h->over ? 0 : HOST_RUNS;
}

int
host_eval_receive(struct host_eval *h, const struct packet *p, uint64_t now)
{
	if (p->kind == PACKET_UP)
		evaluator_up(h->evaluator, p->peer, now);
	else if (p->kind == PACKET_DOWN)
		evaluator_down(h->evaluator, p->peer, now);
	else if (p->kind == PACKET_MESSAGE &&
		 evaluator_receive(h->evaluator, p->peer, &p->message, now,
				   &h->why) < 0)
		return status(h, -1);
	return status(h, advance(h, now, &h->why));
}

int
host_eval_act(struct host_eval *h, uint64_t now)
{
	if (evaluator_tick(h->evaluator, now, &h->why) < 0)
		return status(h, -1);
	return status(h, advance(h, now, &h->why));
}

const struct fail *
host_eval_why(const struct host_eval *h)
{
	return &h->why;
}

double
host_eval_scored(const struct host_eval *h, uint64_t *step)
{
	evaluator_has_cut(h->evaluator, step);
	return h->evaluation.loss / (double)h->evaluation.examples;
}
