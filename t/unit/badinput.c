/* Malformed data give one line that says what is wrong and where. */
#include "data/reader.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

static struct input in[3], label;
static size_t inputs;
static struct reader_options options;

/* Reads the files; returns the error, to be freed. */
static char *
outcome(const char *files)
{
	return examples_read(files, &options, in, inputs, &label, 4, 1000);
}

static bool
says(const char *files, const char *expected)
{
	char *got = outcome(files);
	const bool same = strcmp(got, expected) == 0;

	if (!same)
		tap_differ(got, expected);
	free(got);
	return same;
}

/* Do files of this text and format, with the name of the format, give this
   error? */
static bool
bad(const char *file, const char *text, const char *expected)
{
	files_text(file, text);
	return says(file, expected);
}

static void
test_svmlight(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "1 1:1\n1-1 1:1\n",
		  "65 a.svm:2: label: '1-1' is not a finite number" },
		{ "+1 1:1\n+-1 1:1\n",
		  "65 a.svm:2: label: '+-1' is not a finite number" },
		{ "+ 1:1\n", "65 a.svm:1: label: '+' is not a finite number" },
		{ "1 5:x\n", "65 a.svm:1: '5:x' is not id:number" },
		{ "1 1:1 5\n", "65 a.svm:1: '5' is not id:number" },
		{ "1 1:1 -1 2:1\n", "65 a.svm:1: '-1' is not id:number" },
		{ "1 1: 1\n", "65 a.svm:1: '1:' is not id:number" },
		{ "1 1:1,2:1\n", "65 a.svm:1: '1:1,2:1' is not id:number" },
		{ "1 1:1-1 2:1", "65 a.svm:1: '1:1-1' is not id:number" },
		{ "1 3:1 2:1", "65 a.svm:1: id 2 after 3; they must ascend" },
		{ "1 3:1 3:1", "65 a.svm:1: id 3 after 3; they must ascend" },
		{ "1 0:1", "65 a.svm:1: '0:1' has the id 0; they begin at 1, "
		  "or the input says zero_based=true" },
		{ "1 6:1", "65 a.svm:1: id 6 is out of range, 1 to 5" },
		{ "1 99999999999999999999:1", "65 a.svm:1: id "
		  "99999999999999999999 is out of range, 1 to 5" },
		{ "1 1:nan", "65 a.svm:1: '1:nan' is not id:number" },
		{ "1 1:-inf", "65 a.svm:1: '1:-inf' is not id:number" },
		{ "1 1:1e39", "65 a.svm:1: '1:1e39' is too large for a "
		  "float" },
		{ "1 1:0x10", "65 a.svm:1: '1:0x10' is not id:number" },
		{ "x,y\n1,2\n", "65 a.svm:1: label: 'x,y' is not a finite "
		  "number; the file is read as svmlight: for csv say -F csv" },
		{ "nan 1:1", "65 a.svm:1: label: 'nan' is not a finite "
		  "number" },
		{ "\n# no\n2 1:1", "65 a.svm:3: label: 2 is neither 0 or 1 "
		  "nor -1 or +1" },
		{ "1:1 2:1", "65 a.svm:1: label: '1:1' is not a finite "
		  "number" },
		{ "a\tname\1of\2very very many words, forty and more 1:1",
		  "65 a.svm:1: label: 'a' is not a finite number" },
		{ "a\1name-of-very-very-many-letters-of-forty-and-more 1:1",
		  "65 a.svm:1: label: "
		  "'a?name-of-very-very-many-letters-of-fort...' "
		  "is not a finite number" },
		{ "", "66 a.svm: it has no records" },
		{ "\n# only this\n", "66 a.svm: it has no records" },
	};

	in[0] = examples_input("x", INPUT_SPARSE, 5, 1);
	inputs = 1;
	label.binary = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		named_for(bad("a.svm", cases[i].text, cases[i].says),
			  "malformed data end with the status and line: %s",
			  cases[i].says);
	files_put("nul.svm", "1 1:1\n1 2:1\0 3:1\n", 17);
	ok(says("nul.svm", "65 nul.svm:2: a NUL byte"));

	/* The same for ids of more than 32 bits, and for hashed ids. */
	in[0].hashed = true;
	ok(bad("a.svm", "1 18446744073709551616:1", "65 a.svm:1: id "
	       "18446744073709551616 is out of range, "
	       "1 to 18446744073709551615"));
	ok(bad("a.svm", "1 4294967301:1 7:1", "65 a.svm:1: id 7 after "
	       "4294967301; they must ascend"));
	ok(bad("a.svm", "1 7:1 4294967303:1 4294967303:1", "65 a.svm:1: id "
	       "4294967303 after 4294967303; they must ascend"));
	in[0].hashed = false;

	/* The error is in the last file. */
	files_text("good.svm", "1 1:1\n");
	ok(says("good.svm,none.svm",
		"66 none.svm: No such file or directory"));
	ok(says("good.svm,.", "66 .: it is a directory"));
	label.binary = false;
	label.kind = INPUT_ID;
	label.rows = 3;
	ok(bad("a.svm", "3 1:1", "65 a.svm:1: label: 3 is out of range, "
	       "0 to 2"));
	ok(bad("a.svm", "-1 1:1", "65 a.svm:1: label: -1 is out of range, "
	       "0 to 2"));
	ok(bad("a.svm", "1.5 1:1", "65 a.svm:1: label: 1.5 is not a whole "
	       "number"));
	label.kind = INPUT_FLOAT;
	in[0].kind = INPUT_ID;
	ok(bad("a.svm", "1 1:1", "65 a.svm: it is read as svmlight, which "
	       "feeds models of one input, sparse or float; this one has 1, x "
	       "of another kind (-F says another format)"));
	/* A missing file is an error before its format is guessed. */
	ok(says(".", "66 .: it is a directory"));
	ok(says("none", "66 none: No such file or directory"));
	free(in[0].name);
}

