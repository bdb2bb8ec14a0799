/*
 * Sizes in a text or a file are checked before memory is taken, and time grows
 * only with the bytes that are read.  Each case is read by a process of its
 * own, whose memory and time are checked at its end.
 */
#include "data/reader.h"
#include "model/compute.h"
#include "model/definitions.h"
#include "wire/plan.h"

#include "examples.h"
#include "files.h"
#include "tap.h"

#include <sys/resource.h>
#include <sys/wait.h>

/* The limits are generous: the faults that these tests found took gigabytes and
   minutes. */
#ifdef PS_DEV
#define SECONDS		60
#define MIB		1200	/* what was freed is kept for a while */
#else
#define SECONDS		20
#define MIB		300
#endif

static struct text text;
static struct fail why;

static void
line(const char *format, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_add(&text, format, i, i, i);
}

#define END	"p = dense z units=1\nloss mean_squared_error p\n"
#define BEGIN	"input x float\nlabel y float\nz = dense x units=1\n"

/* ---- models ---- */

/* Parses a model and computes a batch of one example, or the model is
   refused. */
static bool
takes_model(void)
{
	struct model_file file = { (char *)(uintptr_t)"m.ps", text.data,
				   text.size };
	const struct model_source source = { .file = &file, .count = 1 };
	struct model *m = model_parse(&source, &why);
	struct compute *c;
	struct batch b;
	size_t inputs;
	const struct input *in;

	if (!m)
		return false;
	c = compute_new(m, NULL);
	in = model_inputs(m, &inputs);
	batch_begin(&b, in, inputs, model_label(m));
	for (size_t i = 0; i < inputs; i++)
		if (in[i].kind == INPUT_FLOAT)
			feature_add_value(&b.feature[i], 0, 1);
		else
			feature_add_id(&b.feature[i], 0, 0);
	feature_add_value(&b.label, 0, 1);
	b.examples = 1;
	compute_begin(c, &b);
	compute_train(c, 1, NULL);
	batch_release(&b);
	compute_free(c);
	model_free(m);
	return true;
}

static bool
many_operands(void)
{
	text_add(&text, BEGIN "s = add ");
	line("z ", 400000);
	text_add(&text, "\nloss mean_squared_error s\n");
	return takes_model();
}

static bool
many_quotes(void)
{
	text_add(&text, BEGIN "s = add ");
	line("\"z\" ", 200000);
	text_add(&text, "\nloss mean_squared_error s\n");
	return takes_model();
}

/* A message or a checkpoint may hold a text that no file of a model can
   have. */
static bool
a_long_text(void)
{
	text_add(&text, BEGIN "s = add ");
	line("z ", MODEL_BYTES / 2);
	text_add(&text, "\nloss mean_squared_error s\n");
	return !takes_model() &&
		strcmp(why.text, "m.ps is larger than 1048576 bytes") == 0;
}

static bool
many_settings(void)
{
	text_add(&text, BEGIN "s = dense z units=1 ");
	line("a%zu=1 ", 100000);
	return !takes_model() && strstr(why.text, "at most 100 settings");
}

static bool
many_names(void)
{
	text_add(&text, "label y float\ninput x float\nz = dense x units=1\n");
	line("variable v%zu [2]\n", 9990);
	text_add(&text, "loss mean_squared_error z\n");
	return takes_model();
}

static bool
many_tables(void)
{
	text_add(&text, "label y float\n");
	line("input i%zu id rows=3\n", 4900);
	line("e%zu = embedding i%zu dim=1\n", 4900);
	text_add(&text, "z = concat");
	line(" e%zu", 4900);
	text_add(&text, "\n" END);
	return takes_model();
}

static bool
one_table(void)
{
	text_add(&text, "label y float\ninput j id rows=3\n"
		 "f = embedding j dim=1\n");
	line("input i%zu id rows=3\n", 4900);
	line("e%zu = embedding i%zu share=f\n", 4900);
	text_add(&text, "z = concat f");
	line(" e%zu", 4900);
	text_add(&text, "\n" END);
	return takes_model();
}

static bool
one_vocabulary(void)
{
	text_add(&text, "label y float\n");
	line("input i%zu string num_oov_indices=1 vocab=a,b,c\n", 4900);
	text_add(&text, "f = embedding i0 dim=1\n");
	line("e%zu = embedding i%zu share=f\n", 4900);
	text_add(&text, "z = concat f");
	line(" e%zu", 4900);
	text_add(&text, "\n" END);
	return takes_model();
}

