/* The coordinator's servers: which are connected, and what they were asked. */
#include "coord/fleet.h"

#include "post.h"

#define LEASE		1000
#define TIMEOUT		5000
#define PATIENCE	8000
#define A		1001	/* as servers 0 and 1 are dialled first */
#define B		1002
#define CALLER		500	/* the peer as which a server registers */
#define TERM		3

static const unsigned char ours[] = "a run, 16 bytes", others[PLAN_RUN];
static struct fleet *fl;
static struct fail f;
static const struct ask *ended;
static uint64_t now;

#define checked(claim)	ok_and_sound(claim, fleet_check(fl), #claim)

static void
begin(const char *second)
{
	char *endpoint[] = { (char *)(uintptr_t)"node:1",
			     (char *)(uintptr_t)second };

	post_clear();
	post_dialled = 0;
	post_deaf = 0;
	now = 100;
	fl = fleet_new(endpoint, 2, ours, TERM, 77, &post, now, &f);
}

static void
end(void)
{
	checked(true);
	fleet_free(fl);
	post_clear();
}

static int
receive(uint64_t peer, const struct message *m)
{
	const int status = fleet_receive(fl, peer, m, now, &ended, &f);
	const char *broken = fleet_check(fl);

	if (broken)
		named(false, broken);
	return status;
}

/* Returns the WELCOME of a server without variables, or of an incarnation that
   has the run. */
static struct message
welcome_of(uint64_t life, const unsigned char *run)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = life;
	m.welcome.term = TERM;
	m.welcome.plan = run ? 1 : WIRE_NONE;
	m.blob = (struct frame){ run, run ? PLAN_RUN : 0, NULL };
	return m;
}

static int
welcome(uint64_t peer, uint64_t life, const unsigned char *run)
{
	struct message m = welcome_of(life, run);

	m.welcome.index = fleet_server(fl, peer);
	return receive(peer, &m);
}

/* The server is dialled, and connects. */
static bool
comes(uint64_t peer, uint64_t life, const unsigned char *run)
{
	fleet_up(fl, peer, now);
	return says(peer, MESSAGE_HELLO) && welcome(peer, life, run) == 0;
}

static int
tick(void)
{
	const int status = fleet_tick(fl, now, LEASE, TIMEOUT, PATIENCE, &f);

	checked(true);
	return status;
}

/* The server answers the last message with OK or a refusal. */
static int
answer(uint64_t peer, enum message_kind kind)
{
	struct message m = message_answer(&last_posted->m, kind);

	if (kind == MESSAGE_REFUSED)
		m = message_refuse(&last_posted->m, FAIL_DATA, "it is full");
	return receive(peer, &m);
}

static bool
fails(int status, enum fail_kind kind, const char *text)
{
	if (status < 0 && f.kind == kind && strstr(f.text, text))
		return true;
	tap_differ(status < 0 ? f.text : "no error", text);
	return false;
}