static void
test_csv(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "x,id,y\n1,2,0\n1,2\n",
		  "65 a.csv:3: 2 fields instead of 3" },
		{ "x,id,y\n1,2,0,\n", "65 a.csv:2: 4 fields instead of 3" },
		{ "x,id,y\n1\n", "65 a.csv:2: 1 field instead of 3" },
		{ "x,z,y\n1,2,0\n", "65 a.csv:1: no column id for id "
		  "(model.ps:1); there are: x, z, y" },
		{ "x,id\n1,2\n", "65 a.csv:1: no column y for y "
		  "(model.ps:1); there are: x, id" },
		{ "x,id,y,x\n1,2,1,1\n", "65 a.csv:1: x (model.ps:1) takes 1 "
		  "value, but 2 columns feed it" },
		{ "x,id,y\n,2,0\n", "65 a.csv:2: x: the number is missing" },
		{ "x,id,y\n \"1\",2,0\n",
		  "65 a.csv:2: x: ' \"1\"' is not a finite number" },
		{ "x,id,y\n1,,0\n", "65 a.csv:2: id: the number is missing" },
		{ "x,id,y\n1,9,0\n",
		  "65 a.csv:2: id: 9 is out of range, 0 to 8" },
		{ "x,id,y\n1,-2,0\n",
		  "65 a.csv:2: id: -2 is out of range, 0 to 8" },
		{ "x,id,y\n1,2.5,0\n",
		  "65 a.csv:2: id: 2.5 is not a whole number" },
		{ "x,id,y\nNaN,2,0\n",
		  "65 a.csv:2: x: 'NaN' is not a finite number" },
		{ "x,id,y\n1,2,\n", "65 a.csv:2: y: the number is missing" },
		{ "x,id,y\n\"1\n\",2,0\n",
		  "65 a.csv:2: x: '1?' is not a finite number" },
		{ "x,id,y\n1,2,0\n\"1\n,2,0\n",
		  "65 a.csv:3: quotes are not closed" },
		{ "x,id,y\n\"1\"2,2,0\n",
		  "65 a.csv:2: text follows closing quotes" },
		{ "\"\"\n1\n", "65 a.csv:1: no column y for y (model.ps:1); "
		  "there is none" },
		{ "x\tid\ty\n1\t2\t0\n", "65 a.csv:1: no column y for y "
		  "(model.ps:1); there are: x?id?y; tabs separate them in tsv: "
		  "say -F tsv" },
		{ "x;id;y\n1;2;0\n", "65 a.csv:1: no column y for y "
		  "(model.ps:1); there are: x;id;y; commas separate them in "
		  "csv, not semicolons" },
		{ "x,id,label\r1,2,0\r", "65 a.csv:1: no column y for y "
		  "(model.ps:1); there are: x, id, label?1, 2, 0; a line ends "
		  "with a newline, not with a carriage return alone" },
		{ "", "66 a.csv: it is empty" },
		{ "x,id,y\n", "66 a.csv: it has no records" },
	};

	in[0] = examples_input("x", INPUT_FLOAT, 0, 1);
	in[1] = examples_input("id", INPUT_ID, 9, 1);
	inputs = 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		named_for(bad("a.csv", cases[i].text, cases[i].says),
			  "malformed data end with the status and line: %s",
			  cases[i].says);
	/* A column name with a NUL is refused. */
	files_put("nul.csv", "x,id,y\0\n1,2,0\n", 14);
	ok(says("nul.csv", "65 nul.csv:1: a NUL byte in the name of a column; "
		"text in UTF-16 is not read"));
	files_put("zip.csv", "PK\3\4\0\0\n1,2,0\n", 13);
	ok(says("zip.csv", "65 zip.csv: it is no text, but a zip archive: "
		"unpack it"));
	in[0].shape = (struct shape){ 1, { 3 } };
	ok(bad("a.csv", "x,id,y\n", "65 a.csv:1: x (model.ps:1) takes 3 "
	       "values, but 1 column feeds it"));
	in[0].separator = ' ';
	ok(bad("a.csv", "x,id,y\n1  2 ,3,0\n", "65 a.csv:2: x: 2 values "
	       "instead of 3"));
	ok(bad("a.csv", "x,id,y\n1 2 3 4,3,0\n", "65 a.csv:2: x: 4 values "
	       "instead of 3"));
	free(in[0].name);
	free(in[1].name);
}

