/*
 * mem - allocation that does not fail.
 *
 * Running out of memory is the one error that no caller can repair: these
 * functions then end the program at once, with status FAIL_MEMORY, and never
 * return NULL.  A caller checks every size that came from outside against a
 * limit first.
 */
#ifndef PS_MEM_H
#define PS_MEM_H

#include <stddef.h>

void *mem_alloc(size_t count, size_t size);	/* zeroed */
void *mem_resize(void *, size_t count, size_t size);
char *mem_text(const char *);			/* a copy */
char *mem_text_n(const char *, size_t n);	/* of the first n bytes */
void *mem_copy(const void *, size_t size);

/*
 * Make room for one more item: after
 * "list = mem_grow(list, count, &room, sizeof(*list))" the list holds at least
 * count + 1 items.  When it is full its room doubles; new items are not zeroed.
 */
void *mem_grow(void *, size_t count, size_t *room, size_t size);

#endif
