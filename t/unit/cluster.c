/* A cluster is read as TensorFlow writes it, and refused with messages of our
   own. */
#include "store/cluster.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS	"\"cluster\": {\"chief\": [\"h0:1\"], " \
		"\"worker\": [\"h1:1\", \"h2:1\"], \"ps\": [\"h3:1\"]}"

static struct cluster c;
static struct fail f;

static bool
reads(const char *source, const char *task)
{
	cluster_release(&c);
	return cluster_read(&c, source, task, &f) == 0;
}

static bool
is_task(enum cluster_type type, uint64_t index)
{
	return c.has_task && c.type == type && c.index == index;
}

static bool
is_at(enum cluster_type type, uint64_t index, const char *endpoint)
{
	const char *at = cluster_endpoint(&c, type, index);

	return at ? strcmp(at, endpoint) == 0 : !*endpoint;
}

static bool
refused(const char *source, const char *task, enum fail_kind kind,
	const char *words)
{
	const bool held = !reads(source, task) && f.kind == kind &&
		strstr(f.text, words) && !strchr(f.text, '\n');

	if (!held)
		tap_differ(f.text, words);
	return held;
}

static bool
wrong(const char *source, const char *words)
{
	return refused(source, NULL, FAIL_CONFIG, words);
}

static void
test_sources(void)
{
	char path[] = "/tmp/cluster.XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	fputs("\xef\xbb\xbf", file);	/* as some editors begin */
	fputs("{" JOBS ", \"task\": {\"type\": \"ps\", \"index\": 0}}", file);
	fclose(file);
	unsetenv("TF_CONFIG");
	ok(reads(NULL, NULL) && !c.has_jobs && !c.has_task);
	ok(reads(NULL, "worker:7") && is_task(CLUSTER_WORKER, 7));

	setenv("TF_CONFIG", "{" JOBS ", \"task\": {\"type\": \"worker\", "
	       "\"index\": 1}, \"rpc_layer\": \"grpc\", \"pskit\": [1]}", 1);
	ok(reads(NULL, NULL) && is_task(CLUSTER_WORKER, 1));
	ok(is_at(CLUSTER_CHIEF, 0, "tcp://h0:1"));
	ok(is_at(CLUSTER_WORKER, 1, "tcp://h2:1"));
	ok(is_at(CLUSTER_WORKER, 2, ""));
	ok(reads(NULL, "ps:0") && is_task(CLUSTER_PS, 0) && c.has_jobs);
	ok(reads(path, NULL) && is_task(CLUSTER_PS, 0));
	ok(reads(path, "worker:0") && is_task(CLUSTER_WORKER, 0));
	ok(reads(" {" JOBS "}", NULL) && c.has_jobs && !c.has_task);
	setenv("TF_CONFIG", "", 1);
	ok(reads(NULL, NULL) && !c.has_jobs);
	setenv("TF_CONFIG", "worker", 1);
	ok(wrong(NULL, "TF_CONFIG: line 1: no JSON"));
	unlink(path);
	ok(refused(path, NULL, FAIL_NOINPUT, "cannot open"));
	unsetenv("TF_CONFIG");
}

static void
test_shapes(void)
{
	ok(reads("{" JOBS ", \"task\": {\"type\": \"worker\", "
		 "\"index\": \"1\"}}", NULL) && is_task(CLUSTER_WORKER, 1));
	ok(reads("{" JOBS ", \"task\": {\"type\": \"master\"}}", NULL) &&
	   is_task(CLUSTER_CHIEF, 0));
	ok(reads("{" JOBS "}", "evaluator:9") &&
	   is_task(CLUSTER_EVALUATOR, 9));
	ok(reads("{\"cluster\": {\"master\": [\"h:1\"], \"worker\": "
		 "[\"ipc:///w\"], \"ps\": [\"tcp://[::1]:2\"]}}", NULL) &&
	   is_at(CLUSTER_CHIEF, 0, "tcp://h:1") &&
	   is_at(CLUSTER_WORKER, 0, "ipc:///w") &&
	   is_at(CLUSTER_PS, 0, "tcp://[::1]:2"));
	ok(reads("{\"sparseCluster\": {\"worker\": {\"3\": \"w:1\"}, "
		 "\"ps\": [\"p:1\", \"q:1\"]}}", "worker:3") &&
	   is_at(CLUSTER_WORKER, 2, "") &&
	   is_at(CLUSTER_WORKER, 3, "tcp://w:1"));
	ok(reads("{\"sparseCluster\": {\"ps\": [\"p:1\"]}, \"task\": "
		 "{\"type\": \"ps\", \"index\": 4}}", NULL) &&
	   is_at(CLUSTER_PS, 4, "tcp://p:1") && is_at(CLUSTER_PS, 0, ""));
}

#define EVALUATOR(i)	"\"task\": {\"type\": \"evaluator\", \"index\": " #i "}"

