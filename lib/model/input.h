/*
 * input - what a model reads of each example: the contract between model
 * files and data files.
 */
#ifndef PS_INPUT_H
#define PS_INPUT_H

#include "model/lookup.h"
#include "tensor/shape.h"

#include <stdbool.h>

enum input_kind {
	INPUT_FLOAT,	/* shape floats an example */
	INPUT_ID,	/* whole numbers below rows */
	INPUT_STRING,	/* words, made ids below rows by the lookup */
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
	float *boundaries;	/* ascending: an id is how many of them a */
	size_t boundary_count;	/* number has reached; 0: it is what it is */
	struct lookup *lookup;	/* of a string; else NULL */
	bool binary;		/* a label that may be 0/1 or -1/+1; it reads
				   as a float of 0 or 1 */
	char **columns;		/* patterns of the CSV columns that feed it; */
	size_t column_count;	/* none: the column of its own name */
	bool zero_based;	/* the ids of svmlight files begin at 0 */
	bool crossed;		/* a word is made of one of each column */
	char *pad;		/* as text, with INPUT_SLACK zeros behind it:
				   too few values are filled up with it, too
				   many are cut off; or NULL */
	const char *from;	/* its data set, borrowed; NULL: the one without
				   a name */
	size_t dataset;		/* its number */
	char separator;		/* cuts one column into values; 0: none */
	bool weighs;		/* examples, and does nothing else: where there
				   is no label it is not read, but 1 */
	char where[160];	/* "model.ps:1", for messages */
};

/* Rows that a table of this input is said to have. */
size_t input_table_rows(const struct input *);

/* Values of one example, or 0 if that differs from example to example. */
size_t input_width(const struct input *);

/* Can its ids be 2^32 or more? */
bool input_wide(const struct input *);

#endif
