/* The reports of a worker about its leases, and their order. */
#include "worker/leases.h"

#include "tap.h"

#include <string.h>

#define COORDINATOR	1
#define TERM		7

/* The messages since the last check, as letters: D(ONE) F(AILED) O(K). */
static char said[32];
static struct message last;

static int
send(void *to, uint64_t peer, const struct message *m)
{
	(void)to;
	last = *m;
	said[strlen(said)] = peer != COORDINATOR ? '?' :
		m->kind == MESSAGE_DONE ? 'D' :
		m->kind == MESSAGE_FAILED ? 'F' :
		m->kind == MESSAGE_OK ? 'O' : '?';
	return 0;
}

static bool
says(const char *what)
{
	const bool same = strcmp(said, what) == 0;

	if (!same)
		tap_differ(said, what);
	memset(said, 0, sizeof(said));
	return same;
}

static struct outbox outbox = { .send = send };
static struct leases *leases;

static struct message
lease(uint64_t id, uint64_t first, uint64_t count)
{
	struct message m = { .kind = MESSAGE_LEASE, .request = id };

	m.lease.term = TERM;
	m.lease.first = first;
	m.lease.count = count;
	m.lease.batch = 4;
	m.lease.attempt = 1;
	return m;
}

static bool
take(uint64_t id, uint64_t first, uint64_t count)
{
	const struct message m = lease(id, first, count);

	return leases_take(leases, &m, false);
}

static void
begin(void)
{
	leases = leases_new(&outbox, COORDINATOR);
	leases_begin_term(leases, TERM);
}

static void
end(void)
{
	ok_and_sound(true, leases_check(leases),
		     "the invariants of the leases hold at the end");
	says("");
	leases_free(leases);
}

/* Begins the next step, which must be this one. */
static const struct lease *
begins(uint64_t step)
{
	uint64_t next;
	const struct lease *l = leases_next(leases, &next);

	return l && next == step && leases_begin(leases, l) == step ? l :
		NULL;
}

static void
done(const struct lease *l)
{
	struct result r = { .examples = 4 };

	leases_done(leases, l, &r, NULL, NULL, 0);
	leases_settle(leases);
}

static void
test_done(void)
{
	const struct lease *a, *b;
	uint64_t step;

	begin();
	ok(take(1, 10, 2) && take(2, 20, 1));
	a = begins(10);
	ok(a && begins(11) == a);
	done(a);
	named(says(""), "the first result of a lease waits for the last one");
	done(a);
	named(says("D") && last.request == 1 && last.done.count == 2 &&
	      last.done.term == TERM,
	      "the results of a lease are reported together");
	b = begins(20);
	ok(b && !leases_next(leases, &step));
	done(b);
	ok(says("D") && last.request == 2);
	end();
}

static bool
takes_call(const void *call, size_t size, size_t blocks)
{
	struct message m = lease(1, 10, 1);

	for (size_t i = 0; i < blocks; i++)
		m.frame[m.frames++] = (struct frame){ "block", 5, NULL };
	m.lease.call = 1;
	m.frame[m.frames++] = (struct frame){ call, size, NULL };
	return leases_take(leases, &m, false);
}

/* A replica of two batches has two slices of a data set in a frame, and the two
   blocks after them; of another data set it has one. */
static void
test_blocks(void)
{
	struct message m = lease(1, 10, 1);
	const struct lease *l;
	struct frame frame[4];
	struct lease_slice s;

	begin();
	m.frames = 2;
	m.frame[0] = (struct frame){ "\0\5\4\xc4\1a" "\0\6\4\xc4\2bc"
				     "\3\7\x10\xc4\3def", 21, NULL };
	m.frame[1] = (struct frame){ "\0\xc4\2bc\0\xc4\1g", 9, NULL };
	ok(leases_take(leases, &m, false));
	ok(leases_blocks(leases, 0, frame, 4) == 3 && frame[0].size == 1 &&
	   frame[1].size == 2 && frame[2].size == 1);
	equals(leases_blocks(leases, 0, frame, 2), 2);
	ok(leases_blocks(leases, 3, frame, 4) == 1 && frame[0].size == 3 &&
	   leases_blocks(leases, 1, frame, 4) == 0);
	l = begins(10);
	named(lease_slice(l, 0, &s) && s.block.size == 1 && s.from == 5 &&
	      lease_slice(l, 1, &s) && s.block.size == 2 && s.from == 6 &&
	      s.count == 4 && s.dataset == 0 &&
	      lease_slice(l, 2, &s) && s.block.size == 3 && s.count == 16 &&
	      s.dataset == 3 && !lease_slice(l, 3, &s),
	      "each batch of each data set has its slice");
	end();

	begin();
	m.frame[0].size--;
	ok(leases_take(leases, &m, false));
	l = begins(10);
	named(lease_slice(l, 1, &s) && !lease_slice(l, 2, &s) &&
	      !lease_slice(l, 3, &s),
	      "slices that are cut short are not there");
	end();
}

