#include "sys/saver.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct saver {
	const char *dir;
	struct server_job job;	/* the thread's, while busy */
	struct checkpoint_part part;
	struct fail why;
	bool busy;
	int status, event;
	pthread_t thread;
};

struct saver *
saver_new(const char *dir)
{
	struct saver *s = mem_alloc(1, sizeof(*s));

	s->dir = dir;
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event < 0)
		abort();	/* no descriptors: no program */
	return s;
}

void
saver_free(struct saver *s)
{
	if (!s)
		return;
	if (s->busy)
		pthread_join(s->thread, NULL);
	close(s->event);
	free(s);
}

int
saver_fd(const struct saver *s)
{
	return s->event;
}

static void *
write_part(void *arg)
{
	struct saver *s = arg;
	const struct server_job *job = &s->job;
	const uint64_t one = 1;

	s->status = checkpoint_write_part(s->dir, job->name, job->part,
					  job->parts, job->array, job->arrays,
					  &s->part, &s->why);
	if (s->status == 0)
		s->status = failpoint("part-told", &s->why);
	if (write(s->event, &one, sizeof(one)) < 0)
		abort();	/* a counter of ones cannot overflow */
	return NULL;
}

static void
end_write(struct saver *s, struct server *server)
{
	uint64_t events;

	if (!s->busy || read(s->event, &events, sizeof(events)) < 0)
		return;
	pthread_join(s->thread, NULL);
	s->busy = false;
	server_saved(server, &s->job, s->status < 0 ? NULL : &s->part,
		     &s->why);
	if (s->status < 0)
		log_warn("no checkpoint %s: %s", s->job.name, s->why.text);
}

static void
load(const struct saver *s, struct server *server,
     const struct server_job *job)
{
	struct checkpoint *from;
	struct fail why;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", s->dir, job->name);
	from = checkpoint_open(path, false, &why);
	server_load(server, job, from, &why);
	checkpoint_close(from);
}

bool
saver_run(struct saver *s, struct server *server)
{
	struct server_job job;
	bool loaded = false;
	struct fail why;

	end_write(s, server);
	while (!s->busy && server_job(server, &job)) {
		s->job = job;
		if (!s->dir) {
			fail(&why, FAIL_CONFIG, "this server has no "
			     "directory for checkpoints: start it with -d");
			server_saved(server, &job, NULL, &why);
		} else if (job.kind == JOB_LOAD) {
			load(s, server, &job);
			loaded = true;
		} else {
			s->busy = true;
			if (pthread_create(&s->thread, NULL, write_part, s))
				abort();	/* no threads: no program */
		}
	}	return loaded;
}
