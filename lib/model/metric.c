#include "model/metric.h"

#include "base/choices.h"
#include "base/mem.h"
#include "base/text.h"
#include "tensor/elementary.h"
#include "tensor/target_clones.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct metric_kind {
	const char *name;
	size_t classes;		/* that it tells apart, at most; or 0 */
	/*
	 * Add n examples, with width predictions, one label and one weight
	 * each.
	 */
	void (*add)(const struct metric *, struct metric_state *,
		    const float *p, size_t width, const float *label,
		    const float *weight, size_t n);
	double (*value)(const struct metric_state *);
};

/* Return the class of a label; width if it is not one of the classes. */
static size_t
class_of(float label, size_t width)
{
	return label >= 0 && label < (float)width ? (size_t)label : width;
}

/*
 * Return the prediction of the second of two classes; of one column that
 * column.
 */
static float
score_of(const float *p, size_t width)
{
	return width == 1 ? p[0] : p[1];
}

/* Return the weight of example i. */
static double
counts(const float *weight, size_t i)
{
	return weight ? (double)weight[i] : 1;
}

enum { HITS, MISSES };		/* of sum[] */

static void
add_hits(struct metric_state *s, double hits, double of)
{
	s->sum[HITS] += hits;
	s->sum[MISSES] += of - hits;
}

static double
hit_rate(const struct metric_state *s)
{
	return s->sum[HITS] / (s->sum[HITS] + s->sum[MISSES]);
}

static size_t
largest(const float *p, size_t width)
{
	size_t best = 0;

	for (size_t i = 1; i < width; i++)
		if (p[i] > p[best])
			best = i;
	return best;
}

/*
 * As in Keras a prediction must be above the threshold, not at it; of several
 * largest classes the first counts.
 */
static void
add_accuracy(const struct metric *m, struct metric_state *s, const float *p,
	     size_t width, const float *label, const float *weight, size_t n)
{
	double hits = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		const bool hit = width == 1 ?
			(p[i] > m->threshold) == (label[i] > .5f) :
			largest(p + i * width, width) ==
			class_of(label[i], width);

		hits += hit ? counts(weight, i) : 0;
		of += counts(weight, i);
	}
	add_hits(s, hits, of);
}

/* The share of examples called positive that are positive. */
static void
add_precision(const struct metric *m, struct metric_state *s, const float *p,
	      size_t width, const float *label, const float *weight, size_t n)
{
	double hits = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		const bool called = score_of(p + i * width, width) >
				    m->threshold;

		hits += called && label[i] == 1 ? counts(weight, i) : 0;
		of += called ? counts(weight, i) : 0;
	}
	add_hits(s, hits, of);
}

/* The share of positive examples that are called so. */
static void
add_recall(const struct metric *m, struct metric_state *s, const float *p,
	   size_t width, const float *label, const float *weight, size_t n)
{
	double hits = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		const bool positive = label[i] == 1;
		const bool called = score_of(p + i * width, width) >
				    m->threshold;

		hits += positive && called ? counts(weight, i) : 0;
		of += positive ? counts(weight, i) : 0;
	}
	add_hits(s, hits, of);
}

enum { BOTH, CALLED, POSITIVE };	/* of sum[] */

static void
add_f1(const struct metric *m, struct metric_state *s, const float *p,
       size_t width, const float *label, const float *weight, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const bool positive = label[i] == 1;
		const bool called = score_of(p + i * width, width) >
				    m->threshold;
		const double count = counts(weight, i);

		s->sum[BOTH] += positive && called ? count : 0;
		s->sum[CALLED] += called ? count : 0;
		s->sum[POSITIVE] += positive ? count : 0;
	}
}

/* The harmonic mean of precision and recall. */
static double
f1(const struct metric_state *s)
{
	return 2 * s->sum[BOTH] / (s->sum[CALLED] + s->sum[POSITIVE]);
}

/*
 * Return whether a class is among the k largest predictions.  As in
 * TensorFlow's in_top_k(), predictions that tie with the last of the k are
 * among them, and one that is not finite is not.
 */
static bool
is_among(const float *p, size_t width, size_t class, uint64_t k)
{
	uint64_t above = 0;

	if (class == width || !isfinite(p[class]))
		return false;
	for (size_t i = 0; i < width; i++)
		above += p[i] > p[class];
	return above < k;
}

static void
add_top_k(const struct metric *m, struct metric_state *s, const float *p,
	  size_t width, const float *label, const float *weight, size_t n)
{
	double hits = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t class = class_of(label[i], width);
		const bool hit = is_among(p + i * width, width, class, m->k);

		hits += hit ? counts(weight, i) : 0;
		of += counts(weight, i);
	}
	add_hits(s, hits, of);
}

