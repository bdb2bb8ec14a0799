#include "relay/forwarder.h"

#include "base/mem.h"
#include "base/peers.h"
#include "relay/letter.h"
#include "relay/node_sums.h"
#include "wire/bundle.h"

#include <stdlib.h>
#include <string.h>

#define SMALL		((size_t)16 << 10)	/* bytes: a message is bundled
						   up to this size, */
#define BUNDLE		((size_t)256 << 10)	/* a bundle is no larger, */
#define LARGE		((size_t)64 << 10)	/* and values from this size on
						   are copied once for all
						   their receivers */

/*
 * A worker's request, until it is answered.  The states of one that shares a
 * pull:
 *
 *	WAITING --start_pull()--> RIDING	its push, if it has one, is sent
 *	RIDING --end_pull(), with values--> answered
 *	RIDING --end_pull(), without values--> WAITING	as a pull: its push, if
 *						it had one, has been answered
 *	RIDING --end_pull()--> MISSED		its push is unanswered: the
 *						values came too early for it
 *	MISSED --take_outcome()--> WAITING	as a pull
 */
struct worker_request {
	uint64_t peer;		/* 0: the worker has left */
	uint64_t request;	/* the worker's number */
	struct letter *letter;	/* the push, until it is sent; else NULL */
	bool pushes, pushed;	/* pushed: its push has been answered, */
	struct message outcome;	/* with this */
	bool missed;		/* see above */
	struct worker_request *next;
};

/* Values that several requests share: one pull at a time asks for them. */
struct shared_pull {
	uint64_t part, cut, after;
	uint64_t coded;		/* as in a PULL; it may be of another step, */
	uint64_t coding;	/* with the same codecs: see coding_of() */
	uint64_t have;		/* as in a PULL */
	struct frame keys;	/* our copy */
	bool settled;		/* the values are the same at any time */
	/* Requests in the order in which they came, those for the pull in
	   flight, and those whose pushes were unanswered when it ended. */
	struct worker_request *waiting, *riding, *missed;
	bool in_flight;		/* a pull is under way */
	struct letter *kept;	/* values of a round, for later requests, */
	bool final;		/* and these are those of its end */
	bool due;		/* in the list of forwarder_flush() */
	struct shared_pull *next, *next_due;
};

/* A request of the relay to a server. */
struct server_request {
	uint64_t request;	/* our number */
	struct worker_request *of;		/* whose push it is, or all
					   those of a sum, or whose pull if
					   nobody shares it; NULL: a pull for
					   those that ride */
	struct shared_pull *shared_pull;	/* NULL: none */
	bool pulls;		/* its answer has the values of that */
};

/* The last pulls of one worker, whose keys a push may refer to. */
#define PULLED		2	/* of a part */
struct pulled {
	uint64_t request, ours;	/* the worker's number and ours; 0: none */
};

/* A worker. */
struct pull_history {
	uint64_t peer;
	struct pulled (*pulled)[PULLED];	/* of each part; NULL: none */
};

struct forwarder {
	const struct plan *plan;
	struct outbox *outbox;
	struct forwarder_part {
		bool rounds;	/* its variables are updated in rounds */
		struct shared_pull *shared_pull;
	} *part;
	struct letter **waiting;	/* for each server: a list in order, */
	struct letter ***end;	/* and its end */
	struct node_sums *sums;
	struct peers requests;	/* by our request numbers */
	struct peers histories;
	struct shared_pull *due;	/* a list, by next_due */
	uint64_t request;	/* our last number */
	struct pack bundle;
	struct forwarder_counts counts;
};

struct forwarder *
forwarder_new(const struct plan *plan, const struct model *model,
	      struct outbox *outbox)
{
	struct forwarder *t = mem_alloc(1, sizeof(*t));
	size_t count;
	const struct variable *variable = model_variables(model, &count);

	t->plan = plan;
	t->outbox = outbox;
	t->part = mem_alloc(plan->parts, sizeof(*t->part));
	for (size_t i = 0; i < plan->parts; i++) {
		const struct part *part = &plan->part[i];
		const struct piece *piece = &plan->piece[part->first];

		t->part[i].rounds = !variable[piece->variable].async;
	}
	t->sums = node_sums_new(plan);
	t->waiting = mem_alloc(plan->servers, sizeof(*t->waiting));
	t->end = mem_alloc(plan->servers, sizeof(*t->end));
	for (size_t i = 0; i < plan->servers; i++)
		t->end[i] = &t->waiting[i];
	return t;
}

