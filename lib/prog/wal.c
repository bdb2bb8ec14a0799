#include "prog/wal.h"

#include "base/failpoint.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/record_log.h"
#include "store/rows.h"
#include "sys/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT	((size_t)320 << 20)	/* bytes of a record, at most */
#define FORMAT	2		/* format 1 was not written into the log */

/*
 * KIND_PLAN: a PLAN with initial values.  KIND_PLAN_OF: a PLAN that a LOAD
 * follows.  KIND_LOAD: that LOAD.  KIND_CHANGE: a change.  KIND_OTHER, between
 * PLAN_OF and LOAD: the hash of a checkpoint of the same name that is not
 * meant.  KIND_OVER, the same in any format: the run is over.  KIND_FORMAT, the
 * first record: the format of the messages.
 */
enum { KIND_PLAN = 1, KIND_PLAN_OF, KIND_LOAD, KIND_CHANGE, KIND_OTHER,
       KIND_OVER, KIND_FORMAT };

struct wal {
	char *dir, *folder;		/* DIR, DIR/log-0 */
	struct record_log *lock, *file;		/* file NULL: no segment yet */
	uint64_t number;		/* of the segment being written */
	uint64_t cut, cut_number;	/* the cut that began segment
					   cut_number; or 0 */
	uint64_t cut_step;		/* the step of that cut */
	uint64_t saved;			/* steps below are in a checkpoint */
	bool over;			/* the run is over */
	uint64_t next;			/* the change to be written next */
	uint64_t replayed;
	struct pack header;

	/* used while the log is replayed */
	struct server *server;
	uint64_t *segment;
	size_t segments;
	bool first;			/* the first segment: its PLAN and LOAD
					   are needed */
	bool known;			/* the segment has our format */
	char load[CHECKPOINT_NAME];	/* "": no checkpoint */
	uint64_t other;			/* hash of the checkpoint that is not
					   meant; or 0 */
	bool whole;			/* the beginning of the segment is
					   complete */
};

static char *
segment_path(const struct wal *l, uint64_t number)
{
	return disk_path("%s/%08ju", l->folder, (uintmax_t)number);
}

/* ---- a message as a record: sizes, header, frames ---- */

static int
write_message(struct wal *l, uint32_t kind, const struct message *m,
	      struct fail *f)
{
	uint32_t size[2 + MESSAGE_FRAMES] = { (uint32_t)m->frames };
	struct iovec piece[2 + MESSAGE_FRAMES];

	pack_reset(&l->header);
	message_write(&l->header, m);
	size[1] = (uint32_t)l->header.size;
	piece[0] = (struct iovec){ size, (2 + m->frames) * sizeof(*size) };
	piece[1] = (struct iovec){ l->header.data, l->header.size };
	for (size_t i = 0; i < m->frames; i++) {
		size[2 + i] = (uint32_t)m->frame[i].size;
		piece[2 + i] = (struct iovec){
			(void *)(uintptr_t)m->frame[i].data, m->frame[i].size
		};
	}
	return record_log_append_pieces(l->file, kind, piece, 2 + m->frames, f);
}

static bool
split_record(const struct record *r, struct message *m, struct fail *f)
{
	const char *at = r->bytes, *end = at + r->size;
	uint32_t frames, size[1 + MESSAGE_FRAMES];

	if (r->size < sizeof(frames))
		return false;
	memcpy(&frames, at, sizeof(frames));
	at += sizeof(frames);
	if (frames > MESSAGE_FRAMES ||
	    (size_t)(end - at) < (1 + frames) * sizeof(*size))
		return false;
	memcpy(size, at, (1 + frames) * sizeof(*size));
	at += (1 + frames) * sizeof(*size);
	if (size[0] > (size_t)(end - at) ||
	    message_read(m, at, size[0], f) < 0)
		return false;
	at += size[0];
	m->frames = frames;
	for (size_t i = 0; i < frames; i++) {
		if (size[1 + i] > (size_t)(end - at))
			return false;
		m->frame[i] = (struct frame){ at, size[1 + i], NULL };
		at += size[1 + i];
	}
	return at == end && message_check_frames(m, f) == 0;
}

