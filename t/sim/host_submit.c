#include "host.h"
#include "trace.h"

#include "base/mem.h"
#include "client/submission.h"
#include "prog/result_file.h"
#include "sys/stream.h"

#include <stdio.h>
#include <unistd.h>

struct host_submit {
	struct submission *submission;
	struct stream in;
	int out;
	size_t allowed;
	char requests[128], results[128], name[16];
	struct fail why;
};

struct host_submit *
host_submit_new(const struct site *site, struct outbox *outbox, size_t index,
		uint64_t life, uint64_t now, int *status)
{
	struct host_submit *h = mem_alloc(1, sizeof(*h));
	struct submission_options o = {
		.coordinator = "node:0", .name = h->name, .life = life,
		.wishes = site->scenario->submitter[index].wishes,
		.timeout_ms = site->scenario->o.timeout_ms, .whole = true,
		.reused = true
	};

	h->out = h->in.fd = -1;
	snprintf(h->name, sizeof(h->name), "s%zu", index % 100);
	snprintf(h->requests, sizeof(h->requests), "%s/requests-%zu",
		 site->folder, index);
	snprintf(h->results, sizeof(h->results), "%s/results-%zu",
		 site->folder, index);
	if (stream_open(&h->in, h->requests, &h->why) == 0 &&
	    (h->out = result_file_open(h->results, &o.received,
				       &h->why)) >= 0 &&
	    (h->submission = submission_new(&o, outbox, now, &h->why)))
		return h;
	trace("cannot begin: %s", h->why.text);
	*status = (int)h->why.kind;
	host_submit_free(h);
	return NULL;
}

void
host_submit_free(struct host_submit *h)
{
	submission_free(h->submission);
	stream_close(&h->in);
	if (h->out >= 0)
		close(h->out);
	free(h);
}

int
host_submit_receive(struct host_submit *h, const struct packet *p, uint64_t now)
{
	if (p->kind == PACKET_UP)
		submission_up(h->submission, now);
	else if (p->kind == PACKET_DOWN)
		submission_down(h->submission, now);
	else if (p->kind == PACKET_MESSAGE &&
		 submission_receive(h->submission, &p->message, now,
				    &h->why) < 0)
		return (int)h->why.kind;
	return HOST_RUNS;
}

static int
take_lines(struct host_submit *h)
{
	size_t size;
	char *line;

	if (!h->in.end && submission_has_room(h->submission) &&
	    stream_read(&h->in, &h->why) < 0)
		return -1;
	while (h->in.number < h->allowed &&
	       submission_has_room(h->submission) &&
	       (line = stream_next(&h->in, &size)))
		if (submission_add_line(h->submission, line, size, &h->why) < 0)
			return -1;
	if (h->in.end && h->in.at == h->in.text.size)
		submission_end_lines(h->submission);
	return 0;
}

static int
write_results(struct host_submit *h)
{
	struct text *out = submission_output(h->submission);

	if (out->size > 0 &&
	    stream_write(h->out, h->results, out, &h->why) < 0)
		return -1;
	if (!submission_needs_sync(h->submission))
		return 0;
	if (fdatasync(h->out) < 0)
		return fail_sys(&h->why, FAIL_IO, "cannot write %s",
				h->results);
	submission_synced(h->submission);
	return 0;
}

int
host_submit_act(struct host_submit *h, uint64_t now)
{
	int status;

	if (take_lines(h) < 0 || write_results(h) < 0 ||
	    submission_tick(h->submission, now, &h->why) < 0)
		return (int)h->why.kind;
	if (!submission_over(h->submission, &status))
		return HOST_RUNS;
	if (submission_tick(h->submission, now, &h->why) < 0)
		return (int)h->why.kind;
	submission_leave(h->submission);
	return status;
}

bool
host_submit_is_over(const struct host_submit *h, uint64_t *accepted)
{
	int status;

	*accepted = submission_accepted(h->submission);
	return submission_over(h->submission, &status) &&
		submission_pending(h->submission) == 0;
}

bool
host_submit_is_confirmed(const struct host_submit *h)
{
	return submission_is_confirmed(h->submission);
}

void
host_submit_allow(struct host_submit *h, size_t requests)
{
	h->allowed = requests;
}

const struct fail *
host_submit_why(const struct host_submit *h)
{
	return &h->why;
}
