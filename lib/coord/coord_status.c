/*
 * The coordinator's figures, for programs and people that watch it.  Their
 * names and meanings are a contract: see ps-coord(1).
 */
#include "coord/coord_status.h"

#include "base/mem.h"
#include "base/prometheus_text.h"
#include "coord/coord_cancel.h"
#include "coord/coord_cut.h"
#include "coord/coord_ending.h"
#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "coord/coord_relays.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_standby.h"
#include "coord/coord_sync.h"
#include "coord/coord_watch.h"
#include "coord/scheduler.h"
#include "wire/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct scores {			/* the same as on the terminal */
	bool known;
	double loss, metric[RESULT_METRICS];	/* NAN: not known */
};

struct figures {
	struct scores scores;		/* at the last join */
	uint64_t *server_bytes;		/* of each server, by the plan: bytes of
					   variables and slots, */
	struct plan_load *step;		/* and what a step pulls and pushes */
	struct text state;
};

/* Begin a gauge that has several samples. */
static void
begin_gauge(struct text *out, const char *name, const char *help)
{
	prometheus_metric(out, name, "gauge", help);
}

static void
gauge(struct text *out, const char *name, const char *help, double value)
{
	prometheus_single(out, name, "gauge", help, value);
}

static void
counter(struct text *out, const char *name, const char *help, uint64_t value)
{
	prometheus_single(out, name, "counter", help, (double)value);
}

/* Add a sample whose label is a number, as of a server. */
static void
add_one(struct text *out, const char *name, const char *label, uint64_t i,
	double value)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)i);
	prometheus_labelled(out, name, label, number, value);
}

/* ---- the run ---- */

static void
add_info(const struct coord *c, struct text *out)
{
	static const char *const modes[] = { "async", "ssp", "sync" };
	const struct prometheus_label label[] = {
		{ "version", PACKAGE_VERSION },
		{ "mode", modes[c->o.mode] },
		{ "model", c->source->file[0].name }
	};

	begin_gauge(out, "pskit_info",
		    "The version, mode and model of the run; always 1.");
	prometheus_labels(out, "pskit_info", label,
			  sizeof(label) / sizeof(*label), 1);
}

static void
add_phase(const struct coord *c, struct text *out)
{
	static const char *const phases[] = { "greet", "plan", "load", "run",
					      "stop", "over" };
	const bool over = ending_state(c) == ENDING_OVER;
	const size_t now = (size_t)c->phase + over;

	begin_gauge(out, "pskit_phase",
		    "1 for the phase that the run is in, else 0.");
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases);
	     i++)
		prometheus_labelled(out, "pskit_phase", "phase", phases[i],
				    i == now);
}

/* ---- steps ---- */

static void
add_steps(const struct coord *c, struct text *out)
{
	const uint64_t retried = c->scheduler->retried(c);
	const struct cancel_figures given_up = cancel_figures(c);

	gauge(out, "pskit_step", "All steps below this one have ended.",
	      (double)queue_watermark(c->queue));
	counter(out, "pskit_steps_total", "Steps done.", report_all(c)->steps);
	counter(out, "pskit_examples_total", "Examples trained on.",
		report_all(c)->examples);
	counter(out, "pskit_steps_mixed_total",
		"Steps of which servers may have another attempt's part.",
		report_all(c)->mixed);
	counter(out, "pskit_steps_failed_total",
		"Steps that could not be done.", given_up.failed);
	counter(out, "pskit_steps_quarantined_total",
		"Steps quarantined because workers died under them.",
		given_up.aside);
	counter(out, "pskit_attempts_retried_total",
		"Times that a step, or a replica of a round, was leased again.",
		retried);
	counter(out, "pskit_steps_run_again_total",
		"Steps run again for servers that lost their variables.",
		rerun_steps(c));
}

/* Steps and requests that wait; steps only if their number is known, which is
   not so of requests without end. */
static void
add_queue(const struct coord *c, struct text *out)
{
	const uint64_t left = queue_waiting(c->queue);
	const uint64_t leased = queue_running(c->queue);

	gauge(out, "pskit_steps_leased", "Steps that workers have leases for.",
	      (double)leased);
	if (left < UINT64_MAX)
		gauge(out, "pskit_steps_waiting",
		      "Steps up to the next barrier that are not leased.",
		      left > leased ? (double)(left - leased) : 0);
	gauge(out, "pskit_requests_waiting",
	      "Requests read that have not ended.",
	      (double)queue_requests(c->queue));
}

