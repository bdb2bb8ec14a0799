/*
 * peers - a hash table from the numbers of peers to pointers.
 */
#ifndef PS_PEERS_H
#define PS_PEERS_H

#include <stddef.h>
#include <stdint.h>

/* The pointers are borrowed, and not NULL; { 0 } is an empty table. */
struct peers {
	struct peers_entry {
		uint64_t peer;
		void *item;	/* NULL: the slot is free */
	} *entry;
	size_t count, room;	/* room is a power of two */
};

void peers_release(struct peers *);
void *peers_find(const struct peers *, uint64_t peer);	/* NULL: none */
void peers_set(struct peers *, uint64_t peer, void *item);
void peers_remove(struct peers *, uint64_t peer);

#endif
