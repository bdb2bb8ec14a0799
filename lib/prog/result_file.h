/*
 * result_file - results that are added to a file, each once.
 */
#ifndef PS_RESULT_FILE_H
#define PS_RESULT_FILE_H

#include "base/fail.h"

#include <stdint.h>

/*
 * To add to: a file that nobody else writes to, made if it is not there, and
 * how many lines it has; what follows the last whole one is cut off.  Or
 * standard output (NULL), of which that is not known: WIRE_NONE.
 */
int result_file_open(const char *path, uint64_t *lines, struct fail *);

#endif