/* ---- workers and their requests ---- */

static struct pull_history *
pull_history_of(struct forwarder *t, uint64_t peer)
{
	struct pull_history *p = peers_find(&t->histories, peer);

	if (p)
		return p;
	p = mem_alloc(1, sizeof(*p));
	p->peer = peer;
	peers_set(&t->histories, peer, p);
	return p;
}

static void
pull_history_free(struct pull_history *p)
{
	free(p->pulled);
	free(p);
}

static struct worker_request *
worker_request_new(uint64_t peer, const struct message *m)
{
	struct worker_request *a = mem_alloc(1, sizeof(*a));

	a->peer = peer;
	a->request = m->request;
	a->pushes = m->kind != MESSAGE_PULL;
	return a;
}

static void
worker_request_free(struct worker_request *a)
{
	if (a->letter)
		letter_drop(a->letter);
	free(a);
}

static void
free_all(struct worker_request *list)
{
	struct worker_request *next;

	for (; list; list = next) {
		next = list->next;
		worker_request_free(list);
	}
}

static void
append(struct worker_request **list, struct worker_request *a)
{
	while (*list)
		list = &(*list)->next;
	a->next = NULL;
	*list = a;
}

/* Put the second list behind the first one. */
static struct worker_request *
concat_requests(struct worker_request *first, struct worker_request *second)
{
	struct worker_request **end = &first;

	while (*end)
		end = &(*end)->next;
	*end = second;
	return first;
}

static void
unlink_request(struct worker_request **list, struct worker_request *a)
{
	while (*list != a)
		list = &(*list)->next;
	*list = a->next;
	a->next = NULL;
}

/* ---- answers ---- */

static void
answer(struct forwarder *t, const struct worker_request *a, struct message *m)
{
	m->request = a->request;
	if (a->peer)
		outbox_send(t->outbox, a->peer, m);
}

static void
answer_all(struct forwarder *t, const struct worker_request *list,
	   struct message *m)
{
	for (; list; list = list->next)
		answer(t, list, m);
}

static void
answer_outcome(struct forwarder *t, uint64_t peer, const struct message *to,
	       enum outcome outcome)
{
	struct message m = message_answer(to, MESSAGE_VALUES);

	m.values.outcome = outcome;
	outbox_send(t->outbox, peer, &m);
}

/* ---- to the servers ---- */

static struct server_request *
server_request_new(struct forwarder *t, struct worker_request *of,
		   struct shared_pull *shared_pull, bool pulls)
{
	struct server_request *r = mem_alloc(1, sizeof(*r));

	*r = (struct server_request){ ++t->request, of, shared_pull, pulls };
	peers_set(&t->requests, r->request, r);
	return r;
}

static void
server_request_free(struct forwarder *t, struct server_request *r)
{
	peers_remove(&t->requests, r->request);
	free(r);
}

/* Let a letter leave at the next forwarder_flush(). */
static void
enqueue(struct forwarder *t, struct letter *l, const struct server_request *r)
{
	const uint32_t server = t->plan->part[l->message.pull.part].server;

	l->message.request = r->request;
	*t->end[server] = l;
	t->end[server] = &l->next;
}

/* Remember the number of a pull if the server remembers its keys (see
   WIRE_RECALL): a push may refer to them. */
static void
note_pulled(struct forwarder *t, uint64_t peer, const struct message *m,
	    const struct server_request *r)
{
	const bool push = m->kind == MESSAGE_PUSHPULL;
	const uint64_t n = push ? m->push.part : m->pull.part;
	struct pull_history *p = pull_history_of(t, peer);
	struct pulled *pulled;

	if (m->kind == MESSAGE_PUSH || m->frame[push].size < WIRE_RECALL ||
	    (!push && m->pull.cut != WIRE_NONE))
		return;
	if (!p->pulled)
		p->pulled = mem_alloc(t->plan->parts, sizeof(*p->pulled));
	pulled = p->pulled[n];
	pulled[1] = pulled[0];
	pulled[0] = (struct pulled){ m->request, r->request };
}

