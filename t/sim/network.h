/*
 * network - connections between the processes of a simulated cluster.
 *
 * Nodes are numbers; node 3 is dialled as "node:3".  The network behaves as
 * sys/net does on its worst day:
 *
 *	- messages of a connection arrive in order, each after the delay of
 *	  its direction, or never: a connection that breaks loses messages
 *	  that are under way
 *	- connections overtake one another
 *	- the node that dialled is notified that the connection is there (UP)
 *	  and that it broke (DOWN), both late.  A message that it sends
 *	  between the event and the notification is lost, or arrives before
 *	  the notification
 *	- the node that was dialled notices a break only when it cannot send;
 *	  besides, it is notified that some peer left (LEFT), after the break
 *	  and after each message that it could not send
 *	- messages of a connection may arrive after it broke, and after LEFT
 *
 * Every message is written and read again, and each of its frames is copied to
 * memory of exactly its size, so that a sanitizer sees a read beyond it.
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
	uint64_t jitter_us;	/* added to each delay, at most */
	uint64_t silence_ms;	/* until a silent connection is given up */
	uint64_t redial_ms;	/* until a broken connection is dialled again,
				   at most */
};

struct network *network_new(const struct network_options *);
void network_free(struct network *);

/* Starts a process at the node.  Its outbox is good until network_kill(). */
struct outbox *network_begin(struct network *, int node);
/* Ends the process.  crash: its machine dies, too, so that no other node
   notices before the silence has lasted. */
void network_kill(struct network *, int node, bool crash);

/* Is this peer a process that dialled this node and has ended by now? */
bool network_orphan(const struct network *, int node, uint64_t peer);

/* Breaks all connections between two nodes. */
void network_cut(struct network *, int a, int b);
/* Holds up all messages from one node to the other until this time. */
void network_block(struct network *, int from, int to, uint64_t until_us);
/* Limits one direction to rate bytes a millisecond until this time. */
void network_slow(struct network *, int from, int to, uint64_t rate,
		  uint64_t until_us);

/* Returns when the next event is due; UINT64_MAX: there is none. */
uint64_t network_next(const struct network *);
/*
 * Sets the time to now_us, and handles the events that are due.  Returns the
 * first packet that arrives, with its receiver and sender; the caller frees it.
 * NULL: no (further) packet arrives by then.
 */
struct packet *network_take(struct network *, uint64_t now_us, int *to,
			    int *from);

/* Returns the number of packets that were found malformed. */
size_t network_malformed(const struct network *);

#endif
