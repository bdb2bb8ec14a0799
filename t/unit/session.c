/* Which peers have connected to a server, in which role, and which run has
   it. */
#include "server/session.h"

#include "post.h"

#define LEASE	1000	/* ms */

static struct session *s;
static struct fail f;
static bool nobody_here;	/* except odd peers */
static size_t unread;

static int
send_some(void *to, uint64_t peer, const struct message *m)
{
	return nobody_here && peer % 2 == 0 ? -1 : post_send(to, peer, m);
}

static size_t
count_unread(void *to, uint64_t peer)
{
	(void)to;
	return peer == 7 ? unread : 0;
}

static void
begin(void)
{
	post.send = send_some;
	post.unread = count_unread;
	s = session_new(&post, LEASE);
	post_deaf = 0;
	post_clear();
}

static void
peers(void)
{
	const struct message pull = { .kind = MESSAGE_PULL, .request = 9 };

	begin();
	equals(session_sender(s, 5), SENDER_STRANGER);
	session_add(s, 5, ROLE_WORKER);
	session_add(s, 6, ROLE_EVALUATOR);
	session_add(s, 7, ROLE_STANDBY);
	session_add(s, 8, ROLE_COORDINATOR);
	ok(session_sender(s, 5) == SENDER_CLIENT &&
	   session_sender(s, 6) == SENDER_CLIENT &&
	   session_sender(s, 7) == SENDER_STANDBY);
	named_equals(session_sender(s, 8), SENDER_OUSTED,
		     "a coordinator that was not accepted has no rights");
	session_remove(s, 6);
	equals(session_sender(s, 6), SENDER_STRANGER);
	fail(&f, FAIL_AGAIN, "no plan yet");
	session_refuse(s, 5, &pull, &f);
	ok(says(5, MESSAGE_REFUSED) && last_posted->m.request == 9 &&
	   last_posted->m.refused.status == FAIL_AGAIN &&
	   strcmp(last_posted->text, "no plan yet") == 0);
	session_refuse(s, 0, &pull, &f);
	named(silent(), "a replayed request is answered to no peer");
	named(session_has(s, 7) && says(7, MESSAGE_PING) && silent(),
	      "a ping checks whether a peer is there");
	post_deaf = 7;
	named(!session_has(s, 7) && session_sender(s, 7) == SENDER_STRANGER,
	      "a peer that cannot be reached has left");
	named(!session_has(s, 99) && silent(),
	      "an unknown peer is sent no ping");
	unread = (size_t)256 << 20;
	equals(session_check_unread(s, 7, &f), 0);
	unread++;
	ok(session_check_unread(s, 7, &f) < 0 && f.kind == FAIL_PROTOCOL);
	equals(session_check_unread(s, 5, &f), 0);
	session_free(s);
}

static void
crowd(void)
{
	begin();
	for (uint64_t i = 1; i < 65536; i++)
		session_add(s, i, ROLE_WORKER);
	named(session_make_room(s, &f) == 0 && silent(),
	      "while there is room no peer is sent a ping");
	session_add(s, 65536, ROLE_WORKER);
	ok(session_make_room(s, &f) < 0 && f.kind == FAIL_AGAIN);
	nobody_here = true;
	named(session_make_room(s, &f) == 0 &&
	      session_sender(s, 2) == SENDER_STRANGER &&
	      session_sender(s, 3) == SENDER_CLIENT,
	      "peers that have left make room");
	nobody_here = false;
	session_free(s);
}

/* A coordinator connects, and gets WELCOME. */
static int
come(uint64_t peer, bool ours, uint64_t term, uint64_t now)
{
	const int status = session_greet(s, peer, ours, term, now, &f);

	if (status == 0)
		session_add(s, peer, ROLE_COORDINATOR);
	return status;
}

