/* Processes that hang, steps that take too long, and the wait for a worker. */
#include "coord/coord_lease.h"
#include "coord/coord_watch.h"

#include "coordinator.h"

#define A	1
#define B	2
#define EYE	3	/* an evaluator */

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

#define checked(claim)	ok_and_sound(claim, watch_check(c, now), #claim)

static void
joins_as_evaluator(uint64_t peer)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_EVALUATOR;
	m.hello.index = WIRE_NONE;
	m.hello.life = peer;
	coordinator_hears(peer, &m);
	post_clear();
}

static void
silence(void)
{
	coordinator_begin(model);
	joins(A);
	joins_as_evaluator(EYE);
	watch_answered(c, at(A));
	watch_answered(c, at(EYE));
	now += 9000;
	ok(!watch_silent(c, now));
	watch_asks(c, at(A), false, now);
	now += 1000;
	named(!watch_silent(c, now),
	      "a worker that owes no answer does not hang");
	watch_asks(c, at(A), true, now);
	now += 500;
	watch_asks(c, at(A), true, now);
	now += 499;
	ok(!watch_silent(c, now));
	now++;
	named(watch_silent(c, now) == at(A) && at(A)->silent,
	      "silence counts from the first unanswered question");
	ok(warns("worker:0 hangs: it has not answered for 1.0 s"));
	ok(!watch_silent(c, now));
	watch_skip_pause(c, now);
	now += 500;
	watch_hears(c, at(A), now);
	ok(!at(A)->silent && warns("worker:0 answers again, after 1.5 s"));
	watch_asks(c, at(A), true, now);
	now += 900;
	watch_skip_pause(c, now);
	now += 999;
	ok(!watch_silent(c, now));
	watch_hears(c, at(A), now);
	watch_asks(c, at(EYE), true, now);
	now += 8999;
	named(!watch_silent(c, now),
	      "a silent evaluator does not hang before its longer limit");
	now++;
	ok(watch_silent(c, now) == at(EYE) && warns("evaluator:"));
	coordinator_end();
}

/* Leases a step to A, after steps that took 10 ms. */
static void
begin_step(uint64_t timeout)
{
	options.step_timeout_ms = timeout;
	coordinator_begin(model);
	joins(A);
	ask("{\"op\":\"train\",\"steps\":1}");
	ok(says(A, MESSAGE_LEASE));
	for (int i = 0; i < 64; i++)
		watch_note(c, i % 2 ? 10000 : 9000 + 1000 * (uint64_t)i);
	watch_servers(c, now);
}

static void
late(void)
{
	uint64_t step = 9;
	bool is;

	begin_step(0);
	now += 999;
	ok(watch_step(c, at(A), now, &step, &is) == 999 && step == 0 && !is);
	now += 20000;
	ok(watch_step(c, at(A), now, &step, &is) == 20999 && is);
	named(!watch_late(c, now) && warns("step 0 has taken worker:0 21.0 s, "
					   "others take "),
	      "a step that takes much longer than others is named in a "
	      "warning");
	named(!watch_late(c, now) && coord_warnings(c)->size == 0,
	      "the warning about a long step comes once");
	at(A)->gone = true;
	ok(watch_step(c, at(A), now, &step, &is) == 0 && !is);
	at(A)->gone = false;
	coordinator_end();

	begin_step(0);
	lease_call_off(c, at(A), lease_of(c, at(A)));
	now += 21000;
	named(!watch_late(c, now) && coord_warnings(c)->size == 0,
	      "a cancelled lease is not reported as late");
	coordinator_end();

	begin_step(3000);
	now += 2999;
	ok(!watch_late(c, now));
	now++;
	named(watch_late(c, now) == at(A) &&
	      warns("step 0 has taken worker:0 3.0 s: another worker gets"),
	      "with --step-timeout a late step is leased to another worker");
	coordinator_end();
}

/* Begins a run with requests and without workers. */
static void
begin_work(uint64_t min_workers)
{
	options.min_workers = min_workers;
	coordinator_begin(model);
	ask("{\"op\":\"train\",\"steps\":3}");
	watch_helped(c);
}

