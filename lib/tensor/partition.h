/*
 * partition - into how many shards a variable is cut, and which server holds
 * each.
 *
 * A shard is a range of rows along axis 0.  The sizes of a variable's shards
 * differ by one row at most (TensorFlow's "div"), or by one group where rows
 * are kept together.
 */
#ifndef PS_PARTITION_H
#define PS_PARTITION_H

#include "base/fail.h"
#include "tensor/variable.h"

/*
 * Shards of a variable: the largest number that a text may ask for, and the
 * largest that is made.
 */
#define PARTITION_SHARDS	65536

/* SPREAD makes no shard smaller than this. */
#define PARTITION_SPREAD_BYTES	((uint64_t)256 << 10)

enum partitioner_kind { PARTITION_NONE, PARTITION_FIXED, PARTITION_MIN,
			PARTITION_MAX, PARTITION_SPREAD };

/* "none", "spread", "fixed:N", "min:BYTES[:MAX]", "max:BYTES[:MAX]" */
struct partitioner {
	enum partitioner_kind kind;
	uint64_t bytes;		/* MIN, MAX */
	uint64_t shards;	/* FIXED: number of shards; else the most; 0: no
				   limit */
	const char *pattern;	/* shell pattern of variables' names; NULL:
				   all */
	struct partitioner *next;	/* see partitioner_add() */
	/*
	 * Set in the head of a list alone: rows of each variable that stay
	 * together, by its index; NULL: 1 for all.
	 */
	const size_t *group;
};

/*
 * Read a partitioner.  The text may end in "@PATTERN", a shell pattern, which
 * is borrowed from the text.  Return 0; or -1 with FAIL_CONFIG if the text is
 * wrong, and leave the partitioner as it was.
 */
int partitioner_parse(struct partitioner *, const char *text, struct fail *);

/*
 * Add the partitioner of a text to a list.  The head of a list is for the
 * variables that no pattern matches; those behind it have patterns, and the
 * first one that matches counts.  A text without a pattern replaces the head.
 * Return 0, or -1 as partitioner_parse().
 */
int partitioner_add(struct partitioner *head, const char *text, struct fail *);
/* Free the list behind the head, which is the caller's. */
void partitioner_release(struct partitioner *head);

/*
 * Check that each pattern of the list has a variable to cut.  Return 0, or -1
 * with FAIL_CONFIG.
 */
int partitioner_check(const struct partitioner *head,
		      const struct variable *, size_t variables,
		      struct fail *);

/*
 * Return the number of shards, from 1 to the number of rows; rank 0 is never
 * cut.  MIN keeps every shard at or above its bytes, MAX at or below them, as
 * far as the sizes of rows and the limit of shards allow.  TensorFlow's
 * formulas break this promise in some cases in which it can be kept; see
 * partition.c.  Not for SPREAD, which depends on the servers.
 */
size_t partition_count(const struct partitioner *, struct shape);

/*
 * Return the number of shards of a variable, by the partitioner of the list
 * that is for it.  servers is the number of servers that the variable may be
 * on: a hashed table has a shard on each.
 */
size_t partition_shards(const struct partitioner *head,
			const struct variable *, size_t servers);

/* Return the rows of shard i of n, of a variable with `rows` rows. */
struct rows { size_t first, count; };
struct rows partition_rows(size_t rows, size_t n, size_t i);

/* Return which shard of n has a row. */
size_t partition_find(size_t rows, size_t n, size_t row);

/*
 * The variables whose names match the pattern are on the servers first to last.
 */
struct placement_range {
	char *pattern;
	uint64_t first, last;	/* indices of servers */
	struct placement_range *next;
};

/*
 * Where the variables go.  A variable is on the servers of the first range
 * whose pattern matches it.  If none matches, it may be on all servers; or, in
 * a hybrid placement, where the first servers run beside workers: a dense
 * variable on these, and a table on the others, if there are any.  The rule
 * says how the shards are spread, over the servers of each range separately and
 * then over the others.
 */
struct placement {
	enum { PLACE_BALANCED, PLACE_ROUND_ROBIN } rule;
	struct placement_range *range;
	bool hybrid;		/* some servers are beside workers: see dense
				   and tables */
	struct placement_range dense, tables;
};

extern const struct placement placement_balanced, placement_round_robin;

/*
 * Add what a text says: "balanced", "round-robin" or "PATTERN@FIRST[-LAST]".
 * Return 0, or -1 with FAIL_CONFIG if it says none of these.
 */
int placement_add(struct placement *, const char *text, struct fail *);
void placement_release(struct placement *);

/*
 * Record that the first `beside` servers, 1 to all of them, are beside workers.
 */
void placement_beside(struct placement *, uint64_t beside, size_t servers);
/* Return the number of servers beside workers; 0 if none are. */
size_t placement_count_beside(const struct placement *);

/*
 * Check the ranges.  Return 0; or -1 with FAIL_CONFIG if a range names a server
 * that there is not, or has no variable.
 */
int placement_check(const struct placement *, const struct variable *,
		    size_t variables, size_t servers, struct fail *);

/* One shard, and the server that holds it. */
struct place {
	uint32_t variable;	/* index into the model's variables */
	uint32_t shard, shards;
	uint32_t server;
	struct rows rows;
};

/* Return the bytes of a shard on its server: values and slots. */
uint64_t place_bytes(const struct place *, const struct variable *variables);

/*
 * Return a list of every shard of every variable, ordered by variable and
 * shard, and set *count to its length; the caller frees the list.
 *
 * BALANCED places the largest shards first, each on the server with the fewest
 * bytes (values and slots), and if several have equally few on the one with the
 * lowest index.  ROUND_ROBIN continues one counter over all shards, as
 * TensorFlow does.  Variables with ranges of servers are placed first, in the
 * order of the ranges; then the other variables are spread over all servers,
 * these included.  A hashed table has a shard on each server that it may be on.
 */
struct place *partition_plan(const struct variable *, size_t n,
			     const struct partitioner *,
			     const struct placement *, size_t servers,
			     size_t *count);

#endif
