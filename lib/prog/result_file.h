/* result_file - a file to which results are added, each once. */
#ifndef PS_RESULT_FILE_H
#define PS_RESULT_FILE_H

#include "base/fail.h"

#include <stdint.h>

/*
 * Open a file to add to, locked, and made if it does not exist.  Set *lines to
 * the number of its lines; an incomplete last line is cut off.  For NULL return
 * standard output, and set *lines to WIRE_NONE: not known.  Return the
 * descriptor, or -1 with the reason.
 */
int result_file_open(const char *path, uint64_t *lines, struct fail *);

#endif
