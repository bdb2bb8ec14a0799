#include "accounts.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS	100000
#define EPOCHS	1000

struct request_account {
	uint64_t done, cancelled, errors, lines;
};

struct accounts {
	const struct scenario *s;
	struct request_account of[MAX_SUBMITTERS + 2][MAX_REQUESTS];
	unsigned char *seen;	/* steps with a result, by number */
	uint64_t done, mark, given_up, lost;
	bool many;		/* results of submitters may come late */
	uint64_t examples[EPOCHS];
	bool forgetful;		/* a coordinator has lost the end of its
				   journal */
	double beyond;		/* how much the loss was above that of the
				   steps done, when it was last seen; */
	uint64_t beyond_given_up;	/* steps given up then */
	double rest;			/* both again, as seen at barriers */
	uint64_t rest_given_up;
	char wrong[200];
};

struct accounts *
accounts_new(const struct scenario *s)
{
	struct accounts *a = mem_alloc(1, sizeof(*a));

	a->s = s;
	a->many = s->o.queue;
	a->seen = mem_alloc(STEPS, 1);
	return a;
}

void
accounts_free(struct accounts *a)
{
	free(a->seen);
	free(a);
}

void
accounts_forget(struct accounts *a)
{
	a->forgetful = true;
}

void
accounts_reset(struct accounts *a)
{
	memset(a->seen, 0, STEPS);
	memset(a->of, 0, sizeof(a->of));
	memset(a->examples, 0, sizeof(a->examples));
	a->done = a->mark = 0;
	a->given_up = a->lost;
	a->beyond_given_up = a->rest_given_up = 0;
	a->beyond = a->rest = 0;
}

static void
break_rule(struct accounts *a, const char *rule, const char *line)
{
	if (!*a->wrong)
		snprintf(a->wrong, sizeof(a->wrong), "%s: %.120s", rule,
			 line);
}

static uint64_t
field(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : UINT64_MAX;
}

static const struct ask_line *
ask_of(const struct accounts *a, size_t owner, size_t id)
{
	size_t asks;

	return &scenario_asks(a->s, owner, &asks)[id];
}

static size_t
asks_of(const struct accounts *a, size_t owner)
{
	size_t asks;

	scenario_asks(a->s, owner, &asks);
	return asks;
}

static bool
is_train(const struct accounts *a, size_t owner, size_t id)
{
	return ask_of(a, owner, id)->op == 't';
}

/* A cancel and a status are answered at once, even if other requests wait. */
static bool
is_at_once(const struct ask_line *ask)
{
	return ask->op == 'c' || ask->op == 'u';
}

/* The number of result lines of a request that is not for steps. */
static uint64_t
lines_of(const struct ask_line *ask)
{
	return ask->op == 'p' ? ask->steps : 1;
}

static bool
has_ended(const struct accounts *a, size_t owner, size_t id)
{
	const struct request_account *r = &a->of[owner][id];
	const struct ask_line *ask = ask_of(a, owner, id);

	if (is_train(a, owner, id))
		return r->errors > 0 || r->done + r->cancelled == ask->steps;
	return r->cancelled > 0 || r->errors > 0 || r->lines == lines_of(ask);
}

/* Does request id wait until i has ended?  An epoch and a checkpoint do not
   wait for evaluations in the background. */
static bool
waits_for(const struct accounts *a, size_t owner, size_t id, size_t i)
{
	const char op = ask_of(a, owner, id)->op;

	return !is_at_once(ask_of(a, owner, i)) &&
		(ask_of(a, owner, i)->op != 'b' || i > id ||
		 (op != 'p' && op != 's'));
}

/* Have all requests before this one ended, and no later one begun? */
static bool
in_its_place(const struct accounts *a, size_t owner, size_t id)
{
	const struct request_account *of = a->of[owner];

	for (size_t i = 0; i < asks_of(a, owner); i++)
		if (waits_for(a, owner, id, i) &&
		    ((i < id && !has_ended(a, owner, i)) ||
		     (i > id && !(a->many && of[i].cancelled) &&
		      (of[i].lines > 0 || of[i].done > 0))))
			return false;
	return true;
}

/* Does a pull return the exact weights?  Some codecs round weights, but not the
   difference of a round, which is a small number. */
static bool
pulls_exactly(const struct scenario *s)
{
	for (const struct coding_rule *r = &s->o.pull; r; r = r->next)
		if (r->codec && !r->delta &&
		    !codec_for(r->codec, codec_elements(1))->exact)
			return false;
	return true;
}

