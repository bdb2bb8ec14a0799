/*
 *	CALLING --WELCOME--> GREETED --RESULTS--> ASKING --STOP--> OVER
 *	GREETED, ASKING --submission_down()--> CALLING
 *
 * A name that is reused must be known to have ended before this submission is
 * over: the next one of this name would otherwise take this one's requests and
 * results for its own.  So BYE is first sent with a number, and again on each
 * new connection, until the coordinator answers OK.
 *
 * If the last BYE is lost, the coordinator knows a name that has ended.  The
 * next submission has all its results, and is this one, started again; or it is
 * another one, and has the name forgotten.
 */
#include "client/submission.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/pause.h"

#include <stdlib.h>
#include <string.h>

#define MAX_UNACCEPTED	((size_t)1 << 20)	/* bytes of lines */
#define MANY		256		/* results not on disk that are worth
					   a sync, */
#define MANY_BYTES	((size_t)256 << 10)	/* or bytes of them */

struct submission {
	struct submission_options o;
	struct outbox *outbox;
	uint64_t peer;
	enum { CALLING, GREETED, ASKING, OVER } state;
	bool has_results;	/* the first RESULTS has come */
	bool ended;		/* the last line has been given */
	bool leaves;		/* all is done, and BYE was sent */
	bool asked_leave;	/* ... on this connection */
	bool left;		/* nobody waits for the answer any more */
	bool renewed;		/* BYE was sent for an earlier submission */
	bool unconfirmed;	/* ... as it did not come in time */
	uint64_t resumed;	/* see submission_resumed() */
	uint64_t since_ms;	/* when the wait for ASKING began */
	uint64_t heard_ms, asked_ms, ticked_ms;

	/* The lines that are not accepted yet.  The first of them is number
	   accepted + 1; the first `sent' bytes of them are sent. */
	struct text lines;
	size_t sent;
	uint64_t accepted, hash;	/* hash: of all lines accepted */
	uint64_t sent_number, sent_hash;	/* likewise, of those sent */
	uint64_t given;		/* the number of the last line given */
	uint64_t passed;	/* lines to skip: accepted on earlier starts */
	uint64_t passed_hash;	/* of those skipped until now */

	uint64_t room, pending, status;
	bool has_error;		/* a result says what failed */
	struct text out;
	uint64_t results;	/* that have come */
	size_t unsynced_bytes;	/* bytes of those that are not on disk */
	uint64_t synced, reported;	/* results on disk; and those of them
					   that the coordinator knows to be */
};

struct submission *
submission_new(const struct submission_options *o, struct outbox *outbox,
	       uint64_t now, struct fail *f)
{
	struct submission *s = mem_alloc(1, sizeof(*s));

	s->o = *o;
	s->outbox = outbox;
	s->since_ms = now;
	if (outbox_dial(outbox, o->coordinator, &s->peer, f) == 0)
		return s;
	free(s);
	return NULL;
}

void
submission_free(struct submission *s)
{
	if (!s)
		return;
	text_release(&s->lines);
	text_release(&s->out);
	free(s);
}

static void
send_message(struct submission *s, const struct message *m)
{
	outbox_send(s->outbox, s->peer, m);
}

void
submission_leave(struct submission *s)
{
	const struct message bye = { .kind = MESSAGE_BYE };

	if (s->state != CALLING)
		send_message(s, &bye);
}

static void
ask_leave(struct submission *s, uint64_t now)
{
	const struct message bye = { .kind = MESSAGE_BYE, .request = 2 };

	if (!s->leaves)
		s->since_ms = now;
	s->leaves = s->asked_leave = true;
	send_message(s, &bye);
}

/* ---- who is there ---- */

static void
call(struct submission *s)
{
	struct message m = message_hello(ROLE_SUBMITTER, s->o.wishes,
					 s->o.life, 0);

	m.request = 1;
	m.frames = 1;
	m.frame[0] = (struct frame){ s->o.name, strlen(s->o.name), NULL };
	s->state = CALLING;
	send_message(s, &m);
}

void
submission_up(struct submission *s, uint64_t now)
{
	s->asked_leave = s->renewed = false;
	if (!s->leaves)
		s->since_ms = now;
	s->heard_ms = now;
	call(s);
}

