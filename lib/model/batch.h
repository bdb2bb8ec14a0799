/*
 * batch - examples as a model reads them: data readers fill a batch, and steps
 * use it up.
 *
 * A feature holds the values of one input for all examples, by its kind:
 *	float		value[examples * width]
 *	id, string	id[examples * width]
 *	ragged, sparse	id[offset[examples]]; example i has those from
 *			offset[i] to offset[i + 1] - 1; sparse has weight[]
 *			beside it, NULL when every weight is 1
 * id[] has the lower 32 bits of each id, high[] the upper 32; high is NULL when
 * every id is below 2^32.  Once the ids are gathered, the id at place i is
 * gathered.id[gathered.row[i]], or for a hashed input the id of that key, and
 * id[] and high[] may be empty.
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
 * How binary labels wrote the class 0: as 0 or as -1.  Both become the value 0,
 * but that of a -1 has its sign, so that a mixture can be refused: 0, -1 and 1
 * in one data set would be three classes.
 */
struct negative_labels {
	bool zero, minus;
};

/* Record which of 0 and -1 are among n labels. */
void negative_labels_add(struct negative_labels *, const float *label,
			 size_t n);

struct batch;
/* The same for the labels of a batch, if these are binary. */
void negative_labels_add_batch(struct negative_labels *, const struct batch *);

struct feature {
	const struct input *input;	/* borrowed from the model */
	const struct negative_labels *negatives;	/* of the labels read
							   before, or NULL */
	float *value;
	uint32_t *id, *high;
	float *weight;
	size_t *offset;
	size_t value_room, id_room, high_room, weight_room, offset_room;
	struct unique_ids gathered;
	bool is_gathered;
};

struct batch {
	size_t examples;	/* of every feature if each is NULL; else the
				   number that counts for the step */
	size_t *each;		/* examples of each data set; NULL: there is one
				   data set */
	size_t datasets;
	size_t features;	/* as many as the model has inputs */
	struct feature *feature;	/* in the order of the model's inputs */
	struct feature label;	/* label.input is NULL if none was read */
	struct unique_ids *gather;	/* for each group of inputs (see
					   graph.h) the rows of tables that the
					   batch needs, once it is prepared */
	size_t gathers;
	bool prepared;		/* compute_prepare() was called and nothing has
				   changed since */
	struct block_rows *block_rows;	/* for each group the rows of each
					   block, if blocks > 0 */
	size_t blocks;			/* blocks that are prepared; or 0 */
};

/*
 * Make an empty batch for these inputs, which are borrowed; label may be NULL.
 * batch_release() frees its memory.
 */
void batch_begin(struct batch *, const struct input *inputs, size_t count,
		 const struct input *label);
void batch_release(struct batch *);
/* Remove all examples but keep the memory, before the batch is filled anew. */
void batch_reset(struct batch *);

/*
 * Append example i of another batch of the same inputs, or the n examples from
 * i on.  Not for a batch of several data sets.
 */
void batch_append(struct batch *, const struct batch *from, size_t i);
void batch_append_run(struct batch *, const struct batch *from, size_t i,
		      size_t n);

/*
 * Make room for this number of examples in all, as large as the present ones
 * are on average, up to about 4 million items of a feature: it is cheaper than
 * to grow the arrays again and again.
 */
void batch_expect(struct batch *, size_t examples);

size_t batch_bytes(const struct batch *);	/* of its values, ids and
						   weights */

/*
 * Return the number of examples in a feature's data set; and a bit for each
 * data set that has examples.
 */
size_t batch_examples(const struct batch *, const struct feature *);
uint64_t batch_datasets(const struct batch *);

/*
 * Return how many values or ids a feature has in its first `examples` examples.
 */
size_t feature_count(const struct feature *, size_t examples);

/* Return the id at a place, gathered or not. */
uint64_t feature_id(const struct feature *, size_t at);

/*
 * Gather n ids of this input into `to`: each id once, sorted; keys if the input
 * is hashed.
 */
void input_gather(const struct input *, struct unique_ids *, struct sorter *,
		  struct ids, size_t n);

/*
 * Return a view of a feature from an example on: its pointers are moved so that
 * example 0 of the view is that one.  The offsets of a ragged or sparse feature
 * still count from the first id of the whole feature.
 */
struct feature feature_from(const struct feature *, size_t example);

/*
 * Gather the ids of the first `examples` examples into the feature itself; id[]
 * and high[] stay as they are.
 */
void feature_gather(struct feature *, size_t examples, struct sorter *);

/*
 * Write n gathered ids back to id[] and high[], at places from at on; the
 * feature is not gathered any more.
 */
void feature_spread(struct feature *, size_t at, size_t n);

/*
 * Make room for n values, or lower halves of ids, at places from at on, and
 * return where the caller is to fill them in.
 */
float *feature_values(struct feature *, size_t at, size_t n);
uint32_t *feature_ids(struct feature *, size_t at, size_t n);

/*
 * Set n upper halves of ids at places from at on (NULL: all are 0), or n
 * weights (NULL: all are 1).  No array is kept while every upper half is 0 or
 * every weight is 1.
 */
void feature_add_high(struct feature *, size_t at, const uint32_t *high,
		      size_t n);
void feature_add_weights(struct feature *, size_t at, const float *weight,
			 size_t n);

/*
 * Set one value, id, weight or offset at the end of a feature that is being
 * filled.
 */
void feature_add_value(struct feature *, size_t at, float);
void feature_add_id(struct feature *, size_t at, uint64_t);
void feature_add_weight(struct feature *, size_t at, float);
void feature_set_offset(struct feature *, size_t example, size_t offset);

#endif
