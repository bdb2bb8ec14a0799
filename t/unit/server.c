/*
 * A server with peers that the test plays: each step counts once for each part,
 * a message is accepted only from a peer that may send it, and errors are
 * reported and change nothing.
 */
#include "server/server.h"

#include "base/window.h"
#include "wire/keys.h"

#include "code_all.h"
#include "model_fixture.h"
#include "tap.h"

#include <math.h>

#define COORD	1	/* peers */
#define WORKER	2
#define OTHER	3
#define CROWD	1000	/* and up */
#define TERM	4
#define PLAN	6
#define LEASE	500

static const char model[] =
	"input  id id rows=10\n"
	"label  y float\n"
	"e  = embedding id dim=2 embeddings_initializer=zeros\n"
	"p  = dense e units=1 kernel_initializer=zeros\n"
	"loss mean_squared_error p\n"
	"optimizer sgd learning_rate=1\n";

/* The last message of the server, and its receiver. */
static struct said {
	uint64_t peer;
	struct message m;
	char blob[MESSAGE_BLOB + 1];
	float value[64];
	size_t count;
	size_t size;		/* bytes of them */
} said;

static struct model_fixture fixture;
static struct plan plan;
static struct pack model_frame, plan_frame;
static struct server *server;
static uint64_t now, number;
static bool crowd_left;
static const unsigned char run[PLAN_RUN] = "a run, 16 bytes";

static int
record(void *to, uint64_t peer, const struct message *m)
{
	(void)to;
	if (peer >= CROWD && crowd_left)
		return -1;
	said = (struct said){ .peer = peer, .m = *m };
	message_text(m, said.blob, sizeof(said.blob));
	if (m->frames == 1) {
		said.size = m->frame[0].size;
		said.count = m->frame[0].size / sizeof(float);
		memcpy(said.value, m->frame[0].data, m->frame[0].size);
	}
	return 0;
}

/* Bytes that wait to be read, for any peer. */
static size_t unread;

static size_t
count_unread(void *to, uint64_t peer)
{
	(void)to;
	(void)peer;
	return unread;
}

static struct outbox outbox = { .send = record, .unread = count_unread };

/* Delivers a message; returns the kind of the answer. */
static enum message_kind
tell(uint64_t peer, struct message m)
{
	said = (struct said){ 0 };
	m.request = ++number;
	server_receive(server, peer, &m, now);
	return said.m.request == number && said.peer == peer ?
		said.m.kind : (enum message_kind)0;
}

static bool
refuses(uint64_t peer, struct message m, enum fail_kind kind,
	const char *why)
{
	if (tell(peer, m) == MESSAGE_REFUSED &&
	    said.m.refused.status == kind && strcmp(said.blob, why) == 0)
		return true;
	printf("# the answer is %s\n", message_name(said.m.kind));
	tap_differ(said.blob, why);
	return false;
}

/* ---- messages to the server ---- */

static struct message
hello(enum role role)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.term = TERM;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	return m;
}

/* A HELLO for a coordinator: from a server, with its endpoint. */
static struct message
hello_without_run(enum role role)
{
	struct message m = hello(role);

	m.hello.term = 0;
	m.blob = (struct frame){ 0 };
	m.frames = role == ROLE_SERVER;
	m.frame[0] = (struct frame){ "node:2", 6, NULL };
	return m;
}

static struct message
plan_message(void)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	m.plan.term = TERM;
	m.plan.plan = PLAN;
	m.plan.seed = 1;
	m.plan.server = 0;
	m.plan.step = 10;
	m.plan.replicas = 2;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return m;
}

/* A plan of the same run, but another one. */
static struct message
other_plan(void)
{
	struct message m = plan_message();

	m.plan.plan++;
	return m;
}

static struct message
about_run(enum message_kind kind)
{
	struct message m = { .kind = kind };

	m.mark.run = plan_run(&plan);
	m.mark.term = TERM;
	return m;
}

static struct message
mark(uint64_t step)
{
	struct message m = about_run(MESSAGE_MARK);

	m.mark.step = step;
	return m;
}

static struct message
void_steps(uint64_t first, uint64_t count)
{
	struct message m = about_run(MESSAGE_VOID);

	m.voided.first = first;
	m.voided.count = count;
	return m;
}

static struct message
cut(enum message_kind kind, uint64_t id)
{
	struct message m = about_run(kind);

	m.cut.cut = id;
	m.cut.step = 11;
	m.cut.parts = 1;
	m.blob = (struct frame){ "ckpt-00000011", 13, NULL };
	return m;
}

/* Part 0 has a table and two dense pieces: rows 1 and 3, all the rest. */
static const unsigned char keys[] = { 2, 1, 1 };
static float gradient[7] = { 1, 2, 3, 4, 5, 6, 7 };

static struct message
pull(uint64_t id)
{
	struct message m = { .kind = MESSAGE_PULL, .frames = 1 };

	m.pull.run = plan_run(&plan);
	m.pull.term = TERM;
	m.pull.plan = PLAN;
	m.pull.cut = id;
	m.frame[0] = (struct frame){ keys, sizeof(keys), NULL };
	return m;
}

static struct message
push(uint64_t step)
{
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };

	m.push.run = plan_run(&plan);
	m.push.term = TERM;
	m.push.plan = PLAN;
	m.push.step = step;
	m.push.examples = 1;
	m.frame[0] = (struct frame){ keys, sizeof(keys), NULL };
	m.frame[1] = (struct frame){ gradient, sizeof(gradient), NULL };
	return m;
}

