/*
 * sim_network - a network in memory, for a whole cluster in one process.
 *
 * Nodes are numbers; node 3 is dialled as "node:3".  The messages of a wire
 * arrive in order, or never: the test delivers messages, cuts wires and kills
 * nodes as it likes.  The network behaves as sys/net does on its worst day:
 *
 *	- the node that dialled is notified late that a wire broke, and that it
 *	  is connected again.  Until then its messages may be lost, or arrive
 *	  before the notification
 *	- the node that was dialled notices a break only when it cannot send
 *
 * Every message is written and read again, and each of its frames is copied to
 * memory of exactly its size, so that a sanitizer sees a read beyond it.
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
	int dialler, listener;	/* dialler -1: the entry is free */
	uint64_t dial_peer, listen_peer;
	bool whole;		/* what the dialler sends arrives */
	struct packet *to_dialler, *to_listener;
};

struct node {
	bool alive, left;	/* left: a peer left, and the node is not
				   notified yet */
	struct sim_network *network;
	struct outbox outbox;
};

struct sim_network {
	struct wire wire[WIRES];
	size_t count;
	struct node node[NODES];
	uint64_t peers;
	struct rng rng;
	uint64_t slow_news;	/* the notification of LEFT comes at one of this
				   number of chances */
	size_t malformed;	/* messages that were malformed */
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

/* Connects a wire; the dialler is notified later. */
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
	for (size_t i = 0; i < w->count; i++)	/* diallers that wait for it */
		if (w->wire[i].dialler >= 0 && w->wire[i].listener == node)
			wire_connect(w, &w->wire[i], false);
	return &n->outbox;
}

/* Breaks a wire; both ends will notice. */
static inline void
wire_break(struct sim_network *w, struct wire *wire)
{
	const bool told = wire->to_dialler &&
		wire->to_dialler->kind == PACKET_UP;

	packets_drop(&wire->to_dialler);
	packets_drop(&wire->to_listener);
	wire->whole = false;
	wire->listen_peer = ++w->peers;		/* an unknown peer */
	if (!told)
		packet_add(&wire->to_dialler, PACKET_DOWN, wire->dial_peer);
	w->node[wire->listener].left = true;
	if (w->node[wire->listener].alive)
		wire_connect(w, wire, !told && rng_below(&w->rng, 2));
}

/* kill -9: no message is sent any more, by the node or to it. */
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

/* Notifies a node that a peer left. */
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

/* Returns the next event and its node; free it.  NULL: nothing is under way. */
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
