/*
 * A whole cluster in one process, over wires in memory, under hundreds of
 * seeds: wires break, workers are killed and others come, messages of
 * different wires overtake one another.  Whatever happens, each step is
 * applied once to each part, each request is answered, and the run ends.  One
 * seed in three is asynchronous, one of bounded staleness, one of rounds.
 *
 * The model's gradient is -1 for every weight and every example, the learning
 * rate 1: so every weight counts the steps that it has seen, exactly.  Every
 * coordinator has another codec than the one before.
 */
#include "coord/coord.h"

#include "server/server.h"
#include "store/rows.h"
#include "wire/keys.h"
#include "worker/worker.h"

#include "model_fixture.h"
#include "sim_network.h"
#include "tap.h"

#include <unistd.h>

#define SEEDS		100
#define SERVERS		3
#define FIRST_WORKER	8	/* nodes: coordinator 0, servers from 1 */
#define PROBE		7
#define TABLES		9
#define ROWS		4
#define EVAL_RECORDS	23
#define MAX_EVENTS	400000
#define CALM		50000	/* events, after which nothing fails any more:
				   the run must end */
#define MAX_REQUESTS	32
#define ENOUGH		UINT64_MAX

/* What a worker reads. */
struct data {
	struct batch batch, eval_batch;
	bool begun, over;
	uint64_t left, read;
	uint64_t bad_at;	/* the record that cannot be read */
	uint64_t evaluation, eval_at;
};

/* A request, and its results so far. */
struct asked {
	char op;		/* t(rain) j(oin) e(val) s(ave) */
	uint64_t steps, done, cancelled, errors, lines, batch;
};

struct plot {			/* the faults of a run */
	size_t servers, workers;
	uint64_t breaks, kills;		/* at one of this number of events; 0:
					   never */
	uint64_t losses;		/* deaths of servers, which are started
					   again */
	uint64_t deaths;		/* deaths of coordinators, which are,
					   too */
	uint64_t suspends;		/* suspensions of the run, which is
					   resumed */
	uint64_t full;			/* a journal record that finds no
					   room */
	uint64_t records, bad_at;	/* of the first worker */
	uint64_t min_workers;
	bool keep_going, checkpoint, stop, kill_server, no_disk;
	bool no_replacement;
};

/* The journal of a coordinator. */
struct kept {
	uint32_t kind;
	size_t size;
	void *bytes;
};

struct cluster {
	struct sim_network network;
	const struct plot *plot;
	struct coord_options options;
	struct coord *coord;		/* NULL: it was killed */
	uint64_t term;
	struct journal journal;
	struct kept *kept;
	size_t keeps, kept_room;
	struct text results;		/* its file of results */
	struct server *server[SERVERS];
	struct worker *worker[NODES];
	struct data data[NODES];
	int workers;			/* workers that were ever started */
	uint64_t lives;			/* of servers */
	char dir[32];			/* of checkpoints */
	bool published;			/* whether it was published; not
					   reported yet */
	bool suspended;			/* by this coordinator */
	struct fail why_not;
	uint64_t now, ticked, events;
	struct asked asked[MAX_REQUESTS];
	size_t requests, given;
	bool ended, exact_cuts;
	unsigned char *seen;		/* steps with a result */
	size_t done, torn_cuts, died, wrong;
	char last_words[600];
	bool over;
	int status;
	struct fail why;
};

static struct model_fixture fixture;
static size_t unchecked;	/* runs whose servers were gone in the end */
static char *endpoint[SERVERS] = { (char *)"node:1", (char *)"node:2",
				   (char *)"node:3" };

static void
make_model(char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "input i id[%d] rows=%d\n"
		"input x float[3]\nlabel y binary\n"
		"d = dense x units=1 kernel_initializer=zeros\n",
		ROWS, ROWS);

	for (int k = 0; k < TABLES; k++)
		n += (size_t)snprintf(text + n, size - n,
			"e%d = embedding i dim=1 combiner=sum "
			"embeddings_initializer=zeros\n", k);
	n += (size_t)snprintf(text + n, size - n, "p = add d");
	for (int k = 0; k < TABLES; k++)
		n += (size_t)snprintf(text + n, size - n, " e%d", k);
	snprintf(text + n, size - n, "\nloss mean_absolute_error p\n"
		 "metric auc p\noptimizer sgd learning_rate=1\n");
}

/* ---- a worker's data ---- */

static void
fill(struct batch *b, const struct model *model, uint64_t examples)
{
	size_t inputs;
	const struct input *input = model_inputs(model, &inputs);

	(void)input;
	batch_reset(b);
	for (uint64_t e = 0; e < examples; e++, b->examples++) {
		for (size_t k = 0; k < ROWS; k++)
			feature_add_id(&b->feature[0], e * ROWS + k, k);
		for (size_t k = 0; k < 3; k++)
			feature_add_value(&b->feature[1], e * 3 + k, 1);
		feature_add_value(&b->label, e, 1e6f);
	}
}