static struct message
pushpull(uint64_t step)
{
	struct message m = push(step);

	m.kind = MESSAGE_PUSHPULL;
	m.frames = 3;
	m.frame[2] = m.frame[1];
	m.frame[1] = m.frame[0];
	return m;
}

static enum outcome
pushed(struct message m)
{
	return tell(WORKER, m) == MESSAGE_VALUES ?
		(enum outcome)said.m.values.outcome : OUTCOME_NONE;
}

/* Is every weight that was pushed to now -times the gradient of one push? */
static bool
applied(float times)
{
	if (tell(WORKER, pull(WIRE_NONE)) != MESSAGE_VALUES ||
	    said.count != 7)
		return false;
	for (size_t i = 0; i < 7; i++)
		if (said.value[i] != -times * gradient[i])
			return false;
	return true;
}

/* The same message in bfloat16, which holds these gradients exactly. */
static struct message
narrow(struct message m)
{
	static uint16_t half[7];
	struct frame *values = &m.frame[m.frames - 1];

	if (m.kind == MESSAGE_PULL) {
		m.pull.coded = 1;
		return m;
	}
	m.push.coded = m.push.values = 1;
	codec_bfloat16.encode(half, gradient, codec_elements(7));
	*values = (struct frame){ half, sizeof(half), NULL };
	return m;
}

/* Has the answer -times the gradient of one push, in bfloat16? */
static bool
said_narrow(float times)
{
	float value[7];

	if (said.size != 7 * sizeof(uint16_t))
		return false;
	codec_bfloat16.decode(value, said.value, codec_elements(7));
	for (size_t i = 0; i < 7; i++)
		if (value[i] != -times * gradient[i])
			return false;
	return true;
}

static void
begin(void)
{
	server_free(server);
	server = server_new(77, LEASE, &outbox);
	now = 1000;
}

static void
begin_run(void)
{
	begin();
	tell(COORD, hello(ROLE_COORDINATOR));
	tell(COORD, plan_message());
	tell(WORKER, hello(ROLE_WORKER));
}

/* ---- the tests ---- */

static void
greetings(void)
{
	const enum role role[] = { ROLE_SERVER, ROLE_WORKER, ROLE_EVALUATOR };
	struct message m = hello(ROLE_COORDINATOR);
	struct fail f;

	begin();
	ok(refuses(WORKER, pull(WIRE_NONE), FAIL_PROTOCOL,
		   "say HELLO first"));
	ok(refuses(WORKER, hello(ROLE_WORKER), FAIL_AGAIN, "another run"));
	ok(refuses(WORKER, hello(ROLE_SERVER), FAIL_PROTOCOL,
		   "a server has no connections from this role"));
	for (size_t i = 0; i < sizeof(role) / sizeof(*role); i++)
		ok(refuses(WORKER, hello_without_run(role[i]), FAIL_CONFIG,
			   "it is a server, not a coordinator"));
	ok(!server_over(server, &f));
	m.hello.version = 9;
	ok(refuses(COORD, m, FAIL_PROTOCOL, "protocol version 9, not 2: use "
		   "programs of one release"));
	equals(tell(COORD, hello(ROLE_COORDINATOR)), MESSAGE_WELCOME);
	ok(said.m.welcome.life == 77 && said.m.welcome.plan == WIRE_NONE &&
	   said.m.welcome.role == ROLE_SERVER);
	ok(refuses(COORD, pull(WIRE_NONE), FAIL_AGAIN, "no plan yet"));
	ok(refuses(COORD, mark(3), FAIL_AGAIN, "another run"));
	equals(tell(COORD, plan_message()), MESSAGE_OK);
	equals(tell(WORKER, hello(ROLE_WORKER)), MESSAGE_WELCOME);
	ok(said.m.welcome.plan == PLAN && said.m.welcome.term == TERM);
	ok(tell(WORKER, (struct message){ .kind = MESSAGE_PING }) ==
	   MESSAGE_PONG);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_BYE }) == 0);
}

/* Its standby was promoted: the server ends, and answers with the reason. */
static void
succeeded(void)
{
	struct message m = hello(ROLE_SERVER);
	const char *why = "the standby node:2 took over in term 5: start this "
		"one again with --standby-of";
	struct fail f;

	begin();
	m.hello.term = TERM + 1;
	m.frames = 1;
	m.frame[0] = (struct frame){ "node:\n", 6, NULL };
	ok(refuses(OTHER, m, FAIL_PROTOCOL,
		   "a server has no connections from this role"));
	m.hello.role = ROLE_STANDBY;
	m.hello.life = 9;
	ok(refuses(OTHER, m, FAIL_PROTOCOL,
		   "a standby that does not say where it listens"));
	ok(!server_over(server, &f));
	m.hello.role = ROLE_SERVER;
	m.frame[0] = (struct frame){ "node:2", 6, NULL };
	ok(refuses(OTHER, m, FAIL_AGAIN, why));
	ok(server_over(server, &f) && strcmp(f.text, why) == 0);
}

