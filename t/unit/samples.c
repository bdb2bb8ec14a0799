/* Samples in archives feed inputs as the manual says, or an error says why
   not. */
#include "data/reader.h"

#include "base/log.h"
#include "store/npy.h"

#include "files.h"
#include "inputs.h"
#include "tap.h"

#include <locale.h>
#include <math.h>

static struct reader_options options;
static struct archive *archive;

static void
begin(const char *file)
{
	archive = archive_write_new();
	archive_write_set_format_pax_restricted(archive);
	archive_write_open_filename(archive, file);
}

static void
put(const char *name, const char *text)
{
	files_member(archive, name, text, strlen(text));
}

static void
put_array(const char *name, const float *value, size_t n, size_t cut)
{
	char bytes[NPY_HEADER_MAX + 64];
	const size_t head = npy_header((struct shape){ 1, { n } }, bytes);

	memcpy(bytes + head, value, n * sizeof(*value));
	files_member(archive, name, bytes, head + n * sizeof(*value) - cut);
}

static void
end(void)
{
	archive_write_free(archive);
}

static bool
reads(const char *files, const char *expected)
{
	return reads_with(files, &options, expected);
}

/* Does reading the file fail with an error that begins so?  The rest is
   libarchive's. */
static bool
fails(const char *file, const char *begins)
{
	char *got = examples_read(file, &options, in, inputs, &label, 4, 20);
	const bool does = strncmp(got, begins, strlen(begins)) == 0;

	if (!does)
		tap_differ(got, begins);
	free(got);
	return does;
}

static void
append(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "ab");

	if (!file || fwrite(bytes, 1, size, file) != size ||
	    fclose(file) != 0) {
		perror(name);
		exit(1);
	}
}

/* Does an archive of one sample with this object give this text? */
static bool
object(const char *json, const char *expected)
{
	begin("o.tar");
	put("1.json", json);
	end();
	return reads("o.tar", expected);
}

/* Adds a member of this type without bytes. */
static void
put_odd(const char *name, mode_t type, const char *link)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_set_pathname(e, name);
	archive_entry_set_filetype(e, type);
	archive_entry_set_perm(e, 0644);
	if (link && type == AE_IFLNK)
		archive_entry_set_symlink(e, link);
	else if (link)
		archive_entry_set_hardlink(e, link);
	archive_write_header(archive, e);
	archive_entry_free(e);
}

/* The members of a sample come in any order, with other members between
   them. */
static void
test_members(void)
{
	const float x[] = { 1, .5, -2, 3, 4, 5 };

	begin("a.tar");
	put("README", "no sample");
	put_odd("c.d", AE_IFDIR, NULL);
	put("d.1/.hidden.cls", "7");
	put("d.1/a.jpg", "pixels");
	put_array("d.1/a.x.npy", x, 2, 0);
	put("d.1/a.cls", "1\n");
	put("d.1/b.cls", "0\r\n");
	put_array("d.1/b.x.npy", x + 2, 2, 0);
	put("d.1/b.png", "pixels");
	put("README", "no sample");
	put_array("b.x.npy", x + 4, 2, 0);
	put("b.cls", "0");
	end();
	add("x", INPUT_FLOAT, 0, 2);
	ok(reads("a.tar", "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"));
	ok(reads("a.tar,a.tar", "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"
		 "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"));
	options.shard = 1;
	options.shards = 2;
	ok(reads("a.tar", "0 | -2 3\n"));
	options.shards = 0;
	options.unlabelled = true;
	ok(reads("a.tar", " | 1 0.5\n | -2 3\n | 4 5\n"));
	options.unlabelled = false;
	forget();
}

static void
test_texts(void)
{
	char *columns[] = { (char[]){ "cls" } };
	struct input *cls, *ids;

	begin("t.tar");
	put("0.words.txt", "3 7  11\n");
	put("0.cls", " 1 ");
	put("1.words.txt", "");
	put("1.cls", "0");
	end();
	ids = add("words", INPUT_ID, 12, 1);
	ids->ragged = true;
	ids->separator = ' ';
	cls = add("other", INPUT_FLOAT, 0, 1);
	cls->columns = columns;
	cls->column_count = 1;
	ok(reads("t.tar", "1 | 3 7 11 | 1\n0 |  | 0\n"));
	const struct reader_options one_bad = { .max_bad = 1 };
	struct fail why;

	log_begin("samples", LOG_QUIET, NULL, &why);	/* it is meant */
	ids->rows = 11;
	ok(reads_with("t.tar", &one_bad, "0 |  | 0\n"));
	ok(reads("t.tar", "65 t.tar: record 1 (0): words: 11 is out of range, "
		 "0 to 10"));
	forget();
}

