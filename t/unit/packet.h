/*
 * packet - a message under way between two nodes of a network in memory, or the
 * notification of a connection.  A message is written and read again as real
 * programs do.
 */
#ifndef PS_PACKET_H
#define PS_PACKET_H

#include "base/mem.h"
#include "wire/message.h"

#include <stdlib.h>

enum packet_kind { PACKET_MESSAGE, PACKET_UP, PACKET_DOWN, PACKET_LEFT };

struct packet {
	enum packet_kind kind;
	uint64_t peer;		/* the sender, as the receiver knows it */
	uint64_t due;		/* for the owner of the packet */
	size_t size;		/* bytes of the message */
	struct message message;
	void *bytes[2 + MESSAGE_FRAMES];
	struct packet *next;
};

static inline void
packet_free(struct packet *p)
{
	for (size_t i = 0; i < 2 + MESSAGE_FRAMES; i++)
		free(p->bytes[i]);
	free(p);
}

static inline void
packets_drop(struct packet **list)
{
	while (*list) {
		struct packet *p = *list;

		*list = p->next;
		packet_free(p);
	}
}

static inline struct packet *
packet_add(struct packet **list, enum packet_kind kind, uint64_t peer)
{
	struct packet *p = mem_alloc(1, sizeof(*p));

	while (*list)
		list = &(*list)->next;
	p->kind = kind;
	p->peer = peer;
	*list = p;
	return p;
}

static inline struct packet *
packet_take(struct packet **list)
{
	struct packet *p = *list;

	*list = p->next;
	p->next = NULL;
	return p;
}

/* Fills the packet with a copy of the message; returns how often the copy was
   found malformed. */
static inline size_t
packet_fill(struct packet *p, const struct message *m)
{
	struct pack header = { 0 };
	size_t malformed = 0;
	struct fail f;

	message_write(&header, m);
	p->bytes[0] = mem_copy(header.data, header.size);
	p->size = header.size;
	malformed += message_read(&p->message, p->bytes[0], header.size,
				  &f) < 0;
	pack_release(&header);
	p->message.frames = m->frames;
	for (size_t i = 0; i < m->frames; i++) {
		p->bytes[1 + i] = mem_copy(m->frame[i].size ?
					   m->frame[i].data : "",
					   m->frame[i].size);
		p->size += m->frame[i].size;
		p->message.frame[i] = (struct frame){
			p->bytes[1 + i], m->frame[i].size, NULL };
	}
	malformed += message_check_frames(&p->message, &f) < 0;
	return malformed;
}

#endif
