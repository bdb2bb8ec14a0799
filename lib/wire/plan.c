#include "wire/plan.h"

#include "base/mem.h"
#include "base/text.h"
#include "wire/message.h"

#include <stdlib.h>
#include <string.h>

/* What a piece of a table counts for when parts are made: how many rows a
   message has is known only from a batch. */
#define TABLE_NOMINAL	((size_t)64 << 10)

#define MAX_ENDPOINT	256

/* The least bytes that a piece and a part take in a message: they bound the
   counts that a peer claims, before memory is taken. */
#define PIECE_BYTES	4
#define PART_BYTES	3

void
plan_release(struct plan *p)
{
	for (size_t i = 0; p->endpoint && i < p->servers; i++)
		free(p->endpoint[i]);
	free(p->endpoint);
	free(p->piece);
	free(p->part);
	codings_free(p->codings);
	*p = (struct plan){ 0 };
}

uint64_t
plan_run(const struct plan *p)
{
	uint64_t run;

	memcpy(&run, p->run, sizeof(run));
	return run;
}

struct builder {
	struct plan *plan;
	const struct variable *variable;
	size_t piece_room, part_room;
	size_t bytes;		/* bytes of the last part */
};

/*
 * May two variables share a part?  Both must wait for rounds or neither, and
 * both be trained or neither, by the same lines: a step is pushed to all of a
 * part or to none of it.  Their pulled differences must have the same coding.
 */
static bool
may_share(const struct plan *p, const struct variable *all, uint32_t i,
	  uint32_t k)
{
	const struct variable *a = &all[i], *b = &all[k];
	const struct coding *c = &p->codings->of[i][WAY_PULL];
	const struct coding *d = &p->codings->of[k][WAY_PULL];

	if (c->delta != d->delta ||
	    (c->delta && (c->codec != d->codec || c->keep != d->keep ||
			  c->from != d->from)))
		return false;
	return a->async == b->async && a->unused == b->unused &&
		a->lines == b->lines && a->trained_by == b->trained_by;
}

static bool
fits_last_part(const struct builder *b, uint32_t server, struct piece piece,
	       size_t bytes)
{
	const struct plan *p = b->plan;

	return p->parts > 0 && p->part[p->parts - 1].server == server &&
		b->bytes + bytes <= PLAN_PIECE &&
		may_share(p, b->variable, p->piece[p->pieces - 1].variable,
			  piece.variable);
}

static void
add_piece(struct builder *b, uint32_t server, struct piece piece)
{
	struct plan *p = b->plan;
	const size_t bytes = piece.table ? TABLE_NOMINAL :
		piece.count * sizeof(float);

	if (!fits_last_part(b, server, piece, bytes)) {
		p->part = mem_grow(p->part, p->parts, &b->part_room,
				   sizeof(*p->part));
		p->part[p->parts++] = (struct part){ server, p->pieces, 0 };
		b->bytes = 0;
	}
	p->piece = mem_grow(p->piece, p->pieces, &b->piece_room,
			    sizeof(*p->piece));
	p->piece[p->pieces++] = piece;
	p->part[p->parts - 1].count++;
	b->bytes += bytes;
}

/* The fields of a piece that follow from its variable alone. */
static struct piece
piece_of(const struct variable *v)
{
	const struct codec_slice s = coding_slice(v, 0);

	return (struct piece){ .table = v->table, .hashed = v->hashed,
			       .width = s.width, .exact = s.exact,
			       .of = s.of };
}

struct codec_slice
plan_slice(const struct piece *p, size_t rows)
{
	return (struct codec_slice){
		.rows = rows, .width = p->width, .table = p->table,
		.exact = p->exact, .first = p->table ? 0 : p->first,
		.of = p->of
	};
}

/* The most floats that a piece of a variable may have. */
static size_t
most_floats(const struct plan *p, size_t variable)
{
	const size_t most = (p->piece_bytes ? p->piece_bytes : PLAN_PIECE) /
		sizeof(float);

	if (!coding_delta(p->codings, variable))
		return most;
	return most < CODING_BLOCK ? CODING_BLOCK : most - most % CODING_BLOCK;
}

static void
add_shard(struct builder *b, const struct place *place,
	  const struct variable *v)
{
	const size_t width = shape_width(v->shape);
	const size_t most = most_floats(b->plan, place->variable);
	struct piece piece = piece_of(v);

	piece.variable = place->variable;
	piece.first = place->rows.first;
	piece.count = place->rows.count;
	if (v->table) {
		add_piece(b, place->server, piece);
		return;
	}
	const size_t end = (place->rows.first + place->rows.count) * width;

	for (size_t at = place->rows.first * width; at < end; at += most) {
		piece.first = at;
		piece.count = end - at < most ? end - at : most;
		add_piece(b, place->server, piece);
	}
}

