#include "sys/argv.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
argv_release(struct argv *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct argv){ 0 };
}

/* Append a word and take it over; NULL is an empty word. */
static void
add(struct argv *w, char *word)
{
	w->word = mem_grow(w->word, w->count + 1, &w->room, sizeof(*w->word));
	w->word[w->count++] = word ? word : mem_text("");
	w->word[w->count] = NULL;
}

void
argv_add(struct argv *w, const char *format, ...)
{
	va_list args, again;
	size_t size;
	char *word;

	va_start(args, format);
	va_copy(again, args);
	size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
	word = mem_alloc(size, 1);
	vsnprintf(word, size, format, again);
	va_end(again);
	va_end(args);
	add(w, word);
}

void
argv_fill(struct argv *w, const char *word, size_t index, uint64_t count)
{
	struct text filled = { 0 };

	for (; *word; word++) {
		if (word[0] != '%' || (word[1] != 'i' && word[1] != 'n'))
			text_add_bytes(&filled, word, 1);
		else if (*++word == 'i')
			text_add(&filled, "%zu", index);
		else
			text_add(&filled, "%" PRIu64, count);
	}
	add(w, filled.data);
}
