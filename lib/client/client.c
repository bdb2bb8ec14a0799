#include "client/client.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/send_buffer.h"
#include "client/relay_link.h"
#include "wire/keys.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes of values under way to or from one server, at most, except that one
 * part alone may be larger.  This bounds the memory that the server needs for
 * us.
 */
#define CREDIT	((size_t)8 << 20)

#define CODEC_STREAM	0x636f646563u	/* "codec" */

#define MIB		((size_t)1 << 20)
#define MOST_KEY	9	/* bytes of a row's key, rounded up */

/*
 * A push, a pull, or both in one message go in the lane NOW.  A pull that waits
 * for the end of the push's round goes in the lane AFTER, which is sent first:
 * its request is short, and the push may be long.
 */
enum lane { LANE_AFTER, LANE_NOW, LANES };

struct server_peer {
	uint64_t peer;
	bool up, welcome;
	char *endpoint;			/* where it was dialled */
	uint64_t heard, waiting_since;
	size_t first, count;		/* its parts of the plan */
	struct flow {
		size_t next;		/* the first part not sent yet */
		size_t under_way, bytes;	/* parts; bytes of values */
	} flow[LANES];
};

/* A pull of a part.  A later push of the same rows may refer to its keys. */
struct pulled {
	const struct compute *compute;	/* NULL: the server knows of none */
	uint64_t begun;			/* see compute_begun() */
	uint64_t request;
};

#define PULLED	2		/* computes whose last pull is kept */

/* A copy of what a server had published of a part when we last pulled it. */
struct copy {
	uint64_t edition;	/* 0: there is none */
	float *value;
};

struct client {
	const struct plan *plan;
	const struct model *model;
	const struct variable *variable;
	enum role role;
	uint64_t life;
	struct outbox *outbox;
	struct server_peer *server;
	struct relay_link relay;
	bool relayed;			/* the exchange goes by the relay */
	struct exchange exchange;
	struct exchanged exchanged;
	struct traffic traffic;		/* of the exchanges before this one */
	uint64_t ahead;			/* bytes: see client_ahead() */
	float *decoded;			/* for measure_codec_error(): a piece */
	size_t decoded_room;		/* floats */
	uint64_t generation;		/* the number of the exchange */
	struct asked {
		bool answered, ahead;	/* ahead: its values have come, and are
					   not confirmed yet */
		size_t bytes;		/* of its values */
		uint64_t edition;	/* of these values; 0: the part is not
					   published */
	} *part[LANES];			/* of each part */
	size_t unanswered[LANES];	/* parts */
	bool cut_is_gone;		/* see client_cut_is_gone() */
	struct pulled (*pulled)[PULLED];	/* of each part, newest first */
	struct copy *copy;		/* of each part */
	struct pack push_keys, pull_keys;
	struct send_buffer **values;	/* of each part: see gather() */
};

static int
dial_server(struct client *c, size_t i, uint64_t now, struct fail *f)
{
	struct server_peer *s = &c->server[i];

	s->up = s->welcome = false;
	s->waiting_since = now;
	s->endpoint = mem_text(c->plan->endpoint[i]);
	if (outbox_dial(c->outbox, s->endpoint, &s->peer, f) < 0)
		return fail_at(f, "server %zu", i);
	return 0;
}

struct client *
client_new(const struct plan *plan, const struct model *model,
	   enum role role, uint64_t life, struct outbox *outbox,
	   uint64_t now, struct fail *f)
{
	struct client *c = mem_alloc(1, sizeof(*c));
	size_t variables;

	c->plan = plan;
	c->model = model;
	c->variable = model_variables(model, &variables);
	c->role = role;
	c->life = life;
	c->outbox = outbox;
	c->server = mem_alloc(plan->servers, sizeof(*c->server));
	relay_link_init(&c->relay, plan, outbox, life);
	for (int i = 0; i < LANES; i++)
		c->part[i] = mem_alloc(plan->parts, sizeof(*c->part[i]));
	c->pulled = mem_alloc(plan->parts, sizeof(*c->pulled));
	c->values = mem_alloc(plan->parts, sizeof(*c->values));
	c->copy = mem_alloc(plan->parts, sizeof(*c->copy));
	for (size_t i = 0; i < plan->parts; i++) {
		struct server_peer *s = &c->server[plan->part[i].server];

		if (s->count++ == 0)
			s->first = i;
	}
	for (size_t i = 0; i < plan->servers; i++)
		if (dial_server(c, i, now, f) < 0) {
			client_free(c);
			return NULL;
		}
	return c;
}

void
client_free(struct client *c)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (!c)
		return;
	for (size_t i = 0; i < c->plan->servers; i++) {
		if (c->server[i].peer && c->server[i].up)
			outbox_send(c->outbox, c->server[i].peer, &bye);
		if (c->server[i].peer)
			outbox_hang_up(c->outbox, c->server[i].peer);
		free(c->server[i].endpoint);
	}
	relay_link_release(&c->relay);
	pack_release(&c->push_keys);
	pack_release(&c->pull_keys);
	for (size_t i = 0; i < c->plan->parts; i++) {
		send_buffer_free(&c->values[i]);
		free(c->copy[i].value);
	}
	free(c->values);
	free(c->copy);
	free(c->decoded);
	for (int i = 0; i < LANES; i++)
		free(c->part[i]);
	free(c->pulled);
	free(c->server);
	free(c);
}

