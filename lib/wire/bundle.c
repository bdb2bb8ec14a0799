#include "wire/bundle.h"

#include <assert.h>

#define NUMBERS		(2 + BUNDLE_FRAMES)
#define PREFIX		(4 * NUMBERS)
#define MOST_HEADER	512	/* bytes: a pull or a push has no blob */

static bool
may_be_bundled(enum message_kind kind)
{
	return kind == MESSAGE_PULL || kind == MESSAGE_PUSH ||
		kind == MESSAGE_PUSHPULL;
}

static void
pack_raw(struct pack *p, const void *bytes, size_t size)
{
	const struct pack all = { .data = (void *)(uintptr_t)bytes,
				  .size = size };

	pack_append(p, &all);
}

static void
write_number(struct pack *p, size_t n)
{
	unsigned char bytes[4];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(n >> 8 * i);
	pack_raw(p, bytes, sizeof(bytes));
}

static size_t
read_number(const unsigned char *at)
{
	return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 |
		(size_t)at[3] << 24;
}

size_t
bundle_size(const struct message *m)
{
	size_t size = PREFIX + MOST_HEADER;

	for (size_t i = 0; i < m->frames; i++)
		size += m->frame[i].size;
	return size;
}

void
bundle_add(struct pack *p, const struct message *m)
{
	const size_t unsent = message_unsent(m);
	struct pack header = { 0 };

	assert(may_be_bundled(m->kind));
	message_write(&header, m);
	write_number(p, header.size);
	write_number(p, m->frames - unsent);
	for (size_t i = 0; i < BUNDLE_FRAMES; i++)
		write_number(p, unsent + i < m->frames ?
			     m->frame[unsent + i].size : 0);
	pack_raw(p, header.data, header.size);
	for (size_t i = unsent; i < m->frames; i++)
		pack_raw(p, m->frame[i].data, m->frame[i].size);
	pack_release(&header);
}

/* Take the next size bytes of a bundle; NULL: there are fewer. */
static const void *
take(struct bundle *b, size_t size)
{
	const unsigned char *at = b->at;

	if (size > b->left)
		return NULL;
	b->at += size;
	b->left -= size;
	return at;
}

/* Take the frames of a message whose header has been read. */
static bool
take_frames(struct bundle *b, struct message *m, const unsigned char *prefix)
{
	const size_t frames = read_number(prefix + 4);
	const size_t missing = frames > BUNDLE_FRAMES ? 0 :
		message_missing(m->kind, frames);

	if (frames > BUNDLE_FRAMES)
		return false;
	for (size_t i = 0; i < BUNDLE_FRAMES; i++) {
		const size_t size = read_number(prefix + 8 + 4 * i);
		const void *data = take(b, size);

		if (!data || (i >= frames && size > 0))
			return false;
		if (i < frames)
			m->frame[missing + i] = (struct frame){ data, size,
								NULL };
	}
	m->frames = missing + frames;
	return true;
}

int
bundle_next(struct bundle *b, struct message *m, struct fail *f)
{
	const unsigned char *prefix, *header;
	struct fail none;
	size_t size;

	if (b->left == 0)
		return 0;
	prefix = take(b, PREFIX);
	size = prefix ? read_number(prefix) : 0;
	header = prefix ? take(b, size) : NULL;
	if (!header || message_read(m, header, size, &none) < 0 ||
	    !may_be_bundled(m->kind) || !take_frames(b, m, prefix) ||
	    message_check_frames(m, &none) < 0)
		return fail(f, FAIL_PROTOCOL, "a bundle with something other "
			    "than pulls and pushes");
	return 1;
}