static void
add_staleness(const struct coord *c, struct text *out)
{
	static const char name[] = "pskit_step_staleness";
	static const char bucket[] = "pskit_step_staleness_bucket";
	uint64_t count = 0, sum = 0;

	prometheus_metric(out, name, "histogram",
			  "Pushes of other workers between a step's pull and "
			  "its push; at most 255.");
	for (size_t i = 0; i < STALENESS; i++) {
		count += report_all(c)->stale[i];
		sum += i * report_all(c)->stale[i];
		if ((i & (i - 1)) == 0)		/* 0 and the powers of 2 */
			add_one(out, bucket, "le", i, (double)count);
	}
	prometheus_labelled(out, bucket, "le", "+Inf", (double)count);
	prometheus_sample(out, "pskit_step_staleness_sum", (double)sum);
	prometheus_sample(out, "pskit_step_staleness_count", (double)count);
}

/* Bytes moved, for each direction: as sent, as floats, and the part of the
   floats that a codec was for. */
static void
add_traffic(const struct coord *c, struct text *out)
{
	static const char *const name[] = {
		"pskit_gradient", "pskit_value"
	};
	const struct traffic *t = &report_all(c)->traffic;

	for (int way = 0; way < 2; way++) {
		const struct moved *m = way == 0 ? &t->pushed : &t->pulled;
		char text[64];

		snprintf(text, sizeof(text), "%s_bytes_total", name[way]);
		counter(out, text, "Bytes that steps sent.", m->bytes);
		snprintf(text, sizeof(text), "%s_float_bytes_total",
			 name[way]);
		counter(out, text, "Bytes that the same numbers take as "
			"floats.",
			m->floats);
		snprintf(text, sizeof(text), "%s_coded_bytes_total",
			 name[way]);
		counter(out, text, "Of the bytes as floats, those that a codec "
			"replaced.",
			m->coded);
	}
	if (t->squares > 0)
		gauge(out, "pskit_gradient_error",
		      "Relative error of the gradients that a codec sent.",
		      report_error_of(t));
	if (!codings_residual(c->plan.codings))
		return;
	gauge(out, "pskit_residual_norm",
	      "What codecs have lost of gradients and is still to be pushed.",
	      sqrt(report_all(c)->kept));
	counter(out, "pskit_residuals_lost_total",
		"Residuals of replicas that will not be pushed.",
		sync_residuals_lost(c));
}

/* Take the scores since the last join, if there are any.  A metric that needs
   all scores is computed for join only. */
static void
read_scores(const struct coord *c, struct scores *scores)
{
	const struct totals *t = report_since_join(c);

	if (t->examples == 0)
		return;
	scores->known = true;
	scores->loss = t->loss / (double)t->examples;
	for (size_t i = 0; i < c->metrics; i++) {
		const struct metric *m = &c->metric[i];

		scores->metric[i] = metric_keeps_scores(m) ? (double)NAN :
			metric_value(m, &t->state[i]);
	}
}

void
status_keep_scores(struct coord *c)
{
	read_scores(c, &c->figures->scores);
}

/* Until a step has ended after a join, the scores are those at the join. */
static void
add_scores(const struct coord *c, struct text *out)
{
	struct scores scores = c->figures->scores;
	bool named = false;

	read_scores(c, &scores);
	if (!scores.known)
		return;
	gauge(out, "pskit_loss", "Mean loss since the last join.",
	      scores.loss);
	for (size_t i = 0; i < c->metrics; i++) {
		if (isnan(scores.metric[i]))
			continue;
		if (!named)
			begin_gauge(out, "pskit_metric",
				    "A metric since the last join.");
		named = true;
		prometheus_labelled(out, "pskit_metric", "metric",
				    metric_name(&c->metric[i]),
				    scores.metric[i]);
	}
}

/* Add a sample of a data set; one without a name gets no label. */
static void
add_dataset_sample(const struct coord *c, struct text *out, const char *metric,
		   size_t i, uint64_t value)
{
	const char *name = samplers_name(c->o.samplers, i);

	if (*name)
		prometheus_labelled(out, metric, "data", name, (double)value);
	else
		prometheus_sample(out, metric, (double)value);
}