static struct server_peer *
find_server(const struct client *c, uint64_t peer)
{
	for (size_t i = 0; i < c->plan->servers; i++)
		if (c->server[i].peer == peer)
			return &c->server[i];
	return NULL;
}

bool
client_knows(const struct client *c, uint64_t peer)
{
	return find_server(c, peer) || relay_link_knows(&c->relay, peer);
}

bool
client_ready(const struct client *c)
{
	for (size_t i = 0; i < c->plan->servers; i++)
		if (!c->server[i].welcome)
			return false;
	return true;
}

bool
client_idle(const struct client *c)
{
	return c->unanswered[LANE_NOW] + c->unanswered[LANE_AFTER] == 0;
}

bool
client_pushed(const struct client *c)
{
	return c->unanswered[LANE_NOW] == 0;
}

bool
client_cut_is_gone(const struct client *c)
{
	return c->cut_is_gone;
}

const struct exchanged *
client_exchanged(const struct client *c)
{
	return &c->exchanged;
}

struct traffic
client_traffic(const struct client *c)
{
	struct traffic all = c->traffic;

	traffic_add(&all, &c->exchanged.traffic);
	return all;
}

uint64_t
client_ahead(const struct client *c)
{
	return c->ahead;
}

/* ---- a part, as a message ---- */

static size_t
lower_bound(const uint64_t *ids, size_t count, uint64_t id)
{
	size_t low = 0;

	while (low < count) {
		const size_t middle = low + (count - low) / 2;

		if (ids[middle] < id)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* The floats first .. first + count - 1 that a compute has of a piece. */
struct span {
	size_t first, count;	/* into compute_value() */
	const uint64_t *ids;	/* of a table: the rows; NULL: no table */
	size_t rows;
};

static struct span
span_of(const struct compute *compute, const struct piece *piece)
{
	if (!piece->table)
		return (struct span){ .first = piece->first,
				      .count = piece->count };

	const struct compute_rows rows = compute_rows(compute,
						      piece->variable);
	const uint64_t first = piece_key(piece);
	const uint64_t last = first + piece_last_key(piece);
	const size_t low = lower_bound(rows.ids, rows.count, first);
	const size_t high = last == UINT64_MAX ? rows.count :
		lower_bound(rows.ids, rows.count, last + 1);

	return (struct span){ low * piece->width,
			      (high - low) * piece->width,
			      rows.ids + low, high - low };
}

/* The span as its codec sees it. */
static struct codec_slice
slice_of(const struct piece *piece, const struct span *span)
{
	return plan_slice(piece, piece->table ? span->rows : span->count);
}

static struct encoding
encoding_of(const struct client *c, bool coded, uint64_t step)
{
	return coded ? plan_encoding(c->plan, step) :
		(struct encoding){ NULL, 0 };
}

/* The encoding of the gradients, and of the values, of the exchange. */
static struct encoding
pushed_encoding(const struct client *c)
{
	return encoding_of(c, c->exchange.push_coded, c->exchange.step);
}

static struct encoding
pulled_encoding(const struct client *c)
{
	return encoding_of(c, c->exchange.pull_coded, c->exchange.pull_step);
}

static struct codec_slice
pulled_slice(const struct piece *piece, const struct span *span)
{
	struct codec_slice slice = slice_of(piece, span);

	slice.pulled = true;
	return slice;
}

/* The random numbers of a codec depend on the step, the replica and the
   variable, but not on the attempt: a step that is sent again is the same. */
static struct codec_slice
pushed_slice(const struct client *c, const struct piece *piece,
	     const struct span *span)
{
	const uint64_t step = rng_at(c->plan->seed, CODEC_STREAM,
				     c->exchange.step);
	struct codec_slice slice = slice_of(piece, span);

	slice.draw = rng_at(step, c->exchange.replica, piece->variable);
	slice.keep = c->plan->codings->of[piece->variable][WAY_PUSH].keep;
	slice.ids = span->ids;
	return slice;
}

static void
write_keys(struct pack *keys, const struct client *c,
	   const struct compute *compute, const struct part *part)
{
	pack_reset(keys);
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];

		if (!piece->table)
			continue;
		const struct span span = span_of(compute, piece);

		keys_write(keys, span.ids, span.rows, piece_key(piece));
	}
}

/* The earlier pull that had the keys of this push; NULL: none. */
static const struct pulled *
find_pulled(const struct client *c, size_t n, uint64_t request)
{
	const struct compute *compute = c->exchange.push;

	for (size_t i = 0; i < PULLED; i++) {
		const struct pulled *p = &c->pulled[n][i];

		if (p->compute == compute && p->request < request &&
		    p->begun == compute_begun(compute))
			return p;
	}
	return NULL;
}

