/*
 * batch - examples as a model reads them: what data readers fill and steps
 * use up.
 *
 * A feature holds one input's values for all examples, by its kind:
 *	float		value[examples * width]
 *	id, string	id[examples * width]
 *	ragged, sparse	id[offset[examples]], of example i those from offset[i]
 *			up to offset[i + 1]; weight[] beside it for sparse,
 *			NULL when every weight is 1
 * Of ids these are the lower halves; the upper ones are in high[], NULL when
 * every id is below 2^32.  If they are gathered already the one at place i is
 * gathered.id[gathered.row[i]], or what that key is of, and id[] and high[] may
 * be empty.
 */
#ifndef PS_BATCH_H
#define PS_BATCH_H

#include "model/block_rows.h"
#include "model/input.h"
#include "model/unique_ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How labels of kind binary have said no: by 0, by -1.  Both are the value 0,
 * which has the sign of a -1; in one set of data with 1 they are three
 * classes.
 */
struct noes {
	bool zero, minus;
};

/* Put those of n labels to them. */
void noes_add(struct noes *, const float *label, size_t n);

struct batch;
/* ... and those of a batch, if its labels are of that kind. */
void noes_add_batch(struct noes *, const struct batch *);

struct feature {
	const struct input *input;	/* borrowed from the model */
	const struct noes *noes;	/* that were read before; or NULL */
	float *value;
	uint32_t *id, *high;
	float *weight;
	size_t *offset;
	size_t value_room, id_room, high_room, weight_room, offset_room;
	struct unique_ids gathered;
	bool is_gathered;
};

struct batch {
	size_t examples;	/* of all features, if each is NULL; else how
				   many are trained on, and */
	size_t *each;		/* so many are of each data set */
	size_t datasets;
	size_t features;	/* as many as the model has inputs */
	struct feature *feature;	/* in the order of the model's inputs */
	struct feature label;	/* label.input is NULL if none was read */
	struct unique_ids *gather;	/* the rows of tables that it needs, as
					   the model groups inputs, once it is
					   prepared */
	size_t gathers;
	bool prepared;		/* by compute_prepare(), and the same since */
	struct block_rows *block_rows;	/* beside each gather, once its blocks
					   are, */
	size_t blocks;			/* of which there are so many; or 0 */
};

/* Empty, for these inputs (borrowed); label may be NULL. */
void batch_begin(struct batch *, const struct input *inputs, size_t count,
		 const struct input *label);
void batch_release(struct batch *);
/* No examples, but room: before a batch is filled anew. */
void batch_reset(struct batch *);

/*
 * Append example i of another batch of the same inputs (shuffling, slicing),
 * or n of them from there on.
 */
void batch_append(struct batch *, const struct batch *from, size_t i);
void batch_append_run(struct batch *, const struct batch *from, size_t i,
		      size_t n);

/*
 * There will be so many examples, like those that are there: room for them at
 * once, within reason, is cheaper than to grow again and again.
 */
void batch_expect(struct batch *, size_t examples);

size_t batch_bytes(const struct batch *);	/* of what it holds */

/* Examples of a feature's data set; a bit for each set that it has some of. */
size_t batch_examples(const struct batch *, const struct feature *);
uint64_t batch_datasets(const struct batch *);

/* How many values, or ids, a feature has in so many examples. */
size_t feature_count(const struct feature *, size_t examples);

uint64_t feature_id(const struct feature *, size_t at);

/* Gather n ids of features that such an input has. */
void input_gather(const struct input *, struct unique_ids *, struct sorter *,
		  struct ids, size_t n);

/* The same, from that example on: what it points to is the first one's. */
struct feature feature_from(const struct feature *, size_t example);

/* Gather those of so many examples; they stay where they stand, too. */
void feature_gather(struct feature *, size_t examples, struct sorter *);

/* Put n ids that were gathered into places from at on; they are not now. */
void feature_spread(struct feature *, size_t at, size_t n);

/* Room for n values from at on, or lower halves of ids, to be filled. */
float *feature_values(struct feature *, size_t at, size_t n);
uint32_t *feature_ids(struct feature *, size_t at, size_t n);

/*
 * What is beside those: n upper halves from at on, NULL if all are 0, or n
 * weights, NULL if all are 1; kept if some are not, or were.
 */
void feature_add_high(struct feature *, size_t at, const uint32_t *high,
		      size_t n);
void feature_add_weights(struct feature *, size_t at, const float *weight,
			 size_t n);

/* Room for one more value in a feature of the batch being filled. */
void feature_add_value(struct feature *, size_t at, float);
void feature_add_id(struct feature *, size_t at, uint64_t);
void feature_add_weight(struct feature *, size_t at, float);
void feature_set_offset(struct feature *, size_t example, size_t offset);

#endif