static bool
many_optimizers(void)
{
	text_add(&text, BEGIN);
	line("variable v%zu [2]\n", 4900);
	text_add(&text, "loss mean_squared_error z\n");
	line("optimizer sgd for=v%zu\n", 2450);
	line("mode async for=v%zu*\n", 10);
	return takes_model();
}

static bool
a_long_chain(void)
{
	text_add(&text, BEGIN "n0 = flatten z\n");
	for (size_t i = 1; i < 9980; i++)
		text_add(&text, "n%zu = %s n%zu\n", i, i % 2 ? "flatten" :
			 "relu", i - 1);
	text_add(&text, "loss mean_squared_error n9979\n");
	return takes_model();
}

/* Many lines name the same file of 4 MiB, each by another path. */
static bool
many_vocabularies(void)
{
	struct text words = { 0 };
	struct model_file file[2] = {
		{ .name = (char *)(uintptr_t)"m.ps" },
		{ .name = (char *)(uintptr_t)"words" }
	};
	const struct model_source source = { .file = file, .count = 2 };
	struct model *m;

	text_add(&text, "label y float\n");
	line("input i%zu string vocab_file=words num_oov_indices=%zu\n", 5000);
	for (size_t i = 0; words.size < (size_t)1 << 22; i++)
		text_add(&words, "%064zu\n", i);
	file[0].text = text.data;
	file[0].size = text.size;
	file[1].text = words.data;
	file[1].size = words.size;
	m = model_parse(&source, &why);
	model_free(m);
	text_release(&words);
	return !m && strstr(why.text, "take more than 128 MiB");
}

/* The sizes in these lines are checked before the rest of the model. */
static bool
large_sizes(void)
{
	static const char *const lines[] = {
		"input i float[281474976710656]\n",
		"input i float[67108865]\n",
		"input i id[281474976710656] rows=2\n",
		"input i string[16777216,16777216] vocab=a\n",
		"input i float[67108864,2]\n",
		"i = dense x units=281474976710656\n",
		"i = dense x units=99999999999999999999\n",
		"i = reshape z shape=[281474976710656]\n",
		"input j id rows=281474976710656\n"
			"i = embedding j dim=1048576\n",
		"input j id rows=281474976710656\n"
			"i = category_encoding j\n",
		"variable i [281474976710656,2]\n",
		"input w float[1024,1024]\n"
			"i = conv1d w filters=9999999 kernel_size=3\n",
	};
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		text_reset(&text);
		text_add(&text, BEGIN "%sloss mean_squared_error z\n",
			 lines[i]);
		if (!takes_model())
			continue;
		printf("# taken: %s", lines[i]);
		wrong++;
	}
	return wrong == 0;
}

/* ---- plans ---- */

/* A stranger may send a plan of many pieces for a small model. */
static bool
many_pieces(void)
{
	struct model_file file = { .name = (char *)(uintptr_t)"m.ps" };
	const struct model_source source = { .file = &file, .count = 1 };
	const uint32_t count = 16000000;
	struct pack out = { 0 };
	struct plan p = { 0 };
	struct model *m;
	bool bad;

	text_add(&text, BEGIN "variable v [17000000]\n"
		 "loss mean_squared_error z\n");
	file.text = text.data;
	file.size = text.size;
	m = model_parse(&source, &why);
	pack_array(&out, 3);
	pack_array(&out, 1);
	pack_text(&out, "tcp://127.0.0.1:1");
	pack_array(&out, count);
	for (uint32_t i = 0; i < count; i++) {
		pack_array(&out, 3);
		pack_uint(&out, 0);
		pack_uint(&out, i % 128);
		pack_uint(&out, 1);
	}
	pack_array(&out, 1);
	bad = m && plan_read(&p, m, out.data, out.size, &why) < 0;
	pack_release(&out);
	model_free(m);
	return bad;
}

static bool
plan_fits(const char *how, size_t servers)
{
	struct model_file file = { (char *)(uintptr_t)"m.ps", text.data,
				   text.size };
	const struct model_source source = { .file = &file, .count = 1 };
	struct model *m = model_parse(&source, &why);
	struct partitioner partitioner;
	bool fits = false;

	if (m && partitioner_parse(&partitioner, how, &why) == 0)
		fits = plan_check(m, &partitioner, servers, &why) == 0;
	model_free(m);
	return fits;
}

