/* An archive of NumPy arrays.  No array is larger than what is read. */
#include "store/arrays.h"

#include "fuzz.h"

static uint64_t room[1 << 16];

static void *
place(void *data, const char *name, const struct npy *npy, bool *integers,
      struct fail *f)
{
	(void)data;
	FUZZ_CHECK(shape_sound(&npy->shape));
	*integers = npy->kind != 'f';
	if (shape_size(npy->shape) <= sizeof(room) / sizeof(*room))
		return room;
	fail(f, FAIL_DATA, "%s: too large", name);
	return NULL;
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	const struct arrays_sink sink = { place, NULL };
	char path[32];
	const int fd = fuzz_file(data, size, path);
	struct fail f;

	arrays_npz.read(fd, path, size, &sink, &f);
	close(fd);
	return 0;
}
