/*
 * The coordinator's journal, written: what it keeps of itself, for the one
 * after it.  coord_replay.c reads it.
 */
#include "coord/coord_inside.h"

#include "base/hash.h"

#define NOTE_MS		100	/* ends are written in batches */
#define MAX_FOLD	((size_t)16 << 20)

bool
journal_numbers(enum journal_kind kind)
{
	return kind != JOURNAL_RUN && kind != JOURNAL_FOLD &&
		kind != JOURNAL_FINISHED;
}

static int
write_record(struct coord *c, enum journal_kind kind, const struct pack *p,
	     bool safe, struct fail *f)
{
	const struct journal *j = c->o.journal;
	struct pack out = { 0 };
	int r;

	if (journal_numbers(kind)) {
		pack_uint(&out, ++c->records);
		pack_blob(&out, p->data, p->size);
		p = &out;
	}
	r = j->add(j->to, kind, p->data, p->size, safe, f);
	pack_release(&out);
	if (r == 0 && safe)	/* and with it all that came before it */
		fleet_kept(c->fleet, c->records);
	return r;
}

static void
add(struct coord *c, enum journal_kind kind, struct pack *p, bool safe)
{
	struct fail why;

	if (c->fold) {
		pack_uint(c->fold, kind);
		pack_blob(c->fold, p->data, p->size);
		return;
	}
	if (!c->o.journal || c->journal_lost || c->replaying)
		return;
	if (write_record(c, kind, p, safe, &why) == 0) {
		c->ends_unsafe = !safe && (c->ends_unsafe ||
					   kind == JOURNAL_ENDS);
		return;
	}
	c->journal_lost = true;
	if (c->phase >= PHASE_STOP)	/* nothing is lost by that */
		report_warning(c, "the journal of this run, which is over, is "
			       "left behind: %s", why.text);
	end_fail(c, &why, c->now_ms);
}

/* Another model or plan has another number; endpoints may change. */
static uint64_t
plan_hash(const struct coord *c)
{
	const struct plan *p = &c->plan;
	struct pack out = { 0 };
	uint64_t hash;

	for (size_t i = 0; i < p->pieces; i++) {
		pack_uint(&out, p->piece[i].variable);
		pack_uint(&out, p->piece[i].first);
		pack_uint(&out, p->piece[i].count);
	}
	for (size_t i = 0; i < p->parts; i++) {
		pack_uint(&out, p->part[i].server);
		pack_uint(&out, p->part[i].count);
	}
	hash = hash64(out.data, out.size);
	pack_release(&out);
	return hash;
}

void
journal_pack_run(struct pack *out, const struct coord *c)
{
	pack_uint(out, JOURNAL_VERSION);
	pack_uint(out, hash64(c->model_frame.data, c->model_frame.size));
	pack_uint(out, plan_hash(c));
	pack_uint(out, c->plan.seed);
	pack_uint(out, c->o.servers);
	pack_uint(out, c->o.ledger != NULL);
}

static void
add_run(struct coord *c, const char *name, uint64_t step)
{
	struct pack out = { 0 };

	journal_pack_run(&out, c);
	pack_blob(&out, c->plan.run, PLAN_RUN);
	pack_text(&out, name);
	pack_uint(&out, step);
	pack_uint(&out, c->o.restored.examples);
	pack_uint(&out, message_double_bits(c->o.restored.seconds));
	add(c, JOURNAL_RUN, &out, true);
	pack_release(&out);
}

void
journal_begin(struct coord *c)
{
	add_run(c, c->base.name, c->base.step);
}

void
journal_term(struct coord *c)
{
	struct pack out = { 0 };

	pack_uint(&out, c->plan.term);
	add(c, JOURNAL_TERM, &out, true);
	pack_release(&out);
}

void
journal_line(struct coord *c, const char *line, size_t size,
	     uint64_t number)
{
	if (!c->o.journal || c->replaying)
		return;
	text_add_bytes(&c->lines, line, size);
	text_add_bytes(&c->lines, "\n", 1);
	c->line = number;
}

static void
add_lines(struct coord *c, const struct text *lines)
{
	struct pack out = { 0 };

	pack_uint(&out, c->line);
	pack_blob(&out, lines->data, lines->size);
	add(c, JOURNAL_LINES, &out, true);
	pack_release(&out);
}

void
journal_lines(struct coord *c)
{
	if (c->lines.size == 0)
		return;
	add_lines(c, &c->lines);
	text_reset(&c->lines);
}

