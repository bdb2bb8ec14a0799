#include "prog/local_cluster.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "prog/ended.h"
#include "prog/local_child.h"
#include "sys/argv.h"
#include "sys/clock.h"
#include "sys/cores.h"
#include "sys/process_group.h"
#include "sys/spawn.h"

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

#define NO_PROGRAM	127	/* the status of a shell whose command does not
				   exist */
#define LAST_MS		1000	/* for killed processes to disappear */
#define MAX_FOLDER	70	/* bytes of the folder for sockets, at most:
				   their addresses have room for 107 */
#define EVENTS		64	/* events of members, at a time */
#define ENDPOINT	128	/* bytes, more than any of these addresses
				   has */

enum phase {
	STARTING,	/* the servers are getting ready */
	RUNNING,	/* the command runs */
	LEAVING,	/* the command was told to stop, and has ended; what it
			   started has not */
	STOPPING	/* everything is told to stop */
};

struct local_cluster {
	const struct local_cluster_options *options;
	enum phase phase;
	struct local_child *member;	/* the servers, the workers, and then
					   the relays */
	size_t members;		/* members that were started */
	pid_t check, command;	/* 0: not started; check 0: or over */
	bool checked;
	pid_t *descendant;	/* process groups that the command made, and
				   that were sent a signal */
	size_t descendants, descendant_room;
	pid_t *children;	/* see process_group_children() */
	size_t children_room;
	bool gone;		/* STOPPING: all processes have ended */
	int result;
	int last_signal;	/* the last signal that we were sent; or 0 */
	uint64_t last_signal_ms;	/* when that was */
	bool urgent;		/* a signal other than SIGHUP has come */
	uint64_t deadline;	/* in ms; 0: none */
	bool killed;
	pid_t parent;
	int signals;		/* descriptor of signals */
	int epoll;		/* epoll descriptor of the members' output */
	int error;		/* the command's standard error */
	char *folder;
	char coord[ENDPOINT];
	bool endpoint_written;	/* the endpoint is in the file that was asked
				   for */
	char *workers_ended;	/* path of the file that reports that all
				   workers have ended */
	const struct local_child *first_failed;	/* the first worker that failed;
						   or NULL */
	struct log_mux log;
	int *cpu;		/* CPUs for members in turn; cpus 0: any CPU */
	size_t cpus;
	uint64_t threads;	/* of each worker */
};

/* ---- places: folder, environment, CPUs ---- */

