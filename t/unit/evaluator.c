/* The messages of an evaluator, and how long it waits for each answer. */
#include "client/evaluator.h"

#include "client/evaluation.h"
#include "model_fixture.h"
#include "wire/plan.h"

#include "tap.h"

#include <math.h>

#define COORDINATOR	1	/* peers, in the order of their dialling */
#define SERVER		2
#define TIMEOUT		1000

static const char text[] =
	"input  x float[1]\n"
	"label  y float\n"
	"p    = dense x units=1\n"
	"loss   mean_squared_error p\n";

/* The last message to each peer, and the number of peers. */
struct world {
	struct model_fixture fixture;
	struct outbox outbox;
	struct evaluator *ev;
	struct message said[4];
	size_t count[4];
	uint64_t peers;
	struct fail f;
};

static int
send(void *to, uint64_t peer, const struct message *m)
{
	struct world *w = to;

	w->said[peer] = *m;
	w->count[peer]++;
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	struct world *w = to;

	(void)f;
	*peer = ++w->peers;
	return strcmp(endpoint, *peer == COORDINATOR ? "c" : "s") ? -1 : 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	(void)to;
	(void)peer;
}

static void
begin(struct world *w)
{
	const struct evaluator_options o = {
		.coordinator = "c", .timeout_ms = TIMEOUT, .life = 7,
		.index = WIRE_NONE
	};

	*w = (struct world){ 0 };
	fixture_begin(&w->fixture, text);
	w->outbox = (struct outbox){ .send = send, .dial = dial,
				     .hang_up = hang_up, .to = w };
	w->ev = evaluator_new(&o, &w->outbox, 0, &w->f);
}

static void
end(struct world *w)
{
	evaluator_free(w->ev);
	fixture_end(&w->fixture);
}

static int
receive(struct world *w, uint64_t peer, struct message m, uint64_t now)
{
	return evaluator_receive(w->ev, peer, &m, now, &w->f);
}

static int
receive_plan(struct world *w, uint64_t now)
{
	const struct partitioner whole = { 0 };
	const unsigned char run[PLAN_RUN] = "0123456789abcde";
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };
	struct pack model = { 0 }, packed = { 0 };
	struct plan plan = { 0 };
	char server[] = "s", *endpoint = server;
	struct place *place;
	size_t places;
	int status;

	place = partition_plan(w->fixture.variable, w->fixture.variables,
			       &whole, &placement_balanced, 1, &places);
	plan_make(&plan, w->fixture.model, place, places, &endpoint, 1);
	plan_write(&packed, &plan);
	plan_write_model(&model, &w->fixture.source);
	m.plan.term = m.plan.plan = m.plan.batches = 1;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model.data, model.size, NULL };
	m.frame[1] = (struct frame){ packed.data, packed.size, NULL };
	status = receive(w, COORDINATOR, m, now);
	pack_release(&model);
	pack_release(&packed);
	plan_release(&plan);
	free(place);
	return status;
}

static int
receive_welcome(struct world *w, uint64_t now)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 9;
	return receive(w, SERVER, m, now);
}

static int
receive_cut(struct world *w, uint64_t cut, uint64_t now)
{
	struct message m = { .kind = MESSAGE_CUT };

	m.cut.cut = cut;
	m.cut.step = 40;
	return receive(w, COORDINATOR, m, now);
}

/* Brings the evaluator to the request of its cut. */
static void
ask(struct world *w)
{
	begin(w);
	evaluator_up(w->ev, COORDINATOR, 0);
	receive_plan(w, 0);
	evaluator_up(w->ev, SERVER, 0);
	receive_welcome(w, 100);
}

/* Does the evaluator have a cut, and no pull of it in flight? */
static bool
wants(const struct world *w)
{
	uint64_t step;

	return evaluator_has_cut(w->ev, &step) && evaluator_is_idle(w->ev);
}

static void
test_talk(void)
{
	float values[2] = { 3, 1 };	/* the part: in whatever order */
	struct message m = { .kind = MESSAGE_VALUES, .frames = 1 };
	struct evaluation e;
	uint64_t step;
	struct world w;

	begin(&w);
	ok(!evaluator_model(w.ev) && !wants(&w));
	evaluator_up(w.ev, COORDINATOR, 0);
	ok(w.said[COORDINATOR].kind == MESSAGE_HELLO &&
	   w.said[COORDINATOR].hello.role == ROLE_EVALUATOR);
	ok(receive_plan(&w, 0) == 0 && evaluator_model(w.ev));
	evaluator_up(w.ev, SERVER, 0);
	equals(w.said[SERVER].kind, MESSAGE_HELLO);
	equals(w.said[COORDINATOR].kind, MESSAGE_HELLO);	/* no cut yet */
	equals(receive_welcome(&w, 0), 0);
	equals(w.said[COORDINATOR].kind, MESSAGE_CUT);
	ok(!wants(&w));
	ok(receive_cut(&w, 5, 0) == 0 && wants(&w));

	feature_add_value(&w.fixture.batch.feature[0], 0, 1);
	feature_add_value(&w.fixture.batch.label, 0, 2);
	w.fixture.batch.examples = 1;
	evaluation_open(&e, evaluator_model(w.ev), NULL);
	evaluation_begin(&e, &w.fixture.batch);
	equals(evaluator_pull(w.ev, e.compute, 0, &w.f), 0);
	ok(w.said[SERVER].kind == MESSAGE_PULL &&
	   w.said[SERVER].pull.cut == 5 && !wants(&w));
	m.request = w.said[SERVER].request;
	m.frame[0] = (struct frame){ values, sizeof(values), NULL };
	ok(receive(&w, SERVER, m, 0) == 0 && wants(&w));
	equals(evaluation_end(&e, true, &w.f), 0);
	ok(evaluator_has_cut(w.ev, &step) && step == 40 && e.examples == 1 &&
	   fabs(e.loss - 4) < 1e-6);
	evaluation_close(&e);
	end(&w);
	ok(w.said[COORDINATOR].kind == MESSAGE_BYE &&
	   w.said[SERVER].kind == MESSAGE_BYE);
}