static void
greeting(void)
{
	struct message m;

	begin("node:2");
	checked(fleet_size(fl) == 2 && fleet_present(fl) == 0 &&
		fleet_knows(fl, A) && !fleet_knows(fl, 5) &&
		fleet_server(fl, B) == 1);
	equals(fleet_endpoint(fl, 1), "node:2");
	fleet_up(fl, B, now);
	ok(says(B, MESSAGE_HELLO) &&
	   last_posted->m.hello.role == ROLE_COORDINATOR &&
	   last_posted->m.hello.index == 1 &&
	   last_posted->m.hello.term == TERM &&
	   last_posted->m.hello.life == 77 &&
	   strcmp(last_posted->text, "a run, 16 bytes") == 0);
	m = welcome_of(7, NULL);
	m.welcome.version++;
	ok(fails(receive(B, &m), FAIL_PROTOCOL, "not a ps-serve of this"));
	m = welcome_of(7, NULL);
	m.welcome.role = ROLE_COORDINATOR;
	ok(fails(receive(B, &m), FAIL_PROTOCOL, "not a ps-serve of this"));
	m.welcome.role = ROLE_STANDBY;
	ok(fails(receive(B, &m), FAIL_AGAIN, "a standby, which was not"));
	now += 30;
	ok(fleet_trip(fl, 1) != WIRE_NONE && fleet_trip(fl, 0) == WIRE_NONE);
	checked(comes(B, 7, NULL) && fleet_present(fl) == 1 &&
		!fleet_welcome(fl) && fleet_present_at(fl, 1));
	named(!fleet_changed(fl),
	      "a server that connects for the first time has not changed");
	checked(comes(A, 6, NULL) && fleet_welcome(fl));
	ok(fleet_incarnation(fl, 0) == 6 && fleet_incarnation(fl, 1) == 7);
	m = message_refuse(&(struct message){ .request = 0 }, FAIL_DENIED,
			   "no");
	ok(fails(receive(A, &m), FAIL_DENIED, "server 0 (node:1): no"));
	m.request = WIRE_NONE;
	equals(receive(A, &m), 0);
	m.refused.status = FAIL_AGAIN;
	named(fails(receive(A, &m), FAIL_AGAIN, "no"),
	      "the refusal of a PING tells that another coordinator has the "
	      "server");
	fleet_send(fl, 1, &m);
	ok(says(B, MESSAGE_REFUSED));
	fleet_down(fl, B, now);
	fleet_send(fl, 1, &m);
	named(silent(), "a disconnected server is sent nothing");
	end();
}

/* Server 1 was lost at node:2, and its standby at node:3; both are started
   again as servers and register, and the second one is lost again. */
static void
registered_twice(void)
{
	begin(NULL);
	comes(A, 6, NULL);
	ok(fleet_register(fl, 1, CALLER, "node:2", now, &f) == 0);
	ok(comes(B, 7, NULL) && fleet_move(fl, 1, "node:3", 8, now, &f) ==
	   0);
	post_clear();
	ok(fleet_register(fl, 1, CALLER, "node:3", now, &f) == 0 &&
	   fleet_register(fl, 1, CALLER + 1, "node:2", now, &f) == 0);
	named(strcmp(fleet_endpoint(fl, 1), "node:3") == 0,
	      "the standby that took over keeps its time to answer");
	now += 2 * LEASE;
	equals(tick(), 0);
	named(strcmp(fleet_endpoint(fl, 1), "node:2") == 0,
	      "the other registered endpoint is dialled when the standby does "
	      "not answer");
	now += 2 * LEASE;
	equals(tick(), 0);
	named(strcmp(fleet_endpoint(fl, 1), "node:3") == 0,
	      "the endpoint that registered first is dialled in its turn");
	post_clear();
	ok(comes(1000 + post_dialled, 9, NULL) &&
	   says(CALLER + 1, MESSAGE_REFUSED));
	end();
}

/* The coordinator is started again, while server 1 is a standby that took over
   at node:3, and its predecessor, started again, registers from node:2. */
static void
registered_first(bool there)
{
	const uint64_t long_lease = 4 * LEASE;

	begin(NULL);
	comes(A, 6, NULL);
	ok(fleet_place(fl, 1, "node:3", &f) == 0);
	fleet_resume(fl, 1, 8, TERM);
	ok(fleet_register(fl, 1, CALLER, "node:2", now, &f) == 0);
	now += 2 * LEASE - 1;
	equals(fleet_tick(fl, now, long_lease, TIMEOUT, PATIENCE, &f), 0);
	if (there)
		fleet_up(fl, 1000 + post_dialled, now);
	now++;
	equals(fleet_tick(fl, now, long_lease, TIMEOUT, PATIENCE, &f), 0);
	if (there) {
		post_clear();
		ok(comes(1000 + post_dialled, 8, ours) &&
		   says(CALLER, MESSAGE_REFUSED));
		named(fleet_holds(fl, 1),
		      "the server that has the variables is found");
	} else {
		named(strcmp(fleet_endpoint(fl, 1), "node:2") == 0,
		      "an endpoint where nothing listens is given up before a "
		      "whole lease");
		post_clear();
		ok(comes(1000 + post_dialled, 9, NULL));
		named(!fleet_holds(fl, 1),
		      "the server that registered has no variables");
	}
	end();
}

