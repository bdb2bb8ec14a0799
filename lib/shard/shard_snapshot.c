#include "shard/shard_private.h"

#include "base/mem.h"
#include "store/rows.h"
#include "tensor/row_serialize.h"

#include <stdlib.h>
#include <string.h>

struct shard_snapshot *
shard_snapshot_below(struct shard *s, uint64_t step)
{
	struct shard_snapshot *cut = mem_alloc(1, sizeof(*cut));

	cut->shard = s;
	cut->step = step;
	cut->next = s->cuts;
	s->cuts = cut;
	for (size_t i = 0; i < s->plan->pieces; i++)
		cut->chunks += s->holding[i].chunks;
	return cut;
}

void
shard_snapshot_freeze(struct shard_snapshot *cut)
{
	const struct shard *s = cut->shard;

	if (cut->content)
		return;
	cut->content = mem_alloc(s->plan->pieces, sizeof(*cut->content));
	for (size_t i = 0; i < s->plan->pieces; i++) {
		const struct shard_piece *h = &s->holding[i];
		struct piece_state *c = &cut->content[i];

		*c = h->now;
		if (c->table)
			c->table = table_share(c->table);
		c->chunk = mem_alloc(h->chunks, sizeof(*c->chunk));
		for (size_t j = 0; j < h->chunks; j++) {
			c->chunk[j] = h->now.chunk[j];
			refcount_take(&c->chunk[j]->hold);
		}
	}
}

struct shard_snapshot *
shard_snapshot_new(struct shard *s)
{
	struct shard_snapshot *cut = shard_snapshot_below(s, 0);

	shard_snapshot_freeze(cut);
	return cut;
}

void
shard_snapshot_free(struct shard_snapshot *cut)
{
	struct shard_snapshot **at;

	if (!cut)
		return;
	for (at = &cut->shard->cuts; *at != cut; at = &(*at)->next)
		;
	*at = cut->next;
	for (size_t i = 0; cut->content && i < cut->shard->plan->pieces; i++) {
		for (size_t j = 0; j < cut->shard->holding[i].chunks; j++)
			refcount_drop(&cut->content[i].chunk[j]->hold);
		free(cut->content[i].chunk);
		table_free(cut->content[i].table);
	}
	table_walk_release(&cut->walk);
	if (cut->block)
		refcount_drop(&cut->block->hold);
	free(cut->content);
	for (size_t i = 0; i < cut->hashed; i++)
		free((char *)(uintptr_t)cut->array[i].variable);
	free(cut->array);
	free(cut->piece);
	free(cut);
}

/* ---- for a checkpoint ---- */

/*
 * A checkpoint holds rows.  Dense pieces of one shard are cut anywhere, so
 * they are put together again: neighbours make one array.
 */
static bool
continues(const struct shard_piece *last, const struct shard_piece *h)
{
	return h->chunks > 0 && last->variable == h->variable &&
		!h->piece->table &&
		last->piece->first + last->piece->count == h->piece->first;
}

/* The values (slot 0) or a slot of holdings i to end - 1, as one array. */
static void
add_array(struct shard_snapshot *cut, size_t i, size_t end, size_t slot)
{
	const struct shard *s = cut->shard;
	const struct shard_piece *h = &s->holding[i];
	const size_t width = shape_width(h->variable->shape);
	struct checkpoint_array *a = &cut->array[cut->arrays++];
	struct checkpoint_piece *to = cut->piece + cut->pieces;
	size_t floats = 0;

	*a = (struct checkpoint_array){
		.variable = h->variable->name,
		.slot = slot == 0 ? "" :
			h->variable->optimizer->slot_name[slot - 1],
		.shape = h->variable->shape,
		.rows.first = h->piece->first * h->piece->width / width,
		.piece = to,
		.updates = cut->content[i].updates,
		.since = h->since, .begun = h->begun,
	};
	for (; i < end; i++)
		for (size_t j = 0; j < s->holding[i].chunks; j++) {
			const struct chunk *c = cut->content[i].chunk[j];

			*to++ = (struct checkpoint_piece){
				c->value + slot * c->size, c->size };
			floats += c->size;
			a->pieces++;
		}
	cut->pieces += a->pieces;
	a->rows.count = floats / width;
}

/* The rows of a hashed table. */
static void
add_tables(struct shard_snapshot *cut, size_t i)
{
	const struct shard_piece *h = &cut->shard->holding[i];
	struct checkpoint_array *a = cut->array + cut->hashed;
	const size_t count = rows_arrays(h->variable, cut->content[i].table,
					 (struct rows){ h->piece->first,
							h->piece->count },
					 cut->content[i].updates, a);

	for (size_t k = 0; k < count; k++) {
		a[k].since = h->since;
		a[k].begun = h->begun;
	}
	cut->hashed += count;
}

