/*
 * fuzz - what the fuzz targets stand on.
 *
 * A target is one file: fuzz_one() is given bytes, and whatever they are must
 * come back without a crash, a leak, or a broken promise (FUZZ_CHECK).  The
 * engine is libFuzzer's ("make fuzz"), or main.c, which runs the files that it
 * is given once ("make check").
 */
#ifndef PS_FUZZ_H
#define PS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define fuzz_one	LLVMFuzzerTestOneInput

int fuzz_one(const uint8_t *data, size_t size);

#define FUZZ_CHECK(holds) \
	((holds) ? (void)0 : (fputs("broken: " #holds "\n", stderr), abort()))

/* A file of these bytes, and a path that opens it; close it. */
static inline int
fuzz_file(const uint8_t *data, size_t size, char path[32])
{
	const int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