/* Which peer may send which message. */
static void
rights(void)
{
	static const enum message_kind kinds[] = {
		MESSAGE_PLAN, MESSAGE_MARK, MESSAGE_VOID, MESSAGE_FREEZE,
		MESSAGE_THAW, MESSAGE_SAVE, MESSAGE_LOAD, MESSAGE_STOP
	};
	char why[64];

	begin_run();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct message m = plan_message();

		m.kind = kinds[i];
		snprintf(why, sizeof(why), "only the coordinator may send %s",
			 message_name(kinds[i]));
		named_for(refuses(WORKER, m, FAIL_DENIED, why),
			  "%s from a worker is refused",
			  message_name(kinds[i]));
	}
	ok(!server_stopping(server));
	ok(refuses(COORD, (struct message){ .kind = MESSAGE_LEASE },
		   FAIL_PROTOCOL, "LEASE is not for a server"));
	ok(refuses(WORKER, (struct message){ .kind = MESSAGE_READY },
		   FAIL_PROTOCOL, "READY is not for a server"));
	tell(WORKER, (struct message){ .kind = MESSAGE_BYE });
	ok(refuses(WORKER, pull(WIRE_NONE), FAIL_PROTOCOL,
		   "say HELLO first"));

	/* A new connection of the coordinator: messages of the old one are
	   refused. */
	equals(tell(OTHER, hello(ROLE_COORDINATOR)), MESSAGE_WELCOME);
	ok(refuses(COORD, mark(11), FAIL_AGAIN,
		   "this server belongs to another coordinator"));
	equals(tell(OTHER, mark(11)), MESSAGE_OK);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_STOP }) ==
	   MESSAGE_OK);
	ok(server_stopping(server));
}

static void
other_runs(void)
{
	struct message m = hello(ROLE_COORDINATOR);

	begin_run();
	now += 100;
	m.blob.data = "some other run !";
	ok(refuses(OTHER, m, FAIL_AGAIN, "busy with another run, whose "
		   "coordinator was heard 100 ms ago"));
	m = hello(ROLE_COORDINATOR);
	m.hello.term = TERM - 1;
	ok(refuses(OTHER, m, FAIL_AGAIN, "term 3 is over, 4 began: another "
		   "coordinator has this run"));
	tell(COORD, (struct message){ .kind = MESSAGE_PONG });
	now += LEASE;
	m = hello(ROLE_COORDINATOR);
	m.blob.data = "some other run !";
	ok(refuses(OTHER, m, FAIL_AGAIN, "busy with another run, whose "
		   "coordinator was heard 500 ms ago"));
	now++;
	named_equals(tell(OTHER, m), MESSAGE_WELCOME,
		     "a coordinator that is silent for a lease loses its "
		     "servers");
	begin_run();
	tell(COORD, (struct message){ .kind = MESSAGE_BYE });
	named_equals(tell(OTHER, m), MESSAGE_WELCOME,
		     "a coordinator that has left loses its servers");
}

static void
once(void)
{
	begin_run();
	ok(applied(0));
	ok(pushed(push(10)) == OUTCOME_APPLIED && applied(1));
	named(pushed(push(10)) == OUTCOME_DUP && applied(1),
	      "a repeated push is not applied");
	ok(pushed(push(12)) == OUTCOME_APPLIED && applied(2));
	equals(said.m.values.version, 2);
	struct message m = push(13);

	m.push.version = 1;
	ok(pushed(m) == OUTCOME_APPLIED && said.m.values.staleness == 1);
	named_equals(pushed(push(9)), OUTCOME_DUP,
		     "a push below the low watermark is a duplicate");
	equals(tell(COORD, mark(20)), MESSAGE_OK);
	ok(pushed(push(19)) == OUTCOME_DUP && applied(3));
	equals(tell(COORD, mark(5)), MESSAGE_OK);
	named_equals(pushed(push(19)), OUTCOME_DUP,
		     "the low watermark never goes back");
	equals(pushed(push(20 + WINDOW)), OUTCOME_LATER);
	ok(pushed(push(UINT64_MAX)) == OUTCOME_LATER && applied(3));
	ok(pushed(push(20 + WINDOW - 1)) == OUTCOME_APPLIED && applied(4));

	equals(tell(COORD, void_steps(25, 2)), MESSAGE_OK);
	named(pushed(push(25)) == OUTCOME_VOID &&
	      pushed(push(26)) == OUTCOME_VOID && applied(4),
	      "pushes of void steps are not applied");
	equals(pushed(push(27)), OUTCOME_APPLIED);
	named(tell(COORD, void_steps(15, 6)) == MESSAGE_OK &&
	      pushed(push(20)) == OUTCOME_VOID,
	      "a void range that begins below the watermark voids the steps "
	      "above it");
	ok(refuses(COORD, void_steps(20, WINDOW + 1), FAIL_PROTOCOL,
		   "steps beyond the window"));
	ok(refuses(COORD, void_steps(UINT64_MAX, 2), FAIL_PROTOCOL,
		   "steps beyond the window"));
	equals(tell(COORD, mark(20 + WINDOW)), MESSAGE_OK);
	named_equals(pushed(push(25 + WINDOW)), OUTCOME_APPLIED,
		     "a void step is forgotten when the window has passed it");
	ok(strstr(server_state(server), "6 pushes applied, 4 repeats"));
}

/* See t/unit/pull_keys for those that are remembered. */
static void
of_a_pull(void)
{
	struct message m = push(10);

	begin_run();
	m.push.back = 1;
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "a push with keys of its own and "
		   "keys of a pull"));
	m.frame[0].size = 0;
	ok(pushed(m) == OUTCOME_GONE && said.m.frames == 0);
	m = pushpull(10);
	m.push.back = 1;
	m.frame[0].size = 0;
	ok(pushed(m) == OUTCOME_GONE && said.m.frames == 0);
	ok(applied(0) && pushed(push(10)) == OUTCOME_APPLIED && applied(1));
}

