#include "server/primary.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct primary {
	struct outbox *outbox;
	uint64_t life;		/* of this server */
	uint64_t peer;		/* 0: this server never followed one */
	char at[256], endpoint[256];	/* endpoints of the primary and of this
					   server */
	bool promoted;		/* we followed it, and then took over */
	bool synced;		/* SYNC has come */
	bool greeted;		/* by the coordinator, since then */
	uint64_t chunks;	/* still to come */
	uint64_t held;		/* changes up to this one were acknowledged
				   (HELD) */
};

struct primary *
primary_new(struct outbox *outbox, uint64_t life)
{
	struct primary *w = mem_alloc(1, sizeof(*w));

	w->outbox = outbox;
	w->life = life;
	return w;
}

void
primary_free(struct primary *w)
{
	free(w);
}

int
primary_follow(struct primary *w, const char *at, const char *endpoint,
	       struct fail *f)
{
	snprintf(w->at, sizeof(w->at), "%s", at);
	snprintf(w->endpoint, sizeof(w->endpoint), "%s", endpoint);
	return outbox_dial(w->outbox, at, &w->peer, f);
}

/* ---- state ---- */

bool
primary_is(const struct primary *w, uint64_t peer)
{
	return w->peer && peer == w->peer;
}

const char *
primary_at(const struct primary *w)
{
	return w->at;
}

bool
primary_followed(const struct primary *w)
{
	return w->peer && !w->promoted;
}

bool
primary_copied(const struct primary *w)
{
	return w->synced && w->chunks == 0;
}

bool
primary_promoted(const struct primary *w)
{
	return w->promoted;
}

uint64_t
primary_limit(const struct primary *w)
{
	if (!primary_followed(w))
		return UINT64_MAX;
	return primary_copied(w) ? w->held : 0;
}

bool
primary_synced(const struct primary *w)
{
	return w->synced;
}

/* ---- messages to the primary ---- */

void
primary_hello(const struct primary *w, uint64_t index, uint64_t term,
	      struct frame run)
{
	struct message m = message_hello(w->promoted ? ROLE_SERVER :
					 ROLE_STANDBY, index, w->life, term);

	m.request = PRIMARY_HELLO;
	m.blob = run;
	m.frames = 1;
	m.frame[0] = (struct frame){ w->endpoint, strlen(w->endpoint), NULL };
	outbox_send(w->outbox, w->peer, &m);
}

void
primary_hold(struct primary *w, uint64_t number)
{
	struct message m = { .kind = MESSAGE_HELD };

	if (!primary_followed(w) || !w->synced || number == w->held)
		return;
	m.held.number = w->held = number;
	outbox_send(w->outbox, w->peer, &m);
}

void
primary_refuse(const struct primary *w, const struct message *change,
	       const struct fail *why)
{
	const struct message m = message_refuse(change, why->kind, why->text);

	outbox_send(w->outbox, w->peer, &m);
}

/* ---- messages from the primary ---- */

void
primary_greet(struct primary *w, bool copied)
{
	w->greeted = copied;
}

int
primary_check_sync(const struct primary *w, bool newer, struct fail *f)
{
	return newer || !w->greeted ? 0 :
		fail(f, FAIL_AGAIN, "the coordinator counts on what is here");
}

void
primary_forget(struct primary *w)
{
	w->synced = w->greeted = false;
}

void
primary_begin(struct primary *w, const struct message *sync)
{
	w->held = sync->sync.number;
	w->chunks = sync->sync.chunks;
	w->synced = true;
}

bool
primary_next_chunk(struct primary *w)
{
	if (!w->synced || w->chunks == 0)
		return false;	/* it belongs to an earlier SYNC */
	w->chunks--;
	return true;
}

bool
primary_refused(struct primary *w, const struct message *m)
{
	if (m->request == PRIMARY_HELLO)
		return false;
	/* The primary that had this standby lets go of it: it knows what was
	   promised to the coordinator, so a new SYNC may come. */
	if (m->refused.status == FAIL_AGAIN)
		w->greeted = false;
	return true;
}

void
primary_promote(struct primary *w, uint64_t last)
{
	w->held = last;
	w->promoted = true;
}

/* ---- what always holds ---- */

const char *
primary_check(const struct primary *w, uint64_t acted)
{
	return primary_followed(w) && acted > w->held ?
		"server 8: a standby acts on nothing that it has not said to "
		"hold" : NULL;
}
