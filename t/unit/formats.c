/*
 * Files of other versions: a file with state that would be lost is refused with
 * a message, a file that can be made again is made again, and a file that is
 * not needed does no harm.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "coord/journal.h"
#include "data/cache_file.h"
#include "data/record_index.h"
#include "prog/journal_file.h"
#include "prog/wal.h"
#include "store/disk.h"
#include "store/record_log.h"

#include "files.h"
#include "server_replay.h"
#include "tap.h"

#define LIMIT	((size_t)1 << 20)

static struct fail f;

static int
nothing(void *self, const struct record *r, struct fail *why)
{
	(void)self;
	(void)r;
	(void)why;
	return 0;
}

static void
append(const char *path, uint32_t kind, const struct pack *p)
{
	uint64_t cut;
	struct record_log *r = record_log_open(path, LIMIT, nothing, NULL, &cut,
					       &f);

	if (!r || record_log_append(r, kind, p->data, p->size, &f) < 0 ||
	    record_log_sync(r, &f) < 0)
		printf("# %s\n", f.text);
	record_log_close(r);
}

/* ---- the coordinator's journal ---- */

#define DIGITS_(n)	#n
#define DIGITS(n)	DIGITS_(n)
#define OTHER_JOURNAL	"journal: a journal of version 3, not " \
	DIGITS(JOURNAL_VERSION) ": resume the run with programs of the " \
	"release that began it, or remove the journal to begin anew"

static bool
refused_journal(enum fail_kind kind, const char *why)
{
	struct journal_file *j = journal_file_open("journal", 0, &f);
	const bool good = !j && f.kind == kind && strcmp(f.text, why) == 0 &&
		disk_is_there("journal");

	if (j || !good)
		tap_differ(j ? "no error" : f.text, why);
	journal_file_close(j);
	return good;
}

static void
journals(void)
{
	struct pack first = { 0 }, fold = { 0 };
	struct journal_file *j;

	pack_uint(&first, 3);
	append("journal", JOURNAL_RUN, &first);
	named(refused_journal(FAIL_CONFIG, OTHER_JOURNAL),
	      "a journal of another version is refused, and stays");
	append("journal", JOURNAL_FINISHED, &fold);
	j = journal_file_open("journal", 0, &f);
	named(j && !journal_file_resumed(j),
	      "a journal of another version whose run is over is begun anew");
	journal_file_close(j);

	pack_uint(&fold, JOURNAL_RUN);
	pack_blob(&fold, first.data, first.size);
	append("journal", JOURNAL_FOLD, &fold);
	named(refused_journal(FAIL_CONFIG, OTHER_JOURNAL),
	      "a journal of another version that begins with a fold is "
	      "refused");
	unlink("journal");

	append("journal", JOURNAL_TERM, &first);
	named(refused_journal(FAIL_DATA,
			      "journal: not the journal of a coordinator"),
	      "a log that is not a journal is refused");
	unlink("journal");

	pack_reset(&first);
	pack_uint(&first, JOURNAL_VERSION);
	append("journal", JOURNAL_RUN, &first);
	j = journal_file_open("journal", 0, &f);
	named(j && journal_file_resumed(j),
	      "a journal of this version is resumed");
	journal_file_close(j);
	unlink("journal");
	pack_release(&first);
	pack_release(&fold);
}

/* Writes a journal with one record, and opens it again. */
static struct journal_file *
kept(size_t most, uint32_t kind, const struct pack *p)
{
	const struct stream none = { .fd = -1 };
	struct journal_file *j = journal_file_open("journal", most, &f);
	const struct journal *to = journal_file_sink(j, &none);

	if (!j || to->add(to->to, kind, p->data, p->size, true, &f) < 0)
		printf("# %s\n", f.text);
	journal_file_close(j);
	return journal_file_open("journal", most, &f);
}

static void
append_part(uint32_t kind, size_t size, size_t at, size_t count)
{
	struct pack p = { 0 };

	pack_uint(&p, kind);
	pack_uint(&p, size);
	pack_uint(&p, at);
	for (size_t i = 0; i < count; i++)
		pack_uint(&p, 0);
	append("journal", JOURNAL_PART, &p);
	pack_release(&p);
}

