/*
 * Shards: how many, which rows, on which server.
 *
 * The ids (P2, L1 ...) and their values are those of TensorFlow's tests: of
 * partitioners, of variables on parameter servers, of embedding lookup.
 */
#include "tensor/partition.h"

#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct partitioner
partitioner(const char *text)
{
	struct fail f;
	struct partitioner p = { 0 };

	if (partitioner_parse(&p, text, &f) < 0)
		printf("Bail out! %s\n", f.text);
	return p;
}

static size_t
count(const char *text, struct shape shape)
{
	const struct partitioner p = partitioner(text);

	return partition_count(&p, shape);
}

static bool
refused(const char *text)
{
	struct fail f = { .text = "" };
	struct partitioner p = { .kind = PARTITION_FIXED, .bytes = 1,
				 .shards = 2 };

	return partitioner_parse(&p, text, &f) == -1 &&
	       f.kind == FAIL_CONFIG && strstr(f.text, text) &&
	       p.kind == PARTITION_FIXED && p.bytes == 1 && p.shards == 2;
}

static void
texts_are_read_whole_or_refused(void)
{
	struct partitioner p = partitioner("min:256KiB:2");

	ok(p.kind == PARTITION_MIN && p.bytes == 262144 && p.shards == 2);
	p = partitioner("max:4");
	ok(p.kind == PARTITION_MAX && p.bytes == 4 && p.shards == 0);
	equals(partitioner("none").kind, PARTITION_NONE);
	ok(refused("") && refused("fixed") && refused("fixed:") &&
	   refused("fixed:x") && refused("fixed:2:3") && refused("none:1") &&
	   refused("spread:1"));
	equals(partitioner("spread").kind, PARTITION_SPREAD);
	ok(refused("min") && refused("min:4:2:1") && refused("mid:4") &&
	   refused("min:4:") && refused("max:-4"));
	named(refused("fixed:0") && refused("min:0") && refused("max:0") &&
	      refused("min:4:0") && refused("max:4:0"),
	      "a count or a size of 0 is refused everywhere");
	ok(refused("fixed:65537") && refused("max:4:65537"));
}

/* Returns the reason why this list of texts is refused for the variables, or
   "". */
static const char *
unfit(const char *const *text, const struct variable *v, size_t n)
{
	static struct fail f;
	struct partitioner head = { 0 };
	bool bad = false;

	for (; *text && !bad; text++)
		bad = partitioner_add(&head, *text, &f) < 0;
	if (!bad && partitioner_check(&head, v, n, &f) == 0)
		*f.text = '\0';
	partitioner_release(&head);
	return f.text;
}

#define UNFIT(...)	unfit((const char *const[]){ __VA_ARGS__, NULL }, v, 4)

static void
patterns_choose_by_name(void)
{
	const struct variable v[] = {
		{ .name = (char *)"a/kernel", .shape = { 1, { 10 } } },
		{ .name = (char *)"a/bias", .shape = { 1, { 10 } } },
		{ .name = (char *)"b/kernel", .shape = { 1, { 10 } } },
		{ .name = (char *)"t/embeddings", .shape = { 2, { 10, 2 } },
		  .hashed = true },
	};
	static const size_t wanted[] = { 4, 2, 3, 5 };
	struct partitioner head = { 0 };
	struct fail f;
	bool same = true;

	ok(partitioner_add(&head, "fixed:3@b/*", &f) == 0 &&
	   partitioner_add(&head, "fixed:7", &f) == 0 &&
	   partitioner_add(&head, "fixed:4@*/kernel", &f) == 0 &&
	   partitioner_add(&head, "fixed:2", &f) == 0);
	for (size_t i = 0; i < 4; i++)
		same = same && partition_shards(&head, &v[i], 5) == wanted[i];
	named(same,
	      "a variable follows the first pattern that matches, or else the "
	      "last text without a pattern; a hashed table has a shard on "
	      "each server");
	equals(partitioner_check(&head, v, 4, &f), 0);
	partitioner_release(&head);
	ok(refused("fixed:2@") && refused("@a") && refused("@"));
	equals(UNFIT("none@c*"), "c* matches no variable");
	ok(strcmp(UNFIT("none@a/b*", "none@?/bias"), "?/bias matches no "
		  "variable but those that patterns before it match") == 0);
	ok(strcmp(UNFIT("none@t*"), "t* matches no variable but hashed "
		  "tables, which have a shard on each server") == 0);
	ok(strcmp(UNFIT("none@*a*", "fixed:2@b/k*"), "b/k* matches no "
		  "variable") != 0);
}

