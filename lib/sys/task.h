/*
 * task - runs work on files in a thread of its own, one piece at a time, with a
 * lower priority than the other threads of the program.
 */
#ifndef PS_TASK_H
#define PS_TASK_H

#include "base/fail.h"

#include <pthread.h>
#include <stdbool.h>

struct task;

struct task *task_new(void);

/* Wait for the end of work that has begun, and free the task. */
void task_free(struct task *);

/* Return a descriptor that is readable when work has ended; -1: the task is
   NULL. */
int task_fd(const struct task *);

/* Begin work, while none is running; it borrows arg until it has ended.  If the
   system starts no more threads, the work is done before this returns. */
void task_begin(struct task *, void (*work)(void *arg), void *arg);

/* Has work begun, whose end task_ended() has not reported?  No, if the task is
   NULL. */
bool task_busy(const struct task *);

/* Has the work ended?  True only once for each piece. */
bool task_ended(struct task *);

/* Start a thread that reads examples, without a task, and reports by this
   descriptor.  -1: the descriptor is -1, or the system starts no more threads
   (FAIL_AGAIN). */
int task_thread(pthread_t *, int event, void *(*begin)(void *arg), void *arg,
		struct fail *);

#endif
