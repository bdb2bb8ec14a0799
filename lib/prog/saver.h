/*
 * saver - a server's work on files: parts of checkpoints.
 *
 * Parts are written in a thread, one at a time, from a frozen snapshot, while
 * the server continues.  They are read at once, since nothing is trained
 * meanwhile.
 */
#ifndef PS_SAVER_H
#define PS_SAVER_H

#include "server/server.h"

struct saver;

/*
 * Return a saver for a folder; NULL: the server has none.  shared: the folder
 * may have other things than checkpoints, so a run without checkpoints is not
 * warned of.  The path is borrowed; the caller frees the saver.
 */
struct saver *saver_new(const char *dir, bool shared);
void saver_free(struct saver *);	/* waits for the writing */

/*
 * Check that the server has the folder for these checkpoints: a
 * server_can_save, for server_saves().
 */
server_can_save saver_can;

/* Return a descriptor that is readable when something has been written. */
int saver_fd(const struct saver *);

/*
 * Report what has been written, and begin what is asked for.  Return whether a
 * checkpoint was loaded.
 */
bool saver_run(struct saver *, struct server *);

#endif
