#include "host.h"
#include "task.h"
#include "files.h"
#include "trace.h"

#include "base/mem.h"
#include "coord/coord_private.h"
#include "coord/submitters.h"
#include "prog/checkpoint_publisher.h"
#include "prog/journal_file.h"
#include "sys/stream.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MS	1000

struct host_coord {
	const struct site *site;
	struct coord_options o;
	struct coord *coord;
	struct journal_file *journal;
	struct stream in;
	struct checkpoint_publisher ckpt;
	int out;
	uint64_t written, told_ms;
	size_t allowed, taken;
	bool lost, stopped, cut;
	char results[128], requests[128], journal_path[128], folder[128];
	struct text state;
	struct fail why;
};

/* Makes the sampler of one of the coordinator's data sets.  Files and records
   are numbers, so nothing is read. */
static struct sampler *
make_sampler(const struct scenario *s, size_t dataset)
{
	const uint64_t streams = coord_streams(&s->o);
	const struct sampler_options o = {
		.seed = s->seed ^ dataset, .unit = s->o.pack,
		.batch = s->o.batch * s->o.batches / streams,
		.buffer = s->shuffle ? 10 : 20, .shuffle = s->shuffle,
		.replicas = s->o.replicas * streams
	};
	const uint64_t files = dataset == 0 ? s->files : s->second_files;
	struct splits splits = { .files = files, .count = files };
	char name[24];

	splits.file = mem_alloc(files, sizeof(*splits.file));
	splits.split = mem_alloc(files, sizeof(*splits.split));
	for (size_t i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		splits.file[i].name = mem_text(name);
		splits.split[i] = (struct split){ i, 0, UINT64_MAX };
	}
	return sampler_new(&o, &splits);
}

static struct samplers *
make_samplers(const struct scenario *s, const struct model *model)
{
	struct samplers *all;

	if (!s->sampler)
		return NULL;
	all = samplers_new(model, s->o.replicas * coord_streams(&s->o));
	for (size_t i = 0; i < 1 + (s->second_records > 0); i++)
		samplers_add(all, make_sampler(s, i), i, s->ends[i]);
	return all;
}

static int
open_all(struct host_coord *h, struct outbox *outbox, uint64_t now,
	 struct fail *f)
{
	const struct scenario *s = h->site->scenario;

	if (stream_open(&h->in, h->requests, f) < 0 ||
	    publisher_probe(&h->ckpt, f) < 0 ||
	    (s->journal &&
	     !(h->journal = journal_file_open(h->journal_path, s->most_bytes,
					      f))) ||
	    publisher_begin(&h->ckpt, s->o.checkpoint ? "latest" : "none",
			    h->site->model, &h->o, f) < 0)
		return -1;
	h->o.journal = journal_file_sink(h->journal, &h->in);
	h->coord = coord_new(&h->o, h->site->source, h->site->model, outbox,
			     now, f);
	if (!h->coord)
		return -1;
	h->out = journal_file_begin(h->journal, h->coord, &h->in, h->results,
				    &h->written, f);
	return h->out < 0 ? -1 : 0;
}

struct host_coord *
host_coord_new(const struct site *site, struct outbox *outbox, uint64_t life,
	       uint64_t now, int *status)
{
	const struct scenario *s = site->scenario;
	struct host_coord *h = mem_alloc(1, sizeof(*h));
	struct fail f;

	h->site = site;
	h->out = h->in.fd = -1;
	h->o = s->o;
	h->o.life = life;
	h->o.checkpoint = false;	/* publisher_begin() sets it */
	h->o.beside_journal = s->o.checkpoint;
	h->o.samplers = make_samplers(s, site->model);
	h->ckpt.keep = 5;
	h->ckpt.source = site->source;
	h->ckpt.dir = s->o.checkpoint ? h->folder : NULL;
	snprintf(h->folder, sizeof(h->folder), "%s/ck", site->folder);
	snprintf(h->results, sizeof(h->results), "%s/results", site->folder);
	snprintf(h->requests, sizeof(h->requests), "%s/requests",
		 site->folder);
	snprintf(h->journal_path, sizeof(h->journal_path), "%s/%s",
		 site->folder, s->o.checkpoint ? "ck/journal" : "journal");
	if (open_all(h, outbox, now, &f) == 0) {
		h->taken = h->in.number;
		return h;
	}
	trace("cannot begin: %s", f.text);
	*status = (int)f.kind;
	host_coord_free(h);
	return NULL;
}

void
host_coord_free(struct host_coord *h)
{
	files_full(true);
	sim_task_abandon(true);
	coord_free(h->coord);
	journal_file_close(h->journal);
	publisher_release(&h->ckpt);
	sim_task_abandon(false);
	files_full(false);
	stream_close(&h->in);
	if (h->out >= 0)
		close(h->out);
	samplers_free(h->o.samplers);
	free(h->o.restored.sampler);
	text_release(&h->state);
	free(h);
}

