/*
 * A plan covers every variable once, for any shapes, partitioner and number of
 * servers; it is the same when written and read; and a plan that a peer made up
 * is refused or is valid.
 */
#include "wire/plan.h"

#include "model_fixture.h"

#include "tap.h"

#define SERVERS	5

static struct fail f;
static char *endpoint[SERVERS];

/* Odd shapes; "big" is cut in the middle of its rows. */
static const char shapes[] =
	"input  id id rows=37\n"
	"input  x float[5]\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"d  = dense x units=3\n"
	"m  = add e d\n"
	"h  = dense m units=70001\n"
	"p  = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam\n";

static void
make(struct plan *p, const struct model_fixture *fixture,
     const char *partitioner, const struct placement *placement, size_t servers)
{
	struct partitioner how;
	struct place *place;
	size_t places;

	partitioner_parse(&how, partitioner, &f);
	place = partition_plan(fixture->variable, fixture->variables, &how,
			       placement, servers, &places);
	*p = (struct plan){ 0 };
	plan_make(p, fixture->model, place, places, endpoint, servers);
	free(place);
}

/* Is each element of each variable in one piece, and each piece in one part? */
static bool
covers(const struct plan *p, const struct model_fixture *fixture)
{
	unsigned char **seen = mem_alloc(fixture->variables, sizeof(*seen));
	size_t pieces = 0;
	bool once = true;

	for (size_t v = 0; v < fixture->variables; v++)
		seen[v] = mem_alloc(shape_size(fixture->variable[v].shape), 1);
	for (size_t i = 0; i < p->parts; i++) {
		once = once && p->part[i].first == pieces &&
			p->part[i].count > 0 &&
			(i == 0 || p->part[i].server >=
			 p->part[i - 1].server);
		pieces += p->part[i].count;
	}
	for (size_t i = 0; i < p->pieces; i++) {
		const struct piece *q = &p->piece[i];

		once = once &&
			q->table == fixture->variable[q->variable].table &&
			(q->table || q->count * sizeof(float) <= PLAN_PIECE);
		for (size_t k = 0; k < q->count * q->width; k++)
			seen[q->variable][q->first * q->width + k]++;
	}
	for (size_t v = 0; v < fixture->variables; v++) {
		for (size_t k = 0; k < shape_size(fixture->variable[v].shape);
		     k++)
			once = once && seen[v][k] == 1;
		free(seen[v]);
	}
	free(seen);
	return once && pieces == p->pieces;
}

static bool
small_enough(const struct plan *p)
{
	for (size_t i = 0; i < p->parts; i++)
		if (plan_part_dense(p, i) * sizeof(float) > PLAN_PIECE)
			return false;
	return true;
}

static bool
same_plan(const struct plan *p, const struct plan *q)
{
	bool same = p->servers == q->servers && p->pieces == q->pieces &&
		p->parts == q->parts;

	for (size_t i = 0; same && i < p->servers; i++)
		same = strcmp(p->endpoint[i], q->endpoint[i]) == 0;
	for (size_t i = 0; same && i < p->pieces; i++)
		same = p->piece[i].variable == q->piece[i].variable &&
			p->piece[i].table == q->piece[i].table &&
			p->piece[i].first == q->piece[i].first &&
			p->piece[i].count == q->piece[i].count &&
			p->piece[i].width == q->piece[i].width;
	for (size_t i = 0; same && i < p->parts; i++)
		same = p->part[i].server == q->part[i].server &&
			p->part[i].first == q->part[i].first &&
			p->part[i].count == q->part[i].count;
	return same;
}

static bool
goes_round(const struct plan *p, const struct model_fixture *fixture)
{
	struct pack out = { 0 };
	struct plan read = { 0 };
	bool same;

	plan_write(&out, p);
	same = plan_read(&read, fixture->model, out.data, out.size, &f) == 0 &&
		same_plan(p, &read);
	plan_release(&read);
	pack_release(&out);
	return same;
}

static void
every_shape(const struct model_fixture *fixture)
{
	static const char *const partitioners[] = {
		"none", "fixed:2", "fixed:7", "min:1000:4", "max:5000",
		"max:900000"
	};
	bool covered = true, small = true, round = true;
	struct plan p;

	for (size_t k = 0; k < 6; k++)
		for (size_t servers = 1; servers <= SERVERS; servers++) {
			make(&p, fixture, partitioners[k], k % 2 ?
			     &placement_round_robin : &placement_balanced,
			     servers);
			covered = covered && covers(&p, fixture);
			small = small && small_enough(&p);
			round = round && goes_round(&p, fixture);
			plan_release(&p);
		}
	named(covered,
	      "every element is in one piece, and every piece in one part");
	named(small, "no part is larger than a message should be");
	named(round, "a plan is read back as it was written");
}

