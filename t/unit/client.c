/* The bytes that a client has in flight to a server are bounded, contain only
   what a layer needs, and are sent again unchanged. */
#include "client/client.h"
#include "code_all.h"
#include "model_fixture.h"
#include "tap.h"

#define CREDIT	((size_t)8 << 20)
#define MODEL	"input x float[1024]\nlabel y float\n" \
		"wide = dense x units=4096\nout = dense wide units=1\n" \
		"loss mean_squared_error out\noptimizer sgd\n"

/*
 * The messages that the client has sent: what it pulled, whether a push was
 * copied, the last message, and the number of connections that it closed.
 */
struct said {
	size_t pulls, bytes, held, hung_up;
	enum message_kind last;
	uint64_t request[256];
	const struct plan *plan;
	const struct codec *codec;	/* the expected one */
	size_t of_another;		/* messages */
	unsigned char gradient[64];	/* the last one, and its size */
	size_t size;
};

static int
say(void *to, uint64_t peer, const struct message *m)
{
	struct said *s = to;

	(void)peer;
	s->last = m->kind;
	if (m->kind >= MESSAGE_PULL && m->kind <= MESSAGE_PUSHPULL)
		s->of_another += (s->codec != &codec_float32) !=
			(m->kind == MESSAGE_PULL ?
			 m->pull.coded : m->push.coded);
	if (m->kind == MESSAGE_PULL || m->kind == MESSAGE_PUSHPULL) {
		s->request[s->pulls++ % 256] = m->request;
		s->bytes += codec_size(s->codec, plan_part_dense(s->plan,
			m->kind == MESSAGE_PULL ? m->pull.part :
			m->push.part));
	}
	if (m->kind == MESSAGE_PUSHPULL)
		s->held += m->frame[2].hold != NULL;
	if (m->kind == MESSAGE_PUSHPULL &&
	    m->frame[2].size <= sizeof(s->gradient)) {
		s->size = m->frame[2].size;
		memcpy(s->gradient, m->frame[2].data, s->size);
	}
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	(void)endpoint;
	(void)f;
	*peer = 1;
	return 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	struct said *s = to;

	(void)peer;
	s->hung_up++;
}

static void
welcome(struct client *c)
{
	struct message m = { .kind = MESSAGE_WELCOME };
	struct fail f;

	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 1;
	client_up(c, 1, 0);
	ok(client_receive(c, 1, &m, 0, &f) == 0 && client_ready(c));
}

/* The server answers the oldest request. */
static int
answer(struct client *c, const struct said *s, size_t which,
       const void *values, bool pushed)
{
	struct message m = { .kind = MESSAGE_VALUES, .frames = 1 };
	const size_t part = s->request[which] % s->plan->parts;
	struct fail f;

	m.request = s->request[which];
	m.values.outcome = pushed ? OUTCOME_APPLIED : OUTCOME_NONE;
	m.frame[0] = (struct frame){
		values, codec_size(s->codec, plan_part_dense(s->plan, part)),
		NULL
	};
	return client_receive(c, 1, &m, 0, &f);
}

static void
exchange(struct model_fixture *r, struct client *c, struct said *s, bool push)
{
	const struct exchange x = { .pull = r->compute, .cut = WIRE_NONE,
				    .push = push ? r->compute : NULL,
				    .examples = 1,
				    .push_coded = s->codec != &codec_float32,
				    .pull_coded = s->codec != &codec_float32 };
	float *values = mem_alloc(PLAN_PIECE / sizeof(float), sizeof(float));
	size_t answered = 0, most = 0, least = SIZE_MAX;

	s->pulls = s->bytes = s->held = 0;
	client_exchange(c, &x, 0);
	while (!client_idle(c) && answered < s->plan->parts) {
		const size_t part = s->request[answered] % s->plan->parts;
		const size_t size = codec_size(s->codec,
			plan_part_dense(s->plan, part));

		most = s->bytes > most ? s->bytes : most;
		if (s->pulls < s->plan->parts)
			least = s->bytes < least ? s->bytes : least;
		s->bytes -= size;
		if (answer(c, s, answered++, values, push) < 0)
			break;
	}
	ok(client_idle(c) && answered == s->plan->parts);
	ok(most <= CREDIT);
	ok(least > CREDIT - PLAN_PIECE);	/* and no less than it may */
	free(values);
}

/* A client of one server, for a model and one example of it. */
struct talk {
	struct model_fixture fixture;
	struct said said;
	struct outbox outbox;
	struct plan plan;
	struct place *place;
	struct client *c;
};