static void
describe(struct shard_snapshot *cut)
{
	const struct shard *s = cut->shard;
	size_t arrays = 0, chunks = 0, end;

	for (size_t i = 0; i < s->plan->pieces; i++) {
		arrays += s->holding[i].now.table ? ROWS_ARRAYS :
			1 + s->holding[i].slots;
		chunks += s->holding[i].chunks * (1 + s->holding[i].slots);
	}
	cut->array = mem_alloc(arrays, sizeof(*cut->array));
	cut->piece = mem_alloc(chunks, sizeof(*cut->piece));
	for (size_t i = 0; i < s->plan->pieces; i++)
		if (cut->content[i].table)
			add_tables(cut, i);
	cut->arrays = cut->hashed;
	for (size_t i = 0; i < s->plan->pieces; i = end) {
		end = i + 1;
		if (s->holding[i].chunks == 0)
			continue;
		while (end < s->plan->pieces &&
		       continues(&s->holding[end - 1], &s->holding[end]))
			end++;
		for (size_t k = 0; k <= s->holding[i].slots; k++)
			add_array(cut, i, end, k);
	}
}

const struct checkpoint_array *
shard_snapshot_arrays(struct shard_snapshot *cut, size_t *count)
{
	shard_snapshot_freeze(cut);
	if (!cut->array)
		describe(cut);
	*count = cut->arrays;
	return cut->array;
}

static bool
has_slot(const struct checkpoint *from, const char *variable,
	 const char *slot)
{
	size_t count;
	const struct checkpoint_entry *e = checkpoint_entries(from, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(e[i].variable, variable) == 0 &&
		    strcmp(e[i].slot, slot) == 0)
			return true;
	return false;
}

/*
 * Rows that cover a chunk are read whole, what is wanted of them is kept: a
 * dense piece may begin and end inside a row.  Slots that the checkpoint does
 * not have (values that were imported) keep their first value.
 */
static int
restore_chunk(struct shard_piece *h, size_t i, struct checkpoint *from,
	      const struct checkpoint_reader *reader, bool slots,
	      struct fail *f)
{
	const struct variable *v = h->variable;
	const size_t width = shape_width(v->shape);
	const size_t first = (h->piece->first + (i << h->shift)) *
		h->piece->width;
	uint64_t updates = 0;
	int read = 0;

	chunk_writable(&h->now.chunk[i]);

	struct chunk *c = h->now.chunk[i];
	struct rows rows = { .first = first / width };

	rows.count = (first + c->size - 1) / width + 1 - rows.first;

	float *whole = mem_alloc(rows.count * width, sizeof(*whole));

	for (size_t s = 0; s <= h->slots && read == 0; s++) {
		const char *slot = s == 0 ? "" :
			v->optimizer->slot_name[s - 1];

		if (s > 0 && !(slots && has_slot(from, v->name, slot)))
			continue;
		read = reader->read(from, v->name, slot, v->shape, rows,
				    whole, &updates, f);
		if (h->now.updates < updates)
			h->now.updates = updates;
		memcpy(c->value + s * c->size,
		       whole + (first - rows.first * width),
		       c->size * sizeof(float));
	}
	free(whole);
	return read;
}

static int
restore_table(struct shard_piece *h, struct checkpoint *from,
	      const struct checkpoint_reader *reader, bool slots,
	      struct fail *f)
{
	const struct rows ranges = { h->piece->first, h->piece->count };
	struct table *table = hashed_table(&h->hashed, ranges.count);
	uint64_t updates = 0;

	if (reader->read_rows(from, h->variable, table, ranges, slots,
			      &updates, f) < 0) {
		table_free(table);
		return -1;
	}
	table_free(h->now.table);
	h->now.table = table;
	h->now.updates = updates;
	return 0;
}

/*
 * Is what the checkpoint's optimizer left of a variable, its slots and counts,
 * this one's?  A model that is none any more had the same optimizers.
 */
static bool
goes_on(const struct model *old, const struct variable *v)
{
	const struct variable *was = old ? model_variable(old, v->name) : v;

	return !v->optimizer || (was && was->optimizer &&
				 optimizer_goes_on(v->optimizer,
						   was->optimizer));
}

static int
restore_piece(struct shard_piece *h, struct checkpoint *from,
	      const struct checkpoint_reader *reader, bool slots,
	      struct fail *f)
{
	int r = 0;

	if (h->now.table)
		r = restore_table(h, from, reader, slots, f);
	if (h->chunks > 0)
		h->now.updates = 0;
	for (size_t j = 0; r == 0 && j < h->chunks; j++)
		r = restore_chunk(h, j, from, reader, slots, f);
	return r;
}

/* What is counted goes on, too, or begins at this step. */
static void
restore_counts(struct shard_piece *h, const struct checkpoint *from, bool slots)
{
	const struct checkpoint_counts c = rows_counts(from, h->variable);

	h->since = c.since;
	h->begun = c.begun;
	if (slots && c.updates > c.since)
		return;
	h->now.updates = h->since = c.updates;
	h->begun = checkpoint_info(from)->step;
}