void
host_coord_receive(struct host_coord *h, const struct packet *p, uint64_t now)
{
	switch (p->kind) {
	case PACKET_UP:
		coord_up(h->coord, p->peer, now);
		break;
	case PACKET_DOWN:
		coord_down(h->coord, p->peer, now);
		break;
	case PACKET_LEFT:
		coord_somebody_left(h->coord, now);
		break;
	case PACKET_MESSAGE:
		coord_receive(h->coord, p->peer, &p->message, now);
		break;
	}
}

static int
take_requests(struct host_coord *h, uint64_t now, struct fail *f)
{
	size_t size;
	char *line;

	if (!h->in.end && coord_wants(h->coord) && stream_read(&h->in, f) < 0)
		return -1;
	while (h->in.number < h->allowed && coord_wants(h->coord) &&
	       (line = stream_next(&h->in, &size))) {
		coord_request(h->coord, line, size, h->in.number, now);
		h->taken = h->in.number;
	}
	if (h->in.end && h->in.at == h->in.text.size && coord_wants(h->coord))
		coord_end_of_requests(h->coord, now);
	return 0;
}

static void
say(struct host_coord *h, uint64_t now)
{
	struct text *out = coord_output(h->coord);
	const size_t size = out->size;
	struct fail f;

	if (!h->lost && stream_resume(h->out, h->results, h->written, &h->cut,
				      out, &f) < 0) {
		h->lost = true;
		coord_output_closed(h->coord, &f, true, now);
	}
	h->written += size - out->size;
	if (h->lost)
		text_reset(out);
	if (out->size == 0)
		coord_note(h->coord, h->written, false, now);
}

/* Writes a status and drops it: this must be possible at any time. */
static void
write_status(struct host_coord *h, uint64_t now)
{
	struct text status = { 0 };

	if (now - h->told_ms < STATUS_MS)
		return;
	h->told_ms = now;
	coord_progress(h->coord, &status, now);
	text_reset(&status);
	coord_status(h->coord, &status, now, 0);
	text_release(&status);
}

int
host_coord_act(struct host_coord *h, uint64_t now)
{
	struct fail f;
	int status;

	if (take_requests(h, now, &f) < 0)
		return (int)f.kind;
	coord_tick(h->coord, now);
	publisher_run(&h->ckpt, h->coord, now);
	say(h, now);
	write_status(h, now);
	if (!coord_over(h->coord, &status, &h->why) || publisher_busy(&h->ckpt))
		return HOST_RUNS;
	say(h, now);
	coord_finish(h->coord, h->written, now);
	if (h->lost)
		status = FAIL_IO;
	trace("ends with %d: %s", status, h->why.text);
	/* Closing the journal of a run that ended well removes the file. */
	journal_file_close(h->journal);
	h->journal = NULL;
	return status;
}

bool
host_coord_left(const struct host_coord *h)
{
	return access(h->journal_path, F_OK) == 0;
}

void
host_coord_stop(struct host_coord *h, uint64_t now)
{
	if (!h->stopped)
		coord_stop(h->coord, now);
	h->stopped = true;
}

void
host_coord_allow(struct host_coord *h, size_t requests)
{
	h->allowed = requests;
}

uint64_t
host_coord_written(const struct host_coord *h)
{
	return h->written;
}

size_t
host_coord_taken(const struct host_coord *h)
{
	return h->taken;
}

uint64_t
host_coord_newest(const struct host_coord *h)
{
	return coord_newest(h->coord);
}

const char *
host_coord_check(const struct host_coord *h, uint64_t now)
{
	return coord_check(h->coord, now);
}

bool
host_coord_expects(const struct host_coord *h, size_t index)
{
	const struct submitters *s = h->coord->submitters;
	char name[16];

	snprintf(name, sizeof(name), "s%zu", index % 100);
	for (size_t i = 1; i < submitters_count(s); i++)
		if (submitters_used(s, i) && !submitters_leaving(s, i) &&
		    strcmp(submitters_name(s, i), name) == 0)
			return !submitters_closed(s, i);
	return false;
}

bool
host_coord_publishes(const struct host_coord *h)
{
	return publisher_busy(&h->ckpt);
}

struct text *
host_coord_warnings(struct host_coord *h)
{
	return coord_warnings(h->coord);
}

bool
host_coord_ends(const struct host_coord *h)
{
	return coord_ends(h->coord);
}

const struct fail *
host_coord_why(const struct host_coord *h)
{
	return &h->why;
}

const char *
host_coord_state(struct host_coord *h, uint64_t now)
{
	text_reset(&h->state);
	coord_progress(h->coord, &h->state, now);
	return h->state.data;
}
