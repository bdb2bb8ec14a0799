#include "base/failpoint.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/checkpoint.h"
#include "store/disk.h"
#include "store/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX	"ckpt-"

/* How often to list a folder whose checkpoints are pruned meanwhile. */
#define LOOKS	8

bool
checkpoint_is_one(const char *path)
{
	char *manifest = disk_path("%s/" MANIFEST_FILE, path);
	struct stat st;
	const bool is = lstat(manifest, &st) == 0;

	free(manifest);
	return is;
}

/* Users easily give the path of a checkpoint in place of its folder's. */
static int
check_folder(const char *dir, struct fail *f)
{
	return !checkpoint_is_one(dir) ? 0 :
		fail(f, FAIL_USAGE, "%s is a checkpoint, not a folder of them",
		     dir);
}

/* The name of the file is unique, since all servers of a run probe at once. */
int
checkpoint_probe(const char *dir, struct fail *f)
{
	char *path = disk_path("%s/" DISK_TEMP "probe-XXXXXX", dir);
	int r = check_folder(dir, f), fd = -1;

	if (r == 0)
		r = disk_make_folder(dir, f);
	if (r == 0 && (fd = mkstemp(path)) < 0)
		r = fail_sys(f, FAIL_CREATE, "cannot create a file in %s",
			     dir);
	if (fd >= 0) {
		if (write(fd, "", 1) < 0)
			r = fail_sys(f, FAIL_IO, "cannot write %s", path);
		close(fd);
		unlink(path);
	}
	free(path);
	return r;
}

void
checkpoint_sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct fail f;

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, DISK_TEMP, strlen(DISK_TEMP)) != 0)
			continue;

		char *path = disk_path("%s/%s", dir, e->d_name);

		disk_remove_folder(path, &f);
		free(path);
	}
	closedir(d);
}

struct found {
	uint64_t step;
	char *name;
};

static int
compare(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return strcmp(a->name, b->name);
}

int
checkpoint_list(struct checkpoint_list *list, const char *dir,
		struct fail *f)
{
	DIR *d = opendir(dir);
	struct found *found = NULL;
	size_t n = 0, room = 0;
	struct dirent *e;
	uint64_t step;

	if (!d)
		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", dir);
	if (check_folder(dir, f) < 0) {
		closedir(d);
		return -1;
	}
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    !text_uint(e->d_name + strlen(PREFIX), &step))
			continue;
		found = mem_grow(found, n, &room, sizeof(*found));
		found[n++] = (struct found){ step, mem_text(e->d_name) };
	}
	closedir(d);
	if (n > 0)
		qsort(found, n, sizeof(*found), compare);

	*list = (struct checkpoint_list){
		.name = mem_alloc(n, sizeof(*list->name)),
		.step = mem_alloc(n, sizeof(*list->step)),
		.count = n,
	};
	for (size_t i = 0; i < n; i++) {
		list->name[i] = found[i].name;
		list->step[i] = found[i].step;
	}
	free(found);
	return 0;
}

void
checkpoint_list_free(struct checkpoint_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->name[i]);
	free(list->name);
	free(list->step);
	*list = (struct checkpoint_list){ 0 };
}

int
checkpoint_remove(const char *dir, const char *name, struct fail *f)
{
	char *path = disk_path("%s/%s", dir, name);
	char *old = disk_path("%s/" DISK_TEMP "old-%s", dir, name);
	int r = failpoint("prune-remove", f);

	/* Rename it first, so that nobody finds half of a checkpoint while its
	   files are removed.  An earlier removal may have been interrupted, so
	   the new name can be taken. */
	if (r == 0)
		r = disk_remove_folder(old, f);
	if (r < 0)
		;
	else if (rename(path, old) == 0)
		r = failpoint("prune-removed", f) < 0 ? -1 :
			disk_remove_folder(old, f);
	else if (errno != ENOENT)
		r = fail_sys(f, FAIL_IO, "cannot remove %s", path);
	free(old);
	free(path);
	return r;
}

int
checkpoint_is_whole(const char *dir, const char *name, bool verify,
		    struct fail *f)
{
	char *path = disk_path("%s/%s", dir, name);
	struct checkpoint *c = checkpoint_open(path, verify, f);
	const int whole = c ? 1 : f->kind == FAIL_AGAIN ? -1 : 0;

	checkpoint_close(c);
	free(path);
	return whole;
}

int
checkpoint_prune(const char *dir, uint64_t newest, size_t keep, bool verify,
		 struct fail *f)
{
	struct checkpoint_list list;
	struct fail why;
	size_t good = 0;
	int r = 0;

	if (keep == 0)
		return 0;
	if (checkpoint_list(&list, dir, f) < 0)
		return -1;
	for (size_t i = list.count; r == 0 && i-- > 0;) {
		if (list.step[i] > newest)
			continue;

		const int whole = good == keep ? 0 :
			checkpoint_is_whole(dir, list.name[i], verify,
					    &why);

		if (good == keep)
			r = checkpoint_remove(dir, list.name[i], f);
		else if (whole < 0)
			r = fail(f, why.kind, "%s", why.text);
		else
			good += (size_t)whole;
	}
	checkpoint_list_free(&list);
	return r;
}

/*
 * Open the newest whole checkpoint of a list.  NULL with *again: one was pruned
 * meanwhile, so there must be a newer one: list the folder again.
 */
static struct checkpoint *
open_newest(const struct checkpoint_list *list, const char *dir, bool *again,
	    void (*warn)(const char *))
{
	struct checkpoint *c = NULL;
	struct fail f;

	*again = false;
	for (size_t i = list->count; !c && !*again && i-- > 0;) {
		char *path = disk_path("%s/%s", dir, list->name[i]);

		c = checkpoint_open(path, true, &f);
		if (!c && !disk_is_there(path))
			*again = true;
		else if (!c && warn)
			warn(f.text);
		free(path);
	}
	return c;
}

struct checkpoint *
checkpoint_newest(const char *dir, void (*warn)(const char *text),
		  struct fail *f)
{
	struct checkpoint *c = NULL;
	size_t seen = 0;
	bool again = true;

	for (int i = 0; i < LOOKS && !c && again; i++) {
		struct checkpoint_list list;

		if (checkpoint_list(&list, dir, f) < 0)
			return NULL;
		seen = list.count;
		c = open_newest(&list, dir, &again, warn);
		checkpoint_list_free(&list);
	}
	if (!c)
		fail(f, seen > 0 ? FAIL_DATA : FAIL_NOINPUT,
		     "%s: no whole checkpoint here", dir);
	return c;
}

/* Open the newest checkpoint of a folder; *again as for open_newest(). */
static struct checkpoint *
open_last(const char *dir, bool verify, bool *again, struct fail *f)
{
	struct checkpoint_list list;
	struct checkpoint *c = NULL;
	char *path;

	*again = false;
	if (checkpoint_list(&list, dir, f) < 0)
		return NULL;
	if (list.count > 0) {
		path = disk_path("%s/%s", dir, list.name[list.count - 1]);
		c = checkpoint_open(path, verify, f);
		*again = !c && !disk_is_there(path);
		free(path);
	} else {
		fail(f, FAIL_NOINPUT, "%s: no checkpoint here", dir);
	}
	checkpoint_list_free(&list);
	return c;
}

struct checkpoint *
checkpoint_choose(const char *path, bool verify, struct fail *f)
{
	struct checkpoint *c = NULL;
	bool again = true;

	if (checkpoint_is_one(path))
		return checkpoint_open(path, verify, f);
	for (int i = 0; i < LOOKS && !c && again; i++)
		c = open_last(path, verify, &again, f);
	return c;
}
