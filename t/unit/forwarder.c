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
	named(silent(), "what comes waits");
	flush();
	named(sends(MESSAGE_PUSH, 1) && sends(MESSAGE_PUSH, 2) && silent(),
	      "a large push and a small one leave by themselves");
	answers(2, OUTCOME_APPLIED, 0, 0);
	named(hears(B, 50, OUTCOME_APPLIED, 0, false), "each is answered");
	answers(2, OUTCOME_APPLIED, 0, 0);
	named(silent(), "and once");
	answers(1, OUTCOME_DUP, 0, 0);
	named(hears(A, 50, OUTCOME_DUP, 0, false), "by what became of it");
	push(A, 51, false, DENSE, 10, 0);
	push(B, 51, false, DENSE, 10, 0);
	push(A, 52, false, TABLE, 10, 0);
	flush();
	named(sends_bundle(3) && silent(), "small ones leave in one");
	push(A, 53, false, 99, 10, 0);
	named(hears(A, 53, OUTCOME_WRONG_PLAN, 0, false) && silent(),
	      "a part that there is not is of another plan");
	named(forwarder_counts(forwarder).open == 3 &&
	      forwarder_counts(forwarder).pushes == 6 &&
	      forwarder_counts(forwarder).bundled == 3 &&
	      forwarder_counts(forwarder).bundles == 1, "they are counted");
	end();
}

