/*
 * The coordinator's view of hot standbys.
 *
 *	1. A server reports a standby that is in sync with it (STANDBY).
 *	2. The coordinator dials the standby, and sends the server STANDBY: it
 *	   will count on this life.
 *	3. The server acknowledges that: from then on the standby is counted on.
 *	   All that the server was sent before, such as a PLAN without a
 *	   standby, has arrived by then.
 *
 * When the server is lost the standby takes over, as the server at another
 * endpoint.  When a standby that is counted on is lost, a new term lets its
 * server go on alone.
 */
#include "coord/coord_standby.h"

#include "base/mem.h"
#include "coord/coord_ending.h"
#include "coord/coord_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MENDING_MS	250	/* a broken connection is there again after this
				   time and */
#define MENDING_TRIPS	8	/* so many trips; or after a lease, if that is
				   shorter */

/*
 * The hot standby of a server.
 *
 *	none --greet()--> dialled --standby_receive()--> up
 *	up --count_on()--> counted		(its server has acknowledged it)
 *	counted --promote()--> none		(it is the server now)
 *	dialled, up, counted --drop(), forget_standby()--> none
 */
struct standby_state {
	uint64_t peer, life;	/* 0: there is none */
	char endpoint[256];
	bool up;		/* it has answered WELCOME with this life */
	bool counted;		/* its server has acknowledged that the
				   coordinator counts on it: it can take over */
	uint64_t of;		/* the life of that server */
	uint64_t since;		/* the connection was made, or broke */
	uint64_t trip;		/* ms until it answered HELLO; once it is up */
	uint64_t asked;		/* when the oldest message that is not answered
				   was sent */
	bool awaited;		/* there is one */
	unsigned hung;		/* standbys of this server that were dropped as
				   they hung, since PHASE_RUN was last left */
	uint64_t lost_ms;	/* when the server was lost for which a standby
				   took over; 0: that has been reported */
	uint64_t steps;		/* the number of steps done then */
};

struct standbys {
	struct standby_state *of;	/* of each server */
	uint64_t asked_ms;	/* when all standbys were last pinged */
};

void
standby_init(struct coord *c)
{
	c->standbys = mem_alloc(1, sizeof(*c->standbys));
	c->standbys->of = mem_alloc(c->o.servers, sizeof(*c->standbys->of));
}

static void
forget_standby(struct coord *c, struct standby_state *u)
{
	if (u->peer)
		outbox_hang_up(c->outbox, u->peer);
	u->peer = u->life = u->of = 0;
	u->up = u->counted = false;
}

void
standby_release(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++)
		forget_standby(c, &c->standbys->of[i]);
	free(c->standbys->of);
	free(c->standbys);
}

static struct standby_state *
find(const struct coord *c, uint64_t peer)
{
	for (size_t i = 0; peer && i < c->o.servers; i++)
		if (c->standbys->of[i].peer == peer)
			return &c->standbys->of[i];
	return NULL;
}

bool
standby_knows(const struct coord *c, uint64_t peer)
{
	return find(c, peer) != NULL;
}

void
standby_up(struct coord *c, uint64_t peer, uint64_t now)
{
	struct standby_state *u = find(c, peer);
	struct message m = message_hello(ROLE_COORDINATOR,
					 (uint64_t)(u - c->standbys->of),
					 c->o.life, c->plan.term);

	u->awaited = true;
	u->since = u->asked = now;
	m.blob = (struct frame){ c->plan.run, PLAN_RUN, NULL };
	outbox_send(c->outbox, peer, &m);
}

void
standby_down(struct coord *c, uint64_t peer, uint64_t now)
{
	struct standby_state *u = find(c, peer);

	u->up = false;
	u->since = now;
}

/* Tell a server that the standby of this life is to be counted on; 0: none. */
static void
notify_server(struct coord *c, size_t server, uint64_t life)
{
	/* The number is not 0, as HELLO's is: the refusal of a request 0 counts
	   as a refusal of the coordinator. */
	struct message m = { .kind = MESSAGE_STANDBY, .request = WIRE_NONE };

	m.standby.run = plan_run(&c->plan);
	m.standby.term = c->plan.term;
	m.standby.life = life;
	fleet_send(c->fleet, server, &m);
}

