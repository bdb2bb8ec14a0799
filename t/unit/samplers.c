/* Steps of several data sets: for all sizes, step lines and returned records,
   an epoch of each data set has every record once. */
#include "coord/samplers.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define MOST	200		/* records of a data set */
#define EPOCHS	1000		/* a short data set has many */

static const char text[] =
	"input x float\nlabel y float\n"
	"input u float from=unlabelled\ninput n float from=negatives\n"
	"variable W [1]\n"
	"step fit x y\nstep both u x y\nstep three n x u y\n"
	"step other n\nmetric accuracy\noptimizer sgd\n";

static const char *const lines[] = { NULL, "both", "three", "other" };

static struct model *model;
static struct fail why;

/* Adds a sampler of a file with this number of records. */
static void
add(struct samplers *s, struct sampler_options o, uint64_t records,
    size_t dataset, bool ends)
{
	struct splits splits = { .files = 1, .count = 1 };
	struct sampler *l;

	splits.file = mem_alloc(1, sizeof(*splits.file));
	splits.split = mem_alloc(1, sizeof(*splits.split));
	splits.file[0].name = mem_text("a");
	splits.split[0].end = UINT64_MAX;
	l = sampler_new(&o, &splits);
	sampler_count_next(l);
	sampler_counted(l, 0, records, NULL, 0, &why);
	samplers_add(s, l, dataset, ends);
}

/* The number of times that each record was read, by steps that were done or
   returned. */
struct reads {
	unsigned char of[3][EPOCHS * MOST];	/* by epoch and record */
};

static void
read_step(struct samplers *s, struct reads *r, const struct places *p)
{
	for (size_t i = 0; i < samplers_count(s); i++) {
		struct sampler *l = samplers_get(s, i);
		struct slice slice;
		struct block b;

		for (uint64_t k = 0; p->first[i] != PLACES_NONE &&
		     k < p->batches; k++) {
			sampler_slice(l, p->first[i] + k, &slice);
			sampler_block(l, &slice, &b);
			for (uint64_t n = 0; n < slice.count; n++)
				r->of[i][slice.epoch * MOST +
					 b.span[0].number + slice.from + n]++;
			block_release(&b);
		}
	}
}

/* Was every record read once in each epoch before the current one? */
static bool
once(struct samplers *s, const struct reads *r)
{
	for (size_t i = 0; i < samplers_count(s); i++) {
		const struct sampler *l = samplers_get(s, i);

		for (uint64_t e = 0; e < EPOCHS; e++)
			for (uint64_t n = 0; n < MOST; n++) {
				const unsigned char got =
					r->of[i][e * MOST + n];
				const bool is = n < sampler_records(l);

				if (got > is || (e < sampler_now(l) && is &&
						 got == 0))
					return false;
			}
	}
	return true;
}

/* Takes steps of one line until an epoch is over: does it have the announced
   number of steps? */
static bool
run_epoch(struct samplers *s, struct reads *r, const char *line, size_t by,
	  struct rng *rng)
{
	struct sampler *l = samplers_get(s, by);
	const uint64_t epoch = sampler_now(l);
	const bool ends = rng_below(rng, 2);
	uint64_t left = samplers_left(s, line, by);
	struct places p;

	while (left > 0) {
		if (sampler_now(l) != epoch)
			return false;
		p = samplers_take(s, line, 1 + rng_below(rng, 4));
		read_step(s, r, &p);
		left--;
		if (!ends && rng_below(rng, 4) == 0)
			return true;
	}
	return sampler_now(l) > epoch;
}

