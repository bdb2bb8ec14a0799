#include "data/cache_file.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tensor/target_clones.h"
#include "wire/keys.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	"pscache5"	/* the last character is the version */

struct head {
	char magic[8];
	struct cache_key key;
	uint64_t sum;		/* XXH3-64 of the bytes before it */
};

_Static_assert(sizeof(struct head) == 128 && sizeof(struct cache_block) == 32,
	       "structs without gaps, written as they are");

#define BLOCK_MAX	((size_t)1 << 30)	/* bytes */
#define SHORT		65536	/* numbers below it take two bytes */
#define SOME		1024	/* numbers that are converted at a time */

int
cache_file_create(struct disk_file *file, const char *path,
	     const struct cache_key *key, struct fail *f)
{
	struct head h = { .magic = MAGIC, .key = *key };
	const int got = disk_create_alone(file, path, f);

	h.sum = hash64(&h, offsetof(struct head, sum));
	if (got != 0)
		return got;
	disk_trust_reader(file);
	if (disk_write(file, &h, sizeof(h), f) == 0)
		return 0;
	disk_abandon(file);
	return -1;
}

/* ---- features to bytes ---- */

static void
add_number(struct text *to, size_t n)
{
	const uint32_t number = (uint32_t)n;

	text_add_bytes(to, &number, sizeof(number));
}

/*
 * Add an array that is left out in the usual case, in which item is NULL: a
 * flag, then n items of four bytes if the flag is 1.
 */
static void
add_optional(struct text *to, const void *item, size_t n)
{
	add_number(to, item != NULL);
	if (item && n > 0)
		text_add_bytes(to, item, n * sizeof(uint32_t));
}

static void
add_shorts(struct text *to, const uint32_t *from, size_t n)
{
	uint16_t number[SOME];

	for (size_t some; n > 0; n -= some, from += some) {
		some = n < SOME ? n : SOME;
		for (size_t i = 0; i < some; i++)
			number[i] = (uint16_t)from[i];
		text_add_bytes(to, number, some * sizeof(*number));
	}
}

/* Round up: each array of a block begins at a multiple of four bytes. */
static size_t
padded(size_t bytes)
{
	return bytes + -bytes % sizeof(uint32_t);
}

static void
pad(struct text *to)
{
	static const char zeros[sizeof(uint32_t)];

	text_add_bytes(to, zeros, padded(to->size) - to->size);
}

/* The packed form of ps-data(5): each id once, packed as on the wire; then, for
   each of n values, the number of its id among these. */
static void
add_gathered(struct text *to, const struct feature *x, size_t n)
{
	const struct unique_ids *g = &x->gathered;
	struct pack keys = { 0 };

	keys_write(&keys, g->id, g->count, 0);
	add_number(to, keys.size);
	text_add_bytes(to, keys.data, keys.size);
	pad(to);
	if (g->count <= SHORT)
		add_shorts(to, g->row, n);
	else
		text_add_bytes(to, g->row, n * sizeof(*g->row));
	pad(to);
	pack_release(&keys);
}

static void
add_ids(struct text *to, const struct feature *x, size_t n)
{
	if (x->is_gathered && n > 0) {
		add_gathered(to, x, n);
		return;
	}
	add_number(to, 0);
	if (n > 0)
		text_add_bytes(to, x->id, n * sizeof(*x->id));
	if (input_wide(x->input))
		add_optional(to, x->high, n);
}

static void
add_feature(struct text *to, const struct feature *x, size_t examples)
{
	const size_t width = input_width(x->input);
	const size_t n = feature_count(x, examples);

	if (x->input->kind == INPUT_FLOAT) {
		text_add_bytes(to, x->value, n * sizeof(*x->value));
		return;
	}
	for (size_t i = 1; !width && i <= examples; i++)
		add_number(to, x->offset[i]);
	add_ids(to, x, n);
	if (x->input->kind == INPUT_SPARSE)
		add_optional(to, x->weight, n);
}

int
cache_file_add(struct disk_file *file, const struct batch *b, uint64_t first,
	  struct text *room, struct fail *f)
{
	struct cache_block block = { .first = first };

	text_reset(room);
	text_add_bytes(room, &block, sizeof(block));	/* to be filled in */
	for (size_t i = 0; b->examples > 0 && i < b->features; i++)
		add_feature(room, &b->feature[i], b->examples);
	if (b->examples > 0 && b->label.input)
		add_feature(room, &b->label, b->examples);
	if (room->size - sizeof(block) > BLOCK_MAX)
		return fail(f, FAIL_DATA, "%s: records of more than %zu MiB "
			    "are not kept", file->path, BLOCK_MAX >> 20);
	block.records = (uint32_t)b->examples;
	block.size = (uint32_t)(room->size - sizeof(block));
	block.data_sum = hash64(room->data + sizeof(block), block.size);
	block.sum = hash64(&block, offsetof(struct cache_block, sum));
	memcpy(room->data, &block, sizeof(block));
	return disk_write(file, room->data, room->size, f);
}