/*
 * The mean, over the batches of a step, of the share of the step that was
 * already added to the weights when the batch was computed: each local step
 * changes the weights for the next.
 */
static double
own_steps(const struct scenario *s)
{
	const double batches = (double)s->o.batches;

	return s->local ? (batches - 1) / (2 * batches) : 0;
}

/* R9.  A round is computed with the values of all rounds before it, so its loss
   is the label less their weights. */
static bool
meets_all(const struct accounts *a, uint64_t step, const char *line)
{
	const char *at = strstr(line, "\"loss\":");

	if (a->s->o.mode != MODE_SYNC || a->s->sampler || a->given_up > 0 ||
	    a->many || !pulls_exactly(a->s) || !at)
		return true;
	return LABEL - strtod(at + strlen("\"loss\":"), NULL) ==
		LOSS_OF_A_STEP * ((double)step + own_steps(a->s));
}

/* R10.  The line of a round has the result of each replica that had examples;
   that of another step has one result. */
static bool
gives_back(const struct accounts *a, size_t owner, size_t id,
	   const char *line)
{
	char own[32];
	const char *at = line;
	bool any = false;

	snprintf(own, sizeof(own), "{\"ask\":%zu}", 1000 * owner + id);
	for (; a->s->program && (at = strstr(at, "{\"ask\":")); at++) {
		any = true;
		if (strncmp(at, own, strlen(own)) != 0)
			return false;
	}
	return any == a->s->program;
}

static void
take_step(struct accounts *a, size_t owner, size_t id, const char *line)
{
	const uint64_t step = field(line, "\"step\":");
	const uint64_t examples = field(line, "\"examples\":");
	const uint64_t batch = a->s->sampler ? a->s->o.batch :
		ask_of(a, owner, id)->batch;

	if (step >= STEPS || a->seen[step]++ > 0)
		break_rule(a, "R1 a step has two results", line);
	if (batch > 0 && a->s->flaw != FLAW_READ && examples % batch != 0)
		break_rule(a, "R1 a step is not of its size", line);
	if (!gives_back(a, owner, id, line))
		break_rule(a, "R10 a step gives back other arguments", line);
	if (!meets_all(a, step, line))
		break_rule(a, "R9 a round does not know of those before",
			   line);
	if (a->s->sampler && field(line, "\"epoch\":") < EPOCHS)
		a->examples[field(line, "\"epoch\":")] += examples;
	a->of[owner][id].done++;
	a->done++;
	while (a->mark < STEPS && a->seen[a->mark])
		a->mark++;
}

static void
check_epoch(struct accounts *a, const char *line)
{
	const uint64_t epoch = field(line, "\"epoch\":");
	const uint64_t examples = field(line, "\"examples\":");
	const uint64_t missed = strstr(line, "\"missed\":") ?
		field(line, "\"missed\":") : 0;
	const bool second = strstr(line, "\"data\":\"second\"");

	if (a->many)
		return;
	if (missed > 0 && a->given_up == 0)
		break_rule(a, "R6 an epoch missed records", line);
	/* An epoch may have ended with another data set's epoch; then it
	   continues in the next one. */
	if (epoch >= EPOCHS || a->given_up > 0 || a->s->ends[0] ||
	    a->s->ends[1])
		return;
	if (second ? examples + missed != a->s->second_files *
	    a->s->second_records : examples != a->examples[epoch] ||
	    examples + missed != a->s->files * a->s->file_records)
		break_rule(a, "R6 an epoch does not count its records", line);
}

/*
 * Usually no step that was given up was applied, except steps of a submitter
 * that was lost.  But all of them may have been applied, wholly or in part:
 *
 *	- if a coordinator has lost the end of its journal
 *	- if workers read data of their own, so that no other worker can do a
 *	  step that a worker had begun
 */
uint64_t
accounts_may_have(const struct accounts *a)
{
	const bool others_fail = a->s->flaw && !a->s->sampler;

	return a->forgetful || others_fail ? a->given_up : a->lost;
}

/* The loss exceeds that of the steps done only by steps that were given up.
   This excess grows only when more steps are given up. */
