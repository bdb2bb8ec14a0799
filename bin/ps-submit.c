/*
 * ps-submit - a filter: requests in, to a coordinator that serves other
 * submitters, too; its own results out.
 */
#include "base/log.h"
#include "coord/request.h"
#include "coord/submitters.h"
#include "prog/result_file.h"
#include "prog/submit_options.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "sys/stream.h"

#include <string.h>
#include <unistd.h>

#define TICK_MS		50
#define LEASE_MS	10000

/* Everything that ps-submit has open. */
struct program {
	struct submit_settings s;
	struct net *net;
	struct submission *submission;
	struct stream in;
	bool stopped;		/* "stop" was read; later lines do not count */
	int out;
};

static int
receive(struct program *p, struct fail *f)
{
	struct net_event e;

	for (net_next(p->net, &e); e.kind != NET_NOTHING;
	     net_next(p->net, &e)) {
		const uint64_t now = clock_ms();

		if (e.kind == NET_UP)
			submission_up(p->submission, now);
		else if (e.kind == NET_DOWN)
			submission_down(p->submission, now);
		else if (e.kind == NET_MESSAGE &&
			 submission_receive(p->submission, &e.message, now,
					    f) < 0)
			return -1;
	}
	return 0;
}

static bool
is_stop(const char *line, size_t size)
{
	struct request r;
	struct fail ignored;
	bool stop;

	if (!strstr(line, "stop"))
		return false;
	stop = request_read(&r, line, size, &ignored) == 0 &&
		r.op == REQUEST_STOP;
	request_release(&r);
	return stop;
}

static int
take_lines(struct program *p, struct fail *f)
{
	size_t size;
	char *line;

	while (!p->stopped && submission_has_room(p->submission) &&
	       (line = stream_next(&p->in, &size))) {
		if (submission_add_line(p->submission, line, size, f) < 0)
			return fail_at(f, "%s", p->in.name);
		p->stopped = is_stop(line, size);
	}
	if (p->stopped || (p->in.end && p->in.at == p->in.text.size))
		submission_end_lines(p->submission);
	return 0;
}

static int
write_results(struct program *p, struct fail *f)
{
	struct text *out = submission_output(p->submission);

	if (out->size > 0 && stream_write(p->out, p->s.output, out, f) < 0)
		return -1;
	if (!submission_needs_sync(p->submission))
		return 0;
	if (p->s.output && fdatasync(p->out) < 0)
		return fail_sys(f, FAIL_IO, "cannot write %s", p->s.output);
	submission_synced(p->submission);
	return 0;
}

/* Report a resumed submission.  Lines of a pipe do not come a second time. */
static void
print_resumed(struct program *p)
{
	const uint64_t requests = submission_resumed(p->submission);

	if (requests > 0 && p->s.o.whole)
		log_info("%s resumes after request %llu",
			 p->s.o.name, (unsigned long long)requests);
	else if (requests > 0)
		log_warn("%llu requests of %s were accepted before; lines "
			 "after these that were read from the pipe are lost",
			 (unsigned long long)requests, p->s.o.name);
}

static int
run(struct program *p, int *status, struct fail *f)
{
	struct text *out = submission_output(p->submission);

	while (!submission_over(p->submission, status) && !cli_stop) {
		const bool wants = !p->in.end &&
			submission_has_room(p->submission);
		struct pollfd fds[] = {
			{ cli_stop_fd, POLLIN, 0 },
			{ wants ? p->in.fd : -1, POLLIN, 0 },
			{ out->size > 0 ? p->out : -1, POLLOUT, 0 }
		};

		if (net_wait(p->net, fds, 3, TICK_MS, f) < 0 ||
		    (fds[1].revents && stream_read(&p->in, f) < 0) ||
		    receive(p, f) < 0 || take_lines(p, f) < 0 ||
		    write_results(p, f) < 0 ||
		    submission_tick(p->submission, clock_ms(), f) < 0)
			return -1;
		print_resumed(p);
	}
	return submission_tick(p->submission, clock_ms(), f);
}

static int
open_all(struct program *p, struct outbox *outbox, struct fail *f)
{
	struct submit_settings *s = &p->s;

	if (stream_open(&p->in, s->requests, f) < 0)
		return -1;
	s->o.whole = stream_is_file(p->in.fd);
	p->out = result_file_open(s->output, &s->o.received, f);
	if (p->out < 0)
		return -1;
	p->net = net_new(LEASE_MS);
	if (net_guard(p->net, s->common.key, f) < 0)
		return -1;
	*outbox = net_outbox(p->net);
	p->submission = submission_new(&s->o, outbox, clock_ms(), f);
	return p->submission ? 0 : -1;
}

/* Return how many requests were read but not taken; a pipe's are lost. */
static uint64_t
lost(const struct program *p)
{
	return submission_unaccepted(p->submission) +
		(p->s.o.whole || p->stopped ? 0 : stream_lines_left(&p->in));
}

static void
print_lost(const struct program *p)
{
	if (lost(p) > 0)
		log_warn("requests that were read, but not accepted by the "
			 "coordinator: %llu",
			 (unsigned long long)lost(p));
}

/* Return how many requests of a file were not read when the run ended. */
static uint64_t
unread(struct program *p)
{
	struct fail f;
	uint64_t lines = 0;
	size_t size;

	if (!p->s.o.whole || p->stopped)
		return 0;
	do
		while (stream_next(&p->in, &size))
			lines++;
	while (!p->in.end && stream_read(&p->in, &f) == 0);
	return lines;
}

/* Fail if requests were not taken, or have no result, when the run ends, or if
   it failed for another reason than these requests. */
static int
check_left(struct program *p, int status, struct fail *f)
{
	const uint64_t left = submission_pending(p->submission);
	const uint64_t more = lost(p) + unread(p);

	if (status != 0 && status != FAIL_AGAIN)
		return submission_check(p->submission, f);
	if (more == 0 && left == 0)
		return status == 0 ? 0 :
			fail(f, FAIL_AGAIN, "the run has ended: pending "
			     "requests were cancelled");
	return fail(f, FAIL_AGAIN, "%s: %llu requests were %snot accepted, and "
		    "%llu have no result yet", cli_stop ? "told to end" :
		    "the run has ended", (unsigned long long)more,
		    p->s.o.whole ? "" : "read but ", (unsigned long long)left);
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct outbox outbox;
	struct fail f;
	int status;

	cli_begin(&submit_program);
	submit_settings_read(&p.s, argc, argv);
	if (open_all(&p, &outbox, &f) < 0)
		cli_die(&f);
	if (run(&p, &status, &f) < 0) {
		net_explain_failure(p.net, p.s.o.coordinator, &f);
		print_lost(&p);
		cli_die(&f);
	}
	/* A submission that is to be resumed stays with the coordinator. */
	if (!cli_stop || !(p.s.o.wishes & SUBMITTER_DETACH))
		submission_leave(p.submission);
	f.kind = 0;
	if (check_left(&p, status, &f) < 0)
		status = (int)f.kind;
	if (status != FAIL_AGAIN && !p.s.o.whole)
		print_lost(&p);
	if (!submission_is_confirmed(p.submission))
		log_warn("coordinator %s does not confirm that %s has ended: "
			 "take another name for the next requests",
			 p.s.o.coordinator, p.s.o.name);
	submission_free(p.submission);
	net_leave(p.net);
	stream_close(&p.in);
	if (f.kind)
		cli_die(&f);
	return cli_end(status);
}
