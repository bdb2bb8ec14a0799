#include "prog/newer.h"

#include "base/log.h"
#include "base/mem.h"
#include "prog/checkpoint_watch.h"

#include <poll.h>
#include <stdlib.h>

struct newer {
	const char *dir;
	struct checkpoint_watch *folder;
	uint64_t step;		/* of the checkpoint in use */
	uint64_t tried;		/* the newest step when a checkpoint was last
				   opened */
	struct checkpoint_stamps stamps;	/* of the newest */
	uint64_t next_ms;	/* time of the next look */
};

struct newer *
newer_open(const char *dir, uint64_t step)
{
	struct newer *n = mem_alloc(1, sizeof(*n));
	struct fail f;

	n->dir = dir;
	n->folder = checkpoint_watch_open(dir);
	n->step = step;
	if (checkpoint_watch_look(n->folder, &f) < 0 ||
	    !checkpoint_watch_newest(n->folder, &n->tried, &n->stamps.tried) ||
	    n->tried != step)
		n->tried = n->stamps.tried = 0;
	return n;
}

void
newer_close(struct newer *n)
{
	if (!n)
		return;
	checkpoint_watch_close(n->folder);
	free(n);
}

static void
warn(const char *text)
{
	log_warn("%s", text);
}

static bool
is_due(const struct newer *n, uint64_t now)
{
	struct pollfd fd =
		{ .fd = checkpoint_watch_fd(n->folder), .events = POLLIN };

	return now >= n->next_ms || poll(&fd, 1, 0) > 0;
}

/*
 * Is there another newest checkpoint, or has it changed, for example as it was
 * being copied, and then stayed the same from one look to the next?
 */
static bool
has_news(struct newer *n, bool *other)
{
	uint64_t step, stamp;
	struct fail f;
	bool settled;

	/* A folder that has gone is not an error: it may come again. */
	if (checkpoint_watch_look(n->folder, &f) < 0 ||
	    !checkpoint_watch_newest(n->folder, &step, &stamp))
		return false;
	settled = checkpoint_stamps_settle(&n->stamps, stamp);
	*other = step != n->tried;
	if (!*other && !settled)
		return false;
	n->tried = step;
	n->stamps.tried = stamp;
	return true;
}

struct checkpoint *
newer_look(struct newer *n, uint64_t now)
{
	struct checkpoint *c;
	struct fail f;
	bool other;

	if (!is_due(n, now))
		return NULL;
	n->next_ms = now + CHECKPOINT_WATCH_MS;
	if (!has_news(n, &other))
		return NULL;
	c = checkpoint_newest(n->dir, other ? warn : NULL, &f);
	if (c && checkpoint_info(c)->step == n->step) {
		checkpoint_close(c);
		c = NULL;
	}
	if (c)
		n->step = checkpoint_info(c)->step;
	return c;
}
