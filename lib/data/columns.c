#include "data/columns.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "data/feature_set.h"
#include "data/order.h"

#include <stdlib.h>
#include <string.h>

#define LISTED	200		/* characters of names in a message */

void
columns_add(struct columns *c, const char *name)
{
	c->name = mem_grow(c->name, c->count, &c->room, sizeof(*c->name));
	c->name[c->count++] = mem_text(name);
}

void
columns_release(struct columns *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->name[i]);
	free(c->name);
	for (size_t i = 0; i < c->feeds; i++)
		free(c->feed[i].column);
	free(c->feed);
	free(c->label.column);
	lookup_free(c->any.lookup);
	batch_release(&c->crossed);
	*c = (struct columns){ 0 };
}

static const char *
show_column(const struct columns *c, size_t column,
	    char text[FEATURE_SET_SHOWN])
{
	return feature_set_shown(c->name[column], strlen(c->name[column]),
				 text);
}

/* List the names of the columns, as far as a message has room. */
static void
list(const struct columns *c, struct text *names)
{
	char text[FEATURE_SET_SHOWN];

	for (size_t i = 0; i < c->count; i++) {
		if (names->size > LISTED) {
			text_add(names, ", ...");
			return;
		}
		text_add(names, "%s%s", i ? ", " : "", show_column(c, i, text));
	}
}

/* Is the line of names a record?  All of its fields are numbers then. */
static bool
are_values(const struct columns *c)
{
	bool values = c->header && c->count > 0;
	float value;

	for (size_t i = 0; i < c->count && values; i++)
		values = text_float(c->name[i], &value);
	return values;
}

/* Return what else the one name may be: names that something else than the
   format's character separates. */
static const char *
separated(const struct columns *c)
{
	const char *name = c->count == 1 && c->header ? c->name[0] : "";

	for (size_t i = 0; i < c->count && c->header; i++)
		if (strchr(c->name[i], '\r'))
			return "; a line ends with a newline, not with a "
				"carriage return alone";
	return strchr(name, '\t') ? "; tabs separate them in tsv: say -F tsv" :
		strchr(name, ',') ? "; commas separate them in csv: say -F "
		"csv" :
		strchr(name, ';') ? "; commas separate them in csv, not "
		"semicolons" : "";
}

static int
fail_no_column(const struct columns *c, const struct input *in,
	       const char *pattern, struct fail *f)
{
	struct text names = { 0 };

	list(c, &names);
	fail(f, FAIL_DATA, "no column %s for %s (%s); there %s%s%s%s", pattern,
	     in->name, in->where, names.size ? "are: " : "is none",
	     names.size ? names.data : "", are_values(c) ?
	     "; if that is a record, say --no-header" : "", separated(c));
	text_release(&names);
	return -1;
}

/*
 * There may be a million columns and thousands of inputs, so names are sorted,
 * and taken[] stands for a set of columns that need not be cleared.
 */
struct planner {
	struct columns *c;
	struct names_sorted names;
	size_t feeds, *taken;	/* number of this feed, from 1; for each column
				   that of the last feed that took it */
	bool *label, *apart;	/* for each column: is it the label's?  Is it
				   the label's or a sample_weight's? */
};

static void
planner_begin(struct planner *p, struct columns *c)
{
	*p = (struct planner){ .c = c };
	names_sort(&p->names, (const char *const *)c->name, c->count);
	p->taken = mem_alloc(c->count, sizeof(*p->taken));
	p->label = mem_alloc(c->count, sizeof(*p->label));
	p->apart = mem_alloc(c->count, sizeof(*p->apart));
}

static void
planner_end(struct planner *p)
{
	names_sorted_release(&p->names);
	free(p->taken);
	free(p->label);
	free(p->apart);
}

/*
 * Add the columns that match a pattern to a feed, each column once, in the
 * order of their names: another file may have them in another order.  Those
 * that are set apart must be named: a pattern does not match them.
 */
