#include "wire/result.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS	20	/* items of a result, without the sums; one is JSON */

void
traffic_add(struct traffic *to, const struct traffic *t)
{
	to->pushed.bytes += t->pushed.bytes;
	to->pushed.floats += t->pushed.floats;
	to->pushed.coded += t->pushed.coded;
	to->pulled.bytes += t->pulled.bytes;
	to->pulled.floats += t->pulled.floats;
	to->pulled.coded += t->pulled.coded;
	to->squares += t->squares;
	to->errors += t->errors;
}

void
traffic_write(struct pack *p, const struct traffic *t)
{
	pack_uint(p, t->pushed.bytes);
	pack_uint(p, t->pushed.floats);
	pack_uint(p, t->pushed.coded);
	pack_uint(p, t->pulled.bytes);
	pack_uint(p, t->pulled.floats);
	pack_uint(p, t->pulled.coded);
	pack_uint(p, message_double_bits(t->squares));
	pack_uint(p, message_double_bits(t->errors));
}

struct traffic
traffic_read(struct unpack *u)
{
	struct traffic t;

	t.pushed.bytes = unpack_uint(u);
	t.pushed.floats = unpack_uint(u);
	t.pushed.coded = unpack_uint(u);
	t.pulled.bytes = unpack_uint(u);
	t.pulled.floats = unpack_uint(u);
	t.pulled.coded = unpack_uint(u);
	t.squares = message_double(unpack_uint(u));
	t.errors = message_double(unpack_uint(u));
	return t;
}

void
result_metrics(struct result *r, const struct metric *metric, size_t count,
	       const struct metric_state *state)
{
	(void)metric;
	r->metrics = count;
	r->scores = 0;
	for (size_t i = 0; i < count; i++) {
		memcpy(r->sum[i], state[i].sum, sizeof(r->sum[i]));
		if (state[i].count > 0)
			r->scores = state[i].count;
	}
}

void
result_write(struct pack *p, const struct result *r)
{
	pack_array(p, NUMBERS + r->metrics * METRIC_SUMS);
	pack_uint(p, r->step);
	pack_uint(p, r->attempt);
	pack_uint(p, r->examples);
	pack_uint(p, r->staleness);
	pack_uint(p, r->microseconds);
	pack_uint(p, r->voided);
	pack_uint(p, r->mixed);
	pack_uint(p, message_double_bits(r->loss));
	pack_uint(p, r->scores);
	pack_uint(p, r->negatives.zero + 2u * r->negatives.minus);
	traffic_write(p, &r->traffic);
	pack_uint(p, message_double_bits(r->kept));
	for (size_t i = 0; i < r->metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			pack_uint(p, message_double_bits(r->sum[i][j]));
	pack_blob(p, r->json.data, r->json.size);
}

/* Is the JSON fit to be part of a line: without line breaks, and not too
   long? */
static bool
is_line(const struct frame *json)
{
	const unsigned char *p = json->data;

	for (size_t i = 0; i < json->size; i++)
		if (p[i] < ' ' || p[i] == 0x7f)
			return false;
	return json->size <= RESULT_JSON;
}

bool
result_read(struct unpack *u, struct result *r, size_t metrics)
{
	uint64_t negatives;

	u->bad = unpack_array(u) != NUMBERS + metrics * METRIC_SUMS || u->bad;
	r->step = unpack_uint(u);
	r->attempt = unpack_uint(u);
	r->examples = unpack_uint(u);
	r->staleness = unpack_uint(u);
	r->microseconds = unpack_uint(u);
	r->voided = unpack_below(u, 2);
	r->mixed = unpack_below(u, 2);
	r->loss = message_double(unpack_uint(u));
	r->scores = unpack_uint(u);
	negatives = unpack_below(u, 4);
	r->negatives = (struct negative_labels){ negatives & 1, negatives & 2 };
	r->traffic = traffic_read(u);
	r->kept = message_double(unpack_uint(u));
	r->metrics = metrics;
	for (size_t i = 0; i < metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			r->sum[i][j] = message_double(unpack_uint(u));
	r->json = (struct frame){ 0 };
	r->json.data = unpack_blob(u, &r->json.size);
	if (u->bad)
		r->json = (struct frame){ 0 };
	u->bad = u->bad || !is_line(&r->json);
	return !u->bad;
}

void
result_add(const struct result *r, const struct metric *metric,
	   struct metric_state *state, const float *scores,
	   const unsigned char *positive)
{
	for (size_t i = 0; i < r->metrics; i++) {
		struct metric_state from = { 0 };

		memcpy(from.sum, r->sum[i], sizeof(from.sum));
		if (metric_keeps_scores(&metric[i]) && r->scores > 0) {
			/* The merge only reads them. */
			from.score = (float *)(uintptr_t)scores;
			from.positive = (unsigned char *)(uintptr_t)positive;
			from.count = r->scores;
		}
		metric_merge(&metric[i], &state[i], &from);
	}
}

int
result_scores(const struct message *m, const void **scores,
	      const unsigned char **positive, size_t *count, struct fail *f)
{
	*scores = *positive = NULL;
	*count = 0;
	if (m->frames == 1)
		return 0;
	if (m->frames != 3 ||
	    m->frame[1].size != m->frame[2].size * sizeof(float))
		return fail(f, FAIL_PROTOCOL, "malformed scores");
	*scores = m->frame[1].data;
	*positive = m->frame[2].data;
	*count = m->frame[2].size;
	return 0;
}
