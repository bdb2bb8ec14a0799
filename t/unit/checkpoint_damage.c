/*
 * A checkpoint that was damaged, or made to look like one, is refused.
 */
#include "store/checkpoint.h"

#include "store/disk.h"
#include "store/manifest.h"
#include "store/npy.h"

#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fail f;
static char root[] = "/tmp/damage.XXXXXX";
static const struct model_source model;

static char *
at(const char *dir, const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s/%s", root, dir, name);
	return path[i];
}

static bool
read_all(const char *path, struct text *text)
{
	return disk_read_text(AT_FDCWD, path, 1 << 20, text, &f) == 0;
}

/* The smallest: one number. */
static int
save(void)
{
	const struct checkpoint_info info = { .time = "now" };
	const struct checkpoint_piece piece = { (const float[]){ 1.5f }, 1 };
	const struct checkpoint_array array = {
		.variable = "w", .slot = "", .rows = { 0, 1 },
		.piece = &piece, .pieces = 1,
	};
	struct checkpoint_part part;

	return checkpoint_write_part(at(".", "damage"), "ckpt-00000001", 0, 1,
				     &array, 1, &part, &f) < 0 ? -1 :
	       checkpoint_publish(at(".", "damage"), "ckpt-00000001", &info,
				  &model, &part, 1, &f);
}