/*
 * Drop the standby of a server.  A server that may know that the standby was
 * counted on (bound) is released only by a new term; for any other one a
 * message is enough.
 */
static enum standby_news
drop(struct coord *c, size_t server, bool bound, const char *why)
{
	struct standby_state *u = &c->standbys->of[server];

	bound = bound || u->counted;
	if (u->life)
		report_warning(c, "server %zu (%s): its standby %s %s: it "
			       "goes on without one", server,
			       fleet_endpoint(c->fleet, server), u->endpoint,
			       why);
	forget_standby(c, u);
	if (bound)
		return STANDBY_NEW_TERM;
	notify_server(c, server, 0);
	return STANDBY_NONE;
}

/* The server has acknowledged its standby: count on it. */
static enum standby_news
count_on(struct coord *c, size_t server)
{
	struct standby_state *u = &c->standbys->of[server];

	u->counted = true;
	u->of = fleet_incarnation(c->fleet, server);
	fleet_set_standby(c->fleet, server, u->life);
	report_warning(c, "server %zu (%s) has a standby at %s", server,
		       fleet_endpoint(c->fleet, server), u->endpoint);
	return STANDBY_COUNTED;
}

enum standby_news
standby_receive(struct coord *c, uint64_t peer, const struct message *m,
		uint64_t now)
{
	struct standby_state *u = find(c, peer);
	const size_t server = (size_t)(u - c->standbys->of);

	u->awaited = false;
	/* While it is not up, only a refusal of HELLO (request 0) counts:
	   another message may have overtaken HELLO on a new connection. */
	if (m->kind == MESSAGE_REFUSED && (m->request == 0 || u->up))
		return drop(c, server, false, "refuses us");
	if (m->kind != MESSAGE_WELCOME)
		return STANDBY_NONE;
	if (m->welcome.life != u->life || m->welcome.index != server ||
	    m->welcome.plan != c->plan.number ||
	    m->blob.size != PLAN_RUN ||
	    memcmp(m->blob.data, c->plan.run, PLAN_RUN) != 0)
		return drop(c, server, false, "is another one");
	if (!u->up)
		u->trip = now - u->since;
	u->up = true;
	if (!u->counted)
		notify_server(c, server, u->life);
	return STANDBY_NONE;
}

/* A server reports a standby that the coordinator does not know: dial it, to
   see whether the coordinator can reach it, too. */
static enum standby_news
greet(struct coord *c, size_t server, const struct message *m, uint64_t now)
{
	struct standby_state *u = &c->standbys->of[server];
	struct fail why;

	if (m->frames != 1 || m->frame[0].size >= sizeof(u->endpoint))
		return STANDBY_NONE;
	forget_standby(c, u);
	memcpy(u->endpoint, m->frame[0].data, m->frame[0].size);
	u->endpoint[m->frame[0].size] = '\0';
	u->life = m->standby.life;
	u->since = now;
	if (outbox_dial(c->outbox, u->endpoint, &u->peer, &why) < 0)
		return drop(c, server, false, why.text);
	return STANDBY_NONE;
}

enum standby_news
standby_notified(struct coord *c, size_t server, const struct message *m,
		 uint64_t now)
{
	struct standby_state *u = &c->standbys->of[server];

	if (m->standby.run != plan_run(&c->plan) ||
	    m->standby.term != c->plan.term || c->phase == PHASE_GREET ||
	    c->phase == PHASE_END)
		return STANDBY_NONE;	/* of an old term: the new PLAN settles
					   it */
	if (m->standby.life == 0) {
		if (u->counted || m->standby.counted)
			return drop(c, server, true, "cannot be reached by it");
		forget_standby(c, u);	/* the server will report the next */
	} else if (u->life != m->standby.life) {
		if (u->counted)
			return drop(c, server, true,
				    "is not that of its server");
		return greet(c, server, m, now);
	} else if (u->up && !u->counted && m->standby.counted) {
		return count_on(c, server);
	} else if (u->up && !m->standby.counted) {
		notify_server(c, server, u->life);
	}
	return STANDBY_NONE;
}

/* In its answer to PLAN a server names the standby that it is bound to: drop a
   standby that is another one. */
