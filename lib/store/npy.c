#include "store/npy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAGIC	"\x93NUMPY"

/* A place in the header's text, which is a Python dictionary. */
struct cursor {
	const char *at, *end;
};

static size_t
write_header(struct shape s, const char *type, char header[NPY_HEADER_MAX])
{
	char *text = header + 10;
	const size_t room = NPY_HEADER_MAX - 10;
	size_t n;

	n = (size_t)snprintf(text, room, "{'descr': '%s', "
			     "'fortran_order': False, 'shape': (", type);
	for (int i = 0; i < s.rank; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%zu",
				      i ? ", " : "", s.dim[i]);
	/* In Python a tuple of one item needs a comma. */
	n += (size_t)snprintf(text + n, room - n, "%s), }",
			      s.rank == 1 ? "," : "");
	while ((10 + n + 1) % 64 != 0)
		text[n++] = ' ';
	text[n++] = '\n';

	memcpy(header, MAGIC "\x01\x00", 8);
	header[8] = (char)(n & 0xff);
	header[9] = (char)(n >> 8);
	return 10 + n;
}

size_t
npy_header(struct shape s, char header[NPY_HEADER_MAX])
{
	return write_header(s, "<f4", header);
}

size_t
npy_header_numbers(struct shape s, char header[NPY_HEADER_MAX])
{
	return write_header(s, "<u8", header);
}

static void
skip_space(struct cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
		c->at++;
}

/* If the word comes next, step over it. */
static bool
skip_word(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);

	skip_space(c);
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

/* Read a quoted word without escapes. */
static bool
read_quoted(struct cursor *c, char *word, size_t room)
{
	char quote;
	size_t n = 0;

	skip_space(c);
	if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
		return false;
	for (quote = *c->at++; c->at < c->end && *c->at != quote; c->at++) {
		if (n + 1 == room || *c->at == '\\')
			return false;
		word[n++] = *c->at;
	}
	word[n] = '\0';
	return c->at++ < c->end;
}