static void
note_pulled(struct client *c, size_t n, uint64_t request)
{
	const struct compute *compute = c->exchange.pull;
	struct pulled *p = c->pulled[n];

	if (c->pull_keys.size < WIRE_RECALL || c->exchange.cut != WIRE_NONE)
		return;
	if (p->compute && p->compute != compute)
		p[1] = *p;
	*p = (struct pulled){ compute, compute_begun(compute), request };
}

/* The gradient of a piece, in place: nothing is copied. */
static struct frame
gradient_of(const struct client *c, const struct piece *piece,
	    const struct span *span)
{
	/* The gradients are only read, although the type is not const. */
	struct compute *from =
		(struct compute *)(uintptr_t)c->exchange.push;

	return (struct frame){
		compute_gradient(from, piece->variable) + span->first,
		span->count * sizeof(float),
		compute_gradient_hold(from, piece->variable)
	};
}

/* The encoded bytes, at most, of what a compute has of a part; no compute:
   0. */
static size_t
push_most(const struct client *c, const struct compute *compute,
	  const struct part *part, struct encoding encoding)
{
	size_t size = 0;

	for (size_t i = 0; compute && i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		const struct span span = span_of(compute, piece);

		size += encoding_most(encoding, piece->variable,
				      slice_of(piece, &span));
	}
	return size;
}

/* The same, as floats. */
static size_t
float_size(const struct client *c, const struct compute *compute,
	   const struct part *part)
{
	return push_most(c, compute, part, (struct encoding){ NULL, 0 });
}

static size_t
pull_most(const struct client *c, const struct part *part)
{
	const struct exchange *x = &c->exchange;
	size_t size = 0;

	for (size_t i = 0; x->pull && i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		const struct span span = span_of(x->pull, piece);

		size += encoding_most(pulled_encoding(c), piece->variable,
				      pulled_slice(piece, &span));
	}
	return size;
}

/* Add up the squared error that a codec makes, and the squares of the gradient.
   That takes time, so only one step of TRAFFIC_SAMPLE is measured. */
static void
measure_codec_error(struct client *c, const struct codec *codec,
		    const float *from, const void *encoded,
		    struct codec_slice slice)
{
	const size_t floats = slice.rows * slice.width;
	struct traffic *t = &c->exchanged.traffic;

	if (codec->exact || c->exchange.step % TRAFFIC_SAMPLE > 0)
		return;
	if (floats > c->decoded_room) {
		c->decoded_room = floats;
		c->decoded = mem_resize(c->decoded, floats, sizeof(float));
	}
	if (floats > 0)
		codec_decode(codec, c->decoded, encoded, slice);
	for (size_t i = 0; i < floats; i++) {
		const double error = (double)c->decoded[i] - (double)from[i];

		t->squares += (double)from[i] * (double)from[i];
		t->errors += error * error;
	}
}

/* Put aside what a codec has lost of a gradient. */
static void
keep_residual(const struct client *c, const struct piece *piece,
	      const struct codec *codec, const float *from,
	      const void *encoded, struct codec_slice slice)
{
	float *left = c->exchange.left && codec->sparse ?
		c->exchange.left[piece->variable] : NULL;

	if (!left)
		return;
	left += piece->first;
	codec_decode(codec, left, encoded, slice);
	for (size_t i = 0; i < slice.rows; i++)
		left[i] = from[i] - left[i];
}

/* The encoded gradients of a part, one behind the other. */
static struct frame
gather(struct client *c, size_t n)
{
	const struct encoding how = pushed_encoding(c);
	const struct part *part = &c->plan->part[n];
	const struct piece *piece = &c->plan->piece[part->first];
	struct span span = span_of(c->exchange.push, piece);
	size_t size = 0;
	char *to;

	if (part->count == 1 &&
	    encoding_codec(how, piece->variable,
			   slice_of(piece, &span))->exact)
		return gradient_of(c, piece, &span);
	to = (char *)send_buffer_room(&c->values[n], send_buffer_for(
				      push_most(c, c->exchange.push, part,
						how)));
	for (size_t i = 0; i < part->count; i++) {
		span = span_of(c->exchange.push, &piece[i]);

		const struct codec_slice slice = pushed_slice(c, &piece[i],
							      &span);
		const struct codec *codec =
			encoding_codec(how, piece[i].variable, slice);

		const void *from = gradient_of(c, &piece[i], &span).data;

		const size_t bytes = codec_encode(codec, to + size, from,
						  slice);

		measure_codec_error(c, codec, from, to + size, slice);
		keep_residual(c, &piece[i], codec, from, to + size, slice);
		size += bytes;
	}
	return (struct frame){ c->values[n]->at, size, &c->values[n]->hold };
}

/* Does no layer use the part's variables? */
static bool
is_unused(const struct client *c, size_t n)
{
	return c->variable[c->plan->piece[c->plan->part[n].first].variable]
		.unused;
}

/* The first variable of a part.  The same steps use and train all of them: see
   plan_make(). */
static size_t
variable_of(const struct client *c, size_t n)
{
	return c->plan->piece[c->plan->part[n].first].variable;
}

/* Does the step have no gradient for this part? */
static bool
has_no_gradient(const struct client *c, size_t n)
{
	return !compute_trains(c->exchange.push, variable_of(c, n));
}