/* TF_CONFIG of an evaluator: as in the tutorial, as operators write it, and
   without the cluster. */
static void
test_evaluators(void)
{
	ok(reads("{\"cluster\": {\"evaluator\": [\"host7:2222\"]}, "
		 EVALUATOR(0) "}", NULL) && is_task(CLUSTER_EVALUATOR, 0) &&
	   is_at(CLUSTER_CHIEF, 0, ""));
	ok(reads("{" EVALUATOR(1) "}", NULL) &&
	   is_task(CLUSTER_EVALUATOR, 1) && !c.has_jobs);
	ok(reads("{\"cluster\": {}, " EVALUATOR(0) "}", NULL) &&
	   is_task(CLUSTER_EVALUATOR, 0));
	ok(reads("{\"cluster\": {\"evaluator\": [\"host7:2222\"]}}",
		 "evaluator:0") && is_task(CLUSTER_EVALUATOR, 0));
	ok(reads("{\"cluster\": {\"chief\": [\"h0:1\"], \"evaluator\": "
		 "{\"0\": \"h9:1\"}}, " EVALUATOR(0) "}", NULL) &&
	   is_at(CLUSTER_CHIEF, 0, "tcp://h0:1"));
	ok(reads("{\"cluster\": {\"evaluator\": [\"h9:port\"], "
		 "\"worker\": [\"h1:1\"], \"ps\": [\"h2:1\"]}, \"task\": "
		 "{\"type\": \"worker\", \"index\": 0}}", NULL) &&
	   is_task(CLUSTER_WORKER, 0));
	/* All other roles need the whole cluster. */
	ok(wrong("{\"cluster\": {\"evaluator\": [\"h:1\"]}}", "no worker"));
	ok(refused("{\"cluster\": {\"evaluator\": [\"h:1\"]}, " EVALUATOR(0)
		   "}", "worker:0", FAIL_CONFIG, "no worker"));
	ok(refused("{" EVALUATOR(0) "}", "worker:0", FAIL_CONFIG,
		   "no object"));
	ok(wrong("{\"cluster\": 7, " EVALUATOR(0) "}", "no object"));
}

static void
test_refusals(void)
{
	/* K1 to K4 are the numbers of the cases in TensorFlow's tests. */
	ok(wrong("{\"cluster\": {\"gpu\": [\"h:1\"]}}",		/* K1 */
		 "-f: cluster: 'gpu' is not a task type"));
	ok(wrong("{" JOBS ", \"task\": {\"type\": \"foobar\"}}", /* K2 */
		 "-f: task: 'foobar' is not a task type"));
	ok(wrong("{\"cluster\": {\"chief\": [\"a:1\", \"b:1\"], " /* K3 */
		 "\"worker\": [\"c:1\"], \"ps\": [\"d:1\"]}}",
		 "more than one chief"));
	ok(wrong("{\"cluster\": {\"chief\": [\"a:1\"], "	/* K3 */
		 "\"master\": [\"b:1\"]}}", "given twice"));
	ok(wrong("{\"cluster\": {\"ps\": [\"h:1\"]}}",		/* K4 */
		 "no worker"));
	ok(wrong("{\"cluster\": {\"worker\": [\"h:1\"]}}",	/* K4 */
		 "no ps"));
	ok(wrong("{\"cluster\": {\"worker\": [\"h:99999\"]}}",
		 "cluster: worker 0: 'tcp://h:99999'"));
	ok(wrong("{\"cluster\": {\"worker\": [7]}}", "worker 0: an address"));
	ok(wrong("{\"cluster\": {\"worker\": \"h:1\"}}", "a list"));
	ok(wrong("{\"cluster\": {\"worker\": {\"x\": \"h:1\"}}}", "an index"));
	ok(wrong("{\"cluster\": {\"worker\": {\"99999999\": \"h:1\"}}}",
		 "more than 65536"));
	ok(wrong("{\"cluster\": [1]}", "no object"));
	ok(wrong("{}", "no object"));
	ok(wrong("{" JOBS ", " JOBS "}", "no JSON"));
	ok(wrong("{" JOBS ", \"task\": {\"type\": \"worker\", "
		 "\"index\": 2}}", "there is no worker 2 among 2"));
	ok(wrong("{" JOBS ", \"task\": {\"type\": \"worker\", "
		 "\"index\": -1}}", "\"index\""));
	ok(wrong("{" JOBS ", \"task\": {\"type\": \"worker\", "
		 "\"index\": 1.5}}", "\"index\""));
	ok(wrong("{" JOBS ", \"task\": {}}", "\"type\" is missing"));
	ok(refused(NULL, "worker:x", FAIL_USAGE, "-t: 'worker:x'"));
	ok(refused(NULL, "cook:0", FAIL_USAGE, "-t: 'cook' is not a task "
			 "type"));
}

int
main(void)
{
	test_sources();
	test_shapes();
	test_evaluators();
	test_refusals();
	cluster_release(&c);
	return tap_done();
}
