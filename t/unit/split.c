/* Every record of a file is read once, however the file is cut, and is found
   again. */
#include "data/split.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

#define WHOLE	UINT64_MAX

static struct record_range_format how;
static struct input in, label;
static struct fail why;

/* Appends the records of a range to a text. */
static bool
add_records(struct text *t, struct record_range *s)
{
	struct record_range_reader *r =
		record_range_open(s, &how, &in, 1, &label, &why);
	struct batch b;
	int got = r ? 1 : -1;

	batch_begin(&b, &in, 1, &label);
	b.label.input = &label;
	while (got > 0)
		got = record_range_read(r, &b, &why);
	examples_add_all(t, &b);
	batch_release(&b);
	record_range_close(r);
	return got == 0;
}

static struct record_range
part(const char *file, uint64_t begin, uint64_t end)
{
	return (struct record_range){ .file = (char *)(uintptr_t)file,
				      .begin = begin, .end = end,
				      .count = UINT64_MAX };
}

/*
 * Reads the records of all splits of this size, each from the place where its
 * first record was found; false: the file cannot be cut.
 */
static bool
read_splits(const char *file, uint64_t size, struct text *t)
{
	char *name = mem_text(file);
	struct record_range_tally tally = { 0 };
	struct splits s;
	bool good;

	text_add(t, ":\n");
	good = splits_cut(&s, &name, 1, &how, true, size, &why) == 0;

	for (size_t i = 0; i < s.count && good && !tally.whole; i++) {
		struct record_range p =
			part(file, s.split[i].begin, s.split[i].end);

		good = record_range_count(&p, &how, &in, 1, &label, &tally,
					  &why) == 0;
		p.count = tally.records;
		if (tally.places > 0) {
			p.begin = tally.place[0];
			p.end = WHOLE;
		}
		good = good && (tally.whole || add_records(t, &p));
		free(tally.place);
	}
	splits_release(&s);
	free(name);
	if (!good)
		printf("# %s by %llu: %s\n", file, (unsigned long long)size,
		       why.text);
	return good && !tally.whole;
}

/* Do splits of every size give all records? */
static bool
every_cut(const char *file, const char *text)
{
	char *all = NULL;
	bool same = true;

	files_text(file, text);
	for (uint64_t size = strlen(text) + 1; size > 0; size--) {
		struct text t = { 0 };

		same = read_splits(file, size, &t) && same;
		if (all && strcmp(all, t.data) != 0) {
			printf("# by %llu:\n%s", (unsigned long long)size,
			       t.data);
			same = false;
		}
		if (!all)
			all = mem_text(t.data);
		text_release(&t);
	}
	free(all);
	return same;
}

/* Does every size of splits either give all records once, or report that the
   file cannot be cut? */
static bool
cut_or_whole(const char *file, const char *text)
{
	struct text all = { 0 };
	bool same = true;

	files_text(file, text);
	same = read_splits(file, strlen(text) + 1, &all);
	for (uint64_t size = 1; size <= strlen(text); size++) {
		struct text t = { 0 };

		if (read_splits(file, size, &t))
			same = same && strcmp(t.data, all.data) == 0;
		text_release(&t);
	}
	text_release(&all);
	return same;
}

static void
test_lines(void)
{
	in = examples_input("x", INPUT_SPARSE, 9, 1);
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	ok(every_cut("a.svm", "1 1:3\n0 2:2 3:3\n1 4:4\n"));
	ok(every_cut("b.svm", "1 1:3\n\n\n# no record\n0 2:2\r\n \n1 3:3"));
	ok(every_cut("c.svm", "\xef\xbb\xbf" "1 1:3\n0 2:2\n#"));
	free(in.name);
	in = examples_input("x", INPUT_FLOAT, 0, 1);
	ok(every_cut("a.csv", "x,y\n1,2\n3,4\n5,6\n"));
	ok(every_cut("b.csv", "y,x\r\n1,2\r\n\r\n3,4\r\n5,6"));
	ok(every_cut("c.csv", "\n\nx,y\n1,2\n\n3,4\n"));
	ok(every_cut("d.csv", "\"x\",\"y\"\n1,2\n3,4\n"));
	ok(every_cut("a.tsv", "x\ty\t\"\n1\t2\t\"\n3\t4\t\"\n"));
	how.no_header = true;
	free(in.name);
	free(label.name);
	in = examples_input("1", INPUT_FLOAT, 0, 1);
	label = examples_input("2", INPUT_FLOAT, 0, 1);
	ok(every_cut("e.csv", "1,2\n3,4\n5,6\n"));
	ok(every_cut("f.csv", "\n\n1,2\n3,4\n"));
	ok(every_cut("g.csv", "\xef\xbb\xbf" "1,2\n3,4\n5,6"));
	ok(every_cut("b.tsv", "\xef\xbb\xbf\n1\t2\r\n3\t4\n"));
	how.no_header = false;
}

