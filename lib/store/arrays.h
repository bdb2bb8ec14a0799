/*
 * arrays - named arrays in one file: NumPy's .npz, or .safetensors.
 *
 * Both ways the file streams: the writer asks for rows when it needs them,
 * and the reader asks where each array shall go once its name and shape are
 * known, so nobody's word makes us take memory.
 */
#ifndef PS_ARRAYS_H
#define PS_ARRAYS_H

#include "base/fail.h"
#include "store/disk.h"
#include "store/npy.h"
#include "tensor/partition.h"
#include "tensor/shape.h"

#include <stdbool.h>
#include <stddef.h>

struct arrays_item {
	char *name;
	struct shape shape;
	bool numbers;		/* 64-bit ones, not floats */
};

/* Bytes of one of its numbers. */
size_t arrays_item_bytes(const struct arrays_item *);

struct arrays_source {
	const struct arrays_item *item;
	size_t count;
	/* Rows of item i. */
	int (*rows)(void *data, size_t i, struct rows, void *out,
		    struct fail *);
	void *data;
};

struct arrays_sink {
	/*
	 * Room for as many floats as there are numbers, or, which is then to
	 * be said, for as many 64-bit integers; or NULL to refuse.
	 */
	void *(*place)(void *data, const char *name, const struct npy *,
		       bool *integers, struct fail *);
	void *data;
};

/* A format: one file, and one line in arrays.c. */
struct arrays_format {
	const char *suffix;
	int (*write)(struct disk_file *, const struct arrays_source *,
		     struct fail *);
	int (*read)(int fd, const char *path, uint64_t size,
		    const struct arrays_sink *, struct fail *);
};

extern const struct arrays_format arrays_npz, arrays_safetensors;

/* By the suffix of a path, or NULL with FAIL_USAGE. */
const struct arrays_format *arrays_format(const char *path, struct fail *);

/* The file appears whole or not at all. */
int arrays_write(const char *path, const struct arrays_source *,
		 struct fail *);
int arrays_read(const char *path, const struct arrays_sink *, struct fail *);

/*
 * For formats: give all of item i to add() in pieces of about
 * a megabyte.
 */
int arrays_each(const struct arrays_source *, size_t i,
		int (*add)(void *to, const void *, size_t, struct fail *),
		void *to, struct fail *);

/* For formats: n numbers into a sink's room; returns where it goes on. */
void *arrays_put(const struct npy *, const void *numbers, size_t n,
		 bool integers, void *to);

#endif
