/*
 * Pulls of differences: a puller that adds up the differences has the
 * published values, to the last bit; one that lags by more differences than
 * are kept gets the values.  With an argument the program writes rounds of a
 * variable for t/helper/codecs.py, which computes the same by ps-wire(7).
 */
#include "shard/shard.h"

#include "base/rng.h"
#include "model_fixture.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOATS	1320		/* of h/kernel; not whole blocks */
#define KEPT	8

static const char model[] =
	"input x float[40]\nlabel y float\n"
	"h = dense x units=33\np = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer sgd learning_rate=1\n";

static struct model_fixture fixture;
static struct plan plan;
static struct shard *shard;
static size_t part;		/* of h/kernel */
static struct fail f;
static uint64_t step;

static void
begin(const char *pull, uint64_t every)
{
	struct coding_rule head = { 0 };
	char at[] = "-", *endpoint = at;
	const struct partitioner none = { .kind = PARTITION_NONE };
	struct place *place;
	size_t places;

	plan = (struct plan){ .every = every };
	coding_add(&head, "--pull", pull, false, &f);
	plan.codings = codings_new(fixture.variables);
	codings_make(plan.codings, WAY_PULL, &head, fixture.variable);
	place = partition_plan(fixture.variable, fixture.variables, &none,
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, &endpoint, 1);
	shard = shard_new(&plan, fixture.model, 0, NULL);
	for (part = 0; !plan_delta(&plan, part); part++)
		;
	step = 0;
	free(place);
}

static void
end(void)
{
	shard_free(shard);
	plan_release(&plan);
}

/* Applies a round: w -= g, as there is one example. */
static void
round_of(const float *g)
{
	const struct frame keys = { "", 0, NULL };
	const struct frame values = { g, FLOATS * sizeof(*g), NULL };
	const struct shard_push push = { &keys, &values, 1, 0, step,
					 { NULL, 0 }, 0 };

	if (shard_push_replicas(shard, part, &push, 1, &f) < 0)
		named_for(false, "the round is applied: %s", f.text);
	shard_set_round(shard, step, step + 1);
	step++;
}

static void
draw(struct rng *rng, float *g)
{
	for (size_t i = 0; i < FLOATS; i++)
		g[i] = rng_below(rng, 4) == 0 ? 0 :
			(float)ldexp(rng_unit(rng_next(rng)) - .5,
				     (int)rng_below(rng, 12) - 8);
}

/* Returns the server's values of the variable. */
static const float *
live(void)
{
	static float w[FLOATS];
	const struct frame none = { 0 };
	struct frame values;

	shard_pull(shard, part, &none, NULL, (struct encoding){ NULL, 0 },
		   &values, &f);
	memcpy(w, values.data, sizeof(w));
	return w;
}

static struct shard_news
news(uint64_t have)
{
	struct shard_news n = { 0 };

	shard_pull_published(shard, part, plan_encoding(&plan, step), have,
			     &n);
	return n;
}

static bool
is_same(const float *a, const void *b)
{
	return memcmp(a, b, FLOATS * sizeof(*a)) == 0;
}

/* A client that pulls now and then. */
struct puller {
	float copy[FLOATS];
	uint64_t edition;
	size_t whole, differences;
};

static bool
pulls(struct puller *p)
{
	const struct shard_news n = news(p->edition);
	const struct codec_slice s =
		plan_difference(&plan, &plan.piece[plan.part[part].first]);
	const char *from = n.values.data;

	if (n.since == 0) {
		p->whole++;
		memcpy(p->copy, from, sizeof(p->copy));
	} else {
		for (uint64_t e = n.since; e < n.edition; e++) {
			const struct codec *c = plan_delta(&plan, part)->codec;
			size_t size = 0;

			codec_add(c, p->copy, from, s);
			codec_length(c, from, SIZE_MAX, s, &size);
			from += size;
			p->differences++;
		}
		if (from != (const char *)n.values.data + n.values.size ||
		    n.since != p->edition)
			return false;
	}
	p->edition = n.edition;
	return is_same(p->copy, news(0).values.data);
}

/* Returns the mean difference between the puller's values and the server's. */
static double
lacks(const struct puller *p)
{
	const float *w = live();
	double lost = 0;

	for (size_t i = 0; i < FLOATS; i++)
		lost += fabs((double)(p->copy[i] - w[i]));
	return lost / FLOATS;
}

