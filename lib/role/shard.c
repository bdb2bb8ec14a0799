#include "role/shard.h"

#include "base/mem.h"
#include "store/rows.h"
#include "tensor/apply.h"
#include "tensor/carry.h"
#include "tensor/hashed.h"
#include "tensor/kernels.h"
#include "wire/keys.h"

#include <stdlib.h>
#include <string.h>

/* Chunks of a table are copied when a frozen one is written: small ones. */
#define TABLE_CHUNK	((size_t)64 << 10)	/* bytes of values */
#define ZERO_COPY	((size_t)64 << 10)

/* What a piece holds: now, or in a cut. */
struct content {
	struct chunk **chunk;
	struct table *table;	/* of a hashed one, which has no chunks */
	uint64_t updates;
};

/* A piece that this server has. */
struct holding {
	const struct piece *piece;
	const struct variable *variable;
	size_t slots;
	size_t shift;		/* a chunk of a table has 1 << shift rows */
	size_t chunks;
	struct hashed hashed;
	struct content now;
};

struct shard {
	const struct plan *plan;
	const struct model *model;
	size_t server;
	struct holding *holding;	/* one for each piece of the plan;
					   chunks is 0 for those of others */
	uint64_t *version;		/* of each part */
	float *scratch;			/* gradients, values to send */
	size_t scratch_room;
	uint64_t **keys;		/* of the table pieces of a part */
	size_t *key_room, *key_count;
	size_t keys_room;
	struct cut *cuts;
};

struct cut {
	struct shard *shard;
	struct cut *next;		/* of the same shard */
	uint64_t step;			/* it has what is below */
	struct content *content;	/* of each piece; NULL: what is there
					   now is what it has */
	size_t chunks;			/* of all */
	struct checkpoint_array *array;	/* NULL: it is not described yet */
	struct checkpoint_piece *piece;
	size_t arrays, pieces;
	size_t hashed;			/* arrays of hashed tables: first,
					   and their names are ours */
	struct table_walk walk;		/* of the table that is being sent, */
	struct chunk *block;		/* and its rows on their way */
};

static size_t
holding_width(const struct holding *h)
{
	return h->piece->width;
}

/* Rows of chunk i of a table; a dense piece is one chunk. */
static size_t
chunk_count(const struct holding *h, size_t i)
{
	const size_t left = h->piece->count - (i << h->shift);
	const size_t most = (size_t)1 << h->shift;

	if (!h->piece->table)
		return h->piece->count;
	return left < most ? left : most;
}

static void
hold_piece(struct holding *h, const struct piece *piece,
	   const struct variable *v, uint64_t seed)
{
	size_t width = piece->width;

	h->piece = piece;
	h->variable = v;
	h->slots = v->optimizer ? v->optimizer->slots : 0;
	if (piece->hashed) {
		h->hashed = (struct hashed){ v, seed };
		h->now.table = hashed_table(&h->hashed, piece->count);
		return;
	}
	h->chunks = piece->count > 0;
	while (piece->table && (width * sizeof(float)) << (h->shift + 1) <=
	       TABLE_CHUNK)
		h->shift++;
	if (piece->table)
		h->chunks = (piece->count + ((size_t)1 << h->shift) - 1) >>
			h->shift;
	h->now.chunk = mem_alloc(h->chunks, sizeof(struct chunk *));
	for (size_t i = 0; i < h->chunks; i++) {
		const size_t size = chunk_count(h, i) * width;
		struct chunk *c = chunk_new(size, h->slots);

		h->now.chunk[i] = c;
		initializer_fill(&v->initializer, v->name, v->shape, seed,
				 (piece->first + (i << h->shift)) * width,
				 c->value, size);
		for (size_t s = 0; s < h->slots; s++)
			for (size_t j = 0; j < size; j++)
				chunk_slot(c, s)[j] =
					v->optimizer->slot_start[s];
	}
}

struct shard *
shard_new(const struct plan *plan, const struct model *model, size_t server)
{
	struct shard *s = mem_alloc(1, sizeof(*s));
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	s->plan = plan;
	s->model = model;
	s->server = server;
	s->holding = mem_alloc(plan->pieces, sizeof(*s->holding));
	s->version = mem_alloc(plan->parts, sizeof(*s->version));
	for (size_t i = 0; i < plan->parts; i++) {
		const struct part *part = &plan->part[i];

		if (part->server != server)
			continue;
		for (size_t j = part->first; j < part->first + part->count;
		     j++)
			hold_piece(&s->holding[j], &plan->piece[j],
				   &v[plan->piece[j].variable], plan->seed);
		if (part->count > s->keys_room)
			s->keys_room = part->count;
	}
	s->keys = mem_alloc(s->keys_room, sizeof(*s->keys));
	s->key_room = mem_alloc(s->keys_room, sizeof(*s->key_room));
	s->key_count = mem_alloc(s->keys_room, sizeof(*s->key_count));
	return s;
}