void
submission_down(struct submission *s, uint64_t now)
{
	if (s->state != OVER)
		s->state = CALLING;
	if (!s->leaves)
		s->since_ms = now;
}

static int
check_time(struct submission *s, uint64_t now, struct fail *f)
{
	const double seconds = (double)s->o.timeout_ms / 1000;

	if (s->leaves) {
		s->unconfirmed = s->unconfirmed ||
			(!s->left && now - s->since_ms >= s->o.timeout_ms);
		s->left = s->left || s->unconfirmed;
		return 0;
	}
	if (s->state == ASKING && now - s->heard_ms >= s->o.timeout_ms)
		return fail(f, FAIL_PEER, "coordinator %s hangs, last heard "
			    "%.1f s ago", s->o.coordinator,
			    (double)(now - s->heard_ms) / 1000);
	if (s->state < ASKING && now - s->since_ms >= s->o.timeout_ms)
		return fail(f, FAIL_PEER, "coordinator %s %s within %g s",
			    s->o.coordinator, s->has_results ?
			    "has not come back" : "does not answer", seconds);
	return 0;
}

/* ---- requests ---- */

bool
submission_has_room(const struct submission *s)
{
	return s->state == ASKING && !s->ended &&
		s->lines.size < MAX_UNACCEPTED &&
		(s->given < s->passed ||
		 s->sent_number < s->room);
}

int
submission_add_line(struct submission *s, const char *line, size_t size,
		    struct fail *f)
{
	if (s->given < s->passed) {
		s->passed_hash = hash_chain(s->passed_hash, line, size);
		if (++s->given == s->passed &&
		    s->passed_hash != s->hash && s->accepted == s->passed)
			return fail(f, FAIL_DATA, "the first %llu requests are "
				    "not those that %s sent before: put those "
				    "back, or take another name",
				    (unsigned long long)s->passed, s->o.name);
		return 0;
	}
	s->given++;
	text_add_bytes(&s->lines, line, size);
	text_add_bytes(&s->lines, "\n", 1);
	return 0;
}

void
submission_end_lines(struct submission *s)
{
	s->ended = true;
}

/* Send lines, as many as the coordinator has room for, and how many results are
   on disk. */
static void
submit(struct submission *s)
{
	struct message m = { .kind = MESSAGE_SUBMIT };
	const size_t size = s->lines.size - s->sent;
	const char *from = size > 0 ? s->lines.data + s->sent : "", *at = from;
	const char *end = from + size;

	m.submit.first = s->sent_number + 1;
	m.submit.hash = s->sent_hash;
	m.submit.received = s->reported = s->synced;
	while (at < end && s->sent_number < s->room) {
		const char *behind = memchr(at, '\n', (size_t)(end - at));

		s->sent_hash = hash_chain(s->sent_hash, at,
					  (size_t)(behind - at));
		s->sent_number++;
		at = behind + 1;
	}
	m.frames = at > from;
	m.frame[0] = (struct frame){ from, (size_t)(at - from), NULL };
	s->sent += (size_t)(at - from);
	send_message(s, &m);
}

/* Forget the lines up to this number, which the coordinator has accepted. */
static int
drop_accepted(struct submission *s, uint64_t number, struct fail *f)
{
	size_t size = 0;

	if (number < s->accepted || number > s->sent_number)
		return fail(f, FAIL_AGAIN, "coordinator %s knows %llu requests "
			    "of %s, not %llu: it has given up waiting for this "
			    "program, or was started anew without its journal",
			    s->o.coordinator, (unsigned long long)number,
			    s->o.name, (unsigned long long)s->accepted);
	for (; s->accepted < number; s->accepted++) {
		const char *at = s->lines.data + size;
		const size_t n = (size_t)((char *)memchr(at, '\n',
						s->lines.size - size) - at);

		s->hash = hash_chain(s->hash, at, n);
		size += n + 1;
	}
	if (size == 0)
		return 0;
	memmove(s->lines.data, s->lines.data + size, s->lines.size - size + 1);
	s->lines.size -= size;
	s->sent -= size;
	return 0;
}

/* Do the first RESULTS tell of an earlier submission of this name, which has
   ended with all its results? */
