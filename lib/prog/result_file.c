#include "prog/result_file.h"

#include "sys/stream.h"
#include "wire/message.h"

#include <fcntl.h>
#include <unistd.h>

#define READ_BYTES	((size_t)64 << 10)

/*
 * Count the lines of a file, and the bytes of all complete ones.  After a power
 * cut a file may have its length, but zeros in place of its end: these are not
 * lines.
 */
static int
count(const char *path, uint64_t *lines, uint64_t *whole, struct fail *f)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[READ_BYTES];
	uint64_t at = 0;
	bool torn = false;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n && !torn; i++, at++) {
			torn = bytes[i] == '\0';
			if (bytes[i] == '\n') {
				++*lines;
				*whole = at + 1;
			}
		}
	if (n < 0)
		fail_sys(f, FAIL_IO, "cannot read %s", path);
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

int
result_file_open(const char *path, uint64_t *lines, struct fail *f)
{
	const int fd = stream_create(path, f);
	uint64_t whole = 0;

	*lines = WIRE_NONE;
	if (fd < 0 || !path)
		return fd;
	if (!stream_is_file(fd)) {
		close(fd);
		return fail(f, FAIL_CREATE, "%s: results must go to a regular "
			    "file, which shows after a restart what it has",
			    path);
	}
	*lines = 0;
	if (count(path, lines, &whole, f) == 0 &&
	    stream_cut(fd, path, whole, f) == 0 &&
	    (fdatasync(fd) == 0 ||
	     fail_sys(f, FAIL_IO, "cannot write %s", path) == 0))
		return fd;
	close(fd);
	return -1;
}
