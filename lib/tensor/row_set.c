#include "tensor/row_set.h"

#include <stdbool.h>
#include <string.h>

#define GROUP	8	/* rows of one float that are copied at a time */

static inline float *
row_at(const struct row_set *p, size_t k, size_t width)
{
	return p->row ? p->row[k] :
		p->first + (p->number[k] - p->base) * width;
}

float *
row_set_whole(const struct row_set *p)
{
	if (p->count == 1 || (!p->row && p->number[p->count - 1] -
			      p->number[0] == p->count - 1))
		return row_at(p, 0, p->width);
	return NULL;
}

static inline void
copy(float *row, float *block, size_t width, bool back)
{
	memcpy(back ? row : block, back ? block : row, width * sizeof(*row));
}

static inline void
move(const struct row_set p, size_t width, size_t behind, float *block,
     bool back)
{
	size_t k = 0;

	for (; width == 1 && k + GROUP <= p.count; k += GROUP)
		for (size_t j = k; j < k + GROUP; j++)
			copy(row_at(&p, j, 1) + behind, block + j, 1, back);
	for (; k < p.count; k++)
		copy(row_at(&p, k, width) + behind, block + k * width, width,
		     back);
}

/*
 * Give the compiler the common widths as constants: then it copies a row
 * without a call.
 */
static inline void
move_any(const struct row_set *p, size_t behind, float *block, bool back)
{
	switch (p->width) {
	case 1:
		move(*p, 1, behind, block, back);
		break;
	case 2:
		move(*p, 2, behind, block, back);
		break;
	case 3:
		move(*p, 3, behind, block, back);
		break;
	case 4:
		move(*p, 4, behind, block, back);
		break;
	case 5:
		move(*p, 5, behind, block, back);
		break;
	case 6:
		move(*p, 6, behind, block, back);
		break;
	case 7:
		move(*p, 7, behind, block, back);
		break;
	case 8:
		move(*p, 8, behind, block, back);
		break;
	case 16:
		move(*p, 16, behind, block, back);
		break;
	default:
		move(*p, p->width, behind, block, back);
	}
}

void
row_set_gather(const struct row_set *p, size_t behind, float *to)
{
	move_any(p, behind, to, false);
}

void
row_set_scatter(const struct row_set *p, size_t behind, const float *from)
{
	move_any(p, behind, (float *)(uintptr_t)from, true);
}
