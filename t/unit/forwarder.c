/*
 * A relay answers each request once, to the worker that sent it.  Pulls of the
 * same values that wait at the same time are sent once.  No worker gets values
 * that were pulled before its own request.
 */
#include "relay/forwarder.h"

#include "model_fixture.h"
#include "post.h"
#include "wire/bundle.h"

#define SERVER	7	/* peers */
#define A	1
#define B	2
#define C	3
#define DENSE	0	/* the only part; for a test with rows: */
#define TABLE	DENSE
#define LARGE	40000	/* bytes that are not bundled */

static const char text[] =
	"input x float[3]\n"
	"label y float\n"
	"d = dense x units=1\n"
	"loss mean_squared_error d\n"
	"optimizer sgd\n";

static struct model_fixture fixture;
static struct plan plan;
static struct forwarder *forwarder;
static char bytes[2 * LARGE];

static void
begin(void)
{
	forwarder = forwarder_new(&plan, fixture.model, &post);
}

static void
end(void)
{
	holds(forwarder_check(forwarder));
	forwarder_free(forwarder);
	post_clear();
}

static void
flush(void)
{
	const uint64_t peer[] = { SERVER };

	forwarder_flush(forwarder, peer);
	holds(forwarder_check(forwarder));
}

static uint64_t coded;	/* of pulls */

static void
pull(uint64_t peer, uint64_t request, uint64_t part, uint64_t after,
     size_t keys)
{
	struct message m = { .kind = MESSAGE_PULL, .request = request,
			     .frames = 1 };

	m.pull.run = plan_run(&plan);
	m.pull.term = plan.term;
	m.pull.plan = plan.number;
	m.pull.part = part;
	m.pull.cut = WIRE_NONE;
	m.pull.after = after;
	m.pull.coded = coded;
	m.frame[0] = (struct frame){ bytes, keys, NULL };
	forwarder_ask(forwarder, peer, &m);
	holds(forwarder_check(forwarder));
}

static void
push(uint64_t peer, uint64_t request, bool pulls, uint64_t part, size_t size,
     uint64_t back)
{
	struct message m = { .kind = pulls ? MESSAGE_PUSHPULL : MESSAGE_PUSH,
			     .request = request, .frames = pulls ? 3 : 2 };

	m.push.run = plan_run(&plan);
	m.push.term = plan.term;
	m.push.plan = plan.number;
	m.push.part = part;
	m.push.back = back;
	m.push.values = 0;
	m.frame[m.frames - 1] = (struct frame){ bytes, size, NULL };
	forwarder_ask(forwarder, peer, &m);
	holds(forwarder_check(forwarder));
}

/* The server answers request n of the relay; size 0: without values. */
static void
answers(uint64_t n, enum outcome outcome, uint64_t version, size_t size)
{
	struct message m = { .kind = MESSAGE_VALUES, .request = n };

	m.values.outcome = outcome;
	m.values.version = version;
	m.values.staleness = outcome == OUTCOME_APPLIED ? n : 0;
	m.frames = size > 0;
	m.frame[0] = (struct frame){ bytes, size, NULL };
	forwarder_answer(forwarder, &m);
	holds(forwarder_check(forwarder));
}

static void
refuses(uint64_t n)
{
	struct message m = { .kind = MESSAGE_REFUSED, .request = n };

	m.refused.status = FAIL_AGAIN;
	forwarder_answer(forwarder, &m);
	holds(forwarder_check(forwarder));
}

/* Was this answer forwarded to the worker, with the number of its own
   request? */
static bool
hears(uint64_t peer, uint64_t request, enum outcome outcome, uint64_t version,
      bool values)
{
	return says(peer, MESSAGE_VALUES) &&
		last_posted->m.request == request &&
		last_posted->m.values.outcome == outcome &&
		last_posted->m.values.version == version &&
		(last_posted->m.frames == 1) == values;
}

