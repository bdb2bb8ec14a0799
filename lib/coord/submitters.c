/*
 * The states of a submitter:
 *
 *	FREE --submitters_call()--> THERE
 *	THERE --submitters_away()--> AWAY --submitters_call()--> THERE
 *	THERE, AWAY --submitters_forget()--> LEAVING
 *	LEAVING --submitters_forget(), submitters_ended()--> FREE
 *		(all that was given out has ended)
 */
#include "coord/submitters.h"

#include "base/hash.h"
#include "base/mem.h"
#include "wire/message.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OUTPUT	((size_t)1 << 20)	/* bytes of results that wait;
						   with more, no turn */
#define MAX_BYTES	((size_t)16 << 20)	/* of lines of pending requests
						   of one submitter */

/* A request that has not ended. */
struct pending {
	struct request request;
	size_t bytes;		/* of its line */
	uint64_t left;		/* steps or epochs yet to be given out; of
				   another request 1, itself */
	uint64_t out;		/* of these: given out, and not ended */
	uint64_t undone;	/* steps given out that ended without being
				   done */
	bool queued;		/* see submitters_queued() */
	struct pending *next;
};

struct submitter {
	enum { FREE, THERE, AWAY, LEAVING } state;
	char name[SUBMITTER_NAME];
	uint64_t peer, wishes;
	uint64_t away_ms;	/* since when it is AWAY */
	bool awaited;		/* it has not answered a PING, */
	uint64_t asked_ms;	/* the first of which was sent then */
	bool closed;		/* no more requests are taken */
	bool failing;		/* its pending requests are to be given up */
	uint64_t accepted, hash;
	struct pending *front, **back;
	size_t count, bytes;
	uint64_t turn;		/* the number of its last turn */
	struct fail failure;	/* its status */
	char *owed;		/* the error that its next join repeats */
	struct text out;	/* lines whose receipt it has not confirmed; of
				   SUBMITTER_OWN: not in the journal yet */
	uint64_t first;		/* the number of the first of these lines */
	size_t sent;		/* bytes of out that were sent, */
	uint64_t sent_lines;	/* and the number of the last line sent */
	bool news;		/* its requests changed since it was sent
				   RESULTS */
	size_t kept;		/* bytes of out that are in the journal; of
				   SUBMITTER_OWN: all bytes of lines that are,
				   which come before out */
	bool changed;		/* the journal lacks a change of the rest */
};

struct submitters {
	bool open;
	struct submitter *of;	/* by number */
	size_t count, room;
	uint64_t turns;		/* so far */
	size_t holder;		/* of the data, or SUBMITTER_NONE */
	bool keeps;		/* nothing is sent before the journal has it */
	struct text ready;	/* SUBMITTER_OWN's lines that the journal has,
				   to be printed */
};

/* ---- who is there ---- */

static size_t
add(struct submitters *s)
{
	struct submitter *one;
	size_t i = 0;

	while (i < s->count && s->of[i].state != FREE)
		i++;
	if (i == s->count) {
		/* The array never moves: back points into its elements. */
		if (s->count == SUBMITTERS_MOST)
			return SUBMITTER_NONE;
		s->count++;
	}
	one = &s->of[i];
	*one = (struct submitter){ .state = THERE, .peer = SUBMITTER_AWAY,
				   .first = 1, .turn = s->turns };
	one->back = &one->front;
	return i;
}

struct submitters *
submitters_new(bool open, bool keep_going)
{
	struct submitters *s = mem_alloc(1, sizeof(*s));

	s->of = mem_alloc(open ? SUBMITTERS_MOST : 1, sizeof(*s->of));
	s->open = open;
	s->holder = SUBMITTER_NONE;
	add(s);
	s->of[SUBMITTER_OWN].wishes = SUBMITTER_DETACH |
		(keep_going ? SUBMITTER_KEEP_GOING : 0);
	return s;
}

static void
drop(struct submitter *one, struct pending **at)
{
	struct pending *p = *at;

	*at = p->next;
	if (one->back == &p->next)
		one->back = at;
	one->count--;
	one->bytes -= p->bytes;
	one->news = one->changed = true;
	request_release(&p->request);
	free(p);
}

