/*
 * The coordinator, with one server and a few members that the test plays: the
 * messages that it sends, to which peers, and its lines to the letter.  Whole
 * clusters are in t/sim.
 */
#include "coord/coord_lease.h"
#include "coord/queue.h"

#include "coordinator.h"

#include <malloc.h>

#define A	1

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

/* Connects a peer, without coord_check(): that would be slow after each of
   thousands of peers. */
static void
comes(uint64_t peer, enum role role, uint64_t life)
{
	const struct message hello = message_hello(role, WIRE_NONE, life, 0);
	const struct message ready = { .kind = MESSAGE_READY };

	coord_receive(c, peer, &hello, now);
	if (role == ROLE_WORKER)
		coord_receive(c, peer, &ready, now);
}

/* Returns the next lease that was sent, and drops the messages before it; NULL:
   no lease was sent. */
static const struct message *
next_lease(void)
{
	while (post_first < post_end) {
		last_posted = &posted[post_first++ % POSTS];
		if (last_posted->m.kind == MESSAGE_LEASE)
			return &last_posted->m;
	}
	return NULL;
}

/* Worker A reports the step of this lease as done. */
static void
does(const struct message *lease)
{
	const struct result r = { .step = lease->lease.first, .attempt = 1,
				  .examples = 4, .loss = 2 };
	struct message m = { .kind = MESSAGE_DONE, .frames = 1,
			     .request = lease->request };
	struct pack p = { 0 };

	result_write(&p, &r);
	m.done.term = lease->lease.term;
	m.done.count = 1;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	coord_receive(c, A, &m, now);
	pack_release(&p);
}

/* One peer sends HELLO of another incarnation again and again. */
static void
other_lives(void)
{
	coordinator_begin(model);

	const size_t before = mallinfo2().uordblks;

	for (uint64_t life = 100; life < 20000; life++) {
		post_clear();
		comes(A, life % 2 ? ROLE_WORKER : ROLE_EVALUATOR, life);
		text_reset(coord_warnings(c));
	}
	check_all();
	ok(says(A, MESSAGE_WELCOME));
	named(mallinfo2().uordblks < before + ((size_t)1 << 20),
	      "repeated HELLOs of other incarnations leave nothing in memory");
	coordinator_end();
}

/* Workers connect and are lost, one after the other. */
static void
many_lives(void)
{
	const struct message bye = { .kind = MESSAGE_BYE };
	const struct message *lease;
	size_t before = 0;

	coordinator_begin(model);
	ask("train 9");
	for (uint64_t life = 100; life < 8100; life++) {
		if (life == 4100)
			before = mallinfo2().uordblks;
		post_clear();
		comes(life, ROLE_WORKER, life);
		coord_receive(c, life, &bye, now);
		text_reset(coord_warnings(c));
	}
	post_clear();
	joins(A);
	lease = next_lease();
	named(lease && lease->lease.first == 0,
	      "a worker that comes after thousands gets the first step");
	named(mallinfo2().uordblks < before + ((size_t)1 << 18),
	      "memory for workers that come and go is bounded");
	coordinator_end();
}

static int
keep(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
     struct fail *why)
{
	(void)to;
	(void)kind;
	(void)bytes;
	(void)size;
	(void)safe;
	(void)why;
	return 0;
}

/* While the coordinator waits for its servers, nothing goes into the
   journal. */
static void
many_lines(void)
{
	static const struct journal journal = { .add = keep };
	const struct message m = {
		.kind = MESSAGE_WELCOME, .welcome.version = WIRE_VERSION,
		.welcome.role = ROLE_SERVER, .welcome.life = 7
	};
	const size_t size = (size_t)1 << 20;
	char *line = mem_alloc(1, size + 1);
	struct coord_progress before;
	uint64_t taken = 0;

	memset(line, '#', size);
	options.journal = &journal;
	coordinator_new(model);
	equals(coord_start(c, &before, &f), 0);
	while (taken < 100 && coord_wants(c))
		coord_request(c, line, size, ++taken, now);
	equals(taken, 16);
	free(line);
	coord_up(c, SERVER, now);
	post_clear();
	coordinator_hears(SERVER, &m);
	ok(server_does(MESSAGE_PLAN));
	named(coord_wants(c), "requests are read as far as they can be kept");
	coordinator_end();
}

/* When its results are not read, the coordinator only finishes the steps that
   have begun. */
static void
unread(void)
{
	const struct message ping = { .kind = MESSAGE_PING };
	const struct message *lease;
	struct text *out;

	coordinator_begin(model);
	joins(A);
	ask("train 20000");
	for (int i = 0; i < 20000 && (lease = next_lease()); i++)
		does(lease);
	check_all();
	out = coord_output(c);
	coord_tick(c, now);
	named(out->size > 1000000 && out->size < 1100000 && !next_lease() &&
	      !coord_wants(c), "no step begins while the output is not read");
	coordinator_hears(A, &ping);
	ok(says(A, MESSAGE_PONG));
	text_reset(out);
	coord_tick(c, now);
	named(next_lease() && coord_wants(c),
	      "steps begin again when the output is read");
	coordinator_end();
}

/* Lets this number of milliseconds pass, in which these peers answer every
   PING. */
static void
pass(uint64_t ms)
{
	const struct message pong = { .kind = MESSAGE_PONG };

	for (const uint64_t end = now + ms; now < end; now += 50) {
		coord_tick(c, now);
		coord_receive(c, SERVER, &pong, now);
		coord_receive(c, A, &pong, now);
	}
}

/* A lost lease delays the run only for a while. */
static void
standing_still(void)
{
	coordinator_begin(model);
	joins(A);
	for (size_t i = 0; i < options.in_flight; i++)
		lease_of(c, at(A))[i].id = 77;	/* an unknown lease */
	coord_request(c, "train 3", 7, 1, now);
	pass(900);
	equals(coord_warnings(c)->size, 0);
	named(!next_lease(), "the lost lease blocks all others at first");
	pass(300);
	named(warns("nothing has been leased for 1.0 s, though steps wait "
		    "and worker:0 is free, which is an error of ps-coord: "
		    "leasing begins anew\n"),
	      "the coordinator warns that nothing is leased, and leases "
	      "again");
	equals(queue_running(c->queue), 2);
	pass(2000);
	equals(coord_warnings(c)->size, 0);
	coordinator_end();
}

int
main(void)
{
	other_lives();
	many_lives();
	many_lines();
	unread();
	standing_still();
	return tap_done();
}
