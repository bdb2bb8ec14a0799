/*
 * journal_file - the coordinator's journal on disk.
 */
#ifndef PS_JOURNAL_FILE_H
#define PS_JOURNAL_FILE_H

#include "coord/coord.h"
#include "sys/stream.h"

struct journal_file;

/* Open the journal of this path, for nobody else.  What has more bytes than
   that lies in parts in it; 0: than a record of the file should have. */
struct journal_file *journal_file_open(const char *path, size_t most,
				       struct fail *);
void journal_file_close(struct journal_file *);
/* For requests from there; NULL without a journal. */
const struct journal *journal_file_sink(struct journal_file *,
					const struct stream *in);
/* Its path, if there is a run that broke off; or NULL. */
const char *journal_file_resumed(const struct journal_file *);

/*
 * Begin anew, or where a run broke off: the coordinator is told what it was,
 * the requests are taken up behind the last line that it took, and results
 * behind those that are known to have been written: what follows these in the
 * output is to be cut off, but not before the run has been found to be ours.
 * Returns where to write.  Without a journal (NULL) it is anew.
 */
int journal_file_begin(struct journal_file *, struct coord *,
		       struct stream *in, const char *output,
		       uint64_t *written, struct fail *);

#endif
