/* The steps that one server lacks, and the workers that run them again for
   it. */
#include "coord/rerun_set.h"

#include "tap.h"

static struct rerun_set r;
static const char a[1], b[1];	/* workers */

#define checked(claim)	ok_and_sound(claim, rerun_set_check(&r), #claim)

/* Does the worker get this number of steps, from this one on? */
static bool
gives(const char *worker, size_t most, uint64_t limit, size_t count,
      uint64_t first)
{
	uint64_t is = UINT64_MAX;

	return rerun_set_lease(&r, worker, most, limit, &is) == count &&
		(count == 0 || is == first);
}

int
main(void)
{
	checked(rerun_set_idle(&r) && rerun_set_watermark(&r) == UINT64_MAX);
	ok(gives(a, 9, 99, 0, 0));
	ranges_add(&r.todo, 10, 5);
	ranges_add(&r.todo, 20, 2);
	checked(!rerun_set_idle(&r) && rerun_set_watermark(&r) == 10);
	named(gives(a, 9, 10, 0, 0), "no step at the limit is leased");
	checked(gives(a, 2, 99, 2, 10) && rerun_set_watermark(&r) == 10);
	checked(gives(b, 9, 14, 2, 12));
	named(gives(a, 9, 99, 1, 14), "a lease has consecutive steps");
	checked(gives(b, 9, 99, 2, 20) && gives(b, 9, 99, 0, 0));
	rerun_set_end(&r, 10);
	checked(rerun_set_watermark(&r) == 11 && !rerun_set_idle(&r));
	rerun_set_end(&r, 10);
	rerun_set_end(&r, 77);
	checked(r.outs == 6);
	rerun_set_return(&r, a);
	named(r.outs == 4 && rerun_set_watermark(&r) == 11 &&
	      gives(b, 9, 99, 1, 11) && gives(a, 9, 99, 1, 14),
	      "returned steps are leased again, the lowest first");
	checked(r.outs == 6);
	rerun_set_return(&r, NULL);
	checked(r.outs == 0 && !rerun_set_idle(&r) && gives(a, 9, 99, 4, 11));
	ranges_add(&r.todo, 12, 1);
	named(rerun_set_check(&r),
	      "a step that is both waiting and leased breaks an invariant");
	ranges_remove(&r.todo, 12, 1);
	r.out[1].step = r.out[0].step;
	named(rerun_set_check(&r),
	      "a step that is leased twice breaks an invariant");
	r.out[1].step = 12;
	r.out[0].worker = NULL;
	named(rerun_set_check(&r),
	      "a step that is leased to no worker breaks an invariant");
	rerun_set_release(&r);
	checked(rerun_set_idle(&r));
	return tap_done();
}