void
shard_free(struct shard *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->plan->pieces; i++) {
		for (size_t j = 0; j < s->holding[i].chunks; j++)
			hold_drop(&s->holding[i].now.chunk[j]->hold);
		free(s->holding[i].now.chunk);
		table_free(s->holding[i].now.table);
	}
	for (size_t i = 0; i < s->keys_room; i++)
		free(s->keys[i]);
	free(s->keys);
	free(s->key_room);
	free(s->key_count);
	free(s->scratch);
	free(s->version);
	free(s->holding);
	free(s);
}

uint64_t
shard_version(const struct shard *s, size_t part)
{
	return s->version[part];
}

static float *
scratch(struct shard *s, size_t floats)
{
	if (floats > s->scratch_room) {
		s->scratch_room = floats;
		s->scratch = mem_resize(s->scratch, floats, sizeof(float));
	}
	return s->scratch;
}

/* The keys of a piece that is a table, as the table knows its rows. */
static size_t
read_piece(struct unpack *u, const struct piece *piece, uint64_t **rows,
	   size_t *room)
{
	const uint64_t first = piece->hashed ? piece_key(piece) : 0;

	return keys_read(u, first, first + piece_last_key(piece), rows, room);
}

/*
 * Read the keys of all table pieces of a part; floats is how many the values
 * of all pieces are.
 */
static int
read_keys(struct shard *s, const struct part *part, const struct frame *keys,
	  size_t *floats, struct fail *f)
{
	struct unpack u = unpack_from(keys->data, keys->size);

	*floats = 0;
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];

		s->key_count[i] = piece->table ?
			read_piece(&u, piece, &s->keys[i], &s->key_room[i]) :
			piece->count;
		*floats += s->key_count[i] * piece->width;
	}
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL, "malformed keys");
}

int
shard_check_keys(struct shard *s, size_t n, const struct frame *keys,
		 struct fail *f)
{
	size_t floats;

	return read_keys(s, &s->plan->part[n], keys, &floats, f);
}

#define AHEAD	128	/* rows to ask for before the first is touched */

/* Where rows lie that are sorted, as their chunks are. */
static void
find_rows(const struct holding *h, struct chunk **chunk,
	  const uint64_t *rows, size_t count, float **at)
{
	const size_t width = holding_width(h);

	for (size_t k = 0; k < count;) {
		const uint64_t i = rows[k] >> h->shift;
		float *first = chunk[i]->value;

		for (; k < count && rows[k] >> h->shift == i; k++) {
			at[k] = first + (rows[k] - (i << h->shift)) * width;
			apply_fetch(at[k], width);
		}
	}
}

static void
pull_rows(const struct holding *h, struct chunk **chunk,
	  const uint64_t *rows, size_t count, float *to)
{
	const size_t width = holding_width(h);
	float *from[AHEAD];

	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < AHEAD ? count - done : AHEAD;
		find_rows(h, chunk, rows + done, some, from);
		if (width == 1)
			for (size_t k = 0; k < some; k++)
				*to++ = *from[k];
		else
			for (size_t k = 0; k < some; k++, to += width)
				memcpy(to, from[k], width * sizeof(*to));
	}
}

/* Of a piece: now (NULL), or in a cut. */
static struct content *
content_of(const struct shard *s, const struct cut *cut, size_t piece)
{
	return cut && cut->content ? &cut->content[piece] :
		&s->holding[piece].now;
}

