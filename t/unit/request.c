/* Every form of a request line, and the errors of other lines. */
#include "coord/request.h"

#include "tap.h"

#include <string.h>

static struct request r;
static struct fail f;

static bool
reads(const char *line)
{
	request_release(&r);
	return request_read(&r, line, strlen(line), &f) == 0;
}

static bool
is(enum request_op op, const char *id, uint64_t steps)
{
	return r.op == op && r.steps == steps &&
		(id ? r.id && strcmp(r.id, id) == 0 : !r.id);
}

static void
refused(const char *line, const char *why)
{
	const bool read = reads(line);

	if (read || strcmp(f.text, why) != 0)
		tap_differ(read ? "no error" : f.text, why);
	named_for(!read && f.kind == FAIL_DATA && strcmp(f.text, why) == 0,
		  "the request '%s' is refused with: %s", line, why);
}

static void
words(void)
{
	ok(reads("") && r.op == REQUEST_NONE);
	ok(reads("  \t\r") && r.op == REQUEST_NONE);
	ok(reads("# 7 more") && r.op == REQUEST_NONE);
	ok(reads("7") && is(REQUEST_TRAIN, "\"7\"", 1));
	ok(reads("  a-b_c.d \r") && is(REQUEST_TRAIN, "\"a-b_c.d\"", 1));
	ok(reads("say\"hi\\") && is(REQUEST_TRAIN, "\"say\\\"hi\\\\\"", 1));
	ok(reads("train") && is(REQUEST_TRAIN, NULL, 1) && r.batch == 0 &&
	   r.learning_rate == 0);
	ok(reads("train 300") && is(REQUEST_TRAIN, NULL, 300));
	ok(reads("train 300 batch=64 learning_rate=.5") &&
	   is(REQUEST_TRAIN, NULL, 300) && r.batch == 64 &&
	   r.learning_rate == .5f);
	ok(reads("train 3 learning_rate_scale=.5") &&
	   is(REQUEST_TRAIN, NULL, 3) && r.learning_rate == -.5f);
	ok(reads("train steps=3") && is(REQUEST_TRAIN, NULL, 3));
	ok(reads("train 18446744073709551615") &&
	   is(REQUEST_TRAIN, NULL, UINT64_MAX));
	ok(reads("join") && is(REQUEST_JOIN, NULL, 1));
	ok(reads("save") && is(REQUEST_SAVE, NULL, 1));
	ok(reads("stop") && is(REQUEST_STOP, NULL, 1));
	ok(reads("eval") && is(REQUEST_EVAL, NULL, 1) && r.files == 0);
	ok(reads("eval a.csv  b.csv") && r.files == 2 &&
	   strcmp(r.file[0], "a.csv") == 0 &&
	   strcmp(r.file[1], "b.csv") == 0 && !r.background);
	ok(reads("eval background=true") && r.files == 0 && r.background);
	ok(reads("eval a background=false b") && r.files == 2 &&
	   !r.background);
	ok(reads("eval ./background=true") && r.files == 1 && !r.background);
}

static void
objects(void)
{
	ok(reads("{}") && is(REQUEST_TRAIN, NULL, 1));
	ok(reads("{\"id\": \"join\"}") && is(REQUEST_TRAIN, "\"join\"", 1));
	ok(reads("{\"id\": 7, \"op\": \"join\"}") &&
	   is(REQUEST_JOIN, "7", 1));
	ok(reads("{\"op\":\"train\",\"steps\":5,\"batch\":8,"
		 "\"learning_rate\":0.1}") && is(REQUEST_TRAIN, NULL, 5) &&
	   r.batch == 8 && r.learning_rate == .1f);
	ok(reads("{\"op\":\"eval\",\"files\":[\"a b\",\"c\"]}") &&
	   r.op == REQUEST_EVAL && r.files == 2 &&
	   strcmp(r.file[0], "a b") == 0);
	ok(reads("{\"op\":\"eval\",\"background\":true,\"files\":[\"a\"]}") &&
	   r.background && r.files == 1);
	ok(reads("{\"background\":false,\"op\":\"eval\"}") && !r.background);
	ok(reads("{\"files\":[],\"op\":\"save\"}") && r.op == REQUEST_SAVE);
	ok(reads("{\"op\":\"stop\"}") && r.op == REQUEST_STOP);
	ok(reads("epoch") && r.op == REQUEST_EPOCH && r.epochs == 1);
	ok(reads("epoch 3 learning_rate=0.5") && r.epochs == 3 &&
	   r.learning_rate == 0.5f);
	ok(reads("{\"op\":\"epoch\",\"epochs\":2}") &&
	   r.op == REQUEST_EPOCH && r.epochs == 2 && !r.data);
	ok(reads("epoch data=u 2") && r.epochs == 2 && r.data &&
	   strcmp(r.data, "u") == 0);
}

