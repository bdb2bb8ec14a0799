/*
 * columns - finds by their names the columns that feed each input.
 *
 * An input takes the column of its own name, or those that its columns= names
 * or matches by a pattern, in the order of columns=; those of one pattern are
 * taken in the order of their names (names_order()), not in that of the file.
 * A pattern such as "*" does not match the column of the label, nor of an input
 * that is only a sample_weight: these must be named.
 */
#ifndef PS_COLUMNS_H
#define PS_COLUMNS_H

#include "data/format.h"

/* The columns that one input takes. */
struct feed {
	const struct input *input;
	size_t *column, count, room;
	bool numbers;		/* a fixed number of floats; if columns are
				   narrow, one float a column */
	bool together;		/* the columns stand side by side */
	bool unread;		/* no column is read: the value is 1 */
	struct input word;	/* crossed: each column is read as this input,
				   which hashes a word */
};

struct columns {
	char **name;		/* owned */
	size_t count, room;
	bool header;		/* the names stand in the file's first line */
	struct feed *feed;	/* one an input, in the model's order; owned */
	size_t feeds;
	struct feed label;	/* input NULL: no label is read */
	struct input any;	/* copied to each feed.word */
	struct batch crossed;	/* room for the hash of one word */
};

/* Append a column; its name is copied.  A zeroed struct is an empty one. */
void columns_add(struct columns *, const char *name);
void columns_release(struct columns *);

/*
 * Find the columns that feed each input, and the label, after all columns have
 * been added.  narrow: a column holds one value, or the values into which sep=
 * cuts it, so the number of columns is checked, too.  Return 0, or -1
 * (FAIL_DATA, with no place in front) if a column is missing, if their number
 * is wrong, or if one has another place than in an earlier file (order.h).
 */
int columns_plan(struct columns *, const struct read_spec *, bool narrow,
		 struct fail *);

/*
 * Put the values that a record has in a column into a feature, from value
 * number at on, and set *count to their number.  Return 0, or -1 with no name
 * of the column in front.
 */
typedef int column_fill(void *record, size_t column, struct feature *,
			size_t at, size_t *count, struct fail *);

/*
 * Put the values of a feed's columns, one column after the other, into a
 * feature as those of one example; too few are filled up with pad=, if the
 * input has one.  Return 0 or -1.
 */
int columns_fill(const struct columns *, const struct feed *, struct feature *,
		 size_t example, column_fill *, void *record, struct fail *);

#endif