static int
read_message(const struct wal *l, const struct record *r,
	     struct message *m, struct fail *f)
{
	struct fail why;

	if (split_record(r, m, &why))
		return 0;
	return fail(f, FAIL_DATA, "%s: the record at byte %ju is not a message",
		    l->folder, (uintmax_t)r->offset);
}

/* ---- the format ---- */

static void
pack_format(struct pack *to)
{
	pack_uint(to, FORMAT);
	pack_uint(to, WIRE_VERSION);
	pack_uint(to, message_table());
}

static int
write_format(struct wal *l, struct fail *f)
{
	struct pack ours = { 0 };
	int r;

	pack_format(&ours);
	r = record_log_append(l->file, KIND_FORMAT, ours.data, ours.size, f);
	pack_release(&ours);
	return r;
}

/* Check the first record.  Messages of another format would be misread. */
static int
check_format(struct wal *l, const struct record *r, struct fail *f)
{
	struct pack ours = { 0 };

	pack_format(&ours);
	l->known = r->kind == KIND_FORMAT && r->size == ours.size &&
		memcmp(r->bytes, ours.data, ours.size) == 0;
	pack_release(&ours);
	return l->known ? 0 :
		fail(f, FAIL_CONFIG, "%s: this log was written by programs of "
		     "another release or build: use those, or remove this "
		     "folder and lose the steps that only this log has",
		     l->folder);
}

/* ---- segments ---- */

static int
by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int
list_segments(struct wal *l, struct fail *f)
{
	DIR *d = opendir(l->folder);
	struct dirent *e;
	size_t room = 0;
	uint64_t number;

	if (!d)
		return fail_sys(f, FAIL_IO, "cannot open %s", l->folder);
	while ((e = readdir(d))) {
		if (!text_uint(e->d_name, &number))
			continue;
		l->segment = mem_grow(l->segment, l->segments, &room,
				      sizeof(*l->segment));
		l->segment[l->segments++] = number;
	}
	closedir(d);
	if (l->segments > 0)
		qsort(l->segment, l->segments, sizeof(*l->segment),
		      by_number);
	return 0;
}

static int
remove_segment(const struct wal *l, uint64_t number, struct fail *f)
{
	char *path = segment_path(l, number);
	int r = 0;

	if (unlink(path) < 0 && errno != ENOENT)
		r = fail_sys(f, FAIL_IO, "cannot remove %s", path);
	free(path);
	return r;
}

/* Remove segments, the oldest first, so that no gap is left after a crash. */
static int
remove_before(const struct wal *l, uint64_t number, struct fail *f)
{
	struct wal there = { .folder = l->folder };
	int r = list_segments(&there, f);

	for (size_t i = 0; r == 0 && i < there.segments; i++)
		if (there.segment[i] < number)
			r = remove_segment(l, there.segment[i], f);
	free(there.segment);
	return r;
}

/*
 * Return the hash of a checkpoint's manifest, which differs for two checkpoints
 * of one name; 0: there is none.
 */
static uint64_t
hash_checkpoint(const struct wal *l, const char *name)
{
	char *path = disk_path("%s/%s/" MANIFEST_FILE, l->dir, name);
	struct text text = { 0 };
	uint64_t hash = 0;
	struct fail none;

	if (disk_read_text(AT_FDCWD, path, MANIFEST_MAX, &text, &none) == 0)
		hash = hash64(text.data, text.size);
	text_release(&text);
	free(path);
	return hash;
}

/* ---- replay ---- */

