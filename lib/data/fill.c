#include "data/fill.h"

#include "data/number.h"

#include <math.h>

const char *
fill_shown(const char *text, size_t size, char shown[FILL_SHOWN])
{
	size_t n = 0;

	while (n < size && n + 4 < FILL_SHOWN) {
		const unsigned char c = (unsigned char)text[n];

		shown[n++] = c < ' ' || c == 127 ? '?' : (char)c;
	}
	for (size_t i = 0; n < size && i < 3; i++)
		shown[n + i] = '.';
	shown[n < size ? n + 3 : n] = '\0';
	return shown;
}

static int
misfit(const char *text, size_t size, const char *what, struct fail *f)
{
	char shown[FILL_SHOWN];

	return fail(f, FAIL_DATA, "'%s' %s", fill_shown(text, size, shown),
		    what);
}

static const char *
skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* The whole of the text, but for blanks, is one number. */
static int
read_float(const char *text, size_t size, float *x, struct fail *f)
{
	const char *start, *end;

	if (number_short(text, size, x))
		return 0;
	start = skip_blanks(text);
	if (start == text + size)
		return fail(f, FAIL_DATA, "the number is missing");
	end = number_float(start, x);
	if (!end || skip_blanks(end) != text + size)
		return misfit(text, size, "is not a finite number", f);
	if (!isfinite(*x))
		return misfit(text, size, "is too large for a float", f);
	return 0;
}

static int
add_id(struct feature *to, size_t at, uint64_t id, struct fail *f)
{
	if (id >= to->input->rows && !to->input->hashed)
		return fail(f, FAIL_DATA, "%llu is out of range, 0 to %llu",
			    (unsigned long long)id,
			    (unsigned long long)to->input->rows - 1);
	feature_add_id(to, at, id);
	return 0;
}

static int
below_zero(const struct feature *to, double x, struct fail *f)
{
	return fail(f, FAIL_DATA, "%.0f is out of range, 0 to %llu", x,
		    (unsigned long long)to->input->rows - 1);
}

/* A whole number in a float, as some tools write ids and classes. */
static int
add_float_id(struct feature *to, size_t at, float x, struct fail *f)
{
	if (!(x == floorf(x)) || !isfinite(x))
		return fail(f, FAIL_DATA, "%g is not a whole number",
			    (double)x);
	if (x < 0)
		return below_zero(to, (double)x, f);
	if (x > 0x1p24f)
		return fail(f, FAIL_DATA, "%g is too large to be exact; "
			    "ids must be integers", (double)x);
	return add_id(to, at, (uint64_t)x, f);
}

static int
add_float(struct feature *to, size_t at, float x, struct fail *f)
{
	if (to->input->binary) {
		if (x != 0 && x != 1 && x != -1)
			return fail(f, FAIL_DATA,
				    "%g is neither 0 or 1 nor -1 or +1",
				    (double)x);
		x = x > 0;
	}
	feature_add_value(to, at, x);
	return 0;
}

static int
fill_id(struct feature *to, size_t at, const char *text, size_t size,
	struct fail *f)
{
	const char *start = skip_blanks(text), *end;
	uint64_t id;
	float x;

	end = number_uint(start + (*start == '+'), &id);
	if (*start == '-' && to->input->hashed) {
		end = number_uint(start + 1, &id);
		id = -id;	/* as 64 bits */
	}
	if (end && skip_blanks(end) == text + size)
		return add_id(to, at, id, f);
	if (read_float(text, size, &x, f) != 0)
		return -1;
	return add_float_id(to, at, x, f);
}

static int
fill_word(struct feature *to, size_t at, const char *text, size_t size,
	  struct fail *f)
{
	const uint64_t id = lookup_find(to->input->lookup, text, size);

	if (id == LOOKUP_UNKNOWN)
		return misfit(text, size, "is not in the vocabulary", f);
	feature_add_id(to, at, id);
	return 0;
}

static int
fill_pair(struct feature *to, size_t at, const char *text, size_t size,
	  struct fail *f)
{
	uint64_t id;
	const char *end = number_uint(text, &id);
	float x = 1;

	if (!end || (*end != ':' && end != text + size))
		return misfit(text, size, "is not id:weight", f);
	if (*end == ':' &&
	    read_float(end + 1, size - (size_t)(end + 1 - text), &x, f) != 0)
		return -1;
	if (add_id(to, at, id, f) != 0)
		return -1;
	feature_add_weight(to, at, x);
	return 0;
}

int
fill_text(struct feature *to, size_t at, const char *text, size_t size,
	  struct fail *f)
{
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
		return add_float(to, at, x, f);
	}
}

int
fill_number(struct feature *to, size_t at, float x, struct fail *f)
{
	if (to->input->kind != INPUT_FLOAT)
		return add_float_id(to, at, x, f);
	if (!isfinite(x))
		return fail(f, FAIL_DATA, "%g is not a finite number",
			    (double)x);
	return add_float(to, at, x, f);
}

int
fill_integer(struct feature *to, size_t at, int64_t n, struct fail *f)
{
	if (to->input->kind == INPUT_FLOAT)
		return fill_number(to, at, (float)n, f);
	if (n < 0 && !to->input->hashed)
		return below_zero(to, (double)n, f);
	return add_id(to, at, (uint64_t)n, f);
}
