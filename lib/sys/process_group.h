/*
 * process_group - process groups that we have launched, and what they left
 * behind.
 *
 * Who adopts is the parent of all that its children started, once theirs have
 * ended.  So none of a group is overlooked, each end is a SIGCHLD, and no
 * number of a group is another's before we know that ours has gone.
 */
#ifndef PS_PROCESS_GROUP_H
#define PS_PROCESS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void process_group_adopt(void);

/* Nobody is in it any more; none was, if it is not above 0. */
bool process_group_is_gone(pid_t group);

/* To all of it, if it is not gone. */
void process_group_signal(pid_t group, int number);

/*
 * The groups of those children of ours that are of our session, each as often
 * as it has such; returns how many.  *group is resized, to be freed at last.
 * Those of another session have left us on purpose.
 */
size_t process_group_children(pid_t **group, size_t *room);

#endif
