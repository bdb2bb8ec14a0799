/*
 * hostile - checkpoints that are made to do harm.
 *
 *	hostile			print the name of each, a tab, and the error
 *				that it must give
 *	hostile NAME DIR	make one: DIR/ckpt-00000001, with a
 *				MANIFEST.json that has all the right checksums
 *
 * All checksums are right, so a checkpoint can be refused only for what is
 * wrong with it.  Publishing one must fail, too.
 */
#include "store/checkpoint.h"
#include "store/disk.h"
#include "store/manifest.h"
#include "store/npy.h"
#include "store/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK	512
#define NAME	"ckpt-00000001"

/* The faults of an archive; with all fields zero it has none. */
struct hostile {
	const char *name, *why;
	const char *file;		/* the array's name in the tar */
	char type;			/* of its member */
	const char *link;
	const char *octal;		/* its size, as in the header */
	const char *pax;		/* a record before it: "key=value" */
	size_t length;			/* length of a name of x */
	const char *npy, *npy_by;	/* npy in the array's header becomes
					   npy_by */
	const char *text, *by;		/* text in the part's manifest becomes
					   by */
	const char *whole, *whole_by;	/* whole in MANIFEST.json becomes
					   whole_by */
	bool twice, missing, after, junk, again, no_manifest, first;
	bool sparse, bad_sum, empty, other;
};

