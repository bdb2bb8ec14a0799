#include "host.h"
#include "files.h"
#include "task.h"
#include "trace.h"

#include "base/mem.h"
#include "prog/saver.h"
#include "prog/wal.h"
#include "server/server.h"
#include "wire/keys.h"

#include <stdio.h>
#include <string.h>

#define LEAVE_MS	1000	/* it waits for its standby, as ps-serve does */
#define IDLE_MS		900000	/* as ps-serve */
#define MEMORY		((uint64_t)1 << 30)
#define PROBE		UINT64_MAX	/* the peer that host_server_values()
					   pulls as */

struct host_server {
	struct server *server;
	struct saver *saver;
	struct wal *log;
	char folder[128];
	uint64_t leaves_at;	/* after it got STOP; or 0 */
	uint64_t coordinator;	/* where it registers, a peer; or 0 */
	size_t index;
	char endpoint[16];
	uint64_t life;
	bool unwanted;
	struct fail why;
	/* The rest is for host_server_values(). */
	struct outbox *outbox, out;
	struct holding *holding;
	const struct plan *plan;
	size_t part;
	uint64_t term;
	bool answered, refused;
};

/* ---- the server's values ---- */

/* Takes the values of the part that was pulled: the pieces of tables first, in
   order, then the dense ones. */
static void
take_values(struct host_server *h, const struct message *m)
{
	const struct part *part = &h->plan->part[h->part];
	const float *value = m->frame[0].data;
	const float *end = value + m->frame[0].size / sizeof(float);
	struct holding *hold = h->holding;

	for (size_t i = part->first; i < part->first + part->count; i++) {
		const struct piece *p = &h->plan->piece[i];
		const bool counts = host_counts_steps(
			hold->model[p->variable].name);
		const bool odd = host_is_of_attempts(
			hold->model[p->variable].name);
		const bool wide =
			host_is_wide(hold->model[p->variable].name);
		const bool second = p->variable == hold->variable[1];
		const bool visits = p->table && hold->visits &&
			(second || p->variable == hold->variable[0]);
		const uint64_t first = second ? hold->records : 0;

		for (size_t k = 0; k < p->count && value < end; k++, value++) {
			const float steps = !wide ? *value :
				host_wide_steps(hold->uneven, p->first + k,
						*value);

			if (wide && hold->unsure)
				continue;
			if (odd) {
				hold->odd += (double)*value;
				continue;
			}
			if (counts) {
				hold->counted += *value;
				continue;
			}
			if (visits) {
				hold->visits[first + p->first + k] +=
					(double)*value;
				continue;
			}
			hold->sum += wide ? 0 : (double)*value;
			hold->least = steps < hold->least ? steps :
				hold->least;
			hold->most = steps > hold->most ? steps : hold->most;
		}
	}
	h->answered = m->frame[0].size > 0 && value == end;
}

static int
send_out(void *to, uint64_t peer, const struct message *m)
{
	struct host_server *h = to;

	if (peer != PROBE)
		return outbox_reaches(h->outbox, peer, m) ? 0 : -1;
	h->refused = h->refused || m->kind == MESSAGE_REFUSED;
	if (m->kind == MESSAGE_WELCOME)
		h->term = m->welcome.term;
	if (m->kind == MESSAGE_VALUES && m->frames > 0)
		take_values(h, m);
	return 0;
}

static int
dial_out(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	const struct host_server *h = to;

	return outbox_dial(h->outbox, endpoint, peer, f);
}

static void
hang_up_out(void *to, uint64_t peer)
{
	const struct host_server *h = to;

	outbox_hang_up(h->outbox, peer);
}

static void
ask_part(struct host_server *h, size_t part, uint64_t now)
{
	struct message m = { .kind = MESSAGE_PULL, .frames = 1 };
	const struct part *p = &h->plan->part[part];
	struct pack keys = { 0 };
	uint64_t row[1024];

	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct piece *piece = &h->plan->piece[i];

		if (!piece->table)
			continue;
		for (size_t k = 0; k < piece->count; k++)
			row[k] = k;
		keys_write(&keys, row, piece->count, 0);
	}
	m.pull.run = plan_run(h->plan);
	m.pull.term = h->term;
	m.pull.plan = h->plan->number;
	m.pull.part = part;
	m.pull.cut = WIRE_NONE;
	m.frame[0] = (struct frame){ keys.data, keys.size, NULL };
	h->part = part;
	h->answered = false;
	server_receive(h->server, PROBE, &m, now);
	pack_release(&keys);
}

