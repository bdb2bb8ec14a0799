#include "data/format.h"

#include "base/mem.h"
#include "base/text.h"
#include "data/digits.h"
#include "data/fill.h"
#include "data/form.h"
#include "data/number.h"
#include "data/lines.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field of the record, as a place in its text, which may move. */
struct field {
	size_t start, size;
};

/* The columns that one input takes. */
struct feed {
	const struct input *input;
	size_t *column, count, room;
	bool numbers;		/* floats, each a column */
	bool together;		/* the columns stand side by side */
	bool unread;		/* it is 1 in every record */
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
	char **name;		/* of the columns */
	size_t columns;		/* 0 until they are known */
	struct feed *feed;	/* of the inputs, then of the label */
	size_t feeds;		/* how many inputs */
	struct feed label;
	float *number;		/* of a record, each a column, if floats can
				   tell all that is wanted; else NULL */
	struct form *form;	/* of those, as they were last */
	bool pending;		/* the first record has been split already */
	bool part;		/* not to the end of the file */
};

static void
csv_close(void *state)
{
	struct csv *c = state;

	lines_release(&c->lines);
	free(c->field);
	for (size_t i = 0; i < c->columns; i++)
		free(c->name[i]);
	free(c->name);
	for (size_t i = 0; i < c->feeds; i++)
		free(c->feed[i].column);
	free(c->feed);
	free(c->label.column);
	free(c->number);
	free(c->form);
	free(c);
}

static int
csv_fail(const struct csv *c, struct fail *f)
{
	return lines_fail_at(&c->lines, c->line, f);
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
		return csv_fail(c, f);
	}
	*at = from;
	add_field(c, start, to);
	return 0;
}