static void
release(struct submitter *one)
{
	while (one->front)
		drop(one, &one->front);
	text_release(&one->out);
	free(one->owed);
	*one = (struct submitter){ .peer = SUBMITTER_AWAY };
}

void
submitters_free(struct submitters *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		release(&s->of[i]);
	text_release(&s->ready);
	free(s->of);
	free(s);
}

bool
submitters_open(const struct submitters *s)
{
	return s->open;
}

size_t
submitters_count(const struct submitters *s)
{
	return s->count;
}

size_t
submitters_at(const struct submitters *s, uint64_t peer)
{
	for (size_t i = 0; i < s->count && peer != SUBMITTER_AWAY; i++)
		if (s->of[i].state == THERE && s->of[i].peer == peer)
			return i;
	return SUBMITTER_NONE;
}

static size_t
find(const struct submitters *s, const char *name, size_t size)
{
	for (size_t i = 1; i < s->count; i++)
		if ((s->of[i].state == THERE || s->of[i].state == AWAY) &&
		    strlen(s->of[i].name) == size &&
		    memcmp(s->of[i].name, name, size) == 0)
			return i;
	return SUBMITTER_NONE;
}

bool
submitters_knows(const struct submitters *s, const char *name, size_t size)
{
	return find(s, name, size) != SUBMITTER_NONE;
}

size_t
submitters_call(struct submitters *s, const char *name, size_t size,
		uint64_t peer, uint64_t wishes, uint64_t *before,
		struct fail *f)
{
	struct submitter *one;
	size_t i;

	*before = SUBMITTER_AWAY;
	if (!message_is_name(name, size)) {
		fail(f, FAIL_PROTOCOL, "a submitter's name is a word of 1 to "
		     "%d characters", SUBMITTER_NAME - 1);
		return SUBMITTER_NONE;
	}
	i = find(s, name, size);
	if (i == SUBMITTER_NONE && (i = add(s)) == SUBMITTER_NONE) {
		fail(f, FAIL_AGAIN, "there are %d submitters already",
		     SUBMITTERS_MOST - 1);
		return SUBMITTER_NONE;
	}
	one = &s->of[i];
	if (one->peer != peer)
		*before = one->peer;
	memcpy(one->name, name, size);
	one->name[size] = '\0';
	one->state = THERE;
	one->awaited = false;
	one->peer = peer;
	one->wishes = wishes;
	one->sent = 0;
	one->sent_lines = one->first - 1;
	one->news = one->changed = true;
	return i;
}

uint64_t
submitters_peer(const struct submitters *s, size_t i)
{
	return s->of[i].state == THERE ? s->of[i].peer : SUBMITTER_AWAY;
}

const char *
submitters_name(const struct submitters *s, size_t i)
{
	return s->of[i].name;
}

void
submitters_away(struct submitters *s, size_t i, uint64_t now)
{
	if (s->of[i].state != THERE)
		return;
	s->of[i].state = AWAY;
	s->of[i].peer = SUBMITTER_AWAY;
	s->of[i].away_ms = now;
}

void
submitters_asked(struct submitters *s, size_t i, uint64_t now)
{
	if (!s->of[i].awaited)
		s->of[i].asked_ms = now;
	s->of[i].awaited = true;
}

void
submitters_heard(struct submitters *s, size_t i)
{
	s->of[i].awaited = false;
}

void
submitters_skip_pause(struct submitters *s, uint64_t now)
{
	for (size_t i = 1; i < s->count; i++)
		s->of[i].asked_ms = now;
}

size_t
submitters_silent(struct submitters *s, uint64_t now, uint64_t for_ms)
{
	for (size_t i = 1; i < s->count; i++) {
		struct submitter *one = &s->of[i];

		if (one->state != THERE || !one->awaited ||
		    now - one->asked_ms < for_ms)
			continue;
		one->awaited = false;
		return i;
	}
	return SUBMITTER_NONE;
}

