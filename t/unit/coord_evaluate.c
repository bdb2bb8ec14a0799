/* Evaluations by the workers: shards, their results, and errors. */
#include "coord/coord_evaluate.h"

#include "coordinator.h"

#define A	1
#define B	2
#define LATE	3

static const char model[] =
	"input x float[2]\nlabel y binary\np = dense x units=1\n"
	"q = sigmoid p\nloss binary_crossentropy q\nmetric auc q\n"
	"optimizer sgd\n";

static struct request eval;
static uint64_t asked[8];	/* by peer */

#define advance()	evaluate_advance(c, &eval, NULL, now)
#define checked(claim)	ok_and_sound(claim, evaluate_check(c), #claim)

static void
begin(void)
{
	options.keep_going = true;
	coordinator_begin(model);
	ok(request_read(&eval, "{\"op\":\"eval\",\"files\":[\"a.tsv\"]}", 31,
			&f) == 0);
	joins(A);
	joins(B);
	ask("{\"op\":\"eval\",\"files\":[\"a.tsv\"]}");
}

static void
end(void)
{
	request_release(&eval);
	coordinator_end();
}

/* Was this worker given this shard of shards? */
static bool
given(uint64_t peer, uint64_t shard, uint64_t shards)
{
	if (!says(peer, MESSAGE_EVALUATE))
		return false;
	asked[peer] = last_posted->m.request;
	return last_posted->m.evaluate.shard == shard &&
		last_posted->m.evaluate.shards == shards &&
		last_posted->m.evaluate.batch == 256;
}

static int
done(uint64_t peer, uint64_t examples, const struct negative_labels *negatives,
     size_t scores)
{
	static const float score[] = { 0.9f, 0.1f };
	static const unsigned char positive[] = { 1, 0 };
	const struct result r = { .examples = examples, .loss = 2,
				  .metrics = 1, .scores = scores,
				  .negatives = *negatives };
	struct message m = { .kind = MESSAGE_EVALUATED, .frames = 3,
			     .request = asked[peer] };
	struct pack p = { 0 };
	int status;

	result_write(&p, &r);
	m.done.term = 1;
	m.done.count = 1;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	m.frame[1] = (struct frame){ score, sizeof(score), NULL };
	m.frame[2] = (struct frame){ positive, sizeof(positive), NULL };
	status = evaluate_done(c, at(peer), &m, &f);
	pack_release(&p);
	return status;
}

static const struct negative_labels none;

static void
scored(void)
{
	begin();
	ok(given(A, 0, 2) && given(B, 1, 2) && silent());
	joins(LATE);
	checked(advance() == EVALUATION_RUNS && silent());
	equals(done(A, 4, &none, 2), 0);
	checked(advance() == EVALUATION_RUNS && silent());
	named(done(A, 4, &none, 2) == 0 &&
	      advance() == EVALUATION_RUNS,
	      "a result that comes twice counts once");
	evaluate_take_back(c, at(B));
	checked(advance() == EVALUATION_RUNS);
	named(given(A, 1, 2) && silent(),
	      "the shard of a lost worker is given to another one");
	ok(done(B, 4, &none, 2) == 0 &&
	   advance() == EVALUATION_RUNS);
	ok(done(A, 6, &none, 2) == 0 &&
	   advance() == EVALUATION_DONE);
	named(prints("\"examples\":10,\"loss\":0.4,\"metrics\":"
		     "{\"auc\":1}"),
	      "the results of both shards are added up");
	end();
}

static void
dropped(void)
{
	begin();
	given(A, 0, 2);
	given(B, 1, 2);
	evaluate_take_back(c, at(B));
	post_deaf = A;
	equals(done(A, 4, &none, 2), 0);
	advance();
	post_deaf = 0;
	checked(silent());
	evaluate_take_back(c, at(A));
	advance();
	named(given(A, 1, 2),
	      "a shard that a worker never received is given out again");
	post_deaf = A;
	for (int i = 0; i < QUEUE_DEATHS; i++) {
		evaluate_take_back(c, at(A));
		advance();
		evaluate_died(c, at(A));
	}
	post_deaf = 0;
	named_equals(coord_output(c)->size, 0,
		     "deaths under a shard that was never received do not "
		     "count");
	evaluate_give_up(c);
	checked(silent());
	end();
}

static void
malformed(void)
{
	struct message m = { .kind = MESSAGE_EVALUATED, .frames = 1 };
	static const float scores[3];

	begin();
	given(A, 0, 2);
	m.request = asked[A];
	m.done.count = 1;
	m.frame[0] = (struct frame){ "\x91\1", 2, NULL };
	ok(evaluate_done(c, at(A), &m, &f) < 0 && f.kind == FAIL_PROTOCOL);
	m.frames = 2;
	m.frame[1] = (struct frame){ scores, sizeof(scores), NULL };
	ok(evaluate_done(c, at(A), &m, &f) < 0 && f.kind == FAIL_PROTOCOL);
	ok(done(A, 4, &none, 3) < 0 && strstr(f.text, "malformed result"));
	m.request++;
	named_equals(evaluate_done(c, at(A), &m, &f), 0,
		     "a result of another evaluation is ignored");
	end();
}

static void
refused(void)
{
	struct message m = { .kind = MESSAGE_EVALUATE };

	begin();
	given(A, 0, 2);
	given(B, 1, 2);
	m.request = asked[A] + 9;
	m = message_refuse(&m, FAIL_NOINPUT, "no file a.tsv");
	evaluate_refused(c, at(A), &m);
	named_equals(coord_output(c)->size, 0,
		     "a refusal of an earlier evaluation is ignored");
	m.request = asked[A];
	evaluate_refused(c, at(A), &m);
	ok(prints("\"op\":\"eval\",\"worker\":\"worker:0\","
		  "\"error\":\"no file a.tsv\""));
	named(done(B, 4, &none, 2) == 0 && coord_output(c)->size == 0,
	      "results after the evaluation's failure do not count");
	evaluate_refused(c, at(B), &m);
	checked(coord_output(c)->size == 0);
	end();
}

/* One shard has a label of 0, another one of -1. */
static void
three_classes(void)
{
	const struct negative_labels zero = { .zero = true },
		minus = { .minus = true };

	begin();
	given(A, 0, 2);
	given(B, 1, 2);
	ok(done(A, 4, &zero, 2) == 0 && done(B, 4, &minus, 2) == 0);
	ok(prints("worker:1 has labels of -1, where others are 0"));
	end();
}

static void
deaths(void)
{
	begin();
	given(A, 0, 2);
	given(B, 1, 2);
	for (int i = 1; i < QUEUE_DEATHS; i++) {
		evaluate_died(c, at(A));
		evaluate_take_back(c, at(A));
		evaluate_died(c, at(A));
		advance();
		if (!given(A, 0, 2))
			named(false,
			      "a shard whose worker died is given out again");
	}
	equals(coord_output(c)->size, 0);
	evaluate_died(c, at(A));
	named(prints("5 workers died under it"),
	      "a shard that kills its workers ends the evaluation");
	end();
}

int
main(void)
{
	scored();
	dropped();
	malformed();
	refused();
	three_classes();
	deaths();
	return tap_done();
}
