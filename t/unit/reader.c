/* Every format feeds inputs as the manual says, in batches of any size. */
#include "data/reader.h"

#include "base/hash.h"
#include "base/log.h"
#include "data/format.h"

#include "files.h"
#include "inputs.h"
#include "tap.h"

static const struct reader_options plain;

static bool
reads(const char *files, const char *expected)
{
	return reads_with(files, &plain, expected);
}

static void
test_svmlight(void)
{
	files_text("a.svm", "# nothing here\n+1 1:1 3:.5\n\n"
		   "-1 qid:3 2:2e0 # 3:3\n \t\n1\n-1\t3:1  \r\n-1 1:0");
	add("x", INPUT_SPARSE, 3, 1);
	label.binary = true;
	ok(reads("a.svm", "1 | 0:1 2:0.5\n0 | 1:2\n1 | \n0 | 2:1\n"
		 "0 | 0:0\n"));
	forget();
	add("x", INPUT_FLOAT, 0, 3);
	ok(reads("a.svm", "1 | 1 0 0.5\n0 | 0 2 0\n1 | 0 0 0\n0 | 0 0 1\n"
		 "0 | 0 0 0\n"));

	in[0].zero_based = true;
	files_text("zero.svm", "1 0:1 2:.5\n0 1:2e0 # odd\n0 0:1e0 1:2\n");
	ok(reads("zero.svm", "1 | 1 0 0.5\n0 | 0 2 0\n0 | 1 2 0\n"));
	forget();
	add("x", INPUT_SPARSE, 3, 1);
	in[0].zero_based = true;
	ok(reads("zero.svm", "1 | 0:1 2:0.5\n0 | 1:2\n0 | 0:1 1:2\n"));

	/* Weights that are all one are not kept. */
	files_text("one.svm", "0 1:1 2:1\n1 3:1\n");
	forget();
	add("x", INPUT_SPARSE, 3, 1);
	ok(reads("one.svm", "0 | 0 1\n1 | 2\n"));

	const struct reader_options o = { .unlabelled = true };

	files_text("bare.svm", "1:1 2:1\n7 3:1\nno 1:1 3:1\n\n");
	ok(reads_with("bare.svm", &o, " | 0 1\n | 2\n | 0 2\n | \n"));
	label.binary = false;
	files_text("y.svm", "-2.5 1:1\n1e3 2:1");
	ok(reads("y.svm", "-2.5 | 0\n1000 | 1\n"));
	label.kind = INPUT_ID;
	label.rows = 3;
	files_text("class.svm", "+2 1:1\n0 2:1\n1.0 3:1");
	ok(reads("class.svm", "2 | 0\n0 | 1\n1 | 2\n"));
	label.kind = INPUT_FLOAT;
	forget();
}

static void
test_csv(void)
{
	files_text("a.csv", "\xef\xbb\xbfy,b,\"a\"\"\nx\",c\r\n"
		   "1, 2 ,\"3\",\"4\"\r\n\r\n0,5,\"6\"\"\n,\",7");
	add("b", INPUT_FLOAT, 0, 1);
	ok(reads("a.csv", "1 | 2\n0 | 5\n"));

	char name[] = "a\"\nx";
	char *one[] = { name };

	in[0].columns = one;
	in[0].column_count = 1;
	in[0].kind = INPUT_STRING;
	in[0].lookup = lookup_hashing(1000000007);

	char expected[99];

	snprintf(expected, sizeof(expected), "1 | %llu\n0 | %llu\n",
		 (unsigned long long)lookup_find(in[0].lookup, "3", 1),
		 (unsigned long long)lookup_find(in[0].lookup, "6\"\n,", 4));
	ok(reads("a.csv", expected));
	lookup_free(in[0].lookup);
	forget();
}