/* Our number of the pull to whose keys a push refers; 0: it is unknown. */
static uint64_t
find_pulled(struct forwarder *t, uint64_t peer, const struct message *m)
{
	const struct pull_history *p = pull_history_of(t, peer);

	for (size_t i = 0; p->pulled && i < PULLED; i++) {
		const struct pulled *pulled = &p->pulled[m->push.part][i];

		if (pulled->ours > 0 &&
		    pulled->request == m->request - m->push.back)
			return pulled->ours;
	}
	return 0;
}

/* Pass on a message whose answer is for one worker alone. */
static void
pass_on(struct forwarder *t, uint64_t peer, const struct message *m)
{
	const bool refers = m->kind != MESSAGE_PULL && m->push.back > 0;
	const uint64_t pulled = refers ? find_pulled(t, peer, m) : 0;
	struct server_request *r;
	struct letter *l;

	if (refers && pulled == 0) {
		answer_outcome(t, peer, m, OUTCOME_GONE);
		return;
	}
	r = server_request_new(t, worker_request_new(peer, m), NULL, false);
	note_pulled(t, peer, m, r);
	l = letter_new(m);
	if (refers)
		l->message.push.back = r->request - pulled;
	enqueue(t, l, r);
}

/* ---- pushes that may be added up ---- */

static bool
may_be_summed(const struct forwarder *t, const struct message *m)
{
	const uint64_t level = message_level(m->push.slot);

	return m->kind == MESSAGE_PUSH && level > 0 && level <= WIRE_LEVELS &&
		m->push.back == 0 && t->part[m->push.part].rounds;
}

static void
add_to_node(struct forwarder *t, uint64_t peer, const struct message *m)
{
	struct letter *l = letter_new(m);

	l->of = worker_request_new(peer, m);
	node_sums_add(t->sums, l);
}

static void
enqueue_members(struct forwarder *t, struct letter *member)
{
	struct letter *next;

	for (; member; member = next) {
		struct message *m = &member->message;

		next = member->next;
		member->next = NULL;
		m->push.slot = message_replica(m->push.slot);
		enqueue(t, member,
			server_request_new(t, member->of, NULL, false));
	}
}

static void
enqueue_sum(struct forwarder *t, struct letter *sum, struct letter *member)
{
	struct worker_request *all = NULL;
	struct letter *next;

	for (; member; member = next) {
		next = member->next;
		append(&all, member->of);
		letter_drop(member);
		t->counts.summed++;
	}
	enqueue(t, sum, server_request_new(t, all, NULL, false));
	t->counts.sums++;
}

static void
enqueue_sums(struct forwarder *t)
{
	struct departure d;

	while (node_sums_next(t->sums, &d))
		if (d.sum)
			enqueue_sum(t, d.sum, d.member);
		else
			enqueue_members(t, d.member);
}

void
forwarder_expire(struct forwarder *t)
{
	node_sums_expire(t->sums);
}

bool
forwarder_sums(const struct forwarder *t, uint64_t request)
{
	const struct server_request *r = peers_find(&t->requests, request);

	return r && !r->shared_pull && r->of->next;
}

/* ---- requests that share a pull ---- */

/* The keys that a PULL or PUSHPULL pulls. */
static const struct frame *
keys_of(const struct message *m)
{
	return &m->frame[m->kind == MESSAGE_PUSHPULL];
}

/*
 * A number that is the same for two steps if the values of a part travel in the
 * same codecs.  Each codec is used from some step on, so the number of codecs
 * in use will do: it is that plus 1; 0: as floats.
 */
static uint64_t
coding_of(const struct forwarder *t, uint64_t n, uint64_t coded)
{
	const struct codings *codings = t->plan->codings;
	const struct part *part = &t->plan->part[n];
	uint64_t used = 1;

	if (coded == 0 || !codings)
		return 0;
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &t->plan->piece[part->first + i];

		used += coded - 1 >=
			codings->of[piece->variable][WAY_PULL].from;
	}
	return used;
}

/* The values that a message pulls.  The keys are borrowed from the message. */
static struct shared_pull
what_is_pulled(const struct forwarder *t, const struct message *m)
{
	const bool pull = m->kind == MESSAGE_PULL;
	struct shared_pull f = { .part = pull ? m->pull.part : m->push.part,
			  .cut = pull ? m->pull.cut : WIRE_NONE,
			  .after = pull ? m->pull.after : 0,
			  .coded = pull ? m->pull.coded : m->push.values,
			  .have = pull ? m->pull.have : 0,
			  .keys = *keys_of(m) };

	f.coding = coding_of(t, f.part, f.coded);
	f.settled = f.cut != WIRE_NONE ||
		(f.after > 0 && t->part[f.part].rounds);
	return f;
}

