/*
 * table - rows found by any 64-bit id; a row is made when it is first written.
 *
 * A table knows an id by its key, hash_mix(id): keys are spread evenly whatever
 * the ids are, no two ids have the same key, and hash_unmix() gives the id
 * back.  Keys and rows lie in pages; a directory finds the page by the first
 * bits of a key (Fagin and others, "Extendible hashing", 1979).  A full page is
 * split in two, and no single write takes longer than that.  References to
 * pages are counted, so that a second table may share all pages of a first; the
 * first to write to a shared page copies it.
 *
 * The content of a table depends only on what was pushed to it: not on how it
 * grew, nor on which tables shared its pages.
 */
#ifndef PS_TABLE_H
#define PS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* What a row is, and how long it stays. */
struct table_kind {
	size_t width;		/* floats of a row's values */
	size_t slots;		/* arrays of width floats behind the values */
	/* Set the first values and slots of a row; NULL: zeros. */
	void (*start)(const void *data, uint64_t id, float *row);
	const void *data;	/* for start(); borrowed */
	uint64_t admit;		/* the push of a row that makes it, from 1;
				   earlier ones are only counted */
	uint64_t age;		/* a row goes at the end of an update if no
				   update touched it for this many; 0: never */
	uint64_t most;		/* most rows: when an update begins with more,
				   the rows touched longest ago go; 0: no
				   limit */
};

/* Return an empty table; the caller frees it. */
struct table *table_new(const struct table_kind *);
void table_free(struct table *);

/*
 * Return another table with the rows as they are now, which the caller frees.
 * Each of the two may be written by one thread at a time; a table that is not
 * written any more may be read by any number of threads.
 */
struct table *table_share(const struct table *);

size_t table_floats(const struct table *);	/* of a row: values and slots */
uint64_t table_rows(const struct table *);
uint64_t table_bytes(const struct table *);	/* of memory: all pages and the
						   directory */

/*
 * Copy the values of count rows, one after the other, to an array of count *
 * width floats.  Of a row that is not there, copy its first values.
 */
void table_pull(const struct table *, const uint64_t *key, size_t count,
		float *values);

/*
 * Begin update number now, counted from 1, and end it when all its rows have
 * been written.  table_update() removes rows over the limit, table_end_update()
 * those that are too old.
 */
void table_update(struct table *, uint64_t now);
void table_end_update(struct table *);

/*
 * Set row[k] to the row of key[k], for at most TABLE_BATCH keys, to be written
 * in this update.  A row that is not there is made; or row[k] is NULL if it is
 * not admitted yet, or there is no room for it.  A key may come only once in an
 * update.  Sorted keys are found faster.  The pointers are good until the next
 * call.
 */
#define TABLE_BATCH	128
void table_touch(struct table *, const uint64_t *key, size_t count,
		 float **row);

/*
 * Visit all rows in order of key.  Begin with a zeroed walk.  table_next() sets
 * key, row and update, and returns false after the last row.  The table must
 * not be written meanwhile.  table_walk_release() is needed only for a walk
 * that does not come to the end.
 */
struct table_walk {
	uint64_t key;
	const float *row;
	uint64_t update;	/* that touched the row last; 0 if rows stay for
				   good */

	struct table_order *order;	/* the walk's own state */
	size_t next, count, page;
};
bool table_next(const struct table *, struct table_walk *);
void table_walk_release(struct table_walk *);

/*
 * Set a row as a walk of another table gave it: its floats, and the update that
 * touched it last.
 */
void table_put(struct table *, uint64_t key, const float *row,
	       uint64_t update);

/*
 * Return the table of the rows that are not admitted yet: one float for each,
 * the number of its pushes.  NULL if all rows are admitted at once.  It belongs
 * to t.
 */
struct table *table_waiting(const struct table *t);

#endif