static int
add_matching(struct planner *p, struct feed *feed, const char *pattern,
	     bool exact, const bool *apart, struct fail *f)
{
	size_t count, found = 0;
	const size_t *match = names_match(&p->names, pattern, !exact, &count);
	const size_t before = feed->count;

	for (size_t i = 0; i < count; i++) {
		const size_t column = match[i];

		if (apart && apart[column] &&
		    strcmp(pattern, p->c->name[column]) != 0)
			continue;
		found++;
		if (p->taken[column] == p->feeds)
			continue;
		p->taken[column] = p->feeds;
		feed->column = mem_grow(feed->column, feed->count, &feed->room,
					sizeof(*feed->column));
		feed->column[feed->count++] = column;
	}
	if (found == 0)
		return fail_no_column(p->c, feed->input, pattern, f);
	names_order(p->names.name, feed->column + before,
		    feed->count - before);
	return 0;
}

static bool
is_contiguous(const struct feed *feed)
{
	for (size_t i = 1; i < feed->count; i++)
		if (feed->column[i] != feed->column[0] + i)
			return false;
	return true;
}

static int
plan(struct planner *p, struct feed *feed, const struct input *in,
     const bool *apart, struct fail *f)
{
	p->feeds++;
	feed->input = in;
	feed->numbers = in->kind == INPUT_FLOAT && !in->binary &&
			!in->ragged && !in->separator;
	if (in->column_count == 0 &&
	    add_matching(p, feed, in->name, true, apart, f) != 0)
		return -1;
	for (size_t i = 0; i < in->column_count; i++)
		if (add_matching(p, feed, in->columns[i], false, apart, f) != 0)
			return -1;
	feed->together = is_contiguous(feed);
	return 0;
}

/* Check for as many columns as the input has values, or for one to be cut. */
static int
check_width(const struct feed *feed, struct fail *f)
{
	const struct input *in = feed->input;
	const size_t width = in->separator ? 1 : input_width(in);

	if (width == 0 || width == feed->count || feed->unread || in->crossed)
		return 0;
	if (in->separator)
		return fail(f, FAIL_DATA, "%s (%s) is cut out of one column by "
			    "sep=, but %zu columns feed it", in->name,
			    in->where, feed->count);
	return fail(f, FAIL_DATA, "%s (%s) takes %zu value%s, but %zu "
		    "column%s feed%s it", in->name, in->where, width,
		    width == 1 ? "" : "s",
		    feed->count, feed->count == 1 ? "" : "s",
		    feed->count == 1 ? "s" : "");
}

/* Mark the columns of the label, and those of inputs that only weigh examples;
   a missing one is reported later, by the plan of its own input. */
static void
mark_apart(struct planner *p, const struct read_spec *want)
{
	const struct input *label = want->label ? want->label : want->apart;
	const struct feed *feed = &p->c->label;

	for (size_t i = 0; i < feed->count; i++)
		p->label[feed->column[i]] = true;
	for (size_t i = 0; i <= want->count; i++) {
		const struct input *in = i < want->count ? &want->inputs[i] :
			label;
		struct feed of = { 0 };
		struct fail ignored;

		if (!in || (i < want->count && !in->weighs))
			continue;
		plan(p, &of, in, NULL, &ignored);
		for (size_t k = 0; k < of.count; k++)
			p->apart[of.column[k]] = true;
		free(of.column);
	}
}

/*
 * Check that columns that match a pattern have the places that they had in
 * earlier files.  Numbered columns, as with --no-header, have but one order.
 */
static int
check_order(const struct planner *p, const struct read_spec *want, size_t input,
	    const struct feed *feed, struct fail *f)
{
	const char **name;
	int got;

	if (!want->order || want->no_header || feed->unread ||
	    feed->count < 2)
		return 0;
	name = mem_alloc(feed->count, sizeof(*name));
	for (size_t i = 0; i < feed->count; i++)
		name[i] = p->c->name[feed->column[i]];
	got = order_keep(want->order, want->count, input, name, feed->count,
			 f);
	free(name);
	return got == 0 ? 0 : fail_at(f, "%s (%s)", feed->input->name,
				      feed->input->where);
}