/* ---- and back ---- */

static int
fail_damaged(const struct cache_file *c, const char *what, struct fail *f)
{
	return fail(f, FAIL_DATA, "%s: damaged: %s at byte %llu", c->path,
		    what, (unsigned long long)c->at);
}

int
cache_file_open(struct cache_file *c, const char *path,
		const struct cache_key *key, uint64_t first, struct fail *f)
{
	struct head h;

	*c = (struct cache_file){ .fd = -1, .records = first };
	if (access(path, F_OK) != 0)
		return 0;
	c->path = mem_text(path);
	c->fd = disk_open(AT_FDCWD, path, NULL, f);
	if (c->fd < 0 ||
	    disk_read_at(c->fd, path, &h, sizeof(h), 0, f) != 0)
		return -1;
	if (memcmp(h.magic, MAGIC, sizeof(h.magic) - 1) == 0 &&
	    memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
		return 0;		/* another version: make it again */
	if (h.sum != hash64(&h, offsetof(struct head, sum)))
		return fail_damaged(c, "its header", f);
	c->at = sizeof(h);
	return memcmp(h.magic, MAGIC, sizeof(h.magic)) == 0 &&
		memcmp(&h.key, key, sizeof(*key)) == 0;
}

void
cache_file_close(struct cache_file *c)
{
	if (c->path && c->fd >= 0)
		close(c->fd);
	free(c->path);
	text_release(&c->room);
	*c = (struct cache_file){ .fd = -1 };
}

/* The bytes of a block that have not been parsed yet. */
struct rest {
	const char *next;
	size_t size;
};

/* Move past n items and return the first; NULL if there are fewer. */
static const char *
take_items(struct rest *r, size_t n, size_t item)
{
	const char *p = r->next;

	if (n > r->size / item)
		return NULL;
	r->next += n * item;
	r->size -= n * item;
	return p;
}

/* Read where the values of each example end, of the examples from first on. */
static bool
read_offsets(struct feature *x, size_t first, size_t examples, struct rest *r)
{
	const char *p = take_items(r, examples, sizeof(uint32_t));
	const size_t base = x->offset[first];
	uint32_t last = 0, end;

	for (size_t i = 1; p && i <= examples; i++, p += sizeof(end)) {
		memcpy(&end, p, sizeof(end));
		if (end < last)
			return false;
		feature_set_offset(x, first + i, base + end);
		last = end;
	}
	return p != NULL;
}

/* The inverse of add_optional(): *item is NULL in the usual case. */
static bool
read_optional(const void **item, size_t n, struct rest *r)
{
	const char *p = take_items(r, 1, sizeof(uint32_t));
	uint32_t some;

	if (!p)
		return false;
	memcpy(&some, p, sizeof(some));
	*item = some ? take_items(r, n, sizeof(uint32_t)) : NULL;
	return *item || !some;
}

/* Return the largest of the ids. */
static TARGET_CLONES uint32_t
copy_ids(const uint32_t *restrict from, size_t n, uint32_t *restrict to)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		largest = from[i] > largest ? from[i] : largest;
	}
	return largest;
}

static TARGET_CLONES uint32_t
copy_shorts(const uint16_t *restrict from, size_t n, uint32_t *restrict to)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		largest = to[i] > largest ? to[i] : largest;
	}
	return largest;
}

