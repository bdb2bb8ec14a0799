/*
 * The coordinator's submitters: their requests are taken, have their turns, and
 * are answered.  Steps, evaluations, epochs and checkpoints go into the run's
 * queue.  A request about its submitter alone (join, a bad line) is done when
 * all that the submitter asked before has ended, and waits for no other one.
 */
#include "coord/coord_submit.h"

#include "base/mem.h"
#include "coord/coord_background.h"
#include "coord/coord_cancel.h"
#include "coord/coord_data.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "coord/coord_rerun.h"
#include "coord/coord_status.h"
#include "coord/scheduler.h"
#include "coord/submitters.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FRAME	((size_t)1 << 20)	/* bytes of results at once */
#define MAX_REQUESTS	((size_t)32 << 20)	/* bytes of requests at once */
#define MOST_AHEAD	64	/* steps in the queue for the time until the
				   next turn is safe on disk, at most */

struct submit {
	bool warned_of_rates;	/* warn_of_rate() has warned */
	bool warned_of_slip;	/* warn_of_slip() has warned */
	bool ended;		/* submitters were sent STOP */
	uint64_t steps;		/* that have ended since the last turn */
	uint64_t usual;		/* the usual number: measure_pace() */
	/* Submitters that have ended and wait for the answer to their BYE,
	   which is sent when the journal has it. */
	struct leaver {
		uint64_t peer, request;
	} *leaver;
	size_t leavers, leaver_room;
	struct text unanswered;	/* lines: see submit_at_once() */
};

void
submit_init(struct coord *c)
{
	c->submit = mem_alloc(1, sizeof(*c->submit));
	c->submitters = submitters_new(c->o.queue, c->o.keep_going);
	if (c->o.queue && c->o.journal)
		submitters_keep(c->submitters);
}

void
submit_release(struct coord *c)
{
	submitters_free(c->submitters);
	free(c->submit->leaver);
	text_release(&c->submit->unanswered);
	free(c->submit);
}

/* ---- lines ---- */

/* Do optimizers that are not frozen begin with different learning rates? */
static bool
rates_differ(const struct model *model)
{
	size_t count;
	const struct variable *v = model_variables(model, &count);
	const struct schedule *first = NULL;
	bool differ = false;

	for (size_t i = 0; i < count; i++) {
		const struct optimizer *o = v[i].optimizer;

		if (!o || o->frozen || v[i].averaged || v[i].unused)
			continue;
		if (!first)
			first = &o->schedule;
		differ = differ || schedule_at(&o->schedule, 0) <
			schedule_at(first, 0) || schedule_at(first, 0) <
			schedule_at(&o->schedule, 0);
	}
	return differ;
}

/* Warn, once, of a learning rate for all of several optimizers: a rate that
   suits one seldom suits the others. */
static void
warn_of_rate(struct coord *c, const struct request *r, uint64_t number)
{
	if (c->submit->warned_of_rates || !(r->learning_rate > 0) ||
	    !rates_differ(c->model))
		return;
	c->submit->warned_of_rates = true;
	report_warning(c, "request %llu: learning_rate=%g is now the rate of "
		       "all optimizers, though the model gives them different "
		       "rates; learning_rate_scale= multiplies each",
		       (unsigned long long)number, (double)r->learning_rate);
}

/* Warn, once, of an id that looks like a request with a slip in it: the step
   that it asks for would else be all that tells. */
static void
warn_of_slip(struct coord *c, const struct request *r, uint64_t number)
{
	if (c->submit->warned_of_slip || !r->slip)
		return;
	c->submit->warned_of_slip = true;
	report_warning(c, "request %llu: %.100s is no request, so it is the id "
		       "of a step; did you mean %s?",
		       (unsigned long long)number, r->id, r->slip);
}

/* -1: the request names a step line that the model lacks. */
static int
check_call(const struct coord *c, const struct request *r, struct fail *f)
{
	const char *where, *name = model_step(c->model, 0, &where);
	const char *other, *at;
	size_t i;

	if (!r->call)
		return 0;
	if (!name)
		return fail(f, FAIL_DATA, "\"%s\": the model has no step line",
			    r->call->step ? "step" : "args");
	if (model_find_step(c->model, r->call->step, &i))
		return 0;
	other = model_step(c->model, 1, &at);
	return !other ?
		fail(f, FAIL_DATA, "\"step\" is '%.100s', but the model's only "
		     "step line is %s, at %s", r->call->step, name, where) :
		fail(f, FAIL_DATA, "\"step\" is '%.100s', but the model has no "
		     "such step line; it has, for example, %s, at %s, and %s, "
		     "at %s", r->call->step,
		     name, where, other, at);
}

