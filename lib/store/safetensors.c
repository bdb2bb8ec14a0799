/*
 * safetensors - arrays in the format of
 * https://github.com/huggingface/safetensors, "Format": a length of 8 bytes,
 * little-endian, JSON of this length, and the numbers.
 */
#include "store/arrays.h"

#include "base/json.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX	((uint64_t)100 << 20)	/* the format's own limit */

static const struct {
	const char *name;
	char kind;
	size_t item;
} types[] = {
	{ "BF16", 'B', 2 }, { "BOOL", 'b', 1 }, { "F16", 'f', 2 },
	{ "F32", 'f', 4 }, { "F64", 'f', 8 }, { "I8", 'i', 1 },
	{ "I16", 'i', 2 }, { "I32", 'i', 4 }, { "I64", 'i', 8 },
	{ "U8", 'u', 1 }, { "U16", 'u', 2 }, { "U32", 'u', 4 },
	{ "U64", 'u', 8 },
};

static int
add(void *to, const void *bytes, size_t size, struct fail *f)
{
	return disk_write(to, bytes, size, f);
}

/* Write the JSON.  Blanks, which are allowed after it, make the numbers begin
   at a multiple of 8 bytes. */
static void
make_header(const struct arrays_source *source, struct text *text)
{
	uint64_t at = 0;

	text_add(text, "{");
	for (size_t i = 0; i < source->count; i++) {
		const struct arrays_item *item = &source->item[i];
		const uint64_t end = at + arrays_item_bytes(item) *
			(uint64_t)shape_size(item->shape);
		char shape[SHAPE_TEXT];

		/* Names have only letters, digits and ./@_+-, which need no
		   escapes. */
		text_add(text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,"
			 "\"data_offsets\":[%ju,%ju]}", i ? "," : "",
			 item->name, item->numbers ? "U64" : "F32",
			 shape_text(item->shape, shape),
			 (uintmax_t)at, (uintmax_t)end);
		at = end;
	}
	text_add(text, "}");
	while (text->size % 8 != 0)
		text_add(text, " ");
}

static int
write_file(struct disk_file *file, const struct arrays_source *source,
	   struct fail *f)
{
	struct text text = { 0 };
	uint64_t size;
	int r;

	make_header(source, &text);
	size = text.size;
	r = disk_write(file, &size, sizeof(size), f);
	if (r == 0)
		r = disk_write(file, text.data, text.size, f);
	text_release(&text);
	for (size_t i = 0; r == 0 && i < source->count; i++)
		r = arrays_each(source, i, add, file, f);
	return r;
}

/* ---- reading ---- */

struct input {
	int fd;
	const char *path;
	uint64_t start, size;		/* of the numbers */
	const struct arrays_sink *sink;
};

static int
read_type(const json_t *item, struct npy *npy, struct fail *f)
{
	const char *type = json_string_value(json_object_get(item, "dtype"));

	for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(type, types[i].name) == 0) {
			npy->kind = types[i].kind;
			npy->item = types[i].item;
			return 0;
		}
	return fail(f, FAIL_DATA, "cannot read type '%.40s'; integers, floats "
		    "of 2, 4 and 8 bytes, BF16 and BOOL are read",
		    type ? type : "");
}

/* Read the shape and the place of one array; false: they make no sense. */
static bool
read_place(const struct input *in, const json_t *item, struct npy *npy)
{
	const json_t *shape = json_object_get(item, "shape");
	const json_t *offsets = json_object_get(item, "data_offsets");
	const json_int_t from =
		json_integer_value(json_array_get(offsets, 0));
	const json_int_t to = json_integer_value(json_array_get(offsets, 1));

	if (!json_is_array(shape) || json_array_size(shape) > SHAPE_RANK ||
	    json_array_size(offsets) != 2)
		return false;
	npy->shape.rank = (int)json_array_size(shape);
	for (int i = 0; i < npy->shape.rank; i++) {
		const json_t *dim = json_array_get(shape, (size_t)i);

		if (!json_is_integer(dim) || json_integer_value(dim) < 0)
			return false;
		npy->shape.dim[i] = (size_t)json_integer_value(dim);
	}
	npy->offset = (size_t)from;
	return shape_sound_rows(&npy->shape) && from >= 0 && to >= from &&
	       (uint64_t)to <= in->size &&
	       (uint64_t)(to - from) == npy->item *
	       (uint64_t)shape_size(npy->shape);
}

