#include "coord/fleet.h"

#include "base/mem.h"
#include "base/pause.h"
#include "base/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PING_MS		1000	/* or a quarter of a lease */
#define REDIAL_MS	100	/* at an endpoint where only a standby is */
#define CONNECT_MS	2000	/* without a connection, while somebody who
				   registered waits at the other endpoint */

/* What is known of a server at one of its endpoints. */
struct whereabouts {
	char *endpoint;		/* NULL: not known */
	uint64_t life;
	uint64_t term;		/* of the last PLAN that it took */
	bool holds;		/* this life has the plan and the variables */
	uint64_t registrar;	/* the peer that registered the server there,
				   and waits to be called; or 0 */
};

struct link {
	struct whereabouts at;	/* the endpoint that is dialled */
	struct whereabouts other;	/* a second one */
	uint64_t peer;		/* 0: not dialled */
	bool up, welcome, greeted;	/* greeted: it was there once, */
	bool answered;		/* and at this endpoint, since it was dialled */
	bool expected;		/* its WELCOME must name this run: else it has
				   lost its variables, even with this life */
	uint64_t heard, since;	/* since: the connection was made, or
					   broke */
	uint64_t gone;		/* since when it has not been there; or 0 */
	uint64_t low, acked;	/* low watermarks: sent, acknowledged */
	uint64_t high;		/* high watermark in its answer to that PLAN */
	uint64_t standby;	/* life of the standby counted on, or 0 */
	uint64_t asked;		/* when HELLO, or the oldest PING that is not */
	bool awaited;			/* answered, was sent; is there one? */
	uint64_t trip;		/* the shortest time until an answer, in ms */
	struct standing standing;
	bool only_standby;	/* at this endpoint is only a standby */
	uint64_t placed;	/* since when it is looked for here, */
	unsigned dials;			/* the number of changes between the
					   endpoints without an answer */
	bool hangs;		/* until it answers on a new connection */
};

struct fleet {
	struct outbox *outbox;
	unsigned char run[PLAN_RUN];
	uint64_t term, life, began, pinged;
	struct link *link;
	size_t count;
	struct ask **ask;
	size_t asks, ask_room;
	uint64_t numbered;	/* asks so far */
	uint64_t journal;	/* records that are safe in the journal */
	bool changed, stale, spares;
};

struct fleet *
fleet_new(char *const *endpoint, size_t servers,
	  const unsigned char run[PLAN_RUN], uint64_t term, uint64_t life,
	  struct outbox *outbox, uint64_t now, struct fail *f)
{
	struct fleet *fl = mem_alloc(1, sizeof(*fl));

	fl->outbox = outbox;
	memcpy(fl->run, run, PLAN_RUN);
	fl->term = term;
	fl->life = life;
	fl->began = fl->pinged = now;
	fl->count = servers;
	fl->link = mem_alloc(servers, sizeof(*fl->link));
	for (size_t i = 0; i < servers; i++) {
		fl->link[i].since = now;
		fl->link[i].trip = WIRE_NONE;
		fl->link[i].placed = now;
		if (endpoint[i] && fleet_place(fl, i, endpoint[i], f) < 0) {
			fleet_free(fl);
			return NULL;
		}
	}
	return fl;
}

void
fleet_free(struct fleet *fl)
{
	if (!fl)
		return;
	for (size_t i = 0; i < fl->count; i++) {
		if (fl->link[i].peer)
			outbox_hang_up(fl->outbox, fl->link[i].peer);
		free(fl->link[i].at.endpoint);
		free(fl->link[i].other.endpoint);
		free(fl->link[i].standing.steps);
	}
	for (size_t i = 0; i < fl->asks; i++) {
		free(fl->ask[i]->answered);
		free(fl->ask[i]->saved);
		ranges_release(&fl->ask[i]->missing);
		free(fl->ask[i]);
	}
	free(fl->ask);
	free(fl->link);
	free(fl);
}

size_t
fleet_size(const struct fleet *fl)
{
	return fl->count;
}