static void
tensorflow_counts(void)
{
	const struct shape six = { 2, { 6, 1 } };

	named_equals(count("fixed:2", (struct shape){ 2, { 10, 3 } }), 2,
		     "FixedShards(2) of [10, 3] is 2");
	named_equals(count("min:4:2", six), 2, "MinSize(4, 2) of [6, 1] is 2");
	named_equals(count("min:4:10", six), 6,
		     "MinSize(4, 10) of [6, 1] is 6");
	named_equals(count("max:4", six), 6, "MaxSize(4) of [6, 1] is 6");
	named_equals(count("max:4:2", six), 2, "MaxSize(4, 2) of [6, 1] is 2");
	named_equals(count("max:1024", six), 1, "MaxSize(1024) of [6, 1] is 1");
	named_equals(count("min:256KiB:2", (struct shape){ 2, { 1024, 1024 } }),
		     2, "MinSize(256 KiB, 2) of [1024, 1024] is 2");
	named_equals(count("min:64MiB:2", (struct shape){ 1, { 20 } }), 1,
		     "MinSize(64 MiB, 2) of 80 bytes is 1");
	named_equals(count("fixed:4", (struct shape){ 1, { 10 } }), 4,
		     "FixedShards(4) of 10 rows is 4");
}

/* Tries every size of array, row, bytes and limit up to these. */
static void
promises_are_kept(void)
{
	bool min = true, max = true, fewest = true, limit = true;

	for (size_t rows = 1; rows <= 40; rows++)
	for (size_t width = 1; width <= 3; width++)
	for (uint64_t bytes = 1; bytes <= 60; bytes++)
	for (uint64_t most = 0; most <= 5; most++) {
		const struct shape s = { 2, { rows, width } };
		const uint64_t row = width * sizeof(float);
		const struct partitioner at_least = {
			.kind = PARTITION_MIN, .bytes = bytes, .shards = most
		};
		const struct partitioner at_most = {
			.kind = PARTITION_MAX, .bytes = bytes, .shards = most
		};
		const size_t n = partition_count(&at_least, s);
		const size_t m = partition_count(&at_most, s);

		if (most && (n > most || m > most))
			limit = false;
		/* The smallest and largest shard are the floor and ceiling of
		   the mean. */
		if (n > 1 && rows / n * row < bytes)
			min = false;
		/* One more shard would have been too many. */
		if (n < rows && n != most && rows / (n + 1) * row >= bytes)
			min = false;
		if ((rows + m - 1) / m * row > bytes && m != rows && m != most)
			max = false;
		if (m > 1 && (rows + m - 2) / (m - 1) * row <= bytes)
			fewest = false;
	}
	named(min,
	      "min: no shard is smaller than the bytes, and one more shard "
	      "would not fit");
	named(max,
	      "max: no shard is larger than the bytes, where rows and the "
	      "count allow it");
	named(fewest, "max: no fewer shards would do");
	named(limit, "the count is never exceeded");
	named_equals(count("min:16", (struct shape){ 1, { 10 } }), 2,
		     "min:16 cuts 40 bytes into 2 shards, not into "
		     "TensorFlow's 16 + 12 + 12");
	named_equals(count("max:4", (struct shape){ 2, { 3, 2 } }), 3,
		     "max: a row larger than the bytes has a shard of its own");
}

static void
p2_single_number_is_never_split(void)
{
	const struct shape number = { 0 };

	named(count("fixed:4", number) == 1 && count("max:1", number) == 1 &&
	      count("min:1", number) == 1,
	      "P2 a single number is never split");
}

