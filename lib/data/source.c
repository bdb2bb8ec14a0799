#include "data/source.h"

#include "base/mem.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK	(256 << 10)
#define TRAILER	8		/* bytes at the end of gzip's data */

struct source {
	char *name;
	struct archive *archive;
	int fd;
	struct command command;	/* of "pipe:" */
	bool members;		/* an archive, rather than one stream */
	struct archive_entry *member;	/* the present member */
	locale_t names;		/* the locale of members' names; or 0 */
	bool bare;		/* nothing is decompressed */
	bool regular;		/* a regular file, as of S_ISREG() */
	bool ended;		/* no bytes are left, of the member or in all */
	const unsigned char *rest;	/* bytes that source_fill() has left of
					   a block */
	size_t rest_size;
	bool looked;		/* read_head() has filled block, */
	size_t seen;		/* with that many bytes */
	uint64_t taken;		/* bytes that libarchive read from fd */
	unsigned char tail[TRAILER];	/* the last of them */
	uint64_t given;		/* bytes that source_read() gave */
	bool gzip;		/* the input is compressed by gzip */
	uint32_t crc;		/* checksum of the given bytes (RFC 1952) */
	struct fail fail;	/* read_block() failed: libarchive, which called
				   it, may report only the end of the input */
	bool failed;
	unsigned char block[BLOCK];
};

