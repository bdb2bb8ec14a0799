#include "sys/stream.h"

#include "base/hash.h"
#include "store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES	((size_t)64 << 10)
#define MAX_LINE	((size_t)16 << 20)

int
stream_open(struct stream *in, const char *path, struct fail *f)
{
	struct stat st;

	*in = (struct stream){ .fd = STDIN_FILENO, .name = path };
	if (strcmp(path, "-") == 0) {
		in->name = "standard input";
		return 0;
	}
	/* A FIFO without a writer would make the program wait here.  poll()
	   reports its end only after there was one. */
	in->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (in->fd < 0 || fcntl(in->fd, F_SETFL, 0) < 0)
		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
	return fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode) ?
		fail(f, FAIL_NOINPUT, "%s: it is a directory", path) : 0;
}

void
stream_close(struct stream *in)
{
	if (in->fd > STDERR_FILENO)
		close(in->fd);
	text_release(&in->text);
}

int
stream_read(struct stream *in, struct fail *f)
{
	char bytes[READ_BYTES];
	const ssize_t n = read(in->fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 :
			fail_sys(f, FAIL_IO, "cannot read %s", in->name);
	/* Remove the lines that were given. */
	if (in->at > 0) {
		memmove(in->text.data, in->text.data + in->at,
			in->text.size - in->at + 1);
		in->text.size -= in->at;
		in->at = 0;
	}
	if (in->text.size > MAX_LINE)
		return fail(f, FAIL_DATA, "%s: a line of more than 16 MiB",
			    in->name);
	in->end = n == 0;
	if (n > 0)
		text_add_bytes(&in->text, bytes, (size_t)n);
	else if (in->text.size > 0 &&
		 in->text.data[in->text.size - 1] != '\n')
		text_add_bytes(&in->text, "\n", 1);
	return 0;
}

uint64_t
stream_lines_left(const struct stream *s)
{
	uint64_t lines = 0;

	for (size_t i = s->at; i < s->text.size; i++)
		lines += s->text.data[i] == '\n';
	return lines;
}

bool
stream_is_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

char *
stream_next(struct stream *in, size_t *size)
{
	char *line, *end;

	if (in->at == in->text.size)
		return NULL;
	line = in->text.data + in->at;
	end = memchr(line, '\n', in->text.size - in->at);
	if (!end)
		return NULL;
	*end = '\0';
	in->at += (size_t)(end - line) + 1;
	in->number++;
	if (in->number == 1)
		line += text_mark(line, (size_t)(end - line));
	*size = (size_t)(end - line);
	return line;
}

int
stream_pass(struct stream *in, uint64_t lines, uint64_t hash, struct fail *f)
{
	uint64_t passed = 0;
	size_t size;
	char *line;

	while (in->number < lines) {
		line = stream_next(in, &size);
		if (line)
			passed = hash_chain(passed, line, size);
		else if (!in->end && stream_read(in, f) < 0)
			return -1;
		else if (in->end && in->at == in->text.size)
			return fail(f, FAIL_DATA, "%s: %llu lines of requests "
				    "were read before, and it has only %llu: "
				    "put them back, or remove the journal to "
				    "begin anew", in->name,
				    (unsigned long long)lines,
				    (unsigned long long)in->number);
	}
	if (passed == hash)
		return 0;
	return fail(f, FAIL_DATA, "%s: the first %llu lines of requests are "
		    "not those that were read before: put them back, or "
		    "remove the journal to begin anew", in->name,
		    (unsigned long long)lines);
}

int
stream_create(const char *path, struct fail *f)
{
	int fd = STDOUT_FILENO;

	if (path)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_sys(f, FAIL_CREATE, "cannot write %s", path);
	if (!path || !stream_is_file(fd) || disk_lock(fd, path, f) == 0)
		return fd;
	close(fd);
	return -1;
}

int
stream_check(int fd, const char *path, uint64_t size, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_sys(f, FAIL_IO, "cannot read %s", path);
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < size)
		return fail(f, FAIL_DATA, "%s: %llu bytes of results were "
			    "written before, and are not there any more: put "
			    "them back, or remove the journal to begin anew",
			    path,
			    (unsigned long long)size);
	return 0;
}

int
stream_cut(int fd, const char *path, uint64_t size, struct fail *f)
{
	if (!stream_is_file(fd))
		return 0;	/* a pipe has no bytes to take back */
	if (stream_check(fd, path, size, f) < 0)
		return -1;
	if (ftruncate(fd, (off_t)size) == 0 && lseek(fd, 0, SEEK_END) >= 0)
		return 0;
	return fail_sys(f, FAIL_IO, "cannot write %s", path);
}

/* Return how much a writable descriptor takes without waiting: a pipe takes
   PIPE_BUF. */
static size_t
at_once(int fd, size_t size)
{
	if (stream_is_file(fd))
		return size;
	return size < PIPE_BUF ? size : PIPE_BUF;
}

int
stream_write(int fd, const char *name, struct text *text, struct fail *f)
{
	size_t done = 0;

	while (done < text->size) {
		struct pollfd ready = { .fd = fd, .events = POLLOUT };
		ssize_t n;

		if (poll(&ready, 1, 0) <= 0)
			break;
		n = write(fd, text->data + done,
			  at_once(fd, text->size - done));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return fail_sys(f, FAIL_IO, "cannot write %s", name ?
					name : "standard output");
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done > 0) {
		memmove(text->data, text->data + done, text->size - done + 1);
		text->size -= done;
	}
	return 0;
}

int
stream_resume(int fd, const char *name, uint64_t size, bool *cut,
	      struct text *text, struct fail *f)
{
	if (text->size > 0 && !*cut && name &&
	    stream_cut(fd, name, size, f) < 0)
		return -1;
	*cut = *cut || text->size > 0;
	return stream_write(fd, name, text, f);
}