static bool
large_plans(void)
{
	bool good;

	text_add(&text, "input x float[67108864]\nlabel y float\n"
		 "z = dense x units=4194304\n" END);
	good = !plan_fits("none", 1) &&
		strstr(why.text, "z/kernel of [67108864, 4194304] alone into");
	text_reset(&text);
	text_add(&text, "input x float\nlabel y float\nz = dense x units=1\n");
	line("variable v%zu [100000]\n", 1000);
	text_add(&text, END);
	return good && plan_fits("fixed:100", 4096) &&
		!plan_fits("fixed:65536", 1);
}

/* A plan of many shards on many servers is made in little time. */
static bool
a_plan_of_many(void)
{
	struct model_file file = { .name = (char *)(uintptr_t)"m.ps" };
	const struct model_source source = { .file = &file, .count = 1 };
	enum { SERVERS = 4096 };
	char *endpoint[SERVERS];
	const struct variable *v;
	size_t variables, places;
	struct partitioner how;
	struct plan p = { 0 };
	struct place *place;
	struct model *m;

	text_add(&text, BEGIN);
	line("variable v%zu [4096]\n", 400);
	text_add(&text, "loss mean_squared_error z\n");
	file.text = text.data;
	file.size = text.size;
	m = model_parse(&source, &why);
	for (size_t i = 0; i < SERVERS; i++)
		endpoint[i] = (char *)(uintptr_t)"tcp://127.0.0.1:1";
	if (!m || partitioner_parse(&how, "fixed:1024", &why) < 0)
		return false;
	v = model_variables(m, &variables);
	place = partition_plan(v, variables, &how, &placement_balanced, SERVERS,
			       &places);
	plan_make(&p, m, place, places, endpoint, SERVERS);
	free(place);

	const bool good = p.pieces > 400000;

	plan_release(&p);
	model_free(m);
	return good;
}

/* Definitions are replaced in a line that is as long as a model may be. */
static bool
a_long_line(void)
{
	const size_t limit = (size_t)1 << 20;
	struct definitions d = { 0 };
	struct text out = { 0 };
	bool good = true;

	text_add(&text, "input x id bin_boundaries=");
	while (text.size < limit - 10)
		text_add_bytes(&text, "1,", 2);
	for (size_t i = 0; good && i < 20; i++) {
		good = definitions_expand(&d, "m.ps", text.data, text.size,
					  limit, &out, &why) == 0 &&
			out.size == text.size;
		text_release(&out);
	}
	definitions_release(&d);
	return good;
}

/* ---- data ---- */

static char *
reads(const char *file, const struct input *in, size_t count)
{
	static const struct reader_options options;
	struct input label = examples_input("y", INPUT_FLOAT, 0, 1);
	char *got = examples_read(file, &options, in, count, &label, 4, 10);

	free(label.name);
	return got;
}

/* Writes a CSV file of this number of columns, f0 and on, and y. */
static void
put_columns(size_t columns)
{
	line("f%zu,", columns);
	text_add(&text, "y\n");
	for (size_t i = 0; i < columns; i++)
		text_add_bytes(&text, "1,", 2);
	text_add(&text, "0\n");
	files_text("wide.csv", text.data);
}

static bool
one_input_of_many(void)
{
	const size_t columns = 300000;
	char *pattern[] = { (char *)(uintptr_t)"f*" };
	struct input in = examples_input("x", INPUT_FLOAT, 0, columns);
	char *got;
	bool good;

	put_columns(columns);
	in.columns = pattern;
	in.column_count = 1;
	got = reads("wide.csv", &in, 1);
	good = strncmp(got, "0 | 1 1", 7) == 0;
	free(got);
	free(in.name);
	return good;
}

static bool
many_inputs(void)
{
	enum { INPUTS = 9000 };
	static struct input in[INPUTS];
	static char *pattern[INPUTS];
	char name[24];
	char *got;
	bool good;

	put_columns(200000);
	for (size_t i = 0; i < INPUTS; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		in[i] = examples_input(name, INPUT_FLOAT, 0, 1);
		if (i % 2)
			continue;
		pattern[i] = mem_text(name);
		in[i].columns = &pattern[i];
		in[i].column_count = 1;
	}
	got = reads("wide.csv", in, INPUTS);
	good = strncmp(got, "0 | 1 | 1", 9) == 0;
	free(got);
	for (size_t i = 0; i < INPUTS; i++) {
		free(in[i].name);
		free(pattern[i]);
	}
	return good;
}

