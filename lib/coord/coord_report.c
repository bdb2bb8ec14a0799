/*
 * The coordinator's lines: results, totals, warnings, progress.
 */
#include "coord/coord_report.h"

#include "base/mem.h"
#include "base/ration.h"
#include "coord/submitters.h"
#include "wire/result.h"
#include "wire/result_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cancelled requests of one kind that are yet to be reported, in one line. */
struct cancelled {
	enum request_op op;
	bool has_steps;
	uint64_t requests, steps;
};

#define CANCELLED_KINDS	(2 * (REQUEST_BAD + 1))

struct report {
	struct totals all;		/* of the run */
	struct totals **join;		/* of each submitter, since its last
					   join; NULL: none yet */
	size_t owners;			/* of join */
	struct cancelled cancelled[CANCELLED_KINDS];
	size_t cancelled_kinds, cancelled_owner;
	uint64_t given_up;		/* requests that were cancelled */
	struct text warnings;
	struct ration peers;		/* of warnings about them */
	bool is_again;			/* see report_again(): lines go to */
	struct text again;		/* this text, which is dropped */
};

void
report_init(struct coord *c, uint64_t now)
{
	c->report = mem_alloc(1, sizeof(*c->report));
	report_begin(c, now);
}

void
report_release(struct coord *c)
{
	for (size_t i = 0; i < c->report->owners; i++) {
		if (c->report->join[i])
			totals_release(c->report->join[i]);
		free(c->report->join[i]);
	}
	free(c->report->join);
	totals_release(&c->report->all);
	text_release(&c->report->warnings);
	text_release(&c->report->again);
	free(c->report);
}

void
report_begin(struct coord *c, uint64_t now)
{
	report_new_owner(c, SUBMITTER_OWN, now);
	totals_reset(&c->report->all, now);
}

void
report_again(struct coord *c, bool again)
{
	c->report->is_again = again;
}

static struct totals *
totals_since_join(const struct coord *c, size_t owner)
{
	struct report *r = c->report;

	if (owner >= r->owners) {
		r->join = mem_resize(r->join, owner + 1, sizeof(*r->join));
		while (r->owners <= owner)
			r->join[r->owners++] = NULL;
	}
	if (!r->join[owner])
		r->join[owner] = mem_alloc(1, sizeof(*r->join[owner]));
	return r->join[owner];
}

void
report_new_owner(struct coord *c, size_t owner, uint64_t now)
{
	totals_reset(totals_since_join(c, owner), now);
}

/* ---- totals ---- */

void
totals_reset(struct totals *t, uint64_t now)
{
	t->steps = t->examples = t->mixed = 0;
	t->loss = 0;
	t->unscored = false;
	t->negatives = (struct negative_labels){ 0 };
	t->traffic = (struct traffic){ 0 };
	t->kept = 0;
	t->began_ms = now;
	t->step = WIRE_NONE;
	memset(t->stale, 0, sizeof(t->stale));
	for (size_t i = 0; i < RESULT_METRICS; i++)
		metric_reset(&t->state[i]);
}

void
totals_release(struct totals *t)
{
	for (size_t i = 0; i < RESULT_METRICS; i++)
		metric_release(&t->state[i]);
}

static bool
too_many_scores(const struct totals *t, const struct coord *c, size_t more)
{
	for (size_t i = 0; i < c->metrics; i++)
		/* A metric that needs all scores (auc) keeps so many. */
		if (more > RESULT_SCORES - t->state[i].count)
			return true;
	return false;
}

void
totals_add(struct totals *t, const struct coord *c, const struct result *r,
	   const float *scores, const unsigned char *positive)
{
	struct result bare = *r;

	/* A metric of only some of the scores would be a wrong number: it is
	   null instead. */
	if (scores && too_many_scores(t, c, r->scores))
		t->unscored = true;
	for (size_t i = 0; t->unscored && i < c->metrics; i++)
		t->state[i].count = 0;
	t->steps++;
	t->examples += r->examples;
	t->mixed += r->mixed;
	t->stale[r->staleness < STALENESS ? r->staleness : STALENESS - 1]++;
	t->loss += r->loss;
	traffic_add(&t->traffic, &r->traffic);
	t->kept = r->kept;
	if (!scores || t->unscored)
		bare.scores = 0;
	result_add(&bare, c->metric, t->state, scores, positive);
}

