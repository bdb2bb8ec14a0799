#include "data/array.h"

#include "base/mem.h"
#include "data/feature_set.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_MAX	((size_t)4 << 30)	/* bytes of a loaded array */
#define HALF_MANT_DIG	11

int
array_open(struct array *a, const char *file, struct commands *commands,
	   array_header *header, struct fail *f)
{
	*a = (struct array){ .name = mem_text(file) };
	a->source = source_open(file, commands, f);
	if (!a->source || header(a, f) != 0)
		return -1;
	return 0;
}

void
array_release(struct array *a)
{
	source_close(a->source);
	free(a->name);
	free(a->bytes);
	*a = (struct array){ 0 };
}

int
array_begin(struct array *a, const struct input *in, struct fail *f)
{
	const size_t takes = input_width(in);
	const size_t has = shape_width(a->head.shape);

	if (takes == 0 || in->kind == INPUT_STRING)
		return fail(f, FAIL_DATA, "%s: %s (%s) cannot be fed from "
			    "an array of numbers", a->name, in->name,
			    in->where);
	if (a->head.shape.rank == 0)
		return fail(f, FAIL_DATA, "%s: it has no records, only one "
			    "number", a->name);
	if (takes != has)
		return fail(f, FAIL_DATA, "%s: %zu number%s a record, but %s "
			    "(%s) takes %zu", a->name, has,
			    has == 1 ? "" : "s", in->name, in->where, takes);
	a->rows = shape_rows(a->head.shape);
	a->row_size = has * a->head.item;
	if (a->source)
		a->bytes = mem_alloc(a->row_size, 1);
	return 0;
}

static int
fail_short(const struct array *a, struct fail *f)
{
	return fail(f, FAIL_DATA, "%s: it ends in record %llu of %llu",
		    a->name, (unsigned long long)a->row + 1,
		    (unsigned long long)a->rows);
}

static int
fail_long(const struct array *a, struct fail *f)
{
	return fail(f, FAIL_DATA, "%s: more follows the last of %llu records",
		    a->name, (unsigned long long)a->rows);
}

/* Return the bytes of the next row; NULL after the last one, or if *bad. */
static const unsigned char *
next_row(struct array *a, bool *bad, struct fail *f)
{
	size_t got, want = a->row_size;

	*bad = true;
	if (!a->source) {
		*bad = false;
		return a->row < a->rows ? a->bytes + a->row * want : NULL;
	}
	if (a->row == a->rows)
		want = 1;	/* one byte is already too much */
	if (source_copy(a->source, a->bytes, want, &got, f) != 0)
		return NULL;
	if (a->row == a->rows) {
		*bad = got > 0;
		if (got > 0)
			fail_long(a, f);
		return NULL;
	}
	if (got < want) {
		fail_short(a, f);
		return NULL;
	}
	*bad = false;
	return a->bytes;
}

static int
fill_whole(const struct npy *n, struct feature *to, size_t at,
	   const unsigned char *number, struct fail *f)
{
	uint64_t bits;
	bool below_zero;

	npy_integers(n, number, &bits, 1);
	below_zero = n->kind == 'i' && bits > INT64_MAX;
	return feature_set_integer(to, at, below_zero ? -bits : bits,
				   below_zero, f);
}

/* The fast path: images have many numbers, so all are converted in one call. */
static int
fill_floats(const struct npy *head, struct feature *to, size_t at,
	    size_t width, const unsigned char *bytes, struct fail *f)
{
	float *value = feature_values(to, at, width);

	npy_floats(head, bytes, value, width);
	for (size_t i = 0; i < width; i++)
		if (!isfinite(value[i]))
			return feature_set_number(to, at + i,
						  npy_double(head, bytes +
							     i * head->item),
						  FLT_MANT_DIG, f);
	return 0;
}

/* The number of bits in the significand of this float type. */
static int
digits_of(const struct npy *n)
{
	return n->item == 2 ? HALF_MANT_DIG :
	       n->item == 4 ? FLT_MANT_DIG : DBL_MANT_DIG;
}

static int
fill_each(const struct npy *head, struct feature *to, size_t at, size_t width,
	  const unsigned char *bytes, struct fail *f)
{
	const bool exact = to->input->kind == INPUT_ID &&
			   to->input->boundary_count == 0 && head->kind != 'f';

	for (size_t i = 0; i < width; i++, bytes += head->item) {
		if (exact) {
			if (fill_whole(head, to, at + i, bytes, f) != 0)
				return -1;
			continue;
		}
		if (feature_set_number(to, at + i, npy_double(head, bytes),
				       digits_of(head), f) != 0)
			return -1;
	}
	return 0;
}

int
array_fill(const struct npy *head, struct feature *to, size_t at, size_t n,
	   const unsigned char *bytes, struct fail *f)
{
	const bool floats = to->input->kind == INPUT_FLOAT &&
			    !to->input->binary;

	return (floats ? fill_floats : fill_each)(head, to, at, n, bytes, f);
}