static void
test_objects(void)
{
	char *columns[] = { (char[]){ "[a-c]" } };
	char *both[] = { (char[]){ "u" }, (char[]){ "v" } };
	struct input *x = add("x", INPUT_FLOAT, 0, 3);

	x->columns = columns;
	x->column_count = 1;
	ok(object("{\"cls\": true, \"b\": [2, [-0.5]], \"a\": \"1e2\"}",
		  "1 | 100 2 -0.5\n"));
	ok(object("{\"a\": \"1e2\", \"cls\": true, \"b\": [2, -0.5]}",
		  "1 | 100 2 -0.5\n"));
	ok(object("{\"cls\": 1, \"b\": [2], \"a\": 1}", "65 o.tar: record 1 "
		  "(1): x: 2 values instead of 3"));
	ok(object("{\"cls\": 1, \"b\": [2, 1], \"a\": null}", "65 o.tar: "
		  "record 1 (1): a: it is null"));
	ok(object("{\"cls\": 1, \"b\": [2, 1], \"a\": {}}", "65 o.tar: "
		  "record 1 (1): a: it is an object"));
	ok(object("{\"cls\": 2, \"b\": [2, 1], \"a\": 1}", "65 o.tar: "
		  "record 1 (1): cls: 2 is neither 0 or 1 nor -1 or +1"));
	ok(object("{\"cls\": 1, \"b\": [1e300, 1], \"a\": 1}", "65 o.tar: "
		  "record 1 (1): b: '1e+300' is too large "
		  "for a float"));
	ok(object("{\"cls\": 1, \"d\": 1}", "65 o.tar: record 1 (1): no column "
		  "[a-c] for x (model.ps:1); there are: cls, d"));
	ok(object("{\"3\": 1, \"7\": 1}", "65 o.tar: record 1 (1): no column "
		  "cls for y (model.ps:1); there are: 3, 7"));
	ok(object("[1]", "65 o.tar: record 1 (1): .json: it is not an object "
		  "of JSON"));
	ok(object("{\"cls\": 1, \"a\": }", "65 o.tar: record 1 (1): .json: "
		  "unexpected token near '}'"));
	forget();

	x = add("x", INPUT_SPARSE, 10, 1);
	ok(object("{\"cls\": 1, \"x\": [3, \"5:.5\", \"7\"]}",
		  "1 | 3:1 5:0.5 7:1\n"));
	ok(object("{\"cls\": 1, \"x\": []}", "1 | \n"));
	forget();
	x = add("x", INPUT_STRING, 0, 1);
	x->lookup = lookup_hashing(UINT64_MAX);
	x->hashed = x->crossed = true;
	x->columns = both;
	x->column_count = 2;
	ok(object("{\"cls\": 1, \"v\": 3, \"u\": \"a\"}",
		  "1 | 1526113264654570802\n"));
	ok(object("{\"cls\": 1, \"v\": [3, 4], \"u\": \"a\"}", "65 o.tar: "
		  "record 1 (1): v: 2 words cannot be crossed"));
	lookup_free(x->lookup);
	forget();
	x = add("x", INPUT_ID, 0, 1);
	x->hashed = true;
	ok(object("{\"cls\": 0, \"x\": -9223372036854775808}",
		  "0 | 9223372036854775808\n"));
	ok(object("{\"cls\": 0, \"x\": \"18446744073709551615\"}",
		  "0 | 18446744073709551615\n"));
	ok(object("{\"cls\": 0, \"x\": 2.0}", "0 | 2\n"));
	ok(object("{\"cls\": 0, \"x\": 2.5}", "65 o.tar: record 1 (1): x: 2.5 "
		  "is not a whole number"));
	forget();
}

/* Makes an archive whose second sample has a fault. */
static void
second(void (*put_members)(void), const char *expected)
{
	const float x[] = { 1, .5 };

	begin("s.tar");
	put_array("0.x.npy", x, 2, 0);
	put("0.cls", "1");
	put_members();
	end();
	named_for(reads("s.tar", expected),
		  "a faulty sample ends with the status and line: %s",
		  expected);
}

static void
lacks(void)
{
	put("1.cls", "1");
}

static void
repeats(void)
{
	const float x[] = { 1, .5 };

	put_array("1.x.npy", x, 2, 0);
	put("1.cls", "1");
	put("1.cls", "0");
}

static void
widens(void)
{
	const float x[] = { 1, .5, 2 };

	put_array("1.x.npy", x, 3, 0);
	put("1.cls", "1");
}

static void
is_cut(void)
{
	const float x[] = { 1, .5 };

	put_array("1.x.npy", x, 2, 1);
	put("1.cls", "1");
}

static void
is_no_array(void)
{
	put("1.x.npy", "1 2");
	put("1.cls", "1");
}

static void
is_hard_link(void)
{
	put_odd("1.x.npy", AE_IFREG, "0.x.npy");
	put("1.cls", "1");
}

static void
is_link(void)
{
	put_odd("1.x.npy", AE_IFLNK, "0.x.npy");
	put("1.cls", "1");
}

static void
is_pipe(void)
{
	put_odd("1.x.npy", AE_IFIFO, NULL);
	put("1.cls", "1");
}

