#include "tensor/shape.h"

#include <stdio.h>

size_t
shape_size(struct shape s)
{
	size_t n = 1;

	for (int i = 0; i < s.rank; i++)
		n *= s.dim[i];
	return n;
}

size_t
shape_rows(struct shape s)
{
	return s.rank > 0 ? s.dim[0] : 1;
}

size_t
shape_width(struct shape s)
{
	size_t n = 1;

	for (int i = 1; i < s.rank; i++)
		n *= s.dim[i];
	return n;
}

bool
shape_equal(struct shape a, struct shape b)
{
	if (a.rank != b.rank)
		return false;
	for (int i = 0; i < a.rank; i++)
		if (a.dim[i] != b.dim[i])
			return false;
	return true;
}

bool
shape_sound(const struct shape *s)
{
	const size_t limit = (size_t)1 << 48;
	size_t n = 1;

	if (s->rank < 0 || s->rank > SHAPE_RANK)
		return false;
	for (int i = 0; i < s->rank; i++) {
		if (s->dim[i] == 0 || s->dim[i] > limit / n)
			return false;
		n *= s->dim[i];
	}
	return true;
}

bool
shape_sound_rows(const struct shape *s)
{
	struct shape filled = *s;

	if (filled.rank > 0 && filled.dim[0] == 0)
		filled.dim[0] = 1;
	return shape_sound(&filled);
}

const char *
shape_text(struct shape s, char text[SHAPE_TEXT])
{
	int n = snprintf(text, SHAPE_TEXT, "[");

	for (int i = 0; i < s.rank; i++)
		n += snprintf(text + n, SHAPE_TEXT - (size_t)n, "%s%zu",
			      i ? ", " : "", s.dim[i]);
	snprintf(text + n, SHAPE_TEXT - (size_t)n, "]");
	return text;
}
