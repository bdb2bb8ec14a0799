#include "model/parse.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS	((uint64_t)1 << 48)

bool
parse_shape(const char *text, struct shape *shape)
{
	const size_t n = strlen(text);
	const bool bracket = n >= 2 && text[0] == '[' && text[n - 1] == ']';
	char *copy = bracket ? mem_text_n(text + 1, n - 2) : mem_text(text);
	size_t count;
	char **word = text_split(copy, ',', &count);
	struct shape s = { 0 };
	bool good = count <= SHAPE_RANK && (bracket || count > 0);

	for (size_t i = 0; good && i < count; i++) {
		uint64_t dim;

		good = text_uint(word[i], &dim) && dim > 0 && dim <= ROWS;
		if (good)
			s.dim[s.rank++] = (size_t)dim;
	}
	good = good && shape_sound(&s);
	if (good)
		*shape = s;
	free(word);
	free(copy);
	return good;
}

/*
 * Return the words of a vocabulary file, one on each line; the caller frees the
 * list.  They point into text, which is changed.
 */
static char **
split_lines(char *text, size_t *count)
{
	const size_t n = strlen(text);

	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';

	char **word = text_split(text, '\n', count);

	for (size_t i = 0; i < *count; i++) {
		const size_t size = strlen(word[i]);

		if (size > 0 && word[i][size - 1] == '\r')
			word[i][size - 1] = '\0';
	}
	return word;
}

static const struct model_file *
find_file(const struct model *m, const char *name)
{
	const size_t i = names_get(&m->file_named, name, strlen(name));

	return i == NAMES_NONE ? NULL : &m->source->file[i];
}

/* The words of a lookup, and its settings. */
struct vocabulary {
	const struct model_file *file;	/* NULL: the words are in line */
	const char *line;		/* "WORD,WORD..." */
	const char *mask;		/* or NULL */
	uint64_t oov;
};

static int
make_lookup(struct input *in, struct model *m, const struct vocabulary *v,
	    struct fail *f)
{
	const size_t size = v->file ? v->file->size : strlen(v->line);
	size_t count;

	/*
	 * Many lines may name one file, each with other settings, so a small
	 * model could ask for much memory.
	 */
	if (size > MODEL_WORDS - m->words)
		return fail(f, FAIL_CONFIG, "%s: this and the vocabularies "
			    "above take more than %zu MiB", in->where,
			    MODEL_WORDS >> 20);
	m->words += size;

	char *text = mem_text(v->file ? v->file->text : v->line);
	char **word = v->file ? split_lines(text, &count) :
		      text_split(text, ',', &count);

	if (count == 0)
		fail(f, FAIL_CONFIG, "no words");
	else
		in->lookup = lookup_vocabulary(word, count, v->oov, v->mask,
					       f);
	free(word);
	free(text);
	if (!in->lookup)
		return fail_at(f, "%s: %s", in->where,
			       v->file ? v->file->name : "vocab=");
	return 0;
}

/* Let inputs with the same words and settings share one lookup. */
static int
share_lookup(struct input *in, struct model *m, const struct vocabulary *v,
	     struct fail *f)
{
	struct text key = { 0 };
	size_t at;
	int status = 0;

	text_add(&key, "%llu %d%s", (unsigned long long)v->oov, !!v->mask,
		 v->mask ? v->mask : "");
	text_add_bytes(&key, v->file ? "\0f" : "\0l", 3);
	text_add(&key, "%s", v->file ? v->file->name : v->line);
	at = names_get(&m->lookup_named, key.data, key.size);
	if (at != NAMES_NONE)
		in->lookup = lookup_share(m->input[at].lookup);
	else
		status = make_lookup(in, m, v, f);
	if (at == NAMES_NONE && in >= m->input && in < m->input + m->inputs)
		names_put(&m->lookup_named, key.data, key.size,
			  (size_t)(in - m->input));
	text_release(&key);
	return status;
}

static int
read_vocabulary(struct input *in, struct model *m, const char *vocab,
		const char *path, struct settings *s, struct fail *f)
{
	struct vocabulary v = { .line = vocab,
				.mask = settings_text(s, "mask_token") };

	if (settings_uint(s, "num_oov_indices", &v.oov, 0, ROWS, f))
		return -1;
	if (path) {
		v.file = find_file(m, path);
		if (!v.file)
			return fail(f, FAIL_CONFIG, "%s: the file %s did not "
				    "come with the model", in->where, path);
		if (strlen(v.file->text) != v.file->size)
			return fail(f, FAIL_CONFIG, "%s: %s is not a text",
				    in->where, path);
	}
	return share_lookup(in, m, &v, f);
}