/* The most pieces that a variable of this many shards can have. */
static size_t
most_pieces(const struct variable *v, size_t shards)
{
	return v->table ? shards :
		shards + shape_size(v->shape) / (PLAN_PIECE / sizeof(float));
}

int
plan_check(const struct model *model, const struct partitioner *how,
	   size_t servers, struct fail *f)
{
	size_t variables, sum = 0, most = 0;
	const struct variable *v = model_variables(model, &variables);
	const struct variable *largest = v;
	char dims[SHAPE_TEXT];

	/* The sum cannot overflow: a variable has at most 2^48 numbers, and a
	   model fewer than 2^20 variables. */
	for (size_t i = 0; i < variables; i++) {
		const size_t n = most_pieces(&v[i], partition_shards(how,
								     &v[i],
								     servers));

		sum += n;
		largest = n > most ? &v[i] : largest;
		most = n > most ? n : most;
	}
	if (sum <= PLAN_PIECES)
		return 0;
	return fail(f, FAIL_CONFIG, "the variables would be cut into more "
		    "than %zu pieces, %s of %s alone into %zu: take a smaller "
		    "one, or fewer shards (--partition)", PLAN_PIECES,
		    largest->name, shape_text(largest->shape, dims), most);
}

/* Returns the indices of the places, those of server 0 first, each server's in
   their order; free() them. */
static size_t *
by_server(const struct place *place, size_t places, size_t servers)
{
	size_t *order = mem_alloc(places, sizeof(*order));
	size_t *next = mem_alloc(servers + 1, sizeof(*next));

	for (size_t i = 0; i < places; i++)
		next[place[i].server + 1]++;
	for (size_t s = 1; s < servers; s++)
		next[s] += next[s - 1];
	for (size_t i = 0; i < places; i++)
		order[next[place[i].server]++] = i;
	free(next);
	return order;
}

void
plan_make(struct plan *p, const struct model *model,
	  const struct place *place, size_t places, char *const *endpoint,
	  size_t servers)
{
	size_t variables;
	const struct variable *v = model_variables(model, &variables);
	struct builder b = { .plan = p, .variable = v };
	size_t *order;

	if (!p->codings)
		p->codings = codings_new(variables);
	p->servers = servers;
	p->endpoint = mem_alloc(servers, sizeof(*p->endpoint));
	for (size_t i = 0; i < servers; i++)
		p->endpoint[i] = mem_text(endpoint[i]);
	order = by_server(place, places, servers);
	for (size_t i = 0; i < places; i++)
		add_shard(&b, &place[order[i]],
			  &v[place[order[i]].variable]);
	free(order);
}

void
plan_write(struct pack *out, const struct plan *p)
{
	pack_array(out, 5);
	pack_array(out, p->servers);
	for (size_t i = 0; i < p->servers; i++)
		pack_text(out, p->endpoint[i]);
	pack_array(out, p->pieces);
	for (size_t i = 0; i < p->pieces; i++) {
		pack_array(out, 3);
		pack_uint(out, p->piece[i].variable);
		pack_uint(out, p->piece[i].first);
		pack_uint(out, p->piece[i].count);
	}
	pack_array(out, p->parts);
	for (size_t i = 0; i < p->parts; i++) {
		pack_array(out, 2);
		pack_uint(out, p->part[i].server);
		pack_uint(out, p->part[i].count);
	}
	codings_write(out, p->codings);
	pack_uint(out, p->every);
}

static void
read_endpoints(struct plan *p, struct unpack *u)
{
	const uint32_t count = unpack_array(u);

	if (count == 0 || count > PLAN_SERVERS || count > unpack_left(u)) {
		u->bad = true;
		return;
	}
	p->endpoint = mem_alloc(count, sizeof(*p->endpoint));
	p->servers = count;
	for (size_t i = 0; i < count; i++) {
		size_t size;
		const char *text = unpack_blob(u, &size);

		u->bad = u->bad || size > MAX_ENDPOINT ||
			(size > 0 && memchr(text, '\0', size));
		p->endpoint[i] = mem_text_n(u->bad ? "" : text,
					    u->bad ? 0 : size);
	}
}

/*
 * Can no plan of this model have that many pieces?  Each takes at least
 * PIECE_BYTES of the message, and ten times that in memory.
 */
static bool
too_many_pieces(size_t count, const struct model *model, const struct unpack *u)
{
	size_t variables, most = 0;
	const struct variable *v = model_variables(model, &variables);

	for (size_t i = 0; i < variables; i++)
		most += most_pieces(&v[i], PARTITION_SHARDS);
	return count > most || count > PLAN_PIECES ||
		count > unpack_left(u) / PIECE_BYTES;
}

