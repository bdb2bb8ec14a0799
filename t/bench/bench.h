/*
 * bench - clocks, medians, processes and output for all benchmarks.
 *
 * A benchmark measures pskit and what it is compared with in turn, and prints a
 * JSON line of the medians (bench_print()); t/bench/table reads these lines.  A
 * measurement that fails ends the program, so each line has figures.
  * BENCH_SIZE is the amount of work: "tiny" (does it run at all?), "normal" or
  * "full".
 */
#ifndef PS_BENCH_H
#define PS_BENCH_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BENCH_RUNS	32

enum bench_size { BENCH_TINY, BENCH_NORMAL, BENCH_FULL };

/* The transport between two programs of pskit, or two bare ones. */
enum bench_way { BENCH_TCP, BENCH_IPC };

/* The figures of several runs. */
struct series {
	double figure[BENCH_RUNS], cpu[BENCH_RUNS];
	size_t runs;
};

/* CPU time of some processes, and the time of day. */
struct watch {
	double wall, cpu;
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void
bench_die(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fputc('\n', stderr);
	exit(1);
}

static inline enum bench_size
bench_size(void)
{
	const char *size = getenv("BENCH_SIZE");

	if (!size || strcmp(size, "normal") == 0)
		return BENCH_NORMAL;
	return strcmp(size, "tiny") == 0 ? BENCH_TINY : BENCH_FULL;
}

/* Returns the number of runs of each program that is measured. */
static inline size_t
bench_runs(void)
{
	return bench_size() == BENCH_TINY ? 1 : 5;
}

/* Returns the number for the size of BENCH_SIZE. */
static inline size_t
bench_scale(size_t tiny, size_t normal, size_t full)
{
	return (const size_t[]){ tiny, normal, full }[bench_size()];
}

static inline double
bench_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		bench_die("a process is gone");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads the times of this process and of another one, which may be 0. */
static inline struct watch
watch_read(pid_t other)
{
	struct watch w = { bench_clock(CLOCK_MONOTONIC),
			   bench_clock(CLOCK_PROCESS_CPUTIME_ID) };
	clockid_t clock;

	if (other && clock_getcpuclockid(other, &clock) == 0)
		w.cpu += bench_clock(clock);
	return w;
}

/* Adds a run that did this much work since the watch was read: its rate, and
   its CPU time for each unit of work. */
static inline void
series_add(struct series *s, double work, struct watch since, pid_t other)
{
	const struct watch now = watch_read(other);

	if (s->runs == BENCH_RUNS)
		bench_die("too many runs");
	s->figure[s->runs] = work / (now.wall - since.wall);
	s->cpu[s->runs++] = (now.cpu - since.cpu) / work;
}

static inline int
bench_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static inline double
bench_median(const double *from, size_t n)
{
	double sorted[BENCH_RUNS];

	memcpy(sorted, from, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), bench_compare);
	return n % 2 ? sorted[n / 2] :
		(sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The comparison that a line prints. */
struct claim {
	const char *bench, *what, *unit, *against;
	double target;		/* the least ratio that is good; 0: none */
};

/*
 * {"bench":..., "case":..., "figure":..., "unit":..., "cpu":...,
 * "against":..., "peer_figure":..., "peer_cpu":..., "ratio":...,
 * "target":...}.  The ratio is that of the medians; cpu is in seconds for
 * each unit of work, the unit without its "/s".
 */
static inline void
bench_print(const struct claim *c, const struct series *ours,
	    const struct series *peer)
{
	const double a = bench_median(ours->figure, ours->runs);
	const double b = bench_median(peer->figure, peer->runs);

	if (!(a > 0) || !(b > 0))
		bench_die("%s: nothing was measured", c->bench);
	printf("{\"bench\":\"%s\",\"case\":\"%s\",\"figure\":%.6g,"
	       "\"unit\":\"%s\",\"cpu\":%.3g,", c->bench, c->what, a,
	       c->unit, bench_median(ours->cpu, ours->runs));
	printf("\"against\":\"%s\",\"peer_figure\":%.6g,\"peer_cpu\":%.3g,"
	       "\"ratio\":%.3f", c->against, b,
	       bench_median(peer->cpu, peer->runs), a / b);
	if (c->target > 0)
		printf(",\"target\":%g", c->target);
	puts("}");
	fflush(stdout);
}

/* Forks a child that is killed when this process ends. */
static inline pid_t
bench_fork(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		bench_die("cannot fork");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline void
bench_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