void
standby_compare(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		struct standby_state *u = &c->standbys->of[i];

		if (!u->counted ||
		    u->life == fleet_standing(c->fleet, i)->standby)
			continue;
		report_warning(c, "server %zu (%s): it has no standby any "
			       "more", i, fleet_endpoint(c->fleet, i));
		forget_standby(c, u);
		fleet_set_standby(c->fleet, i, 0);
	}
}

/*
 * Can the standby take the place of a server that has lost its variables?  Not
 * if it is the standby of the server's present life: it began to follow when
 * the variables were lost already, and has no more than its server.
 */
static bool
has_more(const struct coord *c, size_t server)
{
	return c->standbys->of[server].of !=
		fleet_incarnation(c->fleet, server);
}

void
standby_write(const struct coord *c, size_t server, struct pack *out)
{
	const struct standby_state *u = &c->standbys->of[server];
	const bool useful = u->counted && (fleet_holds(c->fleet, server) ||
					   has_more(c, server));

	pack_uint(out, useful ? u->life : 0);
	pack_text(out, useful ? u->endpoint : "");
}

void
standby_read(struct coord *c, size_t server, uint64_t of, struct unpack *in)
{
	struct standby_state *u = &c->standbys->of[server];

	u->life = unpack_uint(in);
	u->of = of;
	u->counted = u->life != 0;
	unpack_text(in, u->endpoint, sizeof(u->endpoint));
}

bool
standby_counted(const struct coord *c, size_t server)
{
	return c->standbys->of[server].counted;
}

bool
standby_ready(const struct coord *c, size_t server)
{
	return standby_counted(c, server) && c->standbys->of[server].up;
}

bool
standby_took_over(const struct coord *c, size_t server)
{
	return c->standbys->of[server].lost_ms != 0;
}

static uint64_t
round_trip_of(const struct coord *c, size_t server)
{
	const struct standby_state *u = &c->standbys->of[server];

	return u->up ? u->trip : WIRE_NONE;
}

uint64_t
standby_mending(const struct coord *c)
{
	uint64_t longest = WIRE_NONE, mending;

	for (size_t i = 0; i < c->o.servers; i++) {
		const uint64_t trip[] = { fleet_trip(c->fleet, i),
					  round_trip_of(c, i) };

		for (size_t k = 0; k < 2; k++)
			if (trip[k] != WIRE_NONE &&
			    (longest == WIRE_NONE || trip[k] > longest))
				longest = trip[k];
	}
	if (longest == WIRE_NONE || longest > c->o.lease_ms)
		return c->o.lease_ms;
	mending = MENDING_MS + MENDING_TRIPS * longest;
	return mending < c->o.lease_ms ? mending : c->o.lease_ms;
}

void
standby_resume(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		struct standby_state *u = &c->standbys->of[i];
		struct fail why;

		u->since = c->now_ms;
		if (u->life &&
		    outbox_dial(c->outbox, u->endpoint, &u->peer, &why) < 0)
			forget_standby(c, u);
	}
}

bool
standby_awaited(const struct coord *c, uint64_t now)
{
	for (size_t i = 0; !c->begun && i < c->o.servers; i++)
		if (c->standbys->of[i].life && !c->standbys->of[i].up &&
		    now - c->began_ms < standby_mending(c))
			return true;
	return false;
}

static bool
promote(struct coord *c, size_t server, uint64_t now)
{
	struct standby_state *u = &c->standbys->of[server];
	const uint64_t life = u->life;
	uint64_t heard, gone;
	const char *how;
	struct fail why;
	char *was;

	if (!u->counted || !u->up)
		return false;
	gone = fleet_gone(c->fleet, server, &heard);
	u->lost_ms = gone ? gone : now;
	u->steps = report_steps(c);
	forget_standby(c, u);
	how = fleet_hangs(c->fleet, server) ? "hangs" : "is gone";
	was = mem_text(fleet_endpoint(c->fleet, server));
	if (fleet_move(c->fleet, server, u->endpoint, life, now, &why) < 0)
		ending_fail(c, &why);
	report_warning(c, "server %zu (%s) %s: its standby %s takes over",
		       server, was, how, u->endpoint);
	free(was);
	return true;
}

void
standby_begin_term(struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		struct standby_state *u = &c->standbys->of[i];

		/* Another server is not bound to it; it will be told of. */
		if (u->life && (!u->counted || (!u->up && !c->begun) ||
				u->of != fleet_incarnation(c->fleet, i)))
			forget_standby(c, u);
		fleet_set_standby(c->fleet, i, u->counted ? u->life : 0);
	}
}

