/* Work on files is done, in a thread or, if none can be started, without. */
#include "sys/task.h"

#include "tap.h"

#include <poll.h>
#include <pthread.h>

static pthread_t thread;

static void
note_thread(void *arg)
{
	thread = pthread_self();
	++*(int *)arg;
}

static void
do_one(struct task *t, int *count)
{
	struct pollfd fd = { .fd = task_fd(t), .events = POLLIN };

	task_begin(t, note_thread, count);
	ok(task_busy(t));
	poll(&fd, 1, -1);
	named(task_ended(t) && !task_busy(t) && !task_ended(t),
	      "its end is reported once");
}

int
main(void)
{
	struct task *t = task_new();
	pthread_attr_t attr;
	int count = 0;

	do_one(t, &count);
	named(count == 1 && !pthread_equal(thread, pthread_self()),
	      "a thread has done it");

	/* The stack of a thread gets larger than any address. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 60);
	named(pthread_setattr_default_np(&attr) == 0, "no threads any more");
	do_one(t, &count);
	named(count == 2 && pthread_equal(thread, pthread_self()),
	      "it is done without one");
	task_begin(t, note_thread, &count);
	task_free(t);
	equals(count, 3);
	pthread_attr_destroy(&attr);
	return tap_done();
}
