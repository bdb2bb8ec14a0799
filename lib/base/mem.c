#include "base/mem.h"

#include "base/fail.h"
#include "base/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *
checked(void *p, size_t count, size_t size)
{
	if (!p) {
		log_error("out of memory: %zu x %zu bytes cannot be had",
			  count, size);
		_exit(FAIL_MEMORY);
	}
	return p;
}

void *
mem_alloc(size_t count, size_t size)
{
	if (count == 0 || size == 0)
		count = size = 1;	/* never NULL, whatever calloc does */
	return checked(calloc(count, size), count, size);
}

void *
mem_resize(void *p, size_t count, size_t size)
{
	if (count == 0 || size == 0)
		count = size = 1;
	if (count > SIZE_MAX / size)
		return checked(NULL, count, size);
	return checked(realloc(p, count * size), count, size);
}

char *
mem_text(const char *text)
{
	return mem_text_n(text, strlen(text));
}

char *
mem_text_n(const char *text, size_t n)
{
	char *copy = mem_alloc(n + 1, 1);

	memcpy(copy, text, n);
	return copy;
}

void *
mem_copy(const void *bytes, size_t size)
{
	void *copy = mem_alloc(size, 1);

	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

void *
mem_grow(void *p, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return p;
	*room = count < 8 ? 8 : 2 * count;
	return mem_resize(p, *room, size);
}