int
shard_pull(struct shard *s, size_t n, const struct cut *cut,
	   const struct frame *keys, struct frame *values, struct fail *f)
{
	const struct part *part = &s->plan->part[n];
	size_t floats;

	if (read_keys(s, part, keys, &floats, f) < 0)
		return -1;

	const struct content *content = content_of(s, cut, part->first);

	if (part->count == 1 && !s->holding[part->first].piece->table &&
	    floats * sizeof(float) >= ZERO_COPY) {
		*values = (struct frame){ content->chunk[0]->value,
					  floats * sizeof(float),
					  &content->chunk[0]->hold };
		return 0;
	}
	float *to = scratch(s, floats);

	*values = (struct frame){ to, floats * sizeof(float), NULL };
	for (size_t i = 0; i < part->count; i++) {
		const struct holding *h = &s->holding[part->first + i];
		const size_t width = holding_width(h);

		content = content_of(s, cut, part->first + i);
		if (!h->piece->table) {
			memcpy(to, content->chunk[0]->value,
			       h->piece->count * sizeof(float));
			to += h->piece->count;
			continue;
		}
		if (content->table)
			table_pull(content->table, s->keys[i],
				   s->key_count[i], to);
		else
			pull_rows(h, content->chunk, s->keys[i],
				  s->key_count[i], to);
		to += s->key_count[i] * width;
	}
	return 0;
}

/* A cut takes hold of what is there now, by reference. */
static void
freeze(struct cut *cut)
{
	const struct shard *s = cut->shard;

	if (cut->content)
		return;
	cut->content = mem_alloc(s->plan->pieces, sizeof(*cut->content));
	for (size_t i = 0; i < s->plan->pieces; i++) {
		const struct holding *h = &s->holding[i];
		struct content *c = &cut->content[i];

		*c = h->now;
		if (c->table)
			c->table = table_share(c->table);
		c->chunk = mem_alloc(h->chunks, sizeof(*c->chunk));
		for (size_t j = 0; j < h->chunks; j++) {
			c->chunk[j] = h->now.chunk[j];
			hold_take(&c->chunk[j]->hold);
		}
	}
}

/* A whole dense piece; from a chunk that is frozen into a fresh one. */
static void
push_dense(struct content *to, const struct apply *a, const void *gradient)
{
	struct chunk *from = to->chunk[0];

	if (!hold_alone(&from->hold))
		to->chunk[0] = chunk_blank(from->size, from->slots);
	apply_all(a, from->value, to->chunk[0]->value, gradient, from->size);
	if (from != to->chunk[0])
		hold_drop(&from->hold);
}

/* Rows of chunks that are all of a size. */
static void
push_stretch(const struct holding *h, struct content *to,
	     const struct apply *a, const uint64_t *rows, size_t count,
	     const char *gradient)
{
	const size_t width = holding_width(h);
	float *row[AHEAD];

	for (size_t done = 0, some; done < count; done += some) {
		size_t stride = to->chunk[rows[done] >> h->shift]->size;

		some = count - done < AHEAD ? count - done : AHEAD;
		for (size_t k = done, last = SIZE_MAX; k < done + some; k++) {
			if (rows[k] >> h->shift != last)
				chunk_writable(&to->chunk[rows[k] >> h->shift]);
			last = rows[k] >> h->shift;
		}
		find_rows(h, to->chunk, rows + done, some, row);
		for (size_t s = 1; s <= h->slots; s++)
			for (size_t k = 0; k < some; k++)
				apply_fetch(row[k] + s * stride, width);
		apply_rows(a, (struct apply_rows){ row, some, width, stride },
			   gradient + done * width * sizeof(float));
	}
}

/* The last chunk may be a smaller one. */
static void
push_rows(const struct holding *h, struct content *to, const struct apply *a,
	  const uint64_t *rows, size_t count, const char *gradient)
{
	size_t n = count;

	while (n > 0 && rows[n - 1] >> h->shift == h->chunks - 1)
		n--;
	push_stretch(h, to, a, rows, n, gradient);
	push_stretch(h, to, a, rows + n, count - n, gradient +
		     n * holding_width(h) * sizeof(float));
}

/* Rows that are not admitted yet lose their gradient. */
static void
push_hashed(struct table *to, const struct apply *a, size_t width,
	    const uint64_t *keys, size_t count, const char *gradient)
{
	const size_t size = width * sizeof(float);
	float *row[TABLE_BATCH];

	table_update(to, a->t);
	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < TABLE_BATCH ? count - done : TABLE_BATCH;
		table_touch(to, keys + done, some, row);
		for (size_t k = 0, end; k < some; k = end + 1) {
			for (end = k; end < some && row[end]; end++)
				;
			apply_rows(a, (struct apply_rows){
				row + k, end - k, width, width },
				gradient + k * size);
		}
		gradient += some * size;
	}
}

/*
 * Apply a gradient to what is there now, or to a cut: sums over so many
 * examples, the rows in s->keys.
 */