static bool
sends(enum message_kind kind, uint64_t n)
{
	return says(SERVER, kind) && last_posted->m.request == n;
}

static bool
sends_bundle(uint64_t count)
{
	return says(SERVER, MESSAGE_BUNDLE) &&
		last_posted->m.bundle.count == count;
}

static void
test_pushes(void)
{
	begin();
	push(A, 50, false, DENSE, LARGE, 0);
	push(B, 50, false, DENSE, 10, 0);
	named(silent(), "a push waits for the flush");
	flush();
	named(sends(MESSAGE_PUSH, 1) && sends(MESSAGE_PUSH, 2) && silent(),
	      "a large push and a single small one are sent as messages of "
	      "their own");
	answers(2, OUTCOME_APPLIED, 0, 0);
	named(hears(B, 50, OUTCOME_APPLIED, 0, false),
	      "the answer goes to the worker that pushed");
	answers(2, OUTCOME_APPLIED, 0, 0);
	named(silent(), "a repeated answer is not passed on");
	answers(1, OUTCOME_DUP, 0, 0);
	named(hears(A, 50, OUTCOME_DUP, 0, false),
	      "the answer has the outcome that the server sent");
	push(A, 51, false, DENSE, 10, 0);
	push(B, 51, false, DENSE, 10, 0);
	push(A, 52, false, TABLE, 10, 0);
	flush();
	named(sends_bundle(3) && silent(),
	      "small pushes are sent in one bundle");
	push(A, 53, false, 99, 10, 0);
	named(hears(A, 53, OUTCOME_WRONG_PLAN, 0, false) && silent(),
	      "a push to a part that the plan does not have is answered "
	      "WRONG_PLAN");
	named(forwarder_counts(forwarder).open == 3 &&
	      forwarder_counts(forwarder).pushes == 6 &&
	      forwarder_counts(forwarder).bundled == 3 &&
	      forwarder_counts(forwarder).bundles == 1,
	      "open, pushed and bundled messages are counted");
	end();
}

static void
test_shared_pulls(void)
{
	begin();
	pull(A, 1, DENSE, 0, 0);
	pull(B, 2, DENSE, 0, 0);
	flush();
	named(sends(MESSAGE_PULL, 1) && silent(),
	      "two pulls of the same values are sent once");
	pull(C, 3, DENSE, 0, 0);
	flush();
	named(silent(), "a pull after the one that was sent waits");
	answers(1, OUTCOME_NONE, 4, 12);
	named(hears(A, 1, OUTCOME_NONE, 4, true) &&
	      hears(B, 2, OUTCOME_NONE, 4, true) && silent(),
	      "both workers that share a pull get the values");
	flush();
	named(sends(MESSAGE_PULL, 2),
	      "the later pull is sent when the first is answered");
	answers(2, OUTCOME_NONE, 5, 12);
	named(hears(C, 3, OUTCOME_NONE, 5, true),
	      "the later pull gets the newer values");
	pull(A, 4, TABLE, 0, 10);
	pull(B, 5, TABLE, 0, 10);
	pull(C, 6, TABLE, 0, 11);
	flush();
	named(sends_bundle(2), "pulls of the same few rows are sent once");
	pull(A, 7, TABLE, 0, 300);
	pull(B, 8, TABLE, 0, 300);
	flush();
	named(sends_bundle(2), "pulls of many rows are not shared");
	named_equals(forwarder_counts(forwarder).shared, 2,
		     "shared pulls are counted");
	end();
}

static void
test_codings(void)
{
	struct codings *codings = codings_new(fixture.variables);
	struct codings *none = plan.codings;

	begin();
	plan.codings = codings;
	codings->of[0][WAY_PULL].from = 6;
	for (coded = 5; coded <= 8; coded++)
		pull(A, coded, DENSE, 0, 0);
	coded = 0;
	pull(A, 9, DENSE, 0, 0);
	flush();
	named(sends_bundle(3),
	      "pulls in the same coding are shared: before the codec's first "
	      "step, from it on, and as floats");
	end();
	plan.codings = none;
	codings_free(codings);
}

