/*
 * process_group - signals process groups that we have launched, and finds what
 * is left of them.
 *
 * A process whose parent has ended becomes a child of a program that has called
 * process_group_adopt(), if that is an ancestor.  So the program is told of the
 * end of each process of its groups by SIGCHLD, overlooks none, and the number
 * of a group is not reused before the program knows that the group has gone.
 */
#ifndef PS_PROCESS_GROUP_H
#define PS_PROCESS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From now on, adopt descendants whose parents have ended. */
void process_group_adopt(void);

/* Has a group no process any more?  True of a number that is not above 0. */
bool process_group_is_gone(pid_t group);

/* Send a signal to all processes of a group, unless it is gone. */
void process_group_signal(pid_t group, int number);

/*
 * List the groups of our children, one entry for each child, and return the
 * number of entries.  A child in another session has left us on purpose, and is
 * not listed.  *group, of *room items, is resized; the caller frees it.
 */
size_t process_group_children(pid_t **group, size_t *room);

#endif
