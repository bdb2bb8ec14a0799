/*
 * saver - a server's work on files: parts of checkpoints.
 *
 * Written in a thread of its own, one at a time, while the server goes on:
 * what is written is frozen.  Read at once: nobody trains meanwhile.
 */
#ifndef PS_SAVER_H
#define PS_SAVER_H

#include "server/server.h"

struct saver;

/* NULL: there is none; or there may be something else than checkpoints, so
   that a run without any is nothing to wonder at. */
struct saver *saver_new(const char *dir, bool shared);
void saver_free(struct saver *);	/* waits for what is being written */

/* Has it the directory of such checkpoints?  It is a server_can_save. */
server_can_save saver_can;

/* Readable when something has been written. */
int saver_fd(const struct saver *);

/* End what has been written, begin what is asked for.  Has it loaded? */
bool saver_run(struct saver *, struct server *);

#endif
