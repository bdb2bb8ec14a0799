#include "tensor/tree_sum.h"

#include "tensor/few.h"

#include <assert.h>
#include <string.h>

/*
 * Return the highest bit that is set.  For two numbers XORed it is the bit in
 * which the leaves of the left half differ from those of the right half.
 */
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
		few_add_two(to, leaf[0].from, leaf[1].from, width);
		return;
	}
	left = tree_left(leaf, leaves);
	if (left == 1) {
		tree_sum(room, leaf + 1, leaves - 1, width, room + width);
		few_add_two(to, leaf->from, room, width);
		return;
	}
	tree_sum(to, leaf, left, width, room);
	if (leaves - left == 1) {
		few_add(to, leaf[left].from, width);
		return;
	}
	tree_sum(room, leaf + left, leaves - left, width, room + width);
	few_add(to, room, width);
}
