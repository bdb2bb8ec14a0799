/*
 * reader - reads examples out of files, batch by batch.
 *
 * Every input goes through libarchive: compressed or not, from a file, "-"
 * (standard input) or "pipe:COMMAND".  Each format is a file of its own, and a
 * line in the table of format.c.  A malformed record is FAIL_DATA,
 * "file:line: what is wrong"; none is skipped unless max_bad allows it.
 */
#ifndef PS_READER_H
#define PS_READER_H

#include "base/fail.h"
#include "data/command.h"
#include "model/batch.h"
#include "model/input.h"

#include <stdatomic.h>
#include <stdbool.h>

struct reader_options {
	const char *format;	/* "svmlight" ...; NULL: by the file's name,
				   else svmlight */
	bool no_header;		/* csv, tsv: columns are called 1, 2, 3 ... */
	size_t shuffle;		/* draw from a buffer of that many examples;
				   0: do not shuffle */
	uint64_t seed;		/* of the shuffling */
	bool repeat;		/* begin again at the end; a batch may have the
				   end of one pass and the beginning of the
				   next; not with standard input */
	uint64_t shard, shards;	/* keep records r with r % shards == shard;
				   shards 0: all */
	bool unlabelled;	/* labels are not read, and may be missing:
				   batches have no label (prediction) */
	bool allow_pipe;	/* the inputs come from our command line, not
				   from a peer: "pipe:" may run.  prefetch
				   reads it and sets commands. */
	struct commands *commands;	/* running "pipe:" commands are listed
					   here; borrowed; NULL: refused */
	uint64_t max_bad;	/* malformed records that one pass may skip,
				   see skip_records.h */
	const atomic_bool *stop;	/* when it is true, reading fails with
					   FAIL_PEER; or NULL; borrowed */
	bool trained_with;	/* not for the reader: the batches are trained
				   on, and prefetch prepares them for it, see
				   compute_prepare_blocks() */
	const char *cache;	/* folder of caches, borrowed; "": beside the
				   inputs; NULL: none */
};

struct reader;

/* Is there a format of that name? */
bool reader_format(const char *name);

/*
 * Open inputs; the first file is opened at once, each other one when it is
 * reached.  The files' names are copied; the inputs and the label, which may be
 * NULL, are borrowed.  Return NULL for bad options (FAIL_USAGE), or if the
 * first file cannot be read or cannot feed the inputs.
 */
struct reader *reader_open(char *const *files, size_t count,
			   const struct reader_options *,
			   const struct input *inputs, size_t input_count,
			   const struct input *label, struct fail *);
void reader_close(struct reader *);

/*
 * Empty a batch, which the caller has begun, and fill it with n examples, or
 * fewer at the end.  batch->label.input becomes the label that is read, or
 * NULL.  Return 1 if the batch has examples, 0 if there are no more, or -1.
 *
 * An input without a record is FAIL_NOINPUT.  A failure of a bad record loses
 * the examples of this batch; the next call resumes after that record.
 */
int reader_next(struct reader *, size_t n, struct batch *, struct fail *);

/* Return the number of records read so far: good and bad, of all passes and of
   all shards. */
uint64_t reader_records(const struct reader *);

#endif
