/* A server's standby, as the server sees it. */
#include "server/replication.h"

#include "model_fixture.h"
#include "post.h"

#define LIFE	77
#define PEER	5
#define CREDIT	4	/* chunks under way, and SYNC besides */

static const char model[] =
	"input x float[3]\nlabel y float\na = dense x units=1\n"
	"b = dense a units=4\nc = dense b units=4\nd = dense c units=1\n"
	"loss mean_squared_error d\noptimizer sgd learning_rate=0.1\n";

static struct model_fixture fixture;
static struct plan plan;
static struct shard *shard;
static struct replication *r;
static struct fail f;
static uint64_t acted;
static struct commit_log commit_log;

#define checked(claim) \
	ok_and_sound(claim, replication_check(r, false, acted), #claim)

static int
hello(uint64_t peer, uint64_t life, const char *endpoint)
{
	struct message m = { .kind = MESSAGE_HELLO, .frames = 1 };

	m.hello.role = ROLE_STANDBY;
	m.hello.life = life;
	m.frame[0] = (struct frame){ endpoint, strlen(endpoint), NULL };
	return replication_hello(r, peer, &m, &f);
}

static void
receive(uint64_t peer, enum message_kind kind, uint64_t held)
{
	struct message m = { .kind = kind };

	m.held.number = held;
	replication_receive(r, peer, &m, acted);
}

/* Is this the only news for the coordinator? */
static bool
news(uint64_t life, bool counted)
{
	struct message m;

	if (!replication_has_news(r))
		return false;
	m = replication_news(r);
	if (life && (m.frames != 1 || m.frame[0].size != 6 ||
		     memcmp(m.frame[0].data, "node:2", 6) != 0))
		return false;
	return m.standby.life == life && m.standby.counted == counted &&
		!replication_has_news(r);
}

static void
begin_it(uint64_t number, const struct change *waiting)
{
	struct message sync = { .kind = MESSAGE_SYNC };

	sync.sync.number = number;
	replication_begin(r, shard_snapshot_new(shard), &sync, waiting);
}

/* Is the snapshot sent, and acknowledged chunk by chunk? */
static bool
takes_all(uint64_t peer)
{
	struct shard_snapshot *cut = shard_snapshot_new(shard);
	const size_t chunks = shard_snapshot_chunks(cut);
	size_t sent = 0;
	bool good = chunks > CREDIT;

	for (size_t i = 0; i <= chunks; i++) {
		for (; sent < chunks && sent < CREDIT + i; sent++) {
			const struct shard_chunk c =
				shard_snapshot_chunk(cut, sent);

			good = says(peer, MESSAGE_STATE) && good &&
				last_posted->m.request == sent &&
				last_posted->m.state.piece == c.piece &&
				last_posted->m.state.chunk == c.chunk &&
				last_posted->m.frame[0].size == c.data.size;
		}
		good = silent() && !replication_has_news(r) && good;
		receive(peer, MESSAGE_OK, 0);
	}
	shard_snapshot_free(cut);
	return good && silent();
}

static void
callers(void)
{
	r = replication_new(&post);
	acted = 10;
	checked(!replication_is_there(r) && !replication_waits(r) &&
		!replication_reached(r));
	ok(replication_limit(r) == UINT64_MAX && replication_counted(r) == 0);
	ok(hello(PEER, LIFE, "") < 0 && f.kind == FAIL_PROTOCOL);
	ok(hello(PEER, 0, "node:2") < 0);
	ok(hello(PEER, LIFE, "node 2") < 0 && hello(PEER, LIFE, "a\177") < 0);
	checked(!replication_waits(r));
	equals(hello(4, 66, "node:1"), 0);
	checked(replication_waits(r) && replication_reached(r) &&
		!replication_is_there(r));
	receive(4, MESSAGE_PONG, 0);
	receive(6, MESSAGE_BYE, 0);
	checked(replication_waits(r));
	receive(4, MESSAGE_BYE, 0);
	checked(!replication_waits(r));
	equals(hello(4, 66, "node:1"), 0);
	replication_ping(r);
	ok(says(4, MESSAGE_PING) && silent());
	post_deaf = 4;
	replication_ping(r);
	post_deaf = 0;
	named(!replication_waits(r),
	      "a standby that cannot be reached waits no longer");
	ok(hello(4, 66, "node:1") == 0 && hello(PEER, LIFE, "node:2") == 0);
}

static void
copies(void)
{
	const struct message push = { .kind = MESSAGE_PUSH };

	commit_log_begin(&commit_log, 10);
	commit_log_add(&commit_log, 0, &push);
	begin_it(10, commit_log.first);
	checked(replication_is_there(r) && !replication_waits(r));
	ok(says(PEER, MESSAGE_SYNC) && last_posted->m.sync.number == 10 &&
	   last_posted->m.sync.chunks > CREDIT);
	for (size_t i = 0; i < CREDIT; i++)
		if (!says(PEER, MESSAGE_STATE) || last_posted->m.request != i)
			named(false,
			      "the chunks of the copy are sent in order");
	named(says(PEER, MESSAGE_PUSH) && silent(),
	      "waiting changes follow the chunks");
	named_equals(replication_limit(r), 10 + REPLICATION_BEHIND,
		     "a standby that takes the copy may lag by a bounded "
		     "number of changes");
	replication_drop_copying(r);
	ok(says(PEER, MESSAGE_REFUSED) && silent());
	checked(!replication_is_there(r) &&
		replication_limit(r) == UINT64_MAX);
	commit_log_release(&commit_log);
	commit_log = (struct commit_log){ 0 };

	equals(hello(PEER, LIFE, "node:2"), 0);
	begin_it(10, NULL);
	ok(says(PEER, MESSAGE_SYNC));
	named(takes_all(PEER), "no more than four chunks are in flight");
	named(!replication_check(r, false, acted) && news(LIFE, false),
	      "the coordinator learns of a standby that holds the whole copy");
	equals(replication_limit(r), 10);
	receive(PEER, MESSAGE_OK, 0);
	replication_drop_copying(r);
	checked(replication_is_there(r) && silent());
}

static void
holds_changes(void)
{
	const struct message push = { .kind = MESSAGE_PUSH };
	const struct change *c;

	commit_log_begin(&commit_log, 10);
	c = commit_log_add(&commit_log, 0, &push);
	replication_forward(r, c);
	ok(says(PEER, MESSAGE_PUSH) && silent());
	receive(6, MESSAGE_HELD, 11);
	equals(replication_limit(r), 10);
	receive(PEER, MESSAGE_HELD, 11);
	checked(replication_limit(r) == 11 && acted == 10);
	acted = 11;
	receive(PEER, MESSAGE_HELD, 9);
	checked(replication_limit(r) == 11);
	named(!replication_has_news(r),
	      "a change that is held is no news for the coordinator");
	named(replication_check(r, true, acted) &&
	      replication_check(r, false, 12),
	      "two faults break an invariant: a standby with its own standby, "
	      "and one that lacks acted changes");
}

static void
counted(void)
{
	replication_count(r, 66);
	checked(replication_counted(r) == 0 && news(LIFE, false));
	replication_count(r, LIFE);
	checked(replication_counted(r) == LIFE && news(LIFE, true));
	replication_watch(r, true, 100, 1000);
	replication_watch(r, true, 100, 2000);
	named(replication_is_there(r) && silent(),
	      "the server waits for a standby that the coordinator counts on");
	post_deaf = PEER;
	replication_ping(r);
	checked(replication_is_there(r) && replication_counted(r) == LIFE &&
		!replication_reached(r));
	named(news(0, true),
	      "the coordinator learns that the standby cannot be reached");
	equals(replication_limit(r), 11);
	post_deaf = 0;
	equals(hello(6, LIFE, "node:2"), 0);
	checked(!replication_waits(r) && replication_counted(r) == LIFE);
	replication_count(r, 0);
	named(!replication_is_there(r) && replication_waits(r) &&
	      news(0, false),
	      "the server continues alone when the coordinator counts on no "
	      "standby");
}

/* Begins with a standby that is in sync, and that the coordinator knows. */
static void
in_sync(uint64_t peer)
{
	hello(peer, LIFE, "node:2");
	begin_it(acted, NULL);
	ok(says(peer, MESSAGE_SYNC) && takes_all(peer) && news(LIFE, false));
}

static void
goes(void)
{
	in_sync(7);
	receive(7, MESSAGE_BYE, 0);
	checked(!replication_is_there(r) && news(0, false));
	in_sync(8);
	receive(8, MESSAGE_REFUSED, 0);
	named(!replication_is_there(r) && replication_waits(r) &&
	      news(0, false),
	      "a standby that refused a change waits to begin anew");
	in_sync(9);
	hello(10, LIFE, "node:2");
	named(!replication_is_there(r) && replication_waits(r) &&
	      news(0, false), "a standby that has reconnected begins anew");
	in_sync(10);
	post_deaf = 10;
	replication_forward(r, commit_log.first);
	checked(replication_is_there(r));
	replication_ping(r);
	post_deaf = 0;
	named(!replication_is_there(r) && news(0, false),
	      "a ping finds that the standby has left");
	in_sync(11);
	hello(12, 88, "node:3");
	replication_send(r, &(struct message){ .kind = MESSAGE_STOP });
	ok(says(11, MESSAGE_STOP) && says(12, MESSAGE_STOP) && silent());
	replication_forget(r);
	checked(!replication_is_there(r) && replication_waits(r));
	named(silent(), "a forgotten run sends no message");
	post_deaf = 12;
	begin_it(acted, NULL);
	replication_ping(r);
	post_deaf = 0;
	checked(!replication_is_there(r) && !replication_waits(r));
}

static void
kept(void)
{
	in_sync(13);
	replication_keep(r, LIFE);
	checked(replication_counted(r) == LIFE && news(LIFE, true));
	replication_report(r);
	ok(news(LIFE, true));
	replication_keep(r, 88);
	ok(says(13, MESSAGE_REFUSED) && silent());
	checked(!replication_is_there(r) && replication_counted(r) == 0);
	hello(14, LIFE, "node:2");
	begin_it(acted, NULL);
	replication_keep(r, LIFE);
	named(replication_counted(r) == 0 && !replication_has_news(r),
	      "a standby that still takes the copy is not counted on");
	replication_watch(r, true, 100, 1000);
	replication_watch(r, true, 100, 1100);
	replication_watch(r, false, 100, 1101);
	replication_watch(r, true, 100, 1102);
	checked(replication_is_there(r));
	receive(14, MESSAGE_PONG, 0);
	replication_watch(r, true, 100, 1203);
	checked(replication_is_there(r));
	replication_watch(r, true, 100, 1303);
	checked(replication_is_there(r));
	replication_watch(r, true, 100, 1304);
	named(!replication_is_there(r),
	      "a standby for which others wait too long is dropped");
}

int
main(void)
{
	char *endpoint[] = { (char *)(uintptr_t)"-" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	free(place);
	shard = shard_new(&plan, fixture.model, 0, NULL);
	callers();
	copies();
	holds_changes();
	counted();
	goes();
	kept();
	replication_free(r);
	replication_free(NULL);
	commit_log_release(&commit_log);
	shard_free(shard);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
