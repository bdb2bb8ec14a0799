/*
 * What is published of a part: a copy of its values that all workers have, too.
 * After each round it is led on by what a codec makes of the difference between
 * the values and it, and that is all that they pull.  What a codec has lost is
 * in the next difference.
 *
 * The copy lies behind the slots of a chunk: what holds, shares or sends those
 * has it as well.
 */
#include "shard/shard_private.h"

#include "base/mem.h"
#include "tensor/kernels.h"

#include <stdlib.h>
#include <string.h>

struct published *
published_new(const struct plan *plan)
{
	struct published *p = mem_alloc(plan->parts, sizeof(*p));

	for (size_t i = 0; i < plan->parts; i++)
		p[i].edition = 1;
	return p;
}

void
published_free(struct published *p, size_t parts)
{
	for (size_t i = 0; p && i < parts; i++)
		for (size_t k = 0; k < PUBLISHED_KEPT; k++)
			send_buffer_free(&p[i].kept[k]);
	free(p);
}

static float *
copy_of(const struct shard_piece *h)
{
	return chunk_slot(h->now.chunk[0], h->slots);
}

/* Its copy is what is there. */
void
published_begin(struct shard_piece *h)
{
	if (!h->published)
		return;
	chunk_writable(&h->now.chunk[0]);
	memcpy(copy_of(h), h->now.chunk[0]->value,
	       h->now.chunk[0]->size * sizeof(float));
}

static void
begin_part(struct shard *s, size_t n)
{
	const struct part *part = &s->plan->part[n];

	for (size_t i = 0; i < part->count; i++)
		published_begin(&s->holding[part->first + i]);
	s->published[n].edition++;
	s->published[n].count = 0;
}

/* Is a part here, and are differences of it pulled? */
static bool
has_delta(const struct shard *s, size_t n)
{
	return s->plan->part[n].server == s->server && plan_delta(s->plan, n);
}

void
shard_publish_anew(struct shard *s)
{
	for (size_t n = 0; n < s->plan->parts; n++)
		if (has_delta(s, n))
			begin_part(s, n);
}

void
shard_forget_published(struct shard *s)
{
	for (size_t n = 0; n < s->plan->parts; n++)
		s->published[n].count = 0;
}

/* Is the copy what is there when this step is pulled for? */
static bool
begins_at(const struct shard *s, const struct coding *c, uint64_t step)
{
	if ((c->from > 0 && step == c->from) ||
	    (s->plan->every > 0 && step % s->plan->every == 0))
		return true;
	for (size_t i = 0; i < s->cuts; i++)
		if (s->cut[i] == step)
			return true;
	return false;
}

/* Is it so for a step from the first one on, before the last? */
static bool
begins_between(const struct shard *s, const struct coding *c, uint64_t first,
	       uint64_t last)
{
	const uint64_t every = s->plan->every;

	if (last - first == 1)
		return begins_at(s, c, first);
	if ((c->from >= first && c->from < last) ||
	    (every > 0 && (last - 1) / every * every >= first))
		return true;
	for (size_t i = 0; i < s->cuts; i++)
		if (s->cut[i] >= first && s->cut[i] < last)
			return true;
	return false;
}

void
shard_stand_at(struct shard *s, uint64_t before, uint64_t step)
{
	size_t left = 0;

	for (size_t n = 0; n < s->plan->parts; n++)
		if (has_delta(s, n) &&
		    begins_between(s, plan_delta(s->plan, n), before + 1,
				   step + 1))
			begin_part(s, n);
	for (size_t i = 0; i < s->cuts; i++)
		if (s->cut[i] > step)
			s->cut[left++] = s->cut[i];
	s->cuts = left;
}

void
shard_publish_at(struct shard *s, uint64_t now, uint64_t step)
{
	if (step == now)
		shard_publish_anew(s);
	if (step <= now)
		return;
	/* There are not many: an older one was called off. */
	if (s->cuts == SHARD_CUTS)
		memmove(s->cut, s->cut + 1,
			--s->cuts * sizeof(*s->cut));
	s->cut[s->cuts++] = step;
}

/* Does the copy go on when this step is pulled for? */
bool
published_could(const struct shard *s, size_t n, uint64_t step)
{
	const struct coding *c = plan_delta(s->plan, n);

	return step >= c->from && !begins_at(s, c, step);
}

/* The difference of a piece; false: no codec can tell it. */
static bool
subtract(const struct shard_piece *h, float most, float *to)
{
	const struct chunk *c = h->now.chunk[0];
	const float *copy = copy_of(h);

	for (size_t i = 0; i < c->size; i++)
		to[i] = c->value[i] - copy[i];
	return kernel_finite(to, c->size) &&
		!(kernel_largest(to, c->size) > most);
}

/* Bytes of a difference of all pieces of a part. */
static size_t
difference_size(const struct shard *s, size_t n, const struct codec *codec)
{
	const struct part *part = &s->plan->part[n];
	size_t size = 0;

	for (size_t i = 0; i < part->count; i++)
		size += codec_bytes(codec, plan_difference(
				    s->holding[part->first + i].piece));
	return size;
}

