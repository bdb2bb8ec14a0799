#include "network.h"

#include "base/rng.h"

#include <stdio.h>
#include <string.h>

#define NEVER	UINT64_MAX
#define NOBODY	(-1)

/* One direction of a connection. */
struct way {
	struct packet *first, **end;
	uint64_t last;		/* when the last packet arrives */
	uint64_t free;		/* when a slow link has sent all of it */
};

struct connection {
	int dialler, listener;	/* dialler NOBODY: the entry is free */
	uint64_t dial_peer, listen_peer;	/* listen_peer 0: it is not
						   connected */
	bool whole;		/* what the dialler sends arrives */
	bool told;		/* the dialler got UP, and no DOWN since */
	bool silent;		/* the listener's machine died unnoticed */
	bool ended;		/* the dialler is gone; packets under way still
				   arrive */
	uint64_t connect_at, break_at;
	struct way back, forth;	/* back: to the dialler */
};

struct link {
	uint64_t blocked_until, slow_until, rate;
};

struct node {
	bool alive;
	uint64_t left_at;	/* when it gets LEFT; or NEVER */
	struct network *network;
	struct outbox outbox;
};

struct network {
	struct network_options o;
	struct rng rng;
	uint64_t now, peers;
	struct connection *connection;
	size_t count, room;
	struct node node[NETWORK_NODES];
	struct link link[NETWORK_NODES][NETWORK_NODES];
	size_t malformed;
};

/* ---- packets on their way ---- */

static void
way_drop(struct way *w)
{
	packets_drop(&w->first);
	w->last = 0;
}

/* Adds a packet after those that are under way. */
static struct packet *
way_add(struct way *w, enum packet_kind kind, uint64_t peer, uint64_t due)
{
	struct packet *p = packet_add(w->first ? w->end : &w->first, kind,
				      peer);

	w->end = &p->next;
	w->last = due > w->last ? due : w->last;
	p->due = w->last;
	return p;
}

/* Drops a random number of the last packets. */
static void
way_lose(struct way *w, struct rng *rng)
{
	struct packet **at = &w->first;

	while (*at && rng_below(rng, 4) > 0)
		at = &(*at)->next;
	packets_drop(at);
	w->end = at;
	w->last = 0;
	for (struct packet *p = w->first; p; p = p->next)
		w->last = p->due;
}

static struct packet *
way_take(struct way *w)
{
	return packet_take(&w->first);
}

static uint64_t
delay(struct network *n, int from, int to)
{
	return n->o.delay_us[from][to] +
		rng_below(&n->rng, 1 + n->o.jitter_us);
}

/* When a packet of this size that is sent now will arrive. */
static uint64_t
arrival(struct network *n, struct way *w, int from, int to, size_t size)
{
	const struct link *l = &n->link[from][to];
	uint64_t at = n->now;

	if (l->slow_until > n->now && l->rate > 0) {
		at = w->free > at ? w->free : at;
		at += size * 1000 / l->rate;
		w->free = at;
	}
	/* TCP sends what a partition held up again when it is over. */
	if (l->blocked_until > at)
		at = l->blocked_until;
	return at + delay(n, from, to);
}

/* ---- connections that come and go ---- */

static bool
blocked(const struct network *n, int a, int b)
{
	return n->link[a][b].blocked_until > n->now ||
		n->link[b][a].blocked_until > n->now;
}

static void
plan_connect(struct network *n, struct connection *c)
{
	c->connect_at = n->now + rng_below(&n->rng,
					   1 + 1000 * n->o.redial_ms);
}

static void
connect(struct network *n, struct connection *c)
{
	c->connect_at = NEVER;
	if (!n->node[c->listener].alive)
		return;		/* tried again when it begins */
	if (blocked(n, c->dialler, c->listener)) {
		plan_connect(n, c);
		return;
	}
	c->listen_peer = ++n->peers;
	c->silent = false;
	c->whole = rng_below(&n->rng, 2);
	c->back.free = c->forth.free = 0;
	way_add(&c->back, PACKET_UP, c->dial_peer, n->now +
		delay(n, c->dialler, c->listener) +
		delay(n, c->listener, c->dialler));
}

/* The listener is notified that a peer left: at once, or up to the silence
   later. */
static void
notify_left(struct network *n, int node)
{
	const uint64_t at = n->now + rng_below(&n->rng, 1 +
		(rng_below(&n->rng, 2) ? 1000 : 1000 * n->o.silence_ms));

	if (n->node[node].alive && at < n->node[node].left_at)
		n->node[node].left_at = at;
}

/* Is an UP for the dialler under way? */
static bool
up_under_way(const struct connection *c)
{
	for (const struct packet *p = c->back.first; p; p = p->next)
		if (p->kind == PACKET_UP)
			return true;
	return false;
}