static void
strangers(void)
{
	struct message m;

	begin_run();
	m = push(10);
	m.push.run++;
	equals(pushed(m), OUTCOME_STALE);
	m = push(10);
	m.push.term--;
	equals(pushed(m), OUTCOME_STALE);
	m = push(10);
	m.push.plan++;
	equals(pushed(m), OUTCOME_WRONG_PLAN);
	m = pull(WIRE_NONE);
	m.pull.plan++;
	ok(pushed(m) == OUTCOME_WRONG_PLAN && said.m.frames == 0);
	m = mark(50);
	m.mark.run++;
	ok(refuses(COORD, m, FAIL_AGAIN, "another run"));
	m = mark(50);
	m.mark.term--;
	ok(refuses(COORD, m, FAIL_AGAIN, "term 3 is over, 4 began: another "
		   "coordinator has this run"));
	equals(pushed(push(10)), OUTCOME_APPLIED);
}

/* A step that pushes nothing to a part has ended there, too. */
static void
no_examples(void)
{
	struct message m;

	begin_run();
	equals(pushed(push(10)), OUTCOME_APPLIED);
	m = push(11);
	m.push.examples = 0;
	m.frame[0] = m.frame[1] = (struct frame){ 0 };
	named_equals(pushed(m), OUTCOME_APPLIED,
		     "a push without examples is accepted");
	named(said.m.values.version == 1 && said.m.values.staleness == 0,
	      "a push without examples makes no new version");
	named(applied(1), "a push without examples changes nothing");
	named(pushed(m) == OUTCOME_DUP && pushed(push(11)) == OUTCOME_DUP,
	      "a push without examples ends its step");
}

static void
nonsense(void)
{
	static const unsigned char beyond[] = { 1, 10 };
	static float bad[7] = { 1, 1, 1, 1, 1, 1, NAN };
	struct message m;

	begin_run();
	m = push(10);
	m.push.part = 1;
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "part 1 is not here"));
	m.push.part = UINT64_MAX;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "part 18446744073709551615 is not here"));
	m = push(10);
	m.push.examples = 0;
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "a gradient of no examples"));
	m = push(10);
	m.push.rate = message_float_bits(INFINITY);
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "a learning rate of inf"));
	m.push.rate = message_float_bits(-INFINITY);
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "a learning rate of -inf"));
	m.push.rate = message_float_bits(NAN);
	equals(tell(WORKER, m), MESSAGE_REFUSED);
	m.push.rate = (uint64_t)1 << 32;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "a learning rate of more than 32 bits"));
	m = push(10);
	m.frame[0] = (struct frame){ beyond, 2, NULL };
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "malformed keys"));
	m = push(10);
	m.frame[1].size -= 4;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "24 bytes of gradient do not fit"));
	m = push(10);
	m.frame[1].data = bad;
	ok(refuses(WORKER, m, FAIL_DATA, "a gradient is not finite"));
	m = pushpull(10);
	m.frame[1] = (struct frame){ beyond, 2, NULL };
	ok(refuses(WORKER, m, FAIL_PROTOCOL, "malformed keys"));
	named(applied(0), "no malformed push was applied");
	named(pushed(push(10)) == OUTCOME_APPLIED && applied(1),
	      "the step of the malformed pushes can still be applied");
	m = push(11);
	m.push.rate = message_float_bits(2);
	m.push.examples = 2;
	ok(pushed(m) == OUTCOME_APPLIED && applied(2));

	m = plan_message();
	m.blob.size = 3;
	ok(refuses(COORD, m, FAIL_PROTOCOL, "a plan without the name of its "
		   "run"));
	m = plan_message();
	m.plan.plan++;
	m.frame[1].size--;
	ok(refuses(COORD, m, FAIL_PROTOCOL, "malformed plan"));
	m = plan_message();
	m.plan.server = 1;
	ok(refuses(COORD, m, FAIL_PROTOCOL, "a plan without this server"));
	ok(refuses(WORKER, pull(WIRE_NONE), FAIL_AGAIN, "no plan yet"));
	equals(tell(COORD, plan_message()), MESSAGE_OK);
	named(applied(0), "a new plan begins with initial values");
}

static void
together(void)
{
	begin_run();
	ok(pushed(pushpull(10)) == OUTCOME_APPLIED && said.count == 7 &&
	   said.value[6] == -7);
	named(pushed(pushpull(10)) == OUTCOME_DUP && said.value[6] == -7,
	      "a repeated push is not applied, and its pull is answered");
}

/* Each message has a codec of its own. */
static void
codecs(void)
{
	struct message m;

	begin_run();
	ok(pushed(narrow(push(10))) == OUTCOME_APPLIED && applied(1));
	ok(pushed(narrow(push(10))) == OUTCOME_DUP && applied(1));
	ok(tell(WORKER, narrow(pull(WIRE_NONE))) == MESSAGE_VALUES &&
	   said_narrow(1));
	named(pushed(push(11)) == OUTCOME_APPLIED && applied(2) &&
	      pushed(narrow(push(12))) == OUTCOME_APPLIED && applied(3),
	      "pushes of floats and of bfloat16 may alternate");
	ok(pushed(narrow(pushpull(13))) == OUTCOME_APPLIED && said_narrow(4));
	named(pushed(narrow(pushpull(13))) == OUTCOME_DUP && said_narrow(4) &&
	      applied(4),
	      "a repeated push in bfloat16 is not applied, and its pull is "
	      "answered");
	tell(COORD, void_steps(14, 1));
	equals(pushed(narrow(push(14))), OUTCOME_VOID);
	equals(pushed(narrow(push(13 + WINDOW))), OUTCOME_LATER);
	m = narrow(push(15));
	m.push.term--;
	equals(pushed(m), OUTCOME_STALE);
	m = narrow(pushpull(15));
	m.push.back = 1;
	m.frame[0].size = 0;
	ok(pushed(m) == OUTCOME_GONE && said.m.frames == 0);

	m = narrow(push(15));
	m.frame[1].size -= 1;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "13 bytes of gradient do not fit"));
	m = push(15);
	m.push.coded = 1;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "28 bytes of gradient do not fit"));
	m = narrow(push(15));
	m.push.coded = 0;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "14 bytes of gradient do not fit"));
	m.push.coded = 2;
	ok(refuses(WORKER, m, FAIL_PROTOCOL,
		   "the coding of a gradient is 0 or 1, not 2"));
	named(applied(4), "no malformed push was applied");

	m = cut(MESSAGE_FREEZE, 3);
	m.cut.step = 20;
	tell(COORD, m);
	ok(pushed(narrow(push(20))) == OUTCOME_APPLIED && applied(5));
	ok(tell(WORKER, pull(3)) == MESSAGE_VALUES && said.count == 7 &&
	   said.value[6] == -4 * gradient[6]);
	ok(tell(WORKER, narrow(pull(3))) == MESSAGE_VALUES && said_narrow(4));
}