static void
has_holes(void)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_set_pathname(e, "1.x.npy");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_size(e, 8192);
	archive_entry_sparse_add_entry(e, 4096, 4096);
	archive_write_header(archive, e);
	archive_write_data(archive, (char[8192]){ 0 }, 8192);
	archive_entry_free(e);
	put("1.cls", "1");
}

static void
is_infinite(void)
{
	const float x[] = { 1, INFINITY };

	put_array("1.x.npy", x, 2, 0);
	put("1.cls", "1");
}

static void
test_wrong_samples(void)
{
	add("x", INPUT_FLOAT, 0, 2);
	second(lacks, "65 s.tar: record 2 (1): no member .x.npy");
	second(repeats, "65 s.tar: record 2 (1): more than one member .cls");
	second(widens, "65 s.tar: record 2 (1): x: 3 values instead of 2");
	second(is_cut, "65 s.tar: record 2 (1): .x.npy: 7 bytes of numbers "
	       "instead of 8");
	second(is_no_array, "65 s.tar: record 2 (1): .x.npy: not a NumPy "
	       "array");
	second(is_hard_link, "65 s.tar: 1.x.npy is a link: tar with "
	       "--dereference --hard-dereference");
	second(is_link, "65 s.tar: 1.x.npy is a link: tar with --dereference "
	       "--hard-dereference");
	second(is_pipe, "65 s.tar: 1.x.npy is not a plain file");
	second(has_holes, "65 s.tar: 1.x.npy has holes: tar without "
	       "--sparse");
	second(is_infinite, "65 s.tar: record 2 (1): x: inf is not a finite "
	       "number");
	forget();
	add("x", INPUT_STRING, 3, 2);
	ok(reads("s.tar", "65 s.tar: record 1 (0): x: x (model.ps:1) cannot "
		 "be fed from an array of numbers"));
	forget();
	add("z", INPUT_FLOAT, 0, 2);
	ok(reads("s.tar", "65 s.tar: record 1 (0): no column z for z "
		 "(model.ps:1); there are: x, cls"));
	begin("none.tar");
	put("README", "no sample");
	end();
	ok(reads("none.tar", "66 none.tar: it has no records: no member is "
		 "called NAME.EXTENSION"));
	begin("empty.tar");
	end();
	ok(reads("empty.tar", "66 empty.tar: it has no records: no member is "
		 "called NAME.EXTENSION"));
	forget();
}

/* Names in any language are read as UTF-8. */
static void
test_names(void)
{
	const float x[] = { 1, .5 };

	setlocale(LC_CTYPE, "C.UTF-8");
	begin("n.tar");
	put("gr\xc3\xb6\xc3\x9f" "e.cls", "1");
	put_array("gr\xc3\xb6\xc3\x9f" "e.x.npy", x, 2, 0);
	put("LIESMICH-gr\xc3\xb6\xc3\x9f" "e", "no sample");
	end();
	setlocale(LC_CTYPE, "C");
	add("x", INPUT_FLOAT, 0, 2);
	ok(reads("n.tar", "1 | 1 0.5\n"));
	archive = archive_write_new();	/* and a name that is not UTF-8 */
	archive_write_set_format_ustar(archive);
	archive_write_open_filename(archive, "n.tar");
	put("\xff\xfe.cls", "0");
	put_array("\xff\xfe.x.npy", x, 2, 0);
	end();
	ok(reads("n.tar", "0 | 1 0.5\n"));
	forget();
}

/* An archive that is cut short, and a file that is not an archive, are
   refused. */
static void
test_damage(void)
{
	size_t size;
	char *bytes = files_get("a.tar", &size);

	add("x", INPUT_FLOAT, 0, 2);
	files_packed("a.tar.gz", "gzip", bytes, size);
	ok(reads("a.tar.gz", "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"));
	files_put("two.tar", bytes, size);
	append("two.tar", bytes, size);
	ok(reads("two.tar", "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"
		 "1 | 1 0.5\n0 | -2 3\n0 | 4 5\n"));
	append("two.tar", "1 1:1\n", 6);
	ok(fails("two.tar", "65 two.tar: Truncated tar archive"));
	files_put("cut.tar", bytes, 5000);
	ok(fails("cut.tar", "65 cut.tar: Truncated "));
	memset(bytes + 1536, '#', 512);	/* a header */
	files_put("bad.tar", bytes, size);
	ok(fails("bad.tar", "65 bad.tar: Damaged tar archive"));
	files_text("text.tar", "1 1:1\n");
	ok(reads("text.tar", "65 text.tar: Unrecognized archive format"));
	files_text("nothing.tar", "");
	ok(reads("nothing.tar", "66 nothing.tar: it has no records: no member "
		 "is called NAME.EXTENSION"));
	free(bytes);
	forget();
}

int
main(void)
{
	char *columns[] = { (char[]){ "cls" } };

	files_begin();
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	label.binary = true;
	label.columns = columns;
	label.column_count = 1;
	test_members();
	test_texts();
	test_objects();
	test_wrong_samples();
	test_names();
	test_damage();
	free(label.name);
	files_end();
	return tap_done();
}
