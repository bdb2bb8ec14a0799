/*
 * lease - the steps that a coordinator leases a second: a real ps-coord with a
 * ps-serve, and workers that report each step at once; compared with a bare
 * ROUTER that echoes as many messages of the same sizes.
 */
#include "bench.h"
#include "path.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "wire/plan.h"
#include "wire/result.h"

#define WORKERS		4
#define IN_FLIGHT	2	/* leases of each worker */

static char folder[] = "/tmp/lease.XXXXXX";

static const char model[] =
	"input    x float\n"
	"label    y float\n"
	"out    = dense x units=1\n"
	"loss     mean_squared_error out\n"
	"optimizer sgd\n";

/* ---- ours ---- */

static void
write_file(const char *name, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) == EOF || fclose(file) != 0)
		bench_die("cannot write %s", path);
}

static pid_t
spawn(const char *command)
{
	const pid_t pid = bench_fork();

	if (pid > 0)
		return pid;
	if (chdir(folder) == 0)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(1);
}

struct workers {
	struct net *net;
	uint64_t peer[WORKERS];
	size_t ready, stopped;
	double done;		/* steps */
	struct watch began;
};

static void
hello(struct workers *w, size_t i)
{
	struct message m = { .kind = MESSAGE_HELLO, .request = 1 };

	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_WORKER;
	m.hello.index = i;
	m.hello.life = i + 1;
	net_send(w->net, w->peer[i], &m);
}

static void
report(struct workers *w, uint64_t peer, const struct message *lease)
{
	struct message m = { .kind = MESSAGE_DONE,
			     .request = lease->request, .frames = 1 };
	static struct pack results;

	pack_reset(&results);
	for (uint64_t i = 0; i < lease->lease.count; i++)
		result_write(&results, &(struct result){
			.step = lease->lease.first + i, .attempt = 1,
			.examples = 1, .microseconds = 1 });
	m.done.term = lease->lease.term;
	m.done.count = lease->lease.count;
	m.frame[0] = (struct frame){ results.data, results.size, NULL };
	net_send(w->net, peer, &m);
	w->done += (double)lease->lease.count;
}

static void
receive(struct workers *w, const struct net_event *e, pid_t coordinator)
{
	const struct message ready = { .kind = MESSAGE_READY };

	if (e->kind == NET_UP)
		for (size_t i = 0; i < WORKERS; i++)
			if (w->peer[i] == e->peer)
				hello(w, i);
	if (e->kind != NET_MESSAGE)
		return;
	switch (e->message.kind) {
	case MESSAGE_PLAN:
		net_send(w->net, e->peer, &ready);
		break;
	case MESSAGE_LEASE:
		if (w->done == 0)
			w->began = watch_read(coordinator);
		report(w, e->peer, &e->message);
		break;
	case MESSAGE_STOP:
		w->stopped++;
		break;
	case MESSAGE_REFUSED:
		bench_die("the coordinator refuses us");
	default:
		break;
	}
}

static void
measure_ours(struct series *to, size_t steps, size_t pack)
{
	struct workers w = { .net = net_new(10000) };
	char command[512], endpoint[64];
	struct net_event e;
	struct fail f;
	pid_t server, coordinator;
	int status;

	server = spawn("exec ps-serve -b ipc://server >/dev/null");
	snprintf(command, sizeof(command), "echo train %zu >requests; exec "
		 "ps-coord -b ipc://coord -s ipc://server -m model.ps "
		 "--min-workers=%d --pack=%zu --results=errors requests",
		 steps, WORKERS, pack);
	coordinator = spawn(command);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/coord", folder);
	for (size_t i = 0; i < WORKERS; i++)
		if (net_dial(w.net, endpoint, &w.peer[i], &f) < 0)
			bench_die("%s", f.text);
	while (w.done < (double)steps) {
		net_next(w.net, &e);
		if (e.kind == NET_NOTHING) {
			if (net_wait(w.net, NULL, 0, 1000, &f) < 0)
				bench_die("%s", f.text);
			if (waitpid(coordinator, &status, WNOHANG) != 0)
				bench_die("ps-coord has ended");
		}
		receive(&w, &e, coordinator);
	}
	series_add(to, w.done, w.began, coordinator);
	bench_kill(coordinator);	/* else it reports lost members */
	net_free(w.net);
	bench_kill(server);
}

/* ---- the bare echo ---- */

static void
echo(const char *endpoint)
{
	void *socket = path_socket(path_context(), ZMQ_ROUTER);
	char id[64], bytes[256];

	path_prepare();
	if (zmq_bind(socket, endpoint) < 0)
		_exit(1);
	for (;;) {
		const int size = zmq_recv(socket, id, sizeof(id), 0);

		zmq_recv(socket, bytes, sizeof(bytes), 0);
		zmq_recv(socket, bytes, sizeof(bytes), 0);
		zmq_send(socket, id, (size_t)size, ZMQ_SNDMORE);
		zmq_send(socket, bytes, 20, 0);
	}
}

static void
measure_bare(struct series *to, size_t messages)
{
	void *context, *worker[WORKERS];
	char endpoint[64], bytes[256] = "";
	size_t sent = 0, got = 0;
	struct watch began;
	pid_t pid;

	snprintf(endpoint, sizeof(endpoint), "ipc://%s/echo", folder);
	pid = bench_fork();
	if (pid == 0)
		echo(endpoint);
	context = path_context();
	for (size_t i = 0; i < WORKERS; i++) {
		worker[i] = path_socket(context, ZMQ_DEALER);
		if (zmq_connect(worker[i], endpoint) < 0)
			bench_die("cannot connect");
	}
	began = watch_read(pid);
	for (; sent < WORKERS * IN_FLIGHT; sent++) {
		zmq_send(worker[sent % WORKERS], bytes, 8, ZMQ_SNDMORE);
		zmq_send(worker[sent % WORKERS], bytes, 40, 0);
	}
	for (; got < messages; got++, sent++) {
		void *at = worker[got % WORKERS];

		if (zmq_recv(at, bytes, sizeof(bytes), 0) < 0)
			bench_die("no echo");
		zmq_send(at, bytes, 8, ZMQ_SNDMORE);
		zmq_send(at, bytes, 40, 0);
	}
	series_add(to, (double)messages, began, pid);
	for (size_t i = 0; i < WORKERS; i++)
		zmq_close(worker[i]);
	zmq_ctx_term(context);
	bench_kill(pid);
}

int
main(void)
{
	const size_t steps = bench_scale(100, 20000, 1000000);
	struct series one = { 0 }, ten = { 0 }, bare = { 0 };
	char command[64];

	if (!mkdtemp(folder))
		bench_die("cannot make %s", folder);
	write_file("model.ps", model);
	for (size_t i = 0; i < bench_runs(); i++) {
		measure_ours(&one, steps, 1);
		measure_bare(&bare, steps);
		measure_ours(&ten, steps, 10);
	}
	bench_print(&(struct claim){ "lease", "pack 1", "steps/s",
				     "bare ROUTER echo", 0.4 }, &one, &bare);
	bench_print(&(struct claim){ "lease", "pack 10", "steps/s",
				     "bare ROUTER echo", 0 }, &ten, &bare);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) != 0;
}