static bool
run(uint64_t seed)
{
	struct rng rng = { .seed = seed };
	const uint64_t replicas = rng_below(&rng, 2) ? 1 + rng_below(&rng, 5) :
		0;
	struct samplers *s = samplers_new(model, replicas);
	struct reads *r = mem_alloc(1, sizeof(*r));
	struct places back[3];
	bool good = true;

	for (size_t i = 0; i < 3; i++)
		add(s, (struct sampler_options){
			.batch = 1 + rng_below(&rng, 6), .replicas = replicas,
			.unit = 1 + rng_below(&rng, 3), .buffer = 8 },
		    1 + rng_below(&rng, MOST - 1), i, false);
	for (int n = 0; n < 100 && good; n++) {
		const char *line = lines[rng_below(&rng, 4)];
		const size_t first = samplers_first(s, line);
		size_t backs = rng_below(&rng, 4);
		bool room = true;

		for (size_t i = 0; i < 3; i++)
			room = room && sampler_now(samplers_get(s, i)) <
				EPOCHS - MOST - 8;
		if (!room)
			break;
		/* Some steps are leased and returned: all, or every other
		   one. */
		for (size_t i = 0; i < backs && i < 3; i++)
			back[i] = samplers_take(s, line, 1);
		for (size_t i = 0; i < backs && i < 3; i++)
			if (n % 2 || i == 1)
				samplers_return(s, &back[i]);
			else
				read_step(s, r, &back[i]);
		good = run_epoch(s, r, line, first, &rng);
	}
	good = good && once(s, r);
	if (!good)
		printf("# seed %llu\n", (unsigned long long)seed);
	samplers_free(s);
	free(r);
	return good;
}

static struct samplers *
make(uint64_t replicas, size_t count, bool ends)
{
	static const uint64_t records[] = { 40, 12, 100 };
	struct samplers *s = samplers_new(model, replicas);

	for (size_t i = 0; i < count; i++)
		add(s, (struct sampler_options){ .batch = 4, .buffer = 8,
						 .replicas = replicas },
		    records[i], i, ends && i == 1);
	return s;
}

static void
test_lines(void)
{
	struct samplers *s = make(0, 3, false);
	struct places p, q;

	named(samplers_taken(s, NULL) == 1 && samplers_taken(s, "both") == 3 &&
	      samplers_taken(s, "other") == 4,
	      "a step reads the data sets of its line");
	named(samplers_first(s, "both") == 1 && samplers_first(s, "three") == 2,
	      "an epoch belongs to the data set of its line's first input");
	ok(samplers_find(s, "negatives") == 2 && samplers_find(s, "") == 0 &&
	   samplers_find(s, "?") == SAMPLER_NONE);
	p = samplers_take(s, "both", 1);
	q = samplers_take(s, "both", 1);
	ok(p.batches == 1 && p.first[0] == 0 && p.first[1] == 0 &&
	   p.first[2] == PLACES_NONE && places_follow(&p, 1, &q));
	p = samplers_take(s, NULL, 1);
	ok(p.first[0] == 2 && p.first[1] == PLACES_NONE &&
	   !places_follow(&q, 1, &p));
	named(samplers_left(s, "both", 1) == 1 &&
	      samplers_left(s, "both", 0) == 7,
	      "the shorter data set begins again within the epoch");
	samplers_free(s);

	s = make(0, 2, true);
	named(samplers_left(s, "both", 0) == 3 &&
	      samplers_left(s, NULL, 0) == 10,
	      "an epoch ends with the data set that is set to end it");
	samplers_free(s);

	s = samplers_new(model, 0);
	add(s, (struct sampler_options){ .batch = 4 }, 9, 1, false);
	add(s, (struct sampler_options){ .batch = 4 }, 9, 2, false);
	named(samplers_first(s, "three") == 1 && samplers_taken(s, NULL) == 0,
	      "an epoch belongs to the first data set that the coordinator "
	      "has");
	samplers_free(s);
}

static void
test_rounds(void)
{
	struct samplers *s = make(4, 2, false);
	struct places p = samplers_take(s, "both", 1);

	named(p.batches == 3 && p.first[1] == 0,
	      "a round takes the batches that are left of the shortest epoch");
	p = samplers_take(s, "both", 1);
	named(p.batches == 3 && p.first[0] == 3 && p.first[1] == 3,
	      "the next round takes batches of the next epoch");
	p = samplers_take(s, NULL, 1);
	ok(p.batches == 4 && p.first[0] == 6);
	samplers_return(s, &p);
	equals(samplers_left(s, "both", 0), 2);
	samplers_free(s);
}

