#include "data/format.h"

#include "base/mem.h"
#include "data/feature_set.h"
#include "data/lines.h"
#include "data/number.h"
#include "data/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lines of "label [qid:n] id:value id:value ... # comment", as SVM-light and
 * LIBSVM write them.  Ids ascend and begin at 1, or at 0 if the input has
 * zero_based=true; the first id is row, or element, 0 of the model's one input.
 */
struct svmlight {
	struct lines lines;
	const struct skip_records *bad;	/* how many bad records are skipped;
					   NULL: none */
	const struct input *label;	/* NULL: labels are not read */
	const struct input *apart;	/* the model's label then, or NULL */
	uint64_t size;		/* number of ids that are allowed, */
	uint64_t first;		/* from this one on, 0 or 1 */
	bool dense;		/* the input is float[size] */
	/* If labels are not read: */
	enum { UNKNOWN, LABELLED, BARE } lines_are;
	uint64_t empty;		/* empty lines that are still to be given as
				   examples without features, */
	bool waits;		/* before the line that we have */
	float *value;		/* of a record's pairs */
	size_t room;
};

static void
svmlight_close(void *state)
{
	struct svmlight *s = state;

	lines_release(&s->lines);
	free(s->value);
	free(s);
}

/* A file that does not fit was often not meant to be svmlight, or is missing:
   the message says so. */
static int
check_inputs(const struct read_spec *want, const char *file, struct fail *f)
{
	const struct input *in = want->inputs;
	const bool one = want->count == 1;

	if (one && (in->kind == INPUT_SPARSE || in->kind == INPUT_FLOAT))
		return 0;
	if (source_look(file, f) < 0)
		return -1;
	return fail(f, FAIL_DATA, "%s: it is read as svmlight, which feeds "
		    "models of one input, sparse or float; this one has %zu"
		    "%s%s%s (-F says another format)", file, want->count,
		    one ? ", " : "", one ? in->name : "",
		    one ? " of another kind" : "");
}

static void *
svmlight_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	const struct input *in = want->inputs;

	if (check_inputs(want, files[0], f) < 0)
		return NULL;

	struct svmlight *s = mem_alloc(1, sizeof(*s));

	s->bad = want->bad;
	s->label = want->label;
	s->apart = want->apart;
	s->dense = in->kind == INPUT_FLOAT;
	s->size = s->dense ? input_width(in) : in->hashed ? UINT64_MAX :
		in->rows;
	s->first = !in->zero_based;
	if (lines_open(&s->lines, files[0], want->commands, f) == 0)
		return s;
	svmlight_close(s);
	return NULL;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *
skip_blanks(char *p)
{
	while (is_blank(*p))
		p++;
	return p;
}

/* Does the record end there?  The line ends, or a comment begins. */
static bool
is_end(char c)
{
	return c == '\0' || c == '#';
}

static char *
skip_word(char *p)
{
	while (!is_end(*p) && !is_blank(*p))
		p++;
	return p;
}

static int
fail_word(const char *p, const char *what, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];
	size_t size = 0;

	while (!is_end(p[size]) && !is_blank(p[size]))
		size++;
	return fail(f, FAIL_DATA, "'%s' %s", feature_set_shown(p, size, shown),
		    what);
}

/* Return what else a word that is no label may be: a line of csv. */
static const char *
other_format(const char *p, const char *end)
{
	return memchr(p, ',', (size_t)(end - p)) ?
		"; the file is read as svmlight: for csv say -F csv" : "";
}

/*
 * Pass over a label that is not read, if the word from p to end is one: a pair
 * has a colon.  A line of a single word may be a line of another format, so if
 * the label is a number the word must be one.
 */
static char *
skip_label(const struct input *in, char *p, char *end, struct fail *f)
{
	struct fail why;
	float ignored;

	if (memchr(p, ':', (size_t)(end - p)))
		return p;
	if (!in || in->kind == INPUT_STRING || !is_end(*skip_blanks(end)) ||
	    number_float(p, &ignored) == end)
		return end;
	fail_word(p, "is not a label, which is a number", &why);
	fail(f, why.kind, "%s%s", why.text, other_format(p, end));
	return NULL;
}

