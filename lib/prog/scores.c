#include "prog/scores.h"

#include "base/json.h"
#include "base/log.h"
#include "store/disk.h"
#include "sys/cli.h"
#include "sys/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX	((size_t)256 << 20)
#define BEGINS		"{\"checkpoint\":"

/*
 * Return the metric of the condition; NULL: the line lacks it.  The loss is not
 * among the metrics.
 */
static const json_t *
score_of(const json_t *line, const struct stop_condition *u)
{
	return json_object_get(strcmp(u->metric, "loss") == 0 ? line :
			       json_object_get(line, "metrics"), u->metric);
}

static int
read_line(struct scores *s, const char *text, size_t size,
	  const struct stop_condition *until, struct fail *f)
{
	json_error_t error;
	json_t *line = json_read(text, size, JSON_REJECT_DUPLICATES, &error);
	const json_t *step = json_object_get(line, "step");
	const json_t *x = *until->metric ? score_of(line, until) : NULL;
	const bool ours = json_is_string(json_object_get(line,
							 "checkpoint")) &&
		json_is_integer(step) && json_integer_value(step) >= 0;

	if (ours && (!s->begun ||
		     (uint64_t)json_integer_value(step) >= s->step)) {
		s->begun = true;
		s->step = (uint64_t)json_integer_value(step);
		s->final = json_is_true(json_object_get(line, "final"));
		s->lacks = *until->metric && !x;
	}
	if (ours && json_is_number(x) &&
	    stop_condition_meets(until, json_number_value(x)))
		s->met = true;
	json_decref(line);
	return ours ? 0 : fail(f, FAIL_DATA, "not the scores of a checkpoint "
			       "in a line of JSON");
}

/* After a power cut a file may have its length, but zeros in place of its end.
   Return the size without them. */
static size_t
size_without_zeros(const struct text *text)
{
	size_t size = text->size;

	while (size > 0 && text->data[size - 1] == '\0')
		size--;
	return size;
}

/*
 * Read all complete lines, and set *whole to their bytes.  What follows must be
 * the beginning of such a line, and zeros.
 */
static int
read_lines(struct scores *s, const struct text *text,
	   const struct stop_condition *until, size_t *whole, struct fail *f)
{
	const char *line = text->data, *end;
	const size_t size_read = size_without_zeros(text);
	size_t left = size_read, number = 1;

	for (; left > 0 && (end = memchr(line, '\n', left)); number++) {
		const size_t size = (size_t)(end - line);

		if (read_line(s, line, size, until, f) < 0)
			return fail_at(f, "%s:%zu", s->path, number);
		line += size + 1;
		left -= size + 1;
	}
	*whole = size_read - left;
	if (left > 0 && strncmp(line, BEGINS, left < strlen(BEGINS) ? left :
				strlen(BEGINS)) != 0)
		return fail(f, FAIL_DATA, "%s:%zu: not the scores of a "
			    "checkpoint, and without a newline", s->path,
			    number);
	return 0;
}

static int
resume(struct scores *s, int fd, const struct stop_condition *until,
       struct fail *f)
{
	struct text text = { 0 };
	size_t whole = 0;
	int r = -1;

	if (disk_read_text(AT_FDCWD, s->path, FILE_MAX, &text, f) == 0 &&
	    read_lines(s, &text, until, &whole, f) == 0 &&
	    stream_cut(fd, s->path, whole, f) == 0)
		r = s->lacks ? stop_condition_unknown(until, NULL, f) :
			disk_sync_parent(s->path, f);
	if (r == 0 && whole < text.size)
		log_warn("%s: %zu torn bytes at its end are cut off", s->path,
			 text.size - whole);
	if (r == 0 && s->begun)
		log_info("%s: resumes after step %llu", s->path,
			 (unsigned long long)s->step);
	text_release(&text);
	return r;
}

int
scores_open(struct scores *s, const char *path,
	    const struct stop_condition *until, struct fail *f)
{
	*s = (struct scores){ .path = path, .fd = stream_create(path, f) };
	if (s->fd < 0)
		return -1;
	if (!stream_is_file(s->fd) || resume(s, s->fd, until, f) == 0)
		return 0;
	scores_close(s);
	return -1;
}

void
scores_close(struct scores *s)
{
	if (s->path)
		close(s->fd);
	s->fd = -1;
	text_release(&s->text);
}

bool
scores_have(const struct scores *s, uint64_t step)
{
	return s->begun && step <= s->step;
}

/*
 * Write as there is room, but give up when told to stop: poll() waits for both,
 * since a signal would not interrupt a write that begins just after it.
 */
static int
write_text(struct scores *s, struct fail *f)
{
	struct pollfd fds[] = {
		{ .fd = s->fd, .events = POLLOUT },
		{ .fd = cli_stop_fd, .events = POLLIN }
	};

	while (s->text.size > 0) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents == 0)
			return fail(f, FAIL_IO, "cannot write %s: nobody "
				    "reads it", s->path ? s->path :
				    "standard output");
		if (stream_write(s->fd, s->path, &s->text, f) < 0)
			return -1;
	}
	return 0;
}

int
scores_flush(struct scores *s, struct fail *f)
{
	if (write_text(s, f) < 0)
		return -1;
	if (!s->path || fdatasync(s->fd) == 0 || errno == EINVAL)
		return 0;
	return fail_sys(f, FAIL_IO, "cannot write %s", s->path);
}
