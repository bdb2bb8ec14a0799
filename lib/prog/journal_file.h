/*
 * journal_file - the coordinator's journal on disk.
 */
#ifndef PS_JOURNAL_FILE_H
#define PS_JOURNAL_FILE_H

#include "coord/coord.h"
#include "sys/stream.h"

struct journal_file;

/*
 * Open the journal at this path, and lock it.  A record of more than `most`
 * bytes is written in parts; 0: more than 32 MiB.  Return NULL with the reason:
 * FAIL_AGAIN if another program has it, FAIL_DATA if it is damaged, or
 * FAIL_CONFIG if it is of another version.  The journal of a run that has
 * finished is emptied.
 */
struct journal_file *journal_file_open(const char *path, size_t most,
				       struct fail *);
/*
 * Close it.  The file of a run that has finished, or has not begun, is removed.
 */
void journal_file_close(struct journal_file *);
/*
 * Return where the coordinator adds records, for requests from this stream;
 * NULL without a journal. Good until the close.
 */
const struct journal *journal_file_sink(struct journal_file *,
					const struct stream *in);
/* Return its path if it has a run that broke off; or NULL. */
const char *journal_file_resumed(const struct journal_file *);

/*
 * Begin a run, or resume the one that broke off, in this order: replay the
 * journal to the coordinator, skip the requests up to the last line that it
 * took, and open the output.  Results behind those known to be written are cut
 * off, but only once the run has been found to be this one.  Return the
 * descriptor of the output, and set *written to the bytes of results; or -1
 * with the reason.  Without a journal (NULL) the run is new.
 */
int journal_file_begin(struct journal_file *, struct coord *,
		       struct stream *in, const char *output,
		       uint64_t *written, struct fail *);

#endif