/* Read the label at p and return its end.  If labels are not read the word may
   be a pair already, and p is returned. */
static char *
read_label(struct svmlight *s, struct batch *b, char *p, struct fail *f)
{
	char *end = skip_word(p);
	const char saved = *end;
	struct fail why;

	if (!s->label)
		return skip_label(s->apart, p, end, f);
	*end = '\0';

	const int got = feature_set_text(&b->label, b->examples, p,
					 (size_t)(end - p), &why);

	*end = saved;
	if (got == 0)
		return end;
	fail(f, why.kind, "label: %s%s", why.text, other_format(p, end));
	return NULL;
}

/* Read one "id:value" at p, whose row must be next or above; return its end. */
static char *
read_pair(const struct svmlight *s, char *p, uint64_t next, uint64_t *row,
	  float *value, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];
	uint64_t id;
	bool fits;
	const char *colon = number_uint(p, &id, &fits);
	const char *end = colon && *colon == ':' ?
			  number_float(colon + 1, value) : NULL;

	if (!end || (!is_end(*end) && !is_blank(*end)))
		fail_word(p, "is not id:number", f);
	else if (!isfinite(*value))
		fail_word(p, "is too large for a float", f);
	else if (fits && id < s->first)
		fail_word(p, "has the id 0; they begin at 1, or the input says "
			  "zero_based=true", f);
	else if (!fits || id - s->first >= s->size)
		fail(f, FAIL_DATA, "id %s is out of range, %llu to %llu",
		     feature_set_shown(p, (size_t)(colon - p), shown),
		     (unsigned long long)s->first,
		     (unsigned long long)(s->size - 1 + s->first));
	else if (id - s->first < next)
		fail(f, FAIL_DATA, "id %s after %llu; they must ascend",
		     feature_set_shown(p, (size_t)(colon - p), shown),
		     (unsigned long long)(next - 1 + s->first));
	else {
		*row = id - s->first;
		return p + (end - p);
	}
	return NULL;
}

static char *
skip_query(char *p)
{
	p = skip_blanks(p);
	return *p == 'q' && strncmp(p, "qid:", 4) == 0 ? skip_word(p) : p;
}

/* Refuse a NUL within the line, which would look like its end. */
static int
check_end(const struct svmlight *s, const char *p, struct fail *f)
{
	if (*p == '#' || p == s->lines.text + s->lines.size)
		return 0;
	return fail(f, FAIL_DATA, "a NUL byte");
}

/* The fast number_sparse_pairs() reads plain pairs; read_pair() reads one that
   is not plain, or says what is wrong with it. */
static int
read_sparse(struct svmlight *s, struct batch *b, char *p, struct fail *f)
{
	struct feature *to = &b->feature[0];
	const size_t at = to->offset[b->examples];
	const char *end = s->lines.text + s->lines.size;
	const size_t most = (size_t)(end - p) / NUMBER_PAIR + 1;
	uint32_t *id = feature_ids(to, at, most);
	uint64_t next = 0, row;
	size_t n = 0, plain;

	if (most > s->room)
		s->value = mem_resize(s->value, s->room = 2 * most,
				      sizeof(*s->value));
	for (p = skip_blanks(p); !is_end(*p); p = skip_blanks(p)) {
		p += number_sparse_pairs(p, s->first, next, s->size, id + n,
					 s->value + n, &plain) - p;
		feature_add_high(to, at + n, NULL, plain);
		n += plain;
		next = plain > 0 ? (uint64_t)id[n - 1] + 1 : next;
		p = skip_blanks(p);
		if (is_end(*p))
			break;
		p = read_pair(s, p, next, &row, &s->value[n], f);
		if (!p)
			return -1;
		feature_add_id(to, at + n++, row);
		next = row + 1;
	}
	feature_add_weights(to, at, s->value, n);
	feature_set_offset(to, b->examples + 1, at + n);
	return check_end(s, p, f);
}

