#include "server/replication.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREDIT	4		/* chunks that may be unacknowledged */

/* A standby that has called, and where it listens. */
struct follower {
	uint64_t life;		/* 0: there is none */
	uint64_t peer;		/* 0: it cannot be reached */
	char endpoint[256];
};

struct replication {
	struct outbox *outbox;
	struct follower it, waiting;
	struct shard_snapshot *snapshot;	/* NULL: the standby has all of
						   it */
	size_t next;		/* how many of its chunks were sent */
	size_t answered;	/* how many of SYNC and the chunks were
				   acknowledged */
	uint64_t held;		/* it holds the changes up to here */
	uint64_t awaited_ms;	/* since when changes wait for it alone; 0: they
				   do not */
	bool in_sync;		/* it holds the snapshot and all that was acted
				   on: the coordinator may know */
	bool counted;		/* the coordinator counts on it, as our answers
				   report */
	bool news;		/* for the coordinator */
};

struct replication *
replication_new(struct outbox *outbox)
{
	struct replication *b = mem_alloc(1, sizeof(*b));

	b->outbox = outbox;
	return b;
}

void
replication_free(struct replication *b)
{
	if (!b)
		return;
	shard_snapshot_free(b->snapshot);
	free(b);
}

/* ---- the standby's state ---- */

bool
replication_is_there(const struct replication *b)
{
	return b->it.life != 0;
}

bool
replication_waits(const struct replication *b)
{
	return b->waiting.peer && !b->it.life;
}

bool
replication_reached(const struct replication *b)
{
	return b->it.peer || b->waiting.peer;
}

uint64_t
replication_limit(const struct replication *b)
{
	if (!b->it.life)
		return UINT64_MAX;
	return b->held + (b->snapshot ? REPLICATION_BEHIND : 0);
}

uint64_t
replication_counted(const struct replication *b)
{
	return b->counted ? b->it.life : 0;
}

/* Does the standby have the whole snapshot?  From then on changes wait until it
   holds them. */
static bool
is_whole(const struct replication *b)
{
	return b->it.life && !b->snapshot;
}

/* ---- a standby is let go ---- */

/* Nothing is sent to the standby. */
void
replication_forget(struct replication *b)
{
	shard_snapshot_free(b->snapshot);
	*b = (struct replication){ .outbox = b->outbox,
				   .waiting = b->waiting, .news = b->news };
}

/* Send to the standby, if it can be reached. */
static void
send_standby(struct replication *b, const struct message *m)
{
	if (b->it.peer)
		outbox_send(b->outbox, b->it.peer, m);
}

void
replication_drop(struct replication *b)
{
	const struct message over = { .kind = MESSAGE_REFUSED,
				      .refused.status = FAIL_AGAIN };

	send_standby(b, &over);
	replication_forget(b);
}

void
replication_drop_copying(struct replication *b)
{
	if (b->snapshot)
		replication_drop(b);
}

/* The standby cannot be reached.  If the coordinator counts on it, only the
   coordinator can let the server proceed without it. */
static void
lose_standby(struct replication *b)
{
	b->news = b->news || b->in_sync;
	b->it.peer = 0;
	if (!b->counted)
		replication_forget(b);
}

void
replication_send(struct replication *b, const struct message *m)
{
	send_standby(b, m);
	if (b->waiting.peer)
		outbox_send(b->outbox, b->waiting.peer, m);
}

void
replication_ping(struct replication *b)
{
	const struct message ping = { .kind = MESSAGE_PING };

	if (b->waiting.peer &&
	    !outbox_reaches(b->outbox, b->waiting.peer, &ping))
		b->waiting = (struct follower){ 0 };
	if (b->it.peer && !outbox_reaches(b->outbox, b->it.peer, &ping))
		lose_standby(b);
}

void
replication_watch(struct replication *b, bool awaited, uint64_t limit_ms,
		  uint64_t now)
{
	if (b->counted || !awaited)
		b->awaited_ms = 0;
	else if (b->awaited_ms == 0)
		b->awaited_ms = now;
	else if (now - b->awaited_ms > limit_ms)
		replication_drop(b);
}

/* ---- a standby comes ---- */

bool
replication_endpoint(const struct message *m, char *endpoint, size_t room)
{
	const struct frame *at = &m->frame[0];
	const unsigned char *bytes = at->data;

	if (m->frames != 1 || at->size == 0 || at->size >= room)
		return false;
	for (size_t i = 0; i < at->size; i++)
		if (bytes[i] <= ' ' || bytes[i] == 127)
			return false;
	memcpy(endpoint, bytes, at->size);
	endpoint[at->size] = '\0';
	return true;
}