static void
test_columns(void)
{
	char p1[] = "x*", p2[] = "w[0-9]", p3[] = "*";
	char *patterns[] = { p2, p1 }, *all[] = { p3 };
	struct input *x = add("x", INPUT_FLOAT, 0, 4);

	files_text("b.csv", "x1,w2,y,x2,w1\n1,2,1,4,5\n6,7,0,9,10\n");
	x->columns = patterns;
	x->column_count = 2;
	ok(reads("b.csv", "1 | 5 2 1 4\n0 | 10 7 6 9\n"));

	/* The order of the columns in a file, and other ones between them,
	   change nothing. */
	files_text("d.csv", "y,w2,x1,z,x2,w1\n1,2,1,0,4,5\n");
	ok(reads("b.csv,d.csv", "1 | 5 2 1 4\n0 | 10 7 6 9\n1 | 5 2 1 4\n"));
	files_text("d.csv", "w1,x2,w2,x1,y\n5,4,2,1,1\n");
	ok(reads("d.csv,b.csv", "1 | 5 2 1 4\n1 | 5 2 1 4\n0 | 10 7 6 9\n"));

	/* Other columns that match are refused if they shift places. */
	files_text("e.csv", "x1,x2,w2,w3,y\n1,4,2,5,1\n");
	ok(reads("e.csv", "1 | 2 5 1 4\n"));
	ok(reads("b.csv,e.csv", "65 e.csv:1: x (model.ps:1): column w2 is "
		 "number 1 of the columns that feed it, but was number 2 in "
		 "an earlier file; all files must have the same columns that "
		 "match columns="));

	/* A list of names is its own order; a column is taken once. */
	char x2[] = "x2", x1[] = "x1";
	char *names[] = { x2, x1, p2 }, *some[] = { x2, p3 };

	x->columns = names;
	x->column_count = 3;
	ok(reads("b.csv,d.csv", "1 | 4 1 5 2\n0 | 9 6 10 7\n1 | 4 1 5 2\n"));
	x->columns = some;
	x->column_count = 2;
	ok(reads("b.csv,d.csv", "1 | 4 5 2 1\n0 | 9 10 7 6\n1 | 4 5 2 1\n"));

	/* Numbers in names are compared by value. */
	files_text("n.csv", "x10,x9,y,x2,x02\n10,9,1,2,0.2\n");
	x->columns = &patterns[1];
	x->column_count = 1;
	ok(reads("n.csv", "1 | 0.2 2 9 10\n"));

	/* Columns with one name keep their order. */
	files_text("n.csv", "x2,x1,y,x2,x1\n1,2,1,3,4\n");
	ok(reads("n.csv", "1 | 2 4 1 3\n"));

	/* The label is not taken for an input, even if it is not read. */
	const struct reader_options blind = { .unlabelled = true };

	x->columns = all;
	x->column_count = 1;
	ok(reads("b.csv", "1 | 5 2 1 4\n0 | 10 7 6 9\n"));
	ok(reads_with("b.csv", &blind, " | 5 2 1 4\n | 10 7 6 9\n"));
	files_text("c.csv", "x1,w2,x2,w1\n1,2,4,5\n");
	ok(reads_with("c.csv", &blind, " | 5 2 1 4\n"));

	/* Nor is the sample_weight, which is then 1. */
	add("u", INPUT_FLOAT, 0, 1)->weighs = true;
	files_text("u.csv", "x1,u,w2,y,x2,w1\n1,8,2,1,4,5\n6,.5,7,0,9,10\n");
	ok(reads("u.csv", "1 | 5 2 1 4 | 8\n0 | 10 7 6 9 | 0.5\n"));
	ok(reads_with("u.csv", &blind, " | 5 2 1 4 | 1\n | 10 7 6 9 | 1\n"));
	ok(reads_with("c.csv", &blind, " | 5 2 1 4 | 1\n"));
	files_text("u.csv", "x1,u,w2,y,x2,w1\n1,none,2,1,4,\"5\"\n");
	ok(reads_with("u.csv", &blind, " | 5 2 1 4 | 1\n"));
	free(in[--inputs].name);

	const struct reader_options bare = { .no_header = true };
	char three[] = "3", two[] = "[12]";
	char *last[] = { three }, *first[] = { two };

	x->columns = first;
	x->shape.dim[0] = 2;
	label.columns = last;
	label.column_count = 1;
	files_text("bare.csv", "1,2,1\n3,4,0\n");
	ok(reads_with("bare.csv", &bare, "1 | 1 2\n0 | 3 4\n"));
	label.column_count = 0;
	forget();
}

static void
test_cut(void)
{
	char tags[] = "tags", fixed[] = "fixed", pairs[] = "pairs";
	char *column[] = { tags, fixed, pairs };
	struct input *bag = add("bag", INPUT_ID, 10, 1);
	struct input *pair = add("pair", INPUT_FLOAT, 0, 2);
	struct input *sparse = add("sparse", INPUT_SPARSE, 100, 1);

	bag->ragged = true;
	bag->separator = '|';
	pair->separator = ';';
	sparse->separator = ' ';
	for (size_t i = 0; i < 3; i++) {
		in[i].columns = &column[i];
		in[i].column_count = 1;
	}
	files_text("c.tsv", "y\ttags\tfixed\tpairs\n"
		   "1\t1|2|3\t.5;1\t 7:2  3\n0\t\t1;\"\t\n");
	ok(reads("c.tsv", "65 c.tsv:3: fixed: '\"' is not a finite number"));
	files_text("c.tsv", "y\ttags\tfixed\tpairs\n"
		   "1\t1|2|3\t.5;1\t 7:2  3\n0\t\t1;-1\t\n1\t9\t0;0\t5:.5");
	ok(reads("c.tsv", "1 | 1 2 3 | 0.5 1 | 7:2 3:1\n"
		 "0 |  | 1 -1 | \n1 | 9 | 0 0 | 5:0.5\n"));

	/* One column may feed several inputs. */
	column[1] = tags;
	pair->separator = '|';
	files_text("c.tsv", "y\ttags\tpairs\n1\t1|2\t\n");
	ok(reads("c.tsv", "1 | 1 2 | 1 2 | \n"));
	forget();
}

