#include "prog/journal_file.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/record_log.h"
#include "wire/pack.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT	((size_t)64 << 20)	/* bytes of a record of the file, at
					   most */
#define MOST	((size_t)32 << 20)	/* bytes of a record that is not cut
					   into parts */

/* A record that is being joined from parts. */
struct parts {
	uint64_t kind, size;	/* of the whole record */
	uint64_t offset;	/* of its first part, in the file */
	struct text bytes;	/* of the parts so far */
};

struct journal_file {
	char *path;
	size_t most;		/* bytes of a record that is not cut */
	struct record_log *file;
	struct journal sink;
	bool finished;
	struct fail other_version;	/* kind 0: it is of ours */
	int results;		/* descriptor of their file; -1: not a file */
	const char *results_name;	/* the caller's */
	off_t synced_results;	/* bytes of it that are on disk */
	uint64_t last_fold;	/* offset of the last FOLD; 0: none to resume
				   from */
	uint64_t cut_fold;	/* the FOLD of the newest checkpoint */
	uint64_t old_cut_fold;	/* the FOLD of the checkpoint before it; 0:
				   none */
};

/* ---- parts ---- */

static int
add_parts(struct journal_file *j, uint32_t kind, const void *bytes,
	  size_t size, struct fail *f)
{
	const char *from = bytes;
	struct pack head = { 0 };
	int r = 0;

	for (size_t at = 0, n; r == 0 && at < size; at += n) {
		n = size - at < j->most ? size - at : j->most;
		pack_reset(&head);
		pack_uint(&head, kind);
		pack_uint(&head, size);
		pack_uint(&head, at);
		r = record_log_append_pieces(j->file, JOURNAL_PART,
			(struct iovec[]){ { head.data, head.size },
					  { (void *)(uintptr_t)(from + at),
					    n } }, 2, f);
	}
	pack_release(&head);
	return r;
}

/*
 * Join a record from its parts.  Return 1 and set *whole, good until the next
 * call; 0 if parts are missing yet; -1 with FAIL_DATA.  After a crash there may
 * be parts of a record that was never completed: nothing was promised because
 * of it, and it is dropped.
 */
static int
join_parts(struct parts *p, const struct record *r, struct record *whole,
	   struct fail *f)
{
	struct unpack u = unpack_from(r->bytes, r->size);
	uint64_t kind, size, at;

	if (r->kind != JOURNAL_PART) {
		text_reset(&p->bytes);
		*whole = *r;
		return 1;
	}
	kind = unpack_uint(&u);
	size = unpack_uint(&u);
	at = unpack_uint(&u);
	if (at == 0) {
		text_reset(&p->bytes);
		p->kind = kind;
		p->size = size;
		p->offset = r->offset;
	}
	if (u.bad || kind > UINT32_MAX || kind != p->kind || size != p->size ||
	    at != p->bytes.size || unpack_left(&u) > size - at)
		return fail(f, FAIL_DATA, "a part of a record that does not "
			    "follow the one before it");
	text_add_bytes(&p->bytes, u.next, unpack_left(&u));
	*whole = (struct record){ (uint32_t)kind, p->bytes.data,
				  p->bytes.size, p->offset };
	return p->bytes.size == size;
}

/* ---- writing ---- */

static void
note_offsets(struct journal_file *j, uint32_t kind, size_t size,
	     uint64_t offset)
{
	j->finished = kind == JOURNAL_FINISHED;
	if (kind == JOURNAL_FOLD)
		j->last_fold = size > 0 ? offset : 0;
	if (kind == JOURNAL_CUT && j->cut_fold != j->last_fold) {
		j->old_cut_fold = j->cut_fold;
		j->cut_fold = j->last_fold;
	}
}

static void
drop_before(struct journal_file *j, uint64_t before)
{
	struct fail why;

	if (record_log_drop(j->file, before, &why) < 0) {
		log_warn("cannot shorten %s: %s", j->path, why.text);
		return;
	}
	j->old_cut_fold = 0;
	j->cut_fold = j->cut_fold > before ? j->cut_fold - before : 0;
	j->last_fold = j->last_fold > before ? j->last_fold - before : 0;
}

/*
 * Drop the beginning of the file that is not needed any more.  A restart may
 * ask for what follows the checkpoint before the newest one; the rest is
 * dropped once it is at least as large as what stays.  Without checkpoints,
 * everything before the last complete FOLD is dropped.
 */
static void
drop_unneeded(struct journal_file *j, uint32_t kind)
{
	const uint64_t before = j->old_cut_fold;

	if (kind == JOURNAL_FOLDED && j->last_fold > 0)
		drop_before(j, j->last_fold);
	else if (kind == JOURNAL_CUT && before > 0 &&
		 before >= record_log_size(j->file) - before)
		drop_before(j, before);
}

