/*
 * partition - into how many shards a variable is cut, and which server has
 * them.
 *
 * Shards are contiguous rows along axis 0, sizes differ by one at most
 * (TensorFlow's "div").
 */
#ifndef PS_PARTITION_H
#define PS_PARTITION_H

#include "base/fail.h"
#include "tensor/variable.h"

/* Of one variable: the most that may be asked for, and the most made. */
#define PARTITION_SHARDS	65536

/* SPREAD cuts no shard smaller than this. */
#define PARTITION_SPREAD_BYTES	((uint64_t)256 << 10)

enum partitioner_kind { PARTITION_NONE, PARTITION_FIXED, PARTITION_MIN,
			PARTITION_MAX, PARTITION_SPREAD };

/* "none", "spread", "fixed:N", "min:BYTES[:MAX]", "max:BYTES[:MAX]" */
struct partitioner {
	enum partitioner_kind kind;
	uint64_t bytes;		/* MIN, MAX */
	uint64_t shards;	/* FIXED: how many; else at most; 0: no limit */
	const char *pattern;	/* of variables' names; NULL: any */
	struct partitioner *next;	/* of the others: see below */
	const size_t *group;	/* of the head: so many rows of each variable
				   stay together; NULL: 1 of each */
};

/*
 * A text may end in "@PATTERN", a shell pattern; it is borrowed.  FAIL_CONFIG:
 * it is none, and the partitioner is as it was.
 */
int partitioner_parse(struct partitioner *, const char *text, struct fail *);

/*
 * The head of a list is for the variables that no pattern matches, those
 * behind it have patterns, and the first that matches counts.  Add what a text
 * says: without a pattern it takes the place of the head.
 */
int partitioner_add(struct partitioner *head, const char *text, struct fail *);
void partitioner_release(struct partitioner *head);

/* FAIL_CONFIG: a pattern of the list has none of these variables to cut. */
int partitioner_check(const struct partitioner *head,
		      const struct variable *, size_t variables,
		      struct fail *);

/*
 * How many shards, from 1 to rows; rank 0 is never cut.  MIN keeps every
 * shard at or over its bytes, MAX at or under them, where rows and the said
 * number of shards allow; where TensorFlow's formulas do not keep that promise
 * though they could, ours do (see partition.c).
 */
size_t partition_count(const struct partitioner *, struct shape);

/* The same of a variable, by the one of a list that is for it. */
size_t partition_shards(const struct partitioner *head,
			const struct variable *, size_t servers);

/* The rows of shard i of n: first row and how many. */
struct rows { size_t first, count; };
struct rows partition_rows(size_t rows, size_t n, size_t i);

/* Which shard of n has a row. */
size_t partition_find(size_t rows, size_t n, size_t row);

/* Variables whose names fit the pattern are on these servers alone. */
struct placement_range {
	char *pattern;
	uint64_t first, last;	/* indices of servers */
	struct placement_range *next;
};

/*
 * The rule is for each range, of which the first whose pattern fits counts,
 * and then for the variables that none is for: over all servers; or, if some
 * are beside workers, over these for dense variables, and over the others, if
 * there are any, for tables.
 */
struct placement {
	enum { PLACE_BALANCED, PLACE_ROUND_ROBIN } rule;
	struct placement_range *range;
	bool hybrid;		/* some are beside workers: */
	struct placement_range dense, tables;
};

extern const struct placement placement_balanced, placement_round_robin;

/*
 * Add what a text says: "balanced", "round-robin" or "PATTERN@FIRST[-LAST]".
 * FAIL_CONFIG: it says none of these.
 */
int placement_add(struct placement *, const char *text, struct fail *);
void placement_release(struct placement *);

/* The first so many of the servers, 1 at least, are beside workers. */
void placement_beside(struct placement *, uint64_t beside, size_t servers);
size_t placement_count_beside(const struct placement *);

/* FAIL_CONFIG: there are not so many servers, or a range has no variables. */
int placement_check(const struct placement *, const struct variable *,
		    size_t variables, size_t servers, struct fail *);

struct place {
	uint32_t variable;	/* index into the model's variables */
	uint32_t shard, shards;
	uint32_t server;
	struct rows rows;
};

/* What it takes on its server: weights and slots. */
uint64_t place_bytes(const struct place *, const struct variable *variables);

/*
 * Every shard of every variable, in order of variable and shard.  Balanced
 * puts the largest shards first on the server with the fewest bytes (weights
 * and slots), lowest index on a tie; round robin continues one counter over
 * all shards, as TensorFlow does.  Ranges of servers come first, in their
 * order; then the other variables go to all servers, these included.  A hashed
 * table has a shard on each server that it may be on.  The caller frees the
 * list.
 */
struct place *partition_plan(const struct variable *, size_t n,
			     const struct partitioner *,
			     const struct placement *, size_t servers,
			     size_t *count);

#endif