static void
coordinators(void)
{
	begin();
	ok(session_coordinator(s) == 0 && session_term(s) == 0);
	ok(come(5, false, 3, 100) == 0 && session_coordinator(s) == 5 &&
	   session_sender(s, 5) == SENDER_COORDINATOR);
	named_equals(session_term(s), 0,
		     "the term of another run does not count");
	session_end_run(s);
	named(!session_run_over(s),
	      "a run is not over before its coordinator has claimed the "
	      "server");
	session_claim(s, 3);
	equals(session_term(s), 3);
	ok(come(6, true, 2, 200) < 0 && f.kind == FAIL_AGAIN &&
	   session_coordinator(s) == 5);
	ok(come(6, true, 4, 200) == 0 && session_term(s) == 4);
	named(session_sender(s, 5) == SENDER_OUSTED &&
	      session_sender(s, 6) == SENDER_COORDINATOR,
	      "the coordinator that was accepted last has the rights");
	ok(session_check_term(s, 3, &f) < 0 &&
	   session_check_term(s, 4, &f) == 0);
	named(come(7, false, 1, 200 + LEASE) < 0 && f.kind == FAIL_AGAIN,
	      "a run whose coordinator was heard within a lease keeps its "
	      "server");
	session_received(s, 250);
	ok(come(7, false, 1, 250 + LEASE) < 0);
	named(come(7, false, 1, 251 + LEASE) == 0 &&
	      session_coordinator(s) == 7,
	      "a run whose coordinator was silent for longer loses its "
	      "server");
	session_end_run(s);
	named(!session_run_over(s),
	      "the end of another run does not end this one");
	session_release(s);
	equals(come(8, false, 1, 252 + LEASE), 0);
	session_free(s);
}

static void
ends(void)
{
	begin();
	come(5, true, 3, 100);
	session_claim(s, 3);
	session_leave(s, 2);
	named(!session_run_over(s),
	      "BYE of an older term does not end the run");
	session_claim(s, 3);
	session_leave(s, 3);
	named(session_run_over(s) && !session_has_run(s, 1000),
	      "a run whose coordinator has left is over");
	equals(come(6, false, 1, 101), 0);
	session_claim(s, 1);
	named(!session_run_over(s), "the next run is not over");
	session_end_run(s);
	ok(session_run_over(s));
	session_free(s);
}

static void
has_run(void)
{
	begin();
	come(5, true, 3, 1000);
	session_claim(s, 3);
	post_clear();
	ok(session_has_run(s, 1000) && says(5, MESSAGE_PING));
	named(session_has_run(s, 1249) && silent(),
	      "a coordinator is sent PING at most four times a second");
	ok(session_has_run(s, 1250) && says(5, MESSAGE_PING));
	ok(session_has_run(s, 1000 + LEASE) &&
	   !session_has_run(s, 1001 + LEASE));
	session_received(s, 1500);
	post_deaf = 5;
	ok(!session_has_run(s, 3000));
	session_free(s);
}

static void
idleness(void)
{
	begin();
	named(!session_look(s, 250, 1000), "a new server has no idle time");
	ok(!session_idle(s, 100) && !session_idle(s, 0));
	session_need(s);
	named(!session_look(s, 250, 1249) && session_look(s, 250, 1250),
	      "the server looks at the interval that it was given");
	ok(!session_look(s, 250, 1500) && session_idle(s, 250) &&
	   !session_idle(s, 251) && !session_idle(s, 0));
	session_look(s, 250, 61500);
	named(session_idle(s, 500) && !session_idle(s, 501),
	      "a pause of the server does not count as idle time");
	session_received(s, 61600);
	ok(session_look(s, 250, 61750) && !session_idle(s, 1));
	come(5, true, 3, 61750);
	session_claim(s, 3);
	session_leave(s, 3);
	session_look(s, 250, 62000);
	named(session_look(s, 250, 62250) && !session_idle(s, 1),
	      "a server whose run is over has no idle time");
	session_claim(s, 4);
	session_look(s, 250, 62500);
	ok(session_idle(s, 250));
	session_free(s);
	session_free(NULL);
}

int
main(void)
{
	peers();
	crowd();
	coordinators();
	ends();
	has_run();
	idleness();
	return tap_done();
}
