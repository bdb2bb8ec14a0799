/*
 * The coordinator's journal, read: at its start it becomes what the one
 * before it was.  See coord_journal.c for what is in the records.
 */
#include "coord/coord_inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
coord_check_journal(uint32_t kind, const void *bytes, size_t size,
		    struct fail *f)
{
	struct unpack u = unpack_from(bytes, size), run = u;
	uint64_t version;

	if (kind == JOURNAL_FOLD) {
		kind = (uint32_t)unpack_uint(&u);
		bytes = unpack_blob(&u, &size);
		run = unpack_from(bytes, u.bad ? 0 : size);
	}
	version = unpack_uint(&run);
	if (kind != JOURNAL_RUN || run.bad)
		return fail(f, FAIL_DATA, "no journal of a coordinator");
	return version == JOURNAL_VERSION ? 0 :
		fail(f, FAIL_CONFIG, "a journal of version %llu, not %d: go "
		     "on with programs of the release that began the run, or "
		     "remove it to begin anew", (unsigned long long)version,
		     JOURNAL_VERSION);
}

static int
replay_run(struct coord *c, struct unpack *u, struct fail *f)
{
	struct pack ours = { 0 };
	const size_t size = unpack_left(u);
	const unsigned char *bytes = u->next;
	const void *blob;
	size_t length;

	journal_pack_run(&ours, c);
	if (size < ours.size || memcmp(bytes, ours.data, ours.size) != 0) {
		pack_release(&ours);
		return fail(f, FAIL_CONFIG, "it is of another model, seed or "
			    "number of servers or partitions, or with data "
			    "of its own (-d): go on as that run was begun, "
			    "or remove it to begin anew");
	}
	u->next += ours.size;
	pack_release(&ours);
	blob = unpack_blob(u, &length);
	if (u->bad || length != PLAN_RUN)
		return -1;
	memcpy(c->plan.run, blob, PLAN_RUN);
	blob = unpack_blob(u, &length);
	if (u->bad || length >= sizeof(c->base.name))
		return -1;
	memset(c->base.name, 0, sizeof(c->base.name));
	memcpy(c->base.name, blob, length);
	c->base.step = unpack_uint(u);
	c->o.restored.examples = unpack_uint(u);
	c->trained_before = message_double(unpack_uint(u));
	coord_begin_queue(c, c->base.step);
	c->resumed = true;
	return 0;
}

static int
replay_lines(struct coord *c, struct unpack *u)
{
	const uint64_t last = unpack_uint(u);
	size_t size;
	const char *lines = unpack_blob(u, &size);
	uint64_t number = last + 1;
	char *copy, *line, *end, *behind;

	if (u->bad)
		return -1;
	copy = mem_text_n(lines, size);
	behind = copy + size;
	for (size_t i = 0; i < size; i++)
		number -= copy[i] == '\n';
	for (line = copy; (end = memchr(line, '\n', (size_t)(behind - line)));
	     line = end + 1) {
		*end = '\0';
		coord_request(c, line, (size_t)(end - line), number++,
			      c->now_ms);
	}
	free(copy);
	c->line = last;
	return 0;
}

/* All steps up to this one have a number. */
static int
give_up_to(struct coord *c, uint64_t step)
{
	const uint64_t first = queue_next(c->queue);

	while (queue_next(c->queue) <= step)
		if (!data_ready(c) || !void_give_number(c))
			return -1;
	rerun_record(c, first);
	return 0;
}

/* It was, when that was written. */
static void
be_ending(struct coord *c)
{
	c->no_more_requests = c->stopping = c->ending_noted = true;
}