/* Return whether rows=hash is set: ids are any 64 bits. */
static bool
is_hashed(struct settings *s, bool label)
{
	const char *rows = label ? NULL : settings_text(s, "rows");

	return rows && strcmp(rows, "hash") == 0;
}

static int
read_string(struct input *in, struct model *m, struct settings *s,
	    bool label, struct fail *f)
{
	const char *vocab = settings_text(s, "vocab");
	const char *path = settings_text(s, "vocab_file");
	const char *hash = settings_text(s, "hash");
	const bool rows = !label && settings_text(s, "rows");

	in->hashed = is_hashed(s, label);
	if (!!vocab + !!path + !!hash + rows != 1 || rows != in->hashed)
		return fail(f, FAIL_CONFIG, "%s: %s: a string needs one of "
			    "vocab=WORD,WORD..., vocab_file=FILE, hash=N%s",
			    in->where, in->name, label ? "" : ", rows=hash");
	if (in->hashed) {
		in->lookup = lookup_hashing(UINT64_MAX);
		return 0;
	}
	if (hash) {
		if (settings_uint(s, "hash", &in->rows, 1, ROWS, f))
			return -1;
		in->lookup = lookup_hashing(in->rows);
	} else if (read_vocabulary(in, m, vocab, path, s, f)) {
		return -1;
	}
	in->rows = lookup_rows(in->lookup);
	return 0;
}

/*
 * Read bin_boundaries= (Keras's Discretization).  Return false if they are not
 * set: the data have ids.
 */
static bool
read_boundaries(struct input *in, struct settings *s)
{
	if (!settings_text(s, "bin_boundaries"))
		return false;
	in->boundaries = settings_floats(s, "bin_boundaries",
					 &in->boundary_count);
	in->rows = in->boundary_count + 1;
	return true;
}

static int
check_boundaries(const struct input *in, struct fail *f)
{
	bool good = in->boundaries && in->boundary_count > 0;

	for (size_t i = 1; good && i < in->boundary_count; i++)
		good = in->boundaries[i - 1] < in->boundaries[i];
	return good ? 0 : fail(f, FAIL_CONFIG, "%s: %s: bin_boundaries= are "
			       "numbers, each above the one before", in->where,
			       in->name);
}

static int
read_id(struct input *in, struct settings *s, bool label, struct fail *f)
{
	if (!label && read_boundaries(in, s))
		return check_boundaries(in, f);
	in->hashed = is_hashed(s, label);
	if (!in->hashed && settings_uint(s, "rows", &in->rows, 1, ROWS, f))
		return -1;
	if (in->rows == 0 && !in->hashed && !label)
		return fail(f, FAIL_CONFIG, "%s: %s: rows= is missing: ids "
			    "are 0 to rows - 1, or any with rows=hash",
			    in->where, in->name);
	return 0;
}

static int
read_columns(struct input *in, struct settings *s, struct fail *f)
{
	const char *columns = settings_text(s, "columns");
	const char *sep = settings_text(s, "sep");

	if (columns) {
		char *text = mem_text(columns);

		in->columns = text_split(text, ',', &in->column_count);
		for (size_t i = 0; i < in->column_count; i++)
			in->columns[i] = mem_text(in->columns[i]);
		free(text);
		if (in->column_count == 0)
			return fail(f, FAIL_CONFIG, "%s: %s: columns= names "
				    "none", in->where, in->name);
	}
	if (sep && strlen(sep) != 1)
		return fail(f, FAIL_CONFIG, "%s: sep=%s is not one character",
			    in->where, sep);
	in->separator = sep ? sep[0] : '\0';
	return 0;
}

/* Return whether a text is a value that the input can have. */
static bool
fits(const struct input *in, const char *text)
{
	uint64_t id;
	float x;

	if (in->kind == INPUT_STRING && in->lookup)
		return lookup_find(in->lookup, text, strlen(text)) !=
			LOOKUP_UNKNOWN;
	if (in->kind == INPUT_ID && in->boundary_count == 0)
		return text_uint(text, &id) && (in->hashed || id < in->rows);
	return in->kind == INPUT_STRING || text_float(text, &x);
}

static int
read_pad(struct input *in, struct settings *s, struct fail *f)
{
	const char *pad = settings_text(s, "pad");

	if (!pad)
		return 0;
	if (in->ragged || in->shape.rank == 0 || in->kind == INPUT_SPARSE)
		return fail(f, FAIL_CONFIG, "%s: %s: pad= is for a number of "
			    "values, as string[3] has", in->where, in->name);
	if (!fits(in, pad))
		return fail(f, FAIL_CONFIG, "%s: %s: pad=%s is not a value "
			    "that it can have", in->where, in->name, pad);
	in->pad = mem_alloc(strlen(pad) + INPUT_SLACK, 1);
	memcpy(in->pad, pad, strlen(pad));
	return 0;
}

