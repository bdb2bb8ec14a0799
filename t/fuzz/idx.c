/* Records of IDX, a pair of images and labels: the first byte says where the
   images end, in eighths of the bytes. */
#include "reader.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	char images[32], labels[32];
	size_t cut;

	if (size < 1)
		return 0;
	cut = (size - 1) * (data[0] % 8u) / 8;

	const int first = fuzz_file(data + 1, cut, images);
	const int second = fuzz_file(data + 1 + cut, size - 1 - cut, labels);

	fuzz_read(images, labels, "idx", &fuzz_dense, true);
	fuzz_read(images, NULL, "idx", &fuzz_ids, false);
	close(first);
	close(second);
	return 0;
}
