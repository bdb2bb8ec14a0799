/*
 * index - a file of the coordinator's data whose records a worker is to count.
 */
#ifndef PS_INDEX_H
#define PS_INDEX_H

#include "data/record_range.h"
#include "wire/outbox.h"

struct index;

/* The outbox is borrowed; peer is the coordinator. */
struct index *index_new(struct outbox *, uint64_t peer);
void index_free(struct index *);

/* INDEX: the span before, if there is one, is dropped. */
void index_take(struct index *, const struct message *);
void index_drop(struct index *);

/* The span, or NULL; number: another one, another number; and whose it is. */
const struct frame *index_span(const struct index *, uint64_t *number);
size_t index_dataset(const struct index *);

void index_counted(struct index *, const struct record_range_tally *,
		   uint64_t term);
void index_failed(struct index *, const struct fail *why);

#endif
