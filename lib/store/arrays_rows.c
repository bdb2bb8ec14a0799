/*
 * arrays_rows - the code that all formats of arrays share: an array's values,
 * some rows at a time.
 */
#include "store/arrays.h"

#include "base/mem.h"

#include <stdlib.h>

#define PIECE	((size_t)1 << 20)	/* bytes, but at least a row */

size_t
arrays_item_bytes(const struct arrays_item *item)
{
	return item->numbers ? sizeof(uint64_t) : sizeof(float);
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