/* Errors quote a field as it is in the file. */
static size_t
quoted(const char *field, enum input_kind kind, bool label_too)
{
	char text[100], inside[60];
	char *got;
	bool good;

	in[0].kind = kind;
	snprintf(text, sizeof(text), "id,y\n%s,%s\n", field,
		 label_too ? field : "0");
	files_text("q.csv", text);
	got = outcome("q.csv");
	snprintf(inside, sizeof(inside), "%s", field);
	good = strncmp(got, "65 ", 3) != 0 || strstr(got, inside);
	if (!good)
		printf("# %s: %s\n", field, got);
	free(got);
	return !good;
}

static void
test_fields(void)
{
	static const char *const fields[] = {
		"2.2E+11", "1.6777217e7", "7.9155723368987E+017", "007.50",
		"+3.5", "1e2", "+9", "009", "9.0", "-09", "+2", "2.0", "02",
		"0.300000011", "1.0000001", "1e39", "-1E+39", "0x10", "1_000",
		"9007199254740993.5", "1e-46x", "00123456789012345678901",
	};
	size_t wrong = 0;

	in[0] = examples_input("id", INPUT_ID, 5, 1);
	inputs = 1;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		for (int k = 0; k < 8; k++) {
			in[0].hashed = k & 1;
			label.kind = k & 2 ? INPUT_ID : INPUT_FLOAT;
			label.binary = !(k & 2);
			label.rows = k & 2 ? 2 : 0;
			wrong += quoted(fields[i], INPUT_ID, k & 4) +
				quoted(fields[i], INPUT_SPARSE, k & 4);
			if (!in[0].hashed)
				wrong += quoted(fields[i], INPUT_FLOAT, k & 4);
		}
	equals(wrong, 0);
	label.kind = INPUT_FLOAT;
	label.binary = false;
	label.rows = 0;
	free(in[0].name);

	in[0] = examples_input("x", INPUT_SPARSE, 5, 1);
	ok(bad("a.svm", "1 007:1", "65 a.svm:1: id 007 is out of range, "
	       "1 to 5"));
	ok(bad("a.svm", "1 3:1 02:1", "65 a.svm:1: id 02 after 3; they must "
	       "ascend"));
	free(in[0].name);
}

