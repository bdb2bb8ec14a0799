/* A checkpoint can be read with any other number of servers, and a folder of
   checkpoints always has a newest complete one. */
#include "store/checkpoint.h"

#include "base/mem.h"
#include "store/describe.h"
#include "store/disk.h"

#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fail f;
static char root[] = "/tmp/checkpoint.XXXXXX";

static const struct model_source model = {
	.file = (struct model_file[]){
		{ (char[]){ "model.ps" }, (char[]){ "loss x\n" }, 7 },
		{ (char[]){ "w\xf6rter" }, (char[]){ "caf\xe9\n" }, 5 },
	},
	.count = 2,
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

/* Saves a variable in one shard a server, each in two pieces if it has rows for
   two. */
static int
save(const char *dir, uint64_t step, const char *variable, struct shape shape,
     const float *values, size_t servers)
{
	const struct checkpoint_info info = {
		.step = step, .run = "0123456789abcdef0123456789abcdef",
		.seed = UINT64_MAX, .examples = 12, .seconds = 1.5,
		.final = true, .time = "2026-01-02T03:04:05Z",
	};
	struct checkpoint_part part[8];
	char name[CHECKPOINT_NAME];
	const size_t width = shape_width(shape);

	checkpoint_name(step, name);
	for (size_t i = 0; i < servers; i++) {
		const struct rows rows =
			partition_rows(shape_rows(shape), servers, i);
		const size_t n = rows.count * width;
		const float *from = values + rows.first * width;
		float *slot = mem_alloc(n, sizeof(*slot));
		const struct checkpoint_piece piece[] = {
			{ from, n / 2 }, { from + n / 2, n - n / 2 },
			{ slot, n },
		};
		const struct checkpoint_array array[] = {
			{ .variable = variable, .slot = "", .shape = shape,
			  .rows = rows, .piece = piece, .pieces = 2,
			  .updates = 7 + i },
			{ .variable = variable, .slot = "m", .shape = shape,
			  .rows = rows, .piece = piece + 2, .pieces = 1,
			  .updates = 7 + i },
		};

		for (size_t k = 0; k < n; k++)
			slot[k] = -from[k];

		const int r = checkpoint_write_part(at(".", dir), name, i,
						    servers, array, 2,
						    &part[i], &f);

		free(slot);
		if (r < 0)
			return -1;
	}
	return checkpoint_publish(at(".", dir), name, &info, &model, part,
				  servers, &f);
}

static float *
count_up(size_t n)
{
	float *values = mem_alloc(n, sizeof(*values));

	for (size_t i = 0; i < n; i++)
		values[i] = (float)i + 0.25f;
	return values;
}

/* Does every range of rows, of values and of a slot, read right? */
static bool
reads_any_rows(struct checkpoint *c, const char *variable, struct shape shape)
{
	const size_t rows = shape_rows(shape), width = shape_width(shape);
	float *got = mem_alloc(rows * width, sizeof(*got));
	bool all = true;

	for (size_t first = 0; first < rows; first++)
		for (size_t n = 1; n <= rows - first; n++)
			for (int slot = 0; slot < 2; slot++) {
				const float sign = slot ? -1 : 1;

				if (checkpoint_read(c, variable,
						    slot ? "m" : "", shape,
						    (struct rows){ first, n },
						    got, NULL, &f) < 0)
					all = false;
				for (size_t i = 0; i < n * width; i++)
					all = all && got[i] == sign *
					      ((float)(first * width + i) +
					       0.25f);
			}
	free(got);
	return all;
}

static void
test_shards(void)
{
	const struct shape shape = { 2, { 7, 5 } };
	float *values = count_up(35), out[35];
	uint64_t updates;

	equals(save("shards", 300, "emb/embeddings", shape, values, 3), 0);

	struct checkpoint *c =
		checkpoint_open(at("shards", "ckpt-00000300"), false, &f);
	size_t n;

	ok(c && reads_any_rows(c, "emb/embeddings", shape));
	const struct checkpoint_entry *e = checkpoint_entries(c, &n);
	ok(n == 2 && strcmp(e[1].slot, "m") == 0 && e[0].shards == 3 &&
	   shape_equal(e[0].shape, shape) && e[0].updates == 9);
	ok(checkpoint_read(c, "emb/embeddings", "", shape,
			   (struct rows){ 0, 1 }, out, &updates, &f) == 0 &&
	   updates == 7);

	const struct checkpoint_info *info = checkpoint_info(c);
	ok(info->step == 300 && info->seed == UINT64_MAX && info->final &&
	   info->examples == 12 && info->seconds == 1.5 &&
	   strcmp(info->time, "2026-01-02T03:04:05Z") == 0);

	const struct model_source *m = checkpoint_model(c);
	ok(m->count == 2 && strcmp(m->file[0].text, "loss x\n") == 0 &&
	   m->file[1].size == 5 && strcmp(m->file[1].text, "caf\xe9\n") == 0);
	ok(strcmp(m->file[0].name, "model.ps") == 0 &&
	   strcmp(m->file[1].name, "w\xf6rter") == 0);

	ok(checkpoint_read(c, "emb/nothing", "", shape, (struct rows){ 0, 1 },
			   out, NULL, &f) < 0 && f.kind == FAIL_DATA);
	ok(checkpoint_read(c, "emb/embeddings", "", (struct shape){
			   2, { 5, 7 } }, (struct rows){ 0, 1 }, out, NULL,
			   &f) < 0 && f.kind == FAIL_DATA &&
	   strstr(f.text, "has shape [7, 5], not [5, 7]"));
	checkpoint_close(c);

	/* A scalar is one row of one number. */
	ok(save("scalar", 1, "x", (struct shape){ 0 }, values, 1) == 0);
	c = checkpoint_open(at("scalar", "ckpt-00000001"), true, &f);
	ok(c && reads_any_rows(c, "x", (struct shape){ 0 }));
	checkpoint_close(c);
	free(values);
}

/* Restores on this number of servers, each of which reads its own rows. */
static bool
restores(const char *dir, size_t rows, size_t servers, const float *values)
{
	struct checkpoint *c = checkpoint_open(at(dir, "ckpt-00000001"),
					       true, &f);
	const struct shape shape = { 1, { rows } };
	float got[8];
	bool all = c;

	for (size_t i = 0; all && i < servers; i++) {
		const struct rows part = partition_rows(rows, servers, i);

		all = checkpoint_read(c, "w", "", shape, part, got, NULL,
				      &f) == 0 &&
		      memcmp(got, values + part.first,
			     part.count * sizeof(*got)) == 0;
	}
	checkpoint_close(c);
	return all;
}

static void
test_named(void)
{
	const float fives[] = { 5, 10, 15, 20 }, w[] = { 1, 2, 3, 4 };
	const float changed[] = { 9, 9, 9, 9 };
	const struct shape four = { 1, { 4 } };
	struct text text = { 0 };

	equals(save("C1", 1, "w", four, fives, 4), 0);
	ok(restores("C1", 4, 1, fives) && "C1: 4 shards to 1");
	equals(save("C2", 1, "w", four, fives, 1), 0);
	ok(restores("C2", 4, 4, fives) && "C2: 1 shard to 4");
	ok(restores("C1", 4, 2, fives) && "C3: 4 shards to 2");
	equals(save("C5", 1, "w", four, w, 2), 0);
	equals(save("C5", 2, "w", four, changed, 2), 0);
	ok(restores("C5", 4, 2, w) && restores("C5", 4, 4, w) &&
	   "C5: the old values, after new ones were saved");

	/* C6: on disk a slice has the full name, shape, offset and shape. */
	ok(read_all(at("C1", "ckpt-00000001/shard-2-of-4.tar"), &text));
	text_add_bytes(&text, "", 1);
	equals(text.data, "w/2-2.npy");
	ok(memmem(text.data, text.size, "\"variable\":\"w\",\"slot\":\"\","
		  "\"shape\":[4],\"first\":2,\"rows\":1", 50) &&
	   "C6: a slice knows the whole");
	text_release(&text);
}

/* ---- folders ---- */

static void
overwrite(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static int warnings;

static void
warn(const char *text)
{
	warnings += strstr(text, "shard-0-of-1.tar: ") != NULL;
}

static void
spoil(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/shard-0-of-1.tar", name);
	if (truncate(at("list", path), 700) < 0)
		abort();
}

static void
test_list(void)
{
	const struct shape shape = { 1, { 4 } };
	float *values = count_up(4);
	struct checkpoint_list list;
	struct checkpoint *c;
	char *dir = mem_text(at(".", "list"));

	ok(checkpoint_list(&list, dir, &f) < 0 && f.kind == FAIL_NOINPUT);
	equals(checkpoint_probe(dir, &f), 0);
	ok(checkpoint_list(&list, dir, &f) == 0 && list.count == 0);
	checkpoint_list_free(&list);
	ok(!checkpoint_newest(dir, warn, &f) && f.kind == FAIL_NOINPUT);

	for (uint64_t step = 5; step <= 20; step += 5)
		equals(save("list", step, "w", shape, values, 1), 0);
	equals(save("list", 100000000, "w", shape, values, 1), 0);
	ok(save("list", 20, "w", shape, values, 1) == 0 &&
	   "a step may be saved again");
	ok(checkpoint_list(&list, dir, &f) == 0 && list.count == 5 &&
	   list.step[0] == 5 && list.step[4] == 100000000 &&
	   strcmp(list.name[3], "ckpt-00000020") == 0);
	checkpoint_list_free(&list);

	spoil("ckpt-100000000");
	c = checkpoint_newest(dir, warn, &f);
	ok(c && checkpoint_info(c)->step == 20 && warnings == 1);

	/* Two intact checkpoints stay, and the damaged one, which is newer. */
	equals(checkpoint_prune(dir, UINT64_MAX, 2, false, &f), 0);
	ok(checkpoint_list(&list, dir, &f) == 0 && list.count == 3 &&
	   list.step[0] == 15);
	checkpoint_list_free(&list);

	/* A program that has it open continues to read. */
	equals(checkpoint_remove(dir, "ckpt-00000020", &f), 0);
	ok(reads_any_rows(c, "w", shape));
	checkpoint_close(c);

	mkdir(at("list", ".tmp-ckpt-00000030"), 0777);
	overwrite(at("list", ".tmp-ckpt-00000030/x"), "x", 1);
	overwrite(at("list", ".tmp-y"), "x", 1);
	checkpoint_sweep(dir);
	ok(access(at("list", ".tmp-ckpt-00000030"), F_OK) < 0 &&
	   access(at("list", ".tmp-y"), F_OK) < 0 &&
	   access(at("list", "ckpt-00000015"), F_OK) == 0);
	free(dir);
	free(values);
}

/* Does a save fail, with the right error, when files may have this many
   bytes? */
static bool
fails_beyond(rlim_t limit, const char *dir, struct shape shape,
	     const float *values)
{
	const struct rlimit small = { limit, RLIM_INFINITY };
	struct rlimit before;
	int r;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	r = save(dir, 1, "w", shape, values, 1);
	setrlimit(RLIMIT_FSIZE, &before);
	return r < 0 && f.kind == FAIL_IO &&
		strstr(f.text, "shard-0-of-1.tar: File too large") &&
		rmdir(at(dir, ".tmp-ckpt-00000001")) == 0;
}

static void
test_trouble(void)
{
	const struct shape shape = { 1, { 4 } };
	float *values = count_up(4);

	overwrite(at(".", "file"), "x", 1);
	ok(save("file", 1, "w", shape, values, 1) < 0 &&
	   f.kind == FAIL_CREATE && strstr(f.text, "file: Not a dir"));
	ok(checkpoint_probe(at(".", "file"), &f) < 0 &&
	   f.kind == FAIL_CREATE);
	ok(save("x", 1, "../w", shape, values, 1) < 0 && f.kind == FAIL_DATA);

	ok(fails_beyond(1000, "full", shape, values));
	equals(save("full", 1, "w", shape, values, 1), 0);
	free(values);
}

/* Arrays of several blocks and a rest are written without the page cache, if
   the file system can do so. */
static void
test_large(void)
{
	const struct shape shape = { 2, { 500, 1001 } };
	const size_t n = shape_size(shape);
	float *values = count_up(n), *out = mem_alloc(n, sizeof(*out));
	struct checkpoint *c;

	/* The limit is after some blocks, and not at a multiple of a block. */
	ok(fails_beyond(3000001, "large", shape, values));
	equals(save("large", 1, "w", shape, values, 1), 0);
	c = checkpoint_open(at("large", "ckpt-00000001"), true, &f);
	ok(c && checkpoint_size(c) > 2 * n * sizeof(*out));
	ok(c && checkpoint_read(c, "w", "", shape, (struct rows){ 0, 500 },
				out, NULL, &f) == 0 &&
	   memcmp(out, values, n * sizeof(*out)) == 0);
	checkpoint_close(c);
	free(values);
	free(out);
}

/* Saves one step after another until killed, and keeps some of them. */
static _Noreturn void
write_on(const char *dir, size_t keep, uint64_t step, const float *values)
{
	for (;; step++) {
		if (save(dir, step, "w", (struct shape){ 1, { 64 } },
			 values, 2) < 0 ||
		    checkpoint_prune(at(".", dir), UINT64_MAX, keep, true,
				     &f) < 0)
			_exit(1);
	}
}

static void
count_warning(const char *text)
{
	printf("# %s\n", text);
	warnings++;
}

/*
 * Writers are killed at any moment, while the newest checkpoint is read again
 * and again: it is intact, and never older than before.
 */
static void
test_storm(void)
{
	float *values = count_up(64);
	uint64_t last = 0, next = 0;
	size_t back = 0, torn = 0;
	int status, ended = 0;
	char *dir = mem_text(at(".", "storm"));

	warnings = 0;
	ok(save("storm", 0, "w", (struct shape){ 1, { 64 } }, values, 2) ==
	   0);
	for (int kills = 0; kills < 30; kills++) {
		const pid_t pid = fork();

		if (pid == 0)
			write_on("storm", 3, last + 1, values);
		/* Kill the writer after it has saved one to three steps. */
		for (next = last; next < last + 1 + (uint64_t)kills % 3 &&
		     waitpid(pid, &status, WNOHANG) == 0;) {
			struct checkpoint *c =
				checkpoint_newest(dir, count_warning, &f);

			torn += !c;
			if (c && checkpoint_info(c)->step < next)
				back++;
			else if (c)
				next = checkpoint_info(c)->step;
			checkpoint_close(c);
		}
		kill(pid, SIGKILL);
		ended += waitpid(pid, &status, 0) != pid ||
			 !WIFSIGNALED(status);
		last = next;
		checkpoint_sweep(dir);
	}
	ok(torn == 0 && back == 0 && warnings == 0 && ended == 0);
	free(dir);
	free(values);
}

/* A checkpoint that is pruned while it is read is not reported as damaged. */
static void
test_pruned(void)
{
	float *values = count_up(64);
	uint64_t step = 0;
	size_t missed = 0, untrue = 0;
	char *dir = mem_text(at(".", "pruned"));
	int status;
	pid_t pid;

	warnings = 0;
	ok(save("pruned", 0, "w", (struct shape){ 1, { 64 } }, values, 2) ==
	   0);
	pid = fork();
	if (pid == 0)
		write_on("pruned", 1, 1, values);
	while (step < 500 && waitpid(pid, &status, WNOHANG) == 0) {
		struct checkpoint *c = checkpoint_choose(dir, false, &f);
		struct text text = { 0 };

		missed += !c;
		if (c)
			step = checkpoint_info(c)->step;
		checkpoint_close(c);
		if (describe_folder(dir, false, warn, &text, &f) < 0 ||
		    (text.size > 0 && strstr(text.data, "damaged")))
			untrue++;
		text_release(&text);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(step >= 500 && missed == 0);
	ok(untrue == 0 && warnings == 0);
	free(dir);
	free(values);
}

/* The same content is the same bytes. */
static void
test_same(void)
{
	static const char *const file[] = {
		"ckpt-00000001/shard-1-of-2.tar",
		"ckpt-00000001/MANIFEST.json",
	};
	float *values = count_up(4);

	ok(save("a", 1, "w", (struct shape){ 1, { 4 } }, values, 2) == 0 &&
	   save("b", 1, "w", (struct shape){ 1, { 4 } }, values, 2) == 0);
	for (int i = 0; i < 2; i++) {
		struct text a = { 0 }, b = { 0 };

		ok(read_all(at("a", file[i]), &a) &&
		   read_all(at("b", file[i]), &b) &&
		   a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
		text_release(&a);
		text_release(&b);
	}
	free(values);
}

int
main(void)
{
	char command[64];

	if (!mkdtemp(root))
		abort();
	test_shards();
	test_named();
	test_list();
	test_trouble();
	test_large();
	test_storm();
	test_pruned();
	test_same();
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) == 0 ? tap_done() : 1;
}