/* Read what a segment begins with; FAIL_AGAIN: that was all. */
static int
read_beginning(void *self, const struct record *r, struct fail *f)
{
	struct wal *l = self;
	struct message m;

	if (!l->known)
		return check_format(l, r, f);
	if (r->kind == KIND_OTHER && r->size == sizeof(l->other)) {
		memcpy(&l->other, r->bytes, sizeof(l->other));
		return 0;
	}
	if (r->kind == KIND_OVER)
		return fail(f, FAIL_AGAIN, "this was all");
	if (read_message(l, r, &m, f) < 0)
		return -1;
	if (r->kind == KIND_CHANGE)
		return fail(f, FAIL_AGAIN, "this was all");
	if (r->kind == KIND_LOAD)
		message_text(&m, l->load, sizeof(l->load));
	l->whole = r->kind != KIND_PLAN_OF;
	return 0;
}

static int
asked_to_stop(const struct wal *l, struct fail *f)
{
	return !cli_stop ? 0 : fail(f, FAIL_AGAIN, "%s: asked to stop",
				    l->folder);
}

/*
 * Return 1 if a replay can begin with this segment; 0 if not: it is incomplete
 * since it was being made, or its checkpoint is missing; -1 with the reason if
 * that is not known: it is damaged, or we are told to stop.
 */
static int
check_beginning(struct wal *l, uint64_t number, struct fail *f)
{
	char *path = segment_path(l, number);
	struct checkpoint *from = NULL;
	struct fail why;
	uint64_t cut;
	bool good;

	l->known = l->whole = false;
	l->other = 0;
	*l->load = '\0';
	good = record_log_replay(path, LIMIT, read_beginning, l, &cut,
				 &why) == 0 ||
		why.kind == FAIL_AGAIN;
	free(path);
	if (!good) {
		*f = why;
		return -1;
	}
	good = l->whole &&
		(l->other == 0 || l->other != hash_checkpoint(l, l->load));
	if (good && *l->load) {
		path = disk_path("%s/%s", l->dir, l->load);
		from = checkpoint_open(path, true, &why);
		free(path);
		checkpoint_close(from);
		good = from != NULL;
	}
	return asked_to_stop(l, f) < 0 ? -1 : good;
}

static int
load(const struct wal *l, const struct server_job *job, struct fail *f)
{
	char *path = disk_path("%s/%s", l->dir, job->name);
	struct checkpoint *from = checkpoint_open(path, false, f);
	const int r = server_load(l->server, job, from, &checkpoint_reader,
				  f);

	free(path);
	checkpoint_close(from);
	return r;
}

static int
replay(void *self, const struct record *r, struct fail *f)
{
	struct wal *l = self;
	struct server_job job;
	struct message m;

	if (asked_to_stop(l, f) < 0)
		return -1;
	l->over = r->kind == KIND_OVER;
	if (l->over || r->kind == KIND_OTHER || r->kind == KIND_FORMAT ||
	    (r->kind != KIND_CHANGE && !l->first))
		return 0;	/* the state is there already */
	if (read_message(l, r, &m, f) < 0)
		return -1;
	if (r->kind == KIND_PLAN || r->kind == KIND_PLAN_OF)
		l->saved = m.plan.step;
	server_replay(l->server, &m);
	l->replayed += r->kind == KIND_CHANGE;
	return server_job(l->server, &job) ? load(l, &job, f) : 0;
}

/* Replay segment i.  The last one stays open to be continued. */
static int
replay_segment(struct wal *l, size_t i, struct fail *f)
{
	char *path = segment_path(l, l->segment[i]);
	const bool last = i + 1 == l->segments;
	uint64_t cut = 0;
	int r = 0;

	if (last) {
		l->file = record_log_open(path, LIMIT, replay, l, &cut, f);
		r = l->file ? 0 : -1;
		l->number = l->segment[i];
	} else {
		r = record_log_replay(path, LIMIT, replay, l, &cut, f);
	}
	if (r == 0 && cut > 0 && !last)	/* another segment follows it */
		r = fail(f, FAIL_DATA, "%s: damaged in its last %ju bytes",
			 path, (uintmax_t)cut);
	else if (r == 0 && cut > 0)
		log_info("%s: dropped %ju torn bytes at the end: steps in them "
			 "that were acknowledged are run again",
			 path, (uintmax_t)cut);
	l->first = false;
	free(path);
	return r;
}