static bool
is_same(const struct shared_pull *a, const struct shared_pull *b)
{
	return a->cut == b->cut && a->after == b->after &&
		a->coding == b->coding && a->have == b->have &&
		a->keys.size == b->keys.size &&
		(a->keys.size == 0 ||
		 memcmp(a->keys.data, b->keys.data, a->keys.size) == 0);
}

static void
mark_due(struct forwarder *t, struct shared_pull *f)
{
	if (f->due)
		return;
	f->due = true;
	f->next_due = t->due;
	t->due = f;
}

static void
drop_kept(struct shared_pull *f)
{
	if (f->kept)
		letter_drop(f->kept);
	f->kept = NULL;
	f->final = false;
}

/* Drop what is kept of earlier rounds, as requests rarely come so late. */
static void
drop_older(struct forwarder *t, const struct shared_pull *newest)
{
	for (struct shared_pull *f = t->part[newest->part].shared_pull; f;
	     f = f->next)
		if (f->final && f->after < newest->after) {
			drop_kept(f);
			mark_due(t, f);
		}
}

static struct shared_pull *
shared_pull_of(struct forwarder *t, const struct message *m)
{
	const struct shared_pull pulled = what_is_pulled(t, m);
	struct shared_pull **at = &t->part[pulled.part].shared_pull;

	while (*at && !is_same(*at, &pulled))
		at = &(*at)->next;
	if (!*at) {
		*at = mem_alloc(1, sizeof(**at));
		**at = pulled;
		(*at)->keys.data = mem_copy(pulled.keys.data,
					    pulled.keys.size);
		drop_older(t, *at);
	}
	return *at;
}

static void
shared_pull_free(struct forwarder *t, struct shared_pull *gone)
{
	struct shared_pull **at = &t->part[gone->part].shared_pull;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	free((void *)(uintptr_t)gone->keys.data);
	drop_kept(gone);
	free(gone);
}

/* A PULL of these values. */
static struct letter *
pull_letter(const struct forwarder *t, const struct shared_pull *f)
{
	struct message m = { .kind = MESSAGE_PULL, .frames = 1 };

	m.pull.run = plan_run(t->plan);
	m.pull.term = t->plan->term;
	m.pull.plan = t->plan->number;
	m.pull.part = f->part;
	m.pull.cut = f->cut;
	m.pull.after = f->after;
	m.pull.coded = f->coded;
	m.pull.have = f->have;
	m.frame[0] = f->keys;
	return letter_new(&m);
}

/* Make a PUSHPULL the PUSH that it contains. */
static void
reduce_to_push(struct letter *l)
{
	struct message *m = &l->message;

	m->kind = MESSAGE_PUSH;
	m->push.values = 0;
	m->frame[1] = m->frame[2];
	m->frames = 2;
}

/* Send all requests that wait: their pushes, and one pull, in the last push or
   by itself. */
static void
start_pull(struct forwarder *t, struct shared_pull *f)
{
	struct worker_request *last = NULL, *next;

	if (f->in_flight || !f->waiting)
		return;
	for (struct worker_request *a = f->waiting; a; a = a->next)
		if (a->letter)
			last = a;
	f->in_flight = true;
	for (struct worker_request *a = f->waiting; a; a = next) {
		struct letter *l = a->letter;

		next = a->next;
		append(&f->riding, a);
		a->letter = NULL;
		if (l && a != last)
			reduce_to_push(l);
		if (l)
			enqueue(t, l, server_request_new(t, a, f, a == last));
		t->counts.shared += a != last && (last || a != f->waiting);
	}
	f->waiting = NULL;
	if (!last)
		enqueue(t, pull_letter(t, f),
			server_request_new(t, NULL, f, true));
}

/* Answer a request with values; if it pushed, also with the outcome of its
   push. */
static void
answer_values(struct forwarder *t, struct worker_request *a,
	      const struct message *m)
{
	struct message out = *m;

	out.values.staleness = a->pushes ? a->outcome.values.staleness : 0;
	if (a->pushes)
		out.values.outcome = a->outcome.values.outcome;
	else if (out.values.outcome != OUTCOME_AHEAD &&
		 out.values.outcome != OUTCOME_CONFIRMED)
		out.values.outcome = OUTCOME_NONE;
	answer(t, a, &out);
}