static void
add_epoch(const struct coord *c, struct text *out)
{
	struct samplers_reads v;

	if (!c->o.samplers || !samplers_ready(c->o.samplers))
		return;
	v = samplers_reads(c->o.samplers);
	begin_gauge(out, "pskit_epoch", "The newest epoch.");
	for (size_t i = 0; i < samplers_count(c->o.samplers); i++)
		add_dataset_sample(c, out, "pskit_epoch", i, v.of[i].epoch);
	begin_gauge(out, "pskit_epoch_records", "Records of an epoch.");
	for (size_t i = 0; i < samplers_count(c->o.samplers); i++)
		add_dataset_sample(c, out, "pskit_epoch_records", i,
				   sampler_records(samplers_get(c->o.samplers,
								i)));
	begin_gauge(out, "pskit_epoch_records_visited",
		    "Records visited of the newest epoch.");
	for (size_t i = 0; i < samplers_count(c->o.samplers); i++)
		add_dataset_sample(c, out, "pskit_epoch_records_visited", i,
				   v.of[i].records);
}

/* ---- workers ---- */

struct row {			/* a worker, all lives of it together */
	uint64_t index, steps, heard;
	bool up;
};

static int
by_index(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* A row for each worker's index, to be freed. */
static struct row *
worker_rows(const struct coord *c, size_t *count)
{
	struct row *row;
	size_t n = 0, rows = 0;

	for (const struct member *m = c->member; m; m = m->next)
		n += m->role == ROLE_WORKER;
	row = mem_alloc(n + 1, sizeof(*row));
	n = 0;
	for (const struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_WORKER)
			row[n++] = (struct row){
				m->index, lease_results(c, m), m->heard,
				!m->gone && !m->silent };
	qsort(row, n, sizeof(*row), by_index);
	for (size_t i = 0; i < n; i++) {
		struct row *last = &row[rows > 0 ? rows - 1 : 0];

		if (rows == 0 || last->index != row[i].index) {
			row[rows++] = row[i];
			continue;
		}
		last->steps += row[i].steps;
		last->up = last->up || row[i].up;
		if (row[i].heard > last->heard)
			last->heard = row[i].heard;
	}
	*count = rows;
	return row;
}

static void
add_workers(const struct coord *c, struct text *out, uint64_t now)
{
	size_t count;
	struct row *row = worker_rows(c, &count);

	gauge(out, "pskit_workers", "Workers that are connected.",
	      (double)workers_present(c));
	begin_gauge(out, "pskit_worker_up",
		    "1 if the worker is connected, else 0.");
	for (size_t i = 0; i < count; i++)
		add_one(out, "pskit_worker_up", "worker", row[i].index,
			row[i].up);
	prometheus_metric(out, "pskit_worker_steps_total", "counter",
			  "Steps, or replicas of rounds, whose result was this "
			  "worker's.");
	for (size_t i = 0; i < count; i++)
		add_one(out, "pskit_worker_steps_total", "worker",
			row[i].index, (double)row[i].steps);
	begin_gauge(out, "pskit_worker_silent_seconds",
		    "Time since the last message of the worker.");
	for (size_t i = 0; i < count; i++)
		add_one(out, "pskit_worker_silent_seconds", "worker",
			row[i].index, (double)(now - row[i].heard) / 1000);
	free(row);
}

/* Nothing is added in a run without relays. */
static void
add_relays(const struct coord *c, struct text *out)
{
	static const char name[] = "pskit_relay_workers";
	const struct member *m = c->member;

	while (m && (m->role != ROLE_RELAY || m->gone))
		m = m->next;
	if (!m)
		return;
	begin_gauge(out, name, "Workers that the relay of a site serves.");
	for (; m; m = m->next)
		if (m->role == ROLE_RELAY && !m->gone)
			prometheus_labelled(out, name, "site",
					    relays_site(c, m),
					    (double)relays_workers(c, m));
}

/* Steps that take far longer than others, and their workers. */
static void
add_late(const struct coord *c, struct text *out, uint64_t now)
{
	static const char name[] = "pskit_step_late_seconds";
	char number[24], index[24];
	const struct prometheus_label label[] = { { "step", number },
						  { "worker", index } };
	bool late;
	uint64_t step;

	begin_gauge(out, name,
		    "Time of a step that takes a hundred times as long "
		    "as others.");
	for (const struct member *m = c->member; m; m = m->next) {
		const uint64_t ms = watch_step(c, m, now, &step, &late);

		if (!late)
			continue;
		snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)step);
		snprintf(index, sizeof(index), "%llu",
			 (unsigned long long)m->index);
		prometheus_labels(out, name, label, 2, (double)ms / 1000);
	}
}