static void
test_shared_pushes(void)
{
	begin();
	push(A, 1, true, DENSE, LARGE, 0);
	pull(B, 2, DENSE, 0, 0);
	push(C, 3, true, DENSE, LARGE, 0);
	flush();
	named(sends(MESSAGE_PUSH, 1) && sends(MESSAGE_PUSHPULL, 2) &&
	      silent(),
	      "only the last of the pushes pulls the values, for all");
	answers(1, OUTCOME_APPLIED, 0, 0);
	named(silent(), "a push that is answered first waits for its values");
	answers(2, OUTCOME_DUP, 9, 70000);
	named(hears(A, 1, OUTCOME_APPLIED, 9, true) &&
	      last_posted->m.values.staleness == 1,
	      "the first push is answered with its outcome and the values");
	named(hears(B, 2, OUTCOME_NONE, 9, true) &&
	      hears(C, 3, OUTCOME_DUP, 9, true) && silent(),
	      "the other requests get the values, each with its own outcome");
	end();
}

static void
test_without_values(void)
{
	begin();
	push(A, 1, true, DENSE, LARGE, 0);
	push(B, 2, true, DENSE, LARGE, 0);
	push(C, 3, true, DENSE, LARGE, 0);
	flush();
	post_clear();
	answers(1, OUTCOME_STALE, 0, 0);
	named(hears(A, 1, OUTCOME_STALE, 0, false),
	      "a push whose outcome has no values is answered at once");
	answers(2, OUTCOME_APPLIED, 0, 0);
	refuses(3);
	named(says(C, MESSAGE_REFUSED) && last_posted->m.request == 3 &&
	      silent(),
	      "the refusal of the push that pulls goes to its worker");
	flush();
	named(sends(MESSAGE_PULL, 4),
	      "the values for the other pushes are pulled anew");
	answers(4, OUTCOME_NONE, 3, 12);
	named(hears(B, 2, OUTCOME_APPLIED, 3, true) && silent(),
	      "the waiting push gets its outcome with the new values");
	pull(A, 4, DENSE, 0, 0);
	pull(B, 5, DENSE, 0, 0);
	flush();
	post_clear();
	refuses(5);
	named(says(A, MESSAGE_REFUSED) && says(B, MESSAGE_REFUSED) &&
	      silent(),
	      "the refusal of a shared pull goes to all its workers");
	end();
}

/* A server does not answer in this order; but if one did, each worker would get
   its answer. */
static void
test_late(void)
{
	begin();
	push(A, 1, true, DENSE, LARGE, 0);
	push(B, 2, true, DENSE, LARGE, 0);
	flush();
	post_clear();
	answers(2, OUTCOME_APPLIED, 5, 12);
	named(hears(B, 2, OUTCOME_APPLIED, 5, true) && silent(),
	      "values that arrive before the outcome of a worker's own push "
	      "are not for it");
	flush();
	named(silent(), "no new pull is sent before the push is answered");
	answers(1, OUTCOME_APPLIED, 0, 0);
	flush();
	named(sends(MESSAGE_PULL, 3),
	      "a new pull is sent once the push is answered");
	answers(3, OUTCOME_NONE, 6, 12);
	named(hears(A, 1, OUTCOME_APPLIED, 6, true),
	      "the worker gets the values of the new pull");
	push(A, 3, true, DENSE, LARGE, 0);
	push(B, 4, true, DENSE, LARGE, 0);
	flush();
	post_clear();
	answers(5, OUTCOME_APPLIED, 8, 12);
	answers(4, OUTCOME_WRONG_PLAN, 0, 0);
	named(hears(B, 4, OUTCOME_APPLIED, 8, true) &&
	      hears(A, 3, OUTCOME_WRONG_PLAN, 0, false) && silent(),
	      "a push that failed is answered without values");
	end();
}

