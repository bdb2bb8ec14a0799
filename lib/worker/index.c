#include "worker/index.h"

#include "base/mem.h"
#include "base/text.h"
#include "wire/pack.h"

#include <stdlib.h>

struct index {
	struct outbox *outbox;
	uint64_t peer;
	bool under_way;
	struct message request;
	struct text span;	/* a copy of the request's frame, */
	struct frame frame;	/* which points into it */
	struct pack out;
};

struct index *
index_new(struct outbox *outbox, uint64_t peer)
{
	struct index *x = mem_alloc(1, sizeof(*x));

	x->outbox = outbox;
	x->peer = peer;
	return x;
}

void
index_free(struct index *x)
{
	if (!x)
		return;
	text_release(&x->span);
	pack_release(&x->out);
	free(x);
}

void
index_take(struct index *x, const struct message *m)
{
	text_reset(&x->span);
	if (m->frames > 0)
		text_add_bytes(&x->span, m->frame[0].data, m->frame[0].size);
	x->frame = (struct frame){ x->span.data, x->span.size, NULL };
	x->request = *m;
	x->under_way = true;
}

void
index_drop(struct index *x)
{
	x->under_way = false;
}

const struct frame *
index_span(const struct index *x, uint64_t *number)
{
	*number = x->request.request;
	return x->under_way ? &x->frame : NULL;
}

size_t
index_dataset(const struct index *x)
{
	return x->request.index.dataset;
}

void
index_counted(struct index *x, const struct record_range_tally *t,
	      uint64_t term)
{
	struct message m = message_answer(&x->request, MESSAGE_INDEXED);

	pack_reset(&x->out);
	pack_array(&x->out, t->places);
	for (size_t i = 0; i < t->places; i++)
		pack_uint(&x->out, t->place[i]);
	m.indexed.term = term;
	m.indexed.records = t->whole ? WIRE_NONE : t->records;
	m.frames = 1;
	m.frame[0] = (struct frame){ x->out.data, x->out.size, NULL };
	x->under_way = false;
	outbox_send(x->outbox, x->peer, &m);
}

void
index_failed(struct index *x, const struct fail *why)
{
	const struct message m = message_refuse(&x->request, why->kind,
						why->text);

	x->under_way = false;
	outbox_send(x->outbox, x->peer, &m);
}