/* ---- servers ---- */

void
status_init(struct coord *c, const struct place *place, size_t places)
{
	size_t variables;
	const struct variable *v = model_variables(c->model, &variables);

	c->figures = mem_alloc(1, sizeof(*c->figures));
	c->figures->server_bytes = mem_alloc(c->o.servers,
					     sizeof(uint64_t));
	/* The size of a table of hashed ids is not known before. */
	for (size_t i = 0; i < places; i++)
		if (!v[place[i].variable].hashed)
			c->figures->server_bytes[place[i].server] +=
				place_bytes(&place[i], v);
	c->figures->step = plan_loads(&c->plan, c->model, place, places,
				      c->o.batch * c->plan.batches);
}

void
status_release(struct coord *c)
{
	free(c->figures->server_bytes);
	free(c->figures->step);
	text_release(&c->figures->state);
	free(c->figures);
}

/* What a step moves of each server; tables whose rows the model does not bound
   are not counted. */
static void
add_links(const struct coord *c, struct text *out)
{
	const size_t beside = placement_count_beside(&c->o.placement);

	begin_gauge(out, "pskit_server_beside",
		    "1 if a worker is beside the server, else 0.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_beside", "server", i, i < beside);
	begin_gauge(out, "pskit_server_step_pull_bytes", "Bytes that a step "
		    "pulls from the server at most, by the plan.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_step_pull_bytes", "server", i,
			(double)c->figures->step[i].pull);
	begin_gauge(out, "pskit_server_step_push_bytes", "Bytes that a step "
		    "pushes to the server at most, by the plan.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_step_push_bytes", "server", i,
			(double)c->figures->step[i].push);
}

static void
add_servers(const struct coord *c, struct text *out, uint64_t now)
{
	uint64_t heard;

	gauge(out, "pskit_servers", "Servers that are connected.",
	      (double)fleet_present(c->fleet));
	begin_gauge(out, "pskit_server_up",
		    "1 if the server is connected, else 0.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_up", "server", i,
			fleet_present_at(c->fleet, i));
	begin_gauge(out, "pskit_server_standby",
		    "1 if a standby can take over, else 0.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_standby", "server", i,
			standby_ready(c, i));
	begin_gauge(out, "pskit_server_bytes", "Bytes of variables and slots "
		    "by the plan, without hashed ids.");
	for (size_t i = 0; i < c->o.servers; i++)
		add_one(out, "pskit_server_bytes", "server", i,
			(double)c->figures->server_bytes[i]);
	add_links(c, out);
	begin_gauge(out, "pskit_server_silent_seconds",
		    "Time since the last message of the server.");
	for (size_t i = 0; i < c->o.servers; i++) {
		fleet_gone(c->fleet, i, &heard);
		if (heard > 0)
			add_one(out, "pskit_server_silent_seconds", "server",
				i, (double)(now - heard) / 1000);
	}
}

/* ---- checkpoints ---- */

/* Of a checkpoint that was restored only the step is known. */
static void
add_checkpoints(const struct coord *c, struct text *out, double zero)
{
	const struct cut_figures told = cut_figures(c);

	counter(out, "pskit_checkpoints_total", "Checkpoints published.",
		told.published);
	counter(out, "pskit_checkpoints_failed_total",
		"Checkpoints that failed.", told.failures);
	if (*cut_base(c)->name)
		gauge(out, "pskit_checkpoint_step",
		      "The newest checkpoint has all steps below this one.",
		      (double)cut_base(c)->step);
	if (told.published == 0)
		return;
	gauge(out, "pskit_checkpoint_timestamp_seconds",
	      "Unix time when the newest checkpoint was published.",
	      zero + (double)told.published_ms / 1000);
	gauge(out, "pskit_checkpoint_duration_seconds",
	      "Time from the last step of the newest checkpoint until it was "
	      "published.",
	      (double)told.saving_ms / 1000);
}