static void
cuts(void)
{
	begin_run();
	pushed(push(10));
	ok(refuses(WORKER, pull(3), FAIL_AGAIN,
		   "the cut is no longer held"));
	equals(tell(COORD, cut(MESSAGE_FREEZE, 3)), MESSAGE_OK);
	pushed(push(11));
	equals(tell(COORD, cut(MESSAGE_FREEZE, 3)), MESSAGE_OK);
	named(tell(WORKER, pull(3)) == MESSAGE_VALUES && said.value[0] == -1,
	      "a cut keeps its values, even if it is asked for again");
	ok(applied(2));
	equals(tell(COORD, cut(MESSAGE_THAW, 3)), MESSAGE_OK);
	equals(tell(COORD, cut(MESSAGE_THAW, 3)), MESSAGE_OK);
	ok(refuses(WORKER, pull(3), FAIL_AGAIN,
		   "the cut is no longer held"));
	for (uint64_t i = 0; i < 64; i++)
		tell(COORD, cut(MESSAGE_FREEZE, i));
	ok(refuses(COORD, cut(MESSAGE_FREEZE, 64), FAIL_AGAIN,
		   "steps up to 11 are applied"));
	begin_run();
	for (uint64_t i = 0; i < 64; i++)
		tell(COORD, cut(MESSAGE_FREEZE, i));
	ok(refuses(COORD, cut(MESSAGE_FREEZE, 64), FAIL_AGAIN,
		   "too many cuts are held"));
}

/* A cut of the steps below 13: step 11 comes after step 14, twice, and is in
   the cut once; steps above are not. */
static void
late_pushes(void)
{
	struct message m = cut(MESSAGE_FREEZE, 1);
	struct server_job job;

	begin_run();
	m.cut.step = 13;
	tell(COORD, m);
	pushed(push(12));
	ok(tell(WORKER, pull(1)) == MESSAGE_VALUES && said.value[0] == -1);
	named(pushed(push(14)) == OUTCOME_APPLIED &&
	      tell(WORKER, pull(1)) == MESSAGE_VALUES && said.value[0] == -1,
	      "a cut does not have the first push above it");
	equals(pushed(push(11)), OUTCOME_APPLIED);
	equals(pushed(push(11)), OUTCOME_DUP);
	equals(pushed(push(13)), OUTCOME_APPLIED);
	named(tell(WORKER, pull(1)) == MESSAGE_VALUES && said.value[0] == -2,
	      "a cut gets a late push below it once");
	ok(tell(WORKER, pull(WIRE_NONE)) == MESSAGE_VALUES &&
	   said.value[0] == -4);
	equals(tell(COORD, void_steps(10, 1)), MESSAGE_OK);
	equals(pushed(push(10)), OUTCOME_VOID);
	named(tell(COORD, cut(MESSAGE_SAVE, 1)) == 0 &&
	      server_job(server, &job) && job.array[0].updates == 2 &&
	      job.array[0].piece[0].data[2] == -2,
	      "a cut does not have a void step");
}