static void
talk_begin(struct talk *t, const char *model)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	struct rng rng = { .seed = 1 };
	char endpoint[] = "-", *endpoints = endpoint;
	struct fail f;
	size_t places;

	*t = (struct talk){ .outbox = { say, dial, hang_up, &t->said } };
	fixture_begin(&t->fixture, model);
	fixture_add_example(&t->fixture, &rng);
	compute_begin(t->fixture.compute, &t->fixture.batch);
	t->place = partition_plan(t->fixture.variable, t->fixture.variables,
				  &whole, &placement_balanced, 1, &places);
	plan_make(&t->plan, t->fixture.model, t->place, places, &endpoints, 1);
	t->said.plan = &t->plan;
	t->said.codec = &codec_float32;
	t->c = client_new(&t->plan, t->fixture.model, ROLE_WORKER, 1,
			  &t->outbox, 0, &f);
	welcome(t->c);
}

static void
talk_end(struct talk *t)
{
	client_free(t->c);
	ok(t->said.last == MESSAGE_BYE && t->said.hung_up == t->plan.servers);
	free(t->place);
	plan_release(&t->plan);
	fixture_end(&t->fixture);
}

static void
test_unused(void)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE,
			      .examples = 1 };
	float values[2] = { 0 };
	struct talk t;

	talk_begin(&t, "variable free [2]\ninput x float\nlabel y float\n"
		   "out = dense x units=1\nloss mean_squared_error out\n");
	x.pull = t.fixture.compute;
	client_exchange(t.c, &x, 0);
	named(t.plan.parts == 2 && t.said.pulls == 1,
	      "a variable that no layer uses is not pulled");
	ok(answer(t.c, &t.said, 0, values, false) == 0 && client_idle(t.c));
	x.push = t.fixture.compute;
	client_exchange(t.c, &x, 0);
	named_equals(t.said.pulls, 2,
		     "a variable that no layer uses is not pushed");
	ok(answer(t.c, &t.said, 1, values, true) == 0 && client_idle(t.c));
	equals(client_exchanged(t.c)->applied, 1);
	talk_end(&t);
}

static void
test_credit(void)
{
	struct talk t;

	talk_begin(&t, MODEL);
	ok(t.plan.parts > 32 && t.plan.parts < 256);
	exchange(&t.fixture, t.c, &t.said, false);
	exchange(&t.fixture, t.c, &t.said, true);
	ok(t.said.held >= 32);	/* all but what shares a part is not copied */
	t.said.codec = &codec_bfloat16;
	code_all(&t.plan, t.fixture.model, t.said.codec);
	exchange(&t.fixture, t.c, &t.said, true);
	ok(t.said.held >= 32 && t.said.of_another == 0);
	talk_end(&t);
}

/* Makes eight floats of one part that are not exact in bfloat16, and the values
   in bfloat16. */
static void
fill(struct model_fixture *r, uint16_t half[8])
{
	for (size_t v = 0, k = 0; v < r->variables; v++)
		for (size_t i = 0; i < shape_size(r->variable[v].shape);
		     i++, k++) {
			float *g = compute_gradient(r->compute, v) + i;

			*g = (k % 2 ? -1.f : 1.f) / (3 + (float)k);
			codec_bfloat16.encode(&half[k], g, codec_elements(1));
		}
}

static bool
values_are(struct model_fixture *r, const uint16_t half[8])
{
	bool good = true;

	for (size_t v = 0, k = 0; v < r->variables; v++)
		for (size_t i = 0; i < shape_size(r->variable[v].shape);
		     i++, k++) {
			float x;

			codec_bfloat16.decode(&x, &half[k], codec_elements(1));
			good = good && compute_value(r->compute, v)[i] == x;
		}
	return good;
}

