/*
 * What is read of a file in places is the same with a cache of it and
 * without, whatever became of its pieces; and each is made by who reads its
 * first record.
 */
#include "data/span.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

#include <glob.h>

#define ROWS	(2 * PIECE_RECORDS + 9000)

static struct cache cache = { .folder = "kept" };
static const struct span_format how = { .cache = &cache }, plain;
static struct input in, label;
static const char *file;
static struct span_tally tally;
static struct span_reader *reader;
static struct fail why;
static size_t kept;	/* records of the last walk() that were cached */

/* ---- as the ledger has it ---- */

static struct span
span_at(uint64_t record, uint64_t count)
{
	struct span s = { .file = (char *)(uintptr_t)file,
			  .end = UINT64_MAX, .skip = record, .count = count,
			  .number = record, .at = { 0, record } };

	s.piece = ROWS - (record - record % PIECE_RECORDS);
	if (count > PIECE_RECORDS - record % PIECE_RECORDS)
		s.count = PIECE_RECORDS - record % PIECE_RECORDS;
	if (tally.places == 0)
		return s;
	s.begin = tally.place[record / SPAN_EVERY];
	s.skip = record % SPAN_EVERY;
	s.at.inside = record % PIECE_RECORDS;
	s.at.origin = tally.place[(record - s.at.inside) / SPAN_EVERY];
	return s;
}