/* The ids of a hashed input are 64 bits, or a sign and 63. */
static void
test_any_ids(void)
{
	static const char range[] = "is out of range, "
		"-9223372036854775808 to 18446744073709551615";
	static const char *const beyond[] = {
		"18446744073709551616", "99999999999999999999999",
		"-9223372036854775809", "-18446744073709551617",
	};
	char text[200], expected[200];

	in[0] = examples_input("id", INPUT_ID, 0, 1);
	in[0].hashed = true;
	inputs = 1;
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		snprintf(text, sizeof(text), "id,y\n%s,0\n", beyond[i]);
		snprintf(expected, sizeof(expected), "65 a.csv:2: id: %s %s",
			 beyond[i], range);
		in[0].kind = INPUT_ID;
		named_for(bad("a.csv", text, expected),
			  "the hashed id '%s' is refused", beyond[i]);
		snprintf(text, sizeof(text), "id,y\n%s:2,0\n", beyond[i]);
		in[0].kind = INPUT_SPARSE;
		named_for(bad("a.csv", text, expected),
			  "the hashed id '%s' with a weight is refused",
			  beyond[i]);
	}
	in[0].hashed = false;
	in[0].rows = 5;
	ok(bad("a.csv", "id,y\n-1:2,0\n",
	       "65 a.csv:2: id: -1 is out of range, 0 to 4"));
	ok(bad("a.csv", "id,y\n1-2:2,0\n",
	       "65 a.csv:2: id: '1-2:2' is not id:weight"));
	ok(bad("a.csv", "id,y\n 1: ,0\n",
	       "65 a.csv:2: id: the number is missing"));
	ok(bad("a.csv", "id,y\n 1 2,0\n",
	       "65 a.csv:2: id: ' 1 2' is not id:weight"));
	free(in[0].name);
}

