/* The header of a NumPy array that is accepted has a valid shape and type. */
#include "store/npy.h"

#include "fuzz.h"

int
fuzz_one(const uint8_t *data, size_t size)
{
	struct npy npy;
	struct fail f;

	if (npy_read(&npy, data, size, &f) < 0)
		return 0;
	if (shape_rows(npy.shape) == 0)
		npy.shape.dim[0] = 1;
	FUZZ_CHECK(shape_sound(&npy.shape) && npy.offset <= size);

	const size_t n = (size - npy.offset) / npy.item;
	float *out = malloc(n * sizeof(*out) + 1);

	uint64_t *integer = malloc(n * sizeof(*integer) + 1);

	npy_floats(&npy, data + npy.offset, out, n);
	npy_integers(&npy, data + npy.offset, integer, n);
	free(integer);
	free(out);
	return 0;
}
