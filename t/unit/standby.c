/*
 * A server and its hot standby, with messages that the test delivers: for any
 * order of messages, the standby has all that the server has answered, bit for
 * bit, when it takes over.
 */
#include "prog/saver.h"
#include "server/primary.h"
#include "server/replication.h"

#include "server_replay.h"
#include "tap.h"

/* The standby connects at any time, and the server is killed at any later
   time. */
static bool
interleaving(uint64_t seed)
{
	struct rng rng = { seed, 0 };
	uint64_t calls, dies, held;
	bool equal, kept = true, in_sync;

	begin(&rng);
	calls = 2 + rng_below(&rng, script.last);
	dies = calls + rng_below(&rng, script.last);
	while (heard < script.last && heard < dies) {
		const uint64_t what = rng_below(&rng, 8);

		if (heard == calls && !standby.out.last)
			call();
		if (what < 4)
			receive_script(&primary, ++heard);
		else if (what < 6)
			deliver(&primary, &standby, PRIMARY);
		else if (what < 7)
			deliver(&standby, &primary, STANDBY);
		else
			server_flush(standby.server);
	}
	in_sync = primary.told;
	if (!in_sync) {		/* without that the coordinator would not
				   promote it */
		end();
		return true;
	}
	while (rng_below(&rng, 4))	/* some of what was under way */
		deliver(&primary, &standby, PRIMARY);
	promote();
	held = synced_at + server_acted(standby.server);
	for (uint64_t n = 1; n <= script.last; n++)
		kept = kept && (!primary.answered[n] || n <= held);
	make_reference(held);
	equal = same(&standby, &reference);
	if (!kept || !equal)
		printf("# seed %llu: called at %llu, died at %llu, held "
		       "%llu\n", (unsigned long long)seed,
		       (unsigned long long)calls, (unsigned long long)heard,
		       (unsigned long long)held);
	side_free(&reference);
	end();
	return kept && equal;
}

static void
interleavings(void)
{
	bool all = true;

	for (uint64_t seed = 1; seed <= 60; seed++)
		all = interleaving(seed) && all;
	named(all,
	      "a standby has all that the server has answered, bit for bit, "
	      "after any order of messages");
}

/* Were this number of the script's messages answered? */
static bool
answered(uint64_t count)
{
	uint64_t n = 0;

	for (uint64_t i = 1; i <= script.last; i++)
		n += primary.answered[i] > 0;
	return n == count;
}

static void
in_sync(void)
{
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver_all();
	while (heard < 20)
		receive_script(&primary, ++heard);
}

/* Only the coordinator may let a server continue without its standby. */
static void
stalled(void)
{
	in_sync();
	ok(primary.told && primary.standby_life == 2);
	ok(answered(1));	/* the PLAN, before there was a standby */
	deliver_all();
	ok(answered(20));
	while (heard < 40)
		receive_script(&primary, ++heard);
	notify_plan(&primary, TERM, 2);
	ok(answered(20) && !primary.answered[CHANGES - 1]);
	notify_plan(&primary, TERM + 1, 0);
	ok(answered(40) && primary.answered[CHANGES - 1] == 1);
	receive_script(&primary, ++heard);
	ok(answered(41));

		/* The standby continues, and begins again. */
		primary.told = false;
	deliver_all();
	ok(primary.told && primary.standby_life == 2);
	receive_script(&primary, ++heard);
	ok(answered(41));
	deliver_all();
	ok(answered(42));
	end();
}

static void
broken(void)
{
	in_sync();
	deliver_all();
	ok(count_on(&primary, TERM, 2));
	unreachable = true;
	server_ping_standbys(primary.server);
	unreachable = false;
	equals(primary.standby_life, 0);
	receive_script(&primary, ++heard);
	ok(answered(20));
	primary.told = false;
	greet(&primary, COORD, ROLE_COORDINATOR, TERM);
	ok(primary.told && primary.standby_life == 0);

	/* A coordinator that relies on the standby learns of it in the new
	   term. */
	primary.told = false;
	notify_plan(&primary, TERM + 1, 2);
	ok(primary.told && primary.standby_life == 0 &&
	   primary.standby_term == TERM + 1 && answered(20));
	notify_plan(&primary, TERM + 2, 0);
	ok(answered(21));
	end();

	/* A standby that the coordinator does not know may be dropped. */
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver(&standby, &primary, STANDBY);
	receive_script(&primary, ++heard);
	ok(answered(2));
	unreachable = true;
	receive_script(&primary, ++heard);
	unreachable = false;
	ok(answered(3) && !primary.told);
	end();
}

