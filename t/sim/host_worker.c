#include "host.h"
#include "accounts.h"
#include "program.h"
#include "trace.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/block.h"
#include "data/record_range.h"
#include "model/external.h"
#include "worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call of the step program that has no answer yet. */
struct asked {
	const struct external_call *call;
	uint64_t answered_ms;	/* when it will be answered */
	uint64_t sent;		/* a hash of what it was sent */
};

struct host_worker {
	const struct site *site;
	struct externals externals;	/* those of the site, with a delay, and
					   with an end of the program's own
					   data */
	bool own_ended;
	struct asked asked[EXTERNAL_ASKED];
	size_t asks, index;
	uint64_t now, term;
	struct rng answers;
	const char *broken_rule;
	struct worker *worker;
	struct batch batch, eval_batch;
	bool begun;
	uint64_t evaluation, eval_at;
	struct rng rng;
	char where[16];
	bool data_over, broken;	/* broken: no new example can be read */
	uint64_t put_back;	/* examples that were put back, and can be read
				   again */
	struct fail why;
};

#define BAD	INFINITY	/* label of a record that cannot be trained */

/* Adds the names of the layers whose outputs are summed; returns the bytes
   written. */
static size_t
add_layers(const struct scenario *s, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, s->layer ? " same" : " d");

	for (int k = 0; k < MODEL_TABLES; k++)
		n += (size_t)snprintf(text + n, size - n, " e%d", k);
	return n + (size_t)snprintf(text + n, size - n, "%s", s->sampler ?
				    " visits" : "");
}

/* Writes the model of a program with data of its own: LOSS_OF_A_STEP weights,
   in variables of two. */
static void
own_model_text(char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "input x float[3]\n"
				    "label y binary\n");

	for (int k = 0; k < LOSS_OF_A_STEP / 2; k++)
		n += (size_t)snprintf(text + n, size - n,
				      "variable A%d [2] initializer=zeros\n",
				      k);
	snprintf(text + n, size - n, "step sum\nstep score x y reads=A*\n"
		 "optimizer sgd learning_rate=1\n");
}

/*
 * Adds local steps whose result equals that of one step.  Each of several
 * batches contributes its share.  With one batch the momentum has no effect, as
 * it is 0 before the batch, unless it was kept by mistake.
 */
static size_t
add_local(const struct scenario *s, char *text, size_t size)
{
	if (!s->local)
		return 0;
	return (size_t)snprintf(text, size, "\nlocal sgd learning_rate=%g "
				"momentum=%g steps=%llu",
				1 / (double)s->o.batches,
				s->o.batches > 1 ? 0. : .5,
				(unsigned long long)s->o.batches);
}

void
host_model_text(const struct scenario *s, char *text, size_t size)
{
	if (s->own) {
		own_model_text(text, size);
		return;
	}

	size_t n = (size_t)snprintf(text, size,
		"input i id[%d] rows=%d\ninput x float[3]\n"
		"label y binary\n"
		"d = dense x units=1 kernel_initializer=zeros\n",
		MODEL_ROWS, MODEL_ROWS);

	for (int k = 0; k < MODEL_TABLES; k++)
		n += (size_t)snprintf(text + n, size - n,
			"e%d = embedding i dim=1 combiner=sum "
			"embeddings_initializer=zeros\n", k);
	if (s->sampler)
		n += (size_t)snprintf(text + n, size - n,
			"input r id rows=%llu\n"
			"visits = embedding r dim=1 "
			"embeddings_initializer=zeros\n",
			(unsigned long long)(s->files * s->file_records + 1));
	if (s->second_records > 0)
		n += (size_t)snprintf(text + n, size - n,
			"input q id rows=%llu from=second\n"
			"visits2 = embedding q dim=1 "
			"embeddings_initializer=zeros\n",
			(unsigned long long)(s->second_files *
					     s->second_records));
	if (s->layer)
		n += (size_t)snprintf(text + n, size - n,
				      "same = external d shape=[1]\n");
	n += (size_t)snprintf(text + n, size - n, "%s%s%s%s%s", s->sets ?
			      "input z float[1] from=second\n" : "",
			      host_tells_attempts(s) ?
			      "variable G [1] initializer=zeros\n"
			      "variable H [1] initializer=zeros\n" : "",
			      s->wide[WAY_PULL].codec ?
			      "variable W [3,512] initializer=zeros\n" : "",
			      s->lines ?
			      "variable U [1] initializer=zeros\n"
			      "variable V [1] initializer=zeros\n" : "",
			      s->program ? "step sum" : "p = add");
	n += add_layers(s, text + n, size - n);
	if (s->lines) {
		n += (size_t)snprintf(text + n, size - n, " y\nstep other");
		n += add_layers(s, text + n, size - n);
		n += (size_t)snprintf(text + n, size - n, "%s%s variables=V "
				      "reads=U%s", s->sets ? " y z" : "",
				      s->second_records > 0 ? " visits2" : "",
				      host_tells_attempts(s) ? ",H" : "");
	}
	n += add_local(s, text + n, size - n);
	snprintf(text + n, size - n, "%s\noptimizer sgd learning_rate=1\n",
		 s->sets ? "" : s->program ? " y" :
		 "\nloss mean_absolute_error p\nmetric auc p");
}

