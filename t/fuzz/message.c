/* A header that is read is written back as the same bytes. */
#include "wire/message.h"

#include "fuzz.h"

#include <string.h>

int
fuzz_one(const uint8_t *data, size_t size)
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
	return 0;
}