static void
note(struct coord *c, enum journal_note what, uint64_t first, uint64_t count)
{
	struct pack *out = &c->notes;

	if (!c->o.journal || c->replaying)
		return;
	if (what == NOTE_DONE && c->note_count > 0 &&
	    c->note_first + c->note_count == first) {
		c->note_count += count;
		return;
	}
	if (c->note_count > 0) {
		pack_uint(out, NOTE_DONE);
		pack_uint(out, c->note_first);
		pack_uint(out, c->note_count);
		c->note_count = 0;
	}
	if (what == NOTE_DONE) {
		c->note_first = first;
		c->note_count = count;
	} else if (what) {
		pack_uint(out, what);
		pack_uint(out, first);
		pack_uint(out, count);
	}
}

void
journal_done(struct coord *c, uint64_t step)
{
	note(c, NOTE_DONE, step, 1);
}

void
journal_void(struct coord *c, uint64_t step)
{
	note(c, NOTE_VOID, step, 1);
}

/*
 * Of the steps in front of a barrier the numbers are known without what was
 * noted of them; of those behind it they are not.
 */
static void
note_barrier(struct coord *c, enum journal_note what, uint64_t first,
	     uint64_t count)
{
	note(c, what, first, count);
	c->unnoted = c->o.journal && !c->replaying;
}

void
journal_pass(struct coord *c)
{
	note_barrier(c, NOTE_PASSED, 0, 1);
	queue_pass(c->queue);
}

void
journal_begun(struct coord *c)
{
	c->unnoted = c->unnoted || (!c->replaying && !journal_noted(c));
}

void
journal_closed(struct coord *c)
{
	note_barrier(c, NOTE_CLOSED, 0, 1);
}

void
journal_dropped(struct coord *c, size_t requests)
{
	note_barrier(c, NOTE_DROPPED, queue_next(c->queue), requests);
}

void
journal_ending(struct coord *c)
{
	if (c->ending_noted || !c->o.journal || c->replaying)
		return;
	c->ending_noted = true;
	note(c, NOTE_ENDING, 0, 1);
}

static void
pack_totals(struct pack *out, const struct coord *c, const struct totals *t,
	    uint64_t now)
{
	const size_t stale = totals_stale(t);

	pack_uint(out, t->steps);
	pack_uint(out, t->examples);
	pack_uint(out, t->mixed);
	pack_uint(out, message_double_bits(t->loss));
	pack_uint(out, now - t->began_ms);
	pack_uint(out, stale);
	for (size_t i = 0; i < stale; i++)
		pack_uint(out, t->stale[i]);
	for (size_t i = 0; i < c->metrics; i++)
		for (size_t j = 0; j < METRIC_SUMS; j++)
			pack_uint(out, message_double_bits(
				t->state[i].sum[j]));
}

bool
journal_noted(const struct coord *c)
{
	return !c->o.journal || c->journal_lost ||
		(c->notes.size == 0 && c->note_count == 0);
}

bool
journal_safe(const struct coord *c)
{
	return journal_noted(c) && (c->journal_lost || !c->ends_unsafe);
}

static void
pack_epoch(struct pack *out, const struct coord *c, uint64_t now)
{
	if (!c->o.ledger)
		return;
	pack_uint(out, c->epoch_open);
	pack_uint(out, c->epoch_number);
	pack_uint(out, ledger_visited(c->o.ledger, c->epoch_number));
	pack_totals(out, c, &c->epoch, now);
}

static void
add_ends(struct coord *c, const struct pack *notes, bool safe, uint64_t now)
{
	struct pack out = { 0 };

	pack_uint(&out, c->written);
	pack_uint(&out, (uint64_t)c->status);
	pack_text(&out, c->failure.text);
	pack_totals(&out, c, &c->join, now);
	pack_totals(&out, c, &c->all, now);
	pack_blob(&out, notes->data, notes->size);
	pack_epoch(&out, c, now);
	add(c, JOURNAL_ENDS, &out, safe);
	pack_release(&out);
}

bool
journal_ends(struct coord *c, uint64_t written, bool now_or_never,
	     bool whole, uint64_t now)
{
	if ((whole ? journal_safe(c) : journal_noted(c)) || c->replaying ||
	    (!now_or_never && !whole && !c->unnoted &&
	     now - c->noted_ms < NOTE_MS))
		return false;
	c->noted_ms = c->now_ms = now;
	note(c, 0, 0, 0);
	journal_lines(c);	/* what ended was asked for before */
	c->written = written;
	add_ends(c, &c->notes, whole, now);
	pack_reset(&c->notes);
	if (!whole && !c->unnoted)
		return false;
	c->unnoted = false;
	return true;
}

/* Which of them have a number, but were never leased. */
static void
pack_waiting(struct pack *out, const struct coord *c, uint64_t first,
	     uint64_t count)
{
	struct ranges waiting = { 0 };

	for (uint64_t i = first; i < first + count; i++) {
		const struct step *s = queue_step(c->queue, i);

		if (s && s->state == STEP_WAITING)
			ranges_add(&waiting, i, 1);
	}
	pack_uint(out, waiting.count);
	for (size_t i = 0; i < waiting.count; i++) {
		pack_uint(out, waiting.range[i].first);
		pack_uint(out, waiting.range[i].end);
	}
	ranges_release(&waiting);
}

