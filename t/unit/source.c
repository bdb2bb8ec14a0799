/* Bytes of files, commands and compressed files are read completely, or an
   error is reported. */
#include "data/source.h"

#include "data/lines.h"

#include "files.h"
#include "tap.h"

#include <signal.h>

static const struct packing {
	const char *filter, *file;
} packings[] = {
	{ "gzip", "a.gz" }, { "bzip2", "a.bz2" }, { "xz", "a.xz" },
	{ "zstd", "a.zst" }, { "lz4", "a.lz4" }, { "lzip", "a.lz" },
};

#define PACKINGS	(sizeof(packings) / sizeof(*packings))
#define SIZE		300000

static char bytes[SIZE];
static struct commands commands;
static struct fail f;

/* Returns the number of bytes read if they are the expected ones; -1:
   failure. */
static long
drain(const char *name)
{
	struct source *s = source_open(name, &commands, &f);
	char part[1000];
	size_t got = 1, at = 0;
	int bad = s ? 0 : -1;

	while (bad == 0 && got > 0 && at + sizeof(part) <= 2 * SIZE) {
		bad = source_copy(s, part, sizeof(part), &got, &f);
		if (at + got > SIZE || memcmp(bytes + at, part, got) != 0)
			break;
		at += got;
	}
	source_close(s);
	return bad ? -1 : (long)at;
}

static bool
fails(const char *name, enum fail_kind kind, const char *text)
{
	f = (struct fail){ 0 };
	if (drain(name) < 0 && f.kind == kind && strcmp(f.text, text) == 0)
		return true;
	tap_differ(f.text, text);
	return false;
}

static void
test_files(void)
{
	files_put("plain", bytes, SIZE);
	files_put("empty", bytes, 0);
	ok(drain("plain") == SIZE && drain("empty") == 0);
	ok(fails("none", FAIL_NOINPUT, "none: No such file or directory"));
	ok(fails(".", FAIL_NOINPUT, ".: it is a directory"));
	ok(!source_open("pipe:true", NULL, &f) && f.kind == FAIL_DENIED);
}

static void
test_packed(void)
{
	for (size_t i = 0; i < PACKINGS; i++) {
		files_packed(packings[i].file, packings[i].filter, bytes,
			     SIZE);
		named_for(drain(packings[i].file) == SIZE,
			  "a file in %s is read completely",
			  packings[i].filter);
		if (i >= 4)
			continue;	/* libarchive cannot write it */
		files_packed("none", packings[i].filter, bytes, 0);
		named_for(drain("none") == 0,
			  "an empty file in %s is read as empty",
			  packings[i].filter);
		remove("none");
	}

	/* Compressed members one after the other are one stream. */
	files_packed("b1.gz", "gzip", bytes, 1000);
	files_packed("b2.gz", "gzip", bytes + 1000, SIZE - 1000);
	equals(drain("pipe:cat b1.gz b2.gz"), SIZE);
}

/* A compressed file that is cut anywhere after its first bytes is an error. */
static void
test_cut(void)
{
	for (size_t i = 0; i < PACKINGS; i++) {
		size_t size, found = 0, tried = 0;
		char *packed = files_get(packings[i].file, &size);

		for (size_t cut = size - 1; cut > 24; cut -= cut / 9 + 1) {
			files_put("cut", packed, cut);
			f = (struct fail){ 0 };
			found += drain("cut") < 0 && f.kind == FAIL_DATA &&
				 strncmp(f.text, "cut: ", 5) == 0;
			tried++;
		}
		printf("# %s: %s\n", packings[i].filter, f.text);
		named_for(tried > 5 && found == tried,
			  "a file in %s that is cut anywhere is an error",
			  packings[i].filter);
		free(packed);
	}
}

/* Any flipped bit after the header is an error. */
static void
test_damaged(void)
{
	for (size_t i = 0; i < PACKINGS; i++) {
		size_t size, found = 0, tried = 0;
		char *packed = files_get(packings[i].file, &size);

		for (size_t at = 40; at < size; at += size / 50 + 1) {
			packed[at] ^= (char)(1 << at % 8);
			files_put("bad", packed, size);
			packed[at] ^= (char)(1 << at % 8);
			found += drain("bad") != SIZE;
			tried++;
		}
		printf("# %s: %zu of %zu\n", packings[i].filter, found,
		       tried);
		named_for(tried > 20 && found == tried,
			  "a file in %s with a flipped bit is an error",
			  packings[i].filter);
		free(packed);
	}
}

static void
test_more(void)
{
	size_t size;
	char *packed = files_get("a.gz", &size);

	packed = realloc(packed, size + 100);
	memset(packed + size, 'x', 100);
	files_put("more.gz", packed, size + 100);
	free(packed);
	ok(fails("more.gz", FAIL_DATA, "more.gz: something else follows the "
		 "compressed data"));
}

