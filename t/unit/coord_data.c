/* The coordinator's data are counted and restored, or the reason is
   reported. */
#include "coord/coord_data.h"

#include "coordinator.h"
#include "samplers_of.h"

#include <time.h>

#define A	1
#define B	2
#define FILES	2
#define LONG	((size_t)1 << 22)	/* digits */

static const char model[] =
	"input x float[2]\nlabel y float\np = dense x units=1\n"
	"loss mean_squared_error p\noptimizer sgd\n";

static struct sampler *sampler;
static uint64_t asked[8];	/* by peer */

#define checked(claim)	ok_and_sound(claim, data_check(c), #claim)

static void
new_sampler(void)
{
	struct splits s = { .files = FILES, .count = FILES };
	char name[] = "0.tsv";

	s.file = mem_alloc(FILES, sizeof(*s.file));
	s.split = mem_alloc(FILES, sizeof(*s.split));
	for (size_t i = 0; i < FILES; i++) {
		name[0] = (char)('a' + i);
		s.file[i].name = mem_text(name);
		s.split[i] = (struct split){ i, 0, UINT64_MAX };
	}
	s.file[0].label = mem_text("labels");
	sampler = sampler_new(&(struct sampler_options){
		.batch = 4, .unit = 1, .buffer = 8 }, &s);
	options.samplers = samplers_of(sampler, 0);
}

static void
begin(void)
{
	new_sampler();
	coordinator_begin(model);
	joins(A);
	joins(B);
	data_count(c);
}

/* Was this worker asked to count a range? */
static bool
counts(uint64_t peer)
{
	if (!says(peer, MESSAGE_INDEX))
		return false;
	asked[peer] = last_posted->m.request;
	return true;
}

static int
counted_in(uint64_t peer, const void *places, size_t size, uint64_t records)
{
	struct message m = { .kind = MESSAGE_INDEXED, .frames = 1,
			     .request = asked[peer] };

	m.indexed.term = 1;
	m.indexed.records = records;
	m.frame[0] = (struct frame){ places, size, NULL };
	return data_counted(c, at(peer), &m, &f);
}

static int
counted(uint64_t peer, uint64_t records)
{
	return counted_in(peer, "\x90", 1, records);
}

static void
requests(void)
{
	struct request epoch = { .op = REQUEST_EPOCH };
	struct request train = { .op = REQUEST_TRAIN, .batch = 9 };

	coordinator_begin(model);
	ok(data_ready(c));
	ok(data_can(c, &epoch, &f) < 0 && f.kind == FAIL_DATA &&
	   strstr(f.text, "so there is no common epoch"));
	equals(data_can(c, &train, &f), 0);
	coordinator_end();
	begin();
	checked(!data_ready(c));
	equals(data_can(c, &epoch, &f), 0);
	ok(data_can(c, &train, &f) < 0 && strstr(f.text, "batch=9"));
	coordinator_end();
}

static void
counting(void)
{
	begin();
	ok(counts(A) && strstr(last_posted->text, "a.tsv"));
	ok(counts(B) && strstr(last_posted->text, "b.tsv") && silent());
	ok(counted_in(A, "\xc0", 1, 8) < 0 && f.kind == FAIL_PROTOCOL);
	ok(counted_in(A, "\x92\1", 2, 8) < 0);
	ok(counted_in(A, "\x92\1\xc0", 3, 8) < 0);
	ok(counted_in(A, "\x91\1\1", 3, 8) < 0);
	data_take_back(c, at(B));
	named(counted(B, 8) == 0 && !data_ready(c),
	      "a count from a worker that was relieved of the file is "
	      "ignored");
	equals(counted(A, 8), 0);
	data_count(c);
	checked(counts(A) && strstr(last_posted->text, "b.tsv") && silent());
	equals(counted(A, 12), 0);
	checked(data_ready(c) && sampler_records(sampler) == 20);
	coordinator_end();
}

static void
whole(void)
{
	begin();
	ok(counts(A) && counts(B));
	equals(counted(A, WIRE_NONE), 0);
	data_count(c);
	named(counts(A) && strstr(last_posted->text, "a.tsv"),
	      "a file that cannot be split is counted again as a whole");
	ok(counted(A, 8) == 0 && counted(B, 8) == 0);
	checked(data_ready(c));
	coordinator_end();
}

