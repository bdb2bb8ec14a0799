#include "prog/checkpoint_watch.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "sys/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* A checkpoint that could not be used. */
struct refused {
	uint64_t step;
	struct checkpoint_stamps stamps;
};

struct checkpoint_watch {
	char *dir;
	int fd;				/* of inotify; -1: not available */
	int watch;			/* on the last checkpoint; -1: none */
	int parent_watch;	/* on the parent of dir; -1: none */
	struct checkpoint_list list;	/* as at the last look */
	size_t next;			/* next to give out */
	char *given;			/* path of the one given out last; NULL:
					   none */
	uint64_t given_step, given_stamp;
	struct refused *refused;	/* above step, or any if not begun */
	size_t refusals, room;
	bool begun;			/* all up to step are done with */
	uint64_t step;
	char *last;			/* path of that step's; NULL: not
					   known */
	bool final;			/* it is known to be the final one */
	uint64_t news_ms;		/* when it was done with */
};

struct checkpoint_watch *
checkpoint_watch_open(const char *dir)
{
	struct checkpoint_watch *w = mem_alloc(1, sizeof(*w));

	w->dir = mem_text(dir);
	w->watch = w->parent_watch = -1;
	w->news_ms = clock_ms();
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return w;
}

void
checkpoint_watch_close(struct checkpoint_watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	checkpoint_list_free(&w->list);
	free(w->refused);
	free(w->given);
	free(w->last);
	free(w->dir);
	free(w);
}

void
checkpoint_watch_after(struct checkpoint_watch *w, uint64_t step, bool final)
{
	w->begun = true;
	w->step = step;
	w->final = final;
}

int
checkpoint_watch_fd(const struct checkpoint_watch *w)
{
	return w->fd;
}

/* Watch the parent of a folder that does not exist. */
static void
watch_parent(struct checkpoint_watch *w)
{
	char *above = disk_path("./%s", w->dir), *end = strrchr(above, '/');
	const char *path = *w->dir == '/' ? above + 2 : above;

	end[*w->dir == '/' && end == path] = '\0';
	w->parent_watch = inotify_add_watch(w->fd, path,
					    IN_CREATE | IN_MOVED_TO |
					    IN_ONLYDIR);
	free(above);
}

static int
watch_folder(const struct checkpoint_watch *w)
{
	return inotify_add_watch(w->fd, w->dir, IN_MOVED_TO | IN_ONLYDIR);
}

/*
 * Set the watches, and then drop the events so far: the caller reads the folder
 * after this, so a later change is a new event.
 */
static void
set_watches(struct checkpoint_watch *w)
{
	char events[4096];

	if (w->fd < 0)
		return;
	/* Set anew each time, because folders may come and go. */
	if (watch_folder(w) < 0) {
		watch_parent(w);
		watch_folder(w);	/* in case the folder was made just
					   now */
	} else if (w->parent_watch >= 0) {
		inotify_rm_watch(w->fd, w->parent_watch);
		w->parent_watch = -1;
	}
	/* The last checkpoint may be made the final one later. */
	if (w->last)
		w->watch = inotify_add_watch(w->fd, w->last, IN_MOVED_TO |
					     IN_ONLYDIR);
	while (read(w->fd, events, sizeof(events)) > 0)
		;
}

/*
 * Skip what was done with, also by an earlier start of the program; find the
 * path of the last one.
 */
static void
skip_returned(struct checkpoint_watch *w)
{
	for (; w->begun && w->next < w->list.count &&
	     w->list.step[w->next] <= w->step; w->next++)
		if (!w->last && w->list.step[w->next] == w->step)
			w->last = disk_path("%s/%s", w->dir,
					    w->list.name[w->next]);
}

/* Return a number that changes whenever one of the folder's files does. */
static uint64_t
stamp_of(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;
	uint64_t sum = 0;

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, 0) != 0)
			continue;

		const uint64_t facts[] = {
			hash64(e->d_name, strlen(e->d_name)),
			(uint64_t)st.st_ino, (uint64_t)st.st_size,
			(uint64_t)st.st_ctim.tv_sec,
			(uint64_t)st.st_ctim.tv_nsec
		};

		sum += hash64(facts, sizeof(facts));
	}
	if (d)
		closedir(d);
	return sum;
}

static bool
is_listed(const struct checkpoint_watch *w, uint64_t step)
{
	for (size_t i = 0; i < w->list.count; i++)
		if (w->list.step[i] == step)
			return true;
	return false;
}

