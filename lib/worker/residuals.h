/*
 * residuals - what codecs of few bits have lost of a worker's gradients.
 *
 * A worker adds the residual of a replica to its next gradient, and what the
 * codec loses of the sum is the new residual: so nothing is lost, but only
 * comes later (error feedback: Seide et al., "1-Bit Stochastic Gradient
 * Descent", 2014).
 *
 * Whether a push counts is known only when its round is committed.  Until then
 * both residuals are kept, each named by the step and attempt of the push that
 * left it; RESIDUAL says which one counts before the replica is pushed again.
 */
#ifndef PS_RESIDUALS_H
#define PS_RESIDUALS_H

#include "model/compute.h"
#include "wire/plan.h"
#include "worker/leases.h"

struct residuals;

/* Plan and model are borrowed. */
struct residuals *residuals_new(const struct plan *, const struct model *);
void residuals_free(struct residuals *);

/*
 * Adds the residual of the lease's replica to the gradient, as the lease's
 * RESIDUAL says.  Returns for each variable where its new residual is to be
 * put, as many floats as the variable has (NULL: it gets none), or NULL if no
 * variable gets one; good until the next call for the replica.  The values are
 * for client_exchange().  -1: the residual is not here (FAIL_PROTOCOL).
 */
int residuals_add(struct residuals *, const struct lease *, struct compute *,
		  float *const **left, struct fail *);

/* The sum of squares of the residual that this push of a replica leaves. */
double residuals_squares(const struct residuals *, const struct lease *);

#endif
