/*
 * Many submitters and a journal: a submitter receives nothing that is not in
 * the journal, and a coordinator that is started again knows what the first one
 * did.
 */
#include "coord/coord_submit.h"

#include "coord/submitters.h"

/* No time is near 0, as on a machine that has been up for years. */
#define UPTIME	((uint64_t)1 << 40)
#include "coordinator.h"

#define ME	1
#define W	2
#define MAX	64

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

/* ---- a journal ---- */

static struct {
	uint32_t kind;
	unsigned char bytes[4096];
	size_t size;
	bool safe;
} record[MAX];
static size_t records;

static int
add(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
    struct fail *why)
{
	(void)to, (void)why;
	record[records % MAX].kind = kind;
	record[records % MAX].safe = safe;
	record[records % MAX].size = size;
	memcpy(record[records++ % MAX].bytes, bytes, size);
	return 0;
}

static const struct journal journal = { .add = add };

/* Starts a coordinator that reads count records of the journal, the last one
   cut to this many bytes. */
static int
again(size_t count, size_t last)
{
	struct coord_progress before;

	coord_free(c);
	fixture_end(&fixture);
	coordinator_new(model);
	for (size_t i = 0; i < count; i++)
		if (coord_replay(c, record[i].kind, record[i].bytes,
				 i + 1 < count ? record[i].size : last,
				 &f) < 0)
			return -1;
	return coord_start(c, &before, &f);
}

/* ---- a submitter ---- */

static void
calls_as(uint64_t peer, const char *name)
{
	struct message m = message_hello(ROLE_SUBMITTER, SUBMITTER_DETACH, 7,
					 0);

	m.frames = 1;
	m.frame[0] = (struct frame){ name, strlen(name), NULL };
	coordinator_hears(peer, &m);
}

static void
calls(uint64_t peer)
{
	calls_as(peer, "me");
}

static void
submits(const char *lines)
{
	struct message m = { .kind = MESSAGE_SUBMIT };

	m.submit.first = submitters_accepted(c->submitters, 1) + 1;
	m.submit.hash = submitters_hash(c->submitters, 1);
	m.frames = 1;
	m.frame[0] = (struct frame){ lines, strlen(lines), NULL };
	coordinator_hears(ME, &m);
}

static void
tick(void)
{
	now += 50;
	coord_tick(c, now);
	check_all();
}

/* Does the submitter receive ACCEPTED with this number, and this result? */
static bool
hears(uint64_t peer, uint64_t accepted, const char *result)
{
	return says(peer, MESSAGE_RESULTS) &&
		last_posted->m.results.accepted == accepted &&
		strstr(last_posted->text, result);
}

static void
begin(void)
{
	struct coord_progress before;

	options.queue = true;
	options.forget_ms = 100000;
	options.journal = &journal;
	records = 0;
	coordinator_new(model);
	equals(coord_start(c, &before, &f), 0);
}

static void
order(void)
{
	size_t before;

	begin();
	calls(ME);
	ok(says(ME, MESSAGE_WELCOME));
	tick();
	ok(hears(ME, 0, ""));
	before = records;
	submits("train 2\nstatus\njoin\n");
	named(silent() && records == before,
	      "accepted requests are not acknowledged before the journal has "
	      "them");
	tick();
	named(records == before + 1 && record[before].kind == JOURNAL_ENDS &&
	      record[before].safe,
	      "accepted requests are synced to the journal");
	named(hears(ME, 3, "\"op\":\"status\",\"step\":0,\"steps\":0,"
		    "\"requests\":1,\"pending\":1"),
	      "the requests in the journal are acknowledged, with the first "
	      "result");
	tick();
	named(records == before + 1 && silent(),
	      "nothing is written to the journal while nothing is new");
}

static void
restart(void)
{
	order();
	equals(again(records, record[records - 1].size), 1);
	tick();
	named(submitters_accepted(c->submitters, 1) == 3 &&
	      submitters_pending(c->submitters, 1) == 2,
	      "a restarted coordinator knows the accepted requests");
	post_clear();
	calls(9);
	ok(says(9, MESSAGE_WELCOME));
	tick();
	named(hears(9, 3, "\"op\":\"status\""),
	      "a restarted coordinator sends the unreceived result again");
	check_all();
	coordinator_end();
}

/* A submitter that ends must know that a coordinator that is started again
   takes no more of it, or the next one of this name would be taken for it. */
