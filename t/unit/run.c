/* The run that a worker or an evaluator takes part in, as its PLANs describe
   it. */
#include "client/run.h"

#include "code_all.h"
#include "model_fixture.h"
#include "post.h"

static const char model[] =
	"input x float[3]\nlabel y float\na = dense x units=1\n"
	"loss mean_squared_error a\noptimizer sgd\n";

static struct model_fixture fixture;
static struct plan plan;
static struct pack model_frame, plan_frame;
static struct run run;
static struct fail f;

static struct message
plan_of(uint64_t term)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	m.plan.plan = 1;
	m.plan.term = term;
	m.plan.seed = 9;
	m.plan.batches = 4;
	m.blob = (struct frame){ "a run, 16 bytes!", PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return m;
}

static enum run_news
take(const struct message *m)
{
	f = (struct fail){ 0 };
	return run_take_plan(&run, m, &f);
}

static void
malformed(void)
{
	struct message m = plan_of(2);

	m.blob.size = 15;
	ok(take(&m) == RUN_REFUSED && f.kind == FAIL_PROTOCOL);
	m = plan_of(2);
	m.plan.batches = 0;
	ok(take(&m) == RUN_REFUSED && strstr(f.text, "0 batches"));
	m.plan.batches = PLAN_BATCHES + 1;
	ok(take(&m) == RUN_REFUSED && strstr(f.text, "4097 batches"));
	m = plan_of(2);
	m.frame[0].size--;
	ok(take(&m) == RUN_REFUSED && f.kind != 0);
	named(!run.model, "no malformed plan is taken");
	run_release(&run);
	m = plan_of(2);
	m.frame[1].size--;
	ok(take(&m) == RUN_REFUSED && f.kind != 0);
	run_release(&run);
}

static void
terms(void)
{
	struct message m = plan_of(2);

	equals(take(&m), RUN_BEGUN);
	ok(run.model && run.plan.number == 1 && run.plan.term == 2 &&
	   run.plan.seed == 9 && codings_exact(run.plan.codings) &&
	   memcmp(run.plan.run, "a run, 16 bytes!", PLAN_RUN) == 0);
	equals(take(&m), RUN_KNOWN);
	m = plan_of(1);
	ok(take(&m) == RUN_OLDER && run.plan.term == 2);
	m = plan_of(3);
	code_all(&plan, run.model, &codec_bfloat16);
	pack_reset(&plan_frame);
	plan_write(&plan_frame, &plan);
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	ok(take(&m) == RUN_RENEWED && run.plan.term == 3 &&
	   codings_same(run.plan.codings, plan.codings));
	m = plan_of(4);
	m.plan.batches = 5;
	named(take(&m) == RUN_REFUSED && run.plan.batches == 4,
	      "a plan with another number of batches is refused");
	m = plan_of(4);
	m.frame[1].size--;
	ok(take(&m) == RUN_REFUSED && f.kind != 0 && run.plan.term == 3);
	m = plan_of(4);
	m.plan.plan = 2;
	ok(take(&m) == RUN_REFUSED && f.kind == FAIL_AGAIN);
	m = plan_of(4);
	m.blob.data = "another run, too";
	named(take(&m) == RUN_REFUSED && f.kind == FAIL_AGAIN &&
	      strcmp(f.text, "the coordinator has begun another run") == 0,
	      "a plan of another run is refused");
}

static void
dialled(void)
{
	post_cannot_dial = true;
	ok(run_dial(&run, ROLE_WORKER, 7, &post, 0, &f) < 0 &&
	   f.kind == FAIL_PEER && !run.client);
	post_cannot_dial = false;
	equals(run_dial(&run, ROLE_EVALUATOR, 7, &post, 0, &f), 0);
	client_up(run.client, 1001, 0);
	ok(says(1001, MESSAGE_HELLO) && last_posted->m.hello.life == 7 &&
	   last_posted->m.hello.role == ROLE_EVALUATOR);
	run_release(&run);
	ok(!run.model && !run.client && post_hung_up == 1001);
}

int
main(void)
{
	char *endpoint[] = { (char *)(uintptr_t)"node:1" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	free(place);
	plan_write_model(&model_frame, &fixture.source);
	plan_write(&plan_frame, &plan);
	malformed();
	terms();
	dialled();
	pack_release(&model_frame);
	pack_release(&plan_frame);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
