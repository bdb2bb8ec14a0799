/*
 * pairs - "id:value id:value ..." out of a line, at the speed of memory.
 */
#ifndef PS_PAIRS_H
#define PS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#define PAIRS_SHORTEST	4	/* characters of one, with its blank */

/*
 * Read pairs that are plainly written, each behind one blank or at p: ids of
 * up to 8 digits that ascend, and numbers as number_short() takes them.  There
 * are *count of them.  An id is stored less the first one that there may be, 0
 * or 1, and then at least next and below rows.  It returns where it stopped:
 * at a blank or the NUL that ends the line, at the first pair that is not as
 * plain, or at one that is wrong, which others will find out.  The values are
 * those of strtof().
 *
 * id and value have room for one of every PAIRS_SHORTEST characters of the
 * line, and one more; LINE_SLACK bytes behind its end can be read.
 */
const char *pairs_read(const char *p, uint64_t first, uint64_t next,
		       uint64_t rows, uint32_t *id, float *value,
		       size_t *count);

#endif