static bool
gives_up(struct world *w, uint64_t now, const char *why)
{
	return evaluator_tick(w->ev, now - 1, &w->f) == 0 &&
		evaluator_tick(w->ev, now, &w->f) == -1 &&
		w->f.kind == FAIL_PEER && strstr(w->f.text, why);
}

static void
ping(struct world *w, uint64_t now)
{
	receive(w, COORDINATOR, (struct message){ .kind = MESSAGE_PING }, now);
}

static void
test_patience(void)
{
	struct world w;

	begin(&w);
	ok(gives_up(&w, TIMEOUT, "coordinator c does not answer within 1 s"));
	evaluator_up(w.ev, COORDINATOR, 500);
	ok(gives_up(&w, 500 + TIMEOUT, "coordinator c hangs, last heard 1.0 s "
		    "ago"));
	end(&w);

	begin(&w);
	evaluator_up(w.ev, COORDINATOR, 500);
	ping(&w, 400 + TIMEOUT);
	ok(gives_up(&w, 500 + TIMEOUT, "c has not begun a run"));
	receive_plan(&w, 600);
	ok(gives_up(&w, 600 + TIMEOUT, "server 0 (s) does not answer"));
	end(&w);

	ask(&w);
	ping(&w, TIMEOUT);
	ok(gives_up(&w, 100 + TIMEOUT, "c has not provided values of one "
		    "step"));
	ok(receive_cut(&w, WIRE_NONE, 150) == 0 && !wants(&w));
	ping(&w, TIMEOUT);
	ok(gives_up(&w, 150 + TIMEOUT, "c has not provided values of one "
		    "step"));
	evaluator_down(w.ev, COORDINATOR, 200);
	ok(gives_up(&w, 200 + TIMEOUT, "c has not come back"));
	end(&w);
}

/* The silence of others while the evaluator itself is stopped is no fault of
   theirs. */
static void
test_pause(void)
{
	struct world w;

	begin(&w);
	evaluator_up(w.ev, COORDINATOR, 0);
	equals(evaluator_tick(w.ev, 100, &w.f), 0);
	named(evaluator_tick(w.ev, 100 + 5 * TIMEOUT, &w.f) == 0,
	      "one that was stopped waits for the coordinator anew");
	ok(gives_up(&w, 6 * TIMEOUT, "coordinator c hangs"));
	end(&w);

	ask(&w);
	receive_cut(&w, 6, 150);
	fixture_pull(&w.fixture);
	evaluator_pull(w.ev, w.fixture.compute, 200, &w.f);
	equals(evaluator_tick(w.ev, 200, &w.f), 0);
	named(evaluator_tick(w.ev, 5 * TIMEOUT, &w.f) == 0,
	      "and for a server");
	equals(evaluator_tick(w.ev, 5 * TIMEOUT + 900, &w.f), 0);
	ok(gives_up(&w, 6 * TIMEOUT, "server 0 (s)"));
	end(&w);
}

static void
test_lost_connections(void)
{
	struct world w;
	size_t said;

	ask(&w);
	evaluator_down(w.ev, COORDINATOR, 200);
	evaluator_up(w.ev, COORDINATOR, 300);
	receive_plan(&w, 300);
	equals(w.said[COORDINATOR].kind, MESSAGE_CUT);	/* once more */
	receive_cut(&w, 6, 300);
	said = w.count[COORDINATOR];

	/* An evaluator that has its cut needs only the servers. */
	evaluator_down(w.ev, COORDINATOR, 400);
	equals(evaluator_tick(w.ev, 400 + 2 * TIMEOUT, &w.f), 0);
	evaluator_up(w.ev, COORDINATOR, 3000);
	receive_plan(&w, 3000);
	ok(w.count[COORDINATOR] == said + 1 &&
	   w.said[COORDINATOR].kind == MESSAGE_HELLO);
	fixture_pull(&w.fixture);
	evaluator_pull(w.ev, w.fixture.compute, 3000, &w.f);
	equals(evaluator_tick(w.ev, 3000, &w.f), 0);
	ok(gives_up(&w, 3000 + TIMEOUT, "server 0 (s) is silent"));
	end(&w);
}

static void
test_ends(void)
{
	struct world w;

	begin(&w);
	evaluator_up(w.ev, COORDINATOR, 0);
	ok(receive_cut(&w, 5, 0) == -1 && w.f.kind == FAIL_PROTOCOL &&
	   !wants(&w));
	end(&w);

	ask(&w);
	ok(receive(&w, COORDINATOR, (struct message){ .kind = MESSAGE_STOP },
		   200) == -1 && w.f.kind == FAIL_PEER &&
	   strstr(w.f.text, "coordinator c ended the run"));
	ok(receive(&w, COORDINATOR, message_refuse(
			&(struct message){ .kind = MESSAGE_HELLO },
			FAIL_AGAIN, "too many peers"), 200) == -1 &&
	   w.f.kind == FAIL_AGAIN &&
	   strcmp(w.f.text, "coordinator c: too many peers") == 0);
	ok(receive(&w, COORDINATOR, message_refuse(
			&(struct message){ .kind = MESSAGE_HELLO },
			(enum fail_kind)3, "?"), 200) == -1 &&
	   w.f.kind == FAIL_PROTOCOL);
	end(&w);
}

int
main(void)
{
	test_talk();
	test_patience();
	test_pause();
	test_lost_connections();
	test_ends();
	return tap_done();
}