static void
test_rounds(void)
{
	begin();
	pull(A, 1, DENSE, 8, 0);
	flush();
	post_clear();
	pull(B, 2, DENSE, 8, 0);
	flush();
	named(silent(),
	      "a pull of the same round shares the one that was sent");
	answers(1, OUTCOME_AHEAD, 4, 12);
	named(hears(A, 1, OUTCOME_AHEAD, 4, true) &&
	      hears(B, 2, OUTCOME_AHEAD, 4, true),
	      "values ahead of the round's end go to all workers that wait");
	pull(C, 3, DENSE, 8, 0);
	named(hears(C, 3, OUTCOME_AHEAD, 4, true) && silent(),
	      "a later pull gets the values that came ahead");
	answers(1, OUTCOME_CONFIRMED, 4, 0);
	named(hears(A, 1, OUTCOME_CONFIRMED, 4, false) &&
	      hears(B, 2, OUTCOME_CONFIRMED, 4, false) &&
	      hears(C, 3, OUTCOME_CONFIRMED, 4, false) && silent(),
	      "the confirmation goes to all workers that got values ahead");
	pull(B, 4, DENSE, 8, 0);
	named(hears(B, 4, OUTCOME_NONE, 4, true) && silent(),
	      "a pull after the confirmation is answered at once");
	pull(A, 4, DENSE, 9, 0);
	flush();
	named(sends(MESSAGE_PULL, 2) && silent(),
	      "a pull of another round is sent");
	answers(2, OUTCOME_AHEAD, 5, 12);
	answers(2, OUTCOME_NONE, 6, 12);
	named(hears(A, 4, OUTCOME_AHEAD, 5, true) &&
	      hears(A, 4, OUTCOME_NONE, 6, true),
	      "final values that differ from those ahead are passed on");
	pull(B, 5, DENSE, 9, 0);
	named(hears(B, 5, OUTCOME_NONE, 6, true) && silent(),
	      "a later pull gets the final values");
	pull(B, 6, DENSE, 8, 0);
	flush();
	named(sends(MESSAGE_PULL, 3),
	      "values of an earlier round are not kept");
	refuses(3);
	named(says(B, MESSAGE_REFUSED), "a refused pull is not kept");
	pull(A, 5, TABLE, 8, 300);
	flush();
	post_clear();
	answers(4, OUTCOME_AHEAD, 4, 12);
	answers(4, OUTCOME_CONFIRMED, 4, 0);
	named(hears(A, 5, OUTCOME_AHEAD, 4, true) &&
	      hears(A, 5, OUTCOME_CONFIRMED, 4, false),
	      "rows that came ahead are confirmed, too");
	end();
}

static void
test_keys(void)
{
	begin();
	pull(A, 10, TABLE, 0, 300);
	pull(A, 11, TABLE, 0, 300);
	pull(B, 10, TABLE, 0, 10);
	flush();
	post_clear();
	push(A, 20, false, TABLE, LARGE, 9);
	flush();
	named(sends(MESSAGE_PUSH, 4) && last_posted->m.push.back == 2,
	      "a push that refers to a worker's pull refers to the relay's "
	      "pull");
	push(A, 21, false, TABLE, LARGE, 11);
	flush();
	named(sends(MESSAGE_PUSH, 5) && last_posted->m.push.back == 4,
	      "a push that refers to an earlier pull refers to the relay's "
	      "earlier pull");
	push(A, 22, false, TABLE, LARGE, 1);
	named(hears(A, 22, OUTCOME_GONE, 0, false),
	      "a push that refers to an unknown pull is answered GONE");
	push(B, 20, false, TABLE, LARGE, 10);
	named(hears(B, 20, OUTCOME_GONE, 0, false),
	      "a push that refers to keys too few to be remembered is "
	      "answered GONE");
	end();
}