static int
replay_note(struct coord *c, uint64_t what, uint64_t first, uint64_t count)
{
	const struct request *r;
	uint64_t left;

	for (uint64_t i = 0; what <= NOTE_VOID && i < count; i++) {
		if (give_up_to(c, first + i) < 0)
			return -1;
		if (what == NOTE_VOID)
			rerun_void(c, first + i);
		queue_end(c->queue, first + i);
		if (c->setting_aside && c->aside == first + i)
			c->setting_aside = false;
	}
	if (what == NOTE_PASSED && !(r = queue_barrier(c->queue)))
		return -1;
	if (what == NOTE_PASSED) {
		if (r->op == REQUEST_JOIN)
			c->step_error.kind = 0;		/* it has been told */
		queue_pass(c->queue);
	}
	if (what == NOTE_CLOSED) {
		if (!data_ready(c) || !queue_begun(c->queue, &left))
			return -1;
		data_begin_epoch(c, c->now_ms);
	}
	if (what == NOTE_DROPPED) {
		if (first > 0 && give_up_to(c, first - 1) < 0)
			return -1;
		for (uint64_t s = queue_mark(c->queue); s < first; s++)
			if (queue_step(c->queue, s))
				rerun_void(c, s);
		queue_drop(c->queue, count);
		c->cancelling = c->voiding = c->failing = false;
	}
	/* What it had not given up is given up now. */
	if (what == NOTE_ENDING)
		be_ending(c);
	return 0;
}

static void
unpack_totals(struct unpack *u, const struct coord *c, struct totals *t)
{
	t->steps = unpack_uint(u);
	t->examples = unpack_uint(u);
	t->mixed = unpack_uint(u);
	t->loss = message_double(unpack_uint(u));
	t->began_ms = c->now_ms - unpack_uint(u);
	memset(t->stale, 0, sizeof(t->stale));
	for (uint64_t i = 0, n = unpack_uint(u); i < n && !u->bad; i++)
		t->stale[i < STALENESS ? i : STALENESS - 1] = unpack_uint(u);
	for (size_t i = 0; i < c->metrics; i++) {
		metric_reset(&t->state[i]);
		for (size_t j = 0; j < METRIC_SUMS; j++)
			t->state[i].sum[j] = message_double(unpack_uint(u));
		if (metric_keeps_scores(&c->metric[i]))
			t->unscored = true;	/* they were not kept */
	}
}

static int
unpack_epoch(struct unpack *u, struct coord *c)
{
	struct ledger *l = c->o.ledger;
	uint64_t visited;

	if (!l || !ledger_ready(l))
		return 0;
	c->epoch_open = unpack_uint(u);
	c->epoch_number = unpack_uint(u);
	visited = unpack_uint(u);
	unpack_totals(u, c, &c->epoch);
	ledger_visit(l, c->epoch_number * ledger_steps(l),
		     visited - ledger_visited(l, c->epoch_number));
	return u->bad ? -1 : 0;
}

static int
replay_ends(struct coord *c, struct unpack *u)
{
	struct unpack notes;
	const void *bytes;
	uint64_t status;
	size_t size;

	c->written = unpack_uint(u);
	status = unpack_uint(u);
	c->failure.kind = status ? message_status(status) : 0;
	c->status = (int)c->failure.kind;
	unpack_text(u, c->failure.text, sizeof(c->failure.text));
	unpack_totals(u, c, &c->join);
	unpack_totals(u, c, &c->all);
	bytes = unpack_blob(u, &size);
	if (u->bad)
		return -1;
	notes = unpack_from(bytes, size);
	while (unpack_left(&notes) > 0 && !notes.bad) {
		const uint64_t what = unpack_uint(&notes);
		const uint64_t first = unpack_uint(&notes);
		const uint64_t count = unpack_uint(&notes);

		if (notes.bad || replay_note(c, what, first, count) < 0)
			return -1;
	}
	return unpack_epoch(u, c);
}

