#include "sys/local.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/launch.h"
#include "sys/member.h"
#include "sys/words.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_MS		1000	/* for those killed to be gone */
#define MAX_FOLDER	70	/* bytes of a folder for sockets, whose
				   addresses have room for 107 */
#define EVENTS		64	/* of members, at a time */
#define ENDPOINT	128	/* bytes, more than such an address has */

enum phase {
	STARTING,	/* servers get ready */
	RUNNING,	/* the command does */
	LEAVING,	/* it was told to stop, and has; what it started has
			   not */
	STOPPING	/* all are told to stop */
};

struct local {
	const struct local_options *options;
	enum phase phase;
	struct member *member;	/* the servers, then the workers */
	size_t members;		/* that were started */
	pid_t check, command;	/* 0: not yet; check: or no more */
	bool checked, ended;	/* ended: the command has */
	int result;
	int last_signal;	/* that we were sent; 0 */
	uint64_t asked_ms;	/* when */
	bool urged;		/* one was not SIGHUP */
	uint64_t deadline;	/* in milliseconds; 0: none */
	bool killed;
	pid_t parent;
	int signals;		/* a descriptor that tells of them, */
	int ears;		/* and one of members */
	int alive[2];		/* held by all, */
	int held[2];		/* and by the command and what it starts */
	char *folder;
	char coord[ENDPOINT];
	struct relay log;
	int *cpu;		/* for members in turn; cpus: 0: any */
	size_t cpus, next_cpu;
};

/* ---- where ---- */

static int
make_folder(struct local *l, struct fail *f)
{
	const char *tmp = getenv("TMPDIR");
	struct text name = { 0 };

	/* A comma would end an endpoint in a list. */
	if (!tmp || !*tmp || strlen(tmp) > MAX_FOLDER || strpbrk(tmp, ",\n"))
		tmp = "/tmp";
	text_add(&name, "%s/ps-local.XXXXXX", tmp);
	if (!mkdtemp(name.data)) {
		text_release(&name);
		return fail_sys(f, FAIL_CREATE, "cannot make a folder in %s",
				tmp);
	}
	l->folder = name.data;
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

static void
endpoint_of_server(const struct local *l, size_t i, char endpoint[ENDPOINT])
{
	snprintf(endpoint, ENDPOINT, "ipc://%s/server.%zu", l->folder, i);
}

static void
set_default(const char *name, const char *value)
{
	const char *set = getenv(name);

	if (!set || !*set)
		setenv(name, value, 1);
}

/* Many programs share this machine, and a cluster is here, not there. */
static void
set_environment(struct local *l)
{
	struct text servers = { 0 };
	char endpoint[ENDPOINT];

	snprintf(l->coord, sizeof(l->coord), "ipc://%s/coord", l->folder);
	for (size_t i = 0; i < l->options->servers; i++) {
		endpoint_of_server(l, i, endpoint);
		text_add(&servers, "%s%s", i ? "," : "", endpoint);
	}
	setenv("PS_COORD", l->coord, 1);
	setenv("PS_SERVERS", servers.data ? servers.data : "", 1);
	set_default("OPENBLAS_NUM_THREADS", "1");
	set_default("OMP_NUM_THREADS", "1");
	unsetenv("TF_CONFIG");
	text_release(&servers);
}

/*
 * Members that have to share CPUs take them in turn: when all threads of each
 * stay on one, a message wakes up none.
 */
static void
find_cpus(struct local *l)
{
	const struct local_options *o = l->options;
	cpu_set_t all;

	if (o->pin == PIN_NEVER || sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	if (o->pin == PIN_SHARED &&
	    o->servers + o->workers <= (uint64_t)CPU_COUNT(&all))
		return;
	l->cpu = mem_alloc((size_t)CPU_COUNT(&all), sizeof(*l->cpu));
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			l->cpu[l->cpus++] = i;
}

/* ---- who ---- */

/* Those of a worker behind its name and level. */
static void
add_worker_words(struct words *w, const struct local *l, size_t index)
{
	char *const *word = l->options->worker_word;

	words_add(w, "-c");
	words_add(w, "%s", l->coord);
	words_add(w, "-i");
	words_add(w, "%zu", index);
	for (; word && *word; word++)
		words_fill(w, *word, index, l->options->workers);
}

/* What members say is heard by epoll: a number for each of their files. */
static int
listen_to(const struct local *l, int file, size_t number, struct fail *f)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = number };

	return epoll_ctl(l->ears, EPOLL_CTL_ADD, file, &e) < 0 ?
		fail_sys(f, FAIL_AGAIN, "cannot hear all members") : 0;
}

