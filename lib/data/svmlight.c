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
 * "label [qid:n] id:value id:value ... # comment"; ids from 1, ascending, as
 * SVM-light and LIBSVM write them, or from 0.  They feed the one input of a
 * model, whose first row or element is that of the first id.
 */
struct svmlight {
	struct lines lines;
	const struct skip_records *bad;	/* what may be passed over, or NULL */
	const struct input *label;	/* NULL: it is passed over, */
	const struct input *apart;	/* which would be this one; or NULL */
	uint64_t size;		/* so many ids there are, */
	uint64_t first;		/* from 0 or 1 on */
	bool dense;		/* the input is float[size] */
	/* Of lines whose labels nobody reads: */
	enum { UNKNOWN, LABELLED, BARE } lines_are;
	uint64_t empty;		/* such ones that are still to be read, */
	bool waits;		/* and then the line that we have */
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

/* Most of what does not fit was not meant to be read so, or is not there. */
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

/* The record ends there: with the line, or at a comment. */
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
misfit(const char *p, const char *what, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];
	size_t size = 0;

	while (!is_end(p[size]) && !is_blank(p[size]))
		size++;
	return fail(f, FAIL_DATA, "'%s' %s", feature_set_shown(p, size, shown),
		    what);
}

/*
 * Past a label that nobody reads, if there is one.  A line of a single word
 * may be one of another format.
 */
static char *
pass_label(const struct input *in, char *p, char *end, struct fail *f)
{
	float ignored;

	if (memchr(p, ':', (size_t)(end - p)))
		return p;
	if (!in || in->kind == INPUT_STRING || !is_end(*skip_blanks(end)) ||
	    number_float(p, &ignored) == end)
		return end;
	misfit(p, "is no label, which is a number", f);
	return NULL;
}

/* Past the word at p, which is the label unless it is a feature already. */
static char *
read_label(struct svmlight *s, struct batch *b, char *p, struct fail *f)
{
	char *end = skip_word(p);
	const char saved = *end;

	if (!s->label)
		return pass_label(s->apart, p, end, f);
	*end = '\0';

	const int got = feature_set_text(&b->label, b->examples, p,
					 (size_t)(end - p), f);

	*end = saved;
	if (got == 0)
		return end;
	fail_at(f, "label");
	return NULL;
}

/* One "id:value" at p, of this row or one behind it; returns its end. */
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
		misfit(p, "is not id:number", f);
	else if (!isfinite(*value))
		misfit(p, "is too large for a float", f);
	else if (fits && id < s->first)
		misfit(p, "has the id 0; they begin at 1, or the input says "
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

/* A NUL ends the line, and nothing else. */
static int
check_end(const struct svmlight *s, const char *p, struct fail *f)
{
	if (*p == '#' || p == s->lines.text + s->lines.size)
		return 0;
	return fail(f, FAIL_DATA, "a NUL byte");
}

/*
 * What number_sparse_pairs() does not take is read with more care, or said to
 * be wrong.
 */
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

/* The next line that is more than blanks and a comment. */
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

/* Does the line at p begin with a pair, or the number of a query? */
static bool
is_bare(char *p)
{
	return memchr(p, ':', (size_t)(skip_word(p) - p)) != NULL;
}

/*
 * The same where labels are not read.  If there are none an empty line is an
 * example without features, and so are those in front of the first line that
 * says whether there are; *start is NULL then.
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
				s->lines_are = is_bare(p) ? BARE : LABELLED;
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
read_nothing(const struct svmlight *s, struct batch *b)
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
		read_nothing(s, b);
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
