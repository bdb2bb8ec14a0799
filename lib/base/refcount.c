#include "base/refcount.h"

void
refcount_take(struct refcount *h)
{
	atomic_fetch_add_explicit(&h->references, 1, memory_order_relaxed);
}

void
refcount_drop(struct refcount *h)
{
	if (atomic_fetch_sub_explicit(&h->references, 1,
				      memory_order_acq_rel) == 1)
		h->release(h);
}

bool
refcount_alone(const struct refcount *h)
{
	return atomic_load_explicit(&h->references,
				    memory_order_acquire) == 1;
}
