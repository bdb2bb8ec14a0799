/* An epoch visits every record once, for all sizes; checked by arithmetic, and
   by the records that the blocks name. */
#include "coord/sampler.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct fail why;

/* Makes a sampler over files of these numbers of records, each file one
   split. */
static struct sampler *
make(struct sampler_options o, const uint64_t *records, size_t files)
{
	struct splits s = { .files = files, .count = files };
	struct sampler *l;
	char name[24];
	size_t split;

	s.file = mem_alloc(files, sizeof(*s.file));
	s.split = mem_alloc(files, sizeof(*s.split));
	for (size_t i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		s.file[i].name = mem_text(name);
		s.split[i] = (struct split){ i, 0, UINT64_MAX };
	}
	l = sampler_new(&o, &s);
	while ((split = sampler_count_next(l)) != SAMPLER_NONE)
		if (sampler_counted(l, split, records[split], NULL, 0,
				    &why) < 0)
			printf("# %s\n", why.text);
	return l;
}

/* Lists the records of a slice in their order, as file * 1000 + number. */
static size_t
visit(struct sampler *l, const struct slice *s, uint64_t *record)
{
	struct block b;
	uint64_t *all = mem_alloc(s->size, sizeof(*all));
	size_t *order = mem_alloc(s->size, sizeof(*order)), n = 0;

	sampler_block(l, s, &b);
	for (size_t i = 0; i < b.spans; i++)
		for (uint64_t k = 0; k < b.span[i].count; k++)
			all[n++] = strtoull(b.span[i].file, NULL, 10) * 1000 +
				b.span[i].number + k;
	block_order(b.seed, order, n);
	for (uint64_t i = 0; i < s->count; i++)
		record[i] = all[order[s->from + i]];
	if (n != s->size)
		printf("# a block of %zu, not %llu\n", n,
		       (unsigned long long)s->size);
	block_release(&b);
	free(all);
	free(order);
	return s->count;
}

/* Does an epoch have every record once, in full batches except the last? */
static bool
once(struct sampler *l, const struct sampler_options *o, uint64_t epoch,
     uint64_t streams)
{
	const uint64_t batches = sampler_batches(l), n = sampler_records(l);
	unsigned char seen[8000] = { 0 };
	uint64_t record[64], total = 0, in_stream[16] = { 0 };

	for (uint64_t batch = 0; batch < batches; batch++) {
		const uint64_t place = sampler_take(l, 1, streams);
		struct slice s;

		if (place != epoch * batches + batch)
			return false;
		sampler_slice(l, place, &s);
		if (s.count != o->batch && batch != batches - 1)
			return false;
		total += visit(l, &s, record);
		in_stream[s.stream]++;
		for (uint64_t i = 0; i < s.count; i++)
			seen[record[i]]++;
	}
	for (size_t i = 0, once = 0; i < sizeof(seen); i++) {
		once += seen[i];
		if (seen[i] > 1 || (i == sizeof(seen) - 1 && once != n))
			return false;
	}
	/* Streams differ by a unit at most. */
	for (uint64_t i = 1; i < sampler_streams(l, epoch * batches); i++)
		if (in_stream[i] + o->unit < in_stream[0])
			return false;
	return total == n;
}

static void
test_every_record_once(void)
{
	static const uint64_t files[][3] = { { 1, 0, 0 }, { 7, 0, 0 },
		{ 1, 1, 1 }, { 5, 9, 2 }, { 100, 3, 41 } };
	struct rng rng = { .seed = 7 };
	bool all = true;

	for (int i = 0; i < 600 && all; i++) {
		const uint64_t *records = files[rng_below(&rng, 5)];
		const uint64_t streams = 1 + rng_below(&rng, 7);
		struct sampler_options o = {
			.seed = (uint64_t)i, .batch = 1 + rng_below(&rng, 20),
			.replicas = i % 3 ? 1 : streams,
			.unit = i % 3 ? 1 + rng_below(&rng, 4) : 1,
			.buffer = rng_below(&rng, 40), .shuffle = i % 2
		};
		struct sampler *l = make(o, records, records[1] ? 3 : 1);

		for (uint64_t e = 0; e < 3; e++)
			all = all && once(l, &o, e, streams + e);
		if (!all)
			printf("# case %d: N=%llu B=%llu streams=%llu "
			       "slots=%llu unit=%llu buffer=%llu\n", i,
			       (unsigned long long)sampler_records(l),
			       (unsigned long long)o.batch,
			       (unsigned long long)streams,
			       (unsigned long long)o.replicas,
			       (unsigned long long)o.unit,
			       (unsigned long long)o.buffer);
		sampler_free(l);
	}
	ok(all);
}

