/*
 * wal - the log of a server: what it has acted on is on disk.
 *
 *	DIR/log-0/lock		held by the one server that has this log
 *	DIR/log-0/00000003	segments, the oldest first
 *
 * A segment begins with what leads to the state it starts from: a PLAN, and
 * the LOAD of a checkpoint unless that is the initial values.  Behind it are
 * changes, each the bytes of the message that made it.  With a cut for a
 * checkpoint a new one begins; when the checkpoint is published, those before
 * it are removed.  A restart goes from the newest segment whose checkpoint is
 * there, and not one of that name that was there before the cut, through all
 * that follow.
 *
 * A log of steps that are in no checkpoint, of a run that nobody has said to
 * be over, is kept in DIR/log-0.old when another run begins: the newest one.
 */
#ifndef PS_WAL_H
#define PS_WAL_H

#include "server/server.h"

struct wal;

/*
 * Open the log of the server of this index, and have the server be what it
 * was.  NULL: FAIL_AGAIN, another program has it; FAIL_DATA, it is damaged,
 * or lacks its checkpoint.
 */
struct wal *wal_open(const char *dir, uint64_t index,
		     struct server *, struct fail *);
void wal_close(struct wal *);

/*
 * Make safe what the server holds, all of it at once, and let it act on that.
 * -1: it cannot be written; nothing may be answered any more.
 */
int wal_run(struct wal *, struct server *, struct fail *);

#endif