int
totals_add_negatives(struct totals *t, const struct result *r,
		     const char *worker, struct fail *f)
{
	const struct negative_labels was = t->negatives;

	t->negatives.zero = was.zero || r->negatives.zero;
	t->negatives.minus = was.minus || r->negatives.minus;
	if (!t->negatives.zero || !t->negatives.minus ||
	    (was.zero && was.minus))
		return 0;
	return fail(f, FAIL_DATA, "%s has labels of %s, where others are %s: "
		    "-1, 0 and 1 are three classes, and binary is 0 and 1, or "
		    "-1 and 1", worker, was.zero ? "-1" : "0",
		    was.zero ? "0" : "-1");
}

void
report_count(struct coord *c, const struct request *asked,
	     const struct result *r, const float *scores,
	     const unsigned char *positive)
{
	totals_add(totals_since_join(c, asked->owner), c, r, scores, positive);
	totals_add(&c->report->all, c, r, NULL, NULL);
}

int
report_classes(struct coord *c, const struct result *r, const char *worker,
	       struct fail *f)
{
	return totals_add_negatives(&c->report->all, r, worker, f);
}

const struct totals *
report_all(const struct coord *c)
{
	return &c->report->all;
}

const struct totals *
report_since_join(const struct coord *c)
{
	/* With --queue each submitter has joins of its own: show all. */
	return submitters_open(c->submitters) ? &c->report->all :
		totals_since_join(c, SUBMITTER_OWN);
}

uint64_t
report_steps(const struct coord *c)
{
	return c->report->all.steps;
}

uint64_t
report_cancelled_requests(const struct coord *c)
{
	return c->report->given_up;
}

/* ---- lines ---- */

/* The text for a submitter's line.  While a journal is read lines are dropped,
   as they were reported before. */
static struct text *
output_of(const struct coord *c, const struct request *asked)
{
	if (c->report->is_again) {
		text_reset(&c->report->again);
		return &c->report->again;
	}
	return submitters_output(c->submitters,
				 asked ? asked->owner : SUBMITTER_OWN);
}

struct text *
report_begin_line(struct coord *c, const struct request *asked,
		  const char *op)
{
	struct text *out = output_of(c, asked);

	text_add(out, "{");
	if (asked && asked->id)
		text_add(out, "\"id\":%s,", asked->id);
	text_add(out, "\"op\":\"%s\"", op);
	return out;
}

void
report_step(struct coord *c, uint64_t epoch, const struct result *r,
	    const char *worker, size_t replicas, const float *scores,
	    const unsigned char *positive)
{
	struct metric_state state[RESULT_METRICS] = { 0 };
	struct text *out;

	if (c->o.results != RESULTS_ALL)
		return;
	result_add(r, c->metric, state, scores, positive);
	out = report_begin_line(c, queue_request(c->queue, r->step), "train");
	text_add(out, ",\"step\":%llu,", (unsigned long long)r->step);
	if (epoch != WIRE_NONE)
		text_add(out, "\"epoch\":%llu,", (unsigned long long)epoch);
	if (worker)
		text_add(out, "\"worker\":\"%s\",\"attempt\":%llu,", worker,
			 (unsigned long long)r->attempt);
	else
		text_add(out, "\"slots\":%zu,", replicas);
	if (c->o.batches > 1)
		text_add(out, "\"batches\":%llu,",
			 (unsigned long long)c->o.batches);
	result_json_scores(out, r->examples, r->loss, c->metric, c->metrics,
			   state);
	text_add(out, "%s,\"staleness\":%llu,\"seconds\":",
		 r->mixed ? ",\"mixed\":true" : "",
		 (unsigned long long)r->staleness);
	result_json_number(out, (double)r->microseconds / 1e6);
	if (r->json.size > 0) {
		text_add(out, ",\"result\":");
		text_add_bytes(out, r->json.data, r->json.size);
	}
	text_add(out, "}\n");
	for (size_t i = 0; i < c->metrics; i++)
		metric_release(&state[i]);
}

void
report_error(struct coord *c, const struct request *asked, const char *op,
	     uint64_t step, const char *worker, const char *why)
{
	struct text *out;

	if (c->o.results == RESULTS_NONE)
		return;
	out = report_begin_line(c, asked, op);
	if (step != WIRE_NONE)
		text_add(out, ",\"step\":%llu", (unsigned long long)step);
	if (worker)
		text_add(out, ",\"worker\":\"%s\"", worker);
	text_add(out, ",\"error\":");
	result_json_string(out, why);
	text_add(out, "}\n");
}

