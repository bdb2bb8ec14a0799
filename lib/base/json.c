#include "base/json.h"

#include "base/mem.h"
#include "base/visible.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

json_t *
json_words(const char *text)
{
	json_t *string = json_string(text);
	struct text mended = { 0 };

	while (!string && *text) {
		bool shown;
		const size_t size = visible_character(text, strlen(text),
						      &shown);

		text_add_bytes(&mended, size ? text : "?", size ? size : 1);
		text += size ? size : 1;
	}
	if (!string)
		string = json_stringn(mended.data, mended.size);
	text_release(&mended);
	return string;
}

char *
json_line(const json_t *value, size_t flags)
{
	char *dump = json_dumps(value, flags), *line;
	struct text escaped = { 0 };

	if (!dump)
		return NULL;
	visible_add_json(&escaped, dump);
	line = mem_text(escaped.data);
	text_release(&escaped);
	free(dump);
	return line;
}