/* The examples of the first input are reported; other inputs have as many as
   leased. */
static void
test_reads(void)
{
	struct samplers *s = make(0, 3, false);
	struct samplers_reads v = { { { 0 } } };
	struct places p;

	for (int i = 0; i < 3; i++)
		p = samplers_take(s, "three", 1);
	samplers_add_read(s, NULL, &p, "three", 3);
	samplers_add_read(s, &v, &p, "three", 3);
	ok(samplers_reads(s).of[0].records == 4 && v.of[0].records == 4);
	ok(samplers_reads(s).of[2].records == 3 && v.of[2].records == 3);
	samplers_free(s);
}

static bool
reads(struct samplers *to, const struct pack *p, size_t size)
{
	return samplers_read_position(to, p->data, size, &why) == 0;
}

static void
test_positions(void)
{
	struct samplers *s = make(0, 3, false), *to = make(0, 3, false);
	struct samplers *two = make(0, 2, false);
	struct samplers_reads v;
	struct pack p = { 0 }, copy = { 0 };
	struct places one;
	size_t cut = 0;

	for (int i = 0; i < 5; i++)
		one = samplers_take(s, "three", 1 + i / 4);
	samplers_add_read(s, NULL, &one, "three", 3);
	v = samplers_reads(s);
	v.of[1].records = 2;
	samplers_write_position(s, &p, false);
	samplers_copy_position(&p, &v, &copy);
	while (cut < copy.size && !reads(to, &copy, cut))
		cut++;
	named_equals(cut, copy.size, "a position that is cut short is refused");
	named(reads(to, &copy, copy.size) &&
	      samplers_take(to, "three", 1).first[1] == 5 &&
	      samplers_take(to, NULL, 1).first[0] == 6 &&
	      samplers_reads(to).of[1].records == 2,
	      "each data set continues at its position");
	named(!reads(two, &copy, copy.size) && why.kind == FAIL_CONFIG,
	      "a position of other data sets is refused");
	pack_release(&p);
	pack_release(&copy);
	samplers_free(s);
	samplers_free(to);
	samplers_free(two);
}

/* A position as an earlier release wrote it: 10 batches, of steps of 4. */
static void
test_old(void)
{
	static const uint64_t old[] = { 0, 4, 4, 8, 0, 1, 40, 5, 2, 1, 16, 0,
					0, 1, 2, 1 };
	struct samplers *s = make(4, 1, false);
	struct pack p = { 0 };
	struct places q;

	pack_array(&p, 16);
	for (size_t i = 0; i < 16; i++)
		pack_uint(&p, old[i]);
	ok(reads(s, &p, p.size));
	q = samplers_take(s, NULL, 1);
	named(q.first[0] == 8 && q.batches == 2,
	      "a returned step of an older position keeps its batches");
	q = samplers_take(s, NULL, 1);
	named(q.first[0] == 18 && q.batches == 2,
	      "the step after a returned one keeps its batches");
	pack_release(&p);
	samplers_free(s);
}

int
main(void)
{
	struct model_file file = { .name = (char[]){ "model.ps" },
				    .text = (char *)(uintptr_t)text,
				    .size = sizeof(text) - 1 };
	const struct model_source source = { .file = &file, .count = 1 };
	bool good = true;

	model = model_parse(&source, &why);
	if (!model) {
		named_for(false, "the model is read: %s", why.text);
		return tap_done();
	}
	for (uint64_t seed = 0; seed < 100 && good; seed++)
		good = run(seed);
	named(good, "every record comes once in an epoch of each data set");
	test_lines();
	test_rounds();
	test_reads();
	test_positions();
	test_old();
	model_free(model);
	return tap_done();
}