static void
p5_at_most_one_shard_a_row(void)
{
	const struct shape three = { 2, { 3, 7 } };
	const struct shape none = { 2, { 0, 7 } }, hollow = { 2, { 3, 0 } };

	named(count("fixed:4", three) == 3 && count("max:1", three) == 3 &&
	      count("min:1", three) == 3,
	      "P5 a variable has no more shards than rows");
	ok(count("fixed:4", none) == 1 && count("max:4", hollow) == 1);
	ok(count("max:1", (struct shape){ 1, { 1 << 20 } }) ==
	   PARTITION_SHARDS);
}

static bool
shards_are(size_t rows, size_t n, const size_t *first)
{
	for (size_t i = 0; i < n; i++) {
		const struct rows r = partition_rows(rows, n, i);
		const size_t end = i + 1 < n ? first[i + 1] : rows;

		if (r.first != first[i] || r.count != end - first[i])
			return false;
	}
	return true;
}

/* Is offset = i * base + min(i, extra), and is each row found in its shard? */
static bool
rows_and_find_agree(size_t rows, size_t n)
{
	const size_t base = rows / n, extra = rows % n;
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rows r = partition_rows(rows, n, i);

		if (r.first != next ||
		    r.first != i * base + (i < extra ? i : extra) ||
		    r.count != base + (i < extra ? 1 : 0))
			return false;
		for (size_t row = r.first; row < r.first + r.count; row++)
			if (partition_find(rows, n, row) != i)
				return false;
		next = r.first + r.count;
	}
	return next == rows;
}

/* Are rows found as by embedding_lookup, which uses signed numbers? */
static bool
find_is_tensorflow_div(size_t rows, size_t n)
{
	const long per = (long)(rows / n), extras = (long)(rows % n);

	for (long id = 0; id < (long)rows; id++) {
		const long a = id / (per + 1), b = (id - extras) / per;
		const long p = a > b ? a : b;
		const long local = p < extras ? id % (per + 1) :
						(id - extras) % per;
		const size_t found = partition_find(rows, n, (size_t)id);

		if (found != (size_t)p ||
		    partition_rows(rows, n, found).first + (size_t)local !=
		    (size_t)id)
			return false;
	}
	return true;
}

static void
l1_div_table(void)
{
	const size_t thirteen[] = { 0, 3, 6, 9, 11 };
	bool all = true;

	named(shards_are(13, 5, thirteen),
	      "L1 div puts 13 ids onto 5 shards as TensorFlow does");
	named(shards_are(5, 2, (size_t[]){ 0, 3 }),
	      "L1 5 rows on 2 shards are 3 + 2");
	named(shards_are(10, 4, (size_t[]){ 0, 3, 6, 8 }),
	      "L1 10 rows on 4 shards are 3 + 3 + 2 + 2");
	for (size_t rows = 1; rows <= 50; rows++)
		for (size_t n = 1; n <= rows; n++)
			all = all && rows_and_find_agree(rows, n) &&
			      find_is_tensorflow_div(rows, n);
	named(all,
	      "L1 offsets and look-up equal TensorFlow's div, up to 50 rows");

	/* These numbers exceed 32 bits, and are not exact as doubles. */
	const size_t huge = ((size_t)1 << 48) - 1;
	const struct rows last = partition_rows(huge, 65536, 65535);

	equals(last.first + last.count, huge);
	ok(partition_find(huge, 65536, huge - 1) == 65535 &&
	   partition_find(huge, 65536, last.first - 1) == 65534);
}