static void
push_part(struct shard *s, struct cut *cut, size_t n, const void *gradient,
	  const struct shard_push *p, uint64_t of)
{
	const struct part *part = &s->plan->part[n];
	const char *g = gradient;

	for (size_t i = 0; i < part->count; i++) {
		const struct holding *h = &s->holding[part->first + i];
		struct content *to = content_of(s, cut, part->first + i);
		const struct optimizer *o = h->variable->optimizer;
		const struct apply a = {
			.optimizer = o, .t = ++to->updates,
			.examples = (float)of,
			.learning_rate = p->learning_rate > 0 ?
				p->learning_rate :
				schedule_at(&o->schedule, p->step)
		};

		if (to->table)
			push_hashed(to->table, &a, holding_width(h),
				    s->keys[i], s->key_count[i], g);
		else if (h->piece->table)
			push_rows(h, to, &a, s->keys[i], s->key_count[i], g);
		else
			push_dense(to, &a, g);
		g += s->key_count[i] * holding_width(h) * sizeof(float);
	}
}

/*
 * A step changes what is there now.  Cuts that it is not in, and that were as
 * that until now, take hold of what it was; those that it is in, and that
 * have done so, get it as well.
 */
static void
push_copies(struct shard *s, size_t n, const void *gradient,
	    const struct shard_push *p, uint64_t of)
{
	for (struct cut *cut = s->cuts; cut; cut = cut->next) {
		if (p->step >= cut->step)
			freeze(cut);
		else if (cut->content && !cut->array)
			push_part(s, cut, n, gradient, p, of);
	}
	push_part(s, NULL, n, gradient, p, of);
	s->version[n]++;
}

int
shard_check_push(struct shard *s, size_t n, const struct shard_push *p,
		 struct fail *f)
{
	size_t floats;

	if (read_keys(s, &s->plan->part[n], p->keys, &floats, f) < 0)
		return -1;
	if (p->values->size != floats * sizeof(float))
		return fail(f, FAIL_PROTOCOL, "%zu bytes of gradient, not %zu",
			    p->values->size, floats * sizeof(float));
	if (!kernel_finite(p->values->data, floats))
		return fail(f, FAIL_DATA, "a gradient is not finite");
	return 0;
}

int
shard_push(struct shard *s, size_t n, const struct shard_push *p,
	   struct fail *f)
{
	if (shard_check_push(s, n, p, f) < 0)
		return -1;
	push_copies(s, n, p->values->data, p, p->examples);
	return 0;
}

/* ---- the slots of a round ---- */

/* How far one slot has been read. */
struct slot_reader {
	struct unpack keys;
	const float *values;
	uint64_t *rows;		/* of the piece that it stands on */
	size_t room, count;
};

/* Merge rows, sorted and each once, into those of piece i: so are they. */
static void
unite(struct shard *s, size_t i, const uint64_t *more, size_t n)
{
	size_t a = s->key_count[i], k = a + n;
	const size_t end = k;
	uint64_t *all;

	if (end > s->key_room[i]) {
		s->key_room[i] = end;
		s->keys[i] = mem_resize(s->keys[i], end, sizeof(*all));
	}
	all = s->keys[i];
	/* From the back, so that nothing unread is written over. */
	while (n > 0) {
		if (a > 0 && all[a - 1] >= more[n - 1]) {
			n -= all[a - 1] == more[n - 1];
			all[--k] = all[--a];
		} else {
			all[--k] = more[--n];
		}
	}
	memmove(all + a, all + k, (end - k) * sizeof(*all));
	s->key_count[i] = a + end - k;
}

static void
read_rows(struct shard *s, size_t i, const struct piece *piece,
	  struct slot_reader *r, size_t slots)
{
	s->key_count[i] = piece->table ? 0 : piece->count;
	for (size_t k = 0; k < slots; k++) {
		r[k].count = piece->table ?
			read_piece(&r[k].keys, piece, &r[k].rows,
				   &r[k].room) : piece->count;
		if (piece->table)
			unite(s, i, r[k].rows, r[k].count);
	}
}

/* g += what a slot has of a piece; the reader moves behind it. */
static void
add_slot(float *g, const uint64_t *rows, size_t width, bool table,
	 struct slot_reader *r)
{
	if (!table)
		for (size_t j = 0; j < r->count; j++)
			g[j] += r->values[j];
	for (size_t k = 0, at = 0; table && k < r->count; k++, at++) {
		while (rows[at] != r->rows[k])
			at++;
		for (size_t j = 0; j < width; j++)
			g[at * width + j] += r->values[k * width + j];
	}
	r->values += r->count * width;
}