/*
 * Check that no segment is missing.  Only the oldest and the last are ever
 * removed, so a gap is damage.
 */
static int
check_gaps(const struct wal *l, struct fail *f)
{
	for (size_t i = 1; i < l->segments; i++)
		if (l->segment[i] != l->segment[i - 1] + 1)
			return fail(f, FAIL_DATA, "%s/%08ju: missing, though "
				    "later files are there", l->folder,
				    (uintmax_t)l->segment[i - 1] + 1);
	return 0;
}

static int
find_over(void *self, const struct record *r, struct fail *f)
{
	struct wal *l = self;

	(void)f;
	l->over = r->kind == KIND_OVER;
	return 0;
}

/*
 * Return whether the last segment says that the run is over: then nothing of
 * the log is needed, whatever its format.
 */
static bool
run_is_over(struct wal *l, uint64_t last)
{
	char *path = segment_path(l, last);
	struct fail none;
	uint64_t cut;
	const bool over = record_log_replay(path, LIMIT, find_over, l, &cut,
					    &none) == 0 && l->over;

	free(path);
	l->over = false;
	return over;
}

static int
drop_all_segments(struct wal *l, struct fail *f)
{
	l->number = l->segment[l->segments - 1];
	l->segments = 0;
	return remove_before(l, l->number + 1, f);
}

/* No segment can be begun with; the oldest was looked at last. */
static int
fail_beginning(const struct wal *l, struct fail *f)
{
	if (!l->whole)
		return fail(f, FAIL_DATA, "%s/%08ju: its beginning was cut "
			    "off: put the file back, or remove this folder to "
			    "begin anew", l->folder,
			    (uintmax_t)l->segment[0]);
	return fail(f, FAIL_DATA, "%s: the checkpoint that this log starts "
		    "from is not there (%s): put it back, or remove this "
		    "folder to begin anew", l->folder, l->load);
}

static int
replay_all(struct wal *l, struct fail *f)
{
	struct fail why = { 0 };
	size_t first;
	int found;

	if (list_segments(l, f) < 0 || l->segments == 0)
		return l->segments == 0 ? 0 : -1;
	if (check_gaps(l, f) < 0)
		return -1;
	/*
	 * The last segment may be incomplete, if a crash interrupted its
	 * making.
	 */
	found = check_beginning(l, l->segment[l->segments - 1], &why);
	if (found < 0 && !l->known &&
	    run_is_over(l, l->segment[l->segments - 1]))
		return drop_all_segments(l, f);
	if (found < 0)
		*f = why;
	if (found == 0 && !l->whole)
		found = remove_segment(l, l->segment[--l->segments], f);
	first = l->segments;
	while (found == 0 && first > 0) {
		found = check_beginning(l, l->segment[first - 1], f);
		first -= found == 0;
	}
	if (found < 0)
		return -1;
	if (l->segments == 0)
		return 0;
	if (first == 0)
		return fail_beginning(l, f);
	if (remove_before(l, l->segment[first - 1], f) < 0)
		return -1;
	l->first = true;
	for (size_t i = first - 1; i < l->segments; i++)
		if (replay_segment(l, i, f) < 0)
			return -1;
	return 0;
}

static int
ignore_record(void *self, const struct record *r, struct fail *f)
{
	(void)self;
	(void)r;
	(void)f;
	return 0;
}

static int
open_folder(struct wal *l, struct fail *f)
{
	char *path = disk_path("%s/lock", l->folder);
	uint64_t cut;

	if (disk_make_folder(l->folder, f) == 0)
		l->lock = record_log_open(path, LIMIT, ignore_record, NULL,
					  &cut, f);
	free(path);
	return l->lock ? 0 : -1;
}

