/*
 * The part of run.h that needs no client of the servers: a relay, which has
 * none, is so linked without the code that computes.
 */
#include "client/run.h"

#include <string.h>

void
run_forget(struct run *run)
{
	plan_release(&run->plan);
	model_free(run->model);
	model_source_release(&run->source);
	*run = (struct run){ 0 };
}

static enum run_news
renew(struct run *run, const struct message *m, struct fail *f)
{
	struct plan *plan = &run->plan;

	if (m->plan.plan != plan->number ||
	    memcmp(m->blob.data, plan->run, PLAN_RUN) != 0) {
		fail(f, FAIL_AGAIN, "the coordinator has begun another run");
		return RUN_REFUSED;
	}
	if (m->plan.term <= plan->term)
		return m->plan.term < plan->term ? RUN_OLDER : RUN_KNOWN;
	if (plan_renew(plan, run->model, m->plan.term, &m->frame[1], f) < 0)
		return RUN_REFUSED;
	return RUN_RENEWED;
}

enum run_news
run_take_plan(struct run *run, const struct message *m, struct fail *f)
{
	struct plan *plan = &run->plan;

	if (m->blob.size != PLAN_RUN) {
		fail(f, FAIL_PROTOCOL, "a plan without the name of its run");
		return RUN_REFUSED;
	}
	if (m->plan.batches == 0 || m->plan.batches > PLAN_BATCHES ||
	    (run->model && m->plan.batches != plan->batches)) {
		fail(f, FAIL_PROTOCOL, "a plan of %llu batches a step",
		     (unsigned long long)m->plan.batches);
		return RUN_REFUSED;
	}
	if (run->model)
		return renew(run, m, f);
	if (plan_read_model(&run->source, m->frame[0].data, m->frame[0].size,
			    f) < 0)
		return RUN_REFUSED;
	run->model = model_parse(&run->source, f);
	if (!run->model ||
	    plan_read(plan, run->model, m->frame[1].data, m->frame[1].size,
		      f) < 0)
		return RUN_REFUSED;
	plan->number = m->plan.plan;
	plan->seed = m->plan.seed;
	plan->term = m->plan.term;
	plan->batches = m->plan.batches;
	memcpy(plan->run, m->blob.data, PLAN_RUN);
	return RUN_BEGUN;
}