/* -1: cancel without --queue.  Requests are then in the queue as soon as they
   are read. */
static int
can_take(const struct coord *c, const struct request *r, struct fail *f)
{
	if (r->op == REQUEST_CANCEL && !submitters_open(c->submitters))
		return fail(f, FAIL_DATA, "cancel: requests can be cancelled "
			    "only with ps-coord --queue");
	return 0;
}

void
submit_read(struct coord *c, struct request *out, const char *line,
	     size_t size, uint64_t number)
{
	struct request r;
	struct fail why;

	if (request_read(&r, line, size, &why) < 0 ||
	    check_call(c, &r, &why) < 0 || data_can(c, &r, &why) < 0 ||
	    can_take(c, &r, &why) < 0) {
		/* The bad request waits for its turn: earlier ones are done. */
		fail_at(&why, "request %llu", (unsigned long long)number);
		request_release(&r);
		r.op = REQUEST_BAD;
		r.why = mem_text(why.text);
	}
	warn_of_rate(c, &r, number);
	warn_of_slip(c, &r, number);
	*out = r;
}

static void
notify_given_up(void *coord, const struct request *r, uint64_t steps)
{
	if (r->op == REQUEST_TRAIN || (r->op == REQUEST_EPOCH && steps > 0))
		report_cancelled(coord, r, steps);
	else if (r->op != REQUEST_NONE)
		report_passed_over(coord, r);
}

/* Answer status at once: it is not a barrier, as it asks for the present
   state. */
static void
report_status(struct coord *c, const struct request *r)
{
	const struct submitters *s = c->submitters;
	const bool open = submitters_open(s);

	if (c->o.results == RESULTS_NONE || journal_replays(c))
		return;
	text_add(report_begin_line(c, r, "status"),
		 ",\"step\":%llu,\"steps\":%llu,\"requests\":%zu,"
		 "\"pending\":%zu,\"workers\":%zu}\n",
		 (unsigned long long)queue_watermark(c->queue),
		 (unsigned long long)report_steps(c),
		 open ? submitters_pending(s, r->owner) :
		 queue_requests(c->queue),
		 open ? submitters_all_pending(s) : queue_requests(c->queue),
		 workers_present(c));
}

static void
cancel_id(struct coord *c, const struct request *r)
{
	const size_t waiting = submitters_cancel_id(c->submitters, r->owner,
						    r->target,
						    notify_given_up, c);
	const size_t count = waiting +
		background_cancel(c, r->owner, r->target, notify_given_up);

	report_given_up(c);
	report_cancel(c, r, count);
}

/* Take a request that was read; bytes: of its line. */
static void
take_request(struct coord *c, size_t owner, struct request *r, size_t bytes)
{
	r->owner = owner;
	if (r->op == REQUEST_STATUS)
		report_status(c, r);
	else if (r->op == REQUEST_CANCEL)
		cancel_id(c, r);
	else if (r->op != REQUEST_NONE) {
		if (r->op == REQUEST_STOP)
			submitters_close(c->submitters, owner);
		submitters_put(c->submitters, owner, r, bytes);
	}
	request_release(r);
}

/* Note a line in the journal, so that it can be read again after a restart. */
static void
note_line(struct coord *c, enum journal_note what, size_t i, uint64_t number,
	  const char *line, size_t size)
{
	struct pack more = { 0 };

	pack_blob(&more, line, size);
	journal_submitter(c, what, i, number, &more);
	pack_release(&more);
}

void
submit_own(struct coord *c, const char *line, size_t size, uint64_t number)
{
	struct request r;

	if (submitters_open(c->submitters)) {
		journal_count_line(c, line, size, number);
		note_line(c, NOTE_ASKED, SUBMITTER_OWN, number, line, size);
	}
	submitters_accept(c->submitters, SUBMITTER_OWN, line, size);
	submit_read(c, &r, line, size, number);
	take_request(c, SUBMITTER_OWN, &r, size);
}

/*
 * The answer of a coordinator before this one may not have been written: all
 * were whose lines stand before an ENDS.
 */
void
submit_at_once(struct coord *c, const char *line, size_t size, uint64_t number)
{
	struct text *unanswered = &c->submit->unanswered;

	if (journal_replays(c)) {
		text_add_bytes(unanswered, line, size);
		text_add_bytes(unanswered, "\n", 1);
		return;
	}
	submit_own(c, line, size, number);
	journal_answered(c);
}