/* A PLAN without a standby may be late: the server obeys it, and continues
   alone, when the coordinator already knows of the standby. */
static void
a_late_plan(void)
{
	in_sync();
	deliver_all();
	ok(primary.told && primary.standby_life == 2 &&
	   !primary.standby_counted && answered(20));
	notify_plan(&primary, TERM, 0);
	named(!count_on(&primary, TERM, 2) && primary.standby_life == 0,
	      "a standby that was released is not acknowledged");
	receive_script(&primary, ++heard);
	ok(answered(21));
	primary.told = false;
	deliver_all();
	named(primary.told && primary.standby_life == 2,
	      "a released standby begins anew in the same term");
	named(!count_on(&primary, TERM, 3) && count_on(&primary, TERM, 2),
	      "a standby is acknowledged by its incarnation");
	named(!count_on(&primary, TERM - 1, 2),
	      "a standby is not acknowledged in an older term");
	notify_plan(&primary, TERM + 1, 2);
	deliver_all();
	ok(primary.said.kind == MESSAGE_OK && primary.said.ok.standby == 2);
	end();

	/* The coordinator does not rely on it yet, so it may be lost. */
	in_sync();
	deliver_all();
	unreachable = true;
	server_ping_standbys(primary.server);
	unreachable = false;
	ok(primary.told && primary.standby_life == 0 &&
	   !primary.standby_counted);
	receive_script(&primary, ++heard);
	named(answered(21),
	      "a standby that the coordinator does not count on delays no "
	      "answer");
	end();
}

/* A server does not wait long for a standby that the coordinator does not
   know. */
static void
silent(void)
{
	const struct message okay = { .kind = MESSAGE_OK },
			     ping = { .kind = MESSAGE_PING };
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver(&standby, &primary, STANDBY);
	while (heard < 20)
		receive_script(&primary, ++heard);
	ok(answered(20) && !primary.told);

	/* The standby has the cut, and does not acknowledge the messages
	   since. */
	for (int i = 0; i < 1000; i++)
		side_receive(&primary, STANDBY, &okay);
	receive_script(&primary, ++heard);
	server_receive(primary.server, COORD, &ping, 1);
	server_receive(primary.server, COORD, &ping, 1001);
	ok(answered(20) && !primary.told);
	server_receive(primary.server, COORD, &ping, 1002);
	ok(answered(21) && !primary.told);

	/* The standby continues, and begins again. */
	deliver_all();
	ok(primary.told && primary.standby_life == 2);
	end();
}

/* While it takes the cut a standby may be behind, but not endlessly. */
static void
behind(void)
{
	const struct message okay = { .kind = MESSAGE_OK };
	struct rng rng = { 5, 0 };

	begin(&rng);
	call();
	deliver(&standby, &primary, STANDBY);
	while (heard < 1 + REPLICATION_BEHIND)
		receive_script(&primary, ++heard);
	ok(answered(1 + REPLICATION_BEHIND));
	while (heard < 40 + REPLICATION_BEHIND)
		receive_script(&primary, ++heard);
	named(answered(1 + REPLICATION_BEHIND),
	      "answers wait for a standby that lags while it takes the copy");
	for (int i = 0; i < 1000; i++)
		side_receive(&primary, STANDBY, &okay);
	named(answered(1 + REPLICATION_BEHIND),
	      "answers wait for a standby that has the copy and lacks the "
	      "changes");
	end();
}

/* State that the coordinator relies on is not dropped. */
static void
promised(void)
{
	struct fail f;

	in_sync();
	deliver_all();
	greet(&standby, WORKER, ROLE_WORKER, TERM);
	equals(standby.said.kind, 0);
	notify_plan(&standby, TERM, 0);	/* from no coordinator: refused */
	equals(server_acted(standby.server), 19);
	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);

	/* A server back from its log has a cut for it, of the same term. */
	server_up(standby.server, PRIMARY);
	deliver_all();
	equals(server_acted(standby.server), 19);

	notify_plan(&standby, TERM, 0);
	equals(standby.said.kind, MESSAGE_REFUSED);
	notify_plan(&standby, TERM + 1, 0);
	equals(standby.said.kind, MESSAGE_OK);
	ok(!server_over(primary.server, &f));
	deliver_all();
	ok(server_over(primary.server, &f) && f.kind == FAIL_AGAIN &&
	   strcmp(f.text, "the standby node:2 took over in term 5: start "
		  "this one again with --standby-of") == 0);
	end();
}