bool
host_tells_attempts(const struct scenario *s)
{
	return s->program && s->o.mode == MODE_SYNC;
}

bool
host_is_of_attempts(const char *variable)
{
	return strcmp(variable, "G") == 0 || strcmp(variable, "H") == 0;
}

bool
host_is_wide(const char *variable)
{
	return strcmp(variable, "W") == 0;
}

float
host_wide_steps(bool uneven, size_t k, float value)
{
	const float steps = uneven ? value / (float)(1 + k % 2) : value;

	return uneven && fabsf(steps - rintf(steps)) < 0.01f ? rintf(steps) :
		steps;
}

bool
host_counts_steps(const char *variable)
{
	return strcmp(variable, "U") == 0 || strcmp(variable, "V") == 0;
}

/* ---- records ---- */

static struct feature *
input_of(struct batch *b, const struct model *model, const char *name)
{
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	for (size_t i = 0; i < inputs; i++)
		if (strcmp(input[i].name, name) == 0)
			return &b->feature[i];
	return NULL;
}

/* The label is so large that the gradient is -1 for each weight; that of a bad
   record is not finite. */
static void
add_record(struct batch *b, const struct model *model, uint64_t number,
	   float label)
{
	struct feature *i = input_of(b, model, "i");
	struct feature *x = input_of(b, model, "x");
	struct feature *r = input_of(b, model, "r");
	struct feature *z = input_of(b, model, "q") ? NULL :
		input_of(b, model, "z");
	const uint64_t e = b->examples++;

	for (size_t k = 0; i && k < MODEL_ROWS; k++)
		feature_add_id(i, e * MODEL_ROWS + k, k);
	for (size_t k = 0; k < 3; k++)
		feature_add_value(x, e * 3 + k, 1);
	if (r)
		feature_add_id(r, e, number);
	if (z)
		feature_add_value(z, e, 1);
	feature_add_value(&b->label, e, label);
}

/* Adds a record of the coordinator's second data set. */
static void
add_second(struct batch *b, const struct model *model, uint64_t number)
{
	const uint64_t e = b->each[1]++;

	feature_add_id(input_of(b, model, "q"), e, number);
	feature_add_value(input_of(b, model, "z"), e, 1);
}

/* Sets the number of examples of each data set.  Workers' own second data set
   has as many as the first. */
static void
count_each(struct batch *b, const struct scenario *s,
	   const struct model *model, uint64_t datasets)
{
	if (model_datasets(model) == 1)
		return;
	if (!b->each)
		b->each = mem_alloc(2, sizeof(*b->each));
	b->datasets = 2;
	b->each[0] = datasets & 1 ? b->examples : 0;
	if (s->second_records == 0)
		b->each[1] = datasets >> 1 & 1 ? b->examples : 0;
}

void
host_record_score(struct batch *b, const struct scenario *s,
		  const struct model *model)
{
	add_record(b, model, s->files * s->file_records, 0);
	count_each(b, s, model, 1);
}

/* Returns the numbers of all records of a block, in their order; of_a_file:
   records of each file. */