void
submit_answered(struct coord *c)
{
	text_reset(&c->submit->unanswered);
}

static void
answer_again(struct coord *c)
{
	struct text lines = c->submit->unanswered;
	char *line = lines.data, *end;

	c->submit->unanswered = (struct text){ 0 };
	for (; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		submit_at_once(c, line, (size_t)(end - line), 0);
	}
	text_release(&lines);
}

bool
submit_wants(const struct coord *c)
{
	const struct submitters *s = c->submitters;

	return !submitters_open(s) ||
		(submitters_room(s, SUBMITTER_OWN) >
		 submitters_accepted(s, SUBMITTER_OWN) &&
		 submitters_bytes(s, SUBMITTER_OWN) < COORD_OUTPUT);
}

/* ---- turns ---- */

/*
 * How many steps are to wait in the queue: as many as workers can have at once.
 * With more, a request that comes later, of a higher priority, would have to
 * wait for them.  With a journal also the steps that workers do until the next
 * turn is safe on disk.
 */
static uint64_t
steps_ahead(const struct coord *c)
{
	const uint64_t each = c->o.in_flight * c->o.pack;
	const uint64_t workers = c->scheduler->rounds(c) ? 1 :
		workers_ready(c);

	return (workers > 0 ? workers * each : 1) +
		(c->o.journal ? 2 * c->submit->usual : 0);
}

static void
end_bad(struct coord *c, const struct request *r)
{
	const struct request asked = { .owner = r->owner };
	struct fail why;

	fail(&why, FAIL_DATA, "%.500s", r->why);
	report_error(c, &asked, request_name(r->op), WIRE_NONE, NULL,
		     why.text);
	ending_error(c, &asked, &why);
}

static void
end_join(struct coord *c, const struct request *r)
{
	status_keep_scores(c);
	report_join(c, r, submitters_owed(c->submitters, r->owner),
		    c->now_ms);
	submitters_paid(c->submitters, r->owner);
}

static void
stop_submitters(struct coord *c)
{
	c->told_to_stop = true;
	submitters_close_all(c->submitters);
	ending_last_request(c);
}

/* Another submitter has stopped the run: warn that own requests are not done,
   as the exit status does not show it. */
static void
warn_of_unread(struct coord *c, const struct request *r)
{
	if (r->owner != SUBMITTER_OWN && !journal_replays(c) &&
	    !submitters_closed(c->submitters, SUBMITTER_OWN))
		report_warning(c, "submitter %s has stopped the run: requests "
			       "that ps-coord has not read yet will not be "
			       "done",
			       submitters_name(c->submitters, r->owner));
}

static void
note_turn(struct coord *c, const struct turn *t)
{
	struct pack more = { 0 };

	pack_uint(&more, t->steps);
	journal_submitter(c, NOTE_TURN, t->request->owner, t->request->number,
			  &more);
	pack_release(&more);
}

static void
begin_turn(struct coord *c, const struct turn *t)
{
	const struct request *r = t->request;

	switch (r->op) {
	case REQUEST_JOIN:
		end_join(c, r);
		break;
	case REQUEST_BAD:
		end_bad(c, r);
		break;
	case REQUEST_STOP:
		warn_of_unread(c, r);
		stop_submitters(c);
		break;
	default:
		queue_put_part(c->queue, r, t->steps);
		return;
	}
	submitters_ended(c->submitters, r->owner, r->number, 0, 0);
}

/* Give up requests of a submitter, all or up to its next barrier.  The number
   at which that ends is noted: when the journal is read, that barrier may be
   missing from a fold, which lacks requests that are under way. */
static void
cancel(struct coord *c, size_t i, bool all)
{
	const uint64_t end = all ? UINT64_MAX :
		submitters_cancel_end(c->submitters, i);

	journal_submitter(c, NOTE_CANCELLED, i, end, NULL);
	submitters_cancel(c->submitters, i, end, notify_given_up, c);
}

/* The run ends before what is pending has begun. */
static void
give_up_all(struct coord *c)
{
	struct submitters *s = c->submitters;
	struct fail why = *ending_failure(c);

	if (ending_status(c) == 0)
		fail(&why, FAIL_AGAIN, "the run has ended");
	for (size_t i = 0; i < submitters_count(s); i++) {
		if (!submitters_used(s, i))
			continue;
		if (submitters_pending(s, i) > 0 && i != SUBMITTER_OWN)
			submitters_note(s, i, &why);
		cancel(c, i, true);
	}
}

