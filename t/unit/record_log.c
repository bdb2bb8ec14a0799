/*
 * A log is recovered up to its last complete record; the loss of a record that
 * was synced is an error.
 */
#include "store/record_log.h"

#include "base/mem.h"
#include "base/rng.h"

#include "files.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT	4096
#define FILE_	"records"

static struct fail f;
static uint64_t cut;

/* Makes record i: random bytes of any size, also of none. */
static size_t
content(unsigned i, unsigned char *bytes)
{
	const size_t size = i % 7 == 3 ? 0 : 1 + i * 37 % 200;

	for (size_t k = 0; k < size; k++)
		bytes[k] = (unsigned char)(i * 31 + k * 7);
	return size;
}

/* The number of records that were read, and of those that differ. */
struct told {
	unsigned count, wrong;
	uint64_t end;
};

static int
told(void *self, const struct record *r, struct fail *fail_)
{
	struct told *t = self;
	unsigned char bytes[256];
	const size_t size = content(t->count, bytes);

	(void)fail_;
	if (r->kind != t->count + 1 || r->size != size ||
	    (size && memcmp(r->bytes, bytes, size) != 0) ||
	    r->offset != t->end)
		t->wrong++;
	t->count++;
	t->end = r->offset + RECORD_HEAD + r->size;
	return 0;
}

static struct record_log *
reopen(struct told *t)
{
	*t = (struct told){ 0 };
	return record_log_open(FILE_, LIMIT, told, t, &cut, &f);
}

static int
add(struct record_log *file, unsigned i)
{
	unsigned char bytes[256];
	const size_t size = content(i, bytes);

	return record_log_append(file, i + 1, bytes, size, &f);
}

/* Builds a file of count records, with a sync after each `every` of them. */
static char *
build(unsigned count, unsigned every, size_t *size)
{
	struct record_log *file;
	struct told t;

	remove(FILE_);
	file = reopen(&t);
	for (unsigned i = 0; i < count; i++) {
		add(file, i);
		if (i % every == every - 1)
			record_log_sync(file, &f);
	}
	record_log_flush(file, &f);
	record_log_close(file);
	return files_get(FILE_, size);
}

static void
test_comes_back(void)
{
	struct record_log *file;
	struct told t;

	file = reopen(&t);
	ok(file && t.count == 0 && record_log_size(file) == 0);
	for (unsigned i = 0; i < 100; i++)
		add(file, i);
	equals(record_log_safe(file), 0);
	equals(record_log_sync(file, &f), 0);
	ok(record_log_safe(file) == record_log_size(file));
	record_log_close(file);
	file = reopen(&t);
	ok(file && t.count == 100 && t.wrong == 0 && cut == 0);
	for (unsigned i = 100; i < 150; i++)
		add(file, i);
	record_log_flush(file, &f);
	t = (struct told){ 0 };
	ok(record_log_replay(FILE_, LIMIT, told, &t, &cut, &f) == 0 &&
	   t.count == 150 && t.wrong == 0);
	record_log_close(file);
	file = reopen(&t);
	ok(file && t.count == 150 && t.wrong == 0);
	record_log_close(file);
}

static void
test_pieces(void)
{
	struct record_log *file;
	struct told t;
	unsigned char bytes[256];
	const size_t size = content(0, bytes);
	const struct iovec piece[] = {
		{ bytes, 1 }, { bytes, 0 }, { bytes + 1, size - 1 },
	};

	remove(FILE_);
	file = reopen(&t);
	record_log_append_pieces(file, 1, piece, size > 1 ? 3 : 1, &f);
	record_log_sync(file, &f);
	record_log_close(file);
	file = reopen(&t);
	ok(file && t.count == 1 && t.wrong == 0);
	record_log_close(file);
}

static int
refuse(void *self, const struct record *r, struct fail *fail_)
{
	(void)self;
	return r->kind == 3 ? fail(fail_, FAIL_DATA, "third") : 0;
}

static void
test_owner_refuses(void)
{
	size_t size, after;

	free(build(5, 1, &size));
	ok(!record_log_open(FILE_, LIMIT, refuse, NULL, &cut, &f) &&
	   strcmp(f.text, "third") == 0);
	free(files_get(FILE_, &after));
	equals(after, size);
}

static void
test_one_owner(void)
{
	struct record_log *file;
	struct told t;

	file = reopen(&t);
	ok(!reopen(&t) && f.kind == FAIL_AGAIN &&
	   strcmp(f.text, "records: another program has it open") == 0);
	record_log_close(file);
	file = reopen(&t);
	ok(file);
	record_log_close(file);
}

/* Returns the number of complete records in the first size bytes. */
static unsigned
whole(size_t size)
{
	unsigned char bytes[256];
	unsigned n = 0;

	for (size_t end = 0;; n++) {
		end += RECORD_HEAD + content(n, bytes);
		if (end > size)
			return n;
	}
}

