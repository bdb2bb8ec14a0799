/* A file is complete, whichever program writes it and whenever one is killed:
   it is the file of one of the writers. */
#include "store/disk.h"

#include "files.h"
#include "tap.h"

static struct fail f;

static bool
begin(struct disk_file *file, const char *text)
{
	return disk_create(file, "file", &f) == 0 &&
	       disk_write(file, text, strlen(text), &f) == 0;
}

static bool
holds(const char *wanted)
{
	size_t size;
	char *bytes = files_get("file", &size);
	const bool same = strcmp(bytes, wanted) == 0;

	free(bytes);
	return same;
}

/* The first writer ends when the second has written half of its file. */
static void
test_ended(void)
{
	struct disk_file first, second;

	ok(begin(&first, "first") && begin(&second, "sec"));
	ok(disk_commit(&first, &f) < 0 && f.kind == FAIL_CREATE &&
	   strcmp(f.text, "cannot create file: .tmp-file was removed or "
		  "replaced by another program") == 0);
	ok(access("file", F_OK) < 0);
	ok(disk_write(&second, "ond", 3, &f) == 0 &&
	   disk_commit(&second, &f) == 0 && holds("second"));
	ok(access(".tmp-file", F_OK) < 0);
}

/* The first writer gives up, or ends after the second. */
static void
test_late(void)
{
	struct disk_file first, second;

	ok(begin(&first, "1") && begin(&second, "2"));
	disk_abandon(&first);
	ok(disk_commit(&second, &f) == 0 && holds("2"));
	ok(begin(&first, "3") && begin(&second, "4") &&
	   disk_commit(&second, &f) == 0);
	ok(disk_commit(&first, &f) < 0 && f.kind == FAIL_CREATE &&
	   holds("4"));
}

/* Programs that read the file while it is replaced get a complete one. */
static void
test_replaced(void)
{
	ok(disk_probe("file", &f) == 0 && holds("4"));
	ok(disk_replace("file", "new", 3, &f) == 0 && holds("new"));
	ok(access(".tmp-file~", F_OK) < 0);
	ok(disk_probe("none/file", &f) < 0 && f.kind == FAIL_CREATE &&
	   strcmp(f.text, "cannot create none/.tmp-file~: No such file or "
		  "directory") == 0);
	ok(disk_replace("none/file", "new", 3, &f) < 0 &&
	   f.kind == FAIL_CREATE);
	ok(symlink("file", "link") == 0 && disk_probe("link", &f) < 0 &&
	   f.kind == FAIL_CREATE &&
	   strcmp(f.text, "link exists, but is not a plain file") == 0);
}

int
main(void)
{
	files_begin();
	test_ended();
	test_late();
	test_replaced();
	files_end();
	return tap_done();
}