static void
take_ended(struct coord *c)
{
	struct part_ended e;

	while (queue_ended(c->queue, &e)) {
		submitters_ended(c->submitters, e.owner, e.number, e.steps,
				 e.undone);
		c->submit->steps += e.steps;
	}
}

/* A run that is only left (another coordinator resumes it) has not ended: its
   requests are not given up. */
void
submit_settle(struct coord *c)
{
	size_t who;
	bool all;

	take_ended(c);
	if (ending_is_left(c))
		return;
	while ((who = submitters_failed(c->submitters, &all)) !=
	       SUBMITTER_NONE)
		cancel(c, who, all);
	if (c->phase == PHASE_END ||
	    (ending_state(c) == ENDING_DRAIN && queue_idle(c->queue)))
		give_up_all(c);
	report_given_up(c);
}

/* The usual number of steps between turns rises at once and falls by half. */
static void
measure_pace(struct coord *c)
{
	struct submit *s = c->submit;

	s->usual = s->steps > s->usual / 2 ? s->steps : s->usual / 2;
	if (s->usual > MOST_AHEAD / 2)
		s->usual = MOST_AHEAD / 2;
	s->steps = 0;
}

bool
submit_can_commit(const struct coord *c, uint64_t now)
{
	return journal_can_open(c, now) || queue_unnumbered(c->queue) == 0;
}

bool
submit_turns(struct coord *c)
{
	uint64_t ahead;
	struct turn t;
	bool any = false;

	if (!submitters_open(c->submitters) || !journal_is_open(c))
		return false;
	submit_settle(c);
	ahead = steps_ahead(c);
	while (!cancel_under_way(c) && !ending_begun(c) && rerun_idle(c) &&
	       queue_unnumbered(c->queue) < ahead &&
	       submitters_turn(c->submitters, c->o.pack, c->o.samplers != NULL,
			       &t)) {
		note_turn(c, &t);
		begin_turn(c, &t);
		submit_settle(c);
		any = true;
	}
	if (any)
		measure_pace(c);
	return any;
}

/* ---- who is there ---- */

bool
submit_is_for(const struct coord *c, uint64_t peer, const struct message *m)
{
	return submitters_at(c->submitters, peer) != SUBMITTER_NONE ||
		m->kind == MESSAGE_SUBMIT ||
		(m->kind == MESSAGE_HELLO && !m->foreign &&
		 m->hello.version == WIRE_VERSION &&
		 m->hello.role == ROLE_SUBMITTER);
}

/* Refuse the submitter that had this name before, so that it does not connect
   again and take the name back. */
static void
send_away(struct coord *c, const char *name, uint64_t peer)
{
	struct message none = { 0 }, m;
	struct fail why;

	fail(&why, FAIL_AGAIN, "another submitter has the name %s now",
	     name);
	m = message_refuse(&none, why.kind, why.text);
	outbox_send(c->outbox, peer, &m);
}

static int
hello(struct coord *c, uint64_t peer, const struct message *m,
      struct fail *f)
{
	struct submitters *s = c->submitters;
	const size_t was = submitters_at(s, peer);
	uint64_t before;
	size_t i;

	if (!submitters_open(s))
		return fail(f, FAIL_CONFIG, "it takes no requests from "
			    "submitters: start it with ps-coord --queue");
	if (m->frames != 1)
		return fail(f, FAIL_PROTOCOL, "a submitter without a name");
	/* A submitter that returns still gets its results. */
	if ((c->phase == PHASE_END || c->told_to_stop) &&
	    !submitters_knows(s, m->frame[0].data, m->frame[0].size))
		return fail(f, FAIL_AGAIN, c->phase == PHASE_END ?
			    "the run has ended" :
			    "the run was told to stop");
	c->submit->ended = false;
	if (was != SUBMITTER_NONE)
		submitters_away(s, was, c->now_ms);
	i = submitters_call(s, m->frame[0].data, m->frame[0].size, peer,
			    m->hello.index, &before, f);
	if (i == SUBMITTER_NONE)
		return -1;
	note_line(c, NOTE_CALLED, i, 0, submitters_name(s, i),
		  m->frame[0].size);
	if (before != SUBMITTER_AWAY)
		send_away(c, submitters_name(s, i), before);
	if (submitters_accepted(s, i) == 0)
		report_new_owner(c, i, c->now_ms);
	members_welcome(c, peer, WIRE_NONE, m);
	return 0;
}

