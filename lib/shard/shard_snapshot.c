#include "shard/shard_private.h"

#include "base/mem.h"
#include "store/rows.h"
#include "tensor/row_serialize.h"

#include <stdlib.h>
#include <string.h>

struct shard_snapshot *
shard_snapshot_below(struct shard *s, uint64_t step)
{
	struct shard_snapshot *snapshot = mem_alloc(1, sizeof(*snapshot));

	snapshot->shard = s;
	snapshot->step = step;
	snapshot->next = s->snapshots;
	s->snapshots = snapshot;
	for (size_t i = 0; i < s->plan->pieces; i++)
		snapshot->chunks += s->holding[i].chunks;
	return snapshot;
}

struct piece_state
piece_state_share(const struct shard_piece *h)
{
	struct piece_state state = h->now;

	if (state.table)
		state.table = table_share(state.table);
	state.chunk = mem_alloc(h->chunks, sizeof(*state.chunk));
	for (size_t i = 0; i < h->chunks; i++) {
		state.chunk[i] = h->now.chunk[i];
		refcount_take(&state.chunk[i]->hold);
	}
	return state;
}

void
piece_state_release(struct piece_state *state, const struct shard_piece *h)
{
	for (size_t i = 0; i < h->chunks; i++)
		refcount_drop(&state->chunk[i]->hold);
	free(state->chunk);
	table_free(state->table);
}

void
shard_snapshot_freeze(struct shard_snapshot *snapshot)
{
	const struct shard *s = snapshot->shard;

	if (snapshot->content)
		return;
	snapshot->content =
		mem_alloc(s->plan->pieces, sizeof(*snapshot->content));
	for (size_t i = 0; i < s->plan->pieces; i++)
		snapshot->content[i] = piece_state_share(&s->holding[i]);
}

struct shard_snapshot *
shard_snapshot_new(struct shard *s)
{
	struct shard_snapshot *snapshot = shard_snapshot_below(s, 0);

	shard_snapshot_freeze(snapshot);
	return snapshot;
}

void
shard_snapshot_free(struct shard_snapshot *snapshot)
{
	struct shard_snapshot **at;

	if (!snapshot)
		return;
	for (at = &snapshot->shard->snapshots; *at != snapshot;
	     at = &(*at)->next)
		;
	*at = snapshot->next;
	for (size_t i = 0;
	     snapshot->content && i < snapshot->shard->plan->pieces; i++)
		piece_state_release(&snapshot->content[i],
				    &snapshot->shard->holding[i]);
	table_walk_release(&snapshot->walk);
	if (snapshot->block)
		refcount_drop(&snapshot->block->hold);
	free(snapshot->content);
	for (size_t i = 0; i < snapshot->hashed; i++)
		free((char *)(uintptr_t)snapshot->array[i].variable);
	free(snapshot->array);
	free(snapshot->piece);
	free(snapshot);
}

/* ---- for a checkpoint ---- */

/*
 * Does a piece continue the one before it, so that both are one array?  A
 * checkpoint holds whole rows, but a dense variable is cut into pieces
 * anywhere.
 */
static bool
continues_array(const struct shard_piece *last, const struct shard_piece *h)
{
	return h->chunks > 0 && last->variable == h->variable &&
		!h->piece->table &&
		last->piece->first + last->piece->count == h->piece->first;
}

/*
 * Return the step from which the schedule of a piece would count if it had
 * counted all steps: so a checkpoint has the schedule's position, whatever it
 * counts.
 */
static uint64_t
begun_step(const struct shard_snapshot *snapshot, size_t i)
{
	const struct shard_piece *h = &snapshot->shard->holding[i];

	return shard_counts_updates(h) ? snapshot->step -
		(snapshot->content[i].updates - h->begun) : h->begun;
}

/* Describe the values (slot 0) or a slot of the pieces i to end - 1 as one
   array. */
static void
add_array(struct shard_snapshot *snapshot, size_t i, size_t end, size_t slot)
{
	const struct shard *s = snapshot->shard;
	const struct shard_piece *h = &s->holding[i];
	const size_t width = shape_width(h->variable->shape);
	struct checkpoint_array *a = &snapshot->array[snapshot->arrays++];
	struct checkpoint_piece *to = snapshot->piece + snapshot->pieces;
	size_t floats = 0;

	*a = (struct checkpoint_array){
		.variable = h->variable->name,
		.slot = slot == 0 ? "" :
			h->variable->optimizer->slot_name[slot - 1],
		.shape = h->variable->shape,
		.rows.first = h->piece->first * h->piece->width / width,
		.piece = to,
		.updates = snapshot->content[i].updates,
		.since = h->since, .begun = begun_step(snapshot, i),
	};
	for (; i < end; i++)
		for (size_t j = 0; j < s->holding[i].chunks; j++) {
			const struct chunk *c = snapshot->content[i].chunk[j];

			*to++ = (struct checkpoint_piece){
				c->value + slot * c->size, c->size };
			floats += c->size;
			a->pieces++;
		}
	snapshot->pieces += a->pieces;
	a->rows.count = floats / width;
}

/* Describe the rows of a hashed table. */
static void
add_tables(struct shard_snapshot *snapshot, size_t i)
{
	const struct shard_piece *h = &snapshot->shard->holding[i];
	struct checkpoint_array *a = snapshot->array + snapshot->hashed;
	const size_t count =
		rows_arrays(h->variable, snapshot->content[i].table,
					 (struct rows){ h->piece->first,
							h->piece->count },
					 snapshot->content[i].updates, a);

	for (size_t k = 0; k < count; k++) {
		a[k].since = h->since;
		a[k].begun = begun_step(snapshot, i);
	}
	snapshot->hashed += count;
}

