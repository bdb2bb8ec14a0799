#include "data/cache_file.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tensor/clones.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	"pscache2"

struct head {
	char magic[8];
	struct cache_key key;
	uint64_t sum;		/* XXH3-64 of what is before */
};

_Static_assert(sizeof(struct head) == 128 && sizeof(struct cache_block) == 32,
	       "structs without gaps, written as they are");

#define BLOCK_MAX	((size_t)1 << 30)

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

/* Four-byte items, if there are any that are not the usual ones. */
static void
add_beside(struct text *to, const void *item, size_t n)
{
	add_number(to, item != NULL);
	if (item && n > 0)
		text_add_bytes(to, item, n * sizeof(uint32_t));
}

/* Can its ids be 2^32 or more? */
static bool
is_wide(const struct feature *x)
{
	return x->input->hashed || x->input->rows > UINT32_MAX;
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
	if (n > 0)
		text_add_bytes(to, x->id, n * sizeof(*x->id));
	if (is_wide(x))
		add_beside(to, x->high, n);
	if (x->input->kind == INPUT_SPARSE)
		add_beside(to, x->weight, n);
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
damaged(const struct cache_file *c, const char *what, struct fail *f)
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
	if (h.sum != hash64(&h, offsetof(struct head, sum)))
		return damaged(c, "its header", f);
	c->at = sizeof(h);
	/* Or it is of another release. */
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

/* Bytes of a block not used yet. */
struct rest {
	const char *next;
	size_t size;
};

/* n items, or NULL if there are fewer. */
static const char *
take(struct rest *r, size_t n, size_t item)
{
	const char *p = r->next;

	if (n > r->size / item)
		return NULL;
	r->next += n * item;
	r->size -= n * item;
	return p;
}

/* Of so many examples from first on, where those end. */
static bool
read_offsets(struct feature *x, size_t first, size_t examples, struct rest *r)
{
	const char *p = take(r, examples, sizeof(uint32_t));
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

/* n items of four bytes; *item is NULL if there are only the usual ones. */
static bool
read_beside(const void **item, size_t n, struct rest *r)
{
	const char *p = take(r, 1, sizeof(uint32_t));
	uint32_t some;

	if (!p)
		return false;
	memcpy(&some, p, sizeof(some));
	*item = some ? take(r, n, sizeof(uint32_t)) : NULL;
	return *item || !some;
}

/* Returns the largest. */
static CLONES uint32_t
copy_ids(const uint32_t *restrict from, size_t n, uint32_t *restrict to)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		largest = from[i] > largest ? from[i] : largest;
	}
	return largest;
}

/* All below the number of rows: a cache never leads out of a table. */
static bool
read_ids(struct feature *x, size_t at, size_t n, struct rest *r)
{
	const void *low = take(r, n, sizeof(uint32_t)), *high = NULL;
	uint64_t largest = 0;

	if (!low || (is_wide(x) && !read_beside(&high, n, r)))
		return false;
	if (n == 0)
		return true;
	largest = copy_ids(low, n, feature_ids(x, at, n));
	feature_add_high(x, at, high, n);
	if (x->input->hashed)
		return true;	/* there is none that it does not take */
	for (size_t i = 0; high && i < n; i++)
		if (feature_id(x, at + i) > largest)
			largest = feature_id(x, at + i);
	return largest < x->input->rows;
}

static bool
read_weights(struct feature *x, size_t at, size_t n, struct rest *r)
{
	const void *weight;

	if (!read_beside(&weight, n, r))
		return false;
	feature_add_weights(x, at, weight, n);
	return true;
}

/* Of so many examples, behind the first ones. */
static bool
read_feature(struct feature *x, size_t first, size_t examples,
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
		p = take(r, n, sizeof(float));
		if (p)
			memcpy(feature_values(x, at, n), p,
			       n * sizeof(float));
		return p != NULL;
	}
	return read_ids(x, at, n, r) && (x->input->kind != INPUT_SPARSE ||
					 read_weights(x, at, n, r));
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
		return damaged(c, "a block's header", f);
	c->peeked = true;
	return block->records;
}

/* The block's bytes, if they are what was written. */
static int
read_block(struct cache_file *c, struct fail *f)
{
	const size_t size = c->block.size;

	if (size > c->room.room) {
		c->room.room = size;
		c->room.data = mem_resize(c->room.data, size, 1);
	}
	if (disk_read_at(c->fd, c->path, c->room.data, size,
			 c->at + sizeof(c->block), f) != 0)
		return -1;
	if (c->block.data_sum != hash64(c->room.data, size))
		return damaged(c, "a block", f);
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
cache_file_next(struct cache_file *c, struct batch *b, struct fail *f)
{
	const size_t records = c->block.records;
	bool fits = true;

	if (read_block(c, f) != 0)
		return -1;

	struct rest r = { c->room.data, c->block.size };

	for (size_t i = 0; i < b->features && fits; i++)
		fits = read_feature(&b->feature[i], b->examples, records, &r);
	if (fits && b->label.input)
		fits = read_feature(&b->label, b->examples, records, &r);
	if (!fits || r.size > 0)
		return damaged(c, "what a block holds", f);
	cache_file_pass(c);
	b->examples += records;
	return 0;
}
