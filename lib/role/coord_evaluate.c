/*
 * The coordinator's evaluations by the workers: the files are dealt out in
 * shards, one to each, and their results added up.
 */
#include "role/coord_inside.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool
evaluates(const struct member *m)
{
	return m->role == ROLE_WORKER && m->ready && worker_answers(m);
}

/* false: all are taken. */
static bool
take_shard(struct coord *c, struct member *w)
{
	if (c->shards_back_count > 0)
		w->shard = c->shards_back[--c->shards_back_count];
	else if (c->shard_next < c->shards)
		w->shard = c->shard_next++;
	else
		return false;
	return true;
}

static void
ask(struct coord *c, struct member *w, const struct pack *files)
{
	struct message m = { .kind = MESSAGE_EVALUATE };

	w->evaluating = true;
	w->request = m.request = ++c->eval_requests;
	m.evaluate.term = c->plan.term;
	m.evaluate.shard = w->shard;
	m.evaluate.shards = c->shards;
	m.evaluate.batch = c->o.batch < 256 ? 256 : c->o.batch;
	m.frames = 1;
	m.frame[0] = (struct frame){ files->data, files->size, NULL };
	if (outbox_send(c->outbox, w->peer, &m) < 0)
		workers_lost(c, w);
}

void
evaluate_give_out(struct coord *c, const struct request *r, uint64_t now)
{
	struct pack files = { 0 };
	size_t count = 0;

	for (const struct member *w = c->member; w; w = w->next)
		count += evaluates(w);
	if (count == 0)
		return;
	if (!c->evaluating) {
		c->evaluating = true;
		c->shards = c->shards_left = count;
		c->shard_next = 0;
		c->shards_back_count = 0;
		c->eval_deaths.count = 0;
		totals_reset(&c->eval, now);
	}
	if (r->files == 0 && c->o.ledger)
		ledger_write_files(c->o.ledger, &files);
	else
		pack_array(&files, r->files);
	for (size_t i = 0; i < r->files; i++)
		pack_text(&files, r->file[i]);
	for (struct member *w = c->member; w; w = w->next) {
		if (!evaluates(w) || w->evaluating)
			continue;
		if (!take_shard(c, w))
			break;
		ask(c, w, &files);
	}
	pack_release(&files);
}

void
evaluate_take_back(struct coord *c, struct member *w)
{
	if (!w->evaluating)
		return;
	w->evaluating = false;
	c->shards_back = mem_resize(c->shards_back, c->shards_back_count + 1,
				    sizeof(*c->shards_back));
	c->shards_back[c->shards_back_count++] = w->shard;
}

int
evaluate_done(struct coord *c, struct member *w, const struct message *m,
	      struct fail *f)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);
	const unsigned char *positive;
	const void *bytes;
	const bool scored = !c->eval.unscored;
	struct result r;
	size_t count;

	if (!w->evaluating || m->request != w->request)
		return 0;	/* of one that is over */
	if (result_scores(m, &bytes, &positive, &count, f) < 0)
		return -1;
	if (!result_read(&u, &r, c->metrics) ||
	    (r.scores > count && r.scores <= RESULT_SCORES))
		return fail(f, FAIL_PROTOCOL, "malformed result");

	float *scores = mem_alloc(count, sizeof(*scores));

	if (count > 0)
		memcpy(scores, bytes, count * sizeof(*scores));
	w->evaluating = false;
	totals_add(&c->eval, c, &r, scores, positive);
	if (scored && c->eval.unscored)
		report_warning(c, "eval: auc is null, for it would need more "
			       "than %zu scores", RESULT_SCORES);
	c->shards_left--;
	free(scores);
	return 0;
}

void
evaluate_refused(struct coord *c, struct member *w, const struct message *m)
{
	const struct request *r = queue_barrier(c->queue);
	char text[MESSAGE_BLOB + 1];
	struct fail why;

	if (!w->evaluating || m->request != w->request || !r)
		return;
	message_text(m, text, sizeof(text));
	fail(&why, message_status(m->refused.status), "%s", text);
	report_error(c, r->id, "eval", WIRE_NONE, w->name, why.text);
	for (struct member *o = c->member; o; o = o->next)
		o->evaluating = false;
	c->evaluating = false;
	coord_pass(c);
	end_error(c, &why);
}