static void
nobody(void)
{
	begin_work(1);
	now += 4999;
	watch_workers(c, now);
	ok(!ends_with(FAIL_PEER, ""));
	now++;
	watch_workers(c, now);
	ok(ends_with(FAIL_PEER, "no worker within 5 s at node:0, 0 steps"));
	coordinator_end();

	begin_work(2);
	joins(A);
	now += 5000;
	watch_workers(c, now);
	ok(ends_with(FAIL_PEER, "1 of 2 workers within 5 s at node:0"));
	coordinator_end();

	coordinator_begin(model);
	now += 5000;
	watch_workers(c, now);
	now += 5000;
	watch_workers(c, now);
	named(!ends_with(FAIL_PEER, ""),
	      "a coordinator without work does not miss workers");
	coordinator_end();
}

static void
forsaken(void)
{
	struct fail why;

	begin_work(1);
	joins(A);
	post_clear();
	fail(&why, FAIL_DATA, "worker:0 ended with status 65");
	coord_forsaken(c, &why);
	ok(!watch_forsaken(c));
	watch_workers(c, now);
	named(!ends_with(FAIL_DATA, ""),
	      "the run continues while one worker is left");
	coord_receive(c, A, &(struct message){ .kind = MESSAGE_BYE }, now);
	ok(watch_forsaken(c));
	watch_workers(c, now);
	ok(ends_with(FAIL_DATA, "no worker is left, 0 steps were done; "
		     "worker:0 ended with status 65"));
	coordinator_end();
}

static void
hanging(void)
{
	begin_work(1);
	joins(A);
	at(A)->silent = true;
	watch_helped(c);
	now += 7999;
	watch_workers(c, now);
	ok(!ends_with(FAIL_PEER, ""));
	now++;
	watch_workers(c, now);
	ok(ends_with(FAIL_PEER, "worker:0 hangs, last heard 8.0 s ago: "
		     "0 steps were done"));
	coordinator_end();
}

/* A worker hangs while a server is away: the PLAN of the new term, which comes
   after CANCEL, ends the worker's step, and it sends no OK. */
static void
hangs_meanwhile(void)
{
	const struct message pong = { .kind = MESSAGE_PONG };
	const struct message ready = { .kind = MESSAGE_READY };

	coordinator_begin(model);
	joins(A);
	coord_down(c, SERVER, now);
	post_clear();
	servers_greet(8);
	for (int i = 0; i < 8 && !at(A)->silent; i++) {
		now += options.lease_ms / 4;
		coord_tick(c, now);
	}
	ok(warns("worker:0 hangs"));
	ok(server_does(MESSAGE_PLAN));
	ok(says(A, MESSAGE_CANCEL) && says(A, MESSAGE_PLAN));
	coordinator_hears(A, &pong);
	coordinator_hears(A, &ready);
	ask("{\"op\":\"train\",\"steps\":1}");
	named(says(A, MESSAGE_LEASE), "a worker that is ready gets a lease");
	coordinator_end();
}

/* Its worker is exhausted after so many records; is this what is printed? */
static bool
ends_after(uint64_t records, const char *line)
{
	struct message m = { .kind = MESSAGE_EXHAUSTED };
	bool printed;

	begin_work(1);
	joins(A);
	m.exhausted.term = fleet_term(c->fleet, 0);
	m.exhausted.records = records;
	coordinator_hears(A, &m);
	watch_helped(c);
	now += 100;
	watch_workers(c, now);
	equals(coord_output(c)->size, 0);
	now += 5000;
	watch_workers(c, now);
	printed = prints(line);
	coordinator_end();
	return printed;
}

static void
exhausted(void)
{
	ok(ends_after(4, "no worker has data left: 0 steps were done, 3 were "
		      "not (ps-work --repeat reads again)\""));
	named(ends_after(WIRE_NONE, "no worker can read on after errors in its "
			 "data: 0 steps were done, 3 were not\""),
	      "no advice is given that would not help");
}

int
main(void)
{
	silence();
	late();
	nobody();
	forsaken();
	hanging();
	hangs_meanwhile();
	exhausted();
	return tap_done();
}