static ssize_t
read_bytes(const struct source *s, void *to, size_t room)
{
	ssize_t n;

	do {
		n = read(s->fd, to, room);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Read the first bytes before libarchive asks for them. */
static int
read_head(struct source *s, struct fail *f)
{
	const ssize_t n = read_bytes(s, s->block, sizeof(s->block));

	if (n < 0)
		return fail_sys(f, FAIL_IO, "%s", s->name);
	s->looked = true;
	s->seen = (size_t)n;
	return 0;
}

static ssize_t
next_block(struct source *s)
{
	if (!s->looked)
		return read_bytes(s, s->block, sizeof(s->block));
	s->looked = false;
	return (ssize_t)s->seen;
}

static void
keep_tail(struct source *s, size_t n)
{
	const size_t fresh = n < TRAILER ? n : TRAILER;

	memmove(s->tail, s->tail + fresh, TRAILER - fresh);
	memcpy(s->tail + TRAILER - fresh, s->block + n - fresh, fresh);
}

/* libarchive's archive_read_callback. */
static la_ssize_t
read_block(struct archive *a, void *context, const void **bytes)
{
	struct source *s = context;
	const ssize_t n = s->failed ? -1 : next_block(s);

	*bytes = s->block;
	if (n == 0)
		s->failed = command_await(&s->command, s->name, &s->fail) != 0;
	else if (n < 0 && !s->failed)
		s->failed = fail_sys(&s->fail, FAIL_IO, "%s", s->name) != 0;
	if (!s->failed) {
		s->taken += (uint64_t)n;
		keep_tail(s, (size_t)n);
		return n;
	}
	archive_set_error(a, EIO, "%s", s->fail.text);
	return ARCHIVE_FATAL;
}

/* Fail with the error of read_block(), if it had one, or else with that of
   libarchive. */
static int
fail_archive(struct source *s, struct fail *f)
{
	const char *why = archive_error_string(s->archive);

	if (s->failed) {
		*f = s->fail;
		return -1;
	}
	return fail(f, FAIL_DATA, "%s: %s", s->name, why ? why : "damaged");
}

static int
fail_folder(const char *name, struct fail *f)
{
	return fail(f, FAIL_NOINPUT, "%s: it is a directory", name);
}

static int
open_fd(struct source *s, struct commands *commands, struct fail *f)
{
	struct stat st;

	if (strncmp(s->name, "pipe:", 5) == 0) {
		if (!commands)
			return fail(f, FAIL_DENIED,
				    "%s: a command is taken from the command "
				    "line only", s->name);
		s->fd = command_start(&s->command, commands, s->name + 5,
				      s->name, f);
		return s->fd < 0 ? -1 : 0;
	}
	if (strcmp(s->name, "-") == 0)
		s->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		s->fd = open(s->name, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", s->name);
	if (S_ISDIR(st.st_mode))
		return fail_folder(s->name, f);
	s->regular = S_ISREG(st.st_mode);
	return 0;
}

/*
 * The filters are named one by one: archive_read_support_filter_all() has some
 * that run other programs, and uudecode, which mistakes some lines of text for
 * its own format.
 */
static void
support_filters(struct archive *a)
{
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzip(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_lz4(a);
}

/*
 * Do the first bytes begin with a magic number, as far as there are bytes?  The
 * mask is for the first of them.
 */
static bool
begins(const struct source *s, const char *magic, unsigned char mask)
{
	const size_t size = strlen(magic), n = s->seen < size ? s->seen : size;

	return n == 0 || ((s->block[0] & mask) == (unsigned char)*magic &&
			  memcmp(s->block + 1, magic + 1, n - 1) == 0);
}

static bool
has_compressed_magic(const struct source *s)
{
	/* gzip, bzip2, xz, lzip; zstd; lz4 and its legacy format. */
	static const char *const magic[] = {
		"\x1f\x8b", "BZh", "\xfd\x37\x7aXZ", "LZIP",
		"\x28\xb5\x2f\xfd",
		"\x04\x22\x4d\x18", "\x02\x21\x4c\x18"
	};

	for (size_t i = 0; i < sizeof(magic) / sizeof(*magic); i++)
		if (begins(s, magic[i], 0xff))
			return true;
	/* The 16 kinds of skippable frames of zstd and lz4. */
	return begins(s, "\x50\x2a\x4d\x18", 0xf0);
}

/*
 * Filters are only enabled if the first bytes may be compressed.  To recognize
 * a compression libarchive waits for more bytes than a short line has; a writer
 * may send one line and then wait for our answer, for ever.
 */
static int
open_archive(struct source *s, struct fail *f)
{
	struct archive *a = s->archive = archive_read_new();

	if (!a)
		return fail(f, FAIL_INTERNAL, "%s: libarchive has no memory",
			    s->name);
	if (!s->bare && read_head(s, f) < 0)
		return -1;
	if (!s->bare && has_compressed_magic(s))
		support_filters(a);
	archive_read_support_format_empty(a);
	if (s->members) {
		archive_read_support_format_tar(a);
		archive_read_support_format_zip_streamable(a);
		/* Read all archives that "cat *.tar" has joined. */
		archive_read_set_format_option(a, "tar",
					       "read_concatenated_archives",
					       "1");
	} else {
		archive_read_support_format_raw(a);
	}
	if (archive_read_open(a, s, NULL, read_block, NULL) != ARCHIVE_OK)
		return fail_archive(s, f);
	if (s->members)
		return 0;
	if (source_member(s, NULL, f) < 0)
		return -1;
	s->gzip = archive_filter_code(a, 0) == ARCHIVE_FILTER_GZIP;
	return 0;
}

static struct source *
begin(const char *name, bool members, struct commands *commands,
      struct fail *f)
{
	struct source *s = mem_alloc(1, sizeof(*s));

	s->name = mem_text(name);
	s->members = members;
	if (members)
		s->names = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	s->fd = -1;
	if (open_fd(s, commands, f) == 0 && open_archive(s, f) == 0)
		return s;
	source_close(s);
	return NULL;
}

struct source *
source_open(const char *name, struct commands *commands, struct fail *f)
{
	return begin(name, false, commands, f);
}

struct source *
source_open_archive(const char *name, struct commands *commands,
		    struct fail *f)
{
	return begin(name, true, commands, f);
}

struct source *
source_open_at(const char *name, uint64_t offset, struct fail *f)
{
	struct source *s = mem_alloc(1, sizeof(*s));

	s->name = mem_text(name);
	s->bare = true;
	s->fd = -1;
	if (open_fd(s, NULL, f) == 0 &&
	    (lseek(s->fd, (off_t)offset, SEEK_SET) >= 0 ||
	     fail_sys(f, FAIL_IO, "%s", name) == 0) &&
	    open_archive(s, f) == 0)
		return s;
	source_close(s);
	return NULL;
}

void
source_close(struct source *s)
{
	struct fail ignored;

	if (!s)
		return;
	archive_read_free(s->archive);
	if (s->fd >= 0)
		close(s->fd);
	/* A command may wait for something else than a reader of its pipe, and
	   would not notice that we have closed it. */
	command_end(&s->command);
	command_await(&s->command, s->name, &ignored);
	if (s->names)
		freelocale(s->names);
	free(s->name);
	free(s);
}

int
source_look(const char *name, struct fail *f)
{
	struct stat st;

	if (strcmp(name, "-") == 0 || strncmp(name, "pipe:", 5) == 0)
		return 0;
	if (stat(name, &st) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", name);
	return S_ISDIR(st.st_mode) ? fail_folder(name, f) : 0;
}

bool
source_once(const char *name)
{
	struct stat st;

	return strcmp(name, "-") == 0 ||
		(stat(name, &st) == 0 && !S_ISREG(st.st_mode) &&
		 !S_ISDIR(st.st_mode));
}

bool
source_plain(const struct source *s)
{
	return s->regular && !s->members &&
		archive_filter_code(s->archive, 0) == ARCHIVE_FILTER_NONE;
}

const char *
source_name(const struct source *s)
{
	return s->name;
}

/* Return the little-endian number of four bytes. */
static uint32_t
number_at(const unsigned char *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
	       (uint32_t)b[3] << 24;
}

/*
 * libarchive does not check gzip's checksum, so compare it here (RFC 1952: the
 * last 8 bytes are the CRC-32 and the size).  If several members were joined,
 * the last 8 bytes are those of the last one; its size then differs from the
 * bytes given, and nothing is checked.
 */
static int
check_gzip(const struct source *s, struct fail *f)
{
	if (!s->gzip || number_at(s->tail + 4) != (uint32_t)s->given ||
	    number_at(s->tail) == s->crc)
		return 0;
	return fail(f, FAIL_DATA, "%s: damaged: the checksum of the compressed "
		    "data does not match", s->name);
}

/* At the end: check that nothing follows the compressed data, that the command
   has ended well, and the checksum. */
static int
check_end(struct source *s, struct fail *f)
{
	const bool packed = archive_filter_code(s->archive, 0) !=
		ARCHIVE_FILTER_NONE;
	const void *bytes;
	la_ssize_t n;

	s->ended = true;
	if (!s->failed && (packed || !s->members) &&
	    (uint64_t)archive_filter_bytes(s->archive, -1) != s->taken)
		return fail(f, FAIL_DATA, "%s: something else follows the "
			    "compressed data", s->name);
	do {			/* read past the directory of a zip */
		n = read_block(s->archive, s, &bytes);
	} while (n > 0 && s->members);
	if (n != 0)
		return fail_archive(s, f);
	return check_gzip(s, f);
}

/* Go to the next member that is not a folder.  Names are read as UTF-8 in any
   locale of ours; a name that is not UTF-8 is kept as it is. */
static int
next_header(struct source *s)
{
	const locale_t ours = uselocale(s->names);
	int got;

	do {
		got = archive_read_next_header(s->archive, &s->member);
	} while ((got == ARCHIVE_OK || got == ARCHIVE_WARN) && s->members &&
		 archive_entry_filetype(s->member) == AE_IFDIR);
	if (got == ARCHIVE_WARN && archive_entry_pathname(s->member))
		got = ARCHIVE_OK;
	uselocale(ours);
	return got;
}

int
source_member(struct source *s, const char **name, struct fail *f)
{
	const int got = next_header(s);

	s->rest_size = 0;
	if (got == ARCHIVE_EOF)
		return check_end(s, f);
	if (got != ARCHIVE_OK)
		return fail_archive(s, f);
	if (name) {
		*name = archive_entry_pathname(s->member);
		if (!*name)
			return fail(f, FAIL_DATA, "%s: a member has no name",
				    s->name);
	}
	s->ended = false;
	return 1;
}

/* Refuse a member that has no bytes of its own: it would look empty. */
static int
check_member(const struct source *s, struct fail *f)
{
	struct archive_entry *e = s->member;
	const char *what = NULL;

	if (archive_entry_hardlink(e) || archive_entry_symlink(e))
		what = "is a link: tar with --dereference --hard-dereference";
	else if (archive_entry_filetype(e) != AE_IFREG)
		what = "is not a plain file";
	else if (archive_entry_sparse_count(e) > 0)
		what = "has holes: tar without --sparse";
	return !what ? 0 : fail(f, FAIL_DATA, "%s: %s %s", s->name,
				archive_entry_pathname(e), what);
}

int
source_read(struct source *s, const void **bytes, size_t *size,
	    struct fail *f)
{
	la_int64_t offset;
	int got;

	*size = 0;
	if (s->members && !s->ended && check_member(s, f) != 0)
		return -1;
	while (!s->ended && *size == 0) {
		got = archive_read_data_block(s->archive, bytes, size,
					      &offset);
		if (got == ARCHIVE_EOF && s->members) {
			s->ended = true;
			return 0;
		}
		if (got == ARCHIVE_EOF)
			return check_end(s, f);
		if (got != ARCHIVE_OK)
			return fail_archive(s, f);
	}
	s->given += *size;
	if (s->gzip)
		s->crc = (uint32_t)crc32_z(s->crc, *bytes, *size);
	return 0;
}

/*
 * Read a plain file directly: libarchive has nothing more to do once it has
 * given all bytes of the front that it has read to recognize the format.
 */
static int
read_plain(struct source *s, void *to, size_t room, size_t *got,
	   struct fail *f)
{
	const ssize_t n = read_bytes(s, to, room);

	if (n < 0)
		return fail_sys(f, FAIL_IO, "%s", s->name);
	*got = (size_t)n;
	s->ended = n == 0;
	return 0;
}

int
source_fill(struct source *s, void *to, size_t room, size_t *got,
	    struct fail *f)
{
	const void *bytes;

	*got = 0;
	if (s->rest_size == 0 && !s->ended && s->given == s->taken &&
	    s->given > 0 && source_plain(s))
		return read_plain(s, to, room, got, f);
	if (s->rest_size == 0) {
		if (source_read(s, &bytes, &s->rest_size, f) != 0)
			return -1;
		s->rest = bytes;
	}
	*got = room < s->rest_size ? room : s->rest_size;
	if (*got == 0)
		return 0;	/* memcpy() must not get s->rest, maybe NULL */
	memcpy(to, s->rest, *got);
	s->rest += *got;
	s->rest_size -= *got;
	return 0;
}

int
source_copy(struct source *s, void *to, size_t n, size_t *got,
	    struct fail *f)
{
	unsigned char *out = to;
	size_t part = 1;

	for (*got = 0; *got < n && part > 0; *got += part)
		if (source_fill(s, out + *got, n - *got, &part, f) != 0)
			return -1;
	return 0;
}
