#include "data/columns.h"

#include "base/mem.h"
#include "data/feature_set.h"
#include "data/lines.h"
#include "data/number.h"
#include "data/number_format.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field of the record: an offset in its text, since the text may move. */
struct field {
	size_t start, size;
};

/*
 * Comma-separated values as RFC 4180 describes them, or tab-separated ones, in
 * which a quote is an ordinary character.
 */
struct csv {
	struct lines lines;
	char separator;
	bool quotes;
	uint64_t line;		/* number of the record's first line */
	struct field *field;	/* of the record; each ends in a NUL */
	size_t count, room;
	struct columns columns;	/* none until the names are read */
	const struct skip_records *bad;	/* how many bad records are skipped;
					   NULL: none */
	bool told;		/* the line of a bad record will be reported */
	float *number;		/* a record's numbers, one a column; NULL:
				   some input needs more than floats */
	struct number_format *form;	/* the form of each number, as the
					   last record had it */
	bool pending;		/* the first record has been split already */
	bool part;		/* only a part of the file is read */
};

static void
csv_close(void *state)
{
	struct csv *c = state;

	lines_release(&c->lines);
	free(c->field);
	columns_release(&c->columns);
	free(c->number);
	free(c->form);
	free(c);
}

static int
csv_fail(const struct csv *c, struct fail *f)
{
	return lines_fail_at(&c->lines, c->line, f);
}

/* Mark a failure as that of one record: reading can resume after it. */
static int
bad_record(const struct csv *c, struct fail *f)
{
	if (c->told)
		csv_fail(c, f);
	return fail_mark_skippable(f);
}

static void
add_field(struct csv *c, size_t start, size_t end)
{
	c->field = mem_grow(c->field, c->count, &c->room, sizeof(*c->field));
	c->field[c->count++] = (struct field){ start, end - start };
	c->lines.text[end] = '\0';
}

/* Split off a field in quotes at *at, and move past it; "" inside is one
   quote. */
static int
split_quoted(struct csv *c, size_t *at, struct fail *f)
{
	struct lines *l = &c->lines;
	const size_t start = *at + 1;
	size_t from = start, to = start;

	for (;; from++) {
		if (from == l->size) {
			const int got = lines_more(l, f);

			if (got < 0)
				return -1;
			if (got == 0) {
				fail(f, FAIL_DATA, "quotes are not closed");
				return csv_fail(c, f);
			}
		}
		if (l->text[from] == '"' && l->text[++from] != '"')
			break;
		l->text[to++] = l->text[from];
	}
	if (from < l->size && l->text[from] != c->separator) {
		fail(f, FAIL_DATA, "text follows closing quotes");
		return bad_record(c, f);
	}
	*at = from;
	add_field(c, start, to);
	return 0;
}

static void
split_plain(struct csv *c, size_t *at)
{
	const struct lines *l = &c->lines;
	const uint64_t separators = (unsigned char)c->separator * SWAR_EACH;
	const size_t start = *at;
	unsigned n = 8;

	/* Eight characters at a time: after the line there is LINE_SLACK. */
	for (; *at < l->size && n == 8; *at += n) {
		const uint64_t other = swar_load(l->text + *at) ^
				       '0' * SWAR_EACH ^ separators;

		n = swar_before(swar_zero(other));
	}
	if (*at > l->size)
		*at = l->size;
	add_field(c, start, *at);
}

/* Read the line in which the next record begins.  Return 1, 0 or -1. */
static int
next_line(struct csv *c, struct fail *f)
{
	struct lines *l = &c->lines;
	int got;

	/* An empty line is a record only if the file has one column. */
	do {
		got = lines_next(l, f);
	} while (got > 0 && l->size == 0 && c->columns.count != 1);
	c->line = l->number;
	return got;
}

/* Cut the record of the line into its fields. */
static int
split(struct csv *c, struct fail *f)
{
	struct lines *l = &c->lines;
	size_t at = 0;

	/* A part may begin between quotes, where no line can be trusted. */
	if (c->part && c->quotes && memchr(l->text, '"', l->size)) {
		fail(f, FAIL_AGAIN, "quotes: it cannot be read in parts");
		return csv_fail(c, f);
	}
	for (c->count = 0;; at++) {
		if (c->quotes && l->text[at] == '"') {
			if (split_quoted(c, &at, f) != 0)
				return -1;
		} else {
			split_plain(c, &at);
		}
		if (at == l->size)
			return 0;
	}
}

