/*
 * post - an outbox that keeps the messages put into it, to test a component
 * alone.
 *
 * The test names the messages that it expects, with their receivers, in order;
 * and then that no other message was sent.
 */
#ifndef PS_POST_H
#define PS_POST_H

#include "wire/outbox.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define POSTS	256

static struct posted {
	uint64_t peer;
	struct message m;	/* without frames, except for the text */
	char text[256];		/* the blob, or else the first frame that is
				   not empty */
} posted[POSTS], *last_posted;
static size_t post_first, post_end;
static uint64_t post_deaf;	/* a peer to which no message can be sent; 0:
				   none */
static uint64_t post_dialled;	/* peers get numbers from 1001 on */
static uint64_t post_hung_up;	/* the peer that was hung up on last */
static bool post_cannot_dial;
static enum message_kind post_skips;	/* a kind of message that is not kept;
					   0: none */

static inline int
post_send(void *to, uint64_t peer, const struct message *m)
{
	const struct frame *f = m->blob.size > 0 || m->frames == 0 ?
		&m->blob : &m->frame[m->frames > 1 && m->frame[0].size == 0];
	struct posted *p = &posted[post_end % POSTS];

	(void)to;
	if (peer == post_deaf)
		return -1;
	if (m->kind == post_skips)
		return 0;
	if (post_end - post_first == POSTS)
		post_first++;
	*p = (struct posted){ .peer = peer, .m = *m };
	if (f->size > 0 && f->data)
		memcpy(p->text, f->data, f->size < sizeof(p->text) ?
		       f->size : sizeof(p->text) - 1);
	post_end++;
	return 0;
}

static inline int
post_dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	if (post_cannot_dial)
		return fail(f, FAIL_PEER, "cannot dial %s", endpoint);
	*peer = 1000 + ++post_dialled;
	return 0;
}

static inline void
post_hang_up(void *to, uint64_t peer)
{
	(void)to;
	post_hung_up = peer;
}

static struct outbox post = { post_send, post_dial, post_hang_up, NULL, NULL };

/* Prints the message that came in place of another one. */
static inline void
post_show(const struct posted *got)
{
	printf("# got:      %s to peer %llu: %s\n",
	       message_name(got->m.kind), (unsigned long long)got->peer,
	       got->text);
}

/* Was a message of this kind the next one, to this peer?  last_posted is the
   message then. */
static inline bool
says(uint64_t peer, enum message_kind kind)
{
	const bool any = post_first < post_end;

	if (any)
		last_posted = &posted[post_first++ % POSTS];
	if (any && last_posted->peer == peer && last_posted->m.kind == kind)
		return true;
	printf("# expected: %s to peer %llu\n", message_name(kind),
	       (unsigned long long)peer);
	if (any)
		post_show(last_posted);
	else
		printf("# got:      no message\n");
	return false;
}

/* Was no other message sent? */
static inline bool
silent(void)
{
	const bool nothing = post_first == post_end;

	if (!nothing) {
		printf("# expected: no message\n");
		last_posted = &posted[post_first % POSTS];
		post_show(last_posted);
	}
	post_first = post_end;
	return nothing;
}

static inline void
post_clear(void)
{
	post_first = post_end;
}

/* Checks the invariants of a component. */
#define holds(check)	holds_(check, #check, __FILE__, __LINE__)

static inline void
holds_(const char *broken, const char *check, const char *file, int line)
{
	if (broken)
		printf("# broken invariant: %s\n", broken);
	tap_ok(!broken, check, file, line);
}

#endif
