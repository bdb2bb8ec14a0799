#include "prog/status_file.h"

#include "base/log.h"
#include "store/disk.h"
#include "sys/clock.h"
#include "sys/progress.h"

#include <math.h>
#include <time.h>

/*
 * Once a second: as often as a person looks, and more often than any collector.
 * With many workers the text is long, and then the interval grows, so that it
 * takes at most a fiftieth of our time.
 */
#define EVERY_MS	1000
#define SHARE		50
#define DRIFT_S		1.0	/* more than this: the wall clock was set */

int
status_file_begin(struct status_file *s, const char *path, struct fail *f)
{
	*s = (struct status_file){ .path = path };
	if (!path)
		return 0;
	if (disk_probe(path, f) < 0)
		return fail_at(f, "--status");
	s->task = task_new();
	return 0;
}

/*
 * Return the Unix time at 0 of our clock.  It is kept while the clocks drift
 * less than DRIFT_S, so that times in the past do not change from one write to
 * the next.
 */
static double
wall_clock_zero(double before)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);

	const double zero = (double)wall.tv_sec +
		(double)(wall.tv_nsec / 1000000) / 1000 -
		(double)clock_ms() / 1000;

	return fabs(zero - before) < DRIFT_S ? before : zero;
}

static void
collect_status(struct status_file *s, const struct coord *coord, uint64_t now)
{
	s->zero = wall_clock_zero(s->zero);
	text_reset(&s->text);
	coord_status(coord, &s->text, now, s->zero);
}

static void
replace_file(void *self)
{
	struct status_file *s = self;

	s->status = disk_replace(s->path, s->text.data, s->text.size,
				 &s->why);
}

static void
report_failure(struct status_file *s)
{
	if (s->status < 0 && !s->failing) {
		progress_wipe();
		log_warn("--status: %s", s->why.text);
	}
	s->failing = s->status < 0;
}

void
status_file_keep(struct status_file *s, const struct coord *coord,
		 uint64_t now)
{
	uint64_t took;

	if (task_ended(s->task))
		report_failure(s);
	if (!s->path || now < s->next_ms || task_busy(s->task))
		return;
	collect_status(s, coord, now);
	took = clock_ms() - now;
	s->next_ms = now + (took * SHARE > EVERY_MS ? took * SHARE : EVERY_MS);
	task_begin(s->task, replace_file, s);
}

void
status_file_end(struct status_file *s, const struct coord *coord,
		uint64_t now)
{
	if (!s->path)
		return;
	task_free(s->task);
	s->task = NULL;
	collect_status(s, coord, now);
	replace_file(s);
	report_failure(s);
	text_release(&s->text);
}
