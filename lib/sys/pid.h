/*
 * pid - getpid() without a system call.
 *
 * libzmq asks for it whenever it looks whether something has come, to find out
 * if there was a fork in between: that is every third system call of a worker
 * of small steps, and one in twenty of its time.  glibc once remembered the
 * answer, and does not any more.
 */
#ifndef PS_PID_H
#define PS_PID_H

/*
 * Remember it in this process, before it has other threads; a child of fork()
 * asks again.  One of vfork() must not ask.
 */
void pid_remember(void);

#endif