static int
start_member(struct local *l, size_t index, const struct words *w,
	     struct fail *f)
{
	const int cpu = l->cpus > 0 ? l->cpu[l->next_cpu++ % l->cpus] : -1;
	const size_t i = l->members++;
	struct member *m = &l->member[i];

	if (member_start(m, index, w->word, l->alive[1], cpu, f) == 0 &&
	    listen_to(l, m->said.from, 2 * i, f) == 0 &&
	    (m->out < 0 || listen_to(l, m->out, 2 * i + 1, f) == 0))
		return 0;
	member_release(m);
	return -1;
}

static int
start_server(struct local *l, size_t i, struct fail *f)
{
	const struct local_options *o = l->options;
	char endpoint[ENDPOINT];
	struct words w = { 0 };
	int status;

	endpoint_of_server(l, i, endpoint);
	words_add(&w, MEMBER_SERVER);
	if (o->level)
		words_add(&w, "%s", o->level);
	words_add(&w, "-b");
	words_add(&w, "%s", endpoint);
	if (o->checkpoint) {
		words_add(&w, "-d");
		words_add(&w, "%s", o->checkpoint);
	}
	status = start_member(l, i, &w, f);
	words_release(&w);
	return status;
}

static int
start_worker(struct local *l, size_t i, struct fail *f)
{
	struct words w = { 0 };
	int status;

	words_add(&w, MEMBER_WORKER);
	if (l->options->level)
		words_add(&w, "%s", l->options->level);
	add_worker_words(&w, l, i);
	status = start_member(l, i, &w, f);
	words_release(&w);
	return status;
}

/*
 * What the last worker would refuse of its options is told before there is
 * any, and nobody waits for them.
 */
static int
start_check(struct local *l, struct fail *f)
{
	struct words w = { 0 };
	struct launch how = { .file = { -1, -1, STDERR_FILENO },
			      .inherited = { l->alive[1], -1 }, .cpu = -1 };

	words_add(&w, MEMBER_WORKER);
	words_add(&w, "--check");
	add_worker_words(&w, l, (size_t)l->options->workers - 1);
	how.word = w.word;
	l->check = launch(&how, f);
	words_release(&w);
	return l->check < 0 ? -1 : 0;
}

static int
start_command(struct local *l, struct fail *f)
{
	const struct launch how = {
		.word = l->options->command,
		.file = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
		.inherited = { l->alive[1], l->held[1] }, .cpu = -1
	};

	l->command = launch(&how, f);
	launch_close(&l->held[1]);
	return l->command < 0 ? -1 : 0;
}

/* ---- how they come and go ---- */

/* To who reads it; whoever does not must not hold us up. */
static void
say(const char *text)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&fd, 1, 0) > 0)
		log_error("%s", text);
}

/* The end begins: who is left is asked to stop. */
static void
stop(struct local *l, int result)
{
	l->result = result;
	l->phase = STOPPING;
	l->deadline = clock_ms() + l->options->grace_ms;
	launch_close(&l->alive[1]);
	launch_close(&l->held[1]);
	for (size_t i = 0; i < l->members; i++)
		if (!l->member[i].ended)
			kill(l->member[i].group, SIGTERM);
	if (l->check > 0)
		kill(l->check, SIGTERM);
	if (l->command > 0)
		kill(-l->command, SIGTERM);
}

static void
cannot(struct local *l, const struct fail *f)
{
	say(f->text);
	stop(l, f->kind);
}

static void
start_workers(struct local *l)
{
	struct fail f;

	l->checked = true;
	for (size_t i = 0; i < l->options->workers; i++)
		if (start_worker(l, i, &f) < 0) {
			cannot(l, &f);
			return;
		}
}

