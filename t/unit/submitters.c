/* Submitters: the order of their requests, pending requests, and results
   received. */
#include "coord/submitters.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define LINE	"{\"x\":1}\n"

static struct submitters *s;
static struct turn t;
static struct fail f;
static uint64_t before;

static size_t
call(const char *name, uint64_t peer, uint64_t wishes)
{
	return submitters_call(s, name, strlen(name), peer, wishes,
			       &before, &f);
}

static void
ask(size_t who, const char *line)
{
	struct request r;

	request_read(&r, line, strlen(line), &f);
	submitters_accept(s, who, line, strlen(line));
	submitters_put(s, who, &r, strlen(line));
	request_release(&r);
}

static bool
next(void)
{
	return submitters_turn(s, 4, false, &t);
}

/* All requests that were taken have ended. */
static void
end(uint64_t undone)
{
	submitters_ended(s, t.request->owner, t.request->number, t.steps,
			 undone);
}

/* The ids and steps of the requests that are given up. */
static char told[256];

static void
tell(void *to, const struct request *r, uint64_t steps)
{
	(void)to;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s:%llu ",
		 r->id ? r->id : request_name(r->op),
		 (unsigned long long)steps);
}

static void
begin(void)
{
	s = submitters_new(true, false);
	*told = '\0';
}

static void
finish(void)
{
	ok_and_sound(true, submitters_check(s),
		     "the invariants of the submitters hold at the end");
	submitters_free(s);
}

static void
names(void)
{
	size_t a, b;

	begin();
	a = call("a", 7, 0);
	b = call("b", 8, 0);
	ok(a != b && a != SUBMITTER_OWN && before == SUBMITTER_AWAY);
	ok(submitters_at(s, 7) == a && submitters_at(s, 9) == SUBMITTER_NONE);
	named(call("a", 9, 0) == a && before == 7 && submitters_at(s, 9) == a &&
	      submitters_at(s, 7) == SUBMITTER_NONE,
	      "a submitter that returns by its name replaces its old "
	      "connection");
	named(call("", 3, 0) == SUBMITTER_NONE && f.kind == FAIL_PROTOCOL &&
	      call("a b", 3, 0) == SUBMITTER_NONE &&
	      call("\n", 3, 0) == SUBMITTER_NONE,
	      "a name that is not one word is refused");
	finish();

	begin();
	for (int i = 1; i < SUBMITTERS_MOST; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		if (call(name, (uint64_t)i, 0) == SUBMITTER_NONE)
			ok(!"room");
	}
	named(call("more", 5000, 0) == SUBMITTER_NONE && f.kind == FAIL_AGAIN,
	      "a submitter beyond the limit is refused");
	finish();
}

static void
turns(void)
{
	uint64_t of_a = 0, of_b = 0;
	size_t a, b;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, 0);
	ask(a, "train 1000");
	ask(b, "train 1000");
	for (int i = 0; i < 100 && next(); i++)
		*(t.request->owner == a ? &of_a : &of_b) += t.steps;
	named(of_a == of_b && of_a == 200,
	      "submitters have turns of a few steps, however long their "
	      "requests are");
	ask(a, "more");
	ask(b, "train 1 priority=1");
	named(next() && next() && t.request->owner == b &&
	      t.request->priority == 0,
	      "a request with priority waits for earlier ones of its "
	      "submitter");
	finish();

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, 0);
	ask(a, "train 8");
	ask(b, "train 8 priority=1");
	named(next() && t.request->owner == b && next() &&
	      t.request->owner == b && next() && t.request->owner == a,
	      "the submitter with priority has the first turns");
	finish();
}