static void
large_records(void)
{
	const size_t size = (size_t)80 << 20;
	void *bytes = mem_alloc(size, 1);
	struct pack first = { 0 }, large = { 0 };
	struct journal_file *j;

	pack_uint(&first, JOURNAL_VERSION);
	pack_blob(&first, "a run that has many words", 25);
	j = kept(7, JOURNAL_RUN, &first);
	named(j && journal_file_resumed(j),
	      "a journal whose records are in parts is read as if they were "
	      "whole");
	journal_file_close(j);
	pack_blob(&large, bytes, size);
	j = kept(0, JOURNAL_FINISHED, &large);
	named(j && !journal_file_resumed(j),
	      "a record of 80 MiB is written and read again");
	journal_file_close(j);

	append("journal", JOURNAL_RUN, &first);
	append_part(JOURNAL_FINISHED, 6, 0, 4);
	append("journal", JOURNAL_TERM, &first);
	j = journal_file_open("journal", 0, &f);
	named(j && journal_file_resumed(j),
	      "parts that a crash has left unfinished are ignored");
	journal_file_close(j);
	append_part(JOURNAL_FINISHED, 6, 4, 2);
	named(refused_journal(FAIL_DATA, "journal: a part of a record that "
			      "does not follow the one before it"),
	      "parts that a crash has left do not join later ones");
	unlink("journal");
	pack_release(&first);
	pack_release(&large);
	free(bytes);
}

/* ---- a server's log ---- */

enum { LOG_PLAN = 1, LOG_OVER = 6, LOG_FORMAT = 7 };

#define SEGMENT		"log-0/00000001"
#define OTHER_LOG	"./log-0: this log was written by programs of " \
	"another release or build: use those, or remove this folder and lose " \
	"the steps that only this log has"

/* Opens the log as a server does.  Returns 0 if the log is ignored, else the
   kind of the error, which must have this text. */
static enum fail_kind
opens(const char *why)
{
	struct side s = { 0 };
	struct wal *l;
	struct fail none;

	side_new(&s, 1);
	f = (struct fail){ 0 };
	l = wal_open(".", 0, s.server, &f);
	if (l && disk_is_there(SEGMENT))
		f.kind = FAIL_INTERNAL;
	if (!l && strcmp(f.text, why) != 0)
		printf("# %s\n", f.text);
	wal_close(l);
	side_free(&s);
	if (f.kind == 0)
		disk_remove_folder("log-0", &none);
	return strcmp(f.text, why) == 0 ? f.kind : FAIL_INTERNAL;
}

static void
logs(void)
{
	struct pack format = { 0 }, empty = { 0 };

	disk_make_folder("log-0", &f);
	append(SEGMENT, LOG_PLAN, &empty);
	named(opens(OTHER_LOG) == FAIL_CONFIG && disk_is_there(SEGMENT),
	      "a log that does not name its format is refused, and stays");
	append(SEGMENT, LOG_OVER, &empty);
	named_equals(opens(""), 0,
		     "a log that does not name its format is begun anew when "
		     "its run is over");

	for (uint64_t i = 0; i < 3; i++) {
		disk_make_folder("log-0", &f);
		pack_reset(&format);
		pack_uint(&format, 2 + (i == 0));
		pack_uint(&format, WIRE_VERSION + (i == 1));
		pack_uint(&format, message_table() + (i == 2));
		append(SEGMENT, LOG_FORMAT, &format);
		append(SEGMENT, LOG_PLAN, &empty);
		named_equals(opens(OTHER_LOG), FAIL_CONFIG,
			     "a log of another format, version or message "
			     "table is refused");
		unlink(SEGMENT);
	}
	/* The log is incomplete from its start, so no step was acknowledged on
	   it. */
	pack_reset(&format);
	pack_uint(&format, 2);
	pack_uint(&format, WIRE_VERSION);
	pack_uint(&format, message_table());
	append(SEGMENT, LOG_FORMAT, &format);
	named_equals(opens(""), 0,
		     "a log of this version without a plan is begun anew");
	pack_release(&format);
	pack_release(&empty);
}

/* ---- caches ---- */

/* Changes a digit of the version, in the first 8 bytes, and nothing else. */
static void
age(const char *path)
{
	FILE *file = fopen(path, "r+b");

	if (!file || fseek(file, 7, SEEK_SET) != 0 || fputc('0', file) < 0 ||
	    fclose(file) != 0)
		perror(path);
}

static void
caches(void)
{
	const struct cache_key key = { 0 };
	struct disk_file out;
	struct cache_file c;

	ok(cache_file_create(&out, "a.pscache", &key, &f) == 0 &&
	   disk_commit(&out, &f) == 0);
	equals(cache_file_open(&c, "a.pscache", &key, 0, &f), 1);
	cache_file_close(&c);
	age("a.pscache");
	named_equals(cache_file_open(&c, "a.pscache", &key, 0, &f), 0,
		     "a cache of another version counts as missing, not as "
		     "damaged");
	cache_file_close(&c);
	unlink("a.pscache");
}

int
main(void)
{
	files_begin();
	replay_open();
	journals();
	large_records();
	logs();
	caches();
	replay_close();
	files_end();
	return tap_done();
}