static void
notify_cancelled(struct coord *c, const struct request *asked,
		 const struct cancelled *all)
{
	struct text *out = report_begin_line(c, asked, request_name(all->op));

	if (all->has_steps)
		text_add(out, ",\"steps\":%llu",
			 (unsigned long long)all->steps);
	if (all->requests > 1)
		text_add(out, ",\"requests\":%llu",
			 (unsigned long long)all->requests);
	text_add(out, ",\"cancelled\":true}\n");
}

static struct cancelled *
find_cancelled(struct coord *c, enum request_op op, bool has_steps)
{
	struct report *r = c->report;
	struct cancelled *all = r->cancelled;

	for (; all < r->cancelled + r->cancelled_kinds; all++)
		if (all->op == op && all->has_steps == has_steps)
			return all;
	r->cancelled_kinds++;
	*all = (struct cancelled){ .op = op, .has_steps = has_steps };
	return all;
}

/*
 * Thousands of requests may wait, as input is read ahead.  So cancelled
 * requests of one kind and without an id share a line, which comes before the
 * line of the next one with an id.
 */
static void
add_cancelled(struct coord *c, const struct request *r, bool has_steps,
	      uint64_t steps)
{
	struct cancelled *all;

	if (c->o.results == RESULTS_NONE)
		return;
	if (r->owner != c->report->cancelled_owner)
		report_given_up(c);
	c->report->cancelled_owner = r->owner;
	if (r->id) {
		const struct cancelled one = { r->op, has_steps, 1, steps };

		report_given_up(c);
		notify_cancelled(c, r, &one);
		return;
	}
	all = find_cancelled(c, r->op, has_steps);
	all->steps += steps;
	all->requests++;
}

void
report_cancelled(void *coord, const struct request *r, uint64_t steps)
{
	struct coord *c = coord;

	c->report->given_up++;
	add_cancelled(c, r, true, steps);
}

void
report_passed_over(struct coord *c, const struct request *r)
{
	add_cancelled(c, r, false, 0);
}

void
report_given_up(struct coord *c)
{
	const struct request asked = { .owner = c->report->cancelled_owner };

	for (size_t i = 0; i < c->report->cancelled_kinds; i++)
		notify_cancelled(c, &asked, &c->report->cancelled[i]);
	c->report->cancelled_kinds = 0;
}

/* The number of counts of staleness without the zeros at the end; at least
   1. */
static size_t
count_stale(const struct totals *t)
{
	size_t told = STALENESS;

	while (told > 1 && t->stale[told - 1] == 0)
		told--;
	return told;
}

/* The least staleness that this percentage of the steps did not exceed. */
static size_t
stale_quantile(const struct totals *t, unsigned percent)
{
	uint64_t steps = 0, left;
	size_t i = 0;

	for (size_t k = 0; k < STALENESS; k++)
		steps += t->stale[k];
	left = steps / 100 * percent + (steps % 100 * percent + 99) / 100;
	for (; i < STALENESS - 1 && left > t->stale[i]; i++)
		left -= t->stale[i];
	return i;
}

void
report_staleness(struct text *out, const struct totals *t)
{
	const char *before = "";

	text_add(out, "{\"p50\":%zu,\"p90\":%zu,\"p99\":%zu,\"max\":%zu,"
		 "\"pairs\":[", stale_quantile(t, 50), stale_quantile(t, 90),
		 stale_quantile(t, 99), count_stale(t) - 1);
	for (size_t i = 0; i < STALENESS; i++) {
		if (t->stale[i] == 0)
			continue;
		text_add(out, "%s[%zu,%llu]", before, i,
			 (unsigned long long)t->stale[i]);
		before = ",";
	}
	text_add(out, "]}");
}

void
report_staleness_notified(struct text *out, const struct totals *t)
{
	text_add(out, "median staleness %zu, at most %zu",
		 stale_quantile(t, 50), count_stale(t) - 1);
}

/* Bytes in one direction; and if a codec was used, what they would be as
   floats, and the coded part of that. */
