/*
 * network - connections between the processes of a simulated cluster.
 *
 * Nodes are numbers; node 3 is dialled as "node:3".  It behaves as sys/net
 * does, at its worst.  What is sent over a connection arrives in order, after
 * the delay of its direction, or never: a connection that breaks loses what
 * is under way.  Connections overtake one another.  The node that dialled is
 * told that a connection is there (UP) and that it broke (DOWN), late; what it
 * sends meanwhile is lost, or overtakes that news.  The node that was dialled
 * learns of a break by not being able to send, and that somebody left (LEFT).
 * Every message is written and read again, and its bytes are exactly as large
 * as they say.
 */
#ifndef PS_SIM_NETWORK_H
#define PS_SIM_NETWORK_H

#include "../unit/packet.h"
#include "wire/outbox.h"

#define NETWORK_NODES	34

struct network;

struct network_options {
	uint64_t seed;
	uint64_t delay_us[NETWORK_NODES][NETWORK_NODES];	/* one way */
	uint64_t jitter_us;	/* besides, up to */
	uint64_t silence_ms;	/* after which a connection is given up */
	uint64_t redial_ms;	/* until a broken one is tried again, up to */
};

struct network *network_new(const struct network_options *);
void network_free(struct network *);

/* A process begins there: its outbox, good until network_kill(). */
struct outbox *network_begin(struct network *, int node);
/*
 * The process is gone.  crash: with its machine, so that nobody is told
 * before the silence has lasted.
 */
void network_kill(struct network *, int node, bool crash);

/* Is it of one who called this node, and is gone by now? */
bool network_orphan(const struct network *, int node, uint64_t peer);

/* All connections between two nodes break. */
void network_cut(struct network *, int a, int b);
/* Nothing gets from one to the other until then. */
void network_block(struct network *, int from, int to, uint64_t until_us);
/* Only so many bytes a millisecond do. */
void network_slow(struct network *, int from, int to, uint64_t rate,
		  uint64_t until_us);

/* When the next thing happens; UINT64_MAX: nothing will. */
uint64_t network_next(const struct network *);
/*
 * Time goes on to then: what is due arrives.  The first packet that does is
 * taken: to whom, from whom; free it.  NULL: there is none (any more).
 */
struct packet *network_take(struct network *, uint64_t now_us, int *to,
			    int *from);

/* Packets that no kind of message looks like. */
size_t network_malformed(const struct network *);

#endif
