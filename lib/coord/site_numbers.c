#include "coord/site_numbers.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The workers of one site, which is named by the index of its first worker. */
struct site {
	size_t left;		/* workers that have no number yet */
	size_t next;		/* no worker below this index is one of them */
};

struct numbering {
	size_t workers;
	size_t *of;		/* each worker's site, as its first worker */
	struct site *site;
	size_t next;		/* number to be given */
};

static size_t
find_site(const char *const *site, size_t worker)
{
	size_t first = 0;

	while (*site[worker] && first < worker &&
	       strcmp(site[first], site[worker]) != 0)
		first++;
	return *site[worker] ? first : worker;
}

/* Give the leaves of the next node to the next workers of a site. */
static void
give_node(struct numbering *n, size_t first, size_t leaves, size_t *number)
{
	struct site *s = &n->site[first];

	s->left -= leaves;
	for (; leaves > 0; s->next++)
		if (n->of[s->next] == first) {
			number[s->next] = n->next++;
			leaves--;
		}
}

static size_t
largest_node(size_t workers)
{
	size_t leaves = 1;

	while (leaves <= workers / 2)
		leaves *= 2;
	return leaves;
}

/* Nodes are given from the largest to the smallest: so each begins at a
   multiple of the number of its leaves. */
void
site_numbers(const char *const *site, size_t workers, size_t *number)
{
	struct numbering n = { .workers = workers };

	n.of = mem_alloc(workers, sizeof(*n.of));
	n.site = mem_alloc(workers, sizeof(*n.site));
	for (size_t k = 0; k < workers; k++) {
		n.of[k] = find_site(site, k);
		n.site[k].next = k;
		n.site[n.of[k]].left++;
	}
	for (size_t leaves = largest_node(workers); leaves > 0; leaves /= 2)
		for (size_t k = 0; k < workers; k++)
			while (n.site[k].left >= leaves)
				give_node(&n, k, leaves, number);
	free(n.of);
	free(n.site);
}
