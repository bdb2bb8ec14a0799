#include "store/arrays.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE	((size_t)1 << 20)	/* bytes, but at least a row */

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

size_t
arrays_item_bytes(const struct arrays_item *item)
{
	return item->numbers ? sizeof(uint64_t) : sizeof(float);
}

int
arrays_write(const char *path, const struct arrays_source *source,
	     struct fail *f)
{
	const struct arrays_format *format = arrays_format(path, f);
	struct disk_file file = { .fd = -1 };
	int r = format ? disk_create(&file, path, f) : -1;

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

int
arrays_each(const struct arrays_source *source, size_t i,
	    int (*add)(void *, const void *, size_t, struct fail *),
	    void *to, struct fail *f)
{
	const struct shape s = source->item[i].shape;
	const size_t width = shape_width(s) *
		arrays_item_bytes(&source->item[i]);
	const size_t step = width < PIECE ? PIECE / width : 1;
	void *values = mem_alloc(step, width);
	int r = 0;

	for (size_t at = 0; r == 0 && at < shape_rows(s); at += step) {
		const size_t left = shape_rows(s) - at;
		const struct rows rows = { at, left < step ? left : step };

		r = source->rows(source->data, i, rows, values, f);
		if (r == 0)
			r = add(to, values, rows.count * width, f);
	}
	free(values);
	return r;
}

void *
arrays_put(const struct npy *npy, const void *numbers, size_t n,
	   bool integers, void *to)
{
	if (integers)
		npy_integers(npy, numbers, to, n);
	else
		npy_floats(npy, numbers, to, n);
	return (char *)to + n * (integers ? sizeof(uint64_t) : sizeof(float));
}
