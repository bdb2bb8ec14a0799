/* Evaluations in the background, and their cuts. */
#include "coord/coord_background.h"

#include "coord/coord_journal.h"
#include "coord/journal.h"

#include "coordinator.h"

#define A	1
#define B	2

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";
static const char eval[] = "{\"op\":\"eval\",\"id\":7,\"background\":true,"
	"\"files\":[\"a.tsv\"]}";

#define checked(claim)	ok_and_sound(claim, background_check(c), #claim)

static void
begin(void)
{
	options.keep_going = true;
	coordinator_begin(model);
	joins(A);
}

/* The worker answers for a step, or for a shard of an evaluation. */
static void
worker_answers_with(enum message_kind kind, uint64_t request, uint64_t step,
		    uint64_t examples)
{
	const struct result r = { .step = step, .examples = examples,
				  .attempt = 1, .loss = 2 };
	struct message m = { .kind = kind, .request = request, .frames = 1 };
	struct pack p = { 0 };

	result_write(&p, &r);
	m.done.term = c->plan.term;
	m.done.count = 1;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	coordinator_hears(A, &m);
	pack_release(&p);
}

/* Checks that the next lease of A is for this step; returns its id. */
static uint64_t
leased(uint64_t step)
{
	const bool is = says(A, MESSAGE_LEASE) &&
		last_posted->m.lease.first == step;

	named(is, "the next lease of worker A is for the expected step");
	return is ? last_posted->m.request : 0;
}

static bool
freezes(uint64_t step)
{
	return says(SERVER, MESSAGE_FREEZE) &&
		last_posted->m.cut.step == step;
}

static void
server_answers(struct message m)
{
	coordinator_hears(SERVER, &m);
}

/* Begins an evaluation that has a cut, which A is asked to score. */
static void
begin_scoring(void)
{
	ask(eval);
	ok(freezes(0));
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	ok(says(A, MESSAGE_EVALUATE));
}

/* Steps 0 and 1 come before the evaluation, step 2 after it. */
static void
scored(void)
{
	uint64_t first, second, cut;
	struct message frozen;

	begin();
	ask("{\"op\":\"train\",\"steps\":2}");
	first = leased(0);
	second = leased(1);
	ask(eval);
	checked(freezes(2));
	frozen = message_answer(&last_posted->m, MESSAGE_OK);
	cut = last_posted->m.cut.cut;
	ask("{\"op\":\"train\",\"steps\":2}");
	ask("{\"op\":\"join\"}");
	worker_answers_with(MESSAGE_DONE, first, 0, 4);
	named(says(SERVER, MESSAGE_MARK) && silent(),
	      "no step after the cut is leased before the servers have the "
	      "cut");
	server_answers(frozen);
	checked(leased(2) > 0 && silent());
	ok(prints("\"op\":\"train\",\"step\":0"));
	worker_answers_with(MESSAGE_DONE, second, 1, 4);
	ok(says(A, MESSAGE_EVALUATE) && last_posted->m.evaluate.cut == cut);
	second = last_posted->m.request;
	first = leased(3);
	coord_output(c)->size = 0;
	worker_answers_with(MESSAGE_DONE, first, 3, 4);
	named(prints("\"step\":3") && !background_check(c),
	      "a step after the cut is done while the evaluation runs");
	worker_answers_with(MESSAGE_EVALUATED, second, 0, 5);
	ok(prints("{\"id\":7,\"op\":\"eval\",\"step\":2,\"examples\":5"));
	named(says(SERVER, MESSAGE_THAW) && last_posted->m.cut.cut == cut &&
	      coord_output(c)->size == 0,
	      "the end of the evaluation releases the cut, and the join still "
	      "waits");
	checked(!background_scores(c));
	coordinator_end();
}