/* Lists the records of an epoch in the order in which they are read. */
static void
read_epoch(struct sampler *l, uint64_t epoch, uint64_t *record)
{
	for (uint64_t i = 0; i < sampler_batches(l); i++) {
		struct slice s;

		sampler_slice(l, epoch * sampler_batches(l) + i, &s);
		record += visit(l, &s, record);
	}
}

static void
test_order(void)
{
	static const uint64_t files[] = { 30, 30, 30, 30 };
	struct sampler_options o = { .seed = 1, .batch = 7, .unit = 1,
				     .buffer = 20, .shuffle = true };
	struct sampler *one = make(o, files, 4), *same = make(o, files, 4);
	uint64_t a[120], b[120], c[120];
	bool ascends = true;

	sampler_take(one, 1, 2);
	sampler_take(same, 1, 2);
	read_epoch(one, 0, a);
	read_epoch(same, 0, b);
	read_epoch(one, 1, c);
	named(memcmp(a, b, sizeof(a)) == 0,
	      "the same seed gives the same order");
	named(memcmp(a, c, sizeof(a)) != 0, "another epoch has another order");
	sampler_free(same);
	o.seed = 2;
	same = make(o, files, 4);
	sampler_take(same, 1, 2);
	read_epoch(same, 0, b);
	named(memcmp(a, b, sizeof(a)) != 0,
	      "another seed gives another order");
	sampler_free(same);
	o.shuffle = false;
	same = make(o, files, 4);
	sampler_take(same, 1, 1);
	read_epoch(same, 5, b);
	for (int i = 1; i < 120; i++)
		ascends = ascends && b[i] > b[i - 1];
	named(ascends,
	      "without shuffling records keep the order of the files");
	sampler_free(same);
	sampler_free(one);
}

static void
test_runs(void)
{
	static const uint64_t files[] = { 100 };
	struct sampler_options o = { .batch = 4, .unit = 3, .buffer = 20 };
	struct sampler *l = make(o, files, 1);
	struct slice s;
	struct block b;
	bool streams = true, together = true;

	sampler_take(l, 1, 2);	/* 25 steps in units of 3: 9 of them */
	ok(sampler_batches(l) == 25 && sampler_streams(l, 3) == 2);
	for (uint64_t i = 0; i < 25; i++) {
		const uint64_t run = sampler_run(l, i);
		struct slice to;

		streams = streams && sampler_stream(l, i) == i / 3 % 2;
		sampler_slice(l, i, &s);
		for (uint64_t k = 1; k < run; k++) {
			sampler_slice(l, i + k, &to);
			together = together && to.first == s.first &&
				to.from == s.from + k * 4;
		}
	}
	ok(streams);
	ok(together);
	sampler_slice(l, 3, &s);
	ok(s.first == 0 && s.size == 20);
	ok(sampler_block_after(l, &s, &b) && b.span[0].number == 20 &&
	   b.span[0].count == 20);
	block_release(&b);
	sampler_slice(l, 24, &s);
	ok(!sampler_block_after(l, &s, &b));
	sampler_free(l);
}

static void
test_returned(void)
{
	static const uint64_t files[] = { 40 };
	struct sampler_options o = { .batch = 4 };
	struct sampler *l = make(o, files, 1);

	for (int i = 0; i < 12; i++)
		sampler_take(l, 1, 1);
	ok(sampler_now(l) == 1 && sampler_left(l) == 32);
	sampler_return(l, 11, 1);
	ok(sampler_now(l) == 1 && sampler_left(l) == 36);
	sampler_return(l, 9, 1);
	named(sampler_now(l) == 0 && sampler_left(l) == 4,
	      "returned records of an epoch stay its own, although the next "
	      "has begun");
	ok(sampler_take(l, 1, 1) == 9 && sampler_take(l, 1, 1) == 11 &&
	   sampler_take(l, 1, 1) == 12);
	sampler_free(l);
}

