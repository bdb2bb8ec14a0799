#include "data/feature_set.h"

#include "base/text.h"
#include "base/visible.h"
#include "data/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *
feature_set_shown(const char *text, size_t size, char shown[FEATURE_SET_SHOWN])
{
	if (visible_copy(shown, FEATURE_SET_SHOWN - 3, text, size) < size)
		strcat(shown, "...");
	return shown;
}

static int
fail_text(const char *text, size_t size, const char *what, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];

	return fail(f, FAIL_DATA, "'%s' %s",
		    feature_set_shown(text, size, shown), what);
}

static const char *
skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* Read a text that is one number, with blanks around it or none. */
static int
read_float(const char *text, size_t size, float *x, struct fail *f)
{
	const bool plus = text[0] == '+' && text[1] != '-';
	const char *start, *end;

	if (number_short(text + plus, size - plus, x))
		return 0;
	start = skip_blanks(text);
	if (start == text + size)
		return fail(f, FAIL_DATA, "the number is missing");
	end = number_float(start, x);
	if (!end || skip_blanks(end) != text + size)
		return fail_text(text, size, "is not a finite number", f);
	if (!isfinite(*x))
		return fail_text(text, size, "is too large for a float", f);
	return 0;
}

static int
fail_mixed_labels(struct fail *f, const char *label, const char *others)
{
	return fail(f, FAIL_DATA, "%s, where others are %s: -1, 0 and 1 are "
		    "three classes, and binary is 0 and 1, or -1 and 1", label,
		    others);
}

int
feature_set_add_negatives(struct negative_labels *negatives,
			  const struct batch *b, size_t first,
			  size_t n, struct fail *f)
{
	const bool binary = b->label.input && b->label.input->binary;
	struct negative_labels all = *negatives;

	if (binary)
		negative_labels_add(&all, b->label.value + first, n);
	if (all.zero && all.minus)
		return negatives->zero ?
			fail_mixed_labels(f, "a label of -1", "0") :
			fail_mixed_labels(f, "a label of 0", "-1");
	*negatives = all;
	return 0;
}

/*
 * Where a number comes from, so that messages can show it: a text, or a binary
 * type.
 */
struct origin {
	const char *text;	/* size characters; NULL: a binary type */
	size_t size;
	int digits;		/* bits in the significand of the type */
};

static const char *
show_value(const struct origin *from, double x, char shown[FEATURE_SET_SHOWN])
{
	const char *p = from->text, *end = p ? p + from->size : NULL;
	char number[TEXT_NUMBER];

	if (!p && (from->digits > FLT_MANT_DIG || !isfinite((float)x)))
		return strcpy(shown, text_number(x, number));
	if (!p)
		return strcpy(shown, text_number_float((float)x, number));
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return feature_set_shown(p, (size_t)(end - p), shown);
}

/* Fail: the id that is shown is not one of the input's. */
static int
out_of_range(const struct feature *to, const char *shown, struct fail *f)
{
	const struct input *in = to->input;

	return fail(f, FAIL_DATA, "%s is out of range, %lld to %llu", shown,
		    in->hashed ? (long long)INT64_MIN : 0,
		    (unsigned long long)in->rows - 1);
}

/* Is n, or -n if below_zero, an id of the input? */
static bool
is_id(const struct input *in, uint64_t n, bool below_zero)
{
	if (below_zero)
		return n <= (in->hashed ? (uint64_t)1 << 63 : 0);
	return in->hashed || n < in->rows;
}

int
feature_set_integer(struct feature *to, size_t at, uint64_t n, bool below_zero,
		    struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];

	if (!is_id(to->input, n, below_zero)) {
		snprintf(shown, sizeof(shown), "%s%llu", below_zero ? "-" : "",
			 (unsigned long long)n);
		return out_of_range(to, shown, f);
	}
	feature_add_id(to, at, below_zero ? -n : n);	/* as 64 bits */
	return 0;
}

/*
 * Add an id that is written as a float, as some tools write ids and classes.
 * Above the significand of its type the number may be another one that was
 * rounded: by the tool that wrote "7.9E+17", if not by us.  So it is refused.
 */
static int
add_float_id(struct feature *to, size_t at, double x,
	     const struct origin *from, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];

	if (!(x == floor(x)) || !isfinite(x))
		return fail(f, FAIL_DATA, "%s is not a whole number",
			    show_value(from, x, shown));
	if (fabs(x) >= (double)((uint64_t)1 << from->digits))
		return fail(f, FAIL_DATA, "%s is too large to be exact; %s",
			    show_value(from, x, shown), from->text ?
			    "ids need all their digits" :
			    "ids must be integers");
	if (!is_id(to->input, (uint64_t)fabs(x), x < 0))
		return out_of_range(to, show_value(from, x, shown), f);
	return feature_set_integer(to, at, (uint64_t)fabs(x), x < 0, f);
}

/* Add a label of 0 or 1, or -1 or 1; all labels of a data set must use the same
   pair, see struct negative_labels. */
static int
add_binary(struct feature *to, size_t at, float x, const struct origin *from,
	   struct fail *f)
{
	const struct negative_labels *negatives = to->negatives;
	char shown[FEATURE_SET_SHOWN];

	if (x != 0 && x != 1 && x != -1)
		return fail(f, FAIL_DATA, "%s is neither 0 or 1 nor -1 or +1",
			    show_value(from, (double)x, shown));
	if (negatives && (x < 0 ? negatives->zero : x == 0 && negatives->minus))
		return fail_mixed_labels(f, show_value(from, (double)x, shown),
					 x < 0 ? "0" : "-1");
	feature_add_value(to, at, x > 0 ? 1 : x < 0 ? -0.f : 0);
	return 0;
}