static int
make_folder(struct local_cluster *l, struct fail *f)
{
	const char *tmp = getenv("TMPDIR");
	struct text name = { 0 };

	/* A comma would end an endpoint in a list. */
	if (!tmp || *tmp != '/' || strlen(tmp) > MAX_FOLDER ||
	    strpbrk(tmp, ",\n"))
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
endpoint_of_server(const struct local_cluster *l, size_t i,
		   char endpoint[ENDPOINT])
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

/*
 * Set where the sockets are.  Each program computes with one thread by default,
 * since many share this machine; and TF_CONFIG would describe another cluster.
 */
static void
set_environment(struct local_cluster *l)
{
	struct text servers = { 0 }, ended = { 0 };
	char endpoint[ENDPOINT];

	snprintf(l->coord, sizeof(l->coord), "ipc://%s/coord", l->folder);
	for (size_t i = 0; i < l->options->servers; i++) {
		endpoint_of_server(l, i, endpoint);
		text_add(&servers, "%s%s", i ? "," : "", endpoint);
	}
	text_add(&ended, "%s/workers-ended", l->folder);
	l->workers_ended = ended.data;
	setenv(ENDED_VARIABLE, ended.data, 1);
	setenv("PS_COORD", l->coord, 1);
	setenv("PS_SERVERS", servers.data ? servers.data : "", 1);
	snprintf(endpoint, sizeof(endpoint), "%zu", (size_t)l->options->beside);
	setenv("PS_BESIDE", endpoint, 1);
	set_default("OPENBLAS_NUM_THREADS", "1");
	set_default("OMP_NUM_THREADS", "1");
	unsetenv("TF_CONFIG");
	text_release(&servers);
}

/*
 * Return the value of a word "-jN" or "--threads=N", or of two such words;
 * NULL: it is another word.
 */
static const char *
threads_in(char *const *word)
{
	static const char name[] = "--threads";
	const char *equals = strchr(*word, '=');
	const size_t size = equals ? (size_t)(equals - *word) : strlen(*word);

	if (strncmp(*word, "-j", 2) == 0)
		return (*word)[2] ? *word + 2 : word[1];
	if (size < strlen("--th") || size > strlen(name) ||
	    strncmp(*word, name, size) != 0)
		return NULL;
	return equals ? equals + 1 : word[1];
}

/*
 * Return how many threads each worker computes with: the last value in its
 * words, by default 1.  0 stands for all CPUs.
 */
static uint64_t
worker_threads(const struct local_cluster_options *o)
{
	char *const *word = o->worker_word;
	uint64_t threads = 1;

	for (; word && *word; word++) {
		const char *value = threads_in(word);

		if (value && !text_uint(value, &threads))
			threads = 1;	/* the worker will refuse it */
	}
	return threads > 0 ? threads : cores_granted();
}

/*
 * Give each member one CPU if they have to share CPUs.  When all threads of a
 * member stay on one CPU, a message between them wakes no other CPU.
 */
static void
find_cpus(struct local_cluster *l)
{
	const struct local_cluster_options *o = l->options;
	cpu_set_t all;

	if (o->pin == PIN_NEVER || sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	if (o->pin == PIN_SHARED &&
	    o->servers + o->workers * l->threads + o->relays <=
	    (uint64_t)CPU_COUNT(&all))
		return;
	l->cpu = mem_alloc((size_t)CPU_COUNT(&all), sizeof(*l->cpu));
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			l->cpu[l->cpus++] = i;
}

/* ---- members ---- */

/* Add the words of a worker behind its name and level. */
static void
add_worker_words(struct argv *w, const struct local_cluster *l, size_t index)
{
	char *const *word = l->options->worker_word;

	argv_add(w, "-c");
	argv_add(w, "%s", l->coord);
	argv_add(w, "-i");
	argv_add(w, "%zu", index);
	if (l->options->relays > 0)
		argv_add(w, "--site=local-%llu", (unsigned long long)
			 (index * l->options->relays / l->options->workers));
	for (; word && *word; word++)
		argv_fill(w, *word, index, l->options->workers);
}

/*
 * Watch a file of a member by epoll.  number is twice the index of the member,
 * plus 1 for its standard output.
 */
static int
watch_output(const struct local_cluster *l, int file, size_t number,
	     struct fail *f)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = number };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, file, &e) < 0 ?
		fail_sys(f, FAIL_AGAIN, "cannot read the output of all "
			 "programs") : 0;
}

/*
 * Return a member's place in the order of CPUs: a worker takes the CPU of the
 * server beside it; all others follow.
 */
static size_t
cpu_order(const struct local_cluster *l, size_t i)
{
	const size_t servers = (size_t)l->options->servers;
	const size_t beside = (size_t)l->options->beside;

	return i < servers ? i : i - servers < beside ? i - servers :
		i - beside;
}

/* Start member i.  At first members are started in their order. */
static int
start_member(struct local_cluster *l, size_t i, size_t index,
	     const struct argv *w, struct fail *f)
{
	const bool several = i >= l->options->servers && l->threads > 1;
	const int cpu = l->cpus > 0 && !several ?
		l->cpu[cpu_order(l, i) % l->cpus] : -1;
	struct local_child *m = &l->member[i];

	if (i == l->members)
		l->members++;
	if (local_child_start(m, index, w->word, cpu, f) == 0 &&
	    watch_output(l, m->log_source.from, 2 * i, f) == 0 &&
	    (m->out < 0 || watch_output(l, m->out, 2 * i + 1, f) == 0))
		return 0;
	local_child_release(m);
	return -1;
}

