/*
 * sim_network - a network in memory, for a whole cluster in one process.
 *
 * Nodes are numbers; node 3 is dialled as "node:3".  What is said over a wire
 * arrives in order, some time or never: the test delivers what it likes, cuts
 * wires, kills nodes.  It behaves as sys/net does, at its worst: who dialled
 * is told that a wire broke and that it is whole again, late; until then
 * what it says may be lost, or overtake that news.  Who was dialled learns of
 * it by not being able to send.  Every message is written and read again, and
 * its bytes are exactly as large as they say.
 */
#ifndef PS_SIM_NETWORK_H
#define PS_SIM_NETWORK_H

#include "base/mem.h"
#include "base/rng.h"
#include "wire/outbox.h"

#include "packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES	64
#define WIRES	512

struct wire {
	int dialler, listener;	/* dialler -1: there is no wire */
	uint64_t dial_peer, listen_peer;
	bool whole;		/* what the dialler says goes somewhere */
	struct packet *to_dialler, *to_listener;
};

struct node {
	bool alive, left;	/* somebody left: it is to be told */
	struct sim_network *network;
	struct outbox outbox;
};

struct sim_network {
	struct wire wire[WIRES];
	size_t count;
	struct node node[NODES];
	uint64_t peers;
	struct rng rng;
	uint64_t slow_news;	/* that somebody left: one of so many */
	size_t malformed;	/* what no kind of message looks like */
};

static inline int
sim_network_send(void *to, uint64_t peer, const struct message *m)
{
	struct node *n = to;
	struct sim_network *w = n->network;
	const int from = (int)(n - w->node);

	for (size_t i = 0; i < w->count; i++) {
		struct wire *wire = &w->wire[i];

		if (wire->dialler == from && wire->dial_peer == peer) {
			if (wire->whole)
				w->malformed += packet_fill(packet_add(
					&wire->to_listener, PACKET_MESSAGE,
					wire->listen_peer), m);
			return 0;
		}
		if (wire->dialler >= 0 && wire->listener == from &&
		    wire->listen_peer == peer) {
			w->malformed += packet_fill(packet_add(
				&wire->to_dialler, PACKET_MESSAGE,
				wire->dial_peer), m);
			return 0;
		}
	}
	return -1;
}

/* The wire is whole, whether or not the dialler has been told. */
static inline void
wire_connect(struct sim_network *w, struct wire *wire, bool early)
{
	wire->listen_peer = ++w->peers;
	wire->whole = early;
	packet_add(&wire->to_dialler, PACKET_UP, wire->dial_peer);
}

static inline int
sim_network_dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	struct node *n = to;
	struct sim_network *w = n->network;
	struct wire *wire = NULL;

	for (size_t i = 0; i < w->count && !wire; i++)
		if (w->wire[i].dialler < 0)
			wire = &w->wire[i];
	if (!wire && w->count < WIRES)
		wire = &w->wire[w->count++];
	if (!wire || strncmp(endpoint, "node:", 5) != 0)
		return fail(f, FAIL_PEER, "cannot dial %s", endpoint);
	*wire = (struct wire){ .dialler = (int)(n - w->node),
			       .listener = atoi(endpoint + 5),
			       .dial_peer = ++w->peers };
	*peer = wire->dial_peer;
	if (w->node[wire->listener].alive)
		wire_connect(w, wire, false);
	return 0;
}

static inline void
sim_network_hang_up(void *to, uint64_t peer)
{
	struct node *n = to;
	struct sim_network *w = n->network;

	for (size_t i = 0; i < w->count; i++) {
		struct wire *wire = &w->wire[i];

		if (wire->dialler != n - w->node || wire->dial_peer != peer)
			continue;
		packets_drop(&wire->to_dialler);
		packets_drop(&wire->to_listener);
		wire->dialler = -1;
		w->node[wire->listener].left = true;
	}
}

static inline struct outbox *
sim_network_node(struct sim_network *w, int node)
{
	struct node *n = &w->node[node];

	*n = (struct node){
		.alive = true, .network = w,
		.outbox =
		{ sim_network_send, sim_network_dial, sim_network_hang_up, n }
	};
	for (size_t i = 0; i < w->count; i++)	/* who waited for it */
		if (w->wire[i].dialler >= 0 && w->wire[i].listener == node)
			wire_connect(w, &w->wire[i], false);
	return &n->outbox;
}

/* A wire breaks; both ends will find out. */
static inline void
wire_break(struct sim_network *w, struct wire *wire)
{
	const bool told = wire->to_dialler &&
		wire->to_dialler->kind == PACKET_UP;

	packets_drop(&wire->to_dialler);
	packets_drop(&wire->to_listener);
	wire->whole = false;
	wire->listen_peer = ++w->peers;		/* nobody */
	if (!told)
		packet_add(&wire->to_dialler, PACKET_DOWN, wire->dial_peer);
	w->node[wire->listener].left = true;
	if (w->node[wire->listener].alive)
		wire_connect(w, wire, !told && rng_below(&w->rng, 2));
}

/* kill -9: nothing is said any more, by it or to it. */
static inline void
sim_network_kill(struct sim_network *w, int node)
{
	w->node[node].alive = false;
	for (size_t i = 0; i < w->count; i++) {
		struct wire *wire = &w->wire[i];

		if (wire->dialler == node) {
			packets_drop(&wire->to_dialler);
			packets_drop(&wire->to_listener);
			wire->dialler = -1;
			w->node[wire->listener].left = true;
		} else if (wire->dialler >= 0 && wire->listener == node) {
			wire_break(w, wire);
		}
	}
}

/* Somebody is to be told that somebody left. */
static inline struct packet *
sim_network_news(struct sim_network *w, int *node)
{
	struct packet *none = NULL;

	for (int i = 0; i < NODES; i++)
		if (w->node[i].alive && w->node[i].left) {
			w->node[i].left = false;
			*node = i;
			return packet_add(&none, PACKET_LEFT, 0);
		}
	return NULL;
}

/*
 * Something that happens next, to *node; free it.  NULL: nothing is under
 * way.
 */
static inline struct packet *
sim_network_next(struct sim_network *w, int *node)
{
	const size_t begin = rng_below(&w->rng, w->count ? w->count : 1);
	struct packet *news;

	if (rng_below(&w->rng, 1 + w->slow_news) == 0 &&
	    (news = sim_network_news(w, node)))
		return news;
	for (size_t k = 0; k < w->count; k++) {
		struct wire *wire = &w->wire[(begin + k) % w->count];
		const bool up = rng_below(&w->rng, 2);

		if (wire->dialler < 0)
			continue;
		if (wire->to_dialler && (up || !wire->to_listener)) {
			*node = wire->dialler;
			wire->whole = wire->whole ||
				wire->to_dialler->kind == PACKET_UP;
			return packet_take(&wire->to_dialler);
		}
		if (wire->to_listener) {
			*node = wire->listener;
			return packet_take(&wire->to_listener);
		}
	}
	return sim_network_news(w, node);
}

static inline void
sim_network_release(struct sim_network *w)
{
	for (size_t i = 0; i < w->count; i++) {
		packets_drop(&w->wire[i].to_dialler);
		packets_drop(&w->wire[i].to_listener);
	}
}

#endif
