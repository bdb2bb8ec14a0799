/* The cuts that a server keeps for its coordinator, and the jobs that save and
   load. */
#include "server/snapshots.h"

#include "model_fixture.h"
#include "tap.h"

static const char model[] =
	"input x float[3]\nlabel y float\na = dense x units=1\n"
	"loss mean_squared_error a\noptimizer sgd learning_rate=0.1\n";

static struct model_fixture fixture;
static struct plan plan;
static struct shard *shard;
static struct snapshots *s;
static struct server_job job;
static struct fail f;

#define checked(claim)	ok_and_sound(claim, snapshots_check(s), #claim)

static int
freeze(uint64_t number, uint64_t step, uint64_t high)
{
	return snapshots_freeze(s, shard, number, step, high, &f);
}

static int
add(enum message_kind kind, uint64_t cut, const char *name, uint64_t request)
{
	struct message m = { .kind = kind, .request = request };

	m.cut.cut = cut;
	m.cut.part = 1;
	m.cut.parts = 2;
	m.blob = (struct frame){ name, strlen(name), NULL };
	return snapshots_add_job(s, 5, &m, &f);
}

static bool
refused(enum fail_kind kind, int status)
{
	return status < 0 && f.kind == kind;
}

static void
held(void)
{
	s = snapshots_new();
	checked(!snapshots_find(s, 1) && !snapshots_have_jobs(s));
	ok(refused(FAIL_AGAIN, freeze(1, 10, 11)));
	named(strstr(f.text, "steps up to 10 are applied"),
	      "a cut below the newest applied step is refused");
	checked(freeze(1, 10, 10) == 0 && snapshots_find(s, 1));
	named_equals(freeze(1, 10, 11), 0, "a known cut is not made again");
	checked(freeze(2, 20, 10) == 0 &&
		snapshots_find(s, 1) != snapshots_find(s, 2));
	checked(snapshots_thaw(s, 1, &f) == 0 && !snapshots_find(s, 1) &&
		snapshots_find(s, 2));
	equals(snapshots_thaw(s, 1, &f), 0);
	for (uint64_t i = 3; i < 66; i++)
		if (freeze(i, i, 0) < 0)
			named(false, "64 cuts can be held");
	ok(refused(FAIL_AGAIN, freeze(66, 66, 0)));
	checked(snapshots_thaw(s, 30, &f) == 0 && freeze(66, 66, 0) == 0);
	snapshots_forget(s);
	checked(!snapshots_find(s, 2) && !snapshots_find(s, 66));
}

static void
names(void)
{
	freeze(1, 10, 0);
	ok(refused(FAIL_PROTOCOL, add(MESSAGE_SAVE, 1, "", 1)));
	ok(refused(FAIL_PROTOCOL, add(MESSAGE_SAVE, 1, ".x", 1)));
	ok(refused(FAIL_PROTOCOL, add(MESSAGE_SAVE, 1, "a/b", 1)));
	ok(refused(FAIL_PROTOCOL, add(MESSAGE_LOAD, 0, "../x", 1)));
	named(refused(FAIL_PROTOCOL, add(MESSAGE_SAVE, 7, "x", 1)) &&
	      strcmp(f.text, "no such cut") == 0,
	      "an unknown cut is not saved");
	checked(!snapshots_have_jobs(s) && !snapshots_next_job(s, &job));
}

static void
saves(void)
{
	const struct shard_snapshot *cut = snapshots_find(s, 1);

	checked(add(MESSAGE_SAVE, 1, "step-10", 21) == 0);
	ok(snapshots_next_job(s, &job) && job.kind == JOB_SAVE &&
	   job.snapshot == cut && job.part == 1 && job.parts == 2 &&
	   job.peer == 5 && job.arrays > 0 &&
	   strcmp(job.name, "step-10") == 0);
	ok(snapshots_have_jobs(s) && !snapshots_loading(s));
	named(refused(FAIL_AGAIN, snapshots_thaw(s, 1, &f)),
	      "a cut that is being saved is not released");
	freeze(2, 20, 0);
	snapshots_let_go(s);
	checked(!snapshots_find(s, 1) && !snapshots_find(s, 2));
	job.request.request = 20;
	snapshots_end_job(s, &job);
	named(snapshots_have_jobs(s),
	      "the end of a job of an earlier run ends no other job");
	checked(freeze(1, 30, 0) == 0 && snapshots_find(s, 1) != cut);
	job.request.request = 21;
	snapshots_end_job(s, &job);
	checked(!snapshots_have_jobs(s) && snapshots_find(s, 1));
	for (uint64_t i = 0; i < 63; i++)
		if (freeze(100 + i, 100, 0) < 0)
			named(false, "released cuts have made room");
	snapshots_end_job(s, &job);
	ok(!snapshots_have_jobs(s));
	snapshots_let_go(s);
}

static void
loads(void)
{
	struct server_job reset;

	freeze(1, 10, 0);
	checked(add(MESSAGE_LOAD, 0, "step-5", 31) == 0 &&
		snapshots_loading(s));
	checked(add(MESSAGE_LOAD, 0, "", 32) == 0);
	named(refused(FAIL_AGAIN, add(MESSAGE_SAVE, 1, "step-10", 33)),
	      "a shard that waits for LOAD is not saved");
	named(!snapshots_take_reset(s, &reset),
	      "a reset waits for the jobs before it");
	ok(snapshots_next_job(s, &job) && job.kind == JOB_LOAD &&
	   job.request.request == 31 && !job.snapshot);
	snapshots_end_job(s, &job);
	ok(snapshots_take_reset(s, &reset) && reset.request.request == 32);
	checked(!snapshots_have_jobs(s) && !snapshots_loading(s) &&
		!snapshots_take_reset(s, &reset));
	for (uint64_t i = 0; i < 64; i++)
		if (add(MESSAGE_LOAD, 0, "step-5", 40 + i) < 0)
			named(false, "64 jobs can wait");
	ok(refused(FAIL_AGAIN, add(MESSAGE_LOAD, 0, "step-5", 104)));
	snapshots_forget(s);
	checked(!snapshots_have_jobs(s) && !snapshots_find(s, 1));
}

int
main(void)
{
	char *endpoint[] = { (char *)(uintptr_t)"-" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	free(place);
	shard = shard_new(&plan, fixture.model, 0, NULL);
	held();
	names();
	saves();
	loads();
	snapshots_free(s);
	snapshots_free(NULL);
	shard_free(shard);
	plan_release(&plan);
	fixture_end(&fixture);
	return tap_done();
}
