/* The steps since the newest checkpoint. */
#include "coord/step_history.h"

#include "tap.h"

#include <string.h>

/* Returns the number of references to the call. */
static int
held(const struct call *c)
{
	return c->hold.references;
}

static struct step_history h;

/* Makes the places of a step in two of three data sets. */
static struct places
at(uint64_t place)
{
	struct places p = places_none();

	p.batches = 1;
	p.first[0] = place;
	p.first[2] = place + 7;
	return p;
}

static void
add(uint64_t first, uint64_t batch, float rate, uint64_t place)
{
	const struct asked_of a = { .first = first, .batch = batch,
				    .learning_rate = rate,
				    .places = at(place) };

	step_history_add(&h, &a);
}

/* Was the step of this request, up to this later step of another request? */
static bool
was(uint64_t step, uint64_t first, uint64_t batch, float rate, uint64_t until)
{
	uint64_t end;
	const struct asked_of a = step_history_of(&h, step, &end);

	return a.first == first && a.batch == batch && end == until &&
		!(a.learning_rate < rate) && !(a.learning_rate > rate);
}

static void
add_call(uint64_t first, uint64_t batch, struct call *call)
{
	step_history_add(&h, &(struct asked_of){ .first = first, .batch = batch,
						 .call = call,
						 .places = at(first) });
}

/* Requests and their steps share their arguments. */
static void
test_calls(void)
{
	struct call *a = call_new("fit", "{}"), *b = call_new("fit", "{}");
	struct call *c = call_new("fit", NULL);
	uint64_t until;

	add_call(3, 0, NULL);
	add_call(4, 0, a);
	add_call(5, 0, b);
	add_call(6, 0, c);
	add_call(7, 9, c);
	named_equals(h.count, 4, "steps with the same request share an entry");
	named(held(a) == 2 && held(b) == 1 && held(c) == 3,
	      "a shared entry holds its call once");
	call_drop(a);
	named(!step_history_of(&h, 3, &until).call && until == 4,
	      "a step without a call has none");
	a = step_history_of(&h, 5, &until).call;
	named(until == 6 && strcmp(a->args, "{}") == 0,
	      "a step keeps its arguments when the request is gone");
	step_history_forget(&h, 6);
	named(h.count == 2 && held(c) == 3,
	      "forgetting steps drops the older entries");
	step_history_forget(&h, 8);
	named(h.count == 1 && held(c) == 2 &&
	      step_history_of(&h, 100, &until).batch == 9,
	      "the newest entry stays");
	step_history_release(&h);
	named(held(b) == 1 && held(c) == 1, "an empty history holds no call");
	call_drop(b);
	call_drop(c);
}

/* Are the bytes read as a history, or refused? */
static bool
reads(const struct pack *p, size_t size, uint64_t below)
{
	struct unpack in = unpack_from(p->data, size);
	const bool good = step_history_read(&h, &in, below) == 0;

	if (!good)
		step_history_release(&h);
	return good;
}

static void
test_bytes(void)
{
	struct call *call = call_new("fit", "{\"x\":1}");
	struct pack p = { 0 };
	uint64_t until;
	size_t cut = 0;

	add(10, 4, 0.5f, 100);
	add(12, 8, -0.25f, 200);
	add_call(14, 8, call);
	step_history_void(&h, 11, 2);
	step_history_void(&h, 15, 1);
	step_history_write(&h, &p);
	step_history_release(&h);
	named(held(call) == 1 && reads(&p, p.size, 16) && h.count == 3 &&
	      was(11, 10, 4, 0.5f, 12) && was(13, 12, 8, -0.25f, 14),
	      "the history is read back as it was written");
	named(call_equal(step_history_of(&h, 15, &until).call, call) &&
	      step_history_of(&h, 13, &until).places.first[0] == 200 &&
	      step_history_of(&h, 13, &until).places.first[2] == 207 &&
	      step_history_of(&h, 13, &until).places.first[1] ==
	      PLACES_NONE, "the arguments and the positions are read back");
	named(ranges_total(&h.voided) == 3 && ranges_has(&h.voided, 15) &&
	      ranges_has(&h.voided, 12), "the void steps are read back");
	step_history_release(&h);
	while (cut < p.size && !reads(&p, cut, 16))
		cut++;
	named_equals(cut, p.size, "a history that is cut short is refused");
	named(!reads(&p, p.size, 15) && !reads(&p, p.size, 14),
	      "a history of steps that do not exist is refused");
	pack_release(&p);
	call_drop(call);
}

int
main(void)
{
	named(was(5, 0, 0, 0, UINT64_MAX), "a new history knows no request");
	add(10, 4, 0.5f, 100);
	add(12, 4, 0.5f, 102);
	named(h.count == 1 && was(13, 10, 4, 0.5f, UINT64_MAX),
	      "steps that continue alike are one entry");
	add(14, 8, 0.5f, 104);
	add(16, 8, 0.25f, 106);
	add(18, 8, 0.5f, 108);
	add(20, 8, 0.5f, 200);
	equals(h.count, 5);
	ok(was(9, 0, 0, 0, 10));
	ok(was(13, 10, 4, 0.5f, 14) && was(14, 14, 8, 0.5f, 16));
	ok(was(16, 16, 8, 0.25f, 18) && was(19, 18, 8, 0.5f, 20));
	ok(was(99, 20, 8, 0.5f, UINT64_MAX));
	step_history_void(&h, 11, 2);
	step_history_void(&h, 15, 1);
	ok(ranges_has(&h.voided, 11) && ranges_has(&h.voided, 12) &&
	   ranges_has(&h.voided, 15) && !ranges_has(&h.voided, 13));
	step_history_forget(&h, 12);
	named(h.count == 5 && was(12, 10, 4, 0.5f, 14),
	      "the entries of steps that are not forgotten stay");
	ok(!ranges_has(&h.voided, 11) && ranges_has(&h.voided, 12));
	step_history_forget(&h, 16);
	ok(h.count == 3 && was(16, 16, 8, 0.25f, 18) && was(15, 0, 0, 0, 16));
	ok(!ranges_has(&h.voided, 15));
	step_history_forget(&h, 1000);
	ok(h.count == 1 && was(1000, 20, 8, 0.5f, UINT64_MAX));
	step_history_release(&h);
	ok(h.count == 0 && was(1000, 0, 0, 0, UINT64_MAX));
	test_calls();
	test_bytes();
	return tap_done();
}
