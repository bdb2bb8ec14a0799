/* Slices of the coordinator's blocks: a reader gives the right records in the
   right order, for any block, while others are read ahead. */
#include "prog/blocks.h"

#include "base/log.h"
#include "base/mem.h"
#include "data/block.h"

#include "files.h"
#include "model_fixture.h"
#include "tap.h"
#include "threads.h"

#include <poll.h>

#define ROWS	20000
#define FEW	10
#define MANY	5000

static const char text[] =
	"input x sparse[20000]\nlabel y float\n"
	"z = linear x\n"
	"loss mean_squared_error z\n"
	"optimizer sgd\n";

static struct model_fixture fixture;
static struct fail why_not;
static struct blocks *blocks;
static struct batch batch;

/* Writes a block of records from first on, in file order or in the order of a
   seed. */
static void
block_of(struct pack *p, uint64_t seed, uint64_t first, uint64_t count)
{
	static char name[] = "x.svm";
	const struct record_range s = { .file = name, .end = UINT64_MAX,
					.skip = first, .count = count,
					.number = first, .at = { 0, first } };
	struct block b = { .seed = seed };

	block_add(&b, &s);
	block_write(p, &b);
	block_release(&b);
}

static struct frame
frame_of(const struct pack *p)
{
	return (struct frame){ p->data, p->size, NULL };
}

static int
slice(const struct pack *p, uint64_t from, uint64_t count)
{
	struct pollfd fd = { .fd = blocks_fd(blocks), .events = POLLIN };
	const struct frame f = frame_of(p);
	struct fail why;
	int got;

	batch_reset(&batch);
	blocks_want(blocks, &f, 1);
	while ((got = blocks_slice(blocks, &f, from, count, &batch,
				   &why)) == 0) {
		poll(&fd, 1, 10000);
		blocks_want(blocks, &f, 1);
	}
	if (got < 0)
		printf("# %s\n", why.text);
	return got;
}

/* Does the batch have the right records?  Record i has 8 ids from i on. */
static bool
is_right(uint64_t seed, uint64_t first, uint64_t size, uint64_t from,
	 uint64_t count)
{
	const struct feature *x = &batch.feature[0];
	size_t *order = mem_alloc(size, sizeof(*order));
	bool right = batch.examples == count;

	block_order(seed, order, size);
	for (size_t i = 0; right && i < count; i++) {
		const uint64_t record = first + order[from + i];
		const size_t at = x->offset[i];

		right = x->id[at] == record && x->offset[i + 1] - at == 8 &&
			batch.label.value[i] == (float)(record % 9);
	}
	free(order);
	return right;
}

static void
put_rows(void)
{
	FILE *file = fopen("x.svm", "w");

	for (int i = 0; file && i < ROWS + 10; i++) {
		fprintf(file, "%d", i % 9);
		for (int k = 1; k <= 8 && i < ROWS - 8; k++)
			fprintf(file, " %d:1", i + k);
		fputc('\n', file);
	}
	ok(file && fclose(file) == 0);
}

static void
test(uint64_t seed)
{
	struct pack p = { 0 }, other = { 0 };

	block_of(&p, seed, 100, 12000);
	block_of(&other, seed, 12100, 6000);
	ok(slice(&p, 0, FEW) == 1 && is_right(seed, 100, 12000, 0, FEW));
	ok(slice(&p, 700, MANY) == 1 && is_right(seed, 100, 12000, 700, MANY));
	/* Read the rest of the block. */
	ok(slice(&p, 8000, MANY) == 1 &&
	   is_right(seed, 100, 12000, 8000, 4000));
	/* Read a slice while another block may be read ahead. */
	const struct frame both[] = { frame_of(&p), frame_of(&other) };

	blocks_want(blocks, both, 2);
	ok(slice(&p, 30, MANY) == 1 && is_right(seed, 100, 12000, 30, MANY));
	ok(slice(&other, 1000, 5000) == 1 &&
	   is_right(seed, 12100, 6000, 1000, 5000));
	pack_release(&p);
	pack_release(&other);
}

/* Every seventh record of a file is bad: the others keep their numbers and
   their order. */
static void
test_holes(const struct record_range_format *how, uint64_t seed)
{
	struct pack p = { 0 };
	size_t *order = mem_alloc(70, sizeof(*order)), n = 0, good = 0;
	FILE *file = fopen("x.svm", "w");

	for (int i = 0; file && i < 70; i++)
		fprintf(file, i % 7 == 3 ? "bad\n" : "1 %d:1\n", i + 1);
	ok(file && fclose(file) == 0);
	block_order(seed, order, 70);
	block_of(&p, seed, 0, 70);
	blocks = blocks_new(fixture.model, 0, how, 10, NULL, 4, &why_not);
	for (uint64_t from = 0; from < 70; from += 20) {
		const uint64_t count = from < 60 ? 20 : 10;

		good += slice(&p, from, count) == 1;
		n = 0;
		for (uint64_t i = from; i < from + count; i++)
			if (order[i] % 7 != 3)
				good += batch.feature[0].id[n++] == order[i];
		good += batch.examples == n;
	}
	named_equals(good, 4 + 60 + 4,
		     "slices skip bad records, and the others keep their "
		     "order");
	equals(slice(&p, 70, 1), -1);
	blocks_free(blocks);

	blocks = blocks_new(fixture.model, 0, how, 9, NULL, 4, &why_not);
	named_equals(slice(&p, 0, 20), -1,
		     "more bad records than the limit fail a slice");
	blocks_free(blocks);
	pack_release(&p);

	block_of(&p, BLOCK_IN_ORDER, 3, 1);
	blocks = blocks_new(fixture.model, 0, how, 1, NULL, 4, &why_not);
	named_equals(slice(&p, 0, 1), -1, "a slice of bad records alone fails");
	blocks_free(blocks);
	pack_release(&p);
	free(order);
}

int
main(void)
{
	const struct record_range_format how = { 0 };
	struct fail why;
	size_t inputs;

	files_begin();
	put_rows();
	fixture_begin(&fixture, text);
	const struct input *input = model_inputs(fixture.model, &inputs);

	batch_begin(&batch, input, inputs, model_label(fixture.model));
	blocks = blocks_new(fixture.model, 0, &how, 0, NULL, 4, &why_not);
	test(BLOCK_IN_ORDER);
	test(77);
	blocks_free(blocks);
	log_begin("blocks", LOG_QUIET, NULL, &why);	/* it is meant */
	test_holes(&how, BLOCK_IN_ORDER);
	test_holes(&how, 77);
	threads_end();
	named(!blocks_new(fixture.model, 0, &how, 0, NULL, 4, &why_not) &&
	      threads_ended(&why_not),
	      "blocks that no thread can read are an error, and no abort");
	batch_release(&batch);
	fixture_end(&fixture);
	files_end();
	return tap_done();
}
