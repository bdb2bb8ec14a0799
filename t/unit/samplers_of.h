/* samplers_of - the samplers of a coordinator whose data are one data set. */
#ifndef PS_SAMPLERS_OF_H
#define PS_SAMPLERS_OF_H

#include "coord/samplers.h"

/* The result owns the sampler. */
static inline struct samplers *
samplers_of(struct sampler *sampler, uint64_t replicas)
{
	struct samplers *s = samplers_new(NULL, replicas);

	samplers_add(s, sampler, 0, false);
	return s;
}

#endif
