#include "server/server_inside.h"

#include <stdio.h>
#include <string.h>

/* Does it alter what a log or a standby must know of? */
bool
server_is_change(enum message_kind kind)
{
	switch (kind) {
	case MESSAGE_PLAN:
	case MESSAGE_MARK:
	case MESSAGE_VOID:
	case MESSAGE_COMMIT:
	case MESSAGE_FREEZE:
	case MESSAGE_THAW:
	case MESSAGE_LOAD:
	case MESSAGE_PUSH:
	case MESSAGE_PUSHPULL:
		return true;
	default:
		return false;
	}
}

/* ---- changes, durable or not yet ---- */

/* Must changes wait here before they are acted on? */
static bool
holds(const struct server *s)
{
	return s->logged != WIRE_NONE || s->standby.life ||
		primary_followed(&s->primary) || s->changes.first;
}

/* Act on what is durable. */
void
server_settle(struct server *s)
{
	struct change *c;
	struct fail f;

	for (;;) {
		uint64_t limit = standby_limit(&s->standby);

		if (limit > s->logged)
			limit = s->logged;
		if (primary_followed(&s->primary))
			limit = !primary_copied(&s->primary) ? 0 :
				s->primary.held;
		if (server_loading(s) ||
		    !(c = changes_take(&s->changes, limit)))
			return;
		s->acted = c->number;
		if (server_apply(s, c->peer, &c->message, &f) < 0)
			server_refuse(s, c->peer, &c->message, &f);
		hold_drop(&c->hold);
	}
}

/* The coordinator's, though our PLAN may wait for a standby that is lost. */
static uint64_t
newest_term(const struct server *s)
{
	return s->asked_term > s->plan.term ? s->asked_term : s->plan.term;
}

/* Which standby is in sync, and can be reached, and is it counted on? */
static void
say_standby(struct server *s)
{
	const struct standby *b = &s->standby;
	struct message m = { .kind = MESSAGE_STANDBY, .frames = 1 };

	m.standby.run = plan_run(&s->plan);
	m.standby.term = newest_term(s);
	m.standby.life = b->in_sync && b->peer ? b->life : 0;
	m.standby.counted = b->counted;
	m.frame[0] = (struct frame){ b->endpoint, strlen(b->endpoint), NULL };
	server_say(s, s->coordinator, &m);
}

/* Tell the coordinator of our standby, if it may know of it: or its loss. */
void
server_report_standby(struct server *s)
{
	if (s->standby.in_sync)
		say_standby(s);
}

uint64_t
server_standby(const struct server *s)
{
	return s->standby.counted ? s->standby.life : 0;
}

/* Of one that is in sync here and now we acknowledge that it is counted on. */
void
server_count_standby(struct server *s, const struct message *m)
{
	struct standby *b = &s->standby;

	if (m->standby.run != plan_run(&s->plan) ||
	    m->standby.term != newest_term(s))
		return;		/* of a time that is over */
	if (m->standby.life == b->life && b->in_sync && b->peer)
		b->counted = true;
	else if (m->standby.life == 0)
		server_drop_standby(s);
	say_standby(s);
	server_settle(s);
}

/* It cannot be reached.  If it is counted on, whether we may go on alone is
   not ours to say. */
static void
lose_standby(struct server *s)
{
	const bool told = s->standby.in_sync;

	s->standby.peer = 0;
	if (!s->standby.counted)
		standby_forget(&s->standby);
	if (told)
		say_standby(s);
	server_settle(s);
}

static void
pack_window(struct pack *to, const struct window *w, uint64_t mark)
{
	unsigned char bytes[WINDOW_BYTES];

	pack_blob(to, bytes, window_write(w, mark, bytes));
}

/* Which steps were applied, and how often each part was pushed to. */
static void
pack_windows(const struct server *s, struct pack *to)
{
	size_t parts = 0;

	for (size_t i = 0; i < s->plan.parts; i++)
		parts += s->plan.part[i].server == s->index;
	pack_array(to, 2 + 2 * parts);
	pack_uint(to, stage_step(s->stage));
	pack_window(to, &s->voided, s->mark);
	for (size_t i = 0; i < s->plan.parts; i++) {
		if (s->plan.part[i].server != s->index)
			continue;
		pack_uint(to, shard_version(s->shard, i));
		pack_window(to, &s->applied[i], s->mark);
	}
}

struct message
server_plan(const struct server *s, uint64_t step, struct pack *model,
	    struct pack *plan)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	plan_write_model(model, &s->source);
	plan_write(plan, &s->plan);
	m.plan.term = s->plan.term;
	m.plan.plan = s->plan.number;
	m.plan.seed = s->plan.seed;
	m.plan.server = s->index;
	m.plan.step = step;
	m.plan.journal = s->journal;
	m.blob = (struct frame){ s->plan.run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model->data, model->size, NULL };
	m.frame[1] = (struct frame){ plan->data, plan->size, NULL };
	return m;
}