const char *
fleet_endpoint(const struct fleet *fl, size_t server)
{
	const char *endpoint = fl->link[server].at.endpoint;

	return endpoint ? endpoint : "not registered";
}

void
fleet_kept(struct fleet *fl, uint64_t records)
{
	fl->journal = records;
}

bool
fleet_stale(const struct fleet *fl)
{
	return fl->stale;
}

static struct link *
find(const struct fleet *fl, uint64_t peer)
{
	for (size_t i = 0; i < fl->count; i++)
		if (fl->link[i].peer && fl->link[i].peer == peer)
			return &fl->link[i];
	return NULL;
}

bool
fleet_knows(const struct fleet *fl, uint64_t peer)
{
	return find(fl, peer) != NULL;
}

size_t
fleet_server(const struct fleet *fl, uint64_t peer)
{
	return (size_t)(find(fl, peer) - fl->link);
}

void
fleet_set_standby(struct fleet *fl, size_t server, uint64_t life)
{
	fl->link[server].standby = life;
	fl->link[server].standing.standby = life;	/* by now */
}

bool
fleet_welcome(const struct fleet *fl)
{
	return fleet_present(fl) == fl->count;
}

size_t
fleet_present(const struct fleet *fl)
{
	size_t count = 0;

	for (size_t i = 0; i < fl->count; i++)
		count += fl->link[i].welcome;
	return count;
}

void
fleet_begin_term(struct fleet *fl, const unsigned char run[PLAN_RUN],
		 uint64_t term)
{
	memcpy(fl->run, run, PLAN_RUN);
	fl->term = term;
}

bool
fleet_changed(struct fleet *fl)
{
	const bool changed = fl->changed;

	fl->changed = false;
	return changed;
}

bool
fleet_holds(const struct fleet *fl, size_t server)
{
	return fl->link[server].at.holds;
}

void
fleet_set_loaded(struct fleet *fl, size_t server)
{
	fl->link[server].at.holds = true;
}

void
fleet_set_lost(struct fleet *fl, size_t server)
{
	fl->link[server].at.holds = false;
}

uint64_t
fleet_incarnation(const struct fleet *fl, size_t server)
{
	return fl->link[server].at.life;
}

const struct standing *
fleet_standing(const struct fleet *fl, size_t server)
{
	return &fl->link[server].standing;
}

bool
standing_has(const struct standing *s, uint64_t step)
{
	const uint64_t at = step - s->low;

	return at / 8 < s->bytes && s->steps[at / 8] >> at % 8 & 1;
}

void
fleet_stands(struct fleet *fl, size_t server)
{
	struct link *l = &fl->link[server];

	l->low = l->acked = l->standing.low;
}

void
fleet_send(struct fleet *fl, size_t server, const struct message *m)
{
	const struct link *l = &fl->link[server];

	if (l->welcome)
		outbox_send(fl->outbox, l->peer, m);
}

uint64_t
fleet_watermark(const struct fleet *fl, size_t server)
{
	return fl->link[server].low;
}

uint64_t
fleet_acked_watermark(const struct fleet *fl, size_t server)
{
	return fl->link[server].acked;
}

uint64_t
fleet_lowest_acked_watermark(const struct fleet *fl)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < fl->count; i++)
		if (fl->link[i].acked < least)
			least = fl->link[i].acked;
	return least;
}

void
fleet_set_watermark(struct fleet *fl, size_t server, uint64_t step)
{
	fl->link[server].low = step;
}

void
fleet_back(struct fleet *fl, size_t server, uint64_t step)
{
	fl->link[server].low = fl->link[server].acked = step;
	fl->link[server].high = step;
}

uint64_t
fleet_gone(const struct fleet *fl, size_t server, uint64_t *heard)
{
	*heard = fl->link[server].heard;
	return fl->link[server].gone;
}

bool
fleet_present_at(const struct fleet *fl, size_t server)
{
	return fl->link[server].welcome;
}