static void
p6_round_robin_continues(void)
{
	const struct variable v[] = {
		{ .shape = { 2, { 5, 2 } } },	/* 2 shards */
		{ .shape = { 0 } },		/* whole */
		{ .shape = { 1, { 1 } } },	/* whole: one row */
		{ .shape = { 1, { 2 } } },	/* 2 shards */
	};
	const struct partitioner two = { .kind = PARTITION_FIXED,
					 .shards = 2 };
	const uint32_t variable[] = { 0, 0, 1, 2, 3, 3 };
	const uint32_t shard[] = { 0, 1, 0, 0, 0, 1 };
	size_t n;
	struct place *p = partition_plan(v, 4, &two, &placement_round_robin, 3,
					 &n);
	bool same = n == 6;

	for (uint32_t i = 0; same && i < 6; i++)
		same = p[i].variable == variable[i] && p[i].shard == shard[i] &&
		       p[i].server == i % 3;
	named(same, "P6 round robin continues over variables and shards");
	named(n == 6 && p[2].shards == 1 && p[3].shards == 1 &&
	      p[2].rows.count == 1 && p[0].shards == 2,
	      "P4 a variable that is not split is one shard with all its "
	      "rows");
	ok(n == 6 && p[1].rows.first == 3 && p[1].rows.count == 2);
	free(p);

	/* With more shards than servers a server has several. */
	const struct partitioner four = { .kind = PARTITION_FIXED,
					  .shards = 4 };

	p = partition_plan(v, 1, &four, &placement_round_robin, 2, &n);
	named(n == 4 && p[0].server == 0 && p[1].server == 1 &&
	      p[2].server == 0 && p[3].server == 1,
	      "P6 4 shards on 2 servers are on 0, 1, 0, 1");
	free(p);
}

/* Returns the bytes on the fullest server. */
static uint64_t
fullest(const struct variable *v, size_t n, const struct partitioner *p,
	const struct placement *how, size_t servers, uint64_t *total,
	uint64_t *largest)
{
	size_t count;
	struct place *list = partition_plan(v, n, p, how, servers, &count);
	uint64_t held[16] = { 0 }, most = 0;

	*total = *largest = 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t bytes = place_bytes(&list[i], v);

		held[list[i].server] += bytes;
		*total += bytes;
		if (bytes > *largest)
			*largest = bytes;
	}
	for (size_t s = 0; s < servers; s++)
		if (held[s] > most)
			most = held[s];
	free(list);
	return most;
}

static void
balanced_puts_the_largest_first(void)
{
	const struct optimizer adam = { .slots = 2 };
	const struct variable v[] = {
		{ .shape = { 2, { 2, 10 } } },			/* 80 bytes */
		{ .shape = { 1, { 100 } } },			/* 400 */
		{ .shape = { 1, { 50 } }, .optimizer = &adam },	/* 600 */
		{ .shape = { 1, { 20 } } },			/* 80 */
	};
	const struct partitioner whole = { 0 };
	size_t n;
	struct place *p = partition_plan(v, 4, &whole, &placement_balanced, 2,
					 &n);

	ok(n == 4 && place_bytes(&p[2], v) == 600);
	ok(p[2].server == 0 && p[1].server == 1);
	ok(p[0].server == 1 && p[3].server == 1);	/* 480, then 560 */
	free(p);
	p = partition_plan(v, 1, &whole, &placement_balanced, 5, &n);
	named(n == 1 && p[0].server == 0,
	      "balanced: a tie goes to the server with the lowest index");
	free(p);
	p = partition_plan(v, 0, &whole, &placement_balanced, 5, &n);
	equals(n, 0);
	free(p);
}

/* Is the placement within Graham's bound?  The mean and the largest shard are
   lower bounds of the best. */
static bool
near_the_best(uint64_t most, uint64_t total, uint64_t largest, size_t servers)
{
	const double mean = (double)total / (double)servers;
	const double share = 1 - 1 / (double)servers;

	return (double)most <= mean + share * (double)largest + .5;
}

static void
balanced_is_no_worse(void)
{
	struct rng rng = { .seed = 7 };
	const char *text[] = { "none", "fixed:3", "max:4k", "min:2k" };
	bool bounded = true, better = true, covered = true;

	for (int i = 0; i < 400; i++) {
		struct variable v[12] = { 0 };
		const size_t n = 1 + rng_below(&rng, 12);
		const size_t servers = 1 + rng_below(&rng, 10);
		const struct partitioner p = partitioner(text[i % 4]);
		uint64_t total, again, largest, even, turn;

		/* Variables are kernels with their biases, as in models. */
		for (size_t k = 0; k < n; k++)
			v[k].shape = k % 2 ?
				(struct shape){ 1, { v[k - 1].shape.dim[1] } } :
				(struct shape){ 2, { 1 + rng_below(&rng, 300),
						     1 + rng_below(&rng, 9) } };
		even = fullest(v, n, &p, &placement_balanced, servers, &total,
			       &largest);
		turn = fullest(v, n, &p, &placement_round_robin, servers,
			       &again, &largest);
		covered = covered && total == again;
		bounded = bounded &&
			  near_the_best(even, total, largest, servers);
		better = better && even <= turn;
	}
	named(covered, "both placements have every byte on one server");
	named(bounded,
	      "balanced: the fullest server is within Graham's bound");
	named(better,
	      "balanced: the fullest server is never fuller than with round "
	      "robin, on 400 models");
}