static void
cannot(void)
{
	struct message m;

	begin();
	ok(counts(A) && counts(B));
	ok(counted(A, 0) == 0 && counted(B, 8) == 0);
	named(prints("\"op\":\"data\"") && ends_with(FAIL_NOINPUT, "a.tsv"),
	      "a file without records ends the run");
	coordinator_end();

	begin();
	ok(counts(A) && counts(B));
	m = message_refuse(&(struct message){ .request = asked[A] + 5 },
			   FAIL_DATA, "a.tsv:1: no label");
	data_refused(c, at(A), &m);
	equals(coord_output(c)->size, 0);
	m.request = asked[A];
	data_refused(c, at(A), &m);
	ok(prints("\"worker\":\"worker:0\",\"error\":\"a.tsv:1: no label\"") &&
	   ends_with(FAIL_DATA, "a.tsv:1: no label"));
	coordinator_end();

	begin();
	ok(counts(A) && counts(B));
	for (int i = 1; i < QUEUE_DEATHS; i++) {
		data_died(c, at(A));
		data_take_back(c, at(A));
		data_count(c);
		if (!counts(A))
			named(false,
			      "a file whose worker died is counted again");
	}
	equals(coord_output(c)->size, 0);
	data_died(c, at(A));
	ok(prints("5 workers died under it") &&
	   ends_with(FAIL_DATA, "5 workers died under it"));
	coordinator_end();
}

/* Restores a checkpoint with this position in the data, and checks the
   warning. */
static void
restored(const char *position, const char *warning)
{
	static char text[LONG + 1];	/* options borrow it */

	snprintf(text, sizeof(text), "%s", position ? position : "");
	strcpy(options.restore, "step-10");
	options.restored.step = 10;
	options.restored.sampler = position ? text : NULL;
	new_sampler();
	coordinator_begin(model);
	joins(A);
	data_count(c);
	for (int i = 0; i < FILES; i++) {
		ok(counts(A) && counted(A, 8) == 0);
		data_count(c);
	}
	ok(data_ready(c));
	named(warning ? warns(warning) : coord_warnings(c)->size == 0,
	      warning ? warning : "the restored position gives no warning");
}

/* The time to read a long position is proportional to its bytes; it would take
   minutes if each byte searched the end of the text. */
static void
reads_long(void)
{
	static char position[LONG + 1];
	const clock_t begun = clock();

	memset(position, '0', LONG);
	restored(position, "the data start with epoch 0");
	coordinator_end();
	named((clock() - begun) / CLOCKS_PER_SEC < 5,
	      "a long position is read in time proportional to its length");
}

static void
restores(void)
{
	struct samplers_reads visits = { { { 0 } } };
	struct pack place = { 0 };
	char *position, copy[256];

	restored(NULL, "the data start with epoch 0, not at the position of "
		 "step-10: the checkpoint does not say how far they were read");
	sampler_take(sampler, 1, 1);
	sampler_take(sampler, 1, 1);
	data_note(c, &place, &visits);
	position = data_position(c, &place, &visits);
	ok(position && strlen(position) < sizeof(copy));
	strcpy(copy, position);
	free(position);
	pack_reset(&place);
	ok(!data_position(c, &place, &visits));
	coordinator_end();
	restored("zz", "no hexadecimal: 'zz'");
	position = data_position(c, &place, &visits);
	named(position && strcmp(position, "zz") == 0,
	      "a checkpoint made before any record is read repeats the "
	      "restored position");
	free(position);
	coordinator_end();
	restored("c0", "the data start with epoch 0");
	coordinator_end();
	restored("c00g", "no hexadecimal: '0g'");
	coordinator_end();
	restored("c0 1", "no hexadecimal: ' 1'");
	coordinator_end();
	restored("c0+1", "no hexadecimal: '+1'");
	coordinator_end();
	reads_long();
	restored(copy, NULL);
	named_equals(sampler_take(sampler, 1, 1), 2,
		     "a restored sampler continues after the records that were "
		     "read");
	coordinator_end();
	pack_release(&place);
}

static void
files(void)
{
	begin();
	ok(counts(A) && counts(B) && counted(A, 8) == 0 &&
	   counted(B, 8) == 0);
	ask("{\"op\":\"eval\"}");
	named(says(A, MESSAGE_EVALUATE) &&
	      memcmp(last_posted->text, "\x93\xc4\5a.tsv\xc4\6labels"
		     "\xc4\5" "b.tsv", 23) == 0,
	      "an evaluation without files uses the files of the training "
	      "data");
	coordinator_end();
}

int
main(void)
{
	requests();
	counting();
	whole();
	cannot();
	restores();
	files();
	return tap_done();
}