uint64_t
fleet_trip(const struct fleet *fl, size_t server)
{
	return fl->link[server].trip;
}

void
fleet_returned(struct fleet *fl)
{
	for (size_t i = 0; i < fl->count; i++)
		if (fl->link[i].welcome)
			fl->link[i].gone = 0;
}

void
fleet_resume(struct fleet *fl, size_t server, uint64_t life, uint64_t term)
{
	struct link *l = &fl->link[server];

	l->at.life = life;
	l->at.term = term;
	l->at.holds = l->expected = life != 0;
}

uint64_t
fleet_term(const struct fleet *fl, size_t server)
{
	return fl->link[server].at.term;
}

uint64_t
fleet_high_watermark(const struct fleet *fl)
{
	uint64_t high = 0;

	for (size_t i = 0; i < fl->count; i++)
		if (fl->link[i].high > high)
			high = fl->link[i].high;
	return high;
}

/* Dial the server; where it cannot be called, all stays as it is. */
static int
dial(struct fleet *fl, size_t server, const char *endpoint, struct fail *f)
{
	struct link *l = &fl->link[server];
	uint64_t peer;

	if (outbox_dial(fl->outbox, endpoint, &peer, f) < 0)
		return fail_at(f, "server %zu", server);
	if (l->peer)
		outbox_hang_up(fl->outbox, l->peer);
	l->peer = peer;
	l->up = l->welcome = l->answered = l->only_standby = false;
	return 0;
}

int
fleet_place(struct fleet *fl, size_t server, const char *endpoint,
	    struct fail *f)
{
	struct link *l = &fl->link[server];

	if (dial(fl, server, endpoint, f) < 0)
		return -1;
	free(l->at.endpoint);
	l->at.endpoint = mem_text(endpoint);
	return 0;
}

static int
fail_elsewhere(const struct fleet *fl, size_t server, struct fail *f)
{
	return fail(f, FAIL_AGAIN, "server %zu is %s, at %s", server,
		    fl->link[server].welcome ? "alive already" :
		    "expected elsewhere", fleet_endpoint(fl, server));
}

/* The server is not where this peer registered it: the peer would wait in
   vain. */
static void
refuse_registrar(struct fleet *fl, size_t server, uint64_t *registrar)
{
	const struct message none = { 0 };
	struct message m;
	struct fail why;

	if (*registrar == 0)
		return;
	fail_elsewhere(fl, server, &why);
	m = message_refuse(&none, why.kind, why.text);
	outbox_send(fl->outbox, *registrar, &m);
	*registrar = 0;
}

void
fleet_seek(struct fleet *fl, size_t server, const char *endpoint)
{
	struct whereabouts *other = &fl->link[server].other;

	refuse_registrar(fl, server, &other->registrar);
	free(other->endpoint);
	*other = (struct whereabouts){ .endpoint = mem_text(endpoint) };
}

const char *
fleet_elsewhere(const struct fleet *fl, size_t server)
{
	const char *endpoint = fl->link[server].other.endpoint;

	return endpoint ? endpoint : "";
}

/* Dial the server at its second endpoint, which changes places with the
   first. */
static int
dial_other_endpoint(struct fleet *fl, size_t server, uint64_t now,
		    struct fail *f)
{
	struct link *l = &fl->link[server];
	const struct whereabouts from = l->at;

	if (dial(fl, server, l->other.endpoint, f) < 0)
		return -1;
	l->at = l->other;
	l->other = from;
	l->expected = l->at.life != 0;
	l->hangs = false;
	l->placed = now;
	l->dials++;
	if (l->gone == 0)
		l->gone = now;
	fl->changed = true;
	return 0;
}

int
fleet_move(struct fleet *fl, size_t server, const char *endpoint,
	   uint64_t life, uint64_t now, struct fail *f)
{
	struct whereabouts *other = &fl->link[server].other;

	fleet_seek(fl, server, endpoint);
	fl->link[server].dials = 0;
	other->life = life;
	other->term = fl->link[server].at.term;
	other->holds = true;
	return dial_other_endpoint(fl, server, now, f);
}

