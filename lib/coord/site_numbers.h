/*
 * site_numbers - which replica each worker of a synchronous run begins with.
 *
 * Gradients of a round are added in a binary tree over the numbers of replicas
 * (tensor/tree_sum.h).  The workers of a site get the leaves of as few whole
 * nodes as possible, so that its relay can add up what they push.  For example,
 * five workers get a node of four leaves, and a node of one.
 */
#ifndef PS_SITE_NUMBERS_H
#define PS_SITE_NUMBERS_H

#include <stddef.h>

/*
 * Gives each worker a replica.  site[k] is the site of the worker with index k;
 * "": it has none.  number[k] becomes its replica: all are different, 0 to
 * workers - 1.  Sites that need nodes of the same size get them in the order of
 * their first workers; the workers of a site have numbers in the order of their
 * indices, and so have those without a site.
 */
void site_numbers(const char *const *site, size_t workers, size_t *number);

#endif
