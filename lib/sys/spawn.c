#include "sys/spawn.h"

#include "base/failpoint.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const int standard[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

/* Reset the signals that we ignore, or that a shell made us ignore because we
   run in its background. */
static void
reset_signals(void)
{
	static const int reset[] = { SIGINT, SIGQUIT, SIGTERM, SIGPIPE,
				     SIGXFSZ };
	struct sigaction hangup;
	sigset_t none;

	for (size_t i = 0; i < sizeof(reset) / sizeof(*reset); i++)
		signal(reset[i], SIG_DFL);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		signal(SIGHUP, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
redirect_files(const struct spawn *l)
{
	for (size_t i = 0; i < 3; i++) {
		const int file = l->file[i] >= 0 ? l->file[i] :
			open("/dev/null", O_RDWR | O_CLOEXEC);

		if (file < 0 || (file != standard[i] &&
				 dup2(file, standard[i]) < 0))
			return -1;
	}
	if (l->shared == SPAWN_SHARED)
		return fcntl(l->shared, F_SETFD, 0);
	return l->shared > 0 && dup2(l->shared, SPAWN_SHARED) < 0 ? -1 : 0;
}

/* In the child: become the program; or write the reason to error_pipe, and
   die. */
static _Noreturn void
exec_program(const struct spawn *l, pid_t parent, int error_pipe)
{
	cpu_set_t one;
	struct fail f;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (l->cpu >= 0) {
		CPU_ZERO(&one);
		CPU_SET(l->cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	/* redirect_files() will put the shared file at this descriptor. */
	if (error_pipe == SPAWN_SHARED && l->shared > 0)
		error_pipe = fcntl(error_pipe, F_DUPFD_CLOEXEC,
				   SPAWN_SHARED + 1);
	if (failpoint("launch", &f) == 0 && getppid() == parent &&
	    redirect_files(l) == 0) {
		reset_signals();
		execvp(l->word[0], l->word);
	}

	const int why = errno ? errno : EAGAIN;
	const ssize_t written = write(error_pipe, &why, sizeof(why));

	(void)written;
	for (;;)
		raise(SIGKILL);
}

/* Is this error a lack of something that may be there again later? */
static bool
is_transient(int why)
{
	return why == EAGAIN || why == ENOMEM || why == EMFILE ||
		why == ENFILE || why == ETXTBSY;
}

pid_t
spawn(const struct spawn *l, struct fail *f)
{
	const pid_t parent = getpid();
	sigset_t all, before;
	int ends[2], why;
	pid_t pid;

	if (spawn_pipe(ends, f) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		exec_program(l, parent, ends[1]);
	why = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	spawn_close(&ends[1]);
	if (pid > 0) {
		/* The child does the same; whichever runs first, the group is
		   there when spawn() returns. */
		setpgid(pid, pid);
		if (read(ends[0], &why, sizeof(why)) != sizeof(why))
			why = 0;
	}
	spawn_close(&ends[0]);
	if (why == 0)
		return pid;
	errno = why;
	return fail_sys(f, is_transient(why) ? FAIL_AGAIN : FAIL_NOINPUT,
			"cannot run %s", l->word[0]);
}

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		access(path, X_OK) == 0;
}

/* A name with a slash is a file: the reason is that of the system. */
static int
find_file(const char *path, struct fail *f)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return fail_sys(f, FAIL_NOINPUT, "cannot run %s", path);
	if (is_program(path))
		return 0;
	errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return fail_sys(f, FAIL_NOINPUT, "cannot run %s", path);
}

/* Return PATH, or what execvp() takes if it is not set. */
static const char *
path_now(void)
{
	const char *path = getenv("PATH");

	return path ? path : "/bin:/usr/bin";
}

/* Set file to the program in the first folder of PATH that has it. */
static bool
find_on_path(const char *name, struct text *file)
{
	const char *path = path_now();
	bool found = false;

	for (bool more = true; more && !found; path++) {
		const size_t n = strcspn(path, ":");

		text_reset(file);
		text_add(file, "%.*s/%s", n > 0 ? (int)n : 1,
			 n > 0 ? path : ".", name);
		found = is_program(file->data);
		path += n;
		more = *path == ':';
	}
	return found;
}

int
spawn_find(const char *name, struct fail *f)
{
	struct text file = { 0 };
	bool found;

	if (strchr(name, '/'))
		return find_file(name, f);
	found = find_on_path(name, &file);
	text_release(&file);
	return found ? 0 : fail(f, FAIL_NOINPUT, "%s: not found; is its "
				"folder on PATH?", name);
}

static bool
are_same(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 &&
		one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void
spawn_beside(const char *name)
{
	struct text found = { 0 }, path = { 0 };
	char *own = realpath("/proc/self/exe", NULL);
	char *end = own ? strrchr(own, '/') : NULL;
	bool other;

	if (end && !strchr(own, ':')) {
		other = find_on_path(name, &found) &&
			!are_same(found.data, own);
		*(end == own ? end + 1 : end) = '\0';
		if (other)
			text_add(&path, "%s:%s", own, path_now());
		else
			text_add(&path, "%s:%s", path_now(), own);
		setenv("PATH", path.data, 1);
	}
	text_release(&found);
	text_release(&path);
	free(own);
}

int
spawn_pipe(int ends[2], struct fail *f)
{
	return pipe2(ends, O_CLOEXEC) == 0 ? 0 :
		fail_sys(f, FAIL_AGAIN, "cannot make a pipe");
}

void
spawn_close(int *file)
{
	if (*file >= 0)
		close(*file);
	*file = -1;
}