static int
read_numbers(const struct input *in, const struct npy *npy, bool integers,
	     void *out, struct fail *f)
{
	const size_t step = 1 << 16;
	char *block = mem_alloc(step, npy->item);
	const size_t all = shape_size(npy->shape);
	int r = 0;

	for (size_t at = 0; r == 0 && at < all; at += step) {
		const size_t n = all - at < step ? all - at : step;

		r = disk_read_at(in->fd, in->path, block, n * npy->item,
				 in->start + npy->offset + at * npy->item, f);
		if (r == 0)
			out = arrays_put(npy, block, n, integers, out);
	}
	free(block);
	return r;
}

/* The bytes, among all numbers, that belong to one array. */
struct stretch {
	uint64_t from, size;
};

static int
by_place(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

/* Check that each byte belongs to exactly one array: otherwise a damaged offset
   would not be noticed. */
static int
check_stretches(const struct input *in, struct stretch *s, size_t n,
		struct fail *f)
{
	uint64_t used = 0;
	bool adjoin = true;

	qsort(s, n, sizeof(*s), by_place);
	for (size_t i = 0; i < n; i++) {
		adjoin = adjoin && s[i].from == used;
		used += s[i].size;
	}
	if (used != in->size)
		return fail(f, FAIL_DATA, "%s: %ju bytes of numbers, its "
			    "header tells of %ju", in->path,
			    (uintmax_t)in->size, (uintmax_t)used);
	return adjoin ? 0 : fail(f, FAIL_DATA, "%s: arrays overlap", in->path);
}

static int
read_items(const struct input *in, json_t *object, struct stretch *taken,
	   struct fail *f)
{
	size_t n = 0;
	const char *name;
	json_t *item;

	json_object_foreach(object, name, item) {
		bool integers = false;
		struct npy npy = { 0 };
		void *out;

		if (strcmp(name, "__metadata__") == 0)
			continue;
		if (read_type(item, &npy, f) < 0)
			return fail_at(f, "%s: '%.80s'", in->path, name);
		if (!read_place(in, item, &npy))
			return fail(f, FAIL_DATA, "%s: '%.80s': shape or "
				    "place makes no sense", in->path, name);
		out = in->sink->place(in->sink->data, name, &npy, &integers,
				      f);
		if (!out)
			return fail_at(f, "%s", in->path);
		if (read_numbers(in, &npy, integers, out, f) < 0)
			return -1;
		taken[n++] = (struct stretch){
			npy.offset, npy.item * (uint64_t)shape_size(npy.shape)
		};
	}
	return check_stretches(in, taken, n, f);
}

static int
read_file(int fd, const char *path, uint64_t size,
	  const struct arrays_sink *sink, struct fail *f)
{
	struct input in = { .fd = fd, .path = path, .sink = sink };
	struct stretch *taken;
	json_error_t error;
	json_t *object;
	uint64_t length;
	char *text;
	int r;

	if (disk_read_at(fd, path, &length, sizeof(length), 0, f) < 0)
		return -1;
	if (length > size - sizeof(length) || length > HEADER_MAX)
		return fail(f, FAIL_DATA, "%s: not a safetensors file, or "
			    "cut short", path);
	in.start = sizeof(length) + length;
	in.size = size - in.start;
	text = mem_alloc((size_t)length + 1, 1);
	r = disk_read_at(fd, path, text, (size_t)length, sizeof(length), f);
	object = json_read_integers(text, (size_t)length,
				    JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (r == 0 && !json_is_object(object))
		r = fail(f, FAIL_DATA, "%s: not a safetensors file: %s",
			 path, object ? "no object" : error.text);
	taken = mem_alloc(json_object_size(object), sizeof(*taken));
	if (r == 0)
		r = read_items(&in, object, taken, f);
	free(taken);
	json_decref(object);
	return r;
}

const struct arrays_format arrays_safetensors = {
	.suffix = ".safetensors", .write = write_file, .read = read_file,
};