static void
files(void)
{
	const struct checkpoint_part part = { 5, "abcd" };
	struct server_job job;
	struct message m;
	struct fail why;

	begin_run();
	pushed(push(10));
	ok(refuses(COORD, cut(MESSAGE_SAVE, 1), FAIL_PROTOCOL,
		   "no such cut"));
	tell(COORD, cut(MESSAGE_FREEZE, 1));
	m = cut(MESSAGE_SAVE, 1);
	m.blob = (struct frame){ "../x", 4, NULL };
	ok(refuses(COORD, m, FAIL_PROTOCOL, "not a name of a checkpoint"));
	m.blob.size = 0;
	ok(refuses(COORD, m, FAIL_PROTOCOL, "not a name of a checkpoint"));
	ok(!server_job(server, &job));
	named_equals(tell(COORD, cut(MESSAGE_SAVE, 1)), 0,
		     "a save is not answered before it is written");
	ok(server_job(server, &job) && job.kind == JOB_SAVE &&
	   strcmp(job.name, "ckpt-00000011") == 0 && job.parts == 1 &&
	   job.part == 0);
	ok(job.arrays == 3 && job.array[0].piece[0].data[2] == -1);
	ok(refuses(COORD, cut(MESSAGE_THAW, 1), FAIL_AGAIN,
		   "the cut is being saved"));
	ok(refuses(COORD, other_plan(), FAIL_AGAIN,
		   "a checkpoint is being written"));
	pushed(push(11));
	equals(job.array[0].piece[0].data[2], -1);
	server_saved(server, &job, &part, NULL);
	ok(said.peer == COORD && said.m.kind == MESSAGE_SAVED &&
	   said.m.saved.size == 5 && strcmp(said.blob, "abcd") == 0);
	ok(!server_job(server, &job));
	tell(COORD, cut(MESSAGE_SAVE, 1));
	ok(server_job(server, &job));
	fail(&why, FAIL_IO, "disk full");
	server_saved(server, &job, NULL, &why);
	ok(said.m.kind == MESSAGE_REFUSED &&
	   said.m.refused.status == FAIL_IO &&
	   strcmp(said.blob, "disk full") == 0);
	tell(COORD, cut(MESSAGE_LOAD, WIRE_NONE));
	ok(server_job(server, &job) && job.kind == JOB_LOAD);
	server_load(server, &job, NULL, NULL, &why);
	ok(said.m.kind == MESSAGE_REFUSED && applied(2));

	/* After a LOAD the shard is another one, and has no such cut. */
	tell(COORD, cut(MESSAGE_SAVE, 1));
	ok(server_job(server, &job) && job.kind == JOB_SAVE);
	m = cut(MESSAGE_LOAD, WIRE_NONE);
	m.blob.size = 0;
	named_equals(tell(COORD, m), 0,
		     "LOAD waits for the save that is being written");
	ok(refuses(COORD, cut(MESSAGE_SAVE, 1), FAIL_AGAIN,
		   "the cut goes first"));
	server_saved(server, &job, &part, NULL);
	ok(!server_job(server, &job) && applied(0));
}

static bool stop;

static bool
stopped(void)
{
	return stop;
}

static int
can_save(void *self, enum saves saves, uint64_t which, struct fail *f)
{
	return self == &server && saves == SAVES && which == 0 ?
		fail(f, FAIL_CONFIG, "nowhere to save to") : 0;
}

/* A plan that needs too much memory is refused.  A PLAN or LOAD that a signal
   interrupts is not answered. */
static void
limits(void)
{
	const double bytes = shard_bytes(&plan, fixture.model, 0);

	begin();
	tell(COORD, hello(ROLE_COORDINATOR));
	server_limit(server, (uint64_t)bytes - 1, stopped);
	tell(COORD, plan_message());
	ok(said.m.kind == MESSAGE_REFUSED &&
	   said.m.refused.status == FAIL_CONFIG &&
	   strstr(said.blob, "its variables need"));
	ok(refuses(COORD, pull(WIRE_NONE), FAIL_AGAIN, "no plan yet"));
	server_limit(server, (uint64_t)bytes, stopped);

	/* The server has no folder for checkpoints, and reports that before
	   there is anything to save; it keeps the values that it has. */
	struct message saving = plan_message();

	saving.plan.saves = SAVES;
	server_saves(server, can_save, &server);
	ok(refuses(COORD, saving, FAIL_CONFIG, "nowhere to save to"));
	ok(refuses(COORD, pull(WIRE_NONE), FAIL_AGAIN, "no plan yet"));
	stop = true;
	equals(tell(COORD, plan_message()), 0);
	ok(refuses(COORD, pull(WIRE_NONE), FAIL_AGAIN, "no plan yet"));
	stop = false;
	equals(tell(COORD, plan_message()), MESSAGE_OK);
	equals(tell(COORD, saving), MESSAGE_OK);

	/* A LOAD that is interrupted drops the old values, and makes no
	   others. */
	stop = true;
	struct message m = cut(MESSAGE_LOAD, WIRE_NONE);

	m.blob.size = 0;
	equals(tell(COORD, m), 0);
	ok(refuses(COORD, mark(12), FAIL_AGAIN, "another run"));
}

/* A peer that does not read gets no more values, and its pushes are not
   applied. */
static void
deaf(void)
{
	const char *why = "more than 256 MiB of answers are unread";

	begin_run();
	unread = (size_t)256 << 20;
	equals(tell(WORKER, pull(WIRE_NONE)), MESSAGE_VALUES);
	unread++;
	ok(refuses(WORKER, pull(WIRE_NONE), FAIL_PROTOCOL, why));
	ok(refuses(WORKER, pushpull(10), FAIL_PROTOCOL, why));
	named_equals(pushed(push(11)), OUTCOME_APPLIED,
		     "a push without a pull is applied, though answers are "
		     "unread");
	unread = 0;
	ok(applied(1));
	ok(pushed(pushpull(10)) == OUTCOME_APPLIED && applied(2));
}

/* There is room for this number of peers; those that left without BYE do not
   count. */
static void
leavers(void)
{
	bool all = true;

	begin_run();
	for (uint64_t i = 0; i < 65534; i++)
		all = all && tell(CROWD + i, hello(ROLE_WORKER)) ==
			MESSAGE_WELCOME;
	ok(all);
	ok(refuses(OTHER, hello(ROLE_WORKER), FAIL_AGAIN, "too many peers"));
	crowd_left = true;
	equals(tell(OTHER, hello(ROLE_WORKER)), MESSAGE_WELCOME);
	ok(applied(0) && tell(COORD, mark(11)) == MESSAGE_OK);
}

/* ---- a server without a coordinator ---- */

#define IDLE	1000

/* Lets time pass while the coordinator sends this, or nothing.  Has the server
   ended? */