static void
break_off(struct network *n, struct connection *c)
{
	c->break_at = NEVER;
	if (c->listen_peer != 0)
		notify_left(n, c->listener);
	if (n->node[c->listener].alive && rng_below(&n->rng, 2))
		way_lose(&c->forth, &n->rng);	/* the others are late */
	else
		way_drop(&c->forth);
	way_lose(&c->back, &n->rng);
	if (c->told || up_under_way(c))
		way_add(&c->back, PACKET_DOWN, c->dial_peer, n->now +
			rng_below(&n->rng, 2000));
	c->whole = c->silent = false;
	c->listen_peer = 0;
	plan_connect(n, c);
}

/* The dialler has ended, and will not return. */
static void
end_dialler(struct network *n, struct connection *c)
{
	way_drop(&c->back);
	way_lose(&c->forth, &n->rng);
	c->ended = true;
	c->break_at = n->now;
	if (c->forth.last > n->now)
		c->break_at += rng_below(&n->rng, 1 + c->forth.last - n->now);
	c->connect_at = NEVER;
}

/* The listener finds out that the dialler is gone.  Messages that are still
   under way arrive after that. */
static void
forget(struct network *n, struct connection *c)
{
	if (c->listen_peer != 0)
		notify_left(n, c->listener);
	c->listen_peer = 0;
	c->break_at = c->forth.last;
	if (!c->forth.first)
		c->dialler = NOBODY;
}

/* ---- the outbox of a role ---- */

static int
send_from(void *to, uint64_t peer, const struct message *m)
{
	struct node *node = to;
	struct network *n = node->network;
	const int from = (int)(node - n->node);

	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];
		struct packet *p;

		if (c->dialler == NOBODY)
			continue;
		if (c->dialler == from && !c->ended && c->dial_peer == peer) {
			if (!c->whole || c->silent)
				return 0;
			p = way_add(&c->forth, PACKET_MESSAGE, c->listen_peer,
				    n->now);
			n->malformed += packet_fill(p, m);
			p->due = arrival(n, &c->forth, from, c->listener,
					 p->size);
		} else if (c->listener == from && c->listen_peer == peer &&
			   peer != 0) {
			if (c->ended || c->silent)
				return 0;
			p = way_add(&c->back, PACKET_MESSAGE, c->dial_peer,
				    n->now);
			n->malformed += packet_fill(p, m);
			p->due = arrival(n, &c->back, from, c->dialler,
					 p->size);
		} else {
			continue;
		}
		struct way *w = c->dialler == from ? &c->forth : &c->back;

		p->due = p->due > w->last ? p->due : w->last;
		w->last = p->due;
		return 0;
	}
	notify_left(n, from);
	return -1;
}

static int
dial_from(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	struct node *node = to;
	struct network *n = node->network;
	struct connection *c = NULL;
	int listener;

	if (sscanf(endpoint, "node:%d", &listener) != 1 || listener < 0 ||
	    listener >= NETWORK_NODES)
		return fail(f, FAIL_PEER, "cannot dial %s", endpoint);
	for (size_t i = 0; i < n->count && !c; i++)
		if (n->connection[i].dialler == NOBODY)
			c = &n->connection[i];
	if (!c) {
		n->connection = mem_grow(n->connection, n->count, &n->room,
					 sizeof(*c));
		c = &n->connection[n->count++];
	}
	*c = (struct connection){ .dialler = (int)(node - n->node),
				  .listener = listener,
				  .dial_peer = ++n->peers,
				  .break_at = NEVER };
	plan_connect(n, c);
	*peer = c->dial_peer;
	return 0;
}

static void
hang_up_from(void *to, uint64_t peer)
{
	struct node *node = to;
	struct network *n = node->network;

	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];

		if (c->dialler == (int)(node - n->node) && !c->ended &&
		    c->dial_peer == peer)
			end_dialler(n, c);
	}
}

/* ---- functions of the simulator ---- */

struct network *
network_new(const struct network_options *o)
{
	struct network *n = mem_alloc(1, sizeof(*n));

	n->o = *o;
	n->rng.seed = o->seed;
	for (int i = 0; i < NETWORK_NODES; i++)
		n->node[i].left_at = NEVER;
	return n;
}

void
network_free(struct network *n)
{
	for (size_t i = 0; i < n->count; i++) {
		way_drop(&n->connection[i].back);
		way_drop(&n->connection[i].forth);
	}
	free(n->connection);
	free(n);
}

struct outbox *
network_begin(struct network *n, int node)
{
	struct node *it = &n->node[node];

	*it = (struct node){
		.alive = true, .left_at = NEVER, .network = n,
		.outbox = { send_from, dial_from, hang_up_from, it }
	};
	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];

		if (c->dialler == NOBODY || c->listener != node || c->ended)
			continue;
		if (c->silent)	/* its new incarnation does not know the
				   connection */
			break_off(n, c);
		else if (c->listen_peer == 0)
			plan_connect(n, c);
	}
	return &it->outbox;
}

