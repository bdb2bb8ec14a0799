/* Files that results are appended to, and the other kinds of files that are
   refused. */
#include "prog/result_file.h"

#include "sys/stream.h"
#include "wire/message.h"

#include "files.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
content(const char *path)
{
	static char text[64];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

/* Complete lines are counted, an incomplete one is removed, new lines are
   added. */
static void
goes_on(void)
{
	uint64_t lines;
	struct fail f;
	int fd = result_file_open("results", &lines, &f);

	ok(fd >= 0 && lines == 0);
	equals(write(fd, "1\n2\n3", 5), 5);
	close(fd);
	fd = result_file_open("results", &lines, &f);
	ok(fd >= 0 && lines == 2);
	equals(write(fd, "4\n", 2), 2);
	close(fd);
	equals(content("results"), "1\n2\n4\n");
}

/* After a power cut a file may have its length, but zeros for bytes that were
   not written. */
static void
power_cut(void)
{
	uint64_t lines;
	struct fail f;
	int fd = result_file_open("torn", &lines, &f);

	ok(fd >= 0 && write(fd, "1\n2\0\0\0\n4\n", 9) == 9);
	close(fd);
	fd = result_file_open("torn", &lines, &f);
	named(fd >= 0 && lines == 1,
	      "the lines of a result file end where zeros begin");
	close(fd);
	equals(content("torn"), "1\n");
}

/* A pipe is no file: the bytes that were read from it are unknown. */
static void
no_file(void)
{
	uint64_t lines;
	struct fail f;
	int reader;

	equals(mkfifo("pipe", 0600), 0);
	reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ok(result_file_open("pipe", &lines, &f) < 0 && f.kind == FAIL_CREATE);
	close(reader);
}

/* A program that writes to a pipe does not open it for reading, and notices
   that its reader has ended. */
static void
ends_with_its_reader(void)
{
	const int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct fail f;
	const int fd = stream_create("pipe", &f);

	ok(fd >= 0 && write(fd, "1\n", 2) == 2);
	close(reader);
	ok(write(fd, "2\n", 2) < 0 && errno == EPIPE);
	close(fd);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	files_begin();
	goes_on();
	power_cut();
	no_file();
	ends_with_its_reader();
	files_end();
	return tap_done();
}