size_t
submitters_gone(const struct submitters *s, uint64_t now, uint64_t for_ms,
		uint64_t forget_ms)
{
	for (size_t i = 1; i < s->count; i++) {
		const struct submitter *one = &s->of[i];
		const bool keeps = one->wishes & SUBMITTER_DETACH;

		if (one->state == AWAY && now - one->away_ms >=
		    (keeps ? forget_ms : for_ms))
			return i;
	}
	return SUBMITTER_NONE;
}

void
submitters_forget(struct submitters *s, size_t i)
{
	struct submitter *one = &s->of[i];

	one->state = LEAVING;
	one->peer = SUBMITTER_AWAY;
	for (struct pending **p = &one->front; *p;) {
		(*p)->left = (*p)->undone = 0;
		if ((*p)->out == 0)
			drop(one, p);
		else
			p = &(*p)->next;
	}
	if (one->count > 0)
		return;
	if (s->holder == i)
		s->holder = SUBMITTER_NONE;
	release(one);
}

/* ---- requests ---- */

uint64_t
submitters_accepted(const struct submitters *s, size_t i)
{
	return s->of[i].accepted;
}

uint64_t
submitters_hash(const struct submitters *s, size_t i)
{
	return s->of[i].hash;
}

void
submitters_accept(struct submitters *s, size_t i, const char *line,
		  size_t size)
{
	struct submitter *one = &s->of[i];

	one->accepted++;
	one->hash = hash_chain(one->hash, line, size);
	one->news = one->changed = true;
}

void
submitters_put(struct submitters *s, size_t i, struct request *r,
	       size_t bytes)
{
	struct submitter *one = &s->of[i];
	struct pending *p = mem_alloc(1, sizeof(*p));

	p->request = *r;
	p->request.owner = i;
	p->request.number = one->accepted;
	p->bytes = bytes;
	p->left = r->op == REQUEST_TRAIN ? r->steps :
		r->op == REQUEST_EPOCH ? r->epochs : 1;
	*r = (struct request){ 0 };
	*one->back = p;
	one->back = &p->next;
	one->count++;
	one->bytes += bytes;
	one->news = one->changed = true;
}

uint64_t
submitters_room(const struct submitters *s, size_t i)
{
	const struct submitter *one = &s->of[i];

	if (one->closed || one->count >= SUBMITTER_PENDING ||
	    one->bytes >= MAX_BYTES)
		return one->accepted;
	return one->accepted + SUBMITTER_PENDING - one->count;
}

void
submitters_close(struct submitters *s, size_t i)
{
	s->of[i].closed = s->of[i].news = s->of[i].changed = true;
}

void
submitters_reopen(struct submitters *s, size_t i)
{
	struct submitter *one = &s->of[i];

	one->closed = one->failure.kind != 0 &&
		!(one->wishes & SUBMITTER_KEEP_GOING);
	one->news = one->changed = true;
}

void
submitters_close_all(struct submitters *s)
{
	for (size_t i = 0; i < s->count; i++)
		submitters_close(s, i);
}

bool
submitters_closed(const struct submitters *s, size_t i)
{
	return s->of[i].closed;
}

size_t
submitters_pending(const struct submitters *s, size_t i)
{
	return s->of[i].count;
}

size_t
submitters_all_pending(const struct submitters *s)
{
	size_t all = 0;

	for (size_t i = 0; i < s->count; i++)
		all += s->of[i].count;
	return all;
}

/* ---- turns ---- */

static bool
reads_data(const struct pending *p)
{
	return p->request.op == REQUEST_TRAIN ||
		p->request.op == REQUEST_EPOCH;
}

static bool
is_barrier(const struct pending *p)
{
	return p->request.op != REQUEST_TRAIN && !p->request.background;
}

/* May this barrier begin?  It waits for all requests in front of it; but an
   epoch and a checkpoint do not wait for those in the background. */
static bool
may_begin(const struct submitter *one, const struct pending *p)
{
	const bool overtakes = p->request.op == REQUEST_EPOCH ||
		p->request.op == REQUEST_SAVE;
	const struct pending *front = one->front;

	while (overtakes && front->request.background && front->left == 0)
		front = front->next;
	return front == p;
}

