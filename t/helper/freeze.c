/*
 * freeze - stop the main thread of a program and no other, as a disk that does
 * not answer would, or a loop without end: libzmq's threads go on.
 *
 *	freeze PID
 *
 * "frozen" is printed when it is; it goes on when this one ends.
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