static void
test_shared_pulls(void)
{
	begin();
	pull(A, 1, DENSE, 0, 0);
	pull(B, 2, DENSE, 0, 0);
	flush();
	named(sends(MESSAGE_PULL, 1) && silent(), "two pulls are one");
	pull(C, 3, DENSE, 0, 0);
	flush();
	named(silent(), "one that comes behind it waits");
	answers(1, OUTCOME_NONE, 4, 12);
	named(hears(A, 1, OUTCOME_NONE, 4, true) &&
	      hears(B, 2, OUTCOME_NONE, 4, true) && silent(),
	      "both who asked have the values");
	flush();
	named(sends(MESSAGE_PULL, 2), "the other one asks for newer ones");
	answers(2, OUTCOME_NONE, 5, 12);
	named(hears(C, 3, OUTCOME_NONE, 5, true), "and has them");
	pull(A, 4, TABLE, 0, 10);
	pull(B, 5, TABLE, 0, 10);
	pull(C, 6, TABLE, 0, 11);
	flush();
	named(sends_bundle(2), "of few rows, those of the same are one");
	pull(A, 7, TABLE, 0, 300);
	pull(B, 8, TABLE, 0, 300);
	flush();
	named(sends_bundle(2), "of many, each is by itself");
	named(forwarder_counts(forwarder).shared == 2,
	      "what is saved is counted");
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
	named(sends_bundle(3), "values share that travel alike, of whichever "
	      "step: before a codec is used, with it, as floats");
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
	      silent(), "the last push brings the values for all");
	answers(1, OUTCOME_APPLIED, 0, 0);
	named(silent(), "a push that is answered waits for its values");
	answers(2, OUTCOME_DUP, 9, 70000);
	named(hears(A, 1, OUTCOME_APPLIED, 9, true) &&
	      last_posted->m.values.staleness == 1, "it has both then");
	named(hears(B, 2, OUTCOME_NONE, 9, true) &&
	      hears(C, 3, OUTCOME_DUP, 9, true) && silent(),
	      "and so have the others, each its own outcome");
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
	      "a push that has no values is answered at once");
	answers(2, OUTCOME_APPLIED, 0, 0);
	refuses(3);
	named(says(C, MESSAGE_REFUSED) && last_posted->m.request == 3 &&
	      silent(), "the one that was to bring them is refused");
	flush();
	named(sends(MESSAGE_PULL, 4), "who waits for them pulls");
	answers(4, OUTCOME_NONE, 3, 12);
	named(hears(B, 2, OUTCOME_APPLIED, 3, true) && silent(),
	      "and has its outcome with them");
	pull(A, 4, DENSE, 0, 0);
	pull(B, 5, DENSE, 0, 0);
	flush();
	post_clear();
	refuses(5);
	named(says(A, MESSAGE_REFUSED) && says(B, MESSAGE_REFUSED) &&
	      silent(), "a pull that is refused is so for all");
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
	      "values that came before its own push are not for it");
	flush();
	named(silent(), "nor does it ask before that is answered");
	answers(1, OUTCOME_APPLIED, 0, 0);
	flush();
	named(sends(MESSAGE_PULL, 3), "then it does");
	answers(3, OUTCOME_NONE, 6, 12);
	named(hears(A, 1, OUTCOME_APPLIED, 6, true), "and has them");
	push(A, 3, true, DENSE, LARGE, 0);
	push(B, 4, true, DENSE, LARGE, 0);
	flush();
	post_clear();
	answers(5, OUTCOME_APPLIED, 8, 12);
	answers(4, OUTCOME_WRONG_PLAN, 0, 0);
	named(hears(B, 4, OUTCOME_APPLIED, 8, true) &&
	      hears(A, 3, OUTCOME_WRONG_PLAN, 0, false) && silent(),
	      "and one that comes to nothing is told so");
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
	named(silent(), "values at the end of a round are always the same");
	answers(1, OUTCOME_AHEAD, 4, 12);
	named(hears(A, 1, OUTCOME_AHEAD, 4, true) &&
	      hears(B, 2, OUTCOME_AHEAD, 4, true), "they may come ahead");
	pull(C, 3, DENSE, 8, 0);
	named(hears(C, 3, OUTCOME_AHEAD, 4, true) && silent(),
	      "and who comes behind them has them, too");
	answers(1, OUTCOME_CONFIRMED, 4, 0);
	named(hears(A, 1, OUTCOME_CONFIRMED, 4, false) &&
	      hears(B, 2, OUTCOME_CONFIRMED, 4, false) &&
	      hears(C, 3, OUTCOME_CONFIRMED, 4, false) && silent(),
	      "they may be confirmed");
	pull(B, 4, DENSE, 8, 0);
	named(hears(B, 4, OUTCOME_NONE, 4, true) && silent(),
	      "then whoever asks has them at once");
	pull(A, 4, DENSE, 9, 0);
	flush();
	named(sends(MESSAGE_PULL, 2) && silent(),
	      "another round is another matter");
	answers(2, OUTCOME_AHEAD, 5, 12);
	answers(2, OUTCOME_NONE, 6, 12);
	named(hears(A, 4, OUTCOME_AHEAD, 5, true) &&
	      hears(A, 4, OUTCOME_NONE, 6, true), "or be others");
	pull(B, 5, DENSE, 9, 0);
	named(hears(B, 5, OUTCOME_NONE, 6, true) && silent(),
	      "which count then");
	pull(B, 6, DENSE, 8, 0);
	flush();
	named(sends(MESSAGE_PULL, 3), "those of a round before are not kept");
	refuses(3);
	named(says(B, MESSAGE_REFUSED), "nor what was refused");
	pull(A, 5, TABLE, 8, 300);
	flush();
	post_clear();
	answers(4, OUTCOME_AHEAD, 4, 12);
	answers(4, OUTCOME_CONFIRMED, 4, 0);
	named(hears(A, 5, OUTCOME_AHEAD, 4, true) &&
	      hears(A, 5, OUTCOME_CONFIRMED, 4, false),
	      "so it is with rows");
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
	      "a push that refers to a pull refers to what we made of it");
	push(A, 21, false, TABLE, LARGE, 11);
	flush();
	named(sends(MESSAGE_PUSH, 5) && last_posted->m.push.back == 4,
	      "or to the one before");
	push(A, 22, false, TABLE, LARGE, 1);
	named(hears(A, 22, OUTCOME_GONE, 0, false),
	      "one that nobody knows is gone");
	push(B, 20, false, TABLE, LARGE, 10);
	named(hears(B, 20, OUTCOME_GONE, 0, false),
	      "and so are keys that no server remembers");
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
	      "nothing is said to who has left");
	flush();
	named(sends(MESSAGE_PUSHPULL, 3), "though what it pushed goes on");
	forwarder_drop(forwarder);
	answers(3, OUTCOME_APPLIED, 2, 12);
	named(silent() && forwarder_counts(forwarder).open == 0,
	      "what was forgotten is not answered");
	pull(B, 5, DENSE, 0, 0);
	push(C, 6, false, DENSE, 10, 0);
	forwarder_drop(forwarder);
	flush();
	named(silent(), "nor is it sent");
	push(C, 7, false, DENSE, 10, 0);
	flush();
	post_clear();
	post_deaf = C;
	answers(4, OUTCOME_APPLIED, 0, 0);
	post_deaf = 0;
	named(silent(), "what one that has left would get is dropped");
	end();
	begin();
	pull(A, 1, DENSE, 0, 0);
	pull(B, 2, DENSE, 0, 0);
	flush();
	post_clear();
	forwarder_leave(forwarder, A);
	answers(1, OUTCOME_NONE, 1, 12);
	named(hears(B, 2, OUTCOME_NONE, 1, true) && silent(),
	      "nor who only shared what others asked for, too");
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
	named(sends_leaves(2) && silent(), "nobody waits in the first round");
	push_leaf(A, 6, 2, 1, 1);
	flush();
	named(silent(), "who came with others waits for them");
	push_leaf(B, 6, 3, 1, 2);
	flush();
	named(sends_sum(3, 2, 3) && silent(), "two of a node leave as one");
	answers(3, OUTCOME_STAGED, 0, 0);
	named(hears(A, 6, OUTCOME_STAGED, 0, false) &&
	      hears(B, 6, OUTCOME_STAGED, 0, false) && silent(),
	      "its answer is that of each");
	push_leaf(A, 7, 2, 1, 1);
	forwarder_expire(forwarder);
	flush();
	named(silent(), "it has come since it was last asked who waits");
	forwarder_expire(forwarder);
	flush();
	named(sends_leaves(1) && silent(), "nobody waits for long");
	push_leaf(B, 7, 3, 1, 2);
	flush();
	named(sends_leaves(1) && silent(), "and who comes late has missed it");
	push_leaf(A, 8, 2, 1, 1);
	flush();
	named(silent(), "though all came in the end, and are waited for again");
	push_leaf(B, 8, 3, 2, 2);
	flush();
	named(sends_leaves(2) && silent(), "another attempt is not added");
	push_leaf(A, 9, 2, 1, 1);
	forwarder_leave(forwarder, B);
	flush();
	named(sends_leaves(1) && silent(), "nobody waits for whom has left");
	push_leaf(A, 10, 2, 1, 1);
	flush();
	named(sends_leaves(1) && silent(),
	      "nor in the next round, as not all came in this one");
	push_leaf(B, 10, 3, 1, 2);
	push_leaf(A, 11, 2, 1, 1);
	push_leaf(A, 12, 2, 1, 1);
	flush();
	post_clear();
	push_leaf(A, 11, 2, 1, 1);
	flush();
	named(sends_leaves(1) && silent(), "an older round waits for nobody");
	named(forwarder_counts(forwarder).sums == 1 &&
	      forwarder_counts(forwarder).summed == 2, "sums are counted");
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
	named(silent(), "it waits");
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
	      "with what is malformed each leaves as it came");
	push_leaf(A, 9, 0, 1, 1);
	forwarder_drop(forwarder);
	flush();
	named(silent() && forwarder_counts(forwarder).open == 0,
	      "nothing is left of what is forgotten");
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