/* The first request that can be given out now, or NULL.  Steps, and requests in
   the background, run beside each other; a barrier waits for all that is in
   front of it. */
static struct pending *
ready(const struct submitter *one)
{
	struct pending *p = one->front;

	while (p && p->left == 0 && !is_barrier(p))
		p = p->next;
	if (!p || p->left == 0)
		return NULL;
	if (!is_barrier(p))
		return p;
	return may_begin(one, p) && p->out == 0 ? p : NULL;
}

static bool
has_data(const struct submitter *one)
{
	const struct pending *p = one->front;

	while (p && !reads_data(p))
		p = p->next;
	return p != NULL;
}

/* The higher priority goes first; of equal ones the submitter whose last turn
   was longest ago. */
static bool
has_precedence(const struct submitter *a, const struct pending *p,
	       const struct submitter *b, const struct pending *q)
{
	if (p->request.priority != q->request.priority)
		return p->request.priority > q->request.priority;
	return a->turn < b->turn;
}

static void
take_turn(struct submitters *s, size_t who, struct pending *p, uint64_t steps,
	  struct turn *t)
{
	s->of[who].turn = ++s->turns;
	s->of[who].changed = true;
	if (reads_data(p))
		s->holder = who;
	t->request = &p->request;
	t->steps = p->request.op == REQUEST_TRAIN ? steps : 0;
	p->left -= t->steps > 0 ? t->steps : 1;
	p->out += t->steps > 0 ? t->steps : 1;
}

bool
submitters_turn(struct submitters *s, uint64_t most, bool data,
		struct turn *t)
{
	struct pending *first = NULL;
	size_t who = SUBMITTER_NONE;

	if (s->holder != SUBMITTER_NONE && !has_data(&s->of[s->holder]))
		s->holder = SUBMITTER_NONE;
	for (size_t i = 0; i < s->count; i++) {
		struct pending *p = s->of[i].state == FREE ? NULL :
			ready(&s->of[i]);

		if (!p || submitters_bytes(s, i) >= MAX_OUTPUT ||
		    s->of[i].failing || s->of[i].state == LEAVING ||
		    (data && reads_data(p) && s->holder != SUBMITTER_NONE &&
		     s->holder != i))
			continue;
		if (!first ||
		    has_precedence(&s->of[i], p, &s->of[who], first)) {
			first = p;
			who = i;
		}
	}
	if (!first)
		return false;
	take_turn(s, who, first, first->left < most ? first->left : most, t);
	return true;
}

static struct pending **
find_pending(struct submitter *one, uint64_t number)
{
	struct pending **p = &one->front;

	while (*p && (*p)->request.number != number)
		p = &(*p)->next;
	return p;
}

void
submitters_ended(struct submitters *s, size_t i, uint64_t number,
		 uint64_t steps, uint64_t undone)
{
	struct submitter *one = &s->of[i];
	struct pending **p = find_pending(one, number);

	if (!*p)
		return;
	(*p)->out -= steps > 0 ? steps : 1;
	(*p)->undone += one->state == LEAVING ? 0 : undone;
	/* A request with steps that were not done stays until
	   submitters_cancel() has reported them. */
	if ((*p)->out == 0 && (*p)->left == 0 && (*p)->undone == 0)
		drop(one, p);
	if (one->state == LEAVING && one->count == 0)
		submitters_forget(s, i);
}

/* Give up what is left of a request; true: the request is gone, false: a part
   of it is still under way. */
static bool
give_up(struct submitter *one, struct pending **at,
	void (*tell)(void *, const struct request *, uint64_t), void *to)
{
	struct pending *p = *at;

	tell(to, &p->request, p->undone + (p->request.op == REQUEST_TRAIN ?
	     p->left : 0));
	p->left = p->undone = 0;
	if (p->out > 0)
		return false;
	drop(one, at);
	return true;
}