enum { TOTAL, COUNT };		/* of sum[] */

static void
add_error(struct metric_state *s, double error, double weight)
{
	s->sum[TOTAL] += error * weight;
	s->sum[COUNT] += weight;
}

static double
mean(const struct metric_state *s)
{
	return s->sum[TOTAL] / s->sum[COUNT];
}

static double
root_mean(const struct metric_state *s)
{
	return sqrt(mean(s));
}

/*
 * The sum of the predicted probabilities over the number of positive examples.
 */
static void
add_calibration(const struct metric *m, struct metric_state *s,
		const float *p, size_t width, const float *label,
		const float *weight, size_t n)
{
	(void)m;
	for (size_t i = 0; i < n; i++) {
		const double count = counts(weight, i);

		s->sum[TOTAL] += count *
			(double)score_of(p + i * width, width);
		s->sum[COUNT] += label[i] == 1 ? count : 0;
	}
}

/*
 * Return -log(p) with Keras's bounds: a wrong certainty costs 16.1, not
 * infinity.
 */
static inline double
log_loss(double p)
{
	const double least = 1e-7;

	return -log_of_positive(p < least ? least :
				p > 1 - least ? 1 - least : p);
}

static TARGET_CLONES void
log_losses(double *restrict error, const double *restrict p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		error[i] = log_loss(p[i]);
}

/* Return the predicted probability of the label's class. */
static double
probability_of(const float *p, size_t width, float label)
{
	const size_t class = class_of(label, width);

	if (width == 1)
		return label > .5f ? (double)p[0] : 1 - (double)p[0];
	return class < width ? (double)p[class] : 0;
}

#define BLOCK	256		/* examples at a time: they stay in the
				   first-level cache */

static void
add_log_loss(const struct metric *m, struct metric_state *s, const float *p,
	     size_t width, const float *label, const float *weight, size_t n)
{
	double right[BLOCK], error[BLOCK];

	(void)m;
	for (size_t at = 0; at < n; at += BLOCK) {
		const size_t some = n - at < BLOCK ? n - at : BLOCK;

		for (size_t i = 0; i < some; i++)
			right[i] = probability_of(p + (at + i) * width, width,
						  label[at + i]);
		log_losses(error, right, some);
		for (size_t i = 0; i < some; i++)
			add_error(s, error[i], counts(weight, at + i));
	}
}

/*
 * Return what prediction i should be: the label; with several columns 1 in the
 * column of the label's class and 0 in the others.
 */
static double
target(float label, size_t width, size_t i)
{
	return width == 1 ? (double)label : class_of(label, width) == i;
}

static void
add_squared(const struct metric *m, struct metric_state *s, const float *p,
	    size_t width, const float *label, const float *weight, size_t n)
{
	(void)m;
	for (size_t i = 0; i < n; i++, p += width) {
		double sum = 0;

		for (size_t k = 0; k < width; k++) {
			const double error = (double)p[k] -
					     target(label[i], width, k);

			sum += error * error;
		}
		add_error(s, sum / (double)width, counts(weight, i));
	}
}

static void
add_absolute(const struct metric *m, struct metric_state *s, const float *p,
	     size_t width, const float *label, const float *weight, size_t n)
{
	(void)m;
	for (size_t i = 0; i < n; i++, p += width) {
		double sum = 0;

		for (size_t k = 0; k < width; k++)
			sum += fabs((double)p[k] -
				    target(label[i], width, k));
		add_error(s, sum / (double)width, counts(weight, i));
	}
}

/*
 * Return a score that grows with the probability but does not round to 0 or 1
 * as a probability does.
 */
static float
rank_score(const struct metric *m, const float *p, size_t width)
{
	return m->margin ? p[1] - p[0] : score_of(p, width);
}

static void
keep_score(struct metric_state *s, float score, bool positive)
{
	s->score = mem_grow(s->score, s->count, &s->score_room,
			    sizeof(*s->score));
	s->positive = mem_grow(s->positive, s->count, &s->positive_room,
			       sizeof(*s->positive));
	s->score[s->count] = score;
	s->positive[s->count++] = positive;
}

static void
add_auc(const struct metric *m, struct metric_state *s, const float *p,
	size_t width, const float *label, const float *weight, size_t n)
{
	(void)weight;
	for (size_t i = 0; i < n; i++)
		keep_score(s, rank_score(m, p + i * width, width),
			   label[i] == 1);
}