static int
start_server(struct local_cluster *l, size_t i, struct fail *f)
{
	const struct local_cluster_options *o = l->options;
	char endpoint[ENDPOINT];
	struct argv w = { 0 };
	int status;

	endpoint_of_server(l, i, endpoint);
	argv_add(&w, CHILD_SERVER);
	if (o->level)
		argv_add(&w, "%s", o->level);
	argv_add(&w, "-b");
	argv_add(&w, "%s", endpoint);
	if (o->checkpoint) {
		argv_add(&w, "-d");
		argv_add(&w, "%s", o->checkpoint);
	}
	argv_add(&w, "--idle=0");	/* it ends when we end it */
	status = start_member(l, i, i, &w, f);
	argv_release(&w);
	return status;
}

static int
start_worker(struct local_cluster *l, size_t i, struct fail *f)
{
	struct argv w = { 0 };
	int status;

	argv_add(&w, CHILD_WORKER);
	if (l->options->level)
		argv_add(&w, "%s", l->options->level);
	add_worker_words(&w, l, i);
	status = start_member(l, (size_t)l->options->servers + i, i, &w, f);
	argv_release(&w);
	return status;
}

static int
start_relay(struct local_cluster *l, size_t i, struct fail *f)
{
	const struct local_cluster_options *o = l->options;
	struct argv w = { 0 };
	int status;

	argv_add(&w, CHILD_RELAY);
	if (o->level)
		argv_add(&w, "%s", o->level);
	argv_add(&w, "-c");
	argv_add(&w, "%s", l->coord);
	argv_add(&w, "-b");
	argv_add(&w, "ipc://%s/relay.%zu", l->folder, i);
	argv_add(&w, "--site=local-%zu", i);
	status = start_member(l, (size_t)(o->servers + o->workers) + i, i, &w,
			      f);
	argv_release(&w);
	return status;
}

/*
 * Check the options of the last worker by starting it with --check, while the
 * servers start: a wrong option is reported before any worker runs, and without
 * waiting for the servers.
 */
static int
start_check(struct local_cluster *l, struct fail *f)
{
	struct argv w = { 0 };
	struct spawn how = { .file = { -1, -1, l->error }, .cpu = -1 };

	argv_add(&w, CHILD_WORKER);
	argv_add(&w, "--check");
	add_worker_words(&w, l, (size_t)l->options->workers - 1);
	how.word = w.word;
	l->check = spawn(&how, f);
	argv_release(&w);
	return l->check < 0 ? -1 : 0;
}

static int
start_command(struct local_cluster *l, struct fail *f)
{
	const struct spawn how = {
		.word = l->options->command,
		.file = { STDIN_FILENO, STDOUT_FILENO, l->error }, .cpu = -1
	};

	l->command = spawn(&how, f);
	return l->command < 0 ? -1 : 0;
}

/* ---- start and end ---- */

static bool
is_known(const struct local_cluster *l, pid_t group)
{
	bool known = group == getpgrp() || group == l->command ||
		group == l->check;

	for (size_t i = 0; i < l->members && !known; i++)
		known = group == l->member[i].group;
	for (size_t i = 0; i < l->descendants && !known; i++)
		known = group == l->descendant[i];
	return known;
}

/*
 * Find process groups that the command's processes made, such as the jobs of a
 * shell or those of timeout(1).  They become our children as soon as the
 * process that started them has ended.  Each is sent the signal once.
 */
static void
find_descendants(struct local_cluster *l, int number)
{
	const size_t n =
		process_group_children(&l->children, &l->children_room);

	for (size_t i = 0; i < n; i++) {
		const pid_t group = l->children[i];

		if (is_known(l, group))
			continue;
		l->descendant = mem_grow(l->descendant, l->descendants,
					 &l->descendant_room,
					 sizeof(*l->descendant));
		l->descendant[l->descendants++] = group;
		process_group_signal(group, number);
	}
}

static void
signal_command(const struct local_cluster *l, int number)
{
	process_group_signal(l->command, number);
	for (size_t i = 0; i < l->descendants; i++)
		process_group_signal(l->descendant[i], number);
}

