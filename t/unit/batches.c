/* The batches that a worker has read, and the end of its data. */
#include "worker/batches.h"

#include "model_fixture.h"
#include "tap.h"

static struct model_fixture fixture;
static struct batches *batches;
static struct batch batch;

static void
begin(void)
{
	size_t inputs;
	const struct input *input = model_inputs(fixture.model, &inputs);

	batches = batches_new();
	batches_begin(batches, input, inputs, model_label(fixture.model));
	batch_begin(&batch, input, inputs, model_label(fixture.model));
}

static void
end(void)
{
	ok_and_sound(true, batches_check(batches),
		     "the invariants of the batches hold at the end");
	batch_release(&batch);
	batches_free(batches);
}

static void
put(size_t examples, uint64_t asked, uint64_t lease)
{
	batch.examples = examples;
	batches_put(batches, &batch, asked, lease);
}

static void
test_take(void)
{
	uint64_t lease;

	begin();
	ok(batches_want(batches) && !batches_have(batches, &lease));
	equals(batches_take(batches, &batch, 4, 1), BATCH_NONE);
	put(3, 4, 9);
	named(!batches_want(batches) && batches_have(batches, &lease) &&
	      lease == 9, "one batch is read ahead, for its lease");
	named(batches_take(batches, &batch, 4, 1) == BATCH_TAKEN &&
	      batch.examples == 3 && batches_want(batches),
	      "a step takes the batch although it has fewer examples than "
	      "were asked for");
	put(4, 4, 9);
	batches_assign(batches, 10);
	ok(batches_have(batches, &lease) && lease == 10);
	batches_drop(batches);
	ok(batches_want(batches));
	end();
}

static void
test_data_sets(void)
{
	begin();
	put(4, 4, 9);
	named_equals(batches_take(batches, &batch, 4, 2), BATCH_REJECTED,
		     "a step of another data set rejects the batch");
	ok(batches_put_back(batches, &batch) && batch.examples == 4);
	batch.each = mem_alloc(2, sizeof(*batch.each));
	batch.datasets = 2;
	batch.each[1] = 3;
	put(3, 4, 9);
	equals(batches_take(batches, &batch, 4, 3), BATCH_REJECTED);
	ok(batches_put_back(batches, &batch));
	put(3, 4, 9);
	ok(batches_take(batches, &batch, 4, 2) == BATCH_TAKEN &&
	   batch.each[1] == 3);
	end();
}

static void
test_put_back(void)
{
	struct fail why;
	const struct fail *is;

	fail(&why, FAIL_DATA, "no number");
	begin();
	put(4, 4, 0);
	ok(!batches_put_back(batches, &batch));
	named_equals(batches_take(batches, &batch, 3, 1), BATCH_REJECTED,
		     "a step of another size rejects the batch");
	named_equals(batches_take(batches, &batch, 4, 1), BATCH_NONE,
		     "a rejected batch is not there for a later step");
	batches_end(batches, UINT64_MAX, &why);
	ok(!batches_ended(batches, &is));
	named(batches_put_back(batches, &batch) && batch.examples == 4 &&
	      batches_want(batches),
	      "examples that are put back can be read again, even after the "
	      "end of the data");
	batch.examples = 5;
	batches_return(batches, &batch);
	ok(!batches_want(batches) && batches_put_back(batches, &batch) &&
	   batch.examples == 5);
	end();
}

static void
test_end(void)
{
	const struct fail *why;
	uint64_t records;

	begin();
	put(2, 4, 9);
	batches_end(batches, 42, NULL);
	named(!batches_want(batches) && !batches_ended(batches, &why),
	      "the end of the data waits until the last batch was taken");
	batches_take(batches, &batch, 4, 1);
	ok(batches_ended(batches, &why) && why->kind == 0);
	ok(!batches_report(batches, &records));
	batches_exhaust(batches);
	ok(batches_are_exhausted(batches) && !batches_ended(batches, &why));
	ok(batches_report(batches, &records) && records == 42);
	named(!batches_report(batches, &records),
	      "the end of the data is reported once in a term");
	batches_begin_term(batches);
	ok(batches_are_exhausted(batches) &&
	   batches_report(batches, &records) && records == 42);
	end();
}

int
main(void)
{
	fixture_begin(&fixture, "input x float[2]\nlabel y float\n"
		      "p = dense x units=1\nloss mean_squared_error p\n");
	test_take();
	test_data_sets();
	test_put_back();
	test_end();
	fixture_end(&fixture);
	return tap_done();
}
