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

/* A field of the record, as a place in its text, which may move. */
struct field {
	size_t start, size;
};

/*
 * Comma-separated values as RFC 4180 has them, or tab-separated ones, in which
 * a quote is a character like another.
 */
struct csv {
	struct lines lines;
	char separator;
	bool quotes;
	uint64_t line;		/* where the record begins */
	struct field *field;	/* of the record; each ends in a NUL */
	size_t count, room;
	struct columns columns;	/* none until they are known */
	const struct skip_records *bad;	/* what may be passed over, or NULL */
	bool told;		/* so that the line of a bad one is wanted */
	float *number;		/* of a record, each a column, if floats can
				   tell all that is wanted; else NULL */
	struct number_format *form;	/* of those, as they were last */
	bool pending;		/* the first record has been split already */
	bool part;		/* not to the end of the file */
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

/* What comes behind it can be read. */
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

/* A field in quotes, which *at moves past; quotes doubled inside are one. */
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

	/* Eight characters at a time; behind the line there is slack. */
	for (; *at < l->size && n == 8; *at += n) {
		const uint64_t other = swar_load(l->text + *at) ^
				       '0' * SWAR_EACH ^ separators;

		n = swar_before(swar_zero(other));
	}
	if (*at > l->size)
		*at = l->size;
	add_field(c, start, *at);
}

/* The line in which the next record begins: 1; 0: no more. */
static int
next_line(struct csv *c, struct fail *f)
{
	struct lines *l = &c->lines;
	int got;

	/* An empty one can be a record of one column only. */
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

	/* Where the file was cut may be between quotes. */
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

/* Are its values numbers that floats hold, each a column of its own? */
static bool
told_by_floats(const struct input *in)
{
	return !in->ragged && !in->separator &&
		(in->kind == INPUT_FLOAT || (in->kind == INPUT_ID &&
		 !in->hashed && in->rows <= (uint64_t)1 << 24));
}

/* If all that is wanted is, a record of plain numbers need not be cut. */
static void
plan_floats(struct csv *c, const struct read_spec *want)
{
	bool plain = !want->label || told_by_floats(want->label);

	for (size_t i = 0; i < want->count && plain; i++)
		plain = told_by_floats(&want->inputs[i]);
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

/* A name ends at a NUL, and what is behind it would go by the same one. */
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

/* Name the columns by the first line, or by numbers. */
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

/*
 * Columns of plain numbers, one for each value; false if there is anything
 * else about them, which fill_fields() is to find out.
 */
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
fill(struct csv *c, const struct feed *feed, struct feature *to,
     size_t example, struct fail *f)
{
	if (feed->numbers &&
	    fill_numbers(c, feed, feature_values(to, example * feed->count,
						 feed->count)))
		return 0;
	return columns_fill(&c->columns, feed, to, example, fill_field, c, f);
}

/* false: some do not fit. */
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
 * A record of nothing but plain numbers need not be cut; false: it is another,
 * or there is something wrong with it.
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
		got = fill(c, &c->columns.feed[i], &b->feature[i],
			   b->examples, f);
	if (b && got == 0 && c->columns.label.input)
		got = fill(c, &c->columns.label, &b->label, b->examples, f);
	return got == 0 ? 1 : bad_record(c, f);
}

/* The names stand at the front, and no record begins before their end. */
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
