#include "store/arrays.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct arrays_format *const formats[] = {
	&arrays_npz,
	&arrays_safetensors,
};

const struct arrays_format *
arrays_format(const char *path, struct fail *f)
{
	const size_t n = strlen(path);

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const size_t end = strlen(formats[i]->suffix);

		if (n > end && strcmp(path + n - end,
				      formats[i]->suffix) == 0)
			return formats[i];
	}
	fail(f, FAIL_USAGE, "%s: the name must end in .npz or .safetensors",
	     path);
	return NULL;
}

int
arrays_write(const char *path, const struct arrays_source *source,
	     struct fail *f)
{
	const struct arrays_format *format = arrays_format(path, f);
	struct disk_file file = { .fd = -1 };
	int r = format ? disk_check_plain(path, f) : -1;

	if (r == 0)
		r = disk_create(&file, path, f);
	if (r == 0)
		r = format->write(&file, source, f);
	if (r == 0)
		r = disk_commit(&file, f);
	disk_abandon(&file);
	return r;
}

int
arrays_read(const char *path, const struct arrays_sink *sink, struct fail *f)
{
	const struct arrays_format *format = arrays_format(path, f);
	uint64_t size = 0;
	int fd, r;

	if (!format)
		return -1;
	fd = disk_open(AT_FDCWD, path, &size, f);
	if (fd < 0)
		return -1;
	r = format->read(fd, path, size, sink, f);
	close(fd);
	return r;
}