static void
feed_steps(struct cluster *c, int node)
{
	struct worker *w = c->worker[node];
	struct data *d = &c->data[node];
	uint64_t want;
	struct fail f;

	while (worker_put_back(w, &d->batch)) {
		d->over = false;
		d->read -= d->batch.examples;
		if (d->left != ENOUGH)
			d->left += d->batch.examples;
	}
	while (!d->over && (want = worker_want(w)) > 0) {
		if (want > d->left)
			want = d->left;
		if (d->read <= d->bad_at && d->bad_at - d->read < want) {
			fail(&f, FAIL_DATA, "bad.csv:7: no number");
			worker_bad_data(w, &f);
			d->over = true;
		} else if (want == 0) {
			worker_exhausted(w, d->read);
			d->over = true;
		} else {
			fill(&d->batch, worker_model(w), want);
			d->read += want;
			if (d->left != ENOUGH)
				d->left -= want;
			worker_batch(w, &d->batch, c->now, c->now * 1000);
		}
	}
}

/* Few records at a time, so that much happens in the middle. */
static void
feed_evaluation(struct cluster *c, int node)
{
	struct worker *w = c->worker[node];
	struct data *d = &c->data[node];
	const struct worker_evaluation *e;

	while ((e = worker_evaluation(w)) && worker_evaluation_wants(w)) {
		if (e->number != d->evaluation)
			d->eval_at = e->shard;
		d->evaluation = e->number;
		if (d->eval_at >= EVAL_RECORDS) {
			worker_evaluation_batch(w, NULL, c->now);
			continue;
		}
		d->eval_at += e->shards;
		fill(&d->eval_batch, worker_model(w), 1);
		worker_evaluation_batch(w, &d->eval_batch, c->now);
	}
}

static void
feed(struct cluster *c, int node)
{
	struct worker *w = c->worker[node];
	struct data *d = &c->data[node];
	const struct model *model = worker_model(w);
	size_t inputs;

	if (!model)
		return;
	if (!d->begun) {
		const struct input *input = model_inputs(model, &inputs);

		batch_begin(&d->batch, input, inputs, model_label(model));
		batch_begin(&d->eval_batch, input, inputs,
			    model_label(model));
		d->begun = true;
	}
	feed_steps(c, node);
	feed_evaluation(c, node);
	if (worker_compute(w))
		worker_computed(w, c->now, c->now * 1000);
}

/* ---- who is there ---- */

static void
add_worker(struct cluster *c)
{
	const int node = FIRST_WORKER + c->workers++;
	const struct worker_options o = {
		.coordinator = "node:0", .timeout_ms = 20000,
		.prefetch = node % 2, .overlap = true,
		.life = (uint64_t)node * 1000 + 1, .index = WIRE_NONE
	};
	struct fail f;

	if (node >= NODES)
		return;
	c->data[node] = (struct data){ .left = c->plot->records,
				       .bad_at = ENOUGH };
	if (c->workers == 1 && c->plot->bad_at)
		c->data[node].bad_at = c->plot->bad_at;
	if (c->plot->records == 0)
		c->data[node].left = ENOUGH;
	c->worker[node] = worker_new(&o, sim_network_node(&c->network, node),
				     c->now, &f);
}

static void
end_worker(struct cluster *c, int node)
{
	struct data *d = &c->data[node];

	worker_free(c->worker[node]);
	c->worker[node] = NULL;
	if (d->begun) {
		batch_release(&d->batch);
		batch_release(&d->eval_batch);
	}
	sim_network_kill(&c->network, node);
}

/* kill -9: the worker sends nothing more. */
static void
kill_worker(struct cluster *c)
{
	int node = FIRST_WORKER +
		(int)rng_below(&c->network.rng, (uint64_t)c->workers);

	if (node >= NODES || !c->worker[node])
		return;
	sim_network_kill(&c->network, node);
	end_worker(c, node);
	if (!c->plot->no_replacement)
		add_worker(c);
}

/* ---- requests ---- */

static void
ask(struct cluster *c, char op, uint64_t steps)
{
	if (c->requests < MAX_REQUESTS)
		c->asked[c->requests++] = (struct asked){
			.op = op, .steps = steps,
			.batch = 3 + rng_below(&c->network.rng, 3) };
}

static void
give_request(struct cluster *c)
{
	static const char *const op[] = { ['t'] = "train", ['j'] = "join",
					  ['e'] = "eval", ['s'] = "save" };
	const struct asked *a = &c->asked[c->given];
	char line[128];

	if (!c->coord || !coord_wants(c->coord))
		return;
	if (c->given == c->requests) {
		coord_end_of_requests(c->coord, c->now);
		return;
	}
	if (a->op == 't')
		snprintf(line, sizeof(line), "{\"id\":%zu,\"steps\":%llu,"
			 "\"batch\":%llu}", c->given,
			 (unsigned long long)a->steps,
			 (unsigned long long)a->batch);
	else
		snprintf(line, sizeof(line), "{\"id\":%zu,\"op\":\"%s\"}",
			 c->given, op[(unsigned char)a->op]);
	c->given++;
	coord_request(c->coord, line, strlen(line), c->given, c->now);
}

/* ---- results ---- */

static uint64_t
field(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : UINT64_MAX;
}

/* Have all requests before this one ended, and has none after it begun? */
static bool
in_its_place(const struct cluster *c, size_t id)
{
	for (size_t i = 0; i < c->requests; i++) {
		const struct asked *a = &c->asked[i];
		const bool ended = a->op == 't' ? a->errors > 0 ||
			a->done + a->cancelled == a->steps : a->lines == 1;

		if ((i < id && !ended) || (i > id && a->lines > 0))
			return false;
	}
	return true;
}

