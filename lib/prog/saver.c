#include "prog/saver.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/checkpoint.h"
#include "store/disk.h"
#include "store/rows.h"
#include "sys/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct saver {
	const char *dir;
	bool shared;		/* the folder is not for checkpoints alone */
	struct task *task;
	struct server_job job;	/* used by the task while it is busy */
	struct checkpoint_part part;
	struct fail why;
	int status;
};

struct saver *
saver_new(const char *dir, bool shared)
{
	struct saver *s = mem_alloc(1, sizeof(*s));

	s->dir = dir;
	s->shared = shared;
	s->task = task_new();
	return s;
}

void
saver_free(struct saver *s)
{
	if (!s)
		return;
	task_free(s->task);
	free(s);
}

int
saver_fd(const struct saver *s)
{
	return task_fd(s->task);
}

static int
fail_dir(struct fail *f)
{
	return fail(f, FAIL_CONFIG, "this server has no directory for "
		    "checkpoints: start it with -d, or ps-local with -C");
}

int
saver_can(void *self, enum saves saves, uint64_t server, struct fail *f)
{
	const struct saver *s = self;
	bool there;
	char *path;

	/*
	 * Only a warning, by one server: the folder may be for another run; or
	 * --checkpoint was forgotten.
	 */
	if (saves == SAVES_NONE && s->dir && !s->shared && server == 0)
		log_warn("this run saves nothing in %s: ps-coord has no "
			 "--checkpoint", s->dir);
	if (saves == SAVES_NONE)
		return 0;
	if (!s->dir)
		return fail_dir(f);
	if (saves != SAVES_BESIDE_JOURNAL)
		return 0;
	path = disk_path("%s/" JOURNAL_FILE, s->dir);
	there = access(path, F_OK) == 0;
	free(path);
	return there ? 0 :
		fail(f, FAIL_CONFIG, "this server's -d is %s, which is not the "
		     "directory of --checkpoint: it has no journal",
		     s->dir);
}

static void
write_part(void *self)
{
	struct saver *s = self;
	const struct server_job *job = &s->job;

	s->status = checkpoint_write_part(s->dir, job->name, job->part,
					  job->parts, job->array, job->arrays,
					  &s->part, &s->why);
	if (s->status == 0)
		s->status = failpoint("part-told", &s->why);
}

static void
end_write(struct saver *s, struct server *server)
{
	if (!task_ended(s->task))
		return;
	server_saved(server, &s->job, s->status < 0 ? NULL : &s->part,
		     &s->why);
	if (s->status < 0)
		log_warn("no checkpoint %s: %s", s->job.name, s->why.text);
}

static void
load(const struct saver *s, struct server *server,
     const struct server_job *job)
{
	struct checkpoint *from = NULL;
	struct fail why, over;
	char path[4096];

	if (s->dir) {
		snprintf(path, sizeof(path), "%s/%s", s->dir, job->name);
		from = checkpoint_open(path, false, &why);
	} else {
		fail_dir(&why);
	}
	/* A standby resumes by copying, so nobody else would report this. */
	if (server_load(server, job, from, &checkpoint_reader, &why) < 0 &&
	    job->peer == 0 && !server_over(server, &over))
		log_warn("%s: this standby copies everything again from its "
			 "server", why.text);
	checkpoint_close(from);
}

bool
saver_run(struct saver *s, struct server *server)
{
	struct server_job job;
	bool loaded = false;
	struct fail why;

	end_write(s, server);
	while (!task_busy(s->task) && server_job(server, &job)) {
		s->job = job;
		if (job.kind == JOB_LOAD) {
			load(s, server, &job);
			loaded = true;
		} else if (!s->dir) {
			fail_dir(&why);
			server_saved(server, &job, NULL, &why);
		} else {
			task_begin(s->task, write_part, s);
		}
	}
	return loaded;
}
