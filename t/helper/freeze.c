/*
 * freeze - stop the main thread of a program, as an endless loop or a disk that
 * does not answer would; the threads of libzmq continue.
 *
 *	freeze PID
 *
 * Prints "frozen" when the thread has stopped.  The thread continues when
 * freeze ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const pid_t pid = argc == 2 ? (pid_t)atoi(argv[1]) : 0;

	if (pid <= 0 || ptrace(PTRACE_SEIZE, pid, 0, 0) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 ||
	    waitpid(pid, NULL, __WALL) < 0) {
		perror("freeze");
		return 1;
	}
	puts("frozen");
	fflush(stdout);
	for (;;)
		pause();
}