static bool
is_of_ended(const struct submission *s, const struct message *m)
{
	return !s->has_results && !s->renewed && m->frames == 0 &&
		m->results.pending == 0 &&
		m->results.room == m->results.accepted &&
		(m->results.accepted == 0 ||
		 s->o.received != m->results.first - 1);
}

/* Take the first RESULTS of a connection: what the coordinator has accepted of
   earlier starts, or until the connection was lost. */
static int
take_first_results(struct submission *s, const struct message *m,
		   struct fail *f)
{
	if (!s->has_results) {
		s->has_results = true;
		s->resumed = m->results.accepted;
		s->results = s->o.received == WIRE_NONE ?
			m->results.first - 1 : s->o.received;
		s->synced = s->results;
		s->reported = m->results.first - 1;
		if (s->resumed == 0 && s->results > s->reported)
			return fail(f, FAIL_DATA, "there are %llu results of "
				    "%s, but coordinator %s does not know this "
				    "name: a name that has ended starts again "
				    "with an empty file", (unsigned long long)
				    s->results, s->o.name, s->o.coordinator);
		if (s->reported > s->results)
			return fail(f, FAIL_DATA, "%s has had %llu results, "
				    "but the file has only %llu of them: put "
				    "the others back, or take another name",
				    s->o.name, (unsigned long long)s->reported,
				    (unsigned long long)s->results);
		s->accepted = s->sent_number = m->results.accepted;
		s->hash = m->results.hash;
		s->given = s->o.whole ? 0 : s->accepted;
		s->passed = s->o.whole ? s->accepted : 0;
	} else if (drop_accepted(s, m->results.accepted, f) < 0) {
		return -1;
	}
	s->state = ASKING;
	s->sent = 0;
	s->sent_number = s->accepted;
	s->sent_hash = m->results.hash;
	return 0;
}

/* ---- results ---- */

struct text *
submission_output(struct submission *s)
{
	return &s->out;
}

/* Does the coordinator take no more, as after an error or when the run ends? */
static bool
is_closed(const struct submission *s)
{
	return s->room == s->accepted && s->pending == 0;
}

/* Have all requests been accepted and answered, and all results written? */
static bool
is_done(const struct submission *s)
{
	const bool all = s->ended && s->lines.size == 0;

	return s->out.size == 0 &&
		(s->state == OVER || s->leaves ||
		 (s->state == ASKING && s->pending == 0 &&
		  (all || (is_closed(s) && s->has_results &&
			   s->given >= s->passed))));
}

bool
submission_needs_sync(const struct submission *s)
{
	return s->out.size == 0 && s->results > s->synced &&
		(s->results - s->synced >= MANY ||
		 s->unsynced_bytes >= MANY_BYTES || is_done(s));
}

void
submission_synced(struct submission *s)
{
	s->synced = s->results;
	s->unsynced_bytes = 0;
}

/* In a string of the result the quotes of the key would have backslashes before
   them. */
static void
add_result(struct submission *s, const char *line, size_t size)
{
	const size_t before = s->out.size;

	text_add_bytes(&s->out, line, size);
	s->unsynced_bytes += size;
	s->has_error |= strstr(s->out.data + before, ",\"error\":") != NULL;
}

static int
take_lines(struct submission *s, const struct message *m, struct fail *f)
{
	const char *at = m->frame[0].data, *end = at + m->frame[0].size;
	uint64_t number = m->results.first;

	if (number > s->results + 1)
		return fail(f, FAIL_PROTOCOL, "coordinator %s: results %llu "
			    "to %llu are missing", s->o.coordinator,
			    (unsigned long long)(s->results + 1),
			    (unsigned long long)(number - 1));
	for (; at < end; number++) {
		const char *behind = memchr(at, '\n', (size_t)(end - at));

		if (!behind)
			return fail(f, FAIL_PROTOCOL, "coordinator %s: a "
				    "result without a newline",
				    s->o.coordinator);
		if (number > s->results) {
			add_result(s, at, (size_t)(behind + 1 - at));
			s->results = number;
		}
		at = behind + 1;
	}
	return 0;
}