static void
take_step(struct cluster *c, struct asked *a, const char *line)
{
	const uint64_t step = field(line, "\"step\":");

	c->wrong += step >= 100000 || c->seen[step]++ > 0;
	c->wrong += c->plot->records == 0 &&
		(c->options.mode == MODE_SYNC ?
		 field(line, "\"examples\":") % a->batch != 0 :
		 field(line, "\"examples\":") != a->batch);
	a->done++;
	c->done++;
}

static void
take_line(struct cluster *c, const char *line)
{
	const uint64_t id = field(line, "\"id\":");
	struct asked *a = c->asked + (id < c->requests ? id : 0);
	size_t joined = 0;

	if (id == UINT64_MAX)
		return;		/* not the answer to a request */
	c->wrong += id >= c->requests;
	a->lines++;
	if (strstr(line, "\"cancelled\":true")) {
		a->cancelled += a->op == 't' ? field(line, "\"steps\":") : 1;
	} else if (a->op == 't') {
		if (strstr(line, "\"error\":"))
			a->errors++;
		else
			take_step(c, a, line);
		return;
	}
	if (a->op != 't' && !in_its_place(c, id))
		c->wrong++;
	if (a->op == 'e' && !strstr(line, "cancelled") &&
	    !strstr(line, "error"))
		c->wrong += field(line, "\"examples\":") != EVAL_RECORDS;
	for (size_t i = id; i > 0 && c->asked[i - 1].op != 'j'; i--)
		joined += c->asked[i - 1].done;
	if (a->op == 'j' && !strstr(line, "cancelled"))
		c->wrong += field(line, "\"steps\":") != joined;
}

/* Lines that are now in the file, from here on. */
static void
take_lines(struct cluster *c, size_t from)
{
	char *copy = mem_text_n(c->results.data + from,
				c->results.size - from);
	char *line = copy, *end;

	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		take_line(c, line);
		line = end + 1;
	}
	free(copy);
}

static void
take_output(struct cluster *c)
{
	struct text *out = coord_output(c->coord);
	const size_t from = c->results.size;

	if (out->size > 0) {
		text_add(&c->results, "%.*s", (int)out->size, out->data);
		take_lines(c, from);
	}
	text_reset(out);
	text_reset(coord_warnings(c->coord));
	coord_note(c->coord, c->results.size, false, c->now);
}

/* ---- files ---- */

/* Cut B holds exactly the steps below B. */
static bool
holds_exactly(const struct server_job *job)
{
	const float steps = (float)job->request.cut.step;

	for (size_t i = 0; i < job->arrays; i++)
		for (size_t k = 0; k < job->array[i].pieces; k++)
			for (size_t j = 0; j < job->array[i].piece[k].count;
			     j++)
				if (job->array[i].piece[k].data[j] != steps)
					return false;
	return true;
}

static void
load(struct cluster *c, struct server *server, const struct server_job *job)
{
	char path[128];
	struct checkpoint *from;
	struct fail why;

	snprintf(path, sizeof(path), "%s/%s", c->dir, job->name);
	from = checkpoint_open(path, false, &why);
	server_load(server, job, from, &checkpoint_reader, &why);
	checkpoint_close(from);
}

static void
save(struct cluster *c, struct server *server, const struct server_job *job)
{
	struct checkpoint_part part;
	struct fail why;
	const int r = checkpoint_write_part(c->dir, job->name, job->part,
					    job->parts, job->array,
					    job->arrays, &part, &why);

	server_saved(server, job, r < 0 ? NULL : &part, &why);
}

/* Publishes in a thread, while all others continue; the result is reported some
   time later. */
static void
publish(struct cluster *c, const struct coord_job *job)
{
	if (!c->published) {
		c->why_not.kind = 0;
		if (*c->dir && !job->again)
			checkpoint_publish(c->dir, job->name, &job->info,
					   &fixture.source, job->part,
					   job->parts, &c->why_not);
		c->published = true;
	} else if (rng_below(&c->network.rng, 4) == 0) {
		c->published = false;
		coord_published(c->coord, c->why_not.kind ? &c->why_not :
				NULL, c->now);
	}
}

static void
work_on_files(struct cluster *c)
{
	const struct checkpoint_part part = { .size = 1, .hash = "h" };
	struct server_job job;
	struct fail full;

	fail(&full, FAIL_IO, "cannot write: disk full");
	for (size_t i = 0; i < c->plot->servers; i++) {
		if (!c->server[i] || !server_job(c->server[i], &job))
			continue;
		if (job.kind == JOB_LOAD) {
			load(c, c->server[i], &job);
			continue;
		}
		c->torn_cuts += c->exact_cuts && !holds_exactly(&job);
		if (*c->dir)
			save(c, c->server[i], &job);
		else
			server_saved(c->server[i], &job, c->plot->no_disk ?
				     NULL : &part, &full);
	}
	if (c->coord && coord_job(c->coord))
		publish(c, coord_job(c->coord));
}

/* ---- a coordinator is killed, and another one goes on ---- */

static int
keep(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
     struct fail *f)
{
	struct cluster *c = to;