uint64_t
submitters_cancel_end(const struct submitters *s, size_t i)
{
	bool behind = false;

	for (const struct pending *p = s->of[i].front; p; p = p->next) {
		/* An epoch, a barrier, of which a step failed is given up with
		   the requests before it. */
		if (behind || (is_barrier(p) && !p->undone))
			return p->request.number;
		behind = is_barrier(p);
	}
	return s->of[i].accepted + 1;
}

void
submitters_cancel(struct submitters *s, size_t i, uint64_t end,
		  void (*tell)(void *, const struct request *, uint64_t),
		  void *to)
{
	struct submitter *one = &s->of[i];
	struct pending **p = &one->front;

	while (*p && (*p)->request.number < end) {
		struct pending *was = *p;

		/* A failed step does not end requests in the background. */
		if (!(was->left > 0 || was->undone > 0) ||
		    (was->request.background && end < UINT64_MAX) ||
		    !give_up(one, p, tell, to))
			p = &was->next;
	}
	one->news = true;
}

size_t
submitters_cancel_id(struct submitters *s, size_t i, const char *id,
		     void (*tell)(void *, const struct request *, uint64_t),
		     void *to)
{
	struct submitter *one = &s->of[i];
	struct pending **p = &one->front;
	size_t count = 0;

	while (*p) {
		struct pending *was = *p;

		const bool its = was->left > 0 && was->request.id &&
			request_is_id(was->request.id, id);

		count += its;
		if (!its || !give_up(one, p, tell, to))
			p = &was->next;
	}
	return count;
}

/* ---- errors ---- */

void
submitters_note(struct submitters *s, size_t i, const struct fail *why)
{
	if (s->of[i].failure.kind == 0)
		s->of[i].failure = *why;
	s->of[i].news = s->of[i].changed = true;
}

void
submitters_fail(struct submitters *s, size_t i, const struct fail *why)
{
	submitters_note(s, i, why);
	if (!(s->of[i].wishes & SUBMITTER_KEEP_GOING))
		s->of[i].failing = s->of[i].closed = true;
}

const struct fail *
submitters_failure(const struct submitters *s, size_t i)
{
	return &s->of[i].failure;
}

size_t
submitters_failed(struct submitters *s, bool *all)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->of[i].failing) {
			*all = !(s->of[i].wishes & SUBMITTER_KEEP_GOING);
			s->of[i].failing = false;
			s->of[i].changed = true;
			return i;
		}
	return SUBMITTER_NONE;
}

void
submitters_owe(struct submitters *s, size_t i, const char *why)
{
	free(s->of[i].owed);
	s->of[i].owed = mem_text(why);
	s->of[i].failing = s->of[i].changed = true;
}

const char *
submitters_owed(const struct submitters *s, size_t i)
{
	return s->of[i].owed;
}

void
submitters_paid(struct submitters *s, size_t i)
{
	free(s->of[i].owed);
	s->of[i].owed = NULL;
	s->of[i].changed = true;
}

/* ---- results ---- */

struct text *
submitters_output(const struct submitters *s, size_t i)
{
	return &s->of[i].out;
}

struct text *
submitters_ready(struct submitters *s)
{
	return s->keeps ? &s->ready : &s->of[SUBMITTER_OWN].out;
}

size_t
submitters_bytes(const struct submitters *s, size_t i)
{
	return s->of[i].out.size + (i == SUBMITTER_OWN ? s->ready.size : 0);
}

/* How many bytes of the lines may be sent. */
static size_t
sendable_bytes(const struct submitters *s, size_t i)
{
	return s->keeps ? s->of[i].kept : s->of[i].out.size;
}

const char *
submitters_unsent(const struct submitters *s, size_t i, size_t *size,
		  uint64_t *first)
{
	const struct submitter *one = &s->of[i];

	*size = sendable_bytes(s, i) - one->sent;
	*first = one->sent_lines + 1;
	return *size > 0 ? one->out.data + one->sent : NULL;
}

static uint64_t
lines_of(const char *bytes, size_t size)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += bytes[i] == '\n';
	return lines;
}