static void
test_pipe(void)
{
	equals(drain("pipe:cat plain"), SIZE);
	equals(drain("pipe:cat a.zst"), SIZE);
	ok(fails("pipe:exit 3", FAIL_IO,
		 "pipe:exit 3: the command ended with status 3"));
	ok(fails("pipe:cat plain; exit 1", FAIL_IO,
		 "pipe:cat plain; exit 1: the command ended with status 1"));
	ok(fails("pipe:cat a.gz | head -c 1000; false", FAIL_IO,
		 "pipe:cat a.gz | head -c 1000; false: "
		 "the command ended with status 1"));
	ok(fails("pipe:kill -9 $$", FAIL_IO,
		 "pipe:kill -9 $$: the command was ended by signal 9"));
	for (size_t i = 0; i < PACKINGS; i++) {
		char name[64], text[128];

		snprintf(name, sizeof(name), "pipe:cat %s; exit 3",
			 packings[i].file);
		snprintf(text, sizeof(text), "%s: the command ended with "
			 "status 3", name);
		named_for(fails(name, FAIL_IO, text), "the failure of a "
			  "command that writes %s is an error",
			  packings[i].filter);
	}
	ok(drain("pipe:cat plain; exit 141") == SIZE);
	ok(drain("pipe:cat plain; kill -PIPE $$") == SIZE);

	/* A command has the default SIGPIPE, which this process ignores: so an
	   endless command ends. */
	signal(SIGPIPE, SIG_IGN);

	struct source *s = source_open("pipe:while :; do echo; done",
				       &commands, &f);
	const void *some;
	size_t size;

	ok(source_read(s, &some, &size, &f) == 0 && size > 0);
	source_close(s);
	s = source_open("pipe:seq 100; exec sleep 1000", &commands, &f);
	ok(source_read(s, &some, &size, &f) == 0 && size == 292);
	source_close(s);

	/* A short line is read before more bytes come. */
	s = source_open("pipe:echo 1; exec timeout 5 sleep 9", &commands, &f);
	ok(s && source_read(s, &some, &size, &f) == 0 && size == 2);
	source_close(s);
	ok(!commands.first);

	/* Another process may end the command for which a close would wait. */
	s = source_open("pipe:echo 1; exec sleep 1000", &commands, &f);
	ok(s && source_read(s, &some, &size, &f) == 0 && size == 2);
	commands_end(&commands);
	ok(source_read(s, &some, &size, &f) != 0 && f.kind == FAIL_IO &&
	   strstr(f.text, "ended by signal 15"));
	source_close(s);
	ok(!commands.first);
	ok(drain("pipe:head -c 3 a.zst; tail -c +4 a.zst") == SIZE);
}

static bool
line_is(struct lines *l, const char *text, uint64_t number)
{
	return lines_next(l, &f) == 1 && l->size == strlen(text) &&
	       memcmp(l->text, text, l->size + 1) == 0 &&
	       l->number == number;
}

static void
test_lines(void)
{
	struct lines l;

	files_text("lines", "\xef\xbb\xbf" "one\r\n\ntwo\r\rthree\r\n"
		   "four\nfive");
	equals(lines_open(&l, "lines", false, &f), 0);
	ok(line_is(&l, "one", 1) && line_is(&l, "", 2));
	ok(line_is(&l, "two\r\rthree", 3));
	ok(lines_more(&l, &f) == 1 && l.number == 4 &&
	   strcmp(l.text, "two\r\rthree\r\nfour") == 0 && l.size == 16);
	ok(line_is(&l, "five", 5));
	ok(lines_more(&l, &f) == 0 && lines_next(&l, &f) == 0);
	fail(&f, FAIL_DATA, "bad");
	ok(lines_fail(&l, &f) == -1 && strcmp(f.text, "lines:5: bad") == 0);
	lines_release(&l);

	/* Some lines cross blocks, and one has no end. */
	equals(lines_open(&l, "pipe:seq 200000", &commands, &f), 0);

	char text[16];
	uint64_t n = 0;

	do {
		snprintf(text, sizeof(text), "%d", (int)n + 1);
	} while (line_is(&l, text, n + 1) && ++n < 300000);
	equals(n, 200000);
	lines_release(&l);

	ok(lines_open(&l, "pipe:echo; tr '\\0' x </dev/zero", &commands,
		      &f) == 0);
	ok(line_is(&l, "", 1) && lines_next(&l, &f) == -1 &&
	   f.kind == FAIL_DATA && strcmp(f.text, "pipe:echo; tr '\\0' x "
	   "</dev/zero:2: longer than 64 MiB") == 0);
	lines_release(&l);
}

int
main(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (char)(x >> 28 & 7 ? 'a' + (x >> 28) : '\n');
	}
	files_begin();
	test_files();
	test_packed();
	test_cut();
	test_damaged();
	test_more();
	test_pipe();
	test_lines();
	files_end();
	return tap_done();
}