static uint64_t *
list_records(const struct block *block, uint64_t of_a_file, size_t *count)
{
	uint64_t *list;
	size_t n = 0;

	*count = 0;
	for (size_t i = 0; i < block->spans; i++)
		*count += block->span[i].count;
	list = mem_alloc(*count + 1, sizeof(*list));
	for (size_t i = 0; i < block->spans; i++) {
		const struct record_range *s = &block->span[i];
		const uint64_t file = strtoull(s->file, NULL, 10);

		for (uint64_t k = 0; k < s->count; k++)
			list[n++] = file * of_a_file + s->number + k;
	}
	return list;
}

/* The seed decides which records are bad; a bad record is bad for all
   workers. */
static bool
is_bad(const struct scenario *s, uint64_t record)
{
	return s->flaw != FLAW_NONE &&
		rng_mix(s->seed + 31 * record) % s->flaw_in == 0;
}

static bool
add_records(struct host_worker *h, const struct lease_slice *s,
	    const uint64_t *record, const size_t *order, size_t count)
{
	const struct scenario *scenario = h->site->scenario;
	const struct model *model = worker_model(h->worker);
	bool bad = false;

	for (uint64_t i = s->from; i < s->from + s->count && i < count; i++) {
		const uint64_t number = record[order[i]];

		if (s->dataset > 0) {
			add_second(&h->batch, model, number);
			continue;
		}
		bad = bad || is_bad(scenario, number);
		add_record(&h->batch, model, number,
			   is_bad(scenario, number) ? BAD : (float)LABEL);
	}
	return bad && scenario->flaw == FLAW_READ;
}

static uint64_t
records_of(const struct host_worker *h, size_t dataset)
{
	const struct scenario *s = h->site->scenario;

	return dataset == 0 ? s->file_records : s->second_records;
}

/* false: the bytes are not a block, which no coordinator should send. */
static bool
fill_slice(struct host_worker *h, const struct lease_slice *s, bool *bad)
{
	struct block block = { 0 };
	size_t count, *order;
	uint64_t *record;
	struct fail f;

	if (block_read(&block, s->block.data, s->block.size, &f) < 0)
		return false;
	record = list_records(&block, records_of(h, s->dataset), &count);
	order = mem_alloc(count + 1, sizeof(*order));
	block_order(block.seed, order, count);
	*bad = add_records(h, s, record, order, count) || *bad;
	block_release(&block);
	free(record);
	free(order);
	return true;
}

/* Fills the batch with all slices of the next step; false: there is none. */
static bool
fill_slices(struct host_worker *h, bool *bad)
{
	const struct scenario *scenario = h->site->scenario;
	const struct model *model = worker_model(h->worker);
	struct lease_slice s;

	*bad = false;
	batch_reset(&h->batch);
	count_each(&h->batch, scenario, model, 0);
	for (size_t k = 0; worker_slice(h->worker, k, &s); k++)
		if (!fill_slice(h, &s, bad))
			return false;
	count_each(&h->batch, scenario, model, worker_datasets(h->worker));
	return h->batch.examples > 0;
}

static void
feed_slices(struct host_worker *h, uint64_t now)
{
	struct record_range_tally tally = { 0 };
	struct fail why;
	uint64_t number;
	bool bad;

	fail(&why, FAIL_DATA, "a record that cannot be read");
	if (worker_index(h->worker, &number)) {
		tally.records = records_of(h, worker_index_dataset(h->worker));
		worker_indexed(h->worker, &tally);
	}
	while (fill_slices(h, &bad))
		if (bad)
			worker_bad_block(h->worker, &why);
		else
			worker_batch(h->worker, &h->batch, now, now * 1000);
}

/* Returns how many of the wanted examples can be read.  Examples that were put
   back always can. */
static uint64_t
can_read(struct host_worker *h, uint64_t want)
{
	h->broken = h->broken || (h->site->scenario->flaw == FLAW_READ &&
				  rng_below(&h->rng,
					    h->site->scenario->flaw_in) == 0);
	if (!h->broken)
		return want;
	want = want < h->put_back ? want : h->put_back;
	h->put_back -= want;
	return want;
}

