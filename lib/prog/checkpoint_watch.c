#include "prog/checkpoint_watch.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "sys/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct checkpoint_watch {
	char *dir;
	int fd;				/* of inotify; -1: not available */
	int watch;			/* on the checkpoint given out last; -1:
					   none */
	int parent_watch;	/* on the parent of dir; -1: none */
	struct checkpoint_list list;	/* as at the last look */
	size_t next;			/* next to give out */
	bool begun;			/* all up to step were given out */
	uint64_t step;
	bool had_before;		/* begun, and */
	uint64_t before;		/* step, before the last one was given
					   out */
	char *last;			/* path of the last one; NULL: not
					   known */
	bool final;			/* the last one is known to be the final
					   one */
	uint64_t news_ms;		/* when the last one was given out */
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

void
checkpoint_watch_final(struct checkpoint_watch *w)
{
	w->final = true;
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
 * Skip what was given out, also by an earlier start of the program; find the
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

int
checkpoint_watch_look(struct checkpoint_watch *w, struct fail *f)
{
	checkpoint_list_free(&w->list);
	w->next = 0;
	set_watches(w);
	if (checkpoint_list(&w->list, w->dir, f) < 0)
		return -1;
	skip_returned(w);
	return 0;
}

bool
checkpoint_watch_missed(const struct checkpoint_watch *w,
			const struct checkpoint_info *info,
			char name[CHECKPOINT_NAME])
{
	if (!info->has_previous || info->step != w->step ||
	    (w->had_before && info->previous <= w->before))
		return false;
	for (size_t i = 0; i < w->list.count; i++)
		if (w->list.step[i] == info->previous)
			return false;
	checkpoint_name(info->previous, name);
	return true;
}

bool
checkpoint_watch_newest(const struct checkpoint_watch *w, uint64_t *step)
{
	if (w->list.count == 0)
		return false;
	*step = w->list.step[w->list.count - 1];
	return true;
}

const char *
checkpoint_watch_next(struct checkpoint_watch *w)
{
	if (w->next == w->list.count)
		return NULL;
	if (w->watch >= 0)
		inotify_rm_watch(w->fd, w->watch);
	w->watch = -1;
	free(w->last);
	w->last = disk_path("%s/%s", w->dir, w->list.name[w->next]);
	w->had_before = w->begun;
	w->before = w->step;
	w->news_ms = clock_ms();
	checkpoint_watch_after(w, w->list.step[w->next++], false);
	return w->last;
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

	if (w->next < w->list.count)
		return false;
	if (w->final || !w->last)
		return w->final;
	over = manifest_load(&m, AT_FDCWD, w->last, &f) == 0 && m.info.final;
	manifest_release(&m);
	return over;
}
