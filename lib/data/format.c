#include "data/format.h"

#include "base/choices.h"

#include <string.h>
#include <strings.h>

#define ADDRESS(name)	&format_##name,
static const struct format *const formats[] = { FORMAT_TABLE(ADDRESS) };

#define FORMATS	(sizeof(formats) / sizeof(*formats))

const struct format *
format_find(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

int
format_unknown(const char *name, struct fail *f)
{
	struct choices names = { .word = name };

	for (size_t i = 0; i < FORMATS; i++)
		choices_add(&names, formats[i]->name);
	return choices_refuse(&names, FAIL_USAGE, NULL, "data format", f);
}

/* If a name of *size characters ends with the suffix, in either case, take that
   off. */
static bool
strip(const char *name, size_t *size, const char *suffix)
{
	const size_t n = strlen(suffix);

	if (*size <= n || strncasecmp(name + *size - n, suffix, n) != 0)
		return false;
	*size -= n;
	return true;
}

static bool
contains(const char *name, size_t size, const char *word)
{
	const size_t n = strlen(word);

	for (size_t i = 0; i + n <= size; i++)
		if (memcmp(name + i, word, n) == 0)
			return true;
	return false;
}

const struct format *
format_of(const char *file)
{
	static const char *const packed[] = {
		".gz", ".zst", ".xz", ".bz2", ".lz4", ".lz"
	};
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	size_t size = strlen(name);

	if (strncmp(file, "pipe:", 5) == 0)
		return &format_svmlight;
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++)
		if (strip(name, &size, packed[i]))
			break;
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i]->suffix &&
		    strip(name, &size, formats[i]->suffix))
			return formats[i];
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i]->within &&
		    contains(name, size, formats[i]->within))
			return formats[i];
	return &format_svmlight;
}