static void
add_moved(struct text *out, const char *name, const struct moved *m)
{
	text_add(out, ",\"%s\":%llu", name, (unsigned long long)m->bytes);
	if (m->coded == 0)
		return;
	text_add(out, ",\"%s_floats\":%llu,\"%s_coded\":", name,
		 (unsigned long long)m->floats, name);
	result_json_number(out, (double)m->coded / (double)m->floats);
}

double
report_error_of(const struct traffic *t)
{
	return t->squares > 0 ? sqrt(t->errors / t->squares) : 0;
}

static void
add_traffic(struct text *out, const struct traffic *t)
{
	add_moved(out, "pushed", &t->pushed);
	if (t->pushed.coded > 0) {
		text_add(out, ",\"gradient_error\":");
		result_json_number(out, report_error_of(t));
	}
	add_moved(out, "pulled", &t->pulled);
}

/* Adds the size of the residuals, if the codecs have any. */
static void
add_residuals(const struct coord *c, struct text *out, const struct totals *t)
{
	if (!codings_residual(c->plan.codings))
		return;
	text_add(out, ",\"residuals\":");
	result_json_number(out, sqrt(t->kept));
}

void
report_traffic_notified(struct text *out, const struct totals *t)
{
	const struct traffic *all = &t->traffic;

	text_add(out, "%.3g MB pushed (%.3g as floats), %.3g MB pulled (%.3g)",
		 (double)all->pushed.bytes / 1e6,
		 (double)all->pushed.floats / 1e6,
		 (double)all->pulled.bytes / 1e6,
		 (double)all->pulled.floats / 1e6);
	if (all->squares > 0)
		text_add(out, ", error of gradients %.2g",
			 report_error_of(all));
	if (t->kept > 0)
		text_add(out, ", residuals of norm %.2g", sqrt(t->kept));
}

/* The step, and the totals of what was trained or scored. */
static void
add_totals(struct coord *c, struct text *out, const struct totals *t,
	   uint64_t now)
{
	text_add(out, ",\"step\":%llu",
		 (unsigned long long)(t->step != WIRE_NONE ? t->step :
				      queue_watermark(c->queue)));
	if (!t->evaluates)
		text_add(out, ",\"steps\":%llu",
			 (unsigned long long)t->steps);
	text_add(out, ",");
	result_json_scores(out, t->examples, t->loss, c->metric, c->metrics,
			   t->state);
	if (t->mixed > 0)
		text_add(out, ",\"mixed\":%llu",
			 (unsigned long long)t->mixed);
	if (!t->evaluates && t->steps > 0) {
		text_add(out, ",\"staleness\":");
		report_staleness(out, t);
		add_traffic(out, &t->traffic);
		add_residuals(c, out, t);
	}
	text_add(out, ",\"seconds\":");
	result_json_number(out, (double)(now - t->began_ms) / 1000);
}

/* The totals are of this run; the counts of records include those that earlier
   runs, whose checkpoint was restored, read in this epoch. */
void
report_epoch(struct coord *c, const struct request *asked, size_t by,
	     uint64_t epoch, const struct totals *t, uint64_t now)
{
	const struct sampler *l = samplers_get(c->o.samplers, by);
	const char *name = samplers_name(c->o.samplers, by);
	const uint64_t records = sampler_records(l);
	const uint64_t left = sampler_now(l) == epoch ? sampler_left(l) : 0;
	const uint64_t visited = sampler_records_read(l, epoch);
	struct text *out;

	if (c->o.results == RESULTS_NONE)
		return;
	out = report_begin_line(c, asked, "epoch");
	text_add(out, ",\"epoch\":%llu",
		 (unsigned long long)epoch);
	if (*name) {
		text_add(out, ",\"data\":");
		result_json_string(out, name);
	}
	add_totals(c, out, t, now);
	text_add(out, ",\"records\":%llu", (unsigned long long)records);
	if (left > 0)
		text_add(out, ",\"left\":%llu", (unsigned long long)left);
	if (visited + left < records)
		text_add(out, ",\"missed\":%llu",
			 (unsigned long long)(records - visited - left));
	text_add(out, "}\n");
}

void
report_totals(struct coord *c, const struct request *asked, const char *op,
	      const struct totals *t, uint64_t now, const char *error)
{
	struct text *out;

	if (c->o.results == RESULTS_NONE)
		return;
	out = report_begin_line(c, asked, op);
	add_totals(c, out, t, now);
	if (error) {
		text_add(out, ",\"error\":");
		result_json_string(out, error);
	}
	text_add(out, "}\n");
}

