#include "shard/shard_private.h"

#include "base/mem.h"
#include "tensor/kernels.h"
#include "wire/keys.h"

#include <stdlib.h>
#include <string.h>

/* A chunk of a table that a snapshot shares is copied when it is written, so
   chunks of tables are small. */
#define TABLE_CHUNK	((size_t)64 << 10)	/* bytes of values */
#define ZERO_COPY	((size_t)64 << 10)
#define ROWS_KEPT	((size_t)1 << 20)	/* row numbers of a list that
						   stay allocated */

/* The rows of chunk i of a table.  A dense piece is one chunk: its elements. */
static size_t
chunk_count(const struct shard_piece *h, size_t i)
{
	const size_t left = h->piece->count - (i << h->shift);
	const size_t most = (size_t)1 << h->shift;

	if (!h->piece->table)
		return h->piece->count;
	return left < most ? left : most;
}

static void
make_chunk(struct shard_piece *h, size_t i, uint64_t seed)
{
	const struct variable *v = h->variable;
	const size_t width = h->piece->width;
	const size_t size = chunk_count(h, i) * width;
	struct chunk *c = chunk_blank(size, h->slots + h->published);

	initializer_fill(&v->initializer, v->name, v->shape, seed,
			 (h->piece->first + (i << h->shift)) * width,
			 c->value, size);
	for (size_t s = 0; s < h->slots; s++)
		for (size_t j = 0; j < size; j++)
			chunk_slot(c, s)[j] = v->optimizer->slot_start[s];
	h->now.chunk[i] = c;
	published_begin(h);
}

/* Allocate and initialise a piece; if stopped() returns true meanwhile, it has
   only the chunks that were made before. */
static void
hold_piece(struct shard *s, struct shard_piece *h, const struct piece *piece,
	   const struct variable *v)
{
	size_t width = piece->width;

	h->piece = piece;
	h->variable = v;
	h->slots = v->optimizer ? v->optimizer->slots : 0;
	h->published = coding_delta(s->plan->codings, piece->variable);
	if (piece->hashed) {
		h->hashed = (struct hashed){ v, s->plan->seed };
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
		if (shard_stopped(s))
			h->chunks = i;
		else
			make_chunk(h, i, s->plan->seed);
	}
}

double
shard_bytes(const struct plan *plan, const struct model *model, size_t server)
{
	size_t variables;
	const struct variable *v = model_variables(model, &variables);
	double bytes = 0;

	for (size_t i = 0; i < plan->parts; i++) {
		const struct part *part = &plan->part[i];

		for (size_t j = part->first; part->server == server &&
		     j < part->first + part->count; j++) {
			const struct piece *p = &plan->piece[j];
			const struct optimizer *o = v[p->variable].optimizer;

			bytes += p->hashed ? 0 : (double)p->count *
				(double)p->width * sizeof(float) *
				(double)(1 + (o ? o->slots : 0) +
					 (plan_delta(plan, i) != NULL));
		}
	}
	return bytes;
}

struct shard *
shard_new(const struct plan *plan, const struct model *model, size_t server,
	  bool (*stopped)(void))
{
	struct shard *s = mem_alloc(1, sizeof(*s));
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	s->plan = plan;
	s->model = model;
	s->server = server;
	s->stopped = stopped;
	s->published = published_new(plan);
	s->holding = mem_alloc(plan->pieces, sizeof(*s->holding));
	s->version = mem_alloc(plan->parts, sizeof(*s->version));
	for (size_t i = 0; i < plan->parts; i++) {
		const struct part *part = &plan->part[i];

		if (part->server != server)
			continue;
		for (size_t j = part->first; j < part->first + part->count;
		     j++)
			hold_piece(s, &s->holding[j], &plan->piece[j],
				   &v[plan->piece[j].variable]);
		if (part->count > s->pieces)
			s->pieces = part->count;
	}
	s->pushed = shard_rows_new(s);
	s->pulled = shard_rows_new(s);
	s->tree = gradient_tree_new(plan);
	if (shard_stopped(s)) {
		shard_free(s);
		return NULL;
	}
	return s;
}

void
shard_free(struct shard *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->plan->pieces; i++) {
		for (size_t j = 0; j < s->holding[i].chunks; j++)
			refcount_drop(&s->holding[i].now.chunk[j]->hold);
		free(s->holding[i].now.chunk);
		table_free(s->holding[i].now.table);
	}
	shard_rows_free(s->pushed);
	shard_rows_free(s->pulled);
	gradient_tree_free(s->tree);
	free(s->wide);
	for (size_t i = 0; i < SENT; i++)
		send_buffer_free(&s->sent[i]);
	send_buffer_free(&s->values);
	published_free(s->published, s->plan->parts);
	send_buffer_free(&s->difference);
	send_buffer_free(&s->differences);
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
reserve(float **at, size_t *room, size_t floats)
{
	if (floats > *room) {
		*room = floats;
		*at = mem_resize(*at, floats, sizeof(float));
	}
	return *at;
}

