/* Steps that are given up, one or all, and the messages that servers get. */
#include "coord/coord_cancel.h"

#include "coord/coord_lease.h"

#include "coordinator.h"

#define A	1
#define B	2

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

#define checked(claim)	ok_and_sound(claim, cancel_check(c), #claim)

/* Leases steps 0 and 1 to A; step 2 waits, or is leased to B. */
static void
begin(void)
{
	coordinator_begin(model);
	joins(A);
	ask("{\"op\":\"train\",\"steps\":3,\"id\":7}");
	ok(says(A, MESSAGE_LEASE) && says(A, MESSAGE_LEASE) && silent());
}

static bool
tells(uint64_t first, uint64_t count)
{
	return says(SERVER, MESSAGE_VOID) &&
		last_posted->m.voided.first == first &&
		last_posted->m.voided.count == count &&
		last_posted->m.voided.term == 1;
}

static void
server_agrees(void)
{
	struct message m = message_answer(&last_posted->m, MESSAGE_OK);

	coordinator_hears(SERVER, &m);
}

static void
quarantined(void)
{
	begin();
	checked(!cancel_is_quarantining(c) && !cancel_under_way(c));
	queue_quarantine(c->queue, 0);
	cancel_quarantine(c, 0);
	checked(cancel_is_quarantining(c) && tells(0, 1));
	queue_quarantine(c->queue, 1);
	cancel_quarantine(c, 1);
	named(silent(), "a second quarantine waits for the first");
	server_agrees();
	ok(prints("\"id\":7,\"op\":\"train\",\"step\":0,\"worker\":"
		  "\"worker:0\",\"error\":\"quarantined: 0 workers died"));
	named(!queue_step(c->queue, 0) && cancel_is_quarantining(c) &&
	      cancel_figures(c).aside == 1 && tells(1, 1),
	      "the second quarantine follows when the first has ended");
	server_agrees();
	checked(!cancel_is_quarantining(c) && cancel_figures(c).aside == 2 &&
		!queue_step(c->queue, 1) && prints("\"step\":1,"));
	coordinator_end();
}

/* A step that is being given up is given up with all others before the servers
   have answered. */
static void
overtaken(void)
{
	begin();
	queue_quarantine(c->queue, 0);
	cancel_quarantine(c, 0);
	ok(tells(0, 1));
	cancel_read_ended(c, 1);
	ok(cancel_is_quarantining(c));
	queue_end(c->queue, 0);
	cancel_quarantine_done(c);
	named(!cancel_is_quarantining(c) && cancel_figures(c).aside == 0 &&
	      coord_output(c)->size == 0,
	      "a quarantined step that has ended meanwhile prints no result");
	coordinator_end();
	begin();
	queue_quarantine(c->queue, 0);
	cancel_quarantine(c, 0);
	cancel_read_ended(c, 0);
	ok(!cancel_is_quarantining(c));
	coordinator_end();
}

/* A step fails with an error of its own. */
static void
failed(void)
{
	struct fail why;
	const struct message left = { .kind = MESSAGE_OK };

	begin();
	fail(&why, FAIL_DATA, "a.tsv:3: no label");
	cancel_fail(c, 1, "worker:0", &why);
	ok(cancel_is_of(c, 1) && !cancel_is_of(c, 0) &&
	   strcmp(cancel_error(c), "a.tsv:3: no label") == 0);
	cancel_begin(c);
	checked(cancel_under_way(c) && says(A, MESSAGE_CANCEL) && silent());
	named(!cancel_is_decided(c),
	      "the failure waits until workers have left their steps");
	lease_take_back(c, at(A));
	coordinator_hears(A, &left);
	ok(cancel_under_way(c));
	cancel_give_up(c);
	checked(!cancel_under_way(c) && cancel_figures(c).failed == 1);
	ok(prints("\"id\":7,\"op\":\"train\",\"step\":1,\"worker\":"
		  "\"worker:0\",\"error\":\"a.tsv:3: no label\""));
	ok(queue_idle(c->queue));
	equals(cancel_error(c), "a.tsv:3: no label");
	cancel_error_notified(c);
	ok(!cancel_error(c));
	coordinator_end();
}

/* A worker hangs whose steps no other worker can do. */
static void
hung(void)
{
	const struct message left = { .kind = MESSAGE_OK };
	struct fail why;

	begin();
	fail(&why, FAIL_DATA, "a.tsv:3: no label");
	cancel_fail(c, 1, "worker:0", &why);
	cancel_begin(c);
	ok(says(A, MESSAGE_CANCEL) && silent());
	c->started = at(A)->silent = true;
	lease_take_back(c, at(A));
	cancel_worker_hangs(c);
	c->now_ms += options.patience_ms - 1;
	cancel_notify(c);
	named(silent() && !cancel_is_decided(c),
	      "the steps of a hung worker wait up to the patience, since it "
	      "may have pushed");
	c->now_ms++;
	cancel_notify(c);
	named(tells(0, 2), "the steps are given up when the patience is over");
	coordinator_end();

	begin();
	fail(&why, FAIL_DATA, "a.tsv:3: no label");
	cancel_fail(c, 1, "worker:0", &why);
	cancel_begin(c);
	ok(says(A, MESSAGE_CANCEL) && silent());
	c->started = at(A)->silent = at(A)->exhausted = true;
	lease_take_back(c, at(A));
	cancel_worker_hangs(c);
	cancel_notify(c);
	ok(silent());
	at(A)->silent = false;
	coordinator_hears(A, &left);
	cancel_notify(c);
	named(tells(0, 2),
	      "the steps are given up when the hung worker answers without "
	      "doing them");
	coordinator_end();
}

/* Records of the journal that make no sense are refused. */
static void
senseless(void)
{
	struct pack p = { 0 };
	struct unpack u;

	begin();
	for (int i = 0; i < 3; i++)
		pack_uint(&p, 90);
	u = unpack_from(p.data, p.size);
	ok(cancel_read(c, &u) < 0);
	u = unpack_from("\xc0", 1);
	ok(cancel_read_error(c, &u) < 0);
	named(cancel_number_up_to(c, 90) < 0 && queue_next(c->queue) == 3,
	      "a journal cannot number a step that no request has");
	pack_release(&p);
	coordinator_end();
}

int
main(void)
{
	quarantined();
	overtaken();
	failed();
	hung();
	senseless();
	return tap_done();
}
