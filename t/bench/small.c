/*
 * small - requests a second, each of which pushes and pulls 4 KB, with 8 in
 * flight, compared with the bare path.
 */
#include "serve.h"
#include "path.h"

#define FLOATS		1024
#define IN_FLIGHT	8
#define MARK		4096

static const char model[] =
	"input    x float[1023]\n"
	"label    y float\n"
	"out    = dense x units=1\n"
	"loss     mean_squared_error out\n"
	"optimizer sgd\n";

static float gradient[FLOATS], value[FLOATS];

static void
ask(struct serve *s, uint64_t step)
{
	struct message m = serve_message(s, MESSAGE_PUSHPULL, 0, step);

	m.frames = 3;
	m.frame[0] = m.frame[1] = (struct frame){ "", 0, NULL };
	m.frame[2] = (struct frame){ gradient, sizeof(gradient), NULL };
	net_send(s->net, s->worker, &m);
	if (step % MARK == MARK - 1)
		serve_mark(s, step - IN_FLIGHT);
}

static void
take(struct serve *s)
{
	struct net_event e;

	serve_await(s, s->worker, MESSAGE_VALUES, &e);
	if (e.message.values.outcome != OUTCOME_APPLIED ||
	    e.message.frame[0].size != sizeof(value))
		bench_die("a push was not applied");
	memcpy(value, e.message.frame[0].data, sizeof(value));
}

static void
measure_ours(struct serve *s, struct series *to, size_t count)
{
	static uint64_t step;
	const struct watch began = watch_read(s->pid);

	for (size_t i = 0; i < count + IN_FLIGHT; i++) {
		if (i >= IN_FLIGHT)
			take(s);
		if (i < count)
			ask(s, step++);
	}
	series_add(to, (double)count, began, s->pid);
}

static void
measure_bare(struct path *p, struct series *to, size_t count)
{
	const struct watch began = watch_read(p->pid);
	struct path_header h;

	for (size_t i = 0; i < count + IN_FLIGHT; i++) {
		if (i >= IN_FLIGHT)
			path_take(p, &h, value, false);
		h = (struct path_header){ .op = PATH_PUSHPULL,
					  .count = FLOATS };
		if (i < count)
			path_ask(p, &h, NULL, gradient, FLOATS);
	}
	series_add(to, (double)count, began, p->pid);
}

int
main(void)
{
	const size_t count = bench_scale(100, 40000, 500000);
	struct series ours = { 0 }, bare = { 0 };
	struct serve serve;
	struct path path;

	serve_begin(&serve, model, BENCH_TCP);
	path_begin(&path, FLOATS, BENCH_TCP);
	for (size_t i = 0; i < bench_runs(); i++) {
		measure_ours(&serve, &ours, count);
		measure_bare(&path, &bare, count);
	}
	bench_print(&(struct claim){ "small", "4 KB, 8 in flight",
				     "requests/s", "the bare path", 0.85 },
		    &ours, &bare);
	serve_end(&serve);
	path_end(&path);
	return 0;
}