/* The slice of some rows of a piece, in a gradient. */
static struct codec_slice
slice_of(const struct piece *piece, const struct row_list *rows)
{
	return plan_slice(piece, rows->count);
}

static struct codec_slice
pulled(const struct piece *piece, const struct row_list *rows)
{
	struct codec_slice slice = slice_of(piece, rows);

	slice.pulled = true;
	return slice;
}

/* The bytes of encoded values, at most: of these rows of a part's pieces. */
static size_t
pulled_most(const struct shard_rows *rows, struct encoding e)
{
	const struct plan *plan = rows->shard->plan;
	const struct part *part = &plan->part[rows->part];
	const struct piece *piece = &plan->piece[part->first];
	size_t size = 0;

	for (size_t i = 0; i < part->count; i++)
		size += encoding_most(e, piece[i].variable,
				      pulled(&piece[i], &rows->list[i]));
	return size;
}

/* Decode the gradient of all pieces of a part to `floats' floats, good until
   the next call. */
static const void *
decode_part(struct shard *s, size_t n, const struct shard_push *p,
	    size_t floats)
{
	const struct part *part = &s->plan->part[n];
	const char *from = p->values->data;
	float *to;

	if (!p->encoding.codings)
		return from;
	to = reserve(&s->wide, &s->wide_room, floats + 1);
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];
		const struct codec_slice slice =
			slice_of(piece, &s->pushed->list[i]);

		from += codec_decode(encoding_codec(p->encoding,
						    piece->variable, slice),
				     to, from, slice);
		to += slice.rows * slice.width;
	}
	return s->wide;
}

/* Check that an encoded gradient of a part can be decoded, and that all its
   numbers are finite. */
static int
check_values(const struct shard *s, size_t n, const struct shard_push *p,
	     struct fail *f)
{
	const struct part *part = &s->plan->part[n];
	const char *from = p->values->data;
	size_t left = p->values->size, size;
	bool finite = true;

	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];
		const struct codec_slice slice =
			slice_of(piece, &s->pushed->list[i]);
		const struct codec *codec =
			encoding_codec(p->encoding, piece->variable, slice);

		if (!codec_length(codec, from, left, slice, &size)) {
			left = SIZE_MAX;
			break;
		}
		finite = codec_finite(codec, from, slice) && finite;
		from += size;
		left -= size;
	}
	if (left > 0)
		return fail(f, FAIL_PROTOCOL, "%zu bytes of gradient do not "
			    "fit", p->values->size);
	return finite ? 0 : fail(f, FAIL_DATA, "a gradient is not finite");
}

/* Find a buffer that no message refers to any more, or the next one if all are
   in use.  A large one is not kept. */
static struct send_buffer **
next_sent(struct shard *s, size_t floats)
{
	if (floats * sizeof(float) > PLAN_PIECE)
		return &s->values;
	for (size_t i = 0; i < SENT; i++) {
		struct send_buffer **one = &s->sent[s->next_sent++ % SENT];

		if (!*one || refcount_alone(&(*one)->hold))
			return one;
	}
	return &s->sent[s->next_sent % SENT];
}

/* Encode pulled values, one piece behind the other. */
static struct frame
encode(struct shard *s, const struct shard_rows *rows, struct encoding e,
       const float *values)
{
	const struct part *part = &s->plan->part[rows->part];
	const size_t most = send_buffer_for(pulled_most(rows, e));
	struct send_buffer **at = next_sent(s, most);
	char *to = (char *)send_buffer_room(at, most);
	size_t size = 0;

	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];
		const struct codec_slice slice =
			pulled(piece, &rows->list[i]);
		const struct codec *codec =
			encoding_codec(e, piece->variable, slice);

		size += codec_encode(codec, to + size, values, slice);
		values += slice.rows * slice.width;
	}
	return (struct frame){ (*at)->at, size, &(*at)->hold };
}

/* ---- rows ---- */

struct shard_rows *
shard_rows_new(const struct shard *s)
{
	struct shard_rows *rows = mem_alloc(1, sizeof(*rows));

	rows->shard = s;
	rows->list = mem_alloc(s->pieces, sizeof(*rows->list));
	return rows;
}