/* The lane of pulls. */
static enum lane
pull_lane(const struct client *c)
{
	return c->exchange.push && c->exchange.after > 0 ? LANE_AFTER :
		LANE_NOW;
}

/* Does this lane pull the part? */
static bool
pulls(const struct client *c, enum lane lane, size_t n)
{
	const struct exchange *x = &c->exchange;

	return x->pull && lane == pull_lane(c) &&
		compute_uses(x->pull, variable_of(c, n));
}

/* Does this lane push the step to the part? */
static bool
pushes(const struct client *c, enum lane lane, size_t n)
{
	const struct exchange *x = &c->exchange;

	return x->push && lane == LANE_NOW &&
		(x->server == WIRE_NONE ||
		 x->server == c->plan->part[n].server);
}

/* The field that says how pulled values are to be encoded. */
static uint64_t
coded_pull(const struct client *c)
{
	return c->exchange.pull_coded ? c->exchange.pull_step + 1 : 0;
}

/* May a relay add up the push to this part with those of other replicas? */
static bool
is_summed(const struct client *c, size_t n)
{
	return c->relayed && c->exchange.level > 0 && !pulls(c, LANE_NOW, n);
}

/* A part that the step does not train gets a push of 0 examples: every part
   must know which steps have ended. */
static void
fill_push(struct client *c, size_t n, struct message *m)
{
	const struct exchange *x = &c->exchange;
	const struct part *part = &c->plan->part[n];
	const bool summed = is_summed(c, n);
	const struct pulled *pull = summed ? NULL :
		find_pulled(c, n, m->request);
	const bool leave = has_no_gradient(c, n);

	m->kind = pulls(c, LANE_NOW, n) ? MESSAGE_PUSHPULL : MESSAGE_PUSH;
	m->push.run = plan_run(c->plan);
	m->push.term = c->plan->term;
	m->push.plan = c->plan->number;
	m->push.part = n;
	m->push.step = x->step;
	m->push.examples = leave ? 0 : x->examples;
	m->push.version = x->version ? x->version[n] : 0;
	m->push.rate = message_float_bits(x->learning_rate);
	m->push.slot = message_node(x->replica, summed ? x->level : 0);
	m->push.attempt = x->attempt;
	m->push.coded = x->push_coded;
	m->push.values = m->kind == MESSAGE_PUSHPULL ? coded_pull(c) : 0;
	pack_reset(&c->push_keys);
	if (pull && !leave)
		m->push.back = m->request - pull->request;
	else if (!leave)
		write_keys(&c->push_keys, c, x->push, part);
	m->frame[m->frames++] = (struct frame){ c->push_keys.data,
						c->push_keys.size, NULL };
}

/* Count the bytes of a part that were moved.  difference: they are differences
   between editions. */
static void
count_moved(struct client *c, size_t n, enum way way, size_t bytes,
	    bool difference)
{
	const struct part *part = &c->plan->part[n];
	const struct compute *compute = way == WAY_PUSH ? c->exchange.push :
		c->exchange.pull;
	const struct encoding how = way == WAY_PUSH ? pushed_encoding(c) :
		pulled_encoding(c);
	struct moved *to = way == WAY_PUSH ? &c->exchanged.traffic.pushed :
		&c->exchanged.traffic.pulled;

	to->bytes += bytes;
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		const struct span span = span_of(compute, piece);
		struct codec_slice slice = slice_of(piece, &span);

		slice.pulled = way == WAY_PULL;
		to->floats += span.count * sizeof(float);
		if (difference ||
		    !encoding_codec(how, piece->variable, slice)->exact)
			to->coded += span.count * sizeof(float);
	}
}

static void
send_part(struct client *c, struct server_peer *s, enum lane lane, size_t n)
{
	const struct exchange *x = &c->exchange;
	const struct part *part = &c->plan->part[n];
	const bool push = pushes(c, lane, n);
	struct message m = { .kind = MESSAGE_PULL };

	m.request = c->generation * c->plan->parts + n;
	if (push) {
		fill_push(c, n, &m);
	} else {
		m.pull.run = plan_run(c->plan);
		m.pull.term = c->plan->term;
		m.pull.plan = c->plan->number;
		m.pull.part = n;
		m.pull.cut = x->cut;
		m.pull.after = x->after;
		m.pull.coded = coded_pull(c);
		if (m.pull.coded > 0 && plan_delta(c->plan, n))
			m.pull.have = c->copy[n].edition;
	}
	if (pulls(c, lane, n)) {
		write_keys(&c->pull_keys, c, x->pull, part);
		note_pulled(c, n, m.request);
		m.frame[m.frames++] = (struct frame){ c->pull_keys.data,
						      c->pull_keys.size,
						      NULL };
	}
	if (push)
		m.frame[m.frames++] = has_no_gradient(c, n) ?
			(struct frame){ 0 } : gather(c, n);
	if (push && !has_no_gradient(c, n))
		count_moved(c, n, WAY_PUSH, m.frame[m.frames - 1].size, false);
	/* If it is lost, send_again() sends it when the peer is up. */
	outbox_send(c->outbox, c->relayed ? c->relay.peer : s->peer, &m);
}

/* The bytes that a part counts while it is under way: of its push or of its
   pull, whichever is more. */
