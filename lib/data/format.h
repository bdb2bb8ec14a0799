/*
 * format - what a data format has to do: one const struct, one file each.
 *
 * A format reads the records of one file (idx and npy: of two, the labels in
 * the second) and puts what the inputs want into a batch.  A new one is added
 * here and to the table in format.c.
 */
#ifndef PS_FORMAT_H
#define PS_FORMAT_H

#include "base/fail.h"
#include "data/command.h"
#include "data/skip_records.h"
#include "model/batch.h"
#include "model/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order;

/* What to read: borrowed, for as long as the file is open. */
struct read_spec {
	const struct input *inputs;
	size_t count;
	const struct input *label;	/* NULL: labels are not read */
	const struct input *apart;	/* the model's label, if not read */
	bool no_header;
	bool batches;			/* what is read is used as it is: see
					   struct feature, is_gathered */
	struct commands *commands;	/* NULL: "pipe:" is refused */
	const struct skip_records *bad;	/* what may be passed over, or NULL */
	const struct noes *noes;	/* labels that were read, or NULL */
	struct order *order;		/* of the columns so far, or NULL */
};

/*
 * Is the input read of each record?  What does nothing but weigh examples is
 * not where there are no labels; read_spec_unread() puts 1 for it.
 */
static inline bool
read_spec_reads(const struct read_spec *want, const struct input *in)
{
	return want->label || !in->weighs;
}

static inline void
read_spec_unread(struct feature *to, size_t example)
{
	*feature_values(to, example, 1) = 1;
}

struct format {
	const char *name;
	const char *suffix;	/* how its files' names end, or NULL */
	const char *within;	/* what stands in its files' names, or NULL */
	bool pairs;		/* labels are in a second file */
	/* NULL if the files cannot feed what is wanted. */
	void *(*open)(const struct read_spec *, char *const *files,
		      struct fail *);
	/*
	 * Put one record behind the examples of the batch, which the caller
	 * then counts, or pass over it if the batch is NULL.  1; 0: no more.
	 */
	int (*read)(void *, struct batch *, struct fail *);
	/* The same for several at once, up to most: how many.  Or NULL. */
	int (*read_some)(void *, struct batch *, size_t most, struct fail *);
	/* Of what was read this is a batch, to be used as it is.  Or NULL. */
	void (*end_batch)(void *, struct batch *);
	void (*close)(void *);
	/*
	 * Formats of lines: go to the records that begin at byte from or
	 * behind it, but before until, of a plain file that has just been
	 * opened; and where the last one began, or UINT64_MAX if the file is
	 * not plain.  NULL: it is read from the front only.  FAIL_AGAIN: it
	 * can be read as a whole, but not in parts.
	 */
	int (*seek)(void *, uint64_t from, uint64_t until, struct fail *);
	uint64_t (*at)(const void *);
};

extern const struct format format_csv, format_idx, format_npy, format_npz,
	format_svmlight, format_tar, format_tsv;

/* By its name, or NULL. */
const struct format *format_find(const char *name);

/* No format has that name: FAIL_USAGE, with the names that there are. */
int format_unknown(const char *name, struct fail *);


/* By the name of a file, or else svmlight. */
const struct format *format_of(const char *file);

#endif
