/* The messages of a submitter to the coordinator, and how it handles the
   answers. */
#include "client/submission.h"

#include "base/hash.h"
#include "base/mem.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT	1000

static struct submission *s;
static struct message said;	/* last, but for PING */
static char lines[256];		/* of it */
static size_t count;
static struct fail f;
static int status;

static int
send(void *to, uint64_t peer, const struct message *m)
{
	(void)to, (void)peer;
	if (m->kind == MESSAGE_PING)
		return 0;
	said = *m;
	count++;
	lines[0] = '\0';
	if (m->frames > 0 && m->frame[0].size < sizeof(lines)) {
		memcpy(lines, m->frame[0].data, m->frame[0].size);
		lines[m->frame[0].size] = '\0';
	}
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *why)
{
	(void)to, (void)endpoint, (void)why;
	*peer = 1;
	return 0;
}

static struct outbox outbox = { .send = send, .dial = dial };

static void
begin(uint64_t received, bool whole)
{
	const struct submission_options o = {
		.coordinator = "c", .name = "me", .wishes = 1, .life = 7,
		.timeout_ms = TIMEOUT, .received = received, .whole = whole
	};

	s = submission_new(&o, &outbox, 0, &f);
	submission_up(s, 0);
}

static int
receive(enum message_kind kind)
{
	const struct message m = { .kind = kind };

	return submission_receive(s, &m, 1, &f);
}

static int
results(uint64_t accepted, uint64_t hash, uint64_t pending, uint64_t first,
	const char *text)
{
	struct message m = { .kind = MESSAGE_RESULTS, .frames = text != NULL };

	m.results.accepted = accepted;
	m.results.hash = hash;
	m.results.room = accepted + 3;
	m.results.pending = pending;
	m.results.first = first;
	if (text)
		m.frame[0] = (struct frame){ text, strlen(text), NULL };
	return submission_receive(s, &m, 1, &f);
}

static uint64_t
hash_of(const char *a, const char *b)
{
	const uint64_t hash = hash_chain(0, a, strlen(a));

	return b ? hash_chain(hash, b, strlen(b)) : hash;
}

static int
line(const char *text)
{
	return submission_add_line(s, text, strlen(text), &f);
}

static bool
out_is(const char *text)
{
	struct text *out = submission_output(s);
	const bool is = strcmp(out->size ? out->data : "", text) == 0;

	text_reset(out);
	if (submission_needs_sync(s))
		submission_synced(s);
	return is;
}

static void
ordinary(void)
{
	begin(WIRE_NONE, false);
	named(said.kind == MESSAGE_HELLO &&
	      said.hello.role == ROLE_SUBMITTER && said.hello.index == 1 &&
	      strcmp(lines, "me") == 0, "HELLO has the submitter's name");
	ok(!submission_has_room(s));
	receive(MESSAGE_WELCOME);
	named(!submission_has_room(s),
	      "no request is read before the coordinator has told which ones "
	      "it has");
	ok(results(0, 0, 0, 1, NULL) == 0 && submission_has_room(s));
	line("a");
	line("b");
	equals(submission_tick(s, 2, &f), 0);
	named(said.kind == MESSAGE_SUBMIT && said.submit.first == 1 &&
	      said.submit.hash == 0 && strcmp(lines, "a\nb\n") == 0,
	      "the requests that were read are sent");
	ok(submission_unaccepted(s) == 2 && !submission_over(s, &status));
	ok(results(2, hash_of("a", "b"), 2, 1, NULL) == 0 &&
	   submission_unaccepted(s) == 0);
	equals(results(2, hash_of("a", "b"), 1, 1, "r1\n"), 0);
	ok(out_is("r1\n") && !submission_over(s, &status));
	submission_end_lines(s);
	ok(!submission_over(s, &status));
	equals(results(2, hash_of("a", "b"), 0, 2, "r2\n"), 0);
	ok(!submission_over(s, &status) && out_is("r2\n"));
	named(submission_over(s, &status) && status == 0,
	      "the submission is over when all results are written");
	ok(submission_tick(s, 3, &f) == 0 && said.submit.received == 2);
	submission_free(s);
}