void
submitters_sent(struct submitters *s, size_t i, size_t size)
{
	struct submitter *one = &s->of[i];

	if (size > 0)
		one->sent_lines += lines_of(one->out.data + one->sent, size);
	one->sent += size;
	one->news = false;
}

bool
submitters_news(const struct submitters *s, size_t i)
{
	return s->of[i].news || sendable_bytes(s, i) > s->of[i].sent;
}

static void
forget_bytes(struct submitter *one, size_t size)
{
	memmove(one->out.data, one->out.data + size, one->out.size - size + 1);
	one->out.size -= size;
	one->sent = one->sent > size ? one->sent - size : 0;
	one->kept = one->kept > size ? one->kept - size : 0;
	one->changed = true;
}

/* Forget the lines up to this number, which all are in out. */
static void
forget_lines(struct submitter *one, uint64_t lines)
{
	size_t size = 0;

	for (; one->first <= lines; one->first++)
		size += (size_t)((char *)memchr(one->out.data + size, '\n',
						one->out.size - size) + 1 -
				 (one->out.data + size));
	if (size > 0)
		forget_bytes(one, size);
	if (one->sent_lines + 1 < one->first)
		one->sent_lines = one->first - 1;
}

int
submitters_received(struct submitters *s, size_t i, uint64_t lines,
		    struct fail *f)
{
	struct submitter *one = &s->of[i];
	uint64_t all = one->sent_lines;

	if (lines + 1 < one->first)
		return fail(f, FAIL_DATA, "it lacks %llu results that it had "
			    "received before",
			    (unsigned long long)(one->first - 1 - lines));
	if (lines > all)	/* it has connected again, and received them on
				   the connection before */
		all = one->first - 1 + lines_of(one->out.data,
						sendable_bytes(s, i));
	if (lines > all)
		return fail(f, FAIL_DATA, "it has %llu results, but only %llu "
			    "were sent to it", (unsigned long long)lines,
			    (unsigned long long)all);
	forget_lines(one, lines);
	return 0;
}

bool
submitters_done(const struct submitters *s, size_t i)
{
	return s->of[i].count == 0 && s->of[i].out.size == 0 &&
		!s->of[i].news;
}

/* ---- in the journal ---- */

#define IS_CLOSED	1	/* bits of a number */
#define IS_FAILING	2
#define IS_OWED		4

void
submitters_keep(struct submitters *s)
{
	s->keeps = true;
}

bool
submitters_unkept(const struct submitters *s, bool *changed)
{
	bool any = s->of[SUBMITTER_OWN].out.size > 0;

	*changed = false;
	for (size_t i = 0; i < s->count; i++) {
		*changed = *changed || s->of[i].changed;
		any = any || (i != SUBMITTER_OWN &&
			      s->of[i].out.size > s->of[i].kept);
	}
	return any;
}

bool
submitters_changed(const struct submitters *s, size_t i)
{
	return s->of[i].state != FREE &&
		(s->of[i].changed || s->of[i].out.size >
		 (i == SUBMITTER_OWN ? 0 : s->of[i].kept));
}

bool
submitters_leaving(const struct submitters *s, size_t i)
{
	return s->of[i].state == LEAVING;
}

bool
submitters_used(const struct submitters *s, size_t i)
{
	return i < s->count && s->of[i].state != FREE;
}

void
submitters_kept(struct submitters *s)
{
	struct submitter *own = &s->of[SUBMITTER_OWN];

	for (size_t i = 1; i < s->count; i++) {
		s->of[i].kept = s->of[i].out.size;
		s->of[i].changed = false;
	}
	text_add_bytes(&s->ready, own->out.data, own->out.size);
	own->kept += own->out.size;
	own->changed = false;
	text_reset(&own->out);
}

uint64_t
submitters_printed(const struct submitters *s)
{
	return s->of[SUBMITTER_OWN].kept - s->ready.size;
}

void
submitters_write_turns(const struct submitters *s, struct pack *out)
{
	pack_uint(out, s->turns);
	pack_uint(out, s->holder == SUBMITTER_NONE ? WIRE_NONE : s->holder);
}

