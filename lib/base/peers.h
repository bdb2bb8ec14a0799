/*
 * peers - what is known of each peer, found by its number.
 */
#ifndef PS_PEERS_H
#define PS_PEERS_H

#include <stddef.h>
#include <stdint.h>

/* A map from peers to pointers, which it does not own; { 0 } is empty. */
struct peers {
	struct peers_entry {
		uint64_t peer;
		void *item;	/* NULL: nobody is here */
	} *entry;
	size_t count, room;	/* room is a power of two */
};

void peers_release(struct peers *);
void *peers_find(const struct peers *, uint64_t peer);	/* or NULL */
void peers_set(struct peers *, uint64_t peer, void *item);
void peers_remove(struct peers *, uint64_t peer);

#endif
