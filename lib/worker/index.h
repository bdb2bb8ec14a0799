/*
 * index - a span of the coordinator's data whose records a worker counts.
 */
#ifndef PS_INDEX_H
#define PS_INDEX_H

#include "data/record_range.h"
#include "wire/outbox.h"

struct index;

/* The outbox is borrowed; peer is the coordinator. */
struct index *index_new(struct outbox *, uint64_t peer);
void index_free(struct index *);

/* Takes an INDEX; an earlier span is dropped. */
void index_take(struct index *, const struct message *);
void index_drop(struct index *);

/* The span to count, good until index_take(); NULL: none.  A new number means a
   new span.  index_dataset(): the data set of the span. */
const struct frame *index_span(const struct index *, uint64_t *number);
size_t index_dataset(const struct index *);

/* Report the counts, or why they cannot be had. */
void index_counted(struct index *, const struct record_range_tally *,
		   uint64_t term);
void index_failed(struct index *, const struct fail *why);

#endif