static bool
places(struct placement *p, const char *text)
{
	struct fail f;

	return placement_add(p, text, &f) == 0 || f.kind != FAIL_CONFIG;
}

static void
placement_texts(void)
{
	static const char *const bad[] = {
		"random", "", "@", "@1", "a@", "a@x", "a@1-", "a@-1", "a@2-1",
		"a@1-2-3", "a@ 1", "balanced@"
	};
	struct placement p = { 0 };

	ok(places(&p, "round-robin") && p.rule == PLACE_ROUND_ROBIN);
	ok(places(&p, "balanced") && p.rule == PLACE_BALANCED && !p.range);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		named_for(!places(&p, bad[i]) && !p.range,
			  "the placement '%s' is refused", bad[i]);
	ok(places(&p, "*/kernel@1-3") && places(&p, "a@b@7") &&
	   strcmp(p.range->pattern, "*/kernel") == 0 && p.range->first == 1 &&
	   p.range->last == 3 && strcmp(p.range->next->pattern, "a@b") == 0 &&
	   p.range->next->first == 7 && p.range->next->last == 7);
	placement_release(&p);
	ok(!p.range);
}

/* Is the placement refused with this text? */
static bool
unplaced(const struct placement *p, const struct variable *v, size_t n,
	 size_t servers, const char *text)
{
	struct fail f;

	return placement_check(p, v, n, servers, &f) == -1 &&
		f.kind == FAIL_CONFIG && strstr(f.text, text);
}

static void
ranges_hold_what_fits(void)
{
	const struct variable v[] = {
		{ .name = (char *)"deep/kernel", .shape = { 2, { 40, 10 } } },
		{ .name = (char *)"words/embeddings",
		  .shape = { 2, { 600, 2 } } },
		{ .name = (char *)"deep/bias", .shape = { 1, { 10 } } },
		{ .name = (char *)"users/embeddings", .shape = { 2, { 0, 2 } },
		  .hashed = true },
		{ .name = (char *)"rest", .shape = { 1, { 30 } } },
	};
	const struct partitioner four = { .kind = PARTITION_FIXED,
					  .shards = 4 };
	const size_t servers = 5;

	for (int turns = 0; turns < 2; turns++) {
		struct placement p = { 0 };
		size_t n, users = 0, held[5] = { 0 };
		bool good = true;
		struct place *list;

		ok(places(&p, turns ? "round-robin" : "balanced") &&
		   places(&p, "*/embeddings@0-1") && places(&p, "deep/*@2-4") &&
		   placement_check(&p, v, 5, servers, &(struct fail){ 0 }) ==
		   0);
		list = partition_plan(v, 5, &four, &p, servers, &n);
		for (size_t i = 0; i < n; i++) {
			const uint32_t s = list[i].server;

			users += list[i].variable == 3;
			good = good && s < servers &&
				(list[i].variable == 4 ||
				 (list[i].variable % 2 == 1) == (s < 2)) &&
				(list[i].variable != 3 || s == list[i].shard);
			if (list[i].variable == 0)
				held[s]++;
		}
		named(good, "each shard is on a server of its range");
		named_equals(users, 2,
			     "a hashed table has a shard on each server of its "
			     "range");
		named(held[2] + held[3] + held[4] == 4 && held[2] < 3 &&
		      held[3] > 0 && held[4] > 0,
		      "each server of the range has a shard of the split "
		      "variable");
		free(list);
		ok(unplaced(&p, v, 5, 4, "deep/*: there is no server 4; the "
			    "last one of 4 is 3"));
		ok(places(&p, "nothing@0") &&
		   unplaced(&p, v, 5, servers, "nothing matches no variable"));
		placement_release(&p);
		ok(places(&p, "deep/*@1") && places(&p, "deep/b*@2") &&
		   unplaced(&p, v, 5, servers, "deep/b* matches no variable "
			    "but those that patterns before it match"));
		placement_release(&p);
	}
}