static size_t
part_bytes(const struct client *c, enum lane lane, size_t n)
{
	const struct exchange *x = &c->exchange;
	const struct part *part = &c->plan->part[n];
	const size_t push = pushes(c, lane, n) && !has_no_gradient(c, n) ?
		push_most(c, x->push, part, pushed_encoding(c)) : 0;
	const size_t pull = pulls(c, lane, n) ? pull_most(c, part) : 0;

	return push > pull ? push : pull;
}

/* Would all rows that a compute needs, and their keys, fit into one frame?
   Then no part needs a check of its own. */
static bool
fits_one_frame(const struct client *c, const struct compute *compute)
{
	size_t variables, bytes = 0;

	model_variables(c->model, &variables);
	for (size_t v = 0; v < variables; v++) {
		const size_t width = shape_width(c->variable[v].shape);
		const size_t row = width * sizeof(float);

		if (c->variable[v].table)
			bytes += compute_rows(compute, v).count *
				(row > MOST_KEY ? row : MOST_KEY);
	}
	return bytes <= WIRE_FRAME;
}

static int
check_part(struct client *c, const struct compute *compute,
	   const struct part *part, struct fail *f)
{
	const struct piece *piece = &c->plan->piece[part->first];
	const struct piece *most = piece;
	size_t bytes = float_size(c, compute, part);

	write_keys(&c->pull_keys, c, compute, part);
	bytes = c->pull_keys.size > bytes ? c->pull_keys.size : bytes;
	if (bytes <= WIRE_FRAME)
		return 0;
	for (size_t i = 1; i < part->count; i++)
		if (span_of(compute, &piece[i]).count >
		    span_of(compute, most).count)
			most = &piece[i];
	return fail(f, FAIL_CONFIG, "%zu MiB of rows of %s are needed from "
		    "server %u at once, more than %zu: take a smaller batch, "
		    "or %s", (bytes + MIB - 1) / MIB,
		    c->variable[most->variable].name, part->server,
		    WIRE_FRAME / MIB, most->hashed ? "more servers" :
		    "more shards (ps-coord --partition)");
}

int
client_check_pull(struct client *c, const struct compute *compute,
		  struct fail *f)
{
	if (fits_one_frame(c, compute))
		return 0;
	for (size_t i = 0; i < c->plan->parts; i++)
		if (compute_uses(compute, variable_of(c, i)) &&
		    check_part(c, compute, &c->plan->part[i], f) < 0)
			return -1;
	return 0;
}

static void
start_part(struct client *c, struct server_peer *s, enum lane lane, size_t n)
{
	send_part(c, s, lane, n);
	s->flow[lane].under_way++;
	s->flow[lane].bytes += c->part[lane][n].bytes;
}

static void
send_more(struct client *c, struct server_peer *s, enum lane lane)
{
	const bool there = c->relayed || s->welcome;
	struct flow *flow = &s->flow[lane];

	for (; there && flow->next < s->first + s->count; flow->next++) {
		const size_t n = flow->next;
		struct asked *asked = &c->part[lane][n];

		if (asked->answered)
			continue;
		asked->bytes = part_bytes(c, lane, n);
		if (flow->under_way > 0 && flow->bytes + asked->bytes > CREDIT)
			return;
		start_part(c, s, lane, n);
	}
}

static void
send_all(struct client *c, struct server_peer *s)
{
	for (enum lane lane = 0; lane < LANES; lane++)
		send_more(c, s, lane);
}

/* A part is no longer under way: send more. */
static void
end_transfer(struct client *c, struct server_peer *s, enum lane lane, size_t n)
{
	s->flow[lane].under_way--;
	s->flow[lane].bytes -= c->part[lane][n].bytes;
	send_more(c, s, lane);
}

static void
begin_lane(struct client *c, enum lane lane)
{
	c->unanswered[lane] = 0;
	for (size_t n = 0; n < c->plan->parts; n++) {
		struct asked *asked = &c->part[lane][n];

		asked->ahead = false;
		asked->edition = 0;
		asked->answered = is_unused(c, n) ||
				  (!pulls(c, lane, n) && !pushes(c, lane, n));
		c->unanswered[lane] += !asked->answered;
	}
}

/* Choose the way of an exchange.  Keys of pulls by one way are unknown on the
   other, so no push may refer to them. */
static void
choose_route(struct client *c, bool relayed)
{
	if (relayed != c->relayed)
		memset(c->pulled, 0, c->plan->parts * sizeof(*c->pulled));
	c->relayed = relayed;
}

void
client_exchange(struct client *c, const struct exchange *x, uint64_t now)
{
	choose_route(c, relay_link_is_open(&c->relay));
	c->exchange = *x;
	traffic_add(&c->traffic, &c->exchanged.traffic);
	c->exchanged = (struct exchanged){ 0 };
	c->cut_is_gone = false;
	c->generation++;
	for (enum lane lane = 0; lane < LANES; lane++)
		begin_lane(c, lane);
	for (size_t i = 0; i < c->plan->servers; i++) {
		struct server_peer *s = &c->server[i];

		for (int lane = 0; lane < LANES; lane++)
			s->flow[lane] = (struct flow){ .next = s->first };
		s->waiting_since = now;
		send_all(c, s);
	}
}