/* Hashed inputs take any whole numbers of 64 bits, and 0 is 0. */
static void
test_any_ids(void)
{
	struct input *x = add("x", INPUT_ID, 0, 1);

	x->hashed = true;
	files_text("any.csv", "y,x\n0,18446744073709551615\n"
		   "1,-9223372036854775808\n2, -1 \n3,-0\n4,+7\n");
	ok(reads("any.csv", "0 | 18446744073709551615\n"
		 "1 | 9223372036854775808\n2 | 18446744073709551615\n"
		 "3 | 0\n4 | 7\n"));

	x->kind = INPUT_SPARSE;
	x->separator = ';';
	files_text("any.csv", "y,x\n0,-1:2;18446744073709551614\n"
		   "1, 1:2; 3 : 4 ; 5\n2,\n");
	ok(reads("any.csv", "0 | 18446744073709551615:2 "
		 "18446744073709551614:1\n1 | 1:2 3:4 5:1\n2 | \n"));
	x->hashed = false;
	x->rows = 6;
	ok(reads("any.csv", "65 any.csv:2: x: -1 is out of range, 0 to 5"));
	forget();
}

static void
test_words(void)
{
	char no[] = "no", yes[] = "yes", empty[] = "";
	char *answers[] = { no, yes }, *words[] = { empty, yes };
	struct input *x = add("x", INPUT_STRING, 3, 1);

	x->lookup = lookup_vocabulary(words, 2, 1, NULL, &examples_fail);
	label.kind = INPUT_STRING;
	label.rows = 2;
	label.lookup = lookup_vocabulary(answers, 2, 0, NULL, &examples_fail);
	files_text("w.csv", "x,y\nyes,no\n,yes\nwhat,no\n");
	ok(reads("w.csv", "0 | 2\n1 | 1\n0 | 0\n"));
	files_text("w.csv", "x,y\nyes,no\n,maybe\n");
	ok(reads("w.csv", "65 w.csv:3: y: 'maybe' is not in the vocabulary"));
	lookup_free(x->lookup);
	lookup_free(label.lookup);
	label.kind = INPUT_FLOAT;
	forget();
}

/*
 * In a file without labels an empty line is an example without features, at the
 * front, between others and at the end; in a file with labels it is no example.
 */
static void
test_empty_lines(void)
{
	const struct reader_options o = { .unlabelled = true };
	static const struct {
		const char *text, *sparse, *dense;
	} files[] = {
		{ "1:1\n\n2:1\n", " | 0\n | \n | 1\n",
		  " | 1 0\n | 0 0\n | 0 1\n" },
		{ "\n \t\n1:1\n", " | \n | \n | 0\n",
		  " | 0 0\n | 0 0\n | 1 0\n" },
		{ "1:1\r\n\r\n", " | 0\n | \n", " | 1 0\n | 0 0\n" },
		{ "# no example\n1:1 # one\n# nor this\n\n#\n",
		  " | 0\n | \n", " | 1 0\n | 0 0\n" },
		{ "qid:1 1:1\n\n", " | 0\n | \n", " | 1 0\n | 0 0\n" },
		{ "\n\n", " | \n | \n", " | 0 0\n | 0 0\n" },
		{ "1:1\n\n2:1", " | 0\n | \n | 1\n",
		  " | 1 0\n | 0 0\n | 0 1\n" },
		{ "\n+1 1:1\n\n-1\n\n", " | 0\n | \n",
		  " | 1 0\n | 0 0\n" },
		{ "0 1:1\n\n7\n", " | 0\n | \n", " | 1 0\n | 0 0\n" },
	};

	for (int dense = 0; dense < 2; dense++) {
		if (dense)
			add("x", INPUT_FLOAT, 0, 2);
		else
			add("x", INPUT_SPARSE, 2, 1);
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			files_text("e.svm", files[i].text);
			named(reads_with("e.svm", &o, dense ? files[i].dense :
					 files[i].sparse),
			      "an empty line is an example without features, "
			      "or none");
		}
		forget();
	}
}

static void
test_idx(void)
{
	static const char images[] =
		"\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3" "\1\2\3\xff\0\7";
	static const char labels[] = "\0\0\x08\1\0\0\0\2" "\5\1";
	static const char shorts[] =
		"\0\0\x0b\2\0\0\0\2\0\0\0\3" "\1\0\xff\xff\0\3"
		"\0\0\0\1\0\0";
	const struct reader_options blind = { .unlabelled = true };

	files_put("i-idx3-ubyte", images, sizeof(images) - 1);
	files_packed("l-idx1.gz", "gzip", labels, sizeof(labels) - 1);
	files_put("s.idx", shorts, sizeof(shorts) - 1);
	add("x", INPUT_FLOAT, 0, 3);
	label.kind = INPUT_ID;
	label.rows = 6;
	ok(reads("i-idx3-ubyte,l-idx1.gz", "5 | 1 2 3\n1 | 255 0 7\n"));
	ok(reads_with("s.idx,i-idx3-ubyte", &blind, " | 256 -1 3\n"
		      " | 0 1 0\n | 1 2 3\n | 255 0 7\n"));
	label.kind = INPUT_FLOAT;
	forget();
}

/* Writes the bytes that NumPy writes for an array of two dimensions, or one. */
static void
put_npy(struct text *t, const char *type, const char *shape,
	const void *numbers, size_t size)
{
	char header[128];

	memset(header, ' ', sizeof(header));
	memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
	header[10 + snprintf(header + 10, 117, "{'descr': '%s', "
			     "'fortran_order': False, 'shape': %s, }", type,
			     shape)] = ' ';
	header[127] = '\n';
	text_add_bytes(t, header, sizeof(header));
	text_add_bytes(t, numbers, size);
}