static int
sync_results(struct journal_file *j, struct fail *f)
{
	struct stat st = { 0 };

	if (j->results < 0 || (fstat(j->results, &st) == 0 &&
			       st.st_size == j->synced_results))
		return 0;
	if (fdatasync(j->results) < 0)
		return fail_sys(f, FAIL_IO, "cannot write the results to %s",
				j->results_name);
	j->synced_results = st.st_size;
	return 0;
}

static int
append(struct journal_file *j, uint32_t kind, const void *bytes, size_t size,
       struct fail *f)
{
	return record_log_append(j->file, kind, bytes, size, f);
}

static int
add(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
    struct fail *f)
{
	struct journal_file *j = to;

	note_offsets(j, kind, size, record_log_size(j->file));
	/*
	 * A record may say that results were written: they must be on disk
	 * before it is.
	 */
	if ((safe && sync_results(j, f) < 0) ||
	    failpoint("journal-add", f) < 0 ||
	    (size > j->most ? add_parts : append)
		(j, kind, bytes, size, f) < 0 ||
	    (safe ? record_log_sync : record_log_flush)(j->file, f) < 0 ||
	    failpoint("journal-added", f) < 0)
		return -1;
	drop_unneeded(j, kind);
	return 0;
}

/* ---- reading ---- */

struct scan_state {
	struct journal_file *journal;
	struct parts parts;
};

static int
scan_record(void *self, const struct record *r, struct fail *f)
{
	struct scan_state *l = self;
	struct record whole = { 0 };
	const int any = join_parts(&l->parts, r, &whole, f);

	if (any > 0 && whole.offset == 0)
		coord_check_journal(whole.kind, whole.bytes, whole.size,
				    &l->journal->other_version);
	if (any > 0)
		note_offsets(l->journal, whole.kind, whole.size, whole.offset);
	return any < 0 ? fail_at(f, "%s", l->journal->path) : 0;
}

struct journal_file *
journal_file_open(const char *path, size_t most, struct fail *f)
{
	struct journal_file *j = mem_alloc(1, sizeof(*j));
	struct scan_state scan = { .journal = j };
	uint64_t cut;

	j->path = mem_text(path);
	j->most = most > 0 ? most : MOST;
	j->results = -1;
	j->synced_results = -1;
	j->sink = (struct journal){ .add = add, .to = j };
	j->file = record_log_open(path, LIMIT, scan_record, &scan, &cut, f);
	text_release(&scan.parts.bytes);
	if (j->file && cut > 0)
		log_warn("%s: %llu torn bytes at its end are cut off", path,
			 (unsigned long long)cut);
	if (j->file && j->finished && record_log_reset(j->file, f) == 0) {
		j->finished = false;
		j->other_version.kind = 0;
		j->last_fold = j->cut_fold = j->old_cut_fold = 0;
	}
	if (j->file && !j->finished && !j->other_version.kind)
		return j;
	if (j->file && !j->finished) {
		*f = j->other_version;
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
	/* A run that is over, or has not begun, is not resumed. */
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

struct replay_state {
	struct coord *coord;
	struct parts parts;
};

static int
replay_record(void *self, const struct record *r, struct fail *f)
{
	struct replay_state *t = self;
	struct record whole = { 0 };
	const int any = join_parts(&t->parts, r, &whole, f);

	return any <= 0 ? any : coord_replay(t->coord, whole.kind, whole.bytes,
					     whole.size, f);
}

static int
replay_all(const struct journal_file *j, struct coord *coord, struct fail *f)
{
	struct replay_state t = { .coord = coord };
	uint64_t cut;
	int r = 0;

	if (j &&
	    record_log_replay(j->path, LIMIT, replay_record, &t, &cut, f) < 0)
		r = fail_at(f, "%s", j->path);
	text_release(&t.parts.bytes);
	return r;
}

int
journal_file_begin(struct journal_file *j, struct coord *coord,
		   struct stream *in, const char *output, uint64_t *written,
		   struct fail *f)
{
	struct coord_progress before;
	const int fd = replay_all(j, coord, f) < 0 ? -1 :
		stream_create(output, f);
	/* Without an output no run is begun, and so none can break off. */
	int resumed = fd < 0 ? -1 : coord_start(coord, &before, f);

	if (resumed > 0 && stream_is_file(in->fd))
		resumed = stream_pass(in, before.line, before.lines_hash,
				      f) < 0 ? -1 : 1;
	else if (resumed > 0 && before.line > 0)
		log_warn("%s cannot be rewound: %llu lines were read before "
			 "the restart, and whether lines that come now were "
			 "among them is unknown", in->name,
			 (unsigned long long)before.line);
	*written = resumed < 0 ? 0 : before.written;
	if (resumed >= 0 && (!output ||
			     (resumed > 0 ? stream_check : stream_cut)
				(fd, output, *written, f) == 0)) {
		if (j && stream_is_file(fd)) {
			j->results = fd;
			j->results_name = output ? output : "standard output";
		}
		return fd;
	}
	if (fd >= 0 && output)
		close(fd);
	return -1;
}