static const struct hostile hostile[] = {
	{ "nothing", .why = "" },

	/* Names that lead out of the folder. */
	{ "dots", "not the member", .file = "../w/0-3.npy" },
	{ "dots-inside", "not the member", .file = "w/../w/0-3.npy" },
	{ "absolute", "not the member", .file = "/w/0-3.npy" },
	{ "another-name", "not the member", .file = "v/0-3.npy" },
	{ "no-name", "without a valid name", .file = "" },
	{ "newline", "not the member", .file = "w/0-3.npy\nps-ckpt: ok" },
	{ "escape", "not the member", .file = "\033]0;evil\a\033[2J" },
	{ "not-utf-8", "not the member", .file = "w\xff\xfe/0-3.npy" },
	{ "pax-dots", "not the member", .pax = "path=../w/0-3.npy" },
	{ "pax-absolute", "not the member", .pax = "path=/w/0-3.npy" },
	{ "huge-name", "without a valid name", .pax = "path=",
	  .length = 100000 },

	/* Members that are not plain files. */
	{ "hard-link", "not a plain file", .type = '1', .link = "w/0-3.npy" },
	{ "symbolic-link", "not a plain file", .type = '2',
	  .link = "/etc/passwd" },
	{ "character-device", "not a plain file", .type = '3' },
	{ "block-device", "not a plain file", .type = '4' },
	{ "folder", "not a plain file", .type = '5' },
	{ "pipe", "not a plain file", .type = '6' },
	{ "pax-link", "not a plain file", .type = '2',
	  .pax = "linkpath=/etc/passwd" },
	{ "sparse", "not a plain file", .sparse = true },
	{ "pax-sparse", "not a plain file",
	  .pax = "GNU.sparse.map=0,1,1000000000000,1" },

	/* Sizes. */
	{ "size-beyond", "larger than the file", .octal = "77777777777" },
	{ "size-2-63", "size overflow",
	  .octal = "\x80\0\0\0\x80\0\0\0\0\0\0\0" },
	{ "size-negative", "negative size",
	  .octal = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" },
	{ "size-small", "not as large", .octal = "00000000100" },
	{ "pax-size-2-63", "byte", .pax = "size=9223372036854775807" },
	{ "pax-size-small", "not as large", .pax = "size=1" },
	{ "pax-size-negative", "byte", .pax = "size=-1" },
	{ "pax-length", "byte", .pax = "\x01" },

	/* Members. */
	{ "member-twice", "2 arrays, its manifest lists 1", .twice = true },
	{ "member-missing", "0 arrays, its manifest lists 1",
	  .missing = true },
	{ "member-after", "where a manifest should be", .after = true },
	{ "no-manifest", "where a manifest should be", .no_manifest = true },
	{ "manifest-first", "where a manifest should be", .first = true },
	{ "junk-behind", "bytes behind the end", .junk = true },
	{ "concatenated", "bytes behind the end", .again = true },
	{ "header-sum", "byte 0", .bad_sum = true },
	{ "empty", "no tar archive", .empty = true },
	{ "no-tar", "byte 0", .other = true },

	/* The array's own header. */
	{ "npy-double", "another type, shape or size", .npy = "<f4",
	  .npy_by = "<f8" },
	{ "npy-big-endian", "another type, shape or size", .npy = "<f4",
	  .npy_by = ">f4" },
	{ "npy-object", "cannot read type", .npy = "'<f4'",
	  .npy_by = "'|O' " },
	{ "npy-pickle", "unknown or repeated key", .npy = "'descr'",
	  .npy_by = "'exec' " },
	{ "npy-shape", "another type, shape or size", .npy = "(4,)",
	  .npy_by = "(5,)" },
	{ "npy-shape-2-64", "shape is not a tuple", .npy = "(4,), }         "
	  "          ", .npy_by = "(18446744073709551616,), }" },
	{ "npy-nan", "shape is not a tuple", .npy = "(4,), }  ",
	  .npy_by = "(NaN,), }" },
	{ "npy-magic", "not a NumPy array", .npy = "NUMPY",
	  .npy_by = "NUMPZ" },

	/* The part's manifest. */
	{ "list-dots", "the name cannot be a file's",
	  .text = "\"variable\":\"w\"", .by = "\"variable\":\"../w\"" },
	{ "list-absolute", "the name cannot be a file's",
	  .text = "\"variable\":\"w\"", .by = "\"variable\":\"/w\"" },
	{ "list-nul", "holds a NUL", .text = "\"variable\":\"w\"",
	  .by = "\"variable\":\"w\\u0000/..\"" },
	{ "list-file", "'w/0-2.npy' is listed",
	  .text = "\"file\":\"w/0-3.npy\"", .by = "\"file\":\"w/0-2.npy\"" },
	{ "slot-slash", "the name cannot be a file's",
	  .text = "\"slot\":\"\"", .by = "\"slot\":\"a/b\"" },
	{ "shape-overflow", "malformed shape", .text = "\"shape\":[4]",
	  .by = "\"shape\":[4,4294967296,4294967296,4294967296]" },
	{ "shape-2-64", "too big integer", .text = "\"shape\":[4]",
	  .by = "\"shape\":[18446744073709551616]" },
	{ "shape-nan", "invalid token", .text = "\"shape\":[4]",
	  .by = "\"shape\":[NaN]" },
	{ "shape-infinite", "real number overflow", .text = "\"shape\":[4]",
	  .by = "\"shape\":[1e999]" },
	{ "shape-negative", "malformed shape", .text = "\"shape\":[4]",
	  .by = "\"shape\":[-4]" },
	{ "shape-empty", "malformed shape", .text = "\"shape\":[4]",
	  .by = "\"shape\":[0]" },
	{ "shape-rank", "malformed shape", .text = "\"shape\":[4]",
	  .by = "\"shape\":[4,1,1,1,1,1,1,1,1]" },
	{ "shape-fraction", "malformed shape", .text = "\"shape\":[4]",
	  .by = "\"shape\":[4.5]" },
	{ "shape-deep", "maximum parsing depth", .text = "\"shape\":[4]",
	  .by = "\"shape\":", .length = 1 << 17 },
	{ "rows-missing", "rows 4 to 4 of 'w' are missing",
	  .text = "\"shape\":[4]", .by = "\"shape\":[5]" },
	{ "rows-beyond", "numbers out of range", .text = "\"shape\":[4]",
	  .by = "\"shape\":[3]" },
	{ "rows-none", "numbers out of range", .text = "\"rows\":4",
	  .by = "\"rows\":0" },
	{ "rows-wrap", "numbers out of range", .text = "\"rows\":4",
	  .by = "\"rows\":9223372036854775807" },
	{ "row-negative", "numbers out of range", .text = "\"first\":0",
	  .by = "\"first\":-1" },
	{ "list-size", "not as large as the manifest says",
	  .text = "\"size\":144", .by = "\"size\":145" },
	{ "part-number", "part 1 of 1 is not possible",
	  .text = "\"part\": 0", .by = "\"part\": 1" },
	{ "part-count", "part 0 of 2", .text = "\"parts\": 1",
	  .by = "\"parts\": 2" },
	{ "part-of-another", "of 'ckpt-00000002'", .text = NAME,
	  .by = "ckpt-00000002" },
	{ "format", "format 2, not 1: read it with programs",
	  .text = "\"format\": 1", .by = "\"format\": 2" },
	{ "key-twice", "duplicate object key", .text = "\"format\": 1",
	  .by = "\"format\": 1, \"format\": 1" },
	{ "no-hash", "malformed hash", .text = "\"hash\":\"",
	  .by = "\"hash\":\"x" },
	{ "wrong-hash", "hash does not match",
	  .text = "\"updates\":0,\"size\":144,\"hash\":\"",
	  .by = "\"updates\":0,\"size\":144,\"hash\":"
		"\"00000000000000000000000000000000\",\"was\":\"" },

	/* MANIFEST.json. */
	{ "whole-file", "part 0 makes no sense",
	  .whole = "shard-0-of-1.tar", .whole_by = "../0-of-1.tar" },
	{ "whole-size", "byte", .whole = "\"size\":",
	  .whole_by = "\"size\":9223372036854775807,\"was\":" },
	{ "whole-negative", "part 0 makes no sense", .whole = "\"size\":",
	  .whole_by = "\"size\":-1,\"was\":" },
	{ "whole-no-parts", "no list of parts", .whole = "\"parts\":",
	  .whole_by = "\"parts\": [], \"was\":" },
	{ "whole-no-model", "no list of model files", .whole = "\"model\":",
	  .whole_by = "\"model\": [], \"was\":" },
	{ "whole-rows", "lists other variables", .whole = "\"rows\":4",
	  .whole_by = "\"rows\":5" },
	{ "whole-step", "makes no sense", .whole = "\"step\": 0",
	  .whole_by = "\"step\": -1" },
	{ "whole-run", "makes no sense", .whole = "\"run\": \"",
	  .whole_by = "\"run\": \"0123456789012345678901234567890123456" },
	{ "whole-seconds", "invalid token", .whole = "\"seconds\": ",
	  .whole_by = "\"seconds\": NaN, \"was\": " },
	{ 0 }
};

static void
die(const char *what)
{
	fprintf(stderr, "hostile: %s\n", what);
	exit(1);
}

/* Adds a member as in POSIX.1-1988: a header, the bytes, zeros to the end of
   the block. */
static void
add_member(struct text *tar, const struct hostile *h, const char *name,
	   const char *bytes, size_t n)
{
	static const char zeros[BLOCK];
	char header[BLOCK] = { 0 };
	unsigned sum = h->bad_sum;

	snprintf(header, 100, "%s", name);
	memcpy(header + 100, "0000644\0" "0000000\0" "0000000", 24);
	if (h->octal)
		memcpy(header + 124, h->octal, 12);
	else
		snprintf(header + 124, 12, "%011zo", n);
	memcpy(header + 136, "00000000000", 12);
	memset(header + 148, ' ', 8);
	header[156] = h->type ? h->type : '0';
	snprintf(header + 157, 100, "%s", h->link ? h->link : "");
	memcpy(header + 257, "ustar\0" "00", 8);
	if (h->sparse) {	/* as GNU tar writes a byte after a hole */
		header[156] = 'S';
		memcpy(header + 257, "ustar  ", 8);
		memcpy(header + 386, "00000000000\0" "00000000220", 24);
		memcpy(header + 483, "00777777777", 12);
	}
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	text_add_bytes(tar, header, sizeof(header));
	text_add_bytes(tar, bytes, n);
	text_add_bytes(tar, zeros, (BLOCK - n % BLOCK) % BLOCK);
}

static void
add_plain(struct text *tar, const char *name, const struct text *bytes)
{
	add_member(tar, &hostile[0], name, bytes->data, bytes->size);
}

static void
add_run(struct text *to, char c, size_t n)
{
	while (n-- > 0)
		text_add_bytes(to, &c, 1);
}

/* Adds a pax record, which begins with its own length; "\1" gives a false
   length. */
static void
add_pax(struct text *tar, const struct hostile *h)
{
	struct text value = { 0 }, record = { 0 };
	size_t n, digits = 1;

	text_add(&value, " %s", h->pax);
	add_run(&value, 'x', h->length);
	text_add(&value, "\n");
	for (n = value.size + digits; snprintf(NULL, 0, "%zu", n) >
	     (int)digits; n++)
		digits++;
	text_add(&record, "%zu", *h->pax == '\1' ? (size_t)1 << 62 : n);
	text_add_bytes(&record, value.data, value.size);
	add_member(tar, &(struct hostile){ .type = 'x' }, "x", record.data,
		   record.size);
	text_release(&value);
	text_release(&record);
}

/* Replaces the first occurrence of the word, which must be there. */
static void
replace(struct text *in, const char *word, const char *by, size_t deep)
{
	struct text out = { 0 };
	char *spot;

	text_add_bytes(in, "", 1);
	in->size--;
	spot = strstr(in->data, word);
	if (!spot)
		die(word);
	text_add_bytes(&out, in->data, (size_t)(spot - in->data));
	text_add(&out, "%s", by);
	add_run(&out, '[', deep);
	text_add(&out, "%s", spot + strlen(word));
	text_release(in);
	*in = out;
}

/* Writes the hash into the second line; it is that of all bytes after that
   line. */
static void
seal(struct text *manifest)
{
	struct hash *hash = hash_new();
	char sum[HASH_TEXT];

	hash_add(hash, manifest->data + 48, manifest->size - 48);
	hash_text(hash, sum);
	memcpy(manifest->data + 13, sum, HASH_TEXT - 1);
	hash_free(hash);
}

/* The size must stay the same, so that later bytes stay in their place. */
static void
make_array(const struct hostile *h, struct text *array)
{
	char header[NPY_HEADER_MAX];
	const size_t n = npy_header((struct shape){ 1, { 4 } }, header);

	text_add_bytes(array, header, n);
	add_run(array, 0, 16);
	for (size_t i = 0; h->npy; i++) {
		if (i == n)
			die(h->npy);
		if (memcmp(array->data + i, h->npy, strlen(h->npy)) != 0)
			continue;
		memcpy(array->data + i, h->npy_by, strlen(h->npy_by));
		break;
	}
}

static void
make_tar(const struct hostile *h, struct manifest_member *m,
	 struct text *tar)
{
	static const char zeros[2 * BLOCK];
	const struct manifest_part part = {
		.name = (char[]){ NAME }, .parts = 1, .member = m, .count = 1,
	};
	struct text array = { 0 }, manifest = { 0 };
	struct hash *hash = hash_new();

	make_array(h, &array);
	m->size = array.size;
	hash_add(hash, array.data, array.size);
	hash_text(hash, m->hash);
	hash_free(hash);
	manifest_part_write(&part, &manifest);
	if (h->text) {
		replace(&manifest, h->text, h->by, h->length);
		seal(&manifest);
	}
	if (h->first)
		add_plain(tar, MANIFEST_FILE, &manifest);
	if (h->pax)
		add_pax(tar, h);
	for (int i = 0; i < 1 + h->twice - h->missing; i++)
		add_member(tar, h, h->file ? h->file : "w/0-3.npy",
			   array.data, h->type ? 0 : array.size);
	if (!h->no_manifest && !h->first)
		add_plain(tar, MANIFEST_FILE, &manifest);
	if (h->after)
		add_plain(tar, "x", &array);
	text_add_bytes(tar, zeros, sizeof(zeros));
	if (h->junk)
		text_add_bytes(tar, zeros, BLOCK);
	if (h->empty)
		tar->size = sizeof(zeros);
	if (h->empty)
		memset(tar->data, 0, tar->size);
	if (h->other)
		memcpy(tar->data, "PK\3\4", 4);
	text_release(&array);
	text_release(&manifest);
}

static void
put(const char *path, const struct text *text)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(text->data, 1, text->size, file) != text->size ||
	    fclose(file) != 0)
		die(path);
}

