/*
 * The coordinator's relays, and the workers of their sites.
 */
#include "coord/coord_relays.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ENDPOINT	256

/* What is known of a member's site. */
struct site_of {
	char site[WIRE_NAME];		/* "": it has none */
	char endpoint[MOST_ENDPOINT];	/* of a relay */
	uint64_t told;			/* of a worker: the life of the relay in
					   the last RELAY sent to it; 0: none */
	bool due;			/* that message may be lost: send it
					   again */
};

struct relays {
	struct site_of *of;		/* of each member, by its seat */
	size_t room;
	bool changed;			/* workers may have to be sent RELAY */
};

void
relays_init(struct coord *c)
{
	c->relays = mem_alloc(1, sizeof(*c->relays));
}

void
relays_release(struct coord *c)
{
	free(c->relays->of);
	free(c->relays);
}

static struct site_of *
site_of(const struct coord *c, const struct member *m)
{
	return &c->relays->of[m->at];
}

const char *
relays_site(const struct coord *c, const struct member *m)
{
	return site_of(c, m)->site;
}

const char *
relays_endpoint(const struct coord *c, const struct member *m)
{
	return site_of(c, m)->endpoint;
}

int
relays_check_hello(const struct message *m, struct fail *f)
{
	char site[WIRE_NAME];

	if (message_site(m, site, f) < 0)
		return -1;
	if (m->hello.role == ROLE_RELAY &&
	    (!*site || m->frame[0].size == 0 ||
	     m->frame[0].size >= MOST_ENDPOINT))
		return fail(f, FAIL_PROTOCOL, "a relay of no site, or nowhere");
	return 0;
}

struct member *
relays_rival(const struct coord *c, const struct message *hello)
{
	char site[WIRE_NAME];
	struct fail none;

	if (hello->hello.role != ROLE_RELAY ||
	    message_site(hello, site, &none) < 0)
		return NULL;
	for (struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_RELAY && !m->gone &&
		    m->life != hello->hello.life &&
		    strcmp(relays_site(c, m), site) == 0)
			return m;
	return NULL;
}

void
relays_join(struct coord *c, const struct member *m)
{
	struct relays *r = c->relays;

	r->of = members_room(r->of, &r->room, m, sizeof(*r->of));
}

/* A member that connects again may have lost the last RELAY. */
void
relays_greet(struct coord *c, struct member *m, const struct message *hello)
{
	struct site_of *s = site_of(c, m);
	struct fail none;

	message_site(hello, s->site, &none);
	if (m->role == ROLE_RELAY) {
		snprintf(s->endpoint, sizeof(s->endpoint), "%.*s",
			 (int)hello->frame[0].size,
			 (const char *)hello->frame[0].data);
		snprintf(m->name, sizeof(m->name), "relay of %.22s",
			 s->site);
	}
	s->due = s->told != 0;
	c->relays->changed = true;
}

void
relays_changed(struct coord *c)
{
	c->relays->changed = true;
}

/* The relay of a worker's site, or NULL.  A relay that was ready once counts as
   long as it is there: it refuses workers itself while it cannot serve them. */
static const struct member *
relay_of(const struct coord *c, const struct member *w)
{
	const struct member *m = c->member;

	if (!*relays_site(c, w))
		return NULL;
	while (m && (m->role != ROLE_RELAY || m->gone || !m->joined ||
		     strcmp(relays_site(c, m), relays_site(c, w)) != 0))
		m = m->next;
	return m;
}

static void
notify(struct coord *c, struct member *w)
{
	const struct member *relay = relay_of(c, w);
	const uint64_t life = relay ? relay->life : 0;
	struct message m = { .kind = MESSAGE_RELAY, .relay.life = life };
	struct site_of *s = site_of(c, w);

	if (life == s->told && !s->due)
		return;
	s->told = life;
	s->due = false;
	if (relay) {
		const char *at = relays_endpoint(c, relay);

		m.frames = 1;
		m.frame[0] = (struct frame){ at, strlen(at), NULL };
	}
	outbox_send(c->outbox, w->peer, &m);
}

void
relays_notify(struct coord *c)
{
	if (!c->relays->changed || c->phase != PHASE_RUN)
		return;
	c->relays->changed = false;
	for (struct member *m = c->member; m; m = m->next)
		if (m->role == ROLE_WORKER && !m->gone)
			notify(c, m);
}

uint64_t
relays_told(const struct coord *c, const struct member *w)
{
	return site_of(c, w)->told;
}

size_t
relays_workers(const struct coord *c, const struct member *relay)
{
	size_t count = 0;

	for (const struct member *m = c->member; m; m = m->next)
		count += m->role == ROLE_WORKER && !m->gone &&
			site_of(c, m)->told == relay->life;
	return count;
}

/* ---- what always holds ---- */

const char *
relays_check(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next)
		for (const struct member *n = m->next; n; n = n->next)
			if (m->role == ROLE_RELAY && n->role == ROLE_RELAY &&
			    !m->gone && !n->gone &&
			    strcmp(relays_site(c, m), relays_site(c, n)) == 0)
				return "coord 44: a site has one relay";
	return NULL;
}