/* Writes an array of two ids, and a label for each. */
static void
put_ids(const char *type, const void *numbers, size_t size)
{
	struct text x = { 0 }, y = { 0 };

	put_npy(&x, type, "(2,)", numbers, size);
	put_npy(&y, "|u1", "(2,)", "\1", 2);
	files_put("float.npy", x.data, x.size);
	files_put("y2.npy", y.data, y.size);
	text_release(&x);
	text_release(&y);
}

/* Floats are accepted as ids if they are exact integers. */
static void
test_float_ids(void)
{
	static const char files[] = "float.npy,y2.npy";
	const double exact[] = { 16777217, 9007199254740991 };
	const double far[] = { 5, 9007199254740992 };
	const double below[] = { -5, -16777217 };
	const float single[] = { 16777215, 16777216 };
	const uint16_t half[] = { 0x67ff, 0x6800 };
	struct input *x = add("x", INPUT_ID, UINT64_MAX, 1);

	files_text("float.csv", "y,x\n0,16777215.0\n1,16777217.0\n"
		   "2,9007199254740993.\n3,-0.0\n4,1e3\n");
	ok(reads("float.csv", "0 | 16777215\n1 | 16777217\n"
		 "2 | 9007199254740993\n3 | 0\n4 | 1000\n"));
	files_text("float.csv", "y,x\n0,16777217e0\n");
	ok(reads("float.csv", "65 float.csv:2: x: 16777217e0 is too large to "
		 "be exact; ids need all their digits"));
	put_ids("<f8", exact, sizeof(exact));
	ok(reads(files, "1 | 16777217\n0 | 9007199254740991\n"));
	put_ids("<f8", far, sizeof(far));
	ok(reads(files, "65 float.npy: record 2: 9007199254740992 is too "
		 "large to be exact; ids must be integers"));
	put_ids("<f4", single, sizeof(single));
	ok(reads(files, "65 float.npy: record 2: 16777216 is too large to be "
		 "exact; ids must be integers"));
	put_ids("<f2", half, sizeof(half));
	ok(reads(files, "65 float.npy: record 2: 2048 is too large to be "
		 "exact; ids must be integers"));

	/* Negative ids are accepted for a hashed input. */
	put_ids("<f8", below, sizeof(below));
	ok(reads(files, "65 float.npy: record 1: -5 is out of range, "
		 "0 to 18446744073709551614"));
	x->hashed = true;
	ok(reads(files, "1 | 18446744073709551611\n"
		 "0 | 18446744073692774399\n"));
	files_text("float.csv", "y,x\n0,-5.0\n1,-5e0\n");
	ok(reads("float.csv", "0 | 18446744073709551611\n"
		 "1 | 18446744073709551611\n"));
	forget();
}

/* Numbers become the ids of their bins, in every format. */
static void
test_bins(void)
{
	float boundaries[] = { -1.5f, 0, 18 };
	const int64_t whole[] = { 18, -2 };
	const double far[] = { 1e10, -1.5 };
	const unsigned char y[] = { 1, 0 };
	struct text t = { 0 };
	struct input *x = add("x", INPUT_ID, 4, 1);

	x->boundaries = boundaries;
	x->boundary_count = 3;
	files_text("a.csv", "y,x\n1,-2\n0,-1.5\n1,-1e-9\n0,0\n1,17.99\n"
		   "0,18\n1, 1e30 \n0,\"-3\"\n");
	ok(reads("a.csv", "1 | 0\n0 | 1\n1 | 1\n0 | 2\n1 | 2\n0 | 3\n"
		 "1 | 3\n0 | 0\n"));
	files_text("b.csv", "y,x\n1,inf\n");
	ok(reads("b.csv", "65 b.csv:2: x: 'inf' is not a finite number"));
	put_npy(&t, "|b1", "(2,)", y, sizeof(y));
	files_put("y.npy", t.data, t.size);
	text_reset(&t);
	put_npy(&t, "<i8", "(2,)", whole, sizeof(whole));
	files_put("x.npy", t.data, t.size);
	ok(reads("x.npy,y.npy", "1 | 3\n0 | 0\n"));
	text_reset(&t);
	put_npy(&t, "<f8", "(2,)", far, sizeof(far));
	files_put("x.npy", t.data, t.size);
	ok(reads("x.npy,y.npy", "1 | 3\n0 | 1\n"));
	text_release(&t);
	forget();
}

/* Returns the hash of two crossed words. */
static uint64_t
crossed(const char *a, const char *b)
{
	const uint64_t first[] = { 0, hash64(a, strlen(a)) };
	const uint64_t second[] = { hash64(first, sizeof(first)),
				    hash64(b, strlen(b)) };

	return hash64(second, sizeof(second));
}