/* Send what we have to one that wants to be our standby, if we can. */
void
server_begin_standby(struct server *s)
{
	struct pack model = { 0 }, plan = { 0 }, windows = { 0 };
	const struct standby who = s->waiting;
	struct message m;

	/* What is staged is not in the state: wait for the round's end. */
	if (!who.peer || s->standby.life || !s->shard || server_loading(s) ||
	    !stage_empty(s->stage))
		return;
	s->waiting = (struct standby){ 0 };
	m = server_plan(s, s->mark, &model, &plan);
	pack_windows(s, &windows);
	m.kind = MESSAGE_SYNC;
	m.sync.pushes = s->pushes;
	m.sync.number = s->acted;
	m.sync.journal = s->journal;
	m.sync.initial = s->initial;
	m.frame[m.frames++] = (struct frame){ windows.data, windows.size,
					      NULL };

	int status = standby_begin(&s->standby, &who, cut_new(s->shard), &m,
				   s->outbox);

	for (const struct change *c = s->changes.first; c && status == 0;
	     c = c->next)
		status = standby_forward(&s->standby, c, s->outbox);
	pack_release(&model);
	pack_release(&plan);
	pack_release(&windows);
	if (status < 0)
		lose_standby(s);
}

/* Something that alters our state: act on it as soon as it is durable. */
int
server_do(struct server *s, uint64_t peer, const struct message *m,
	  struct fail *f)
{
	const struct change *c;

	if (!holds(s))
		return server_apply(s, peer, m, f);
	c = changes_add(&s->changes, peer, m);
	if (standby_forward(&s->standby, c, s->outbox) < 0)
		lose_standby(s);
	server_settle(s);
	return 0;
}

void
server_drop_standby(struct server *s)
{
	const struct message over = { .kind = MESSAGE_REFUSED,
				      .refused.status = FAIL_AGAIN };

	server_say(s, s->standby.peer, &over);
	standby_forget(&s->standby);
}

/* The coordinator has said which standby it counts on: any other is none. */
void
server_keep_standby(struct server *s, uint64_t life)
{
	if (s->standby.life && s->standby.life != life) {
		server_drop_standby(s);
		server_settle(s);
	}
	if (s->standby.in_sync)
		s->standby.counted = true;
	server_report_standby(s);
}

/* It has the cut, and all that was done since: the coordinator may know. */
static void
catch_up(struct server *s)
{
	struct standby *b = &s->standby;

	if (b->in_sync || !standby_whole(b) || b->held < s->acted)
		return;
	b->in_sync = true;
	server_report_standby(s);
}

/*
 * Others wait for it, which says nothing, and nobody knows of it who could
 * have us go on.
 */
void
server_watch_standby(struct server *s, uint64_t now)
{
	struct standby *b = &s->standby;

	if (b->counted || s->acted == s->changes.last ||
	    s->acted < standby_limit(b)) {
		b->awaited_ms = 0;
	} else if (b->awaited_ms == 0) {
		b->awaited_ms = now;
	} else if (now - b->awaited_ms > s->lease_ms) {
		server_drop_standby(s);
		server_settle(s);
	}
}

void
server_hear_standby(struct server *s, uint64_t peer, const struct message *m)
{
	int status = 0;

	if (peer == s->waiting.peer && m->kind == MESSAGE_BYE)
		s->waiting = (struct standby){ 0 };
	if (peer != s->standby.peer)
		return;		/* of a time that is over */
	if (m->kind == MESSAGE_BYE)
		status = -1;
	if (m->kind == MESSAGE_HELD && m->held.number > s->standby.held)
		s->standby.held = m->held.number;
	if (m->kind == MESSAGE_OK)
		status = standby_answered(&s->standby, s->outbox);
	s->standby.awaited_ms = 0;
	catch_up(s);
	if (m->kind == MESSAGE_REFUSED) {	/* it is the coordinator's */
		s->waiting = (struct standby){ .life = s->standby.life,
					       .peer = peer };
		snprintf(s->waiting.endpoint, sizeof(s->waiting.endpoint),
			 "%s", s->standby.endpoint);
		status = -1;
	}
	if (status < 0)
		lose_standby(s);
	server_settle(s);
}