static void
test_codec(void)
{
	struct exchange x = { .cut = WIRE_NONE, .server = WIRE_NONE,
			      .examples = 1, .push_coded = true,
			      .pull_coded = true };
	static const float wide[8];
	uint16_t half[8];
	char bytes[1 + sizeof(half)];
	struct talk t;

	talk_begin(&t, "input x float[5]\nlabel y float\n"
		   "h = dense x units=1\nout = dense h units=1\n"
		   "loss mean_squared_error out\n");
	x.push = x.pull = t.fixture.compute;
	t.said.codec = &codec_bfloat16;
	code_all(&t.plan, t.fixture.model, t.said.codec);
	fill(&t.fixture, half);
	client_exchange(t.c, &x, 0);
	named(t.plan.parts == 1 && t.said.size == sizeof(half) &&
	      memcmp(t.said.gradient, half, sizeof(half)) == 0,
	      "pushed gradients are rounded to the nearest bfloat16");
	t.said.size = 0;
	client_down(t.c, 1, 0);
	welcome(t.c);
	named(t.said.pulls == 2 && t.said.size == sizeof(half) &&
	      memcmp(t.said.gradient, half, sizeof(half)) == 0,
	      "a push that is sent again has the same bytes");
	memcpy(bytes + 1, half, sizeof(half));
	ok(answer(t.c, &t.said, 1, bytes + 1, true) == 0 &&
	   client_idle(t.c) && values_are(&t.fixture, half));

	x.push = NULL;
	client_exchange(t.c, &x, 0);
	equals(t.said.of_another, 0);
	t.said.codec = &codec_float32;
	named(answer(t.c, &t.said, 2, wide, false) < 0 && !client_idle(t.c),
	      "values in another codec are refused");
	x.push_coded = x.pull_coded = false;
	client_exchange(t.c, &x, 0);
	ok(t.said.of_another == 0 && answer(t.c, &t.said, 3, wide, false) == 0);
	talk_end(&t);
}

/* Sends the server's answer to the only part of the last exchange. */
static int
send_of_part(struct talk *t, enum outcome outcome, const float *values)
{
	struct message m = { .kind = MESSAGE_VALUES };
	struct fail f;

	m.request = t->said.request[(t->said.pulls - 1) % 256];
	m.values.outcome = outcome;
	if (values) {
		m.frames = 1;
		m.frame[0] = (struct frame){ values, 8 * sizeof(float), NULL };
	}
	return client_receive(t->c, 1, &m, 0, &f);
}

static bool
has_first(struct talk *t, float first)
{
	return compute_value(t->fixture.compute, 0)[0] == first;
}

/* Begins a push of a round, and a pull that waits for the end of the round. */
static void
begin_round(struct talk *t)
{
	client_exchange(t->c, &(struct exchange){
			.cut = WIRE_NONE, .server = WIRE_NONE, .examples = 1,
			.push = t->fixture.compute, .pull = t->fixture.compute,
			.step = 7, .attempt = 1, .after = 8 }, 0);
}

static void
test_ahead(void)
{
	static const float first[8] = { 1 }, second[8] = { 2 };
	struct talk t;

	talk_begin(&t, "input x float[5]\nlabel y float\n"
		   "h = dense x units=1\nout = dense h units=1\n"
		   "loss mean_squared_error out\n");
	begin_round(&t);
	named(t.plan.parts == 1 && t.said.pulls == 1 &&
	      t.said.last == MESSAGE_PUSH,
	      "a pull for after the round is sent before the push, as a "
	      "message of its own");
	ok(!client_pushed(t.c) && send_of_part(&t, OUTCOME_STAGED, NULL) == 0);
	named(client_pushed(t.c) && !client_idle(t.c) &&
	      client_exchanged(t.c)->applied == 1,
	      "the push is answered while its pull still waits");
	ok(send_of_part(&t, OUTCOME_AHEAD, first) == 0 && has_first(&t, 1));
	named(!client_idle(t.c),
	      "values that arrive ahead of the round's end do not count yet");
	ok(send_of_part(&t, OUTCOME_CONFIRMED, NULL) == 0);
	named(client_idle(t.c) && has_first(&t, 1),
	      "values that arrived ahead count once the server confirms them");

	begin_round(&t);
	ok(send_of_part(&t, OUTCOME_STAGED, NULL) == 0 &&
	   send_of_part(&t, OUTCOME_AHEAD, first) == 0 &&
	   send_of_part(&t, OUTCOME_NONE, second) == 0);
	named(client_idle(t.c) && has_first(&t, 2),
	      "the round's final values replace the values that arrived "
	      "ahead");

	begin_round(&t);
	ok(send_of_part(&t, OUTCOME_STAGED, NULL) == 0 &&
	   send_of_part(&t, OUTCOME_AHEAD, first) == 0);
	client_down(t.c, 1, 0);
	welcome(t.c);
	equals(t.said.last, MESSAGE_PULL);
	named(send_of_part(&t, OUTCOME_CONFIRMED, NULL) == 0 &&
	      !client_idle(t.c),
	      "a confirmation on a new connection does not count for values "
	      "of the old one");
	ok(send_of_part(&t, OUTCOME_NONE, second) == 0 && client_idle(t.c));
	talk_end(&t);
}

int
main(void)
{
	test_ahead();
	test_codec();
	test_credit();
	test_unused();
	return tap_done();
}