/* Return whether the command and all that it started have ended. */
static bool
command_is_gone(const struct local_cluster *l)
{
	bool left = process_group_is_gone(l->command);

	for (size_t i = 0; i < l->descendants && left; i++)
		left = process_group_is_gone(l->descendant[i]);
	return left;
}

static bool
are_gone(struct local_cluster *l)
{
	bool gone = process_group_is_gone(l->check) && command_is_gone(l);

	for (size_t i = 0; i < l->members && gone; i++)
		gone = l->member[i].ended &&
			process_group_is_gone(l->member[i].group);
	if (!gone)
		return false;
	find_descendants(l, SIGTERM);
	return command_is_gone(l);
}

/* Begin the end: send SIGTERM to all that are left. */
static void
stop(struct local_cluster *l, int result)
{
	l->result = result;
	l->phase = STOPPING;
	l->deadline = clock_ms() + l->options->grace_ms;
	for (size_t i = 0; i < l->members; i++)
		if (!l->member[i].ended)
			kill(l->member[i].group, SIGTERM);
	process_group_signal(l->check, SIGTERM);
	signal_command(l, SIGTERM);
	find_descendants(l, SIGTERM);
	l->gone = are_gone(l);
}

static void
stop_failed(struct local_cluster *l, const struct fail *f)
{
	log_error("%s", f->text);
	stop(l, f->kind);
}

static void
start_workers(struct local_cluster *l)
{
	struct fail f;

	l->checked = true;
	for (size_t i = 0; i < l->options->workers; i++)
		if (start_worker(l, i, &f) < 0) {
			stop_failed(l, &f);
			return;
		}
	for (size_t i = 0; i < l->options->relays; i++)
		if (start_relay(l, i, &f) < 0) {
			stop_failed(l, &f);
			return;
		}
}

static void
start(struct local_cluster *l)
{
	const struct local_cluster_options *o = l->options;
	struct fail f;

	for (size_t i = 0; i < o->servers; i++)
		if (start_server(l, i, &f) < 0) {
			stop_failed(l, &f);
			return;
		}
	if (!o->worker_word || !*o->worker_word || o->workers == 0)
		start_workers(l);
	else if (start_check(l, &f) < 0)
		stop_failed(l, &f);
}

/*
 * Print the coordinator's endpoint, by one write, so that a reader who waits
 * until the file has something gets all of it.
 */
static int
print_endpoint(struct local_cluster *l, struct fail *f)
{
	const char *file = l->options->endpoint_file;
	struct text line = { 0 };
	struct stat st;
	ssize_t written;
	int fd = STDOUT_FILENO;

	if (!l->options->print_endpoint)
		return 0;
	if (file)
		fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK |
			  O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_sys(f, FAIL_CREATE, "cannot write the endpoint to "
				"%s", file);
	l->endpoint_written = file && fstat(fd, &st) == 0 &&
		S_ISREG(st.st_mode);
	text_add(&line, "%s\n", l->coord);
	written = write(fd, line.data, line.size);
	if (written < 0)
		fail_sys(f, FAIL_IO, "cannot write the endpoint to %s",
			 file ? file : "standard output");
	if (file)
		spawn_close(&fd);
	text_release(&line);
	return written < 0 ? -1 : 0;
}

/*
 * Run the command when all servers are ready.  If some will never be, stop,
 * with the status of the first of them.
 */
static void
begin(struct local_cluster *l)
{
	struct fail f;

	if (l->phase != STARTING || !l->checked)
		return;
	for (size_t i = 0; i < l->options->servers; i++)
		if (!l->member[i].ready &&
		    (l->member[i].out >= 0 || !l->member[i].ended))
			return;
	for (size_t i = 0; i < l->options->servers; i++) {
		const struct local_child *m = &l->member[i];

		if (m->ready)
			continue;
		fail(&f, FAIL_PEER, "server %zu did not become ready", i);
		stop_failed(l, &f);
		l->result = m->status ? m->status : FAIL_PEER;
		return;
	}
	l->phase = RUNNING;
	if (print_endpoint(l, &f) == 0 && start_command(l, &f) == 0)
		return;
	stop_failed(l, &f);
	if (f.kind == FAIL_NOINPUT)
		l->result = NO_PROGRAM;
}