static void
barriers(void)
{
	struct turn first;
	size_t a, b;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, 0);
	ask(a, "train 2");
	ask(a, "join");
	ask(a, "train 1");
	ask(b, "join");
	ok(next() && t.request->owner == a && t.steps == 2);
	first = t;
	named(next() && t.request->op == REQUEST_JOIN &&
	      t.request->owner == b && t.steps == 0,
	      "a join does not wait for another submitter's steps");
	end(0);
	named(!next(), "a join waits for its own submitter's steps");
	t = first;
	end(0);
	named(next() && t.request->op == REQUEST_JOIN && !next(),
	      "the next request of a submitter waits for its join");
	end(0);
	ok(next() && t.request->op == REQUEST_TRAIN);
	end(0);
	equals(submitters_all_pending(s), 0);
	finish();

	begin();
	a = call("a", 1, 0);
	ask(a, "epoch 2");
	ok(next() && t.request->op == REQUEST_EPOCH && !next());
	end(0);
	named(next() && t.request->op == REQUEST_EPOCH && !next() &&
	      submitters_pending(s, a) == 1,
	      "epochs of a request come one by one");
	end(0);
	ok(submitters_pending(s, a) == 0 && !next());
	finish();
}

static void
data(void)
{
	size_t a, b;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, 0);
	ask(a, "train 8");
	ask(b, "train 8");
	ok(submitters_turn(s, 4, true, &t) && t.request->owner == a);
	named(submitters_turn(s, 4, true, &t) && t.request->owner == a &&
	      !submitters_turn(s, 4, true, &t),
	      "a submitter keeps the data while it has steps");
	end(0);
	end(0);
	named(submitters_turn(s, 4, true, &t) && t.request->owner == b,
	      "the next submitter gets the data when the steps have ended");
	ask(a, "eval");
	named(submitters_turn(s, 4, true, &t) && t.request->owner == a,
	      "a request that reads no data does not wait");
	finish();
}

static void
errors(void)
{
	struct fail why = { .kind = FAIL_DATA, .text = "w" };
	size_t a, b;
	bool all;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, SUBMITTER_KEEP_GOING);
	ask(a, "train 9");
	ask(a, "join");
	ask(b, "train 2");
	ask(b, "join");
	ok(next() && t.request->owner == a && t.steps == 4);
	submitters_fail(s, a, &why);
	named_equals(submitters_room(s, a), submitters_accepted(s, a),
		     "a submitter that has failed may send no more requests");
	end(3);
	ok(submitters_failed(s, &all) == a && all &&
	   submitters_failed(s, &all) == SUBMITTER_NONE);
	submitters_cancel(s, a, all ? UINT64_MAX :
			  submitters_cancel_end(s, a), tell, NULL);
	named(strcmp(told, "train:8 join:0 ") == 0 &&
	      submitters_pending(s, a) == 0 && submitters_pending(s, b) == 2,
	      "all pending requests of the failed submitter are cancelled");
	*told = '\0';
	submitters_fail(s, b, &why);
	equals(submitters_failed(s, &all), SUBMITTER_NONE);
	submitters_owe(s, b, "why");
	ok(submitters_failed(s, &all) == b && !all);
	submitters_cancel(s, b, all ? UINT64_MAX :
			  submitters_cancel_end(s, b), tell, NULL);
	named(strcmp(told, "train:2 ") == 0 && submitters_pending(s, b) == 1,
	      "with --keep-going the requests up to the next barrier are "
	      "cancelled");
	equals(submitters_owed(s, b), "why");
	equals(submitters_failure(s, b)->kind, FAIL_DATA);
	finish();
}

static void
cancel(void)
{
	size_t a, b;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, 0);
	ask(a, "{\"id\":\"x\",\"steps\":9}");
	ask(a, "{\"id\":7}");
	ask(b, "{\"id\":\"x\"}");
	ok(next() && t.request->owner == a && t.steps == 4);
	named(submitters_cancel_id(s, a, "\"x\"", tell, NULL) == 1 &&
	      strcmp(told, "\"x\":5 ") == 0 && submitters_pending(s, b) == 1,
	      "a cancel by id keeps the steps in flight, and cancels the "
	      "rest");
	named(submitters_cancel_id(s, a, "\"7\"", tell, NULL) == 1,
	      "an id that is a number may be given as a text");
	end(0);
	equals(submitters_pending(s, a), 0);
	ok(submitters_cancel_id(s, a, "\"x\"", tell, NULL) == 0);
	finish();
}