static bool
back_with(struct sampler *from, struct sampler *to, bool all)
{
	struct pack counts = { 0 }, position = { 0 };
	bool good;

	sampler_write_counts(from, &counts);
	sampler_write_position(from, &position, all);
	good = sampler_read_counts(to, counts.data, counts.size, &why) == 0 &&
		sampler_read_position(to, position.data, position.size,
				      false, &why) == 0;
	for (size_t i = 0; i < position.size && good; i++)
		good = sampler_read_position(to, position.data, i, false,
					     &why) < 0;
	if (good)
		good = sampler_read_position(to, position.data, position.size,
					     false, &why) == 0;
	pack_release(&counts);
	pack_release(&position);
	return good;
}

static bool
back(struct sampler *from, struct sampler *to)
{
	return back_with(from, to, false);
}

static struct sampler *
uncounted(struct sampler_options o, const char *name)
{
	struct splits s = { .files = 1, .count = 2 };

	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(2, sizeof(*s.split));
	s.file[0].name = mem_text(name);
	s.split[0] = (struct split){ 0, 0, 100 };
	s.split[1] = (struct split){ 0, 100, 150 };
	return sampler_new(&o, &s);
}

static void
test_bytes(void)
{
	static const uint64_t place[] = { 0, 70 };
	struct sampler_options o = { .batch = 4, .unit = 2, .shuffle = true };
	struct sampler *l = uncounted(o, "a"), *other;
	struct slice s, t;

	ok(sampler_count_next(l) == 0 && sampler_count_next(l) == 1);
	ok(sampler_counted(l, 0, RECORD_RANGE_EVERY + 3, place, 1, &why) < 0 &&
	   why.kind == FAIL_PROTOCOL);
	equals(sampler_counted(l, 0, RECORD_RANGE_EVERY + 3, place, 2, &why),
	       0);
	ok(sampler_counted(l, 1, 9, place + 1, 1, &why) == 0 &&
	   sampler_ready(l));
	for (int i = 0; i < 10; i++)
		sampler_take(l, 1, 3);
	sampler_return(l, 4, 1);
	other = uncounted(o, "a");
	ok(back(l, other) && sampler_ready(other) &&
	   sampler_take(other, 1, 1) == 4 && sampler_take(other, 1, 1) == 10);
	sampler_slice(l, 7, &s);
	sampler_slice(other, 7, &t);
	equals(memcmp(&s, &t, sizeof(s)), 0);
	sampler_free(other);
	other = uncounted(o, "b");
	ok(!back(l, other) && why.kind == FAIL_CONFIG);
	sampler_free(other);
	o.batch = 5;
	other = uncounted(o, "a");
	ok(!back(l, other) && why.kind == FAIL_CONFIG);
	sampler_free(other);
	sampler_free(l);
}

/* Writes a position of the sampler of test_positions(), without its last count
   items. */
static void
pack_head(struct pack *p, size_t count)
{
	static const uint64_t head[] = { 0, 4, 1, 8, 0, 1,
					 40, 12, 2, 0, 0, 0 };

	pack_reset(p);
	pack_array(p, 12 + count);
	for (size_t i = 0; i < 12; i++)
		pack_uint(p, head[i]);
}

static bool
reads(struct sampler *l, const uint64_t *tail, size_t count)
{
	struct pack p = { 0 };
	int r;

	pack_head(&p, count);
	for (size_t i = 0; i < count; i++)
		pack_uint(&p, tail[i]);
	r = sampler_read_position(l, p.data, p.size, false, &why);
	pack_release(&p);
	return r == 0;
}

