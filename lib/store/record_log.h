/*
 * record_log - a file to which records with checksums are appended.
 *
 * The coordinator's journal and a server's log are such files.  A record is
 * a head of 32 bytes, numbers little-endian, and its bytes:
 *
 *	0	u32	size of the bytes
 *	4	u32	kind, defined by the owner
 *	8	u64	size of the part of the file that was known to be safe
 *			on disk when this record was added
 *	16	u64	XXH3-64 of the bytes
 *	24	u64	XXH3-64 of the 24 before and of the head's offset (u64)
 *
 * Records that were never made safe may be torn after a crash, in any order.
 * They are cut off when the file is opened again, since nobody has acted on
 * them.  Damage to records that were safe, as a later head shows, is refused.
 *
 *	r = record_log_open("journal", 1 << 20, replay, self, &cut, f);
 *	record_log_append(r, KIND, bytes, size, f);
 *	record_log_sync(r, f);		now the program may act on it
 */
#ifndef PS_RECORD_LOG_H
#define PS_RECORD_LOG_H

#include "base/fail.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define RECORD_HEAD	32	/* bytes before those of each record */

struct record {
	uint32_t kind;
	const void *bytes;	/* aligned as by malloc(); borrowed for the
				   call */
	size_t size;
	uint64_t offset;	/* of its head in the file */
};

/* A function that is called with each record, in order.  Return 0, or -1 with a
   failure, which ends the reading. */
typedef int record_log_fn(void *self, const struct record *, struct fail *);

struct record_log;

/*
 * Open a file, which is made if it is not there, call the function with each
 * record, and prepare to append; no record may have more than limit bytes.
 * *cut is the number of torn bytes that were cut off at the end.  NULL:
 * FAIL_AGAIN if another program has the file open; FAIL_DATA, with name and
 * offset, if it is damaged or is not a record log, and then the file is left as
 * it is.
 */
struct record_log *record_log_open(const char *path, size_t limit,
				   record_log_fn *, void *self, uint64_t *cut,
				   struct fail *);
/* Close it.  Records that were added since the last record_log_sync() may be
   lost. */
void record_log_close(struct record_log *);

/* Call the function with each record of a file, and change nothing; another
   program may have the file open.  Return 0 or -1. */
int record_log_replay(const char *path, size_t limit, record_log_fn *,
		      void *self, uint64_t *cut, struct fail *);

/*
 * Append a record; the bytes are copied.  After the next record_log_flush() the
 * record is in the file, and survives the death of the program; after the next
 * record_log_sync() it is safe, and survives the death of the machine.  Return
 * 0, or -1 (FAIL_IO).  After a failure of any of the three nobody knows what is
 * on disk, so all later calls fail, too.
 */
int record_log_append(struct record_log *, uint32_t kind, const void *, size_t,
		      struct fail *);
/* The same for the bytes of count pieces, one after the other. */
int record_log_append_pieces(struct record_log *, uint32_t kind,
			     const struct iovec *, size_t count, struct fail *);
int record_log_flush(struct record_log *, struct fail *);
int record_log_sync(struct record_log *, struct fail *);

/* Remove all records, safely.  Return 0 or -1. */
int record_log_reset(struct record_log *, struct fail *);

/*
 * Remove all records before the one at an offset, safely: a new file replaces
 * this one by a rename.  Return 0; or -1, and the old file may still be there.
 */
int record_log_drop(struct record_log *, uint64_t before, struct fail *);

/* Return the bytes in the file, with those that are not flushed yet; and the
   bytes that are safe. */
uint64_t record_log_size(const struct record_log *);
uint64_t record_log_safe(const struct record_log *);

#endif
