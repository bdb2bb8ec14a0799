#include "model/block_sum.h"

#include "base/mem.h"
#include "tensor/kernels.h"

#include <stdbool.h>
#include <stdlib.h>

#define LEVELS	7	/* levels of a tree of BLOCKS */

struct block_sum {
	struct crew *crew;
	size_t blocks, floats, room;
	float **spare;			/* arrays that are free */
	size_t spares, spare_room;
	float *node[LEVELS][BLOCKS];	/* sums that wait for their other half;
					   or NULL */
};

struct block_sum *
block_sum_new(void)
{
	return mem_alloc(1, sizeof(struct block_sum));
}

static void
add_spare(struct block_sum *s, float *array)
{
	s->spare = mem_grow(s->spare, s->spares, &s->spare_room,
			    sizeof(*s->spare));
	s->spare[s->spares++] = array;
}

/*
 * Take back all arrays.  After a batch that was added up to the end it is only
 * the sum.
 */
static void
release_nodes(struct block_sum *s)
{
	for (size_t k = 0; k < LEVELS; k++)
		for (size_t i = 0; i < BLOCKS; i++) {
			if (s->node[k][i])
				add_spare(s, s->node[k][i]);
			s->node[k][i] = NULL;
		}
}

static void
release_spares(struct block_sum *s)
{
	release_nodes(s);
	for (size_t i = 0; i < s->spares; i++)
		free(s->spare[i]);
	s->spares = 0;
}

void
block_sum_free(struct block_sum *s)
{
	if (!s)
		return;
	release_spares(s);
	free(s->spare);
	free(s);
}

void
block_sum_begin(struct block_sum *s, struct crew *crew, size_t blocks,
		size_t floats)
{
	release_nodes(s);
	if (floats > s->room) {
		release_spares(s);
		s->room = floats;
	}
	s->crew = crew;
	s->blocks = blocks;
	s->floats = floats;
}

float *
block_sum_room(struct block_sum *s)
{
	float *array;

	crew_lock(s->crew);
	array = s->spares > 0 ? s->spare[--s->spares] : NULL;
	crew_unlock(s->crew);
	return array ? array : mem_resize(NULL, s->room + 1, sizeof(*array));
}

static size_t
top_level(const struct block_sum *s)
{
	size_t level = 0;

	while ((size_t)1 << level < s->blocks)
		level++;
	return level;
}

/*
 * Return whether a node has no other half: that one would be behind the last
 * block.
 */
static bool
is_alone(const struct block_sum *s, size_t level, size_t number)
{
	return (number ^ 1) << level >= s->blocks;
}

/*
 * Return the other half of a node, if it is waiting; else leave `mine` to wait
 * for it and return NULL.
 */
static float *
take_other_half(struct block_sum *s, size_t level, size_t number, float *mine)
{
	float *other;

	crew_lock(s->crew);
	other = s->node[level][number ^ 1];
	s->node[level][number ^ 1] = NULL;
	if (!other)
		s->node[level][number] = mine;
	crew_unlock(s->crew);
	return other;
}

/*
 * The member that brings the second of two halves adds them, and carries the
 * sum to the next level.
 */
void
block_sum_add(struct block_sum *s, size_t block, float *gradient)
{
	const size_t top = top_level(s);
	size_t level = 0;

	for (; level < top; level++, block /= 2) {
		float *other;

		if (is_alone(s, level, block))
			continue;
		other = take_other_half(s, level, block, gradient);
		if (!other)
			return;
		kernel_add(gradient, other, s->floats);
		crew_lock(s->crew);
		add_spare(s, other);
		crew_unlock(s->crew);
	}
	s->node[top][0] = gradient;
}

const float *
block_sum_all(const struct block_sum *s)
{
	return s->node[top_level(s)][0];
}
