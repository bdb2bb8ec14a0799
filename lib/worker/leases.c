#include "worker/leases.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEASES	256
#define MAX_PACK	65536	/* steps of a lease */
#define MAX_RESULTS	((size_t)1 << 20)	/* bytes, in a DONE of
						   several results */

/*
 * The states of a lease.  It leaves the ring when it and all leases before it
 * are over.
 *
 *	RUNS --leases_failed(), leases_cancel()--> CANCELLED
 *	RUNS --leases_end(), all steps begun--> over, when these have ended
 *	CANCELLED --leases_dropped()--> over, when no step is in flight
 */
struct held {
	struct lease lease;	/* first member: see held() */
	uint64_t next;		/* the steps below it have begun, */
	size_t in_flight;	/* and that many of them have not ended */
	bool cancelled;
	size_t count;		/* results that are not reported yet */
	struct pack results;
	struct metric_state scores;	/* of these results */
};

struct leases {
	struct outbox *outbox;
	uint64_t peer, term;
	struct held held[MAX_LEASES];	/* a ring */
	size_t first, count;
	bool more;			/* more steps are announced, of: */
	uint64_t more_batch, more_pass;
	bool owes_ok;			/* to a CANCEL */
};

static struct held *
held_at(const struct leases *ls, size_t i)
{
	struct leases *of = (struct leases *)(uintptr_t)ls;

	return &of->held[(ls->first + i) % MAX_LEASES];
}

static const struct held *
held(const struct lease *l)
{
	return (const struct held *)l;
}

static struct held *
held_of(struct leases *ls, const struct lease *l)
{
	return &ls->held[held(l) - ls->held];
}

static void
send_message(const struct leases *ls, const struct message *m)
{
	outbox_send(ls->outbox, ls->peer, m);
}

struct leases *
leases_new(struct outbox *outbox, uint64_t peer)
{
	struct leases *ls = mem_alloc(1, sizeof(*ls));

	ls->outbox = outbox;
	ls->peer = peer;
	return ls;
}

void
leases_free(struct leases *ls)
{
	if (!ls)
		return;
	for (size_t i = 0; i < MAX_LEASES; i++) {
		struct held *h = &ls->held[i];

		pack_release(&h->results);
		metric_release(&h->scores);
		text_release(&h->lease.blocks);
		text_release(&h->lease.after);
		text_release(&h->lease.step);
		text_release(&h->lease.args);
	}
	free(ls);
}

static void
forget_results(struct held *h)
{
	h->count = 0;
	pack_reset(&h->results);
	metric_reset(&h->scores);
}

void
leases_begin_term(struct leases *ls, uint64_t term)
{
	ls->term = term;
	ls->count = 0;
	ls->more = ls->owes_ok = false;
}

/* ---- what is reported ---- */

static void
report_done(struct leases *ls, struct held *h)
{
	struct message m = { .kind = MESSAGE_DONE, .request = h->lease.id };

	m.done.term = ls->term;
	m.done.count = h->count;
	m.frame[m.frames++] = (struct frame){ h->results.data,
					      h->results.size, NULL };
	if (h->scores.count > 0) {
		m.frame[m.frames++] = (struct frame){
			h->scores.score, h->scores.count * sizeof(float),
			NULL };
		m.frame[m.frames++] = (struct frame){ h->scores.positive,
						      h->scores.count, NULL };
	}
	send_message(ls, &m);
	forget_results(h);
}

/* If no step of the lease is in flight, report it.  A replica is reported even
   without a result: its round waits for it. */
static void
end_lease(struct leases *ls, struct held *h)
{
	if (h->in_flight == 0 && (h->count > 0 || h->lease.replicas > 0))
		report_done(ls, h);
}

/*
 * Send the OK when all steps in flight of cancelled leases have ended and are
 * reported: then the coordinator knows which steps nobody will push any more.
 */
