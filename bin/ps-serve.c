/*
 * ps-serve - hold one shard of every variable; answer pulls and pushes.
 */
#include "base/failpoint.h"
#include "base/flush_denormals.h"
#include "base/log.h"
#include "prog/registration.h"
#include "prog/saver.h"
#include "prog/serve_options.h"
#include "prog/wal.h"
#include "server/server.h"
#include "store/disk.h"
#include "sys/callers.h"
#include "sys/clock.h"
#include "sys/grace.h"
#include "sys/memory.h"
#include "sys/net.h"

#include <stdlib.h>

#define LEAVE_MS	1000	/* for its standby to leave */

/* Everything that ps-serve has open. */
struct program {
	struct net *net;
	struct outbox outbox;
	struct server *server;
	struct saver *saver;
	struct wal *log;		/* NULL: no log */
	struct registration reg;
	struct callers callers;
	struct grace grace;
	uint64_t idle_ms;
	const char *coordinator;	/* NULL: not known */
};

static int
receive(struct program *p, struct fail *f)
{
	struct net_event e;

	for (net_next(p->net, &e); e.kind != NET_NOTHING;
	     net_next(p->net, &e)) {
		const int ours = registration_receive(&p->reg, p->net, &e, f);

		callers_note(&p->callers, &e, clock_ms());
		if (ours < 0)
			return -1;
		if (e.kind == NET_MESSAGE && !ours)
			server_receive(p->server, e.peer, &e.message,
				       clock_ms());
		else if (e.kind == NET_UP && !ours)
			server_up(p->server, e.peer);
		else if (e.kind == NET_SOMEBODY_LEFT)
			server_ping_standbys(p->server);
	}
	return 0;
}

/* Make received changes durable and act on them; read and write files. */
static int
act(struct program *p, struct fail *f)
{
	do {
		server_flush(p->server);
		if (p->log && wal_run(p->log, p->server, f) < 0)
			return -1;
	} while (saver_run(p->saver, p->server));
	return server_over(p->server, f) ? -1 : 0;
}

static bool
is_to_end(struct program *p)
{
	return cli_stop && grace_over(&p->grace, server_has_run(p->server,
								clock_ms()));
}

static int
serve(struct program *p, struct fail *f)
{
	struct pollfd fds[] = { { 0 },
				{ .fd = saver_fd(p->saver),
				  .events = POLLIN } };

	while (!server_stopping(p->server) && !is_to_end(p)) {
		const int ms = grace_wait(&p->grace);

		fds[0] = grace_fd(&p->grace);
		if (net_wait(p->net, fds, 2, ms < 0 ? SERVER_LOOK_MS : ms,
			     f) < 0 ||
		    receive(p, f) < 0 || act(p, f) < 0)
			return -1;
		server_look(p->server, clock_ms());
		if (server_check_idle(p->server, p->idle_ms, p->coordinator,
				      f) < 0)
			return -1;
	}

	/*
	 * Messages under way when a connection ends may be dropped, so wait
	 * until the standby has left.
	 */
	const uint64_t last = clock_ms() + LEAVE_MS;

	while (!grace_over(&p->grace, true) && server_awaits(p->server) &&
	       clock_ms() < last) {
		fds[0] = grace_fd(&p->grace);
		if (net_wait(p->net, fds, 1, LEAVE_MS, f) < 0 ||
		    receive(p, f) < 0)
			return -1;
	}
	return 0;
}

static bool
stopped(void)
{
	return cli_stop;
}

/*
 * Tests switch off the detection of repeated pushes by this failpoint, to see
 * that they notice.
 */
static bool
forgets(void)
{
	struct fail none;

	return failpoint("dedup", &none) < 0;
}

static int
open_all(struct program *p, const struct serve_settings *o, struct fail *f)
{
	p->grace.ms = o->grace_ms;
	p->idle_ms = o->idle_ms;
	p->coordinator = o->coordinator ? o->coordinator :
		cluster_endpoint(&o->cluster, CLUSTER_CHIEF, 0);
	p->reg = (struct registration){ .index = o->index,
					.life = clock_random() };
	p->net = net_new(o->lease_ms);
	net_await_name(p->net, o->common.timeout_ms, cli_stop_fd);
	p->outbox = net_outbox(p->net);
	p->server = server_new(p->reg.life, o->lease_ms, &p->outbox);
	server_limit(p->server, memory_limit(), stopped);
	server_forgets(p->server, forgets);
	disk_read_until(&cli_stop);
	p->saver = saver_new(o->directory, o->wal);
	server_saves(p->server, saver_can, p->saver);
	/*
	 * Listen first: if another server listens here, its files must not be
	 * touched.
	 */
	return net_guard(p->net, o->common.key, f) < 0 ||
		net_listen(p->net, o->bind, o->common.insecure, f) < 0 ||
		(o->directory && checkpoint_probe(o->directory, f) < 0) ||
		(o->wal && !(p->log = wal_open(o->directory,
					       serve_settings_index(o),
					       p->server, f))) ||
		(o->coordinator &&
		 net_dial(p->net, o->coordinator, &p->reg.peer, f) < 0) ||
		(o->standby_of &&
		 server_follow(p->server, o->standby_of,
			       net_endpoint(p->net), f) < 0) ? -1 : 0;
}

static void
close_all(struct program *p)
{
	saver_free(p->saver);
	wal_close(p->log);
	log_info("stopped: %s", server_state(p->server));
	server_free(p->server);
	net_leave(p->net);
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct serve_settings o;
	struct fail f;

	cli_begin(&serve_program);
	flush_denormals();
	serve_settings_read(&o, argc, argv);
	if (open_all(&p, &o, &f) < 0) {
		net_leave(p.net);
		if (cli_stop)
			exit(cli_end(0));
		cli_die(&f);
	}
	cli_ready(net_endpoint(p.net));
	cli_warn_open(&o.common, net_endpoint(p.net));
	log_info("listening on %s", net_endpoint(p.net));
	if (serve(&p, &f) < 0) {
		net_explain_failure(p.net, o.coordinator ? o.coordinator :
				    o.standby_of, &f);
		cli_die(&f);
	}
	close_all(&p);
	serve_settings_release(&o);
	return cli_end(0);
}
