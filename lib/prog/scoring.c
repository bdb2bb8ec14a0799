#include "prog/scoring.h"

#include "base/log.h"
#include "prog/checkpoint_model.h"
#include "prog/live.h"
#include "prog/newer.h"
#include "sys/clock.h"
#include "wire/result_json.h"

#include <poll.h>
#include <string.h>

/* Where values come from: one of these, the other is NULL. */
struct values {
	struct checkpoint_model *snapshot;
	struct live *live;
};

static int
begin_scoring(struct scoring *g, const struct model *model,
	      const struct evaluation *e, struct fail *f)
{
	const struct eval_settings *s = g->s;
	size_t inputs, line;
	const struct input *input = model_inputs(model, &inputs);

	if (!model_scored(model, &line, &g->dataset))
		return fail(f, FAIL_CONFIG, "no step line of the model takes "
			    "inputs of one data set: there is nothing to "
			    "score");
	if (stop_condition_holds(&s->until, e, f) < 0)
		return -1;
	g->data = prefetch_open(model, g->dataset, s->inputs, s->count,
				&s->reader, f);
	if (!g->data)
		return -1;
	batch_begin(&g->batch, input, inputs, model_label(model));
	g->model = model;
	g->over = g->warned = false;
	g->began_ms = clock_ms();
	return 0;
}

static void
end_inputs(struct scoring *g)
{
	prefetch_close(g->data);
	g->data = NULL;
	g->model = NULL;
	batch_release(&g->batch);
}

static int
next_batch(struct scoring *g, struct fail *f)
{
	const int got = prefetch_take_into(g->data, g->s->batch, &g->batch);
	uint64_t records;

	if (got >= 0)
		return got;
	g->over = true;
	return prefetch_end(g->data, &records, f);
}

static int
add_predictions(struct scoring *g, const struct evaluation *e, struct fail *f)
{
	const size_t outputs = model_outputs(g->model);
	const float *x = compute_prediction(e->compute);

	if (!g->s->predict)
		return 0;
	for (size_t i = 0; i < g->batch.examples * outputs; i++)
		text_add(&g->to->text, "%.9g%c", (double)x[i],
			 (i + 1) % outputs == 0 ? '\n' : '\t');
	g->predicted += g->batch.examples;
	return scores_flush(g->to, f);
}

static int
print_scores(struct scoring *g, const struct values *v,
	     const struct evaluation *e, struct fail *f)
{
	const struct checkpoint *from = v->live ? NULL : v->snapshot->from;
	struct text *line = &g->to->text;
	uint64_t step;

	if (from)
		step = checkpoint_info(from)->step;
	else if (live_step(v->live, &step, f) < 0)
		return -1;
	g->ended++;
	if (g->s->predict)
		return 0;
	text_add(line, "{");
	if (from) {
		text_add(line, "\"checkpoint\":");
		result_json_string(line, checkpoint_folder(from));
		text_add(line, ",");
	}
	text_add(line, "\"step\":%llu,", (unsigned long long)step);
	if (from)
		text_add(line, "\"final\":%s,",
			 checkpoint_info(from)->final ? "true" : "false");
	result_json_scores(line, e->examples, e->loss, e->metric, e->metrics,
			   e->state);
	text_add(line, ",\"seconds\":");
	result_json_number(line, (double)(clock_ms() - g->began_ms) / 1000);
	text_add(line, "}\n");
	g->met = stop_condition_holds(&g->s->until, e, f) > 0;
	return scores_flush(g->to, f);
}

int
scoring_stopped(struct fail *f)
{
	return fail(f, FAIL_AGAIN, "stopped before all records were scored");
}

/* ---- values from a checkpoint, or live ---- */

static int
wait_for_batch(const struct scoring *g, const struct values *v,
	       struct fail *f)
{
	struct pollfd fds[] = {
		{ .fd = cli_stop_fd, .events = POLLIN },
		{ .fd = prefetch_fd(g->data), .events = POLLIN }
	};

	if (v->live)
		return live_wait(v->live, fds[1].fd, f);
	poll(fds, 2, -1);
	return 0;
}

/*
 * Replace the checkpoint by a newer one, from this batch on.  Records are read
 * for the first one's model, so the newer one must have the same model.  If it
 * cannot be used, the present one stays.
 */
static int
use_newer_checkpoint(struct scoring *g, struct checkpoint_model *s,
		     struct evaluation *e, struct fail *f)
{
	struct checkpoint *from = newer_look(g->newer, clock_ms());
	char ours[33], theirs[33];
	struct checkpoint_model next;
	struct fail why;

	if (!from)
		return 0;
	model_source_hash(checkpoint_model(s->from), ours);
	model_source_hash(checkpoint_model(from), theirs);
	if (strcmp(ours, theirs) != 0) {
		log_warn("%s is of another model: predictions are still made "
			 "with %s",
			 checkpoint_path(from), checkpoint_path(s->from));
		checkpoint_close(from);
		return 0;
	}
	if (checkpoint_model_open(&next, &from, &why) < 0) {
		log_warn("%s", why.text);
		return 0;
	}
	evaluation_close(e);
	checkpoint_model_close(s);
	*s = next;
	g->warned = false;
	evaluation_open(e, s->model, g->s->evaluator.externals);
	log_warn("%s predicts from record %llu on", checkpoint_path(s->from),
		 (unsigned long long)g->predicted + 1);
	return externals_begin(g->s->evaluator.externals, s->model, f);
}