static int
plan_input(struct planner *p, const struct read_spec *want, size_t i,
	   bool narrow, struct fail *f)
{
	const struct input *in = &want->inputs[i];
	struct feed *feed = &p->c->feed[i];

	feed->input = in;
	feed->unread = !read_spec_reads(want, in);
	feed->word = p->c->any;
	feed->word.name = in->name;
	memcpy(feed->word.where, in->where, sizeof(in->where));
	if (!feed->unread &&
	    plan(p, feed, in, in->weighs ? p->label : p->apart, f) != 0)
		return -1;
	if (narrow && check_width(feed, f) != 0)
		return -1;
	return check_order(p, want, i, feed, f);
}

int
columns_plan(struct columns *c, const struct read_spec *want, bool narrow,
	     struct fail *f)
{
	struct planner p;
	int got = 0;

	c->feed = mem_alloc(want->count, sizeof(*c->feed));
	c->feeds = want->count;
	c->any = (struct input){
		.kind = INPUT_STRING, .hashed = true,
		.lookup = lookup_hashing(UINT64_MAX)
	};
	batch_begin(&c->crossed, &c->any, 1, NULL);
	planner_begin(&p, c);
	if (want->label)
		got = plan(&p, &c->label, want->label, NULL, f);
	if (want->label && got == 0 && narrow)
		got = check_width(&c->label, f);
	mark_apart(&p, want);
	for (size_t i = 0; i < want->count && got == 0; i++)
		got = plan_input(&p, want, i, narrow, f);
	planner_end(&p);
	return got;
}

/* Fill from one column; a failure names it. */
static int
fill_one(const struct columns *c, size_t column, struct feature *to, size_t at,
	 size_t *count, column_fill *fill, void *record, struct fail *f)
{
	char text[FEATURE_SET_SHOWN];

	return fill(record, column, to, at, count, f) == 0 ? 0 :
		fail_at(f, "%s", show_column(c, column, text));
}

/*
 * Make one id of the words of all columns: h(i) = XXH3-64 of h(i - 1) and the
 * hash of word i, with h(0) = 0.  Modulo the rows, unless the input is hashed.
 */
static int
fill_crossed(const struct columns *c, const struct feed *feed,
	     struct feature *to, size_t example, column_fill *fill,
	     void *record, struct fail *f)
{
	struct feature *word = &c->crossed.feature[0];
	uint64_t hash = 0;

	word->input = &feed->word;
	for (size_t i = 0; i < feed->count; i++) {
		char text[FEATURE_SET_SHOWN];
		size_t n;

		if (fill_one(c, feed->column[i], word, 0, &n, fill, record,
			     f) != 0)
			return -1;
		if (n != 1)
			return fail(f, FAIL_DATA, "%s: %zu words cannot be "
				    "crossed",
				    show_column(c, feed->column[i], text), n);

		const uint64_t pair[] = { hash, feature_id(word, 0) };

		hash = hash64(pair, sizeof(pair));
	}
	feature_add_id(to, example, feed->input->hashed ? hash :
		       hash % feed->input->rows);
	return 0;
}

int
columns_fill(const struct columns *c, const struct feed *feed,
	     struct feature *to, size_t example, column_fill *fill,
	     void *record, struct fail *f)
{
	const size_t width = input_width(feed->input);
	const size_t at = width ? example * width : to->offset[example];
	size_t count = 0;

	if (feed->unread) {
		read_spec_unread(to, example);
		return 0;
	}
	if (feed->input->crossed)
		return fill_crossed(c, feed, to, example, fill, record, f);
	for (size_t i = 0; i < feed->count; i++) {
		size_t n;

		if (fill_one(c, feed->column[i], to, at + count, &n, fill,
			     record, f) != 0)
			return -1;
		count += n;
	}
	if (feature_set_padding(to, at, count, f) != 0)
		return -1;
	if (feed->input->pad)
		count = width;
	if (width == 0)
		feature_set_offset(to, example + 1, at + count);
	else if (count != width)
		return fail(f, FAIL_DATA, "%s: %zu value%s instead of %zu",
			    feed->input->name, count, count == 1 ? "" : "s",
			    width);
	return 0;
}
