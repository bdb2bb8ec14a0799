/*
 * letter - a copy of a message, kept until it is sent, perhaps to several
 * peers.
 */
#ifndef PS_LETTER_H
#define PS_LETTER_H

#include "wire/message.h"

struct worker_request;

struct letter {
	struct refcount hold;	/* letter_new() takes the first reference */
	struct message message;	/* whose frames lie behind the struct */
	struct letter *next;	/* in a list of the owner's */
	struct worker_request *of;	/* who waits for its answer; the
					   owner's, too */
};

/* Copies a message; letter_drop() drops a reference, and the last one frees the
   letter. */
struct letter *letter_new(const struct message *);
void letter_drop(struct letter *);

#endif
