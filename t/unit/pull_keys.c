/*
 * A push refers to the keys of its pull: it changes the same rows in the same
 * way, even if the server has forgotten these keys; and the memory for them is
 * bounded.
 */
#include "server/pull_keys.h"

#include "client/client.h"
#include "server/commit_log.h"
#include "server/server.h"
#include "wire/keys.h"

#include "code_all.h"
#include "model_fixture.h"
#include "tap.h"

#define CLIENT	1	/* the server's peers */
#define COORD	2
#define SERVER	1	/* the client's */
#define ROWS	100000
#define SOME	700	/* of them */

static const char model[] =
	"input  x sparse[100000]\n"
	"label  y float\n"
	"e  = embedding x dim=2 combiner=sum embeddings_initializer=zeros\n"
	"p  = dense e units=1 kernel_initializer=zeros\n"
	"loss mean_squared_error p\n"
	"optimizer sgd learning_rate=1\n";

static struct server *server;
static struct client *client;
static struct plan plan;
static struct model_fixture fixture;
static struct compute *turn[3];
static struct batch batch[3];		/* the batch of each */
static float table[ROWS][2];		/* the expected values */
static struct commit_log answers;	/* on their way to the client */
static struct fail f;
static const unsigned char run[PLAN_RUN] = "a run, 16 bytes";
static const struct codec *codec;	/* all numbers here are exact in each */

/* The pushes that the client sent, by kind, and a fault to put into them. */
static struct pushed {
	size_t whole, referring, gone;
	bool mislead;		/* refer to a pull that never was */
} pushed;

static int
to_server(void *to, uint64_t peer, const struct message *m)
{
	struct message heard = *m;

	(void)to;
	(void)peer;
	if (m->kind == MESSAGE_PUSH || m->kind == MESSAGE_PUSHPULL) {
		const size_t part = m->push.part;
		const bool rows = plan.piece[plan.part[part].first].table;

		pushed.whole += rows && m->push.back == 0 &&
			m->frame[0].size >= WIRE_RECALL;
		pushed.referring += rows && m->push.back > 0 &&
			m->frame[0].size == 0;
		if (m->push.back > 0 && pushed.mislead)
			heard.push.back += 1000000;
	}
	server_receive(server, CLIENT, &heard, 0);
	return 0;
}

static int
to_client(void *to, uint64_t peer, const struct message *m)
{
	(void)to;
	if (m->kind == MESSAGE_REFUSED)
		printf("# %.*s\n", (int)m->blob.size,
		       (const char *)m->blob.data);
	if (peer != CLIENT)
		return 0;
	pushed.gone += m->kind == MESSAGE_VALUES &&
		m->values.outcome == OUTCOME_GONE;
	commit_log_add(&answers, 0, m);
	return 0;
}

/* Delivers the answers to the client.  false: the client refuses one. */
static bool
receive(void)
{
	struct change *c;
	int taken = 0;

	while (taken == 0 && (c = commit_log_take(&answers, UINT64_MAX))) {
		taken = client_receive(client, SERVER, &c->message, 0, &f);
		refcount_drop(&c->hold);
	}
	return taken == 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *why)
{
	(void)to;
	(void)endpoint;
	(void)why;
	*peer = SERVER;
	return 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	(void)to;
	(void)peer;
}

static struct outbox at_server = { .send = to_client };
static struct outbox at_client = { .send = to_server, .dial = dial,
				   .hang_up = hang_up };

static void
serve(void)
{
	struct pack model_frame = { 0 }, plan_frame = { 0 };
	struct message m = { .kind = MESSAGE_HELLO };

	server = server_new(1, 1000, &at_server);
	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_COORDINATOR;
	m.hello.term = 1;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	server_receive(server, COORD, &m, 0);
	plan_write_model(&model_frame, &fixture.source);
	plan_write(&plan_frame, &plan);
	m = (struct message){ .kind = MESSAGE_PLAN, .frames = 2,
			      .blob = { run, PLAN_RUN, NULL } };
	m.plan.term = m.plan.plan = 1;
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	server_receive(server, COORD, &m, 0);
	pack_release(&model_frame);
	pack_release(&plan_frame);
}