void
network_kill(struct network *n, int node, bool crash)
{
	const uint64_t found_out = n->now + 1000 * n->o.silence_ms;

	n->node[node].alive = false;
	n->node[node].left_at = NEVER;
	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];

		if (c->dialler == NOBODY)
			continue;
		if (c->listener == node)
			way_drop(&c->forth);
		if (c->ended) {
			if (c->listener == node)
				forget(n, c);
		} else if (c->dialler == node) {
			end_dialler(n, c);
			if (crash)
				c->break_at = found_out;
		} else if (c->listener == node && crash) {
			way_lose(&c->back, &n->rng);
			c->silent = true;
			c->break_at = found_out;
		} else if (c->listener == node && c->listen_peer != 0) {
			break_off(n, c);
		}
	}
}

bool
network_orphan(const struct network *n, int node, uint64_t peer)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->connection[i].listener == node &&
		    n->connection[i].listen_peer == peer)
			return n->connection[i].ended;
	return true;
}

void
network_cut(struct network *n, int a, int b)
{
	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];

		if (c->dialler == NOBODY || c->ended || c->listen_peer == 0)
			continue;
		if ((c->dialler == a && c->listener == b) ||
		    (c->dialler == b && c->listener == a))
			break_off(n, c);
	}
}

void
network_block(struct network *n, int from, int to, uint64_t until)
{
	const uint64_t found_out = n->now + 1000 * n->o.silence_ms;

	n->link[from][to].blocked_until = until;
	if (until <= found_out)
		return;
	for (size_t i = 0; i < n->count; i++) {
		struct connection *c = &n->connection[i];

		if (c->dialler == NOBODY || c->ended || c->listen_peer == 0)
			continue;
		if ((c->dialler == from && c->listener == to) ||
		    (c->dialler == to && c->listener == from))
			c->break_at = found_out;
	}
}

void
network_slow(struct network *n, int from, int to, uint64_t rate,
	     uint64_t until)
{
	n->link[from][to].rate = rate;
	n->link[from][to].slow_until = until;
}

/* When the first event of a connection is due. */
static uint64_t
first_due(const struct connection *c)
{
	uint64_t due = c->connect_at < c->break_at ? c->connect_at :
		c->break_at;

	if (c->back.first && c->back.first->due < due)
		due = c->back.first->due;
	if (c->forth.first && c->forth.first->due < due)
		due = c->forth.first->due;
	return due;
}

uint64_t
network_next(const struct network *n)
{
	uint64_t next = NEVER;

	for (size_t i = 0; i < n->count; i++) {
		const struct connection *c = &n->connection[i];

		if (c->dialler != NOBODY && first_due(c) < next)
			next = first_due(c);
	}
	for (int i = 0; i < NETWORK_NODES; i++)
		if (n->node[i].left_at < next)
			next = n->node[i].left_at;
	return next;
}

/* Handles what is due on a connection; returns a packet, if one arrives. */
static struct packet *
take_from(struct network *n, struct connection *c, int *to, int *from)
{
	struct packet *p;

	if (c->back.first && c->back.first->due <= n->now) {
		p = way_take(&c->back);
		*to = c->dialler;
		*from = c->listener;
		if (p->kind == PACKET_UP)
			c->whole = c->told = true;
		if (p->kind == PACKET_DOWN)
			c->told = false;
		return p;
	}
	if (c->forth.first && c->forth.first->due <= n->now) {
		p = way_take(&c->forth);
		*to = c->listener;
		*from = c->dialler;
		return p;
	}
	if (c->ended && c->break_at <= n->now)
		forget(n, c);
	else if (c->break_at <= n->now)
		break_off(n, c);
	else if (c->connect_at <= n->now)
		connect(n, c);
	return NULL;
}

static struct packet *
take_news(struct network *n, int *to, int *from)
{
	struct packet *none = NULL;

	for (int i = 0; i < NETWORK_NODES; i++) {
		if (n->node[i].left_at > n->now)
			continue;
		n->node[i].left_at = NEVER;
		*to = *from = i;
		return packet_add(&none, PACKET_LEFT, 0);
	}
	return NULL;
}

struct packet *
network_take(struct network *n, uint64_t now, int *to, int *from)
{
	struct packet *p = NULL;

	n->now = now > n->now ? now : n->now;
	for (bool more = true; more && !p;) {
		const size_t begin = n->count > 0 ?
			rng_below(&n->rng, n->count) : 0;

		more = false;
		for (size_t k = 0; k < n->count && !p; k++) {
			struct connection *c =
				&n->connection[(begin + k) % n->count];

			if (c->dialler == NOBODY || first_due(c) > n->now)
				continue;
			more = true;
			p = take_from(n, c, to, from);
		}
	}
	return p ? p : take_news(n, to, from);
}

size_t
network_malformed(const struct network *n)
{
	return n->malformed;
}
