#include "prog/follow.h"

#include "base/mem.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "sys/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct follow {
	char *dir;
	int fd;				/* of inotify; -1: there is none */
	int watch;			/* on the last one; -1: none */
	int above;			/* on the folder of dir; -1: none */
	struct checkpoint_list list;	/* as of the last look */
	size_t next;			/* of the list */
	bool begun;			/* all up to step were given out: */
	uint64_t step;
	bool had_before;		/* so it was before the last one, */
	uint64_t before;		/* up to here */
	char *last;			/* its path; NULL: not known */
	bool final;			/* it is known to be the final one */
	uint64_t news_ms;		/* when it was given out */
};

struct follow *
follow_open(const char *dir)
{
	struct follow *w = mem_alloc(1, sizeof(*w));

	w->dir = mem_text(dir);
	w->watch = w->above = -1;
	w->news_ms = clock_ms();
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return w;
}

void
follow_close(struct follow *w)
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
follow_after(struct follow *w, uint64_t step, bool final)
{
	w->begun = true;
	w->step = step;
	w->final = final;
}

void
follow_final(struct follow *w)
{
	w->final = true;
}

int
follow_fd(const struct follow *w)
{
	return w->fd;
}

/* What is not there cannot be watched, but where it will be made can. */
static void
watch_above(struct follow *w)
{
	char *above = disk_path("./%s", w->dir), *end = strrchr(above, '/');
	const char *path = *w->dir == '/' ? above + 2 : above;

	end[*w->dir == '/' && end == path] = '\0';
	w->above = inotify_add_watch(w->fd, path, IN_CREATE | IN_MOVED_TO |
				     IN_ONLYDIR);
	free(above);
}

static int
watch_folder(const struct follow *w)
{
	return inotify_add_watch(w->fd, w->dir, IN_MOVED_TO | IN_ONLYDIR);
}

/* Before the look: what comes after it is an event again. */
static void
watch(struct follow *w)
{
	char events[4096];

	if (w->fd < 0)
		return;
	/* Asked again each time, for folders may come and go. */
	if (watch_folder(w) < 0) {
		watch_above(w);
		watch_folder(w);	/* it may have come just now */
	} else if (w->above >= 0) {
		inotify_rm_watch(w->fd, w->above);
		w->above = -1;
	}
	/* One that was published may be made the final one. */
	if (w->last)
		w->watch = inotify_add_watch(w->fd, w->last, IN_MOVED_TO |
					     IN_ONLYDIR);
	while (read(w->fd, events, sizeof(events)) > 0)
		;
}

/* The one given out last may have been so in an earlier life. */
static void
pass_over(struct follow *w)
{
	for (; w->begun && w->next < w->list.count &&
	     w->list.step[w->next] <= w->step; w->next++)
		if (!w->last && w->list.step[w->next] == w->step)
			w->last = disk_path("%s/%s", w->dir,
					    w->list.name[w->next]);
}

int
follow_look(struct follow *w, struct fail *f)
{
	checkpoint_list_free(&w->list);
	w->next = 0;
	watch(w);
	if (checkpoint_list(&w->list, w->dir, f) < 0)
		return -1;
	pass_over(w);
	return 0;
}

bool
follow_missed(const struct follow *w, const struct checkpoint_info *info,
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
follow_newest(const struct follow *w, uint64_t *step)
{
	if (w->list.count == 0)
		return false;
	*step = w->list.step[w->list.count - 1];
	return true;
}

const char *
follow_next(struct follow *w)
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
	follow_after(w, w->list.step[w->next++], false);
	return w->last;
}

int
follow_check(const struct follow *w, uint64_t idle_ms, struct fail *f)
{
	if (idle_ms == 0 || clock_ms() - w->news_ms < idle_ms)
		return 0;
	return fail(f, FAIL_PEER, "%s: no checkpoint has come for %g s, and "
		    "the final one was not among them: it ends (--idle)",
		    w->dir, (double)idle_ms / 1000);
}

int
follow_wait(const struct follow *w, uint64_t idle_ms)
{
	const uint64_t idle = clock_ms() - w->news_ms;
	const uint64_t left = idle < idle_ms ? idle_ms - idle : 0;

	return (int)(idle_ms == 0 || left > FOLLOW_MS ? FOLLOW_MS : left);
}

/* By its manifest alone, for its parts may be damaged. */
bool
follow_is_over(const struct follow *w)
{
	struct manifest m = { 0 };
	struct text text = { 0 };
	struct fail f;
	char *path;
	bool over;

	if (w->next < w->list.count)
		return false;
	if (w->final || !w->last)
		return w->final;
	path = disk_path("%s/" MANIFEST_FILE, w->last);
	over = disk_read_text(AT_FDCWD, path, MANIFEST_MAX, &text,
			      &f) == 0 &&
		manifest_read(&m, text.data, text.size, &f) == 0 &&
		m.info.final;
	manifest_release(&m);
	text_release(&text);
	free(path);
	return over;
}