static int
replay_void(struct coord *c, struct unpack *u)
{
	const uint64_t first = unpack_uint(u), count = unpack_uint(u);
	const uint64_t deaths = unpack_uint(u);
	char worker[32];
	uint64_t kind, ranges;
	const char *id;
	size_t size;

	c->failing = unpack_uint(u);
	c->failed_step = unpack_uint(u);
	kind = unpack_uint(u);
	unpack_text(u, c->step_error.text, sizeof(c->step_error.text));
	unpack_text(u, worker, sizeof(worker));
	id = unpack_blob(u, &size);
	if (unpack_uint(u))
		be_ending(c);
	if (u->bad || (count > 0 && give_up_to(c, first + count - 1) < 0))
		return -1;
	if (deaths > 0) {
		c->setting_aside = true;
		c->aside = first;
		c->aside_deaths = deaths;
		memcpy(c->aside_worker, worker, sizeof(worker));
		return 0;
	}
	c->step_error.kind = kind ? message_status(kind) : 0;
	memcpy(c->failed_worker, worker, sizeof(worker));
	free(c->failed_id);
	c->failed_id = size > 0 ? mem_text_n(id, size) : NULL;
	c->cancelling = c->voiding = true;
	for (ranges = unpack_uint(u); ranges > 0 && !u->bad; ranges--) {
		uint64_t step = unpack_uint(u);
		const uint64_t end = unpack_uint(u);

		for (; !u->bad && step < end && step < first + count; step++)
			queue_wait(c->queue, step);
	}
	return u->bad ? -1 : 0;
}

/* Where it was, unless whoever starts us again says that it has moved. */
static int
replay_place(struct coord *c, struct unpack *u, size_t i, struct fail *f)
{
	char said[256], was[256];

	unpack_text(u, said, sizeof(said));
	unpack_text(u, was, sizeof(was));
	if (u->bad || strcmp(said, c->o.server[i] ? c->o.server[i] : "") != 0 ||
	    strcmp(was, fleet_endpoint(c->fleet, i)) == 0)
		return 0;
	if (c->o.server[i])	/* who was killed there is started there */
		fleet_seek(c->fleet, i, c->o.server[i]);
	return fleet_place(c->fleet, i, was, f);
}

static int
replay_servers(struct coord *c, struct unpack *u, struct fail *f)
{
	for (size_t i = 0; i < c->o.servers && !u->bad; i++) {
		uint64_t life, term;

		if (replay_place(c, u, i, f) < 0)
			return -1;
		life = unpack_uint(u);
		term = unpack_uint(u);
		standby_read(c, i, life, u);
		rerun_read(c, i, u);
		fleet_resume(c->fleet, i, life, term);
		fleet_back(c->fleet, i, c->base.step);
	}
	return u->bad ? -1 : 0;
}

static int
replay_error(struct coord *c, struct unpack *u)
{
	const uint64_t kind = unpack_uint(u);

	unpack_text(u, c->step_error.text, sizeof(c->step_error.text));
	c->step_error.kind = message_status(kind);
	return u->bad ? -1 : 0;
}

static int
replay_cut(struct coord *c, struct unpack *u)
{
	unpack_text(u, c->base.name, sizeof(c->base.name));
	c->base.step = unpack_uint(u);
	c->base.ours = true;
	return u->bad ? -1 : 0;
}

static int
replay_counts(struct coord *c, struct unpack *u, struct fail *f)
{
	size_t counts_size, position_size;
	const void *counts = unpack_blob(u, &counts_size);
	const void *position = unpack_blob(u, &position_size);

	if (u->bad || !c->o.ledger)
		return -1;
	if (ledger_read_counts(c->o.ledger, counts, counts_size, f) < 0 ||
	    ledger_read_position(c->o.ledger, position, position_size, f) < 0)
		return -1;
	c->epochs_kept = ledger_begun(c->o.ledger);
	return 0;
}

static int
replay_streams(struct coord *c, struct unpack *u)
{
	if (!c->o.ledger || !ledger_read_begun(c->o.ledger, u))
		return -1;
	c->epochs_kept = ledger_begun(c->o.ledger);
	return 0;
}

static int replay(struct coord *, enum journal_kind, struct unpack *,
		  struct fail *);