static bool
is_endpoint(const char *endpoint, const char *of)
{
	return of && strcmp(endpoint, of) == 0;
}

/*
 * The server with the variables may yet answer at its endpoint, as a standby
 * that took over does after the coordinator was started again.  Who registered
 * elsewhere is looked for in turn with it.
 */
static void
seek_registrar(struct fleet *fl, size_t server, uint64_t peer,
	       const char *endpoint)
{
	struct whereabouts *other = &fl->link[server].other;

	if (!is_endpoint(endpoint, other->endpoint))
		fleet_seek(fl, server, endpoint);
	other->registrar = peer;
}

int
fleet_register(struct fleet *fl, uint64_t server, uint64_t peer,
	       const char *endpoint, uint64_t now, struct fail *f)
{
	struct link *l;
	int r = 0;

	if (server >= fl->count)
		return fail(f, FAIL_CONFIG, "there is no server %llu in this "
			    "run, which has %zu", (unsigned long long)server,
			    fl->count);
	l = &fl->link[server];
	if (!is_endpoint(endpoint, l->at.endpoint)) {
		if (l->welcome)
			return fail_elsewhere(fl, server, f);
		if (l->at.life && !l->answered) {
			seek_registrar(fl, server, peer, endpoint);
			return 0;
		}
		/* The server that registered first may yet be the right one. */
		if (is_endpoint(endpoint, l->other.endpoint))
			r = dial_other_endpoint(fl, server, now, f);
		else if ((r = fleet_place(fl, server, endpoint, f)) == 0 &&
			 l->at.registrar != peer)
			refuse_registrar(fl, server, &l->at.registrar);
		if (r < 0)
			return -1;
	}
	l->at.registrar = peer;
	return 0;
}

void
fleet_up(struct fleet *fl, uint64_t peer, uint64_t now)
{
	struct link *l = find(fl, peer);
	struct message m = message_hello(ROLE_COORDINATOR,
					 (uint64_t)(l - fl->link), fl->life,
					 fl->term);

	l->up = l->awaited = true;
	l->welcome = false;
	l->since = l->asked = now;
	if (!l->hangs)
		l->heard = now;
	m.blob = (struct frame){ fl->run, PLAN_RUN, NULL };
	outbox_send(fl->outbox, peer, &m);
}

void
fleet_down(struct fleet *fl, uint64_t peer, uint64_t now)
{
	struct link *l = find(fl, peer);

	l->up = l->welcome = false;
	l->since = now;
	/* The time at this endpoint begins anew only for a server that has its
	   variables: one without them may come and go for ever. */
	if (l->at.holds)
		l->placed = now;
	if (l->gone == 0 && l->greeted)
		l->gone = now;
}

/* ---- asks ---- */

static void
send_ask(struct fleet *fl, const struct ask *ask, size_t i)
{
	struct message m = ask->message;

	if (m.kind == MESSAGE_PLAN) {
		m.plan.server = i;
		m.plan.standby = fl->link[i].standby;
		m.plan.journal = fl->journal;
	}
	if (m.kind == MESSAGE_SAVE)
		m.cut.part = i;
	if (m.kind == MESSAGE_MARK) {
		m.mark.step = fl->link[i].low;
		m.mark.journal = fl->journal;
	}
	if (m.kind == MESSAGE_VOID)
		m.voided.journal = fl->journal;
	if (m.kind == MESSAGE_STOP && fl->spares && !fl->link[i].at.holds)
		m.kind = MESSAGE_BYE;
	m.blob.data = ask->blob;
	outbox_send(fl->outbox, fl->link[i].peer, &m);
}

/* An ask that is not in use, reused or new. */
static struct ask *
free_ask(struct fleet *fl)
{
	struct ask *ask;

	for (size_t i = 0; i < fl->asks; i++)
		if (fl->ask[i]->kind == 0)
			return fl->ask[i];
	ask = mem_alloc(1, sizeof(*ask));
	ask->answered = mem_alloc(fl->count, sizeof(*ask->answered));
	ask->saved = mem_alloc(fl->count, sizeof(*ask->saved));
	fl->ask = mem_grow(fl->ask, fl->asks, &fl->ask_room,
			   sizeof(struct ask *));
	fl->ask[fl->asks++] = ask;
	return ask;
}

