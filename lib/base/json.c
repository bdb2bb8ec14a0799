#include "base/json.h"

#include "base/text.h"

#include <jansson.h>

/* Bytes of the character that a text begins with; 0: that is no UTF-8. */
static size_t
character_size(const char *text)
{
	for (size_t n = 1; n <= 4 && text[n - 1] != '\0'; n++) {
		json_t *one = json_stringn(text, n);

		json_decref(one);
		if (one)
			return n;
	}
	return 0;
}

json_t *
json_words(const char *text)
{
	json_t *string = json_string(text);
	struct text mended = { 0 };

	while (!string && *text) {
		const size_t size = character_size(text);

		text_add_bytes(&mended, size ? text : "?", size ? size : 1);
		text += size ? size : 1;
	}
	if (!string)
		string = json_stringn(mended.data, mended.size);
	text_release(&mended);
	return string;
}