struct wal *
wal_open(const char *dir, uint64_t index, struct server *server,
	 struct fail *f)
{
	struct wal *l = mem_alloc(1, sizeof(*l));

	l->dir = mem_text(dir);
	l->folder = disk_path("%s/log-%ju", dir, (uintmax_t)index);
	l->server = server;
	l->next = 1;
	if (open_folder(l, f) < 0 || replay_all(l, f) < 0) {
		wal_close(l);
		return NULL;
	}
	if (l->file)
		log_info("%s: %ju changes replayed", l->folder,
			 (uintmax_t)l->replayed);
	server_log(server);
	return l;
}

void
wal_close(struct wal *l)
{
	if (!l)
		return;
	record_log_close(l->file);
	record_log_close(l->lock);
	pack_release(&l->header);
	free(l->segment);
	free(l->folder);
	free(l->dir);
	free(l);
}

/* ---- writing ---- */

/*
 * Begin a new segment with this plan and checkpoint (NULL: none).  other is the
 * hash of an older checkpoint of the same name, which is not meant; 0: there is
 * none.
 */
static int
begin_segment(struct wal *l, const struct message *plan,
	      const struct message *load, uint64_t other, struct fail *f)
{
	char *path = segment_path(l, l->number + 1);
	uint64_t cut;

	record_log_close(l->file);
	l->file = record_log_open(path, LIMIT, ignore_record, NULL, &cut, f);
	free(path);
	if (!l->file)
		return -1;
	l->number++;
	l->over = false;
	if (write_format(l, f) < 0 ||
	    write_message(l, load ? KIND_PLAN_OF : KIND_PLAN, plan, f) < 0 ||
	    (other && record_log_append(l->file, KIND_OTHER, &other,
					sizeof(other), f) < 0) ||
	    (load && write_message(l, KIND_LOAD, load, f) < 0))
		return -1;
	return record_log_sync(l->file, f);
}

/* Begin a new segment with a checkpoint and the server's plan. */
static int
begin_segment_from(struct wal *l, const struct server *server,
		   const struct message *load, uint64_t other, struct fail *f)
{
	struct pack model = { 0 }, plan = { 0 };
	const struct message m = server_plan(server, load->cut.step, &model,
					     &plan);
	const int r = begin_segment(l, &m, load, other, f);

	pack_release(&model);
	pack_release(&plan);
	return r;
}

static int
write_freeze(struct wal *l, const struct server *server,
	     const struct message *freeze, struct fail *f)
{
	struct message m = *freeze;
	char name[CHECKPOINT_NAME];

	/*
	 * Steps above the cut that were already pushed would be lost with the
	 * old segment.
	 */
	if (!l->file || !server_ended(server, freeze->cut.step))
		return 0;
	checkpoint_name(freeze->cut.step, name);
	m.kind = MESSAGE_LOAD;
	m.cut.cut = WIRE_NONE;
	m.cut.part = m.cut.run;
	m.blob = (struct frame){ name, strlen(name), NULL };
	if (begin_segment_from(l, server, &m, hash_checkpoint(l, name), f) < 0)
		return -1;
	l->cut = freeze->cut.cut;
	l->cut_number = l->number;
	l->cut_step = freeze->cut.step;
	return 0;
}

/* Rename the folder with its lock, and make an empty one in its place. */
static int
move_aside(struct wal *l, const char *old, struct fail *f)
{
	record_log_close(l->file);
	l->file = NULL;
	if (disk_remove_folder(old, f) < 0)
		return -1;
	if (rename(l->folder, old) < 0)
		return fail_sys(f, FAIL_IO, "cannot rename %s to %s",
				l->folder, old);
	record_log_close(l->lock);
	l->lock = NULL;
	return disk_sync_parent(old, f) < 0 ? -1 : open_folder(l, f);
}

/*
 * Another run begins: keep the steps that only the log has, of a run that did
 * not end, in place of those kept before.
 */