static void
registration(void)
{
	begin(NULL);
	checked(!fleet_welcome(fl) &&
		strcmp(fleet_endpoint(fl, 1), "not registered") == 0);
	ok(fails(fleet_register(fl, 2, CALLER, "node:9", now, &f), FAIL_CONFIG,
		 "there is no server 2 in this run, which has 2"));
	post_cannot_dial = true;
	ok(fails(fleet_register(fl, 1, CALLER, "node:2", now, &f), FAIL_PEER,
		 "server 1"));
	post_cannot_dial = false;
	checked(strcmp(fleet_endpoint(fl, 1), "not registered") == 0);
	comes(A, 6, NULL);
	now = 100 + TIMEOUT - 1;
	equals(tick(), 0);
	now++;
	ok(fails(tick(), FAIL_PEER, "server 1 did not register within 5 s"));
	ok(fleet_register(fl, 1, CALLER, "node:2", now, &f) == 0 &&
	   post_dialled == 2);
	ok(fleet_register(fl, 1, CALLER, "node:2", now, &f) == 0 &&
	   post_dialled == 2);
	ok(fails(tick(), FAIL_PEER, "server 1 (node:2) does not answer"));
	post_clear();
	ok(fleet_register(fl, 1, CALLER + 1, "node:3", now, &f) == 0 &&
	   post_dialled == 3 && post_hung_up == B);
	ok(says(CALLER, MESSAGE_REFUSED));
	named(strcmp(last_posted->text, "server 1 is expected elsewhere, at "
		     "node:3") == 0,
	      "the refused server is told which endpoint is expected");
	ok(fleet_register(fl, 1, CALLER, "node:3", now, &f) == 0);
	post_clear();
	checked(comes(1003, 7, NULL) && fleet_welcome(fl));
	named(fails(fleet_register(fl, 1, CALLER, "node:4", now, &f),
		    FAIL_AGAIN, "server 1 is alive already, at node:3"),
	      "a second server cannot register while the first is connected");
	post_cannot_dial = true;
	ok(fails(fleet_move(fl, 1, "node:6", 9, now, &f), FAIL_PEER,
		 "server 1"));
	post_cannot_dial = false;
	named(strcmp(fleet_endpoint(fl, 1), "node:3") == 0 &&
	      fleet_incarnation(fl, 1) == 7 && fleet_welcome(fl),
	      "a move to an endpoint that cannot be dialled changes nothing");
	ok(silent() && fleet_move(fl, 1, "node:5", 8, now, &f) == 0);
	named(silent(),
	      "a registration is kept while its server is looked for "
	      "elsewhere");
	ok(comes(1004, 8, ours) && says(CALLER, MESSAGE_REFUSED));
	named(last_posted->m.refused.status == FAIL_AGAIN &&
	      strcmp(last_posted->text, "server 1 is alive already, at "
		     "node:5") == 0,
	      "a registration is refused when its server is found elsewhere");
	end();
	registered_twice();
	registered_first(true);
	registered_first(false);
	post_cannot_dial = true;
	begin("node:2");
	ok(!fl && fails(-1, FAIL_PEER, "server 0"));
	post_cannot_dial = false;
}

static struct message
asks(enum message_kind kind)
{
	struct message m = { .kind = kind };

	m.blob = (struct frame){ "step-4", 6, NULL };
	return m;
}

