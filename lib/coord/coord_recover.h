/*
 * coord_recover - what is done when a server has lost something.
 */
#ifndef PS_COORD_RECOVER_H
#define PS_COORD_RECOVER_H

#include "coord/coord_private.h"

void recover_init(struct coord *);
void recover_release(struct coord *);
/* This one goes on with a run: a new term, which is noted when the servers
   have shown that this is the journal of it. */
void recover_resume(struct coord *);

/*
 * Something was lost: go through the whole procedure, from its beginning.
 * coord_advance() has it wait until all servers are there.
 */
void recover_begin(struct coord *);
/* Its steps: the plan; the checkpoint, unless nobody needs it; the end. */
void recover_ask_plan(struct coord *);
bool recover_ask_load(struct coord *);
void recover_end(struct coord *, uint64_t now_ms);

void recover_watch(struct coord *, uint64_t now_ms);
/* In the journal.  -1: it makes no sense. */
void recover_write_term(struct coord *);
void recover_write_servers(struct coord *, bool safe);
int recover_read_servers(struct coord *, struct unpack *, struct fail *);
const char *recover_check(const struct coord *);

#endif