static void
results(void)
{
	uint64_t first;
	size_t a, size;

	begin();
	a = call("a", 1, SUBMITTER_DETACH);
	ok(!submitters_unsent(s, a, &size, &first) && first == 1);
	text_add(submitters_output(s, a), LINE LINE LINE);
	ok(submitters_news(s, a) && submitters_unsent(s, a, &size, &first) &&
	   size == 3 * strlen(LINE) && first == 1);
	submitters_sent(s, a, 2 * strlen(LINE));
	ok(submitters_unsent(s, a, &size, &first) && first == 3);
	equals(submitters_received(s, a, 1, &f), 0);
	ok(submitters_unsent(s, a, &size, &first) && first == 3 &&
	   size == strlen(LINE));
	submitters_away(s, a, 10);
	call("a", 2, SUBMITTER_DETACH);
	named(submitters_unsent(s, a, &size, &first) && first == 2 &&
	      size == 2 * strlen(LINE),
	      "a submitter that returns gets the results that it has not "
	      "acknowledged");
	named(submitters_received(s, a, 4, &f) < 0 && f.kind == FAIL_DATA,
	      "acknowledging more results than there are is an error");
	named(submitters_received(s, a, 0, &f) < 0,
	      "acknowledging fewer results than before is an error");
	ok(submitters_received(s, a, 3, &f) == 0 &&
	   submitters_output(s, a)->size == 0);
	finish();
}

static void
leaving(void)
{
	size_t a, b;

	begin();
	a = call("a", 1, 0);
	b = call("b", 2, SUBMITTER_DETACH);
	ask(a, "train 9");
	ok(next() && t.steps == 4);
	submitters_away(s, a, 100);
	submitters_away(s, b, 100);
	equals(submitters_gone(s, 109, 10, 1000), SUBMITTER_NONE);
	named_equals(submitters_gone(s, 110, 10, 1000), a,
		     "a submitter without --detach may be away for a lease");
	submitters_forget(s, a);
	named(submitters_gone(s, 110, 10, 1000) == SUBMITTER_NONE && !next() &&
	      submitters_pending(s, a) == 1,
	      "the steps in flight of a forgotten submitter are waited for");
	ok(call("a", 3, 0) != a);
	end(2);
	equals(submitters_pending(s, a), 0);
	named_equals(submitters_gone(s, 1100, 10, 1000), b,
		     "a submitter with --detach is forgotten after its longer "
		     "limit");
	submitters_forget(s, b);
	ok(call("c", 4, 0) == a || call("c", 4, 0) == b);
	finish();
}

/* With many submitters and random requests none is lost, and none waits for
   ever. */
static void
crowd(void)
{
	struct rng r = { .seed = 5 };
	uint64_t asked = 0, done = 0;
	size_t who[20];
	bool sound = true;

	begin();
	for (size_t i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%zu", i);
		who[i] = call(name, i + 1, 0);
	}
	for (int i = 0; i < 3000; i++) {
		char line[32];

		if (i < 2000) {
			const uint64_t steps = 1 + rng_below(&r, 9);

			snprintf(line, sizeof(line), "train %d", (int)steps);
			if (rng_below(&r, 4) == 0)
				strcpy(line, "join");
			else
				asked += steps;
			ask(who[rng_below(&r, 20)], line);
		}
		for (int k = 0; k < 5 && next(); k++) {
			done += t.steps;
			end(0);
		}
		sound = sound && !submitters_check(s);
	}
	named(sound && done == asked && submitters_all_pending(s) == 0,
	      "all steps of many random submitters are leased once");
	finish();
}

int
main(void)
{
	names();
	turns();
	barriers();
	data();
	errors();
	cancel();
	results();
	leaving();
	crowd();
	return tap_done();
}
