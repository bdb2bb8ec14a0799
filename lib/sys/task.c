#include "sys/task.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Steps go first, but on a machine that is always busy the thread still gets a
 * tenth of a CPU, so that a checkpoint is completed.
 */
#define NICE	10

struct task {
	void (*work)(void *arg);
	void *arg;
	bool busy;
	int event;
	bool threaded;		/* in this thread, not in the caller's */
	pthread_t thread;
};

struct task *
task_new(void)
{
	struct task *t = mem_alloc(1, sizeof(*t));

	t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->event < 0)
		abort();	/* no descriptors: no program */
	return t;
}

void
task_free(struct task *t)
{
	if (!t)
		return;
	if (t->busy && t->threaded)
		pthread_join(t->thread, NULL);
	close(t->event);
	free(t);
}

int
task_fd(const struct task *t)
{
	return t ? t->event : -1;
}

static void
run_here(const struct task *t)
{
	const uint64_t one = 1;

	t->work(t->arg);
	if (write(t->event, &one, sizeof(one)) < 0)
		abort();	/* a counter of ones cannot overflow */
}

static void *
run(void *self)
{
	/* On Linux 0 means this thread, not the whole program. */
	setpriority(PRIO_PROCESS, 0, NICE);
	run_here(self);
	return NULL;
}

void
task_begin(struct task *t, void (*work)(void *arg), void *arg)
{
	t->work = work;
	t->arg = arg;
	t->busy = true;
	t->threaded = pthread_create(&t->thread, NULL, run, t) == 0;
	if (!t->threaded)
		run_here(t);
}

bool
task_busy(const struct task *t)
{
	return t && t->busy;
}

bool
task_ended(struct task *t)
{
	uint64_t events;

	if (!task_busy(t) || read(t->event, &events, sizeof(events)) < 0)
		return false;
	if (t->threaded)
		pthread_join(t->thread, NULL);
	t->busy = false;
	return true;
}

int
task_thread(pthread_t *thread, int event, void *(*begin)(void *arg), void *arg,
	    struct fail *f)
{
	int wrong;

	if (event < 0)
		return fail(f, FAIL_AGAIN, "cannot start a thread to read "
			    "examples: too many files are open (ulimit -n)");
	wrong = pthread_create(thread, NULL, begin, arg);
	return wrong == 0 ? 0 :
		fail(f, FAIL_AGAIN, "cannot start a thread to read examples: "
		     "%s (ulimit -u, ulimit -v)", strerror(wrong));
}