static bool
read_size(struct cursor *c, size_t *size)
{
	size_t n = 0;
	const char *start;

	skip_space(c);
	for (start = c->at; c->at < c->end && *c->at >= '0' &&
	     *c->at <= '9'; c->at++) {
		const size_t digit = (size_t)(*c->at - '0');

		if (n > (SIZE_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*size = n;
	return c->at > start;
}

static int
read_shape(struct cursor *c, struct shape *s, struct fail *f)
{
	if (!skip_word(c, "("))
		return fail(f, FAIL_DATA, "NumPy header: shape is not a tuple");
	s->rank = 0;
	while (!skip_word(c, ")")) {
		if (s->rank == SHAPE_RANK)
			return fail(f, FAIL_DATA, "NumPy header: more than "
				    "%d dimensions", SHAPE_RANK);
		if (!read_size(c, &s->dim[s->rank++]) ||
		    (!skip_word(c, ",") && (c->at == c->end || *c->at != ')')))
			return fail(f, FAIL_DATA,
				    "NumPy header: shape is not a tuple");
	}
	if (!shape_sound_rows(s))
		return fail(f, FAIL_DATA,
			    "NumPy header: shape is empty or too large");
	return 0;
}

/* Read a type such as "<f4": byte order, kind, bytes. */
static int
read_type(struct cursor *c, struct npy *npy, struct fail *f)
{
	static const char *const known[] = {
		"f2", "f4", "f8", "i1", "i2", "i4", "i8",
		"u1", "u2", "u4", "u8", "b1",
	};
	char type[16];

	if (!read_quoted(c, type, sizeof(type)))
		return fail(f, FAIL_DATA,
			    "NumPy header: not an array of plain numbers");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (*type && strchr("<>|=", *type) &&
		    strcmp(type + 1, known[i]) == 0) {
			npy->big = *type == '>';
			npy->kind = type[1];
			npy->item = (size_t)(type[2] - '0');
			return 0;
		}
	return fail(f, FAIL_DATA, "NumPy header: cannot read type '%s'; "
		    "integers, floats of up to 8 bytes and bool are read",
		    type);
}

static int
read_dictionary(struct cursor *c, struct npy *npy, struct fail *f)
{
	enum { TYPE = 1, ORDER = 2, SHAPE = 4 };
	bool fortran = false;
	unsigned seen = 0;
	char key[16];

	if (!skip_word(c, "{"))
		return fail(f, FAIL_DATA, "NumPy header: no dictionary");
	while (!skip_word(c, "}")) {
		unsigned now = 0;

		if (read_quoted(c, key, sizeof(key)) && skip_word(c, ":"))
			now = strcmp(key, "descr") == 0 ? TYPE :
			      strcmp(key, "fortran_order") == 0 ? ORDER :
			      strcmp(key, "shape") == 0 ? SHAPE : 0;
		if (now == 0 || seen & now)
			return fail(f, FAIL_DATA, "NumPy header: "
				    "unknown or repeated key");
		seen |= now;
		if (now == TYPE && read_type(c, npy, f) < 0)
			return -1;
		if (now == SHAPE && read_shape(c, &npy->shape, f) < 0)
			return -1;
		if (now == ORDER && !skip_word(c, "False") &&
		    !(fortran = skip_word(c, "True")))
			return fail(f, FAIL_DATA, "NumPy header: "
				    "fortran_order is not a truth value");
		if (!skip_word(c, ",") && (c->at == c->end || *c->at != '}'))
			return fail(f, FAIL_DATA, "NumPy header: "
				    "dictionary is broken");
	}
	skip_space(c);
	if (seen != (TYPE | ORDER | SHAPE) || c->at != c->end)
		return fail(f, FAIL_DATA, "NumPy header: not complete");
	/* With one dimension both orders are the same. */
	if (fortran && npy->shape.rank > 1)
		return fail(f, FAIL_DATA, "array is in Fortran order; "
			    "save it as numpy.ascontiguousarray(x)");
	return 0;
}

int
npy_read(struct npy *npy, const void *bytes, size_t size, struct fail *f)
{
	const unsigned char *b = bytes;
	size_t start, length;

	if (size < 10 || memcmp(b, MAGIC, 6) != 0)
		return fail(f, FAIL_DATA, "not a NumPy array");
	if (b[6] < 1 || b[6] > 3)
		return fail(f, FAIL_DATA, "NumPy format version %d is not "
			    "known", b[6]);
	start = b[6] == 1 ? 10 : 12;
	if (size < start)
		return fail(f, FAIL_DATA, "NumPy header: cut short");
	length = (size_t)b[8] | (size_t)b[9] << 8;
	if (start == 12)
		length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
	if (length > size - start)
		return fail(f, FAIL_DATA, "NumPy header: %s", size <
			    NPY_HEADER_MAX ? "cut short" : "too large");

	struct cursor c = { (const char *)b + start,
			    (const char *)b + start + length };
	struct npy n = { .offset = start + length };

	if (read_dictionary(&c, &n, f) < 0)
		return -1;
	*npy = n;
	return 0;
}

/* Return the value of an IEEE 754 binary16. */
static float
from_float16(uint64_t bits)
{
	const int exponent = (int)(bits >> 10 & 31);
	const float fraction = (float)(bits & 1023);
	float x;

	if (exponent == 31)
		x = fraction > 0 ? NAN : INFINITY;
	else if (exponent == 0)
		x = ldexpf(fraction, -24);
	else
		x = ldexpf(fraction + 1024, exponent - 25);
	return bits >> 15 ? -x : x;
}

/* Return the value of a bfloat16: the high half of a float. */
static float
from_bfloat16(uint64_t bits)
{
	const uint32_t whole = (uint32_t)bits << 16;
	float x;

	memcpy(&x, &whole, sizeof(x));
	return x;
}

static uint64_t
bits_of(const unsigned char *b, size_t item, bool big)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < item; i++)
		bits |= (uint64_t)b[i] << 8 * (big ? item - 1 - i : i);
	return bits;
}

static double
to_double(uint64_t bits, size_t item)
{
	const uint32_t low = (uint32_t)bits;
	double d;
	float x;

	if (item == 2)
		return (double)from_float16(bits);
	if (item == 4) {
		memcpy(&x, &low, sizeof(x));
		return (double)x;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static float
to_integer(uint64_t bits, size_t item)
{
	const unsigned unused = 64 - 8 * (unsigned)item;
	const uint64_t sign = (uint64_t)1 << (8 * item - 1);

	if (!(bits & sign))
		return (float)bits;
	/* Negate without leaving unsigned arithmetic. */
	return -(float)((~bits + 1) << unused >> unused);
}

void
npy_floats(const struct npy *npy, const void *numbers, float *out, size_t n)
{
	const unsigned char *b = numbers;

	if (npy->kind == 'f' && npy->item == 4 && !npy->big) {
		memcpy(out, numbers, n * sizeof(*out));
		return;
	}
	for (size_t i = 0; i < n; i++, b += npy->item) {
		const uint64_t bits = bits_of(b, npy->item, npy->big);

		switch (npy->kind) {
		case 'f': out[i] = (float)to_double(bits, npy->item); break;
		case 'B': out[i] = from_bfloat16(bits); break;
		case 'i': out[i] = to_integer(bits, npy->item); break;
		case 'u': out[i] = (float)bits; break;
		default:  out[i] = bits != 0; break;
		}
	}
}

double
npy_double(const struct npy *npy, const void *number)
{
	float x;

	if (npy->kind == 'f')
		return to_double(bits_of(number, npy->item, npy->big),
				 npy->item);
	npy_floats(npy, number, &x, 1);
	return (double)x;
}

void
npy_integers(const struct npy *npy, const void *numbers, uint64_t *out,
	     size_t n)
{
	const unsigned unused = 64 - 8 * (unsigned)npy->item;
	const unsigned char *b = numbers;

	for (size_t i = 0; i < n; i++, b += npy->item) {
		const uint64_t bits = bits_of(b, npy->item, npy->big);

		/* Shifting right copies the sign, in gcc and clang. */
		out[i] = npy->kind != 'i' ? bits :
			 (uint64_t)((int64_t)(bits << unused) >> unused);
	}
}