/* Bytes of one number of the packed form, when there are count ids. */
static size_t
index_bytes(size_t count)
{
	return count <= SHORT ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* Read the packed form: size bytes of ids, then n numbers of ids. */
static bool
read_gathered(struct feature *x, size_t size, size_t n, struct rest *r)
{
	struct unique_ids *g = &x->gathered;
	const uint64_t last = x->input->hashed ? UINT64_MAX :
		x->input->rows - 1;
	const void *keys = take_items(r, padded(size), 1), *row = NULL;
	struct unpack u = unpack_from(keys, keys ? size : 0);

	if (n > r->size / sizeof(uint16_t) || keys_count(u) > n)
		return false;
	unique_ids_room(g, n);
	g->count = keys_read(&u, 0, last, &g->id, &g->room);
	if (unpack_ok(&u) && g->count > 0 && g->count <= n)
		row = take_items(r, padded(n * index_bytes(g->count)), 1);
	if (!row) {
		/* Room for the ids may have grown past that of the rows. */
		unique_ids_release(g);
		return false;
	}
	return (g->count <= SHORT ? copy_shorts(row, n, g->row) :
		copy_ids(row, n, g->row)) < g->count;
}

/* Read the plain form.  An id that is not below the number of rows is refused:
   damage must never lead outside a table. */
static bool
read_plain(struct feature *x, size_t at, size_t n, struct rest *r)
{
	const void *low = take_items(r, n, sizeof(uint32_t)), *high = NULL;
	uint64_t largest = 0;

	if (!low || (input_wide(x->input) && !read_optional(&high, n, r)))
		return false;
	if (n == 0)
		return true;
	largest = copy_ids(low, n, feature_ids(x, at, n));
	feature_add_high(x, at, high, n);
	if (x->input->hashed)
		return true;	/* every id of 64 bits is allowed */
	for (size_t i = 0; high && i < n; i++)
		if (feature_id(x, at + i) > largest)
			largest = feature_id(x, at + i);
	return largest < x->input->rows;
}

static bool
read_ids(struct feature *x, size_t at, size_t n, bool keep, struct rest *r)
{
	const char *p = take_items(r, 1, sizeof(uint32_t));
	uint32_t size;

	if (!p)
		return false;
	memcpy(&size, p, sizeof(size));
	if (size == 0)
		return read_plain(x, at, n, r);
	if (!read_gathered(x, size, n, r))
		return false;
	x->is_gathered = true;
	if (!keep)
		feature_spread(x, at, n);
	return true;
}

static bool
read_weights(struct feature *x, size_t at, size_t n, struct rest *r)
{
	const void *weight;

	if (!read_optional(&weight, n, r))
		return false;
	feature_add_weights(x, at, weight, n);
	return true;
}

/* Append that many examples after the first ones. */
static bool
read_feature(struct feature *x, size_t first, size_t examples, bool keep,
	     struct rest *r)
{
	const size_t width = input_width(x->input);
	size_t at = first * width, n = examples * width;
	const char *p;

	if (!width) {
		if (!read_offsets(x, first, examples, r))
			return false;
		at = x->offset[first];
		n = x->offset[first + examples] - at;
	}
	if (x->input->kind == INPUT_FLOAT) {
		p = take_items(r, n, sizeof(float));
		if (p)
			memcpy(feature_values(x, at, n), p,
			       n * sizeof(float));
		return p != NULL;
	}
	return read_ids(x, at, n, keep, r) &&
		(x->input->kind != INPUT_SPARSE || read_weights(x, at, n, r));
}

int64_t
cache_file_peek(struct cache_file *c, struct fail *f)
{
	struct cache_block *block = &c->block;

	if (c->peeked)
		return block->records;
	if (disk_read_at(c->fd, c->path, block, sizeof(*block), c->at,
			 f) != 0)
		return -1;
	if (block->sum != hash64(block, offsetof(struct cache_block, sum)) ||
	    block->first != c->records || block->size > BLOCK_MAX)
		return fail_damaged(c, "a block's header", f);
	c->peeked = true;
	return block->records;
}

/* Check that the file is as long as the block's header says, before memory is
   taken for it. */
static int
check_length(const struct cache_file *c, size_t size, struct fail *f)
{
	struct stat st;

	if (fstat(c->fd, &st) < 0)
		return fail_sys(f, FAIL_IO, "cannot look at %s", c->path);
	if ((uint64_t)st.st_size >= c->at + sizeof(c->block) + size)
		return 0;
	return fail(f, FAIL_DATA, "%s: ends at byte %ju, cut short", c->path,
		    (uintmax_t)st.st_size);
}

/* Read the block's bytes and compare their checksum. */
static int
read_block(struct cache_file *c, struct fail *f)
{
	const size_t size = c->block.size;

	if (size > c->room.room) {
		if (check_length(c, size, f) < 0)
			return -1;
		c->room.room = size;
		c->room.data = mem_resize(c->room.data, size, 1);
	}
	if (disk_read_at(c->fd, c->path, c->room.data, size,
			 c->at + sizeof(c->block), f) != 0)
		return -1;
	if (c->block.data_sum != hash64(c->room.data, size))
		return fail_damaged(c, "a block", f);
	return 0;
}

void
cache_file_pass(struct cache_file *c)
{
	c->at += sizeof(c->block) + c->block.size;
	c->records += c->block.records;
	c->peeked = false;
}

int
cache_file_next(struct cache_file *c, struct batch *b, bool keep,
		struct fail *f)
{
	const size_t records = c->block.records;
	bool fits = true;

	assert(!keep || b->examples == 0);
	if (read_block(c, f) != 0)
		return -1;

	struct rest r = { c->room.data, c->block.size };

	for (size_t i = 0; i < b->features && fits; i++)
		fits = read_feature(&b->feature[i], b->examples, records, keep,
				    &r);
	if (fits && b->label.input)
		fits = read_feature(&b->label, b->examples, records, false,
				    &r);
	if (!fits || r.size > 0) {
		if (keep)
			batch_reset(b);
		return fail_damaged(c, "what a block holds", f);
	}
	cache_file_pass(c);
	b->examples += records;
	return 0;
}
