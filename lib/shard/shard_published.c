/*
 * The published copy of a part: a copy of its values that all workers have.
 *
 * After each round the copy is led on: a codec encodes the difference between
 * the values and the copy, the decoded difference is added to the copy, and
 * workers pull only the encoded difference.  The error of the codec stays in
 * the difference, and so is part of the next one (error feedback).
 *
 * The copy lies behind the optimizer slots of a chunk, so that every snapshot,
 * and the state of a standby, has it as well.
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
			send_buffer_free(&p[i].kept[k].buffer);
	free(p);
}

static float *
copy_of(const struct shard_piece *h)
{
	return chunk_slot(h->now.chunk[0], h->slots);
}

/* The copy of a piece begins anew: it is set to the values. */
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

/* Is a part on this server, and are its differences pulled? */
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

/* Does the copy begin anew for the pulls of this step? */
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

/* Does the copy begin anew for some step from first to last - 1? */
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
shard_set_round(struct shard *s, uint64_t before, uint64_t step)
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
	/* More cannot be open at a time: the oldest was called off. */
	if (s->cuts == SHARD_CUTS)
		memmove(s->cut, s->cut + 1,
			--s->cuts * sizeof(*s->cut));
	s->cut[s->cuts++] = step;
}

/* Does the copy continue for the pulls of this step? */
bool
published_continues(const struct shard *s, size_t n, uint64_t step)
{
	const struct coding *c = plan_delta(s->plan, n);

	return step >= c->from && !begins_at(s, c, step);
}

/* Compute the difference of a piece.  false: it is not finite, or larger than
   the codec can encode. */
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

/* The most bytes of an encoded difference of a part. */
static size_t
most_bytes(const struct shard *s, size_t n, const struct codec *codec)
{
	const struct part *part = &s->plan->part[n];
	size_t size = 0;

	for (size_t i = 0; i < part->count; i++)
		size += codec_most(codec, plan_difference(s->plan,
				   s->holding[part->first + i].piece));
	return size;
}

/* Encode a piece's difference.  Returns its bytes; SIZE_MAX: no codec can
   represent it. */
static size_t
encode_piece(struct shard *s, const struct shard_piece *h,
	     const struct coding *c, char *to)
{
	const struct codec_slice slice = plan_difference(s->plan, h->piece);
	const struct codec *codec = codec_for(c->codec, slice);
	float *d = send_buffer_room(&s->difference, slice.rows);

	return subtract(h, codec->most, d) ?
		codec_encode(codec, to, d, slice) : SIZE_MAX;
}

/* Add an encoded difference to the copy of its piece.  Returns its bytes. */
static size_t
add_piece(struct shard *s, struct shard_piece *h, const struct coding *c,
	  const char *from)
{
	const struct codec_slice slice = plan_difference(s->plan, h->piece);

	chunk_writable(&h->now.chunk[0]);
	return codec_add(codec_for(c->codec, slice), copy_of(h), from, slice);
}

/*
 * Advance the copy towards the values that a round has made, for the pulls of
 * this step, and write the encoded difference to *to, so that workers can do
 * the same.
 */
bool
published_advance(struct shard *s, size_t n, uint64_t step,
		  struct difference *to)
{
	const struct part *part = &s->plan->part[n];
	const struct coding *c = plan_delta(s->plan, n);
	struct shard_piece *h = &s->holding[part->first];
	char *bytes = (char *)send_buffer_room(&to->buffer, send_buffer_for(
					       most_bytes(s, n, c->codec)));

	to->size = 0;
	if (!published_continues(s, n, step))
		return false;
	for (size_t i = 0; i < part->count; i++) {
		const size_t size = encode_piece(s, &h[i], c,
						 bytes + to->size);

		if (size == SIZE_MAX)
			return false;
		to->size += size;
	}
	for (size_t i = 0, at = 0; i < part->count; i++)
		at += add_piece(s, &h[i], c, bytes + at);
	return true;
}

/* Keep a difference that leads to a new edition. */
void
published_keep(struct published *p, struct difference *difference)
{
	struct difference *at;

	p->edition++;
	at = &p->kept[p->edition % PUBLISHED_KEPT];
	send_buffer_free(&at->buffer);
	*at = *difference;
	*difference = (struct difference){ 0 };
	if (p->count < PUBLISHED_KEPT)
		p->count++;
}

void
shard_publish(struct shard *s, size_t n, uint64_t step)
{
	struct published *p = &s->published[n];
	struct difference *oldest = &p->kept[(p->edition + 1) %
					     PUBLISHED_KEPT];
	struct difference difference = *oldest;

	if (!plan_delta(s->plan, n))
		return;
	*oldest = (struct difference){ 0 };
	if (p->count == PUBLISHED_KEPT)
		p->count--;
	if (published_advance(s, n, step, &difference)) {
		published_keep(p, &difference);
		return;
	}
	send_buffer_free(&difference.buffer);
	/* At a step where copies begin anew, all parts do so when the whole
	   round has ended. */
	if (published_continues(s, n, step))
		begin_part(s, n);
}

/* ---- pulls ---- */

/* The whole copy of a part. */
static struct frame
whole_copy(struct shard *s, size_t n)
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

/* The difference that leads to an edition; `last' leads to the one behind the
   newest. */
static struct difference
difference_to(const struct published *p, uint64_t edition,
	      struct difference last)
{
	return edition > p->edition ? last : p->kept[edition % PUBLISHED_KEPT];
}

/* The differences that lead from an edition to the newest one, or to that of
   `last' if there is one. */
static struct frame
differences(struct shard *s, const struct published *p, uint64_t since,
	    struct difference last)
{
	const uint64_t newest = p->edition + (last.buffer != NULL);
	struct difference one = difference_to(p, newest, last);
	size_t size = 0;
	char *to;

	if (newest == since)
		return (struct frame){ 0 };
	if (newest == since + 1)
		return (struct frame){ one.buffer->at, one.size,
				       &one.buffer->hold };
	for (uint64_t e = since + 1; e <= newest; e++)
		size += difference_to(p, e, last).size;
	to = (char *)send_buffer_room(&s->differences, send_buffer_for(size));
	for (uint64_t e = since + 1; e <= newest; e++) {
		one = difference_to(p, e, last);
		memcpy(to, one.buffer->at, one.size);
		to += one.size;
	}
	return (struct frame){ s->differences->at, size,
			       &s->differences->hold };
}

void
published_pull(struct shard *s, size_t n, uint64_t have,
	       struct difference last, bool begun, struct shard_news *news)
{
	const struct published *p = &s->published[n];

	news->edition = p->edition + (last.buffer || begun);
	news->since = have;
	if (begun || have > p->edition || have < p->edition - p->count ||
	    have == 0) {
		news->since = 0;
		news->values = whole_copy(s, n);
	} else {
		news->values = differences(s, p, have, last);
	}
}

bool
shard_pull_published(struct shard *s, size_t n, struct encoding e,
		     uint64_t have, struct shard_news *news)
{
	const struct coding *c = plan_delta(s->plan, n);

	if (!e.codings || !c || e.step < c->from)
		return false;
	published_pull(s, n, have, (struct difference){ 0 }, false, news);
	return true;
}
