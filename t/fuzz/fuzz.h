/*
 * fuzz - the base of the fuzz targets.
 *
 * A target is one file with fuzz_one(), which takes any bytes and must return
 * without a crash, a leak, or a broken promise (FUZZ_CHECK).  The engine is
 * libFuzzer ("make fuzz"), or main.c, which runs each given file once ("make
 * check").
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

/* Makes a file of these bytes, and a path that opens it; close the
   descriptor. */
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
