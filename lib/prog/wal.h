/*
 * wal - the log of a server: all changes that it has acted on are on disk.
 *
 *	DIR/log-0/lock		held by the one server that has this log
 *	DIR/log-0/00000003	segments, the oldest first
 *
 * A segment begins with what leads to the state that it starts from: a PLAN
 * and, unless that state is the initial values, the LOAD of a checkpoint.  The
 * changes follow, each the bytes of the message that made it.  A cut for a
 * checkpoint begins a new segment; when the checkpoint is published, the
 * segments before it are removed.  A restart replays the log from the newest
 * segment whose checkpoint is there (and is not another one of the same name,
 * from before the cut), through all segments that follow.
 *
 * When another run begins, and the log has steps that are in no checkpoint, of
 * a run that was not reported to be over, the log is kept as DIR/log-0.old, in
 * place of an older one.
 */
#ifndef PS_WAL_H
#define PS_WAL_H

#include "server/server.h"

struct wal;

/*
 * Open the log of the server with this index, and replay it to the server.
 * Return it, for the caller to close; or NULL: FAIL_AGAIN, another program has
 * it, or we are told to stop; FAIL_CONFIG, it is of another release; FAIL_DATA,
 * it is damaged or lacks its checkpoint.
 */
struct wal *wal_open(const char *dir, uint64_t index,
		     struct server *, struct fail *);
void wal_close(struct wal *);

/*
 * Write the changes that the server holds, all by one sync, and then let it act
 * on them.  Return 0; or -1 if they cannot be written, and then the server may
 * answer nothing any more.
 */
int wal_run(struct wal *, struct server *, struct fail *);

#endif