/* The last frame has the arguments for the step program. */
static void
test_call(void)
{
	static const char call[] = "\x92\xc4\x03""fit\xc4\x02{}";
	const size_t size = sizeof(call) - 1;
	struct message m = lease(1, 10, 1);
	const struct lease *l;
	bool refused = true;

	for (size_t blocks = 0; blocks <= 2; blocks++) {
		begin();
		ok(takes_call(call, size, blocks));
		l = begins(10);
		named(strcmp(l->step.data, "fit") == 0 &&
		      strcmp(l->args.data, "{}") == 0 &&
		      l->blocks.size == (blocks > 0 ? 5 : 0) &&
		      l->after.size == (blocks > 1 ? 5 : 0),
		      "a lease with blocks and a call keeps both");
		end();
	}
	begin();
	for (size_t n = 0; n < size; n++)
		refused = refused && !takes_call(call, n, 0);
	named(refused, "a call that is cut short is refused");
	named(!takes_call("\x92\xc4\x01\0\xc4\0", 6, 0),
	      "a call whose name has a NUL is refused");
	m.lease.call = 1;
	named(!leases_take(leases, &m, false),
	      "a lease without the call it announces is refused");
	end();
}

static void
test_cancel(void)
{
	const struct lease *l;
	uint64_t step;

	begin();
	ok(take(1, 10, 3) && take(2, 20, 1));
	l = begins(10);
	ok(begins(11) == l);
	done(l);
	leases_cancel(leases, 0, UINT64_MAX, 0);
	leases_send_cancelled(leases);
	leases_settle(leases);
	named(says("") && lease_is_cancelled(l) && !leases_next(leases, &step),
	      "no step of a cancelled lease begins");
	leases_dropped(leases, l);
	leases_settle(leases);
	named(says("DO"),
	      "OK follows the last DONE when the last step has ended");
	end();
}

static void
test_failed(void)
{
	const struct lease *l;
	struct fail why;
	uint64_t step;

	fail(&why, FAIL_DATA, "no number");
	begin();
	ok(take(1, 10, 4));
	l = begins(10);
	ok(begins(11) == l && begins(12) == l);
	done(l);
	leases_failed(leases, l, 11, &why);
	leases_dropped(leases, l);
	leases_settle(leases);
	named(says("DF") && last.failed.step == 11 &&
	      last.failed.status == FAIL_DATA && !leases_next(leases, &step),
	      "FAILED follows DONE, and ends the lease");
	end();
}

/* In rounds the lowest step comes first, and a replica is always given back. */
static void
test_replicas(void)
{
	struct message m = lease(1, 30, 1);
	const struct lease *l;

	begin();
	m.lease.slots = 3;
	ok(leases_take(leases, &m, false));
	m.request = 2;
	m.lease.first = 29;
	ok(leases_take(leases, &m, false));
	l = begins(29);
	named(l && l->id == 2, "the replica of the lowest step comes first");
	leases_cancel(leases, 0, 0, 1);
	named(says(""), "a cancel of no steps cancels nothing");
	leases_cancel(leases, 0, UINT64_MAX, 1);
	named(says("D") && last.request == 1 && last.done.count == 0,
	      "a cancelled replica that had not begun is given back at once");
	leases_cancel(leases, 0, UINT64_MAX, 2);
	named(says(""),
	      "a cancelled replica that had begun is not given back yet");
	leases_dropped(leases, l);
	ok(says("D") && last.request == 2);
	m.request = 3;
	ok(leases_take(leases, &m, true) && says("D") && last.request == 3);
	end();
}

static void
test_end(void)
{
	const struct lease *l;
	uint64_t step;

	begin();
	ok(take(1, 10, 5));
	l = begins(10);
	leases_end(leases);
	leases_settle(leases);
	ok(says("") && !leases_next(leases, &step));
	done(l);
	named(says("D") && last.done.count == 1,
	      "a lease that is cut off reports the steps that had begun");
	end();
}

static void
test_term(void)
{
	const struct lease *l;

	begin();
	ok(take(1, 10, 2));
	l = begins(10);
	done(l);
	leases_begin_term(leases, TERM + 1);
	leases_settle(leases);
	named(says("") && !leases_find(leases, 1),
	      "steps of an earlier term are not reported");
	ok(take(2, 10, 1));
	done(begins(10));
	ok(says("D") && last.done.term == TERM + 1 && last.done.count == 1);
	end();
}

static void
test_refused(void)
{
	struct message m = lease(1, UINT64_MAX, 1);
	uint64_t batch, pass;

	begin();
	ok(!leases_take(leases, &m, false));
	m = lease(1, 0, 0);
	ok(!leases_take(leases, &m, false));
	m = lease(1, 0, 1);
	m.lease.batch = 0;
	ok(!leases_take(leases, &m, false));
	for (uint64_t i = 0; i < 256; i++)
		if (!take(i + 1, i, 1))
			ok(false);
	named(!take(999, 999, 1), "the 257th lease is refused");
	ok(!leases_announced(leases, &batch, &pass) &&
	   leases_behind(leases, 255)->batch == 4 &&
	   !leases_behind(leases, 256));
	end();
}

int
main(void)
{
	test_done();
	test_blocks();
	test_call();
	test_cancel();
	test_failed();
	test_replicas();
	test_end();
	test_term();
	test_refused();
	return tap_done();
}