/* Take a line of a submitter; late: it is closed, and the request is
   refused. */
static void
take_line(struct coord *c, size_t i, const char *bytes, size_t size, bool late)
{
	char *line = mem_text_n(bytes, size);
	struct request r;
	struct fail why;
	uint64_t number;

	submitters_accept(c->submitters, i, bytes, size);
	number = submitters_accepted(c->submitters, i);
	note_line(c, late ? NOTE_LATE : NOTE_ASKED, i, number, bytes, size);
	submit_read(c, &r, line, size, number);
	r.owner = i;
	if (!late) {
		take_request(c, i, &r, size);
	} else if (r.op != REQUEST_NONE) {
		fail(&why, FAIL_AGAIN, "no more requests are accepted");
		submitters_note(c->submitters, i, &why);
		notify_given_up(c, &r, r.steps);
	}
	request_release(&r);
	free(line);
}

/* Lines, each with its newline, that follow what was accepted. */
static int
take_lines(struct coord *c, size_t i, const struct frame *lines,
	   struct fail *f)
{
	struct submitters *s = c->submitters;
	const char *at = lines->data, *end = at + lines->size, *behind;

	if (lines->size > 0 && end[-1] != '\n')
		return fail(f, FAIL_PROTOCOL, "a request without a newline");
	/* The lines must fit into one record of the journal. */
	if (lines->size > MAX_REQUESTS)
		return fail(f, FAIL_PROTOCOL, "requests of %zu bytes at once, "
			    "more than %zu", lines->size, MAX_REQUESTS);
	for (; at < end; at = behind + 1) {
		behind = memchr(at, '\n', (size_t)(end - at));
		if (submitters_accepted(s, i) >= submitters_room(s, i) &&
		    submitters_pending(s, i) >= SUBMITTER_PENDING)
			return fail(f, FAIL_PROTOCOL, "more requests than "
				    "there is room for");
		take_line(c, i, at, (size_t)(behind - at),
			  submitters_closed(s, i));
	}
	report_given_up(c);
	return 0;
}

static int
take_submit(struct coord *c, size_t i, const struct message *m,
	    struct fail *f)
{
	struct submitters *s = c->submitters;

	if (submitters_received(s, i, m->submit.received, f) < 0)
		return -1;
	if (m->frames == 0)
		return 0;
	if (m->submit.first != submitters_accepted(s, i) + 1 ||
	    m->submit.hash != submitters_hash(s, i))
		return fail(f, FAIL_DATA, "its requests up to number %llu are "
			    "not those that it sent before",
			    (unsigned long long)(m->submit.first - 1));
	return take_lines(c, i, &m->frame[0], f);
}

static void
forget_submitter(struct coord *c, size_t i)
{
	journal_submitter(c, NOTE_FORGOTTEN, i, 0, NULL);
	submitters_forget(c->submitters, i);
	submit_settle(c);
}

/* Forget a submitter.  One that gives its BYE a number has ended: it says BYE
   again when it knows that a coordinator that is started again takes no more
   requests of it. */
static void
take_leave(struct coord *c, size_t i, uint64_t peer, const struct message *m)
{
	struct submit *s = c->submit;

	if (m->request == 0) {
		forget_submitter(c, i);
		return;
	}
	submitters_close(c->submitters, i);
	s->leaver = mem_grow(s->leaver, s->leavers + 1, &s->leaver_room,
			     sizeof(*s->leaver));
	s->leaver[s->leavers++] = (struct leaver){ peer, m->request };
}

static int
receive_submitter(struct coord *c, size_t i, uint64_t peer,
		  const struct message *m, struct fail *f)
{
	const struct message pong = message_answer(m, MESSAGE_PONG);

	switch (m->kind) {
	case MESSAGE_SUBMIT:
		return take_submit(c, i, m, f);
	case MESSAGE_BYE:
		take_leave(c, i, peer, m);
		return 0;
	case MESSAGE_PING:
		outbox_send(c->outbox, peer, &pong);
		return 0;
	case MESSAGE_PONG:
		return 0;
	default:
		return fail(f, FAIL_PROTOCOL, "a submitter may not send %s",
			    message_name(m->kind));
	}
}

