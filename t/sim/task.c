/*
 * task - lib/sys/task in virtual time, without a thread.
 *
 * The seed decides whether work is done when it begins or when the program
 * sees it end.  So a program that is killed in between has left its files, or
 * has not.
 */
#include "task.h"

#include "sys/task.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

struct task {
	void (*work)(void *arg);
	void *arg;
	bool busy, done;
	uint64_t due;
};

static struct rng task_rng;
static uint64_t task_now, task_longest;
static bool abandoned;

void
sim_task_begin(uint64_t seed, uint64_t longest_ms)
{
	task_rng = (struct rng){ .seed = seed };
	task_longest = longest_ms;
}

void
sim_task_now(uint64_t now_ms)
{
	task_now = now_ms;
}

struct task *
task_new(void)
{
	return mem_alloc(1, sizeof(struct task));
}

void
sim_task_abandon(bool abandon)
{
	abandoned = abandon;
}

/* Work that has begun is done first: a real thread would be joined here. */
void
task_free(struct task *t)
{
	if (t && t->busy && !t->done && !abandoned)
		t->work(t->arg);
	free(t);
}

int
task_fd(const struct task *t)
{
	(void)t;
	return -1;
}

void
task_begin(struct task *t, void (*work)(void *arg), void *arg)
{
	t->work = work;
	t->arg = arg;
	t->busy = true;
	t->done = rng_below(&task_rng, 2);
	t->due = task_now + rng_below(&task_rng, 1 + task_longest);
	if (t->done)
		work(arg);
}

bool
task_busy(const struct task *t)
{
	return t && t->busy;
}

bool
task_ended(struct task *t)
{
	if (!t || !t->busy || task_now < t->due)
		return false;
	if (!t->done)
		t->work(t->arg);
	t->busy = false;
	return true;
}