static void
list_arrays(struct shard_snapshot *snapshot)
{
	const struct shard *s = snapshot->shard;
	size_t arrays = 0, chunks = 0, end;

	for (size_t i = 0; i < s->plan->pieces; i++) {
		arrays += s->holding[i].now.table ? ROWS_ARRAYS :
			1 + s->holding[i].slots;
		chunks += s->holding[i].chunks * (1 + s->holding[i].slots);
	}
	snapshot->array = mem_alloc(arrays, sizeof(*snapshot->array));
	snapshot->piece = mem_alloc(chunks, sizeof(*snapshot->piece));
	for (size_t i = 0; i < s->plan->pieces; i++)
		if (snapshot->content[i].table)
			add_tables(snapshot, i);
	snapshot->arrays = snapshot->hashed;
	for (size_t i = 0; i < s->plan->pieces; i = end) {
		end = i + 1;
		if (s->holding[i].chunks == 0)
			continue;
		while (end < s->plan->pieces &&
		       continues_array(&s->holding[end - 1], &s->holding[end]))
			end++;
		for (size_t k = 0; k <= s->holding[i].slots; k++)
			add_array(snapshot, i, end, k);
	}
}

const struct checkpoint_array *
shard_snapshot_arrays(struct shard_snapshot *snapshot, size_t *count)
{
	shard_snapshot_freeze(snapshot);
	if (!snapshot->array)
		list_arrays(snapshot);
	*count = snapshot->arrays;
	return snapshot->array;
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
 * Load a chunk.  The rows that cover it are read whole, and the chunk's share
 * is kept: a dense piece may begin and end inside a row.  Slots that the
 * checkpoint does not have (its values were imported) keep their first value.
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
 * Can this optimizer use what that of the checkpoint left of a variable: its
 * slots and counts?  A checkpoint whose model cannot be read is taken to have
 * the same optimizers.
 */
static bool
can_resume(const struct model *old, const struct variable *v)
{
	const struct variable *was = old ? model_variable(old, v->name) : v;

	return !v->optimizer || (was && was->optimizer &&
				 optimizer_can_resume(v->optimizer,
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

/* The counts of a piece continue, or begin at the checkpoint's step. */
static void
restore_counts(struct shard_piece *h, const struct checkpoint *from, bool slots)
{
	const struct checkpoint_counts c = rows_counts(from, h->variable);
	const uint64_t step = checkpoint_info(from)->step;

	h->since = c.since;
	h->begun = c.begun;
	if (!slots || c.updates <= c.since) {
		h->now.updates = h->since = c.updates;
		h->begun = step;
	}
	if (shard_counts_updates(h))
		h->begun = h->now.updates - (step - h->begun);
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
		slots = can_resume(old, h->variable);
		r = restore_piece(h, from, reader, slots, f);
		restore_counts(h, from, slots);
	}
	model_free(old);
	s->cuts = 0;
	shard_publish_anew(s);
	return r;
}

/* ---- for a standby ---- */

/* The blocks of a hashed table's rows; there is always one. */
static size_t
row_blocks(const struct table *t)
{
	const size_t blocks = row_serialize_blocks(t);

	return blocks > 0 ? blocks : 1;
}

/* All blocks of a hashed table: also those of the rows that wait to be
   admitted. */
static size_t
table_blocks(const struct table *t)
{
	const struct table *waiting = t ? table_waiting(t) : NULL;

	return !t ? 0 : row_blocks(t) +
		(waiting ? row_serialize_blocks(waiting) : 0);
}

size_t
shard_snapshot_chunks(const struct shard_snapshot *snapshot)
{
	size_t chunks = snapshot->chunks;

	for (size_t i = 0; i < snapshot->shard->plan->pieces; i++)
		chunks += table_blocks(snapshot->content[i].table);
	return chunks;
}

/* Block i of the hashed tables. */
static struct shard_chunk
snapshot_block(struct shard_snapshot *snapshot, size_t i)
{
	const struct table *t;
	struct chunk *block;
	size_t piece = 0;

	while (i >= table_blocks(snapshot->content[piece].table))
		i -= table_blocks(snapshot->content[piece++].table);
	t = snapshot->content[piece].table;

	const bool waits = i >= row_blocks(t);

	if (waits) {
		i -= row_blocks(t);
		t = table_waiting(t);
	}
	if (i == 0)
		table_walk_release(&snapshot->walk);
	block = chunk_blank(row_serialize_room(t) / sizeof(float), 0);
	if (snapshot->block)
		refcount_drop(&snapshot->block->hold);
	snapshot->block = block;
	return (struct shard_chunk){
		.piece = piece, .chunk = 2 * i + waits,
		.updates = snapshot->content[piece].updates,
		.since = snapshot->shard->holding[piece].since,
		.begun = snapshot->shard->holding[piece].begun,
		.data = { block->value, row_serialize(t, &snapshot->walk,
						      block->value),
			  &block->hold },
	};
}

struct shard_chunk
shard_snapshot_chunk(struct shard_snapshot *snapshot, size_t i)
{
	const struct shard_piece *h = snapshot->shard->holding;
	size_t piece = 0;

	if (i >= snapshot->chunks)
		return snapshot_block(snapshot, i - snapshot->chunks);
	while (i >= h[piece].chunks)
		i -= h[piece++].chunks;

	const struct piece_state *content =
		piece_state_of(snapshot->shard, snapshot, piece);
	struct chunk *c = content->chunk[i];

	return (struct shard_chunk){
		.piece = piece, .chunk = i, .updates = content->updates,
		.since = h[piece].since, .begun = h[piece].begun,
		.data = { c->value, c->size * (1 + c->slots) *
			  sizeof(*c->value), &c->hold },
	};
}

/* Take a block of a hashed table, which is empty before the first block. */
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