/* Another server may now listen at the address of the lost one. */
static void
replaced(void)
{
	struct message hello = { .kind = MESSAGE_HELLO,
				 .request = PRIMARY_HELLO, .frames = 1,
				 .frame[0] = { "node:2", 6, NULL } };
	const struct message refused =
		message_refuse(&hello, FAIL_AGAIN, "a standby of node:2");
	struct rng rng = { 5, 0 };
	struct side next;
	struct fail f;

	/* It becomes the standby of the server that took over. */
	hello.hello.version = WIRE_VERSION;
	hello.hello.role = ROLE_SERVER;
	hello.hello.term = TERM + 1;
	side_new(&next, 3);
	server_follow(next.server, "node:2", "node:1", &f);
	side_receive(&next, WORKER, &hello);
	ok(!server_over(next.server, &f));

	/* It may come too early: a standby has no standby. */
	hello.hello.role = ROLE_STANDBY;
	hello.hello.life = 2;
	side_receive(&next, WORKER, &hello);
	ok(next.said.kind == MESSAGE_REFUSED &&
	   next.said.refused.status == FAIL_AGAIN);
	in_sync();
	deliver_all();
	side_receive(&standby, PRIMARY, &refused);
	ok(!server_over(standby.server, &f));
	end();

	/* A standby that has not received everything yet ends. */
	begin(&rng);
	receive_script(&primary, ++heard);
	call();
	deliver(&standby, &primary, STANDBY);
	deliver(&primary, &standby, PRIMARY);
	deliver(&primary, &standby, PRIMARY);
	ok(!server_over(standby.server, &f));
	side_receive(&standby, PRIMARY, &refused);
	ok(server_over(standby.server, &f) && f.kind == FAIL_AGAIN);
	end();

	/* So does one without enough memory: it would be asked again for
	   ever. */
	begin(&rng);
	server_limit(standby.server, 1000, NULL);
	receive_script(&primary, ++heard);
	call();
	deliver(&standby, &primary, STANDBY);
	deliver(&primary, &standby, PRIMARY);
	deliver(&primary, &standby, PRIMARY);
	ok(server_over(standby.server, &f) && f.kind == FAIL_CONFIG &&
	   strncmp(f.text, "its variables need ", 19) == 0);
	end();

	/* So does one that has nothing. */
	side_new(&standby, 2);
	call();
	side_receive(&standby, PRIMARY, &refused);
	ok(server_over(standby.server, &f) && f.kind == FAIL_AGAIN &&
	   strcmp(f.text, "node:1 refuses this standby: a standby of "
		  "node:2") == 0);
	side_free(&standby);
	side_free(&next);
}

/* The primary loads a checkpoint, and its standby gets the same LOAD. */
static struct server_job
load_both(void)
{
	struct message m = { .kind = MESSAGE_LOAD, .request = 1,
			     .blob = { "ckpt", 4, NULL } };
	struct server_job job = { 0 };
	struct fail why;

	m.cut.run = plan_run(&plan);
	m.cut.term = TERM;
	m.cut.cut = WIRE_NONE;
	side_receive(&primary, COORD, &m);
	fail(&why, FAIL_IO, "it went on without");
	deliver_all();
	if (server_job(primary.server, &job))
		server_load(primary.server, &job, NULL, NULL, &why);
	if (!server_job(standby.server, &job))
		job.kind = JOB_SAVE;
	return job;
}

/* A standby may not find the checkpoint that its primary has loaded. */
static void
lacking(void)
{
	struct saver *nowhere = saver_new(NULL, false);
	struct server_job job;
	struct fail f;

	in_sync();
	deliver_all();
	job = load_both();
	named_equals(job.kind, JOB_LOAD,
		     "a standby loads the checkpoint that its primary loads");
	primary.told = false;
	fail(&f, FAIL_NOINPUT, "pruned meanwhile");
	server_load(standby.server, &job, NULL, NULL, &f);
	deliver_all();
	named(primary.told && primary.standby_life == 2 &&
	      !server_over(standby.server, &f),
	      "a standby whose checkpoint was pruned begins anew");
	receive_script(&primary, ++heard);
	deliver_all();
	promote();
	make_reference(heard);
	named(same(&standby, &reference),
	      "the standby that began anew has the state of its primary");
	side_free(&reference);
	end();

	in_sync();
	deliver_all();
	job = load_both();
	fail(&f, FAIL_DATA, "damaged");
	server_load(standby.server, &job, NULL, NULL, &f);
	named(server_over(standby.server, &f) && f.kind == FAIL_DATA,
	      "a damaged checkpoint ends the standby");
	end();

	in_sync();
	deliver_all();
	load_both();
	saver_run(nowhere, standby.server);
	named(server_over(standby.server, &f) && f.kind == FAIL_CONFIG,
	      "a standby without a folder for checkpoints ends");
	end();
	saver_free(nowhere);
}