void
fleet_ask(struct fleet *fl, const struct message *m)
{
	struct ask *ask = free_ask(fl);

	ask->kind = m->kind;
	ask->number = ++fl->numbered;
	ask->message = *m;
	ask->message.request = ask->number;
	if (m->blob.size > 0)
		memcpy(ask->blob, m->blob.data, m->blob.size);
	ask->unanswered = fl->count;
	ranges_release(&ask->missing);
	ask->failed = false;
	ask->since = 0;
	for (size_t i = 0; i < fl->count; i++) {
		ask->answered[i] = m->kind == MESSAGE_LOAD &&
			fl->link[i].at.holds;
		ask->unanswered -= ask->answered[i];
		if (fl->link[i].welcome && !ask->answered[i])
			send_ask(fl, ask, i);
	}
}

void
fleet_spare(struct fleet *fl)
{
	fl->spares = true;
}

void
fleet_forget(struct fleet *fl)
{
	for (size_t i = 0; i < fl->asks; i++)
		fl->ask[i]->kind = 0;
}

bool
fleet_asking(const struct fleet *fl, enum message_kind kind)
{
	for (size_t i = 0; i < fl->asks; i++)
		if (fl->ask[i]->kind == kind)
			return true;
	return false;
}

const struct ask *
fleet_late(const struct fleet *fl, size_t *server, uint64_t *since)
{
	const struct ask *late = NULL;

	for (size_t i = 0; i < fl->asks; i++) {
		const struct ask *ask = fl->ask[i];

		if (ask->kind != 0 && ask->unanswered > 0 && ask->since > 0 &&
		    (!late || ask->number < late->number))
			late = ask;
	}
	if (!late)
		return NULL;
	*server = 0;
	while (late->answered[*server])
		++*server;
	*since = late->since;
	return late;
}

static struct ask *
find_ask(struct fleet *fl, uint64_t number)
{
	for (size_t i = 0; i < fl->asks; i++)
		if (fl->ask[i]->kind != 0 && fl->ask[i]->number == number)
			return fl->ask[i];
	return NULL;
}

static void
read_standing(struct link *l, const struct message *m, uint64_t term)
{
	struct standing *s = &l->standing;
	const struct frame *steps = &m->frame[0];

	free(s->steps);
	*s = (struct standing){ .low = m->ok.mark, .round = m->ok.round,
				.initial = m->ok.initial,
				.standby = m->ok.standby };
	if (m->frames > 0 && steps->size > 0 && steps->size <= WINDOW_BYTES) {
		s->steps = mem_alloc(steps->size, 1);
		s->bytes = steps->size;
		memcpy(s->steps, steps->data, steps->size);
	}
	l->at.term = term;
	l->high = m->ok.above;
}

/* Add the replicas that this server lacks.  The peer's numbers are bounded, so
   that they cannot make the ranges grow without end. */
static void
add_missing(struct ask *ask, const struct frame *slots)
{
	struct unpack u = unpack_from(slots->data, slots->size);
	const uint32_t count = unpack_array(&u);

	for (uint32_t i = 0; i < count && !u.bad; i++) {
		const uint64_t slot = unpack_below(&u, WIRE_REPLICAS);

		if (!u.bad && !ranges_has(&ask->missing, slot))
			ranges_add(&ask->missing, slot, 1);
	}
}

