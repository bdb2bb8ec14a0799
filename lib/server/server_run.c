#include "server/server_run.h"

#include "base/hash.h"
#include "base/mem.h"
#include "server/dedup.h"
#include "server/round_buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server_run {
	struct server_world world;
	struct model_source source;
	struct model *model;
	uint64_t model_hash;	/* of the PLAN's model frame */
	struct plan plan;
	size_t index;		/* which server of the plan we are */
	uint64_t replicas;	/* of a round; 0: there are no rounds, or the
				   coordinator has not said it yet */
	uint64_t journal;	/* records of the coordinator's journal that
				   were safe when it last reported */
	struct shard *shard;
	struct shard_rows *rows;	/* the rows that a PUSHPULL pulls */
	struct dedup *dedup;
	struct round_buffer *round_buffer;
	bool ended;		/* a round has ended; not yet reported by
				   server_run_ended() */
	int64_t staged;		/* part that a push was last staged for; -1 */
	uint64_t pushes, repeats;
};

/* ---- beginning and end of a run ---- */

static void
release_values(struct server_run *r)
{
	round_buffer_free(r->round_buffer);
	shard_rows_free(r->rows);
	shard_free(r->shard);
	r->round_buffer = NULL;
	r->rows = NULL;
	r->shard = NULL;
}

void
server_run_free(struct server_run *r)
{
	if (!r)
		return;
	release_values(r);
	dedup_free(r->dedup);
	plan_release(&r->plan);
	model_free(r->model);
	model_source_release(&r->source);
	free(r);
}

/* false: the program is to end. */
static bool
make_values(struct server_run *r, uint64_t step)
{
	r->shard = shard_new(&r->plan, r->model, r->index, r->world.stopped);
	if (!r->shard)
		return false;
	r->rows = shard_rows_new(r->shard);
	r->round_buffer =
		round_buffer_new(&r->plan, r->model, r->index, r->shard, step);
	return true;
}

/* Refuse a plan that needs too much memory at once: otherwise some allocation
   would fail late, after many variables were made. */
static int
check_memory(const struct server_run *r, struct fail *f)
{
	const double bytes = shard_bytes(&r->plan, r->model, r->index);
	const double gib = 1 << 30;

	if (r->world.memory == 0 || bytes <= (double)r->world.memory)
		return 0;
	return fail(f, FAIL_CONFIG, "its variables need %.3g GiB, all its "
		    "memory is %.3g GiB: take more servers, and cut variables "
		    "into parts for them (ps-coord --partition), or fewer rows",
		    bytes / gib, (double)r->world.memory / gib);
}

int
server_run_check_id(const struct message *m, struct fail *f)
{
	return m->blob.size == PLAN_RUN ? 0 :
		fail(f, FAIL_PROTOCOL, "a plan without the name of its run");
}

static int
read_plan(struct server_run *r, const struct message *m, struct fail *f)
{
	const struct frame *model = &m->frame[0], *plan = &m->frame[1];

	if (server_run_check_id(m, f) < 0 ||
	    plan_read_model(&r->source, model->data, model->size,
			    f) < 0)
		return -1;
	r->model = model_parse(&r->source, f);
	if (!r->model || plan_read(&r->plan, r->model, plan->data, plan->size,
				   f) < 0)
		return -1;
	r->index = m->plan.server;
	if (r->index >= r->plan.servers)
		return fail(f, FAIL_PROTOCOL, "a plan without this server");
	if (check_memory(r, f) < 0)
		return -1;
	r->model_hash = hash64(model->data, model->size);
	r->replicas = m->plan.replicas;
	r->plan.number = m->plan.plan;
	r->plan.seed = m->plan.seed;
	r->plan.term = m->plan.term;
	memcpy(r->plan.run, m->blob.data, PLAN_RUN);
	return 0;
}