	(void)safe;
	if (c->plot->full && c->events <= CALM &&
	    rng_below(&c->network.rng, c->plot->full) == 0)
		return fail(f, FAIL_IO, "cannot keep it: disk full");
	c->kept = mem_grow(c->kept, c->keeps, &c->kept_room,
			   sizeof(*c->kept));
	c->kept[c->keeps++] = (struct kept){ kind, size,
					     mem_copy(bytes, size) };
	return 0;
}

/* As ps-coord does when it finds a checkpoint. */
static void
find_newest(struct cluster *c)
{
	struct coord_options *o = &c->options;
	struct checkpoint_list list;
	struct checkpoint *from;
	char path[128];
	struct fail f;

	if (!*c->dir || checkpoint_list(&list, c->dir, &f) < 0)
		return;
	if (list.count > 0) {
		snprintf(path, sizeof(path), "%s/%s", c->dir,
			 list.name[list.count - 1]);
		from = checkpoint_open(path, false, &f);
		snprintf(o->restore, sizeof(o->restore), "%s",
			 list.name[list.count - 1]);
		o->restored = *checkpoint_info(from);
		checkpoint_close(from);
	}
	checkpoint_list_free(&list);
}

/* Results since the last record of the journal come again: the file decides
   which lines count. */
static void
read_results_again(struct cluster *c)
{
	memset(c->seen, 0, 100000);
	c->done = 0;
	for (size_t i = 0; i < c->requests; i++)
		c->asked[i].done = c->asked[i].cancelled =
			c->asked[i].errors = c->asked[i].lines = 0;
	take_lines(c, 0);
}

static void
begin_coordinator(struct cluster *c)
{
	uint64_t line = 0, written = 0;
	struct fail f;
	int r = 0;

	c->options.life++;
	c->options.push.codec = codec_find((c->options.seed +
					    c->options.life) % CODECS);
	c->options.pull.codec = codec_find(c->options.life % CODECS);
	c->suspended = false;
	if (c->keeps > 0 && c->plot->checkpoint)
		c->options.every_steps = 3 + rng_below(&c->network.rng, 9);
	find_newest(c);
	c->coord = coord_new(&c->options, &fixture.source, fixture.model,
			     sim_network_node(&c->network, 0), c->now, &f);
	for (size_t i = 0; i < c->keeps && r == 0; i++)
		r = coord_replay(c->coord, c->kept[i].kind,
				 c->kept[i].bytes, c->kept[i].size, &f);
	if (r == 0)
		r = coord_start(c->coord, &line, &written, &f);
	if (r < 0) {
		printf("# %s\n", f.text);
		c->wrong++;
	}
	c->given = line;
	if (c->results.size > 0) {
		c->results.size = written;
		c->results.data[written] = '\0';
		read_results_again(c);
	}
}

static void
kill_coordinator(struct cluster *c)
{
	sim_network_kill(&c->network, 0);
	coord_free(c->coord);
	c->coord = NULL;
	c->published = false;
}

/* ---- time and news ---- */

static void
receive(struct cluster *c, int node, struct packet *p)
{
	struct worker *w = c->worker[node];
	struct fail f;

	if (node == 0 && !c->coord)
		return;
	if (node == 0 && p->kind == PACKET_UP)
		coord_up(c->coord, p->peer, c->now);
	else if (node == 0 && p->kind == PACKET_DOWN)
		coord_down(c->coord, p->peer, c->now);
	else if (node == 0 && p->kind == PACKET_LEFT)
		coord_somebody_left(c->coord, c->now);
	else if (node == 0)
		coord_receive(c->coord, p->peer, &p->message, c->now);
	else if (node <= SERVERS && p->kind == PACKET_MESSAGE &&
		 c->server[node - 1])
		server_receive(c->server[node - 1], p->peer, &p->message,
			       c->now);
	else if (w && p->kind == PACKET_UP)
		worker_up(w, p->peer, c->now);
	else if (w && p->kind == PACKET_DOWN)
		worker_down(w, p->peer, c->now);
	else if (w && p->kind == PACKET_MESSAGE &&
		 worker_receive(w, p->peer, &p->message, c->now, c->now * 1000,
				&f) < 0) {
		c->died++;
		snprintf(c->last_words, sizeof(c->last_words), "%s", f.text);
		end_worker(c, node);
	}
}

static void
tick(struct cluster *c)
{
	struct fail f;

	if (c->now - c->ticked < 20)
		return;
	c->ticked = c->now;
	if (c->coord)
		coord_tick(c->coord, c->now);
	for (int i = FIRST_WORKER; i < NODES; i++) {
		if (!c->worker[i] || worker_tick(c->worker[i], c->now,
						 &f) == 0)
			continue;
		c->died++;
		snprintf(c->last_words, sizeof(c->last_words), "%s", f.text);
		end_worker(c, i);
	}
}

/* In rounds all servers go back together, which takes longer: faults are
   rarer. */
static uint64_t
seldom(const struct cluster *c, uint64_t chance)
{
	return c->options.mode == MODE_SYNC ? 4 * chance : chance;
}