static bool
passes(uint64_t ms, uint64_t peer, enum message_kind kind, struct fail *f)
{
	bool over = false;

	for (uint64_t i = 0; i < ms / SERVER_LOOK_MS && !over; i++) {
		now += SERVER_LOOK_MS;
		if (peer)
			tell(peer, (struct message){ .kind = kind });
		server_look(server, now);
		over = server_check_idle(server, IDLE, NULL, f) < 0;
	}
	return over;
}

/* Does it wait until the limit, to within one look, and no longer? */
static bool
waits(const char *why)
{
	struct fail f;

	return !passes(IDLE - 2 * SERVER_LOOK_MS, 0, MESSAGE_PING, &f) &&
		passes(3 * SERVER_LOOK_MS, 0, MESSAGE_PING, &f) &&
		f.kind == FAIL_PEER && strstr(f.text, why);
}

static void
look_first(void)
{
	begin();
	server_look(server, now);
}

static void
idle(void)
{
	struct message other = hello(ROLE_COORDINATOR);
	struct fail f;

	other.blob.data = "some other run !";
	look_first();
	named(waits("its coordinator has not connected for 1 s"),
	      "a server without a coordinator ends");
	ok(server_check_idle(server, 0, NULL, &f) == 0);
	ok(server_check_idle(server, IDLE, "tcp://h:1", &f) < 0 &&
	   strstr(f.text, "its coordinator tcp://h:1 has not connected"));
	look_first();
	tell(COORD, other);
	tell(COORD, plan_message());
	tell(WORKER, hello(ROLE_WORKER));
	ok(!passes(3 * IDLE, COORD, MESSAGE_PING, &f));
	named(passes(2 * IDLE, WORKER, MESSAGE_PING, &f) &&
	      strstr(f.text, "its coordinator has been silent for 1 s"),
	      "a server whose coordinator is silent ends, although workers "
	      "are not");

	begin_run();
	server_look(server, now);
	now += 100 * IDLE;
	server_look(server, now);
	named(waits("been silent"),
	      "a pause of the server does not count as silence");

	begin_run();
	tell(COORD, (struct message){ .kind = MESSAGE_BYE });
	ok(server_run_over(server));
	named(!passes(3 * IDLE, 0, MESSAGE_PING, &f),
	      "a server whose run is over waits for the next coordinator");
	tell(OTHER, other);
	ok(!passes(3 * IDLE, 0, MESSAGE_PING, &f));
	other = plan_message();
	other.blob.data = "some other run !";
	equals(tell(OTHER, other), MESSAGE_OK);
	named(waits("been silent"),
	      "a server does not wait for the next coordinator for ever");
}

/* A coordinator that ends before its run has begun ends no run. */
static void
left_early(void)
{
	struct message again = hello(ROLE_COORDINATOR), other = again;

	other.blob.data = "some other run !";
	begin_run();
	now += LEASE + 1;
	equals(tell(OTHER, other), MESSAGE_WELCOME);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_BYE }) == MESSAGE_OK);
	named(!server_run_over(server) && waits("been silent"),
	      "BYE of another run's coordinator does not end the run");
	equals(tell(COORD, again), MESSAGE_WELCOME);
	begin_run();
	now += LEASE + 1;
	equals(tell(OTHER, other), MESSAGE_WELCOME);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_STOP }) ==
	   MESSAGE_OK);
	ok(server_stopping(server) && !server_run_over(server));
	begin_run();
	again.hello.term = TERM + 1;
	equals(tell(OTHER, again), MESSAGE_WELCOME);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_BYE }) == MESSAGE_OK);
	named(!server_run_over(server) && waits("been silent"),
	      "BYE of a restarted coordinator before its plan does not end "
	      "the run");
	begin_run();
	equals(tell(OTHER, again), MESSAGE_WELCOME);
	ok(tell(OTHER, (struct message){ .kind = MESSAGE_STOP }) ==
	   MESSAGE_OK);
	named(server_run_over(server),
	      "STOP of a restarted coordinator ends the run");
}

/* ---- rounds ---- */

static struct message
commit(uint64_t step)
{
	static const unsigned char attempts[] = { 0x92, 1, 2 };
	struct message m = { .kind = MESSAGE_COMMIT, .frames = 1 };

	m.commit.run = plan_run(&plan);
	m.commit.term = TERM;
	m.commit.step = step;
	m.frame[0] = (struct frame){ attempts, sizeof(attempts), NULL };
	return m;
}

static struct message
replica(uint64_t step, uint64_t which, uint64_t attempt)
{
	struct message m = push(step);

	m.push.slot = which;
	m.push.attempt = attempt;
	return m;
}