#define UP_TO	" is not a whole number from 1 to "
#define KNOWN	" (batch=N, steps=N, learning_rate=X, " \
		"learning_rate_scale=X, priority=N do)"
#define ONE	"say learning_rate, the rate of all optimizers, or " \
		"learning_rate_scale, by which the rate of each is " \
		"multiplied, but not both"

static void
refusals(void)
{
	refused("eval background=yes", "background=yes is neither true nor "
		"false (./background=yes is a file)");
	refused("eval background=true background=true",
		"'background=true': background is given twice");
	refused("{\"op\":\"eval\",\"background\":1}",
		"\"background\" is neither true nor false");
	refused("{\"background\":true}", "\"background\" is for eval");
	refused("{\"op\":\"save\",\"background\":false}",
		"\"background\" is for eval");
	refused("train x", "train 'x': not a number of steps");
	refused("train 0", "train '0': not a number of steps");
	refused("train -1", "train '-1': not a number of steps");
	refused("epoch x", "epoch 'x': not a number of epochs");
	refused("epoch 0", "epoch '0': not a number of epochs");
	refused("epoch batch=3",
		"batch=3 means nothing to an epoch (data=NAME, "
		"learning_rate=X, learning_rate_scale=X, priority=N do)");
	refused("epoch learning_rate=0",
		"learning_rate=0 is not a number above 0");
	refused("epoch learning_rate_scale=0",
		"learning_rate_scale=0 is not a number above 0");
	refused("train learning_rate_scale=-2",
		"learning_rate_scale=-2 is not a number above 0");
	refused("train learning_rate_scale=nan",
		"learning_rate_scale=nan is not a number above 0");
	refused("train learning_rate=1 learning_rate_scale=1", ONE);
	refused("epoch learning_rate_scale=1 learning_rate=1", ONE);
	refused("{\"learning_rate_scale\":1,\"learning_rate\":1}", ONE);
	refused("train learning_rate_scale=1 learning_rate_scale=2",
		"'learning_rate_scale=2': learning_rate_scale is given twice");
	refused("{\"op\":\"eval\",\"learning_rate_scale\":2}",
		"\"learning_rate_scale\" is for train");
	refused("{\"epochs\":2}", "\"epochs\" is for epoch");
	refused("{\"data\":\"u\"}", "\"data\" is for epoch");
	refused("{\"op\":\"epoch\",\"data\":2}", "\"data\" is not a string");
	refused("epoch data=a data=b", "'data=b': data is given twice");
	refused("{\"op\":\"epoch\",\"steps\":2}", "\"steps\" is for train");
	refused("train batch=0", "batch=0" UP_TO "16777216");
	refused("train batch=16777217", "batch=16777217" UP_TO "16777216");
	refused("train batch=", "batch=" UP_TO "16777216");
	refused("train learning_rate=-1",
		"learning_rate=-1 is not a number above 0");
	refused("train learning_rate=nan",
		"learning_rate=nan is not a number above 0");
	refused("train learning_rate=inf",
		"learning_rate=inf is not a number above 0");
	refused("train epochs=5", "epochs=5 is for epoch");
	refused("train 1 2", "'2': steps is given twice");
	refused("train steps=2 steps=3", "'steps=3': steps is given twice");
	refused("train 2 batch=1 steps=2", "'steps=2': steps is given twice");
	refused("train batch=1 batch=1", "'batch=1': batch is given twice");
	refused("epoch 1 2", "'2': epochs is given twice");
	refused("epoch learning_rate=1 2 learning_rate=1",
		"'learning_rate=1': learning_rate is given twice");
	refused("train colour=red", "colour=red means nothing here" KNOWN);
	refused("trian 5", "'trian' is not a request (train, epoch, eval, "
		"join, save, status, cancel, stop, a bare id or a JSON "
		"object); did you mean train?");
	refused("train bacth=5", "bacth=5 means nothing here" KNOWN
		"; did you mean batch?");
	refused("join 5", "'5' behind join");
	refused("save now", "'now' behind save");
	refused("stop it", "'it' behind stop");
	refused("\xff", "the id is not UTF-8");

	ok(!reads("{") && strncmp(f.text, "not JSON: ", 10) == 0);
	ok(!reads("{\"id\":1,\"id\":2}") &&
	   strncmp(f.text, "not JSON: ", 10) == 0);
	ok(!reads("{} {}") && strncmp(f.text, "not JSON: ", 10) == 0);
	refused("{\"op\":\"none\"}", "\"op\" is 'none', which is not a "
		"request");
	refused("{\"op\":\"\"}", "\"op\" is '', which is not a request");
	refused("{\"op\":5}", "\"op\" is not a string");
	refused("{\"id\":[]}", "\"id\" is not a string or whole number");
	refused("{\"id\":1.5}", "\"id\" is not a string or whole number");
	refused("cancel", "cancel: which id?");
	refused("cancel a b", "'b' behind cancel");
	refused("{\"op\":\"cancel\"}", "cancel: which id?");
	refused("{\"op\":\"cancel\",\"request\":[]}",
		"\"request\" is not a string or whole number");
	refused("{\"request\":\"x\"}", "\"request\" is for cancel");
	refused("train priority=-1",
		"priority=-1 is not a whole number from 0 to 1000");
	refused("{\"op\":\"join\",\"priority\":1}",
		"\"priority\" is for train, epoch and eval");
	refused("{\"colour\":\"red\"}", "\"colour\" means nothing here");
	refused("{\"colour\":7}", "colour=7 means nothing here" KNOWN);
	/* Numbers are quoted as they are in the line. */
	refused("{\"learning_rate\":-0.1}",
		"learning_rate=-0.1 is not a number above 0");
	refused("{\"id\":\"steps\\\": 7\", \"batch\":[2], \"steps\" : 1E+2}",
		"\"batch\" is not a number");
	refused("{\"id\":\"steps\\\": 7\", \"steps\"\t:\t1.50E+2 }",
		"steps=1.50E+2" UP_TO "18446744073709551615");
	refused("{\"batch\":16777216.0}", "batch=16777216.0" UP_TO "16777216");
	refused("{\"files\":[\"batch\"],\"batch\":-07e0}",
		"not JSON: invalid token near '-0'");
	refused("{\"batch\":\"7\"}", "\"batch\" is not a number");
	refused("{\"op\":\"eval\",\"files\":\"a\"}",
		"\"files\" is not a list");
	refused("{\"steps\":2.5}", "steps=2.5" UP_TO "18446744073709551615");
	refused("{\"steps\":-1}", "steps=-1" UP_TO "18446744073709551615");
	refused("{\"op\":\"eval\",\"files\":[1]}",
		"\"files\" are not strings");
	refused("{\"files\":[\"a\"]}", "\"files\" are for eval");
	refused("{\"op\":\"join\\u0000\"}", "\"op\" has a NUL in it");
	refused("{\"id\":\"\\u0000\"}", "\"id\" has a NUL in it");
	refused("{\"op\":\"eval\",\"files\":[\"a\",\"b\\u0000c\"]}",
		"\"files\" has a NUL in it");
	refused("{\"op\":\"join\",\"steps\":5}", "\"steps\" is for train");
	refused("{\"batch\":5,\"op\":\"save\"}", "\"batch\" is for train");
	refused("{\"op\":\"eval\",\"learning_rate\":1}",
		"\"learning_rate\" is for train");
}

