/* A worker's report is the same when it is written and read again, bit for bit;
   reports add up to what one worker alone would report. */
#include "wire/result.h"

#include "base/rng.h"

#include "tap.h"

#include <string.h>

static struct fail f;
static const char json[] = "{\"a\":[1,2]}";

static struct result
sample(struct rng *rng, size_t metrics)
{
	struct result r = {
		.step = rng_next(rng), .attempt = rng_below(rng, 5),
		.examples = rng_below(rng, 1000), .staleness = rng_next(rng),
		.microseconds = rng_next(rng) >> 20,
		.voided = rng_below(rng, 2), .mixed = rng_below(rng, 2),
		.loss = rng_unit(rng_next(rng)) - .5, .metrics = metrics,
		.scores = rng_below(rng, 100),
		.negatives = { rng_below(rng, 2), rng_below(rng, 2) },
		.traffic = { { rng_next(rng), rng_below(rng, 9), 7 },
			     { 1, 2, rng_next(rng) }, 0.5, -2 },
		.json = { json, rng_below(rng, sizeof(json)), NULL }
	};

	for (size_t i = 0; i < metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			r.sum[i][j] = rng_unit(rng_next(rng));
	return r;
}

static bool
same(const struct result *a, const struct result *b)
{
	return a->step == b->step && a->attempt == b->attempt &&
		a->examples == b->examples && a->staleness == b->staleness &&
		a->microseconds == b->microseconds &&
		a->voided == b->voided && a->mixed == b->mixed &&
		a->loss == b->loss && a->metrics == b->metrics &&
		a->scores == b->scores &&
			a->negatives.zero == b->negatives.zero &&
		a->negatives.minus == b->negatives.minus &&
		memcmp(&a->traffic, &b->traffic, sizeof(a->traffic)) == 0 &&
		a->json.size == b->json.size &&
		(a->json.size == 0 || memcmp(a->json.data, b->json.data,
					     a->json.size) == 0) &&
		memcmp(a->sum, b->sum, a->metrics * sizeof(a->sum[0])) == 0;
}

static void
round_trip(void)
{
	struct rng rng = { .seed = 5 };
	struct pack p = { 0 };
	bool good = true, cut = true, wrong = true;

	for (size_t metrics = 0; metrics <= RESULT_METRICS; metrics++) {
		const struct result r = sample(&rng, metrics);
		const struct result s = sample(&rng, metrics);
		struct result read;
		struct unpack u;

		pack_reset(&p);
		result_write(&p, &r);

		const size_t first = p.size;

		result_write(&p, &s);
		u = unpack_from(p.data, p.size);
		good = good && result_read(&u, &read, metrics) &&
			same(&r, &read) && result_read(&u, &read, metrics) &&
			same(&s, &read) && unpack_ok(&u);
		for (size_t i = 0; i < first; i++) {
			u = unpack_from(p.data, i);
			cut = cut && !result_read(&u, &read, metrics);
		}
		u = unpack_from(p.data, p.size);
		wrong = wrong && (metrics == RESULT_METRICS ||
				  !result_read(&u, &read, metrics + 1));
	}
	named(good,
	      "two results, one behind the other, are read back as they were "
	      "written");
	named(cut, "a result that is cut short is refused");
	named(wrong,
	      "a result with another model's number of metrics is refused");
	pack_release(&p);
}

/* The result of a program becomes part of a line. */
static void
lines(void)
{
	static const char *const bad[] = { "[\n1]", "\"\x1b[2J\"", "\x7f" };
	static char large[RESULT_JSON + 1];
	struct result r = { .step = 1 }, read;
	struct pack p = { 0 };
	struct unpack u;
	bool good = true;

	for (size_t i = 0; i < 3; i++) {
		r.json = (struct frame){ bad[i], strlen(bad[i]), NULL };
		pack_reset(&p);
		result_write(&p, &r);
		u = unpack_from(p.data, p.size);
		good = good && !result_read(&u, &read, 0);
	}
	named(good, "a text that cannot be a part of a JSON line is refused");
	memset(large, '1', sizeof(large));
	for (size_t over = 0; over < 2; over++) {
		r.json = (struct frame){ large, RESULT_JSON + over, NULL };
		pack_reset(&p);
		result_write(&p, &r);
		u = unpack_from(p.data, p.size);
		named(result_read(&u, &read, 0) == !over,
		      over ? "a result of more than a MiB is refused" :
		      "a result of a MiB is accepted");
	}
	pack_release(&p);
}

/* The reports of two halves of a batch add up to that of the batch. */
static void
adds_up(void)
{
	static const float prediction[] = { .9f, .2f, .6f, .4f, .7f, .1f };
	static const float label[] = { 1, 0, 0, 1, 1, 0 };
	struct metric metric[2];
	struct metric_state whole[2] = { 0 }, half[2] = { 0 },
			    sum[2] = { 0 };
	struct result r;

	metric_parse(&metric[0], "accuracy", &f);
	metric_parse(&metric[1], "auc", &f);
	for (size_t i = 0; i < 2; i++)
		metric_add(&metric[i], &whole[i], prediction, 1, label,
			   NULL, 6);
	for (size_t at = 0; at < 6; at += 3) {
		for (size_t i = 0; i < 2; i++) {
			metric_reset(&half[i]);
			metric_add(&metric[i], &half[i], prediction + at, 1,
				   label + at, NULL, 3);
		}
		result_metrics(&r, metric, 2, half);
		ok(r.metrics == 2 && r.scores == 3);
		result_add(&r, metric, sum, half[1].score, half[1].positive);
	}
	for (size_t i = 0; i < 2; i++) {
		named_for(metric_value(&metric[i], &sum[i]) ==
			  metric_value(&metric[i], &whole[i]),
			  "%s of two halves equals that of the batch",
			  metric_name(&metric[i]));
		metric_release(&whole[i]);
		metric_release(&half[i]);
		metric_release(&sum[i]);
	}
}

static void
scores(void)
{
	const float score[] = { .5f, .25f };
	const unsigned char positive[] = { 1, 0 };
	struct message m = {
		.kind = MESSAGE_DONE, .frames = 3,
		.frame = { { NULL, 0, NULL },
			   { score, sizeof(score), NULL },
			   { positive, sizeof(positive), NULL } }
	};
	const unsigned char *labels;
	const void *at;
	size_t count;

	equals(result_scores(&m, &at, &labels, &count, &f), 0);
	ok(at == score && labels == positive && count == 2);
	m.frame[1].size--;
	ok(result_scores(&m, &at, &labels, &count, &f) < 0);
	ok(f.kind == FAIL_PROTOCOL &&
	   strcmp(f.text, "malformed scores") == 0);
	m.frames = 2;
	ok(result_scores(&m, &at, &labels, &count, &f) < 0);
	m.frames = 1;
	ok(result_scores(&m, &at, &labels, &count, &f) == 0 && count == 0);
}

int
main(void)
{
	round_trip();
	lines();
	adds_up();
	scores();
	return tap_done();
}
