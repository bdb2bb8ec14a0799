/*
 * input - what a model reads of each example: the contract between model files
 * and data files.
 */
#ifndef PS_INPUT_H
#define PS_INPUT_H

#include "model/lookup.h"
#include "tensor/shape.h"

#include <stdbool.h>

enum input_kind {
	INPUT_FLOAT,	/* floats of this shape */
	INPUT_ID,	/* whole numbers below rows */
	INPUT_STRING,	/* words, which the lookup turns into ids below rows */
	INPUT_SPARSE	/* id:weight pairs, ids below rows */
};

#define INPUT_SLACK	64

struct input {
	char *name;
	enum input_kind kind;
	struct shape shape;	/* of an example: [3] for string[3]; [] for
				   one value; unused when ragged or sparse */
	bool ragged;		/* id[], string[]: any number of values */
	uint64_t rows;		/* ids are 0 .. rows - 1; 0 for floats */
	bool hashed;		/* ids are any 64 bits, and rows is 0 */
	float *boundaries;	/* ascending; an id is the number of */
	size_t boundary_count;	/* boundaries that a value has reached; 0: the
				   value is the id itself */
	struct lookup *lookup;	/* for a string; else NULL */
	bool binary;		/* a label that may be 0/1 or -1/+1, read as a
				   float of 0 or 1 */
	char **columns;		/* patterns of the CSV columns that it is read
				   from; */
	size_t column_count;	/* none: the column of its own name */
	bool zero_based;	/* the ids of svmlight files begin at 0 */
	bool crossed;		/* a word is made of one word of each column */
	char *pad;		/* a value as text, with INPUT_SLACK NULs behind
				   it: missing values are filled up with it, and
				   surplus ones cut off; or NULL */
	const char *from;	/* its data set, borrowed; NULL: the one without
				   a name */
	size_t dataset;		/* its number */
	char separator;		/* cuts a column into values; 0: none */
	bool weighs;		/* it is the weight of examples and nothing
				   else: without labels it is not read, but 1 */
	char where[160];	/* "model.ps:1", for messages */
};

/*
 * Return the rows in the shape of a table for this input: its ids, or the
 * ranges of a hashed table.
 */
size_t input_table_rows(const struct input *);

/*
 * Return the number of values of an example; 0 if it differs from example to
 * example.
 */
size_t input_width(const struct input *);

/* Return whether ids can be 2^32 or more. */
bool input_wide(const struct input *);

#endif
