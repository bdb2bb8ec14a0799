/* The members of a tar lie within the file, and the end of the tar is the end
   of the file. */
#include "store/tar.h"

#include "fuzz.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct tar_index index = { 0 };
	char hash[HASH_TEXT], path[32];
	const int fd = fuzz_file(data, size, path);
	struct fail f;

	if (tar_read(&index, fd, path, size, hash, &f) == 0)
		for (size_t i = 0; i < index.count; i++)
			FUZZ_CHECK(index.member[i].offset +
				   index.member[i].size <= size);
	tar_index_release(&index);
	close(fd);
	return 0;
}
