/*
 * coord_recover - recovery, when a server or the coordinator was lost.
 */
#ifndef PS_COORD_RECOVER_H
#define PS_COORD_RECOVER_H

#include "coord/coord_private.h"

void recover_init(struct coord *);
void recover_release(struct coord *);
/* Begins a new term for a run that was read from the journal.  The term is
   written when the servers have shown that the journal is the newest one. */
void recover_resume(struct coord *);

/*
 * Begins the recovery procedure, from its first step whatever was lost: all
 * leases are taken back, and coord_advance() waits until all servers are there.
 */
void recover_begin(struct coord *);
/*
 * The steps of the procedure, each when all servers have answered the one
 * before.  recover_ask_plan() sends the plan of a new term; recover_ask_load()
 * the checkpoint to servers without their variables, false: none needs it;
 * recover_end() begins to run the steps again that servers lack.
 */
void recover_ask_plan(struct coord *);
bool recover_ask_load(struct coord *);
void recover_end(struct coord *, uint64_t now_ms);

/* Warns of servers that are gone, and of those that are back. */
void recover_watch(struct coord *, uint64_t now_ms);
/* Write TERM and SERVERS, and read SERVERS back.  -1: the record makes no
   sense, or an endpoint in it cannot be dialled. */
void recover_write_term(struct coord *);
void recover_write_servers(struct coord *, bool safe);
int recover_read_servers(struct coord *, struct unpack *, struct fail *);
const char *recover_check(const struct coord *);

#endif
