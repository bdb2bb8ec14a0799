/*
 * simulate - run seeds of the simulated cluster and report which are broken.
 *
 *	simulate [-c] [-j JOBS] [-t FILE] [-q] [-s] FIRST SEEDS
 *
 * Each seed runs in a process of its own.  For a broken seed, simulate prints
 * the scenario with the faults that matter: it leaves out each fault without
 * which the same rule is still broken.  The last lines of the trace follow.
 *
 *	-t FILE	write the whole trace of the first seed
 *	-q	print only which seeds are broken, and why
 *	-s	start no further seed after a broken one
 *	-c	a control: the simulator ignores one result of each run, so
 *		that all seeds must be broken, except those that end with an
 *		error as they should
 *
 * The last line is "N seeds, M broken"; the status is 1 if M is not 0.
 */
#include "cluster.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_JOBS	64
#define SECONDS		120	/* of CPU time, for one seed */
#define LAST_LINES	60

struct job {
	pid_t pid;
	int fd;
	uint64_t seed;
};

static bool quiet, control, stop_at_first;

/* ---- one run, in a process of its own ---- */

static void __attribute__((noreturn))
run_child(uint64_t seed, uint64_t left_out, const char *trace_path, int fd)
{
	struct scenario s;
	struct verdict out;
	FILE *file = trace_path ? fopen(trace_path, "we") : NULL;

	setrlimit(RLIMIT_CPU, &(struct rlimit){ SECONDS, SECONDS + 1 });
	trace_to(file);
	scenario_draw(&s, seed);
	for (size_t i = 0; i < s.faults; i++)
		s.fault[i].left_out = left_out >> i & 1;
	if (file)
		scenario_print(&s, file);
	out = cluster_run(&s, control);
	scenario_release(&s);
	if (write(fd, &out, sizeof(out)) != sizeof(out))
		_exit(2);
	if (file)
		fclose(file);
	_exit(0);
}

static struct job
begin(uint64_t seed, uint64_t left_out, const char *trace_path)
{
	struct job job = { .seed = seed };
	int pair[2];

	fflush(stdout);
	if (pipe(pair) < 0 || (job.pid = fork()) < 0) {
		perror("simulate");
		exit(71);
	}
	if (job.pid == 0) {
		close(pair[0]);
		run_child(seed, left_out, trace_path, pair[1]);
	}
	close(pair[1]);
	job.fd = pair[0];
	return job;
}

static struct verdict
end(struct job *job)
{
	struct verdict out = { .broken = true };
	int status = 0;

	if (read(job->fd, &out, sizeof(out)) != sizeof(out)) {
		out = (struct verdict){ .broken = true };
		waitpid(job->pid, &status, 0);
		snprintf(out.why, sizeof(out.why), WIFSIGNALED(status) &&
			 WTERMSIG(status) == SIGXCPU ?
			 "C1: it computes for ever" :
			 "it died of signal %d", WTERMSIG(status));
	} else {
		waitpid(job->pid, &status, 0);
	}
	close(job->fd);
	job->pid = 0;
	return out;
}

static struct verdict
run(uint64_t seed, uint64_t left_out, const char *trace_path)
{
	struct job job = begin(seed, left_out, trace_path);

	return end(&job);
}

/* ---- which faults matter ---- */

/* Is it the same rule that is broken? */
static bool
same_manner(const struct verdict *a, const struct verdict *b)
{
	return a->broken && b->broken && strncmp(a->why, b->why, 3) == 0;
}

static uint64_t
minimize(uint64_t seed, const struct verdict *was)
{
	uint64_t left_out = 0;
	struct scenario s;
	size_t faults;

	scenario_draw(&s, seed);
	faults = s.faults;
	scenario_release(&s);
	for (size_t i = 0; i < faults; i++) {
		const uint64_t tried = left_out | (uint64_t)1 << i;
		const struct verdict out = run(seed, tried, NULL);

		if (same_manner(was, &out))
			left_out = tried;
	}
	return left_out;
}