/* Headers of a few bytes announce more than any memory has. */
static bool
large_headers(void)
{
	static const char *const shapes[] = {
		"(281474976710656,)", "(1, 281474976710656)",
		"(18446744073709551615, 2)", "(4294967296, 4294967296)",
		"(3, 0)", "(99999999999999999999999, 1)",
	};
	struct input in = examples_input("x", INPUT_FLOAT, 0, 1);
	size_t wrong = 0;
	char *got;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		char head[160] = "\x93NUMPY\1\0";
		const int n = snprintf(head + 10, sizeof(head) - 10,
				       "{'descr': '<f4', 'fortran_order': "
				       "False, 'shape': %s, }\n", shapes[i]);

		head[8] = (char)n;
		files_put("x.npy", head, 10 + (size_t)n);
		got = reads("x.npy,x.npy", &in, 1);
		wrong += *got != '6';
		free(got);
	}
	/* Version 2, with a header of 4 GiB. */
	files_put("x.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{", 13);
	got = reads("x.npy,x.npy", &in, 1);
	wrong += *got != '6';
	free(got);
	files_put("x-idx3-ubyte", "\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff"
		  "\xff\xff\xff\xff", 16);
	got = reads("x-idx3-ubyte,x-idx3-ubyte", &in, 1);
	wrong += *got != '6';
	free(got);
	free(in.name);
	return wrong == 0;
}

/* A sample has very many members, whose names differ after the dot. */
static bool
a_sample_of_many(void)
{
	struct archive *a = archive_write_new();
	struct input in = examples_input("x", INPUT_FLOAT, 0, 1);
	char name[32];
	char *got;
	bool good;

	archive_write_add_filter_gzip(a);
	archive_write_set_format_ustar(a);
	archive_write_open_filename(a, "many.tar");
	for (size_t i = 0; i < 150000; i++) {
		snprintf(name, sizeof(name), "v1.%zu.txt", i);
		files_member(a, name, "1", 1);
	}
	files_member(a, "v1.x.txt", "2", 1);
	files_member(a, "v1.y.txt", "3", 1);
	archive_write_free(a);
	got = reads("many.tar", &in, 1);
	good = strncmp(got, "3 | 2", 5) == 0;
	if (!good)
		printf("# %.200s\n", got);
	free(got);
	free(in.name);
	return good;
}

/* ---- processes ---- */

static int
run(bool (*run_case)(void))
{
	const struct rlimit cpu = { SECONDS, SECONDS };
	bool good;

	setrlimit(RLIMIT_CPU, &cpu);
	good = run_case();
	if (!good && *why.text)
		printf("# %s\n", why.text);
	text_release(&text);
	fflush(stdout);
	return !good;
}

static void
within(bool (*run_case)(void), const char *name)
{
	struct rusage used = { 0 };
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(run(run_case));
	if (child < 0 || wait4(child, &status, 0, &used) != child)
		status = -1;
	printf("# %s: status %d, %ld ms, %ld MiB\n", name, status,
	       used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000,
	       used.ru_maxrss / 1024);
	named_for(status == 0 && used.ru_maxrss / 1024 < MIB,
		  "in %d MiB and %d s of CPU: %s", MIB, SECONDS, name);
}

int
main(void)
{
	files_begin();
	within(many_operands, "a layer of 400,000 inputs is read");
	within(many_quotes, "a layer of 400,000 quoted inputs is read");
	within(a_long_text, "a text of more than 1 MiB is refused");
	within(many_settings, "a line of 100,000 settings is refused");
	within(many_names, "a model of 9,990 variables is read");
	within(many_tables, "4,900 tables of an input each are read");
	within(one_table, "4,900 inputs that share a table are read");
	within(one_vocabulary, "4,900 inputs that share a vocabulary are read");
	within(many_optimizers,
	       "2,450 optimizers for 4,900 variables are read");
	within(a_long_chain, "a chain of 9,980 layers is read");
	within(many_vocabularies, "vocabularies are limited together");
	within(large_sizes, "sizes beyond any limit are refused");
	within(many_pieces, "a plan of 16,000,000 pieces is refused");
	within(large_plans,
	       "a plan that would have too many pieces is refused");
	within(a_plan_of_many, "400,000 shards are placed on 4,096 servers");
	within(one_input_of_many, "an input of 300,000 columns is read");
	within(many_inputs, "9,000 inputs with 200,000 columns are read");
	within(a_long_line, "20 lines of 1 MiB with definitions are read");
	within(a_sample_of_many, "a sample of 150,000 members is read");
	within(large_headers, "headers that promise too much are refused");
	files_end();
	return tap_done();
}