static void
report_cancelled(struct leases *ls)
{
	const struct message ok = { .kind = MESSAGE_OK };

	if (!ls->owes_ok)
		return;
	for (size_t i = 0; i < ls->count; i++)
		if (held_at(ls, i)->cancelled && held_at(ls, i)->in_flight > 0)
			return;
	ls->owes_ok = false;
	send_message(ls, &ok);
}

void
leases_settle(struct leases *ls)
{
	while (ls->count > 0) {
		const struct held *h = held_at(ls, 0);

		if (h->in_flight > 0 || (lease_has_more(&h->lease) &&
					 !h->cancelled))
			break;
		ls->first = (ls->first + 1) % MAX_LEASES;
		ls->count--;
	}
	report_cancelled(ls);
}

/* ---- what is given and taken back ---- */

/* Copy the message's frame i, if i is below count. */
static void
keep_frame(struct text *to, const struct message *m, size_t i, size_t count)
{
	text_reset(to);
	if (i < count)
		text_add_bytes(to, m->frame[i].data, m->frame[i].size);
}

static void
keep_text(struct text *to, struct unpack *u)
{
	size_t size;
	const void *bytes = unpack_blob(u, &size);

	text_reset(to);
	text_add_bytes(to, u->bad ? "" : bytes, u->bad ? 0 : size);
	u->bad = u->bad || (size > 0 && memchr(to->data, '\0', size));
}

/* Copy the call of a program, which is the last frame if there is one.  False:
   it is malformed. */
static bool
keep_call(struct lease *l, const struct message *m)
{
	const struct frame *frame = m->lease.call && m->frames > 0 ?
		&m->frame[m->frames - 1] : NULL;
	struct unpack u = unpack_from(frame ? frame->data : NULL,
				      frame ? frame->size : 0);

	text_reset(&l->step);
	text_reset(&l->args);
	if (!m->lease.call)
		return true;
	u.bad = unpack_array(&u) != 2 || u.bad;
	keep_text(&l->step, &u);
	keep_text(&l->args, &u);
	return unpack_ok(&u);
}

bool
leases_take(struct leases *ls, const struct message *m, bool declined)
{
	struct held *h = held_at(ls, ls->count);
	const size_t frames = m->frames - (m->frames > 0 && m->lease.call);
	struct lease *l = &h->lease;

	if (ls->count == MAX_LEASES || m->lease.count == 0 ||
	    m->lease.count > MAX_PACK || m->lease.batch == 0 ||
	    m->lease.first > UINT64_MAX - m->lease.count ||
	    m->lease.call > m->frames || !keep_call(l, m))
		return false;
	l->id = m->request;
	l->first = h->next = m->lease.first;
	l->end = m->lease.first + m->lease.count;
	l->attempt = m->lease.attempt;
	l->batch = ls->more_batch = m->lease.batch;
	l->learning_rate = message_float(m->lease.rate);
	l->pass = ls->more_pass = m->lease.pass;
	ls->more = m->lease.more != 0;
	l->replica = message_replica(m->lease.slot);
	l->level = (unsigned)message_level(m->lease.slot);
	l->replicas = m->lease.slots;
	l->push.known = false;
	l->server = m->lease.server;
	keep_frame(&l->blocks, m, 0, frames);
	keep_frame(&l->after, m, 1, frames);
	h->in_flight = 0;
	h->cancelled = declined;
	forget_results(h);
	ls->count++;
	if (declined && l->replicas > 0)
		report_done(ls, h);	/* a round waits for it */
	return true;
}

bool
leases_take_residual(struct leases *ls, const struct message *m)
{
	if (m->residual.how >= PUSH_HOWS)
		return false;
	for (size_t i = 0; i < ls->count; i++) {
		struct lease *l = &held_at(ls, i)->lease;

		if (l->id != m->request)
			continue;
		l->push.known = true;
		l->push.how = (enum push_how)m->residual.how;
		l->push.step = m->residual.step;
		l->push.attempt = m->residual.attempt;
	}
	return true;
}