/* Returns the number of results of this size, which come one by one, until they
   are written. */
static uint64_t
until_safe(size_t size)
{
	char *text = mem_alloc(size + 2, 1);
	uint64_t n = 0;

	memset(text, 'r', size);
	text[size] = '\n';
	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	line("a");
	submission_tick(s, 2, &f);
	while (n < 10000 && !submission_needs_sync(s)) {
		results(1, hash_of("a", NULL), 1, ++n, text);
		text_reset(submission_output(s));
	}
	free(text);
	return n;
}

static void
safety(void)
{
	named_equals(until_safe(20), 256,
		     "256 small results are synced and acknowledged together");
	count = 0;
	submission_tick(s, 3, &f);
	named_equals(count, 0,
		     "results are not acknowledged before they are synced");
	submission_synced(s);
	submission_tick(s, 3, &f);
	ok(said.kind == MESSAGE_SUBMIT && said.submit.received == 256 &&
	   !submission_needs_sync(s));
	results(1, hash_of("a", NULL), 0, 257, "last\n");
	submission_end_lines(s);
	ok(!submission_needs_sync(s));
	text_reset(submission_output(s));
	named(submission_needs_sync(s) && !submission_over(s, &status),
	      "the submission is not over before its results are synced");
	submission_synced(s);
	ok(submission_over(s, &status));
	submission_free(s);
	named_equals(until_safe(100000), 3,
		     "large results are synced sooner, as the coordinator "
		     "keeps no more than 1 MiB");
	submission_free(s);
}

static void
room(void)
{
	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	line("1");
	line("2");
	line("3");
	line("4");
	submission_tick(s, 2, &f);
	named(strcmp(lines, "1\n2\n3\n") == 0 && !submission_has_room(s),
	      "no more requests are sent than the coordinator has room for");
	results(1, hash_of("1", NULL), 0, 1, NULL);
	submission_tick(s, 2, &f);
	ok(said.submit.first == 4 && strcmp(lines, "4\n") == 0);
	submission_free(s);
}

static void
losses(void)
{
	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	line("a");
	line("b");
	submission_tick(s, 2, &f);
	submission_down(s, 3);
	submission_up(s, 4);
	count = 0;
	submission_tick(s, 4, &f);
	named_equals(count, 0,
		     "no request is sent before the coordinator has answered "
		     "HELLO");
	receive(MESSAGE_WELCOME);
	ok(results(1, hash_of("a", NULL), 0, 1, "r1\n") == 0);
	submission_tick(s, 5, &f);
	named(said.submit.first == 2 && strcmp(lines, "b\n") == 0 &&
	      said.submit.hash == hash_of("a", NULL),
	      "requests that were not accepted are sent again");
	equals(results(2, hash_of("a", "b"), 0, 1, "r1\nr2\n"), 0);
	named(out_is("r1\nr2\n"), "a result that comes twice is written once");
	named(results(2, hash_of("a", "b"), 0, 4, "r4\n") < 0 &&
	      f.kind == FAIL_PROTOCOL, "a missing result is an error");
	submission_down(s, 6);
	submission_up(s, 7);
	receive(MESSAGE_WELCOME);
	named(results(0, 0, 0, 1, NULL) < 0 && f.kind == FAIL_AGAIN &&
	      strstr(f.text, "given up waiting for this program, or was "
		     "started anew"),
	      "a coordinator without these requests has given up waiting, or "
	      "was started anew");
	submission_free(s);
}