static void
take_answer(struct fleet *fl, size_t i, const struct message *m,
	    const struct ask **ended)
{
	struct ask *ask = find_ask(fl, m->request);
	char text[MESSAGE_BLOB + 1];

	if (!ask || ask->answered[i] || !fl->link[i].welcome)
		return;		/* an answer that overtook WELCOME: it will be
				   asked again */
	message_text(m, text, sizeof(text));
	if (m->kind == MESSAGE_REFUSED && !ask->failed) {
		ask->failed = true;
		fail(&ask->why, message_status(m->refused.status),
		     "server %zu (%s): %.300s", i, fleet_endpoint(fl, i),
		     text);
	} else if (m->kind == MESSAGE_SAVED) {
		ask->saved[i].size = m->saved.size;
		snprintf(ask->saved[i].hash, sizeof(ask->saved[i].hash),
			 "%.60s", text);
	}
	if (m->kind == MESSAGE_MISSING)
		add_missing(ask, &m->frame[0]);
	if (ask->kind == MESSAGE_PLAN && m->kind == MESSAGE_OK)
		read_standing(&fl->link[i], m, fl->term);
	if (ask->kind == MESSAGE_MARK)
		fl->link[i].acked = fl->link[i].low;
	ask->answered[i] = true;
	if (--ask->unanswered > 0)
		return;
	ask->kind = 0;
	*ended = ask;
}

/* A standby answers that is not the one counted on, or has lost its variables:
   it is not the server.  That is an error only if the server was never seen and
   there is no second endpoint where it could be. */
static int
note_standby_only(struct fleet *fl, size_t i, struct fail *f)
{
	struct link *l = &fl->link[i];

	if (!l->greeted && !l->other.endpoint)
		return fail(f, FAIL_AGAIN, "server %zu (%s): a standby, which "
			    "was not promoted", i, fleet_endpoint(fl, i));
	fl->changed = fl->changed || l->greeted;
	l->only_standby = true;
	l->at.holds = false;
	l->at.life = 0;
	return 0;
}

/* A server knows of more records than the journal has.  Records are safe on
   disk before servers learn of them: so this is not the whole journal. */
static int
fail_journal(struct fleet *fl, size_t i, const struct message *m,
	     struct fail *f)
{
	fl->stale = true;
	return fail(f, FAIL_DATA, "server %zu (%s) knows of %llu records of "
		    "this run's journal, which has %llu: the journal was cut "
		    "short, or is an older one. Put the right one in its "
		    "place, or remove it to begin anew", i, fleet_endpoint(fl,
		    i),
		    (unsigned long long)m->welcome.journal,
		    (unsigned long long)fl->journal);
}

static int
take_welcome(struct fleet *fl, size_t i, const struct message *m,
	     struct fail *f)
{
	struct link *l = &fl->link[i];

	if (m->welcome.version != WIRE_VERSION ||
	    (m->welcome.role != ROLE_SERVER &&
	     m->welcome.role != ROLE_STANDBY))
		return fail(f, FAIL_PROTOCOL, "server %zu (%s) is not a "
			    "ps-serve of this "
			    "release", i, fleet_endpoint(fl, i));
	const bool ours = m->blob.size == PLAN_RUN &&
		memcmp(m->blob.data, fl->run, PLAN_RUN) == 0;
	const bool other = l->at.life && (l->at.life != m->welcome.life ||
					  (l->expected && !ours));
	const bool placed = ours && m->welcome.plan != WIRE_NONE &&
		m->welcome.index == i;

	if (m->welcome.role == ROLE_STANDBY &&
	    (!placed || !l->at.holds || other))
		return note_standby_only(fl, i, f);
	if (ours && m->welcome.journal > fl->journal)
		return fail_journal(fl, i, m, f);
	/* A new life has the variables if it read them from the server's log,
	   and the log is not of an earlier term than the last PLAN that the
	   server took.  Its answer to PLAN says which steps it has. */
	if (other) {
		l->at.holds = l->at.holds && placed &&
			m->welcome.term >= l->at.term;
		fl->changed = true;
	}
	l->at.life = m->welcome.life;
	l->welcome = l->greeted = l->answered = true;
	refuse_registrar(fl, i, &l->other.registrar);
	l->dials = 0;
	l->expected = l->only_standby = l->hangs = false;
	for (size_t k = 0; k < fl->asks; k++) {
		const struct ask *ask = fl->ask[k];

		/* A server that has become another one can only stop. */
		if (ask->kind != 0 && !ask->answered[i] &&
		    (!other || ask->kind == MESSAGE_STOP ||
		     ask->kind == MESSAGE_BYE))
			send_ask(fl, ask, i);
	}
	return 0;
}

