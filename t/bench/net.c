/*
 * net - machines that are far from each other: network namespaces, and a switch
 * in user space between them, for kernels that cannot delay packets.
 *
 *	net [-n NODES] [-s NODES] [-d TIME] [-j TIME] [-l PERCENT] [-r MBIT]
 *	    [--] COMMAND...
 *	net -i NODE [--] COMMAND...
 *
 * The first form makes nodes, each a namespace with the address 10.77.0.1,
 * 10.77.0.2, ..., runs the command outside of them, and exits with its status.
 * The second form runs a command in a node.  It is started by the command of
 * the first form, or with the process id of the first form in NET.
 *
 *	-n	number of nodes (2)
 *	-d	delay of each packet, as "60ms": a round trip takes twice this
 *	-j	further delay, drawn for each packet; packets stay in order
 *	-l	lost packets, in percent
 *	-r	megabits a second of the link of a site, in each direction; its
 *		queue has room for a quarter of a second
 *	-s	nodes of a site (1): they share its link; between them there is
 *		no delay, loss or link
 *
 * Losses and delays are drawn from the same seed each time.  The status is 77,
 * with a message, where the system grants no namespaces or no TUN device.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>

#define MAX_NODES	250
#define FIRST_FD	1000	/* first descriptor of the namespaces */
#define PACKET		1500
#define UNREAD		10000	/* packets that wait for us, or a node */
#define ROOM_S		0.25	/* that may wait for a link */
#define IN_FLIGHT	((size_t)1 << 20)
#define SKIPPED		77

/* The link of a site: the time until which each direction is busy. */
struct link {
	double up, down;
};

struct packet {
	double due;
	uint64_t number;	/* of those due at once the first is first */
	int to;
	size_t size;
	char data[];
};

static struct options {
	int nodes, site;
	double delay, jitter, loss, byte;	/* seconds; a part of 1 */
} o = { .nodes = 2, .site = 1 };

static int tun[MAX_NODES];
static struct link site[MAX_NODES];
static double last[MAX_NODES][MAX_NODES];	/* to arrive, from and to */
static struct packet **heap;		/* the one that is due first, first */
static size_t in_flight;
static uint64_t drawn = 1;

/* ---- a node ---- */

static _Noreturn void
lacking(const char *what)
{
	fprintf(stderr, "net: %s: %s\n", what, strerror(errno));
	exit(SKIPPED);
}

static void
check(bool good, const char *what)
{
	if (!good)
		bench_die("net: cannot %s: %s", what, strerror(errno));
}

static void
write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		lacking(path);
	close(fd);
}

/* Enters a user namespace, unless we are root: there an ordinary user may make
   network namespaces. */
static void
become_root(void)
{
	char uids[64], gids[64];

	if (geteuid() == 0)
		return;
	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER) < 0)
		lacking("no namespace of users");
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", uids);
	write_file("/proc/self/gid_map", gids);
}

/* Opens /dev/net/tun, or makes that device under another name if it is
   missing. */
static int
open_tun(void)
{
	char path[64];
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	snprintf(path, sizeof(path), "/tmp/tun.%d", getpid());
	if (mknod(path, S_IFCHR | 0600, makedev(10, 200)) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
	return fd;
}

static void
configure(int control, unsigned long what, struct ifreq *r)
{
	check(ioctl(control, what, r) == 0, "configure a device");
}

static void
set_address(int control, unsigned long what, const char *device,
	    uint32_t address)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(address) };
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", device);
	memcpy(&r.ifr_addr, &in, sizeof(in));
	configure(control, what, &r);
}

static void
set_up(int control, const char *device)
{
	struct ifreq r = { .ifr_flags = IFF_UP | IFF_RUNNING };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", device);
	configure(control, SIOCSIFFLAGS, &r);
}