static void
print_end_of(const char *path)
{
	char line[LAST_LINES][400];
	size_t n = 0;
	FILE *file = fopen(path, "re");

	while (file && fgets(line[n % LAST_LINES], sizeof(*line), file))
		n++;
	for (size_t i = n > LAST_LINES ? n - LAST_LINES : 0; i < n; i++)
		fputs(line[i % LAST_LINES], stdout);
	if (file)
		fclose(file);
}

static void
explain(uint64_t seed, const struct verdict *was)
{
	char path[64];
	const uint64_t left_out = minimize(seed, was);
	struct verdict out;
	struct scenario s;

	snprintf(path, sizeof(path), "simulate-%llu.trace",
		 (unsigned long long)seed);
	out = run(seed, left_out, path);
	scenario_draw(&s, seed);
	for (size_t i = 0; i < s.faults; i++)
		s.fault[i].left_out = left_out >> i & 1;
	scenario_print(&s, stdout);
	scenario_release(&s);
	print_end_of(path);
	printf("seed %llu: %s\n(all of it in %s)\n",
	       (unsigned long long)seed, out.why, path);
}

/* ---- all seeds ---- */

struct sums {
	uint64_t seeds, broken, events, befell, failed;
};

static void
take(struct sums *sums, struct job *job)
{
	const uint64_t seed = job->seed;
	const struct verdict out = end(job);

	sums->seeds++;
	sums->events += out.events;
	sums->befell += out.befell;
	sums->failed += !out.broken && out.status != 0;
	if (!out.broken)
		return;
	sums->broken++;
	printf("seed %llu: %s\n", (unsigned long long)seed, out.why);
	if (!quiet)
		explain(seed, &out);
	fflush(stdout);
}

/* Returns the job of the process that ended. */
static struct job *
wait_for_one(struct job *job, size_t jobs)
{
	siginfo_t info = { 0 };

	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	for (size_t i = 0; i < jobs; i++)
		if (job[i].pid == info.si_pid)
			return &job[i];
	return &job[0];
}

static struct sums
run_all(uint64_t first, uint64_t seeds, size_t jobs)
{
	struct job job[MAX_JOBS] = { 0 };
	struct sums sums = { 0 };
	uint64_t next = first, end = first + seeds;
	size_t running = 0;

	while (next < end || running > 0) {
		if (running < jobs && next < end) {
			job[running++] = begin(next++, 0, NULL);
			continue;
		}

		struct job *one = wait_for_one(job, running);

		take(&sums, one);
		*one = job[--running];
		if (stop_at_first && sums.broken > 0)
			end = next;
	}
	return sums;
}

int
main(int argc, char **argv)
{
	const char *trace_path = NULL;
	size_t jobs = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t first, seeds;
	struct sums sums;
	int c;

	while ((c = getopt(argc, argv, "cj:qst:")) != -1) {
		switch (c) {
		case 'c':	control = true; break;
		case 'j':	jobs = strtoul(optarg, NULL, 10); break;
		case 'q':	quiet = true; break;
		case 's':	stop_at_first = true; break;
		case 't':	trace_path = optarg; break;
		default:	return 64;
		}
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: simulate [-c] [-j JOBS] [-t FILE] [-q] "
			"[-s] FIRST SEEDS\n");
		return 64;
	}
	first = strtoull(argv[optind], NULL, 10);
	seeds = strtoull(argv[optind + 1], NULL, 10);
	jobs = jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : jobs;
	if (trace_path)
		run(first, 0, trace_path);
	sums = run_all(first, seeds, jobs);
	printf("%llu events, %llu faults; %llu runs ended with an error, as "
	       "they should\n", (unsigned long long)sums.events,
	       (unsigned long long)sums.befell,
	       (unsigned long long)sums.failed);
	printf("%llu seeds, %llu broken\n", (unsigned long long)sums.seeds,
	       (unsigned long long)sums.broken);
	return sums.broken > 0;
}