int
shard_restore(struct shard *s, struct checkpoint *from,
	      const struct checkpoint_reader *reader, struct fail *f)
{
	struct fail ignored;
	struct model *old = model_parse(checkpoint_model(from), &ignored);
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->plan->pieces; i++) {
		struct shard_piece *h = &s->holding[i];
		bool slots;

		if (!h->now.table && h->chunks == 0)
			continue;
		slots = goes_on(old, h->variable);
		r = restore_piece(h, from, reader, slots, f);
		restore_counts(h, from, slots);
	}
	model_free(old);
	return r;
}

/* ---- for a standby ---- */

/* Of a hashed table the rows make blocks, of which there is always one. */
static size_t
row_blocks(const struct table *t)
{
	const size_t blocks = row_serialize_blocks(t);

	return blocks > 0 ? blocks : 1;
}

/* ... and the rows that wait make others. */
static size_t
table_blocks(const struct table *t)
{
	const struct table *waiting = t ? table_waiting(t) : NULL;

	return !t ? 0 : row_blocks(t) +
		(waiting ? row_serialize_blocks(waiting) : 0);
}

size_t
shard_snapshot_chunks(const struct shard_snapshot *cut)
{
	size_t chunks = cut->chunks;

	for (size_t i = 0; i < cut->shard->plan->pieces; i++)
		chunks += table_blocks(cut->content[i].table);
	return chunks;
}

/* Block i of the hashed tables. */
static struct shard_chunk
cut_block(struct shard_snapshot *cut, size_t i)
{
	const struct table *t;
	struct chunk *block;
	size_t piece = 0;

	while (i >= table_blocks(cut->content[piece].table))
		i -= table_blocks(cut->content[piece++].table);
	t = cut->content[piece].table;

	const bool waits = i >= row_blocks(t);

	if (waits) {
		i -= row_blocks(t);
		t = table_waiting(t);
	}
	if (i == 0)
		table_walk_release(&cut->walk);
	block = chunk_blank(row_serialize_room(t) / sizeof(float), 0);
	if (cut->block)
		refcount_drop(&cut->block->hold);
	cut->block = block;
	return (struct shard_chunk){
		.piece = piece, .chunk = 2 * i + waits,
		.updates = cut->content[piece].updates,
		.since = cut->shard->holding[piece].since,
		.begun = cut->shard->holding[piece].begun,
		.data = { block->value, row_serialize(t, &cut->walk,
						      block->value),
			  &block->hold },
	};
}

struct shard_chunk
shard_snapshot_chunk(struct shard_snapshot *cut, size_t i)
{
	const struct shard_piece *h = cut->shard->holding;
	size_t piece = 0;

	if (i >= cut->chunks)
		return cut_block(cut, i - cut->chunks);
	while (i >= h[piece].chunks)
		i -= h[piece++].chunks;

	const struct piece_state *content =
		piece_state_of(cut->shard, cut, piece);
	struct chunk *c = content->chunk[i];

	return (struct shard_chunk){
		.piece = piece, .chunk = i, .updates = content->updates,
		.since = h[piece].since, .begun = h[piece].begun,
		.data = { c->value, c->size * (1 + c->slots) *
			  sizeof(*c->value), &c->hold },
	};
}

/* The table is empty when the first block comes. */
static int
take_block(struct shard_piece *h, const struct shard_chunk *from,
	   struct fail *f)
{
	struct table *t = from->chunk & 1 ? table_waiting(h->now.table) :
		h->now.table;

	if (from->chunk == 0) {
		table_update(h->now.table, from->updates);
		table_end_update(h->now.table);
	}
	h->now.updates = from->updates;
	h->since = from->since;
	h->begun = from->begun;
	if (!t || !row_deserialize(t, from->data.data, from->data.size))
		return fail(f, FAIL_PROTOCOL, "%zu bytes of rows that piece "
			    "%llu does not have", from->data.size,
			    (unsigned long long)from->piece);
	return 0;
}

int
shard_take_chunk(struct shard *s, const struct shard_chunk *from,
		 struct fail *f)
{
	struct shard_piece *h;
	struct chunk *c;

	if (from->piece < s->plan->pieces && s->holding[from->piece].now.table)
		return take_block(&s->holding[from->piece], from, f);
	if (from->piece >= s->plan->pieces ||
	    from->chunk >= s->holding[from->piece].chunks)
		return fail(f, FAIL_PROTOCOL, "no chunk %llu of piece %llu "
			    "is here", (unsigned long long)from->chunk,
			    (unsigned long long)from->piece);
	h = &s->holding[from->piece];
	c = h->now.chunk[from->chunk];
	if (from->data.size != c->size * (1 + c->slots) * sizeof(*c->value))
		return fail(f, FAIL_PROTOCOL, "a chunk of %zu bytes",
			    from->data.size);
	chunk_writable(&h->now.chunk[from->chunk]);
	memcpy(h->now.chunk[from->chunk]->value, from->data.data,
	       from->data.size);
	h->now.updates = from->updates;
	h->since = from->since;
	h->begun = from->begun;
	return 0;
}
