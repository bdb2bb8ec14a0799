/*
 * The coordinator's evaluations by the workers: the files are dealt out in
 * shards, one to each, and their results added up.
 */
#include "coord/coord_evaluate.h"

#include "base/mem.h"
#include "coord/coord_ending.h"
#include "coord/coord_journal.h"
#include "coord/coord_members.h"
#include "coord/coord_report.h"
#include "wire/result.h"

#include <stdlib.h>
#include <string.h>

/* What a worker is at. */
struct scorer {
	bool evaluating;
	uint64_t shard, request;
};

struct shards {
	struct scorer *of;		/* each member */
	size_t room;
	bool begun;
	uint64_t count, unscored, next, requests;
	uint64_t *back;			/* to be given out again */
	size_t backs;
	struct deaths deaths;		/* of each */
	struct totals totals;
};

void
evaluate_init(struct coord *c)
{
	c->shards = mem_alloc(1, sizeof(*c->shards));
}

void
evaluate_release(struct coord *c)
{
	if (!c->shards)
		return;
	totals_release(&c->shards->totals);
	free(c->shards->of);
	deaths_release(&c->shards->deaths);
	free(c->shards->back);
	free(c->shards);
}

static struct scorer *
scorer(const struct coord *c, const struct member *w)
{
	return &c->shards->of[w->at];
}

void
evaluate_join(struct coord *c, const struct member *w)
{
	struct shards *s = c->shards;

	s->of = members_room(s->of, &s->room, w, sizeof(*s->of));
}

static bool
evaluates(const struct member *m)
{
	return m->role == ROLE_WORKER && m->ready && worker_answers(m);
}

/* false: all are taken. */
static bool
take_shard(struct coord *c, struct member *w)
{
	if (c->shards->backs > 0)
		scorer(c, w)->shard = c->shards->back[--c->shards->backs];
	else if (c->shards->next < c->shards->count)
		scorer(c, w)->shard = c->shards->next++;
	else
		return false;
	return true;
}

void
evaluate_take_back(struct coord *c, struct member *w)
{
	if (!scorer(c, w)->evaluating)
		return;
	scorer(c, w)->evaluating = false;
	c->shards->back = mem_resize(c->shards->back, c->shards->backs + 1,
				    sizeof(*c->shards->back));
	c->shards->back[c->shards->backs++] = scorer(c, w)->shard;
}

static void
ask(struct coord *c, struct member *w, const struct pack *files)
{
	struct message m = { .kind = MESSAGE_EVALUATE };

	scorer(c, w)->evaluating = true;
	scorer(c, w)->request = m.request = ++c->shards->requests;
	m.evaluate.term = c->plan.term;
	m.evaluate.shard = scorer(c, w)->shard;
	m.evaluate.shards = c->shards->count;
	m.evaluate.batch = c->o.batch < 256 ? 256 : c->o.batch;
	m.frames = 1;
	m.frame[0] = (struct frame){ files->data, files->size, NULL };
	if (outbox_send(c->outbox, w->peer, &m) < 0) {
		evaluate_take_back(c, w);	/* it never had that one */
		w->unreachable = true;
	}
}

/* Begin, if it has not begun, and give a shard to each who has none. */
static void
give_out(struct coord *c, const struct request *r, uint64_t now)
{
	struct pack files = { 0 };
	size_t count = 0;

	for (const struct member *w = c->member; w; w = w->next)
		count += evaluates(w);
	if (count == 0)
		return;
	if (!c->shards->begun) {
		c->shards->begun = true;
		c->shards->count = c->shards->unscored = count;
		c->shards->next = 0;
		c->shards->backs = 0;
		deaths_release(&c->shards->deaths);
		totals_reset(&c->shards->totals, now);
		c->shards->totals.evaluates = true;
	}
	if (r->files == 0 && c->o.sampler)
		sampler_write_files(c->o.sampler, &files);
	else
		pack_array(&files, r->files);
	for (size_t i = 0; i < r->files; i++)
		pack_text(&files, r->file[i]);
	for (struct member *w = c->member; w; w = w->next) {
		if (!evaluates(w) || scorer(c, w)->evaluating)
			continue;
		if (!take_shard(c, w))
			break;
		ask(c, w, &files);
	}
	pack_release(&files);
}

