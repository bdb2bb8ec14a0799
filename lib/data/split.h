/*
 * split - cuts inputs into parts of about the same size, for several workers.
 *
 * A plain file of lines (svmlight, csv, tsv) is cut at bytes: the lines that
 * begin between two bytes belong to one split.  Any other file is one split.
 */
#ifndef PS_SPLIT_H
#define PS_SPLIT_H

#include "data/record_range.h"

#define SPLIT_ENDS	65536

struct split {
	size_t file;		/* number in splits.file */
	uint64_t begin, end;	/* bytes, as in a struct record_range */
};

struct split_file {
	char *name, *label;	/* label: the file of its labels, or NULL */
	uint64_t bytes;		/* of both, on disk */
	uint64_t ends;		/* a hash of the first and the last SPLIT_ENDS
				   bytes of each */
};

struct splits {
	struct split_file *file;
	size_t files;
	struct split *split;	/* in order of file and byte */
	size_t count;
};

void splits_release(struct splits *);

/*
 * Cut count inputs into splits of at most size bytes.  An input that is not the
 * name of a file, but has one of "*?[", is a pattern: it stands for all files
 * that match, sorted.  Standard input and "pipe:" are refused (FAIL_USAGE),
 * since several workers read the inputs, and more than once.  labelled: idx and
 * npy files are given in pairs.  Return 0, or -1: FAIL_NOINPUT for a file that
 * is missing, unreadable, not plain, or without its labels, FAIL_USAGE for an
 * unknown format or more than 2^20 splits.  The caller releases the splits in
 * both cases.
 */
int splits_cut(struct splits *, char *const *inputs, size_t count,
	       const struct record_range_format *, bool labelled, uint64_t size,
	       struct fail *);

#endif