bool
host_server_values(struct host_server *h, const struct plan *plan,
		   size_t index, struct holding *holding, uint64_t now)
{
	struct message m = { .kind = MESSAGE_HELLO };
	bool all = true;

	h->plan = plan;
	h->holding = holding;
	h->refused = false;
	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_EVALUATOR;
	m.blob = (struct frame){ plan->run, PLAN_RUN, NULL };
	server_receive(h->server, PROBE, &m, now);
	for (size_t i = 0; i < plan->parts && !h->refused; i++) {
		if (plan->part[i].server != index)
			continue;
		ask_part(h, i, now);
		all = all && h->answered;
	}
	h->plan = NULL;
	return all && !h->refused;
}

/* ---- the program ---- */

struct host_server *
host_server_new(const struct site *site, struct outbox *outbox, size_t index,
		const char *endpoint, const char *primary, uint64_t life,
		int *status)
{
	const struct scenario *s = site->scenario;
	const bool files = s->o.checkpoint || s->wal[index];
	struct host_server *h = mem_alloc(1, sizeof(*h));

	snprintf(h->folder, sizeof(h->folder), "%s/ck", site->folder);
	h->outbox = outbox;
	h->out = (struct outbox){ .send = send_out, .dial = dial_out,
				   .hang_up = hang_up_out, .to = h };
	h->server = server_new(life, s->o.lease_ms, &h->out);
	server_limit(h->server, MEMORY, NULL);
	h->saver = saver_new(files ? h->folder : NULL, s->wal[index]);
	h->index = index;
	snprintf(h->endpoint, sizeof(h->endpoint), "%s", endpoint);
	h->life = life;
	if (s->registers && !primary)	/* ps-serve forbids both */
		outbox_dial(outbox, s->o.endpoint, &h->coordinator, &h->why);
	server_saves(h->server, saver_can, h->saver);
	if ((!s->wal[index] ||
	     (h->log = wal_open(h->folder, index, h->server,
				&h->why))) &&
	    (!primary || server_follow(h->server, primary, endpoint,
				       &h->why) == 0))
		return h;
	trace("cannot begin: %s", h->why.text);
	*status = (int)h->why.kind;
	host_server_free(h);
	return NULL;
}

void
host_server_free(struct host_server *h)
{
	files_full(true);
	sim_task_abandon(true);
	saver_free(h->saver);
	wal_close(h->log);
	sim_task_abandon(false);
	files_full(false);
	server_free(h->server);
	free(h);
}

/* Does what lib/prog/registration.c does. */
static void
receive_registrar(struct host_server *h, const struct packet *p)
{
	struct message m = { .kind = MESSAGE_HELLO, .frames = 1 };
	char text[MESSAGE_BLOB + 1];

	if (p->kind == PACKET_UP) {
		m.hello.version = WIRE_VERSION;
		m.hello.role = ROLE_SERVER;
		m.hello.index = h->index;
		m.hello.life = h->life;
		m.frame[0] = (struct frame){ h->endpoint,
					     strlen(h->endpoint), NULL };
		outbox_send(h->outbox, h->coordinator, &m);
	} else if (p->kind == PACKET_MESSAGE &&
		   p->message.kind == MESSAGE_REFUSED) {
		message_text(&p->message, text, sizeof(text));
		fail(&h->why, message_status(p->message.refused.status),
		     "the coordinator refuses us: %s", text);
		h->unwanted = true;
	}
}

void
host_server_receive(struct host_server *h, const struct packet *p, uint64_t now)
{
	if (h->coordinator && p->peer == h->coordinator) {
		receive_registrar(h, p);
		return;
	}
	if (p->kind == PACKET_UP)
		server_up(h->server, p->peer);
	else if (p->kind == PACKET_LEFT)
		server_ping_standbys(h->server);
	else if (p->kind == PACKET_MESSAGE)
		server_receive(h->server, p->peer, &p->message, now);
}

static int
act(struct host_server *h, struct fail *f)
{
	do {
		server_flush(h->server);
		if (h->log && wal_run(h->log, h->server, f) < 0)
			return -1;
	} while (saver_run(h->saver, h->server));
	return server_over(h->server, f) ? -1 : 0;
}

int
host_server_act(struct host_server *h, uint64_t now)
{
	if (h->leaves_at == 0) {
		if (h->unwanted || act(h, &h->why) < 0) {
			trace("ends: %s", h->why.text);
			return (int)h->why.kind;
		}
		server_look(h->server, now);
		if (server_check_idle(h->server, IDLE_MS, h->endpoint,
				      &h->why) < 0) {
			trace("ends: %s", h->why.text);
			return (int)h->why.kind;
		}
		if (server_stopping(h->server)) {
			h->leaves_at = now + LEAVE_MS;
			trace("leaves%s: %s", server_has_run(h->server, now) ?
			      " a run" : "", server_state(h->server));
		}
	}
	return h->leaves_at > 0 && (!server_awaits(h->server) ||
				    now >= h->leaves_at) ? 0 : HOST_RUNS;
}

const struct fail *
host_server_why(const struct host_server *h)
{
	return &h->why;
}

const char *
host_server_check(const struct host_server *h)
{
	return server_check(h->server);
}
