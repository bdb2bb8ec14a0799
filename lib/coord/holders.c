#include "coord/holders.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/*
 * The residual of a replica.
 *
 *	NONE (0) --holders_note(), PUSH_CODED--> HELD
 *	HELD --holders_note(), PUSH_CODED--> HELD, of a newer push
 *	HELD --holders_note(), PUSH_FLUSH--> NONE
 *	HELD --holders_lose(), holders_drop(), holders_reset()--> NONE
 */
struct held_residual {
	void *worker;			/* NULL: nobody; it is 0 */
	struct residual name;
};

struct holders {
	size_t replicas;
	struct held_residual *of;
};

struct holders *
holders_new(size_t replicas)
{
	struct holders *h = mem_alloc(1, sizeof(*h));

	h->replicas = replicas;
	h->of = mem_alloc(replicas, sizeof(*h->of));
	return h;
}

void
holders_free(struct holders *h)
{
	if (!h)
		return;
	free(h->of);
	free(h);
}

bool
holders_other(const struct holders *h, size_t replica, const void *worker)
{
	return h->of[replica].worker && h->of[replica].worker != worker;
}

struct residual
holders_residual(const struct holders *h, size_t replica, const void *worker)
{
	return h->of[replica].worker == worker ? h->of[replica].name :
		(struct residual){ 0, 0 };
}

/* An exact push changes nothing: who has the residual keeps it. */
size_t
holders_note(struct holders *h, size_t replica, void *worker,
	     enum push_how how, struct residual name)
{
	struct held_residual *of = &h->of[replica];

	if (how == PUSH_FLUSH)
		*of = (struct held_residual){ 0 };
	else if (how == PUSH_CODED)
		*of = worker ? (struct held_residual){ worker, name } :
			(struct held_residual){ 0 };
	return how == PUSH_CODED && !worker;
}

size_t
holders_lose(struct holders *h, const void *worker)
{
	size_t count = 0;

	for (size_t k = 0; k < h->replicas; k++)
		if (h->of[k].worker && h->of[k].worker == worker) {
			h->of[k] = (struct held_residual){ 0 };
			count++;
		}
	return count;
}

size_t
holders_drop(struct holders *h, uint64_t below)
{
	size_t count = 0;

	for (size_t k = 0; k < h->replicas; k++)
		if (h->of[k].worker && h->of[k].name.step < below) {
			h->of[k] = (struct held_residual){ 0 };
			count++;
		}
	return count;
}

void
holders_reset(struct holders *h)
{
	memset(h->of, 0, h->replicas * sizeof(*h->of));
}

const char *
holders_check(const struct holders *h)
{
	for (size_t k = 0; k < h->replicas; k++)
		if (!h->of[k].worker != (h->of[k].name.attempt == 0))
			return "holders 1: a residual that is not 0 has a "
				"worker and a name";
	return NULL;
}