/* Warn once of values that are not finite. */
static void
warn_of_values(struct scoring *g, const struct checkpoint_model *s,
	       const struct evaluation *e)
{
	const char *name = g->warned ? NULL : compute_infinite(e->compute);

	if (!name)
		return;
	g->warned = true;
	log_warn("%s: %s has values that are not finite: predictions from them "
		 "are useless", checkpoint_path(s->from), name);
}

/*
 * Set the values.  Return 0; 1 if the checkpoint fails; -1 if the live model
 * does.
 */
static int
fill_values(struct scoring *g, const struct values *v,
	    const struct evaluation *e, struct fail *f)
{
	if (v->live)
		return live_fill(v->live, e->compute, f);
	if (checkpoint_model_fill(v->snapshot, e->compute, f) < 0)
		return 1;
	warn_of_values(g, v->snapshot, e);
	return 0;
}

static int
score_batch(struct scoring *g, const struct values *v, struct evaluation *e,
	    struct fail *f)
{
	int status;

	if (g->newer && use_newer_checkpoint(g, v->snapshot, e, f) < 0)
		return -1;
	evaluation_begin(e, &g->batch);
	status = fill_values(g, v, e, f);
	if (status != 0)
		return status;
	if (v->live && cli_stop)	/* the values did not come */
		return scoring_stopped(f);
	return evaluation_end(e, !g->s->predict, f) < 0 ? -1 :
		add_predictions(g, e, f);
}

static int
score_batches(struct scoring *g, const struct values *v, struct evaluation *e,
	      struct fail *f)
{
	while (!cli_stop) {
		const int got = next_batch(g, f);
		int status = got;

		if (got >= 0 && g->over)
			return print_scores(g, v, e, f);
		if (got == 0)
			status = wait_for_batch(g, v, f);
		if (got > 0)
			status = score_batch(g, v, e, f);
		if (status != 0)
			return status;
	}
	return scoring_stopped(f);
}

/*
 * Prepare for a stream, which is read by one model while checkpoints are
 * replaced: parse a model of its own for it, which stays.
 */
static int
begin_stream(struct scoring *g, const struct checkpoint_model *s,
	     struct model **model, struct fail *f)
{
	if (!g->renew)
		return 0;
	*model = model_parse(checkpoint_model(s->from), f);
	if (!*model)
		return -1;
	g->newer = newer_open(g->renew, checkpoint_info(s->from)->step);
	return 0;
}

int
scoring_checkpoint(struct scoring *g, struct checkpoint **from,
		   struct fail *f)
{
	struct model *stays = NULL;
	struct checkpoint_model s;
	const struct values values = { .snapshot = &s };
	struct evaluation e;
	int status;

	g->final = checkpoint_info(*from)->final;
	if (scores_have(g->to, checkpoint_info(*from)->step)) {
		log_info("%s is scored already", checkpoint_path(*from));
		checkpoint_close(*from);
		return 0;
	}
	if (checkpoint_model_open(&s, from, f) < 0)
		return 1;
	evaluation_open(&e, s.model, g->s->evaluator.externals);
	status = externals_begin(g->s->evaluator.externals, s.model, f);
	if (status == 0)
		status = begin_stream(g, &s, &stays, f);
	if (status == 0)
		status = begin_scoring(g, stays ? stays : s.model, &e, f);
	if (status == 0)
		status = score_batches(g, &values, &e, f);
	end_inputs(g);
	evaluation_close(&e);
	checkpoint_model_close(&s);
	newer_close(g->newer);
	g->newer = NULL;
	model_free(stays);
	return status;
}

/*
 * Wait for the step before the inputs are read, so that the values belong to
 * it.
 */
static int
score_live_batches(struct scoring *g, const struct values *v,
		   struct evaluation *e, struct fail *f)
{
	uint64_t step;

	return live_step(v->live, &step, f) < 0 ? -1 :
		score_batches(g, v, e, f);
}

int
scoring_live(struct scoring *g, struct fail *f)
{
	const struct evaluator_options *o = &g->s->evaluator;
	struct live *live = live_open(o, g->s->common.key, f);
	const struct model *model = live ? live_model(live, f) : NULL;
	const struct values values = { .live = live };
	struct evaluation e;
	int status = -1;

	if (model) {
		evaluation_open(&e, model, o->externals);
		status = begin_scoring(g, model, &e, f);
		if (status == 0)
			status = score_live_batches(g, &values, &e, f);
		end_inputs(g);
		evaluation_close(&e);
	} else if (live && cli_stop) {
		scoring_stopped(f);
	}
	live_close(live);
	return status;
}
