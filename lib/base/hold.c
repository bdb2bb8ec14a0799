#include "base/hold.h"

void
hold_take(struct hold *h)
{
	atomic_fetch_add_explicit(&h->references, 1, memory_order_relaxed);
}

void
hold_drop(struct hold *h)
{
	if (atomic_fetch_sub_explicit(&h->references, 1,
				      memory_order_acq_rel) == 1)
		h->release(h);
}

bool
hold_alone(const struct hold *h)
{
	return atomic_load_explicit(&h->references,
				    memory_order_acquire) == 1;
}
