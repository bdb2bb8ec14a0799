/* The steps that one server lacks, and who runs them again for it. */
#include "coord/redo.h"

#include "tap.h"

static struct redo r;
static const char a[1], b[1];	/* workers */

#define checked(claim)	named((claim) && !redo_check(&r), #claim)

/* Are these leased, from this one on? */
static bool
gives(const char *worker, size_t most, uint64_t limit, size_t count,
      uint64_t first)
{
	uint64_t is = UINT64_MAX;

	return redo_lease(&r, worker, most, limit, &is) == count &&
		(count == 0 || is == first);
}

int
main(void)
{
	checked(redo_idle(&r) && redo_mark(&r) == UINT64_MAX);
	ok(gives(a, 9, 99, 0, 0));
	ranges_add(&r.todo, 10, 5);
	ranges_add(&r.todo, 20, 2);
	checked(!redo_idle(&r) && redo_mark(&r) == 10);
	named(gives(a, 9, 10, 0, 0), "none at the limit is leased");
	checked(gives(a, 2, 99, 2, 10) && redo_mark(&r) == 10);
	checked(gives(b, 9, 14, 2, 12));
	named(gives(a, 9, 99, 1, 14), "steps of a lease are in sequence");
	checked(gives(b, 9, 99, 2, 20) && gives(b, 9, 99, 0, 0));
	redo_end(&r, 10);
	checked(redo_mark(&r) == 11 && !redo_idle(&r));
	redo_end(&r, 10);
	redo_end(&r, 77);
	checked(r.outs == 6);
	redo_return(&r, a);
	named(r.outs == 4 && redo_mark(&r) == 11 &&
	      gives(b, 9, 99, 1, 11) && gives(a, 9, 99, 1, 14),
	      "what a worker had is leased anew, the lowest first");
	checked(r.outs == 6);
	redo_return(&r, NULL);
	checked(r.outs == 0 && !redo_idle(&r) && gives(a, 9, 99, 4, 11));
	ranges_add(&r.todo, 12, 1);
	named(redo_check(&r), "a step that waits and is leased is found");
	ranges_remove(&r.todo, 12, 1);
	r.out[1].step = r.out[0].step;
	named(redo_check(&r), "as is one that is leased twice,");
	r.out[1].step = 12;
	r.out[0].worker = NULL;
	named(redo_check(&r), "or to nobody");
	redo_release(&r);
	checked(redo_idle(&r));
	return tap_done();
}