/* A request is the same when it is written and read again. */
static void
written(void)
{
	static const char *const lines[] = {
		"7", "say\"hi\\", "train", "train 300", "join", "stop",
		"train 18446744073709551615 batch=2 learning_rate=.5",
		"train 9 batch=64 learning_rate=1e-7", "save", "epoch 3",
		"epoch learning_rate=.1", "eval", "eval a b.csv",
		"train learning_rate_scale=.1", "epoch learning_rate_scale=3",
		"train 3 priority=2", "epoch 2 priority=9", "status",
		"cancel x", "{\"op\":\"cancel\",\"id\":1,\"request\":7}",
		"{\"op\":\"eval\",\"priority\":3,\"files\":[\"a\"]}",
		"{\"id\":1,\"learning_rate_scale\":7e-3}",
		"eval caf\xe9.csv", "eval caf\xe9.csv background=true",
		"{\"op\":\"eval\",\"files\":[\"background=true\"]}",
		"{\"op\":\"eval\",\"id\":1,\"background\":true}",
		"{\"op\":\"eval\",\"files\":[\"\", \"a\\nb\"]}",
		"{\"op\":\"eval\",\"id\":-4,\"files\":[\"a b\",\"\\\"\"]}",
		"{\"step\":\"fit\"}", "{\"args\":{},\"steps\":4}",
		"epoch 3 data=a\"b", "{\"op\":\"epoch\",\"data\":\"\"}",
		"{\"op\":\"epoch\",\"args\":{\"a\": [0.10, \"}\"]}}",
		"{\"args\":{\"a\":\"\\\"{\"},\"id\":3,\"step\":\"a\\\"b\"}",
		"{\"id\":\"join\",\"steps\":9223372036854775807}"
	};
	struct text out = { 0 };
	struct request was;
	bool good = true;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		text_reset(&out);
		good = good && reads(lines[i]);
		request_write(&out, &r);
		was = r;
		r = (struct request){ 0 };
		good = good && reads(out.data) && is(was.op, was.id, was.steps);
		good = good && r.epochs == was.epochs &&
			r.batch == was.batch && r.files == was.files &&
			call_equal(r.call, was.call) &&
			!r.data == !was.data &&
			(!r.data || strcmp(r.data, was.data) == 0) &&
			r.priority == was.priority &&
			r.background == was.background &&
			!r.target == !was.target &&
			(!r.target || strcmp(r.target, was.target) == 0) &&
			!(r.learning_rate < was.learning_rate) &&
			!(r.learning_rate > was.learning_rate);
		for (size_t k = 0; good && k < r.files; k++)
			good = strcmp(r.file[k], was.file[k]) == 0;
		request_release(&was);
	}
	ok(good);
	text_release(&out);
}

