/* Ranges of a file give the same records with and without a cache, in every
   state of its segments; the reader of a segment's first record makes it. */
#include "data/record_range.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

#include <glob.h>

#define ROWS	(2 * SEGMENT_RECORDS + 9000)

static struct cache cache = { .folder = "kept" };
static const struct record_range_format how = { .cache = &cache }, plain;
static struct input in, label;
static const char *file;
static struct record_range_tally tally;
static struct record_range_reader *reader;
static struct fail why;
static size_t kept;	/* records of the last walk() that were cached */

/* ---- ranges, as the sampler gives them ---- */

static struct record_range
span_at(uint64_t record, uint64_t count)
{
	struct record_range s = { .file = (char *)(uintptr_t)file,
				  .end = UINT64_MAX, .skip = record,
				  .count = count,
				  .number = record, .at = { 0, record } };

	s.segment = ROWS - (record - record % SEGMENT_RECORDS);
	if (count > SEGMENT_RECORDS - record % SEGMENT_RECORDS)
		s.count = SEGMENT_RECORDS - record % SEGMENT_RECORDS;
	if (tally.places == 0)
		return s;
	s.begin = tally.place[record / RECORD_RANGE_EVERY];
	s.skip = record % RECORD_RANGE_EVERY;
	s.at.inside = record % SEGMENT_RECORDS;
	s.at.origin = tally.place[(record - s.at.inside) / RECORD_RANGE_EVERY];
	return s;
}

static void
leave(bool finish)
{
	while (reader && finish && record_range_finish(reader))
		;
	record_range_close(reader);
	reader = NULL;
}

static bool
is_right(const struct batch *b, uint64_t first)
{
	for (size_t i = 0; i < b->examples; i++)
		if (b->feature[0].value[i] != (float)(first + i) ||
		    b->label.value[i] != (float)((first + i) % 7))
			return false;
	return true;
}

/* Reads count records from first on, with the open reader if they follow its
   last record. */
static bool
walk(uint64_t first, uint64_t count)
{
	struct batch b;
	int got = 1;

	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	kept = 0;
	for (uint64_t at = first, end = first + count; at < end && got >= 0;) {
		const struct record_range s = span_at(at, end - at);

		if (!reader || !record_range_follow(reader, &s)) {
			leave(true);
			reader = record_range_open(&s, &how, &in, 1, &label,
						   &why);
		}
		while (reader &&
		       (got = record_range_read(reader, &b, &why)) > 0)
			kept += got > 1 ? (size_t)got : 0;
		got = reader ? got : -1;
		at += s.count;
	}
	const bool good = got >= 0 && b.examples == count &&
			  is_right(&b, first);

	if (!good)
		printf("# %s, %zu of %llu\n", got < 0 ? why.text : "wrong",
		       b.examples, (unsigned long long)count);
	batch_release(&b);
	return good;
}

/* ---- the segments on disk ---- */

static size_t
segments(const char *pattern)
{
	glob_t found;
	size_t n = 0;

	if (glob(pattern, 0, NULL, &found) == 0) {
		n = found.gl_pathc;
		globfree(&found);
	}
	return n;
}

static void
remove_all(const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
}

static char *
the_segment(const char *pattern)
{
	glob_t found;
	char *name = NULL;

	if (glob(pattern, 0, NULL, &found) == 0) {
		name = mem_text(found.gl_pathv[0]);
		globfree(&found);
	}
	return name;
}

static void
put_rows(struct text *t)
{
	text_add(t, "x,y\n");
	for (uint64_t i = 0; i < ROWS; i++)
		text_add(t, "%llu,%llu\n", (unsigned long long)i,
			 (unsigned long long)i % 7);
}

static bool
use(const char *name)
{
	struct record_range s = { .file = (char *)(uintptr_t)name,
				  .end = UINT64_MAX };

	leave(false);
	file = name;
	free(tally.place);
	return record_range_count(&s, &plain, &in, 1, &label, &tally,
				  &why) == 0 &&
		tally.records == ROWS;
}