/*
 * The command has ended.  After a signal its own processes get time to end,
 * too, but not after SIGINT, since shells do not wait for background jobs then,
 * and not after an older SIGHUP, which may have been meant to reload a file.
 */
static void
command_ended(struct local_cluster *l, int status)
{
	const uint64_t now = clock_ms(), grace = l->options->grace_ms;

	l->result = status;
	if (l->phase == STOPPING)
		return;
	if (l->last_signal == 0 || l->last_signal == SIGINT ||
	    (l->last_signal == SIGHUP && now - l->last_signal_ms > grace)) {
		stop(l, status);
		return;
	}
	l->phase = LEAVING;
	l->deadline = now + grace;
}

/*
 * Write the file by which the coordinator learns that no worker is left, and
 * why.
 */
static void
notify_workers_ended(struct local_cluster *l)
{
	const struct local_child *m = l->first_failed ? l->first_failed :
		&l->member[l->options->servers];
	const struct text *last = &m->log_source.last;
	const bool killed = m->status > 128;
	struct fail why, f;

	fail(&why, killed || m->status == 0 ? FAIL_PEER :
	     (enum fail_kind)m->status, "%s %zu %s %d%s%s",
	     m->log_source.program,
	     m->log_source.index, killed ? "was ended by signal" :
	     "ended with status", killed ? m->status - 128 : m->status,
	     last->size > 0 ? ": " : "", last->size > 0 ? last->data : "");
	if (ended_notify(l->workers_ended, &why, &f) < 0)
		log_error("%s", f.text);
}

static bool
is_worker(const struct local_cluster *l, const struct local_child *m)
{
	const size_t i = (size_t)(m - l->member);

	return i >= l->options->servers &&
		i < l->options->servers + l->options->workers;
}

static void
worker_ended(struct local_cluster *l, struct local_child *m)
{
	const struct local_cluster_options *o = l->options;
	const size_t end = (size_t)(o->servers + o->workers);
	bool all = l->members >= end;

	if (!l->first_failed && m->status != 0)
		l->first_failed = m;
	for (size_t i = (size_t)o->servers; i < end && all; i++)
		all = l->member[i].ended;
	if (all && l->phase != STOPPING)
		notify_workers_ended(l);
}

/*
 * Return whether a program that ended with this status may succeed when started
 * again.  A killed one may, and so may one that lacked a peer, memory or a
 * disk; a wrong option or bad data stay wrong.
 */
static bool
is_retryable(int status)
{
	return status > 128 || status == FAIL_PEER ||
		status == FAIL_INTERNAL || status == FAIL_MEMORY ||
		status == FAIL_IO || status == FAIL_AGAIN;
}

/*
 * Start a member that died again, in its place.  Return false if it is not
 * started.
 */
static bool
restart(struct local_cluster *l, struct local_child *m)
{
	const struct local_cluster_options *o = l->options;
	const size_t i = (size_t)(m - l->member);
	const bool server = i < o->servers;
	const uint64_t restarts = m->restarts + 1;
	const int ended = m->status;
	struct fail f;
	int status;

	if (l->phase > RUNNING || restarts > o->restarts ||
	    !is_retryable(m->status) ||
	    (l->phase == STARTING && server && !m->ready))
		return false;
	log_error("%s %zu is started again, %llu of %llu",
		  m->log_source.program,
		  m->log_source.index, (unsigned long long)restarts,
		  (unsigned long long)o->restarts);
	local_child_release(m);
	status = server ? start_server(l, i, &f) : is_worker(l, m) ?
		start_worker(l, i - (size_t)o->servers, &f) :
		start_relay(l, i - (size_t)(o->servers + o->workers), &f);
	m->restarts = restarts;
	if (status == 0)
		return true;
	log_error("%s", f.text);
	m->status = ended;
	return false;
}