#define READS(l, ...) \
	reads(l, (const uint64_t[]){ __VA_ARGS__ }, \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void
test_positions(void)
{
	static const uint64_t files[] = { 40 };
	struct sampler_options o = { .batch = 4, .buffer = 8 };
	struct sampler *l = make(o, files, 1), *other = make(o, files, 1);
	struct pack p = { 0 };

	named(READS(l, 2, 9, 11) && sampler_take(l, 1, 1) == 9 &&
	      sampler_take(l, 1, 1) == 11 && sampler_take(l, 1, 1) == 12,
	      "a position with single returned batches, of an older version, "
	      "is read");
	ok(READS(l, 0, 2, 3, 2, 4, 3) && sampler_left(l) == 12 &&
	   sampler_take(l, 1, 1) == 3 && sampler_take(l, 1, 1) == 4 &&
	   sampler_take(l, 1, 1) == 9 && sampler_take(l, 1, 1) == 10 &&
	   sampler_take(l, 1, 1) == 11 && sampler_take(l, 1, 1) == 12);
	named(!READS(l, 1, 13) && !READS(l, 0, 1, 10, 3) &&
	      !READS(l, 0, 1, 13, 1) && !READS(l, 0, 2, 0, 2, 1, 10) &&
	      !READS(l, 0, 2, 2, 1, UINT64_MAX, 1) && !READS(l, 0, 1, 2) &&
	      !READS(l, 0, 1, 0, 1, 1) && !READS(l, 3, 1),
	      "a position with returned batches that were never taken is "
	      "refused");
	for (int i = 0; i < 65536; i++)
		sampler_take(other, 1, 1);
	for (uint64_t i = 0; i < 65536; i += 128)
		for (uint64_t k = 0; k < 64; k++)
			sampler_return(other, i + k, 1);
	sampler_write_position(other, &p, false);
	named(p.size < 1200,
	      "a position with many returned batches takes few bytes");
	ok(sampler_read_position(l, p.data, p.size, false, &why) == 0 &&
	   sampler_take(l, 1, 1) == 0 && sampler_take(l, 1, 1) == 1);
	for (int i = 2; i < 65; i++)
		sampler_take(l, 1, 1);
	equals(sampler_take(l, 1, 1), 129);
	pack_release(&p);
	sampler_free(other);
	sampler_free(l);
}

/* A restored sampler knows the epochs that have been read, if they were
   written. */
static void
test_old_epochs(void)
{
	static const uint64_t files[] = { 20, 20 };
	struct sampler_options o = { .batch = 4 };

	for (int all = 0; all < 2; all++) {
		struct sampler *l = make(o, files, 2);
		struct sampler *other = make(o, files, 2);
		struct slice s, t;

		for (uint64_t i = 0; i < 30; i++)
			sampler_take(l, 1, 1 + i / 10);
		ok(back_with(l, other, all));
		sampler_slice(l, 13, &s);
		sampler_slice(other, 13, &t);
		named((memcmp(&s, &t, sizeof(s)) == 0) == (all > 0),
		      all ? "a restored step of an old epoch reads the same "
		      "records" : "a position written without old epochs does "
		      "not restore their steps");
		sampler_free(other);
		sampler_free(l);
	}
}

static void
test_whole(void)
{
	struct sampler_options o = { .batch = 4 };
	struct sampler *l = uncounted(o, "a"), *other;
	static const uint64_t place[] = { 3 };

	sampler_count_next(l);
	sampler_count_next(l);
	ok(sampler_counted(l, 1, 5, place, 1, &why) == 0 && !sampler_ready(l));
	sampler_whole(l, 0);
	ok(sampler_count_next(l) == 0 &&
	   sampler_count_next(l) == SAMPLER_NONE &&
	   sampler_range(l, 0).end == UINT64_MAX);
	sampler_count_again(l, 0);
	equals(sampler_count_next(l), 0);
	ok(sampler_counted(l, 0, 12, place, 1, &why) == 0 && sampler_ready(l) &&
	   sampler_records(l) == 12);
	other = uncounted(o, "a");
	ok(back(l, other) && sampler_records(other) == 12);
	sampler_free(other);
	other = uncounted(o, "a");
	sampler_count_next(other);
	sampler_count_next(other);
	ok(sampler_counted(other, 0, 0, NULL, 0, &why) == 0 &&
	   sampler_counted(other, 1, 0, NULL, 0, &why) < 0 &&
	   strcmp(why.text, "a: it has no records") == 0);
	sampler_free(other);
	sampler_free(l);
}

int
main(void)
{
	test_every_record_once();
	test_order();
	test_runs();
	test_returned();
	test_bytes();
	test_positions();
	test_old_epochs();
	test_whole();
	return tap_done();
}
