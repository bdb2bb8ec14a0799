/* The staleness of steps in the line of a join. */
#include "coord/coord_report.h"

#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Returns the text for steps with a staleness of 0, 1, 2 ...; the list of their
   numbers ends with -1. */
static const char *
said(const int *steps, struct totals *t)
{
	static struct text text;

	memset(t->stale, 0, sizeof(t->stale));
	for (size_t i = 0; steps[i] >= 0; i++)
		t->stale[i] = (uint64_t)steps[i];
	text_reset(&text);
	report_staleness(&text, t);
	return text.data;
}

#define says(p50, p90, p99, max, pairs, ...) \
	ok(strcmp(said((const int[]){ __VA_ARGS__, -1 }, t), \
		  "{\"p50\":" #p50 ",\"p90\":" #p90 ",\"p99\":" #p99 \
		  ",\"max\":" #max ",\"pairs\":[" pairs "]}") == 0)

static void
quantiles_are_of_the_steps(struct totals *t)
{
	says(0, 0, 0, 0, "", 0);
	says(0, 0, 0, 0, "[0,1]", 1);
	says(3, 3, 3, 3, "[3,7]", 0, 0, 0, 7);
	says(0, 1, 1, 1, "[0,50],[1,50]", 50, 50);
	says(1, 1, 1, 1, "[0,49],[1,51]", 49, 51);
	says(0, 0, 1, 2, "[0,90],[1,9],[2,1]", 90, 9, 1);
	says(0, 0, 1, 4, "[0,900],[1,90],[4,10]", 900, 90, 0, 0, 10);
	says(0, 1, 4, 4, "[0,899],[1,90],[4,11]", 899, 90, 0, 0, 11);
}

/* Compares quantiles with the sorted list of all steps. */
static void
quantiles_are_those_of_the_sorted_list(struct totals *t)
{
	static const size_t percent[] = { 50, 90, 99 };
	struct rng r = { .seed = 1 };
	bool same = true;

	for (int round = 0; round < 500; round++) {
		size_t list[400], n = 0, want[3];
		char head[100];
		struct text text = { 0 };

		memset(t->stale, 0, sizeof(t->stale));
		for (size_t i = 0; i < STALENESS && n < 300; i++) {
			t->stale[i] = rng_below(&r, 3) ? 0 : rng_below(&r, 90);
			for (size_t k = 0; k < t->stale[i]; k++)
				list[n++] = i;
		}
		for (size_t k = 0; k < 3; k++)
			want[k] = list[(n * percent[k] + 99) / 100 - 1];
		snprintf(head, sizeof(head), "{\"p50\":%zu,\"p90\":%zu,"
			 "\"p99\":%zu,\"max\":%zu,", want[0], want[1],
			 want[2], list[n - 1]);
		report_staleness(&text, t);
		same = same && strncmp(text.data, head, strlen(head)) == 0;
		text_release(&text);
	}
	ok(same);
}

int
main(void)
{
	struct totals t = { 0 };
	struct text text = { 0 };

	quantiles_are_of_the_steps(&t);
	quantiles_are_those_of_the_sorted_list(&t);
	memset(t.stale, 0, sizeof(t.stale));
	t.stale[0] = UINT64_MAX / 2;
	t.stale[STALENESS - 1] = UINT64_MAX / 2;
	report_staleness(&text, &t);
	named(strstr(text.data, "{\"p50\":0,\"p90\":255,\"p99\":255,"),
	      "quantiles are right for the largest number of steps");
	text_release(&text);
	return tap_done();
}
