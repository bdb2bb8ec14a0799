/* A header that is read is written back as the same bytes. */
#include "wire/message.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Puts our hash of the messages into a HELLO, which is read no further than its
   version if it has another one: nobody guesses that, and old seeds have an old
   one. */
static void
make_own(uint8_t *header, size_t size)
{
	const uint64_t table = message_table();
	struct unpack u = unpack_from(header, size);
	const uint8_t *blob;
	struct message m;
	size_t bytes;

	unpack_array(&u);
	if (unpack_uint(&u) != MESSAGE_HELLO)
		return;
	unpack_uint(&u);
	for (size_t i = 0; i < sizeof(m.hello) / sizeof(m.number[0]); i++)
		unpack_uint(&u);
	blob = unpack_blob(&u, &bytes);
	for (size_t i = 0; !u.bad && i < sizeof(table) && i < bytes; i++)
		header[blob + i - header] = (uint8_t)(table >> 8 * i);
}

static void
check(const uint8_t *data, size_t size)
{
	struct pack pack = { 0 };
	struct message m;
	struct fail f;
	char text[MESSAGE_BLOB + 1];

	if (message_read(&m, data, size, &f) == 0) {
		message_write(&pack, &m);
		/* Of a HELLO of another version only that is known. */
		FUZZ_CHECK(m.foreign || pack.size == size);
		FUZZ_CHECK(m.foreign || memcmp(pack.data, data, size) == 0);
		message_text(&m, text, sizeof(text));
		m.frames = size % (MESSAGE_FRAMES + 1);
		message_check_frames(&m, &f);
	}
	pack_release(&pack);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	uint8_t *own = malloc(size + 1);

	if (!own)
		abort();
	memcpy(own, data, size);
	make_own(own, size);
	check(data, size);
	check(own, size);
	free(own);
	return 0;
}