static void
begin(void)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	char endpoint[] = "-", *endpoints = endpoint;
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables, &whole,
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, &endpoints, 1);
	code_all(&plan, fixture.model, codec);
	plan.number = plan.term = 1;
	memcpy(plan.run, run, PLAN_RUN);
	for (size_t i = 0; i < 3; i++)
		turn[i] = compute_new(fixture.model, NULL);
	for (size_t i = 0; i < 3; i++)
		batch_begin(&batch[i], fixture.batch.feature[0].input,
			    fixture.batch.features, fixture.batch.label.input);
	memset(table, 0, sizeof(table));
	free(place);
	serve();
	client = client_new(&plan, fixture.model, ROLE_WORKER, 1, &at_client, 0,
			    &f);
	client_up(client, SERVER, 0);
	receive();
	pushed = (struct pushed){ 0 };
}

static void
end(void)
{
	client_free(client);
	server_free(server);
	commit_log_release(&answers);
	for (size_t i = 0; i < 3; i++) {
		compute_free(turn[i]);
		batch_release(&batch[i]);
	}
	plan_release(&plan);
	fixture_end(&fixture);
}

/* Draws another batch, whose gradients all have this value. */
static void
draw(struct compute *c, struct rng *rng, float gradient)
{
	struct batch *b = batch;

	while (turn[b - batch] != c)
		b++;
	batch_reset(&fixture.batch);
	for (size_t i = 0; i < SOME; i++)
		fixture_add_example(&fixture, rng);
	batch_reset(b);
	batch_append_run(b, &fixture.batch, 0, SOME);
	compute_begin(c, b);
	for (size_t v = 0; v < fixture.variables; v++) {
		const size_t floats = compute_rows(c, v).count *
			shape_width(fixture.variable[v].shape);

		for (size_t i = 0; i < floats; i++)
			compute_gradient(c, v)[i] = gradient;
	}
}

static bool
exchange(const struct compute *push, uint64_t step, struct compute *pull)
{
	const struct exchange x = { .push = push, .step = step,
				    .examples = 1, .pull = pull,
				    .cut = WIRE_NONE, .server = WIRE_NONE,
				    .push_coded = true,
				    .pull_coded = true };

	client_exchange(client, &x, 0);
	return receive() && client_idle(client);
}

static void
expect(const struct compute *c, float gradient)
{
	const struct compute_rows rows = compute_rows(c, 0);

	for (size_t i = 0; i < rows.count; i++)
		for (size_t j = 0; j < 2; j++)
			table[rows.ids[i]][j] -= gradient;
}

/* Does the client have the values that it pulled last? */
static bool
as_expected(struct compute *c)
{
	const struct compute_rows rows = compute_rows(c, 0);
	bool same = rows.count > SOME;

	for (size_t i = 0; same && i < rows.count; i++)
		same = memcmp(compute_value(c, 0) + 2 * i, table[rows.ids[i]],
			      sizeof(table[0])) == 0;
	return same;
}

/* Does count steps, each pushed together with the pull for the next one. */
static bool
steps(struct rng *rng, uint64_t first, uint64_t count)
{
	bool good;

	draw(turn[0], rng, 1);
	good = exchange(NULL, 0, turn[0]) && as_expected(turn[0]);
	for (uint64_t i = 0; i < count && good; i++) {
		struct compute *this = turn[i % 2], *next = turn[(i + 1) % 2];
		const float gradient = (float)(i + 1);

		draw(next, rng, gradient + 1);
		expect(this, gradient);
		good = exchange(this, first + i, next) && as_expected(next);
	}
	return good;
}

static void
refers(void)
{
	struct rng rng = { .seed = 3 };

	begin();
	named(steps(&rng, 0, 10) && pushed.referring == 10 &&
	      pushed.whole == 0,
	      "a push without keys changes the rows of its pull");

	/* A batch is pulled twice; then not at all, since it has other rows. */
	draw(turn[0], &rng, 1);
	ok(exchange(NULL, 0, turn[0]) && exchange(NULL, 0, turn[0]));
	expect(turn[0], 1);
	ok(exchange(turn[0], 10, NULL) && pushed.referring == 11);
	draw(turn[0], &rng, 1);
	expect(turn[0], 1);
	ok(exchange(turn[0], 11, NULL) && pushed.whole == 1);
	draw(turn[1], &rng, 1);
	ok(exchange(NULL, 0, turn[1]) && as_expected(turn[1]));
	end();
}

