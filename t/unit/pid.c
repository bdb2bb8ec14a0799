/* getpid() is right, also when it is remembered and in children. */
#include "sys/pid.h"

#include "tap.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
is_true(void)
{
	return getpid() == (pid_t)syscall(SYS_getpid);
}

/* Is getpid() right in a child, and in a child of that? */
static bool
is_true_behind(void)
{
	const pid_t child = fork();
	int status = 1;

	if (child == 0) {
		bool good = is_true();
		const pid_t grandchild = fork();

		if (grandchild == 0)
			_exit(!is_true());
		good = good && waitpid(grandchild, &status, 0) > 0 &&
			status == 0;
		pid_remember();
		_exit(!good || !is_true());
	}
	return child > 0 && waitpid(child, &status, 0) == child &&
		status == 0 && is_true();
}

int
main(void)
{
	ok(is_true() && is_true_behind());
	pid_remember();
	ok(is_true() && is_true_behind());
	pid_remember();
	ok(is_true() && is_true_behind());
	return tap_done();
}
