/*
 * split - inputs cut into parts of about one size, to be read by several.
 *
 * A plain file of lines (svmlight, csv, tsv) is cut at bytes: a split owns the
 * lines that begin in it.  Any other file is one split.
 */
#ifndef PS_SPLIT_H
#define PS_SPLIT_H

#include "data/record_range.h"

struct split {
	size_t file;
	uint64_t begin, end;	/* bytes, as in a span */
};

struct split_file {
	char *name, *label;	/* label: NULL, or of its labels */
};

struct splits {
	struct split_file *file;
	size_t files;
	struct split *split;	/* in order of file and byte */
	size_t count;
};

void splits_release(struct splits *);

/*
 * Cut inputs; splits is then theirs, also after a failure.  An input that is
 * no file's name is a pattern (* ? [...]), which stands for all that fit it,
 * sorted.  Each has to be a file: what is read again and again, by others and
 * elsewhere, is no pipe.  Labelled: idx and npy files are given in pairs.
 */
int splits_cut(struct splits *, char *const *inputs, size_t count,
	       const struct record_range_format *, bool labelled, uint64_t size,
	       struct fail *);

#endif