static void
plan(void)
{
	struct message m = asks(MESSAGE_PLAN);
	const unsigned char steps[] = { 5 };
	const struct standing *s;
	uint64_t number;

	begin("node:2");
	fleet_set_standby(fl, 1, 88);
	fleet_kept(fl, 40);
	comes(A, 6, NULL);
	fleet_ask(fl, &m);
	ok(says(A, MESSAGE_PLAN) && last_posted->m.plan.server == 0 &&
	   last_posted->m.plan.standby == 0 &&
	   last_posted->m.plan.journal == 40 &&
	   strcmp(last_posted->text, "step-4") == 0 && silent());
	number = last_posted->m.request;
	ok(answer(A, MESSAGE_OK) == 0 && !ended && fleet_asking(fl,
							MESSAGE_PLAN));
	fleet_up(fl, B, now);
	ok(says(B, MESSAGE_HELLO));
	m = (struct message){ .kind = MESSAGE_OK, .request = number,
			      .frames = 1 };
	m.ok.mark = 20;
	m.ok.round = 21;
	m.ok.above = 23;
	m.ok.standby = 88;
	m.frame[0] = (struct frame){ steps, 1, NULL };
	equals(receive(B, &m), 0);
	named(!ended && welcome(B, 7, NULL) == 0 && says(B, MESSAGE_PLAN) &&
	      last_posted->m.request == number &&
	      last_posted->m.plan.server == 1 &&
	      last_posted->m.plan.standby == 88,
	      "an answer ahead of WELCOME does not count, and a late server "
	      "is sent the PLAN");
	ok(receive(B, &m) == 0 && ended &&
	   ended->message.kind == MESSAGE_PLAN && !ended->failed);
	checked(!fleet_asking(fl, MESSAGE_PLAN));
	s = fleet_standing(fl, 1);
	ok(s->low == 20 && s->round == 21 && s->standby == 88 &&
	   standing_has(s, 20) && !standing_has(s, 21) &&
	   standing_has(s, 22) && !standing_has(s, 19) &&
	   !standing_has(s, 28));
	ok(fleet_term(fl, 1) == TERM && fleet_high_watermark(fl) == 23);
	fleet_set_watermark(fl, 1, 30);
	fleet_stands(fl, 1);
	checked(fleet_watermark(fl, 1) == 20 &&
		fleet_acked_watermark(fl, 1) == 20 &&
		fleet_lowest_acked_watermark(fl) == 0);
	fleet_back(fl, 1, 12);
	checked(fleet_watermark(fl, 1) == 12 &&
		fleet_acked_watermark(fl, 1) == 12 &&
		fleet_high_watermark(fl) == 12);
	end();
}

static void
saves_and_loads(void)
{
	struct message m = asks(MESSAGE_MARK);
	uint64_t since;
	size_t server;

	begin("node:2");
	fleet_kept(fl, 41);
	comes(A, 6, NULL);
	comes(B, 7, NULL);
	fleet_set_watermark(fl, 1, 9);
	fleet_ask(fl, &m);
	ok(says(A, MESSAGE_MARK) && last_posted->m.mark.step == 0 &&
	   answer(A, MESSAGE_OK) == 0 && !ended);
	ok(says(B, MESSAGE_MARK) && last_posted->m.mark.step == 9 &&
	   last_posted->m.mark.journal == 41 &&
	   answer(B, MESSAGE_OK) == 0 && ended &&
	   fleet_acked_watermark(fl, 1) == 9);
	ok(answer(B, MESSAGE_OK) == 0 && !ended);

	m = asks(MESSAGE_VOID);
	fleet_ask(fl, &m);
	ok(!fleet_late(fl, &server, &since));
	now = 500;
	tick();
	ok(fleet_late(fl, &server, &since) && server == 0 && since == 500);
	post_clear();
	fleet_forget(fl);
	checked(!fleet_asking(fl, MESSAGE_VOID) &&
		!fleet_late(fl, &server, &since));

	m = asks(MESSAGE_SAVE);
	fleet_ask(fl, &m);
	ok(says(A, MESSAGE_SAVE) && last_posted->m.cut.part == 0 &&
	   answer(A, MESSAGE_REFUSED) == 0 && !ended);
	ok(says(B, MESSAGE_SAVE) && last_posted->m.cut.part == 1);
	m = message_answer(&last_posted->m, MESSAGE_SAVED);
	m.saved.size = 99;
	m.blob = (struct frame){ "xxh3:1", 6, NULL };
	ok(receive(B, &m) == 0 && ended && ended->failed &&
	   ended->why.kind == FAIL_DATA &&
	   strcmp(ended->why.text, "server 0 (node:1): it is full") == 0);
	ok(ended->saved[1].size == 99 &&
	   strcmp(ended->saved[1].hash, "xxh3:1") == 0);

	fleet_set_loaded(fl, 0);
	checked(fleet_holds(fl, 0) && !fleet_holds(fl, 1));
	m = asks(MESSAGE_LOAD);
	fleet_ask(fl, &m);
	named(says(B, MESSAGE_LOAD) && silent() &&
	      answer(B, MESSAGE_OK) == 0 && ended,
	      "only the server that lacks the values is sent LOAD");
	fleet_set_lost(fl, 0);
	checked(!fleet_holds(fl, 0));
	end();
}