/* Variables without a range go to the emptiest servers, also to those of
   ranges. */
static void
the_rest_is_balanced_over_all(void)
{
	const struct variable v[] = {
		{ .name = (char *)"large", .shape = { 1, { 100 } } },
		{ .name = (char *)"a", .shape = { 1, { 60 } } },
		{ .name = (char *)"b", .shape = { 1, { 50 } } },
		{ .name = (char *)"c", .shape = { 1, { 10 } } },
	};
	const struct partitioner whole = { 0 };
	struct placement p = { 0 };
	size_t n;
	struct place *list;

	ok(places(&p, "large@1"));
	list = partition_plan(v, 4, &whole, &p, 2, &n);
	ok(n == 4 && list[0].server == 1 && list[1].server == 0 &&
	   list[2].server == 0 && list[3].server == 1);
	free(list);
	placement_release(&p);
}

/* Dense variables, which all workers pull whole, are beside workers; the ranges
   of patterns come first. */
static void
dense_is_beside_workers(void)
{
	const struct variable v[] = {
		{ .name = (char *)"net", .shape = { 2, { 512, 512 } } },
		{ .name = (char *)"bias", .shape = { 1, { 512 } } },
		{ .name = (char *)"emb", .shape = { 2, { 65536, 16 } },
		  .table = true },
		{ .name = (char *)"ids", .shape = { 2, { 0, 2 } },
		  .table = true, .hashed = true },
		{ .name = (char *)"here", .shape = { 1, { 4 } } },
	};
	const struct partitioner spread = partitioner("spread");
	const size_t servers = 5;
	const size_t alone[] = { 0, 4, 3, 2, 1, 5 };	/* 5: all, none is */

	for (size_t beside = 1; beside <= servers; beside++)
		for (int turns = 0; turns < 2; turns++) {
			struct placement p = { 0 };
			size_t n, of[5] = { 0 };
			bool good = true;
			struct place *list;

			ok(places(&p, "here@4") &&
			   (!turns || places(&p, "round-robin")));
			placement_beside(&p, beside, servers);
			equals(placement_count_beside(&p), beside);
			list = partition_plan(v, 5, &spread, &p, servers, &n);
			for (size_t i = 0; i < n; i++) {
				const struct place *at = &list[i];
				const size_t first = at->variable == 4 ? 4 :
					!v[at->variable].table ||
					beside == servers ? 0 : beside;
				const size_t last = at->variable == 4 ||
					v[at->variable].table ? servers - 1 :
					beside - 1;

				of[at->variable]++;
				good = good && at->server >= first &&
					at->server <= last;
			}
			named(good, "each shard is on one of its servers");
			named(of[0] == (beside < 4 ? beside : 4) &&
			      of[1] == 1 && of[4] == 1,
			      "a dense variable is on all servers beside "
			      "workers, with no shard under 256 KiB");
			named(of[2] == alone[beside] && of[3] == alone[beside],
			      "a table has a shard on each of the other "
			      "servers");
			free(list);
			placement_release(&p);
		}
}

int
main(void)
{
	texts_are_read_whole_or_refused();
	patterns_choose_by_name();
	tensorflow_counts();
	promises_are_kept();
	p2_single_number_is_never_split();
	p5_at_most_one_shard_a_row();
	l1_div_table();
	p6_round_robin_continues();
	balanced_puts_the_largest_first();
	balanced_is_no_worse();
	placement_texts();
	ranges_hold_what_fits();
	the_rest_is_balanced_over_all();
	dense_is_beside_workers();
	return tap_done();
}