void
shard_rows_free(struct shard_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->shard->pieces; i++)
		free(rows->list[i].row);
	free(rows->list);
	free(rows);
}

/*
 * A few bytes of keys can name millions of rows.  Memory for that many row
 * numbers is freed after use; otherwise in the end each list of each piece
 * would keep as much.
 */
void
shard_rows_forget(struct shard_rows *rows)
{
	const size_t count = rows->shard->plan->part[rows->part].count;

	for (size_t i = 0; i < count; i++)
		if (rows->list[i].room > ROWS_KEPT) {
			free(rows->list[i].row);
			rows->list[i] = (struct row_list){ 0 };
		}
}

/* Do the values of the rows that the next keys name fit into a frame?  Keys may
   be short, values never are. */
static bool
has_room(const struct unpack *u, const struct piece *piece, size_t floats)
{
	const size_t most = WIRE_FRAME / sizeof(float);

	return !piece->table ||
		(floats <= most &&
		 keys_count(*u) <= (most - floats) / piece->width);
}

int
shard_rows_read(struct shard_rows *rows, size_t n, const struct frame *keys,
		struct fail *f)
{
	const struct plan *plan = rows->shard->plan;
	const struct part *part = &plan->part[n];
	struct unpack u = unpack_from(keys->data, keys->size);

	rows->part = n;
	rows->floats = 0;
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &plan->piece[part->first + i];

		if (!has_room(&u, piece, rows->floats)) {
			shard_rows_forget(rows);
			return fail(f, FAIL_PROTOCOL, "rows of more than %zu "
				    "MiB", WIRE_FRAME >> 20);
		}
		row_list_read(&rows->list[i], &u, piece);
		rows->floats += rows->list[i].count * piece->width;
	}
	if (unpack_ok(&u))
		return 0;
	shard_rows_forget(rows);
	return fail(f, FAIL_PROTOCOL, "malformed keys");
}

/* ---- pulls ---- */

/* Copy the values of all pieces, one behind the other. */
static void
gather(struct shard *s, const struct shard_rows *rows,
       const struct shard_snapshot *snapshot, float *to)
{
	const struct part *part = &s->plan->part[rows->part];
	const struct shard_piece *h = &s->holding[part->first];

	for (size_t i = 0; i < part->count; i++) {
		piece_state_pull(piece_state_of(s, snapshot, part->first + i),
				 &h[i], &rows->list[i], to);
		to += rows->list[i].count * h[i].piece->width;
	}
}

/* Does all of it travel as floats? */
static bool
pulled_exact(const struct shard_rows *rows, struct encoding e)
{
	const struct plan *plan = rows->shard->plan;
	const struct part *part = &plan->part[rows->part];
	const struct piece *piece = &plan->piece[part->first];

	for (size_t i = 0; e.codings && i < part->count; i++)
		if (!encoding_codec(e, piece[i].variable,
				    pulled(&piece[i], &rows->list[i]))->exact)
			return false;
	return true;
}

void
shard_rows_pull(struct shard *s, struct shard_rows *rows,
		const struct shard_snapshot *snapshot, struct encoding e,
		struct frame *values)
{
	const struct part *part = &s->plan->part[rows->part];
	const struct shard_piece *h = &s->holding[part->first];
	const size_t floats = rows->floats;
	const size_t size = floats * sizeof(float);

	const bool exact = pulled_exact(rows, e);

	if (part->count == 1 && !h->piece->table && size >= ZERO_COPY) {
		struct chunk *c =
			piece_state_of(s, snapshot, part->first)->chunk[0];

		*values = !exact ? encode(s, rows, e, c->value) :
			(struct frame){ c->value, size, &c->hold };
	} else if (!exact) {
		reserve(&s->wide, &s->wide_room, floats + 1);
		gather(s, rows, snapshot, s->wide);
		*values = encode(s, rows, e, s->wide);
	} else {
		gather(s, rows, snapshot, send_buffer_room(&s->values, floats));
		*values = (struct frame){ s->values->at, size,
					  &s->values->hold };
	}
	shard_rows_forget(rows);
}

int
shard_pull(struct shard *s, size_t n, const struct frame *keys,
	   const struct shard_snapshot *snapshot, struct encoding e,
	   struct frame *values, struct fail *f)
{
	if (shard_rows_read(s->pulled, n, keys, f) < 0)
		return -1;
	shard_rows_pull(s, s->pulled, snapshot, e, values);
	return 0;
}

/* ---- pushes ---- */