/* A server comes back as this incarnation, and reports this state. */
static void
comes_back(void)
{
	struct message m;

	begin("node:2");
	fleet_resume(fl, 0, 6, TERM);
	fleet_resume(fl, 1, 7, TERM);
	checked(fleet_holds(fl, 0) && fleet_term(fl, 0) == TERM);
	comes(A, 6, ours);
	named(!fleet_changed(fl) && fleet_holds(fl, 0),
	      "a server of the same incarnation still has its values");
	fleet_kept(fl, 4);
	fleet_up(fl, B, now);
	m = welcome_of(8, ours);
	m.welcome.index = 1;
	m.welcome.journal = 5;
	ok(fails(receive(B, &m), FAIL_DATA, "knows of 5 records") &&
	   fleet_stale(fl));
	m.welcome.journal = 4;
	equals(receive(B, &m), 0);
	named(fleet_changed(fl) && !fleet_changed(fl) && fleet_holds(fl, 1),
	      "a new incarnation with a log has changed, and has its values");
	fleet_down(fl, B, now);
	fleet_up(fl, B, now);
	m.welcome.life = 9;
	m.welcome.term = TERM - 1;
	ok(receive(B, &m) == 0 && fleet_changed(fl) && !fleet_holds(fl, 1));
	fleet_set_loaded(fl, 1);
	fleet_down(fl, B, now);
	post_clear();
	ok(comes(B, 9, others) && !fleet_changed(fl));
	fleet_down(fl, A, now);
	ok(comes(A, 6, others) && !fleet_changed(fl) && fleet_holds(fl, 0));
	end();
	begin("node:2");
	fleet_resume(fl, 0, 6, TERM);
	named(comes(A, 6, others) && fleet_changed(fl) && !fleet_holds(fl, 0),
	      "a server that comes back with another run has lost its values");
	end();
}

/* A server that comes back is sent PLAN and STOP again; another incarnation of
   it is only sent STOP. */
static void
asked_again(void)
{
	struct message plan_ask = asks(MESSAGE_PLAN);
	struct message stop = asks(MESSAGE_STOP);

	begin("node:2");
	comes(A, 6, NULL);
	comes(B, 7, NULL);
	fleet_ask(fl, &plan_ask);
	fleet_ask(fl, &stop);
	post_clear();
	fleet_down(fl, A, now);
	ok(comes(A, 6, NULL) && says(A, MESSAGE_PLAN) &&
	   says(A, MESSAGE_STOP) && silent());
	fleet_down(fl, A, now);
	ok(comes(A, 16, NULL) && says(A, MESSAGE_STOP) && silent());
	end();
}

static void
silence(void)
{
	struct message pong = { .kind = MESSAGE_PONG };
	uint64_t heard;

	begin("node:2");
	comes(A, 6, NULL);
	comes(B, 7, NULL);
	now = 349;
	ok(tick() == 0 && silent());
	now = 350;
	ok(tick() == 0 && says(A, MESSAGE_PING) &&
	   last_posted->m.request == WIRE_NONE && says(B, MESSAGE_PING));
	now = 360;
	equals(receive(A, &pong), 0);
	now = 350 + LEASE - 1;
	ok(tick() == 0 && !fleet_hangs(fl, 1));
	equals(fleet_trip(fl, 0), 0);
	now = 350 + LEASE;
	fleet_skip_pause(fl, 400, 0);
	ok(tick() == 0 && !fleet_hangs(fl, 1) && receive(A, &pong) == 0);
	now = 400 + LEASE;
	equals(tick(), 0);
	named(fleet_hangs(fl, 1) && !fleet_hangs(fl, 0) &&
	      post_hung_up == B && fleet_knows(fl, 1003) &&
	      fleet_gone(fl, 1, &heard) == now,
	      "a server that is silent for a lease is dialled again");
	equals(receive(A, &pong), 0);
	fleet_up(fl, 1003, now);
	now += PATIENCE - 1;
	fleet_skip_pause(fl, now, 0);
	equals(tick(), 0);
	now++;
	ok(fails(tick(), FAIL_PEER, "server 1 (node:2) hangs, last heard"));
	post_clear();
	ok(comes(1003, 7, ours) && !fleet_hangs(fl, 1));
	ok(fleet_gone(fl, 1, &heard) > 0);
	fleet_returned(fl);
	ok(fleet_gone(fl, 1, &heard) == 0 && heard == now);
	fleet_down(fl, 1003, now);
	now += PATIENCE;
	fleet_skip_pause(fl, now, PATIENCE - 1);
	named_equals(tick(), 0,
		     "a pause of the coordinator does not count as a server's "
		     "absence");
	now += PATIENCE - 1;
	ok(fails(tick(), FAIL_PEER, "server 1 (node:2) is gone"));
	end();
}