static void
split_plain(struct csv *c, size_t *at)
{
	const struct lines *l = &c->lines;
	const uint64_t separators = (unsigned char)c->separator * DIGITS_EACH;
	const size_t start = *at;
	unsigned n = 8;

	/* Eight characters at a time; behind the line there is slack. */
	for (; *at < l->size && n == 8; *at += n) {
		const uint64_t other = digits_load(l->text + *at) ^
				       '0' * DIGITS_EACH ^ separators;

		n = digits_before(digits_zero(other));
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
	} while (got > 0 && l->size == 0 && c->columns != 1);
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

/* The names of the columns, as far as they fit a message. */
static void
list_columns(const struct csv *c, struct text *list)
{
	char shown[FILL_SHOWN];

	for (size_t i = 0; i < c->columns; i++) {
		if (list->size > 200) {
			text_add(list, ", ...");
			return;
		}
		text_add(list, "%s%s", i ? ", " : "",
			 fill_shown(c->name[i], strlen(c->name[i]), shown));
	}
}

static int
not_found(const struct csv *c, const struct input *in, const char *pattern,
	  struct fail *f)
{
	struct text list = { 0 };

	list_columns(c, &list);
	fail(f, FAIL_DATA, "no column %s for %s (%s); there are: %s", pattern,
	     in->name, in->where, list.data);
	text_release(&list);
	return csv_fail(c, f);
}

static bool
takes(const struct feed *feed, size_t column)
{
	for (size_t i = 0; i < feed->count; i++)
		if (feed->column[i] == column)
			return true;
	return false;
}

/* Is it this column by name, or a column of its own by the pattern? */
static bool
matches(const struct csv *c, const char *pattern, size_t column,
	const struct feed *apart)
{
	if (strcmp(pattern, c->name[column]) == 0)
		return true;
	return !takes(apart, column) && text_match(pattern, c->name[column]);
}

/* Add the columns that a pattern means; those there already stay as once. */
static int
add_columns(const struct csv *c, struct feed *feed, const char *pattern,
	    bool exact, const struct feed *apart, struct fail *f)
{
	size_t found = 0;

	for (size_t i = 0; i < c->columns; i++) {
		if (exact ? strcmp(pattern, c->name[i]) != 0 :
			    !matches(c, pattern, i, apart))
			continue;
		found++;
		if (takes(feed, i))
			continue;
		feed->column = mem_grow(feed->column, feed->count, &feed->room,
					sizeof(*feed->column));
		feed->column[feed->count++] = i;
	}
	if (found == 0)
		return not_found(c, feed->input, pattern, f);
	return 0;
}

/* As many columns as the input has values, or one to be cut. */
static int
check_width(const struct csv *c, const struct feed *feed, struct fail *f)
{
	const struct input *in = feed->input;
	const size_t width = in->separator ? 1 : input_width(in);

	if (width == 0 || width == feed->count)
		return 0;
	if (in->separator)
		fail(f, FAIL_DATA, "%s (%s) is cut out of one column by sep=, "
		     "but %zu columns feed it", in->name, in->where,
		     feed->count);
	else
		fail(f, FAIL_DATA, "%s (%s) takes %zu value%s, but %zu "
		     "column%s feed%s it", in->name, in->where, width,
		     width == 1 ? "" : "s",
		     feed->count, feed->count == 1 ? "" : "s",
		     feed->count == 1 ? "s" : "");
	return csv_fail(c, f);
}

static bool
side_by_side(const struct feed *feed)
{
	for (size_t i = 1; i < feed->count; i++)
		if (feed->column[i] != feed->column[0] + i)
			return false;
	return true;
}

/* No pattern takes by chance the columns that are set apart. */
static int
plan(const struct csv *c, struct feed *feed, const struct input *in,
     const struct feed *apart, struct fail *f)
{
	feed->input = in;
	feed->numbers = in->kind == INPUT_FLOAT && !in->binary &&
			!in->ragged && !in->separator;
	if (in->column_count == 0 &&
	    add_columns(c, feed, in->name, true, apart, f) != 0)
		return -1;
	for (size_t i = 0; i < in->column_count; i++)
		if (add_columns(c, feed, in->columns[i], false, apart, f) != 0)
			return -1;
	feed->together = side_by_side(feed);
	return check_width(c, feed, f);
}

/* Are its values numbers that floats hold, each a column of its own? */
static bool
told_by_floats(const struct input *in)
{
	return !in->ragged && !in->separator &&
		(in->kind == INPUT_FLOAT || (in->kind == INPUT_ID &&
		 !in->hashed && in->rows <= (uint64_t)1 << 24));
}

/* The columns of the label and of what weighs examples, as far as there are
   any. */
static void
set_apart(const struct csv *c, const struct want *want, struct feed *apart)
{
	static const struct feed none = { 0 };
	const struct input *label = want->label ? want->label : want->apart;
	struct fail ignored;

	if (label)
		plan(c, apart, label, &none, &ignored);
	for (size_t i = 0; i < want->count; i++)
		if (want->inputs[i].weighs)
			plan(c, apart, &want->inputs[i], &none, &ignored);
}

static int
plan_input(const struct csv *c, struct feed *feed, const struct input *in,
	   const struct want *want, const struct feed *apart, struct fail *f)
{
	feed->input = in;
	feed->unread = !want_reads(want, in);
	if (feed->unread)
		return 0;
	return plan(c, feed, in, in->weighs ? &c->label : apart, f);
}

static int
plan_all(struct csv *c, const struct want *want, struct fail *f)
{
	static const struct feed none = { 0 };
	struct feed apart = { 0 };
	bool plain = !want->label || told_by_floats(want->label);
	int got = 0;

	c->feed = mem_alloc(want->count, sizeof(*c->feed));
	c->feeds = want->count;
	if (want->label)
		got = plan(c, &c->label, want->label, &none, f);
	set_apart(c, want, &apart);
	for (size_t i = 0; i < want->count && got == 0; i++)
		got = plan_input(c, &c->feed[i], &want->inputs[i], want,
				 &apart, f);
	free(apart.column);
	for (size_t i = 0; i < want->count && plain; i++)
		plain = told_by_floats(&want->inputs[i]);
	if (plain) {
		c->number = mem_alloc(c->columns, sizeof(*c->number));
		c->form = mem_alloc(c->columns, sizeof(*c->form));
		for (size_t i = 0; i < c->columns; i++)
			c->form[i] = form_digit;
	}
	return got;
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
	if (got < 0 || split(c, f) != 0)
		return -1;
	c->pending = no_header;
	c->columns = c->count;
	c->name = mem_alloc(c->columns, sizeof(*c->name));
	for (size_t i = 0; i < c->columns; i++) {
		snprintf(number, sizeof(number), "%zu", i + 1);
		c->name[i] = mem_text(no_header ? number : field_text(c, i));
	}
	return 0;
}

static void *
begin(const struct want *want, const char *file, char separator, bool quotes,
      struct fail *f)
{
	struct csv *c = mem_alloc(1, sizeof(*c));

	c->separator = separator;
	c->quotes = quotes;
	if (lines_open(&c->lines, file, want->allow_pipe, f) == 0 &&
	    name_columns(c, want->no_header, f) == 0 &&
	    plan_all(c, want, f) == 0)
		return c;
	csv_close(c);
	return NULL;
}

static void *
csv_open(const struct want *want, char *const *files, struct fail *f)
{
	return begin(want, files[0], ',', true, f);
}

static void *
tsv_open(const struct want *want, char *const *files, struct fail *f)
{
	return begin(want, files[0], '\t', false, f);
}

/*
 * Cut a field and put its values from at on; returns how many.  The field is
 * left as it was, for the next input.  Between blanks there is nothing.
 */
static int
fill_cut(struct feature *to, size_t at, char *text, size_t size,
	 size_t *count, struct fail *f)
{
	const char separator = to->input->separator;
	char *const end = text + size;

	*count = 0;
	while (size > 0) {
		char *stop = memchr(text, separator, (size_t)(end - text));
		char *last = stop ? stop : end;
		const char saved = *last;

		*last = '\0';
		if (last > text || separator != ' ') {
			if (fill_text(to, at + *count, text,
				      (size_t)(last - text), f) != 0)
				return -1;
			++*count;
		}
		*last = saved;
		if (!stop)
			break;
		text = stop + 1;
	}
	return 0;
}

/* Put the fields of a feed from at on; *count says how many values. */
static int
fill_fields(const struct csv *c, const struct feed *feed, struct feature *to,
	    size_t at, size_t *count, struct fail *f)
{
	char shown[FILL_SHOWN];

	for (size_t i = 0; i < feed->count; i++) {
		const size_t column = feed->column[i];
		const char *name = c->name[column];
		const size_t size = c->field[column].size;
		char *text = field_text(c, column);
		size_t n = 1;

		if (feed->input->separator ?
		    fill_cut(to, at, text, size, &n, f) != 0 :
		    fill_text(to, at, text, size, f) != 0)
			return fail_at(f, "%s", fill_shown(name, strlen(name),
							   shown));
		at += n;
		*count += n;
	}
	return 0;
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
fill(const struct csv *c, const struct feed *feed, struct feature *to,
     size_t example, struct fail *f)
{
	const size_t width = input_width(feed->input);
	const size_t at = width ? example * width : to->offset[example];
	size_t count = 0;

	if (feed->unread) {
		want_unread(to, example);
		return 0;
	}
	if (feed->numbers &&
	    fill_numbers(c, feed, feature_values(to, at, width)))
		return 0;
	if (fill_fields(c, feed, to, at, &count, f) != 0)
		return -1;
	if (width == 0)
		feature_set_offset(to, example + 1, at + count);
	else if (count != width)
		return fail(f, FAIL_DATA, "%s: %zu value%s instead of %zu",
			    feed->input->name, count, count == 1 ? "" : "s",
			    width);
	return 0;
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
		want_unread(to, example);
		return true;
	}
	for (size_t i = 0; !feed->numbers && i < feed->count; i++)
		if (fill_number(to, at + i,
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
					c->form, c->columns) ==
			    l->text + l->size;
	for (size_t i = 0; i < c->feeds && good; i++)
		good = put_numbers(c, &c->feed[i], &b->feature[i],
				   b->examples);
	return good && (!c->label.input ||
			put_numbers(c, &c->label, &b->label, b->examples));
}

static int
csv_read(void *state, struct batch *b, struct fail *f)
{
	struct csv *c = state;
	int got = 1;

	if (!c->pending) {
		got = next_line(c, f);
		if (got <= 0 || (b && read_plain(c, b)))
			return got;
		if (split(c, f) != 0)
			return -1;
	}
	c->pending = false;
	if (c->count != c->columns) {
		fail(f, FAIL_DATA, "%zu field%s instead of %zu", c->count,
		     c->count == 1 ? "" : "s", c->columns);
		return csv_fail(c, f);
	}
	got = 0;
	for (size_t i = 0; b && i < c->feeds && got == 0; i++)
		got = fill(c, &c->feed[i], &b->feature[i], b->examples, f);
	if (b && got == 0 && c->label.input)
		got = fill(c, &c->label, &b->label, b->examples, f);
	return got == 0 ? 1 : csv_fail(c, f);
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