void
journal_voiding(struct coord *c, uint64_t first, uint64_t count,
		uint64_t deaths, bool folded)
{
	struct pack out = { 0 };

	pack_uint(&out, first);
	pack_uint(&out, count);
	pack_uint(&out, deaths);
	pack_uint(&out, c->failing);
	pack_uint(&out, c->failed_step);
	pack_uint(&out, c->failing ? c->step_error.kind : 0);
	pack_text(&out, c->failing ? c->step_error.text : "");
	pack_text(&out, deaths > 0 ? c->aside_worker : c->failed_worker);
	pack_text(&out, c->failed_id ? c->failed_id : "");
	pack_uint(&out, c->stopping);
	pack_waiting(&out, c, first, count);
	add(c, JOURNAL_VOID, &out, true);
	pack_reset(&out);
	/* A fold takes the requests of steps under way for done. */
	if (folded)
		add(c, JOURNAL_FOLD, &out, false);
	pack_release(&out);
}

void
journal_servers(struct coord *c, bool safe)
{
	struct pack out = { 0 };

	for (size_t i = 0; i < c->o.servers; i++) {
		pack_text(&out, c->o.server[i] ? c->o.server[i] : "");
		pack_text(&out, fleet_endpoint(c->fleet, i));
		pack_uint(&out, fleet_holds(c->fleet, i) ?
			  fleet_life(c->fleet, i) : 0);
		pack_uint(&out, fleet_term(c->fleet, i));
		standby_write(c, i, &out);
		rerun_write(c, i, &out);
	}
	add(c, JOURNAL_SERVERS, &out, safe);
	pack_release(&out);
}

void
journal_cut(struct coord *c)
{
	struct pack out = { 0 };

	pack_text(&out, c->base.name);
	pack_uint(&out, c->base.step);
	add(c, JOURNAL_CUT, &out, true);
	pack_release(&out);
}

void
journal_counts(struct coord *c)
{
	struct pack out = { 0 }, part = { 0 };

	ledger_write_counts(c->o.ledger, &part);
	pack_blob(&out, part.data, part.size);
	pack_reset(&part);
	ledger_write_position(c->o.ledger, &part);
	pack_blob(&out, part.data, part.size);
	add(c, JOURNAL_COUNTS, &out, true);
	c->epochs_kept = ledger_begun(c->o.ledger);
	pack_release(&part);
	pack_release(&out);
}

void
journal_streams(struct coord *c)
{
	struct pack out = { 0 };

	if (!c->o.ledger || ledger_begun(c->o.ledger) == c->epochs_kept)
		return;
	c->epochs_kept = ledger_begun(c->o.ledger);
	ledger_write_begun(c->o.ledger, &out);
	add(c, JOURNAL_STREAMS, &out, true);
	pack_release(&out);
}

static void
add_error(struct coord *c)
{
	struct pack out = { 0 };

	pack_uint(&out, c->step_error.kind);
	pack_text(&out, c->step_error.text);
	add(c, JOURNAL_ERROR, &out, false);
	pack_release(&out);
}

/*
 * What is not in the records of a fold must not be so.  That steps below the
 * cut end later is written behind it, and says nothing then.
 */
static bool
can_fold(const struct coord *c)
{
	return data_ready(c) && !c->stopping && !c->setting_aside &&
		!c->cancelling && !c->unnoted;
}

void
journal_fold(struct coord *c, uint64_t step)
{
	struct text left = { 0 };
	struct pack fold = { 0 };
	char name[CHECKPOINT_NAME];

	if (!c->o.journal || c->journal_lost)
		return;
	journal_lines(c);
	if (can_fold(c) && queue_write(c->queue, &left)) {
		if (c->told_to_stop)
			text_add(&left, "%s\n", request_name(REQUEST_STOP));
		checkpoint_name(step, name);
		c->fold = &fold;
		add_run(c, name, step);
		journal_term(c);
		journal_servers(c, false);
		if (c->o.ledger)
			journal_counts(c);
		add_lines(c, &left);
		add_ends(c, &(struct pack){ 0 }, false, c->now_ms);
		if (c->step_error.kind)
			add_error(c);
		c->fold = NULL;
	}
	if (fold.size > MAX_FOLD)
		pack_reset(&fold);
	add(c, JOURNAL_FOLD, &fold, false);
	pack_release(&fold);
	text_release(&left);
}

void
journal_finished(struct coord *c)
{
	struct pack out = { 0 };

	pack_uint(&out, (uint64_t)c->status);
	add(c, JOURNAL_FINISHED, &out, true);
	pack_release(&out);
}