/* The sums of all pieces, in the scratch; their rows are in s->keys. */
static float *
add_slots(struct shard *s, const struct part *part, struct slot_reader *r,
	  size_t slots, size_t *floats)
{
	float *g = scratch(s, 1);

	*floats = 0;
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];
		size_t size;

		read_rows(s, i, piece, r, slots);
		size = s->key_count[i] * piece->width;
		g = scratch(s, *floats + size + 1);
		memset(g + *floats, 0, size * sizeof(*g));
		for (size_t k = 0; k < slots; k++)
			add_slot(g + *floats, s->keys[i], piece->width,
				 piece->table, &r[k]);
		*floats += size;
	}
	return g;
}

int
shard_push_slots(struct shard *s, size_t n, const struct shard_push *slot,
		 size_t slots, struct fail *f)
{
	struct slot_reader *r = mem_alloc(slots, sizeof(*r));
	uint64_t examples = 0;
	size_t floats;
	float *g;
	bool finite;

	for (size_t k = 0; k < slots; k++) {
		r[k].keys = unpack_from(slot[k].keys->data,
					slot[k].keys->size);
		r[k].values = slot[k].values->data;
		examples += slot[k].examples;
	}
	g = add_slots(s, &s->plan->part[n], r, slots, &floats);
	finite = kernel_finite(g, floats);
	if (finite)
		push_copies(s, n, g, slot, examples);
	for (size_t k = 0; k < slots; k++)
		free(r[k].rows);
	free(r);
	return finite ? 0 : fail(f, FAIL_DATA, "the gradients of a round add "
				 "up to what is not finite");
}

/*
 * A checkpoint holds rows.  Dense pieces of one shard are cut anywhere, so
 * they are put together again: neighbours make one array.
 */
static bool
continues(const struct holding *last, const struct holding *h)
{
	return h->chunks > 0 && last->variable == h->variable &&
		!h->piece->table &&
		last->piece->first + last->piece->count == h->piece->first;
}