/* A member has ended: send SIGTERM to what it started. */
static void
member_ended(struct local_cluster *l, struct local_child *m, int status)
{
	m->ended = true;
	m->status = status;
	if (l->phase != STOPPING && status > 128)
		log_error("%s %zu was ended by signal %d",
			  m->log_source.program,
			  m->log_source.index, status - 128);
	process_group_signal(m->group, SIGTERM);
	log_mux_read_rest(&l->log, &m->log_source);
	if (!restart(l, m) && is_worker(l, m))
		worker_ended(l, m);
}

static void
check_ended(struct local_cluster *l, int status)
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
child_ended(struct local_cluster *l, pid_t pid, int how)
{
	const int status = WIFEXITED(how) ? WEXITSTATUS(how) :
		128 + WTERMSIG(how);

	if (pid == l->command)
		command_ended(l, status);
	else if (pid == l->check)
		check_ended(l, status);
	for (size_t i = 0; i < l->members; i++)
		if (l->member[i].group == pid && !l->member[i].ended)
			member_ended(l, &l->member[i], status);
	begin(l);
}

/*
 * A signal has asked us to end.  A second one shortens the time to end, unless
 * it is SIGHUP, which a terminal may send on its own.  When our parent has
 * gone, that also asks us to end.
 */
static void
receive_stop_signal(struct local_cluster *l, int number)
{
	const bool orphaned = getppid() != l->parent;
	const uint64_t now = clock_ms();

	if (!orphaned && number == l->last_signal &&
	    now - l->last_signal_ms < CLOCK_ONCE_MS)
		return;
	if (l->phase == STARTING) {
		stop(l, 128 + number);
	} else if (l->phase != STOPPING) {
		signal_command(l, number);
		if (orphaned)	/* no other signal will come */
			l->deadline = now + l->options->grace_ms;
	} else if (l->deadline == 0 || (l->urgent && number != SIGHUP)) {
		l->deadline = now;
	}
	l->last_signal = number;
	l->last_signal_ms = now;
	l->urgent |= number != SIGHUP;
}

static void
receive_signals(struct local_cluster *l)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int how;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			receive_stop_signal(l, (int)info.ssi_signo);
	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		child_ended(l, pid, how);
	if (l->phase == LEAVING) {
		find_descendants(l, l->last_signal);
		if (command_is_gone(l))
			stop(l, l->result);
	} else if (l->phase == STOPPING) {
		l->gone = are_gone(l);
	}
}

/* Kill all that is left, with what it has started. */
static void
kill_all(struct local_cluster *l)
{
	log_error("killing programs that do not stop");
	find_descendants(l, SIGKILL);
	for (size_t i = 0; i < l->members; i++)
		process_group_signal(l->member[i].group, SIGKILL);
	signal_command(l, SIGKILL);
	process_group_signal(l->check, SIGKILL);
	l->killed = true;
	l->deadline = clock_ms() + LAST_MS;
}

/* The deadline has passed.  Return false if there is nothing more to do. */
static bool
pass_deadline(struct local_cluster *l)
{
	if (l->phase != STOPPING)
		stop(l, l->result);
	else if (l->killed || l->gone)
		return false;
	else
		kill_all(l);
	return true;
}

/* ---- the loop ---- */

static void
read_members(struct local_cluster *l)
{
	struct epoll_event e[EVENTS];
	const int n = epoll_wait(l->epoll, e, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct local_child *m = &l->member[e[i].data.u64 / 2];

		if (e[i].data.u64 % 2 == 0)
			log_mux_read(&l->log, &m->log_source);
		else
			local_child_read_ready(m);
	}
	begin(l);
}

/*
 * Return how long to wait, in ms; -1: without limit.  When all processes have
 * ended, only what they have written is read.
 */
static int
wait_ms(const struct local_cluster *l)
{
	const uint64_t now = clock_ms();

	if (l->gone && !log_mux_is_full(&l->log))
		return 0;
	return l->deadline == 0 ? -1 : l->deadline <= now ? 0 :
		l->deadline - now < 60000 ? (int)(l->deadline - now) : 60000;
}

static int
open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC, 0666);
}