/* Kills one or more servers; they are started again after a while. */
static void
lose_servers(struct cluster *c)
{
	const struct asked *last = &c->asked[c->requests - 2];
	struct rng *rng = &c->network.rng;
	const uint64_t losses = seldom(c, c->plot->losses);
	const bool calm = c->events > CALM;

	for (size_t i = 0; i < c->plot->servers; i++) {
		if (!c->server[i] && rng_below(rng, 100) == 0)
			c->server[i] = server_new(1000 + ++c->lives, 500,
				sim_network_node(&c->network, 1 + (int)i));
		/* A server that dies after the last step loses its sums. */
		if (!c->server[i] || calm || rng_below(rng, losses) > 0 ||
		    last->done == last->steps)
			continue;
		sim_network_kill(&c->network, 1 + (int)i);
		server_free(c->server[i]);
		c->server[i] = NULL;
	}
}

static void
mishap(struct cluster *c)
{
	const struct plot *p = c->plot;
	struct rng *rng = &c->network.rng;

	if (p->losses)
		lose_servers(c);
	if (!c->coord && rng_below(rng, 100) == 0)
		begin_coordinator(c);
	if (c->events > CALM)
		return;
	if (p->breaks && rng_below(rng, p->breaks) == 0) {
		struct wire *wire = &c->network.wire[
			rng_below(rng, c->network.count)];

		if (wire->dialler >= 0)
			wire_break(&c->network, wire);
	}
	if (p->kills && rng_below(rng, p->kills) == 0 && c->workers < 50)
		kill_worker(c);
	if (c->coord && p->deaths &&
	    rng_below(rng, seldom(c, p->deaths)) == 0)
		kill_coordinator(c);
	if (c->coord && p->stop && rng_below(rng, 300) == 0)
		coord_stop(c->coord, c->now);
	if (c->coord && p->suspends && !c->suspended &&
	    rng_below(rng, seldom(c, p->suspends)) == 0) {
		coord_stop(c->coord, c->now);
		c->suspended = true;
	}
	if (p->kill_server && c->done > 5 && c->server[0]) {
		sim_network_kill(&c->network, 1);
		server_free(c->server[0]);
		c->server[0] = NULL;
	}
}

static void
step(struct cluster *c)
{
	struct rng *rng = &c->network.rng;
	struct packet *p;
	int node = 0;

	c->events++;
	if (rng_below(rng, 8) == 0)
		give_request(c);
	if (rng_below(rng, 16) == 0)
		work_on_files(c);
	mishap(c);
	p = sim_network_next(&c->network, &node);
	c->now += p ? rng_below(rng, 2) : 10;
	if (p) {
		receive(c, node, p);
		packet_free(p);
	}
	for (int i = FIRST_WORKER; i < NODES; i++)
		if (c->worker[i] && rng_below(rng, 2))
			feed(c, i);
	tick(c);
	if (!c->coord)
		return;
	take_output(c);
	c->term = coord_term(c->coord);
	if (c->plot->full && coord_over(c->coord, &c->status, &c->why) &&
	    c->status == FAIL_IO) {
		kill_coordinator(c);	/* it is started again */
		return;
	}
	c->over = coord_over(c->coord, &c->status, &c->why);
	if (c->over && c->suspended && c->status == FAIL_AGAIN) {
		coord_finish(c->coord, c->results.size, c->now);
		kill_coordinator(c);
		c->over = false;
	}
}

/* ---- a run ---- */

static struct cluster *
cluster_new(const struct plot *plot, uint64_t seed)
{
	struct cluster *c = mem_alloc(1, sizeof(*c));
	struct coord_options *o = &c->options;

	c->plot = plot;
	c->network.rng.seed = seed;
	c->network.slow_news = (uint64_t)1 << 4 * rng_below(&c->network.rng, 4);
	c->now = 1000;
	c->seen = mem_alloc(100000, 1);
	/* Steps that are given up count for a cut's number as well. */
	c->exact_cuts = !plot->stop;
	*o = (struct coord_options){
		.endpoint = "node:0",
		.server = endpoint, .servers = plot->servers,
		.partitioner = { .kind = PARTITION_FIXED, .shards = 2 },
		.placement.rule = PLACE_ROUND_ROBIN, .seed = seed, .batch = 4,
		.pack = 1 + rng_below(&c->network.rng, 4),
		.in_flight = 1 + rng_below(&c->network.rng, 3),
		.min_workers = plot->min_workers ? plot->min_workers : 1,
		.keep_going = plot->keep_going, .timeout_ms = 20000,
		.lease_ms = 500, .patience_ms = 1000, .grace_ms = 7000,
		.checkpoint = plot->checkpoint,
		.every_steps = plot->checkpoint ? 7 : 0,
		.life = 5, .run = "run of the tests",
		.mode = (enum mode)(seed % 3)
	};
	if (o->mode == MODE_SSP)
		o->ahead = rng_below(&c->network.rng, 6);
	if (o->mode == MODE_SYNC) {
		o->replicas = rng_below(&c->network.rng, 6);
		o->backup = rng_below(&c->network.rng, 3);
	}
	if (plot->losses)
		o->patience_ms = 60000;
	o->suspend = plot->suspends > 0;
	if (plot->checkpoint && (plot->losses || plot->deaths ||
				 plot->suspends)) {
		snprintf(c->dir, sizeof(c->dir), "cluster.XXXXXX");
		if (!mkdtemp(c->dir))
			perror(c->dir);
	}
	for (size_t i = 0; i < plot->servers; i++)
		c->server[i] = server_new(100 + i, 500, sim_network_node(
			&c->network, 1 + (int)i));
	if (plot->deaths || plot->suspends) {
		c->journal = (struct journal){ .add = keep, .to = c };
		o->journal = &c->journal;
	}
	begin_coordinator(c);
	for (size_t i = 0; i < plot->workers; i++)
		add_worker(c);
	return c;
}