/* Keep the refusals of those that are there and may be given out again. */
static void
keep_refused(struct checkpoint_watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->refusals; i++)
		if (is_listed(w, w->refused[i].step) &&
		    !(w->begun && w->refused[i].step <= w->step))
			w->refused[kept++] = w->refused[i];
	w->refusals = kept;
}

static struct refused *
find_refused(const struct checkpoint_watch *w, uint64_t step)
{
	for (size_t i = 0; i < w->refusals; i++)
		if (w->refused[i].step == step)
			return &w->refused[i];
	return NULL;
}

int
checkpoint_watch_look(struct checkpoint_watch *w, struct fail *f)
{
	checkpoint_list_free(&w->list);
	w->next = 0;
	set_watches(w);
	if (checkpoint_list(&w->list, w->dir, f) < 0)
		return -1;
	skip_returned(w);
	keep_refused(w);
	return 0;
}

bool
checkpoint_watch_missed(const struct checkpoint_watch *w,
			const struct checkpoint_info *info,
			char name[CHECKPOINT_NAME])
{
	if (!info->has_previous || info->step != w->given_step ||
	    (w->begun && info->previous <= w->step) ||
	    is_listed(w, info->previous))
		return false;
	checkpoint_name(info->previous, name);
	return true;
}

bool
checkpoint_watch_newest(const struct checkpoint_watch *w, uint64_t *step,
			uint64_t *stamp)
{
	char *path;

	if (w->list.count == 0)
		return false;
	path = disk_path("%s/%s", w->dir, w->list.name[w->list.count - 1]);
	*step = w->list.step[w->list.count - 1];
	*stamp = stamp_of(path);
	free(path);
	return true;
}

bool
checkpoint_stamps_settle(struct checkpoint_stamps *s, uint64_t stamp)
{
	const bool worth = stamp == s->seen && stamp != s->tried;

	s->seen = stamp;
	return worth;
}

const char *
checkpoint_watch_next(struct checkpoint_watch *w)
{
	while (w->next < w->list.count) {
		const size_t i = w->next++;
		struct refused *r;

		free(w->given);
		w->given = disk_path("%s/%s", w->dir, w->list.name[i]);
		w->given_step = w->list.step[i];
		w->given_stamp = stamp_of(w->given);
		r = find_refused(w, w->given_step);
		if (!r || checkpoint_stamps_settle(&r->stamps, w->given_stamp))
			return w->given;
	}
	return NULL;
}

void
checkpoint_watch_done(struct checkpoint_watch *w, bool final)
{
	if (w->watch >= 0)
		inotify_rm_watch(w->fd, w->watch);
	w->watch = -1;
	free(w->last);
	w->last = mem_text(w->given);
	w->news_ms = clock_ms();
	checkpoint_watch_after(w, w->given_step, final);
	keep_refused(w);
}

bool
checkpoint_watch_refuse(struct checkpoint_watch *w)
{
	struct refused *r = find_refused(w, w->given_step);
	const bool first = !r;

	if (first) {
		w->refused = mem_grow(w->refused, w->refusals, &w->room,
				      sizeof(*w->refused));
		r = &w->refused[w->refusals++];
	}
	*r = (struct refused){
		w->given_step, { w->given_stamp, w->given_stamp }
	};
	return first;
}

int
checkpoint_watch_check(const struct checkpoint_watch *w, uint64_t idle_ms,
		       struct fail *f)
{
	if (idle_ms == 0 || clock_ms() - w->news_ms < idle_ms)
		return 0;
	return fail(f, FAIL_PEER, "%s: no new checkpoint for %g s, and none of "
		    "them was final: ps-eval ends (--idle)",
		    w->dir, (double)idle_ms / 1000);
}

int
checkpoint_watch_wait(const struct checkpoint_watch *w, uint64_t idle_ms)
{
	const uint64_t idle = clock_ms() - w->news_ms;
	const uint64_t left = idle < idle_ms ? idle_ms - idle : 0;

	return (int)(idle_ms == 0 || left > CHECKPOINT_WATCH_MS ?
		     CHECKPOINT_WATCH_MS : left);
}

/*
 * See the header.  Only the manifest is read, because the parts may be damaged.
 */
bool
checkpoint_watch_is_over(const struct checkpoint_watch *w)
{
	struct manifest m = { 0 };
	struct fail f;
	bool over;

	if (w->next < w->list.count || w->refusals > 0)
		return false;
	if (w->final || !w->last)
		return w->final;
	over = manifest_load(&m, AT_FDCWD, w->last, &f) == 0 && m.info.final;
	manifest_release(&m);
	return over;
}
