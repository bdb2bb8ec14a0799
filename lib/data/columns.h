/*
 * columns - which columns of a record feed an input, by their names.
 *
 * An input takes the column of its own name, or those that its patterns mean.
 * Patterns do not take by chance the columns of the label, or of what is but
 * an example's weight.
 */
#ifndef PS_COLUMNS_H
#define PS_COLUMNS_H

#include "data/format.h"

/* The columns that one input takes. */
struct feed {
	const struct input *input;
	size_t *column, count, room;
	bool numbers;		/* floats, each a column if those are narrow */
	bool together;		/* the columns stand side by side */
	bool unread;		/* it is 1 in every record */
	struct input word;	/* as which a column is read to be crossed */
};

struct columns {
	char **name;		/* owned, as all of it is */
	size_t count, room;
	bool header;		/* names are what stands in a first record */
	struct feed *feed;	/* of the inputs */
	size_t feeds;
	struct feed label;	/* no input: none is read */
	struct input any;	/* a word that is crossed, */
	struct batch crossed;	/* and its hash */
};

/* A zeroed struct is an empty one.  The name is copied. */
void columns_add(struct columns *, const char *name);
void columns_release(struct columns *);

/*
 * All columns have been added: which of them feed what is wanted?  narrow: a
 * column has one value, or those that sep= cuts it into, so that their number
 * can be checked.  FAIL_DATA, with no place in front: some are not there.
 */
int columns_plan(struct columns *, const struct read_spec *, bool narrow,
		 struct fail *);

/*
 * Put what a record has in a column into a feature from value number at on,
 * and say how many values; or fail without the name of the column.
 */
typedef int column_fill(void *record, size_t column, struct feature *,
			size_t at, size_t *count, struct fail *);

/* The columns of a feed, one after the other, as those of an example. */
int columns_fill(const struct columns *, const struct feed *, struct feature *,
		 size_t example, column_fill *, void *record, struct fail *);

#endif