/* Writes MANIFEST.json as the coordinator does, but without checking the
   parts. */
static void
vouch(const struct hostile *h, const char *dir,
      const struct manifest_member *m, const struct checkpoint_part *part)
{
	char *from = disk_path("%s/" DISK_TEMP NAME, dir);
	char *to = disk_path("%s/" NAME, dir);
	char *path = disk_path("%s/" MANIFEST_FILE, from);
	struct model_file model = {
		(char[]){ "m.ps" }, (char[]){ "input x float" }, 13
	};
	const struct manifest whole = {
		.model = { &model, 1 },
		.name = (char[]){ NAME }, .info = { .time = "now" },
		.part = (struct checkpoint_part[]){ *part }, .parts = 1,
	};
	struct text text = { 0 };

	manifest_write(&whole, m, 1, &text);
	if (h->whole) {
		replace(&text, h->whole, h->whole_by, 0);
		seal(&text);
	}
	put(path, &text);
	if (rename(from, to) != 0)
		die(to);
	text_release(&text);
	free(path);
	free(to);
	free(from);
}

static void
make(const struct hostile *h, const char *dir)
{
	struct manifest_member m = {
		.variable = (char[]){ "w" }, .slot = (char[]){ "" },
		.shape = { 1, { 4 } }, .rows = { 0, 4 },
	};
	const struct checkpoint_info info = { .time = "now" };
	const struct model_source model = { 0 };
	char *folder = disk_path("%s/" DISK_TEMP NAME, dir);
	char *path = parts_path(folder, 0, 1);
	struct hash *hash = hash_new();
	struct checkpoint_part part;
	struct text tar = { 0 };
	struct fail f;

	make_tar(h, &m, &tar);
	if (h->again) {
		struct text once = tar;

		tar = (struct text){ 0 };
		text_add_bytes(&tar, once.data, once.size);
		text_add_bytes(&tar, once.data, once.size);
		text_release(&once);
	}
	part.size = tar.size;
	hash_add(hash, tar.data, tar.size);
	hash_text(hash, part.hash);
	if (mkdir(dir, 0777) != 0 || mkdir(folder, 0777) != 0)
		die(dir);
	put(path, &tar);
	if (h->why[0] && !h->whole && strcmp(h->name, "wrong-hash") != 0 &&
	    (checkpoint_publish(dir, NAME, &info, &model, &part, 1, &f) == 0 ||
	     f.kind != FAIL_DATA))
		die("it was published");
	vouch(h, dir, &m, &part);
	hash_free(hash);
	text_release(&tar);
	free(path);
	free(folder);
}

int
main(int argc, char **argv)
{
	const struct hostile *h = hostile;

	if (argc == 1) {
		for (; h->name; h++)
			printf("%s\t%s\n", h->name, h->why);
		return 0;
	}
	if (argc != 3)
		die("hostile [NAME DIR]");
	while (h->name && strcmp(h->name, argv[1]) != 0)
		h++;
	if (!h->name)
		die("no such name");
	make(h, argv[2]);
	return 0;
}
