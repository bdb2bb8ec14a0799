/* The server that a standby follows, as the standby sees it. */
#include "server/primary.h"

#include "post.h"

#define PRIMARY	1001	/* the first one that is dialled */
#define LIFE	77

static struct primary *p;
static struct fail f;
static uint64_t acted;	/* changes, by the server that has it */

#define checked(claim)	ok_and_sound(claim, primary_check(p, acted), #claim)

static struct message
sync_of(uint64_t number, uint64_t chunks)
{
	struct message m = { .kind = MESSAGE_SYNC };

	m.sync.number = number;
	m.sync.chunks = chunks;
	return m;
}

static void
followed(void)
{
	const struct frame run = { "a run", 5, NULL };

	checked(!primary_followed(p) && !primary_is(p, 0) &&
		primary_limit(p) == UINT64_MAX);
	primary_hold(p, 3);
	named(silent(), "a server that follows no primary sends nothing");
	post_cannot_dial = true;
	ok(primary_follow(p, "node:1", "node:2", &f) < 0);
	post_cannot_dial = false;
	ok(primary_follow(p, "node:1", "node:2", &f) == 0 &&
	   strcmp(primary_at(p), "node:1") == 0);
	checked(primary_followed(p) && primary_is(p, PRIMARY) &&
		!primary_is(p, 0) && !primary_copied(p));
	named_equals(primary_limit(p), 0,
		     "a standby may act on nothing before it has the cut");
	primary_hello(p, 3, 9, run);
	ok(says(PRIMARY, MESSAGE_HELLO) &&
	   last_posted->m.hello.role == ROLE_STANDBY &&
	   last_posted->m.hello.life == LIFE &&
	   last_posted->m.hello.index == 3 && last_posted->m.hello.term == 9 &&
	   strcmp(last_posted->text, "a run") == 0);
	primary_hold(p, 3);
	named(silent() && !primary_next_chunk(p),
	      "before SYNC a standby reports no change, and counts no chunk");
}

static void
copied(void)
{
	const struct message sync = sync_of(12, 2);

	primary_begin(p, &sync);
	acted = 12;
	checked(primary_synced(p) && !primary_copied(p));
	equals(primary_limit(p), 0);
	primary_hold(p, 12);
	named(silent(), "changes up to the cut need no report");
	primary_hold(p, 14);
	ok(says(PRIMARY, MESSAGE_HELD) && last_posted->m.held.number == 14);
	primary_hold(p, 14);
	named(silent(), "a change is reported as held once");
	ok(primary_next_chunk(p) && !primary_copied(p));
	ok(primary_next_chunk(p) && primary_copied(p));
	ok(!primary_next_chunk(p));
	named_equals(primary_limit(p), 14,
		     "a standby may act on the changes that it holds");
	acted = 14;
	checked(true);
	acted = 15;
	named(primary_check(p, acted),
	      "acting on a change that is not held breaks an invariant");
	acted = 14;
}

static void
greeted(void)
{
	const struct message ours = message_refuse(
		&(struct message){ .request = PRIMARY_HELLO }, FAIL_AGAIN,
		"not now");
	const struct message theirs = message_refuse(
		&(struct message){ .request = 4 }, FAIL_DATA, "bad");
	const struct message again = message_refuse(
		&(struct message){ .request = 4 }, FAIL_AGAIN, "over");

	equals(primary_check_sync(p, false, &f), 0);
	primary_greet(p, true);
	ok(primary_check_sync(p, false, &f) < 0 && f.kind == FAIL_AGAIN);
	equals(primary_check_sync(p, true, &f), 0);
	ok(!primary_refused(p, &ours));
	ok(primary_refused(p, &theirs) &&
	   primary_check_sync(p, false, &f) < 0);
	named(primary_refused(p, &again) &&
	      primary_check_sync(p, false, &f) == 0,
	      "a standby that its primary has dropped may begin anew");
	primary_greet(p, true);
	primary_forget(p);
	checked(!primary_synced(p) && !primary_copied(p) &&
		primary_check_sync(p, false, &f) == 0);
	equals(primary_limit(p), 0);
}

static void
promoted(void)
{
	const struct message sync = sync_of(20, 0);
	const struct frame none = { 0 };
	const struct message push = { .kind = MESSAGE_PUSH, .request = 8 };

	primary_begin(p, &sync);
	acted = 20;
	checked(primary_copied(p) && primary_limit(p) == 20);
	fail(&f, FAIL_DATA, "not finite");
	primary_refuse(p, &push, &f);
	ok(says(PRIMARY, MESSAGE_REFUSED) && last_posted->m.request == 8 &&
	   strcmp(last_posted->text, "not finite") == 0);
	primary_promote(p, 23);
	acted = 30;
	checked(primary_promoted(p) && !primary_followed(p) &&
		primary_is(p, PRIMARY));
	equals(primary_limit(p), UINT64_MAX);
	primary_hold(p, 31);
	ok(silent());
	primary_hello(p, 3, 10, none);
	named(says(PRIMARY, MESSAGE_HELLO) &&
	      last_posted->m.hello.role == ROLE_SERVER &&
	      strcmp(last_posted->text, "node:2") == 0,
	      "HELLO of a promoted standby names its endpoint to its former "
	      "primary");
	ok(silent());
}

int
main(void)
{
	p = primary_new(&post, LIFE);
	followed();
	copied();
	greeted();
	promoted();
	primary_free(p);
	return tap_done();
}