static void
test_crossing(void)
{
	static const char *const words[][2] = {
		{ "a", "bc" }, { "ab", "c" }, { "bc", "a" }, { "", "3" }
	};
	char *columns[] = { (char[]){ "u" }, (char[]){ "v" } };
	struct text any = { 0 }, few = { 0 };
	struct input *x = add("x", INPUT_STRING, 0, 1);
	uint64_t all[4];

	x->columns = columns;
	x->column_count = 2;
	x->crossed = x->hashed = true;
	x->lookup = lookup_hashing(UINT64_MAX);
	for (size_t i = 0; i < 4; i++) {
		all[i] = crossed(words[i][0], words[i][1]);
		text_add(&any, "1 | %llu\n", (unsigned long long)all[i]);
		text_add(&few, "1 | %llu\n", (unsigned long long)all[i] % 50);
	}
	ok(all[0] != all[1] && all[0] != all[2]);
	files_text("x.csv", "u,y,v\na,1,bc\nab,1,\"c\"\nbc,1,a\n,1,3\n");
	files_text("x.tsv", "u\ty\tv\na\t1\tbc\nab\t1\tc\nbc\t1\ta\n\t1\t3\n");
	ok(reads("x.csv", any.data) && reads("x.tsv", any.data));
	x->hashed = false;
	x->rows = 50;
	ok(reads("x.csv", few.data));
	files_text("a.csv", "u,y\na,1\n");
	ok(reads("a.csv", "65 a.csv:1: no column v for x (model.ps:1); there "
		 "are: u, y"));
	lookup_free(x->lookup);
	text_release(&any);
	text_release(&few);
	forget();
}

/* Writes an .npz without compression. */
static void
put_stored(const struct text *x, const struct text *id, const struct text *y)
{
	struct archive *a = archive_write_new();

	archive_write_set_format_zip(a);
	archive_write_set_options(a, "zip:compression=store");
	archive_write_open_filename(a, "s.npz");
	files_member(a, "y.npy", y->data, y->size);
	files_member(a, "x.npy", x->data, x->size);
	files_member(a, "id.npy", id->data, id->size);
	archive_write_free(a);
}

/* A zip has the checksums of its members, and their ends. */
static void
test_npz_sums(struct text *x, const struct text *id, const struct text *y)
{
	size_t size;
	char *bytes;

	put_stored(x, id, y);
	ok(reads("s.npz", "1 | 0 | 1 0.5\n0 | 20000001 | -2 3\n"
		 "1 | 7 | 4 5\n"));
	bytes = files_get("s.npz", &size);
	((char *)memmem(bytes, size, x->data, x->size))[x->size - 1] ^= 1;
	files_put("s.npz", bytes, size);
	free(bytes);
	/* The checksum follows the bytes, and is right at their end. */
	ok(reads("s.npz", "65 s.npz:x: more follows the last of 3 records"));
	text_add_bytes(x, "more", 4);
	put_stored(x, id, y);
	ok(reads("s.npz", "65 s.npz:x: more follows the last of 3 records"));
	x->size -= 4;
}

static void
test_npy(void)
{
	const float x[] = { 1, .5, -2, 3, 4, 5 };
	const int64_t id[] = { 0, 20000001, 7 };
	const uint64_t large[] = { UINT64_MAX, (uint64_t)1 << 63, 7 };
	const unsigned char y[] = { 1, 0, 1 };
	struct text tx = { 0 }, tid = { 0 }, ty = { 0 }, tlarge = { 0 };
	struct archive *a;

	put_npy(&tx, "<f4", "(3, 2)", x, sizeof(x));
	put_npy(&tid, "<i8", "(3,)", id, sizeof(id));
	put_npy(&ty, "|b1", "(3,)", y, sizeof(y));
	files_put("x.npy", tx.data, tx.size);
	files_put("id.npy", tid.data, tid.size);
	files_put("y.npy", ty.data, ty.size);
	add("x", INPUT_FLOAT, 0, 2);
	ok(reads("x.npy,y.npy", "1 | 1 0.5\n0 | -2 3\n1 | 4 5\n"));
	forget();
	add("id", INPUT_ID, 20000002, 1);
	ok(reads("id.npy,y.npy", "1 | 0\n0 | 20000001\n1 | 7\n"));
	put_npy(&tlarge, "<u8", "(3,)", large, sizeof(large));
	files_put("large.npy", tlarge.data, tlarge.size);
	ok(reads("large.npy,y.npy", "65 large.npy: record 1: "
		 "18446744073709551615 is out of range, 0 to 20000001"));
	in[0].hashed = true;
	ok(reads("large.npy,y.npy", "1 | 18446744073709551615\n"
		 "0 | 9223372036854775808\n1 | 7\n"));
	in[0].hashed = false;

	a = archive_write_new();
	archive_write_set_format_zip(a);
	archive_write_open_filename(a, "a.npz");
	files_member(a, "y.npy", ty.data, ty.size);
	files_member(a, "other.npy", "who cares", 9);
	files_member(a, "x.npy", tx.data, tx.size);
	files_member(a, "id.npy", tid.data, tid.size);
	archive_write_free(a);
	add("x", INPUT_FLOAT, 0, 2);
	ok(reads("a.npz", "1 | 0 | 1 0.5\n0 | 20000001 | -2 3\n"
		 "1 | 7 | 4 5\n"));

	struct reader_options o = { .format = "npz" };

	ok(reads_with("pipe:cat a.npz", &o, "77 pipe:cat a.npz: a command is "
		      "taken from the command line only"));
	o.commands = &(struct commands){ 0 };
	ok(reads_with("pipe:cat a.npz", &o, "1 | 0 | 1 0.5\n"
		      "0 | 20000001 | -2 3\n1 | 7 | 4 5\n"));
	ok(reads_with("pipe:cat a.npz; exit 3", &o, "74 pipe:cat a.npz; "
		      "exit 3: the command ended with status 3"));
	test_npz_sums(&tx, &tid, &ty);

	/* A sample_weight may be missing when labels are not read. */
	const struct reader_options blind = { .unlabelled = true };

	add("weight", INPUT_FLOAT, 0, 1)->weighs = true;
	ok(reads("a.npz", "65 a.npz: no array weight (model.ps:1) in it; "
		 "there are: y, other, x, id"));
	ok(reads_with("a.npz", &blind, " | 0 | 1 0.5 | 1\n"
		      " | 20000001 | -2 3 | 1\n | 7 | 4 5 | 1\n"));
	text_release(&tx);
	text_release(&tid);
	text_release(&ty);
	text_release(&tlarge);
	forget();
}