/* Read cross= (Keras's HashedCrossing). */
static int
read_crossing(struct input *in, struct settings *s, struct fail *f)
{
	const bool one = !in->ragged && in->shape.rank == 0 && !in->separator;
	const bool hashes = settings_text(s, "hash") || in->hashed;

	if (settings_bool(s, "cross", &in->crossed, f))
		return -1;
	if (!in->crossed || (one && hashes && in->column_count > 0))
		return 0;
	return fail(f, FAIL_CONFIG, "%s: %s: cross=true makes one string of "
		    "several columns=, by hash=N or rows=hash", in->where,
		    in->name);
}

/* Read the brackets behind the kind, if there are any. */
static int
read_brackets(struct input *in, const char *text, bool label, struct fail *f)
{
	const bool sparse = in->kind == INPUT_SPARSE;
	struct shape shape = { 0 };

	if (!*text && !sparse)
		return 0;
	if (label)
		return fail(f, FAIL_CONFIG, "%s: %s: a label is one value, "
			    "without %s", in->where, in->name, text);
	if (strcmp(text, "[]") == 0 && in->kind != INPUT_FLOAT && !sparse) {
		in->ragged = true;
		return 0;
	}
	if (strcmp(text, "[hash]") == 0 && sparse) {
		in->hashed = true;
		return 0;
	}
	if (*text != '[' || !parse_shape(text, &shape) || shape.rank == 0 ||
	    (sparse && shape.rank != 1))
		return fail(f, FAIL_CONFIG, "%s: %s: '%s' is not a shape; say "
					    "%s",
			    in->where, in->name, text, sparse ?
			    "sparse[N], N features, or sparse[hash]" :
			    in->kind == INPUT_FLOAT ?
			    "float, float[3] or float[28,28]" :
			    "nothing for one value, [3] for three, [] for any "
			    "number");
	if (sparse)
		in->rows = shape.dim[0];
	else
		in->shape = shape;
	return 0;
}

struct kind {
	const char *name;
	enum input_kind kind;
	bool input, label;
};

static const struct kind kinds[] = {
	{ "float", INPUT_FLOAT, true, true },
	{ "id", INPUT_ID, true, true },
	{ "string", INPUT_STRING, true, true },
	{ "sparse", INPUT_SPARSE, true, false },
	{ "binary", INPUT_FLOAT, false, true },
};

static int
read_kind(struct input *in, const char *word, bool label, struct fail *f)
{
	const size_t n = strcspn(word, "[");
	const size_t count = sizeof(kinds) / sizeof(*kinds);
	size_t i = 0;

	while (i < count && (strlen(kinds[i].name) != n ||
			     strncmp(kinds[i].name, word, n) != 0 ||
			     !(label ? kinds[i].label : kinds[i].input)))
		i++;
	if (i == count)
		return fail(f, FAIL_CONFIG, "%s: %s: '%s' is none of %s",
			    in->where, in->name, word, label ?
			    "string, binary, id, float" :
			    "float, id, string, sparse");
	in->kind = kinds[i].kind;
	in->binary = !kinds[i].input;
	return read_brackets(in, word + n, label, f);
}

int
parse_input(struct input *in, struct model *m, struct statement *st,
	    bool label, struct fail *f)
{
	struct settings *s = &st->settings;

	if (read_kind(in, st->word[2], label, f))
		return -1;
	if (in->kind == INPUT_STRING && read_string(in, m, s, label, f))
		return -1;
	if (!label && (in->kind == INPUT_SPARSE || in->kind == INPUT_FLOAT) &&
	    settings_bool(s, "zero_based", &in->zero_based, f))
		return -1;
	if (in->kind == INPUT_ID && read_id(in, s, label, f))
		return -1;
	if (read_columns(in, s, f))
		return -1;
	if (!label && in->kind == INPUT_STRING && read_crossing(in, s, f))
		return -1;
	if (!label && read_pad(in, s, f))
		return -1;
	in->from = settings_text(s, "from");
	return settings_done(s, f);
}

void
parse_release(struct input *in)
{
	for (size_t i = 0; i < in->column_count; i++)
		free(in->columns[i]);
	free(in->columns);
	free(in->boundaries);
	free(in->pad);
	free(in->name);
	lookup_free(in->lookup);
	*in = (struct input){ 0 };
}