int
server_run_new(struct server_run **to, const struct message *m,
	       const struct server_world *world, struct fail *f)
{
	struct server_run *r = mem_alloc(1, sizeof(*r));
	int status;

	r->world = *world;
	r->staged = -1;
	status = read_plan(r, m, f);
	if (status == 0 && !make_values(r, m->plan.step))
		status = 1;
	if (status != 0) {
		server_run_free(r);
		return status;
	}
	r->dedup = dedup_new(&r->plan, r->model, r->index, m->plan.step,
			     world->forgets);
	*to = r;
	return 0;
}

/* ---- the plan ---- */

struct frame
server_run_id(const struct server_run *r)
{
	return r ? (struct frame){ r->plan.run, PLAN_RUN, NULL } :
		(struct frame){ 0 };
}

bool
server_run_is(const struct server_run *r, const struct frame *id)
{
	return r && id->size == PLAN_RUN &&
		memcmp(id->data, r->plan.run, PLAN_RUN) == 0;
}

uint64_t
server_run_short_id(const struct server_run *r)
{
	return r ? plan_run(&r->plan) : 0;
}

uint64_t
server_run_term(const struct server_run *r)
{
	return r ? r->plan.term : 0;
}

uint64_t
server_run_number(const struct server_run *r)
{
	return r ? r->plan.number : WIRE_NONE;
}

size_t
server_run_index(const struct server_run *r)
{
	return r ? r->index : 0;
}

/* Read the plan of a PLAN into *plan, which the caller releases.  false: it
   differs from our run's in more than a new term may change. */
static bool
read_known(const struct server_run *r, const struct message *m,
	   struct plan *plan)
{
	struct fail none;

	if (!server_run_is(r, &m->blob) ||
	    m->plan.plan != r->plan.number || m->plan.server != r->index ||
	    m->plan.seed != r->plan.seed ||
	    hash64(m->frame[0].data, m->frame[0].size) != r->model_hash)
		return false;
	return plan_read(plan, r->model, m->frame[1].data, m->frame[1].size,
			 &none) == 0 && plan_same_layout(plan, &r->plan);
}

bool
server_run_has_plan(const struct server_run *r, const struct message *m)
{
	struct plan plan = { 0 };
	const bool same = read_known(r, m, &plan);

	plan_release(&plan);
	return same;
}

/* The coordinator says once in a term how many replicas a round has, and may
   repeat a message that it sent before. */
static void
note_replicas(struct server_run *r, uint64_t replicas)
{
	if (replicas > 0)
		r->replicas = replicas;
}

void
server_run_begin_term(struct server_run *r, const struct message *m)
{
	struct plan plan = { 0 };

	if (read_known(r, m, &plan)) {
		const bool same = r->plan.every == plan.every &&
			codings_same(r->plan.codings, plan.codings);

		plan_take_codings(&r->plan, &plan);
		if (!same)
			shard_publish_anew(r->shard);
	}
	plan_release(&plan);
	if (m->plan.term > r->plan.term) {
		shard_forget_published(r->shard);
		r->replicas = 0;	/* the new coordinator chooses it */
	}
	r->plan.term = m->plan.term;
	note_replicas(r, m->plan.replicas);
}

struct message
server_run_plan(const struct server_run *r, uint64_t step, struct pack *model,
		struct pack *plan)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	plan_write_model(model, &r->source);
	plan_write(plan, &r->plan);
	m.plan.term = r->plan.term;
	m.plan.plan = r->plan.number;
	m.plan.seed = r->plan.seed;
	m.plan.server = r->index;
	m.plan.step = step;
	m.plan.replicas = r->replicas;
	m.plan.journal = r->journal;
	m.blob = server_run_id(r);
	m.frame[0] = (struct frame){ model->data, model->size, NULL };
	m.frame[1] = (struct frame){ plan->data, plan->size, NULL };
	return m;
}

uint64_t
server_run_journal(const struct server_run *r)
{
	return r ? r->journal : 0;
}

void
server_run_note_journal(struct server_run *r, uint64_t records)
{
	if (records > r->journal)
		r->journal = records;
}