static void
remove_checkpoints(struct cluster *c)
{
	struct checkpoint_list list;
	struct fail f;

	if (!*c->dir)
		return;
	checkpoint_sweep(c->dir);
	if (checkpoint_list(&list, c->dir, &f) == 0) {
		for (size_t i = 0; i < list.count; i++)
			checkpoint_remove(c->dir, list.name[i], &f);
		checkpoint_list_free(&list);
	}
	rmdir(c->dir);
}

static void
cluster_free(struct cluster *c)
{
	for (int i = FIRST_WORKER; i < NODES; i++)
		if (c->worker[i])
			end_worker(c, i);
	for (size_t i = 0; i < SERVERS; i++)
		server_free(c->server[i]);
	coord_free(c->coord);
	for (size_t i = 0; i < c->keeps; i++)
		free(c->kept[i].bytes);
	free(c->kept);
	text_release(&c->results);
	remove_checkpoints(c);
	sim_network_release(&c->network);
	free(c->seen);
	free(c);
}

static void
random_requests(struct cluster *c)
{
	static const char barrier[] = { 'j', 'e', 's' };
	struct rng *rng = &c->network.rng;
	const size_t kinds = c->plot->checkpoint ? 3 : 2;

	for (size_t n = 2 + rng_below(rng, 8); n > 0; n--)
		if (rng_below(rng, 3) > 0)
			ask(c, 't', 1 + rng_below(rng, 20));
		else
			ask(c, barrier[rng_below(rng, kinds)], 0);
	ask(c, 't', 1 + rng_below(rng, 20));
	ask(c, 'j', 0);
}

/* ---- what the servers hold in the end ---- */

static void
all_keys(struct pack *keys, const struct plan *plan, size_t part)
{
	const struct part *p = &plan->part[part];
	uint64_t row[ROWS];

	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct piece *piece = &plan->piece[i];

		for (size_t k = 0; piece->table && k < piece->count; k++)
			row[k] = k;
		if (piece->table)
			keys_write(keys, row, piece->count, 0);
	}
}

static size_t
ask_values(struct cluster *c, const struct plan *plan)
{
	struct outbox *o = sim_network_node(&c->network, PROBE);
	struct pack keys = { 0 };
	struct fail f;
	uint64_t peer;

	for (size_t i = 0; i < plan->parts; i++) {
		struct message m = { .kind = MESSAGE_HELLO };

		outbox_dial(o, plan->endpoint[plan->part[i].server], &peer,
			    &f);
		c->network.wire[c->network.count - 1].whole = true;
		for (size_t k = 0; k < c->network.count; k++)
			if (c->network.wire[k].dial_peer == peer)
				c->network.wire[k].whole = true;
		m.hello.version = WIRE_VERSION;
		m.hello.role = ROLE_EVALUATOR;
		m.blob = (struct frame){ plan->run, PLAN_RUN, NULL };
		outbox_send(o, peer, &m);
		m = (struct message){ .kind = MESSAGE_PULL, .frames = 1 };
		m.pull.run = plan_run(plan);
		m.pull.term = plan->term;
		m.pull.plan = plan->number;
		m.pull.part = i;
		m.pull.cut = WIRE_NONE;
		pack_reset(&keys);
		all_keys(&keys, plan, i);
		m.frame[0] = (struct frame){ keys.data, keys.size, NULL };
		outbox_send(o, peer, &m);
	}
	pack_release(&keys);
	return plan->parts;
}

/* The least and the largest of all weights, on all servers. */
static bool
weights(struct cluster *c, float *least, float *most)
{
	struct plan plan = { 0 };
	struct place *place;
	struct packet *p;
	size_t places, left;
	int node;

	coord_plan(&c->options, fixture.model, &plan, &place, &places);
	free(place);
	plan.term = c->term;
	for (size_t i = 0; i < c->plot->servers; i++)
		if (!c->server[i])	/* it died when the last step was
					   done */
			c->server[i] = server_new(1, 500, sim_network_node(
				&c->network, 1 + (int)i));
	left = ask_values(c, &plan);
	plan_release(&plan);
	*least = 1e9f;
	*most = -1e9f;
	while (left > 0 && (p = sim_network_next(&c->network, &node))) {
		const struct frame *v = &p->message.frame[0];

		if (node >= 1 && node <= SERVERS &&
		    p->kind == PACKET_MESSAGE)
			server_receive(c->server[node - 1], p->peer,
				       &p->message, c->now);
		if (node == PROBE && p->kind == PACKET_MESSAGE &&
		    p->message.kind == MESSAGE_REFUSED && c->plot->losses) {
			unchecked++;
			*least = 1e9f;
			*most = -1e9f;
			packet_free(p);
			return true;
		}
		if (node == PROBE && p->message.kind == MESSAGE_VALUES) {
			left--;
			for (size_t i = 0; i < v->size / sizeof(float); i++) {
				const float x = ((const float *)v->data)[i];

				*least = x < *least ? x : *least;
				*most = x > *most ? x : *most;
			}
		}
		packet_free(p);
	}
	return left == 0;
}