/* A submitter whose message is in error is refused and counts as away. */
void
submit_receive(struct coord *c, uint64_t peer, const struct message *m,
	       uint64_t now)
{
	const size_t i = submitters_at(c->submitters, peer);
	struct message out;
	struct fail f;
	int status;

	c->now_ms = now;
	if (ending_is_left(c))
		return;		/* it will connect to the coordinator that
				   resumes the run */
	if (i != SUBMITTER_NONE)
		submitters_heard(c->submitters, i);
	if (m->kind == MESSAGE_HELLO)
		status = message_check_hello(m, &f) < 0 ? -1 :
			hello(c, peer, m, &f);
	else if (i != SUBMITTER_NONE)
		status = receive_submitter(c, i, peer, m, &f);
	else
		status = fail(&f, FAIL_PROTOCOL, "say HELLO first");
	if (status == 0)
		return;
	out = message_refuse(m, f.kind, f.text);
	outbox_send(c->outbox, peer, &out);
	if (i != SUBMITTER_NONE)
		submitters_away(c->submitters, i, now);
}

/* The connection of a stopped program stays open while it is full, since libzmq
   can send nothing on it.  The submitter counts as away when the connection has
   ended: the requests that it had sent before are taken. */
static void
hang_up_on_silent(struct coord *c, uint64_t now)
{
	struct submitters *s = c->submitters;
	size_t i;

	while ((i = submitters_silent(s, now, c->o.lease_ms)) !=
	       SUBMITTER_NONE) {
		report_peer(c, "submitter %s hangs: it has not answered for "
			    "%g s", submitters_name(s, i),
			    (double)c->o.lease_ms / 1000);
		outbox_hang_up(c->outbox, submitters_peer(s, i));
	}
}

void
submit_probe(struct coord *c, uint64_t now)
{
	const struct message ping = { .kind = MESSAGE_PING };
	struct submitters *s = c->submitters;
	size_t gone;

	if (!submitters_open(s))
		return;
	for (size_t i = 1; i < submitters_count(s); i++) {
		if (submitters_peer(s, i) == SUBMITTER_AWAY)
			continue;
		if (outbox_reaches(c->outbox, submitters_peer(s, i), &ping))
			submitters_asked(s, i, now);
		else
			submitters_away(s, i, now);
	}
	hang_up_on_silent(c, now);
	while ((gone = submitters_gone(s, now, c->o.lease_ms,
				       c->o.forget_ms)) != SUBMITTER_NONE)
		forget_submitter(c, gone);
}

/* ---- results ---- */

/* How many of these bytes to send: whole lines, up to MAX_FRAME, but at least
   one line. */
static size_t
whole_lines(const char *bytes, size_t size)
{
	size_t end = size;

	if (size <= MAX_FRAME)
		return size;
	for (end = MAX_FRAME; end > 0 && bytes[end - 1] != '\n'; end--)
		;
	return end > 0 ? end : (size_t)((char *)memchr(bytes, '\n', size) -
					bytes) + 1;
}

static void
send_results(struct coord *c, size_t i)
{
	struct submitters *s = c->submitters;
	struct message m = { .kind = MESSAGE_RESULTS };
	size_t size;
	const char *lines = submitters_unsent(s, i, &size, &m.results.first);

	size = lines ? whole_lines(lines, size) : 0;
	m.results.accepted = submitters_accepted(s, i);
	m.results.hash = submitters_hash(s, i);
	m.results.room = submitters_room(s, i);
	m.results.pending = submitters_pending(s, i);
	m.results.status = (uint64_t)submitters_failure(s, i)->kind;
	m.frames = size > 0;
	m.frame[0] = (struct frame){ lines, size, NULL };
	outbox_send(c->outbox, submitters_peer(s, i), &m);
	submitters_sent(s, i, size);
}

static void
answer_leavers(struct coord *c)
{
	struct submit *s = c->submit;
	struct message ok = { .kind = MESSAGE_OK };

	for (size_t i = 0; i < s->leavers; i++) {
		ok.request = s->leaver[i].request;
		outbox_send(c->outbox, s->leaver[i].peer, &ok);
	}
	s->leavers = 0;
}

void
submit_notify(struct coord *c)
{
	const struct message over = { .kind = MESSAGE_STOP };
	struct submitters *s = c->submitters;

	answer_leavers(c);
	for (size_t i = 1; i < submitters_count(s); i++)
		while (submitters_peer(s, i) != SUBMITTER_AWAY &&
		       submitters_news(s, i))
			send_results(c, i);
	if (c->phase != PHASE_END || c->submit->ended || ending_is_left(c))
		return;
	c->submit->ended = true;
	for (size_t i = 1; i < submitters_count(s); i++)
		if (submitters_peer(s, i) != SUBMITTER_AWAY)
			outbox_send(c->outbox, submitters_peer(s, i), &over);
}

