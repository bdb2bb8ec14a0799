/* The coordinator's status line, and its metrics. */
#include "coord/coord_status.h"

#include "coord/coord_data.h"
#include "coord/coord_lease.h"
#include "coord/coord_report.h"

#include "coordinator.h"
#include "samplers_of.h"

#define A	1
#define B	2

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\nmetric mean_absolute_error p\n"
	"metric mean_squared_error p\n"
	"optimizer sgd\n";

/* Do the metrics have this line, with this label besides that of the run? */
static bool
figure_of(const char *name, const char *label, const char *value)
{
	struct text out = { 0 };
	char line[256];
	bool has;

	snprintf(line, sizeof(line), "\n%s{run=\"303132333435363738396162636465"
		 "66\"%s%s} %s\n", name, *label ? "," : "", label, value);
	coord_status(c, &out, now, 100);
	text_add(&out, "%s", "");
	has = strstr(out.data, line);
	if (!has)
		tap_differ(out.data, line + 1);
	text_release(&out);
	return has;
}

static bool
figure(const char *name, const char *value)
{
	return figure_of(name, "", value);
}

static bool
has_none(const char *name)
{
	struct text out = { 0 };
	bool has;

	coord_status(c, &out, now, 100);
	text_add(&out, "%s", "");
	has = strstr(out.data, name);
	text_release(&out);
	return !has;
}

static bool
progress(const char *what)
{
	struct text out = { 0 };
	bool has;

	coord_progress(c, &out, now);
	has = text_has(&out, what);
	text_release(&out);
	return has;
}

static void
begin(void)
{
	memcpy(options.run, "0123456789abcdef", PLAN_RUN);
	coordinator_begin(model);
}

/* Adds a result of the run. */
static void
result(uint64_t examples, double loss, uint64_t staleness)
{
	const struct result r = { .examples = examples, .loss = loss,
				  .staleness = staleness, .metrics = 2,
				  .sum = { { 6, (double)examples },
					   { 2, (double)examples } } };

	report_count(c, &(struct request){ 0 }, &r, NULL, NULL);
}

static void
scores(void)
{
	begin();
	ok(has_none("pskit_loss") && has_none("pskit_metric"));
	ok(progress("step 0  0 steps/s  0 examples/s  0 workers  1 servers"));
	now += 2000;
	result(4, 8, 0);
	result(4, 4, 3);
	ok(figure("pskit_steps_total", "2") &&
	   figure("pskit_examples_total", "8") && figure("pskit_loss", "1.5"));
	ok(figure("pskit_start_time_seconds", "101"));
	ok(figure_of("pskit_step_staleness_bucket", "le=\"2\"", "1") &&
	   figure_of("pskit_step_staleness_bucket", "le=\"4\"", "2") &&
	   figure("pskit_step_staleness_sum", "3"));
	named(progress("1 steps/s  4 examples/s  loss 1.5000  mean_abs"),
	      "a metric of the model is in the line of progress");
	ok(strncmp(coord_state(c), "2 steps, 8 examples; ", 21) == 0);
	coordinator_end();
}

static void
workers(void)
{
	struct message hello = { .kind = MESSAGE_HELLO };

	begin();
	joins(A);
	joins(B);
	ok(figure("pskit_workers", "2") &&
	   figure_of("pskit_worker_up", "worker=\"1\"", "1"));
	coord_receive(c, B, &(struct message){ .kind = MESSAGE_BYE }, now);
	now += 500;
	ok(figure_of("pskit_worker_up", "worker=\"1\"", "0") &&
	   figure_of("pskit_worker_silent_seconds", "worker=\"1\"", "0.5"));
	hello.hello.version = WIRE_VERSION;
	hello.hello.role = ROLE_WORKER;
	hello.hello.index = 1;
	hello.hello.life = 33;
	coordinator_hears(3, &hello);
	named(figure_of("pskit_worker_up", "worker=\"1\"", "1") &&
	      figure_of("pskit_worker_silent_seconds", "worker=\"1\"", "0"),
	      "a worker that was started again keeps its labels");
	at(A)->silent = true;
	ok(figure_of("pskit_worker_up", "worker=\"0\"", "0"));
	ok(progress("2 workers  1 servers  worker:0 hangs"));
	coordinator_end();
}

static void
data(void)
{
	struct splits s = { .files = 1, .count = 1 };
	struct sampler *sampler;
	const struct result r = { .examples = 4, .metrics = 2 };
	struct lease_terms terms;

	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(1, sizeof(*s.split));
	s.file[0].name = mem_text("a.tsv");
	s.split[0] = (struct split){ 0, 0, UINT64_MAX };
	sampler = sampler_new(&(struct sampler_options){
		.batch = 4, .unit = 1, .buffer = 8 }, &s);
	options.samplers = samplers_of(sampler, 0);
	begin();
	ok(has_none("pskit_epoch"));
	sampler_count_next(sampler);
	ok(sampler_counted(sampler, 0, 20, NULL, 0, &f) == 0);
	ok(figure("pskit_epoch", "0") && figure("pskit_epoch_records", "20"));
	ask("{\"op\":\"train\"}");
	queue_lease_stream(c->queue, c, 1, WIRE_NONE, &(struct lease_choice){
		.streams = 1, .ahead = 1 }, &terms);
	data_done(c, &r, NULL, NULL, now);
	ok(figure("pskit_epoch_records_visited", "4"));
	coordinator_end();
}

static void
checkpoints(void)
{
	strcpy(options.restore, "step-10");
	options.restored.step = 10;
	begin();
	ok(figure("pskit_checkpoint_step", "10") &&
	   figure("pskit_step", "10") && figure("pskit_checkpoints_total",
						"0"));
	named(has_none("pskit_checkpoint_timestamp_seconds"),
	      "the time of a restored checkpoint is unknown, so it is not "
	      "printed");
	coordinator_end();

	options.checkpoint = true;
	begin();
	ok(has_none("pskit_checkpoint_step"));
	ask("{\"op\":\"save\"}");
	coord_end_of_requests(c, now);
	coord_tick(c, now);
	ok(server_does(MESSAGE_FREEZE));
	coord_tick(c, now);
	now += 1500;
	ok(says(SERVER, MESSAGE_SAVE));
	struct message m = message_answer(&last_posted->m, MESSAGE_SAVED);

	m.saved.size = 9;
	m.blob = (struct frame){ "xxh3:1", 6, NULL };
	coordinator_hears(SERVER, &m);
	ok(coord_job(c));
	coord_published(c, NULL, now);
	ok(figure("pskit_checkpoints_total", "1") &&
	   figure("pskit_checkpoint_timestamp_seconds", "102.5") &&
	   figure("pskit_checkpoint_duration_seconds", "1.5"));
	coordinator_end();
}

static void
hanging_server(void)
{
	begin();
	for (int i = 0; i < 6; i++)
		coord_tick(c, now += 250);
	named(fleet_hangs(c->fleet, 0) && progress("server 0 hangs"),
	      "a server that hangs is named in the line of progress");
	coordinator_end();
}

int
main(void)
{
	scores();
	workers();
	data();
	checkpoints();
	hanging_server();
	return tap_done();
}