static void
overwrite(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static bool
refused(const char *path)
{
	struct checkpoint *c = checkpoint_open(path, true, &f);

	checkpoint_close(c);
	return !c && f.kind == FAIL_DATA;
}

static void
test_damage(void)
{
	static const char *const file[] = {
		"ckpt-00000001/shard-0-of-1.tar",
		"ckpt-00000001/MANIFEST.json",
	};

	ok(save() == 0);
	for (int k = 0; k < 2; k++) {
		const char *path = at("damage", file[k]);
		const char *whole = at("damage", "ckpt-00000001");
		struct text text = { 0 };
		size_t missed = 0;

		ok(read_all(path, &text));
		for (size_t cut = 0; cut < text.size; cut++) {
			overwrite(path, text.data, cut);
			missed += !refused(whole);
		}
		ok(missed == 0 && "every cut is refused");

		overwrite(path, text.data, text.size);
		const int fd = open(path, O_WRONLY);

		for (size_t bit = 0; bit < 8 * text.size; bit++) {
			char *byte = &text.data[bit / 8];

			*byte = (char)(*byte ^ 1 << bit % 8);
			missed += pwrite(fd, byte, 1, (off_t)bit / 8) != 1 ||
				  !refused(whole);
			*byte = (char)(*byte ^ 1 << bit % 8);
			missed += pwrite(fd, byte, 1, (off_t)bit / 8) != 1;
		}
		close(fd);
		ok(missed == 0 && "every flipped bit is refused");

		text_add_bytes(&text, "", 1);
		overwrite(path, text.data, text.size);
		ok(refused(whole));
		overwrite(path, text.data, text.size - 1);
		text_release(&text);
	}
	ok(!refused(at("damage", "ckpt-00000001")));

	/* Without verify at the start, an array is checked when it is read. */
	struct checkpoint *c;
	const char *path = at("damage", file[0]);
	const int fd = open(path, O_WRONLY);
	float out;

	ok(pwrite(fd, "?", 1, 512 + 128) == 1);
	close(fd);
	c = checkpoint_open(at("damage", "ckpt-00000001"), false, &f);
	ok(c && checkpoint_read(c, "w", "", (struct shape){ 0 },
				(struct rows){ 0, 1 }, &out, NULL, &f) < 0 &&
	   f.kind == FAIL_DATA && strstr(f.text, "byte 512: "));
	checkpoint_close(c);
}

/* ---- archives that nobody wrote by mistake ---- */

/* Tar as in POSIX.1-1988: a header, the bytes, zeros to the block's end. */
static void
add_member(struct text *tar, const char *name, char type, const char *size,
	   const char *link, const void *bytes, size_t n)
{
	static const char zeros[512];
	char header[512] = { 0 };
	unsigned sum = 0;

	snprintf(header, 100, "%s", name);
	memcpy(header + 100, "0000644\0" "0000000\0" "0000000", 24);
	if (size)
		memcpy(header + 124, size, 12);
	else
		snprintf(header + 124, 12, "%011zo", n);
	memcpy(header + 136, "00000000000", 12);
	memset(header + 148, ' ', 8);
	header[156] = type;
	snprintf(header + 157, 100, "%s", link);
	memcpy(header + 257, "ustar\0" "00", 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	text_add_bytes(tar, header, sizeof(header));
	text_add_bytes(tar, bytes, n);
	text_add_bytes(tar, zeros, (512 - n % 512) % 512);
}

/* What is wrong with the archive; all zero: nothing. */
struct hostile {
	const char *why;
	const char *file;		/* the array's name */
	char type;
	const char *link, *size;
	const char *text, *by;		/* replace in the manifest, resealed */
	bool twice, missing, after, junk, no_manifest, first, lie;
};

static void
make_hostile(const struct hostile *h, struct text *tar)
{
	static const char zeros[1024];
	char npy[NPY_HEADER_MAX + 16];
	const size_t head = npy_header((struct shape){ 1, { 4 } }, npy);
	const size_t n = head + 16;
	struct hash *hash = hash_new();
	struct manifest_member m = {
		.variable = (char[]){ "w" }, .slot = (char[]){ "" },
		.shape = { 1, { 4 } }, .rows = { 0, 4 }, .size = n,
	};
	const struct manifest_part part = {
		.name = (char[]){ "ckpt-00000001" }, .parts = 1,
		.member = &m, .count = 1,
	};
	struct text text = { 0 }, edited = { 0 };
	char sum[HASH_TEXT];

	memset(npy + head, 0, 16);
	hash_add(hash, npy, n);
	hash_text(hash, m.hash);
	if (h->lie)
		memset(m.hash, '0', HASH_TEXT - 1);
	manifest_part_write(&part, &text);
	text_add_bytes(&text, "", 1);
	text.size--;
	if (h->text) {
		char *spot = strstr(text.data, h->text);

		/* The seal is 47 bytes of hash and quotes before the rest. */
		text_add(&edited, "%.*s%s%s", (int)(spot - text.data),
			 text.data, h->by, spot + strlen(h->text));
		hash_reset(hash);
		hash_add(hash, edited.data + 48, edited.size - 48);
		hash_text(hash, sum);
		memcpy(edited.data + 13, sum, HASH_TEXT - 1);
	} else {
		text_add(&edited, "%s", text.data);
	}
	if (h->first)
		add_member(tar, "MANIFEST.json", '0', NULL, "", edited.data,
			   edited.size);
	for (int i = 0; i < 1 + h->twice - h->missing; i++)
		add_member(tar, h->file ? h->file : "w/0-3.npy",
			   h->type ? h->type : '0', h->size,
			   h->link ? h->link : "", npy,
			   h->type && h->type != '0' ? 0 : n);
	if (!h->no_manifest && !h->first)
		add_member(tar, "MANIFEST.json", '0', NULL, "", edited.data,
			   edited.size);
	if (h->after)
		add_member(tar, "x", '0', NULL, "", npy, n);
	text_add_bytes(tar, zeros, 1024);
	if (h->junk)
		text_add_bytes(tar, zeros, 512);
	hash_free(hash);
	text_release(&text);
	text_release(&edited);
}

static int
publish_hostile(const struct hostile *h)
{
	const struct checkpoint_info info = { .time = "now" };
	struct checkpoint_part part;
	struct hash *hash = hash_new();
	struct text tar = { 0 };
	int r;

	make_hostile(h, &tar);
	mkdir(at(".", "hostile"), 0777);
	mkdir(at("hostile", ".tmp-ckpt-00000001"), 0777);
	overwrite(at("hostile", ".tmp-ckpt-00000001/shard-0-of-1.tar"),
		  tar.data, tar.size);
	part.size = tar.size;
	hash_add(hash, tar.data, tar.size);
	hash_text(hash, part.hash);
	r = checkpoint_publish(at(".", "hostile"), "ckpt-00000001", &info,
			       &model, &part, 1, &f);
	hash_free(hash);
	text_release(&tar);
	return r;
}

static void
test_hostile(void)
{
	static const struct hostile hostile[] = {
		{ "dots", .file = "../w/0-3.npy" },
		{ "dots inside", .file = "w/../w/0-3.npy" },
		{ "an absolute path", .file = "/w/0-3.npy" },
		{ "another name", .file = "v/0-3.npy" },
		{ "a symbolic link", .type = '2', .link = "/etc/passwd" },
		{ "a hard link", .type = '1', .link = "w/0-3.npy" },
		{ "a device", .type = '3' },
		{ "a pipe", .type = '6' },
		{ "a folder", .type = '5' },
		{ "a size beyond the end", .size = "77777777777" },
		{ "a size of 2^63", .size = "\x80\0\0\0\x80\0\0\0\0\0\0\0" },
		{ "a negative size",
		  .size = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" },
		{ "a size too small", .size = "00000000100" },
		{ "a member twice", .twice = true },
		{ "a member missing", .missing = true },
		{ "a member after the manifest", .after = true },
		{ "bytes after the end", .junk = true },
		{ "no manifest", .no_manifest = true },
		{ "the manifest first", .first = true },
		{ "a name with dots listed", .text = "\"variable\":\"w\"",
		  .by = "\"variable\":\"../w\"" },
		{ "an absolute name listed", .text = "\"variable\":\"w\"",
		  .by = "\"variable\":\"/w\"" },
		{ "another file listed", .text = "\"file\":\"w/0-3.npy\"",
		  .by = "\"file\":\"w/0-2.npy\"" },
		{ "a slot with a slash", .text = "\"slot\":\"\"",
		  .by = "\"slot\":\"a/b\"" },
		{ "a shape that overflows", .text = "\"shape\":[4]",
		  .by = "\"shape\":[4,4294967296,4294967296,4294967296]" },
		{ "an integer that overflows", .text = "\"shape\":[4]",
		  .by = "\"shape\":[18446744073709551616]" },
		{ "a shape of NaN", .text = "\"shape\":[4]",
		  .by = "\"shape\":[NaN]" },
		{ "a negative shape", .text = "\"shape\":[4]",
		  .by = "\"shape\":[-4]" },
		{ "an empty shape", .text = "\"shape\":[4]",
		  .by = "\"shape\":[0]" },
		{ "nine dimensions", .text = "\"shape\":[4]",
		  .by = "\"shape\":[4,1,1,1,1,1,1,1,1]" },
		{ "a fractional shape", .text = "\"shape\":[4]",
		  .by = "\"shape\":[4.5]" },
		{ "rows missing at the end", .text = "\"shape\":[4]",
		  .by = "\"shape\":[5]" },
		{ "rows beyond the shape", .text = "\"shape\":[4]",
		  .by = "\"shape\":[3]" },
		{ "no rows", .text = "\"rows\":4", .by = "\"rows\":0" },
		{ "rows that wrap", .text = "\"rows\":4",
		  .by = "\"rows\":9223372036854775807" },
		{ "a negative first row", .text = "\"first\":0",
		  .by = "\"first\":-1" },
		{ "a lying size in the manifest", .text = "\"size\":144",
		  .by = "\"size\":145" },
		{ "another part's number", .text = "\"part\": 0",
		  .by = "\"part\": 1" },
		{ "another number of parts", .text = "\"parts\": 1",
		  .by = "\"parts\": 2" },
		{ "another checkpoint's part", .text = "ckpt-00000001",
		  .by = "ckpt-00000002" },
		{ "an unknown format", .text = "\"format\": 1",
		  .by = "\"format\": 2" },
		{ "a key twice", .text = "\"format\": 1",
		  .by = "\"format\": 1, \"format\": 1" },
		{ "a hash that is none", .text = "\"hash\":\"",
		  .by = "\"hash\":\"x" },
	};

	/* The same archive with nothing wrong must pass, or this shows
	   nothing. */
	ok(publish_hostile(&(struct hostile){ 0 }) == 0);
	ok(!refused(at("hostile", "ckpt-00000001")));
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		f.kind = 0;
		tap_ok(publish_hostile(&hostile[i]) < 0 &&
		       f.kind == FAIL_DATA, hostile[i].why, __FILE__,
		       __LINE__);
		printf("# %s\n", f.text);
	}

	/* An array's hash that never was true: only reading it shows. */
	ok(publish_hostile(&(struct hostile){ .lie = true }) == 0);
	ok(refused(at("hostile", "ckpt-00000001")) &&
	   strstr(f.text, "byte 512: 'w/0-3.npy': damaged"));
}

int
main(void)
{
	char command[64];

	if (!mkdtemp(root))
		abort();
	test_damage();
	test_hostile();
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? tap_done() : 1;
}