static void
rounds(void)
{
	struct message late = pull(WIRE_NONE);
	struct message again = cut(MESSAGE_FREEZE, 3);

	begin_run();
	late.pull.after = 10 + WINDOW + 1;
	ok(refuses(WORKER, late, FAIL_PROTOCOL,
		   "step 65547 is beyond the window"));
	late.pull.after = 11;
	late.frame[0].size--;
	ok(refuses(WORKER, late, FAIL_PROTOCOL, "malformed keys"));
	late.frame[0].size++;
	late.request = 5;
	said.m.kind = MESSAGE_KINDS;
	server_receive(server, WORKER, &late, now);
	named_equals(said.m.kind, MESSAGE_KINDS, "a pull waits for its round");
	equals(pushed(replica(11, 0, 1)), OUTCOME_LATER);
	ok(pushed(replica(10, 0, 1)) == OUTCOME_STAGED &&
	   pushed(replica(10, 1, 2)) == OUTCOME_STAGED && applied(0));
	ok(refuses(WORKER, commit(10), FAIL_DENIED,
		   "only the coordinator may send COMMIT"));
	ok(refuses(WORKER, replica(10, message_node(0, 1), 1), FAIL_PROTOCOL,
		   "only a relay may send a sum of replicas"));
	ok(refuses(COORD, commit(11), FAIL_PROTOCOL, "COMMIT of step 11, but "
		   "step 10 comes first"));
	tell(COORD, commit(10));
	named(said.peer == WORKER && said.m.kind == MESSAGE_VALUES &&
	      said.m.request == 5 && said.value[6] == -7,
	      "the waiting pull is answered when its round is committed");
	named(applied(1),
	      "a round of two replicas is one update by their mean");
	ok(tell(COORD, commit(10)) == MESSAGE_OK && applied(1));
	again.cut.step = 10;
	ok(refuses(COORD, again, FAIL_AGAIN, "steps up to 10 are applied"));
	named(tell(COORD, plan_message()) == MESSAGE_OK &&
	      said.m.ok.above == 11,
	      "a restarted coordinator learns which round was committed");
	equals(pushed(replica(10, 0, 1)), OUTCOME_DUP);
	late.pull.after = 13;
	server_receive(server, WORKER, &late, now);
	tell(COORD, void_steps(11, 2));
	named(said.peer == WORKER && said.m.kind == MESSAGE_VALUES &&
	      said.count == 7, "a pull no longer waits for a void step");
	equals(pushed(replica(12, 0, 1)), OUTCOME_VOID);
	equals(pushed(replica(13, 0, 1)), OUTCOME_STAGED);

	/* A pull that waits is answered in the codec that it asked for;
	   replicas may differ. */
	late = narrow(late);
	late.pull.after = 14;
	server_receive(server, WORKER, &late, now);
	ok(pushed(narrow(replica(13, 1, 2))) == OUTCOME_STAGED && applied(1));
	tell(COORD, commit(13));
	ok(said.peer == WORKER && said.m.kind == MESSAGE_VALUES &&
	   said.m.request == 5 && said_narrow(2));
	ok(applied(2));
}

/* How many pushes are kept when two attempts are pushed to every slot that the
   wire can name, each as the sender whose slot it is? */
static size_t
flood(void)
{
	size_t kept = 0;

	for (unsigned level = 0; level <= WIRE_LEVELS; level++)
		for (uint64_t k = 0; k < WIRE_REPLICAS; k++)
			for (uint64_t attempt = 1; attempt <= 2; attempt++)
				kept += tell(level > 0 ? OTHER : WORKER,
					     replica(10, message_node(k, level),
						     attempt)) ==
					MESSAGE_VALUES &&
					said.m.values.outcome ==
					OUTCOME_STAGED;
	return kept;
}

/* A server keeps no more pushes than a round can have. */
static void
slots(void)
{
	struct message unknown = plan_message(), known = mark(10);
	struct message again = hello(ROLE_COORDINATOR);
	struct message first = replica(10, 0, 1);

	begin_run();
	equals(tell(OTHER, hello(ROLE_RELAY)), MESSAGE_WELCOME);
	ok(refuses(WORKER, replica(10, 2, 1), FAIL_PROTOCOL,
		   "there is no replica 2"));
	ok(refuses(OTHER, replica(10, message_node(2, 1), 1), FAIL_PROTOCOL,
		   "there is no replica 4098"));
	ok(refuses(OTHER, replica(10, message_node(0, 2), 1), FAIL_PROTOCOL,
		   "there is no replica 8192"));
	ok(refuses(WORKER, replica(10, 1, 0), FAIL_PROTOCOL,
		   "there is no replica 1"));
	named(flood() == 6,
	      "two attempts of two replicas and of their sum are kept, and "
	      "no others");

	unknown.plan.replicas = 0;
	begin();
	tell(COORD, hello(ROLE_COORDINATOR));
	tell(COORD, unknown);
	tell(WORKER, hello(ROLE_WORKER));
	named(refuses(WORKER, first, FAIL_PROTOCOL, "there is no replica 0"),
	      "no push is kept before it is known how many replicas a round "
	      "has");
	known.mark.replicas = 2;
	equals(tell(COORD, known), MESSAGE_OK);
	equals(pushed(first), OUTCOME_STAGED);
	equals(tell(COORD, mark(10)), MESSAGE_OK);
	equals(tell(COORD, unknown), MESSAGE_OK);
	named(pushed(replica(10, 1, 1)) == OUTCOME_STAGED,
	      "a PLAN or MARK that comes again late changes nothing");

	unknown.plan.term = first.push.term = again.hello.term = TERM + 1;
	equals(tell(COORD, again), MESSAGE_WELCOME);
	equals(tell(COORD, unknown), MESSAGE_OK);
	named(refuses(WORKER, first, FAIL_PROTOCOL, "there is no replica 0"),
	      "the number of replicas is that of a term");
}

int
main(void)
{
	static char *endpoint[] = { (char *)"ipc://x" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	code_all(&plan, fixture.model, &codec_bfloat16);
	free(place);
	memcpy(plan.run, run, PLAN_RUN);
	plan_write_model(&model_frame, &fixture.source);
	plan_write(&plan_frame, &plan);
	greetings();
	succeeded();
	rights();
	other_runs();
	once();
	rounds();
	slots();
	of_a_pull();
	strangers();
	no_examples();
	nonsense();
	together();
	codecs();
	deaf();
	cuts();
	late_pushes();
	files();
	leavers();
	limits();
	idle();
	left_early();
	server_free(server);
	pack_release(&model_frame);
	pack_release(&plan_frame);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
