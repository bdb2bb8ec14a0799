/* A range of a file that a worker counts for its coordinator. */
#include "worker/index.h"

#include "wire/pack.h"

#include "post.h"

#define COORDINATOR	1

static struct index *x;

static void
take(uint64_t request, const char *span)
{
	struct message m = { .kind = MESSAGE_INDEX, .request = request };

	if (span) {
		m.frames = 1;
		m.frame[0] = (struct frame){ span, strlen(span), NULL };
	}
	index_take(x, &m);
}

static bool
is(const char *span, uint64_t request)
{
	uint64_t number;
	const struct frame *f = index_span(x, &number);

	return f && number == request && f->size == strlen(span) &&
		(f->size == 0 || memcmp(f->data, span, f->size) == 0);
}

static bool
is_none(void)
{
	uint64_t number;

	return !index_span(x, &number);
}

/* Does the worker report two places, at 0 and 500? */
static bool
says_places(uint64_t request, uint64_t records)
{
	static const unsigned char places[] = { 0x92, 0, 0xcd, 1, 0xf4 };

	return says(COORDINATOR, MESSAGE_INDEXED) &&
		last_posted->m.request == request &&
		last_posted->m.indexed.term == 4 &&
		last_posted->m.indexed.records == records &&
		last_posted->m.frames == 1 &&
		last_posted->m.frame[0].size == sizeof(places) &&
		memcmp(last_posted->text, places, sizeof(places)) == 0 &&
		silent();
}

int
main(void)
{
	uint64_t place[] = { 0, 500 };
	struct record_range_tally tally = { .records = 5000, .place = place,
					    .places = 2 };
	struct fail why;

	x = index_new(&post, COORDINATOR);
	named(is_none(), "a new worker has nothing to count");
	take(3, "a");
	ok(is("a", 3));
	take(4, "bc");
	named(is("bc", 4) && silent(), "a new range replaces the one before");
	index_counted(x, &tally, 4);
	ok(says_places(4, 5000) && is_none());
	take(5, NULL);
	ok(is("", 5));
	tally.whole = true;
	index_counted(x, &tally, 4);
	named(says_places(5, WIRE_NONE),
	      "a file that cannot be split is reported as whole");
	take(6, "a");
	index_drop(x);
	named(is_none() && silent(),
	      "a range can be dropped without a report");
	take(7, "a");
	fail(&why, FAIL_DATA, "a.tsv:3: no label");
	index_failed(x, &why);
	ok(says(COORDINATOR, MESSAGE_REFUSED) &&
	   last_posted->m.request == 7 &&
	   last_posted->m.refused.status == FAIL_DATA &&
	   strcmp(last_posted->text, "a.tsv:3: no label") == 0 && is_none());
	index_free(x);
	index_free(NULL);
	return tap_done();
}