void
submitters_read_turns(struct submitters *s, struct unpack *in)
{
	const uint64_t turns = unpack_uint(in), holder = unpack_uint(in);

	s->turns = turns;
	s->holder = holder < s->count ? (size_t)holder : SUBMITTER_NONE;
}

static void
write_lines(const struct submitters *s, size_t i, bool whole,
	    struct pack *out)
{
	const struct submitter *one = &s->of[i];
	const bool own = i == SUBMITTER_OWN;
	const size_t from = own || whole ? 0 : one->kept;
	const struct text *lines = own && whole ? &s->ready : &one->out;
	const size_t size = lines->size - from;

	pack_uint(out, !own ? one->first : whole ? submitters_printed(s) :
		  one->kept);
	pack_blob(out, size > 0 ? lines->data + from : "", size);
}

void
submitters_write(const struct submitters *s, size_t i, bool whole,
		 struct pack *out)
{
	const struct submitter *one = &s->of[i];

	pack_uint(out, one->wishes);
	pack_uint(out, one->accepted);
	pack_uint(out, one->hash);
	pack_uint(out, one->turn);
	pack_uint(out, (one->closed ? IS_CLOSED : 0) |
		  (one->failing ? IS_FAILING : 0) |
		  (one->owed ? IS_OWED : 0));
	pack_uint(out, (uint64_t)one->failure.kind);
	pack_text(out, one->failure.text);
	pack_text(out, one->owed ? one->owed : "");
	write_lines(s, i, whole, out);
}

/* Read lines of a submitter: first is the number of the first line; of
   SUBMITTER_OWN, the bytes of all lines before.  -1: they do not continue the
   lines that were read before. */
static int
read_lines(struct submitter *one, bool own, uint64_t first,
	   const char *lines, size_t size)
{
	const uint64_t have = own ? one->kept + one->out.size :
		one->first + lines_of(one->out.data, one->out.size);

	if ((size > 0 && lines[size - 1] != '\n') || (!own && first == 0))
		return -1;
	if (one->out.size == 0 && own)
		one->kept = (size_t)first;
	else if (one->out.size == 0)
		one->first = first;
	else if (own ? first != have : first < one->first || first > have)
		return -1;
	if (!own)
		forget_lines(one, first - 1);
	text_add_bytes(&one->out, lines, size);
	if (own)
		return 0;
	one->kept = one->out.size;
	one->sent = 0;
	one->sent_lines = one->first - 1;
	return 0;
}

int
submitters_read(struct submitters *s, size_t i, struct unpack *in)
{
	struct submitter *one = &s->of[i];
	uint64_t flags, kind, first;
	const char *owed, *lines;
	size_t size, length;

	one->wishes = unpack_uint(in);
	one->accepted = unpack_uint(in);
	one->hash = unpack_uint(in);
	one->turn = unpack_uint(in);
	flags = unpack_uint(in);
	one->closed = flags & IS_CLOSED;
	one->failing = flags & IS_FAILING;
	kind = unpack_uint(in);
	one->failure.kind = kind ? message_status(kind) : 0;
	unpack_text(in, one->failure.text, sizeof(one->failure.text));
	owed = unpack_blob(in, &length);
	first = unpack_uint(in);
	lines = unpack_blob(in, &size);
	if (in->bad)
		return -1;
	free(one->owed);
	one->owed = flags & IS_OWED ? mem_text_n(owed, length) : NULL;
	return read_lines(one, i == SUBMITTER_OWN, first, lines, size);
}

void
submitters_read_printed(struct submitters *s, uint64_t bytes)
{
	struct submitter *own = &s->of[SUBMITTER_OWN];
	const size_t size = bytes < own->kept ? 0 : bytes - own->kept <
		own->out.size ? (size_t)bytes - own->kept : own->out.size;
	const size_t kept = own->kept + size;

	if (size > 0)
		forget_bytes(own, size);
	own->kept = kept;
}

