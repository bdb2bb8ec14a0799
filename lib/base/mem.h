/*
 * mem - allocation that does not fail.
 *
 * Running out of memory is the one error no caller can repair, so these end
 * the program, there and then, with FAIL_MEMORY; they never return NULL.
 * Check every size that came from outside against a limit before it gets
 * here.
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
 * Room for one more: "list = mem_grow(list, count, &room, sizeof(*list))"
 * makes it hold at least count + 1 items, doubling room when it must.
 */
void *mem_grow(void *, size_t count, size_t *room, size_t size);

#endif