/* A join waits for the evaluation, and a checkpoint does not. */
static void
waited_for(void)
{
	struct message frozen;

	begin();
	ask(eval);
	checked(freezes(0));
	frozen = message_answer(&last_posted->m, MESSAGE_OK);
	ask("{\"op\":\"save\"}");
	named_equals(coord_output(c)->size, 0,
		     "the save waits until the evaluation's cut is held");
	server_answers(frozen);
	ok(says(A, MESSAGE_EVALUATE) && prints("there is no --checkpoint"));
	ask("{\"op\":\"join\"}");
	named_equals(coord_output(c)->size, 0,
		     "a join waits for the evaluation");
	worker_answers_with(MESSAGE_EVALUATED, last_posted->m.request, 0, 5);
	ok(prints("\"op\":\"join\",\"step\":0,\"steps\":0"));
	coordinator_end();
}

static int ends, ends_on_disk;	/* records ENDS; and those that are safe */

static int
count_ends(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
	   struct fail *why)
{
	(void)to;
	(void)bytes;
	(void)size;
	(void)why;
	ends += kind == JOURNAL_ENDS;
	ends_on_disk += kind == JOURNAL_ENDS && safe;
	return 0;
}

/* A join that waited for the evaluation ends only when the journal is on disk,
   since servers may have later steps. */
static void
safe_on_disk(void)
{
	static const struct journal journal = { .add = count_ends };
	uint64_t request;

	options.journal = &journal;
	begin();
	begin_scoring();
	request = last_posted->m.request;
	ask("{\"op\":\"join\"}");
	ask("train");
	coord_note(c, 0, true, now);
	ends = ends_on_disk = 0;
	worker_answers_with(MESSAGE_EVALUATED, request, 0, 5);
	named(says(SERVER, MESSAGE_THAW) && silent(),
	      "no step after the join is leased before the journal has the "
	      "evaluation's end");
	coord_note(c, 0, false, now);
	checked(ends == 1 && ends_on_disk == 1);
	checked(leased(0) > 0);
	coordinator_end();
}

/* The ninth evaluation waits, and so do the requests after it. */
static void
bounded(void)
{
	uint64_t first = 0, cut = 0;

	begin();
	for (int i = 0; i < 9; i++)
		ask(eval);
	ask("train");
	for (int i = 0; i < 8; i++) {
		named(freezes(0) && last_posted->m.cut.cut != cut,
		      "each evaluation asks for a cut of its own");
		cut = last_posted->m.cut.cut;
		server_answers(message_answer(&last_posted->m, MESSAGE_OK));
		if (i == 0 && says(A, MESSAGE_EVALUATE))
			first = last_posted->m.request;
	}
	named(silent(),
	      "with eight cuts held no ninth is asked for, and no step is "
	      "leased");
	worker_answers_with(MESSAGE_EVALUATED, first, 0, 5);
	ok(says(SERVER, MESSAGE_THAW));
	named(says(A, MESSAGE_EVALUATE) && freezes(0),
	      "the end of one evaluation starts the next, and the ninth asks "
	      "for its cut");
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	checked(leased(0) > 0);
	coordinator_end();
}

/* Servers and workers may refuse an evaluation. */
static void
refused(void)
{
	struct message m;

	begin();
	ask(eval);
	ok(freezes(0));
	m = message_refuse(&last_posted->m, FAIL_AGAIN, "too many cuts");
	server_answers(m);
	ok(prints("{\"id\":7,\"op\":\"eval\",\"error\":") &&
	   says(SERVER, MESSAGE_THAW));
	checked(!queue_background(c->queue, 0) && ending_status(c) ==
		FAIL_AGAIN);
	begin_scoring();
	m = message_refuse(&last_posted->m, FAIL_AGAIN, "it is not held");
	coordinator_hears(A, &m);
	named(coord_output(c)->size == 0 && says(SERVER, MESSAGE_THAW) &&
	      freezes(0),
	      "an evaluation whose cut was lost asks for a new one");
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	ok(says(A, MESSAGE_EVALUATE));
	m = message_refuse(&last_posted->m, FAIL_NOINPUT, "no file a.tsv");
	coordinator_hears(A, &m);
	ok(prints("\"op\":\"eval\",\"step\":0,\"worker\":\"worker:0\","
		  "\"error\":\"no file a.tsv\"") &&
	   says(SERVER, MESSAGE_THAW));
	checked(!queue_background(c->queue, 0) && silent());
	coordinator_end();
}