int
client_pull(struct client *c, struct compute *compute, uint64_t cut,
	    uint64_t now, struct fail *f)
{
	const struct exchange x = { .cut = cut, .server = WIRE_NONE,
				    .pull = compute };

	if (client_check_pull(c, compute, f) < 0)
		return -1;
	client_exchange(c, &x, now);
	return 0;
}

void
client_give_up(struct client *c)
{
	c->generation++;
	for (int lane = 0; lane < LANES; lane++) {
		c->unanswered[lane] = 0;
		for (size_t i = 0; i < c->plan->servers; i++)
			c->server[i].flow[lane].under_way = 0;
	}
}

/* ---- what servers say ---- */

static void
send_hello(struct client *c, const struct server_peer *s)
{
	struct message m = message_hello(c->role, WIRE_NONE, c->life,
					 c->plan->term);

	m.blob = (struct frame){ c->plan->run, PLAN_RUN, NULL };
	outbox_send(c->outbox, s->peer, &m);
}

/* Send all unanswered parts again: what was under way may be lost, or the
   confirmation of values that came ahead. */
static void
send_again(struct client *c, struct server_peer *s, enum lane lane)
{
	struct flow *flow = &s->flow[lane];

	flow->under_way = flow->bytes = 0;
	if (c->unanswered[lane] == 0)
		return;
	for (size_t n = s->first; n < flow->next; n++) {
		if (c->part[lane][n].answered)
			continue;
		c->part[lane][n].ahead = false;
		start_part(c, s, lane, n);
	}
	send_more(c, s, lane);
}

/* If the relay's link has closed, send what is unanswered to the servers. */
static void
leave_relay(struct client *c, uint64_t now)
{
	if (!c->relayed || relay_link_is_open(&c->relay))
		return;
	choose_route(c, false);
	for (size_t i = 0; i < c->plan->servers; i++) {
		struct server_peer *s = &c->server[i];

		s->waiting_since = now;
		for (enum lane lane = 0; s->welcome && lane < LANES; lane++)
			send_again(c, s, lane);
	}
}

void
client_up(struct client *c, uint64_t peer, uint64_t now)
{
	struct server_peer *s = find_server(c, peer);

	if (!s) {
		relay_link_up(&c->relay, now);
		leave_relay(c, now);
		return;
	}
	s->up = true;
	s->welcome = false;
	s->heard = now;
	/* On a new connection the server does not know our earlier pulls.  An
	   exchange by the relay does not need this connection. */
	for (size_t n = s->first; !c->relayed && n < s->first + s->count;
	     n++) {
		memset(c->pulled[n], 0, sizeof(c->pulled[n]));
		c->copy[n].edition = 0;
	}
	send_hello(c, s);
}

void
client_down(struct client *c, uint64_t peer, uint64_t now)
{
	struct server_peer *s = find_server(c, peer);

	if (!s) {
		relay_link_down(&c->relay);
		leave_relay(c, now);
		return;
	}
	s->up = s->welcome = false;
	s->waiting_since = now;
}

static int
welcome(struct client *c, struct server_peer *s, const struct message *m,
	struct fail *f)
{
	const size_t i = (size_t)(s - c->server);

	if (m->welcome.role != ROLE_SERVER || m->welcome.index != i)
		return fail(f, FAIL_PROTOCOL, "server %zu (%s): another "
			    "program listens there", i, c->plan->endpoint[i]);
	s->welcome = true;
	for (enum lane lane = 0; !c->relayed && lane < LANES; lane++)
		send_again(c, s, lane);
	return 0;
}

int
client_renew(struct client *c, uint64_t now, struct fail *f)
{
	client_give_up(c);
	choose_route(c, false);
	relay_link_renew(&c->relay, now);
	for (size_t n = 0; n < c->plan->parts; n++)
		c->copy[n].edition = 0;
	for (size_t i = 0; i < c->plan->servers; i++) {
		struct server_peer *s = &c->server[i];

		s->waiting_since = now;
		if (strcmp(s->endpoint, c->plan->endpoint[i]) != 0) {
			outbox_hang_up(c->outbox, s->peer);
			free(s->endpoint);
			if (dial_server(c, i, now, f) < 0)
				return -1;
		} else if (s->up && !s->welcome) {
			send_hello(c, s);
		}
	}
	return 0;
}

static int
scatter(struct client *c, const struct part *part, const struct frame *values,
	struct fail *f)
{
	const char *from = values->data;
	size_t left = values->size, size;

	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		const struct span span = span_of(c->exchange.pull, piece);
		const struct codec_slice slice = pulled_slice(piece, &span);
		const struct codec *codec = encoding_codec(
			pulled_encoding(c), piece->variable, slice);

		if (!codec_length(codec, from, left, slice, &size))
			break;
		if (size > 0)
			codec_decode(codec, compute_value(c->exchange.pull,
							  piece->variable) +
				     span.first, from, slice);
		from += size;
		left -= size;
		if (i + 1 == part->count && left == 0)
			return 0;
	}
	return fail(f, FAIL_PROTOCOL, "%zu bytes of values do not fit",
		    values->size);
}