static void
test_binary(void)
{
	static const char images[] =
		"\0\0\x0d\2\0\0\0\2\0\0\0\1" "\x3f\x80\0\0\x7f\xc0\0\0";
	static const char labels[] = "\0\0\x08\1\0\0\0\2" "\0\3";
	static const char none[] = "\x93NUMPY\1\0\x3e\0"
		"{'descr':'<f4','fortran_order':False,'shape':(0,2)}         "
		" \n";

	in[0] = examples_input("x", INPUT_FLOAT, 0, 1);
	inputs = 1;
	files_put("x.idx", images, sizeof(images) - 1);
	files_put("y.idx", labels, sizeof(labels) - 1);
	ok(says("x.idx", "66 x.idx: no file of labels follows it, which idx "
		"needs"));
	ok(says("x.idx,y.idx", "65 x.idx: record 2: nan is not a finite "
		"number"));
	label.kind = INPUT_ID;
	label.rows = 3;
	ok(says("y.idx,y.idx", "65 y.idx: record 2: 3 is out of range, "
		"0 to 2"));
	label.kind = INPUT_FLOAT;
	files_put("cut.idx", images, sizeof(images) - 2);
	ok(says("cut.idx,y.idx", "65 cut.idx: it ends in record 2 of 2"));
	files_put("more.idx", labels, sizeof(labels));
	ok(says("more.idx,y.idx", "65 more.idx: more follows the last of 2 "
		"records"));
	ok(says("y.idx,more.idx", "65 more.idx: more follows the last of 2 "
		"records"));
	files_put("three.idx", "\0\0\x08\1\0\0\0\3" "\0\3\1", 11);
	ok(says("y.idx,three.idx", "65 three.idx: 3 labels for the 2 records "
		"of y.idx"));
	files_put("large.idx", "\0\0\x0e\1\0\0\0\2"
		  "\x7e\x37\xe4\x3c\x88\0\x75\x9c" "\0\0\0\0\0\0\0\0", 24);
	ok(says("large.idx,y.idx", "65 large.idx: record 1: 1e+300 is too "
		"large for a float"));
	files_put("none.idx", "\0\0\x08\1\0\0\0\0", 8);
	ok(says("none.idx,y.idx", "66 none.idx: it has no records"));
	files_put("head.idx", "\0\0\x08\3\0\0\0\0", 8);
	ok(says("head.idx,y.idx", "65 head.idx: it ends in its header"));
	files_text("text.idx", "1 1:1\n");
	files_text("empty.idx", "");
	ok(says("text.idx,y.idx", "65 text.idx: not an IDX file"));
	ok(says("empty.idx,y.idx", "66 empty.idx: it is empty"));
	ok(bad("a.npy", "1 1:1\n", "66 a.npy: no file of labels follows it, "
	       "which npy needs"));
	ok(says("a.npy,a.npy", "65 a.npy: not a NumPy array"));
	files_text("empty.npy", "");
	ok(says("empty.npy,a.npy", "66 empty.npy: it is empty"));
	files_put("none.npy", none, sizeof(none) - 1);
	ok(says("none.npy,none.npy", "66 none.npy: it has no records"));
	in[0].shape = (struct shape){ 1, { 784 } };
	ok(says("x.idx,y.idx", "65 x.idx: 1 number a record, but x "
		"(model.ps:1) takes 784"));
	in[0].kind = INPUT_STRING;
	ok(says("x.idx,y.idx", "65 x.idx: x (model.ps:1) cannot be fed from "
		"an array of numbers"));
	in[0].kind = INPUT_FLOAT;
	in[0].shape.rank = 0;
	ok(bad("a.npz", "1 1:1\n", "65 a.npz: Unrecognized archive format"));
	ok(bad("a.npz", "", "65 a.npz: no array x (model.ps:1) in it"));
	free(in[0].name);
}

static void
test_options(void)
{
	const char *file = "good.svm";

	in[0] = examples_input("x", INPUT_SPARSE, 5, 1);
	options.format = "parquet";
	ok(says(file, "64 unknown data format 'parquet', there are: csv "
		      "idx npy npz svmlight tar tsv"));
	options.format = NULL;
	options.shard = options.shards = 3;
	ok(says(file, "64 shard 3 of 3: they are counted from 0"));
	options = (struct reader_options){ .repeat = true };
	ok(says("-", "64 standard input cannot be repeated"));
	ok(says("", "64 no input is given"));
	options = (struct reader_options){ .shuffle = 0 };
	free(in[0].name);
}

/* A bad record spoils its batch; the next batch begins after the record. */
static void
test_going_on(void)
{
	struct fail f;
	struct batch b;
	char name[] = "a.svm";
	char *files[] = { name };

	files_text(name, "1 1:1\n1 2:1\n1 bad\n0 4:1\n");
	in[0] = examples_input("x", INPUT_SPARSE, 5, 1);
	for (options.shuffle = 0; options.shuffle < 3; options.shuffle++) {
		struct reader *r = reader_open(files, 1, &options, in, 1,
					       &label, &f);
		size_t examples = 0;

		batch_begin(&b, in, 1, &label);
		ok(reader_next(r, 4, &b, &f) == -1 &&
		   strcmp(f.text, "a.svm:3: 'bad' is not id:number") == 0);
		while (reader_next(r, 4, &b, &f) > 0)
			examples += b.examples;
		ok(examples >= 1 && examples <= 3 &&
		   reader_records(r) == 4 && reader_next(r, 4, &b, &f) == 0);
		batch_release(&b);
		reader_close(r);
	}
	options.shuffle = 0;
	free(in[0].name);
}