static int
replay_fold(struct coord *c, struct unpack *u, struct fail *f)
{
	while (unpack_left(u) > 0) {
		const uint64_t kind = unpack_uint(u);
		size_t size;
		const void *bytes = unpack_blob(u, &size);
		struct unpack inner = unpack_from(bytes, size);

		if (u->bad || kind == JOURNAL_FOLD ||
		    replay(c, (enum journal_kind)kind, &inner, f) < 0)
			return -1;
	}
	return 0;
}

static int
replay(struct coord *c, enum journal_kind kind, struct unpack *u,
       struct fail *f)
{
	int r = 0;

	switch (kind) {
	case JOURNAL_RUN:	r = replay_run(c, u, f); break;
	case JOURNAL_TERM:	c->plan.term = unpack_uint(u); break;
	case JOURNAL_LINES:	r = replay_lines(c, u); break;
	case JOURNAL_ENDS:	r = replay_ends(c, u); break;
	case JOURNAL_VOID:	r = replay_void(c, u); break;
	case JOURNAL_SERVERS:	r = replay_servers(c, u, f); break;
	case JOURNAL_CUT:	r = replay_cut(c, u); break;
	case JOURNAL_COUNTS:	r = replay_counts(c, u, f); break;
	case JOURNAL_STREAMS:	r = replay_streams(c, u); break;
	case JOURNAL_FOLD:	r = c->resumed ? 0 : replay_fold(c, u, f);
				break;
	case JOURNAL_ERROR:	r = replay_error(c, u); break;
	default:		break;
	}
	return r < 0 || u->bad ? -1 : 0;
}

int
coord_replay(struct coord *c, uint32_t kind, const void *bytes, size_t size,
	     struct fail *f)
{
	struct unpack u = unpack_from(bytes, size);
	int r = 0;

	fail(f, FAIL_DATA, "a record that makes no sense");
	if (journal_numbers((enum journal_kind)kind)) {
		c->records = unpack_uint(&u);
		bytes = unpack_blob(&u, &size);
		r = unpack_ok(&u) ? 0 : -1;
		u = unpack_from(bytes, size);
	}
	c->replaying = true;
	if (r == 0)
		r = replay(c, (enum journal_kind)kind, &u, f);
	c->replaying = false;
	return r;
}

/*
 * The newest checkpoint on disk may be newer than the one that was noted.  But
 * that its steps have ended, and their results, was safe in the journal before
 * there was a checkpoint: else this is not the journal that it was.
 */
static int
take_newest(struct coord *c)
{
	char run[33];

	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(run + 2 * i, 3, "%02x", c->plan.run[i]);
	if (!*c->o.restore || strcmp(run, c->o.restored.run) != 0 ||
	    c->o.restored.step < c->base.step)
		return 0;
	snprintf(c->base.name, sizeof(c->base.name), "%s", c->o.restore);
	c->base.step = c->o.restored.step;
	c->base.ours = true;
	return queue_mark(c->queue) < c->base.step ? -1 : 0;
}

int
coord_start(struct coord *c, uint64_t *line, uint64_t *written,
	    struct fail *f)
{
	*line = c->line;
	*written = c->written;
	if (!c->o.journal)
		return 0;
	if (!c->resumed) {
		journal_begin(c);
		return 0;
	}
	if (take_newest(c) < 0)
		return fail(f, FAIL_DATA, "%s holds steps of which it does "
			    "not know that they have ended: it was cut short, "
			    "or is an older one. Put the right one in its "
			    "place, or remove it to begin anew",
			    c->o.restore);
	cut_resume(c, *c->base.name ? c->base.step : WIRE_NONE);
	/* It is noted when the servers have shown that this is the journal. */
	c->plan.term++;
	c->term_unnoted = true;
	fleet_kept(c->fleet, c->records);
	fleet_begin_term(c->fleet, c->plan.run, c->plan.term);
	standby_resume(c);
	report_warning(c, "going on with a run that broke off: %llu steps "
		       "have ended, term %llu begins",
		       (unsigned long long)queue_mark(c->queue),
		       (unsigned long long)c->plan.term);
	return 1;
}
