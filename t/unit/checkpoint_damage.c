/*
 * A checkpoint that was damaged is refused: every cut, every flipped bit.
 */
#include "store/checkpoint.h"

#include "store/disk.h"

#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fail f;
static char root[] = "/tmp/damage.XXXXXX";
static const struct model_source model = {
	.file = (struct model_file[]){
		{ (char[]){ "m.ps" }, (char[]){ "loss x\n" }, 7 },
	},
	.count = 1
};

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

/* Saves the smallest checkpoint, of one number. */
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

	equals(save(), 0);
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
		named(refused(whole) && strstr(f.text, path),
		      "the refusal of a damaged checkpoint names the file");
		named(checkpoint_finish(at(".", "damage"), "ckpt-00000001",
					&f) < 0 && f.kind == FAIL_DATA &&
		      strstr(f.text, file[k]),
		      "a damaged checkpoint cannot be marked as final");
		overwrite(path, text.data, text.size - 1);
		text_release(&text);
	}
	ok(!refused(at("damage", "ckpt-00000001")));

	/* Without verify at the start, an array is checked when it is read. */
	struct checkpoint *c;
	const char *path = at("damage", file[0]);
	const int fd = open(path, O_WRONLY);
	float out;

	equals(pwrite(fd, "?", 1, 512 + 128), 1);
	close(fd);
	c = checkpoint_open(at("damage", "ckpt-00000001"), false, &f);
	ok(c && checkpoint_read(c, "w", "", (struct shape){ 0 },
				(struct rows){ 0, 1 }, &out, NULL, &f) < 0 &&
	   f.kind == FAIL_DATA && strstr(f.text, "byte 512: "));
	checkpoint_close(c);
}

int
main(void)
{
	char command[64];

	if (!mkdtemp(root))
		abort();
	test_damage();
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? tap_done() : 1;
}
