/* Both manifests of a checkpoint.  The hash at the beginning is corrected
   first: otherwise hardly a byte after it would be read. */
#include "store/manifest.h"

#include "fuzz.h"

#include <string.h>

#define HEAD	48

static char *
seal(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), sum[HASH_TEXT];
	struct hash *hash = hash_new();

	memcpy(text, data, size);
	text[size] = '\0';
	if (size > HEAD) {
		hash_add(hash, text + HEAD, size - HEAD);
		hash_text(hash, sum);
		memcpy(text + 13, sum, HASH_TEXT - 1);
	}
	hash_free(hash);
	return text;
}

static void
read_part(const char *text, size_t size)
{
	struct manifest_part p = { 0 };
	struct text back = { 0 };
	struct fail f;

	if (manifest_part_read(&p, text, size, &f) == 0) {
		for (size_t i = 0; i < p.count; i++)
			FUZZ_CHECK(shape_sound(&p.member[i].shape));
		manifest_part_write(&p, &back);
	}
	text_release(&back);
	manifest_part_release(&p);
}

static void
read_whole(const char *text, size_t size)
{
	struct manifest m = { 0 };
	struct text back = { 0 };
	struct fail f;

	if (manifest_read(&m, text, size, &f) == 0) {
		manifest_agrees(&m, NULL, 0);
		manifest_write(&m, NULL, 0, &back);
	}
	text_release(&back);
	manifest_release(&m);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	char *text = seal(data, size);

	read_part(text, size);
	read_whole(text, size);
	free(text);
	return 0;
}
