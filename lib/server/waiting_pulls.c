#include "server/waiting_pulls.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
round_of(const struct waiting_pull *p)
{
	return p->pull.pull.after;
}

static size_t
bytes_of(const struct waiting_pull *p)
{
	return sizeof(*p) + p->pull.frame[0].size;
}

static struct waiting_pulls_list *
list_of(struct waiting_pulls *all, uint64_t round)
{
	return &all->round[round % WAITING_PULLS_LISTS];
}

/* The place that points to this peer's pull of a part; or where it would be. */
static struct waiting_pull **
find(struct waiting_pulls *all, uint64_t peer, uint64_t part, uint64_t of)
{
	struct waiting_pull **at = &all->bucket[rng_at(peer, part, of) %
						WAITING_PULLS_BUCKETS];

	while (*at && ((*at)->peer != peer || (*at)->of != of ||
		       (*at)->pull.pull.part != part))
		at = &(*at)->other;
	return at;
}

static struct waiting_pull *
take_out(struct waiting_pulls *all, struct waiting_pull **at)
{
	struct waiting_pull *p = *at;
	struct waiting_pulls_list *list = list_of(all, round_of(p));

	*at = p->other;
	*(p->before ? &p->before->next : &list->first) = p->next;
	*(p->next ? &p->next->before : &list->last) = p->before;
	all->count--;
	all->bytes -= bytes_of(p);
	return p;
}

static struct waiting_pull *
take(struct waiting_pulls *all, const struct waiting_pull *p)
{
	return take_out(all, find(all, p->peer, p->pull.pull.part, p->of));
}

bool
waiting_pulls_add(struct waiting_pulls *all, uint64_t peer, bool relayed,
		  const struct message *m, uint64_t ahead)
{
	const struct frame *keys = &m->frame[0];
	const uint64_t of = relayed ? m->request : 0;
	struct waiting_pulls_list *list = list_of(all, m->pull.after);
	struct waiting_pull **at = find(all, peer, m->pull.part, of);
	struct waiting_pull *p = mem_resize(NULL, 1, sizeof(*p) + keys->size);

	if (*at)
		free(take_out(all, at));
	*p = (struct waiting_pull){ .peer = peer, .of = of, .pull = *m,
				    .ahead = ahead, .before = list->last };
	p->pull.frame[0] = (struct frame){ p + 1, keys->size, NULL };
	if (keys->size > 0)
		memcpy(p + 1, keys->data, keys->size);
	*(list->last ? &list->last->next : &list->first) = p;
	list->last = p;
	*find(all, peer, m->pull.part, of) = p;
	if (all->taken >= m->pull.after)	/* rounds begin again */
		all->taken = m->pull.after - 1;
	all->count++;
	all->bytes += bytes_of(p);
	return all->bytes > all->enough + WAITING_PULLS_BYTES;
}

void
waiting_pulls_forget_leavers(struct waiting_pulls *all,
			     bool (*is_here)(void *self, uint64_t peer),
			     void *self)
{
	struct waiting_pull *next;

	for (size_t i = 0; i < WAITING_PULLS_LISTS; i++)
		for (struct waiting_pull *p = all->round[i].first; p;
		     p = next) {
			next = p->next;
			if (!is_here(self, p->peer))
				free(take(all, p));
		}
	all->enough = 2 * all->bytes;
}

/* The first pull of a list, from p on, that waits for this round. */
static struct waiting_pull *
of_round(struct waiting_pull *p, uint64_t round)
{
	while (p && round_of(p) != round)
		p = p->next;
	return p;
}

struct waiting_pull *
waiting_pulls_first(const struct waiting_pulls *all, uint64_t round)
{
	return of_round(all->round[round % WAITING_PULLS_LISTS].first, round);
}

struct waiting_pull *
waiting_pulls_next(const struct waiting_pull *p)
{
	return of_round(p->next, round_of(p));
}

struct waiting_pull *
waiting_pulls_take(struct waiting_pulls *all, uint64_t round)
{
	/* After many rounds at once, pulls of several are in one list. */
	for (size_t i = 0; i < WAITING_PULLS_LISTS && all->count > 0 &&
	     all->taken < round; i++) {
		struct waiting_pull *p = list_of(all, all->taken + 1)->first;

		while (p && round_of(p) > round)
			p = p->next;
		if (p)
			return take(all, p);
		all->taken++;
	}
	all->taken = round;
	return NULL;
}

void
waiting_pulls_release(struct waiting_pulls *all)
{
	for (size_t i = 0; i < WAITING_PULLS_LISTS; i++)
		while (all->round[i].first)
			free(take(all, all->round[i].first));
	*all = (struct waiting_pulls){ 0 };
}

/* ---- what always holds ---- */

const char *
waiting_pulls_check(const struct waiting_pulls *all, uint64_t step)
{
	size_t bytes = 0;

	for (size_t i = 0; i < WAITING_PULLS_LISTS; i++)
		for (const struct waiting_pull *p = all->round[i].first; p;
		     p = p->next) {
			bytes += bytes_of(p);
			if (round_of(p) <= step)
				return "server 16: a pull waits for a round "
					"that has not ended";
		}
	return bytes == all->bytes ? NULL :
		"server 17: keys that wait are counted as they are";
}
