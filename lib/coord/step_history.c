#include "coord/step_history.h"

#include "base/mem.h"
#include "wire/message.h"

#include <stdlib.h>
#include <string.h>

void
step_history_release(struct step_history *h)
{
	ranges_release(&h->voided);
	for (size_t i = 0; i < h->count; i++)
		call_drop(h->asked[i].call);
	free(h->asked);
	*h = (struct step_history){ 0 };
}

void
step_history_add(struct step_history *h, const struct asked_of *a)
{
	const struct asked_of *last = h->count ? &h->asked[h->count - 1] :
		NULL;

	if (last && last->batch == a->batch &&
	    call_equal(last->call, a->call) &&
	    places_follow(&last->places, a->first - last->first, &a->places) &&
	    !(last->learning_rate < a->learning_rate) &&
	    !(last->learning_rate > a->learning_rate))
		return;		/* the terms before are those of these steps */
	h->asked = mem_grow(h->asked, h->count, &h->room, sizeof(*h->asked));
	h->asked[h->count] = *a;
	call_hold(h->asked[h->count++].call);
}

void
step_history_void(struct step_history *h, uint64_t first, uint64_t count)
{
	ranges_add(&h->voided, first, count);
}

void
step_history_forget(struct step_history *h, uint64_t below)
{
	size_t old = 0;

	ranges_remove(&h->voided, 0, below);
	while (old + 1 < h->count && h->asked[old + 1].first <= below)
		call_drop(h->asked[old++].call);
	if (old > 0)
		memmove(h->asked, h->asked + old,
			(h->count - old) * sizeof(*h->asked));
	h->count -= old;
}

struct asked_of
step_history_of(const struct step_history *h, uint64_t step, uint64_t *until)
{
	size_t i = h->count;

	while (i > 0 && h->asked[i - 1].first > step)
		i--;
	*until = i < h->count ? h->asked[i].first : UINT64_MAX;
	return i > 0 ? h->asked[i - 1] : (struct asked_of){ 0 };
}

/* ---- as bytes ---- */

void
step_history_write(const struct step_history *h, struct pack *out)
{
	pack_uint(out, h->count);
	for (size_t i = 0; i < h->count; i++) {
		const struct asked_of *a = &h->asked[i];

		pack_uint(out, a->first);
		pack_uint(out, a->batch);
		pack_uint(out, message_float_bits(a->learning_rate));
		places_write(&a->places, out);
		pack_uint(out, a->call != NULL);
		pack_text(out, a->call && a->call->step ? a->call->step : "");
		pack_text(out, a->call && a->call->args ? a->call->args : "");
	}
	pack_uint(out, h->voided.count);
	for (size_t i = 0; i < h->voided.count; i++) {
		pack_uint(out, h->voided.range[i].first);
		pack_uint(out, h->voided.range[i].end);
	}
}

/* Read a string, to be freed; NULL: it is empty. */
static char *
read_text(struct unpack *in)
{
	size_t size;
	const char *text = unpack_blob(in, &size);

	return size > 0 ? mem_text_n(text, size) : NULL;
}

static void
read_asked(struct step_history *h, struct unpack *in, uint64_t below)
{
	struct asked_of a = { .first = unpack_below(in, below) };
	char *step, *args;
	bool called;

	if (h->count > 0 && a.first <= h->asked[h->count - 1].first)
		in->bad = true;
	a.batch = unpack_uint(in);
	a.learning_rate = message_float(unpack_uint(in));
	a.places = places_read(in);
	called = unpack_uint(in);
	step = read_text(in);
	args = read_text(in);
	a.call = called ? call_new(step, args) : NULL;
	free(step);
	free(args);
	if (!in->bad)
		step_history_add(h, &a);
	call_drop(a.call);
}

int
step_history_read(struct step_history *h, struct unpack *in, uint64_t below)
{
	for (uint64_t n = unpack_uint(in); n > 0 && !in->bad; n--)
		read_asked(h, in, below);
	for (uint64_t n = unpack_uint(in); n > 0 && !in->bad; n--) {
		const uint64_t first = unpack_below(in, below);
		const uint64_t end = unpack_uint(in);

		if (in->bad || end <= first || end > below)
			return -1;
		step_history_void(h, first, end - first);
	}
	return unpack_ok(in) ? 0 : -1;
}