/* ---- tests ---- */

static void
test_whole(const char *name)
{
	remove_all("kept/*");
	ok(use(name) && walk(0, ROWS) && kept == 0);
	leave(true);
	ok(segments("kept/*.pscache") == 3 && segments("kept/.tmp*") == 0);
	ok(walk(0, ROWS) && kept == ROWS);
	/* Read in any order, across the borders of segments. */
	ok(walk(SEGMENT_RECORDS - 5, 10) && kept == 10);
	ok(walk(ROWS - 8500, 8500) && kept > 8000);
	ok(walk(12345, 1000) && walk(12000, 1000) && walk(13000, 40000));
	leave(true);
}

/* A reader that begins in the middle of a segment makes the next one. */
static void
test_parts(const char *name)
{
	remove_all("kept/*");
	ok(use(name) && walk(20000, 10000) && walk(30000, 10000));
	ok(segments("kept/*") == 0 && segments("kept/.tmp*") == 1);
	leave(true);
	ok(segments("kept/*.pscache") == 1 && segments("kept/.tmp*") == 0);
	/* One segment exists, between two that do not. */
	ok(walk(5, ROWS - 5) && kept == SEGMENT_RECORDS);
	leave(true);
	equals(segments("kept/*.pscache"), 2);
	ok(walk(0, ROWS) && kept == ROWS - SEGMENT_RECORDS);
	ok(walk(3, ROWS - 3) && kept == ROWS - 3);
	/* A segment that is not complete is dropped. */
	leave(false);
	remove_all("kept/*");
	ok(walk(0, 100));
	leave(false);
	ok(segments("kept/*") == 0 && segments("kept/.tmp*") == 0);
}

/* A damaged segment is read from the file, and made again by the reader of its
   first record. */
static void
test_damage(void)
{
	char *segment;

	remove_all("kept/*");
	ok(use("rows.csv") && walk(0, ROWS));
	leave(true);
	segment = the_segment("kept/*.4+0.pscache");
	equals(truncate(segment, 150000), 0);
	ok(walk(100, 1000) && kept == 0 && access(segment, F_OK) != 0);
	leave(true);
	ok(walk(0, SEGMENT_RECORDS) && kept == 0);
	ok(walk(0, SEGMENT_RECORDS) && kept == SEGMENT_RECORDS);
	leave(true);
	free(segment);
}

/* Of two splits, the first ends inside a segment: the segments of both are kept
   and read. */
static void
test_splits(void)
{
	struct record_range first, rest;
	struct batch b;

	remove_all("kept/*");
	ok(use("rows.csv"));
	for (int i = 0; i < 2; i++) {
		batch_begin(&b, &in, 1, &label);
		b.label.input = &label;
		first = span_at(0, 2 * RECORD_RANGE_EVERY);
		rest = span_at(2 * RECORD_RANGE_EVERY, 100);
		first.segment = 2 * RECORD_RANGE_EVERY;
		rest.at = (struct segment_place){ rest.begin, 0 };
		rest.segment = 3000;
		reader = record_range_open(&first, &how, &in, 1, &label, &why);
		while (record_range_read(reader, &b, &why) > 0)
			;
		ok(record_range_follow(reader, &rest));
		while (record_range_read(reader, &b, &why) > 0)
			;
		ok(b.examples == 2 * RECORD_RANGE_EVERY + 100 &&
		   is_right(&b, 0));
		batch_release(&b);
		leave(true);
		equals(segments("kept/*.pscache"), 2);
	}
}

/* A position from the coordinator may be wrong: then no segment is kept. */
static void
test_lies(void)
{
	struct record_range s;
	struct batch b;

	remove_all("kept/*");
	ok(use("rows.csv"));
	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	s = span_at(0, 1000);
	s.begin = tally.place[1];
	reader = record_range_open(&s, &how, &in, 1, &label, &why);
	while (reader && record_range_read(reader, &b, &why) > 0)
		;
	ok(b.examples == 1000 && segments("kept/.tmp*") == 0);
	leave(true);
	batch_release(&b);
	equals(segments("kept/*"), 0);
	s.count = s.segment = 1;
	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	reader = record_range_open(&s, &how, &in, 1, &label, &why);
	ok(record_range_read(reader, &b, &why) == 1 && b.examples == 1);
	leave(true);
	batch_release(&b);
	equals(segments("kept/*"), 0);
}