void
coord_status(const struct coord *c, struct text *out, uint64_t now,
	     double zero)
{
	char run[2 * PLAN_RUN + 1];

	add_info(c, out);
	gauge(out, "pskit_start_time_seconds",
	      "Unix time when the coordinator was started.",
	      zero + (double)c->began_ms / 1000);
	gauge(out, "pskit_term", "The term: one more each time that servers "
	      "changed.",
	      (double)c->plan.term);
	add_phase(c, out);
	add_steps(c, out);
	add_queue(c, out);
	add_staleness(c, out);
	add_traffic(c, out);
	add_scores(c, out);
	add_epoch(c, out);
	add_workers(c, out, now);
	add_relays(c, out);
	add_late(c, out, now);
	add_servers(c, out, now);
	add_checkpoints(c, out, zero);
	/* The label "run" keeps the series of two runs on one machine apart. */
	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(run + 2 * i, 3, "%02x", c->plan.run[i]);
	prometheus_mark(out, "run", run);
}

/* ---- for people ---- */

const char *
coord_state(struct coord *c)
{
	struct text *out = &c->figures->state;

	text_reset(out);
	text_add(out, "%llu steps, %llu examples; ",
		 (unsigned long long)report_all(c)->steps,
		 (unsigned long long)report_all(c)->examples);
	report_staleness_notified(out, report_all(c));
	if (report_all(c)->steps > 0) {
		text_add(out, "; ");
		report_traffic_notified(out, report_all(c));
	}
	if (sync_residuals_lost(c) > 0)
		text_add(out, ", %llu residuals lost",
			 (unsigned long long)sync_residuals_lost(c));
	return out->data;
}

/* Adds a few of the peers that hang and of the steps that take too long. */
static void
add_troubles(const struct coord *c, struct text *out, uint64_t now)
{
	int told = 0;
	uint64_t step;
	bool late;

	for (const struct member *m = c->member; m && told < 3; m = m->next) {
		const uint64_t ms = watch_step(c, m, now, &step, &late);

		if (m->silent && !m->gone)
			text_add(out, "  %s hangs", m->name);
		else if (late)
			text_add(out, "  %s at step %llu for %.0f s", m->name,
				 (unsigned long long)step, (double)ms / 1000);
		told += late || (m->silent && !m->gone);
	}
	for (size_t i = 0; i < c->o.servers && told < 3; i++)
		if (fleet_hangs(c->fleet, i)) {
			text_add(out, "  server %zu hangs", i);
			told++;
		}
}

void
coord_progress(const struct coord *c, struct text *out, uint64_t now)
{
	const struct totals *all = report_all(c);
	const struct totals *join = report_since_join(c);
	const double seconds = (double)(now - all->began_ms) / 1000;
	const double rate = seconds > 0 ? (double)all->steps / seconds : 0;
	const uint64_t left = queue_waiting(c->queue);

	text_add(out, "step %llu",
		 (unsigned long long)queue_watermark(c->queue));
	if (left > 0 && left < UINT64_MAX - queue_watermark(c->queue))
		text_add(out, " of %llu", (unsigned long long)
			 (queue_watermark(c->queue) + left));
	if (rate > 0 && left > 0)
		text_add(out, "  ETA %.0f s", (double)left / rate);
	text_add(out, "  %.0f steps/s  %.0f examples/s", rate, seconds > 0 ?
		 (double)all->examples / seconds : 0);
	if (join->examples > 0)
		text_add(out, "  loss %.4f",
			 join->loss / (double)join->examples);
	for (size_t i = 0; i < c->metrics && join->examples > 0; i++)
		if (!metric_keeps_scores(&c->metric[i]))
			text_add(out, "  %s %.4f",
				 metric_name(&c->metric[i]),
				 metric_value(&c->metric[i],
					      &join->state[i]));
	text_add(out, "  %zu workers  %zu servers", workers_present(c),
		 fleet_present(c->fleet));
	add_troubles(c, out, now);
}