/* ---- what must hold ---- */

static bool
all_answered(const struct cluster *c)
{
	for (size_t i = 0; i < c->given; i++) {
		const struct asked *a = &c->asked[i];

		if (a->op != 't' && a->lines != 1)
			return false;
		if (a->op == 't' && a->done + a->errors + a->cancelled !=
		    a->steps)
			return false;
	}
	return true;
}

/* After a barrier that was given up no request is done. */
static bool
ends_once(const struct cluster *c)
{
	bool over = false;

	for (size_t i = 0; i < c->given; i++) {
		const struct asked *a = &c->asked[i];

		if (over && a->done > 0)
			return false;
		over = over || (a->op != 't' && a->cancelled > 0);
	}
	return true;
}

/* How a run is to end. */
struct end {
	int status;
	const char *why;	/* is in the failure's text; NULL: none */
	bool may_end_well;	/* or it ends with 0, if the fault came too
				   late */
	bool inexact;		/* some steps were given up after a part of them
				   was applied */
	bool deaths;		/* workers end with errors */
};

static bool
as_it_should(struct cluster *c, const struct end *end)
{
	const bool well = end->may_end_well && c->status == 0;
	const float done = (float)c->done;
	float least = done, most = done;

	/*
	 * A run that ended early may have no plan for its servers; and there
	 * may be none when a coordinator resumed a run whose servers had been
	 * told to stop.
	 */
	bool held = c->plot->kill_server || weights(c, &least, &most) ||
		c->done == 0 || (c->plot->stop && c->plot->deaths);

	if (!c->plot->keep_going && !c->plot->kill_server && least <= most)
		held = held && least >= done && (end->inexact || most == done);
	if (well || end->status == 0)
		held = held && (c->given == c->requests || c->plot->stop);
	return c->over && c->wrong == 0 && c->torn_cuts == 0 && held &&
		c->network.malformed == 0 && (c->died == 0 || end->deaths) &&
		all_answered(c) && (!c->plot->stop || ends_once(c)) &&
		(well || (c->status == end->status &&
			  (!end->why || strstr(c->why.text, end->why))));
}

static void
tell(struct cluster *c, uint64_t seed)
{
	float least = 0, most = 0;

	if (!c->plot->kill_server)
		weights(c, &least, &most);
	printf("# seed %llu: %s after %llu events, status %d (%s), %zu done, "
	       "weights %g..%g, %zu wrong, %zu torn, %zu malformed, %zu died "
	       "(%s)%s\n", (unsigned long long)seed,
	       c->over ? "over" : "hangs", (unsigned long long)c->events,
	       c->status, c->why.text, c->done, (double)least, (double)most,
	       c->wrong, c->torn_cuts, c->network.malformed, c->died,
	       c->last_words, all_answered(c) ? "" : ", not all answered");
}

static struct cluster *
run(const struct plot *plot, uint64_t seed)
{
	struct cluster *c = cluster_new(plot, seed);

	random_requests(c);
	while (!c->over && c->events < MAX_EVENTS)
		step(c);
	return c;
}

static void
runs(const char *name, const struct plot *plot, uint64_t seeds,
     const struct end *end)
{
	bool good = true;

	unchecked = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct cluster *c = run(plot, seed);

		if (!as_it_should(c, end)) {
			tell(c, seed);
			good = false;
		}
		cluster_free(c);
	}
	named(good && unchecked < seeds / 4, name);
}

/* All requests are done, although wires break and workers die. */
static void
through_thick_and_thin(void)
{
	const struct end well = { .status = 0 };

	runs("a quiet run", &(struct plot){ .servers = 1, .workers = 1 }, 5,
	     &well);
	runs("a quiet cluster", &(struct plot){ .servers = 3, .workers = 4,
	     .min_workers = 3 }, 20, &well);
	runs("wires break", &(struct plot){ .servers = 2, .workers = 3,
	     .breaks = 100 }, SEEDS, &well);
	runs("workers are killed", &(struct plot){ .servers = 2,
	     .workers = 3, .kills = 200 }, SEEDS, &well);
	runs("both, and checkpoints", &(struct plot){ .servers = 3,
	     .workers = 4, .breaks = 150, .kills = 300, .checkpoint = true },
	     SEEDS, &well);
}

/* Steps that servers lost are run again for these servers alone, to the same
   sums. */
static void
lost_servers(void)
{
	const struct end well = { .status = 0 };

	runs("a server is lost now and then", &(struct plot){ .servers = 2,
	     .workers = 3, .losses = 2000 }, 40, &well);
	runs("servers are lost often", &(struct plot){ .servers = 3,
	     .workers = 2, .losses = 700 }, 40, &well);
	runs("and go back to checkpoints", &(struct plot){ .servers = 3,
	     .workers = 3, .losses = 1000, .checkpoint = true }, 40,
	     &well);
	runs("while workers die and wires break", &(struct plot){
	     .servers = 3, .workers = 4, .losses = 2000, .checkpoint = true,
	     .breaks = 300, .kills = 500 }, 40, &well);
}