/* Are the first size bytes recovered, and a record that is then added? */
static bool
recovers(const char *bytes, size_t size)
{
	const unsigned n = whole(size);
	struct record_log *file;
	struct told t;
	bool good;

	files_put(FILE_, bytes, size);
	file = reopen(&t);
	if (!file)
		return false;
	good = t.count == n && t.wrong == 0 && cut == size - t.end;
	good = good && add(file, n) == 0 && record_log_sync(file, &f) == 0;
	record_log_close(file);
	file = reopen(&t);
	good = good && file && t.count == n + 1 && t.wrong == 0 && cut == 0;
	record_log_close(file);
	return good;
}

static void
test_cut_anywhere(void)
{
	struct rng rng = { .seed = 1 };
	size_t size, bad = 0, last = 0;
	char *bytes = build(40, 3, &size);

	while (whole(last) < 38)
		last++;
	for (size_t n = last; n <= size; n++)
		bad += !recovers(bytes, n);
	named_equals(bad, 0,
		     "a log that is cut at any byte of the last two records is "
		     "recovered");
	for (int i = 0; i < 500; i++)
		bad += !recovers(bytes, rng_below(&rng, size + 1));
	named_equals(bad, 0,
		     "a log that is cut at 500 random places is recovered");
	free(bytes);
}

/* Every flipped bit is refused, or costs records at the end that were not
   synced. */
static void
flip_all(unsigned count, unsigned every, size_t *refused, size_t *dropped,
	 size_t *missed)
{
	size_t size;
	char *bytes = build(count, every, &size);

	*refused = *dropped = *missed = 0;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		struct told t = { 0 };
		int r;

		bytes[bit / 8] ^= (char)(1 << bit % 8);
		files_put(FILE_, bytes, size);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		r = record_log_replay(FILE_, LIMIT, told, &t, &cut, &f);
		if (r < 0 && t.wrong == 0)
			++*refused;
		else if (t.wrong == 0 && t.count < count && cut > 0)
			++*dropped;
		else
			++*missed;
	}
	free(bytes);
}

static void
test_flips(void)
{
	size_t refused, dropped, missed, last;
	unsigned char bytes[256];

	flip_all(6, 1, &refused, &dropped, &missed);
	last = 8 * (RECORD_HEAD + content(5, bytes));
	equals(missed, 0);
	named_equals(dropped, last,
		     "a flipped bit is ignored in the last record alone");
	/* Also in the first head, where the file may be that of another
	   program. */
	flip_all(6, 6, &refused, &dropped, &missed);
	ok(missed == 0 && refused == 8 * RECORD_HEAD);
}

/* Records that were not synced may be missing in the middle: the log is cut
   there. */
static void
test_torn_in_any_order(void)
{
	struct record_log *file;
	struct told t;
	size_t size, hole = 0;
	char *bytes = build(10, 5, &size);

	while (whole(hole) < 5)
		hole++;
	memset(bytes + hole, 0, RECORD_HEAD);
	files_put(FILE_, bytes, size);
	file = reopen(&t);
	ok(file && t.count == 5 && t.wrong == 0 && cut == size - hole);
	record_log_close(file);
	free(bytes);
}

static void
test_damage_is_named(void)
{
	struct told t;
	size_t size, after;
	char *bytes = build(4, 1, &size);

	bytes[RECORD_HEAD] ^= 1;
	files_put(FILE_, bytes, size);
	free(bytes);
	f = (struct fail){ 0 };
	ok(!reopen(&t) && f.kind == FAIL_DATA);
	ok(strstr(f.text, "records: damaged at byte 0 of ") == f.text);
	free(files_get(FILE_, &after));
	equals(after, size);
}

static void
test_limit(void)
{
	struct told t = { 0 };
	size_t size;

	free(build(2, 1, &size));
	f = (struct fail){ 0 };
	ok(record_log_replay(FILE_, 37, told, &t, &cut, &f) < 0 &&
	   f.kind == FAIL_DATA && t.count == 1);
	ok(strcmp(f.text, "records: a record of 38 bytes at byte 33, more "
		  "than 37") == 0);
}

static void
test_no_file(void)
{
	struct told t;

	ok(!record_log_open("no/such", LIMIT, told, &t, &cut, &f) &&
	   f.kind == FAIL_CREATE);
	ok(record_log_replay("no-such", LIMIT, told, &t, &cut, &f) < 0 &&
	   f.kind == FAIL_NOINPUT);
	ok(!record_log_open("/dev/null", LIMIT, told, &t, &cut, &f) &&
	   f.kind == FAIL_DATA);
}

/* A file of another program is not changed; the remains of a first record after
   a crash are removed. */
