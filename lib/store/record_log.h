/*
 * record_log - a file that only grows, one checked record after another.
 *
 * The coordinator's journal and a server's log are such files.  A record is
 * a head of 32 bytes, numbers little-endian, and its bytes:
 *
 *	0	u32	size of the bytes
 *	4	u32	kind, the owner's
 *	8	u64	how much of the file was known to be safe on disk when
 *			this record was added
 *	16	u64	XXH3-64 of the bytes
 *	24	u64	XXH3-64 of the 24 before and of the head's offset (u64)
 *
 * What was never made safe may come back torn after a crash, in any order,
 * and is cut off when the file is opened again: nothing was promised on it.
 * Damage in what was safe, which a later head tells, is refused.
 *
 *	r = record_log_open("journal", 1 << 20, replay, self, &cut, f);
 *	record_log_append(r, KIND, bytes, size, f);
 *	record_log_sync(r, f);		now it may be acted on
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
	const void *bytes;	/* aligned as malloc's; gone after the call */
	size_t size;
	uint64_t offset;	/* of its head in the file */
};

/* Told each record in order; returns -1 with a failure to stop there. */
typedef int record_log_fn(void *self, const struct record *, struct fail *);

struct record_log;

/*
 * Open a file, made if it is not there, tell what it holds, and be ready to
 * add to it; no record may be larger than limit bytes.  *cut says how many
 * torn bytes at the end were dropped.  A file that another program has open
 * is FAIL_AGAIN; a damaged one is FAIL_DATA with its name and the offset, as
 * is one that never was of this kind, and stays as it is.
 */
struct record_log *record_log_open(const char *path, size_t limit,
				   record_log_fn *, void *self, uint64_t *cut,
				   struct fail *);
/* What was added since record_log_sync() may be lost. */
void record_log_close(struct record_log *);

/* Tell what a file holds and leave it alone, whoever has it open. */
int record_log_replay(const char *path, size_t limit, record_log_fn *,
		      void *self, uint64_t *cut, struct fail *);

/*
 * Add a record; the bytes are copied.  It is in the file, and survives the
 * death of the program, at the next record_log_flush(), and is safe, and
 * survives that of the machine, at the next record_log_sync().  After a failure
 * of any of the three nobody knows what is on disk: the file takes no more,
 * and says so each time.
 */
int record_log_append(struct record_log *, uint32_t kind, const void *, size_t,
		      struct fail *);
/* The same of bytes that lie in pieces. */
int record_log_append_pieces(struct record_log *, uint32_t kind,
			     const struct iovec *, size_t count, struct fail *);
int record_log_flush(struct record_log *, struct fail *);
int record_log_sync(struct record_log *, struct fail *);

/* Empty it, safely: nothing of it is wanted any more. */
int record_log_reset(struct record_log *, struct fail *);

/*
 * Drop all before the record at this offset, safely: another file takes the
 * place of this one, at once.  After a failure it may be as it was.
 */
int record_log_drop(struct record_log *, uint64_t before, struct fail *);

/* Bytes in the file, those not yet flushed too; and those that are safe. */
uint64_t record_log_size(const struct record_log *);
uint64_t record_log_safe(const struct record_log *);

#endif
