/*
 * bare - the messages of a step and nothing else: the limit for "steps".
 *
 *	bare STEPS WORKERS SERVERS ADDRESS
 *
 * Starts as many processes as a run of pskit has, over ipc in the folder
 * ADDRESS: a coordinator that leases steps, two in flight to a worker; workers
 * that send a header, keys, keys and values to every server, receive a header
 * and values, then report; servers that answer.  The processes decode and
 * compute nothing; frames have the sizes that the tutorial's model makes;
 * processes are scheduled, and kept on CPUs, as pskit's are.  Prints steps a
 * second.
 */
#include "path.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>
#include <zmq.h>

#define HEADER		33
#define KEYS		8
#define VALUES		560	/* the larger server's: 7 x 20 floats */
#define REPORT		60
#define IN_FLIGHT	2

static char bytes[4096];

static void *
open_socket(int type, const char *address, const char *name, int listen)
{
	static void *context;
	char endpoint[256];
	void *socket;

	if (!context)
		context = path_context();
	socket = zmq_socket(context, type);
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/%s", address, name);
	if ((listen ? zmq_bind : zmq_connect)(socket, endpoint) != 0) {
		perror(endpoint);
		exit(1);
	}
	return socket;
}

static void
send_frames(void *socket, const size_t *size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		zmq_send(socket, bytes, size[i],
			 i + 1 < count ? ZMQ_SNDMORE : 0);
}

/* Receives all frames of a message; the bytes of the first go to id, if it is
   not NULL. */
static size_t
receive(void *socket, void *id, int flags)
{
	char rest[4096];
	int more = 1, got = zmq_recv(socket, id, 64, flags);
	size_t size = sizeof(more);

	if (got < 0)
		return 0;
	zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	while (more) {
		zmq_recv(socket, rest, sizeof(rest), 0);
		zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	}
	return (size_t)got;
}

static void
serve(const char *address, const char *name)
{
	const size_t answer[] = { 12, VALUES };
	void *socket = open_socket(ZMQ_ROUTER, address, name, 1);
	char id[64];

	for (;;) {
		const size_t n = receive(socket, id, 0);

		zmq_send(socket, id, n, ZMQ_SNDMORE);
		send_frames(socket, answer, 2);
	}
}

static void
work(const char *address, int servers)
{
	const size_t request[] = { HEADER, KEYS, KEYS, VALUES };
	const size_t report[] = { 8, REPORT };
	void *coordinator = open_socket(ZMQ_DEALER, address, "c", 0);
	void *server[64];
	char name[16], id[64];

	for (int i = 0; i < servers; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		server[i] = open_socket(ZMQ_DEALER, address, name, 0);
	}
	send_frames(coordinator, report, 1);
	for (;;) {
		receive(coordinator, id, 0);
		for (int i = 0; i < servers; i++)
			send_frames(server[i], request, 4);
		for (int i = 0; i < servers; i++)
			receive(server[i], id, 0);
		send_frames(coordinator, report, 2);
	}
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
coordinate(const char *address, long steps, int workers)
{
	const size_t lease[] = { 20 };
	void *socket = open_socket(ZMQ_ROUTER, address, "c", 1);
	char id[64][64];
	size_t size[64];
	double began;

	for (int i = 0; i < workers; i++)
		size[i] = receive(socket, id[i], 0);
	began = seconds();
	for (int k = 0; k < IN_FLIGHT; k++)
		for (int i = 0; i < workers; i++) {
			zmq_send(socket, id[i], size[i], ZMQ_SNDMORE);
			send_frames(socket, lease, 1);
		}
	for (long i = 0; i < steps; i++) {
		const size_t n = receive(socket, id[0], 0);

		zmq_send(socket, id[0], n, ZMQ_SNDMORE);
		send_frames(socket, lease, 1);
	}
	printf("%.0f\n", (double)steps / (seconds() - began));
}

/* Sets the scheduling as sys/net and ps-local do. */
static void
schedule(int member, int members)
{
	cpu_set_t all, one;
	int cpu = -1;

	path_prepare();
	if (sched_getaffinity(0, sizeof(all), &all) < 0 || member < 0 ||
	    members <= CPU_COUNT(&all))
		return;
	for (member %= CPU_COUNT(&all); member >= 0; member--)
		while (!CPU_ISSET(++cpu, &all))
			;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int
main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: bare steps workers servers folder\n");
		return 64;
	}
	const int workers = atoi(argv[2]), servers = atoi(argv[3]);
	pid_t child[128];
	int count = 0;

	for (int i = 0; i < workers + servers; i++) {
		const pid_t pid = fork();

		if (pid > 0) {
			child[count++] = pid;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		schedule(i, workers + servers);
		if (i < servers) {
			char name[16];

			snprintf(name, sizeof(name), "s%d", i);
			serve(argv[4], name);
		}
		work(argv[4], servers);
	}
	schedule(-1, 0);
	coordinate(argv[4], atol(argv[1]), workers);
	for (int i = 0; i < count; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	return 0;
}