void
shard_apply(struct shard *s, struct shard_snapshot *snapshot, size_t n,
	    const void *gradient, const struct shard_push *p, uint64_t of)
{
	const struct part *part = &s->plan->part[n];
	const char *g = gradient;

	for (size_t i = 0; i < part->count; i++) {
		const struct shard_piece *h = &s->holding[part->first + i];
		struct piece_state *to =
			piece_state_of(s, snapshot, part->first + i);
		const struct optimizer *o = h->variable->optimizer;
		const struct row_list *rows = &s->pushed->list[i];
		const size_t floats = rows->count * h->piece->width;

		/* A frozen variable counts no updates, either. */
		if (o->frozen) {
			g += floats * sizeof(float);
			continue;
		}

		const struct apply a = {
			.optimizer = o, .t = ++to->updates - h->since,
			.examples = (float)of,
			.learning_rate = schedule_asked(&o->schedule,
				(shard_counts_updates(h) ? to->updates - 1 :
				 p->step) - h->begun, p->learning_rate)
		};

		piece_state_push(to, h, &a, rows, g);
		g += floats * sizeof(float);
	}
}

/*
 * Apply a step to the shard, and first take care of its snapshots.  A snapshot
 * that must not contain the step is frozen now, unless it is already.  A
 * snapshot that must contain the step, but was frozen by a later one, gets the
 * gradient as well.
 */
static void
push_copies(struct shard *s, size_t n, const void *gradient,
	    const struct shard_push *p, uint64_t of)
{
	for (struct shard_snapshot *snapshot = s->snapshots; snapshot;
	     snapshot = snapshot->next) {
		if (p->step >= snapshot->step)
			shard_snapshot_freeze(snapshot);
		else if (snapshot->content && !snapshot->array)
			shard_apply(s, snapshot, n, gradient, p, of);
	}
	shard_apply(s, NULL, n, gradient, p, of);
	s->version[n]++;
}

/* Read the rows of a push, and check that its gradient can be decoded and is
   finite. */
static int
read_push(struct shard *s, size_t n, const struct shard_push *p,
	  struct fail *f)
{
	if (p->examples == 0)
		return p->keys->size + p->values->size == 0 ? 0 :
			fail(f, FAIL_PROTOCOL, "a gradient of no examples");
	if (shard_rows_read(s->pushed, n, p->keys, f) < 0)
		return -1;
	return check_values(s, n, p, f);
}

int
shard_check_push(struct shard *s, size_t n, const struct shard_push *p,
		 struct fail *f)
{
	const int r = read_push(s, n, p, f);

	if (p->examples > 0)
		shard_rows_forget(s->pushed);
	return r;
}

int
shard_push(struct shard *s, size_t n, const struct shard_push *p,
	   struct fail *f)
{
	const int r = read_push(s, n, p, f);

	if (p->examples == 0)
		return r;
	if (r == 0)
		push_copies(s, n, decode_part(s, n, p, s->pushed->floats), p,
			    p->examples);
	shard_rows_forget(s->pushed);
	return r;
}

/* ---- the replicas of a round ---- */

int
shard_sum_replicas(struct shard *s, size_t n, const struct shard_push *push,
		   size_t pushes, struct gradient_sum *sum, struct fail *f)
{
	struct gradient_leaf *leaf = mem_alloc(pushes, sizeof(*leaf));
	size_t floats, count = 0;
	bool finite = true;

	sum->examples = 0;
	for (size_t k = 0; k < pushes; k++) {
		if (push[k].examples == 0)
			continue;
		leaf[count++] = (struct gradient_leaf){
			push[k].replica, push[k].keys, push[k].values,
			push[k].encoding
		};
		sum->examples += push[k].examples;
	}
	if (count > 0) {
		s->pushed->part = n;
		floats = gradient_tree_sum(s->tree, n, leaf, count,
					   s->pushed->list, &sum->gradient);
		finite = kernel_finite(sum->gradient, floats);
	}
	free(leaf);
	if (!finite) {
		shard_rows_forget(s->pushed);
		return fail(f, FAIL_DATA, "the gradients of a round add up to "
			    "numbers that are not finite");
	}
	return count > 0;
}

int
shard_push_replicas(struct shard *s, size_t n, const struct shard_push *push,
		    size_t pushes, struct fail *f)
{
	struct gradient_sum sum;
	const int r = shard_sum_replicas(s, n, push, pushes, &sum, f);

	if (r <= 0)
		return r;
	push_copies(s, n, sum.gradient, push, sum.examples);
	shard_rows_forget(s->pushed);
	shard_publish(s, n, push->step + 1);
	return 0;
}

void
shard_set_version(struct shard *s, size_t part, uint64_t version)
{
	s->version[part] = version;
}