bool
report_is_full(const struct coord *c)
{
	/* With --queue a submitter's own lines only hold up its own turns. */
	return !submitters_open(c->submitters) &&
		output_of(c, NULL)->size >= COORD_OUTPUT;
}

void
report_join(struct coord *c, const struct request *asked, const char *error,
	    uint64_t now)
{
	struct totals *join = totals_since_join(c, asked->owner);

	report_totals(c, asked, "join", join, now, error);
	totals_reset(join, now);
}

void
report_cancel(struct coord *c, const struct request *asked, size_t requests)
{
	if (c->o.results != RESULTS_NONE)
		text_add(report_begin_line(c, asked, "cancel"),
			 ",\"requests\":%zu}\n", requests);
}

void
report_saved(struct coord *c, const struct request *asked, const char *name,
	     uint64_t step)
{
	if (c->o.results == RESULTS_NONE)
		return;
	text_add(report_begin_line(c, asked, "save"),
		 ",\"step\":%llu,\"checkpoint\":\"%s\"}\n",
		 (unsigned long long)step, name);
}

static void
warn(struct coord *c, const char *format, va_list args)
{
	char line[700];

	vsnprintf(line, sizeof(line), format, args);
	text_add(&c->report->warnings, "%s\n", line);
}

void
report_warning(struct coord *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn(c, format, args);
	va_end(args);
}

void
report_peer(struct coord *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (ration_take(&c->report->peers, c->now_ms))
		warn(c, format, args);
	va_end(args);
}

void
report_left_out(struct coord *c, uint64_t now)
{
	const uint64_t count = ration_left_out(&c->report->peers, now);

	if (count > 0)
		report_warning(c, "%llu more messages about workers, relays "
			       "and submitters are left out",
			       (unsigned long long)count);
}

/* ---- in the journal ---- */

void
totals_write(struct pack *out, const struct coord *c, const struct totals *t,
	    uint64_t now)
{
	const size_t stale = count_stale(t);

	pack_uint(out, t->steps);
	pack_uint(out, t->examples);
	pack_uint(out, t->mixed);
	pack_uint(out, message_double_bits(t->loss));
	pack_uint(out, now - t->began_ms);
	traffic_write(out, &t->traffic);
	pack_uint(out, stale);
	for (size_t i = 0; i < stale; i++)
		pack_uint(out, t->stale[i]);
	for (size_t i = 0; i < c->metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			pack_uint(out, message_double_bits(
				t->state[i].sum[j]));
}

void
totals_read(struct unpack *u, const struct coord *c, struct totals *t)
{
	t->steps = unpack_uint(u);
	t->examples = unpack_uint(u);
	t->mixed = unpack_uint(u);
	t->loss = message_double(unpack_uint(u));
	t->began_ms = c->now_ms - unpack_uint(u);
	t->traffic = traffic_read(u);
	memset(t->stale, 0, sizeof(t->stale));
	for (uint64_t i = 0, n = unpack_uint(u); i < n && !u->bad; i++)
		t->stale[i < STALENESS ? i : STALENESS - 1] = unpack_uint(u);
	for (size_t i = 0; i < c->metrics; i++) {
		metric_reset(&t->state[i]);
		for (size_t j = 0; j < METRIC_SUMS; j++)
			t->state[i].sum[j] = message_double(unpack_uint(u));
		if (metric_keeps_scores(&c->metric[i]))
			t->unscored = true;	/* they were not kept */
	}
}

void
report_write_owner(const struct coord *c, size_t owner, struct pack *out,
		   uint64_t now)
{
	totals_write(out, c, totals_since_join(c, owner), now);
}

void
report_read_owner(struct coord *c, size_t owner, struct unpack *in)
{
	totals_read(in, c, totals_since_join(c, owner));
}

void
report_write(const struct coord *c, struct pack *out, uint64_t now)
{
	totals_write(out, c, totals_since_join(c, SUBMITTER_OWN), now);
	totals_write(out, c, &c->report->all, now);
}

void
report_read(struct coord *c, struct unpack *in)
{
	totals_read(in, c, totals_since_join(c, SUBMITTER_OWN));
	totals_read(in, c, &c->report->all);
}

struct text *
coord_output(struct coord *c)
{
	return submitters_ready(c->submitters);
}

struct text *
coord_warnings(struct coord *c)
{
	return &c->report->warnings;
}
