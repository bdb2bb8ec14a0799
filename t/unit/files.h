/*
 * files - a directory of the test's own, and files made in it.
 */
#ifndef PS_FILES_H
#define PS_FILES_H

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char files_dir[] = "files.XXXXXX";

/* Changes to a new directory below the current one. */
static inline void
files_begin(void)
{
	if (!mkdtemp(files_dir) || chdir(files_dir) != 0) {
		perror(files_dir);
		exit(1);
	}
}

static inline void
files_end(void)
{
	DIR *dir = opendir(".");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove(e->d_name);
	if (dir)
		closedir(dir);
	if (chdir("..") != 0 || rmdir(files_dir) != 0)
		perror(files_dir);
}

static inline void
files_put(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "wb");

	if (!file || fwrite(bytes, 1, size, file) != size ||
	    fclose(file) != 0) {
		perror(name);
		exit(1);
	}
}

static inline void
files_text(const char *name, const char *text)
{
	files_put(name, text, strlen(text));
}

/* Returns the bytes of a file, with a NUL after them; free them. */
static inline char *
files_get(const char *name, size_t *size)
{
	FILE *file = fopen(name, "rb");
	struct stat st = { 0 };
	char *bytes;

	if (!file || fstat(fileno(file), &st) != 0) {
		perror(name);
		exit(1);
	}
	bytes = calloc(1, (size_t)st.st_size + 1);
	*size = fread(bytes, 1, (size_t)st.st_size, file);
	fclose(file);
	return bytes;
}

/* Adds a member to an archive that is being written. */
static inline void
files_member(struct archive *a, const char *name, const void *bytes,
	     size_t size)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, name);
	archive_entry_set_size(entry, (la_int64_t)size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	if (archive_write_header(a, entry) != ARCHIVE_OK ||
	    archive_write_data(a, bytes, size) != (la_ssize_t)size) {
		puts(archive_error_string(a));
		exit(1);
	}
	archive_entry_free(entry);
}

/* Writes the same bytes, compressed by one of libarchive's filters. */
static inline void
files_packed(const char *name, const char *filter, const void *bytes,
	     size_t size)
{
	struct archive *a = archive_write_new();

	archive_write_set_format_raw(a);
	archive_write_add_filter_by_name(a, filter);
	archive_write_set_bytes_in_last_block(a, 1);
	archive_write_open_filename(a, name);
	files_member(a, "data", bytes, size);
	archive_write_free(a);
}

#endif
