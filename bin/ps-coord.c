/*
 * ps-coord - a filter: step requests in, results out.
 */
#include "base/log.h"
#include "base/mem.h"
#include "coord/coord.h"
#include "prog/checkpoint_publisher.h"
#include "prog/console.h"
#include "prog/coord_options.h"
#include "prog/ended.h"
#include "prog/journal_file.h"
#include "prog/requests.h"
#include "store/cluster.h"
#include "sys/callers.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "sys/stream.h"

#include <stdio.h>
#include <string.h>

#define TICK_MS		50
#define LINGER_MS	500

/* Everything that ps-coord has open. */
struct program {
	struct coord_settings s;
	struct model_source source;
	struct model *model;
	struct net *net;
	struct coord *coord;
	struct journal_file *journal;
	struct callers callers;
	uint64_t written;	/* bytes of results so far */
	bool cut;		/* the file has been cut off behind them */
	struct requests requests;
	int out;
	struct console console;
	struct ended workers_ended;
	uint64_t lose_ms;	/* when unread results are lost; 0: never */
	bool lost;		/* our results cannot be written */
	struct fail why_lost;
};

static void
receive(struct program *p)
{
	struct net_event e;

	for (net_next(p->net, &e); e.kind != NET_NOTHING;
	     net_next(p->net, &e)) {
		const uint64_t now = clock_ms();

		callers_note(&p->callers, &e, now);
		if (e.kind == NET_UP)
			coord_up(p->coord, e.peer, now);
		else if (e.kind == NET_DOWN)
			coord_down(p->coord, e.peer, now);
		else if (e.kind == NET_SOMEBODY_LEFT)
			coord_somebody_left(p->coord, now);
		else if (e.kind == NET_MESSAGE)
			coord_receive(p->coord, e.peer, &e.message, now);
	}
}

/* Write results.  If that fails, the run ends as if it were told to, or is left
   to be resumed: see coord_output_closed().  Lost results count as written,
   since the last checkpoint waits for that. */
static void
write_output(struct program *p)
{
	struct text *out = coord_output(p->coord);
	const size_t size = out->size;
	const uint64_t now = clock_ms();

	if (!p->lost && stream_resume(p->out, p->s.output, p->written, &p->cut,
				      out, &p->why_lost) < 0) {
		p->lost = true;
		coord_output_closed(p->coord, &p->why_lost,
				    stream_is_file(p->out), now);
	}
	if (p->lose_ms == 0 || size == 0 || out->size < size)
		p->lose_ms = cli_stop ? now + LINGER_MS : 0;
	else if (now >= p->lose_ms && !p->lost)
		p->lost = fail(&p->why_lost, FAIL_IO, "results are lost: "
			       "nobody reads them") < 0;
	p->written += size - out->size;
	if (p->lost)
		text_reset(out);
	if (out->size == 0)
		coord_note(p->coord, p->written, false, now);
}

static int
run(struct program *p, int *status, struct fail *why, struct fail *f)
{
	struct text *out = coord_output(p->coord);
	bool stopped = false;
	struct fail ended;

	while (!coord_over(p->coord, status, why) ||
	       publisher_busy(&p->s.ckpt)) {
		struct pollfd fds[3 + REQUESTS_FDS] = {
			{ stopped ? -1 : cli_stop_fd, POLLIN, 0 },
			{ out->size > 0 ? p->out : -1, POLLOUT, 0 },
			{ publisher_fd(&p->s.ckpt), POLLIN, 0 }
		};

		requests_fds(&p->requests, coord_wants(p->coord), fds + 3);
		if (net_wait(p->net, fds, 3 + REQUESTS_FDS,
			     coord_holds(p->coord) ? COORD_HOLD_MS : TICK_MS,
			     f) < 0 ||
		    requests_read(&p->requests, fds + 3, f) < 0)
			return -1;
		if (cli_stop && !stopped) {
			coord_stop(p->coord, clock_ms());
			stopped = true;
		}
		receive(p);
		requests_take(&p->requests, p->coord, clock_ms());
		if (ended_look(&p->workers_ended, clock_ms(), &ended))
			coord_forsaken(p->coord, &ended);
		coord_tick(p->coord, clock_ms());
		publisher_run(&p->s.ckpt, p->coord, clock_ms());
		write_output(p);
		console_update(&p->console, p->coord);
	}
	return 0;
}

