#include "data/command.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* While a command is on a list its process has not been reaped, so its pid
   cannot be that of another process: a signal never hits a stranger. */
static pthread_mutex_t listed = PTHREAD_MUTEX_INITIALIZER;

static void
register_command(struct command *c, struct commands *all, pid_t pid)
{
	pthread_mutex_lock(&listed);
	*c = (struct command){ .pid = pid, .all = all,
				.next = all->first };
	all->first = c;
	pthread_mutex_unlock(&listed);
}

/* Take the command off the list and get its status, as of waitpid(). */
static int
reap(struct command *c, int *status)
{
	struct command **at = &c->all->first;
	int got;

	pthread_mutex_lock(&listed);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	got = waitpid(c->pid, status, 0) < 0 ? -1 : 0;
	c->pid = 0;
	pthread_mutex_unlock(&listed);
	return got;
}

/* Our programs ignore SIGPIPE, but "zcat | head" needs it: reset it. */
static int
spawn(pid_t *pid, const char *text, int output)
{
	char sh[] = "sh", c[] = "-c", *command = mem_text(text);
	char *const argv[] = { sh, c, command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t set;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETSIGMASK);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &set);
	error = posix_spawn(pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	free(command);
	return error;
}

int
command_start(struct command *c, struct commands *all, const char *text,
	      const char *name, struct fail *f)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", name);
	errno = spawn(&pid, text, ends[1]);
	close(ends[1]);
	if (errno != 0) {
		fail_sys(f, FAIL_NOINPUT, "%s", name);
		close(ends[0]);
		return -1;
	}
	register_command(c, all, pid);
	return ends[0];
}

int
command_await(struct command *c, const char *name, struct fail *f)
{
	siginfo_t info;
	int status;

	if (c->pid == 0)
		return 0;
	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT) != 0 &&
	       errno == EINTR)
		;
	if (reap(c, &status) != 0)
		return fail_sys(f, FAIL_IO, "%s", name);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE)
		return fail(f, FAIL_IO, "%s: the command was ended by signal "
			    "%d", name, WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0 &&
	    WEXITSTATUS(status) != 128 + SIGPIPE)
		return fail(f, FAIL_IO, "%s: the command ended with status "
			    "%d", name, WEXITSTATUS(status));
	return 0;
}

void
command_end(const struct command *c)
{
	if (c->pid > 0)
		kill(c->pid, SIGTERM);
}

void
commands_end(const struct commands *all)
{
	pthread_mutex_lock(&listed);
	for (const struct command *c = all->first; c; c = c->next)
		command_end(c);
	pthread_mutex_unlock(&listed);
}
