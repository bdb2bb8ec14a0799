#include "server/session.h"

#include "base/mem.h"
#include "base/peers.h"

#include <stdlib.h>

#define MAX_PEERS	65536
#define PROBE_MS	250	/* how often the coordinator is sent a PING */
#define MAX_UNREAD	((size_t)256 << 20)	/* bytes: four frames; a client
						   asks for at most one at a
						   time */

/* The roles that peers have: the items of the peers map point to these, and
   only their addresses count. */
static char as_coordinator[1], as_client[1], as_standby[1], as_relay[1];

struct session {
	struct outbox *outbox;
	uint64_t lease_ms;
	struct peers peers;
	uint64_t coordinator, heard;
	uint64_t probed;	/* when the coordinator was last sent a PING */
	uint64_t term;		/* newest term heard of this run */
	bool busy;		/* a run has this server */
	bool ours;		/* the coordinator is of our run */
	bool over;		/* it has said that the run is over */
	bool kept;		/* it has left us to a later coordinator, which
				   may come at any time */
	uint64_t idle_ms;	/* how long nobody has used this server */
	uint64_t looked_ms;	/* when session_look() was last called; 0: not
				   yet */
	bool needed;		/* somebody has used it since then */
};

struct session *
session_new(struct outbox *outbox, uint64_t lease_ms)
{
	struct session *s = mem_alloc(1, sizeof(*s));

	s->outbox = outbox;
	s->lease_ms = lease_ms;
	return s;
}

void
session_free(struct session *s)
{
	if (!s)
		return;
	peers_release(&s->peers);
	free(s);
}

enum sender
session_sender(const struct session *s, uint64_t peer)
{
	const char *as = peers_find(&s->peers, peer);

	if (as == as_client)
		return SENDER_CLIENT;
	if (as == as_relay)
		return SENDER_RELAY;
	if (as == as_coordinator)
		return peer == s->coordinator ? SENDER_COORDINATOR :
			SENDER_OUSTED;
	return as ? SENDER_STANDBY : SENDER_STRANGER;
}

void
session_send(struct session *s, uint64_t peer, const struct message *m)
{
	/* Peer 0: a change that was replayed, or came from the primary, was
	   answered elsewhere. */
	if (peer)
		outbox_send(s->outbox, peer, m);
}

void
session_refuse(struct session *s, uint64_t peer, const struct message *to,
	       const struct fail *why)
{
	const struct message m = message_refuse(to, why->kind, why->text);

	session_send(s, peer, &m);
}

int
session_check_unread(const struct session *s, uint64_t peer, struct fail *f)
{
	return session_sender(s, peer) == SENDER_RELAY ||
		outbox_unread(s->outbox, peer) <= MAX_UNREAD ? 0 :
		fail(f, FAIL_PROTOCOL, "more than %zu MiB of answers are "
		     "unread", MAX_UNREAD >> 20);
}

/* ---- comings and goings ---- */

/* A server is not told when a peer leaves: it finds out when it cannot send to
   the peer. */
static void
forget_leavers(struct session *s)
{
	uint64_t *peer = mem_alloc(s->peers.count, sizeof(*peer));
	size_t count = 0;

	for (size_t i = 0; i < s->peers.room; i++)
		if (s->peers.entry[i].item)
			peer[count++] = s->peers.entry[i].peer;
	for (size_t i = 0; i < count; i++)
		session_has(s, peer[i]);
	free(peer);
}

int
session_make_room(struct session *s, struct fail *f)
{
	if (s->peers.count >= MAX_PEERS)
		forget_leavers(s);
	return s->peers.count < MAX_PEERS ? 0 :
		fail(f, FAIL_AGAIN, "too many peers");
}

void
session_add(struct session *s, uint64_t peer, enum role role)
{
	peers_set(&s->peers, peer, role == ROLE_COORDINATOR ? as_coordinator :
		  role == ROLE_STANDBY ? as_standby :
		  role == ROLE_RELAY ? as_relay : as_client);
}

void
session_remove(struct session *s, uint64_t peer)
{
	peers_remove(&s->peers, peer);
}

bool
session_has(struct session *s, uint64_t peer)
{
	const struct message ping = { .kind = MESSAGE_PING };

	if (!peers_find(&s->peers, peer))
		return false;
	if (outbox_reaches(s->outbox, peer, &ping))
		return true;
	peers_remove(&s->peers, peer);
	return false;
}

/* ---- the coordinator ---- */

uint64_t
session_coordinator(const struct session *s)
{
	return s->coordinator;
}

void
session_received(struct session *s, uint64_t now)
{
	s->heard = now;
	s->needed = true;
}

int
session_check_term(const struct session *s, uint64_t term, struct fail *f)
{
	if (term >= s->term)
		return 0;
	return fail(f, FAIL_AGAIN, "term %llu is over, %llu began: another "
		    "coordinator has this run", (unsigned long long)term,
		    (unsigned long long)s->term);
}

int
session_greet(struct session *s, uint64_t peer, bool ours, uint64_t term,
	      uint64_t now, struct fail *f)
{
	if (ours && session_check_term(s, term, f) < 0)
		return -1;
	if (!ours && s->busy && now - s->heard <= s->lease_ms)
		return fail(f, FAIL_AGAIN, "busy with another run, whose "
			    "coordinator was heard %llu ms ago",
			    (unsigned long long)(now - s->heard));
	s->coordinator = peer;
	session_received(s, now);
	s->ours = ours;
	if (ours)
		s->term = term;
	return 0;
}

uint64_t
session_term(const struct session *s)
{
	return s->term;
}

void
session_claim(struct session *s, uint64_t term)
{
	s->term = term;
	s->busy = s->ours = true;
	s->over = s->kept = false;
}

bool
session_is_claimed(const struct session *s)
{
	return s->busy;
}

void
session_release(struct session *s)
{
	s->busy = s->over = false;
}

void
session_leave(struct session *s, uint64_t term)
{
	const bool ended = s->busy && s->ours && term == s->term;

	s->over = s->over || ended;
	s->kept = s->kept || ended;
	s->busy = false;
}

void
session_end_run(struct session *s)
{
	s->over = s->over || s->ours;
}

bool
session_run_over(const struct session *s)
{
	return s->over;
}

bool
session_has_run(struct session *s, uint64_t now)
{
	if (now - s->probed >= PROBE_MS) {
		s->probed = now;
		session_has(s, s->coordinator);
	}
	return s->busy && peers_find(&s->peers, s->coordinator) &&
		now - s->heard <= s->lease_ms;
}

/* ---- how long nobody has used the server ---- */

void
session_need(struct session *s)
{
	s->needed = true;
}

/*
 * Time in which session_look() was not called, as when the program was stopped,
 * does not count as silence of the peers: nothing could have been received.
 */
bool
session_look(struct session *s, uint64_t every_ms, uint64_t now)
{
	const uint64_t passed = s->looked_ms ? now - s->looked_ms : 0;
	const bool needed = s->needed || s->kept;

	if (s->looked_ms && passed < every_ms)
		return false;
	s->looked_ms = now;
	s->idle_ms += passed < 2 * every_ms ? passed : every_ms;
	if (needed)
		s->idle_ms = 0;
	s->needed = false;
	return needed;
}

bool
session_idle(const struct session *s, uint64_t limit_ms)
{
	return limit_ms > 0 && s->idle_ms >= limit_ms;
}
