/* A model's text, and behind a NUL the file "words" that it may name. */
#include "model/model.h"

#include "fuzz.h"

#include <string.h>

int
fuzz_one(const uint8_t *data, size_t size)
{
	const size_t n = size ? strnlen((const char *)data, size) : 0;
	const size_t rest = size > n ? size - n - 1 : 0;
	char *text = malloc(n + 1), *words = malloc(rest + 1);
	struct model_file file[] = {
		{ (char[]){ "model.ps" }, text, n },
		{ (char[]){ "words" }, words, rest },
	};
	const struct model_source source = { .file = file, .count = 2 };
	struct fail f;

	if (n > 0)
		memcpy(text, data, n);
	text[n] = '\0';
	if (rest > 0)
		memcpy(words, data + n + 1, rest);
	words[rest] = '\0';
	model_free(model_parse(&source, &f));
	free(text);
	free(words);
	return 0;
}