bool
standby_step_in(struct coord *c, uint64_t now)
{
	bool any = false;

	for (size_t i = 0; i < c->o.servers; i++)
		if (!fleet_holds(c->fleet, i) && has_more(c, i))
			any = promote(c, i, now) || any;
	return any;
}

void
standby_notify(struct coord *c, uint64_t now)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		struct standby_state *u = &c->standbys->of[i];

		if (u->lost_ms == 0 || report_steps(c) == u->steps)
			continue;
		if (strcmp(u->endpoint, fleet_endpoint(c->fleet, i)) == 0)
			report_warning(c, "server %zu: its standby %s took "
				       "over after %.2f s", i, u->endpoint,
				       (double)(now - u->lost_ms) / 1000);
		u->lost_ms = 0;
	}
}

/*
 * How long, in ms, a standby may be away.  One that is not counted on yet has
 * more time, however far away it is: its server still has it, and reports when
 * it is lost.
 */
static uint64_t
patience(const struct coord *c, const struct standby_state *u)
{
	return u->counted ? standby_mending(c) :
		c->o.lease_ms + c->o.patience_ms;
}

/*
 * How long, in ms, a standby may be silent: a lease.  But a standby that reads
 * a checkpoint does not answer meanwhile, and if it is dropped, the next one
 * reads it from the beginning again: so each next one may take twice as long,
 * until the run goes on.
 */
static uint64_t
silence(const struct coord *c, const struct standby_state *u)
{
	uint64_t ms = c->o.lease_ms;

	for (unsigned i = 0; i < u->hung && 2 * ms <= c->o.patience_ms / 4; i++)
		ms *= 2;
	return ms;
}

/* Does a standby hang: it does not answer, though its connection is whole?
   ask: ping it. */
static bool
hangs(struct coord *c, struct standby_state *u, bool ask, uint64_t now)
{
	const struct message ping = { .kind = MESSAGE_PING,
				      .request = WIRE_NONE };

	if (!u->up || (u->awaited && now - u->asked >= silence(c, u)))
		return u->up;
	if (!ask)
		return false;
	outbox_send(c->outbox, u->peer, &ping);
	if (!u->awaited)
		u->asked = now;
	u->awaited = true;
	return false;
}

static enum standby_news
drop_silent(struct coord *c, size_t server)
{
	c->standbys->of[server].hung++;
	return drop(c, server, false, "hangs");
}

void
standby_skip_pause(struct coord *c, uint64_t now)
{
	for (size_t i = 0; i < c->o.servers; i++)
		c->standbys->of[i].asked = now;
}

enum standby_news
standby_watch(struct coord *c, uint64_t now)
{
	enum standby_news news = STANDBY_NONE;
	const bool ask = now - c->standbys->asked_ms >= c->o.lease_ms / 8;

	if (ask)
		c->standbys->asked_ms = now;

	for (size_t i = 0; i < c->o.servers; i++) {
		struct standby_state *u = &c->standbys->of[i];
		uint64_t heard;
		uint64_t gone = fleet_gone(c->fleet, i, &heard);

		if (c->phase == PHASE_RUN)
			u->hung = 0;
		if (gone == 0 && c->resumed && !c->begun)
			gone = c->began_ms;
		if (u->life && !u->up && now - u->since >= patience(c, u))
			news |= drop(c, i, false, "is gone");
		else if (u->life && hangs(c, u, ask, now))
			news |= drop_silent(c, i);
		else if (gone && !fleet_present_at(c->fleet, i) &&
			 (fleet_hangs(c->fleet, i) ||
			  now - gone >= standby_mending(c)) &&
			 promote(c, i, now))
			news |= STANDBY_TOOK_OVER;
	}
	return news;
}

/* ---- what always holds ---- */

const char *
standby_check(const struct coord *c)
{
	for (size_t i = 0; i < c->o.servers; i++) {
		const struct standby_state *u = &c->standbys->of[i];

		if (u->life == 0 && (u->peer || u->up || u->counted))
			return "coord 34: a server without a standby has no "
				"state of one";
		if (c->begun && u->counted && u->of == 0)
			return "coord 35: a standby that the coordinator "
				"relies on belongs to a server";
	}
	return NULL;
}