static void
test_quotes(void)
{
	struct text none = { 0 };

	free(in.name);
	free(label.name);
	in = examples_input("x", INPUT_FLOAT, 0, 1);
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	ok(cut_or_whole("g.csv", "x,z,y\n1,\"a\nb,c\n2,3\",4\n5,d,6\n"));
	ok(cut_or_whole("h.csv", "x,z,y\n1,a,2\n3,\"b\n4,\"\"c\"\",5\n\",6\n"
			"7,d,8\n"));
	files_text("i.csv", "x,z,y\n1,a,2\n3,\"b\nc\",4\n");
	ok(!read_splits("i.csv", 12, &none));
	text_release(&none);
}

static bool
counts(struct record_range *p, struct record_range_tally *t)
{
	return record_range_count(p, &how, &in, 1, &label, t, &why) == 0;
}

static void
test_count(void)
{
	struct record_range_tally t;
	struct text big = { 0 }, got = { 0 };
	struct record_range p = part("big.csv", 0, WHOLE);

	text_add(&big, "x,y\n");
	for (int i = 0; i < 2 * RECORD_RANGE_EVERY + 5; i++)
		text_add(&big, "%d,0\n", i);
	files_text("big.csv", big.data);
	ok(counts(&p, &t) && t.records == 2 * RECORD_RANGE_EVERY + 5 &&
	   t.places == 3 && t.place[0] == 4);
	p.begin = t.place[2];
	p.skip = 3;
	p.count = 2;
	ok(add_records(&got, &p) && strcmp(got.data, "0 | 8195\n"
					   "0 | 8196\n") == 0);
	p.count = 3;
	ok(!add_records(&got, &p) && why.kind == FAIL_DATA &&
	   strstr(why.text, "it has changed since it was counted"));
	free(t.place);
	files_packed("big.csv.gz", "gzip", big.data, big.size);
	p = part("big.csv.gz", 0, WHOLE);
	ok(counts(&p, &t) && t.records == 2 * RECORD_RANGE_EVERY + 5 &&
	   t.places == 0);
	text_release(&big);
	text_release(&got);
}

static void
test_bad(void)
{
	struct record_range_tally t;
	struct record_range p = part("bad.csv", 8, 16);
	struct text none = { 0 };

	files_text("bad.csv", "x,y\n1,2\n3,4\n5\n7,8\n");
	ok(counts(&p, &t) && t.whole);
	p = part("bad.csv", 0, WHOLE);
	ok(!counts(&p, &t) && why.kind == FAIL_DATA &&
	   strcmp(why.text, "bad.csv:4: 1 field instead of 2") == 0);
	/* The line number is that of the file, from any split. */
	p = part("bad.csv", 8, WHOLE);
	ok(!counts(&p, &t) &&
	   strcmp(why.text, "bad.csv:4: 1 field instead of 2") == 0);
	files_text("bad.csv", "x,y\n1,2\nx,3\n");
	p = part("bad.csv", 8, WHOLE);
	ok(counts(&p, &t) && t.records == 1);
	free(t.place);
	p.count = 1;
	ok(!add_records(&none, &p) &&
	   strcmp(why.text, "bad.csv:3: x: 'x' is not a finite number") == 0);
	text_release(&none);
}

/* Returns the bytes that this process has read from files so far. */
static unsigned long long
bytes_read(void)
{
	FILE *io = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	if (!io || fscanf(io, "rchar: %llu", &n) != 1)
		n = 0;
	if (io)
		fclose(io);
	return n;
}

/*
 * Half of the records are bad.  The bytes that are read for their line numbers,
 * from a split that is not the first, are little more than the file, and not
 * the file for each record.
 */
static bool
passed_over(const char *name, const char *head, const char *good,
	    const char *misfit)
{
	enum { RECORDS = 4000 };
	struct skip_records bad = { .most = RECORDS };
	const struct record_range_format plain = how;
	struct text file = { 0 }, got = { 0 };
	struct record_range p = part(name, strlen(head) + strlen(good), WHOLE);
	struct record_range_tally t = { 0 };
	unsigned long long before, all;
	bool right;

	text_add(&file, "%s", head);
	for (int i = 0; i < RECORDS; i++)
		text_add(&file, "%s", i % 2 ? misfit : good);
	files_text(name, file.data);
	how.bad = &bad;
	before = bytes_read();
	right = before > 0 && counts(&p, &t) && t.records == RECORDS - 1 &&
		bad.all == 0;
	p.begin = t.places > 0 ? t.place[0] : 0;
	p.count = t.records;
	right = right && add_records(&got, &p) && bad.all == RECORDS / 2;
		/* The file is read to be counted, then for its records, and for
		   the number of each line that is reported. */
	all = (2 + 10 + 2) * file.size + (64 << 10);
	right = right && bytes_read() - before < all;
	printf("# %s, %zu bytes: %llu read\n", name, file.size,
	       bytes_read() - before);
	how = plain;
	free(t.place);
	text_release(&file);
	text_release(&got);
	return right;
}