void
server_ping_standbys(struct server *s)
{
	const struct message ping = { .kind = MESSAGE_PING };

	if (s->waiting.peer &&
	    outbox_send(s->outbox, s->waiting.peer, &ping) < 0)
		s->waiting = (struct standby){ 0 };
	if (s->standby.peer &&
	    outbox_send(s->outbox, s->standby.peer, &ping) < 0)
		lose_standby(s);
}

void
server_left(struct server *s)
{
	server_ping_standbys(s);
}

/* Where a peer listens, in letters that can be shown; false: nowhere. */
static bool
read_endpoint(const struct message *m, char *endpoint, size_t room)
{
	const struct frame *at = &m->frame[0];
	const unsigned char *bytes = at->data;

	if (m->frames != 1 || at->size == 0 || at->size >= room)
		return false;
	for (size_t i = 0; i < at->size; i++)
		if (bytes[i] <= ' ' || bytes[i] == 127)
			return false;
	memcpy(endpoint, bytes, at->size);
	endpoint[at->size] = '\0';
	return true;
}

/* One that would be our standby, and says where it listens. */
int
server_hello_standby(struct server *s, uint64_t peer, const struct message *m,
		     struct fail *f)
{
	struct standby w = { .peer = peer, .life = m->hello.life };

	if (!read_endpoint(m, w.endpoint, sizeof(w.endpoint)) || w.life == 0)
		return fail(f, FAIL_PROTOCOL, "a standby that does not say "
			    "where it listens");
	if (s->standby.life == m->hello.life && s->standby.peer != peer)
		lose_standby(s);	/* it has reconnected */
	s->waiting = w;
	return 0;
}

/* Our standby has been promoted, and we do not know it yet. */
int
server_hello_server(struct server *s, const struct message *m, struct fail *f)
{
	char at[sizeof(s->standby.endpoint)];

	if (!read_endpoint(m, at, sizeof(at)) ||
	    (s->shard && (!server_same_run(s, &m->blob) ||
			  m->hello.index != s->index ||
			  m->hello.term <= s->plan.term)))
		return fail(f, FAIL_PROTOCOL, "not a role that a server "
			    "talks to");
	fail(&s->over, FAIL_AGAIN, "the standby %s took over in term %llu: "
	     "start this one again with --standby-of", at,
	     (unsigned long long)m->hello.term);
	*f = s->over;
	return -1;
}

/*
 * The coordinator has us take over from the server that we followed: what
 * came from there is acted on first.
 */
int
server_promote(struct server *s, const struct message *m, struct fail *f)
{
	struct frame run = { s->plan.run, PLAN_RUN, NULL };

	if (m->kind != MESSAGE_PLAN || !primary_copied(&s->primary) ||
	    !server_same_run(s, &m->blob) || m->plan.plan != s->plan.number ||
	    m->plan.term <= s->plan.term)
		return fail(f, FAIL_AGAIN, "a standby, which was not "
			    "promoted");
	s->primary.held = s->changes.last;
	server_settle(s);
	s->primary.promoted = true;
	primary_hello(&s->primary, s->life, s->index, m->plan.term, &run,
		     s->outbox);
	return 0;
}

/* ---- the server that we follow ---- */

static int
take_windows(struct server *s, const struct frame *frame, struct fail *f)
{
	struct unpack u = unpack_from(frame->data, frame->size);
	const void *bytes;
	size_t size;

	unpack_array(&u);
	stage_reset(s->stage, unpack_uint(&u));
	s->above = stage_step(s->stage);	/* rounds leave no windows */
	bytes = unpack_blob(&u, &size);
	window_read(&s->voided, s->mark, bytes, size);
	for (size_t i = 0; i < s->plan.parts; i++) {
		if (s->plan.part[i].server != s->index)
			continue;
		shard_set_version(s->shard, i, unpack_uint(&u));
		bytes = unpack_blob(&u, &size);
		window_read(&s->applied[i], s->mark, bytes, size);
		if (window_end(&s->applied[i], s->mark) > s->above)
			s->above = window_end(&s->applied[i], s->mark);
	}
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL,
					"malformed windows");
}

/* Begin to become what it is. */
static int
take_sync(struct server *s, const struct message *m, struct fail *f)
{
	struct primary *w = &s->primary;
	struct message plan = *m;
	int status;

	if (w->greeted && server_same_run(s, &m->blob) &&
	    m->sync.term <= s->plan.term)
		return fail(f, FAIL_AGAIN, "the coordinator counts on what "
			    "is here");
	w->synced = w->greeted = false;
	server_forget_run(s);
	changes_release(&s->changes);
	plan.plan.step = m->sync.step;
	status = server_take_plan(s, &plan, f);
	if (status == 0)
		status = take_windows(s, &m->frame[2], f);
	if (status != 0)
		return status;
	s->pushes = m->sync.pushes;
	s->journal = m->sync.journal;
	s->initial = m->sync.initial;
	s->changes.last = s->acted = w->held = m->sync.number;
	w->chunks = m->sync.chunks;
	w->synced = true;
	return 0;
}