bool
submit_notified(const struct coord *c)
{
	return !submitters_open(c->submitters) || c->submit->ended ||
		journal_lost(c);
}

bool
submit_have_all(const struct coord *c)
{
	const struct submitters *s = c->submitters;

	for (size_t i = 1; i < submitters_count(s); i++)
		if (submitters_peer(s, i) != SUBMITTER_AWAY)
			return false;
	return true;
}

/* ---- in the journal ---- */

bool
submit_is_awaited(const struct coord *c, uint64_t now)
{
	bool changed;
	const bool lines = submitters_unkept(c->submitters, &changed);

	return submitters_open(c->submitters) &&
		journal_is_awaited(c, lines || c->submit->leavers > 0, changed,
				   now);
}

void
submit_kept(struct coord *c)
{
	submitters_kept(c->submitters);
}

uint64_t
submit_printed(const struct coord *c)
{
	return submitters_printed(c->submitters);
}

/* Is a submitter written in ENDS?  Not if it is leaving: all that is left of it
   is under way. */
static bool
is_written(const struct coord *c, size_t i, bool whole)
{
	return submitters_used(c->submitters, i) &&
		!submitters_leaving(c->submitters, i) &&
		(whole || submitters_changed(c->submitters, i));
}

void
submit_write(struct coord *c, bool whole, struct pack *out, uint64_t now)
{
	const struct submitters *s = c->submitters;
	const struct coord_progress progress = journal_progress(c);
	uint64_t count = 0;

	if (!submitters_open(s))
		return;
	pack_uint(out, progress.line);
	pack_uint(out, progress.lines_hash);
	pack_uint(out, c->told_to_stop);
	submitters_write_turns(s, out);
	for (size_t i = 0; i < submitters_count(s); i++)
		count += is_written(c, i, whole);
	pack_uint(out, count);
	for (size_t i = 0; i < submitters_count(s); i++) {
		if (!is_written(c, i, whole))
			continue;
		pack_uint(out, i);
		submitters_write(s, i, whole, out);
		report_write_owner(c, i, out, now);
	}
}

int
submit_replay(struct coord *c, struct unpack *in)
{
	struct submitters *s = c->submitters;
	uint64_t line;

	if (!submitters_open(s))
		return 0;
	line = unpack_uint(in);
	journal_last_line(c, line, unpack_uint(in));
	if (unpack_uint(in))
		stop_submitters(c);
	submitters_read_turns(s, in);
	for (uint64_t n = unpack_uint(in); n > 0 && !in->bad; n--) {
		const size_t i = (size_t)unpack_below(in, SUBMITTERS_MOST);

		if (!submitters_used(s, i) || submitters_leaving(s, i) ||
		    submitters_read(s, i, in) < 0)
			return -1;
		report_read_owner(c, i, in);
	}
	submitters_read_printed(s, journal_progress(c).written);
	return 0;
}

/* Add NOTE_LEFT: a request as it was read, or why it is bad. */
static void
fold_left(void *to, const struct request *r, uint64_t left, uint64_t undone)
{
	struct pack *notes = to;
	struct text line = { 0 };

	if (r->op != REQUEST_BAD)
		request_write(&line, r);
	pack_uint(notes, NOTE_LEFT);
	pack_uint(notes, r->owner);
	pack_uint(notes, r->number);
	pack_uint(notes, left);
	pack_uint(notes, undone);
	pack_uint(notes, r->op == REQUEST_BAD);
	pack_text(notes, r->op == REQUEST_BAD ? r->why : line.data);
	text_release(&line);
}

static void
note_queued(void *submitters, const struct request *r, uint64_t steps)
{
	(void)steps;
	submitters_queued(submitters, r->owner, r->number);
}

static void
fold_part(void *to, const struct request *r, uint64_t steps)
{
	struct pack *notes = to;

	pack_uint(notes, NOTE_QUEUED);
	pack_uint(notes, r->owner);
	pack_uint(notes, r->number);
	pack_uint(notes, steps);
}

