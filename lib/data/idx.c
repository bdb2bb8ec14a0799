#include "data/array.h"

#include <string.h>

/* The types of numbers, by the third byte of the magic number. */
static const struct idx_type {
	unsigned char code;
	char kind;
	size_t item;
} types[] = {
	{ 0x08, 'u', 1 }, { 0x09, 'i', 1 }, { 0x0b, 'i', 2 },
	{ 0x0c, 'i', 4 }, { 0x0d, 'f', 4 }, { 0x0e, 'f', 8 },
};

static const struct idx_type *
find_type(unsigned char code)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].code == code)
			return &types[i];
	return NULL;
}

/*
 * An array_header: that of LeCun's MNIST files.  Two zero bytes, the type, the
 * rank, then each dimension as a big-endian number of four bytes.
 */
static int
idx_header(struct array *a, struct fail *f)
{
	unsigned char magic[4], dims[4 * SHAPE_RANK], *d = dims;
	const struct idx_type *type;
	size_t got;

	if (source_copy(a->source, magic, sizeof(magic), &got, f) != 0)
		return -1;
	if (got == 0)
		return fail(f, FAIL_NOINPUT, "%s: it is empty", a->name);
	type = got == 4 ? find_type(magic[2]) : NULL;
	if (!type || magic[0] != 0 || magic[1] != 0)
		return fail(f, FAIL_DATA, "%s: not an IDX file", a->name);
	if (magic[3] < 1 || magic[3] > SHAPE_RANK)
		return fail(f, FAIL_DATA, "%s: %d dimensions instead of 1 to "
			    "%d", a->name, magic[3], SHAPE_RANK);
	if (source_copy(a->source, dims, 4u * magic[3], &got, f) != 0)
		return -1;
	if (got < 4u * magic[3])
		return fail(f, FAIL_DATA, "%s: it ends in its header",
			    a->name);
	a->head = (struct npy){
		.kind = type->kind, .item = type->item, .big = true
	};
	a->head.shape.rank = magic[3];
	for (int i = 0; i < magic[3]; i++, d += 4)
		a->head.shape.dim[i] = (size_t)d[0] << 24 |
			(size_t)d[1] << 16 | (size_t)d[2] << 8 | d[3];
	if (a->head.shape.dim[0] == 0)
		return fail(f, FAIL_NOINPUT, "%s: it has no records",
			    a->name);
	if (!shape_sound(&a->head.shape))
		return fail(f, FAIL_DATA, "%s: its dimensions make no sense",
			    a->name);
	return 0;
}

static void *
idx_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	return array_pair_open(want, files, idx_header, f);
}

const struct format format_idx = {
	.name = "idx", .within = "idx", .pairs = true, .open = idx_open,
	.read = array_pair_read, .close = array_pair_close,
};