static void
test_leaving(void)
{
	begin();
	push(A, 1, false, DENSE, 10, 0);
	pull(A, 2, DENSE, 0, 0);
	pull(B, 3, DENSE, 0, 0);
	flush();
	post_clear();
	push(A, 4, true, DENSE, 10, 0);
	forwarder_leave(forwarder, A);
	answers(1, OUTCOME_APPLIED, 0, 0);
	answers(2, OUTCOME_NONE, 1, 12);
	named(hears(B, 3, OUTCOME_NONE, 1, true) && silent(),
	      "a worker that has left is sent no answer");
	flush();
	named(sends(MESSAGE_PUSHPULL, 3),
	      "the push of a worker that has left is still sent");
	forwarder_drop(forwarder);
	answers(3, OUTCOME_APPLIED, 2, 12);
	named(silent() && forwarder_counts(forwarder).open == 0,
	      "a request that was dropped is not answered");
	pull(B, 5, DENSE, 0, 0);
	push(C, 6, false, DENSE, 10, 0);
	forwarder_drop(forwarder);
	flush();
	named(silent(), "a request that was dropped is not sent");
	push(C, 7, false, DENSE, 10, 0);
	flush();
	post_clear();
	post_deaf = C;
	answers(4, OUTCOME_APPLIED, 0, 0);
	post_deaf = 0;
	named(silent(),
	      "an answer to a worker that cannot be reached is dropped");
	end();
	begin();
	pull(A, 1, DENSE, 0, 0);
	pull(B, 2, DENSE, 0, 0);
	flush();
	post_clear();
	forwarder_leave(forwarder, A);
	answers(1, OUTCOME_NONE, 1, 12);
	named(hears(B, 2, OUTCOME_NONE, 1, true) && silent(),
	      "a worker that left a shared pull is sent no answer");
	end();
}

/* A worker pushes a replica of a round, four floats of this value, which the
   relay may add up in a node of two. */
static void
push_leaf(uint64_t peer, uint64_t step, uint64_t replica, uint64_t attempt,
	  float value)
{
	const float values[] = { value, value, value, value };
	struct message m = { .kind = MESSAGE_PUSH, .request = step,
			     .frames = 2 };

	m.push.run = plan_run(&plan);
	m.push.term = plan.term;
	m.push.plan = plan.number;
	m.push.part = DENSE;
	m.push.step = step;
	m.push.slot = message_node(replica, 1);
	m.push.attempt = attempt;
	m.push.examples = 4;
	m.frame[1] = (struct frame){ values, sizeof(values), NULL };
	forwarder_ask(forwarder, peer, &m);
	holds(forwarder_check(forwarder));
}

static bool
sends_leaves(uint64_t count)
{
	return count == 1 ? says(SERVER, MESSAGE_PUSH) &&
		last_posted->m.push.slot < WIRE_REPLICAS : sends_bundle(count);
}

static bool
sends_sum(uint64_t request, uint64_t first, float value)
{
	float sum;

	if (!sends(MESSAGE_PUSH, request))
		return false;
	memcpy(&sum, last_posted->text, sizeof(sum));
	return last_posted->m.push.slot == message_node(first, 1) &&
		last_posted->m.push.examples == 8 && !(sum < value) &&
		!(sum > value) && forwarder_sums(forwarder, request);
}