/* A message came: the server is not silent.  An answer gives a trip, too. */
static void
end_silence(struct link *l, const struct message *m, uint64_t now)
{
	const bool answer = m->kind == MESSAGE_WELCOME ||
		m->kind == MESSAGE_PONG;

	if (answer && l->awaited && now - l->asked < l->trip)
		l->trip = now - l->asked;
	l->awaited = false;
	l->heard = now;
}

int
fleet_receive(struct fleet *fl, uint64_t peer, const struct message *m,
	      uint64_t now, const struct ask **ended, struct fail *f)
{
	struct link *l = find(fl, peer);
	const size_t i = (size_t)(l - fl->link);
	char text[MESSAGE_BLOB + 1];

	*ended = NULL;
	end_silence(l, m, now);
	if (m->kind == MESSAGE_WELCOME)
		return take_welcome(fl, i, m, f);
	if (m->kind == MESSAGE_REFUSED &&
	    (m->request == 0 || (m->request == WIRE_NONE && l->welcome &&
				 m->refused.status == FAIL_AGAIN))) {
		message_text(m, text, sizeof(text));
		return fail(f, message_status(m->refused.status),
			    "server %zu (%s): %s", i, fleet_endpoint(fl, i),
			    text);
	}
	if (m->kind == MESSAGE_OK || m->kind == MESSAGE_SAVED ||
	    m->kind == MESSAGE_MISSING || m->kind == MESSAGE_REFUSED)
		take_answer(fl, i, m, ended);
	return 0;
}

/*
 * How long, in ms, a server is looked for at one endpoint: a lease at first,
 * then twice as long each time, up to a quarter of the patience.  So a server
 * whose answer takes longer than a lease is found, too.  An endpoint with only
 * a standby is left at once, and one that cannot be connected to soon if
 * somebody who registered waits at the other.
 */
static uint64_t
search_ms(const struct link *l, uint64_t lease, uint64_t patience)
{
	uint64_t ms = lease;

	if (l->only_standby)
		return REDIAL_MS;
	if (l->other.registrar && !l->up)
		return lease < CONNECT_MS ? lease : CONNECT_MS;
	for (unsigned i = 1; i < l->dials && 2 * ms <= patience / 4; i++)
		ms *= 2;
	return ms;
}

/* Is it time to look for the server at its second endpoint? */
static bool
is_time_to_turn(const struct link *l, uint64_t now, uint64_t lease,
		uint64_t patience)
{
	return l->other.endpoint && !l->welcome &&
		now - l->placed >= search_ms(l, lease, patience);
}

void
fleet_skip_pause(struct fleet *fl, uint64_t now, uint64_t pause)
{
	fl->began = pause_skip(fl->began, now, pause);
	for (size_t i = 0; i < fl->count; i++) {
		struct link *l = &fl->link[i];

		l->asked = now;
		if (l->gone)
			l->gone = pause_skip(l->gone, now, pause);
	}
}

bool
fleet_hangs(const struct fleet *fl, size_t server)
{
	return fl->link[server].hangs;
}

/* Is the server at PLAN or LOAD, which may take longer than a lease? */
static bool
is_loading(const struct fleet *fl, size_t server)
{
	for (size_t i = 0; i < fl->asks; i++)
		if ((fl->ask[i]->kind == MESSAGE_PLAN ||
		     fl->ask[i]->kind == MESSAGE_LOAD) &&
		    !fl->ask[i]->answered[server])
			return true;
	return false;
}

/* The I/O thread of a server that hangs still runs, so the connection does not
   break by itself: break it and dial again. */