static void
share_pull(struct forwarder *t, uint64_t peer, const struct message *m)
{
	struct shared_pull *f = shared_pull_of(t, m);
	struct worker_request *a = worker_request_new(peer, m);

	if (a->pushes)
		a->letter = letter_new(m);
	t->counts.shared += f->settled && (f->in_flight || f->final);
	if (f->kept)
		answer_values(t, a, &f->kept->message);
	if (f->final) {
		worker_request_free(a);
		return;
	}
	if (f->in_flight && f->settled) {
		append(&f->riding, a);
		return;
	}
	append(&f->waiting, a);
	mark_due(t, f);
}

/* A pull of many keys is not shared: hardly another one has the same keys, and
   a server that remembers them does so for one request number. */
static bool
may_share(const struct message *m)
{
	return m->kind != MESSAGE_PUSH &&
		keys_of(m)->size < WIRE_RECALL &&
		(m->kind == MESSAGE_PULL || m->push.back == 0);
}

void
forwarder_ask(struct forwarder *t, uint64_t peer, const struct message *m)
{
	const uint64_t part = m->kind == MESSAGE_PULL ? m->pull.part :
		m->push.part;

	struct message one = *m;	/* with level 0: it is not summed */

	t->counts.pushes += m->kind != MESSAGE_PULL;
	t->counts.pulls += m->kind != MESSAGE_PUSH;
	if (m->kind != MESSAGE_PULL)
		one.push.slot = message_replica(m->push.slot);
	if (m->pull.plan != t->plan->number || part >= t->plan->parts)
		answer_outcome(t, peer, m, OUTCOME_WRONG_PLAN);
	else if (may_be_summed(t, m))
		add_to_node(t, peer, m);
	else if (may_share(m))
		share_pull(t, peer, &one);
	else
		pass_on(t, peer, &one);
}

/* ---- answers of servers ---- */

/* Copy large values once, if several requests get them; NULL: no need. */
static struct letter *
hold_values(struct message *m, const struct worker_request *riding)
{
	struct letter *l;

	if (m->frames == 0 || m->frame[0].size < LARGE || !riding ||
	    !riding->next)
		return NULL;
	l = letter_new(m);
	m->frame[0] = l->message.frame[0];
	return l;
}

/* Take the requests that rode on a pull that has ended.  Those whose push is
   not answered yet have missed it: values without their push are not for
   them. */
static struct worker_request *
take_riding(struct shared_pull *f)
{
	struct worker_request *riding = f->riding, *taken = NULL, *next;

	f->riding = NULL;
	for (struct worker_request *a = riding; a; a = next) {
		next = a->next;
		a->missed = a->pushes && !a->pushed;
		append(a->missed ? &f->missed : &taken, a);
	}
	return taken;
}

/* Answer these requests with values, or with their confirmation. */
static void
answer_all_values(struct forwarder *t, struct worker_request *riding,
		  struct message *m)
{
	struct letter *held = hold_values(m, riding);

	for (struct worker_request *a = riding; a; a = a->next)
		answer_values(t, a, m);
	if (held)
		letter_drop(held);
}

static bool
is_values(const struct message *m, enum outcome outcome)
{
	return m->kind == MESSAGE_VALUES && m->values.outcome == outcome;
}

/* Take the outcome of a push whose values another request may bring. */
static void
take_outcome(struct forwarder *t, struct shared_pull *f,
	     struct worker_request *a, struct message *m)
{
	const bool over = m->kind == MESSAGE_REFUSED ||
		m->values.outcome == OUTCOME_STALE ||
		m->values.outcome == OUTCOME_WRONG_PLAN ||
		m->values.outcome == OUTCOME_GONE;

	a->pushed = true;
	a->outcome = *m;
	a->outcome.frames = 0;
	if (!over && !a->missed)
		return;
	unlink_request(a->missed ? &f->missed : &f->riding, a);
	if (over) {
		answer(t, a, m);
		worker_request_free(a);
	} else {
		a->missed = false;
		append(&f->waiting, a);
		mark_due(t, f);
	}
}

/* Keep a round's values for later requests: those of its end, or those ahead of
   it.  A message without values confirms the ones kept. */
