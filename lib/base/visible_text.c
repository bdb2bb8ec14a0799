#include "base/visible_text.h"

#include "base/visible.h"

#include <string.h>

void
visible_add(struct text *out, const char *text, size_t size)
{
	char part[256];

	text_add_bytes(out, "", 0);
	for (size_t at = 0; at < size; ) {
		at += visible_copy(part, sizeof(part), text + at, size - at);
		text_add(out, "%s", part);
	}
}

/* JSON writes code points above 0xffff as two surrogates of UTF-16. */
static void
add_escape(struct text *out, uint32_t c)
{
	if (c < 0x10000)
		text_add(out, "\\u%04x", (unsigned)c);
	else
		text_add(out, "\\u%04x\\u%04x",
			 (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			 (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
}

void
visible_add_json(struct text *out, const char *json)
{
	const char *from = json, *end = json + strlen(json);
	uint32_t c = 0;
	size_t n;

	text_add_bytes(out, "", 0);
	for (const char *p = json; p < end; p += n) {
		n = visible_decode((const unsigned char *)p, (size_t)(end - p),
				   &c);
		if (n == 0)
			n = 1;	/* cannot be: jansson writes only UTF-8 */
		/* ASCII's controls are escaped already, and line ends may
		   stand between strings. */
		if (c < 0x7f || !visible_hides(c))
			continue;
		text_add_bytes(out, from, (size_t)(p - from));
		add_escape(out, c);
		from = p + n;
	}
	text_add_bytes(out, from, (size_t)(end - from));
}