/* The values (slot 0) or a slot of holdings i to end - 1, as one array. */
static void
add_array(struct cut *cut, size_t i, size_t end, size_t slot)
{
	const struct shard *s = cut->shard;
	const struct holding *h = &s->holding[i];
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

static void
describe(struct cut *cut)
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
			cut->hashed += rows_arrays(
				s->holding[i].variable, cut->content[i].table,
				(struct rows){ s->plan->piece[i].first,
					       s->plan->piece[i].count },
				cut->content[i].updates,
				cut->array + cut->hashed);
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

struct cut *
cut_below(struct shard *s, uint64_t step)
{
	struct cut *cut = mem_alloc(1, sizeof(*cut));

	cut->shard = s;
	cut->step = step;
	cut->next = s->cuts;
	s->cuts = cut;
	for (size_t i = 0; i < s->plan->pieces; i++)
		cut->chunks += s->holding[i].chunks;
	return cut;
}

struct cut *
cut_new(struct shard *s)
{
	struct cut *cut = cut_below(s, 0);

	freeze(cut);
	return cut;
}

void
cut_free(struct cut *cut)
{
	struct cut **at;

	if (!cut)
		return;
	for (at = &cut->shard->cuts; *at != cut; at = &(*at)->next)
		;
	*at = cut->next;
	for (size_t i = 0; cut->content && i < cut->shard->plan->pieces; i++) {
		for (size_t j = 0; j < cut->shard->holding[i].chunks; j++)
			hold_drop(&cut->content[i].chunk[j]->hold);
		free(cut->content[i].chunk);
		table_free(cut->content[i].table);
	}
	table_walk_release(&cut->walk);
	if (cut->block)
		hold_drop(&cut->block->hold);
	free(cut->content);
	for (size_t i = 0; i < cut->hashed; i++)
		free((char *)(uintptr_t)cut->array[i].variable);
	free(cut->array);
	free(cut->piece);
	free(cut);
}

const struct checkpoint_array *
cut_arrays(struct cut *cut, size_t *count)
{
	freeze(cut);
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
restore_chunk(struct holding *h, size_t i, struct checkpoint *from,
	      struct fail *f)
{
	const struct variable *v = h->variable;
	const size_t width = shape_width(v->shape);
	const size_t first = (h->piece->first + (i << h->shift)) *
		h->piece->width;
	int read = 0;

	chunk_writable(&h->now.chunk[i]);

	struct chunk *c = h->now.chunk[i];
	struct rows rows = { .first = first / width };

	rows.count = (first + c->size - 1) / width + 1 - rows.first;

	float *whole = mem_alloc(rows.count * width, sizeof(*whole));

	for (size_t s = 0; s <= h->slots && read == 0; s++) {
		const char *slot = s == 0 ? "" :
			v->optimizer->slot_name[s - 1];

		if (s > 0 && !has_slot(from, v->name, slot))
			continue;
		read = checkpoint_read(from, v->name, slot, v->shape, rows,
				       whole, &h->now.updates, f);
		memcpy(c->value + s * c->size,
		       whole + (first - rows.first * width),
		       c->size * sizeof(float));
	}
	free(whole);
	return read;
}

static int
restore_table(struct holding *h, struct checkpoint *from, struct fail *f)
{
	const struct rows ranges = { h->piece->first, h->piece->count };
	struct table *table = hashed_table(&h->hashed, ranges.count);
	uint64_t updates = 0;

	if (rows_restore(from, h->variable, table, ranges, &updates, f) < 0) {
		table_free(table);
		return -1;
	}
	table_free(h->now.table);
	h->now.table = table;
	h->now.updates = updates;
	return 0;
}

int
shard_restore(struct shard *s, struct checkpoint *from, struct fail *f)
{
	for (size_t i = 0; i < s->plan->pieces; i++)
		if (s->holding[i].now.table &&
		    restore_table(&s->holding[i], from, f) < 0)
			return -1;
	for (size_t i = 0; i < s->plan->pieces; i++)
		for (size_t j = 0; j < s->holding[i].chunks; j++)
			if (restore_chunk(&s->holding[i], j, from, f) < 0)
				return -1;
	return 0;
}

/* Of a hashed table the rows make blocks, of which there is always one. */
static size_t
row_blocks(const struct table *t)
{
	const size_t blocks = carry_blocks(t);

	return blocks > 0 ? blocks : 1;
}

/* ... and the rows that wait make others. */
static size_t
table_blocks(const struct table *t)
{
	return !t ? 0 : row_blocks(t) + (table_waiting(t) ?
					 carry_blocks(table_waiting(t)) : 0);
}

size_t
cut_chunks(const struct cut *cut)
{
	size_t chunks = cut->chunks;

	for (size_t i = 0; i < cut->shard->plan->pieces; i++)
		chunks += table_blocks(cut->content[i].table);
	return chunks;
}

/* Block i of the hashed tables. */
static struct shard_chunk
cut_block(struct cut *cut, size_t i)
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
	block = chunk_blank(carry_room(t) / sizeof(float), 0);
	if (cut->block)
		hold_drop(&cut->block->hold);
	cut->block = block;
	return (struct shard_chunk){
		.piece = piece, .chunk = 2 * i + waits,
		.updates = cut->content[piece].updates,
		.data = { block->value, carry_write(t, &cut->walk,
						    block->value),
			  &block->hold },
	};
}

struct shard_chunk
cut_chunk(struct cut *cut, size_t i)
{
	const struct holding *h = cut->shard->holding;
	size_t piece = 0;

	if (i >= cut->chunks)
		return cut_block(cut, i - cut->chunks);
	while (i >= h[piece].chunks)
		i -= h[piece++].chunks;

	const struct content *content = content_of(cut->shard, cut, piece);
	struct chunk *c = content->chunk[i];

	return (struct shard_chunk){
		.piece = piece, .chunk = i, .updates = content->updates,
		.data = { c->value, c->size * (1 + c->slots) *
			  sizeof(*c->value), &c->hold },
	};
}

/* The table is empty when the first block comes. */
static int
take_block(struct holding *h, const struct shard_chunk *from, struct fail *f)
{
	struct table *t = from->chunk & 1 ? table_waiting(h->now.table) :
		h->now.table;

	if (from->chunk == 0)
		table_update(h->now.table, from->updates);
	h->now.updates = from->updates;
	if (!t || !carry_read(t, from->data.data, from->data.size))
		return fail(f, FAIL_PROTOCOL, "%zu bytes of rows that piece "
			    "%llu does not have", from->data.size,
			    (unsigned long long)from->piece);
	return 0;
}

int
shard_take_chunk(struct shard *s, const struct shard_chunk *from,
		 struct fail *f)
{
	struct holding *h;
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
	return 0;
}

void
shard_set_version(struct shard *s, size_t part, uint64_t version)
{
	s->version[part] = version;
}