/* Makes a namespace with a TUN device, from which its packets can be read. */
static void
make_node(int i)
{
	struct ifreq r = { .ifr_name = "tun0" };
	int space, control;

	if (unshare(CLONE_NEWNET) < 0)
		lacking("no namespace of networks");
	space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	check(space >= 0 && dup3(space, FIRST_FD + i, O_CLOEXEC) >= 0,
	      "keep a namespace");
	close(space);
	r.ifr_flags = IFF_TUN | IFF_NO_PI;
	tun[i] = open_tun();
	if (tun[i] < 0 || ioctl(tun[i], TUNSETIFF, &r) < 0)
		lacking("no TUN device");
	check(fcntl(tun[i], F_SETFL, O_NONBLOCK) == 0, "read a device");
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	set_address(control, SIOCSIFADDR, "tun0",
		    (10u << 24 | 77u << 16) + (unsigned)i + 1);
	set_address(control, SIOCSIFNETMASK, "tun0", 0xffffff00);
	r.ifr_qlen = UNREAD;
	configure(control, SIOCSIFTXQLEN, &r);
	set_up(control, "tun0");
	set_up(control, "lo");
	close(control);
}

static void
make_nodes(void)
{
	const struct rlimit many = { 4096, 4096 };
	char text[32];
	int here;

	setrlimit(RLIMIT_NOFILE, &many);
	become_root();
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < o.nodes; i++)
		make_node(i);
	check(setns(here, CLONE_NEWNET) == 0, "return");
	close(here);
	snprintf(text, sizeof(text), "%d", getpid());
	setenv("NET", text, 1);
}

/* ---- packets ---- */

static double
now(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

/* Draws a number from 0 to below 1. */
static double
draw(void)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return (double)(drawn >> 11) / 0x1p53;
}

static bool
is_before(const struct packet *a, const struct packet *b)
{
	return a->due < b->due || (a->due == b->due && a->number < b->number);
}

static void
put(struct packet *p)
{
	size_t i = in_flight++;

	for (; i > 0 && is_before(p, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = p;
}

static void
drop_first(void)
{
	struct packet *p = heap[--in_flight];
	size_t i = 0, next;

	free(heap[0]);
	for (; (next = 2 * i + 1) < in_flight; i = next) {
		next += next + 1 < in_flight &&
			is_before(heap[next + 1], heap[next]);
		if (!is_before(heap[next], p))
			break;
		heap[i] = heap[next];
	}
	heap[i] = p;
}

/* Sends a packet at the time *at through a link that is busy until *busy, and
   sets *at to the time of its arrival.  Returns false if the queue of the link
   is full. */
static bool
carry(double *busy, size_t size, double *at)
{
	if (*busy < *at)
		*busy = *at;
	if (*busy - *at > ROOM_S)
		return false;
	*at = *busy += (double)size * o.byte;
	return true;
}

/* Sets *at to the time at which a packet arrives; false if it is lost. */
static bool
travel(int from, int to, size_t size, double *at)
{
	const int a = from / o.site, b = to / o.site;

	if (a == b)
		return true;
	if (draw() < o.loss || !carry(&site[a].up, size, at))
		return false;
	*at += o.delay + o.jitter * draw();
	if (!carry(&site[b].down, size, at))
		return false;
	if (*at < last[from][to])
		*at = last[from][to];
	last[from][to] = *at;
	return true;
}

/* Returns the node that has this IPv4 address, or -1. */
static int
node_of(const unsigned char *address)
{
	return address[0] == 10 && address[1] == 77 && address[2] == 0 &&
		address[3] >= 1 && address[3] <= o.nodes ? address[3] - 1 : -1;
}

static void
receive(int from)
{
	static uint64_t number;
	unsigned char data[PACKET];
	ssize_t size;

	while ((size = read(tun[from], data, sizeof(data))) > 0) {
		struct packet *p;
		double at = now();
		int to;

		if (size < 20 || data[0] >> 4 != 4)
			continue;	/* IPv6 looks for neighbours */
		to = node_of(data + 16);
		if (to < 0 || in_flight == IN_FLIGHT ||
		    !travel(from, to, (size_t)size, &at))
			continue;
		p = malloc(sizeof(*p) + (size_t)size);
		check(p != NULL, "keep a packet");
		*p = (struct packet){ .due = at, .number = number++,
				      .to = to, .size = (size_t)size };
		memcpy(p->data, data, p->size);
		put(p);
	}
}

static void
deliver(void)
{
	for (; in_flight > 0 && heap[0]->due <= now(); drop_first())
		if (write(tun[heap[0]->to], heap[0]->data,
			  heap[0]->size) < 0)
			continue;	/* dropped, as by a full device */
}

static void
set_timer(int timer)
{
	struct itimerspec t = { 0 };

	if (in_flight > 0) {
		t.it_value.tv_sec = (time_t)heap[0]->due;
		t.it_value.tv_nsec = (long)((heap[0]->due -
					     (double)t.it_value.tv_sec) * 1e9);
	}
	check(timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, NULL) == 0,
	      "set a timer");
}

/* Delivers packets until the descriptor reports that the command has ended. */
static void
relay(int ended)
{
	struct pollfd fd[MAX_NODES + 2];
	const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	heap = calloc(IN_FLIGHT, sizeof(*heap));
	check(heap && timer >= 0, "begin");
	for (int i = 0; i < o.nodes; i++)
		fd[i] = (struct pollfd){ tun[i], POLLIN, 0 };
	fd[o.nodes] = (struct pollfd){ timer, POLLIN, 0 };
	fd[o.nodes + 1] = (struct pollfd){ ended, POLLIN, 0 };
	while (!fd[o.nodes + 1].revents) {
		set_timer(timer);
		check(poll(fd, (nfds_t)o.nodes + 2, -1) >= 0 ||
		      errno == EINTR, "poll");
		for (int i = 0; i < o.nodes; i++)
			if (fd[i].revents)
				receive(i);
		deliver();
	}
}

/* ---- commands ---- */

static _Noreturn void
run(char **command)
{
	execvp(*command, command);
	fprintf(stderr, "net: cannot run %s: %s\n", *command, strerror(errno));
	exit(127);
}

static void
enter(const char *path, int kind)
{
	const int space = open(path, O_RDONLY | O_CLOEXEC);

	check(space >= 0 && setns(space, kind) == 0, "enter a node");
	close(space);
}

static _Noreturn void
run_in(int i, char **command)
{
	const char *net = getenv("NET");
	char path[64];

	if (!net)
		bench_die("net: -i wants NET, the process that made the nodes");
	snprintf(path, sizeof(path), "/proc/%s/ns/user", net);
	if (geteuid() != 0)
		enter(path, CLONE_NEWUSER);
	snprintf(path, sizeof(path), "/proc/%s/fd/%d", net, FIRST_FD + i - 1);
	enter(path, CLONE_NEWNET);
	run(command);
}

/* Returns the exit status of the command, as a shell computes it.  Processes
   that the command started may still run. */
static int
switch_for(char **command)
{
	sigset_t children, before;
	int status, ended;
	pid_t pid;

	make_nodes();
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	ended = signalfd(-1, &children, SFD_CLOEXEC);
	pid = bench_fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		run(command);
	}
	signal(SIGINT, SIG_IGN);	/* the command decides when to end */
	relay(ended);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
		128 + WTERMSIG(status);
}