/* A log that cannot be begun again is written on where it is. */
static void
follow_log(struct local_cluster *l)
{
	const char *path = l->options->log;
	const int to = path && log_is_moved(path, l->log.to) ? open_log(path) :
		-1;

	if (to < 0)
		return;
	spawn_close(&l->log.to);
	l->log.to = to;
}

/* Handle what happens; return false if the time has passed. */
static bool
receive(struct local_cluster *l)
{
	const bool full = log_mux_is_full(&l->log);

	if (full)
		follow_log(l);

	struct pollfd fd[] = {
		{ .fd = l->signals, .events = POLLIN },
		{ .fd = full ? -1 : l->epoll, .events = POLLIN },
		{ .fd = full ? l->log.to : -1, .events = POLLOUT }
	};

	if (poll(fd, sizeof(fd) / sizeof(*fd), wait_ms(l)) <= 0)
		return false;
	if (fd[1].revents)
		read_members(l);
	if (fd[2].revents)
		log_mux_write(&l->log);
	if (fd[0].revents)
		receive_signals(l);
	return true;
}

/*
 * When all have ended, a slow reader of our log has as long as it needs, until
 * we are asked to end.
 */
static void
run(struct local_cluster *l)
{
	start(l);
	begin(l);
	while (receive(l) || !l->gone || log_mux_is_full(&l->log)) {
		if (l->gone && log_mux_is_full(&l->log) && !l->last_signal)
			l->deadline = 0;
		if (l->deadline && clock_ms() >= l->deadline &&
		    !pass_deadline(l))
			break;
	}
}

/* ---- begin and end ---- */

/*
 * Standard error is the command's, too, which may want to block when it is
 * full.  We must never block, so we open a terminal or a pipe once more, as
 * non-blocking.
 */
static void
open_stderr(struct local_cluster *l)
{
	struct stat st;
	int own;

	l->error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	if (l->error < 0 || fstat(l->error, &st) < 0 ||
	    (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return;
	own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
		   O_CLOEXEC);
	if (own >= 0)
		dup2(own, STDERR_FILENO);
	spawn_close(&own);
}

static int
open_all(struct local_cluster *l, struct fail *f)
{
	const char *log = l->options->log;

	open_stderr(l);
	l->signals = signalfd(-1, l->options->signals,
			      SFD_CLOEXEC | SFD_NONBLOCK);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->error < 0 || l->signals < 0 || l->epoll < 0)
		return fail_sys(f, FAIL_AGAIN, "cannot hear anybody");
	l->log.to = !log ? STDERR_FILENO : open_log(log);
	if (l->log.to < 0)
		return fail_sys(f, FAIL_CREATE, "cannot write the log %s",
				log);
	process_group_adopt();
	return make_folder(l, f);
}

static void
close_all(struct local_cluster *l)
{
	for (size_t i = 0; i < l->members; i++)
		local_child_release(&l->member[i]);
	spawn_close(&l->error);
	spawn_close(&l->signals);
	spawn_close(&l->epoll);
	if (l->log.to != STDERR_FILENO)
		spawn_close(&l->log.to);
	if (l->endpoint_written)
		unlink(l->options->endpoint_file);
	if (l->folder)
		nftw(l->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	log_mux_release(&l->log);
	free(l->folder);
	free(l->workers_ended);
	free(l->member);
	free(l->descendant);
	free(l->children);
	free(l->cpu);
}

int
local_cluster_run(const struct local_cluster_options *o)
{
	struct local_cluster l =
		{ .options = o, .parent = getppid(), .signals = -1,
				   .epoll = -1, .error = -1, .log.to = -1 };
	struct fail f;

	l.member = mem_alloc((size_t)(o->servers + o->workers + o->relays) + 1,
			     sizeof(*l.member));
	if (open_all(&l, &f) < 0) {
		log_error("%s", f.text);
		l.result = f.kind;
	} else {
		set_environment(&l);
		l.threads = worker_threads(l.options);
		find_cpus(&l);
		run(&l);
	}
	close_all(&l);
	return l.result;
}
