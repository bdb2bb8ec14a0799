/* The options that a coordinator accepts and refuses, and its printed plan. */
#include "coord/coord.h"

#include "coordinator.h"

#define A	1

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";
static const char two_rates[] =
	"input x float[2]\nlabel y float\nh = dense x units=2\n"
	"p = dense h units=1\nloss mean_squared_error p\n"
	"optimizer adam for=h/* learning_rate=0.1\n"
	"optimizer sgd learning_rate=0.01\n";

static void
limits(void)
{
	const size_t size = WIRE_FRAME;
	struct model_source source;
	struct model_file file[2];

	coordinator_new(model);
	coord_free(c);
	file[0] = fixture.source.file[0];
	file[1] = (struct model_file){ (char *)(uintptr_t)"words",
				       mem_alloc(size, 1), size };
	source = (struct model_source){ .file = file, .count = 2 };
	c = coord_new(&options, &source, fixture.model, &post, now, &f);
	named(!c && f.kind == FAIL_CONFIG &&
	      strcmp(f.text, "the model and the files that it names have "
		     "65 MiB, more than 64: the largest is words, with 64 "
		     "MiB") == 0,
	      "a model too large for a message is refused");
	free(file[1].text);
	coordinator_end();
	post_cannot_dial = true;
	coordinator_new(model);
	named(!c && f.kind == FAIL_PEER,
	      "a server that cannot be dialled is an error");
	coordinator_end();
	post_cannot_dial = false;
}

static void
any_port(void)
{
	coordinator_new(model);
	equals(coord_warnings(c)->size, 0);
	coordinator_end();
	options.any_port = true;
	coordinator_new(model);
	ok(warns("listening on node:0"));
	equals(coord_term(c), 1);
	coordinator_end();
}

static void
plan_for_people(void)
{
	const struct plan_bags bags = { 0 };
	struct text out = { 0 };

	coordinator_new(model);
	coord_print_plan(&out, &options, fixture.model, &bags);
	ok(text_has(&out, "p/kernel"));
	options.mode = MODE_SYNC;
	options.replicas = 7;
	coord_print_plan(&out, &options, fixture.model, &bags);
	ok(text_has(&out, "7"));
	text_release(&out);
	coordinator_end();
}

static void
rates(void)
{
	coordinator_begin(two_rates);
	ask("{\"op\":\"train\",\"steps\":1}");
	equals(coord_warnings(c)->size, 0);
	ask("{\"op\":\"train\",\"steps\":1,\"learning_rate_scale\":0.5}");
	equals(coord_warnings(c)->size, 0);
	ask("{\"op\":\"train\",\"steps\":1,\"learning_rate\":0.5}");
	ok(warns("learning_rate=0.5 is now the rate of all optimizers"));
	ask("{\"op\":\"train\",\"steps\":1,\"learning_rate\":0.25}");
	named_equals(coord_warnings(c)->size, 0,
		     "the warning about the rate of all optimizers comes once");
	coordinator_end();
	coordinator_begin(model);
	ask("{\"op\":\"train\",\"steps\":1,\"learning_rate\":0.5}");
	named_equals(coord_warnings(c)->size, 0,
		     "a model with one optimizer gets no warning about its "
		     "rate");
	coordinator_end();
}

static void
slips(void)
{
	coordinator_begin(model);
	ask("first");
	equals(coord_warnings(c)->size, 0);
	ask("jion");
	ok(warns("\"jion\" is no request, so it is the id of a "
		 "step; did you mean join?"));
	ask("jion");
	named_equals(coord_warnings(c)->size, 0,
		     "the warning about a misspelt request comes once");
	coordinator_end();
}

/* A worker cannot reach a server that the coordinator can. */
static void
lost(void)
{
	struct message m = { .kind = MESSAGE_LOST, .request = 5 };

	coordinator_begin(model);
	joins(A);
	m.blob = (struct frame){ "server 0 is silent", 18, NULL };
	coordinator_hears(A, &m);
	ok(says(A, MESSAGE_REFUSED) && last_posted->m.request == 5 &&
	   strcmp(last_posted->text, "the coordinator can") == 0);
	ok(warns("worker:0: server 0 is silent"));
	m.lost.server = 1;
	coordinator_hears(A, &m);
	ok(says(A, MESSAGE_OK) && coord_warnings(c)->size == 0);
	m.lost.server = 0;
	coord_down(c, SERVER, now);
	coordinator_hears(A, &m);
	named(says(A, MESSAGE_OK) && coord_warnings(c)->size == 0,
	      "a worker that reports a server the coordinator misses too is "
	      "told to wait");
	coordinator_end();
}

static bool
senseless(uint32_t kind, const char *bytes, size_t size)
{
	bool is;

	coordinator_new(model);
	is = coord_replay(c, kind, bytes, size, &f) < 0 &&
		strcmp(f.text, "a malformed record") == 0;
	if (!is)
		printf("# record %u: %s\n", kind, f.text);
	coordinator_end();
	return is;
}

/* A journal's records of another run, or that make no sense, are refused. */
static void
replay(void)
{
	struct pack other = { 0 };

	for (uint32_t kind = JOURNAL_RUN; kind < JOURNAL_KINDS; kind++)
		if (kind != JOURNAL_FINISHED)
			ok(senseless(kind, "\xc0", 1));
	coordinator_new(model);
	pack_uint(&other, JOURNAL_VERSION);
	for (int i = 0; i < 8; i++)
		pack_uint(&other, 0);
	ok(coord_replay(c, JOURNAL_RUN, other.data, other.size, &f) < 0 &&
	   f.kind == FAIL_CONFIG && strstr(f.text, "it is the journal of a run "
					   "with another model: "));
	pack_release(&other);
	coordinator_end();
}

int
main(void)
{
	limits();
	any_port();
	plan_for_people();
	rates();
	slips();
	lost();
	replay();
	coord_free(NULL);
	return tap_done();
}
