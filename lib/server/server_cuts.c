/*
 * The server's cuts: what the coordinator has it hold as it was below a step,
 * and the jobs that save one, or load what was saved.
 */
#include "server/server_inside.h"

#include <stdlib.h>
#include <string.h>

static bool
saving(const struct server *s, const struct named_cut *cut)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].cut == cut->cut)
			return true;
	return false;
}

/* What the coordinator of an earlier term had us hold. */
void
server_let_cuts_go(struct server *s)
{
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && saving(s, &s->cut[i])) {
			s->cut[i].id = WIRE_NONE;	/* until it is saved */
		} else {
			cut_free(s->cut[i].cut);
			s->cut[i].cut = NULL;
		}
}

struct named_cut *
server_find_cut(struct server *s, uint64_t id)
{
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && s->cut[i].id == id)
			return &s->cut[i];
	return NULL;
}

/* There is to be a cut of the steps below this one. */
int
server_freeze(struct server *s, uint64_t id, uint64_t step, struct fail *f)
{
	if (server_find_cut(s, id))
		return 0;
	if (s->above > step)	/* for a coordinator that has forgotten */
		return fail(f, FAIL_AGAIN, "steps up to %llu are applied",
			    (unsigned long long)s->above - 1);
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (!s->cut[i].cut) {
			s->cut[i].id = id;
			s->cut[i].cut = cut_below(s->shard, step);
			return 0;
		}
	return fail(f, FAIL_AGAIN, "too many cuts are held");
}

int
server_thaw(struct server *s, uint64_t id, struct fail *f)
{
	struct named_cut *cut = server_find_cut(s, id);

	if (cut && saving(s, cut))
		return fail(f, FAIL_AGAIN, "the cut is being saved");
	if (cut) {
		cut_free(cut->cut);
		cut->cut = NULL;
	}
	return 0;
}

/* ---- jobs ---- */

/* Names travel, never paths. */
static bool
plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') &&
		!strchr(name, '?');
}

static void
drop_job(struct server *s)
{
	s->jobs--;
	memmove(s->job, s->job + 1, s->jobs * sizeof(*s->job));
}

/*
 * A LOAD without a name, back to the initial values, is no work on files, but
 * has its turn: what is being saved is of the shard that goes.
 */
static void
start_over(struct server *s)
{
	while (s->jobs > 0 && s->job[0].kind == JOB_LOAD &&
	       *s->job[0].name == '\0') {
		const struct server_job job = s->job[0];
		const struct message m = message_answer(&job.request,
							MESSAGE_OK);

		drop_job(s);
		server_let_cuts_go(s);
		if (s->standby.cut)
			server_drop_standby(s);
		stage_free(s->stage);
		s->stage = NULL;
		shard_rows_free(s->rows);
		s->rows = NULL;
		shard_free(s->shard);
		s->shard = shard_new(&s->plan, s->model, s->index,
				     s->stopped);
		if (!s->shard)
			return;
		s->rows = shard_rows_new(s->shard);
		s->stage = stage_new(&s->plan, s->model, s->index, s->shard,
				     job.request.cut.step);
		server_go_back(s, job.request.cut.step);
		s->initial = true;
		server_say(s, job.peer, &m);
	}
}

int
server_add_job(struct server *s, uint64_t peer, const struct message *m,
	       struct fail *f)
{
	struct server_job job = {
		.kind = m->kind == MESSAGE_SAVE ? JOB_SAVE : JOB_LOAD,
		.part = m->cut.part, .parts = m->cut.parts,
		.peer = peer, .request = *m
	};
	struct named_cut *cut = server_find_cut(s, m->cut.cut);

	message_text(m, job.name, sizeof(job.name));
	if (!plain_name(job.name) &&
	    (job.kind == JOB_SAVE || m->blob.size > 0))
		return fail(f, FAIL_PROTOCOL, "not a name of a checkpoint");
	if (job.kind == JOB_SAVE && !cut)
		return fail(f, FAIL_PROTOCOL, "no such cut");
	if (s->jobs == MAX_JOBS)
		return fail(f, FAIL_AGAIN, "too many files at once");
	if (job.kind == JOB_SAVE) {
		job.cut = cut->cut;
		job.array = cut_arrays(cut->cut, &job.arrays);
	}
	s->job[s->jobs++] = job;
	start_over(s);
	return 0;
}

bool
server_loading(const struct server *s)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].kind == JOB_LOAD)
			return true;
	return false;
}

bool
server_job(struct server *s, struct server_job *job)
{
	if (s->jobs == 0)
		return false;
	*job = s->job[0];
	return true;
}

static void
end_job(struct server *s, const struct server_job *job)
{
	if (s->jobs == 0 || s->job[0].request.request != job->request.request)
		return;		/* of a run that was forgotten */
	drop_job(s);
	for (size_t i = 0; i < MAX_CUTS; i++)
		if (s->cut[i].cut && s->cut[i].id == WIRE_NONE &&
		    !saving(s, &s->cut[i])) {
			cut_free(s->cut[i].cut);
			s->cut[i].cut = NULL;
		}
}

void
server_saved(struct server *s, const struct server_job *job,
	     const struct checkpoint_part *part, const struct fail *why)
{
	struct message m = message_answer(&job->request, MESSAGE_SAVED);

	end_job(s, job);
	if (!part) {
		server_refuse(s, job->peer, &job->request, why);
	} else {
		m.saved.size = part->size;
		m.blob = (struct frame){ part->hash, strlen(part->hash),
					 NULL };
		server_say(s, job->peer, &m);
	}
	start_over(s);
	server_settle(s);
}

/*
 * Is it the one that is meant?  Two runs give their checkpoints the same names,
 * and a backup of one may be where that of another was.
 */
static int
check_meant(const struct message *load, const struct checkpoint *from,
	    struct fail *f)
{
	const struct checkpoint_info *info = checkpoint_info(from);
	uint64_t run = 0;
	char digits[3] = "";

	for (size_t i = 0; i < sizeof(run); i++) {
		memcpy(digits, info->run + 2 * i, 2);
		((unsigned char *)&run)[i] =
			(unsigned char)strtoul(digits, NULL, 16);
	}
	if (load->cut.part != 0 && load->cut.part != run)
		return fail(f, FAIL_DATA, "%s is of another run: put back "
			    "that of this one, or remove it to begin with an "
			    "older one", checkpoint_path(from));
	return 0;
}

int
server_load(struct server *s, const struct server_job *job,
	    struct checkpoint *from, const struct checkpoint_reader *reader,
	    struct fail *why)
{
	const struct message m = message_answer(&job->request, MESSAGE_OK);
	int r = from ? 0 : -1;

	end_job(s, job);
	if (!s->shard)		/* the run was forgotten meanwhile */
		return r;
	if (r == 0)
		r = check_meant(&job->request, from, why);
	if (r == 0)
		r = shard_restore(s->shard, from, reader, why);
	if (r < 0 && server_stopped(s)) {
		s->busy = false;	/* it is not whole any more */
		return r;
	}
	if (r < 0) {
		server_refuse(s, job->peer, &job->request, why);
		if (primary_followed(&s->primary))
			s->over = *why;		/* it has what we have not */
	} else {
		server_go_back(s, job->request.cut.step);
		s->initial = false;
		server_say(s, job->peer, &m);
	}
	start_over(s);
	server_begin_standby(s);
	server_settle(s);
	return r;
}