static void
start(struct local *l)
{
	const struct local_options *o = l->options;
	struct fail f;

	for (size_t i = 0; i < o->servers; i++)
		if (start_server(l, i, &f) < 0) {
			cannot(l, &f);
			return;
		}
	if (!o->worker_word || !*o->worker_word || o->workers == 0)
		start_workers(l);
	else if (start_check(l, &f) < 0)
		cannot(l, &f);
}

/* Servers are ready, or one never will be: of several the first. */
static void
begin(struct local *l)
{
	struct fail f;

	if (l->phase != STARTING || !l->checked)
		return;
	for (size_t i = 0; i < l->options->servers; i++)
		if (!l->member[i].ready &&
		    (l->member[i].out >= 0 || !l->member[i].ended))
			return;
	for (size_t i = 0; i < l->options->servers; i++) {
		const struct member *m = &l->member[i];

		if (m->ready)
			continue;
		fail(&f, FAIL_PEER, "server %zu did not get ready", i);
		cannot(l, &f);
		l->result = m->status ? m->status : FAIL_PEER;
		return;
	}
	l->phase = RUNNING;
	if (start_command(l, &f) < 0)
		cannot(l, &f);
}

/* Shells do not wait for what they run in their background at SIGINT. */
static void
command_ended(struct local *l, int status)
{
	l->ended = true;
	l->result = status;
	if (l->phase == STOPPING)
		return;
	if (l->last_signal == 0 || l->last_signal == SIGINT) {
		stop(l, status);
		return;
	}
	l->phase = LEAVING;
	l->deadline = clock_ms() + l->options->grace_ms;
}

static void
check_ended(struct local *l, int status)
{
	l->check = 0;
	if (l->phase != STARTING)
		return;
	if (status != 0)
		stop(l, status);
	else
		start_workers(l);
	begin(l);
}

static void
child_ended(struct local *l, pid_t pid, int how)
{
	const int status = WIFEXITED(how) ? WEXITSTATUS(how) :
		128 + WTERMSIG(how);

	if (pid == l->command)
		command_ended(l, status);
	else if (pid == l->check)
		check_ended(l, status);
	for (size_t i = 0; i < l->members; i++) {
		struct member *m = &l->member[i];

		if (m->group == pid && !m->ended) {
			m->ended = true;
			m->status = status;
		}
	}
	begin(l);
}

/* Who asks once more has no patience left; a terminal that hangs up may. */
static void
asked(struct local *l, int number)
{
	const bool orphaned = getppid() != l->parent;
	const uint64_t now = clock_ms();

	if (!orphaned && number == l->last_signal &&
	    now - l->asked_ms < CLOCK_ONCE_MS)
		return;
	if (orphaned && l->phase != STOPPING) {
		stop(l, 128 + SIGTERM);
	} else if (l->phase == STARTING) {
		stop(l, 128 + number);
	} else if (l->phase != STOPPING) {
		kill(-l->command, number);
	} else if (l->urged && number != SIGHUP) {
		l->deadline = now;
	}
	l->last_signal = number;
	l->asked_ms = now;
	l->urged |= number != SIGHUP;
}

static void
hear_signals(struct local *l)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int how;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			asked(l, (int)info.ssi_signo);
	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		child_ended(l, pid, how);
}

/* Nobody is left; and what they said has been read. */
static bool
all_gone(const struct local *l)
{
	bool left = l->phase != STOPPING || l->alive[0] >= 0 ||
		(l->command > 0 && !l->ended);

	for (size_t i = 0; i < l->members; i++)
		left |= !l->member[i].ended || l->member[i].said.from >= 0;
	return !left;
}

/* All that is left, with what it has started. */
static void
kill_all(struct local *l)
{
	say("killing what does not stop");
	for (size_t i = 0; i < l->members; i++)
		if (l->member[i].group > 0)
			kill(-l->member[i].group, SIGKILL);
	if (l->command > 0)
		kill(-l->command, SIGKILL);
	if (l->check > 0)
		kill(-l->check, SIGKILL);
	l->killed = true;
	l->deadline = clock_ms() + LAST_MS;
}