/* Does rounds that change the variable, then some that do not, and checks the
   puller's difference before and after these. */
static void
leads(const char *pull, double most, int still, double least)
{
	struct rng rng = { .seed = 2 };
	struct puller often = { .edition = 0 }, seldom = { .edition = 0 };
	float g[FLOATS];
	bool good = true;

	begin(pull, 0);
	for (int i = 0; i < 200; i++) {
		draw(&rng, g);
		round_of(g);
		good = good && pulls(&often);
		if (rng_below(&rng, 7) == 0)
			good = good && pulls(&seldom);
	}
	named(good, "the sum of the differences equals the published values");
	named(often.whole == 1 && often.differences == 199,
	      "a puller in every round gets one difference a round after its "
	      "first pull");
	named(seldom.whole > 1 && seldom.differences > 20,
	      "a puller that lags far behind gets the whole values");
	named(lacks(&often) > 0 && lacks(&often) < most,
	      "the published values stay close to the real ones");
	memset(g, 0, sizeof(g));
	for (int i = 0; i < still; i++) {
		round_of(g);
		pulls(&often);
	}
	named(lacks(&often) < least,
	      "the published values reach the real ones when nothing changes");
	end();
}

static void
begins_anew(void)
{
	struct rng rng = { .seed = 3 };
	struct puller p = { .edition = 0 };
	float g[FLOATS];
	bool good = true, other = true;

	begin("delta:int8,from=7", 10);
	for (int i = 0; i < 60; i++) {
		const size_t whole = p.whole;

		if (i == 23)
			shard_publish_at(shard, step, 27);
		draw(&rng, g);
		round_of(g);
		if (step < 7) {
			good = good && news(0).edition == 0;
			continue;
		}
		good = good && pulls(&p);
		if (step == 7 || step == 27 || step % 10 == 0)
			good = good && is_same(live(), p.copy) &&
				p.whole == whole + 1;
		else
			other = other && !is_same(live(), p.copy) &&
				p.whole == whole;
	}
	named(good,
	      "at the steps of a new start the whole real values are "
	      "published");
	named(other, "at all other steps differences are published");
	memset(g, 0, sizeof(g));
	g[700] = -FLT_MAX;
	round_of(g);
	round_of(g);
	named(pulls(&p) && is_same(live(), p.copy) && isinf(p.copy[700]),
	      "whole values are published when no codec can express the "
	      "difference");
	shard_forget_published(shard);
	named_equals(news(p.edition - 1).since, 0,
		     "differences of an earlier term are not kept");
	end();
}

static void
print_hex(const void *from, size_t size)
{
	const unsigned char *at = from;

	for (size_t i = 0; i < size; i++)
		printf("%02x", at[i]);
	printf("\n");
}

/* Prints the values before each round, each difference, and the published
   values at the end. */
static void
print_rounds(struct rng *rng, const char *pull, int rounds)
{
	float g[FLOATS];

	begin(pull, 0);
	printf("delta %s %llu %d\n", plan_delta(&plan, part)->codec->name,
	       (unsigned long long)plan_delta(&plan, part)->keep, rounds);
	print_hex(live(), sizeof(g));
	for (int i = 0; i < rounds; i++) {
		struct shard_news n;

		draw(rng, g);
		round_of(g);
		print_hex(live(), sizeof(g));
		n = news(news(0).edition - 1);
		print_hex(n.values.data, n.values.size);
	}
	print_hex(news(0).values.data, sizeof(g));
	end();
}

int
main(int argc, char **argv)
{
	struct rng rng = { .seed = 4 };

	(void)argv;
	fixture_begin(&fixture, model);
	for (int i = 1; argc > 1 && i < 6; i++) {
		print_rounds(&rng, "delta:int8", 3 * i);
		print_rounds(&rng, "delta:onebit", 3 * i);
		print_rounds(&rng, "delta:topk:0.05", 3 * i);
	}
	if (argc == 1) {
		leads("delta:int8", 0.1, 8, 1e-6);
		leads("delta:onebit", 3, 400, 0.01);
		leads("delta:topk:0.05", 3, 400, 0.01);
		begins_anew();
	}
	fixture_end(&fixture);
	return argc > 1 ? 0 : tap_done();
}