static int
add_float(struct feature *to, size_t at, float x, const struct origin *from,
	  struct fail *f)
{
	if (to->input->binary)
		return add_binary(to, at, x, from, f);
	feature_add_value(to, at, x);
	return 0;
}

/* A whole number in a text; a sign and ".000" may be there. */
struct whole {
	const char *text, *end;
	uint64_t n;		/* without the sign */
	bool below_zero, fits;
};

static bool
read_whole(const char *text, struct whole *to)
{
	const bool sign = *text == '-' || *text == '+';

	to->text = text;
	to->below_zero = *text == '-';
	to->end = number_uint(text + sign, &to->n, &to->fits);
	if (!to->end)
		return false;
	if (*to->end == '.')
		to->end += 1 + strspn(to->end + 1, "0");
	return true;
}

static int
add_whole(struct feature *to, size_t at, const struct whole *w, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];

	if (w->fits && is_id(to->input, w->n, w->below_zero))
		return feature_set_integer(to, at, w->n, w->below_zero, f);
	return out_of_range(to, feature_set_shown(w->text,
						  (size_t)(w->end - w->text),
						  shown), f);
}

/* Add the number of a bin: how many boundaries are not above x. */
static int
add_bin(struct feature *to, size_t at, float x)
{
	const float *boundary = to->input->boundaries;
	size_t low = 0, high = to->input->boundary_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (x < boundary[middle])
			high = middle;
		else
			low = middle + 1;
	}
	feature_add_id(to, at, low);
	return 0;
}

static int
fill_id(struct feature *to, size_t at, const char *text, size_t size,
	struct fail *f)
{
	const bool bins = to->input->boundary_count > 0;
	const struct origin from = { text, size, FLT_MANT_DIG };
	struct whole w;
	float x;

	if (!bins && read_whole(skip_blanks(text), &w) &&
	    skip_blanks(w.end) == text + size)
		return add_whole(to, at, &w, f);
	if (read_float(text, size, &x, f) != 0)
		return -1;
	return bins ? add_bin(to, at, x) :
		add_float_id(to, at, (double)x, &from, f);
}

static int
fill_word(struct feature *to, size_t at, const char *text, size_t size,
	  struct fail *f)
{
	const uint64_t id = lookup_find(to->input->lookup, text, size);

	if (id == LOOKUP_UNKNOWN)
		return fail_text(text, size, "is not in the vocabulary", f);
	feature_add_id(to, at, id);
	return 0;
}

static int
fill_pair(struct feature *to, size_t at, const char *text, size_t size,
	  struct fail *f)
{
	const char *const end = text + size, *colon = NULL;
	struct whole w;
	float x = 1;

	if (read_whole(skip_blanks(text), &w))
		colon = skip_blanks(w.end);
	if (!colon || (*colon != ':' && colon != end))
		return fail_text(text, size, "is not id:weight", f);
	if (colon != end &&
	    read_float(colon + 1, (size_t)(end - colon - 1), &x, f) != 0)
		return -1;
	if (add_whole(to, at, &w, f) != 0)
		return -1;
	feature_add_weight(to, at, x);
	return 0;
}

int
feature_set_text(struct feature *to, size_t at, const char *text, size_t size,
		 struct fail *f)
{
	const struct origin from = { text, size, FLT_MANT_DIG };
	float x;

	switch (to->input->kind) {
	case INPUT_ID:
		return fill_id(to, at, text, size, f);
	case INPUT_STRING:
		return fill_word(to, at, text, size, f);
	case INPUT_SPARSE:
		return fill_pair(to, at, text, size, f);
	default:
		if (read_float(text, size, &x, f) != 0)
			return -1;
		return add_float(to, at, x, &from, f);
	}
}

int
feature_set_cut(struct feature *to, size_t at, char *text, size_t size,
		size_t *count, struct fail *f)
{
	const char separator = to->input->separator;
	const size_t most = to->input->pad ? input_width(to->input) : SIZE_MAX;
	char *const end = text + size;

	*count = 1;
	if (!separator)
		return feature_set_text(to, at, text, size, f);
	*count = 0;
	while (size > 0 && *count < most) {
		char *stop = memchr(text, separator, (size_t)(end - text));
		char *last = stop ? stop : end;
		const char saved = *last;

		*last = '\0';
		if (last > text || separator != ' ') {
			if (feature_set_text(to, at + *count, text,
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

int
feature_set_padding(struct feature *to, size_t at, size_t count, struct fail *f)
{
	const struct input *in = to->input;
	const size_t width = in->pad ? input_width(in) : 0;

	_Static_assert(INPUT_SLACK >= NUMBER_SLACK, "numbers are read on");
	for (; count < width; count++)
		if (feature_set_text(to, at + count, in->pad, strlen(in->pad),
				     f) != 0)
			return -1;
	return 0;
}

int
feature_set_number(struct feature *to, size_t at, double x, int digits,
		   struct fail *f)
{
	const bool bins = to->input->boundary_count > 0;
	const struct origin from = { .digits = digits };
	char shown[FEATURE_SET_SHOWN];

	if (to->input->kind != INPUT_FLOAT && !bins)
		return add_float_id(to, at, x, &from, f);
	if (!isfinite((float)x))
		return fail(f, FAIL_DATA, "%s is %s",
			    show_value(&from, x, shown),
			    isfinite(x) ? "too large for a float" :
			    "not a finite number");
	return bins ? add_bin(to, at, (float)x) :
		add_float(to, at, (float)x, &from, f);
}