void
leases_cancel(struct leases *ls, uint64_t first, uint64_t count, uint64_t id)
{
	for (size_t i = 0; i < ls->count; i++) {
		struct held *h = held_at(ls, i);
		const struct lease *l = &h->lease;

		if (l->end <= first ||
		    (l->first > first && l->first - first >= count) ||
		    (id != 0 && l->id != id) || h->cancelled)
			continue;
		h->cancelled = true;
		end_lease(ls, h);
	}
}

void
leases_send_cancelled(struct leases *ls)
{
	ls->owes_ok = true;
}

void
leases_revoke(struct leases *ls)
{
	leases_cancel(ls, 0, UINT64_MAX, 0);
	ls->more = ls->owes_ok = false;
}

void
leases_end(struct leases *ls)
{
	for (size_t i = 0; i < ls->count; i++) {
		struct held *h = held_at(ls, i);

		h->lease.end = h->next;
		if (!h->cancelled)
			end_lease(ls, h);
	}
}

/* ---- which step comes next ---- */

bool
lease_is_cancelled(const struct lease *l)
{
	return held(l)->cancelled;
}

bool
lease_has_more(const struct lease *l)
{
	return held(l)->next < l->end;
}

bool
lease_has_begun(const struct lease *l, uint64_t step)
{
	return step >= l->first && step < held(l)->next;
}

const struct lease *
leases_next(const struct leases *ls, uint64_t *step)
{
	const struct held *next = NULL;

	for (size_t i = 0; i < ls->count; i++) {
		const struct held *h = held_at(ls, i);

		if (!lease_has_more(&h->lease) || h->cancelled)
			continue;
		if (!next || (h->lease.replicas > 0 && h->next < next->next))
			next = h;
	}
	if (next)
		*step = next->next;
	return next ? &next->lease : NULL;
}

const struct lease *
leases_find(const struct leases *ls, uint64_t id)
{
	for (size_t i = 0; i < ls->count; i++) {
		const struct held *h = held_at(ls, i);

		if (h->lease.id == id && !h->cancelled)
			return &h->lease;
	}
	return NULL;
}

const struct lease *
leases_behind(const struct leases *ls, uint64_t behind)
{
	for (size_t i = 0; i < ls->count; i++) {
		const struct held *h = held_at(ls, i);
		const uint64_t left = h->lease.end - h->next;

		if (h->cancelled)
			continue;
		if (left > behind)
			return &h->lease;
		behind -= left;
	}
	return NULL;
}

bool
leases_announced(const struct leases *ls, uint64_t *batch, uint64_t *pass)
{
	*batch = ls->more_batch;
	*pass = ls->more_pass;
	return ls->more;
}

/* ---- what becomes of a step ---- */

uint64_t
leases_begin(struct leases *ls, const struct lease *l)
{
	struct held *h = held_of(ls, l);

	assert(lease_has_more(l) && !h->cancelled);
	h->in_flight++;
	return h->next++;
}

void
leases_done(struct leases *ls, const struct lease *l, struct result *r,
	   const struct metric *metric, const struct metric_state *state,
	   size_t metrics)
{
	struct held *h = held_of(ls, l);

	r->attempt = l->attempt;
	/* The scores of one step that a frame cannot hold are left out; */
	if (r->voided || r->scores > RESULT_SCORES)
		r->scores = 0;
	/* the scores of several steps must fit into one frame, too. */
	if (h->scores.count + r->scores > RESULT_SCORES ||
	    h->results.size + r->json.size > MAX_RESULTS)
		report_done(ls, h);
	result_write(&h->results, r);
	for (size_t i = 0; i < metrics && r->scores > 0; i++)
		if (state[i].count > 0) {
			metric_merge(&metric[i], &h->scores, &state[i]);
			break;
		}
	h->count++;
	h->in_flight--;
	if (h->cancelled || (!lease_has_more(l) && h->in_flight == 0))
		report_done(ls, h);
}

