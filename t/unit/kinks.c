/*
 * Functions at kinks, floors and ends, and far beyond, compared with Keras
 * 3.15.1 and TensorFlow 2.21.0 in double precision.  Where two numbers tie the
 * slope is a matter of choice, and is chosen as there.  Then sums of so many
 * numbers, or of numbers so far apart, that floats could not hold them.
 */
#include "model_fixture.h"

#include "base/flush_denormals.h"
#include "model/loss.h"
#include "tap.h"

#include <math.h>

static bool
near(double got, double want, double relative, double absolute)
{
	return got == want || (isnan(got) && isnan(want)) ||
	       fabs(got - want) <= absolute + relative * fabs(want);
}

/* ---- activations ---- */

static const float at[] = {
	0, -0.f, 1e-30f, -1e-10f, 1e-7f, -1e-7f, .001f, -.001f, .5f, -.5f, 1,
	-1, 3, -3, 4, -4, 6, -6, 9, -9, 20, -20, 88, -88, 104, -104, 1e10f,
	-1e10f, 1e30f, -1e30f
};

#define POINTS	(sizeof(at) / sizeof(*at))

static const struct {
	const char *name;
	float y[POINTS], slope[POINTS];
} activations[] = {
	{ "relu",
	  { 0, 0, 1e-30f, 0, 1e-7f, 0, .001f, 0, .5f, 0, 1, 0, 3, 0, 4, 0, 6,
	    0, 9, 0, 20, 0, 88, 0, 104, 0, 1e10f, 0, 1e30f, 0 },
	  { 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0,
	    1, 0, 1, 0, 1, 0, 1, 0 } },
	{ "relu6",
	  { 0, 0, 1e-30f, 0, 1e-7f, 0, .001f, 0, .5f, 0, 1, 0, 3, 0, 4, 0, 6,
	    0, 6, 0, 6, 0, 6, 0, 6, 0, 6, 0, 6, 0 },
	  { 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	    0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "leaky_relu",
	  { 0, -0.f, 1e-30f, -2.0000001e-11f, 1e-7f, -2.0000001e-8f, .001f,
	    -.00020000001f, .5f, -.1f, 1, -.2f, 3, -.60000001f, 4,
	    -.80000001f, 6, -1.2f, 9, -1.8f, 20, -4.0000001f, 88, -17.6f, 104,
	    -20.8f, 1e10f, -2e9f, 1e30f, -2.0000001e29f },
	  { .2f, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f,
	    1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f, 1, .2f } },
	{ "sigmoid",
	  { .5f, .5f, .5f, .5f, .50000003f, .49999997f, .50025f, .49975f,
	    .62245933f, .37754067f, .73105858f, .26894142f, .95257413f,
	    .047425873f, .98201379f, .01798621f, .99752738f, .0024726232f,
	    .99987661f, .00012339458f, 1, 2.0611536e-9f, 1, 0, 1, 0, 1, 0, 1,
	    0 },
	  { .25f, .25f, .25f, .25f, .25f, .25f, .24999994f, .24999994f,
	    .23500371f, .23500371f, .19661193f, .19661193f, .04517666f,
	    .04517666f, .017662706f, .017662706f, .0024665093f, .0024665093f,
	    .00012337935f, .00012337935f, 2.0611536e-9f, 2.0611536e-9f, 0, 0,
	    0, 0, 0, 0, 0, 0 } },
	{ "hard_sigmoid",
	  { .5f, .5f, .5f, .5f, .50000002f, .49999998f, .50016667f,
	    .49983333f, .58333333f, .41666667f, .66666667f, .33333333f, 1, 0,
	    1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 },
	  { .16666667f, .16666667f, .16666667f, .16666667f, .16666667f,
	    .16666667f, .16666667f, .16666667f, .16666667f, .16666667f,
	    .16666667f, .16666667f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	    0, 0, 0, 0 } },
	{ "tanh",
	  { 0, -0.f, 1e-30f, -1e-10f, 1e-7f, -1e-7f, .00099999971f,
	    -.00099999971f, .46211716f, -.46211716f, .76159416f, -.76159416f,
	    .99505475f, -.99505475f, .9993293f, -.9993293f, .99998771f,
	    -.99998771f, .99999997f, -.99999997f, 1, -1, 1, -1, 1, -1, 1, -1,
	    1, -1 },
	  { 1, 1, 1, 1, 1, 1, .999999f, .999999f, .78644773f, .78644773f,
	    .41997434f, .41997434f, .0098660372f, .0098660372f, .0013409507f,
	    .0013409507f, 2.4576547e-5f, 2.4576547e-5f, 6.0919918e-8f,
	    6.0919918e-8f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "gelu",
	  { 0, -0.f, 5e-31f, -5.0000001e-11f, 5.0000005e-8f, -4.9999997e-8f,
	    .00050039897f, -.00049960108f, .34573123f, -.15426877f,
	    .84134474f, -.15865526f, 2.9959503f, -.0040496948f, 3.9998733f,
	    -.000126685f, 6, -5.9195296e-9f, 9, -1.015731e-18f, 20, 0, 88,
	    -0.f, 104, -0.f, 1e10f, -0.f, 1e30f, -0.f },
	  { .5f, .5f, .5f, .5f, .50000008f, .49999992f, .50079788f,
	    .49920212f, .86749512f, .13250488f, 1.0833155f, -.083315466f,
	    1.0119456f, -.011945649f, 1.0005036f, -.00050364979f, 1,
	    -3.5468731e-8f, 1, -9.1389499e-18f, 1, 0, 1, 0, 1, 0, 1, 0, 1,
	    0 } },
	{ "elu",
	  { 0, -0.f, 1e-30f, -1.0000001e-10f, 1e-7f, -9.9999996e-8f, .001f,
	    -.00099950021f, .5f, -.39346934f, 1, -.63212056f, 3, -.95021293f,
	    4, -.98168436f, 6, -.99752125f, 9, -.99987659f, 20, -1, 88, -1,
	    104, -1, 1e10f, -1, 1e30f, -1 },
	  { 1, 1, 1, 1, 1, .9999999f, 1, .9990005f, 1, .60653066f, 1,
	    .36787944f, 1, .049787068f, 1, .018315639f, 1, .0024787522f, 1,
	    .0001234098f, 1, 2.0611536e-9f, 1, 0, 1, 0, 1, 0, 1, 0 } },
	{ "selu",
	  { 0, -0.f, 1.050701e-30f, -1.7580995e-10f, 1.050701e-7f,
	    -1.7580993e-7f, .001050701f, -.0017572207f, .52535049f,
	    -.69175819f, 1.050701f, -1.1113307f, 3.152103f, -1.6705687f,
	    4.2028039f, -1.7258986f, 6.3042059f, -1.7537414f, 9.4563089f,
	    -1.7578824f, 21.01402f, -1.7580993f, 92.461687f, -1.7580993f,
	    109.2729f, -1.7580993f, 1.050701e10f, -1.7580993f, 1.050701e30f,
	    -1.7580993f },
	  { 1.050701f, 1.050701f, 1.050701f, 1.7580993f, 1.050701f,
	    1.7580992f, 1.050701f, 1.7563421f, 1.050701f, 1.0663412f,
	    1.050701f, .6467686f, 1.050701f, .087530612f, 1.050701f,
	    .032200713f, 1.050701f, .0043578926f, 1.050701f, .0002169667f,
	    1.050701f, 3.6237127e-9f, 1.050701f, 0, 1.050701f, 0, 1.050701f,
	    0, 1.050701f, 0 } },
	{ "softplus",
	  { .69314718f, .69314718f, .69314718f, .69314718f, .69314723f,
	    .69314713f, .69364731f, .69264731f, .97407698f, .47407698f,
	    1.3132617f, .31326169f, 3.0485874f, .048587352f, 4.0181499f,
	    .018149928f, 6.0024757f, .0024756851f, 9.0001234f, .00012340219f,
	    20, 2.0611536e-9f, 88, 0, 104, 0, 1e10f, 0, 1e30f, 0 },
	  { .5f, .5f, .5f, .5f, .50000003f, .49999997f, .50025f, .49975f,
	    .62245933f, .37754067f, .73105858f, .26894142f, .95257413f,
	    .047425873f, .98201379f, .01798621f, .99752738f, .0024726232f,
	    .99987661f, .00012339458f, 1, 2.0611536e-9f, 1, 0, 1, 0, 1, 0, 1,
	    0 } },
	{ "softsign",
	  { 0, -0.f, 1e-30f, -1e-10f, 9.9999991e-8f, -9.9999991e-8f,
	    .00099900105f, -.00099900105f, .33333333f, -.33333333f, .5f, -.5f,
	    .75f, -.75f, .8f, -.8f, .85714286f, -.85714286f, .9f, -.9f,
	    .95238095f, -.95238095f, .98876404f, -.98876404f, .99047619f,
	    -.99047619f, 1, -1, 1, -1 },
	  { 1, 1, 1, 1, .9999998f, .9999998f, .998003f, .998003f, .44444444f,
	    .44444444f, .25f, .25f, .0625f, .0625f, .04f, .04f, .020408163f,
	    .020408163f, .01f, .01f, .0022675737f, .0022675737f,
	    .00012624669f, .00012624669f, 9.0702948e-5f, 9.0702948e-5f,
	    1e-20f, 1e-20f, 0, 0 } },
	{ "silu",
	  { 0, -0.f, 5e-31f, -5.0000001e-11f, 5.0000003e-8f, -4.9999998e-8f,
	    .00050025002f, -.00049975002f, .31122967f, -.18877033f,
	    .73105858f, -.26894142f, 2.8577224f, -.14227762f, 3.9280552f,
	    -.07194484f, 5.9851643f, -.014835739f, 8.9988894f, -.0011105512f,
	    20, -4.1223072e-8f, 88, -5.3280497e-37f, 104, 0, 1e10f, -0.f,
	    1e30f, -0.f },
	  { .5f, .5f, .5f, .5f, .50000005f, .49999995f, .5005f, .4995f,
	    .73996119f, .26003881f, .92767051f, .072329488f, 1.0881041f,
	    -.088104106f, 1.0526646f, -.052664615f, 1.0123264f, -.012326433f,
	    1.000987f, -.00098701957f, 1, -3.9161919e-8f, 1, -5.2675036e-37f,
	    1, 0, 1, -0.f, 1, -0.f } },
	{ "exponential",
	  { 1, 1, 1, 1, 1.0000001f, .9999999f, 1.0010005f, .9990005f,
	    1.6487213f, .60653066f, 2.7182818f, .36787944f, 20.085537f,
	    .049787068f, 54.59815f, .018315639f, 403.42879f, .0024787522f,
	    8103.0839f, .0001234098f, 4.851652e8f, 2.0611536e-9f,
	    1.6516363e38f, 0, INFINITY, 0, INFINITY, 0, INFINITY, 0 },
	  { 1, 1, 1, 1, 1.0000001f, .9999999f, 1.0010005f, .9990005f,
	    1.6487213f, .60653066f, 2.7182818f, .36787944f, 20.085537f,
	    .049787068f, 54.59815f, .018315639f, 403.42879f, .0024787522f,
	    8103.0839f, .0001234098f, 4.851652e8f, 2.0611536e-9f,
	    1.6516363e38f, 0, INFINITY, 0, INFINITY, 0, INFINITY, 0 } },
};

/*
 * A slope that is computed from the output, as sigmoid's is, has the rounding
 * error of the output.
 */
static void
test_activation(const char *name, const float *y, const float *slope)
{
	bool good = true;
	char text[256];
	struct model_fixture r;

	snprintf(text, sizeof(text), "input i id rows=%zu\n"
		 "x = embedding i dim=1\ny = %s x\nlabel t float\n"
		 "loss mean_absolute_error y\n", POINTS, name);
	fixture_begin(&r, text);
	for (size_t i = 0; i < POINTS; i++) {
		feature_add_id(&r.batch.feature[0], i, i);
		feature_add_value(&r.batch.label, i, -3e38f);
		r.w[0][i] = at[i];
	}
	r.batch.examples = POINTS;
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	for (size_t i = 0; i < POINTS; i++) {
		const double v = (double)compute_prediction(r.compute)[i];
		const double s = (double)compute_gradient(r.compute, 0)[i];

		if (near(v, (double)y[i], 1e-5, 1e-20) &&
		    near(s, (double)slope[i], 1e-5, 2e-7))
			continue;
		printf("# %s(%g) is %.9g, not %.9g; its slope %.9g, not "
		       "%.9g\n", name, (double)at[i], v, (double)y[i], s,
		       (double)slope[i]);
		good = false;
	}
	fixture_end(&r);
	named_for(good, "%s and its slopes equal Keras's at kinks and ends",
		  name);
}

/* ---- losses ---- */

static const float x[] = {
	0, 1e-30f, 9.9999999e-9f, .0099999998f, .1f, .5f, .69999999f, 1, -1,
	1.5f, -.5f, 2, -2, 8, -8, 30, -30, 80, -80, 1e10f, -1e10f, 1e30f,
	-1e30f
};

#define XS	(sizeof(x) / sizeof(*x))

static const struct {
	const char *name;
	float label, smoothing, delta;
	bool logits;
	double value[XS], slope[XS];
} losses[] = {
	{ "binary_crossentropy", .label = 0,
	  .value = {
	    1.000000049e-7, 1.000000049e-7, 1.000000049e-7, .01005033563,
	    .1053605173, .6931471806, 1.203972765, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7 },
	  .slope = {
	    0, 0, 0, 1.01010101, 1.111111113, 2, 3.333333201, 0, 0, 0, 0, 0,
	    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "binary_crossentropy", .label = 0, .logits = true,
	  .value = {
	    .6931471806, .6931471806, .6931471856, .6981596804, .7443966609,
	    .9740769842, 1.103186041, 1.313261688, .3132616875, 1.701413278,
	    .4740769842, 2.126928011, .126928011, 8.000335406, .0003354063729,
	    30, 9.357622969e-14, 80, 1.804851388e-35, 1e10, 0, 1.000000015e30,
	    0 },
	  .slope = {
	    .5, .5, .5000000025, .5024999791, .5249791879, .6224593312,
	    .6681877695, .7310585786, .2689414214, .8175744762, .3775406688,
	    .880797078, .119202922, .9996646499, .0003353501305, 1,
	    9.357622969e-14, 1, 1.804851388e-35, 1, 0, 1, 0 } },
	{ "binary_crossentropy", .label = 0, .logits = true, .smoothing = .2f,
	  .value = {
	    .6931471806, .6931471806, .6931471846, .6971596804, .7343966607,
	    .9240769842, 1.033186042, 1.213261688, .4132616875, 1.551413278,
	    .5240769842, 1.926928011, .326928011, 7.200335406, .8003354064,
	    27, 3, 72, 8, 9000000000, 1000000000, 9.000000135e29,
	    1.000000015e29 },
	  .slope = {
	    .4, .4, .4000000025, .4024999791, .4249791879, .5224593312,
	    .5681877695, .6310585786, .1689414214, .7175744762, .2775406688,
	    .780797078, .01920292202, .8996646499, -.09966464987, .9, -.1, .9,
	    -.1, .9, -.1, .9, -.1 } },
	{ "hinge", .label = 0,
	  .value = {
	    1, 1, 1.00000001, 1.01, 1.100000001, 1.5, 1.699999988, 2, 0, 2.5,
	    .5, 3, 0, 9, 0, 31, 0, 81, 0, 1e10, 0, 1.000000015e30, 0 },
	  .slope = {
	    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
	    0 } },
	{ "binary_crossentropy", .label = 1,
	  .value = {
	    16.11809565, 16.11809565, 16.11809565, 4.605170208, 2.302585078,
	    .6931471806, .356674961, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565, 1.000000049e-7, 16.11809565,
	    1.000000049e-7, 16.11809565 },
	  .slope = {
	    0, 0, 0, -100.0000022, -9.999999851, -2, -1.428571453, 0, 0, 0, 0,
	    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "binary_crossentropy", .label = 1, .logits = true,
	  .value = {
	    .6931471806, .6931471806, .6931471756, .6881596806, .6443966594,
	    .4740769842, .4031860528, .3132616875, 1.313261688, .201413278,
	    .9740769842, .126928011, 2.126928011, .0003354063729, 8.000335406,
	    9.357622969e-14, 30, 1.804851388e-35, 80, 0, 1e10, 0,
	    1.000000015e30 },
	  .slope = {
	    -.5, -.5, -.4999999975, -.4975000209, -.4750208121, -.3775406688,
	    -.3318122305, -.2689414214, -.7310585786, -.1824255238,
	    -.6224593312, -.119202922, -.880797078, -.0003353501305,
	    -.9996646499, -9.357622969e-14, -1, -1.804851388e-35, -1, 0, -1,
	    0, -1 } },
	{ "binary_crossentropy", .label = 1, .logits = true, .smoothing = .2f,
	  .value = {
	    .6931471806, .6931471806, .6931471766, .6891596806, .6543966595,
	    .5240769842, .4731860516, .4132616875, 1.213261688, .351413278,
	    .9240769842, .326928011, 1.926928011, .8003354064, 7.200335406, 3,
	    27, 8, 72, 1000000000, 9000000000, 1.000000015e29,
	    9.000000135e29 },
	  .slope = {
	    -.4, -.4, -.3999999975, -.3975000209, -.3750208121, -.2775406688,
	    -.2318122305, -.1689414214, -.6310585786, -.08242552381,
	    -.5224593312, -.01920292202, -.780797078, .09966464987,
	    -.8996646499, .1, -.9, .1, -.9, .1, -.9, .1, -.9 } },
	{ "hinge", .label = 1,
	  .value = {
	    1, 1, .99999999, .9900000002, .8999999985, .5, .3000000119, 0, 2,
	    0, 1.5, 0, 3, 0, 9, 0, 31, 0, 81, 0, 1e10, 0, 1.000000015e30 },
	  .slope = {
	    -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0,
	    -1, 0, -1, 0, -1 } },
	{ "mean_squared_error", .label = .5f,
	  .value = {
	    .25, .25, .24999999, .2401000002, .1599999988, 0, .03999999523,
	    .25, 2.25, 1, 1, 2.25, 6.25, 56.25, 72.25, 870.25, 930.25,
	    6320.25, 6480.25, 9.999999999e19, 1e20, 1.00000003e60,
	    1.00000003e60 },
	  .slope = {
	    -1, -1, -.99999998, -.9800000004, -.799999997, 0, .3999999762, 1,
	    -3, 2, -2, 3, -5, 15, -17, 59, -61, 159, -161, 2e10, -2e10,
	    2.00000003e30, -2.00000003e30 } },
	{ "mean_absolute_error", .label = .5f,
	  .value = {
	    .5, .5, .49999999, .4900000002, .3999999985, 0, .1999999881, .5,
	    1.5, 1, 1, 1.5, 2.5, 7.5, 8.5, 29.5, 30.5, 79.5, 80.5, 1e10, 1e10,
	    1.000000015e30, 1.000000015e30 },
	  .slope = {
	    -1, -1, -1, -1, -1, 0, 1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1,
	    -1, 1, -1, 1, -1 } },
	{ "huber", .label = .5f,
	  .value = {
	    .125, .125, .124999995, .1200500001, .0799999994, 0, .01999999762,
	    .125, 1, .5, .5, 1, 2, 7, 8, 29, 30, 79, 80, 9999999999, 1e10,
	    1.000000015e30, 1.000000015e30 },
	  .slope = {
	    -.5, -.5, -.49999999, -.4900000002, -.3999999985, 0, .1999999881,
	    .5, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1 } },
	{ "log_cosh", .label = .5f,
	  .value = {
	    .1201145051, .1201145051, .1201145004, .1155327769, .07795348292,
	    -1.904654323e-9, .01986806758, .1201145051, .8554401691,
	    .4337808286, .4337808286, .8554401691, 1.813568166, 6.806853123,
	    7.806852859, 28.80685282, 29.80685282, 78.80685282, 79.80685282,
	    9999999999, 1e10, 1.000000015e30, 1.000000015e30 },
	  .slope = {
	    -.4621171573, -.4621171573, -.4621171494, -.4542164329,
	    -.379948961, 0, .1973753088, .4621171573, -.9051482536,
	    .761594156, -.761594156, .9051482536, -.9866142982, .9999993882,
	    -.9999999172, 1, -1, 1, -1, 1, -1, 1, -1 } },
	{ "poisson", .label = .5f,
	  .value = {
	    8.059047825, 8.059047825, 8.011392746, 2.312580104, 1.251292041,
	    .8465734903, .8783373971, .99999995, NAN, 1.297267413, NAN,
	    1.653426385, NAN, 6.960279223, NAN, 28.29940131, NAN, 77.80898668,
	    NAN, 9999999988, NAN, 1.000000015e30, NAN },
	  .slope = {
	    -4999999, -4999999, -4545453.548, -48.99950112, -3.999994925,
	    1.999999599e-7, .2857143756, .50000005, 1.50000005, .6666666889,
	    2.0000002, .7500000125, 1.250000013, .9375000008, 1.062500001,
	    .9833333334, 1.016666667, .99375, 1.00625, .9999999999, 1, 1,
	    1 } },
	{ "huber", .label = .5f, .delta = 1.5f,
	  .value = {
	    .125, .125, .124999995, .1200500001, .0799999994, 0, .01999999762,
	    .125, 1.125, .5, .5, 1.125, 2.625, 10.125, 11.625, 43.125, 44.625,
	    118.125, 119.625, 1.5e10, 1.5e10, 1.500000023e30, 1.500000023e30 },
	  .slope = {
	    -.5, -.5, -.49999999, -.4900000002, -.3999999985, 0, .1999999881,
	    .5, -1.5, 1, -1, 1.5, -1.5, 1.5, -1.5, 1.5, -1.5, 1.5, -1.5, 1.5,
	    -1.5, 1.5, -1.5 } },
};

static void
test_loss(size_t k)
{
	struct settings none = { 0 };
	struct loss l = { 0 };
	struct fail f;
	bool good = loss_parse(&l, losses[k].name, &none, &f) == 0;

	l.logits = losses[k].logits;
	l.label_smoothing = losses[k].smoothing;
	if (losses[k].delta > 0)
		l.delta = losses[k].delta;
	for (size_t i = 0; good && i < XS; i++) {
		const double v = loss_sum(&l, &x[i], 1, &losses[k].label,
					  NULL, 1);
		float s;

		loss_slopes(&l, &s, &x[i], 1, &losses[k].label, NULL, 1);
		if (near(v, losses[k].value[i], 1e-6, 2e-9) &&
		    near((double)s, losses[k].slope[i], 1e-6, 1e-37))
			continue;
		printf("# %s of %g is %.9g, not %.9g; its slope %.9g, not "
		       "%.9g\n", losses[k].name, (double)x[i], v,
		       losses[k].value[i], (double)s, losses[k].slope[i]);
		good = false;
	}
	named_for(good, "%s of label %g equals Keras's at kinks and ends",
		  losses[k].name, (double)losses[k].label);
}

/* ---- cosines ---- */

/* The cosine of a and b, and its slopes by both: a length is 1e-7 at least. */
static const struct {
	float a[2], b[2];
	double y, da[2], db[2];
} cosines[] = {
	{ { 1, 2 }, { 3, -1 }, .1414213562,
	  { .3959797975, -.1979898987 }, { .09899494937, .2969848481 } },
	{ { 9e-7f, 2e-7f }, { 1, 0 }, .9761870584,
	  { 51042.46583, -229691.0872 }, { 0, .216930466 } },
	{ { 9e-8f, 2e-8f }, { 1, 0 }, .9000000034,
	  { 10000000, 0 }, { 0, .1999999988 } },
	{ { 5e-8f, 0 }, { 0, 5e-8f }, 0,
	  { 0, 5000000.058 }, { 5000000.058, 0 } },
	{ { 0, 0 }, { 1, 2 }, 0,
	  { 4472135.955, 8944271.91 }, { 0, 0 } },
	{ { 0, 0 }, { 0, 0 }, 0,
	  { 0, 0 }, { 0, 0 } },
	{ { 1e-20f, 0 }, { 1, 1 }, 7.071067587e-14,
	  { 7071067.812, 7071067.812 }, { 3.535533794e-14,
	    -3.535533794e-14 } },
	{ { 1e18f, 1e18f }, { 1, 2 }, .9486832981,
	  { -1.581138855e-19, 1.581138855e-19 },
	  { .1264911064, -.0632455532 } },
	{ { 1e20f, 2e20f }, { 1, 2 }, 1,
	  { 0, 0 }, { 0, 0 } },
	{ { 1e30f, -1e30f }, { 1e30f, 2e30f }, -.316227766,
	  { 4.743416419e-31, 4.743416419e-31 },
	  { 3.794733135e-31, -1.897366568e-31 } },
	{ { 3e38f, -3e38f }, { 3e38f, 3.4e38f }, -.0623782783,
	  { 0, 0 }, { 0, 0 } },
	{ { 3e38f, 3e38f }, { 1, 2 }, .9486832981,
	  { 0, 0 }, { .1264911064, -.0632455532 } },
};

static void
test_cosine(size_t k)
{
	struct model_fixture r;
	double y, da[2], db[2];
	bool good;

	fixture_begin(&r, "input i id rows=1\ninput j id rows=1\n"
		      "a = embedding i dim=2\nb = embedding j dim=2\n"
		      "y = dot a b normalize=true\nlabel t float\n"
		      "loss mean_absolute_error y\n");
	feature_add_id(&r.batch.feature[0], 0, 0);
	feature_add_id(&r.batch.feature[1], 0, 0);
	feature_add_value(&r.batch.label, 0, -5);
	r.batch.examples = 1;
	memcpy(r.w[0], cosines[k].a, sizeof(cosines[k].a));
	memcpy(r.w[1], cosines[k].b, sizeof(cosines[k].b));
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	y = (double)*compute_prediction(r.compute);
	good = near(y, cosines[k].y, 1e-6, 1e-30);
	for (size_t i = 0; i < 2; i++) {
		da[i] = (double)compute_gradient(r.compute, 0)[i];
		db[i] = (double)compute_gradient(r.compute, 1)[i];
		good = good && near(da[i], cosines[k].da[i], 4e-6, 1e-7) &&
			near(db[i], cosines[k].db[i], 4e-6, 1e-7);
	}
	if (!good)
		printf("# %.9g, slopes %.9g %.9g and %.9g %.9g\n", y, da[0],
		       da[1], db[0], db[1]);
	named(good, "cosine_similarity and its slopes equal Keras's");
	fixture_end(&r);
}

/* ---- large weights ---- */

/*
 * The rows are 1 2 3 4; the output of an example, and the slope by each row.
 * Keras also overflows where sums of weights exceed floats; the exact results
 * are known.
 */
static const struct {
	const char *layer;
	float weight[4];
	double y, slope[4];
} weighted[] = {
	{ "embedding s dim=1 combiner=mean", { 1e38f, 3e38f, 3e38f, 3e38f },
	  2.8, { .1, .3, .3, .3 } },
	{ "embedding s dim=1 combiner=mean", { 3e38f, 0, 1, 0 },
	  1, { 1, 0, 0, 0 } },
	{ "embedding s dim=1 combiner=mean", { 2e-37f, 0, 2e-37f, 0 },
	  2, { .5, 0, .5, 0 } },
	{ "embedding s dim=1 combiner=mean", { 3e38f, -3e38f, 0, 0 },
	  0, { 0, 0, 0, 0 } },
	{ "embedding s dim=1 combiner=sqrtn", { 3e38f, 3e38f, 3e38f, 3e38f },
	  5, { .5, .5, .5, .5 } },
	{ "embedding s dim=1 combiner=sqrtn", { 1e-37f, -1e-37f, 0, 0 },
	  -.70710678118654752,
	  { .70710678118654752, -.70710678118654752, 0, 0 } },
	{ "attention s q dim=1 scale=0", { 1e38f, 3e38f, 3e38f, 3e38f },
	  2.8, { .1, .3, .3, .3 } },
	{ "attention s q dim=1 scale=0", { 2e-37f, 0, 2e-37f, 0 },
	  2, { .5, 0, .5, 0 } },
	{ "attention s q dim=1 scale=1e30", { 3e38f, 1, 1, 1 },
	  4, { 0, 0, 0, 1 } },
	{ "attention s q dim=1 scale=-1e30", { 1, 1, 1, 3e38f },
	  1, { 1, 0, 0, 0 } },
	/* An id of weight 0 counts as none, however large its score is. */
	{ "attention s q dim=1 scale=1e30", { 1, 1, 1, 0 },
	  3, { 0, 0, 1, 0 } },
	{ "attention s q dim=1 scale=-100", { 0, 2, 1, 0 },
	  2, { 0, 1, 0, 0 } },
	/* One pair of factors that differ by more than 2^24: <1, 2> 1e4
	   1e-4. */
	{ "factorization s factors=1", { 1e4f, 1e-4f, 0, 0 },
	  2, { 2, 1, 0, 0 } },
	{ "factorization s factors=1", { 3e5f, 0, 1e-4f, 0 },
	  90, { 90, 0, 30, 0 } },
};

static void
test_weighted(size_t k)
{
	static const float rows[] = { 1, 2, 3, 4 };
	char text[256];
	struct model_fixture r;
	double y;
	bool good;

	snprintf(text, sizeof(text), "input s sparse[4]\ninput q float\n"
		 "y = %s\nlabel t float\nloss mean_absolute_error y\n",
		 weighted[k].layer);
	fixture_begin(&r, text);
	for (size_t i = 0; i < 4; i++) {
		feature_add_id(&r.batch.feature[0], i, i);
		feature_add_weight(&r.batch.feature[0], i,
				   weighted[k].weight[i]);
	}
	feature_set_offset(&r.batch.feature[0], 1, 4);
	feature_add_value(&r.batch.feature[1], 0, 1);
	feature_add_value(&r.batch.label, 0, -1e30f);
	r.batch.examples = 1;
	memcpy(r.w[0], rows, sizeof(rows));
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	y = (double)*compute_prediction(r.compute);
	good = near(y, weighted[k].y, 1e-6, 0);
	for (size_t i = 0; i < 4; i++) {
		const double d = (double)compute_gradient(r.compute, 0)[i];

		if (near(d, weighted[k].slope[i], 1e-6, 1e-30))
			continue;
		printf("# slope %zu is %.9g, not %.9g\n", i, d,
		       weighted[k].slope[i]);
		good = false;
	}
	if (!good)
		printf("# what comes out is %.9g, not %.9g\n", y,
		       weighted[k].y);
	named_for(good, "'%s' with weights far apart equals Keras's",
		  weighted[k].layer);
	fixture_end(&r);
}

/* ---- many examples ---- */

#define MANY	300000

/*
 * All ids are 0, floats are 1 and -1 in turn, weights begin with the given
 * value; each example adds the slope of the loss, 0.1, times a number.
 */
static const struct {
	const char *lines, *variable;
	float weights, label;
	double times;
} crowds[] = {
	{ "y = dense one units=1", "y/bias", 0, -.05f, 1 },
	{ "y = dense one units=1", "y/kernel", 0, -.05f, 1 },
	{ "h = dense one units=40\ny = reduce_sum h", "h/bias", 0, -.05f, 1 },
	{ "h = dense one units=70\ny = reduce_sum h", "h/bias", 0, -.05f, 1 },
	{ "y = linear i", "y/kernel", 0, -.05f, 1 },
	{ "y = linear i", "y/bias", 0, -.05f, 1 },
	{ "y = linear b", "y/kernel", 0, -.05f, 3 },
	{ "h = linear i units=3\ny = reduce_sum h", "h/kernel", 0, -.05f, 1 },
	{ "h = linear i units=3\ny = reduce_sum h", "h/bias", 0, -.05f, 1 },
	{ "h = embedding i dim=3\ny = reduce_sum h", "h/embeddings", 0,
	  -.05f, 1 },
	{ "h = embedding b dim=2 combiner=mean\ny = reduce_sum h",
	  "h/embeddings", 0, -.05f, 1 },
	{ "h = embedding b dim=2 combiner=sum\nf = concat h one\n"
	  "y = reduce_sum f", "h/embeddings", 0, .95f, 3 },
	{ "y = factorization b factors=1", "y/embeddings", .5f, .70f, 3 },
	{ "y = attention i one dim=1", "y/embeddings", 0, -.05f, 1 },
	{ "h = dense pair units=2\nf = layer_normalization h\n"
	  "y = reduce_sum f", "f/beta", 0, -.05f, 1 },
	{ "c = reshape pair target_shape=[2,1]\n"
	  "h = conv1d c filters=1 kernel_size=2\ny = flatten h", "h/bias",
	  0, -.05f, 1 },
	{ "c = reshape pair target_shape=[2,1]\n"
	  "h = conv1d c filters=1 kernel_size=2\ny = flatten h",
	  "h/kernel", 0, -.05f, 1 },
	{ "y = batch_normalization turn", "y/beta", 0, -.05f, 1 },
	/* A layer that needs all examples at once, beside a table. */
	{ "n = batch_normalization turn\ne = linear i\ny = add n e",
	  "e/kernel", 0, -.05f, 1 },
};

static void
fill_crowd(struct model_fixture *r, float label)
{
	struct feature *f = r->batch.feature;

	for (size_t i = 0; i < MANY; i++) {
		feature_add_value(&f[0], i, 1);
		feature_add_value(&f[1], i, i % 2 ? 1 : -1);
		feature_add_value(&f[2], 2 * i, 1);
		feature_add_value(&f[2], 2 * i + 1, 1);
		feature_add_id(&f[3], i, 0);
		for (size_t k = 0; k < 3; k++)
			feature_add_id(&f[4], 3 * i + k, 0);
		feature_set_offset(&f[4], i + 1, 3 * i + 3);
		feature_add_value(&r->batch.label, i, label);
	}
	r->batch.examples = MANY;
}

static void
test_crowd(size_t k)
{
	const double slope = (double).05f * 2 * crowds[k].times * MANY;
	bool good = true, met = false;
	char text[512];
	struct model_fixture r;

	snprintf(text, sizeof(text), "input one float\ninput turn float\n"
		 "input pair float[2]\ninput i id rows=2\n"
		 "input b id[] rows=2\n%s\nlabel t float\n"
		 "loss mean_squared_error y\n", crowds[k].lines);
	fixture_begin(&r, text);
	fill_crowd(&r, crowds[k].label);
	for (size_t v = 0; v < r.variables; v++)
		for (size_t i = 0; i < shape_size(r.variable[v].shape); i++)
			r.w[v][i] = crowds[k].weights;
	fixture_pull(&r);
	compute_train(r.compute, 1, NULL);
	for (size_t v = 0; v < r.variables; v++) {
		const double g = (double)*compute_gradient(r.compute, v);

		if (strcmp(r.variable[v].name, crowds[k].variable) != 0)
			continue;
		met = true;
		good = near(g, slope, 3e-5, 0);
		if (!good)
			printf("# %s: %.9g, not %.9g\n", crowds[k].variable, g,
			       slope);
	}
	named_for(good && met, "the gradient of %s over a large batch is exact "
		  "with '%s'", crowds[k].variable, crowds[k].lines);
	fixture_end(&r);
}

/* The sum of a bag of very many ids is exact. */
static void
test_long_bag(const char *layer, double want)
{
	char text[256];
	struct model_fixture r;

	snprintf(text, sizeof(text), "input b id[] rows=1\ny = %s\n"
		 "label t float\nloss mean_absolute_error y\n", layer);
	fixture_begin(&r, text);
	for (size_t i = 0; i < MANY; i++)
		feature_add_id(&r.batch.feature[0], i, 0);
	feature_set_offset(&r.batch.feature[0], 1, MANY);
	feature_add_value(&r.batch.label, 0, 0);
	r.batch.examples = 1;
	for (size_t v = 0; v < r.variables; v++)
		for (size_t i = 0; i < shape_size(r.variable[v].shape); i++)
			r.w[v][i] = r.variable[v].table ? .1f : 0;
	fixture_pull(&r);
	compute_forward(r.compute);
	if (!near((double)*compute_prediction(r.compute), want, 1e-6, 0))
		printf("# %.9g, not %.9g\n",
		       (double)*compute_prediction(r.compute), want);
	named_for(near((double)*compute_prediction(r.compute), want, 1e-6, 0),
		  "'%s' of a very long bag is exact", layer);
	fixture_end(&r);
}

int
main(void)
{
	flush_denormals();	/* as the programs do */
	for (size_t i = 0; i < sizeof(activations) / sizeof(*activations);
	     i++)
		test_activation(activations[i].name, activations[i].y,
				activations[i].slope);
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		test_loss(i);
	for (size_t i = 0; i < sizeof(cosines) / sizeof(*cosines); i++)
		test_cosine(i);
	for (size_t i = 0; i < sizeof(weighted) / sizeof(*weighted); i++)
		test_weighted(i);
	for (size_t i = 0; i < sizeof(crowds) / sizeof(*crowds); i++)
		test_crowd(i);
	test_long_bag("linear b", (double).1f * MANY);
	test_long_bag("embedding b dim=1 combiner=sum", (double).1f * MANY);
	test_long_bag("embedding b dim=1 combiner=mean", .1);
	test_long_bag("embedding b dim=1 combiner=sqrtn",
		      (double).1f * sqrt(MANY));
	return tap_done();
}