struct shard *
server_run_shard(struct server_run *r)
{
	return r->shard;
}

/* ---- steps ---- */

static void
advance_round(struct server_run *r)
{
	if (round_buffer_advance(r->round_buffer, dedup_low(r->dedup),
				 dedup_voided(r->dedup)))
		r->ended = true;
}

void
server_run_mark(struct server_run *r, uint64_t step, uint64_t replicas)
{
	note_replicas(r, replicas);
	if (dedup_raise(r->dedup, step))
		advance_round(r);
}

int
server_run_void(struct server_run *r, const struct message *m, struct fail *f)
{
	if (dedup_void(r->dedup, m->voided.first, m->voided.count, f) < 0)
		return -1;
	advance_round(r);
	return 0;
}

int
server_run_check_round(const struct server_run *r, const struct message *m,
		       struct pack *missing, struct fail *f)
{
	return round_buffer_check(r->round_buffer, m->commit.step,
				  &m->frame[0], missing, f);
}

int
server_run_commit(struct server_run *r, const struct message *m,
		  struct fail *f)
{
	if (round_buffer_commit(r->round_buffer, m->commit.step, &m->frame[0],
				f) < 0)
		return -1;
	dedup_count(r->dedup, m->commit.step);
	r->ended = true;
	advance_round(r);
	return 0;
}

bool
server_run_ended(struct server_run *r)
{
	const bool ended = r->ended;

	r->ended = false;
	return ended;
}

uint64_t
server_run_round(const struct server_run *r)
{
	return round_buffer_step(r->round_buffer);
}

bool
server_run_between_rounds(const struct server_run *r)
{
	return round_buffer_empty(r->round_buffer);
}

uint64_t
server_run_high(const struct server_run *r)
{
	return dedup_high(r->dedup);
}

void
server_run_standing(const struct server_run *r, struct message *m,
		    unsigned char bytes[SERVER_RUN_STANDING])
{
	struct window steps = { 0 };

	dedup_settled(r->dedup, &steps);
	m->ok.above = dedup_high(r->dedup);
	m->ok.mark = dedup_low(r->dedup);
	m->ok.round = round_buffer_step(r->round_buffer);
	m->ok.initial = dedup_initial(r->dedup);
	m->frame[0].data = bytes;
	m->frame[0].size = window_write(&steps, m->ok.mark, bytes);
	m->frames = m->frame[0].size > 0;
	window_release(&steps);
}

void
server_run_publish_at(struct server_run *r, uint64_t step)
{
	shard_publish_at(r->shard, round_buffer_step(r->round_buffer), step);
}

/* ---- the variables are put back ---- */

static void
reset_rounds(struct server_run *r, uint64_t step, bool initial)
{
	dedup_go_back(r->dedup, step, initial);
	round_buffer_reset(r->round_buffer, step);
	r->ended = true;	/* pulls that wait for a round are answered,
				   too */
}

bool
server_run_reset(struct server_run *r, uint64_t step)
{
	release_values(r);
	if (!make_values(r, step))
		return false;
	reset_rounds(r, step, true);
	return true;
}

int
server_run_restore(struct server_run *r, struct checkpoint *from,
		   const struct checkpoint_reader *reader, uint64_t step,
		   struct fail *f)
{
	if (shard_restore(r->shard, from, reader, f) < 0)
		return -1;
	reset_rounds(r, step, false);
	return 0;
}

/* ---- pulls ---- */

/* Is a message of our run, term and plan?  The outcome tells the sender which
   is not. */
static enum outcome
check_plan(const struct server_run *r, uint64_t run, uint64_t term,
	   uint64_t plan)
{
	if (run != plan_run(&r->plan) || term != r->plan.term)
		return OUTCOME_STALE;
	return plan == r->plan.number ? OUTCOME_NONE : OUTCOME_WRONG_PLAN;
}