static int
take_results(struct submission *s, const struct message *m, struct fail *f)
{
	if (s->state == CALLING)
		return 0;	/* of an earlier connection */
	if (s->leaves) {
		s->state = ASKING;	/* the name may be new to it */
		return 0;
	}
	if (is_of_ended(s, m)) {
		s->renewed = true;
		submission_leave(s);
		call(s);
		return 0;
	}
	if ((s->state == GREETED ? take_first_results(s, m, f) :
	     drop_accepted(s, m->results.accepted, f)) < 0)
		return -1;
	if (s->hash != m->results.hash)
		return fail(f, FAIL_DATA, "coordinator %s has other requests "
			    "of %s than these: put those back, or take another "
			    "name", s->o.coordinator, s->o.name);
	s->room = m->results.room;
	s->pending = m->results.pending;
	s->status = m->results.status;
	return m->frames > 0 ? take_lines(s, m, f) : 0;
}

int
submission_receive(struct submission *s, const struct message *m, uint64_t now,
		   struct fail *f)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);
	char text[MESSAGE_BLOB + 1];

	s->heard_ms = now;
	switch (m->kind) {
	case MESSAGE_WELCOME:
		if (s->state == CALLING)
			s->state = GREETED;
		return 0;
	case MESSAGE_RESULTS:
		return take_results(s, m, f);
	case MESSAGE_PING:
		send_message(s, &pong);
		return 0;
	case MESSAGE_STOP:
		s->state = OVER;
		return 0;
	case MESSAGE_OK:
		s->left = s->leaves;
		return 0;
	case MESSAGE_REFUSED:
		if (s->leaves) {
			s->left = true;		/* the run is over, or another
						   one has the name */
			return 0;
		}
		/* Before WELCOME it may refuse what had overtaken HELLO. */
		if (s->state == CALLING && m->request == 0 && s->has_results)
			return 0;
		message_text(m, text, sizeof(text));
		return fail(f, message_status(m->refused.status),
			    "coordinator %s: %s", s->o.coordinator, text);
	default:
		return 0;
	}
}

int
submission_tick(struct submission *s, uint64_t now, struct fail *f)
{
	const struct message ping = { .kind = MESSAGE_PING };

	/* The coordinator's silence in a pause of this program does not
	   count. */
	pause_excuse(&s->ticked_ms, now, s->o.timeout_ms / 2, &s->heard_ms,
		     &s->since_ms);
	if (check_time(s, now, f) < 0)
		return -1;
	if (s->state != ASKING || s->asked_leave)
		return 0;
	/* That results are on disk is reported only when the skipped lines are
	   known to be this name's requests. */
	if (!s->leaves &&
	    ((s->sent < s->lines.size && s->sent_number < s->room) ||
	     (s->synced > s->reported && s->given >= s->passed)))
		submit(s);
	if (s->o.reused && is_done(s) && s->synced == s->results) {
		ask_leave(s, now);
		return 0;
	}
	if (now - s->asked_ms >= s->o.timeout_ms / 8) {
		s->asked_ms = now;
		send_message(s, &ping);
	}
	return 0;
}

/* ---- the end ---- */

bool
submission_over(const struct submission *s, int *status)
{
	*status = (int)s->status;
	return is_done(s) && s->synced == s->results &&
		(!s->o.reused || s->state == OVER || s->left);
}

bool
submission_is_confirmed(const struct submission *s)
{
	return !s->unconfirmed;
}

int
submission_check(const struct submission *s, struct fail *f)
{
	if (s->status == 0 || s->status == FAIL_AGAIN || s->has_error)
		return 0;
	return fail(f, message_status(s->status), "the run has failed, with "
		    "status %d: pending requests were cancelled; the messages "
		    "of its ps-coord have the reason",
		    (int)message_status(s->status));
}

uint64_t
submission_accepted(const struct submission *s)
{
	return s->accepted;
}

uint64_t
submission_unaccepted(const struct submission *s)
{
	return s->given > s->accepted ? s->given - s->accepted : 0;
}

uint64_t
submission_resumed(struct submission *s)
{
	const uint64_t requests = s->resumed;

	s->resumed = 0;
	return requests;
}

uint64_t
submission_pending(const struct submission *s)
{
	return s->pending;
}
