/* Which steps a server has applied: each counts once for each part. */
#include "server/dedup.h"

#include "model_fixture.h"
#include "tap.h"

#define FIRST	10	/* the step that a run begins with */

/* Two parts of the server, and one of another server. */
static const char model[] =
	"input x float[2]\nlabel y float\n"
	"a = dense x units=1\nloss mean_squared_error a\n"
	"optimizer sgd learning_rate=0.1\n";

static struct model_fixture fixture;
static struct piece piece[] = { { .variable = 0 }, { .variable = 1 } };
static struct part part[] = { { 0, 0, 1 }, { 0, 1, 1 }, { 1, 0, 1 } };
static struct plan plan = { .servers = 2, .pieces = 2, .piece = piece,
			    .parts = 3, .part = part };
static struct dedup *d;
static struct fail f;

static bool
forgets(void)
{
	return true;
}

#define checked(claim)	ok_and_sound(claim, dedup_check(d), #claim)

static bool
settled(uint64_t step)
{
	struct window steps = { 0 };
	bool has;

	dedup_settled(d, &steps);
	has = window_has(&steps, step);
	window_release(&steps);
	return has;
}

static void
judgement(void)
{
	checked(dedup_low(d) == FIRST && dedup_high(d) == 0 &&
		dedup_initial(d));
	named_equals(dedup_judge(d, 0, FIRST - 1), OUTCOME_DUP,
		     "a step below the low watermark is a duplicate");
	equals(dedup_judge(d, 0, FIRST), OUTCOME_APPLIED);
	equals(dedup_judge(d, 0, FIRST + WINDOW - 1), OUTCOME_APPLIED);
	named_equals(dedup_judge(d, 0, FIRST + WINDOW), OUTCOME_LATER,
		     "a step beyond the window is postponed");
	dedup_add(d, 0, 12);
	checked(!dedup_initial(d) && dedup_high(d) == 13);
	equals(dedup_judge(d, 0, 12), OUTCOME_DUP);
	named_equals(dedup_judge(d, 1, 12), OUTCOME_APPLIED,
		     "a step applied to one part is still new to another part");
	dedup_add(d, 0, 11);
	checked(dedup_high(d) == 13);
	dedup_count(d, 13);
	checked(dedup_high(d) == 14 &&
		dedup_judge(d, 0, 13) == OUTCOME_APPLIED);
}

static void
voided(void)
{
	checked(dedup_void(d, 5, 5, &f) == 0);
	ok(!window_has(dedup_voided(d), FIRST));
	checked(dedup_void(d, 5, 6, &f) == 0);
	named(window_has(dedup_voided(d), FIRST) &&
	      !window_has(dedup_voided(d), FIRST + 1) &&
	      dedup_judge(d, 1, FIRST) == OUTCOME_VOID,
	      "a void range marks only the steps that are not below the "
	      "watermark");
	ok(dedup_void(d, FIRST + 1, WINDOW, &f) < 0 &&
	   f.kind == FAIL_PROTOCOL);
	ok(dedup_void(d, 20, WINDOW + 1, &f) < 0);
	ok(dedup_void(d, UINT64_MAX - 1, 2, &f) < 0);
	checked(!window_has(dedup_voided(d), FIRST + 1));
}

static void
settlement(void)
{
	dedup_add(d, 1, 12);
	dedup_add(d, 1, 14);
	dedup_add(d, 2, 14);
	named(settled(12),
	      "a step that all parts of this server have is settled");
	named(!settled(14) && !settled(11),
	      "a step that a part lacks is not settled");
	named(settled(FIRST), "a void step is settled");
}

static void
watermark(void)
{
	ok(!dedup_raise(d, FIRST));
	checked(dedup_raise(d, 13) && dedup_low(d) == 13);
	equals(dedup_judge(d, 0, 12), OUTCOME_DUP);
	named(dedup_judge(d, 0, 12 + WINDOW) == OUTCOME_APPLIED &&
	      dedup_judge(d, 0, FIRST + WINDOW) == OUTCOME_APPLIED,
	      "steps below the watermark leave the window, both applied and "
	      "void ones");
}

/* A standby receives a copy, and has the same state. */
static void
copy(void)
{
	struct dedup *to =
		dedup_new(&plan, fixture.model, 0, dedup_low(d), NULL);
	const size_t of[] = { 0, 1, 2, DEDUP_VOIDED };
	struct pack bytes = { 0 };
	struct unpack u;

	dedup_add(d, 0, 40);
	dedup_void(d, 20, 2, &f);
	for (size_t i = 0; i < 4; i++)
		dedup_write(d, of[i], &bytes);
	u = unpack_from(bytes.data, bytes.size);
	dedup_begin_reading(to, 14, false);
	named(dedup_high(to) == 14 && !dedup_initial(to),
	      "a copy has the high watermark that the standby was sent");
	for (size_t i = 0; i < 4; i++)
		dedup_read(to, of[i], &u);
	ok(!u.bad && !dedup_check(to));
	named_equals(dedup_high(to), 41,
		     "the high watermark follows the newest step of the copy");
	for (uint64_t step = 13; step < 60; step++)
		for (size_t i = 0; i < 3; i++)
			if (dedup_judge(to, i, step) !=
			    dedup_judge(d, i, step))
				named(false,
				      "the copy and the original judge every "
				      "step alike");
	ok(dedup_judge(to, 1, 14) == OUTCOME_DUP &&
	   dedup_judge(to, 0, 21) == OUTCOME_VOID);
	dedup_begin_reading(to, 41, true);
	named(dedup_check(to),
	      "initial values with an applied step break an invariant");
	dedup_begin_reading(to, 14, false);
	named(dedup_check(to),
	      "a step beyond the high watermark breaks an invariant");
	dedup_free(to);
	pack_release(&bytes);
}

int
main(void)
{
	fixture_begin(&fixture, model);
	d = dedup_new(&plan, fixture.model, 0, FIRST, NULL);
	judgement();
	voided();
	settlement();
	watermark();
	copy();
	dedup_go_back(d, 5, false);
	checked(dedup_low(d) == 5 && dedup_high(d) == 5 && !dedup_initial(d));
	named(dedup_judge(d, 0, 40) == OUTCOME_APPLIED &&
	      dedup_judge(d, 0, 20) == OUTCOME_APPLIED,
	      "steps after the point that a server went back to are new "
	      "again");
	dedup_free(d);
	d = dedup_new(&plan, fixture.model, 0, FIRST, forgets);
	dedup_add(d, 0, 12);
	named_equals(dedup_judge(d, 0, 12), OUTCOME_APPLIED,
		     "a record that forgets, the deliberate bug, applies a "
		     "step twice");
	dedup_go_back(d, 7, true);
	checked(dedup_low(d) == 7 && dedup_initial(d));
	ok(dedup_void(d, 8, WINDOW, &f) < 0);
	named(dedup_void(d, 7, WINDOW, &f) == 0 &&
	      dedup_judge(d, 0, 7 + WINDOW - 1) == OUTCOME_VOID,
	      "a whole window of steps can be void");
	dedup_free(d);
	dedup_free(NULL);
	fixture_end(&fixture);
	return tap_done();
}