/* A plan that is cut short or changed anywhere is refused, or still valid. */
static void
damaged(const struct model_fixture *fixture)
{
	struct rng rng = { .seed = 4 };
	struct pack out = { 0 };
	struct plan p, read = { 0 };
	bool cut = true, sound = true;

	make(&p, fixture, "fixed:3", &placement_balanced, 3);
	plan_write(&out, &p);
	for (size_t i = 0; i < out.size; i++) {
		unsigned char *copy = mem_copy(out.data, i);

		cut = cut &&
			plan_read(&read, fixture->model, copy, i, &f) < 0 &&
			f.kind == FAIL_PROTOCOL && read.pieces == 0;
		free(copy);
		copy = mem_copy(out.data, out.size);
		for (size_t k = 0; k < 8; k++) {
			copy[i] = (unsigned char)rng_next(&rng);
			if (plan_read(&read, fixture->model, copy, out.size,
				      &f) < 0)
				continue;
			sound = sound && covers(&read, fixture);
			plan_release(&read);
		}
		free(copy);
	}
	named(cut, "a plan that is cut short is refused");
	named(sound, "a damaged plan is refused, or still covers everything");
	pack_release(&out);
	plan_release(&p);
}

/* Is a plan refused that no coordinator would make? */
static bool
refused(const struct model_fixture *fixture, const struct plan *p)
{
	struct pack out = { 0 };
	struct plan read = { 0 };
	const bool bad = (plan_write(&out, p),
			  plan_read(&read, fixture->model, out.data, out.size,
				    &f)) < 0;

	plan_release(&read);
	pack_release(&out);
	return bad && strcmp(f.text, "malformed plan") == 0;
}

static void
made_up(const struct model_fixture *fixture)
{
	struct plan p;

	make(&p, fixture, "none", &placement_round_robin, 2);
	ok(!refused(fixture, &p));
	p.piece[0].count--;
	named(refused(fixture, &p),
	      "a plan without one of the rows is refused");
	p.piece[0].count += 2;
	named(refused(fixture, &p),
	      "a plan with a row beyond the variable is refused");
	p.piece[0].count--;
	p.part[0].server = 1;
	p.part[p.parts - 1].server = 0;
	named(refused(fixture, &p),
	      "a plan whose parts are not in the order of servers is refused");
	p.part[0].server = 0;
	p.part[p.parts - 1].server = 2;
	named(refused(fixture, &p),
	      "a plan with a part on a missing server is refused");
	p.part[p.parts - 1].server = 1;
	p.part[0].count--;
	p.part[1].count++;
	ok(p.part[0].count > 0 || refused(fixture, &p));
	p.part[0].count++;
	p.part[1].count--;
	p.servers = 0;
	named(refused(fixture, &p), "a plan without servers is refused");
	p.servers = 2;

	struct piece *all = p.piece;
	struct piece *more = mem_alloc(p.pieces + 1, sizeof(*more));

	memcpy(more + 1, all, p.pieces * sizeof(*more));
	more[0] = all[0];
	more[0].count = 0;
	p.piece = more;
	p.pieces++;
	p.part[0].count++;
	named(refused(fixture, &p), "a plan with an empty piece is refused");
	free(more);
	p.piece = all;
	p.pieces--;
	p.part[0].count--;

	struct part *parts = p.part;
	struct part *empty = mem_alloc(p.parts + 1, sizeof(*empty));

	memcpy(empty + 1, parts, p.parts * sizeof(*empty));
	p.part = empty;
	p.parts++;
	named(refused(fixture, &p), "a plan with an empty part is refused");
	free(empty);
	p.part = parts;
	p.parts--;
	plan_release(&p);
}

static void
models(void)
{
	static char a[] = "model.ps", b[] = "words", c[] = "loss x\n";
	static char d[] = { 'a', '\0', 'b', '\0' };
	struct model_file file[] = { { a, c, 7 }, { b, d, 3 } };
	const struct model_source source = { .file = file, .count = 2 };
	struct model_source read;
	struct pack out = { 0 };
	bool cut = true;

	plan_write_model(&out, &source);
	equals(plan_read_model(&read, out.data, out.size, &f), 0);
	ok(read.count == 2 && strcmp(read.file[0].name, a) == 0 &&
	   strcmp(read.file[0].text, c) == 0 && read.file[1].size == 3 &&
	   memcmp(read.file[1].text, d, 4) == 0);
	model_source_release(&read);
	for (size_t i = 0; i < out.size; i++)
		cut = cut && plan_read_model(&read, out.data, i, &f) < 0 &&
			strcmp(f.text, "malformed model") == 0 &&
			read.count == 0;
	named(cut, "a model that is cut short is refused");
	pack_reset(&out);
	pack_array(&out, 0);
	ok(plan_read_model(&read, out.data, out.size, &f) < 0);
	pack_reset(&out);
	pack_array(&out, 3);
	ok(plan_read_model(&read, out.data, out.size, &f) < 0);
	pack_reset(&out);
	pack_array(&out, 1u << 31);
	ok(plan_read_model(&read, out.data, out.size, &f) < 0);
	pack_release(&out);
}

int
main(void)
{
	struct model_fixture fixture;

	for (size_t i = 0; i < SERVERS; i++)
		endpoint[i] = (char *)"tcp://127.0.0.1:1";
	fixture_begin(&fixture, shapes);
	every_shape(&fixture);
	damaged(&fixture);
	made_up(&fixture);
	models();

	struct plan p;

	make(&p, &fixture, "none", &placement_balanced, 1);
	memcpy(p.run, "\1\0\0\0\0\0\0\0abcdefgh", PLAN_RUN);
	equals(plan_run(&p), 1);
	plan_release(&p);
	fixture_end(&fixture);
	return tap_done();
}