static void
leave(bool finish)
{
	while (reader && finish && span_finish(reader))
		;
	span_close(reader);
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

/* Read records as they follow, going on with the last walk if they can. */
static bool
walk(uint64_t first, uint64_t count)
{
	struct batch b;
	int got = 1;

	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	kept = 0;
	for (uint64_t at = first, end = first + count; at < end && got >= 0;) {
		const struct span s = span_at(at, end - at);

		if (!reader || !span_follow(reader, &s)) {
			leave(true);
			reader = span_open(&s, &how, &in, 1, &label, &why);
		}
		while (reader && (got = span_read(reader, &b, &why)) > 0)
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

/* ---- what there is ---- */

static size_t
pieces(const char *pattern)
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
the_piece(const char *pattern)
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
	struct span s = { .file = (char *)(uintptr_t)name,
			  .end = UINT64_MAX };

	leave(false);
	file = name;
	free(tally.place);
	return span_count(&s, &plain, &in, 1, &label, &tally, &why) == 0 &&
		tally.records == ROWS;
}

/* ---- tests ---- */

static void
test_whole(const char *name)
{
	remove_all("kept/*");
	ok(use(name) && walk(0, ROWS) && kept == 0);
	leave(true);
	ok(pieces("kept/*.pscache") == 3 && pieces("kept/.tmp*") == 0);
	ok(walk(0, ROWS) && kept == ROWS);
	/* Anywhere, across their borders, and back again. */
	ok(walk(PIECE_RECORDS - 5, 10) && kept == 10);
	ok(walk(ROWS - 8500, 8500) && kept > 8000);
	ok(walk(12345, 1000) && walk(12000, 1000) && walk(13000, 40000));
	leave(true);
}

/* Who begins in the middle of a piece makes the next one. */
static void
test_parts(const char *name)
{
	remove_all("kept/*");
	ok(use(name) && walk(20000, 10000) && walk(30000, 10000));
	ok(pieces("kept/*") == 0 && pieces("kept/.tmp*") == 1);
	leave(true);
	ok(pieces("kept/*.pscache") == 1 && pieces("kept/.tmp*") == 0);
	/* One that is there, between two that are not. */
	ok(walk(5, ROWS - 5) && kept == PIECE_RECORDS);
	leave(true);
	ok(pieces("kept/*.pscache") == 2);
	ok(walk(0, ROWS) && kept == ROWS - PIECE_RECORDS);
	ok(walk(3, ROWS - 3) && kept == ROWS - 3);
	/* What was begun is left when nobody has the patience. */
	leave(false);
	remove_all("kept/*");
	ok(walk(0, 100));
	leave(false);
	ok(pieces("kept/*") == 0 && pieces("kept/.tmp*") == 0);
}

/* It is read from the file then, and made again by who reads its first. */
static void
test_damage(void)
{
	char *piece;

	remove_all("kept/*");
	ok(use("rows.csv") && walk(0, ROWS));
	leave(true);
	piece = the_piece("kept/*.4+0.pscache");
	ok(truncate(piece, 150000) == 0);
	ok(walk(100, 1000) && kept == 0 && access(piece, F_OK) != 0);
	leave(true);
	ok(walk(0, PIECE_RECORDS) && kept == 0);
	ok(walk(0, PIECE_RECORDS) && kept == PIECE_RECORDS);
	leave(true);
	free(piece);
}

/* Two splits, one of which ends in a piece: both are kept, and read. */
static void
test_splits(void)
{
	struct span first, rest;
	struct batch b;

	remove_all("kept/*");
	ok(use("rows.csv"));
	for (int i = 0; i < 2; i++) {
		batch_begin(&b, &in, 1, &label);
		b.label.input = &label;
		first = span_at(0, 2 * SPAN_EVERY);
		rest = span_at(2 * SPAN_EVERY, 100);
		first.piece = 2 * SPAN_EVERY;
		rest.at = (struct piece_place){ rest.begin, 0 };
		rest.piece = 3000;
		reader = span_open(&first, &how, &in, 1, &label, &why);
		while (span_read(reader, &b, &why) > 0)
			;
		ok(span_follow(reader, &rest));
		while (span_read(reader, &b, &why) > 0)
			;
		ok(b.examples == 2 * SPAN_EVERY + 100 && is_right(&b, 0));
		batch_release(&b);
		leave(true);
		ok(pieces("kept/*.pscache") == 2);
	}
}

/* What the coordinator says of a place is no proof of what lies there. */
static void
test_lies(void)
{
	struct span s;
	struct batch b;

	remove_all("kept/*");
	ok(use("rows.csv"));
	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	s = span_at(0, 1000);
	s.begin = tally.place[1];
	reader = span_open(&s, &how, &in, 1, &label, &why);
	while (reader && span_read(reader, &b, &why) > 0)
		;
	ok(b.examples == 1000 && pieces("kept/.tmp*") == 0);
	leave(true);
	batch_release(&b);
	ok(pieces("kept/*") == 0);
	s.count = s.piece = 1;
	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	reader = span_open(&s, &how, &in, 1, &label, &why);
	ok(span_read(reader, &b, &why) == 1 && b.examples == 1);
	leave(true);
	batch_release(&b);
	ok(pieces("kept/*") == 0);
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

/* A number of such a file, and its sum, are others. */
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

/* What was counted is there the next time, of the same bytes only. */
static void
test_counts(struct text *rows)
{
	struct span s = { .file = (char *)(uintptr_t)"rows.csv",
			  .end = UINT64_MAX };
	struct span_tally first, again, other;
	char *name;

	remove_all("kept/*");
	ok(span_count(&s, &how, &in, 1, &label, &first, &why) == 0);
	name = the_piece("kept/*.count.0.pscache");
	/* It is believed, as this lie shows. */
	ok(pieces("kept/*") == 1 && lie(name, 168 + 8, 77));
	ok(span_count(&s, &how, &in, 1, &label, &again, &why) == 0 &&
	   again.records == ROWS && again.places == first.places &&
	   again.place[1] == 77);
	free(again.place);
	s.end = 10000;
	ok(span_count(&s, &how, &in, 1, &label, &other, &why) == 0 &&
	   other.records < ROWS && pieces("kept/*") == 1);
	free(other.place);
	s.end = UINT64_MAX;
	ok(span_count(&s, &how, &in, 1, &label, &again, &why) == 0 &&
	   again.place[1] == first.place[1]);
	free(again.place);
	/* Not if it is damaged, or of what the file was. */
	for (int i = 0; i < 2; i++) {
		ok(lie(name, 168 + 8, 77));
		if (i == 0)
			ok(truncate(name, 300) == 0);
		else
			files_put("rows.csv", rows->data, rows->size);
		ok(span_count(&s, &how, &in, 1, &label, &again, &why) == 0 &&
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
	ok(mkdir("kept", 0700) == 0);
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
