/* A condition is a metric, a relation and a number; anything else is
   refused. */
#include "client/stop_condition.h"
#include "model_fixture.h"

#include "tap.h"

static const char model[] =
	"input  x float[1]\n"
	"label  y float\n"
	"p    = dense x units=1\n"
	"loss   mean_squared_error p\n"
	"metric mean_squared_error p\n";

static bool
reads(const char *text, const char *metric, enum relation is, double value)
{
	struct stop_condition u = { 0 };

	return stop_condition_read(&u, text) && strcmp(u.metric, metric) == 0 &&
		u.is == is && u.value >= value && u.value <= value;
}

static bool
refuses(const char *text)
{
	struct stop_condition u = { 0 };

	return !stop_condition_read(&u, text);
}

static void
test_reading(void)
{
	char name[CONDITION_NAME + 8];

	ok(reads("auc>=0.9", "auc", CONDITION_GE, 0.9));
	ok(reads("auc>0.9", "auc", CONDITION_GT, 0.9));
	ok(reads("loss<=1e-3", "loss", CONDITION_LE, 1e-3));
	ok(reads("loss < -1", "loss", CONDITION_LT, -1));
	ok(reads("accuracy == 1", "accuracy", CONDITION_EQ, 1));
	ok(refuses("") && refuses(">1") && refuses("auc") && refuses("auc>"));
	ok(refuses("auc=1") && refuses("auc=>1") && refuses("auc!=1"));
	ok(refuses("auc>1 2") && refuses("auc>x") && refuses("auc>nan"));
	memset(name, 'a', CONDITION_NAME);
	strcpy(name + CONDITION_NAME, ">1");
	ok(refuses(name));
	ok(!refuses(name + 1));
}

static int
holds(const char *text, const struct evaluation *e)
{
	struct stop_condition u = { 0 };
	struct fail f;

	if (!stop_condition_read(&u, text))
		return -2;
	return stop_condition_holds(&u, e, &f);
}

static void
test_holding(void)
{
	const struct stop_condition none = { 0 };
	struct evaluation e;
	struct model_fixture r;
	struct fail f;

	fixture_begin(&r, model);
	evaluation_open(&e, r.model, NULL);
	ok(holds("loss<1", &e) == 0 && holds("loss>=1", &e) == 0);
	equals(holds("mean_squared_error<1", &e), 0);
	equals(holds("auc>0", &e), -1);

	feature_add_value(&r.batch.feature[0], 0, 1);
	feature_add_value(&r.batch.label, 0, 2);
	r.batch.examples = 1;
	evaluation_begin(&e, &r.batch);
	for (size_t v = 0; v < r.variables; v++)
		*compute_value(e.compute, v) = 0;
	/* The error is 2, its square 4. */
	equals(evaluation_end(&e, true, &f), 0);
	ok(holds("loss==4", &e) == 1 && holds("loss>4", &e) == 0);
	ok(holds("loss>=4", &e) == 1 && holds("loss<=4", &e) == 1);
	ok(holds("loss<4", &e) == 0 && holds("loss<4.1", &e) == 1);
	ok(holds("mean_squared_error==4", &e) == 1);
	equals(stop_condition_holds(&none, &e, &f), 0);
	evaluation_close(&e);
	fixture_end(&r);
}

int
main(void)
{
	test_reading();
	test_holding();
	return tap_done();
}