static int
take_state(struct server *s, const struct message *m, struct fail *f)
{
	const struct shard_chunk chunk = {
		.piece = m->state.piece, .chunk = m->state.chunk,
		.updates = m->state.updates, .since = m->state.since,
		.begun = m->state.begun, .data = m->frame[0]
	};

	if (!s->primary.synced || s->primary.chunks == 0)
		return 0;	/* of a time that is over */
	if (shard_take_chunk(s->shard, &chunk, f) < 0)
		return -1;
	s->primary.chunks--;
	return 0;
}

static void
say_hello(struct server *s)
{
	const struct frame run = { s->plan.run, s->shard ? PLAN_RUN : 0,
				   NULL };

	primary_hello(&s->primary, s->life, s->index, s->plan.term, &run,
		     s->outbox);
}

int
server_hear_primary(struct server *s, const struct message *m, struct fail *f)
{
	const struct message ok = message_answer(m, MESSAGE_OK);
	const struct message bye = { .kind = MESSAGE_BYE };
	char text[MESSAGE_BLOB + 1];
	int status;

	switch (m->kind) {
	case MESSAGE_SYNC:
	case MESSAGE_STATE:
		status = m->kind == MESSAGE_SYNC ? take_sync(s, m, f) :
			take_state(s, m, f);
		if (status == 0)
			server_say(s, s->primary.peer, &ok);
		/* It would be sent all of it again, in vain. */
		if (status < 0 && f->kind != FAIL_AGAIN)
			s->over = *f;
		return status;
	case MESSAGE_STOP:	/* the run is over */
		s->stopping = true;
		server_say(s, s->primary.peer, &bye);
		return 0;
	case MESSAGE_REFUSED:
		if (m->request != PRIMARY_HELLO) {	/* it is over */
			/* By who had it, and knows what was promised. */
			if (m->refused.status == FAIL_AGAIN)
				s->primary.greeted = false;
			say_hello(s);
			return 0;
		}
		if (primary_copied(&s->primary))	/* by its successor */
			return 0;
		message_text(m, text, sizeof(text));
		fail(&s->over, message_status(m->refused.status),
		     "%s does not want a standby: %s", s->primary.at,
		     text);
		return 0;
	default:
		if (s->primary.synced && server_is_change(m->kind))
			changes_add(&s->changes, 0, m);
		return 0;
	}
}

int
server_follow(struct server *s, const char *primary, const char *endpoint,
	      struct fail *f)
{
	struct primary *w = &s->primary;

	snprintf(w->at, sizeof(w->at), "%s", primary);
	snprintf(w->endpoint, sizeof(w->endpoint), "%s", endpoint);
	return outbox_dial(s->outbox, primary, &w->peer, f);
}

void
server_up(struct server *s, uint64_t peer)
{
	if (s->primary.peer && peer == s->primary.peer)
		say_hello(s);
}

void
server_flush(struct server *s)
{
	if (!primary_followed(&s->primary))
		return;
	primary_hold(&s->primary, s->changes.last, s->outbox);
	server_settle(s);
}

/* ---- the log ---- */

void
server_log(struct server *s)
{
	s->logged = s->changes.last;
}

const struct change *
server_change(const struct server *s, uint64_t number)
{
	return changes_find(&s->changes, number);
}

void
server_durable(struct server *s, uint64_t number)
{
	s->logged = number;
	server_settle(s);
}

uint64_t
server_acted(const struct server *s)
{
	return s->acted;
}

int
server_begins(const struct server *s, const struct message *m)
{
	struct fail none;

	if (server_has_plan(s, m))
		return 0;
	return server_check_begin(s, m, &none) < 0 ? -1 : 1;
}

bool
server_ended(const struct server *s, uint64_t step)
{
	return s->shard && s->above <= step;
}

bool
server_unsaved(const struct server *s, uint64_t step, uint64_t *last,
	       char run[33])
{
	if (!s->shard || s->above <= step)
		return false;
	*last = s->above - 1;
	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(run + 2 * i, 3, "%02x", s->plan.run[i]);
	return true;
}

bool
server_run_over(const struct server *s)
{
	return s->run_over;
}

void
server_replay(struct server *s, const struct message *m)
{
	struct fail f;

	/* What is refused now was refused then. */
	if (server_is_change(m->kind))
		server_apply(s, 0, m, &f);
	s->busy = false;	/* any coordinator may have us */
}