static void
redial(struct fleet *fl, size_t server, uint64_t now)
{
	struct link *l = &fl->link[server];
	struct fail none;

	l->hangs = true;
	if (l->gone == 0)
		l->gone = now;
	l->since = now;
	if (dial(fl, server, l->at.endpoint, &none) < 0)
		l->up = l->welcome = false;
}

/* -1: the server was not there in time, or has been gone for too long. */
static int
check_present(const struct fleet *fl, size_t i, uint64_t now, uint64_t timeout,
	      uint64_t patience, struct fail *f)
{
	const struct link *l = &fl->link[i];

	if (!l->at.endpoint && now - fl->began >= timeout)
		return fail(f, FAIL_PEER, "server %zu did not register "
			    "within %g s: is it running, with -c and "
			    "-i %zu?", i, (double)timeout / 1000, i);
	if (!l->greeted && !l->gone && now - fl->began >= timeout)
		return fail(f, FAIL_PEER, "server %zu (%s) does not "
			    "answer within %g s: is it running?", i,
			    fleet_endpoint(fl, i), (double)timeout / 1000);
	if (l->gone && !l->welcome && now - l->gone >= patience)
		return fail(f, FAIL_PEER, "server %zu (%s) %s, last heard "
			    "%.1f s ago", i, fleet_endpoint(fl, i),
			    l->hangs ? "hangs" : "is gone",
			    (double)(now - l->heard) / 1000);
	return 0;
}

int
fleet_tick(struct fleet *fl, uint64_t now, uint64_t lease, uint64_t timeout,
	   uint64_t patience, struct fail *f)
{
	/* The number is not 0, as HELLO's is: if PING overtakes HELLO and is
	   refused, the refusal must not look like one of HELLO. */
	const struct message ping = { .kind = MESSAGE_PING,
				      .request = WIRE_NONE };
	const bool due = now - fl->pinged >= PING_MS ||
		now - fl->pinged >= lease / 4;

	for (size_t i = 0; i < fl->count; i++) {
		struct link *l = &fl->link[i];

		if (is_time_to_turn(l, now, lease, patience) &&
		    dial_other_endpoint(fl, i, now, f) < 0)
			return -1;
		if (check_present(fl, i, now, timeout, patience, f) < 0)
			return -1;
		if (is_loading(fl, i))
			l->asked = now;
		if (l->welcome && l->awaited && now - l->asked >= lease)
			redial(fl, i, now);
		if (!due || !l->welcome)
			continue;
		outbox_send(fl->outbox, l->peer, &ping);
		if (!l->awaited)
			l->asked = now;
		l->awaited = true;
	}
	for (size_t i = 0; i < fl->asks; i++)
		if (fl->ask[i]->since == 0)
			fl->ask[i]->since = now;
	if (due)
		fl->pinged = now;
	return 0;
}

/* ---- what always holds ---- */

static const char *
check_ask(const struct fleet *fl, const struct ask *ask)
{
	size_t unanswered = 0;

	for (size_t i = 0; i < fl->count; i++)
		unanswered += !ask->answered[i];
	if (ask->kind != 0 && unanswered != ask->unanswered)
		return "fleet 1: the count of answers is right";
	if (ask->kind != 0 && ask->unanswered == 0)
		return "fleet 2: a question that all servers have answered is "
			"not asked again";
	return NULL;
}

const char *
fleet_check(const struct fleet *fl)
{
	const char *violation = NULL;

	for (size_t i = 0; i < fl->count; i++) {
		const struct link *l = &fl->link[i];

		if (l->welcome && (!l->up || !l->greeted || !l->peer))
			return "fleet 3: a server that is present has been "
				"dialled, and has answered";
		if (l->welcome && l->only_standby)
			return "fleet 4: a standby is not a server of the run";
		if (l->at.holds && l->at.life == 0)
			return "fleet 6: a server with variables has a known "
				"incarnation";
	}
	for (size_t i = 0; i < fl->asks && !violation; i++)
		violation = check_ask(fl, fl->ask[i]);
	return violation;
}