/* The name of a step and its arguments are kept as they were written. */
static void
calls(void)
{
	struct text line = { 0 };

	ok(reads("{\"steps\":3}") && !r.call);
	ok(reads("{\"step\":\"fit\"}") && strcmp(r.call->step, "fit") == 0 &&
	   !r.call->args);
	ok(reads("{\"args\": {\"a\" : 0.10, \"b\":\"}\\\"\"} }") &&
	   !r.call->step &&
	   strcmp(r.call->args, "{\"a\" : 0.10, \"b\":\"}\\\"\"}") == 0);
	ok(reads("{\"args\":{},\"op\":\"epoch\",\"step\":\"fit\"}") &&
	   strcmp(r.call->step, "fit") == 0 &&
	   strcmp(r.call->args, "{}") == 0);
	ok(reads("{\"step\":\"fit\",\"args\":{\"step\":\"x\"}}") &&
	   strcmp(r.call->step, "fit") == 0 &&
	   strcmp(r.call->args, "{\"step\":\"x\"}") == 0);
	refused("{\"step\":7}", "\"step\" is not a string");
	refused("{\"step\":\"a\\u0000\"}", "\"step\" has a NUL in it");
	ok(reads("{\"id\":7,\"args\":{\"seed\":18446744073709551615}}") &&
	   is(REQUEST_TRAIN, "7", 1) &&
	   strcmp(r.call->args, "{\"seed\":18446744073709551615}") == 0);
	ok(reads("{\"id\":18446744073709551616}") &&
	   is(REQUEST_TRAIN, "18446744073709551616", 1));
	refused("{\"steps\":18446744073709551616}",
		"steps=18446744073709551616 is not a whole number from 1 to "
		"18446744073709551615");
	refused("{\"id\":1e30,\"args\":{\"seed\":18446744073709551615}}",
		"\"id\" is not a string or whole number");
	refused("{\"args\":[1]}", "\"args\" is not an object");
	refused("{\"args\":\"{}\"}", "\"args\" is not an object");
	refused("{\"args\":{},\"op\":\"join\"}",
		"\"args\" is for train and epoch");
	refused("{\"op\":\"eval\",\"step\":\"fit\"}",
		"\"step\" is for train and epoch");
	text_add(&line, "{\"args\":{\"a\":\"");
	while (line.size < 11 + CALL_ARGS)
		text_add(&line, "0123456789");
	text_add(&line, "\"}}");
	ok(!reads(line.data) && strstr(f.text, "\"args\" has 10") &&
	   strstr(f.text, " bytes, more than 1048576"));
	text_release(&line);
}

/* A misspelt request is an id, and so a request for a step. */
static void
slips(void)
{
	static const char *const slip[][2] = {
		{ "trian", "train" }, { "Train", "train" }, { "sav", "save" },
		{ "stopp", "stop" }, { "eval2", NULL }, { "step", NULL },
		{ "first", NULL }, { "a", NULL },
		{ "{\"id\":\"trian\"}", NULL }, { "train", NULL },
	};

	for (size_t i = 0; i < sizeof(slip) / sizeof(slip[0]); i++) {
		ok(reads(slip[i][0]));
		equals(r.slip ? r.slip : "", slip[i][1] ? slip[i][1] : "");
	}
	refused("train 1 # one", "'#' behind train: a comment has a line of "
		"its own");
	refused("join #all", "'#all' behind join: a comment has a line of its "
		"own");
}

int
main(void)
{
	slips();
	calls();
	words();
	written();
	objects();
	refusals();
	equals(request_name(REQUEST_SAVE), "save");
	request_release(&r);
	return tap_done();
}
