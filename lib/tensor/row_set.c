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
copy_rows(const struct row_set p, size_t width, size_t behind, float *block,
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
copy_rows_any_width(const struct row_set *p, size_t behind, float *block,
		    bool back)
{
	switch (p->width) {
	case 1:
		copy_rows(*p, 1, behind, block, back);
		break;
	case 2:
		copy_rows(*p, 2, behind, block, back);
		break;
	case 3:
		copy_rows(*p, 3, behind, block, back);
		break;
	case 4:
		copy_rows(*p, 4, behind, block, back);
		break;
	case 5:
		copy_rows(*p, 5, behind, block, back);
		break;
	case 6:
		copy_rows(*p, 6, behind, block, back);
		break;
	case 7:
		copy_rows(*p, 7, behind, block, back);
		break;
	case 8:
		copy_rows(*p, 8, behind, block, back);
		break;
	case 16:
		copy_rows(*p, 16, behind, block, back);
		break;
	default:
		copy_rows(*p, p->width, behind, block, back);
	}
}

void
row_set_gather(const struct row_set *p, size_t behind, float *to)
{
	copy_rows_any_width(p, behind, to, false);
}

void
row_set_scatter(const struct row_set *p, size_t behind, const float *from)
{
	copy_rows_any_width(p, behind, (float *)(uintptr_t)from, true);
}
