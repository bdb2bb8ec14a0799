/*
 * main - run a fuzz target once on each file, or each file of a folder.
 */
#include "store/disk.h"

#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>

#define MAX_BYTES	((size_t)1 << 20)

static int runs;

static void
run(const char *path)
{
	struct text text = { 0 };
	struct fail f;

	if (disk_read_text(AT_FDCWD, path, MAX_BYTES, &text, &f) < 0) {
		fprintf(stderr, "%s\n", f.text);
		exit(1);
	}
	/* Memory of the exact size, so that a sanitizer sees a read beyond
	   it. */
	uint8_t *bytes = malloc(text.size ? text.size : 1);

	for (size_t i = 0; i < text.size; i++)
		bytes[i] = (uint8_t)text.data[i];
	fuzz_one(bytes, text.size);
	free(bytes);
	text_release(&text);
	runs++;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *e;

		if (!dir)
			run(argv[i]);
		while (dir && (e = readdir(dir))) {
			char *path = disk_path("%s/%s", argv[i], e->d_name);

			if (*e->d_name != '.')
				run(path);
			free(path);
		}
		if (dir)
			closedir(dir);
	}
	printf("%d\n", runs);
	return 0;
}