/* Writes records 0 to count - 1 to several files; each record is its own
   label. */
static void
put_records(size_t count)
{
	struct text t = { 0 };
	char name[] = "r0.svm.gz";

	for (size_t i = 0; i < count; i++) {
		text_add(&t, "%zu 1:%zu\n", i, i + 2);
		if (i % 10 < 9 && i + 1 < count)
			continue;
		files_packed(name, "gzip", t.data, t.size);
		name[1]++;
		text_reset(&t);
	}
	text_release(&t);
}

#define FILES	"r0.svm.gz,r1.svm.gz,r2.svm.gz"
#define RECORDS	25

/* Reads count examples; counts each record in seen, and writes their order to
   order. */
static bool
tally(const struct reader_options *o, size_t size, size_t count,
      size_t seen[RECORDS], size_t order[])
{
	char *got = examples_read(FILES, o, in, inputs, &label, size,
				  count / size);
	char *p = got;
	size_t n = 0;

	memset(seen, 0, RECORDS * sizeof(*seen));
	for (; n < count && *p; n++) {
		order[n] = strtoull(p, &p, 10);
		if (order[n] >= RECORDS || strncmp(p, " | 0:", 5) != 0 ||
		    strtoull(p + 5, &p, 10) != order[n] + 2)
			break;
		seen[order[n]]++;
		p += *p == '\n';
	}
	if (n < count)
		printf("# %zu: %.80s\n", n, p);
	free(got);
	return n == count;
}

static bool
each(const size_t seen[RECORDS], size_t times)
{
	for (size_t i = 0; i < RECORDS; i++)
		if (seen[i] != times)
			return false;
	return true;
}

static void
test_passes(void)
{
	size_t seen[RECORDS], order[200], again[200];
	struct reader_options o = { .repeat = true };

	put_records(RECORDS);
	add("x", INPUT_SPARSE, 1, 1);
	ok(tally(&plain, 5, 25, seen, order) && each(seen, 1));
	ok(tally(&o, 10, 50, seen, order) && each(seen, 2) &&
	   order[24] == 24 && order[25] == 0);

	/* When shuffled, each pass is another permutation. */
	o.shuffle = 7;
	ok(tally(&o, 25, 100, seen, order) && each(seen, 4));
	ok(memcmp(order, order + 25, 25 * sizeof(*order)) != 0);
	ok(tally(&o, 4, 100, seen, again) &&
	   memcmp(order, again, 100 * sizeof(*order)) == 0);
	o.seed = 1;
	ok(tally(&o, 4, 100, seen, again) && each(seen, 4) &&
	   memcmp(order, again, 100 * sizeof(*order)) != 0);
	o.shuffle = 1000000;
	ok(tally(&o, 25, 50, seen, order) && each(seen, 2));
	o.shuffle = 1;
	ok(tally(&o, 25, 25, seen, order) && order[0] == 0 &&
	   order[24] == 24);
}

static void
test_shards(void)
{
	size_t seen[RECORDS], order[200], sum[RECORDS] = { 0 }, right = 0;
	struct reader_options o = { .shards = 4, .repeat = true };

	for (o.shard = 0; o.shard < 4; o.shard++) {
		const size_t count = o.shard == 0 ? 7 : 6;

		o.shuffle = o.shard;	/* shards first, then shuffling */
		right += tally(&o, 1, 2 * count, seen, order);
		for (size_t i = 0; i < RECORDS; i++) {
			sum[i] += seen[i];
			right += seen[i] == (i % 4 == o.shard ? 2 : 0);
		}
	}
	ok(right == 4 + 4 * RECORDS && each(sum, 2));

	o = (struct reader_options){ .shard = 30, .shards = 40 };
	ok(reads_with(FILES, &o, ""));
	o.repeat = true;
	ok(reads_with(FILES, &o,
		      "66 shard 30 of 40 is empty: there are 25 records"));
	forget();
}

/* Does the file give the ids 1, 2 and 8 in each of this many passes? */
static bool
rounds(char *file, const struct reader_options *o, int times)
{
	struct fail why;
	struct reader *r = reader_open(&file, 1, o, in, 1, &label, &why);
	struct batch b;
	bool good = r != NULL;

	batch_begin(&b, in, 1, &label);
	for (int i = 0; i < times && good; i++)
		good = reader_next(r, 3, &b, &why) == 1 && b.examples == 3 &&
			feature_id(&b.feature[0], 0) == 1 &&
			feature_id(&b.feature[0], 1) == 2 &&
			feature_id(&b.feature[0], 2) == 8;
	batch_release(&b);
	reader_close(r);
	return good;
}

