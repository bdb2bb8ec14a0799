/*
 * A program that closes its connections survives the death of any peer: peers
 * send bytes, have read half of a message, and disconnect, at any moment.  Each
 * of ROUNDS rounds runs in a process of its own.
 */
#include "plain.h"
#include "sys/clock.h"
#include "sys/net.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS		100
#define PEERS		8
#define PART		((size_t)1 << 16)
#define SPIN		20000
#define PATIENCE_MS	1000
#define ALARM_S		60

static const uint64_t leases[] = { 4, 8, 20, 100, 2000 };
#define LEASES	(sizeof(leases) / sizeof(*leases))

static atomic_bool go;

/* A little more than the time that closing has taken; all rounds share it. */
static struct close_time {
	uint64_t us[2];		/* with half of a message unread, or not */
} *span;
static bool half_read;
static int peer_fd[PEERS];

static void
spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}

/*
 * Sends bytes that are not a message, and disconnects, at any time while the
 * other side closes, or at once.
 */
static void *
die(void *fd)
{
	unsigned seed = (unsigned)*(int *)fd + (unsigned)clock_us();
	const uint64_t wait = rand_r(&seed) % 3 == 0 ? 0 :
		(uint64_t)rand_r(&seed) % (span->us[half_read] + 1);

	while (!go)
		;
	if (wait > 2000)
		poll(NULL, 0, (int)(wait / 1000 - 1));
	for (const uint64_t began = clock_us(); clock_us() - began < wait %
	     1000; )
		;
	plain_put(*(int *)fd, "\0\3BYE", 5);
	spin(rand_r(&seed) % SPIN);
	close(*(int *)fd);
	return NULL;
}

static void
begin_dying(pthread_t thread[PEERS])
{
	for (int i = 0; i < PEERS; i++)
		ok(pthread_create(&thread[i], NULL, die, &peer_fd[i]) == 0);
}

static void
await_dead(pthread_t thread[PEERS])
{
	for (int i = 0; i < PEERS; i++)
		pthread_join(thread[i], NULL);
}

static void
send_parts(struct net *net, uint64_t peer)
{
	static char part[PART];
	struct message m = { .kind = MESSAGE_PUSHPULL, .frames = 3 };

	for (int i = 0; i < 3; i++)
		m.frame[i] = (struct frame){ part, PART, NULL };
	for (int i = 0; i < 20; i++)
		net_send(net, peer, &m);
}

/* Waits for this event; with a short lease the peer, which does not answer, may
   be lost before. */
static struct net_event
await(struct net *net, enum net_event_kind kind)
{
	const uint64_t until = clock_ms() + PATIENCE_MS;
	struct net_event e = { .kind = NET_NOTHING };
	struct fail f;

	for (net_next(net, &e); e.kind != kind && clock_ms() < until;
	     net_next(net, &e))
		if (e.kind == NET_NOTHING)
			net_wait(net, NULL, 0, 10, &f);
	return e;
}

/* The listening side ends, as a program does, or closes its net and
   continues. */
static void
end_listener(uint64_t lease, void (*end)(struct net *))
{
	struct net *net = net_new(lease);
	pthread_t thread[PEERS];
	struct fail f;

	equals(net_listen(net, "tcp://127.0.0.1:*", false, &f), 0);
	for (int i = 0; i < PEERS; i++) {
		peer_fd[i] = plain_call(net_endpoint(net), "");
		plain_put(peer_fd[i], plain_ping, PLAIN_PING);
		if (half_read)
			send_parts(net, await(net, NET_MESSAGE).peer);
	}
	begin_dying(thread);
	poll(NULL, 0, rand() % 5);
	go = true;
	const uint64_t began = clock_us();
	end(net);
	span->us[half_read] = (7 * span->us[half_read] +
			       10 * (clock_us() - began)) / 8;
	await_dead(thread);
}

static void
leave_listener(uint64_t lease)
{
	end_listener(lease, net_leave);
}

static void
free_listener(uint64_t lease)
{
	end_listener(lease, net_free);
}

/* The dialling side hangs up, and continues until all is closed. */
static void
hang_up(uint64_t lease)
{
	struct net *net = net_new(lease);
	uint64_t peer[PEERS], until;
	pthread_t thread[PEERS];
	char endpoint[64];
	struct fail f;

	for (int i = 0; i < PEERS; i++) {
		const int fd = plain_listen(endpoint, sizeof(endpoint));

		equals(net_dial(net, endpoint, &peer[i], &f), 0);
		peer_fd[i] = plain_accept(fd);
		close(fd);
		await(net, NET_UP);
		if (half_read)
			send_parts(net, peer[i]);
	}
	begin_dying(thread);
	for (int i = 0; i < PEERS; i++)
		net_hang_up(net, peer[i]);
	/* At about this time the net closes connections that are not read. */
	until = clock_ms() + 480;
	while (clock_ms() < until + 60) {
		if (clock_ms() >= until + (uint64_t)rand() % 30)
			go = true;
		net_wait(net, NULL, 0, 1, &f);
	}
	go = true;
	net_free(net);
	await_dead(thread);
}

static const struct kind {
	void (*part)(uint64_t lease);
	const char *name;
	unsigned rarely;	/* long cases run this many times less often */
} kinds[] = {
	{ leave_listener, "a program ends while its peers die", 1 },
	{ free_listener, "a net is closed while its peers die", 1 },
	{ hang_up, "a net hangs up while its peers die", 10 },
};

static void
test_partings(const struct kind *kind, unsigned rounds)
{
	unsigned well = 0;

	for (unsigned i = 0; i < rounds; i++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			if (!freopen("/dev/null", "w", stdout))
				_exit(1);
			alarm(ALARM_S);
			tap_failed = 0;
			srand(i);
			half_read = i % 8 == 7;
			kind->part(leases[i % LEASES]);
			exit(tap_failed > 0);
		}
		if (waitpid(pid, &status, 0) == pid && status == 0)
			well++;
		else
			printf("# round %u: status %d\n", i, status);
	}
	printf("# %u of %u\n", well, rounds);
	named(well == rounds, kind->name);
}

int
main(void)
{
	const char *const text = getenv("ROUNDS");
	const unsigned rounds = text ? (unsigned)atoi(text) : ROUNDS;

	span = mmap(NULL, sizeof(*span), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ok(span != MAP_FAILED);
	*span = (struct close_time){ { 1000, 1000 } };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		test_partings(&kinds[i], rounds / kinds[i].rarely);
	return tap_done();
}