void
accounts_scored(struct accounts *a, double loss, uint64_t below,
		const char *what)
{
	const double beyond = loss - (double)LOSS_OF_A_STEP * (double)below;
	const double most = (double)LOSS_OF_A_STEP *
		(double)accounts_may_have(a);

	if (beyond < 0 || beyond > most)
		break_rule(a, "R5 steps are lost, or there twice", what);
	if (a->beyond_given_up == a->given_up && a->given_up > 0 &&
	    beyond > a->beyond)
		break_rule(a, "R8 what was given up is applied later", what);
	a->beyond_given_up = a->given_up;
	a->beyond = beyond;
}

/* The same at a barrier, where no step is in flight.  The excess may have
   become smaller: a server that was just lost lacks steps. */
void
accounts_rest(struct accounts *a, double loss)
{
	const double beyond = loss - (double)LOSS_OF_A_STEP * (double)a->done;

	if (!a->forgetful && a->given_up > 0 &&
	    a->rest_given_up == a->given_up && beyond > a->rest)
		break_rule(a, "R8 what was given up is applied later", "");
	if (a->rest_given_up != a->given_up || beyond > a->rest)
		a->rest = beyond;
	a->rest_given_up = a->given_up;
}

static void
check_score(struct accounts *a, const char *line)
{
	const char *at = strstr(line, "\"loss\":");

	if (field(line, "\"examples\":") != EVALUATED)
		break_rule(a, "R5 an evaluation lacks records", line);
	/* A coordinator that lost the end of its journal repeats its last
	   steps, which servers have already applied. */
	if (at && !a->forgetful && !a->many)
		accounts_scored(a, strtod(at + strlen("\"loss\":"), NULL),
				a->done, line);
}

/* R11.  All steps below the cut have ended by now.  A submitter may not have
   received their results, so runs with submitters are not checked. */
static void
check_background(struct accounts *a, const char *line)
{
	const char *at = strstr(line, "\"loss\":");
	const uint64_t step = field(line, "\"step\":");
	double done = 0, beyond;

	if (field(line, "\"examples\":") != EVALUATED)
		break_rule(a, "R11 an evaluation lacks records", line);
	if (!at || step >= STEPS || a->many || a->forgetful)
		return;
	for (uint64_t i = 0; i < step; i++)
		done += a->seen[i];
	beyond = strtod(at + strlen("\"loss\":"), NULL) -
		LOSS_OF_A_STEP * done;
	if (beyond < 0 || beyond > LOSS_OF_A_STEP *
	    (double)accounts_may_have(a))
		break_rule(a, "R11 a cut is not scored as it is", line);
}

static void
take_barrier(struct accounts *a, size_t owner, size_t id, const char *line)
{
	const struct ask_line *ask = ask_of(a, owner, id);
	uint64_t joined = 0;

	if (is_at_once(ask))
		return;
	if (ask->op == 'b') {
		if (!strstr(line, "\"error\":"))
			check_background(a, line);
		return;
	}
	if (a->of[owner][id].lines == lines_of(ask) &&
	    !in_its_place(a, owner, id))
		break_rule(a, "R3 a barrier is not in its place", line);
	if (strstr(line, "\"error\":") && ask->op != 'j')
		return;
	if (ask->op == 'e')
		check_score(a, line);
	if (ask->op == 'p')
		check_epoch(a, line);
	for (size_t i = id; i > 0 && (ask_of(a, owner, i - 1)->op != 'j' ||
				      a->of[owner][i - 1].cancelled); i--)
		joined += a->of[owner][i - 1].done;
	if (ask->op == 'j' && field(line, "\"steps\":") != joined)
		break_rule(a, "R4 a join does not count its steps", line);
}

/* Returns the id of a line's request.  The answer to a line that was not a
   request has the number of that line, from 1, in place of an id. */
static uint64_t
id_of(const char *line)
{
	const char *at = strstr(line, "\"error\":\"request ");

	if (strstr(line, "\"id\":") || !at)
		return field(line, "\"id\":");
	return field(at, "\"request ") - 1;
}

/* Counts the cancelled lines that were not requests: several in a row share one
   result, which has no id. */
static void
take_nameless(struct accounts *a, size_t owner, const char *line)
{
	uint64_t left = strstr(line, "\"requests\":") ?
		field(line, "\"requests\":") : 1;

	for (size_t i = 0; i < asks_of(a, owner) && left > 0; i++) {
		if (ask_of(a, owner, i)->op != 'x' || has_ended(a, owner, i))
			continue;
		a->of[owner][i].lines++;
		a->of[owner][i].cancelled++;
		left--;
	}
}

