#include "prog/journal_file.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/record_log.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT	((size_t)64 << 20)	/* bytes of a record */

struct journal_file {
	char *path;
	struct record_log *file;
	struct journal sink;
	bool finished;
	struct fail foreign;	/* it is not of our version; kind 0: it is */
	int results;		/* their file; -1: it is none */
	off_t safe_results;	/* bytes of it */
	uint64_t begun;		/* the last FOLD; 0: none to begin with */
	uint64_t cut;		/* that of the newest checkpoint, */
	uint64_t before;	/* and of the one before it, if it is safe */
};

static void
note(struct journal_file *j, uint32_t kind, size_t size, uint64_t offset)
{
	j->finished = kind == JOURNAL_FINISHED;
	if (kind == JOURNAL_FOLD)
		j->begun = size > 0 ? offset : 0;
	if (kind == JOURNAL_CUT && j->cut != j->begun) {
		j->before = j->cut;
		j->cut = j->begun;
	}
}

/*
 * Two checkpoints ago begins what may still be asked for; when that is less
 * than what lies before it, that is dropped.
 */
static void
shorten(struct journal_file *j)
{
	const uint64_t before = j->before;
	struct fail why;

	if (before == 0 || before < record_log_size(j->file) - before)
		return;
	if (record_log_drop(j->file, before, &why) < 0) {
		log_warn("%s is not made shorter: %s", j->path, why.text);
		return;
	}
	j->before = 0;
	j->cut = j->cut > before ? j->cut - before : 0;
	j->begun = j->begun > before ? j->begun - before : 0;
}

static int
sync_results(struct journal_file *j, struct fail *f)
{
	struct stat st = { 0 };

	if (j->results < 0 || (fstat(j->results, &st) == 0 &&
			       st.st_size == j->safe_results))
		return 0;
	if (fdatasync(j->results) < 0)
		return fail_sys(f, FAIL_IO, "cannot write the results");
	j->safe_results = st.st_size;
	return 0;
}

static int
add(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
    struct fail *f)
{
	struct journal_file *j = to;

	note(j, kind, size, record_log_size(j->file));
	/* What a record says to have been written is not to be lost before
	   the record is. */
	if ((safe && sync_results(j, f) < 0) ||
	    failpoint("journal-add", f) < 0 ||
	    record_log_append(j->file, kind, bytes, size, f) < 0 ||
	    (safe ? record_log_sync : record_log_flush)(j->file, f) < 0 ||
	    failpoint("journal-added", f) < 0)
		return -1;
	if (kind == JOURNAL_CUT)
		shorten(j);
	return 0;
}

static int
look(void *self, const struct record *r, struct fail *f)
{
	struct journal_file *j = self;

	(void)f;
	if (r->offset == 0)
		coord_check_journal(r->kind, r->bytes, r->size, &j->foreign);
	note(j, r->kind, r->size, r->offset);
	return 0;
}

struct journal_file *
journal_file_open(const char *path, struct fail *f)
{
	struct journal_file *j = mem_alloc(1, sizeof(*j));
	uint64_t cut;

	j->path = mem_text(path);
	j->results = -1;
	j->safe_results = -1;
	j->sink = (struct journal){ .add = add, .to = j };
	j->file = record_log_open(path, LIMIT, look, j, &cut, f);
	if (j->file && cut > 0)
		log_warn("%s: %llu torn bytes at its end are cut off", path,
			 (unsigned long long)cut);
	if (j->file && j->finished && record_log_reset(j->file, f) == 0) {
		j->finished = false;
		j->foreign.kind = 0;
		j->begun = j->cut = j->before = 0;
	}
	if (j->file && !j->finished && !j->foreign.kind)
		return j;
	if (j->file && !j->finished) {
		*f = j->foreign;
		fail_at(f, "%s", path);
	}
	journal_file_close(j);
	return NULL;
}

void
journal_file_close(struct journal_file *j)
{
	if (!j)
		return;
	/* Nobody needs to know of a run that is over, or has not begun. */
	if (j->file && (j->finished || record_log_size(j->file) == 0))
		unlink(j->path);
	record_log_close(j->file);
	free(j->path);
	free(j);
}

const struct journal *
journal_file_sink(struct journal_file *j, const struct stream *in)
{
	if (!j)
		return NULL;
	j->sink.whole = stream_is_file(in->fd);
	return &j->sink;
}

const char *
journal_file_resumed(const struct journal_file *j)
{
	return j && record_log_size(j->file) > 0 ? j->path : NULL;
}

static int
replay(void *coord, const struct record *r, struct fail *f)
{
	return coord_replay(coord, r->kind, r->bytes, r->size, f);
}

static int
tell(const struct journal_file *j, struct coord *coord, struct fail *f)
{
	uint64_t cut;

	if (!j ||
	    record_log_replay(j->path, LIMIT, replay, coord, &cut, f) == 0)
		return 0;
	return fail_at(f, "%s", j->path);
}

int
journal_file_begin(struct journal_file *j, struct coord *coord,
		   struct stream *in, const char *output, uint64_t *written,
		   struct fail *f)
{
	uint64_t line;
	const int fd = tell(j, coord, f) < 0 ? -1 : stream_create(output, f);
	/* With nowhere to write to there is no run that could break off. */
	const int resumed = fd < 0 ? -1 : coord_start(coord, &line, written, f);

	if (resumed > 0 && stream_is_file(in->fd))
		in->skip = line;
	else if (resumed > 0 && line > 0)
		log_warn("%s cannot be rewound: %llu lines were taken before, "
			 "and whether what comes now was among them cannot "
			 "be known", in->name, (unsigned long long)line);
	if (resumed >= 0 && (!output ||
			     (resumed > 0 ? stream_check : stream_cut)
				(fd, output, *written, f) == 0)) {
		if (j && stream_is_file(fd))
			j->results = fd;
		return fd;
	}
	if (fd >= 0 && output)
		close(fd);
	return -1;
}