static void
returns(void)
{
	begin(1, true);
	receive(MESSAGE_WELCOME);
	equals(results(2, hash_of("a", "b"), 0, 2, "r2\n"), 0);
	ok(submission_resumed(s) == 2 && submission_resumed(s) == 0);
	ok(out_is("r2\n"));
	ok(line("a") == 0 && line("b") == 0 && line("c") == 0);
	submission_tick(s, 2, &f);
	named(said.submit.first == 3 && strcmp(lines, "c\n") == 0 &&
	      said.submit.received == 1,
	      "a submission from a file continues behind its accepted "
	      "requests");
	submission_free(s);

	begin(1, true);
	receive(MESSAGE_WELCOME);
	results(2, hash_of("a", "b"), 0, 2, NULL);
	named(line("a") == 0 && line("B") < 0 && f.kind == FAIL_DATA,
	      "a file with other requests is refused");
	submission_free(s);

	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(2, hash_of("a", "b"), 0, 3, NULL);
	line("c");
	submission_tick(s, 2, &f);
	named(said.submit.first == 3 && strcmp(lines, "c\n") == 0,
	      "a submission from a pipe follows the requests accepted before");
	submission_free(s);

	begin(1, true);
	receive(MESSAGE_WELCOME);
	named(results(2, hash_of("a", "b"), 0, 3, NULL) < 0 &&
	      f.kind == FAIL_DATA,
	      "results that were received before, and are gone, are an error");
	submission_free(s);
}

static void
ends(void)
{
	struct message m = { .kind = MESSAGE_REFUSED };

	begin(WIRE_NONE, false);
	named(submission_tick(s, TIMEOUT - 1, &f) == 0 &&
	      submission_tick(s, TIMEOUT, &f) < 0 && f.kind == FAIL_PEER,
	      "a coordinator that does not connect is an error after the "
	      "timeout");
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	named(submission_tick(s, TIMEOUT + 1, &f) < 0 && f.kind == FAIL_PEER,
	      "a coordinator that hangs is an error");
	line("a");
	receive(MESSAGE_STOP);
	named(submission_over(s, &status) && submission_unaccepted(s) == 1,
	      "the end of the run leaves the number of requests that were not "
	      "accepted");
	submission_free(s);

	begin(WIRE_NONE, false);
	m.refused.status = FAIL_AGAIN;
	m.request = 1;
	m.blob = (struct frame){ "no", 2, NULL };
	named(submission_receive(s, &m, 1, &f) < 0 && f.kind == FAIL_AGAIN &&
	      strcmp(f.text, "coordinator c: no") == 0,
	      "the reason of a refusal is in the error");
	submission_free(s);

	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	line("a");
	submission_tick(s, 2, &f);
	m = (struct message){ .kind = MESSAGE_RESULTS };
	m.results.accepted = m.results.room = 1;
	m.results.hash = hash_of("a", NULL);
	m.results.first = 1;
	m.results.status = FAIL_DATA;
	equals(submission_receive(s, &m, 1, &f), 0);
	named(submission_over(s, &status) && status == FAIL_DATA,
	      "an error ends the submission, whatever input is left");
	submission_free(s);
}

/* The silence of the coordinator while the submitter itself is stopped is no
   fault of the coordinator's. */
static void
pauses(void)
{
	begin(WIRE_NONE, false);
	equals(submission_tick(s, 1, &f), 0);
	named(submission_tick(s, 5 * TIMEOUT, &f) == 0,
	      "one that was stopped waits for a coordinator as long as before");
	named(submission_tick(s, 6 * TIMEOUT - 2, &f) == 0 &&
	      submission_tick(s, 6 * TIMEOUT, &f) < 0 && f.kind == FAIL_PEER,
	      "and no longer");
	submission_free(s);

	begin(WIRE_NONE, false);
	receive(MESSAGE_WELCOME);
	results(0, 0, 0, 1, NULL);
	equals(submission_tick(s, 2, &f), 0);
	named(submission_tick(s, 5 * TIMEOUT, &f) == 0,
	      "nor does a coordinator hang that was not heard meanwhile");
	named(submission_tick(s, 6 * TIMEOUT - 1, &f) == 0 &&
	      submission_tick(s, 6 * TIMEOUT, &f) < 0 &&
	      strstr(f.text, "hangs"), "until it is silent once more");
	submission_free(s);
}

/* The answer to HELLO of a coordinator that has accepted nothing, or all. */
static void
greets(uint64_t accepted)
{
	receive(MESSAGE_WELCOME);
	results(accepted, accepted > 0 ? hash_of("a", NULL) : 0, 0, 1, NULL);
}