static void
test_stale(struct text *rows)
{
	remove_all("kept/*");
	ok(use("rows.csv") && walk(0, ROWS));
	leave(true);
	rows->data[4] = '9';		/* 0 -> 9 */
	files_put("rows.csv", rows->data, rows->size);
	ok(!walk(0, 10) && kept == 0);
	leave(false);
	rows->data[4] = '0';
	files_put("rows.csv", rows->data, rows->size);
	ok(walk(0, ROWS) && kept == 0);
	leave(true);
	ok(walk(0, ROWS) && kept == ROWS);
	leave(true);
}

/* Changes a number of the file, and its checksum to match. */
static bool
lie(const char *name, size_t at, uint64_t number)
{
	size_t size;
	char *bytes = files_get(name, &size);
	uint64_t sum;

	if (!bytes || size < 168 + 16)
		return false;
	memcpy(bytes + at, &number, sizeof(number));
	sum = hash64(bytes + 168, size - 168);
	memcpy(bytes + 160, &sum, sizeof(sum));
	files_put(name, bytes, size);
	free(bytes);
	return true;
}

/* Counts are kept for the next time, but only for the same bytes. */
static void
test_counts(struct text *rows)
{
	struct record_range s = { .file = (char *)(uintptr_t)"rows.csv",
				  .end = UINT64_MAX };
	struct record_range_tally first, again, other;
	char *name;

	remove_all("kept/*");
	equals(record_range_count(&s, &how, &in, 1, &label, &first, &why), 0);
	name = the_segment("kept/*.count.0.pscache");
	/* A false count with a right checksum shows that the count is read from
	   the cache. */
	ok(segments("kept/*") == 1 && lie(name, 168 + 8, 77));
	ok(record_range_count(&s, &how, &in, 1, &label, &again, &why) == 0 &&
	   again.records == ROWS && again.places == first.places &&
	   again.place[1] == 77);
	free(again.place);
	s.end = 10000;
	ok(record_range_count(&s, &how, &in, 1, &label, &other, &why) == 0 &&
	   other.records < ROWS && segments("kept/*") == 1);
	free(other.place);
	s.end = UINT64_MAX;
	ok(record_range_count(&s, &how, &in, 1, &label, &again, &why) == 0 &&
	   again.place[1] == first.place[1]);
	free(again.place);
	/* A count that is damaged, or older than the file, is not used. */
	for (int i = 0; i < 2; i++) {
		ok(lie(name, 168 + 8, 77));
		if (i == 0)
			equals(truncate(name, 300), 0);
		else
			files_put("rows.csv", rows->data, rows->size);
		ok(record_range_count(&s, &how, &in, 1, &label, &again,
				      &why) == 0 &&
		   again.place[1] == first.place[1]);
		free(again.place);
	}
	free(first.place);
	free(name);
}

int
main(void)
{
	struct text rows = { 0 };

	files_begin();
	log_begin("pieces", LOG_QUIET, NULL, &why);	/* damage is meant */
	in = examples_input("x", INPUT_FLOAT, 0, 1);
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	put_rows(&rows);
	files_put("rows.csv", rows.data, rows.size);
	files_packed("rows.csv.gz", "gzip", rows.data, rows.size);
	equals(mkdir("kept", 0700), 0);
	test_whole("rows.csv");
	test_whole("rows.csv.gz");
	test_parts("rows.csv");
	test_parts("rows.csv.gz");
	test_damage();
	test_splits();
	test_lies();
	test_stale(&rows);
	test_counts(&rows);
	free(tally.place);
	text_release(&rows);
	remove_all("kept/*");
	rmdir("kept");
	files_end();
	free(in.name);
	free(label.name);
	return tap_done();
}
