/* A program that follows a folder misses no checkpoint, or can tell that it
   has. */
#include "prog/checkpoint_watch.h"

#include "files.h"
#include "tap.h"

#include <poll.h>

static struct fail f;

static bool
hears(const struct checkpoint_watch *w)
{
	struct pollfd fd = { .fd = checkpoint_watch_fd(w), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static bool
offers(struct checkpoint_watch *w, const char *path)
{
	const char *next = checkpoint_watch_next(w);

	return path ? next && strcmp(next, path) == 0 : !next;
}

static bool
gives(struct checkpoint_watch *w, const char *path)
{
	const bool good = offers(w, path);

	if (path)
		checkpoint_watch_done(w, false);
	return good;
}

/* A folder that is made later is noticed at once, and so are its
   checkpoints. */
static bool
is_seen(const char *dir, const char *made, const char *first)
{
	struct checkpoint_watch *w = checkpoint_watch_open(dir);
	bool seen = checkpoint_watch_look(w, &f) < 0 &&
		f.kind == FAIL_NOINPUT &&
		!hears(w) && mkdir(made, 0777) == 0 && hears(w) &&
		checkpoint_watch_look(w, &f) == 0 && gives(w, NULL) &&
		!hears(w);
	char new[128], old[128];

	snprintf(new, sizeof(new), "%s/.tmp-new", made);
	snprintf(old, sizeof(old), "%s/ckpt-00000002", made);
	seen = seen && mkdir(new, 0777) == 0 && rename(new, old) == 0 &&
		hears(w) && checkpoint_watch_look(w, &f) == 0 &&
		gives(w, first) &&
		gives(w, NULL);
	checkpoint_watch_close(w);
	remove(old);
	remove(made);
	return seen;
}

static void
test_folder(void)
{
	char *here = getcwd(NULL, 0), dir[512], first[512];

	ok(is_seen("later", "later", "later/ckpt-00000002"));
	ok(is_seen("./later", "later", "./later/ckpt-00000002"));
	snprintf(dir, sizeof(dir), "%.400s/later", here);
	snprintf(first, sizeof(first), "%.400s/later/ckpt-00000002", here);
	ok(is_seen(dir, "later", first));
	equals(mkdir("above", 0777), 0);
	ok(is_seen("above/later", "above/later",
		   "above/later/ckpt-00000002"));
	equals(remove("above"), 0);
	free(here);
}

static bool
misses(const struct checkpoint_watch *w, uint64_t step, uint64_t previous,
       const char *wanted)
{
	const struct checkpoint_info info = {
		.step = step, .has_previous = true, .previous = previous
	};
	char name[CHECKPOINT_NAME] = "none";

	checkpoint_watch_missed(w, &info, name);
	return strcmp(name, wanted) == 0;
}

static void
test_missed(void)
{
	const struct checkpoint_info first = { .step = 4 };
	struct checkpoint_watch *w = checkpoint_watch_open("dir");
	char name[CHECKPOINT_NAME];

	mkdir("dir", 0777);
	mkdir("dir/ckpt-00000004", 0777);
	mkdir("dir/ckpt-00000006", 0777);
	ok(checkpoint_watch_look(w, &f) == 0 && offers(w, "dir/ckpt-00000004"));
	ok(!checkpoint_watch_missed(w, &first, name));
	ok(misses(w, 4, 2, "ckpt-00000002"));
	checkpoint_watch_done(w, false);
	ok(offers(w, "dir/ckpt-00000006") && misses(w, 6, 4, "none"));
	ok(misses(w, 6, 5, "ckpt-00000005"));
	checkpoint_watch_done(w, false);
	rename("dir/ckpt-00000006", "dir/ckpt-00000010");
	ok(checkpoint_watch_look(w, &f) == 0 && offers(w, "dir/ckpt-00000010"));
	ok(misses(w, 10, 6, "none") && misses(w, 10, 8, "ckpt-00000008"));
	checkpoint_watch_close(w);

	w = checkpoint_watch_open("dir");
	checkpoint_watch_after(w, 4, false);
	ok(checkpoint_watch_look(w, &f) == 0 && offers(w, "dir/ckpt-00000010"));
	ok(misses(w, 10, 4, "none") && misses(w, 10, 8, "ckpt-00000008"));
	checkpoint_watch_close(w);
	remove("dir/ckpt-00000004");
	remove("dir/ckpt-00000010");
	remove("dir");
}

static bool
looks(struct checkpoint_watch *w)
{
	return checkpoint_watch_look(w, &f) == 0;
}

static void
test_refused(void)
{
	struct checkpoint_watch *w = checkpoint_watch_open("dir");

	mkdir("dir", 0777);
	mkdir("dir/ckpt-00000004", 0777);
	ok(looks(w) && offers(w, "dir/ckpt-00000004") &&
	   checkpoint_watch_refuse(w) && offers(w, NULL));
	named(looks(w) && offers(w, NULL) && looks(w) && offers(w, NULL),
	      "a refused checkpoint is not offered again while it stays the "
	      "same");
	files_text("dir/ckpt-00000004/a", "a");
	ok(looks(w) && offers(w, NULL));
	files_text("dir/ckpt-00000004/a", "ab");
	named(looks(w) && offers(w, NULL) && looks(w) &&
	      offers(w, "dir/ckpt-00000004") && !checkpoint_watch_refuse(w) &&
	      !checkpoint_watch_is_over(w),
	      "a refused checkpoint is offered again once it has changed and "
	      "is at rest");

	mkdir("dir/ckpt-00000006", 0777);
	mkdir("dir/ckpt-00000008", 0777);
	ok(looks(w) && offers(w, "dir/ckpt-00000006") &&
	   checkpoint_watch_refuse(w) && offers(w, "dir/ckpt-00000008") &&
	   checkpoint_watch_refuse(w));
	files_text("dir/ckpt-00000006/a", "a");
	ok(looks(w) && offers(w, NULL) && looks(w) &&
	   gives(w, "dir/ckpt-00000006"));
	files_text("dir/ckpt-00000004/a", "abc");
	named(looks(w) && offers(w, NULL) && looks(w) && offers(w, NULL),
	      "a refused checkpoint is not offered again after a later one "
	      "was used");
	ok(!checkpoint_watch_is_over(w));
	remove("dir/ckpt-00000008");
	checkpoint_watch_after(w, 6, true);
	named(looks(w) && offers(w, NULL) && checkpoint_watch_is_over(w),
	      "a refused checkpoint that was removed does not delay the end");
	checkpoint_watch_close(w);
	remove("dir/ckpt-00000004/a");
	remove("dir/ckpt-00000006/a");
	remove("dir/ckpt-00000004");
	remove("dir/ckpt-00000006");
	remove("dir");
}

int
main(void)
{
	files_begin();
	test_folder();
	test_missed();
	test_refused();
	files_end();
	return tap_done();
}
