/*
 * ps-work - run steps: read a batch, pull, compute gradients, push.
 */
#include "base/flush_denormals.h"
#include "base/log.h"
#include "prog/work_options.h"
#include "sys/clock.h"
#include "sys/heartbeat_limit.h"
#include "sys/net.h"

#define TICK_MS	250

static void
notify_alive(void *worker)
{
	worker_heartbeat(worker);
}

static int
receive(struct net *net, struct worker *w, struct feed *feed, struct fail *f)
{
	struct net_event e;

	for (net_next(net, &e); e.kind != NET_NOTHING; net_next(net, &e)) {
		if (e.kind == NET_UP)
			worker_up(w, e.peer, clock_ms());
		else if (e.kind == NET_DOWN)
			worker_down(w, e.peer, clock_ms());
		else if (e.kind == NET_MESSAGE &&
			 worker_receive(w, e.peer, &e.message, clock_ms(),
					clock_us(), f) < 0)
			return -1;
		/*
		 * Read the next batch while the answers for this one are under
		 * way.
		 */
		feed_steps(feed);
		if (worker_stopped(w))
			break;
	}
	return 0;
}

static int
work(struct net *net, struct worker *w, struct feed *feed,
     struct work_settings *o, struct fail *f)
{
	struct grace *grace = &o->grace;
	struct pollfd fds[1 + FEED_FDS + EXTERNAL_FDS];

	while (!grace_over(grace, worker_has_run(w)) && !worker_stopped(w)) {
		size_t count = 1;

		fds[0] = grace_fd(grace);
		count += feed_fds(feed, fds + count);
		count += external_processes_fds(&o->programs, fds + count);
		if (net_wait(net, fds, count,
			     worker_can_compute(w) ? 0 : TICK_MS, f) < 0)
			return -1;
		/* A program that waits for its next step is served first. */
		external_processes_advance(&o->programs);
		if (receive(net, w, feed, f) < 0)
			return -1;
		feed_steps(feed);
		if (worker_tick(w, clock_ms(), f) < 0)
			return -1;
		feed_evaluation(feed);
		/*
		 * Messages that arrive while computing are handled before the
		 * next step.
		 */
		if (worker_compute(w)) {
			worker_computed(w, clock_ms(), clock_us());
			/* The end of the inputs causes no event. */
			feed_evaluation(feed);
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct fail f;

	cli_begin(&work_program);
	flush_denormals();

	struct work_settings o;

	work_settings_read(&o, argc, argv);

	struct net *net = net_new(o.worker.lease_ms);
	struct outbox outbox = net_outbox(net);
	struct worker *worker = NULL;

	if (net_guard(net, o.common.key, &f) == 0)
		worker = worker_new(&o.worker, &outbox, clock_ms(), &f);
	if (!worker)
		cli_die(&f);

	struct feed *feed = feed_new(worker, &o.feed);
	struct heartbeat_limit heartbeat_limit;

	heartbeat_limit_begin(&heartbeat_limit, o.worker.lease_ms, notify_alive,
			      worker);

	int status = o.check ? 0 : work(net, worker, feed, &o, &f);

	if (status < 0 && cli_stop && f.kind == FAIL_AGAIN)
		status = 0;	/* it was told to end while it was computing */
	if (status < 0)
		net_explain_failure(net, o.worker.coordinator, &f);
	else
		status = feed_failure(feed, &f);

	log_info("stopped after %s", worker_state(worker));
	heartbeat_limit_end();
	feed_free(feed);
	worker_free(worker);
	net_leave(net);
	work_settings_release(&o);
	if (status < 0)
		cli_die(&f);
	return cli_end(0);
}