static void
feed_steps(struct host_worker *h, uint64_t now)
{
	const struct scenario *s = h->site->scenario;
	struct fail why;
	uint64_t want;

	fail(&why, FAIL_DATA, "a record that cannot be read");
	while (worker_put_back(h->worker, &h->batch)) {
		h->put_back += h->batch.examples;
		h->data_over = false;
	}
	while (!h->data_over && (want = worker_want(h->worker)) > 0) {
		const struct worker_next *next = worker_next(h->worker);
		/* An example that was good is good again when its step is run
		   again. */
		const bool bad = s->flaw == FLAW_VALUE && next &&
			next->attempt > 0 &&
			rng_below(&h->rng, s->flaw_in) == 0;

		want = can_read(h, want);
		if (want == 0) {
			h->data_over = true;
			worker_bad_data(h->worker, &why);
			break;
		}
		batch_reset(&h->batch);
		for (uint64_t e = 0; e < want; e++)
			add_record(&h->batch, worker_model(h->worker), 0,
				   bad ? BAD : (float)LABEL);
		count_each(&h->batch, s, worker_model(h->worker),
			   worker_datasets(h->worker));
		worker_batch(h->worker, &h->batch, now, now * 1000);
	}
}

static void
feed_evaluation(struct host_worker *h, uint64_t now)
{
	const struct worker_evaluation *e;

	while ((e = worker_evaluation(h->worker)) &&
	       worker_evaluation_wants(h->worker)) {
		if (e->number != h->evaluation)
			h->eval_at = e->shard;
		h->evaluation = e->number;
		if (h->eval_at >= EVALUATED) {
			worker_evaluation_batch(h->worker, NULL, now);
			continue;
		}
		h->eval_at += e->shards;
		batch_reset(&h->eval_batch);
		host_record_score(&h->eval_batch, h->site->scenario,
				  worker_model(h->worker));
		worker_evaluation_batch(h->worker, &h->eval_batch, now);
	}
}

static void
feed(struct host_worker *h, uint64_t now)
{
	const struct model *model = worker_model(h->worker);
	size_t inputs;

	if (!model)
		return;
	if (!h->begun) {
		const struct input *input = model_inputs(model, &inputs);

		batch_begin(&h->batch, input, inputs, model_label(model));
		batch_begin(&h->eval_batch, input, inputs,
			    model_label(model));
		h->begun = true;
	}
	if (worker_format(h->worker))
		feed_slices(h, now);
	else
		feed_steps(h, now);
	feed_evaluation(h, now);
}

/* ---- the program of steps, or of a layer ---- */

static uint64_t
hash_sent(const struct external_call *c)
{
	uint64_t hash = c->args ? hash64(c->args, strlen(c->args)) : 0;

	for (size_t i = 0; i < c->sents; i++)
		hash = rng_mix(hash ^ hash64(c->sent[i].at,
					     external_bytes(&c->sent[i])));
	return hash;
}

/* Answers come in the order of the calls. */
static void
ask(void *own, const struct external_call *c)
{
	struct host_worker *h = own;
	const uint64_t most = h->site->scenario->answer_ms;
	const uint64_t before = h->asks > 0 ?
		h->asked[h->asks - 1].answered_ms : 0;

	if (h->asks == EXTERNAL_ASKED) {
		h->broken_rule = "P10: a program is asked for two "
			"steps at most";
		return;
	}
	program_begin_ask(h->site->program, h->term, h->index);
	h->site->externals->ask(h->site->externals->own, c);
	h->asked[h->asks++] = (struct asked){
		c, (before > h->now ? before : h->now) +
		rng_below(&h->answers, most + 1), hash_sent(c) };
}

static bool
answered(void *own, const struct external_call *c)
{
	const struct host_worker *h = own;

	return h->asks > 0 && h->asked[0].call == c &&
		h->now >= h->asked[0].answered_ms;
}

/* Have the program's own data ended? */
static bool
has_ended(struct host_worker *h, const struct external_call *c)
{
	if (c->batch == 0)
		return false;
	if (h->own_ended)
		h->broken_rule = "P7: a program says once that its data have "
			"ended";
	h->own_ended = can_read(h, c->batch) == 0;
	c->answer->ended = h->own_ended;
	return h->own_ended;
}

