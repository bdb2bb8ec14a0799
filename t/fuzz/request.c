/* A line of requests. */
#include "coord/request.h"

#include "fuzz.h"

#include <string.h>

int
fuzz_one(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct request r = { 0 };
	struct fail f;

	if (size > 0)
		memcpy(line, data, size);
	line[size] = '\0';
	if (request_read(&r, line, size, &f) == 0)
		FUZZ_CHECK(request_name(r.op));
	request_release(&r);
	free(line);
	return 0;
}
