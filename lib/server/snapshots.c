#include "server/snapshots.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SNAPSHOTS	64
#define MAX_JOBS	64

struct snapshot {
	uint64_t number;	/* WIRE_NONE: drop it when it is saved */
	struct shard_snapshot *snapshot;	/* NULL: this entry is free */
};

struct snapshots {
	struct snapshot held[MAX_SNAPSHOTS];
	struct server_job job[MAX_JOBS];	/* a queue */
	size_t jobs;
};

struct snapshots *
snapshots_new(void)
{
	return mem_alloc(1, sizeof(struct snapshots));
}

static void
free_snapshot(struct snapshot *one)
{
	shard_snapshot_free(one->snapshot);
	one->snapshot = NULL;
}

void
snapshots_forget(struct snapshots *s)
{
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
		free_snapshot(&s->held[i]);
	s->jobs = 0;
}

void
snapshots_free(struct snapshots *s)
{
	if (!s)
		return;
	snapshots_forget(s);
	free(s);
}

/* ---- snapshots ---- */

static bool
is_being_saved(const struct snapshots *s, const struct snapshot *one)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].snapshot == one->snapshot)
			return true;
	return false;
}

void
snapshots_let_go(struct snapshots *s)
{
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++) {
		struct snapshot *one = &s->held[i];

		if (one->snapshot && is_being_saved(s, one))
			one->number = WIRE_NONE;
		else
			free_snapshot(one);
	}
}

static size_t
find(const struct snapshots *s, uint64_t number)
{
	size_t i = 0;

	while (i < MAX_SNAPSHOTS && !(s->held[i].snapshot &&
				      s->held[i].number == number))
		i++;
	return i;
}

const struct shard_snapshot *
snapshots_find(const struct snapshots *s, uint64_t number)
{
	const size_t i = find(s, number);

	return i < MAX_SNAPSHOTS ? s->held[i].snapshot : NULL;
}

int
snapshots_freeze(struct snapshots *s, struct shard *shard, uint64_t number,
		 uint64_t step, uint64_t high, struct fail *f)
{
	if (snapshots_find(s, number))
		return 0;
	if (high > step)	/* a coordinator that was started again may ask
				   late */
		return fail(f, FAIL_AGAIN, "steps up to %llu are applied",
			    (unsigned long long)high - 1);
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
		if (!s->held[i].snapshot) {
			s->held[i] = (struct snapshot){
				number, shard_snapshot_below(shard, step) };
			return 0;
		}
	return fail(f, FAIL_AGAIN, "too many cuts are held");
}

int
snapshots_thaw(struct snapshots *s, uint64_t number, struct fail *f)
{
	const size_t i = find(s, number);

	if (i == MAX_SNAPSHOTS)
		return 0;
	if (is_being_saved(s, &s->held[i]))
		return fail(f, FAIL_AGAIN, "the cut is being saved");
	free_snapshot(&s->held[i]);
	return 0;
}

/* ---- jobs ---- */

/* A checkpoint's name must not lead out of the program's own directory. */
static bool
plain_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') &&
		!strchr(name, '?');
}

static bool
is_reset(const struct server_job *job)
{
	return job->kind == JOB_LOAD && *job->name == '\0';
}

/* Is a reset queued, which frees the shard and so all snapshots? */
static bool
has_reset(const struct snapshots *s)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (is_reset(&s->job[i]))
			return true;
	return false;
}

int
snapshots_add_job(struct snapshots *s, uint64_t peer, const struct message *m,
		  struct fail *f)
{
	struct server_job job = {
		.kind = m->kind == MESSAGE_SAVE ? JOB_SAVE : JOB_LOAD,
		.part = m->cut.part, .parts = m->cut.parts,
		.peer = peer, .request = *m
	};
	const size_t i = find(s, m->cut.cut);

	message_text(m, job.name, sizeof(job.name));
	if (!plain_name(job.name) &&
	    (job.kind == JOB_SAVE || m->blob.size > 0))
		return fail(f, FAIL_PROTOCOL, "not a name of a checkpoint");
	if (job.kind == JOB_SAVE && i == MAX_SNAPSHOTS)
		return fail(f, FAIL_PROTOCOL, "no such cut");
	if (job.kind == JOB_SAVE && has_reset(s))
		return fail(f, FAIL_AGAIN, "the cut goes first");
	if (s->jobs == MAX_JOBS)
		return fail(f, FAIL_AGAIN, "too many files at once");
	if (job.kind == JOB_SAVE) {
		job.snapshot = s->held[i].snapshot;
		job.array =
			shard_snapshot_arrays(s->held[i].snapshot, &job.arrays);
	}
	s->job[s->jobs++] = job;
	return 0;
}

bool
snapshots_next_job(const struct snapshots *s, struct server_job *job)
{
	if (s->jobs == 0)
		return false;
	*job = s->job[0];
	return true;
}

bool
snapshots_have_jobs(const struct snapshots *s)
{
	return s->jobs > 0;
}

bool
snapshots_loading(const struct snapshots *s)
{
	for (size_t i = 0; i < s->jobs; i++)
		if (s->job[i].kind == JOB_LOAD)
			return true;
	return false;
}

static void
drop_job(struct snapshots *s)
{
	s->jobs--;
	memmove(s->job, s->job + 1, s->jobs * sizeof(*s->job));
}

void
snapshots_end_job(struct snapshots *s, const struct server_job *job)
{
	if (s->jobs == 0 || s->job[0].request.request != job->request.request)
		return;
	drop_job(s);
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
		if (s->held[i].snapshot && s->held[i].number == WIRE_NONE &&
		    !is_being_saved(s, &s->held[i]))
			free_snapshot(&s->held[i]);
}

bool
snapshots_take_reset(struct snapshots *s, struct server_job *job)
{
	if (!snapshots_next_job(s, job) || !is_reset(job))
		return false;
	drop_job(s);
	return true;
}

/* ---- what always holds ---- */

const char *
snapshots_check(const struct snapshots *s)
{
	for (size_t k = 0; k < s->jobs; k++) {
		bool held = s->job[k].kind != JOB_SAVE;

		for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
			held = held || (s->held[i].snapshot &&
					s->held[i].snapshot ==
					s->job[k].snapshot);
		if (!held)
			return "server 14: a cut that is being saved is held";
	}
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
		for (size_t k = 0; k < i; k++)
			if (s->held[i].snapshot && s->held[k].snapshot &&
			    s->held[i].number == s->held[k].number &&
			    s->held[i].number != WIRE_NONE)
				return "server 15: no two cuts have the same "
					"number";
	return NULL;
}
