/*
 * The coordinator's workers, evaluators and relays: which are there, and their
 * names.
 */
#include "coord/coord_members.h"

#include "base/mem.h"
#include "base/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct members {
	struct peers peers;
	struct member **seat;	/* by member.at; NULL: free */
	size_t seats;
	uint64_t named;		/* the next index for a worker that says none */
};

void
members_init(struct coord *c)
{
	c->members = mem_alloc(1, sizeof(*c->members));
}

void
members_welcome(struct coord *c, uint64_t peer, uint64_t index,
		const struct message *hello)
{
	struct message m = message_answer(hello, MESSAGE_WELCOME);

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_COORDINATOR;
	m.welcome.index = index;
	m.welcome.life = c->o.life;
	m.welcome.term = c->plan.term;
	m.welcome.plan = c->plan.number;
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	outbox_send(c->outbox, peer, &m);
}

void
members_release(struct coord *c)
{
	struct member *next;

	for (struct member *m = c->member; m; m = next) {
		next = m->next;
		free(m);
	}
	peers_release(&c->members->peers);
	free(c->members->seat);
	free(c->members);
}

struct member *
members_at(const struct coord *c, uint64_t peer)
{
	return peers_find(&c->members->peers, peer);
}

void
members_call(struct coord *c, struct member *m, uint64_t peer)
{
	m->peer = peer;
	peers_set(&c->members->peers, peer, m);
}

void
members_hang_up(struct coord *c, const struct member *m)
{
	peers_remove(&c->members->peers, m->peer);
}

struct member *
members_find(const struct coord *c, uint64_t life)
{
	for (struct member *m = c->member; m; m = m->next)
		if (m->life == life)
			return m;
	return NULL;
}

/* Another member that is there with the same role and index, or NULL. */
static struct member *
find_same_index(const struct coord *c, const struct member *w)
{
	struct member *m = c->member;

	while (m && (m == w || m->gone || m->role != w->role ||
		     m->index != w->index))
		m = m->next;
	return m;
}

/* Give a member the first free seat. */
static void
take_seat(struct members *all, struct member *m)
{
	while (m->at < all->seats && all->seat[m->at])
		m->at++;
	if (m->at == all->seats)
		all->seat = mem_resize(all->seat, ++all->seats,
				       sizeof(*all->seat));
	all->seat[m->at] = m;
}

struct member *
members_add(struct coord *c, const struct message *hello)
{
	struct member *m = mem_alloc(1, sizeof(*m)), *other;
	struct member **last = &c->member;

	m->role = (enum role)hello->hello.role;
	m->life = hello->hello.life;
	m->index = hello->hello.index;
	if (m->index != WIRE_NONE) {
		other = find_same_index(c, m);
		if (other)
			other->name_taken = true;
	} else if (m->role == ROLE_WORKER) {
		do
			m->index = c->members->named++;
		while (find_same_index(c, m));
	} else {
		m->index = c->members->named;
	}
	/* A relay is named by its site: see relays_greet(). */
	snprintf(m->name, sizeof(m->name), "%s:%llu",
		 m->role == ROLE_WORKER ? "worker" : "evaluator",
		 (unsigned long long)m->index);
	take_seat(c->members, m);
	while (*last)
		last = &(*last)->next;
	*last = m;
	return m;
}

void
members_forget(struct coord *c, struct member *m)
{
	struct member **at = &c->member;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	c->members->seat[m->at] = NULL;
	free(m);
}

void *
members_room(void *of, size_t *room, const struct member *m, size_t size)
{
	if (m->at >= *room) {
		*room = m->at + 1;
		of = mem_resize(of, *room, size);
	}
	memset((char *)of + m->at * size, 0, size);
	return of;
}

bool
worker_answers(const struct member *m)
{
	return !m->gone && !m->silent && !m->relieved;
}

static bool
worker_trains(const struct member *m)
{
	return m->role == ROLE_WORKER && worker_answers(m) && !m->exhausted;
}

bool
worker_leasable(const struct member *m)
{
	return m->ready && worker_trains(m);
}

static size_t
count_members(const struct coord *c, bool (*is_one)(const struct member *))
{
	size_t count = 0;

	for (const struct member *m = c->member; m; m = m->next)
		count += is_one(m);
	return count;
}

size_t
workers_ready(const struct coord *c)
{
	return count_members(c, worker_leasable);
}

size_t
workers_training(const struct coord *c)
{
	return count_members(c, worker_trains);
}

bool
workers_at_end(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_WORKER && !m->gone && m->exhausted &&
		    !m->unreadable)
			return true;
	return false;
}

bool
workers_can(const struct coord *c, enum request_op op)
{
	for (const struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_WORKER && !m->gone && !m->silent &&
		    (op != REQUEST_TRAIN || !m->exhausted))
			return true;
	return false;
}

const struct member *
workers_hanging(const struct coord *c)
{
	const struct member *m = c->member;

	while (m && (m->role != ROLE_WORKER || m->gone || !m->silent))
		m = m->next;
	return m;
}

static bool
worker_is_present(const struct member *m)
{
	return m->role == ROLE_WORKER && !m->gone;
}

size_t
workers_present(const struct coord *c)
{
	return count_members(c, worker_is_present);
}

void
workers_stop(struct coord *c)
{
	const struct message stop = { .kind = MESSAGE_STOP };

	for (struct member *m = c->member; m; m = m->next)
		if (!m->gone)
			outbox_send(c->outbox, m->peer, &stop);
}

void
deaths_release(struct deaths *d)
{
	free(d->died);
	*d = (struct deaths){ 0 };
}

bool
deaths_add(struct deaths *d, size_t i)
{
	while (d->count <= i) {
		d->died = mem_resize(d->died, d->count + 1, sizeof(*d->died));
		d->died[d->count++] = 0;
	}
	return ++d->died[i] >= QUEUE_DEATHS;
}

/* ---- what always holds ---- */

const char *
members_check(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next) {
		if (!m->gone && peers_find(&c->members->peers, m->peer) != m)
			return "coord 5: a member that is there is found by "
				"its peer";
		if (m->gone && m->ready)
			return "coord 6: nothing is expected of a member that "
				"is gone";
	}
	return NULL;
}