static void
keep_values(struct shared_pull *f, struct message *m)
{
	if (f->after == 0 || !f->settled)
		return;
	f->final = m->values.outcome != OUTCOME_AHEAD;
	if (m->frames > 0) {
		if (f->kept)
			letter_drop(f->kept);
		f->kept = letter_new(m);
		m->frame[0] = f->kept->message.frame[0];
	} else if (f->kept) {
		f->kept->message.values.outcome = OUTCOME_NONE;
	} else {
		f->final = false;
	}
}

/* Take the answer to a shared pull; by_push: the pull was part of a push. */
static void
end_pull(struct forwarder *t, struct shared_pull *f, bool by_push,
	 struct message *m)
{
	const bool has_values = m->kind == MESSAGE_VALUES &&
		(m->frames > 0 || is_values(m, OUTCOME_CONFIRMED));
	struct worker_request *riding;

	f->in_flight = false;
	mark_due(t, f);
	if (has_values)
		keep_values(f, m);
	else
		drop_kept(f);
	riding = take_riding(f);
	if (!has_values && by_push) {	/* that push failed: pull again */
		f->waiting = concat_requests(riding, f->waiting);
		return;
	}
	if (has_values)
		answer_all_values(t, riding, m);
	else
		answer_all(t, riding, m);
	free_all(riding);
}

void
forwarder_answer(struct forwarder *t, const struct message *answered)
{
	struct server_request *r = peers_find(&t->requests,
					      answered->request);
	struct message m = *answered;

	if (!r)
		return;		/* forwarder_drop() has forgotten it */
	if (is_values(&m, OUTCOME_AHEAD)) {
		if (r->shared_pull) {
			keep_values(r->shared_pull, &m);
			answer_all_values(t, r->shared_pull->riding, &m);
		} else {
			answer(t, r->of, &m);
		}
		return;
	}
	if (!r->shared_pull) {
		answer_all(t, r->of, &m);
		free_all(r->of);
	}
	if (r->shared_pull && r->of)
		take_outcome(t, r->shared_pull, r->of, &m);
	if (r->pulls)
		end_pull(t, r->shared_pull, r->of != NULL, &m);
	server_request_free(t, r);
}

/* ---- what is sent ---- */

static bool
is_small(const struct letter *l)
{
	return bundle_size(&l->message) <= SMALL;
}

/* The number of small messages from here on that fit into one bundle. */
static uint64_t
count_small(const struct letter *l)
{
	uint64_t count = 0;
	size_t size = 0;

	for (; l && is_small(l) && size + SMALL <= BUNDLE; l = l->next) {
		size += bundle_size(&l->message);
		count++;
	}
	return count;
}

static struct letter *
send_bundle(struct forwarder *t, uint64_t peer, struct letter *l,
	    uint64_t count)
{
	struct message m = { .kind = MESSAGE_BUNDLE, .frames = 1 };
	struct letter *next;

	pack_reset(&t->bundle);
	m.bundle.count = count;
	for (uint64_t i = 0; i < count; i++, l = next) {
		next = l->next;
		bundle_add(&t->bundle, &l->message);
		letter_drop(l);
	}
	m.frame[0] = (struct frame){ t->bundle.data, t->bundle.size, NULL };
	outbox_send(t->outbox, peer, &m);
	t->counts.bundles++;
	t->counts.bundled += count;
	return l;
}

static void
send_all(struct forwarder *t, size_t server, uint64_t peer)
{
	struct letter *l = t->waiting[server], *next;
	uint64_t count;

	t->waiting[server] = NULL;
	t->end[server] = &t->waiting[server];
	for (; l; l = next) {
		count = count_small(l);
		if (count > 1) {
			next = send_bundle(t, peer, l, count);
			continue;
		}
		next = l->next;
		outbox_send(t->outbox, peer, &l->message);
		letter_drop(l);
	}
}

static bool
is_empty(const struct shared_pull *f)
{
	return !f->in_flight && !f->waiting && !f->riding && !f->missed &&
		!f->kept;
}

void
forwarder_flush(struct forwarder *t, const uint64_t *peer)
{
	struct shared_pull *next;

	enqueue_sums(t);
	for (struct shared_pull *f = t->due; f; f = next) {
		next = f->next_due;
		f->due = false;
		start_pull(t, f);
		if (is_empty(f))
			shared_pull_free(t, f);
	}
	t->due = NULL;
	for (size_t i = 0; i < t->plan->servers; i++)
		send_all(t, i, peer[i]);
}

/* ---- ends ---- */