int
evaluate_advance(struct coord *c, const struct request *r, uint64_t now)
{
	if (!c->shards->begun || c->shards->unscored > 0) {
		give_out(c, r, now);
		return 0;
	}
	c->shards->begun = false;
	report_totals(c, r, "eval", &c->shards->totals, now, NULL);
	return 1;
}

void
evaluate_give_up(struct coord *c)
{
	c->shards->begun = false;
}

static void
evaluation_failed(struct coord *c, const struct member *w,
		  const struct fail *why)
{
	const struct request *r = queue_barrier(c->queue);
	const struct request asked = { .owner = r->owner };

	report_error(c, r, "eval", WIRE_NONE, w->name, why->text);
	for (struct member *o = c->member; o; o = o->next)
		scorer(c, o)->evaluating = false;
	c->shards->begun = false;
	journal_pass(c);
	ending_error(c, &asked, why);
}

void
evaluate_died(struct coord *c, const struct member *w)
{
	struct fail why;

	if (!scorer(c, w)->evaluating ||
	    !deaths_add(&c->shards->deaths, scorer(c, w)->shard) ||
	    !queue_barrier(c->queue))
		return;
	fail(&why, FAIL_DATA, "%d workers died under it", QUEUE_DEATHS);
	evaluation_failed(c, w, &why);
}

int
evaluate_done(struct coord *c, struct member *w, const struct message *m,
	      struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	const bool scored = !c->shards->totals.unscored;
	struct result r;
	struct fail why;
	size_t count;

	if (!scorer(c, w)->evaluating || m->request != scorer(c, w)->request)
		return 0;	/* of one that is over */
	if (result_scores(m, &bytes, &positive, &count, f) < 0)
		return -1;
	if (!result_read(&u, &r, c->metrics) ||
	    (r.scores > count && r.scores <= RESULT_SCORES))
		return fail(f, FAIL_PROTOCOL, "malformed result");

	float *scores = mem_alloc(count, sizeof(*scores));

	if (count > 0)
		memcpy(scores, bytes, count * sizeof(*scores));
	scorer(c, w)->evaluating = false;
	totals_add(&c->shards->totals, c, &r, scores, positive);
	if (scored && c->shards->totals.unscored)
		report_warning(c, "eval: auc is null, for it would need more "
			       "than %zu scores", RESULT_SCORES);
	c->shards->unscored--;
	free(scores);
	if (totals_add_noes(&c->shards->totals, &r, w->name, &why) < 0 &&
	    queue_barrier(c->queue))
		evaluation_failed(c, w, &why);
	return 0;
}

void
evaluate_refused(struct coord *c, struct member *w, const struct message *m)
{
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	if (!scorer(c, w)->evaluating || m->request != scorer(c, w)->request ||
	    !queue_barrier(c->queue))
		return;
	message_text(m, text, sizeof(text));
	fail(&why, message_status(m->refused.status), "%s", text);
	evaluation_failed(c, w, &why);
}

/* ---- what always holds ---- */

static const char *
check_scorers(const struct coord *c)
{
	for (const struct member *m = c->member; m; m = m->next) {
		const struct scorer *s = scorer(c, m);

		if (m->gone && s->evaluating)
			return "coord 6: nothing is expected of a member that "
				"is gone";
		for (const struct member *o = m->next; o; o = o->next)
			if (!m->gone && !o->gone && s->evaluating &&
			    scorer(c, o)->evaluating &&
			    s->shard == scorer(c, o)->shard)
				return "coord 9: a shard is scored by one "
					"worker";
	}
	return NULL;
}

const char *
evaluate_check(const struct coord *c)
{
	const struct shards *s = c->shards;
	uint64_t unscored = s->count - s->next + s->backs;
	const char *violation = check_scorers(c);

	if (violation)
		return violation;

	if (!s->begun || ending_state(c) == ENDING_DRAIN ||
	    c->phase != PHASE_RUN)
		return NULL;
	for (const struct member *m = c->member; m; m = m->next)
		unscored += scorer(c, m)->evaluating;
	return unscored == s->unscored ? NULL :
		"coord 30: a shard that is left waits, or is being scored";
}
