/*
 * reader - examples out of files, batch by batch.
 *
 * Every input goes through libarchive: compressed or not, from a file, "-"
 * (standard input) or "pipe:COMMAND".  Formats are a table, one file each.
 * Bad input is "file:line: what is wrong", FAIL_DATA; nothing is skipped
 * unless that is wanted.
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
	size_t shuffle;		/* buffer of that many examples; 0: none */
	uint64_t seed;		/* of the shuffling */
	bool repeat;		/* begin again at the end; batches run on;
				   not with standard input */
	uint64_t shard, shards;	/* keep records r with r % shards == shard;
				   shards 0: all */
	bool unlabelled;	/* labels are not read, and may be missing:
				   batches have no label (prediction) */
	bool allow_pipe;	/* "pipe:" is ours to run, not a peer's word: */
	struct commands *commands;	/* is put here, borrowed; NULL:
					   refused.  See prefetch_open(). */
	uint64_t max_bad;	/* malformed records of a pass that are passed
				   over, see skip_records.h */
	const atomic_bool *stop;	/* leave off, with FAIL_PEER, when it
					   is true; or NULL; borrowed */
	bool trained_with;	/* what prefetch prepares of a batch: see
				   compute_prepare_blocks() */
	const char *cache;	/* folder of caches, borrowed; "": beside the
				   inputs; NULL: none */
};

struct reader;

/* Is it the name of a format? */
bool reader_format(const char *name);

/*
 * The inputs are borrowed; label may be NULL.  Names are copied.  Files are
 * opened as they are reached, the first one at once.
 */
struct reader *reader_open(char *const *files, size_t count,
			   const struct reader_options *,
			   const struct input *inputs, size_t input_count,
			   const struct input *label, struct fail *);
void reader_close(struct reader *);

/*
 * Fill a batch (begun by the caller) with up to n examples, after emptying
 * it.  1: there are some, fewer than n only at the end; 0: no more; -1.
 * An input without a single record is FAIL_NOINPUT.  After a bad record, which
 * is counted and takes its batch with it, the next call goes on behind it.
 * label.input of the batch is the label that is read, or NULL.
 */
int reader_next(struct reader *, size_t n, struct batch *, struct fail *);

/* Records read so far, good and bad, of all passes and before sharding. */
uint64_t reader_records(const struct reader *);

#endif