void
accounts_line(struct accounts *a, size_t owner, const char *line)
{
	const uint64_t id = id_of(line);
	const bool step = strstr(line, "\"op\":\"train\"") != NULL;
	struct request_account *r;

	if (id == UINT64_MAX && strstr(line, "\"op\":\"request\"") &&
	    strstr(line, "\"cancelled\":true"))
		take_nameless(a, owner, line);
	if (id == UINT64_MAX)
		return;		/* not the answer to a request */
	if (id >= asks_of(a, owner)) {
		break_rule(a, "R2 nobody asked for it", line);
		return;
	}
	r = &a->of[owner][id];
	if (strstr(line, "\"cancelled\":true")) {
		r->lines++;
		r->cancelled += is_train(a, owner, id) ?
			field(line, "\"steps\":") : 1;
		if (strstr(line, "\"steps\":"))
			a->given_up += field(line, "\"steps\":");
	} else if (step && strstr(line, "\"error\":")) {
		r->errors++;
		a->given_up++;
	} else if (step) {
		take_step(a, owner, id, line);
	} else {
		r->lines++;
		r->errors += strstr(line, "\"error\":") != NULL;
		if (r->lines > lines_of(ask_of(a, owner, id)))
			break_rule(a, "R7 a request has two answers", line);
		take_barrier(a, owner, id, line);
	}
	if (is_train(a, owner, id) && r->done + r->cancelled + r->errors >
	    ask_of(a, owner, id)->steps)
		break_rule(a, "R7 a request has more steps than it asked for",
			   line);
}

bool
accounts_in_background(const struct accounts *a, size_t owner,
		       const char *line)
{
	const uint64_t id = id_of(line);

	return id < asks_of(a, owner) &&
		(ask_of(a, owner, id)->op == 'b' ||
		 is_at_once(ask_of(a, owner, id)));
}

bool
accounts_failed(const struct accounts *a, size_t owner)
{
	for (size_t i = 0; i < asks_of(a, owner); i++)
		if (a->of[owner][i].errors > 0)
			return true;
	return false;
}

/* Returns the most steps that a request may have.  Each step of an epoch has at
   least one record. */
static uint64_t
most_steps(const struct accounts *a, size_t owner, size_t id)
{
	const struct ask_line *ask = ask_of(a, owner, id);
	const uint64_t records = a->s->files * a->s->file_records +
		a->s->second_files * a->s->second_records;

	return ask->op == 't' ? ask->steps : ask->op == 'p' ?
		ask->steps * records : 0;
}

void
accounts_lose(struct accounts *a, size_t owner)
{
	for (size_t i = 0; i < asks_of(a, owner); i++) {
		const struct request_account *r = &a->of[owner][i];
		const uint64_t known = r->done + r->cancelled + r->errors;
		const uint64_t most = most_steps(a, owner, i);

		if ((is_train(a, owner, i) || !has_ended(a, owner, i)) &&
		    known < most) {
			a->lost += most - known;
			a->given_up += most - known;
		}
	}
}

uint64_t
accounts_done(const struct accounts *a)
{
	return a->done;
}

uint64_t
accounts_done_of_other(const struct accounts *a)
{
	uint64_t done = 0;

	for (size_t i = 0; i < MAX_SUBMITTERS + 2; i++)
		for (size_t k = 1; k < MAX_REQUESTS; k += 2)
			done += a->of[i][k].done;
	return done;
}

uint64_t
accounts_mark(const struct accounts *a)
{
	return a->mark;
}

uint64_t
accounts_given_up(const struct accounts *a)
{
	return a->given_up;
}

const char *
accounts_wrong(const struct accounts *a)
{
	return *a->wrong ? a->wrong : NULL;
}

const char *
accounts_unanswered(const struct accounts *a, size_t owner, size_t asked)
{
	static char what[100];

	for (size_t i = 0; i < asked && i < asks_of(a, owner); i++) {
		const struct ask_line *ask = ask_of(a, owner, i);

		if (has_ended(a, owner, i))
			continue;
		snprintf(what, sizeof(what), "R7 request %zu (%c) of %zu is "
			 "not answered: %llu of %llu done", i, ask->op, owner,
			 (unsigned long long)a->of[owner][i].done,
			 (unsigned long long)ask->steps);
		return what;
	}
	return NULL;
}