static int
check_part(const struct server_run *r, uint64_t part, struct fail *f)
{
	if (part < r->plan.parts && r->plan.part[part].server == r->index)
		return 0;
	return fail(f, FAIL_PROTOCOL, "part %llu is not here",
		    (unsigned long long)part);
}

/* How the values of a pull travel; coded is the field of the PULL or
   PUSHPULL. */
static struct encoding
pulled_encoding(const struct server_run *r, uint64_t coded)
{
	return coded > 0 ? plan_encoding(&r->plan, coded - 1) :
		(struct encoding){ NULL, 0 };
}

/* May a pull wait for its round?  1; -1: it is refused. */
static int
check_wait(struct server_run *r, const struct message *m, struct fail *f)
{
	if (m->pull.after - round_buffer_step(r->round_buffer) > WINDOW)
		return fail(f, FAIL_PROTOCOL, "step %llu is beyond the window",
			    (unsigned long long)m->pull.after);
	if (shard_rows_read(r->rows, m->pull.part, &m->frame[0], f) < 0)
		return -1;
	shard_rows_forget(r->rows);
	return 1;
}

static void
set_news(struct message *out, const struct shard_news *news)
{
	out->frame[0] = news->values;
	out->values.edition = news->edition;
	out->values.since = news->since;
}

int
server_run_pull(struct server_run *r, const struct message *m,
		const struct shard_snapshot *snapshot, struct message *out,
		struct fail *f)
{
	struct shard_news news;

	out->kind = MESSAGE_VALUES;
	out->values.outcome = check_plan(r, m->pull.run, m->pull.term,
					 m->pull.plan);
	if (out->values.outcome != OUTCOME_NONE)
		return 0;
	if (check_part(r, m->pull.part, f) < 0)
		return -1;
	if (m->pull.after > round_buffer_step(r->round_buffer))
		return check_wait(r, m, f);
	if (m->pull.cut != WIRE_NONE && !snapshot)
		return fail(f, FAIL_AGAIN, "the cut is no longer held");
	if (!snapshot && shard_pull_published(r->shard, m->pull.part,
					      pulled_encoding(r, m->pull.coded),
					      m->pull.have, &news))
		set_news(out, &news);
	else if (shard_pull(r->shard, m->pull.part, &m->frame[0], snapshot,
			    pulled_encoding(r, m->pull.coded), &out->frame[0],
			    f) < 0)
		return -1;
	out->frames = 1;
	out->values.version = shard_version(r->shard, m->pull.part);
	return 0;
}

uint64_t
server_run_pull_ahead(struct server_run *r, const struct message *m,
		      struct message *out)
{
	const uint64_t part = m->pull.part;
	const uint64_t number = m->pull.after !=
		round_buffer_step(r->round_buffer) + 1 ? 0 :
		round_buffer_run_ahead(r->round_buffer, part);
	struct shard_news news;

	if (number == 0)
		return 0;
	*out = message_answer(m, MESSAGE_VALUES);
	out->values.outcome = OUTCOME_AHEAD;
	round_buffer_pull_ahead(r->round_buffer, part,
				pulled_encoding(r, m->pull.coded),
				m->pull.have, &news);
	set_news(out, &news);
	out->frames = 1;
	out->values.version = shard_version(r->shard, part) + 1;
	return number;
}

bool
server_run_confirm(const struct server_run *r, const struct message *m,
		   uint64_t ahead, struct message *out)
{
	if (!round_buffer_came_to(r->round_buffer, m->pull.part, ahead))
		return false;
	*out = message_answer(m, MESSAGE_VALUES);
	out->values.outcome = OUTCOME_CONFIRMED;
	out->values.version = shard_version(r->shard, m->pull.part);
	return true;
}

/* ---- pushes ---- */

int64_t
server_run_staged(struct server_run *r)
{
	const int64_t part = r->staged;

	r->staged = -1;
	return part;
}