static void
begin_reused(void)
{
	const struct submission_options o = {
		.coordinator = "c", .name = "me", .timeout_ms = TIMEOUT,
		.received = WIRE_NONE, .reused = true
	};

	s = submission_new(&o, &outbox, 0, &f);
	submission_up(s, 0);
	greets(0);
	line("a");
	submission_end_lines(s);
	submission_tick(s, 2, &f);
	results(1, hash_of("a", NULL), 0, 1, "r1\n");
	submission_tick(s, 3, &f);
	named(said.kind == MESSAGE_SUBMIT && !submission_over(s, &status),
	      "it does not leave while a result is not on disk");
	text_reset(submission_output(s));
	submission_synced(s);
	submission_tick(s, 4, &f);
	named(said.kind == MESSAGE_BYE && said.request != 0 &&
	      !submission_over(s, &status),
	      "one whose name is used again asks that its end be noted");
}

static void
ends_for_good(void)
{
	begin_reused();
	count = 0;
	submission_tick(s, TIMEOUT / 2, &f);
	named(count == 0, "... once on a connection,");
	receive(MESSAGE_OK);
	named(submission_over(s, &status) && submission_is_confirmed(s),
	      "and is over when it is");
	submission_leave(s);
	named(said.kind == MESSAGE_BYE && said.request == 0,
	      "then its name is given back");
	submission_free(s);

	/* The coordinator that returns knows the name, or does not. */
	for (uint64_t accepted = 0; accepted < 2; accepted++) {
		begin_reused();
		submission_down(s, 5);
		submission_up(s, 6);
		greets(accepted);
		count = 0;
		equals(submission_tick(s, 7, &f), 0);
		named(count == 1 && said.kind == MESSAGE_BYE &&
		      !submission_over(s, &status),
		      "it is asked again after a loss");
		receive(MESSAGE_OK);
		ok(submission_over(s, &status) && submission_is_confirmed(s));
		submission_free(s);
	}

	begin_reused();
	submission_down(s, 5);
	equals(submission_tick(s, TIMEOUT + 3, &f), 0);
	ok(!submission_over(s, &status));
	equals(submission_tick(s, TIMEOUT + 4, &f), 0);
	named(submission_over(s, &status) && status == 0 &&
	      !submission_is_confirmed(s),
	      "a coordinator that does not return is not waited for for ever");
	submission_free(s);

	begin_reused();
	receive(MESSAGE_REFUSED);
	named(submission_over(s, &status) && submission_is_confirmed(s),
	      "one that refuses the name has nothing of it");
	submission_free(s);

	begin_reused();
	receive(MESSAGE_STOP);
	named(submission_over(s, &status) && submission_is_confirmed(s),
	      "nor does a run that has ended");
	submission_free(s);
}

/* The coordinator has no more requests of this name, which has had a result. */
static int
tells_of_end(void)
{
	struct message m = { .kind = MESSAGE_RESULTS };

	m.results.accepted = m.results.room = 1;
	m.results.hash = hash_of("a", NULL);
	m.results.first = 2;
	receive(MESSAGE_WELCOME);
	return submission_receive(s, &m, 1, &f);
}

static void
follows_ended(void)
{
	for (int whole = 0; whole < 2; whole++) {
		begin(whole ? 0 : WIRE_NONE, whole);
		count = 0;
		equals(tells_of_end(), 0);
		named(count == 2 && said.kind == MESSAGE_HELLO,
		      "BYE and HELLO end an earlier one of the name");
		receive(MESSAGE_WELCOME);
		equals(results(0, 0, 0, 1, NULL), 0);
		ok(submission_resumed(s) == 0 && line("a") == 0);
		submission_tick(s, 2, &f);
		named(said.kind == MESSAGE_SUBMIT && said.submit.first == 1 &&
		      strcmp(lines, "a\n") == 0,
		      "the same requests are then asked for once more");
		submission_free(s);
	}

	begin(1, true);
	equals(tells_of_end(), 0);
	named(!submission_over(s, &status) && submission_has_room(s),
	      "one that has all results of the ended one is that one");
	equals(line("a"), 0);
	named(submission_over(s, &status) && status == 0,
	      "and is over when its requests are known to be the same");
	submission_free(s);
}

int
main(void)
{
	ordinary();
	safety();
	room();
	losses();
	returns();
	ends();
	pauses();
	ends_for_good();
	follows_ended();
	return tap_done();
}