static char *
field_text(const struct csv *c, size_t i)
{
	return c->lines.text + c->field[i].start;
}

/* Does a float hold each value of this input, and each column one value?  Ids
   below 2^24 are exact as floats. */
static bool
fits_floats(const struct input *in)
{
	return !in->ragged && !in->separator &&
		(in->kind == INPUT_FLOAT || (in->kind == INPUT_ID &&
		 !in->hashed && in->rows <= (uint64_t)1 << 24));
}

/* If floats hold all values that are wanted, plan to read records of plain
   numbers without splitting them. */
static void
plan_floats(struct csv *c, const struct read_spec *want)
{
	bool plain = !want->label || fits_floats(want->label);

	for (size_t i = 0; i < want->count && plain; i++)
		plain = fits_floats(&want->inputs[i]);
	if (!plain)
		return;
	c->number = mem_alloc(c->columns.count, sizeof(*c->number));
	c->form = mem_alloc(c->columns.count, sizeof(*c->form));
	for (size_t i = 0; i < c->columns.count; i++)
		c->form[i] = form_digit;
}

static int
plan(struct csv *c, const struct read_spec *want, struct fail *f)
{
	if (columns_plan(&c->columns, want, true, f) != 0)
		return csv_fail(c, f);
	plan_floats(c, want);
	return 0;
}

/* A NUL would end a name, so two columns could get the same name. */
static int
check_names(const struct csv *c, struct fail *f)
{
	for (size_t i = 0; i < c->count; i++)
		if (strlen(field_text(c, i)) != c->field[i].size) {
			fail(f, FAIL_DATA, "a NUL byte in the name of a "
			     "column; text in UTF-16 is not read");
			return csv_fail(c, f);
		}
	return 0;
}

/* Name the columns by the first record, or by numbers from 1. */
static int
name_columns(struct csv *c, bool no_header, struct fail *f)
{
	const int got = next_line(c, f);
	char number[24];

	if (got == 0)
		return fail(f, FAIL_NOINPUT, "%s: it is empty",
			    source_name(c->lines.source));
	if (got < 0 || split(c, f) != 0 ||
	    (!no_header && check_names(c, f) != 0))
		return -1;
	c->pending = no_header;
	c->columns.header = !no_header;
	for (size_t i = 0; i < c->count; i++) {
		snprintf(number, sizeof(number), "%zu", i + 1);
		columns_add(&c->columns, no_header ? number :
			    field_text(c, i));
	}
	return 0;
}

static void *
begin(const struct read_spec *want, const char *file, char separator,
      bool quotes, struct fail *f)
{
	struct csv *c = mem_alloc(1, sizeof(*c));

	c->separator = separator;
	c->quotes = quotes;
	c->bad = want->bad;
	c->told = true;
	if (lines_open(&c->lines, file, want->commands, f) == 0 &&
	    name_columns(c, want->no_header, f) == 0 &&
	    plan(c, want, f) == 0)
		return c;
	csv_close(c);
	return NULL;
}

static void *
csv_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	return begin(want, files[0], ',', true, f);
}

static void *
tsv_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	return begin(want, files[0], '\t', false, f);
}

/* A column_fill. */
static int
fill_field(void *state, size_t column, struct feature *to, size_t at,
	   size_t *count, struct fail *f)
{
	const struct csv *c = state;

	return feature_set_cut(to, at, field_text(c, column),
			       c->field[column].size, count, f);
}

/* Read columns of plain numbers, one for each value.  false: some column is not
   that plain, and columns_fill() has to read or refuse it. */
static bool
fill_numbers(const struct csv *c, const struct feed *feed, float *value)
{
	for (size_t i = 0; i < feed->count; i++) {
		const struct field *field = &c->field[feed->column[i]];

		if (!number_short(c->lines.text + field->start, field->size,
				  &value[i]))
			return false;
	}
	return true;
}