/*
 * Return an integer that grows with the score, with the lowest bit for whether
 * the label is positive.  The bits of a negative float fall as the float grows;
 * adding 0 turns -0 into 0, because the two zeros must tie.
 */
static uint64_t
sort_key(float score, unsigned char positive)
{
	const float x = score + 0.f;
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits = bits >> 31 ? ~bits : bits | (uint32_t)1 << 31;
	return (uint64_t)bits << 1 | positive;
}

static int
by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Return Mann and Whitney's U as a share of all pairs: the pairs of a positive
 * and a negative example in which the positive one is above, and half of those
 * that tie.  Counted twice in integers it is exact.
 */
static double
area(const uint64_t *key, size_t n)
{
	uint64_t twice = 0, positives = 0, negatives = 0;

	for (size_t i = 0; i < n; ) {
		const uint64_t score = key[i] >> 1;
		uint64_t here[2] = { 0 };

		for (; i < n && key[i] >> 1 == score; i++)
			here[key[i] & 1]++;
		twice += here[1] * (2 * negatives + here[0]);
		negatives += here[0];
		positives += here[1];
	}
	return (double)twice / (2 * (double)positives * (double)negatives);
}

static double
auc(const struct metric_state *s)
{
	uint64_t *key = mem_alloc(s->count, sizeof(*key));
	bool sound = true;
	double value;

	for (size_t i = 0; i < s->count; i++) {
		sound = sound && !isnan(s->score[i]);
		key[i] = sort_key(s->score[i], s->positive[i]);
	}
	if (s->count > 0)
		qsort(key, s->count, sizeof(*key), by_key);
	value = sound ? area(key, s->count) : NAN;
	free(key);
	return value;
}

static const struct metric_kind kinds[] = {
	{ "accuracy", SIZE_MAX, add_accuracy, hit_rate },
	{ "auc", 2, add_auc, auc },
	{ "calibration", 2, add_calibration, mean },
	{ "f1_score", 2, add_f1, f1 },
	{ "log_loss", SIZE_MAX, add_log_loss, mean },
	{ "mean_absolute_error", 0, add_absolute, mean },
	{ "mean_squared_error", 0, add_squared, mean },
	{ "precision", 2, add_precision, hit_rate },
	{ "recall", 2, add_recall, hit_rate },
	{ "root_mean_squared_error", 0, add_squared, root_mean },
	{ "sparse_top_k_categorical_accuracy", SIZE_MAX, add_top_k,
	  hit_rate },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static int
unknown(const char *name, struct fail *f)
{
	struct choices names = { .word = name };

	for (size_t i = 0; i < KINDS; i++)
		choices_add(&names, kinds[i].name);
	return choices_refuse(&names, FAIL_CONFIG, NULL, "metric", f);
}

int
metric_parse(struct metric *m, const char *name, struct fail *f)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0) {
			*m = (struct metric){ .kind = &kinds[i],
					      .threshold = .5f, .k = 5 };
			return 0;
		}
	return unknown(name, f);
}

static const struct metric_kind means = { .value = mean };

struct metric
metric_mean(const char *name)
{
	return (struct metric){ .kind = &means, .name = name };
}

void
metric_add_mean(struct metric_state *s, double sum, double weight)
{
	s->sum[TOTAL] += sum;
	s->sum[COUNT] += weight;
}

const char *
metric_name(const struct metric *m)
{
	return m->name ? m->name : m->kind->name;
}

size_t
metric_classes(const struct metric *m)
{
	return m->kind->classes;
}

bool
metric_takes_k(const struct metric *m)
{
	return m->kind->add == add_top_k;
}

bool
metric_keeps_scores(const struct metric *m)
{
	return m->kind->add == add_auc;
}

void
metric_release(struct metric_state *s)
{
	free(s->score);
	free(s->positive);
	*s = (struct metric_state){ 0 };
}

void
metric_reset(struct metric_state *s)
{
	memset(s->sum, 0, sizeof(s->sum));
	s->count = 0;
}

void
metric_add(const struct metric *m, struct metric_state *s,
	   const float *prediction, size_t width, const float *label,
	   const float *weight, size_t n)
{
	m->kind->add(m, s, prediction, width, label, weight, n);
}

void
metric_merge(const struct metric *m, struct metric_state *s,
	     const struct metric_state *from)
{
	(void)m;
	for (size_t i = 0; i < METRIC_SUMS; i++)
		s->sum[i] += from->sum[i];
	for (size_t i = 0; i < from->count; i++)
		keep_score(s, from->score[i], from->positive[i]);
}

double
metric_value(const struct metric *m, const struct metric_state *s)
{
	return m->kind->value(s);
}
