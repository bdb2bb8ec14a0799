#include "tensor/tree_sum.h"

#include "tensor/kernels.h"

#include <assert.h>
#include <string.h>

#define FEW	16	/* floats that are not worth a call */

/* Leaves of both halves differ in this bit, and in none above it. */
static unsigned
top_bit(uint32_t bits)
{
	return 31 - (unsigned)__builtin_clz(bits);
}

size_t
tree_left(const struct tree_leaf *leaf, size_t leaves)
{
	uint32_t bit;
	size_t left = 1;

	assert(leaves > 1 && leaf[0].number < leaf[leaves - 1].number);
	bit = UINT32_C(1) << top_bit(leaf[0].number ^ leaf[leaves - 1].number);
	while (!(leaf[left].number & bit))
		left++;
	return left;
}

size_t
tree_levels(uint32_t last)
{
	return last < 2 ? 0 : top_bit(last);
}

static void
add(float *restrict to, const float *restrict from, size_t n)
{
	if (n > FEW)
		kernel_add(to, from, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
}

static void
add_two(float *restrict to, const float *restrict a, const float *restrict b,
	size_t n)
{
	if (n > FEW)
		kernel_add_two(to, a, b, n);
	else
		for (size_t i = 0; i < n; i++)
			to[i] = a[i] + b[i];
}

void
tree_sum(float *to, const struct tree_leaf *leaf, size_t leaves, size_t width,
	 float *room)
{
	size_t left;

	if (leaves == 1) {
		memcpy(to, leaf->from, width * sizeof(*to));
		return;
	}
	if (leaves == 2) {
		add_two(to, leaf[0].from, leaf[1].from, width);
		return;
	}
	left = tree_left(leaf, leaves);
	if (left == 1) {
		tree_sum(room, leaf + 1, leaves - 1, width, room + width);
		add_two(to, leaf->from, room, width);
		return;
	}
	tree_sum(to, leaf, left, width, room);
	if (leaves - left == 1) {
		add(to, leaf[left].from, width);
		return;
	}
	tree_sum(room, leaf + left, leaves - left, width, room + width);
	add(to, room, width);
}