static int
fill_row(const struct array *a, struct feature *to, size_t example,
	 const unsigned char *bytes, struct fail *f)
{
	const size_t width = input_width(to->input);

	if (array_fill(&a->head, to, example * width, width, bytes, f) == 0)
		return 0;
	fail_at(f, "%s: record %llu", a->name,
		(unsigned long long)a->row + 1);
	return fail_mark_skippable(f);
}

int
array_next(struct array *a, struct feature *to, size_t example,
	   struct fail *f)
{
	bool bad;
	const unsigned char *bytes = next_row(a, &bad, f);

	if (!bytes)
		return bad ? -1 : 0;
	bad = to && fill_row(a, to, example, bytes, f) != 0;
	a->row++;
	return bad ? -1 : 1;
}

int
npy_header_read(struct array *a, struct fail *f)
{
	unsigned char bytes[NPY_HEADER_MAX];
	size_t got, more, size;

	/* The first 12 bytes have the header's length in every version. */
	if (source_copy(a->source, bytes, 12, &got, f) != 0)
		return -1;
	if (got == 0)
		return fail(f, FAIL_NOINPUT, "%s: it is empty", a->name);
	size = got < 12 ? 0 : bytes[8] + 256u * bytes[9] + 10;
	if (size > 0 && bytes[6] > 1)
		size += 2 + 65536u * bytes[10] + ((size_t)bytes[11] << 24);
	if (got == 12 && size > 12 && size <= sizeof(bytes)) {
		if (source_copy(a->source, bytes + 12, size - 12, &more,
				f) != 0)
			return -1;
		got += more;
	}
	if (npy_read(&a->head, bytes, got, f) != 0)
		return fail_at(f, "%s", a->name);
	if (shape_rows(a->head.shape) == 0)
		return fail(f, FAIL_NOINPUT, "%s: it has no records",
			    a->name);
	return 0;
}

int
array_load(struct array *a, struct source *s, struct fail *f)
{
	size_t size, end = 0, got = 1, room = 0;
	unsigned char beyond;

	a->source = s;

	const int bad = npy_header_read(a, f);

	a->source = NULL;
	if (bad)
		return -1;
	size = shape_size(a->head.shape);
	if (size > LOAD_MAX / a->head.item)
		return fail(f, FAIL_DATA, "%s: larger than %zu GiB; save it "
			    "as .npy, which is read row by row", a->name,
			    LOAD_MAX >> 30);
	size *= a->head.item;

	/* A header may lie: memory grows only as fast as bytes arrive. */
	while (got > 0 && end < size) {
		if (end == room) {
			room = end ? 2 * end : 65536;
			room = room < size ? room : size;
			a->bytes = mem_resize(a->bytes, room, 1);
		}
		if (source_copy(s, a->bytes + end, room - end, &got, f) != 0)
			return -1;
		end += got;
	}
	a->rows = shape_rows(a->head.shape);
	a->row = size ? end / (size / a->rows) : 0;
	if (end < size)
		return fail_short(a, f);
	a->row = 0;
	/* libarchive compares a zip's checksum only after the last byte. */
	if (source_copy(s, &beyond, 1, &got, f) != 0)
		return -1;
	return got == 0 ? 0 : fail_long(a, f);
}

struct pair {
	struct array value, label;
	bool labelled;
};

void
array_pair_close(void *state)
{
	struct pair *p = state;

	array_release(&p->value);
	array_release(&p->label);
	free(p);
}

static int
begin_pair(struct pair *p, const struct read_spec *want, char *const *files,
	   array_header *header, struct fail *f)
{
	if (want->count != 1)
		return fail(f, FAIL_DATA, "%s: a file of one array feeds "
			    "models of one input; this one has %zu", files[0],
			    want->count);
	if (array_open(&p->value, files[0], want->commands, header, f) ||
	    array_begin(&p->value, want->inputs, f))
		return -1;
	p->labelled = want->label != NULL;
	if (!p->labelled)
		return 0;
	if (array_open(&p->label, files[1], want->commands, header, f) ||
	    array_begin(&p->label, want->label, f))
		return -1;
	if (p->value.rows != p->label.rows)
		return fail(f, FAIL_DATA, "%s: %llu labels for the %llu "
			    "records of %s", files[1],
			    (unsigned long long)p->label.rows,
			    (unsigned long long)p->value.rows, files[0]);
	return 0;
}

void *
array_pair_open(const struct read_spec *want, char *const *files,
		array_header *header, struct fail *f)
{
	struct pair *p = mem_alloc(1, sizeof(*p));

	if (begin_pair(p, want, files, header, f) == 0)
		return p;
	array_pair_close(p);
	return NULL;
}

int
array_pair_read(void *state, struct batch *b, struct fail *f)
{
	struct pair *p = state;
	const size_t example = b ? b->examples : 0;
	struct fail second;
	const int got = array_next(&p->value, b ? &b->feature[0] : NULL,
				   example, f);

	/* Read the label of a bad record, too: the files stay in step. */
	if (p->labelled && array_next(&p->label, b ? &b->label : NULL,
				      example, got < 0 ? &second : f) < 0)
		return -1;
	return got;
}
