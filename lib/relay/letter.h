/*
 * letter - a message that is kept until it is sent, or sent to several.
 */
#ifndef PS_LETTER_H
#define PS_LETTER_H

#include "wire/message.h"

struct asked;

struct letter {
	struct refcount hold;	/* the first reference is its maker's */
	struct message message;	/* whose frames lie behind the struct */
	struct letter *next;	/* of a list of its owner's */
	struct asked *of;	/* who waits for its answer; its owner's, too */
};

/* A copy. */
struct letter *letter_new(const struct message *);
void letter_drop(struct letter *);

#endif