static int
fill_feed(struct csv *c, const struct feed *feed, struct feature *to,
	  size_t example, struct fail *f)
{
	if (feed->numbers &&
	    fill_numbers(c, feed, feature_values(to, example * feed->count,
						 feed->count)))
		return 0;
	return columns_fill(&c->columns, feed, to, example, fill_field, c, f);
}

/* Put c->number of the feed's columns into a feature.  false: a number does not
   fit the input, as an id that is out of range. */
static bool
put_numbers(const struct csv *c, const struct feed *feed, struct feature *to,
	    size_t example)
{
	const size_t at = example * feed->count;
	struct fail ignored;
	float *value;

	if (feed->unread) {
		read_spec_unread(to, example);
		return true;
	}
	for (size_t i = 0; !feed->numbers && i < feed->count; i++)
		if (feature_set_number(to, at + i,
				       (double)c->number[feed->column[i]],
				       FLT_MANT_DIG, &ignored) != 0)
			return false;
	if (!feed->numbers)
		return true;
	value = feature_values(to, at, feed->count);
	if (feed->together)
		memcpy(value, c->number + feed->column[0],
		       feed->count * sizeof(*value));
	for (size_t i = 0; !feed->together && i < feed->count; i++)
		value[i] = c->number[feed->column[i]];
	return true;
}

/*
 * Read a record of nothing but plain numbers, without splitting it.  false: the
 * record is not plain, or is wrong, and must be split.
 */
static bool
read_plain(const struct csv *c, struct batch *b)
{
	const struct lines *l = &c->lines;
	bool good;

	good = c->number && number_list(l->text, c->separator, c->number,
					c->form, c->columns.count) ==
			    l->text + l->size;
	for (size_t i = 0; i < c->columns.feeds && good; i++)
		good = put_numbers(c, &c->columns.feed[i], &b->feature[i],
				   b->examples);
	return good && (!c->columns.label.input ||
			put_numbers(c, &c->columns.label, &b->label,
				    b->examples));
}

static int
csv_read(void *state, struct batch *b, struct fail *f)
{
	struct csv *c = state;
	int got = 1;

	c->told = skip_records_reports(c->bad, b != NULL);
	if (!c->pending) {
		got = next_line(c, f);
		if (got <= 0 || (b && read_plain(c, b)))
			return got;
		if (split(c, f) != 0)
			return -1;
	}
	c->pending = false;
	if (c->count != c->columns.count) {
		fail(f, FAIL_DATA, "%zu field%s instead of %zu", c->count,
		     c->count == 1 ? "" : "s", c->columns.count);
		return bad_record(c, f);
	}
	got = 0;
	for (size_t i = 0; b && i < c->columns.feeds && got == 0; i++)
		got = fill_feed(c, &c->columns.feed[i], &b->feature[i],
				b->examples, f);
	if (b && got == 0 && c->columns.label.input)
		got = fill_feed(c, &c->columns.label, &b->label, b->examples,
				f);
	return got == 0 ? 1 : bad_record(c, f);
}

/* The names have been read at the front of the file, so a part that begins
   before their end begins at their end. */
static int
csv_seek(void *state, uint64_t from, uint64_t until, struct fail *f)
{
	struct csv *c = state;

	c->part = until != UINT64_MAX;
	if (c->pending && (from > 0 || lines_at(&c->lines) >= until))
		c->pending = false;
	else if (from < lines_behind(&c->lines))
		from = 0;
	return lines_seek(&c->lines, from, until, f);
}

static uint64_t
csv_at(const void *state)
{
	const struct csv *c = state;

	return source_plain(c->lines.source) ? lines_at(&c->lines) :
		UINT64_MAX;
}

const struct format format_csv = {
	.name = "csv", .suffix = ".csv",
	.open = csv_open, .read = csv_read, .close = csv_close,
	.seek = csv_seek, .at = csv_at,
};

const struct format format_tsv = {
	.name = "tsv", .suffix = ".tsv",
	.open = tsv_open, .read = csv_read, .close = csv_close,
	.seek = csv_seek, .at = csv_at,
};