int
submitters_restore(struct submitters *s, size_t i, const char *name,
		   size_t size, uint64_t now)
{
	struct submitter *one;

	if (i == SUBMITTER_OWN)
		return size > 0 ? -1 : 0;
	if (i >= SUBMITTERS_MOST || !message_is_name(name, size) || !s->open)
		return -1;
	one = &s->of[i];
	if (i < s->count && one->state != FREE)
		return one->state != LEAVING && strlen(one->name) == size &&
			memcmp(one->name, name, size) == 0 ? 0 : -1;
	for (; s->count <= i; s->count++)
		release(&s->of[s->count]);
	*one = (struct submitter){ .state = AWAY, .peer = SUBMITTER_AWAY,
				   .away_ms = now, .first = 1,
				   .turn = s->turns };
	memcpy(one->name, name, size);
	one->back = &one->front;
	return 0;
}

static struct pending *
find_left(struct submitters *s, size_t i, uint64_t number)
{
	return submitters_used(s, i) ? *find_pending(&s->of[i], number) :
		NULL;
}

int
submitters_read_turn(struct submitters *s, size_t i, uint64_t number,
		     uint64_t steps, struct turn *t)
{
	struct pending *p = find_left(s, i, number);

	if (!p || p->left == 0 || steps > p->left ||
	    (steps > 0) != (p->request.op == REQUEST_TRAIN))
		return -1;
	take_turn(s, i, p, steps, t);
	return 0;
}

void
submitters_queued(struct submitters *s, size_t i, uint64_t number)
{
	struct pending *p = find_left(s, i, number);

	if (p)
		p->queued = true;
}

void
submitters_each_left(struct submitters *s, size_t i,
		     void (*tell)(void *, const struct request *,
				  uint64_t left, uint64_t undone), void *to)
{
	for (struct pending *p = s->of[i].front; p; p = p->next) {
		if (p->queued || p->left > 0 || p->undone > 0)
			tell(to, &p->request, p->left, p->undone);
		p->queued = false;
	}
}

void
submitters_read_left(struct submitters *s, size_t i, struct request *r,
		     uint64_t number, size_t bytes, uint64_t left,
		     uint64_t undone)
{
	struct submitter *one = &s->of[i];
	struct pending **back = one->back;

	one->accepted = number;
	submitters_put(s, i, r, bytes);
	(*back)->left = left;
	(*back)->undone = undone;
}

int
submitters_read_part(struct submitters *s, size_t i, uint64_t number,
		     uint64_t steps, struct turn *t)
{
	struct pending *p = find_left(s, i, number);

	if (!p || (steps > 0) != (p->request.op == REQUEST_TRAIN))
		return -1;
	p->out += steps > 0 ? steps : 1;
	*t = (struct turn){ &p->request, steps };
	return 0;
}

/* ---- what always holds ---- */

static const char *
check_one(const struct submitter *one, bool keeps)
{
	size_t count = 0;

	for (const struct pending *p = one->front; p; p = p->next, count++) {
		if (p->left + p->out + p->undone == 0)
			return "submitters 2: a request that has ended is not "
				"pending";
		if (is_barrier(p) && p->out > 0 && !may_begin(one, p))
			return "submitters 3: a waiting request waits for all "
				"earlier ones of its submitter";
		if (p->next && p->next->request.number <= p->request.number)
			return "submitters 4: requests are in the order of "
				"their numbers";
	}
	if (count != one->count)
		return "submitters 1: the count of requests is right";
	if (one->sent > one->out.size)
		return "submitters 5: a result that was sent is kept until it "
			"was received";
	if (keeps && one->sent > one->kept)
		return "submitters 8: a result that was sent is in the "
			"journal";
	if ((one->peer != SUBMITTER_AWAY) > (one->state == THERE))
		return "submitters 6: no submitter is at a peer that is gone";
	return NULL;
}

const char *
submitters_check(const struct submitters *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const char *violation = check_one(&s->of[i], s->keeps);

		if (violation)
			return violation;
		for (size_t k = 1; k < i; k++)
			if (s->of[i].state == THERE &&
			    s->of[k].state == THERE &&
			    s->of[i].peer == s->of[k].peer)
				return "submitters 7: a peer is one submitter "
					"at most";
	}
	return NULL;
}