static void
read_pieces(struct plan *p, const struct model *model, struct unpack *u)
{
	const uint32_t count = unpack_array(u);
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	if (u->bad || too_many_pieces(count, model, u)) {
		u->bad = true;
		return;
	}
	p->piece = mem_alloc(count, sizeof(*p->piece));
	p->pieces = count;
	for (size_t i = 0; i < count && !u->bad; i++) {
		struct piece *piece = &p->piece[i];
		uint32_t variable;

		u->bad = unpack_array(u) != 3 || u->bad;
		variable = (uint32_t)unpack_below(u, variables);
		if (u->bad)
			return;
		*piece = piece_of(&v[variable]);
		piece->variable = variable;
		piece->first = unpack_uint(u);
		piece->count = unpack_uint(u);
		if (u->bad)
			return;
		u->bad = piece->count == 0 || (!piece->table &&
			piece->count > PLAN_PIECE / sizeof(float));
	}
}

static void
read_parts(struct plan *p, struct unpack *u)
{
	const uint32_t count = unpack_array(u);
	size_t pieces = 0;

	if (count > p->pieces || count > unpack_left(u) / PART_BYTES) {
		u->bad = true;
		return;
	}
	p->part = mem_alloc(count, sizeof(*p->part));
	p->parts = count;
	for (size_t i = 0; i < count && !u->bad; i++) {
		u->bad = unpack_array(u) != 2 || u->bad;
		p->part[i].server = (uint32_t)unpack_below(u, p->servers);
		p->part[i].first = pieces;
		p->part[i].count = unpack_below(u, p->pieces - pieces + 1);
		pieces += p->part[i].count;
		/* No part is empty, and the parts of a server are
		   neighbours. */
		u->bad = u->bad || p->part[i].count == 0 ||
			(i > 0 && p->part[i].server < p->part[i - 1].server);
	}
	u->bad = u->bad || pieces != p->pieces;
}

static int
by_place(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->variable != b->variable)
		return a->variable < b->variable ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Do the pieces cover every variable exactly once? */
static bool
covers_variables(const struct plan *p, const struct model *model)
{
	size_t variables, at = 0;
	const struct variable *v = model_variables(model, &variables);
	struct piece *sorted = mem_copy(p->piece,
					p->pieces * sizeof(*p->piece));
	bool good = true;

	qsort(sorted, p->pieces, sizeof(*sorted), by_place);
	for (size_t i = 0; i < variables && good; i++) {
		const size_t all = v[i].table ? shape_rows(v[i].shape) :
			shape_size(v[i].shape);
		size_t next = 0;

		for (; at < p->pieces && sorted[at].variable == i; at++) {
			if (sorted[at].first != next ||
			    sorted[at].count > all - next)
				break;
			next += sorted[at].count;
		}
		good = next == all;
	}
	good = good && at == p->pieces;
	free(sorted);
	return good;
}

/* Does no part mix variables that may not share one? */
static bool
has_unmixed_parts(const struct plan *p, const struct model *model)
{
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	for (size_t i = 0; i < p->parts; i++) {
		const struct piece *piece = p->piece + p->part[i].first;

		for (size_t k = 1; k < p->part[i].count; k++)
			if (!may_share(p, v, piece[k].variable,
				       piece->variable))
				return false;
	}
	return true;
}

/* Are pieces whose differences are pulled cut at block boundaries only? */
static bool
has_blocks(const struct plan *p)
{
	for (size_t i = 0; i < p->pieces; i++) {
		const struct piece *piece = &p->piece[i];
		const struct coding *c =
			coding_delta(p->codings, piece->variable);
		const size_t end = piece->first + piece->count;

		if (c && (piece->first % c->codec->block > 0 ||
			  (end % c->codec->block > 0 && end < piece->of)))
			return false;
	}
	return true;
}

int
plan_read(struct plan *p, const struct model *model, const void *bytes,
	  size_t size, struct fail *f)
{
	struct unpack u = unpack_from(bytes, size);
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	p->codings = codings_new(variables);
	u.bad = unpack_array(&u) != 5;
	if (!u.bad)
		read_endpoints(p, &u);
	if (!u.bad)
		read_pieces(p, model, &u);
	if (!u.bad)
		read_parts(p, &u);
	u.bad = u.bad || !codings_read(&u, p->codings, v);
	p->every = unpack_uint(&u);
	if (unpack_ok(&u) && covers_variables(p, model) &&
	    has_unmixed_parts(p, model) && has_blocks(p))
		return 0;
	plan_release(p);
	return fail(f, FAIL_PROTOCOL, "malformed plan");
}