/*
 * The copy goes on towards what a round has made of the part, for those who
 * pull for a step.  What it takes to do the same elsewhere is put down.
 */
bool
published_lead(struct shard *s, size_t n, uint64_t step,
	       struct send_buffer **to)
{
	const struct part *part = &s->plan->part[n];
	const struct coding *c = plan_delta(s->plan, n);
	const size_t size = difference_size(s, n, c->codec);
	char *at = (char *)send_buffer_room(to, send_buffer_for(size));

	if (!published_could(s, n, step))
		return false;
	for (size_t i = 0; i < part->count; i++) {
		struct shard_piece *h = &s->holding[part->first + i];
		const struct codec_slice slice = plan_difference(h->piece);
		const struct codec *codec = codec_for(c->codec, slice);

		float *d = send_buffer_room(&s->difference, slice.rows);

		if (!subtract(h, codec->most, d))
			return false;
		codec->encode(at, d, slice);
		at += codec->size(slice);
	}
	at = (char *)(*to)->at;
	for (size_t i = 0; i < part->count; i++) {
		struct shard_piece *h = &s->holding[part->first + i];
		const struct codec_slice slice = plan_difference(h->piece);
		const struct codec *codec = codec_for(c->codec, slice);

		chunk_writable(&h->now.chunk[0]);
		codec->add(copy_of(h), at, slice);
		at += codec->size(slice);
	}
	return true;
}

/* It is the newest one. */
void
published_keep(struct published *p, struct send_buffer **difference)
{
	struct send_buffer **at;

	p->edition++;
	at = &p->kept[p->edition % PUBLISHED_KEPT];
	send_buffer_free(at);
	*at = *difference;
	*difference = NULL;
	if (p->count < PUBLISHED_KEPT)
		p->count++;
}

void
shard_publish(struct shard *s, size_t n, uint64_t step)
{
	struct published *p = &s->published[n];
	struct send_buffer **oldest = &p->kept[(p->edition + 1) %
					       PUBLISHED_KEPT];
	struct send_buffer *difference = *oldest;

	if (!plan_delta(s->plan, n))
		return;
	*oldest = NULL;
	if (p->count == PUBLISHED_KEPT)
		p->count--;
	if (published_lead(s, n, step, &difference)) {
		published_keep(p, &difference);
		return;
	}
	send_buffer_free(&difference);
	/* At such a step all begin anew when the whole round has ended. */
	if (published_could(s, n, step))
		begin_part(s, n);
}

/* ---- pulls ---- */

/* All of the copy. */
static struct frame
whole(struct shard *s, size_t n)
{
	const struct part *part = &s->plan->part[n];
	const struct shard_piece *h = &s->holding[part->first];
	size_t floats = 0;
	float *to;

	for (size_t i = 0; i < part->count; i++)
		floats += h[i].piece->count;
	if (part->count == 1)
		return (struct frame){ copy_of(h), floats * sizeof(float),
				       &h->now.chunk[0]->hold };
	to = send_buffer_room(&s->values, floats);
	for (size_t i = 0; i < part->count; i++) {
		memcpy(to, copy_of(&h[i]),
		       h[i].piece->count * sizeof(float));
		to += h[i].piece->count;
	}
	return (struct frame){ s->values->at, floats * sizeof(float),
			       &s->values->hold };
}

/* Those that lead from an edition to the newest, and one more. */
static struct frame
differences(struct shard *s, size_t n, uint64_t since,
	    struct send_buffer *last)
{
	const struct published *p = &s->published[n];
	const size_t size = difference_size(s, n,
					    plan_delta(s->plan, n)->codec);
	const size_t count = p->edition - since + (last != NULL);
	struct send_buffer *one = last ? last :
		p->kept[p->edition % PUBLISHED_KEPT];
	char *to;

	if (count == 0)
		return (struct frame){ 0 };
	if (count == 1)
		return (struct frame){ one->at, size, &one->hold };
	to = (char *)send_buffer_room(&s->differences,
				      send_buffer_for(count * size));
	for (size_t i = 0; i < count; i++) {
		const uint64_t edition = since + 1 + i;

		one = edition > p->edition ? last :
			p->kept[edition % PUBLISHED_KEPT];
		memcpy(to + i * size, one->at, size);
	}
	return (struct frame){ s->differences->at, count * size,
			       &s->differences->hold };
}

void
published_pull(struct shard *s, size_t n, uint64_t have,
	       struct send_buffer *last, bool begun, struct shard_news *news)
{
	const struct published *p = &s->published[n];

	news->edition = p->edition + (last || begun);
	news->since = have;
	if (begun || have > p->edition || have < p->edition - p->count ||
	    have == 0) {
		news->since = 0;
		news->values = whole(s, n);
	} else {
		news->values = differences(s, n, have, last);
	}
}

bool
shard_pull_published(struct shard *s, size_t n, struct encoding e,
		     uint64_t have, struct shard_news *news)
{
	const struct coding *c = plan_delta(s->plan, n);

	if (!e.codings || !c || e.step < c->from)
		return false;
	published_pull(s, n, have, NULL, false, news);
	return true;
}