static int
read_dense(struct svmlight *s, struct batch *b, char *p, struct fail *f)
{
	struct feature *to = &b->feature[0];
	const size_t first = b->examples * (size_t)s->size;
	uint64_t next = 0, row;
	float value;

	for (size_t i = 0; i < s->size; i++)
		feature_add_value(to, first + i, 0);
	for (p = skip_blanks(p); !is_end(*p); p = skip_blanks(p)) {
		p = read_pair(s, p, next, &row, &value, f);
		if (!p)
			return -1;
		to->value[first + row] = value;
		next = row + 1;
	}
	return check_end(s, p, f);
}

/* Find the next line that is more than blanks and a comment. */
static int
next_record(struct svmlight *s, char **start, struct fail *f)
{
	int got;

	do {
		got = lines_next(&s->lines, f);
		if (got > 0)
			*start = skip_blanks(s->lines.text);
	} while (got > 0 && is_end(**start) &&
		 (**start == '#' || check_end(s, *start, f) == 0));
	return got;
}

/* Does the line at p begin with a pair or a "qid:n", without a label? */
static bool
is_unlabelled(char *p)
{
	return memchr(p, ':', (size_t)(skip_word(p) - p)) != NULL;
}

/*
 * The same if labels are not read.  If lines have no labels, an empty line is
 * an example without features, for which *start is NULL.  The first line that
 * is not empty decides if they have, so empty lines before it are counted
 * first, and given as examples afterwards.
 */
static int
next_unlabelled(struct svmlight *s, char **start, struct fail *f)
{
	struct lines *l = &s->lines;

	*start = NULL;
	while (!s->waits && (s->empty == 0 || s->lines_are == UNKNOWN)) {
		const int got = lines_next(l, f);
		char *p = got > 0 ? skip_blanks(l->text) : NULL;

		if (got < 0 || (got == 0 && s->empty == 0))
			return got;
		if (got == 0) {
			s->lines_are = BARE;
		} else if (!is_end(*p)) {
			if (s->lines_are == UNKNOWN)
				s->lines_are = is_unlabelled(p) ? BARE :
					LABELLED;
			s->waits = true;
		} else if (*p != '#') {
			if (check_end(s, p, f) != 0) {
				lines_fail(l, f);
				return fail_mark_skippable(f);
			}
			s->empty += s->lines_are != LABELLED;
		}
		if (s->lines_are == LABELLED)
			s->empty = 0;
	}
	if (s->empty > 0) {
		s->empty--;
		return 1;
	}
	s->waits = false;
	*start = skip_blanks(l->text);
	return 1;
}

/* An example without features. */
static void
add_empty(const struct svmlight *s, struct batch *b)
{
	struct feature *to = &b->feature[0];

	for (size_t i = 0; s->dense && i < s->size; i++)
		feature_add_value(to, b->examples * (size_t)s->size + i, 0);
	if (!s->dense)
		feature_set_offset(to, b->examples + 1,
				   to->offset[b->examples]);
}

static int
svmlight_read(void *state, struct batch *b, struct fail *f)
{
	struct svmlight *s = state;
	char *p = NULL;
	int got = s->label ? next_record(s, &p, f) :
		next_unlabelled(s, &p, f);

	if (got <= 0 || !b)
		return got;
	if (!p) {
		add_empty(s, b);
		return 1;
	}
	p = read_label(s, b, p, f);
	if (p)
		p = skip_query(p);
	if (p && (s->dense ? read_dense : read_sparse)(s, b, p, f) == 0)
		return 1;
	if (skip_records_reports(s->bad, true))
		lines_fail(&s->lines, f);
	return fail_mark_skippable(f);
}

static int
svmlight_seek(void *state, uint64_t from, uint64_t until, struct fail *f)
{
	struct svmlight *s = state;

	return lines_seek(&s->lines, from, until, f);
}

static uint64_t
svmlight_at(const void *state)
{
	const struct svmlight *s = state;

	return source_plain(s->lines.source) ? lines_at(&s->lines) :
		UINT64_MAX;
}

const struct format format_svmlight = {
	.name = "svmlight", .suffix = ".svm",
	.open = svmlight_open, .read = svmlight_read, .close = svmlight_close,
	.seek = svmlight_seek, .at = svmlight_at,
};