/* A bad record leaves no values in the records after it. */
static void
test_max_bad(void)
{
	static const char images[] =
		"\0\0\x08\2\0\0\0\3\0\0\0\2" "\1\2" "\3\4" "\5\6";
	static const char labels[] = "\0\0\x08\1\0\0\0\3" "\5\7\1";
	char tags[] = "tags", fixed[] = "fixed", pairs[] = "pairs";
	char *column[] = { tags, fixed, pairs };
	struct reader_options o = { .max_bad = 3 };
	char bad[] = "bad.svm";
	struct fail why;

	log_begin("reader", LOG_QUIET, NULL, &why);	/* it is meant */

	/* More was read of the bad record than the next record has. */
	files_text("bad.svm", "1 2:1\n1 4294967299:2 4294967300:3 8:1\n"
		   "x 1:1\n0 3:1\n\n1 1:1 2:x\n1 9:1\n");
	add("x", INPUT_SPARSE, 0, 1)->hashed = true;
	label.binary = true;
	ok(reads_with("bad.svm", &o, "1 | 1\n0 | 2\n1 | 8\n"));
	o.shuffle = 1;
	ok(reads_with("bad.svm", &o, "1 | 1\n0 | 2\n1 | 8\n"));
	o.shuffle = 0;
	o.shards = 2;		/* bad ones count: they keep their numbers */
	ok(reads_with("bad.svm", &o, "1 | 1\n"));
	o.shard = 1;
	ok(reads_with("bad.svm", &o, "0 | 2\n1 | 8\n"));
	o.shards = 0;
	o.max_bad = 2;
	ok(reads_with("bad.svm", &o, "65 bad.svm:6: '2:x' is not id:number, "
		      "and 2 before it were malformed, too"));
	/* Bad records are counted in each pass. */
	o.max_bad = 3;
	o.repeat = true;
	ok(rounds(bad, &o, 4));
	files_text("none.svm", "x 1:1\nx 1:1\n");
	ok(reads_with("none.svm", &o, "65 no record is good: 2 are "
		      "malformed"));
	o.repeat = false;
	ok(reads_with("none.svm", &o, ""));
	/* An error of a file, and not of a record, is never skipped. */
	ok(reads_with("gone.svm", &o, "66 gone.svm: No such file or "
		      "directory"));
	forget();

	struct input *bag = add("bag", INPUT_ID, 10, 1);

	add("pair", INPUT_FLOAT, 0, 2)->separator = ';';
	add("sparse", INPUT_SPARSE, 100, 1)->separator = ' ';
	bag->ragged = true;
	bag->separator = '|';
	for (size_t i = 0; i < 3; i++) {
		in[i].columns = &column[i];
		in[i].column_count = 1;
	}
	files_text("c.csv", "y,tags,fixed,pairs\n1,1|2|3,.5;1,7:2 3\n"
		   "1,4|5|6|7,9;9,8:2 99:x\n0,1|2\n2,1,1;1,1\n"
		   "0,,1;-1,\n1,9,0;0,5:.5\n");
	ok(reads_with("c.csv", &o, "1 | 1 2 3 | 0.5 1 | 7:2 3:1\n"
		      "0 |  | 1 -1 | \n1 | 9 | 0 0 | 5:0.5\n"));
	files_text("c.csv", "y,tags,fixed,pairs\n1,1,1;1,1\n"
		   "1,\"1\"x,1;1,1\n0,2,2;2,2\n1,3,\"1");
	ok(reads_with("c.csv", &o, "65 c.csv:5: quotes are not closed"));
	forget();

	files_put("bad-idx2-ubyte", images, sizeof(images) - 1);
	files_put("bad-idx1-ubyte", labels, sizeof(labels) - 1);
	add("x", INPUT_FLOAT, 0, 2);
	label.binary = false;
	label.kind = INPUT_ID;
	label.rows = 6;
	ok(reads_with("bad-idx2-ubyte,bad-idx1-ubyte", &o,
		      "5 | 1 2\n1 | 5 6\n"));
	label.kind = INPUT_FLOAT;
	forget();
}