static void
count_outcome(struct client *c, const struct message *m)
{
	struct exchanged *e = &c->exchanged;

	switch (m->values.outcome) {
	case OUTCOME_APPLIED:
	case OUTCOME_STAGED:	e->applied++; break;
	case OUTCOME_DUP:	e->repeated++; break;
	case OUTCOME_VOID:	e->voided++; break;
	default:		e->refused++;
	}
	if (m->values.staleness > e->staleness)
		e->staleness = m->values.staleness;
}

/* Copy the values of a part from its copy, or to it. */
static void
move_copy(struct client *c, size_t n, bool from)
{
	const struct part *part = &c->plan->part[n];
	float *at = c->copy[n].value;

	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		float *value = compute_value(c->exchange.pull,
					     piece->variable) + piece->first;

		if (from)
			memcpy(value, at, piece->count * sizeof(*value));
		else
			memcpy(at, value, piece->count * sizeof(*value));
		at += piece->count;
	}
}

/* Add one difference to the values of a part.  Returns its bytes; 0: it does
   not fit. */
static size_t
add_difference(struct client *c, size_t n, const char *from, size_t left)
{
	const struct part *part = &c->plan->part[n];
	const struct coding *how = plan_delta(c->plan, n);
	size_t all = 0, size;

	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &c->plan->piece[part->first + i];
		const struct codec_slice s = plan_difference(c->plan, piece);
		const struct codec *codec = codec_for(how->codec, s);

		if (!codec_length(codec, from + all, left - all, s, &size))
			return 0;
		all += codec_add(codec, compute_value(c->exchange.pull,
						      piece->variable) +
				 piece->first, from + all, s);
	}
	return all;
}

/* Add the differences from the edition that we have to the newest one, the
   oldest first. */
static int
add_differences(struct client *c, size_t n, const struct message *m,
		struct fail *f)
{
	const uint64_t count = m->values.edition - m->values.since;
	const char *from = m->frame[0].data;
	size_t left = m->frame[0].size, size = 1;

	if (!plan_delta(c->plan, n) || m->values.since != c->copy[n].edition)
		return fail(f, FAIL_PROTOCOL, "differences to values that we "
			    "do not have");
	move_copy(c, n, true);
	for (uint64_t k = 0; k < count && size > 0; k++) {
		size = add_difference(c, n, from, left);
		from += size;
		left -= size;
	}
	if (size > 0 && left == 0)
		return 0;
	return fail(f, FAIL_PROTOCOL, "%zu bytes of differences do not fit",
		    m->frame[0].size);
}

/* Keep the values of a part, for later differences to be added to. */
static void
keep_copy(struct client *c, size_t n, uint64_t edition)
{
	if (edition == 0 || !plan_delta(c->plan, n))
		return;
	if (!c->copy[n].value)
		c->copy[n].value = mem_alloc(plan_part_dense(c->plan, n),
					     sizeof(float));
	move_copy(c, n, false);
	c->copy[n].edition = edition;
}

/* Take the values of a part, which may have been sent ahead. */
static int
take_pulled(struct client *c, size_t n, const struct message *m,
	    struct fail *f)
{
	if (m->frames != 1)
		return fail(f, FAIL_PROTOCOL, "no values in the answer");
	if ((m->values.since > 0 ? add_differences(c, n, m, f) :
	     scatter(c, &c->plan->part[n], &m->frame[0], f)) < 0)
		return -1;
	c->part[pull_lane(c)][n].edition = m->values.edition;
	if (c->exchange.cut == WIRE_NONE)
		count_moved(c, n, WAY_PULL, m->frame[0].size,
			    m->values.since > 0);
	if (c->exchange.pulled)
		c->exchange.pulled[n] = m->values.version;
	return 0;
}

/* The lane to which an answer belongs. */
static enum lane
lane_of(const struct client *c, const struct message *m)
{
	switch (m->values.outcome) {
	case OUTCOME_NONE:
	case OUTCOME_AHEAD:
	case OUTCOME_CONFIRMED:
		return pull_lane(c);
	default:
		return LANE_NOW;
	}
}

static void
answered(struct client *c, struct server_peer *s, enum lane lane, size_t n)
{
	const bool ahead = c->part[lane][n].ahead;

	if (pulls(c, lane, n))
		keep_copy(c, n, c->part[lane][n].edition);
	c->part[lane][n].answered = true;
	c->unanswered[lane]--;
	if (!ahead)
		end_transfer(c, s, lane, n);
}

static int
take_values(struct client *c, struct server_peer *s, const struct message *m,
	    struct fail *f)
{
	const uint64_t n = m->request - c->generation * c->plan->parts;
	const enum lane lane = lane_of(c, m);
	struct asked *asked;

