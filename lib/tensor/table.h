/*
 * table - rows found by any 64-bit id, as many as have been met.
 *
 * A table knows an id by its key, hash_mix(id): keys are spread evenly
 * whatever the ids are, no two ids have the same, and hash_unmix() gives the
 * id back.  Keys and rows lie in pages; a directory finds the page by the
 * first bits of a key (Fagin and others, "Extendible hashing", 1979).  A full
 * page is split in two: nobody ever waits for more than that.  References to
 * pages are counted, so that a second table may share them all: whoever
 * writes first copies the page.
 *
 * What is in a table depends on what was pushed to it only: not on how it
 * grew, nor on who shared it.
 */
#ifndef PS_TABLE_H
#define PS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* What a row is, and which rows stay. */
struct table_kind {
	size_t width;		/* floats of a row's values; */
	size_t slots;		/* as many of each slot lie behind them */
	/* First values and slots of a row. */
	void (*start)(const void *data, uint64_t id, float *row);
	const void *data;	/* borrowed */
	uint64_t admit;		/* a row is made by its push number admit */
	uint64_t age;		/* it goes at the end of an update, if it is
				   so many updates since one touched it; 0:
				   never */
	uint64_t most;		/* rows: when an update begins with more,
				   those touched longest ago go; 0: no limit */
};

struct table *table_new(const struct table_kind *);
void table_free(struct table *);

/*
 * Another one with the rows as they are now.  Each may be written by one
 * thread; what is not written any more can be read by any.
 */
struct table *table_share(const struct table *);

size_t table_floats(const struct table *);	/* of a row: values, slots */
uint64_t table_rows(const struct table *);
uint64_t table_bytes(const struct table *);	/* of memory, for all pages */

/* Values of rows, one after the other; of absent rows their first values. */
void table_pull(const struct table *, const uint64_t *key, size_t count,
		float *values);

/*
 * An update begins: it is number now, counted from 1.  When its rows have been
 * written it ends, and those that are too old by then are gone.
 */
void table_update(struct table *, uint64_t now);
void table_end_update(struct table *);

/*
 * Rows to be written in this update; those that are absent are made, or NULL
 * when they are not admitted yet.  Keys come once in an update; sorted ones
 * are found faster.  The rows are good until the next call.
 */
#define TABLE_BATCH	128	/* keys of one call, at most */
void table_touch(struct table *, const uint64_t *key, size_t count,
		 float **row);

/*
 * All rows in order of key: begin with a zeroed walk; false: that was all.
 * The table must not be written meanwhile.
 */
struct table_walk {
	uint64_t key;
	const float *row;
	uint64_t update;	/* that touched it last; 0 if rows stay */

	struct table_order *order;	/* the walk's own */
	size_t next, count, page;
};
bool table_next(const struct table *, struct table_walk *);
void table_walk_release(struct table_walk *);

/* A row as a walk gave it, after the update that was the last one then. */
void table_put(struct table *, uint64_t key, const float *row,
	       uint64_t update);

/*
 * Ids that were pushed to and are not admitted: a table of one float, how
 * often.  NULL if there is no waiting.  It is t's own.
 */
struct table *table_waiting(const struct table *t);

#endif