/* Time has run out; false: for good. */
static bool
be_late(struct local *l)
{
	if (l->phase == LEAVING)
		stop(l, l->result);
	else if (l->killed || all_gone(l))
		return false;
	else
		kill_all(l);
	return true;
}

/* ---- the loop ---- */

static void
hear_members(struct local *l)
{
	struct epoll_event e[EVENTS];
	const int n = epoll_wait(l->ears, e, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct member *m = &l->member[e[i].data.u64 / 2];

		if (e[i].data.u64 % 2 == 0)
			relay_read(&l->log, &m->said);
		else
			member_hear(m);
	}
	begin(l);
}

static int
wait_ms(const struct local *l)
{
	const uint64_t now = clock_ms();

	return l->deadline == 0 ? -1 : l->deadline <= now ? 0 :
		l->deadline - now < 60000 ? (int)(l->deadline - now) : 60000;
}

/* Something happened, or time has passed. */
static void
hear(struct local *l)
{
	const bool full = relay_is_full(&l->log);
	struct pollfd fd[] = {
		{ .fd = l->signals, .events = POLLIN },
		{ .fd = full ? -1 : l->ears, .events = POLLIN },
		{ .fd = full ? l->log.to : -1, .events = POLLOUT },
		{ .fd = l->phase == STOPPING ? l->alive[0] :
			l->phase == LEAVING ? l->held[0] : -1 }
	};

	if (poll(fd, sizeof(fd) / sizeof(*fd), wait_ms(l)) <= 0)
		return;
	if (fd[1].revents)
		hear_members(l);
	if (fd[2].revents)
		relay_write(&l->log);
	if (fd[3].revents && l->phase == LEAVING)
		stop(l, l->result);
	else if (fd[3].revents && l->phase == STOPPING)
		launch_close(&l->alive[0]);
	if (fd[0].revents)
		hear_signals(l);
}

/* Who reads our log has all the time to do so, until we are asked to end. */
static void
run(struct local *l)
{
	start(l);
	begin(l);
	while (!all_gone(l) || relay_is_full(&l->log)) {
		hear(l);
		if (all_gone(l) && !l->last_signal)
			l->deadline = 0;
		if (l->deadline && clock_ms() >= l->deadline && !be_late(l))
			break;
	}
}

/* ---- all of it ---- */

static int
open_all(struct local *l, struct fail *f)
{
	const char *log = l->options->log;

	l->signals = signalfd(-1, l->options->signals,
			      SFD_CLOEXEC | SFD_NONBLOCK);
	l->ears = epoll_create1(EPOLL_CLOEXEC);
	if (l->signals < 0 || l->ears < 0)
		return fail_sys(f, FAIL_AGAIN, "cannot hear anybody");
	l->log.to = !log ? STDERR_FILENO :
		open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (l->log.to < 0)
		return fail_sys(f, FAIL_CREATE, "cannot write the log %s",
				log);
	return launch_pipe(l->alive, f) < 0 || launch_pipe(l->held, f) < 0 ||
		make_folder(l, f) < 0 ? -1 : 0;
}

static void
close_all(struct local *l)
{
	for (size_t i = 0; i < l->members; i++)
		member_release(&l->member[i]);
	for (int i = 0; i < 2; i++) {
		launch_close(&l->alive[i]);
		launch_close(&l->held[i]);
	}
	launch_close(&l->signals);
	launch_close(&l->ears);
	if (l->log.to != STDERR_FILENO)
		launch_close(&l->log.to);
	if (l->folder)
		nftw(l->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	relay_release(&l->log);
	free(l->folder);
	free(l->member);
	free(l->cpu);
}

int
local_run(const struct local_options *o)
{
	struct local l = { .options = o, .parent = getppid(), .signals = -1,
			   .ears = -1, .alive = { -1, -1 }, .held = { -1, -1 },
			   .log.to = -1 };
	struct fail f;

	l.member = mem_alloc((size_t)(o->servers + o->workers) + 1,
			     sizeof(*l.member));
	if (open_all(&l, &f) < 0) {
		log_error("%s", f.text);
		l.result = f.kind;
	} else {
		set_environment(&l);
		find_cpus(&l);
		run(&l);
	}
	close_all(&l);
	return l.result;
}
