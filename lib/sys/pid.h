/*
 * pid - getpid() without a system call.
 *
 * libzmq calls getpid() whenever it looks for incoming messages, to notice a
 * fork(): that is every third system call of a worker with small steps, and 5 %
 * of its time.  glibc once cached the answer, and does not any more.
 */
#ifndef PS_PID_H
#define PS_PID_H

/*
 * Cache the pid of this process, before it starts threads.  A child of fork()
 * asks the system again; a child of vfork() must not call getpid(), as it would
 * get its parent's pid.
 */
void pid_remember(void);

#endif