static void
test_sums(void)
{
	begin();
	push_leaf(B, 5, 3, 1, 2);
	push_leaf(A, 5, 2, 1, 1);
	flush();
	named(sends_leaves(2) && silent(), "no push waits in the first round");
	push_leaf(A, 6, 2, 1, 1);
	flush();
	named(silent(),
	      "a push waits for workers that pushed in the round before");
	push_leaf(B, 6, 3, 1, 2);
	flush();
	named(sends_sum(3, 2, 3) && silent(),
	      "two pushes of a node are sent as one sum");
	answers(3, OUTCOME_STAGED, 0, 0);
	named(hears(A, 6, OUTCOME_STAGED, 0, false) &&
	      hears(B, 6, OUTCOME_STAGED, 0, false) && silent(),
	      "the answer to a sum goes to each of its workers");
	push_leaf(A, 7, 2, 1, 1);
	forwarder_expire(forwarder);
	flush();
	named(silent(),
	      "a push that came after the last deadline still waits");
	forwarder_expire(forwarder);
	flush();
	named(sends_leaves(1) && silent(),
	      "a push is sent alone after the second deadline");
	push_leaf(B, 7, 3, 1, 2);
	flush();
	named(sends_leaves(1) && silent(),
	      "a late push of the same round is sent alone");
	push_leaf(A, 8, 2, 1, 1);
	flush();
	named(silent(),
	      "the next round waits again, as all workers pushed in the end");
	push_leaf(B, 8, 3, 2, 2);
	flush();
	named(sends_leaves(2) && silent(),
	      "pushes of different attempts are not added");
	push_leaf(A, 9, 2, 1, 1);
	forwarder_leave(forwarder, B);
	flush();
	named(sends_leaves(1) && silent(),
	      "a push does not wait for a worker that has left");
	push_leaf(A, 10, 2, 1, 1);
	flush();
	named(sends_leaves(1) && silent(),
	      "a round after an incomplete one does not wait");
	push_leaf(B, 10, 3, 1, 2);
	push_leaf(A, 11, 2, 1, 1);
	push_leaf(A, 12, 2, 1, 1);
	flush();
	post_clear();
	push_leaf(A, 11, 2, 1, 1);
	flush();
	named(sends_leaves(1) && silent(),
	      "a push of an older round does not wait");
	named(forwarder_counts(forwarder).sums == 1 &&
	      forwarder_counts(forwarder).summed == 2,
	      "sums and the pushes in them are counted");
	end();
}

/* A malformed or repeated push is forwarded unchanged. */
static void
test_misfits(void)
{
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };

	begin();
	push_leaf(A, 5, 0, 1, 1);
	push_leaf(B, 5, 1, 1, 1);
	push_leaf(A, 6, 0, 1, 1);
	push_leaf(A, 6, 0, 1, 1);
	flush();
	post_clear();
	push_leaf(A, 7, 0, 1, 1);
	push_leaf(B, 7, 1, 1, 1);
	flush();
	post_clear();
	push_leaf(A, 8, 0, 1, 1);
	flush();
	named(silent(),
	      "a push waits for the worker that pushed in the round before");
	m.push.run = plan_run(&plan);
	m.push.term = m.push.plan = m.push.attempt = m.push.examples = 1;
	m.push.part = DENSE;
	m.push.step = 8;
	m.push.slot = message_node(1, 1);
	m.frame[1] = (struct frame){ bytes, 1000, NULL };
	forwarder_ask(forwarder, B, &m);
	flush();
	named(sends_bundle(2) && silent() &&
	      forwarder_counts(forwarder).sums == 1,
	      "a malformed push is not added: each is sent as it came");
	push_leaf(A, 9, 0, 1, 1);
	forwarder_drop(forwarder);
	flush();
	named(silent() && forwarder_counts(forwarder).open == 0,
	      "a push that was dropped leaves nothing to send");
	end();
}

int
main(void)
{
	const struct partitioner whole = { .kind = PARTITION_NONE };
	char endpoint[] = "-", *endpoints = endpoint;
	struct place *place;
	size_t places;

	fixture_begin(&fixture, text);
	place = partition_plan(fixture.variable, fixture.variables, &whole,
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, &endpoints, 1);
	plan.number = plan.term = 1;
	test_pushes();
	test_shared_pulls();
	test_codings();
	test_shared_pushes();
	test_without_values();
	test_late();
	test_rounds();
	test_keys();
	test_leaving();
	test_sums();
	test_misfits();
	free(place);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