static void
leaves(void)
{
	struct message bye = { .kind = MESSAGE_BYE, .request = 2 };
	size_t before;

	order();
	before = records;
	coordinator_hears(ME, &bye);
	named(silent() && records == before,
	      "that a submitter has ended is not confirmed at once");
	tick();
	named(records > before && record[records - 1].safe &&
	      says(ME, MESSAGE_OK) && last_posted->m.request == 2,
	      "it is in the journal, and then confirmed");
	tick();
	named(!says(ME, MESSAGE_OK), "once");
	equals(again(records, record[records - 1].size), 1);
	named(submitters_closed(c->submitters, 1),
	      "one that is started again takes no more of it, either");
	bye.request = 0;
	calls(9);
	coordinator_hears(9, &bye);
	tick();
	named(!submitters_knows(c->submitters, "me", 2),
	      "one that does not wait for an answer is forgotten");
	coordinator_end();
}

/* Its requests would not be done, and a coordinator that is started again would
   not take them. */
static void
too_late(void)
{
	begin();
	servers_greet(7);
	ok(server_does(MESSAGE_PLAN));
	calls(ME);
	submits("train 1\n");
	ask("stop");
	tick();
	named(submitters_closed(c->submitters, 1) && c->phase != PHASE_END,
	      "a stop closes all submitters before the run has ended");
	post_clear();
	calls_as(9, "you");
	named(says(9, MESSAGE_REFUSED) &&
	      last_posted->m.refused.status == FAIL_AGAIN &&
	      strstr(last_posted->text, "the run was told to stop") &&
	      !submitters_knows(c->submitters, "you", 3),
	      "a submitter that calls after a stop is refused");
	calls(ME);
	named(says(ME, MESSAGE_WELCOME),
	      "one that was there before may call again for its results");
	coordinator_end();
}

/* A record that is cut short is refused, or is another valid record; it never
   breaks the coordinator. */
static void
torn(void)
{
	size_t taken = 0, size;

	order();
	size = record[records - 1].size;
	for (size_t i = 0; i < size; i++)
		taken += again(records, i) >= 0;
	named_equals(taken, 0, "a record that is cut short is refused");
	for (size_t i = 0; i < size; i++) {
		record[records - 1].bytes[i] ^= 1;
		if (again(records, size) >= 0)
			check_all();
		record[records - 1].bytes[i] ^= 1;
	}
	coordinator_end();
}

static void
other_run(void)
{
	order();
	options.queue = false;
	named(again(records, record[records - 1].size) < 0 &&
	      f.kind == FAIL_CONFIG && strstr(f.text, "--queue"),
	      "the journal of a run with --queue is refused without it");
	coordinator_end();
}

/* A submitter's time passes while the coordinator hangs, just after it wrote
   the journal: the requests given up are reported nevertheless. */
static void
late(void)
{
	struct fail why;
	int status;

	begin();
	servers_greet(7);
	ok(server_does(MESSAGE_PLAN));
	joins(W);
	ask("{\"op\":\"train\",\"steps\":1000}");
	tick();
	tick();
	coord_down(c, SERVER, now);
	coord_stop(c, now);
	now += 50;
	ask("status");	/* is written */
	now += 2 * options.grace_ms;
	coord_tick(c, now);
	for (size_t i = 0; i < 5 && !coord_over(c, &status, &why); i++)
		tick();
	ok(coord_over(c, &status, &why));
	ok(prints("\"cancelled\":true"));
	coordinator_end();
}

/* The coordinator does not hang up on a submitter that answers, however long it
   has nothing else to say; it does on one that is stopped, after a lease, and
   takes what that had sent before. */
static void
hangs(void)
{
	const struct message pong = { .kind = MESSAGE_PONG };

	begin();
	calls(ME);
	post_hung_up = 0;
	for (uint64_t end = now + 3 * options.lease_ms; now < end;) {
		tick();
		coordinator_hears(ME, &pong);
	}
	named_equals(post_hung_up, 0,
		     "the connection of a submitter that answers is kept");
	for (uint64_t end = now + 3 * options.lease_ms / 2; now < end;)
		tick();
	named_equals(post_hung_up, ME,
		     "a submitter that does not answer for a lease is "
		     "disconnected");
	submits("status\n");
	named_equals(submitters_accepted(c->submitters, 1), 1,
		     "requests that a disconnected submitter had sent are "
		     "accepted");
	coordinator_end();
}

/* Is such a message among those that were sent?  Those before it are passed
   over. */