/* An evaluation that has lost its cut comes after those that have one. */
static void
out_of_order(void)
{
	struct message m;

	begin();
	begin_scoring();
	m = message_refuse(&last_posted->m, FAIL_AGAIN, "it is not held");
	ask("{\"op\":\"eval\",\"id\":8,\"background\":true}");
	ok(freezes(0));
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	coordinator_hears(A, &m);
	checked(says(SERVER, MESSAGE_THAW) && says(A, MESSAGE_EVALUATE));
	m = last_posted->m;
	ok(freezes(0));
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	worker_answers_with(MESSAGE_EVALUATED, m.request, 0, 5);
	ok(prints("{\"id\":8,\"op\":\"eval\",\"step\":0"));
	ok(says(SERVER, MESSAGE_THAW) && says(A, MESSAGE_EVALUATE));
	worker_answers_with(MESSAGE_EVALUATED, last_posted->m.request, 0, 5);
	ok(prints("{\"id\":7,\"op\":\"eval\",\"step\":0"));
	checked(!queue_background(c->queue, 0));
	coordinator_end();
}

/* An evaluation that has lost its cut scores later steps, and its line has the
   later step. */
static void
of_later_steps(void)
{
	uint64_t first;
	struct message m;

	begin();
	ask("train");
	first = leased(0);
	ask(eval);
	checked(freezes(1));
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	worker_answers_with(MESSAGE_DONE, first, 0, 4);
	ok(says(A, MESSAGE_EVALUATE));
	m = message_refuse(&last_posted->m, FAIL_AGAIN, "it is not held");
	post_clear();
	ask("{\"op\":\"train\",\"steps\":2}");
	worker_answers_with(MESSAGE_DONE, leased(1), 1, 4);
	worker_answers_with(MESSAGE_DONE, leased(2), 2, 4);
	post_clear();
	coordinator_hears(A, &m);
	ok(says(SERVER, MESSAGE_THAW));
	checked(freezes(3));
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	ok(says(A, MESSAGE_EVALUATE));
	coord_output(c)->size = 0;
	worker_answers_with(MESSAGE_EVALUATED, last_posted->m.request, 0, 5);
	ok(prints("{\"id\":7,\"op\":\"eval\",\"step\":3,\"examples\":5"));
	coordinator_end();
}

/* A server comes back without the cut. */
static void
lost(void)
{
	struct message m = { .kind = MESSAGE_WELCOME };
	uint64_t was;

	begin();
	begin_scoring();
	was = last_posted->m.request;
	coord_down(c, SERVER, now);
	coord_up(c, SERVER, now);
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 8;
	post_clear();
	coordinator_hears(SERVER, &m);
	checked(!background_scores(c));
	ok(server_does(MESSAGE_PLAN) && says(A, MESSAGE_PLAN));
	m = (struct message){ .kind = MESSAGE_READY };
	coordinator_hears(A, &m);
	ok(freezes(0));
	worker_answers_with(MESSAGE_EVALUATED, was, 0, 5);
	named_equals(coord_output(c)->size, 0,
		     "a score of a cut that a server has lost does not count");
	server_answers(message_answer(&last_posted->m, MESSAGE_OK));
	ok(says(A, MESSAGE_EVALUATE));
	coordinator_end();
}

/* Every evaluation that is given up has a line. */
static void
given_up(void)
{
	struct fail why;

	begin();
	fail(&why, FAIL_PEER, "it is gone");
	ask(eval);
	ok(freezes(0));
	ask("{\"op\":\"eval\",\"background\":true}");
	ending_fail(c, &why);
	coord_tick(c, now);
	ok(prints("{\"id\":7,\"op\":\"eval\",\"cancelled\":true}\n"
		  "{\"op\":\"eval\",\"cancelled\":true}\n"));
	ok(queue_idle(c->queue));
	coordinator_end();
}

int
main(void)
{
	scored();
	waited_for();
	safe_on_disk();
	bounded();
	refused();
	out_of_order();
	of_later_steps();
	lost();
	given_up();
	return tap_done();
}