	if (n < s->first || n >= s->flow[lane].next ||
	    c->unanswered[lane] == 0 || c->part[lane][n].answered)
		return 0;	/* a late answer */
	asked = &c->part[lane][n];
	switch (m->values.outcome) {
	case OUTCOME_STALE:
	case OUTCOME_WRONG_PLAN:
		return 0;	/* a newer PLAN is on its way to us */
	case OUTCOME_GONE:
		if (!pushes(c, lane, n) || !find_pulled(c, n, m->request))
			return fail(f, FAIL_PROTOCOL, "the server reports keys "
				    "as gone that were sent to it");
		memset(c->pulled[n], 0, sizeof(c->pulled[n]));
		send_part(c, s, lane, n);
		return 0;
	case OUTCOME_AHEAD:
		if (take_pulled(c, n, m, f) < 0)
			return -1;
		c->ahead += m->frame[0].size;
		if (!asked->ahead)
			end_transfer(c, s, lane, n);
		asked->ahead = true;
		return 0;
	case OUTCOME_CONFIRMED:
		if (asked->ahead)
			answered(c, s, lane, n);
		return 0;	/* else the confirmed values were lost */
	default:
		if (pushes(c, lane, n))
			count_outcome(c, m);
		if (pulls(c, lane, n) && take_pulled(c, n, m, f) < 0)
			return -1;
		answered(c, s, lane, n);
		return 0;
	}
}

/*
 * Does a refusal end only the pull of a cut?  A worker continues without the
 * cut: the coordinator, which let it pull that, has released the cut or will
 * learn that it is lost.  An evaluator has nothing else to do, and fails.
 */
static bool
give_up_cut(struct client *c, const struct server_peer *s,
	    const struct message *m)
{
	const uint64_t n = m->request - c->generation * c->plan->parts;

	if (c->role != ROLE_WORKER || c->exchange.cut == WIRE_NONE ||
	    m->refused.status != FAIL_AGAIN)
		return false;
	if (!client_idle(c) && n >= s->first && n < s->first + s->count) {
		client_give_up(c);
		c->cut_is_gone = true;
	}
	return true;
}

/* The server of the part that the relay's answer is about; NULL: the answer is
   late. */
static struct server_peer *
find_asked(const struct client *c, const struct message *m)
{
	const uint64_t n = m->request - c->generation * c->plan->parts;

	return n < c->plan->parts ?
		&c->server[c->plan->part[n].server] : NULL;
}

int
client_receive(struct client *c, uint64_t peer, const struct message *m,
	       uint64_t now, struct fail *f)
{
	struct server_peer *s = find_server(c, peer);
	char text[MESSAGE_BLOB + 1];

	if (!s) {
		s = relay_link_receive(&c->relay, m) && c->relayed ?
			find_asked(c, m) : NULL;
		leave_relay(c, now);
		if (!s)
			return 0;
	} else if (c->relayed && m->kind == MESSAGE_VALUES) {
		return 0;	/* sent before the relay was used */
	}
	s->heard = s->waiting_since = now;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		return welcome(c, s, m, f);
	case MESSAGE_VALUES:
		return take_values(c, s, m, f);
	case MESSAGE_REFUSED:
		if (m->request != 0 && !s->welcome && !c->relayed)
			return 0;	/* it had overtaken HELLO */
		if (m->refused.status == FAIL_AGAIN &&
		    (client_idle(c) || c->exchange.cut == WIRE_NONE))
			return 0;	/* it has lost the run: a newer
					   PLAN will come */
		if (give_up_cut(c, s, m))
			return 0;
		message_text(m, text, sizeof(text));
		return fail(f, message_status(m->refused.status),
			    "server %zu (%s): %s", (size_t)(s - c->server),
			    c->plan->endpoint[s - c->server], text);
	default:
		return 0;
	}
}

void
client_skip_pause(struct client *c, uint64_t now)
{
	relay_link_skip_pause(&c->relay, now);
	for (size_t i = 0; i < c->plan->servers; i++)
		c->server[i].waiting_since = now;
}

void
client_relay(struct client *c, const struct message *m, uint64_t now)
{
	relay_link_set(&c->relay, m);
	leave_relay(c, now);
}

void
client_tick(struct client *c, uint64_t now, uint64_t lease_ms)
{
	relay_link_tick(&c->relay, now, lease_ms);
	leave_relay(c, now);
}

int
client_check(const struct client *c, uint64_t now, uint64_t timeout_ms,
	     size_t *server, struct fail *f)
{
	/* A round ends when its slowest worker has pushed: that may take any
	   time. */
	const bool at_barrier = c->exchange.after > 0;

	for (size_t i = 0; i < c->plan->servers; i++) {
		const struct server_peer *s = &c->server[i];
		bool waits = !s->welcome;

		/* A relay says BYE itself when a server is silent. */
		for (enum lane lane = 0; !c->relayed && lane < LANES; lane++)
			waits = waits || (s->flow[lane].under_way > 0 &&
					  !(at_barrier &&
					    lane == pull_lane(c)));

		if (!waits || now - s->waiting_since < timeout_ms)
			continue;
		*server = i;
		if (s->heard == 0)
			return fail(f, FAIL_PEER, "server %zu (%s) does not "
				    "answer", i, c->plan->endpoint[i]);
		return fail(f, FAIL_PEER, "server %zu (%s) is silent, last "
			    "heard %.1f s ago", i, c->plan->endpoint[i],
			    (double)(now - s->heard) / 1000);
	}
	return 0;
}