/* A server may make its variables for any time. */
static void
at_length(void)
{
	struct message m = asks(MESSAGE_LOAD);

	begin("node:2");
	comes(A, 6, NULL);
	comes(B, 7, NULL);
	now = 400;
	tick();
	fleet_ask(fl, &m);
	now += 2 * LEASE;
	ok(tick() == 0 && !fleet_hangs(fl, 0));
	fleet_forget(fl);
	now += LEASE;
	post_cannot_dial = true;
	ok(tick() == 0 && fleet_hangs(fl, 0));
	post_cannot_dial = false;
	checked(!fleet_present_at(fl, 0));
	end();
}

static void
moves(void)
{
	struct message m;

	begin("node:2");
	comes(A, 6, NULL);
	comes(B, 7, NULL);
	fleet_set_loaded(fl, 1);
	equals(fleet_elsewhere(fl, 1), "");
	equals(fleet_move(fl, 1, "node:3", 8, now, &f), 0);
	checked(strcmp(fleet_endpoint(fl, 1), "node:3") == 0 &&
		strcmp(fleet_elsewhere(fl, 1), "node:2") == 0 &&
		fleet_incarnation(fl, 1) == 8 && fleet_holds(fl, 1) &&
		fleet_changed(fl) && !fleet_present_at(fl, 1) &&
		post_hung_up == B);
	now += LEASE - 1;
	ok(tick() == 0 && strcmp(fleet_endpoint(fl, 1), "node:3") == 0);
	now++;
	equals(tick(), 0);
	named(strcmp(fleet_endpoint(fl, 1), "node:2") == 0 &&
	      fleet_incarnation(fl, 1) == 7 && fleet_changed(fl),
	      "a server that is not found at the new endpoint is looked for "
	      "at the old one");
	post_clear();
	fleet_up(fl, 1004, now);
	m = welcome_of(7, ours);
	m.welcome.role = ROLE_STANDBY;
	m.welcome.index = 1;
	m.welcome.life = 9;
	ok(says(1004, MESSAGE_HELLO) && receive(1004, &m) == 0);
	checked(!fleet_present_at(fl, 1) && !fleet_holds(fl, 1));
	now += 99;
	ok(tick() == 0 && strcmp(fleet_endpoint(fl, 1), "node:2") == 0);
	now++;
	equals(tick(), 0);
	named(strcmp(fleet_endpoint(fl, 1), "node:3") == 0,
	      "an endpoint where only a standby answers is given up early");
	post_clear();
	checked(comes(1005, 8, ours) && fleet_present_at(fl, 1));
	fleet_seek(fl, 0, "node:5");
	equals(fleet_elsewhere(fl, 0), "node:5");
	fleet_down(fl, A, now);
	now = 100 + LEASE;
	fleet_skip_pause(fl, now, 0);
	post_cannot_dial = true;
	ok(fails(tick(), FAIL_PEER, "server 0"));
	post_cannot_dial = false;
	end();
}

int
main(void)
{
	greeting();
	registration();
	plan();
	saves_and_loads();
	comes_back();
	asked_again();
	silence();
	at_length();
	moves();
	return tap_done();
}