/* A server that must stop lets its standby leave first. */
static void
stopped(void)
{
	const struct message stop = { .kind = MESSAGE_STOP, .request = 1 };

	in_sync();
	deliver_all();
	side_receive(&primary, COORD, &stop);
	ok(server_stopping(primary.server) && server_awaits(primary.server));
	ok(!server_stopping(standby.server));
	deliver(&primary, &standby, PRIMARY);
	ok(server_stopping(standby.server) && !server_awaits(standby.server));
	deliver_all();
	ok(!server_awaits(primary.server));
	end();

	/* A standby that is still copying counts, too; one that was lost does
	   not. */
	side_new(&primary, 1);
	side_new(&standby, 2);
	greet(&primary, COORD, ROLE_COORDINATOR, TERM);
	call();
	deliver(&standby, &primary, STANDBY);
	side_receive(&primary, COORD, &stop);
	ok(server_awaits(primary.server));
	unreachable = true;
	server_ping_standbys(primary.server);
	unreachable = false;
	ok(!server_awaits(primary.server));
	end();
}

/* The log: nothing is answered before it is durable, and all is replayed. */
static void
logged(void)
{
	const struct message pull = { .kind = MESSAGE_PULL,
				      .request = CHANGES };
	struct rng rng = { 9, 0 };
	uint64_t durable = 0;
	const struct change *c;
	bool kept = true;

	begin(&rng);
	server_log(primary.server);
	server_replay(standby.server, &commit_log_find(&script, 1)->message);
	while (heard < script.last) {
		receive_script(&primary, ++heard);
		kept = kept && answered(durable + 1);
		if (rng_below(&rng, 3) > 0)
			continue;
		while ((c = server_change(primary.server, durable + 1))) {
			server_replay(standby.server, &c->message);
			durable++;
			if (rng_below(&rng, 4) == 0)
				break;
		}
		server_durable(primary.server, durable);
		kept = kept && answered(durable + 1);
	}
	ok(kept && durable > 0);
	make_reference(durable + 1);
	/* A log may be older than the steps that were acknowledged. */
	greet(&standby, WORKER, ROLE_WORKER, TERM);
	side_receive(&standby, WORKER, &pull);
	named(standby.said.kind == MESSAGE_REFUSED &&
	      standby.said.refused.status == FAIL_PROTOCOL,
	      "a server with a log refuses workers until its coordinator has "
	      "come");
	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);
	notify_plan(&standby, TERM + 1, 0);
	greet(&standby, WORKER, ROLE_WORKER, TERM + 1);
	ok(same(&standby, &reference));
	side_free(&reference);
	end();
}

/* Does the standby outlive this time, with a coordinator at its server or
   without? */
static bool
outlives(uint64_t ms, bool coordinator)
{
	static uint64_t now = 1000;
	const struct message ping = { .kind = MESSAGE_PING };
	struct fail f;

	for (uint64_t end = now + ms; now < end; now += SERVER_LOOK_MS) {
		if (coordinator)
			side_receive(&primary, COORD, &ping);
		server_look(primary.server, now);
		deliver_all();
		server_look(standby.server, now);
		if (server_check_idle(standby.server, 1000, NULL, &f) < 0)
			return false;
	}
	return true;
}

/* A standby has a use while its server has a coordinator. */
static void
idle(void)
{
	const struct message bye = { .kind = MESSAGE_BYE };
	struct fail f;

	in_sync();
	deliver_all();
	named(outlives(3000, true),
	      "a standby waits as long as its server has a coordinator");
	named(!outlives(3000, false),
	      "a standby ends with the server that has lost its coordinator");
	ok(server_check_idle(primary.server, 1000, NULL, &f) < 0 &&
	   strstr(f.text, "its coordinator has been silent"));
	ok(server_check_idle(standby.server, 1000, NULL, &f) < 0 &&
	   f.kind == FAIL_PEER && strstr(f.text, "its primary node:1 is gone"));
	end();
	in_sync();
	deliver_all();
	side_receive(&primary, COORD, &bye);
	named(outlives(3000, false),
	      "a standby waits with a server whose run is over");
	end();
	side_new(&standby, 2);
	side_new(&primary, 1);
	call();
	named(!outlives(3000, false), "a standby that finds no server ends");
	end();
}

int
main(void)
{
	replay_open();
	interleavings();
	stalled();
	broken();
	a_late_plan();
	silent();
	behind();
	promised();
	replaced();
	lacking();
	stopped();
	logged();
	idle();
	replay_close();
	return tap_done();
}