void
leases_failed(struct leases *ls, const struct lease *l, uint64_t step,
	     const struct fail *why)
{
	struct message m = { .kind = MESSAGE_FAILED, .request = l->id };
	struct held *h = held_of(ls, l);

	if (h->count > 0)
		report_done(ls, h);	/* the steps done before come first */
	m.failed.term = ls->term;
	m.failed.step = step;
	m.failed.status = why->kind;
	m.blob = (struct frame){ why->text, strlen(why->text), NULL };
	send_message(ls, &m);
	h->in_flight--;
	h->cancelled = true;
}

void
leases_dropped(struct leases *ls, const struct lease *l)
{
	struct held *h = held_of(ls, l);

	h->in_flight--;
	end_lease(ls, h);
}

/* ---- the coordinator's data ---- */

/* Append the block if it is not there yet; returns the new count. */
static size_t
add_block(struct frame *frame, size_t count, const struct frame *block)
{
	for (size_t i = 0; i < count; i++)
		if (frame[i].size == block->size &&
		    memcmp(frame[i].data, block->data, block->size) == 0)
			return count;
	frame[count] = *block;
	return count + 1;
}

/* Read the next slice of a lease's blocks; false: there are no more. */
static bool
next_slice(struct unpack *u, struct lease_slice *s)
{
	*s = (struct lease_slice){ 0 };
	if (unpack_left(u) == 0)
		return false;
	s->dataset = unpack_uint(u);
	s->from = unpack_uint(u);
	s->count = unpack_uint(u);
	s->block.data = unpack_blob(u, &s->block.size);
	return !u->bad;
}

static bool
next_after(struct unpack *u, struct lease_slice *s)
{
	*s = (struct lease_slice){ 0 };
	if (unpack_left(u) == 0)
		return false;
	s->dataset = unpack_uint(u);
	s->block.data = unpack_blob(u, &s->block.size);
	return !u->bad;
}

bool
lease_slice(const struct lease *l, size_t k, struct lease_slice *slice)
{
	struct unpack u = unpack_from(l->blocks.data, l->blocks.size);
	bool there;

	do
		there = next_slice(&u, slice);
	while (there && k-- > 0);
	return there;
}

size_t
leases_blocks(const struct leases *ls, uint64_t dataset, struct frame *frame,
	      size_t most)
{
	const struct lease *last = NULL;
	struct lease_slice s;
	struct unpack u;
	size_t count = 0;

	for (size_t i = 0; i < ls->count && count < most; i++) {
		const struct lease *l = &held_at(ls, i)->lease;

		if (!lease_has_more(l) || lease_is_cancelled(l))
			continue;
		u = unpack_from(l->blocks.data, l->blocks.size);
		while (count < most && next_slice(&u, &s))
			if (s.dataset == dataset)
				count = add_block(frame, count, &s.block);
		last = l;
	}
	u = unpack_from(last ? last->after.data : NULL,
			last ? last->after.size : 0);
	while (count < most && next_after(&u, &s))
		if (s.dataset == dataset)
			count = add_block(frame, count, &s.block);
	return count;
}

/* ---- what always holds ---- */

const char *
leases_check(const struct leases *ls)
{
	if (ls->count > MAX_LEASES)
		return "worker 1: the ring has room for all leases";
	for (size_t i = 0; i < ls->count; i++) {
		const struct held *h = held_at(ls, i);
		const uint64_t begun = h->next - h->lease.first;

		if (h->next < h->lease.first || h->next > h->lease.end)
			return "worker 2: steps of a lease begin in order";
		if (h->count > begun || h->in_flight > begun - h->count)
			return "worker 3: only a step that was begun has a "
				"result";
	}
	return NULL;
}

bool
leases_have(const struct leases *ls, const struct lease *l)
{
	for (size_t i = 0; i < ls->count; i++)
		if (&held_at(ls, i)->lease == l)
			return true;
	return false;
}
