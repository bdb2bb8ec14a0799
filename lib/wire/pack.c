#include "wire/pack.h"

#include "base/mem.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The format bytes, as the MessagePack specification names them. */
enum {
	FIXINT_MAX	= 0x7f,
	FIXARRAY	= 0x90, FIXARRAY_MAX = 0x9f,
	BIN8		= 0xc4, BIN16, BIN32,
	UINT8		= 0xcc, UINT16, UINT32, UINT64,
	ARRAY16		= 0xdc, ARRAY32
};

void
pack_release(struct pack *p)
{
	free(p->data);
	*p = (struct pack){ 0 };
}

void
pack_reset(struct pack *p)
{
	p->size = 0;
}

/* What msgpack-c calls to write. */
static int
put(void *to, const char *bytes, size_t n)
{
	struct pack *p = to;

	if (p->room - p->size < n) {
		p->room = 2 * p->room + n;
		p->data = mem_resize(p->data, p->room, 1);
	}
	if (n > 0)
		memcpy(p->data + p->size, bytes, n);
	p->size += n;
	return 0;
}

void
pack_array(struct pack *p, size_t count)
{
	msgpack_packer to = { .data = p, .callback = put };

	msgpack_pack_array(&to, count);
}

void
pack_uint(struct pack *p, uint64_t value)
{
	msgpack_packer to = { .data = p, .callback = put };

	msgpack_pack_uint64(&to, value);
}

void
pack_blob(struct pack *p, const void *bytes, size_t size)
{
	msgpack_packer to = { .data = p, .callback = put };

	msgpack_pack_bin(&to, size);
	msgpack_pack_bin_body(&to, bytes, size);
}

void
pack_append(struct pack *p, const struct pack *more)
{
	put(p, (const char *)more->data, more->size);
}

void
pack_text(struct pack *p, const char *text)
{
	pack_blob(p, text, strlen(text));
}

struct unpack
unpack_from(const void *bytes, size_t size)
{
	const unsigned char *start = bytes;

	return (struct unpack){ start, size ? start + size : start, false };
}

bool
unpack_ok(const struct unpack *u)
{
	return !u->bad && u->next == u->end;
}

size_t
unpack_left(const struct unpack *u)
{
	return u->bad ? 0 : (size_t)(u->end - u->next);
}

/* The next n bytes, or NULL once anything has gone wrong. */
static const unsigned char *
take_bytes(struct unpack *u, size_t n)
{
	const unsigned char *bytes = u->next;

	if (u->bad || (size_t)(u->end - u->next) < n) {
		u->bad = true;
		return NULL;
	}
	u->next += n;
	return bytes;
}

static uint64_t
mark_bad(struct unpack *u)
{
	u->bad = true;
	return 0;
}

/* A number of n bytes, big end first, that no shorter form could hold. */
static uint64_t
take_number(struct unpack *u, size_t n, uint64_t least)
{
	const unsigned char *bytes = take_bytes(u, n);
	uint64_t number = 0;

	for (size_t i = 0; bytes && i < n; i++)
		number = number << 8 | bytes[i];
	return bytes && number < least ? mark_bad(u) : number;
}

uint32_t
unpack_array(struct unpack *u)
{
	const uint64_t format = take_number(u, 1, 0);

	if (format >= FIXARRAY && format <= FIXARRAY_MAX)
		return (uint32_t)(format - FIXARRAY);
	switch (format) {
	case ARRAY16:	return (uint32_t)take_number(u, 2, 16);
	case ARRAY32:	return (uint32_t)take_number(u, 4, 1 << 16);
	default:	return (uint32_t)mark_bad(u);
	}
}

uint64_t
unpack_uint(struct unpack *u)
{
	const uint64_t format = take_number(u, 1, 0);

	if (format <= FIXINT_MAX)
		return format;
	switch (format) {
	case UINT8:	return take_number(u, 1, 1 << 7);
	case UINT16:	return take_number(u, 2, 1 << 8);
	case UINT32:	return take_number(u, 4, 1 << 16);
	case UINT64:	return take_number(u, 8, (uint64_t)1 << 32);
	default:	return mark_bad(u);
	}
}

uint64_t
unpack_below(struct unpack *u, uint64_t limit)
{
	const uint64_t number = unpack_uint(u);

	return number < limit ? number : mark_bad(u);
}

const void *
unpack_blob(struct unpack *u, size_t *size)
{
	switch (take_number(u, 1, 0)) {
	case BIN8:	*size = take_number(u, 1, 0); break;
	case BIN16:	*size = take_number(u, 2, 1 << 8); break;
	case BIN32:	*size = take_number(u, 4, 1 << 16); break;
	default:	*size = mark_bad(u);
	}
	const void *bytes = take_bytes(u, *size);

	if (!bytes)
		*size = 0;
	return bytes;
}

void
unpack_text(struct unpack *u, char *text, size_t room)
{
	size_t size;
	const char *bytes = unpack_blob(u, &size);

	snprintf(text, room, "%.*s", u->bad ? 0 : (int)size,
		 u->bad ? "" : bytes);
}
