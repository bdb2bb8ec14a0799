/*
 * shape - the sizes of a tensor along its axes, outermost first.
 */
#ifndef PS_SHAPE_H
#define PS_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_RANK	8
#define SHAPE_TEXT	176

struct shape {
	int rank;			/* 0: a single number */
	size_t dim[SHAPE_RANK];
};

size_t shape_size(struct shape);	/* elements; 1 for rank 0 */
size_t shape_rows(struct shape);	/* dim[0]; 1 for rank 0 */
size_t shape_width(struct shape);	/* elements of one row */
bool shape_equal(struct shape, struct shape);

/*
 * Return whether a shape, from a peer or a file, has a rank and dimensions in
 * range, none of them 0, and at most 2^48 elements, so that its bytes as floats
 * do not overflow.
 */
bool shape_sound(const struct shape *);
/* Return the same for a shape that may have no rows. */
bool shape_sound_rows(const struct shape *);

/* Write a shape as NumPy and TensorFlow do, "[7, 20]"; return text. */
const char *shape_text(struct shape, char text[SHAPE_TEXT]);

#endif
