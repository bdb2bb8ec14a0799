#include "server/standby.h"

#define CREDIT	4		/* chunks under way */

void
standby_forget(struct standby *b)
{
	cut_free(b->cut);
	*b = (struct standby){ 0 };
}

static int
send_chunk(const struct standby *b, size_t i, struct outbox *outbox)
{
	const struct shard_chunk chunk = cut_chunk(b->cut, i);
	struct message m = { .kind = MESSAGE_STATE, .request = i,
			     .frames = 1 };

	m.state.piece = chunk.piece;
	m.state.chunk = chunk.chunk;
	m.state.updates = chunk.updates;
	m.state.since = chunk.since;
	m.state.begun = chunk.begun;
	m.frame[0] = chunk.data;
	return outbox_send(outbox, b->peer, &m);
}

static int
send_chunks(struct standby *b, struct outbox *outbox)
{
	while (b->next < cut_chunks(b->cut) && b->next < b->answered + CREDIT)
		if (send_chunk(b, b->next++, outbox) < 0)
			return -1;
	return 0;
}

int
standby_begin(struct standby *b, const struct standby *who, struct cut *cut,
	      struct message *sync, struct outbox *outbox)
{
	*b = *who;
	b->cut = cut;
	b->held = sync->sync.number;
	sync->sync.chunks = cut_chunks(cut);
	return outbox_send(outbox, b->peer, sync) < 0 ||
		send_chunks(b, outbox) < 0 ? -1 : 0;
}

int
standby_forward(const struct standby *b, const struct change *c,
		struct outbox *outbox)
{
	return b->peer ? outbox_send(outbox, b->peer, &c->message) : 0;
}

int
standby_answered(struct standby *b, struct outbox *outbox)
{
	if (!b->cut || b->answered > b->next)
		return 0;
	if (++b->answered <= cut_chunks(b->cut))
		return send_chunks(b, outbox);
	cut_free(b->cut);
	b->cut = NULL;
	return 1;
}

bool
standby_whole(const struct standby *b)
{
	return b->life && !b->cut;
}

uint64_t
standby_limit(const struct standby *b)
{
	if (!b->life)
		return UINT64_MAX;
	return b->held + (b->cut ? STANDBY_BEHIND : 0);
}
