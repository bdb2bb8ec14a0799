/*
 * ps-local - start servers, workers and relays on this machine, run a command,
 * and end them again.
 *
 * All processes of a run are in one session, apart from the terminal's.  Its
 * leader does the work; the program itself stays to pass on signals and the
 * status.
 */
#include "base/log.h"
#include "prog/local_child.h"
#include "prog/local_options.h"
#include "sys/spawn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void
find_programs(const char *command)
{
	const char *const program[] = { CHILD_SERVER, CHILD_WORKER,
					CHILD_RELAY, command };

	struct fail f;

	for (size_t i = 0; i < sizeof(program) / sizeof(*program); i++)
		if (spawn_find(program[i], &f) < 0) {
			log_error("%s", f.text);
			exit(127);
		}
}

/*
 * Fork the leader of the session.  It ends when we do, since nobody else sends
 * it signals.
 */
static pid_t
lead(const struct local_cluster_options *o)
{
	const pid_t parent = getpid(), leader = fork();

	if (leader != 0)
		return leader;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	exit(getppid() == parent ? local_cluster_run(o) : 128 + SIGTERM);
}

/*
 * Pass on signals while the run lasts, and return its status.  As the first
 * process of a container we have children of others, too.
 */
static int
pass_on(const sigset_t *signals, pid_t leader)
{
	pid_t ended;
	int how;

	while ((ended = waitpid(-1, &how, WNOHANG)) != leader) {
		const int number = ended > 0 ? 0 : sigwaitinfo(signals, NULL);

		if (number > 0 && number != SIGCHLD)
			kill(leader, number);
	}
	return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

/*
 * Block the signals that ask us to end, unless they are ignored, and SIGCHLD.
 */
static void
block_signals(sigset_t *signals)
{
	struct sigaction hangup;

	sigemptyset(signals);
	sigaddset(signals, SIGCHLD);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		sigaddset(signals, SIGHUP);
	sigprocmask(SIG_BLOCK, signals, NULL);
}

/*
 * Make a closed standard input empty.  A closed standard error goes to
 * /dev/null, so that writing to it is not an error of the command.
 */
static void
open_standard_files(void)
{
	int nobody;

	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		open("/dev/null", O_RDONLY);
	if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
		return;
	nobody = open("/dev/null", O_WRONLY);
	if (nobody >= 0 && nobody != STDERR_FILENO) {
		dup2(nobody, STDERR_FILENO);
		close(nobody);
	}
}

int
main(int argc, char **argv)
{
	sigset_t signals;
	struct fail f;
	pid_t leader;

	open_standard_files();
	block_signals(&signals);
	cli_begin(&local_program);

	struct local_cluster_options o = local_options_read(argc, argv);

	spawn_beside("ps-local");
	find_programs(o.command[0]);
	o.signals = &signals;
	leader = lead(&o);
	if (leader < 0) {
		fail_sys(&f, FAIL_AGAIN, "cannot start");
		cli_die(&f);
	}
	return cli_end(pass_on(&signals, leader));
}