static void
test_another(void)
{
	static const char *const texts[] = {
		"a line of 16 by\n", "lines that are longer than a head is\n"
	};
	struct told t = { 0 };
	size_t size, kept;
	char *bytes;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		files_text("another", texts[i]);
		ok(!record_log_open("another", LIMIT, told, &t, &cut, &f) &&
		   f.kind == FAIL_DATA && strcmp(f.text, "another: holds "
						 "something other than "
						 "records") == 0);
		free(files_get("another", &kept));
		ok(kept == strlen(texts[i]) && t.count == 0);
	}
	bytes = build(1, 1, &size);
	for (size_t cut_at = 0; cut_at < size; cut_at++) {
		files_put("another", bytes, cut_at);
		struct record_log *file = record_log_open("another", LIMIT,
							  told, &t, &cut, &f);

		if (!file || cut != cut_at)
			break;
		record_log_close(file);
		if (cut_at + 1 == size)
			named(true,
			      "a first record that is cut at any byte is "
			      "removed");
	}
	memset(bytes, 0, size);
	files_put("another", bytes, size);
	free(bytes);

	struct record_log *file = record_log_open("another", LIMIT, told, &t,
						  &cut, &f);

	ok(file && cut == size && t.count == 0);
	record_log_close(file);
}

/* After a failed write no record is accepted, even when there is room again. */
static void
test_full(void)
{
	struct rlimit all, little;
	struct record_log *file;
	struct told t;

	signal(SIGXFSZ, SIG_IGN);
	remove(FILE_);
	file = reopen(&t);
	add(file, 0);
	record_log_sync(file, &f);
	getrlimit(RLIMIT_FSIZE, &all);
	little = all;
	little.rlim_cur = record_log_size(file) + 50;
	setrlimit(RLIMIT_FSIZE, &little);
	add(file, 1);
	add(file, 2);
	ok(record_log_sync(file, &f) < 0 && f.kind == FAIL_IO);
	equals(f.text, "cannot write records: File too large");
	setrlimit(RLIMIT_FSIZE, &all);
	ok(record_log_sync(file, &f) < 0 && add(file, 3) < 0 &&
	   record_log_flush(file, &f) < 0);
	ok(strcmp(f.text, "cannot write records: an earlier write failed") ==
	   0);
	record_log_close(file);
	file = reopen(&t);
	ok(file && t.count == 1 && t.wrong == 0 && cut == 50);
	record_log_close(file);
}

/* Are count records from first on recovered, and can one be added? */
static bool
begins_with(unsigned first, unsigned count)
{
	struct told t = { .count = first };
	struct record_log *file = record_log_open(FILE_, LIMIT, told, &t, &cut,
						  &f);
	const bool good = file && t.count == count && t.wrong == 0;

	record_log_close(file);
	return good;
}

static void
test_drop(void)
{
	uint64_t before = 0;
	struct record_log *file;
	size_t size, bad = 0;
	struct told t;
	char *bytes;

	free(build(40, 3, &size));
	for (unsigned i = 0; i < 25; i++) {
		unsigned char content_[256];

		before += RECORD_HEAD + content(i, content_);
	}
	files_put(FILE_ ".new", "what broke off", 14);
	file = reopen(&t);
	ok(file && access(FILE_ ".new", F_OK) < 0);
	add(file, 40);
	equals(record_log_drop(file, before, &f), 0);
	ok(record_log_safe(file) == record_log_size(file) &&
	   access(FILE_ ".new", F_OK) < 0);
	ok(!reopen(&t) && f.kind == FAIL_AGAIN);
	add(file, 41);
	record_log_sync(file, &f);
	record_log_close(file);
	ok(begins_with(25, 42));
	bytes = files_get(FILE_, &size);
	for (size_t n = size; n-- > 0;) {
		files_put(FILE_, bytes, n);
		t = (struct told){ .count = 25 };
		bad += record_log_replay(FILE_, LIMIT, told, &t, &cut,
					 &f) < 0 ||
			t.wrong > 0 || t.count > 41 || t.end + cut != n;
	}
	named_equals(bad, 0,
		     "a log that was shortened, then cut at any byte, is "
		     "recovered");
	free(bytes);
}

/* A failed removal of records leaves the log unchanged. */
static void
test_drop_fails(void)
{
	struct record_log *file;
	struct told t;
	size_t size;

	free(build(4, 1, &size));
	mkdir(FILE_ ".new", 0777);
	file = reopen(&t);
	ok(record_log_drop(file, RECORD_HEAD + 1, &f) < 0 &&
	   f.kind == FAIL_CREATE);
	ok(add(file, 4) == 0 && record_log_sync(file, &f) == 0);
	record_log_close(file);
	rmdir(FILE_ ".new");
	file = reopen(&t);
	ok(file && t.count == 5 && t.wrong == 0);
	record_log_close(file);
}

int
main(void)
{
	files_begin();
	test_comes_back();
	test_pieces();
	test_owner_refuses();
	test_one_owner();
	test_cut_anywhere();
	test_flips();
	test_torn_in_any_order();
	test_damage_is_named();
	test_limit();
	test_no_file();
	test_another();
	test_full();
	test_drop();
	test_drop_fails();
	files_end();
	return tap_done();
}