static void
forget_peer(struct worker_request *list, uint64_t peer)
{
	for (; list; list = list->next)
		if (list->peer == peer)
			list->peer = 0;
}

void
forwarder_leave(struct forwarder *t, uint64_t peer)
{
	struct pull_history *p = peers_find(&t->histories, peer);

	if (p) {
		peers_remove(&t->histories, peer);
		pull_history_free(p);
	}
	/* Other workers would wait in vain for this one's next push. */
	node_sums_disband(t->sums);
	enqueue_sums(t);
	for (size_t i = 0; i < t->requests.room; i++) {
		const struct server_request *r = t->requests.entry[i].item;

		if (r && !r->shared_pull)
			forget_peer(r->of, peer);
	}
	for (size_t i = 0; i < t->plan->parts; i++)
		for (struct shared_pull *f = t->part[i].shared_pull; f;
		     f = f->next) {
			forget_peer(f->waiting, peer);
			forget_peer(f->riding, peer);
			forget_peer(f->missed, peer);
		}
}

static void
drop_shared_pulls(struct forwarder *t)
{
	for (size_t i = 0; i < t->plan->parts; i++)
		while (t->part[i].shared_pull) {
			struct shared_pull *f = t->part[i].shared_pull;

			free_all(f->waiting);
			free_all(f->riding);
			free_all(f->missed);
			shared_pull_free(t, f);
		}
	t->due = NULL;
}

void
forwarder_drop(struct forwarder *t)
{
	struct letter *next;

	node_sums_disband(t->sums);
	enqueue_sums(t);
	for (size_t i = 0; i < t->requests.room; i++) {
		struct server_request *r = t->requests.entry[i].item;

		if (r && !r->shared_pull)
			free_all(r->of);
		free(r);
	}
	peers_release(&t->requests);
	drop_shared_pulls(t);
	for (size_t i = 0; i < t->histories.room; i++)
		if (t->histories.entry[i].item)
			pull_history_free(t->histories.entry[i].item);
	peers_release(&t->histories);
	for (size_t i = 0; i < t->plan->servers; i++) {
		for (struct letter *l = t->waiting[i]; l; l = next) {
			next = l->next;
			letter_drop(l);
		}
		t->waiting[i] = NULL;
		t->end[i] = &t->waiting[i];
	}
}

void
forwarder_free(struct forwarder *t)
{
	if (!t)
		return;
	forwarder_drop(t);
	node_sums_free(t->sums);
	pack_release(&t->bundle);
	free(t->part);
	free(t->waiting);
	free(t->end);
	free(t);
}

struct forwarder_counts
forwarder_counts(const struct forwarder *t)
{
	struct forwarder_counts counts = t->counts;

	counts.open = t->requests.count + node_sums_waiting(t->sums);
	return counts;
}

/* ---- what always holds ---- */

static const char *
check_shared_pull(const struct shared_pull *f)
{
	for (const struct worker_request *a = f->waiting; a; a = a->next)
		if (a->pushes && !a->letter && !a->pushed)
			return "relay 2: a waiting request has a message to "
				"send, or its push has been answered";
	for (const struct worker_request *a = f->missed; a; a = a->next)
		if (!a->missed || !a->pushes || a->pushed)
			return "relay 3: a request that has missed the values "
				"has a push in flight";
	if (f->riding && !f->in_flight)
		return "relay 4: no request shares a pull that is not in "
			"flight";
	if (f->kept && (f->after == 0 || (!f->final && !f->in_flight)))
		return "relay 8: kept values belong to a round, and are final "
			"when no message is in flight";
	if (f->waiting && !f->in_flight && !f->due)
		return "relay 5: values for waiting requests are in flight, or "
			"due";
	return NULL;
}

const char *
forwarder_check(const struct forwarder *t)
{
	const char *violation = node_sums_check(t->sums);
	size_t in_flight = 0, pulling = 0;

	for (size_t i = 0; i < t->requests.room; i++) {
		const struct server_request *r = t->requests.entry[i].item;

		pulling += r && r->pulls;
	}
	for (size_t i = 0; i < t->plan->parts; i++)
		for (const struct shared_pull *f = t->part[i].shared_pull;
		     f && !violation; f = f->next) {
			violation = check_shared_pull(f);
			in_flight += f->in_flight;
		}
	if (!violation && in_flight != pulling)
		violation = "relay 1: what is under way for several is one "
			"request";
	return violation;
}
