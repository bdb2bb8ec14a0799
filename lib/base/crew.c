#include "base/crew.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct member {
	struct crew *crew;
	size_t number;
	pthread_t thread;
};

struct crew {
	size_t members;
	struct member *member;		/* from number 1 on; 0 is the caller */
	pthread_mutex_t lock;
	pthread_cond_t begun, ended;
	size_t round;			/* calls of crew_run() so far */
	size_t busy;			/* threads still at work in the last */
	bool over;			/* threads must end */
	void (*work)(void *arg, size_t member);
	void *arg;
};

static void *
run_thread(void *self)
{
	const struct member *m = self;
	struct crew *c = m->crew;
	size_t round = 0;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->round == round && !c->over)
			pthread_cond_wait(&c->begun, &c->lock);
		if (c->over)
			break;
		round = c->round;
		pthread_mutex_unlock(&c->lock);
		c->work(c->arg, m->number);
		pthread_mutex_lock(&c->lock);
		if (--c->busy == 0)
			pthread_cond_signal(&c->ended);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* New threads block all signals, so that the main thread receives them. */
static int
begin_threads(struct crew *c, size_t members)
{
	sigset_t all, before;
	int status = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; c->members < members; c->members++) {
		struct member *m = &c->member[c->members];

		*m = (struct member){ .crew = c, .number = c->members };
		status = pthread_create(&m->thread, NULL, run_thread, m);
		if (status != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

struct crew *
crew_new(size_t members, struct fail *f)
{
	struct crew *c = mem_alloc(1, sizeof(*c));
	int status;

	c->members = 1;
	c->member = mem_alloc(members, sizeof(*c->member));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->begun, NULL);
	pthread_cond_init(&c->ended, NULL);
	status = begin_threads(c, members);
	if (status == 0)
		return c;
	fail(f, FAIL_MEMORY, "cannot start %zu threads, only %zu: %s", members,
	     c->members, strerror(status));
	crew_free(c);
	return NULL;
}

void
crew_free(struct crew *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->begun);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 1; i < c->members; i++)
		pthread_join(c->member[i].thread, NULL);
	pthread_cond_destroy(&c->ended);
	pthread_cond_destroy(&c->begun);
	pthread_mutex_destroy(&c->lock);
	free(c->member);
	free(c);
}

size_t
crew_members(const struct crew *c)
{
	return c ? c->members : 1;
}

void
crew_run(struct crew *c, void (*work)(void *arg, size_t member), void *arg)
{
	if (crew_members(c) == 1) {
		work(arg, 0);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->work = work;
	c->arg = arg;
	c->busy = c->members - 1;
	c->round++;
	pthread_cond_broadcast(&c->begun);
	pthread_mutex_unlock(&c->lock);
	work(arg, 0);
	pthread_mutex_lock(&c->lock);
	while (c->busy > 0)
		pthread_cond_wait(&c->ended, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void
crew_lock(struct crew *c)
{
	if (c)
		pthread_mutex_lock(&c->lock);
}

void
crew_unlock(struct crew *c)
{
	if (c)
		pthread_mutex_unlock(&c->lock);
}

size_t
crew_take(struct crew *c, size_t *next, size_t count)
{
	size_t task;

	crew_lock(c);
	task = *next < count ? (*next)++ : count;
	crew_unlock(c);
	return task;
}