static int
take(void *own, const struct external_call *c, struct fail *f)
{
	const struct externals *program;
	struct host_worker *h = own;

	if (!answered(h, c))
		h->broken_rule = "P5: what is answered is taken, in its turn";
	if (h->asked[0].sent != hash_sent(c))
		h->broken_rule = "P6: what a program was sent stays until it "
			"has answered";
	memmove(h->asked, h->asked + 1, --h->asks * sizeof(*h->asked));
	program = h->site->externals;
	return has_ended(h, c) ? 0 : program->take(program->own, c, f);
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	const struct host_worker *h = own;

	return externals_begin(h->site->externals, m, f);
}

static int
call(void *own, const struct external_call *c, struct fail *f)
{
	const struct externals *program;
	struct host_worker *h = own;

	program = h->site->externals;
	program_begin_ask(h->site->program, h->term, h->index);
	return has_ended(h, c) ? 0 : program->call(program->own, c, f);
}

/* ---- the program ---- */

struct host_worker *
host_worker_new(const struct site *site, struct outbox *outbox, size_t index,
		uint64_t life, uint64_t now)
{
	struct host_worker *h = mem_alloc(1, sizeof(*h));
	const struct worker_options o = {
		.coordinator = "node:0",
		.lease_ms = site->scenario->relays > 0 ?
			site->scenario->o.lease_ms : 0,
		.site = site->scenario->relays > 0 ? h->where : NULL,
		.timeout_ms = site->scenario->o.timeout_ms, .life = life,
		.index = WIRE_NONE, .assigned = site->scenario->sampler,
		.prefetch = site->scenario->prefetch[index],
		.overlap = site->scenario->overlap[index],
		.externals = site->externals ? &h->externals : NULL
	};

	h->site = site;
	h->index = index;
	snprintf(h->where, sizeof(h->where), "site-%d",
		 (int)site->scenario->worker_site[index] % 100);
	h->now = now;
	h->answers.seed = rng_mix(~site->scenario->seed + life);
	h->externals = (struct externals){ .own = h, .begin = begin,
					   .call = call };
	if (site->scenario->answer_ms > 0) {
		h->externals.ask = ask;
		h->externals.answered = answered;
		h->externals.take = take;
	}
	h->rng.seed = rng_mix(site->scenario->seed + life);
	h->worker = worker_new(&o, outbox, now, &h->why);
	return h;
}

void
host_worker_free(struct host_worker *h)
{
	worker_free(h->worker);
	if (h->begun) {
		batch_release(&h->batch);
		batch_release(&h->eval_batch);
	}
	free(h);
}

static int
died(struct host_worker *h)
{
	trace("dies: %s", h->why.text);
	return (int)h->why.kind;
}

int
host_worker_receive(struct host_worker *h, const struct packet *p, uint64_t now)
{
	h->now = now;
	if (p->kind == PACKET_MESSAGE && p->message.kind == MESSAGE_PLAN)
		h->term = p->message.plan.term;
	if (p->kind == PACKET_UP)
		worker_up(h->worker, p->peer, now);
	else if (p->kind == PACKET_DOWN)
		worker_down(h->worker, p->peer, now);
	else if (p->kind == PACKET_MESSAGE &&
		 worker_receive(h->worker, p->peer, &p->message, now,
				now * 1000, &h->why) < 0)
		return died(h);
	feed(h, now);
	return worker_stopped(h->worker) ? 0 : HOST_RUNS;
}

int
host_worker_act(struct host_worker *h, uint64_t now)
{
	h->now = now;
	feed(h, now);
	if (worker_tick(h->worker, now, &h->why) < 0)
		return died(h);
	while (!worker_stopped(h->worker) && worker_compute(h->worker)) {
		worker_computed(h->worker, now, now * 1000);
		feed(h, now);
	}
	return worker_stopped(h->worker) ? 0 : HOST_RUNS;
}

const struct fail *
host_worker_why(const struct host_worker *h)
{
	return &h->why;
}

const char *
host_worker_check(const struct host_worker *h)
{
	return h->broken_rule ? h->broken_rule : worker_check(h->worker);
}

void
host_worker_heartbeat(struct host_worker *h)
{
	worker_heartbeat(h->worker);
}

bool
host_worker_exhausted(const struct host_worker *h)
{
	return h->broken && h->put_back == 0;
}