/* Cuts the file at every byte, and flips each of its bits. */
static size_t
mutate(const char *file, const char *files)
{
	size_t size, ended = 0;
	char *bytes = files_get(file, &size);

	for (size_t i = 0; i < 9 * size; i++) {
		if (i < size) {
			files_put(file, bytes, i);
		} else {
			bytes[i % size] ^= (char)(1 << (i / size - 1));
			files_put(file, bytes, size);
			bytes[i % size] ^= (char)(1 << (i / size - 1));
		}

		char *got = outcome(files);

		ended += !strstr(got, "out of memory") && strlen(got) < 2000;
		free(got);
	}
	files_put(file, bytes, size);
	free(bytes);
	return ended == 9 * size ? size : 0;
}

static void
put_npz(const char *name)
{
	static const char x[] = "\x93NUMPY\1\0\x3c\0"
		"{'descr':'<f4','fortran_order':False,'shape':(2,)}         "
		"\n" "\0\0\0\0\0\0\x80\x3f";
	struct archive *a = archive_write_new();

	files_put("m.npy", x, sizeof(x) - 1);
	archive_write_set_format_zip(a);
	archive_write_open_filename(a, name);
	files_member(a, "x.npy", x, sizeof(x) - 1);
	files_member(a, "y.npy", x, sizeof(x) - 1);
	archive_write_free(a);
}

static void
test_mutations(void)
{
	static const char svm[] = "1 1:1 2:.5e3 # one\n0 qid:1 5:1\n";
	static const char idx[] = "\0\0\x08\1\0\0\0\2" "\0\1";

	in[0] = examples_input("x", INPUT_SPARSE, 5, 1);
	inputs = 1;
	files_text("m.svm", svm);
	ok(mutate("m.svm", "m.svm") > 0);
	files_packed("m.svm.gz", "gzip", svm, sizeof(svm) - 1);
	ok(mutate("m.svm.gz", "m.svm.gz") > 0);
	files_packed("m.svm.zst", "zstd", svm, sizeof(svm) - 1);
	ok(mutate("m.svm.zst", "m.svm.zst") > 0);

	in[0].kind = INPUT_FLOAT;
	files_text("m.csv", "x,y\n1,0\n\"2\",\"1\"\n");
	ok(mutate("m.csv", "m.csv") > 0);
	in[0].separator = ',';
	ok(mutate("m.csv", "m.csv") > 0);
	in[0].separator = 0;
	files_text("m.tsv", "x\ty\n1\t0\n2\t1\n");
	ok(mutate("m.tsv", "m.tsv") > 0);
	files_put("m.idx", idx, sizeof(idx) - 1);
	files_put("n.idx", idx, sizeof(idx) - 1);
	ok(mutate("m.idx", "m.idx,n.idx") > 0);
	ok(mutate("n.idx", "m.idx,n.idx") > 0);
	put_npz("m.npz");
	ok(says("m.npz", "0 | 0\n1 | 1\n") &&
	   says("m.npy,m.npy", "0 | 0\n1 | 1\n"));
	ok(mutate("m.npz", "m.npz") > 0);
	ok(mutate("m.npy", "m.npy,m.npy") > 0);
	free(in[0].name);
}

int
main(void)
{
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	files_begin();
	test_svmlight();
	test_csv();
	test_fields();
	test_any_ids();
	test_binary();
	test_options();
	test_going_on();
	test_mutations();
	files_end();
	free(label.name);
	return tap_done();
}
