/*
 * arrays - reads and writes named arrays in one file: NumPy's .npz, or
 * .safetensors.
 *
 * Files are never in memory as a whole.  The writer asks its source for rows
 * when it needs them.  The reader asks its sink for room when it knows the name
 * and the shape of an array, so that the sink can refuse an array before memory
 * is taken for it.
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
	bool numbers;		/* of uint64_t; false: of floats */
};

/* Return the bytes of one number of an item: 8 or 4. */
size_t arrays_item_bytes(const struct arrays_item *);

struct arrays_source {
	const struct arrays_item *item;
	size_t count;
	/* Copy some rows of item i to out.  Return 0 or -1. */
	int (*rows)(void *data, size_t i, struct rows, void *out,
		    struct fail *);
	void *data;
};

struct arrays_sink {
	/*
	 * Return room for all numbers of an array: as floats, or, if *integers
	 * is set here, as 64-bit integers.  NULL refuses the array.
	 */
	void *(*place)(void *data, const char *name, const struct npy *,
		       bool *integers, struct fail *);
	void *data;
};

/* A format: one source file, and one line in the table of arrays.c. */
struct arrays_format {
	const char *suffix;
	int (*write)(struct disk_file *, const struct arrays_source *,
		     struct fail *);
	int (*read)(int fd, const char *path, uint64_t size,
		    const struct arrays_sink *, struct fail *);
};

extern const struct arrays_format arrays_npz, arrays_safetensors;

/* Return the format that the suffix of a path names; NULL: FAIL_USAGE. */
const struct arrays_format *arrays_format(const char *path, struct fail *);

/* Write all arrays of a source to a file, which appears whole or not at all; or
   give all arrays of a file to a sink.  Return 0 or -1. */
int arrays_write(const char *path, const struct arrays_source *,
		 struct fail *);
int arrays_read(const char *path, const struct arrays_sink *, struct fail *);

/* For formats: call add(to, ...) with all bytes of item i, about a megabyte at
   a time, but at least a row.  Return 0 or -1. */
int arrays_each(const struct arrays_source *, size_t i,
		int (*add)(void *to, const void *, size_t, struct fail *),
		void *to, struct fail *);

/* For formats: convert n numbers into the room of a sink.  Return the place for
   the next number. */
void *arrays_put(const struct npy *, const void *numbers, size_t n,
		 bool integers, void *to);

#endif