static void
forgets(void)
{
	struct rng rng = { .seed = 4 };

	begin();
	pushed.mislead = true;
	named(steps(&rng, 0, 10) && pushed.gone == 10 && pushed.whole == 10,
	      "a push whose keys the server has forgotten is sent again with "
	      "keys, and applied once");

	/* A server cannot answer that keys are gone which the message has. */
	struct message m = { .kind = MESSAGE_VALUES };
	const struct exchange x = { .push = turn[1], .step = 20,
				    .examples = 1, .cut = WIRE_NONE,
				    .server = WIRE_NONE };

	draw(turn[1], &rng, 1);
	client_exchange(client, &x, 0);
	m.values.outcome = OUTCOME_GONE;
	m.request = answers.first->message.request;
	ok(client_receive(client, SERVER, &m, 0, &f) < 0 &&
	   f.kind == FAIL_PROTOCOL);
	end();

	/* A new connection has no keys of the old one. */
	begin();
	draw(turn[0], &rng, 1);
	ok(exchange(NULL, 0, turn[0]));
	client_down(client, SERVER, 0);
	client_up(client, SERVER, 0);
	receive();
	ok(exchange(turn[0], 0, NULL) && pushed.whole == 1 &&
	   pushed.gone == 0);
	end();
}

/* A log, or a standby, did not get the pull, so it gets the keys with the
   push. */
static void
kept_whole(void)
{
	struct rng rng = { .seed = 5 };
	const struct change *c;
	uint64_t n = 0;
	bool whole = true;

	begin();
	server_log(server);
	draw(turn[0], &rng, 1);
	ok(exchange(NULL, 0, turn[0]));
	client_exchange(client, &(struct exchange){
		.push = turn[0], .examples = 1, .cut = WIRE_NONE,
		.server = WIRE_NONE }, 0);
	for (; (c = server_change(server, n + 1)); n++)
		whole = whole && c->message.push.back == 0 &&
			(!plan.piece[plan.part[c->message.push.part].first]
			 .table || c->message.frame[0].size >= WIRE_RECALL);
	named(n == plan.parts && whole && pushed.referring == 1,
	      "a push for the log has its keys");
	server_durable(server, n);
	ok(receive() && client_idle(client));
	end();
}

static bool
remembers(struct pull_keys *r, uint64_t request, const struct frame *keys)
{
	struct pulled_keys *one = pull_keys_take(r, 1, request);
	const bool same = one && one->keys.size == keys->size &&
		memcmp(one->keys.data, keys->data, keys->size) == 0;

	free(one);
	return same;
}

static void
bounded(void)
{
	struct pull_keys *r = mem_alloc(1, sizeof(*r));
	struct frame keys = { mem_alloc(1 << 20, 1), 1 << 20, NULL };
	const struct frame few = { keys.data, WIRE_RECALL - 1, NULL };
	size_t kept = 0;

	pull_keys_keep(r, 1, 1, &few);
	ok(!pull_keys_take(r, 1, 1) && r->bytes == 0);
	for (uint64_t i = 0; i < 100; i++)
		pull_keys_keep(r, 1, i, &keys);
	equals(r->bytes, PULL_KEYS_BYTES);
	ok(!pull_keys_take(r, 1, 35) && !pull_keys_take(r, 2, 99));
	ok(remembers(r, 36, &keys) && !pull_keys_take(r, 1, 36));
	pull_keys_keep(r, 1, 100, &keys);
	pull_keys_keep(r, 1, 100, &keys);
	for (uint64_t i = 37; i <= 100; i++)
		kept += remembers(r, i, &keys);
	ok(kept == 64 && r->bytes == 0 && !r->oldest && !r->newest);
	keys.size = PULL_KEYS_BYTES + 1;
	pull_keys_keep(r, 1, 1, &keys);
	equals(r->bytes, 0);
	keys.size = 1 << 20;
	pull_keys_keep(r, 1, 1, &keys);
	pull_keys_release(r);
	ok(r->bytes == 0 && !r->oldest);
	free((void *)(uintptr_t)keys.data);
	free(r);
}

int
main(void)
{
	for (uint64_t number = 0; number < CODECS; number++) {
		codec = codec_find(number);
		refers();
		forgets();
	}
	codec = &codec_float32;
	kept_whole();
	bounded();
	return tap_done();
}
