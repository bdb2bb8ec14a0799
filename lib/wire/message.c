#include "wire/message.h"

#include <string.h>

/* The shape of each kind: how many numbers, what else. */
static const struct shape_of {
	const char *name;
	size_t numbers;
	bool blob;
	size_t min_frames, max_frames;
	size_t keys;		/* of these are keys, and stand first */
} shapes[MESSAGE_KINDS] = {
	[MESSAGE_HELLO]		= { "HELLO",	5, true,  0, 1, 0 },
	[MESSAGE_WELCOME]	= { "WELCOME",	6, true,  0, 0, 0 },
	[MESSAGE_REFUSED]	= { "REFUSED",	1, true,  0, 0, 0 },
	[MESSAGE_OK]		= { "OK",	1, false, 0, 0, 0 },
	[MESSAGE_PING]		= { "PING",	0, false, 0, 0, 0 },
	[MESSAGE_PONG]		= { "PONG",	0, false, 0, 0, 0 },
	[MESSAGE_STOP]		= { "STOP",	0, false, 0, 0, 0 },
	[MESSAGE_BYE]		= { "BYE",	0, false, 0, 0, 0 },
	[MESSAGE_PLAN]		= { "PLAN",	8, true,  2, 3, 0 },
	[MESSAGE_MARK]		= { "MARK",	3, false, 0, 0, 0 },
	[MESSAGE_VOID]		= { "VOID",	4, false, 0, 0, 0 },
	[MESSAGE_FREEZE]	= { "FREEZE",	6, true,  0, 0, 0 },
	[MESSAGE_THAW]		= { "THAW",	7, true,  0, 0, 0 },
	[MESSAGE_SAVE]		= { "SAVE",	6, true,  0, 0, 0 },
	[MESSAGE_SAVED]		= { "SAVED",	1, true,  0, 0, 0 },
	[MESSAGE_LOAD]		= { "LOAD",	6, true,  0, 0, 0 },
	[MESSAGE_PULL]		= { "PULL",	7, false, 1, 1, 1 },
	[MESSAGE_PUSH]		= { "PUSH",	12, false, 2, 2, 1 },
	[MESSAGE_PUSHPULL]	= { "PUSHPULL",	12, false, 3, 3, 2 },
	[MESSAGE_VALUES]	= { "VALUES",	3, false, 0, 1, 0 },
	[MESSAGE_READY]		= { "READY",	0, false, 0, 0, 0 },
	[MESSAGE_LEASE]		= { "LEASE",	12, false, 0, 2, 0 },
	[MESSAGE_CANCEL]	= { "CANCEL",	2, false, 0, 0, 0 },
	[MESSAGE_DONE]		= { "DONE",	2, false, 1, 3, 0 },
	[MESSAGE_FAILED]	= { "FAILED",	3, true,  0, 0, 0 },
	[MESSAGE_EXHAUSTED]	= { "EXHAUSTED", 2, false, 0, 0, 0 },
	[MESSAGE_LOST]		= { "LOST",	2, true,  0, 0, 0 },
	[MESSAGE_EVALUATE]	= { "EVALUATE",	4, false, 1, 1, 0 },
	[MESSAGE_EVALUATED]	= { "EVALUATED", 2, false, 1, 3, 0 },
	[MESSAGE_CUT]		= { "CUT",	6, true,  0, 0, 0 },
	[MESSAGE_COMMIT]	= { "COMMIT",	3, false, 1, 1, 0 },
	[MESSAGE_INDEX]		= { "INDEX",	1, false, 1, 1, 0 },
	[MESSAGE_INDEXED]	= { "INDEXED",	2, false, 1, 1, 0 },
	[MESSAGE_STANDBY]	= { "STANDBY",	3, false, 0, 1, 0 },
	[MESSAGE_SYNC]		= { "SYNC",	8, true,  3, 3, 0 },
	[MESSAGE_STATE]		= { "STATE",	3, false, 1, 1, 0 },
	[MESSAGE_HELD]		= { "HELD",	1, false, 0, 0, 0 },
};

const char *
message_name(enum message_kind kind)
{
	return kind > 0 && kind < MESSAGE_KINDS ? shapes[kind].name : "?";
}

void
message_write(struct pack *p, const struct message *m)
{
	const struct shape_of *shape = &shapes[m->kind];

	pack_array(p, 2 + shape->numbers + shape->blob);
	pack_uint(p, m->kind);
	pack_uint(p, m->request);
	for (size_t i = 0; i < shape->numbers; i++)
		pack_uint(p, m->number[i]);
	if (shape->blob)
		pack_blob(p, m->blob.data, m->blob.size);
}

int
message_read(struct message *m, const void *header, size_t size,
	     struct fail *f)
{
	struct unpack u = unpack_from(header, size);
	const uint32_t count = unpack_array(&u);
	const uint64_t kind = unpack_uint(&u);

	*m = (struct message){ 0 };
	m->request = unpack_uint(&u);
	if (u.bad || kind == 0 || kind >= MESSAGE_KINDS)
		return fail(f, FAIL_PROTOCOL, "not a message");
	m->kind = (enum message_kind)kind;

	const struct shape_of *shape = &shapes[kind];

	for (size_t i = 0; i < shape->numbers; i++)
		m->number[i] = unpack_uint(&u);
	if (shape->blob)
		m->blob.data = unpack_blob(&u, &m->blob.size);
	if (!unpack_ok(&u) || count != 2 + shape->numbers + shape->blob ||
	    m->blob.size > MESSAGE_BLOB)
		return fail(f, FAIL_PROTOCOL, "malformed %s", shape->name);
	return 0;
}

int
message_check_frames(const struct message *m, struct fail *f)
{
	const struct shape_of *shape = &shapes[m->kind];

	if (m->frames >= shape->min_frames && m->frames <= shape->max_frames)
		return 0;
	return fail(f, FAIL_PROTOCOL, "%s with %zu frames", shape->name,
		    m->frames);
}

size_t
message_unsent(const struct message *m)
{
	size_t n = 0;

	while (n < shapes[m->kind].keys && m->frame[n].size == 0)
		n++;
	return n;
}

size_t
message_missing(enum message_kind kind, size_t frames)
{
	const struct shape_of *shape = &shapes[kind];
	const size_t missing = shape->max_frames - frames;

	return frames <= shape->max_frames && missing <= shape->keys ?
		missing : 0;
}

struct message
message_answer(const struct message *to, enum message_kind kind)
{
	return (struct message){ .kind = kind, .request = to->request };
}

struct message
message_refuse(const struct message *to, enum fail_kind status,
	       const char *text)
{
	struct message m = message_answer(to, MESSAGE_REFUSED);

	m.refused.status = status;
	m.blob.data = text;
	m.blob.size = strnlen(text, MESSAGE_BLOB);
	return m;
}

enum fail_kind
message_status(uint64_t status)
{
	return status >= FAIL_USAGE && status <= FAIL_CONFIG ?
		(enum fail_kind)status : FAIL_PROTOCOL;
}

void
message_text(const struct message *m, char *text, size_t size)
{
	const unsigned char *bytes = m->blob.data;
	size_t n = m->blob.size < size - 1 ? m->blob.size : size - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(bytes[i] < ' ' || bytes[i] == 127 ?
				 '?' : bytes[i]);
	text[n] = '\0';
}

uint64_t
message_float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

float
message_float(uint64_t number)
{
	const uint32_t bits = (uint32_t)number;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

uint64_t
message_double_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

double
message_double(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}