int
replication_hello(struct replication *b, uint64_t peer,
		  const struct message *m, struct fail *f)
{
	struct follower one = { .peer = peer, .life = m->hello.life };

	if (!replication_endpoint(m, one.endpoint, sizeof(one.endpoint)) ||
	    one.life == 0)
		return fail(f, FAIL_PROTOCOL, "a standby that does not say "
			    "where it listens");
	if (b->it.life == one.life && b->it.peer != peer)
		lose_standby(b);	/* it has reconnected */
	b->waiting = one;
	return 0;
}

static void
send_chunk(struct replication *b, size_t i)
{
	const struct shard_chunk chunk = shard_snapshot_chunk(b->snapshot, i);
	struct message m = { .kind = MESSAGE_STATE, .request = i,
			     .frames = 1 };

	m.state.piece = chunk.piece;
	m.state.chunk = chunk.chunk;
	m.state.updates = chunk.updates;
	m.state.since = chunk.since;
	m.state.begun = chunk.begun;
	m.frame[0] = chunk.data;
	outbox_send(b->outbox, b->it.peer, &m);
}

static void
send_chunks(struct replication *b)
{
	while (b->next < shard_snapshot_chunks(b->snapshot) &&
	       b->next < b->answered + CREDIT)
		send_chunk(b, b->next++);
}

void
replication_begin(struct replication *b, struct shard_snapshot *snapshot,
		  struct message *sync, const struct change *c)
{
	replication_forget(b);
	b->it = b->waiting;
	b->waiting = (struct follower){ 0 };
	b->snapshot = snapshot;
	b->held = sync->sync.number;
	sync->sync.chunks = shard_snapshot_chunks(snapshot);
	outbox_send(b->outbox, b->it.peer, sync);
	send_chunks(b);
	for (; c; c = c->next)
		outbox_send(b->outbox, b->it.peer, &c->message);
}

void
replication_forward(struct replication *b, const struct change *c)
{
	send_standby(b, &c->message);
}

/* The standby has acknowledged SYNC or a chunk. */
static void
take_answer(struct replication *b)
{
	if (!b->snapshot || b->answered > b->next)
		return;
	if (++b->answered <= shard_snapshot_chunks(b->snapshot)) {
		send_chunks(b);
	} else {
		shard_snapshot_free(b->snapshot);
		b->snapshot = NULL;
	}
}

/* If the standby has the snapshot and holds all that was acted on, it is in
   sync: the coordinator may know. */
static void
set_in_sync(struct replication *b, uint64_t acted)
{
	if (b->in_sync || !is_whole(b) || b->held < acted)
		return;
	b->in_sync = b->news = true;
}

void
replication_receive(struct replication *b, uint64_t peer,
		    const struct message *m, uint64_t acted)
{
	if (peer == b->waiting.peer && m->kind == MESSAGE_BYE)
		b->waiting = (struct follower){ 0 };
	if (peer != b->it.peer)
		return;		/* from a standby that was let go */
	if (m->kind == MESSAGE_HELD && m->held.number > b->held)
		b->held = m->held.number;
	if (m->kind == MESSAGE_OK)
		take_answer(b);
	b->awaited_ms = 0;
	set_in_sync(b, acted);
	if (m->kind == MESSAGE_REFUSED)	/* it cannot take a SYNC or a change:
					   let it wait for another snapshot */
		b->waiting = b->it;
	if (m->kind == MESSAGE_REFUSED || m->kind == MESSAGE_BYE)
		lose_standby(b);
}

/* ---- the coordinator ---- */

void
replication_keep(struct replication *b, uint64_t life)
{
	if (b->it.life && b->it.life != life)
		replication_drop(b);
	b->counted = b->counted || b->in_sync;
	replication_report(b);
}

void
replication_count(struct replication *b, uint64_t life)
{
	if (life == b->it.life && b->in_sync && b->it.peer)
		b->counted = true;
	else if (life == 0)
		replication_drop(b);
	b->news = true;
}

void
replication_report(struct replication *b)
{
	b->news = b->news || b->in_sync;
}

bool
replication_has_news(const struct replication *b)
{
	return b->news;
}

struct message
replication_news(struct replication *b)
{
	struct message m = { .kind = MESSAGE_STANDBY, .frames = 1 };

	m.standby.life = b->in_sync && b->it.peer ? b->it.life : 0;
	m.standby.counted = b->counted;
	m.frame[0] = (struct frame){ b->it.endpoint, strlen(b->it.endpoint),
				     NULL };
	b->news = false;
	return m;
}

/* ---- what always holds ---- */

const char *
replication_check(const struct replication *b, bool stands_by,
		  uint64_t acted)
{
	if (b->counted && !b->in_sync)
		return "server 10: a standby that the coordinator relies on is "
			"in sync";
	if (b->in_sync && !is_whole(b))
		return "server 11: a standby in sync has all chunks of the "
			"copy";
	if (b->in_sync && b->held < acted)
		return "server 12: a standby in sync holds all changes that "
			"were answered";
	if (b->it.life && stands_by)
		return "server 13: a standby has no standby of its own";
	return NULL;
}
