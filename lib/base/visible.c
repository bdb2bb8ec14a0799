#include "base/visible.h"

#include <stdint.h>
#include <string.h>

/* Code points that must not be shown, besides ASCII's, in ascending order. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x80, 0x9f },		/* C1: 9b begins a terminal's sequence */
	{ 0x61c, 0x61c },	/* bidi: Arabic letter mark */
	{ 0x180e, 0x180e },
	{ 0x200b, 0x200b },	/* zero width space */
	{ 0x200e, 0x200f },	/* bidi: marks */
	{ 0x2028, 0x202e },	/* ends of lines; bidi: embeddings, overrides */
	{ 0x2060, 0x206f },	/* invisible; bidi: isolates */
	{ 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb },
	{ 0xe0000, 0xe0fff },	/* tags and other invisible characters */
};

bool
visible_hides(uint32_t c)
{
	if (c < 0x80)
		return c < 0x20 || c == 0x7f;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

/* RFC 3629: the shortest form, no surrogates, up to U+10FFFF. */
size_t
visible_decode(const unsigned char *p, size_t size, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 :
		*p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

	if (n == 0 || n > size)
		return 0;
	*c = n == 1 ? *p : *p & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	return *c < least[n] || *c > 0x10ffff ||
		(*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

size_t
visible_character(const char *text, size_t size, bool *shown)
{
	uint32_t c = 0;
	const size_t n = size == 0 ? 0 :
		visible_decode((const unsigned char *)text, size, &c);

	*shown = n > 0 && !visible_hides(c);
	return n;
}

size_t
visible_copy(char *to, size_t room, const char *text, size_t size)
{
	size_t at = 0, n = 0, step;

	for (; at < size; at += step) {
		bool shown;
		const size_t of = visible_character(text + at, size - at,
						    &shown);

		step = of > 0 ? of : 1;
		if (n + (shown ? step : 1) >= room)
			break;
		if (shown)
			memcpy(to + n, text + at, step);
		else
			to[n] = '?';
		n += shown ? step : 1;
	}
	to[n] = '\0';
	return at;
}