static bool
sees(uint64_t peer, enum message_kind kind)
{
	while (post_first < post_end) {
		last_posted = &posted[post_first++ % POSTS];
		if (last_posted->peer == peer && last_posted->m.kind == kind)
			return true;
	}
	return false;
}

/* An evaluation in the background that is under way is given up, too. */
static void
cancelled(void)
{
	struct message frozen;

	begin();
	servers_greet(7);
	ok(server_does(MESSAGE_PLAN));
	joins(W);
	calls(ME);
	submits("{\"id\":\"e\",\"op\":\"eval\",\"background\":true}\n"
		"train 3\n");
	for (size_t i = 0; i < 5; i++)
		tick();
	ok(sees(server_at(0), MESSAGE_FREEZE));
	frozen = message_answer(&last_posted->m, MESSAGE_OK);
	coordinator_hears(server_at(0), &frozen);
	ok(sees(W, MESSAGE_EVALUATE));
	post_clear();
	submits("cancel e\n");
	ok(sees(server_at(0), MESSAGE_THAW));
	for (size_t i = 0; i < 5; i++)
		tick();
	named(sees(ME, MESSAGE_RESULTS) && strstr(last_posted->text,
		"{\"id\":\"e\",\"op\":\"eval\",\"cancelled\":true}\n"
		"{\"op\":\"cancel\",\"requests\":1}\n"),
	      "an evaluation in the background is given up, and its cut");
	coordinator_end();
}

/* Is the peer refused, with these words? */
static bool
refused(uint64_t peer, enum fail_kind kind, const char *why)
{
	const bool is = says(peer, MESSAGE_REFUSED) &&
		last_posted->m.refused.status == kind &&
		strstr(last_posted->text, why);

	if (!is)
		tap_differ(last_posted->text, why);
	return is;
}

/* A submitter calls, sends this, is refused with these words, and is away: what
   it sent counts for nothing. */
static void
errs(struct message m, enum fail_kind kind, const char *why)
{
	calls(ME);
	ok(says(ME, MESSAGE_WELCOME));
	coordinator_hears(ME, &m);
	named_for(refused(ME, kind, why) &&
		  submitters_accepted(c->submitters, 1) == 0 &&
		  submitters_at(c->submitters, ME) == SUBMITTER_NONE,
		  "a submitter's message is refused with: %s", why);
	check_all();
}

static void
refusals(void)
{
	const size_t many = ((size_t)32 << 20) + 1;
	char *lines = malloc(many);
	struct message m = message_hello(ROLE_SUBMITTER, 0, 7, 0);

	memset(lines, '\n', many);
	begin();
	coordinator_hears(ME, &m);
	ok(refused(ME, FAIL_PROTOCOL, "a submitter without a name"));
	m = (struct message){ .kind = MESSAGE_SUBMIT, .frames = 1 };
	m.submit.first = 1;
	m.frame[0] = (struct frame){ "join\ntrain", 10, NULL };
	errs(m, FAIL_PROTOCOL, "a request without a newline");
	m.frame[0] = (struct frame){ lines, many, NULL };
	errs(m, FAIL_PROTOCOL, "requests of 33554433 bytes at once, more than "
	     "33554432");
	m.frame[0].size = 100000;
	m.submit.first = 2;
	errs(m, FAIL_DATA, "its requests up to number 1 are not those that it "
	     "sent before");
	m.submit.first = 1;
	m.submit.hash = submitters_hash(c->submitters, 1) + 1;
	errs(m, FAIL_DATA, "its requests up to number 0 are not those that it "
	     "sent before");
	m = (struct message){ .kind = MESSAGE_DONE };
	errs(m, FAIL_PROTOCOL, "a submitter may not send DONE");
	coordinator_end();
	options.queue = false;
	options.journal = NULL;
	coordinator_begin(model);
	calls(ME);
	ok(refused(ME, FAIL_CONFIG, "it takes no requests from submitters: "
		   "start it with ps-coord --queue"));
	ask("{\"op\":\"cancel\",\"request\":1}");
	named(prints("cancel: requests can be cancelled only with ps-coord "
		     "--queue"),
	      "a coordinator without --queue cancels no requests by number");
	coordinator_end();
	free(lines);
}

int
main(void)
{
	order();
	coordinator_end();
	restart();
	leaves();
	too_late();
	torn();
	other_run();
	late();
	hangs();
	cancelled();
	refusals();
	return tap_done();
}