static double
number(const char *text, const char *unit, double min, double max)
{
	char *end;
	const double x = strtod(text, &end);

	if (end == text || strcmp(end, unit) != 0 || !(x >= min && x <= max))
		bench_die("net: '%s' is not a number from %g to %g%s%s", text,
			  min, max, *unit ? " with " : "", unit);
	return x;
}

int
main(int argc, char **argv)
{
	int node = 0, c;

	while ((c = getopt(argc, argv, "+d:i:j:l:n:r:s:")) != -1) {
		switch (c) {
		case 'd': o.delay = number(optarg, "ms", 0, 60000) / 1e3; break;
		case 'i': node = (int)number(optarg, "", 1, MAX_NODES); break;
		case 'j': o.jitter = number(optarg, "ms", 0, 60000) / 1e3;
			break;
		case 'l': o.loss = number(optarg, "", 0, 100) / 100; break;
		case 'n': o.nodes = (int)number(optarg, "", 1, MAX_NODES);
			break;
		case 'r': o.byte = 8e-6 / number(optarg, "", 0.01, 1e6); break;
		case 's': o.site = (int)number(optarg, "", 1, MAX_NODES); break;
		default: return 64;
		}
	}
	if (optind == argc)
		bench_die("usage: net [-n nodes] [-s nodes] [-d time] "
			  "[-j time] [-l percent] [-r mbit] command...\n"
			  "       net -i node command...");
	if (node > 0)
		run_in(node, argv + optind);
	return switch_for(argv + optind);
}