bool
plan_same_layout(const struct plan *a, const struct plan *b)
{
	bool same = a->servers == b->servers && a->pieces == b->pieces &&
		a->parts == b->parts;

	for (size_t i = 0; same && i < a->pieces; i++)
		same = by_place(&a->piece[i], &b->piece[i]) == 0 &&
			a->piece[i].count == b->piece[i].count &&
			!coding_delta(a->codings, a->piece[i].variable) ==
			!coding_delta(b->codings, a->piece[i].variable);
	for (size_t i = 0; same && i < a->parts; i++)
		same = a->part[i].server == b->part[i].server &&
			a->part[i].count == b->part[i].count;
	return same;
}

int
plan_renew(struct plan *p, const struct model *model, uint64_t term,
	   const struct frame *frame, struct fail *f)
{
	struct plan newer = { 0 };
	char **endpoint = p->endpoint;

	if (plan_read(&newer, model, frame->data, frame->size, f) < 0)
		return -1;
	if (!plan_same_layout(p, &newer)) {
		plan_release(&newer);
		return fail(f, FAIL_PROTOCOL, "another plan of the same "
			    "number");
	}
	p->endpoint = newer.endpoint;
	newer.endpoint = endpoint;
	p->term = term;
	plan_take_codings(p, &newer);
	plan_release(&newer);
	return 0;
}

/* Codings that were used before, and come again, are not kept twice. */
void
plan_take_codings(struct plan *p, struct plan *from)
{
	struct codings **at = &p->codings, *one;

	while (*at && !codings_same(*at, from->codings))
		at = &(*at)->older;
	one = *at ? *at : from->codings;
	if (*at)
		*at = one->older;
	else
		from->codings = NULL;
	one->older = p->codings;
	p->codings = one;
	p->every = from->every;
}

struct encoding
plan_encoding(const struct plan *p, uint64_t step)
{
	return (struct encoding){ p->codings, step };
}

void
plan_write_model(struct pack *out, const struct model_source *source)
{
	pack_array(out, 2 * source->count);
	for (size_t i = 0; i < source->count; i++) {
		pack_text(out, source->file[i].name);
		pack_blob(out, source->file[i].text, source->file[i].size);
	}
}

int
plan_read_model(struct model_source *source, const void *bytes, size_t size,
		struct fail *f)
{
	struct unpack u = unpack_from(bytes, size);
	const uint32_t count = unpack_array(&u);

	*source = (struct model_source){ 0 };
	if (u.bad || count == 0 || count % 2 || count > 2 * MODEL_FILES ||
	    count > unpack_left(&u))
		return fail(f, FAIL_PROTOCOL, "malformed model");
	source->file = mem_alloc(count / 2, sizeof(*source->file));
	for (source->count = 0; source->count < count / 2; source->count++) {
		struct model_file *file = &source->file[source->count];
		size_t name_size;
		const char *name = unpack_blob(&u, &name_size);
		const char *text = unpack_blob(&u, &file->size);

		u.bad = u.bad ||
			(name_size > 0 && memchr(name, '\0', name_size));
		if (u.bad)
			break;
		file->name = mem_text_n(name, name_size);
		file->text = mem_text_n(text, file->size);
	}
	if (unpack_ok(&u))
		return 0;
	model_source_release(source);
	return fail(f, FAIL_PROTOCOL, "malformed model");
}

uint64_t
piece_key(const struct piece *piece)
{
	return piece->hashed ? hashed_first(piece->first) : piece->first;
}

uint64_t
piece_last_key(const struct piece *piece)
{
	return (piece->hashed ? hashed_first(piece->count) : piece->count) - 1;
}

bool
plan_uses(const struct plan *p, size_t server)
{
	size_t from = 0, to = p->parts;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (p->part[middle].server < server)
			from = middle + 1;
		else
			to = middle;
	}
	return from < p->parts && p->part[from].server == server;
}

const struct coding *
plan_delta(const struct plan *p, size_t part)
{
	return coding_delta(p->codings,
			    p->piece[p->part[part].first].variable);
}

struct codec_slice
plan_difference(const struct plan *p, const struct piece *piece)
{
	struct codec_slice s = plan_slice(piece, piece->count);

	s.keep = coding_delta(p->codings, piece->variable)->keep;
	s.pulled = s.difference = true;
	s.of = 0;	/* no block continues in another piece */
	return s;
}

size_t
plan_part_dense(const struct plan *p, size_t part)
{
	const struct piece *piece = p->piece + p->part[part].first;
	size_t floats = 0;

	for (size_t i = 0; i < p->part[part].count; i++)
		if (!piece[i].table)
			floats += piece[i].count;
	return floats;
}