static void
test_formats(void)
{
	static const char *const names[][2] = {
		{ "a.csv", "csv" }, { "d.npy/a.tsv.gz", "tsv" },
		{ "t10k-images-idx3-ubyte.gz", "idx" }, { "x.npy", "npy" },
		{ "x.npz", "npz" }, { "a.svm.bz2", "svmlight" },
		{ "idx/a9a", "svmlight" }, { "-", "svmlight" },
		{ "pipe:cat a.csv", "svmlight" }, { ".csv", "svmlight" },
		{ "DATA.CSV", "csv" }, { "A.NPZ", "npz" },
		{ "T.TSV.GZ", "tsv" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		named_for(strcmp(format_of(names[i][0])->name, names[i][1]) ==
			  0, "'%s' is read as %s", names[i][0], names[i][1]);
	ok(reader_format("tsv") && !reader_format("parquet"));
}

/* The message about labels of three classes. */
#define THREE	": -1, 0 and 1 are three classes, and binary is 0 and 1, or " \
		"-1 and 1"

/*
 * Labels of -1, 0 and 1 are those of three classes, in any format, in one file
 * or two, in one pass or the next; records that are skipped do not count.
 */
static void
test_three_classes(void)
{
	static const char numbers[] = "\0\0\x08\1\0\0\0\3" "\1\2\3";
	static const char labels[] = "\0\0\x09\1\0\0\0\3" "\1\xff\0";
	const struct reader_options again = { .repeat = true };
	const struct reader_options mixed = { .shuffle = 3 };
	const struct reader_options half = { .shard = 1, .shards = 2 };
	const struct reader_options some = { .max_bad = 1 };
	const float x[] = { 1, 2, 3 }, y[] = { 0, 1, -1 };
	struct text tx = { 0 }, ty = { 0 };
	struct archive *a;

	label.binary = true;
	add("x", INPUT_FLOAT, 0, 1);
	files_text("t.svm", "-1 1:1\n0 1:2\n1 1:3\n");
	ok(reads("t.svm", "65 t.svm:2: label: 0, where others are -1" THREE));
	ok(reads_with("t.svm", &mixed, "65 t.svm:2: label: 0, where others "
		      "are -1" THREE));
	ok(reads_with("t.svm", &half, "0 | 2\n"));
	ok(reads_with("t.svm", &some, "0 | 1\n1 | 3\n"));
	files_text("t.csv", "y,x\n0,1\n1,2\n-1.0,3\n");
	ok(reads("t.csv", "65 t.csv:4: y: -1.0, where others are 0" THREE));
	files_text("t.tsv", "y\tx\n0\t1\n-1\t3\n");
	ok(reads("t.tsv", "65 t.tsv:3: y: -1, where others are 0" THREE));
	files_put("x-idx1", numbers, sizeof(numbers) - 1);
	files_put("y-idx1", labels, sizeof(labels) - 1);
	ok(reads("x-idx1,y-idx1", "65 y-idx1: record 3: 0, where others are "
		 "-1" THREE));
	put_npy(&tx, "<f4", "(3,)", x, sizeof(x));
	put_npy(&ty, "<f4", "(3,)", y, sizeof(y));
	files_put("x.npy", tx.data, tx.size);
	files_put("y.npy", ty.data, ty.size);
	ok(reads("x.npy,y.npy", "65 y.npy: record 3: -1, where others are 0"
		 THREE));
	put_stored(&tx, &tx, &ty);
	ok(reads("s.npz", "65 s.npz:y: record 3: -1, where others are 0"
		 THREE));
	a = archive_write_new();
	archive_write_set_format_pax_restricted(a);
	archive_write_open_filename(a, "t.tar");
	files_member(a, "1.x", "1", 1);
	files_member(a, "1.y", "-1", 2);
	files_member(a, "2.x", "2", 1);
	files_member(a, "2.y", "0", 1);
	archive_write_free(a);
	ok(reads("t.tar", "65 t.tar: record 2 (2): y: 0, where others are -1"
		 THREE));

	/* Each file alone would be valid. */
	files_text("zero.svm", "0 1:1\n1 1:2\n");
	files_text("minus.svm", "+1 1:3\n-1 1:4\n");
	ok(reads("zero.svm", "0 | 1\n1 | 2\n"));
	ok(reads("minus.svm", "1 | 3\n0 | 4\n"));
	ok(reads("zero.svm,minus.svm", "65 minus.svm:2: label: -1, where "
		 "others are 0" THREE));
	ok(reads_with("zero.svm,minus.svm", &again, "65 minus.svm:2: label: "
		      "-1, where others are 0" THREE));
	label.binary = false;
	text_release(&tx);
	text_release(&ty);
	forget();
}

static void
test_a9a(void)
{
	const char *src = getenv("SRC");
	struct fail *f = &examples_fail;
	char name[4096];
	char *files[] = { name };

	snprintf(name, sizeof(name), "%s/../shared/data/a9a.svm",
		 src ? src : ".");
	if (access(name, R_OK) != 0) {
		printf("ok %d # SKIP no %s\n", ++tap_count, name);
		return;
	}
	add("x", INPUT_SPARSE, 123, 1);
	label.binary = true;

	struct reader *r = reader_open(files, 1, &plain, in, 1, &label, f);
	struct batch b;
	size_t rows = 0, features = 0, positive = 0;

	batch_begin(&b, in, 1, &label);
	while (reader_next(r, 1000, &b, f) > 0) {
		rows += b.examples;
		features += b.feature[0].offset[b.examples];
		for (size_t i = 0; i < b.examples; i++)
			positive += b.label.value[i] > 0;
	}
	ok(rows == 32561 && reader_records(r) == 32561 &&
	   features == 451592 && positive == 7841 && !b.feature[0].weight);
	batch_release(&b);
	reader_close(r);
	label.binary = false;
	forget();
}

int
main(void)
{
	label = examples_input("y", INPUT_FLOAT, 0, 1);
	files_begin();
	test_svmlight();
	test_csv();
	test_columns();
	test_cut();
	test_any_ids();
	test_words();
	test_empty_lines();
	test_idx();
	test_bins();
	test_crossing();
	test_npy();
	test_float_ids();
	test_passes();
	test_shards();
	test_max_bad();
	test_formats();
	test_three_classes();
	test_a9a();
	files_end();
	free(label.name);
	return tap_done();
}