/* Print the remaining results, however slow the reader, unless told to end. */
static void
print_rest(struct program *p)
{
	while (coord_output(p->coord)->size > 0 && !p->lost) {
		struct pollfd fds[] = { { p->out, POLLOUT, 0 },
					{ cli_stop_fd, POLLIN, 0 } };

		poll(fds, cli_stop ? 1 : 2, cli_stop ? LINGER_MS : TICK_MS);
		write_output(p);
		console_update(&p->console, p->coord);
	}
}

static void
print_queue(const struct coord_settings *s, const char *endpoint)
{
	if (s->queue[strlen(s->queue) - 1] == '*')
		log_warn("taking requests at %s", endpoint);
	cli_warn_open(&s->common, endpoint);
}

static int
open_all(struct program *p, struct outbox *outbox, struct fail *f)
{
	struct coord_settings *s = &p->s;

	if (requests_open(&p->requests, s->requests,
			  s->o.queue ? NULL : s->queue, f) < 0 ||
	    publisher_probe(&s->ckpt, f) < 0 || (s->journal &&
	     !(p->journal = journal_file_open(s->journal, 0, f))) ||
	    publisher_begin(&s->ckpt, s->restore, p->model, &s->o, f) < 0 ||
	    console_begin(&p->console, s->common.quiet, s->status, f) < 0)
		return -1;
	publisher_warn(&s->ckpt, s->restore, &s->o,
		       journal_file_resumed(p->journal));
	s->o.journal = journal_file_sink(p->journal, &p->requests.in);
	p->net = net_new(s->o.lease_ms);
	net_await_name(p->net, s->common.timeout_ms, cli_stop_fd);
	if (net_guard(p->net, s->common.key, f) < 0 ||
	    net_listen(p->net, s->bind, s->common.insecure, f) < 0 ||
	    (s->o.queue && net_listen_also(p->net, s->queue,
					   s->common.insecure, f) < 0))
		return -1;
	ended_begin(&p->workers_ended, s->bind);
	coord_settings_listen(s, net_endpoint(p->net));
	*outbox = net_outbox(p->net);
	p->coord = coord_new(&s->o, &p->source, p->model, outbox, clock_ms(),
			     f);
	if (!p->coord ||
	    (p->out = journal_file_begin(p->journal, p->coord,
					 &p->requests.in, s->output,
					 &p->written, f)) < 0)
		return -1;
	cli_warn_open(&s->common, net_endpoint(p->net));
	if (s->o.queue)
		print_queue(s, net_endpoint_also(p->net));
	return 0;
}

static void
close_all(struct program *p)
{
	coord_free(p->coord);
	net_leave(p->net);
	requests_close(&p->requests);
	model_free(p->model);
	model_source_release(&p->source);
	coord_settings_release(&p->s);
	/* From here on, the same command begins a new run. */
	journal_file_close(p->journal);
}

int
main(int argc, char **argv)
{
	struct text plan = { 0 };
	struct program p = { 0 };
	struct outbox outbox;
	struct fail f, why;
	int status;

	cli_begin(&coord_program);
	cli_enable_status_signal();
	coord_settings_read(&p.s, argc, argv);
	if (p.s.print_task) {
		puts(p.s.task);
		coord_settings_release(&p.s);
		return cli_end(0);
	}
	p.model = coord_settings_model(&p.s, &p.source, &f);
	if (!p.model || coord_settings_check(&p.s, p.model, &f) < 0)
		cli_die(&f);
	if (p.s.plan_only) {
		coord_print_plan(&plan, &p.s.o, p.model, &p.s.bags);
		fputs(plan.data, stdout);
		text_release(&plan);
		close_all(&p);
		return cli_end(0);
	}
	if (open_all(&p, &outbox, &f) < 0 || run(&p, &status, &why, &f) < 0) {
		journal_file_close(p.journal);
		cli_die(&f);
	}
	for (size_t i = 0; status != 0 && i < p.s.o.servers; i++)
		if (net_explain_failure(p.net, p.s.o.server[i], &why))
			status = (int)why.kind;
	print_rest(&p);
	coord_finish(p.coord, p.written, clock_ms());
	console_end(&p.console, p.coord);
	log_info("%s", coord_state(p.coord));
	close_all(&p);
	if (p.lost)
		cli_lost_output(&p.why_lost);
	if (status != 0 && *why.text)
		cli_die(&why);
	return cli_end(status);
}