/* Take a push of a replica: stage it, or apply it if its part does not wait. */
static int
take_replica(struct server_run *r, const struct message *m,
	     const struct shard_push *push, enum outcome *outcome,
	     struct fail *f)
{
	if (*outcome != OUTCOME_VOID &&
	    round_buffer_push(r->round_buffer, m->push.part, m->push.step,
			      m->push.slot, m->push.attempt, push, outcome,
			      f) < 0)
		return -1;
	if (*outcome == OUTCOME_APPLIED)
		dedup_count(r->dedup, m->push.step);
	if (*outcome == OUTCOME_STAGED)
		r->staged = (int64_t)m->push.part;
	return 0;
}

/* Take a push of a run without rounds, which is applied at once. */
static int
take_step(struct server_run *r, const struct message *m,
	  const struct shard_push *push, enum outcome outcome, struct fail *f)
{
	if (outcome != OUTCOME_APPLIED)
		return 0;
	if (shard_push(r->shard, m->push.part, push, f) < 0)
		return -1;
	dedup_add(r->dedup, m->push.part, m->push.step);
	return 0;
}

static int
apply(struct server_run *r, const struct message *m,
      const struct frame *values, struct message *out, struct fail *f)
{
	const struct shard_push push = {
		.keys = &m->frame[0], .values = values,
		.encoding = { m->push.coded ? r->plan.codings : NULL,
			      m->push.step },
		.examples = m->push.examples,
		.learning_rate = message_float(m->push.rate),
		.step = m->push.step
	};
	const uint64_t version = shard_version(r->shard, m->push.part);
	enum outcome outcome = dedup_judge(r->dedup, m->push.part,
					   m->push.step);

	if ((m->push.attempt > 0 ? take_replica(r, m, &push, &outcome, f) :
	     take_step(r, m, &push, outcome, f)) < 0)
		return -1;
	out->values.outcome = outcome;
	r->repeats += outcome == OUTCOME_DUP;
	r->pushes += outcome == OUTCOME_APPLIED;
	if (outcome == OUTCOME_APPLIED && m->push.examples > 0 &&
	    version > m->push.version)
		out->values.staleness = version - m->push.version;
	return 0;
}

/* Is a slot that of a replica of the rounds, or of a node of several replicas?
   A stranger who pushes to other slots would fill the memory. */
static bool
is_node(const struct server_run *r, uint64_t slot)
{
	const uint64_t replica = message_replica(slot);
	const uint64_t level = message_level(slot);

	return level <= WIRE_LEVELS && replica % (UINT64_C(1) << level) == 0 &&
		replica + (UINT64_C(1) << level) <= r->replicas;
}

/* Find every error before anything is applied. */
static int
check_push(struct server_run *r, const struct message *m, struct fail *f)
{
	const float rate = message_float(m->push.rate);

	if (check_part(r, m->push.part, f) < 0)
		return -1;
	if (m->push.coded > 1)
		return fail(f, FAIL_PROTOCOL, "the coding of a gradient is 0 "
			    "or 1, not %llu",
			    (unsigned long long)m->push.coded);
	if (m->push.rate > UINT32_MAX)
		return fail(f, FAIL_PROTOCOL, "a learning rate of more than "
			    "32 bits");
	if (!isfinite(rate))
		return fail(f, FAIL_PROTOCOL, "a learning rate of %g",
			    (double)rate);
	if (m->push.attempt > 0 ? !is_node(r, m->push.slot) :
	    m->push.slot > 0)
		return fail(f, FAIL_PROTOCOL, "there is no replica %llu",
			    (unsigned long long)m->push.slot);
	return m->kind == MESSAGE_PUSHPULL ?
		shard_rows_read(r->rows, m->push.part, &m->frame[1], f) : 0;
}

/* PUSH: keys, values.  PUSHPULL: keys, keys to pull, values. */
int
server_run_push(struct server_run *r, const struct message *m,
		struct message *out, struct fail *f)
{
	const bool pulls = m->kind == MESSAGE_PUSHPULL;
	int status;