static void
test_many_bad(void)
{
	if (bytes_read() == 0) {
		tap_skip("/proc does not show the bytes that were read");
		return;
	}
	ok(passed_over("many.csv", "x,y\n", "1,2\n", "x,2\n"));
	ok(passed_over("few.csv", "x,y\n", "1,2\n", "1\n"));
	ok(passed_over("quotes.csv", "x,y\n", "1,2\n", "\"1\"2,3\n"));
	ok(passed_over("many.svm", "", "1 1:2\n", "x 1:2\n"));
}

/* A range may come from a peer, and be wrong. */
static void
test_denied(void)
{
	struct record_range p = part("pipe:touch ran", 0, WHOLE);

	ok(!record_range_open(&p, &how, &in, 1, &label, &why) &&
	   why.kind == FAIL_DENIED && access("ran", F_OK) != 0);
	p = part("-", 0, WHOLE);
	ok(!record_range_open(&p, &how, &in, 1, &label, &why) &&
	   why.kind == FAIL_DENIED);
	p = part("/dev/zero", 0, WHOLE);
	ok(!record_range_open(&p, &how, &in, 1, &label, &why) &&
	   strcmp(why.text, "/dev/zero: it is not a plain file") == 0);
	p = part("x-idx3-ubyte", 0, WHOLE);
	p.label = p.file;
	ok(!record_range_open(&p, &how, &in, 1, &label, &why) &&
	   why.kind == FAIL_NOINPUT);
}

static bool
cut_fails(const char *input, enum fail_kind kind, const char *text)
{
	char *name = mem_text(input);
	struct splits s;
	const int got = splits_cut(&s, &name, 1, &how, true, 64, &why);

	free(name);
	splits_release(&s);
	if (got < 0 && why.kind == kind && strcmp(why.text, text) == 0)
		return true;
	tap_differ(got < 0 ? why.text : "no error", text);
	return false;
}

static uint64_t
ends_of(const char *name)
{
	char *input = mem_text(name);
	struct splits s;
	const uint64_t ends =
		splits_cut(&s, &input, 1, &how, true, 64, &why) == 0 ?
		s.file[0].ends : 0;

	splits_release(&s);
	free(input);
	return ends;
}

/* Change the byte at the offset; return whether the ends are others. */
static bool
ends_show(struct text *t, size_t offset)
{
	uint64_t before, after;

	files_text("long.svm", t->data);
	before = ends_of("long.svm");
	t->data[offset] ^= 1;
	files_text("long.svm", t->data);
	after = ends_of("long.svm");
	return before != 0 && after != 0 && before != after;
}

static void
test_ends(void)
{
	struct text t = { 0 };

	while (t.size < 3 * SPLIT_ENDS)
		text_add(&t, "1 1:1\n");
	named(ends_show(&t, 0) && ends_show(&t, SPLIT_ENDS - 1) &&
	      !ends_show(&t, SPLIT_ENDS) &&
	      !ends_show(&t, t.size - SPLIT_ENDS - 1) &&
	      ends_show(&t, t.size - SPLIT_ENDS) && ends_show(&t, t.size - 1),
	      "the first and the last bytes of a file are hashed");
	text_release(&t);
}

static void
test_inputs(void)
{
	char *inputs[] = { mem_text("s[0-9].svm"), mem_text("one.svm") };
	struct splits s;

	files_text("s2.svm", "1 1:1\n");
	files_text("s1.svm", "1 1:1\n");
	files_text("one.svm", "1 1:1\n0 1:1\n");
	ok(splits_cut(&s, inputs, 2, &how, true, 6, &why) == 0 &&
	   s.files == 3 && s.count == 4 &&
	   strcmp(s.file[0].name, "s1.svm") == 0 &&
	   strcmp(s.file[1].name, "s2.svm") == 0 && s.split[3].file == 2 &&
	   s.split[3].begin == 6 && s.split[3].end == 12);
	splits_release(&s);
	free(inputs[0]);
	free(inputs[1]);
	ok(cut_fails("pipe:cat a.svm", FAIL_USAGE, "pipe:cat a.svm: the "
		     "coordinator's data are read more than once, and by the "
		     "workers: they must be files"));
	ok(cut_fails("none*.svm", FAIL_NOINPUT,
		     "none*.svm: no file fits it"));
	ok(cut_fails(".", FAIL_NOINPUT, ".: it is not a plain file"));
	ok(cut_fails("x-idx3-ubyte", FAIL_NOINPUT, "x-idx3-ubyte: no file of "
		     "labels follows it, which idx needs"));
}

int
main(void)
{
	files_begin();
	test_lines();
	test_quotes();
	test_count();
	test_bad();
	test_many_bad();
	test_denied();
	test_ends();
	test_inputs();
	files_end();
	free(in.name);
	free(label.name);
	return tap_done();
}
