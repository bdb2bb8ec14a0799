/*
 * coordinator - a coordinator whose run has begun.  The test plays its server
 * and its workers, to test one part of the coordinator through the part's own
 * header.
 */
#ifndef PS_COORDINATOR_H
#define PS_COORDINATOR_H

#include "coord/coord.h"

#include "coord/coord_ending.h"
#include "coord/coord_members.h"
#include "coord/coord_private.h"
#include "wire/result.h"

#include "model_fixture.h"
#include "post.h"

#define SERVER	(1000 + post_dialled)	/* the peer that was dialled last */

static struct model_fixture fixture;
static struct coord *c;
static struct coord_options options;
/* The time at which a coordinator begins; a test may define another one. */
#ifndef UPTIME
#define UPTIME	1000
#endif

static uint64_t now;
static struct fail f;

static inline void
check_all(void)
{
	const char *broken = coord_check(c, now);

	if (broken)
		named(false, broken);
}

/* Starts a coordinator; options that the test has not set get these values. */
static inline void
coordinator_new(const char *model)
{
	static char *endpoint[] = { (char *)(uintptr_t)"node:1",
				    (char *)(uintptr_t)"node:2" };

	fixture_begin(&fixture, model);
	now = UPTIME;
	post_clear();
	post_skips = MESSAGE_PING;
	options.endpoint = "node:0";
	options.server = endpoint;
	options.servers = options.servers ? options.servers : 1;
	options.batch = 4;
	options.pack = options.pack ? options.pack : 1;
	options.in_flight = 2;
	options.min_workers = options.min_workers ? options.min_workers : 1;
	options.timeout_ms = 5000;
	options.patience_ms = 8000;
	options.lease_ms = 1000;
	options.grace_ms = 7000;
	c = coord_new(&options, &fixture.source, fixture.model, &post, now, &f);
}

static inline void
coordinator_hears(uint64_t peer, const struct message *m)
{
	coord_receive(c, peer, m, now);
	check_all();
}

/* Returns the peer of a server: servers are dialled in order, each once. */
static inline uint64_t
server_at(size_t i)
{
	return SERVER - options.servers + 1 + i;
}

/* All servers answer the last message of this kind with OK. */
static inline bool
server_does(enum message_kind kind)
{
	bool asked = true;
	struct message m;

	for (size_t i = 0; i < options.servers; i++) {
		asked = asked && says(server_at(i), kind);
		m = message_answer(&last_posted->m, MESSAGE_OK);
	}
	m.ok.initial = 1;
	for (size_t i = 0; asked && i < options.servers; i++)
		coordinator_hears(server_at(i), &m);
	return asked;
}

/* All servers connect, as this incarnation. */
static inline void
servers_greet(uint64_t life)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = life;
	for (size_t i = 0; i < options.servers; i++) {
		coord_up(c, server_at(i), now);
		ok(says(server_at(i), MESSAGE_HELLO));
		coordinator_hears(server_at(i), &m);
	}
}

/* Brings the run to the point where servers have the plan and steps are
   leased. */
static inline void
coordinator_begin(const char *model)
{
	coordinator_new(model);
	servers_greet(7);
	ok(server_does(MESSAGE_PLAN));
	if (*options.restore)
		ok(server_does(MESSAGE_LOAD));
	post_clear();
}

/* Frees the samplers of the options, too. */
static inline void
coordinator_end(void)
{
	coord_free(c);
	samplers_free(options.samplers);
	post_clear();
	fixture_end(&fixture);
	options = (struct coord_options){ 0 };
}

/* A worker connects, and is sent the plan. */
static inline void
arrives(uint64_t peer)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_WORKER;
	m.hello.index = WIRE_NONE;
	m.hello.life = peer;
	coordinator_hears(peer, &m);
	ok(says(peer, MESSAGE_WELCOME) && says(peer, MESSAGE_PLAN));
}

static inline void
is_ready(uint64_t peer)
{
	const struct message m = { .kind = MESSAGE_READY };

	coordinator_hears(peer, &m);
}

static inline void
joins(uint64_t peer)
{
	arrives(peer);
	is_ready(peer);
}

/* Returns the worker of this peer. */
static inline struct member *
at(uint64_t peer)
{
	return members_at(c, peer);
}

static inline bool
text_has(struct text *out, const char *what)
{
	const bool has = out->size > 0 && memmem(out->data, out->size, what,
						 strlen(what));

	if (!has)
		tap_differ(out->size ? out->data : "", what);
	text_reset(out);
	return has;
}

/* Are these the lines of results, or of warnings?  The lines are removed. */
static inline bool
prints(const char *what)
{
	return text_has(coord_output(c), what);
}

static inline bool
warns(const char *what)
{
	return text_has(coord_warnings(c), what);
}

/* Does the run end with this error? */
static inline bool
ends_with(enum fail_kind kind, const char *what)
{
	struct fail why = { 0 };

	return ending_failed(c, &why) && why.kind == kind &&
		strstr(why.text, what);
}

static inline void
ask(const char *line)
{
	static uint64_t number;

	coord_request(c, line, strlen(line), ++number, now);
	coord_tick(c, now);
	check_all();
}

#endif