bool
submit_fold(struct coord *c, struct pack *notes)
{
	struct submitters *s = c->submitters;
	const bool can = queue_write_parts(c->queue, note_queued, s);

	for (size_t i = 0; i < submitters_count(s); i++) {
		if (!submitters_used(s, i))
			continue;
		pack_uint(notes, NOTE_CALLED);
		pack_uint(notes, i);
		pack_uint(notes, 0);
		pack_text(notes, submitters_name(s, i));
		submitters_each_left(s, i, fold_left, notes);
	}
	queue_write_parts(c->queue, fold_part, notes);
	for (size_t i = 0; i < submitters_count(s); i++) {
		if (!submitters_leaving(s, i))
			continue;
		pack_uint(notes, NOTE_FORGOTTEN);
		pack_uint(notes, i);
		pack_uint(notes, 0);
	}
	return can;
}

static int
replay_called(struct coord *c, size_t i, struct unpack *in)
{
	size_t size;
	const char *name = unpack_blob(in, &size);

	if (in->bad || submitters_restore(c->submitters, i, name, size,
					  c->now_ms) < 0)
		return -1;
	if (submitters_accepted(c->submitters, i) == 0)
		report_new_owner(c, i, c->now_ms);
	return 0;
}

static int
replay_asked(struct coord *c, size_t i, uint64_t number, bool late,
	     struct unpack *in)
{
	size_t size;
	const char *line = unpack_blob(in, &size);
	char *copy;

	if (in->bad || !submitters_used(c->submitters, i))
		return -1;
	if (i != SUBMITTER_OWN) {
		take_line(c, i, line, size, late);
		return 0;
	}
	copy = mem_text_n(line, size);
	submit_own(c, copy, size, number);
	free(copy);
	return 0;
}

static int
replay_left(struct coord *c, size_t i, uint64_t number, struct unpack *in)
{
	const uint64_t left = unpack_uint(in), undone = unpack_uint(in);
	const bool bad = unpack_uint(in);
	struct request r = { .op = REQUEST_BAD };
	size_t size;
	const char *text = unpack_blob(in, &size);
	struct fail why;
	bool reads = true;
	char *line;

	if (in->bad || !submitters_used(c->submitters, i))
		return -1;
	line = mem_text_n(text, size);
	if (bad)
		r.why = line;
	else
		reads = request_read(&r, line, size, &why) == 0;
	if (!bad)
		free(line);
	if (reads)
		submitters_read_left(c->submitters, i, &r, number, size, left,
				     undone);
	request_release(&r);
	return reads ? 0 : -1;
}

static int
replay_turn(struct coord *c, size_t i, uint64_t number, bool part,
	    struct unpack *in)
{
	const uint64_t steps = unpack_uint(in);
	struct turn t;

	if (in->bad || (part ? submitters_read_part : submitters_read_turn)
		(c->submitters, i, number, steps, &t) < 0)
		return -1;
	begin_turn(c, &t);
	return 0;
}

int
submit_replay_note(struct coord *c, enum journal_note what, size_t i,
		   uint64_t number, struct unpack *in)
{
	int r = 0;

	if (!submitters_open(c->submitters) || i >= SUBMITTERS_MOST)
		return -1;
	switch (what) {
	case NOTE_CALLED:
		r = replay_called(c, i, in);
		break;
	case NOTE_ASKED:
	case NOTE_LATE:
		r = replay_asked(c, i, number, what == NOTE_LATE, in);
		break;
	case NOTE_TURN:
	case NOTE_QUEUED:
		r = replay_turn(c, i, number, what == NOTE_QUEUED, in);
		break;
	case NOTE_LEFT:
		r = replay_left(c, i, number, in);
		break;
	case NOTE_CANCELLED:
	case NOTE_FORGOTTEN:
		if (!submitters_used(c->submitters, i))
			return -1;
		if (what == NOTE_FORGOTTEN)
			submitters_forget(c->submitters, i);
		else
			submitters_cancel(c->submitters, i, number,
					  notify_given_up, c);
		report_given_up(c);
		break;
	default:
		return -1;
	}
	submit_replayed(c);
	return r;
}

void
submit_replayed(struct coord *c)
{
	take_ended(c);
}

/* The lines that were read are in the journal.  All submitters are away: what
   they had been sent is sent again when they return.  The input of our own
   requests may have more by now. */
void
submit_resume(struct coord *c)
{
	answer_again(c);
	if (!submitters_open(c->submitters))
		return;
	submitters_kept(c->submitters);
	if (!c->told_to_stop)
		submitters_reopen(c->submitters, SUBMITTER_OWN);
}