	out->kind = MESSAGE_VALUES;
	out->values.outcome = check_plan(r, m->push.run, m->push.term,
					 m->push.plan);
	if (out->values.outcome != OUTCOME_NONE)
		return 0;
	if (check_push(r, m, f) < 0)
		return -1;
	status = apply(r, m, &m->frame[pulls ? 2 : 1], out, f);
	if (status == 0 && pulls)
		shard_rows_pull(r->shard, r->rows, NULL,
				pulled_encoding(r, m->push.values),
				&out->frame[0]);
	else if (pulls)
		shard_rows_forget(r->rows);
	out->frames = pulls;
	out->values.version = shard_version(r->shard, m->push.part);
	return status;
}

/* ---- for a standby ---- */

/* Write the window of each part's steps and its version. */
static void
pack_windows(const struct server_run *r, struct pack *to)
{
	size_t parts = 0;

	for (size_t i = 0; i < r->plan.parts; i++)
		parts += r->plan.part[i].server == r->index;
	pack_array(to, 2 + 2 * parts);
	pack_uint(to, round_buffer_step(r->round_buffer));
	dedup_write(r->dedup, DEDUP_VOIDED, to);
	for (size_t i = 0; i < r->plan.parts; i++) {
		if (r->plan.part[i].server != r->index)
			continue;
		pack_uint(to, shard_version(r->shard, i));
		dedup_write(r->dedup, i, to);
	}
}

struct message
server_run_sync(const struct server_run *r, struct pack *model,
		struct pack *plan, struct pack *windows)
{
	struct message m = server_run_plan(r, dedup_low(r->dedup), model,
					   plan);

	pack_windows(r, windows);
	m.kind = MESSAGE_SYNC;		/* which begins as a PLAN does */
	m.sync.pushes = r->pushes;
	m.sync.number = m.sync.chunks = 0;
	m.sync.journal = r->journal;
	m.sync.initial = dedup_initial(r->dedup);
	m.frame[m.frames++] = (struct frame){ windows->data, windows->size,
					      NULL };
	return m;
}

static int
read_windows(struct server_run *r, const struct message *m, struct fail *f)
{
	struct unpack u = unpack_from(m->frame[2].data, m->frame[2].size);
	uint64_t round;

	unpack_array(&u);
	round = unpack_uint(&u);
	round_buffer_reset(r->round_buffer, round);
	/* Committed rounds are in no window: the high watermark is at least the
	   open round. */
	dedup_begin_reading(r->dedup, round, m->sync.initial);
	dedup_read(r->dedup, DEDUP_VOIDED, &u);
	for (size_t i = 0; i < r->plan.parts; i++) {
		if (r->plan.part[i].server != r->index)
			continue;
		shard_set_version(r->shard, i, unpack_uint(&u));
		dedup_read(r->dedup, i, &u);
	}
	return unpack_ok(&u) ? 0 : fail(f, FAIL_PROTOCOL,
					"malformed windows");
}

int
server_run_new_copy(struct server_run **to, const struct message *sync,
		    const struct server_world *world, struct fail *f)
{
	struct server_run *r = NULL;
	int status = server_run_new(&r, sync, world, f);

	if (status == 0)
		status = read_windows(r, sync, f);
	if (status != 0) {
		server_run_free(r);
		return status;
	}
	r->pushes = sync->sync.pushes;
	r->journal = sync->sync.journal;
	*to = r;
	return 0;
}

/* ---- for people, and for tests ---- */

void
server_run_text(const struct server_run *r, char *text, size_t room)
{
	snprintf(text, room, "mark %llu, %llu pushes applied, %llu repeats",
		 (unsigned long long)(r ? dedup_low(r->dedup) : 0),
		 (unsigned long long)(r ? r->pushes : 0),
		 (unsigned long long)(r ? r->repeats : 0));
}

const char *
server_run_check(const struct server_run *r)
{
	if (round_buffer_step(r->round_buffer) < dedup_low(r->dedup))
		return "server 3: the round whose turn it is has not ended";
	return dedup_check(r->dedup);
}
