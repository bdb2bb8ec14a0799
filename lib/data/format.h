/*
 * format - the interface of a data format: one const struct, one file each.
 *
 * A format reads the records of one file (idx and npy: of two, the second has
 * the labels) and puts the values of the inputs into a batch.  A new format is
 * a word in the table below.
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

/* What to read.  All of it is borrowed as long as the file is open. */
struct read_spec {
	const struct input *inputs;
	size_t count;			/* of inputs */
	const struct input *label;	/* NULL: labels are not read */
	const struct input *apart;	/* the model's label, if label is NULL;
					   its columns are set apart */
	bool no_header;			/* csv, tsv: columns are 1, 2, 3 ... */
	bool batches;			/* records are used in the order in
					   which they are read, so a cache may
					   store whole batches */
	struct commands *commands;	/* NULL: "pipe:" is refused */
	const struct skip_records *bad;	/* how many bad records are skipped;
					   NULL: none */
	const struct negative_labels *negatives;	/* so far; or NULL */
	struct order *order;		/* of columns in earlier files; NULL:
					   not checked */
};

/*
 * Is the input read from each record?  Without labels, an input that only
 * weighs examples is not; read_spec_unread() gives an example its value, 1.
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
	const char *suffix;	/* the end of its files' names, or NULL */
	const char *within;	/* a part of its files' names, or NULL */
	bool pairs;		/* labels are in a second file */
	/*
	 * Open a file, or two if pairs and labels are read.  Return a state for
	 * the other functions, or NULL if the files cannot feed the inputs.
	 */
	void *(*open)(const struct read_spec *, char *const *files,
		      struct fail *);
	/*
	 * Append one record to the batch, or pass over it if the batch is
	 * NULL.  Return 1, and the caller adds it to batch->examples; 0 after
	 * the last record; or -1.  After a skippable failure the next call
	 * reads the next record.
	 */
	int (*read)(void *, struct batch *, struct fail *);
	/*
	 * The same for up to most records; return how many.  NULL: the format
	 * reads one at a time.
	 */
	int (*read_some)(void *, struct batch *, size_t most, struct fail *);
	/*
	 * The batch is filled, only with records that were read, in order
	 * (read_spec.batches).  NULL: the format need not know.
	 */
	void (*end_batch)(void *, struct batch *);
	void (*close)(void *);
	/*
	 * Formats of lines; NULL: a file is read from the front only.  Restrict
	 * a plain file that has just been opened to the records that begin at
	 * byte from or after it, and before byte until.  Return 0 or -1; a
	 * later read fails with FAIL_AGAIN if this file can only be read as a
	 * whole.
	 */
	int (*seek)(void *, uint64_t from, uint64_t until, struct fail *);
	/*
	 * Return the byte at which the last record began; UINT64_MAX if the
	 * file is not plain.  NULL where seek is.
	 */
	uint64_t (*at)(const void *);
};

/* All formats. */
#define FORMAT_TABLE(F)	F(csv) F(idx) F(npy) F(npz) F(svmlight) F(tar) F(tsv)

#define FORMAT_DECLARE(name)	extern const struct format format_##name;
FORMAT_TABLE(FORMAT_DECLARE)
#undef FORMAT_DECLARE

/* " csv idx ...", as the help of -F has them. */
#define FORMAT_NAME(name)	" " #name
#define FORMAT_NAMES		FORMAT_TABLE(FORMAT_NAME)

/* Return the format of that name, as -F has it, or NULL. */
const struct format *format_find(const char *name);

/* Fail, FAIL_USAGE: no format has that name; the message lists all names. */
int format_unknown(const char *name, struct fail *);


/*
 * Return the format that the name of a file suggests, by its suffix or a part
 * of it, without the suffix of a compression; svmlight for all others and for
 * "pipe:".
 */
const struct format *format_of(const char *file);

#endif