static int
keep_unsaved(struct wal *l, const struct server *server, struct fail *f)
{
	char run[33], *old = disk_path("%s.old", l->folder);
	uint64_t last;
	int r = 0;

	if (l->file && !l->over &&
	    server_unsaved(server, l->saved, &last, run)) {
		const bool there = disk_is_there(old);

		r = move_aside(l, old, f);
		if (r == 0)
			log_warn("%s: held steps %ju to %ju of run %s, which "
				 "did not end: moved to %s%s", l->folder,
				 (uintmax_t)l->saved, (uintmax_t)last, run,
				 old, there ? ", whose former contents are "
				 "removed" : "");
	}
	free(old);
	return r;
}

/*
 * A plan that the server refuses is not written: it might not be refused in a
 * replay.
 */
static int
write_plan(struct wal *l, const struct server *server,
	   const struct message *plan, struct fail *f)
{
	const int begins = server_begins(server, plan);

	if (begins < 0)
		return 0;
	if (begins == 0)
		return l->file ? write_message(l, KIND_CHANGE, plan, f) : 0;
	if (keep_unsaved(l, server, f) < 0)
		return -1;
	l->cut_number = 0;
	l->saved = plan->plan.step;
	return begin_segment(l, plan, NULL, 0, f) < 0 ||
		remove_before(l, l->number, f) < 0 ? -1 : 0;
}

/* Write a change that may begin or end segments. */
static int
write_boundary(struct wal *l, const struct server *server,
	       const struct message *m, struct fail *f)
{
	switch (m->kind) {
	case MESSAGE_FREEZE:
		return write_freeze(l, server, m, f);
	case MESSAGE_THAW:
		if (!m->cut.published || !l->cut_number ||
		    m->cut.cut != l->cut)
			return 0;
		l->saved = l->cut_step;
		return remove_before(l, l->cut_number, f);
	case MESSAGE_LOAD:
		if (!l->file)
			return 0;
		l->saved = m->cut.step;
		return begin_segment_from(l, server, m, 0, f) < 0 ||
			remove_before(l, l->number, f) < 0 ? -1 : 0;
	default:
		return write_plan(l, server, m, f);
	}
}

/*
 * Return whether a change can only be handled once the server has acted on all
 * changes before it.
 */
static bool
is_boundary(const struct message *m)
{
	return m->kind == MESSAGE_FREEZE || m->kind == MESSAGE_THAW ||
		m->kind == MESSAGE_LOAD || m->kind == MESSAGE_PLAN;
}

/*
 * Sync the log.  The failpoint log-unsafe skips that, so that a test can show
 * what a killed server loses then.
 */
static int
sync_log(struct wal *l, struct fail *f)
{
	if (failpoint("log-unsafe", f) < 0)
		return 0;
	return failpoint("log-sync", f) < 0 ||
		record_log_sync(l->file, f) < 0 ||
		failpoint("log-synced", f) < 0 ? -1 : 0;
}

/* Record that the run is over: it is not resumed. */
static int
write_over(struct wal *l, const struct server *server, struct fail *f)
{
	if (!l->file || l->over || !server_run_over(server) ||
	    server_acted(server) + 1 < l->next)
		return 0;
	l->over = true;
	return record_log_append(l->file, KIND_OVER, "", 0, f);
}

int
wal_run(struct wal *l, struct server *server, struct fail *f)
{
	const struct change *c;

	if (write_over(l, server, f) < 0)
		return -1;
	for (;;) {
		c = server_change(server, l->next);
		for (; c && !is_boundary(&c->message); c = c->next, l->next++)
			if (l->file && write_message(l, KIND_CHANGE,
						     &c->message, f) < 0)
				return -1;
		if (l->file && sync_log(l, f) < 0)
			return -1;
		server_durable(server, l->next - 1);
		c = server_change(server, l->next);
		if (!c || server_acted(server) + 1 < l->next)
			return 0;
		if (write_boundary(l, server, &c->message, f) < 0)
			return -1;
		l->next++;
	}
}