/* Another coordinator resumes the run from the journal. */
static void
lost_coordinators(void)
{
	const struct end well = { .status = 0 };

	runs("a coordinator is killed now and then", &(struct plot){
	     .servers = 2, .workers = 3, .deaths = 300 }, SEEDS, &well);
	runs("while workers die and wires break", &(struct plot){
	     .servers = 3, .workers = 4, .deaths = 500, .breaks = 300,
	     .kills = 500 }, SEEDS, &well);
	runs("and the cuts are exact", &(struct plot){ .servers = 2,
	     .workers = 3, .deaths = 150, .checkpoint = true }, SEEDS,
	     &well);
	runs("also when what it says cannot be kept", &(struct plot){
	     .servers = 2, .workers = 3, .deaths = 500, .full = 40,
	     .losses = 2000 }, 40, &well);
	runs("and servers are lost, too", &(struct plot){ .servers = 3,
	     .workers = 3, .deaths = 500, .losses = 2000,
	     .checkpoint = true }, 40, &well);
}

/* A suspended run is resumed: every request is done, once. */
static void
suspended(void)
{
	const struct end well = { .status = 0 };

	runs("suspended now and then", &(struct plot){ .servers = 2,
	     .workers = 3, .suspends = 300 }, 40, &well);
	runs("suspended, and the cuts are exact", &(struct plot){
	     .servers = 3, .workers = 3, .suspends = 300,
	     .checkpoint = true }, 40, &well);
	runs("suspended, and killed, and servers are lost", &(struct plot){
	     .servers = 2, .workers = 3, .suspends = 500, .deaths = 1000,
	     .losses = 3000, .kills = 800, .breaks = 800,
	     .checkpoint = true }, 40, &well);
}

static void
errors(void)
{
	runs("bad data ends the run, and what was asked is answered",
	     &(struct plot){ .servers = 2, .workers = 3, .bad_at = 9 }, 50,
	     &(struct end){ .status = FAIL_DATA, .why = "bad.csv:7",
	     .may_end_well = true, .inexact = true });
	runs("also when wires break", &(struct plot){ .servers = 2,
	     .workers = 3, .bad_at = 9, .breaks = 100 }, SEEDS,
	     &(struct end){ .status = FAIL_DATA, .why = "bad.csv:7",
	     .may_end_well = true, .inexact = true });
	runs("with --keep-going all requests are tried",
	     &(struct plot){ .servers = 2, .workers = 3, .bad_at = 9,
	     .keep_going = true, .breaks = 200 }, SEEDS,
	     &(struct end){ .status = FAIL_DATA, .may_end_well = true,
	     .inexact = true });
	runs("data that is used up", &(struct plot){ .servers = 2,
	     .workers = 3, .records = 41 }, 50,
	     &(struct end){ .status = FAIL_NOINPUT,
	     .why = "no worker has data left", .may_end_well = true });
	runs("also when wires break", &(struct plot){ .servers = 2,
	     .workers = 3, .records = 41, .breaks = 100 }, SEEDS,
	     &(struct end){ .status = FAIL_NOINPUT, .inexact = true,
	     .why = "no worker has data left", .may_end_well = true });
	runs("a full disk", &(struct plot){ .servers = 2, .workers = 3,
	     .checkpoint = true, .no_disk = true, .breaks = 200 }, 50,
	     &(struct end){ .status = FAIL_IO, .why = "disk full" });
}

static void
ends(void)
{
	const struct end lonely = { .status = FAIL_PEER,
		.why = "no worker within 20 s at node:0", .may_end_well = true,
		.inexact = true };

	runs("asked to stop", &(struct plot){ .servers = 2, .workers = 3,
	     .stop = true }, SEEDS, &(struct end){ .status = 0 });
	runs("asked to stop among troubles", &(struct plot){ .servers = 2,
	     .workers = 3, .stop = true, .breaks = 100, .kills = 200,
	     .checkpoint = true }, SEEDS,
	     &(struct end){ .status = 0, .inexact = true });
	runs("asked to stop, and killed on the way", &(struct plot){
	     .servers = 2, .workers = 3, .stop = true, .deaths = 60 }, 30,
	     &(struct end){ .status = 0, .inexact = true });
	runs("nobody comes", &(struct plot){ .servers = 1 }, 5, &lonely);
	runs("nobody is left", &(struct plot){ .servers = 2, .workers = 3,
	     .kills = 50, .no_replacement = true }, 50, &lonely);
	runs("too few come", &(struct plot){ .servers = 1, .workers = 2,
	     .min_workers = 3 }, 5, &(struct end){ .status = FAIL_PEER,
	     .why = "2 of 3 workers within 20 s at node:0" });
	runs("a server is killed", &(struct plot){ .servers = 2,
	     .workers = 3, .kill_server = true, .breaks = 200 }, 50,
	     &(struct end){ .status = FAIL_PEER, .why = "server 0 (node:1)",
	     .deaths = true, .may_end_well = true });
}

int
main(void)
{
	char text[4096];

	make_model(text, sizeof(text));
	fixture_begin(&fixture, text);
	through_thick_and_thin();
	lost_servers();
	lost_coordinators();
	suspended();
	errors();
	ends();
	fixture_end(&fixture);
	return tap_done();
}
