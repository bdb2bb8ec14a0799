/*
 * post - an outbox that keeps what is put into it: for a component alone.
 *
 * The test says what is to have been said to whom, message by message, in
 * order; then that nothing else was.
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
	struct message m;	/* without frames, but for what text has */
	char text[256];		/* the blob, or else the first frame that is
				   not empty */
} posted[POSTS], *last_posted;
static size_t post_first, post_end;
static uint64_t post_deaf;	/* to whom nothing can be said; 0: nobody */
static uint64_t post_dialled;	/* peers are given numbers from 1001 on */
static uint64_t post_hung_up;	/* the last peer to which that was done */
static bool post_cannot_dial;
static enum message_kind post_skips;	/* what is not kept; 0: all is */

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

/* Is this what was said next, to this peer?  It is last_posted then. */
static inline bool
says(uint64_t peer, enum message_kind kind)
{
	if (post_first == post_end) {
		printf("# nothing is said, but for %s to %llu\n",
		       message_name(kind), (unsigned long long)peer);
		return false;
	}
	last_posted = &posted[post_first++ % POSTS];
	if (last_posted->peer == peer && last_posted->m.kind == kind)
		return true;
	printf("# %s to %llu in place of %s to %llu: %s\n",
	       message_name(last_posted->m.kind),
	       (unsigned long long)last_posted->peer, message_name(kind),
	       (unsigned long long)peer, last_posted->text);
	return false;
}

/* Was nothing else said? */
static inline bool
silent(void)
{
	const bool nothing = post_first == post_end;

	if (!nothing)
		says(0, MESSAGE_HELLO);
	post_first = post_end;
	return nothing;
}

static inline void
post_clear(void)
{
	post_first = post_end;
}

/* A component's check holds. */
#define holds(check)	holds_(check, #check, __FILE__, __LINE__)

static inline void
holds_(const char *broken, const char *check, const char *file, int line)
{
	if (broken)
		printf("# %s\n", broken);
	tap_ok(!broken, check, file, line);
}

#endif
