/*
 * site_numbers - which replica each worker of a synchronous run begins with.
 *
 * Gradients of a round are added in a binary tree over the numbers of replicas
 * (tensor/tree_sum.h).  Workers of one site get the leaves of as few whole
 * nodes as there can be, so that a relay may add up what they push: of five
 * workers one node of four leaves, and one of a single one.
 */
#ifndef PS_SITE_NUMBERS_H
#define PS_SITE_NUMBERS_H

#include <stddef.h>

/*
 * Each worker, in the order of their indices, is of a site, or of none (""):
 * *number of each is one of 0 to workers - 1, and no other one's.  Of sites
 * that are alike the one with the first worker comes first; those of one site,
 * and those of none, have numbers in their own order.
 */
void site_numbers(const char *const *site, size_t workers, size_t *number);

#endif
