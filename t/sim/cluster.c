#include "cluster.h"

#include "accounts.h"
#include "files.h"
#include "host.h"
#include "program.h"
#include "task.h"
#include "trace.h"

#include "base/mem.h"
#include "store/checkpoint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_LEASES	3	/* of a worker */
#define TICK_MS		50	/* between calls of x_act() */
#define HANGS		12	/* leases after which other workers have taken
				   over the steps of one that hangs */
#define AGAIN		30	/* factor of the patience while steps are run
				   again */
#define LAST_ASKS	3	/* last requests, which come after the faults */
#define LAST_WAIT_MS	30000	/* that are due by this time */
#define JOURNAL_LEAST	400	/* bytes, which hold the name of the run */
#define MAX_EVENTS	3000000
#define MAX_MS		((uint64_t)4 * 3600 * 1000)

enum process_kind { PROCESS_COORD, PROCESS_SERVER, PROCESS_WORKER,
		    PROCESS_EVAL, PROCESS_SUBMIT, PROCESS_RELAY };

/* A node, whose process a supervisor starts again. */
struct process {
	enum process_kind kind;
	size_t index;		/* of its kind */
	bool wanted;		/* its supervisor starts it again */
	union {
		struct host_coord *coord;
		struct host_server *server;
		struct host_worker *worker;
		struct host_eval *eval;
		struct host_submit *submit;
		struct host_relay *relay;
		void *any;	/* NULL: it is not running */
	};
	struct packet *inbox;
	bool paid;		/* cost() of the first packet of the inbox has
				   passed */
	uint64_t joined;	/* when a worker's READY reached the
				   coordinator; 0: it has not */
	struct lease_note {
		uint64_t id, step;	/* id 0: no lease */
		bool called_off;	/* by a CANCEL without an answer yet */
	} lease[MOST_LEASES];	/* leases of a worker */
	uint64_t scores;	/* number of EVALUATED and INDEXED that a worker
				   has still to send */
	uint64_t frozen_at;	/* when it began to hang */
	uint64_t begin_at, frozen_until, busy_until, tick_at, full_until;
	uint64_t ahead;		/* of its clock, in ms */
	char primary[16];	/* endpoint of its primary if it starts as a
				   standby; else "" */
	bool ended;		/* it ended as expected, and is not started
				   again */
	struct host_server *corpse;	/* a server that ended by STOP: its
					   values are still checked */
	uint64_t told;		/* the incarnation of the coordinator that sent
				   it STOP; 0: that coordinator had ended */
	bool aged;		/* started with older files, and no PLAN came
				   since */
	bool age;		/* it will be started with older files */
	uint64_t killed_at;	/* when an evaluator will be killed; or NEVER */
	uint64_t began_at, away_since;
	char name[16];
};

struct pending {
	uint64_t due;		/* NEVER: its trigger has not happened */
	uint64_t seen;		/* messages of its kind */
	bool happened;
	int from, to;		/* nodes of the message that triggered it */
};

/* A submitter, over all incarnations of its process. */
struct asker {
	uint64_t read;		/* bytes of its results that were checked */
	uint64_t allowed, allow_at;
	bool ended;		/* it ended as expected, or with the run */
	bool left;		/* before the run did, and it was confirmed */
};

struct cluster {
	struct scenario *s;
	struct site site;
	struct program *program;	/* NULL: the model needs no program */
	char folder[64];
	struct rng rng;
	struct model *model;
	struct model_source source;
	struct network *network;
	struct accounts *accounts;
	struct process process[NETWORK_NODES];
	struct pending pending[MAX_FAULTS];
	uint64_t now, lives, events, evaluated;
	uint64_t warnings[WARNINGS];	/* number with each of these words */
	uint64_t read;		/* bytes of the results that were checked */
	uint64_t allowed, allow_at;
	struct asker asker[MAX_SUBMITTERS];
	uint64_t progress;	/* when the last result came */
	uint64_t moved;		/* when some work was last reported as done */
	uint64_t worked;	/* when a process took a message of work */
	uint64_t upset;		/* when the last fault ends, except those in
				   which a worker hangs */
	uint64_t few;		/* when a replica was leased while fewer
				   workers than replicas answered */
	uint64_t quiet;		/* when the effect of the last fault ends */
	uint64_t patience;	/* longest time without progress, in us */
	uint64_t haste;		/* longest time without any work, in us */
	uint64_t newest;	/* the step of the newest checkpoint */
	uint64_t publications;	/* number that have begun */
	bool publishing;
	char at[MAX_SERVERS][16];	/* endpoint of each server now */
	uint64_t coordinator;	/* its incarnation */
	uint64_t hang_until;	/* until no worker hangs any more */
	bool stop_told;		/* the coordinator stops when it wakes */
	bool suspending, over, deaf;
	bool filled;		/* a disk was full */
	bool asked_to_end;	/* the coordinator got SIGTERM, not to be
				   resumed */
	bool stopped;		/* the run was stopped by a submitter */
	bool may_end;		/* submitters got a message that the run has
				   ended */
	bool residuals_lost;	/* the coordinator has reported it */
	bool unflushed;		/* it has reported that no step pushed them */
	bool in_haste;		/* steps in flight were given up at the end */
	uint64_t hasty;		/* incarnation that gave them up */
	uint64_t began;		/* of this incarnation */
	uint64_t steady;	/* end of the last one that a worker that calls
				   again and again must have found */
	bool unsaved;		/* the coordinator has reported that the last
				   steps are not saved */
	bool at_rest;		/* the line of a barrier was just read */
	size_t deaths[MAX_SERVERS];	/* ends of each server or its standby
					   since that line */
	bool backed_up;		/* there is a copy of the journal */
	uint64_t voided, void_end;	/* number of steps that VOID named; the
					   last of them */
	uint64_t term, old_term;	/* terms of the newest lease, and of the
					   last lease of an earlier
					   incarnation */
	struct fail why;	/* why the coordinator ended */
	struct verdict out;
};

static void __attribute__((format(printf, 2, 3)))
broken(struct cluster *c, const char *format, ...)
{
	va_list args;

	if (c->out.broken)
		return;
	c->out.broken = true;
	va_start(args, format);
	vsnprintf(c->out.why, sizeof(c->out.why), format, args);
	va_end(args);
	trace("BROKEN: %s", c->out.why);
}

static uint64_t
clock_of(const struct cluster *c, const struct process *p)
{
	return c->now / 1000 + p->ahead;
}

static void
speak_as(const struct cluster *c, const struct process *p)
{
	trace_at(c->now / 1000, p->name);
	files_full(p->full_until > c->now);
	sim_task_now(c->now / 1000);
}

static int
node_of(const struct cluster *c, const struct process *p)
{
	return (int)(p - c->process);
}

/* ---- the coordinator's files ---- */

static void
journal_path(const struct cluster *c, char path[128])
{
	snprintf(path, 128, "%s/%s", c->folder, c->s->o.checkpoint ?
		 "ck/journal" : "journal");
}

static void
backup_path(const struct cluster *c, char path[128])
{
	snprintf(path, 128, "%s/backup", c->folder);
}

/* Copies the journal now and then, for a fault that puts an older one back. */
static void
back_up(struct cluster *c)
{
	char from[128], to[128];

	if (!scenario_may_fail(c->s) || !c->s->journal ||
	    rng_below(&c->rng, 16) > 0)
		return;
	journal_path(c, from);
	backup_path(c, to);
	c->backed_up = files_copy(from, to) || c->backed_up;
}

/* Makes the files that the coordinator will start with older than what it had
   reported. */
static void
age_journal(struct cluster *c)
{
	char journal[128], backup[128];

	journal_path(c, journal);
	backup_path(c, backup);
	switch (rng_below(&c->rng, 3)) {
	case 0:
		trace("the journal is cut: %d",
		      files_shorten(journal, JOURNAL_LEAST, &c->rng));
		break;
	case 1:
		trace("an older journal: %d", c->backed_up &&
		      files_copy(backup, journal));
		break;
	default:
		snprintf(backup, sizeof(backup), "%s/results", c->folder);
		trace("the results are cut: %d",
		      files_shorten(backup, 0, &c->rng));
		break;
	}
}

/* ---- results ---- */

/* Is this the line of a barrier: have all requests before it ended? */
static bool
rests(const struct cluster *c, size_t owner, const char *line)
{
	return !strstr(line, "\"op\":\"train\"") &&
		!accounts_in_background(c->accounts, owner, line) &&
		!strstr(line, "\"cancelled\":true") &&
		!strstr(line, "\"error\":");
}

/* Checks the new lines of a file of results, up to byte "written". */
static void
read_file(struct cluster *c, size_t owner, const char *path, uint64_t *read,
	  uint64_t written)
{
	char line[2000];
	FILE *file = *read < written ? fopen(path, "re") : NULL;

	if (!file)
		return;
	fseek(file, (long)*read, SEEK_SET);
	while (*read < written && fgets(line, sizeof(line), file) &&
	       strchr(line, '\n')) {
		*read += strlen(line);
		if (!c->deaf || !strstr(line, "\"step\":0,"))
			accounts_line(c->accounts, owner, line);
		c->progress = c->now;
		c->at_rest = c->at_rest || rests(c, owner, line);
		trace("result of %zu: %.*s", owner,
		      (int)strcspn(line, "\n"), line);
	}
	fclose(file);
	if (accounts_wrong(c->accounts))
		broken(c, "%s", accounts_wrong(c->accounts));
}

static void
read_results(struct cluster *c, uint64_t written)
{
	char path[128];
	const uint64_t before = c->read;

	snprintf(path, sizeof(path), "%s/results", c->folder);
	read_file(c, 0, path, &c->read, written);
	if (c->read > before)
		back_up(c);
}

static void
read_submitter(struct cluster *c, size_t i)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/results-%zu", c->folder, i);
	if (i < c->s->submitters)
		read_file(c, i + 1, path, &c->asker[i].read, UINT64_MAX);
}

/* A coordinator that is started again repeats the results that were not in its
   journal. */
static void
read_results_again(struct cluster *c, uint64_t written)
{
	accounts_reset(c->accounts);
	c->read = 0;
	read_results(c, written);
	for (size_t i = 0; i < c->s->submitters; i++) {
		c->asker[i].read = 0;
		read_submitter(c, i);
	}
	c->at_rest = false;	/* the barrier was earlier */
}

/* ---- checkpoints ---- */

static struct checkpoint *
open_newest(struct cluster *c)
{
	struct fail f;
	char path[128];

	snprintf(path, sizeof(path), "%s/ck", c->folder);
	return checkpoint_newest(path, NULL, &f);
}

/* Is each weight of the checkpoint, visits left out, within these bounds? */
static bool
holds(const struct cluster *c, struct checkpoint *from, float least,
      float most)
{
	const bool uneven = scenario_keeps_residuals(c->s);

	size_t count;
	const struct checkpoint_entry *e = checkpoint_entries(from, &count);
	float counted = 0;
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		const size_t size = shape_size(e[i].shape);
		const struct rows rows = {
			0, shape_rows(e[i].shape)
		};
		const bool wide = host_is_wide(e[i].variable);
		float *value;
		struct fail f;

		if (*e[i].slot || strstr(e[i].variable, "visits") ||
		    host_is_of_attempts(e[i].variable) ||
		    (wide && c->residuals_lost))
			continue;
		value = mem_alloc(size, sizeof(*value));
		all = all && checkpoint_read(from, e[i].variable, "",
					     e[i].shape, rows, value, NULL,
					     &f) == 0;
		if (host_counts_steps(e[i].variable))
			counted += *value;
		else
			for (size_t k = 0; k < size; k++) {
				const float steps = !wide ? value[k] :
					host_wide_steps(uneven, k, value[k]);

				all = all && steps >= least && steps <= most;
			}
		free(value);
	}
	return all && (!c->s->lines || (counted >= least && counted <= most));
}

static void
look_at_checkpoints(struct cluster *c, const struct process *coord)
{
	const uint64_t newest = host_coord_newest(coord->coord);
	struct checkpoint *from;

	if (newest == c->newest || !(from = open_newest(c)))
		return;
	c->newest = newest;
	c->progress = c->now;
	trace("published %s", checkpoint_folder(from));
	/* Submitters may not know yet of steps that were given up. */
	if (checkpoint_info(from)->step == newest &&
	    !(c->s->o.queue && (c->s->flaw || c->asked_to_end)) &&
	    accounts_given_up(c->accounts) == 0 &&
	    !holds(c, from, (float)newest, (float)newest))
		broken(c, "C9: %s does not hold its steps",
		       checkpoint_folder(from));
	checkpoint_close(from);
}

static void
note_publication(struct cluster *c, const struct process *coord)
{
	const bool busy = host_coord_publishes(coord->coord);

	c->publications += busy && !c->publishing;
	c->publishing = busy;
}

/* ---- processes begin and end ---- */

static void
drop_corpse(struct process *p)
{
	if (p->corpse)
		host_server_free(p->corpse);
	p->corpse = NULL;
}

static void
age_files(struct cluster *c, struct process *p)
{
	char folder[128], what[200];

	p->age = false;
	if (p->kind == PROCESS_COORD) {
		age_journal(c);
		return;
	}
	snprintf(folder, sizeof(folder), "%s/ck/log-%zu", c->folder,
		 p->index);
	p->aged = files_age(folder, &c->rng, what, sizeof(what));
	if (p->aged)
		trace("older files: %s", what);
}

static void
wait_to_begin(struct cluster *c, struct process *p, uint64_t ms)
{
	p->begin_at = c->now + ms * 1000;
}

/* A user who starts a job again also starts the processes that the coordinator
   had stopped. */
static void
begin_ended(struct cluster *c)
{
	for (int i = 0; i < NETWORK_NODES; i++) {
		struct process *p = &c->process[i];

		if (p->kind == PROCESS_SUBMIT)
			continue;
		if (p->ended)
			wait_to_begin(c, p, rng_below(&c->rng, 50));
		p->ended = false;
	}
}

/* A supervisor that reads the coordinator's log starts a server in its present
   role; any other starts it in its first role. */
static const char *
primary_of(const struct cluster *c, const struct process *p, const char *own)
{
	const char *at = p->primary;

	if (p->kind != PROCESS_SERVER)
		return NULL;
	if (c->s->informed)
		at = c->at[p->index];
	return !*at || strcmp(at, own) == 0 ? NULL : at;
}

/* Starts a process.  If that fails, its supervisor tries again later. */
static void
begin_process(struct cluster *c, struct process *p)
{
	const int node = node_of(c, p);
	struct outbox *outbox;
	const char *primary;
	char own[16];
	int status = 0;

	p->begin_at = NEVER;
	speak_as(c, p);
	if (p->age)
		age_files(c, p);
	drop_corpse(p);
	outbox = network_begin(c->network, node);
	p->frozen_until = p->busy_until = 0;
	p->tick_at = p->began_at = c->now;
	snprintf(own, sizeof(own), "node:%d", node);
	primary = primary_of(c, p, own);
	trace("begins%s%s", primary ? " as a standby of " : "",
	      primary ? primary : "");
	if (p->kind == PROCESS_COORD)
		p->coord = host_coord_new(&c->site, outbox, ++c->lives,
					  clock_of(c, p), &status);
	else if (p->kind == PROCESS_WORKER)
		p->worker = host_worker_new(&c->site, outbox, p->index,
					    ++c->lives, clock_of(c, p));
	else if (p->kind == PROCESS_EVAL)
		p->eval = host_eval_new(&c->site, outbox, ++c->lives,
					clock_of(c, p));
	else if (p->kind == PROCESS_SUBMIT)
		p->submit = host_submit_new(&c->site, outbox, p->index,
					    ++c->lives, clock_of(c, p),
					    &status);
	else if (p->kind == PROCESS_RELAY)
		p->relay = host_relay_new(&c->site, outbox, p->index, own,
					  ++c->lives, clock_of(c, p));
	else
		p->server = host_server_new(&c->site, outbox, p->index,
			own, primary, 1000 + ++c->lives, &status);
	if (!p->any) {
		network_kill(c->network, node, false);
		if (status != FAIL_IO && status != FAIL_CREATE &&
		    !scenario_may_fail(c->s))
			broken(c, "C5: %s cannot begin, status %d", p->name,
			       status);
		wait_to_begin(c, p, 200);
		if (scenario_may_fail(c->s) && status == FAIL_DATA) {
			c->over = true;	/* it can never start: its files are
					   damaged */
			c->out.status = status;
		}
		return;
	}
	if (p->kind == PROCESS_COORD) {
		read_results_again(c, host_coord_written(p->coord));
		c->suspending = c->stop_told = false;
		c->coordinator = c->lives;
		c->began = c->now;
		c->old_term = c->term;
		begin_ended(c);
	}
}

static void
forget_leases(struct process *p)
{
	memset(p->lease, 0, sizeof(p->lease));
}

static void
forget_worker(struct process *p)
{
	p->joined = p->scores = 0;
	forget_leases(p);
}

/* Has the coordinator been there for longer than a worker waits between two
   calls? */
static bool
is_steady(const struct cluster *c)
{
	return c->process[COORDINATOR].coord && c->now - c->began >= 2000000;
}

/* Ends a process at once; it does nothing more. */
static void
drop_process(struct cluster *c, struct process *p, bool crash)
{
	network_kill(c->network, node_of(c, p), crash);
	packets_drop(&p->inbox);
	p->paid = false;
	if (p->kind == PROCESS_COORD && is_steady(c))
		c->steady = c->now;
	if (p->kind == PROCESS_COORD)
		host_coord_free(p->coord);
	else if (p->kind == PROCESS_WORKER)
		host_worker_free(p->worker);
	else if (p->kind == PROCESS_EVAL)
		host_eval_free(p->eval);
	else if (p->kind == PROCESS_SUBMIT)
		host_submit_free(p->submit);
	else if (p->kind == PROCESS_RELAY)
		host_relay_free(p->relay);
	else
		host_server_free(p->server);
	p->any = NULL;
	p->frozen_until = 0;
	forget_worker(p);
	/* All workers send READY to the next coordinator. */
	for (int i = FIRST_WORKER; p->kind == PROCESS_COORD &&
	     i < FIRST_WORKER + MAX_WORKERS; i++)
		forget_worker(&c->process[i]);
}

/* Have all submitters, except the stopper, ended as they should? */
static bool
all_submitted(const struct cluster *c)
{
	for (size_t i = 0; i < c->s->submitters; i++)
		if (!c->asker[i].ended)
			return false;
	return true;
}

/* The run has ended before these submitters had all results. */
static void
lose_submitters(struct cluster *c)
{
	for (size_t i = 0; i < c->s->submitters; i++) {
		read_submitter(c, i);
		if (c->asker[i].ended)
			continue;
		if (c->out.status == 0 && !c->asked_to_end)
			broken(c, "C13: the run ended before submitter %zu",
			       i);
		accounts_lose(c->accounts, i + 1);
	}
}

static void
end_coordinator(struct cluster *c, struct process *p, int status)
{
	/* A coordinator that was stopped before it had loaded its state ends
	   with this status, too. */
	const bool resumed = (c->suspending || c->asked_to_end) &&
		status == FAIL_AGAIN;
	const size_t taken = host_coord_taken(p->coord);
	/* All requests are answered; the last checkpoint may have failed. */
	const bool all_said = (taken >= c->s->heard || c->stopped) &&
		!accounts_unanswered(c->accounts, 0, taken) &&
		all_submitted(c);

	c->out.status = status;
	c->why = *host_coord_why(p->coord);
	read_results(c, UINT64_MAX);
	const char *open = accounts_unanswered(c->accounts, 0, taken);

	/* A coordinator whose disk was full is started again, and nothing is
	   lost.  It is not started again if all requests are answered, or if it
	   was stopped, or if it has ended the run: the next coordinator would
	   begin a new run. */
	if (!resumed && (status != FAIL_IO || all_said ||
			 !host_coord_left(p->coord) ||
			 (c->asked_to_end && !open))) {
		c->over = true;
		if (status == 0 && taken < c->s->heard && !c->asked_to_end)
			broken(c, "C5: it ended behind request %zu", taken);
		/* A run that ends with open requests is beyond the promise. */
		if (open && (status == 0 || !scenario_may_fail(c->s)))
			broken(c, "%s, and the run ended with %d", open,
			       status);
	}
	if (c->over)
		lose_submitters(c);
	drop_process(c, p, false);
	if (c->over)
		return;
	c->asked_to_end = false;
	/* Its last leases may not be in the journal. */
	program_forget(c->program, accounts_mark(c->accounts));
	wait_to_begin(c, p, rng_below(&c->rng, 500));
}

/*
 * A server that got STOP stays down until the coordinator is started again: a
 * user who starts a job again starts its servers, too.  If the coordinator has
 * already been started again, the server is started now.
 */
static void
end_as_told(struct cluster *c, struct process *p)
{
	p->corpse = p->server;
	network_kill(c->network, node_of(c, p), false);
	packets_drop(&p->inbox);
	p->server = NULL;
	p->ended = !c->process[COORDINATOR].coord ||
		p->told == c->coordinator;
	if (!p->ended)
		wait_to_begin(c, p, rng_below(&c->rng, 50));
}

/* Has another process replaced this server?  The coordinator no longer calls
   the replaced server, so it ends (--idle); one that registers is refused. */
static bool
is_replaced(const struct cluster *c, const struct process *p)
{
	char own[16];

	snprintf(own, sizeof(own), "node:%d", node_of(c, p));
	return *c->at[p->index] && strcmp(c->at[p->index], own) != 0;
}

static void
end_server(struct cluster *c, struct process *p, int status)
{
	const struct fail *why = host_server_why(p->server);

	if (status == 0) {
		end_as_told(c, p);
		return;
	}
	if (status != FAIL_IO && status != FAIL_AGAIN &&
	    !(status == FAIL_PEER && is_replaced(c, p) && !c->s->registers) &&
	    !scenario_may_fail(c->s))
		broken(c, "C5: %s ended with %d: %.120s", p->name, status,
		       why->text);
	drop_process(c, p, false);
	wait_to_begin(c, p, rng_below(&c->rng, 500));
}

/* Faults one after the other may keep a coordinator away for longer than
   workers and relays wait. */
static bool
may_give_up(const struct cluster *c, int status)
{
	return status == FAIL_PEER && !is_steady(c) &&
		c->now - c->steady >= 1000 * c->s->o.patience_ms;
}

static void
end_worker(struct cluster *c, struct process *p, int status)
{
	const struct fail *why = host_worker_why(p->worker);

	if (status != 0 && !may_give_up(c, status) && !scenario_may_fail(c->s))
		broken(c, "C4: %s ended with %d: %.150s", p->name, status,
		       why->text);
	p->ended = status == 0;
	drop_process(c, p, false);
	if (!p->ended)
		wait_to_begin(c, p, 500);
}

/* A relay ends with the run, or because another relay has its site; then it is
   started again, since the other one may be killed. */
static void
end_relay(struct cluster *c, struct process *p, int status)
{
	const struct fail *why = host_relay_why(p->relay);
	const bool taken = status == FAIL_AGAIN &&
		strstr(why->text, "has a relay") && c->s->relays > 1;

	if (status != 0 && !taken && !may_give_up(c, status) &&
	    !scenario_may_fail(c->s))
		broken(c, "C14: %s ended with %d: %.150s", p->name, status,
		       why->text);
	p->ended = status == 0;
	drop_process(c, p, false);
	if (!p->ended)
		wait_to_begin(c, p, 500);
}

/* An evaluator may fail because the run is over, or because it lost a server or
   the coordinator. */
static void
end_evaluator(struct cluster *c, struct process *p, int status)
{
	const struct fail *why = host_eval_why(p->eval);
	/* Submitters may not know yet of steps that are void. */
	const double given_up = (double)accounts_given_up(c->accounts) +
		(c->s->o.queue ? (double)c->voided : 0);
	double loss = 0, all;
	uint64_t step;

	if (status != 0 && status != FAIL_PEER && status != FAIL_AGAIN)
		broken(c, "C10: %s ended with %d: %.150s", p->name, status,
		       why->text);
	if (status == 0) {
		loss = host_eval_scored(p->eval, &step);
		all = (double)LOSS_OF_A_STEP * (double)step;
		trace("scored %g at step %llu", loss,
		      (unsigned long long)step);
		c->evaluated++;
		if (loss > all || loss < all - LOSS_OF_A_STEP * given_up)
			broken(c, "C10: step %llu is scored as %g steps",
			       (unsigned long long)step,
			       loss / LOSS_OF_A_STEP);
	}
	drop_process(c, p, false);
	p->wanted = false;
}

/* Has the run ended, or was its end requested? */
static bool
run_ends(const struct cluster *c)
{
	return c->asked_to_end || c->over || c->may_end;
}

/* May the coordinator have notified submitters that the run has ended? */
static bool
may_have_ended(const struct cluster *c)
{
	const struct process *p = &c->process[COORDINATOR];

	return run_ends(c) || !p->coord || host_coord_ends(p->coord) ||
		c->now - p->began_at < c->s->o.lease_ms * 1000;
}

/* A submitter ends when it has all results, or with the run.  If its disk was
   full, or the coordinator was down for too long, it is started again. */
static void
end_submitter(struct cluster *c, struct process *p, int status)
{
	const struct fail *why = host_submit_why(p->submit);
	uint64_t accepted;
	const bool over = host_submit_is_over(p->submit, &accepted);
	const bool again = status == FAIL_PEER || status == FAIL_IO ||
		status == FAIL_CREATE;
	const bool stopper = p->index == MAX_SUBMITTERS;
	const char *open;

	read_submitter(c, p->index);
	open = stopper ? NULL : accounts_unanswered(c->accounts, p->index + 1,
						    accepted);
	trace("ends with %d%s: %s", status, over ? ", over" : "", why->text);
	if (over && !stopper && status == 0 &&
	    accepted < c->s->submitter[p->index].asks &&
	    !accounts_failed(c->accounts, p->index + 1) &&
	    !may_have_ended(c))
		broken(c, "C13: %s ended behind request %llu", p->name,
		       (unsigned long long)accepted);
	if (over && open && !run_ends(c))
		broken(c, "%s, and it ended with %d", open, status);
	if (!over && !again && !run_ends(c))
		broken(c, "C13: %s ended with %d: %.120s", p->name, status,
		       why->text);
	p->ended = over || (!again && run_ends(c));
	if (over && !stopper && !may_have_ended(c))
		c->asker[p->index].left = host_submit_is_confirmed(p->submit);
	c->stopped = c->stopped || (stopper && over && status == 0);
	if (!stopper && p->ended && !open)
		c->asker[p->index].ended = true;
	drop_process(c, p, false);
	if (!p->ended)
		wait_to_begin(c, p, 300);
}

static void
end_process(struct cluster *c, struct process *p, int status)
{
	if (p->kind == PROCESS_COORD)
		end_coordinator(c, p, status);
	else if (p->kind == PROCESS_SERVER)
		end_server(c, p, status);
	else if (p->kind == PROCESS_EVAL)
		end_evaluator(c, p, status);
	else if (p->kind == PROCESS_SUBMIT)
		end_submitter(c, p, status);
	else if (p->kind == PROCESS_RELAY)
		end_relay(c, p, status);
	else
		end_worker(c, p, status);
}

/* ---- processes receive and act ---- */

/* Milliseconds that a process needs for a packet before it handles it. */
static uint64_t
cost(const struct cluster *c, const struct process *p, const struct packet *e)
{
	if (e->kind != PACKET_MESSAGE)
		return 0;
	if (p->kind == PROCESS_WORKER)
		return e->message.kind == MESSAGE_VALUES ?
			c->s->compute_ms[p->index] : 0;
	return p->kind == PROCESS_SERVER &&
		e->message.kind == MESSAGE_LOAD ? c->s->load_ms[p->index] : 0;
}

static int
receive(struct cluster *c, struct process *p, const struct packet *e)
{
	const uint64_t now = clock_of(c, p);

	switch (p->kind) {
	case PROCESS_COORD:
		host_coord_receive(p->coord, e, now);
		return HOST_RUNS;
	case PROCESS_SERVER:
		host_server_receive(p->server, e, now);
		return HOST_RUNS;
	case PROCESS_EVAL:
		return host_eval_receive(p->eval, e, now);
	case PROCESS_SUBMIT:
		return host_submit_receive(p->submit, e, now);
	case PROCESS_RELAY:
		return host_relay_receive(p->relay, e, now);
	default:
		return host_worker_receive(p->worker, e, now);
	}
}

static const char *
check_coordinator(struct cluster *c, const struct process *p)
{
	for (size_t i = 0; i < c->s->submitters; i++)
		if (c->asker[i].left && host_coord_expects(p->coord, i))
			return "C20: a submitter that has ended asks no more";
	return host_coord_check(p->coord, clock_of(c, p));
}

/* Checks the invariants of a role after an event. */
static void
check(struct cluster *c, const struct process *p)
{
	const char *wrong;

	switch (p->kind) {
	case PROCESS_COORD:
		wrong = check_coordinator(c, p);
		break;
	case PROCESS_SERVER:
		wrong = host_server_check(p->server);
		break;
	case PROCESS_RELAY:
		wrong = host_relay_check(p->relay);
		break;
	case PROCESS_EVAL:
	case PROCESS_SUBMIT:
		return;
	default:
		wrong = host_worker_check(p->worker);
		if (!wrong && c->program)
			wrong = program_check(c->program);
	}
	if (wrong)
		broken(c, "%s, but not of %s", wrong, p->name);
}

static int
act(struct cluster *c, struct process *p)
{
	const uint64_t now = clock_of(c, p);

	switch (p->kind) {
	case PROCESS_COORD:
		return host_coord_act(p->coord, now);
	case PROCESS_SERVER:
		return host_server_act(p->server, now);
	case PROCESS_EVAL:
		return host_eval_act(p->eval, now);
	case PROCESS_SUBMIT:
		return host_submit_act(p->submit, now);
	case PROCESS_RELAY:
		return host_relay_act(p->relay, now);
	default:
		return host_worker_act(p->worker, now);
	}
}

/* Is this a message of the run's work, and not one of membership? */
static bool
is_work(const struct packet *e)
{
	switch (e->kind == PACKET_MESSAGE ? e->message.kind : MESSAGE_PING) {
	case MESSAGE_PING:
	case MESSAGE_PONG:
	case MESSAGE_HELLO:
	case MESSAGE_WELCOME:
	case MESSAGE_REFUSED:
		return false;
	default:
		return true;
	}
}

static const char *
describe(const struct packet *e)
{
	static const char *const news[] = {
		[PACKET_UP] = "UP", [PACKET_DOWN] = "DOWN",
		[PACKET_LEFT] = "somebody left"
	};

	return e->kind == PACKET_MESSAGE ? message_name(e->message.kind) :
		news[e->kind];
}

static void
trace_packet(const struct packet *e)
{
	char text[80] = "";

	if (!trace_on())
		return;
	if (e->kind == PACKET_MESSAGE && e->message.kind == MESSAGE_REFUSED)
		message_text(&e->message, text, sizeof(text));
	if (e->kind == PACKET_MESSAGE)
		trace("<- %llu %s %llu [%llu %llu %llu %llu %llu] %s",
		      (unsigned long long)e->peer, describe(e),
		      (unsigned long long)e->message.request,
		      (unsigned long long)e->message.number[0] % 1000000,
		      (unsigned long long)e->message.number[1] % 1000000,
		      (unsigned long long)e->message.number[2] % 1000000,
		      (unsigned long long)e->message.number[3] % 1000000,
		      (unsigned long long)e->message.number[4] % 1000000,
		      text);
	else
		trace("<- %llu %s", (unsigned long long)e->peer, describe(e));
}

/* A process receives some of the packets of its inbox, then acts. */
static void
run_process(struct cluster *c, struct process *p)
{
	uint64_t most = 1 + rng_below(&c->rng, 8);
	int status = HOST_RUNS;

	speak_as(c, p);
	if (p->kind == PROCESS_COORD && c->stop_told)
		host_coord_stop(p->coord, clock_of(c, p));
	p->tick_at = c->now + TICK_MS * 1000;
	while (p->inbox && most-- > 0 && status == HOST_RUNS) {
		const uint64_t ms = p->paid ? 0 : cost(c, p, p->inbox);
		struct packet *e;

		if (ms > 0) {
			p->paid = true;
			p->busy_until = c->now + ms * 1000;
			if (p->kind == PROCESS_WORKER)
				host_worker_heartbeat(p->worker);
			break;
		}
		p->paid = false;
		e = packet_take(&p->inbox);
		trace_packet(e);
		if (is_work(e))
			c->worked = c->now;
		status = receive(c, p, e);
		packet_free(e);
		check(c, p);
	}
	if (status == HOST_RUNS) {
		status = act(c, p);
		check(c, p);
	}
	if (status != HOST_RUNS)
		end_process(c, p, status);
}

/* ---- faults ---- */

/* Can a worker other than the one that leaves do the steps? */
static bool
leaves_a_worker(const struct cluster *c, const struct process *gone)
{
	for (int i = FIRST_WORKER; i < FIRST_WORKER + MAX_WORKERS; i++) {
		const struct process *p = &c->process[i];

		if (p != gone && p->wanted && p->frozen_until <= c->now &&
		    !(p->worker && host_worker_exhausted(p->worker)))
			return true;
	}
	return false;
}

static uint64_t
latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
disturbed(struct cluster *c, uint64_t ms)
{
	const uint64_t until = c->now + (ms == NEVER ? 0 : ms * 1000);

	c->quiet = until > c->quiet ? until : c->quiet;
}

static void
crash_files(struct cluster *c, struct process *p)
{
	char path[128];

	if (p->kind == PROCESS_COORD)
		journal_path(c, path);
	else
		snprintf(path, sizeof(path), p->kind == PROCESS_SUBMIT ?
			 "%s/results-%zu" : "%s/ck/log-%zu", c->folder,
			 p->index);
	if (p->kind != PROCESS_WORKER && p->kind != PROCESS_RELAY)
		files_crash(path, &c->rng);
}

/* A crash may have cut the end of a file of results. */
static void
read_all_again(struct cluster *c)
{
	read_results_again(c, c->read);
}

/*
 * Returns how many of these milliseconds a process stays away.  The coordinator
 * ends the run when it has not seen a server for its patience.  A process that
 * is killed again just after its start was not seen in between, so its absences
 * are added up, to at most 3/4 of the patience.
 */
static uint64_t
bound_absence(const struct cluster *c, struct process *p, uint64_t ms)
{
	const uint64_t most = c->s->o.patience_ms * 3 / 4;
	uint64_t away;

	if (p->away_since == 0 || c->now - p->began_at > most * 1000 / 3)
		p->away_since = c->now;
	away = (c->now - p->away_since) / 1000;
	return away + ms < most ? ms : away < most ? most - away : 0;
}

/* Kills a process by SIGKILL or by a crash of its machine; it may be started
   again. */
static void
kill_process(struct cluster *c, struct process *p, const struct fault *f)
{
	const bool crash = f->kind == FAULT_CRASH || f->kind == FAULT_POWER;
	bool back = f->span != NEVER;

	if (!p->any)
		return;
	back = back || (p->kind == PROCESS_WORKER ? !leaves_a_worker(c, p) :
			p->kind != PROCESS_RELAY);
	trace("killed%s", back ? "" : " for good");
	if (p->kind == PROCESS_COORD)
		read_results(c, host_coord_written(p->coord));
	if (p->kind == PROCESS_SERVER)
		c->deaths[p->index]++;
	drop_process(c, p, crash);
	if (crash)
		crash_files(c, p);
	if ((crash || f->kind == FAULT_AGE) && p->kind == PROCESS_COORD)
		accounts_forget(c->accounts);
	/* No journal has leases: a step that was leased is another request's
	   if the next coordinator learns first that an earlier one fails. */
	if (p->kind == PROCESS_COORD)
		program_forget(c->program, accounts_mark(c->accounts));
	if (crash && p->kind == PROCESS_SUBMIT)
		read_all_again(c);
	p->age = f->kind == FAULT_AGE;
	p->wanted = back;
	if (back)
		wait_to_begin(c, p, f->span == NEVER ? 0 :
			      bound_absence(c, p, f->span));
}

static void
add_worker(struct cluster *c)
{
	for (int i = FIRST_WORKER; i < FIRST_WORKER + MAX_WORKERS; i++) {
		struct process *p = &c->process[i];

		if (p->wanted)
			continue;
		p->wanted = true;
		wait_to_begin(c, p, 0);
		return;
	}
}

static void
add_evaluator(struct cluster *c, const struct fault *f)
{
	for (int i = 0; i < MAX_EVALUATORS; i++) {
		struct process *p = &c->process[FIRST_EVALUATOR + i];

		if (p->wanted)
			continue;
		p->wanted = true;
		p->killed_at = f->span == NEVER ? NEVER :
			c->now + f->span * 1000;
		wait_to_begin(c, p, 0);
		return;
	}
}

static void
kill_evaluators(struct cluster *c)
{
	for (int i = 0; i < MAX_EVALUATORS; i++) {
		struct process *p = &c->process[FIRST_EVALUATOR + i];

		if (!p->any || p->killed_at > c->now)
			continue;
		speak_as(c, p);
		trace("killed for good");
		drop_process(c, p, false);
		p->wanted = false;
	}
}

/* A worker leaves as by SIGTERM: it sends BYE, and no other takes its place. */
static void
end_gently(struct cluster *c, struct process *p)
{
	if (!p->any || p->kind != PROCESS_WORKER || !leaves_a_worker(c, p))
		return;
	host_worker_free(p->worker);
	p->worker = NULL;
	network_kill(c->network, node_of(c, p), false);
	packets_drop(&p->inbox);
	p->paid = p->wanted = false;
}

/* All servers and standbys lose their power, and are started again together. */
static void
power_cut(struct cluster *c, const struct fault *f)
{
	for (int i = FIRST_SERVER; i < FIRST_WORKER; i++)
		kill_process(c, &c->process[i], f);
}

/*
 * A process hangs for ms.  If it is a relay, or a worker and others can do its
 * steps, the run need not wait.  Else the run waits, so the time is bounded by
 * a quarter of the patience: the run must not end.
 */
static void
freeze(struct cluster *c, struct process *p, uint64_t ms)
{
	const uint64_t most = c->s->o.patience_ms / 4;

	if (p->kind == PROCESS_RELAY) {		/* nothing waits for it */
		p->frozen_until = c->now + ms * 1000;
		return;
	}
	if (p->kind != PROCESS_WORKER || !leaves_a_worker(c, p)) {
		ms = ms < most ? ms : most;
		disturbed(c, ms);
	} else if (c->hang_until < c->now + ms * 1000) {
		c->hang_until = c->now + ms * 1000;
	}
	if (p->frozen_until < c->now)
		p->frozen_at = c->now;
	p->frozen_until = c->now + ms * 1000;
}

/* The workers that continue without a hanging one may end, or reach the end of
   their data; then the hanging worker must wake soon. */
static void
wake_the_last(struct cluster *c)
{
	const uint64_t most = c->s->o.patience_ms / 4;

	for (int i = FIRST_WORKER; c->hang_until > c->now &&
	     i < FIRST_WORKER + MAX_WORKERS; i++) {
		struct process *p = &c->process[i];

		if (p->frozen_until > c->now + most * 1000 &&
		    !leaves_a_worker(c, p))
			freeze(c, p, most);
	}
}

/* A coordinator that hangs gets the signal when it wakes. */
static void
ask_to_end(struct cluster *c, const struct process *coord)
{
	if (!coord->coord)
		return;
	c->stop_told = true;
	if (c->s->o.suspend)
		c->suspending = true;
	else
		c->asked_to_end = true;
}

static void
begin_fault(struct cluster *c, const struct fault *f, struct process *p,
	    struct process *other)
{
	const uint64_t until = c->now + (f->span == NEVER ? 0 :
					 f->span * 1000);
	const int a = node_of(c, p), b = node_of(c, other);

	switch (f->kind) {
	case FAULT_KILL:
	case FAULT_CRASH:
	case FAULT_AGE:
		kill_process(c, p, f);
		break;
	case FAULT_FREEZE:
		freeze(c, p, f->span);
		break;
	case FAULT_CUT:
		network_cut(c->network, a, b);
		break;
	case FAULT_SPLIT:
		network_block(c->network, b, a, until);
		network_block(c->network, a, b, until);
		break;
	case FAULT_BLOCK:
		network_block(c->network, a, b, until);
		break;
	case FAULT_SLOW:
		network_slow(c->network, a, b, 1 + rng_below(&c->rng, 50),
			     until);
		break;
	case FAULT_FULL:
		c->filled = true;
		p->full_until = until;
		break;
	case FAULT_CLOCK:
		p->ahead += f->span == NEVER ? 0 : f->span;
		break;
	case FAULT_SUSPEND:
		ask_to_end(c, &c->process[COORDINATOR]);
		break;
	case FAULT_EVALUATE:
		add_evaluator(c, f);
		break;
	case FAULT_LEAVE:
		end_gently(c, p);
		break;
	case FAULT_POWER:
		power_cut(c, f);
		break;
	case FAULT_ADD:
		add_worker(c);
		break;
	case FAULT_KINDS:
		break;
	}
}

static void
befall(struct cluster *c, size_t i)
{
	const struct fault *f = &c->s->fault[i];
	struct pending *w = &c->pending[i];
	int a = f->node, b = f->other;

	w->happened = true;
	w->due = NEVER;
	for (size_t k = i + 1; k < c->s->faults &&
	     c->s->fault[k].trigger == AFTER_LAST; k++)
		c->pending[k].due = c->now + c->s->fault[k].later * 1000;
	if (f->left_out || c->over)
		return;
	if (f->trigger == AT_MESSAGE && f->target == TARGET_SENDER) {
		a = w->from;
		b = w->to;
	} else if (f->trigger == AT_MESSAGE && f->target == TARGET_RECEIVER) {
		a = w->to;
		b = w->from;
	}
	if (!scenario_fits(c->s, f->kind, a) ||
	    (c->process[a].kind == PROCESS_EVAL && a >= FIRST_EVALUATOR &&
	     f->kind == FAULT_KILL))
		return;
	speak_as(c, &c->process[a]);
	trace("FAULT %zu: %s %d %d for %llu ms", i, fault_name(f->kind), a, b,
	      (unsigned long long)f->span);
	c->out.befell++;
	disturbed(c, f->kind == FAULT_FREEZE && f->span > HANGS *
		  c->s->o.lease_ms ? HANGS * c->s->o.lease_ms :
		  f->kind == FAULT_EVALUATE ? 0 : f->span);
	if (f->kind != FAULT_FREEZE || c->process[a].kind != PROCESS_WORKER)
		c->upset = latest(c->upset, c->now + (f->span == NEVER ? 0 :
						      f->span * 1000));
	begin_fault(c, f, &c->process[a], &c->process[b]);
}

static void
trigger(struct cluster *c, size_t i)
{
	if (!c->pending[i].happened && c->pending[i].due == NEVER)
		c->pending[i].due = c->now + c->s->fault[i].later * 1000;
}

/* Triggers the faults whose number of steps, publications or warnings is
   reached, and injects those that are due. */
static void
look_at_triggers(struct cluster *c)
{
	const uint64_t done = accounts_done(c->accounts);

	for (size_t i = 0; i < c->s->faults; i++) {
		const struct fault *f = &c->s->fault[i];

		if ((f->trigger == AT_STEPS && done >= f->nth) ||
		    (f->trigger == AT_PUBLISH && c->publications >= f->nth) ||
		    (f->trigger == AT_WARNING &&
		     c->warnings[f->words] >= f->nth))
			trigger(c, i);
		if (c->pending[i].due <= c->now)
			befall(c, i);
	}
}

static void
look_at_message(struct cluster *c, const struct packet *e, int to, int from)
{
	for (size_t i = 0; i < c->s->faults; i++) {
		const struct fault *f = &c->s->fault[i];
		struct pending *w = &c->pending[i];

		if (f->trigger != AT_MESSAGE ||
		    e->kind != PACKET_MESSAGE ||
		    e->message.kind != f->message || ++w->seen != f->nth)
			continue;
		w->from = from;
		w->to = to;
		trigger(c, i);
	}
}

/* Notes which process gets STOP, and from which incarnation of the coordinator;
   a standby gets it from its server. */
static void
note_stop(struct cluster *c, const struct packet *e, int to, int from)
{
	struct process *p = &c->process[to];

	if (e->kind != PACKET_MESSAGE)
		return;
	if (p->kind == PROCESS_SUBMIT &&
	    (e->message.kind == MESSAGE_STOP ||
	     (e->message.kind == MESSAGE_REFUSED &&
	      e->message.refused.status == FAIL_AGAIN)))
		c->may_end = true;
	if (from == COORDINATOR && e->message.kind == MESSAGE_PLAN)
		p->aged = false;
	if (e->message.kind != MESSAGE_STOP)
		return;
	if (from != COORDINATOR)
		p->told = c->process[from].told;
	else
		p->told = network_orphan(c->network, to, e->peer) ? 0 :
			c->coordinator;
}

/* ---- invariants ---- */

/* Checks a warning of the coordinator.  One that says that a standby takes over
   or that a server is back tells where the server is now. */
static void
heed_warning(struct cluster *c, const char *line)
{
	char at[16] = "";
	size_t server;
	const char *standby = strstr(line, "its standby ");

	for (size_t i = 0; i < WARNINGS; i++)
		c->warnings[i] += strstr(line, scenario_warnings[i]) != NULL;
	trace("warns: %s", line);
	if (strstr(line, "an error of ps-coord"))
		broken(c, "C1: %.200s", line);
	/* A server that died again while it recovered had not acknowledged the
	   steps. */
	if (strstr(line, "less than it had acknowledged") &&
	    !scenario_may_fail(c->s) &&
	    sscanf(line, "server %zu", &server) == 1 &&
	    server < MAX_SERVERS && c->deaths[server] <= 1)
		broken(c, "C12: %.200s", line);
	if (strstr(line, "not all steps in flight have ended within")) {
		c->in_haste = true;
		c->hasty = c->coordinator;
	}
	if (strstr(line, "no last checkpoint could be saved"))
		c->unsaved = true;
	if (strstr(line, "residuals of "))
		c->residuals_lost = true;
	if (strstr(line, "as steps behind them were given up"))
		c->unflushed = true;
	if (sscanf(line, "server %zu", &server) == 1 && server < MAX_SERVERS &&
	    standby && strstr(line, "takes over") &&
	    sscanf(standby + 12, "%15s", at) == 1)
		snprintf(c->at[server], sizeof(c->at[server]), "%s", at);
	if (sscanf(line, "server %zu (%15[^)])", &server, at) == 2 &&
	    server < MAX_SERVERS && strstr(line, ") is back"))
		snprintf(c->at[server], sizeof(c->at[server]), "%s", at);
}

static void
take_warnings(struct cluster *c, struct process *p)
{
	struct text *text = host_coord_warnings(p->coord);
	char *line = text->data, *end;

	while (line && text->size > 0 && (end = strchr(line, '\n'))) {
		*end = '\0';
		heed_warning(c, line);
		line = end + 1;
	}
	text_reset(text);
}

/* The delays of this scenario, in milliseconds. */
struct slowness {
	uint64_t trip, compute, load;
};

static struct slowness
slowness(const struct scenario *s)
{
	struct slowness slow = { 0 };

	for (int i = 0; i < NETWORK_NODES; i++)
		for (int k = 0; k < NETWORK_NODES; k++)
			slow.trip = latest(slow.trip,
					   s->network.delay_us[i][k]);
	slow.trip = (slow.trip + s->network.jitter_us) / 1000 + 1;
	for (size_t i = 0; i < MAX_WORKERS; i++)
		slow.compute = latest(slow.compute, s->compute_ms[i]);
	for (size_t i = 0; i < MAX_SERVERS; i++)
		slow.load = latest(slow.load, s->load_ms[i]);
	return slow;
}

/* Returns the longest time in which programs answer all calls of a step: for
   each batch, one for the layer's values and one for its gradients. */
static uint64_t
answer_time(const struct scenario *s)
{
	return (s->layer ? 2 * s->o.batches : 1) * (s->answer_ms + TICK_MS);
}

/* Returns the longest time without progress, in milliseconds. */
static uint64_t
patience(const struct scenario *s)
{
	const struct slowness slow = slowness(s);
	uint64_t load = slow.load;

	/* An evaluation waits for an answer for each of its batches. */
	if (s->answer_ms > 0)
		load += 4 * answer_time(s);
	return 8 * s->o.lease_ms + 300 * slow.trip + 170 * slow.compute +
		6 * load + s->publish_ms + 6000;
}

/* Returns the longest time in which no process takes a message of work, in
   milliseconds, while there is work that can be done. */
static uint64_t
haste(const struct scenario *s)
{
	const struct slowness slow = slowness(s);

	return 4 * slow.trip + 2 * slow.compute + s->publish_ms +
		2 * answer_time(s) + 500;
}

static void
check_progress(struct cluster *c)
{
	uint64_t since = c->progress > c->quiet ? c->progress : c->quiet;
	const uint64_t most = c->patience;
	struct process *p = &c->process[COORDINATOR];

	if (c->over || c->now < since || c->now - since < most)
		return;
	/* Steps that are run again give no results. */
	if (c->now - since < AGAIN * most && c->now - c->moved < most)
		return;
	speak_as(c, p);
	broken(c, "C1: it stands still for %llu ms at request %zu: %s",
	       (unsigned long long)(c->now - since) / 1000,
	       p->coord ? host_coord_taken(p->coord) : 0,
	       p->coord ? host_coord_state(p->coord, clock_of(c, p)) :
	       "no coordinator");
}

/* Has this process answered for some time? */
static bool
answers(const struct cluster *c, const struct process *p)
{
	return p->any && p->full_until <= c->now &&
		latest(p->began_at, p->frozen_until) + c->haste <= c->now;
}

/* Has the coordinator known for some time that it can lease replicas to this
   worker? */
static bool
works(const struct cluster *c, const struct process *p)
{
	return p->kind == PROCESS_WORKER && answers(c, p) && p->joined > 0 &&
		p->joined + c->haste <= c->now;
}

/* Returns the worker that hangs, if every other process answers; else NULL.
   Sets *others to the number of workers that answer. */
static const struct process *
find_hung(const struct cluster *c, size_t *others)
{
	const struct process *hung = NULL;

	*others = 0;
	for (int i = 0; i < NETWORK_NODES; i++) {
		const struct process *p = &c->process[i];

		if (!p->wanted || p->ended)
			continue;
		if (answers(c, p))
			*others += works(c, p);
		else if (hung || p->kind != PROCESS_WORKER ||
			 p->frozen_until <= c->now)
			return NULL;
		else
			hung = p;
	}
	return hung;
}

/*
 * C15: with backups no round waits for a worker that hangs, so while there is
 * work and no other fault, some process does it.  These cases are not checked,
 * since there the round waits until the worker's lease ends:
 *
 *	- the worker has several replicas of a round, since there were fewer
 *	  workers when it hung
 *	- the worker scores or counts records
 *	- a step is given up that the worker may have begun
 *	- a relay waits for the worker's push
 *	- the worker has the residual of a replica, which no other worker gets
 */
static void
check_hung(struct cluster *c)
{
	const struct scenario *s = c->s;
	const bool backups = s->o.mode == MODE_SYNC && s->o.backup > 0 &&
		s->o.replicas > 0 && s->relays == 0 && !s->flaw &&
		!s->o.queue && !scenario_keeps_residuals(s);
	const struct process *hung;
	size_t others;

	if (!backups || c->over || c->stop_told ||
	    latest(c->worked, c->upset) + c->haste > c->now)
		return;
	hung = find_hung(c, &others);
	if (!hung || !hung->joined || hung->scores > 0 ||
	    others < s->o.replicas ||
	    c->few + 10 * c->haste > hung->frozen_at ||
	    !accounts_unanswered(c->accounts, 0, c->allowed))
		return;
	broken(c, "C15: %s hangs, and no backup takes its place for %llu ms",
	       hung->name, (unsigned long long)(c->now - c->worked) / 1000);
}

/* C16, when a replica is leased to w. */
static void
check_replica(struct cluster *c, const struct process *w,
	      const struct message *m)
{
	const struct scenario *s = c->s;
	size_t workers = 0;

	for (int i = 0; i < NETWORK_NODES; i++)
		workers += works(c, &c->process[i]);
	if (workers < s->o.replicas)
		c->few = c->now;
	if (s->o.mode != MODE_SYNC || s->o.replicas == 0 || s->flaw ||
	    latest(c->few, c->upset) + c->haste > c->now)
		return;
	for (size_t i = 0; i < MOST_LEASES; i++)
		if (w->lease[i].id != 0 && (w->lease[i].called_off ||
		    w->lease[i].step == m->lease.first))
			broken(c, "C16: %s gets a replica of round %llu, and "
			       "is at another one of round %llu", w->name,
			       (unsigned long long)m->lease.first,
			       (unsigned long long)w->lease[i].step);
}

/* Returns the note of the lease with this id, or a free one if it is 0; NULL:
   there is no such note. */
static struct lease_note *
find_lease(struct process *w, uint64_t id)
{
	for (size_t i = 0; i < MOST_LEASES; i++)
		if (w->lease[i].id == id)
			return &w->lease[i];
	return NULL;
}

/* Notes a message from the coordinator to a worker. */
static void
note_told(struct cluster *c, struct process *w, const struct message *m)
{
	struct lease_note *l;

	switch (m->kind) {
	case MESSAGE_EVALUATE:
	case MESSAGE_INDEX:
		w->scores++;
		break;
	case MESSAGE_LEASE:
		check_replica(c, w, m);
		if ((l = find_lease(w, 0)))
			*l = (struct lease_note){ m->request, m->lease.first,
						  false };
		break;
	case MESSAGE_CANCEL:
		if (m->request == 0)
			forget_leases(w);
		else if ((l = find_lease(w, m->request)))
			l->called_off = true;
		break;
	case MESSAGE_PLAN:
		forget_leases(w);
		break;
	default:
		break;
	}
}

/* Notes a message from a worker to the coordinator. */
static void
note_said(struct cluster *c, struct process *w, const struct message *m)
{
	struct lease_note *l;

	switch (m->kind) {
	case MESSAGE_READY:
		w->joined = c->now;
		break;
	case MESSAGE_EVALUATED:
	case MESSAGE_INDEXED:
		w->scores -= w->scores > 0;
		break;
	case MESSAGE_DONE:
		if (m->request != 0 && (l = find_lease(w, m->request)))
			*l = (struct lease_note){ 0 };
		break;
	case MESSAGE_FAILED:
		forget_leases(w);
		break;
	default:
		break;
	}
}

static void
note_worker(struct cluster *c, const struct packet *e, int to, int from)
{
	if (e->kind != PACKET_MESSAGE)
		return;
	if (from == COORDINATOR && c->process[to].kind == PROCESS_WORKER)
		note_told(c, &c->process[to], &e->message);
	else if (to == COORDINATOR &&
		 c->process[from].kind == PROCESS_WORKER)
		note_said(c, &c->process[from], &e->message);
}

/*
 * C11: how far a step may be ahead of steps that have not ended.  Attempts
 * after the first are left out: a step that may have been pushed is done
 * although an earlier one is about to be given up.
 */
static void
check_lease(struct cluster *c, const struct message *m)
{
	const uint64_t last = m->lease.first + m->lease.count - 1;
	const uint64_t mark = accounts_mark(c->accounts);

	c->term = m->lease.term > c->term ? m->lease.term : c->term;
	if (c->s->o.mode == MODE_SSP && m->lease.server == WIRE_NONE &&
	    !c->s->o.queue &&
	    m->lease.attempt == 1 && m->lease.term > c->old_term &&
	    !c->filled && !c->deaf &&
	    accounts_given_up(c->accounts) == 0 && last > mark &&
	    last - mark > c->s->o.ahead)
		broken(c, "C11: step %llu is leased, though step %llu has not "
		       "ended", (unsigned long long)last,
		       (unsigned long long)mark);
}

static void
count_void(struct cluster *c, const struct message *m)
{
	const uint64_t end = m->voided.first + m->voided.count;
	const uint64_t from = m->voided.first > c->void_end ?
		m->voided.first : c->void_end;

	if (end <= from)
		return;
	c->voided += end - from;
	c->void_end = end;
}

static void
check_limits(struct cluster *c)
{
	if (network_malformed(c->network) > 0)
		broken(c, "C3: a malformed message");
	if (++c->events > MAX_EVENTS || c->now / 1000 > MAX_MS)
		broken(c, "C1: it does not come to an end");
}

/* ---- the end ---- */

/* Returns the server that is now number i: it runs, or it ended by STOP. */
static struct host_server *
holder(struct cluster *c, size_t i, struct process **p)
{
	int node;

	if (sscanf(c->at[i], "node:%d", &node) != 1)
		return NULL;
	*p = &c->process[node];
	return (*p)->server ? (*p)->server : (*p)->corpse;
}

/* C7 of one data set: the visits of each of its records, and the steps that
   were done. */
static void
check_visits(struct cluster *c, const char *which, const double *visits,
	     uint64_t records, uint64_t steps)
{
	const uint64_t of_a_step = scenario_step_records(c->s);
	const uint64_t all = steps * of_a_step;

	for (uint64_t i = 0; i < records; i++) {
		const double n = visits[i] * (double)of_a_step;

		if (n < (double)(all / records) ||
		    n > (double)((all + records - 1) / records)) {
			broken(c, "C7: record %llu %swas visited %g times, of "
			       "%llu visits to %llu records",
			       (unsigned long long)i, which, n,
			       (unsigned long long)all,
			       (unsigned long long)records);
			return;
		}
	}
}

static void
check_all_visits(struct cluster *c, const double *visits)
{
	const struct scenario *s = c->s;
	const uint64_t records = s->files * s->file_records;

	check_visits(c, "", visits, records, accounts_done(c->accounts));
	check_visits(c, "of the second data set ", visits + records + 1,
		     s->second_files * s->second_records,
		     accounts_done_of_other(c->accounts));
}

static uint32_t
find_table(const struct model *model, const char *layer)
{
	const size_t size = strlen(layer);
	size_t count;
	const struct variable *v = model_variables(model, &count);

	for (size_t i = 0; i < count; i++)
		if (strncmp(v[i].name, layer, size) == 0 &&
		    v[i].name[size] == '/')
			return (uint32_t)i;
	return UINT32_MAX;
}

/* Adds up the values of all servers; false: not all have this run.  The caller
   frees the visits. */
static bool
hold_all(struct cluster *c, struct holding *h)
{
	struct coord_options o = c->s->o;
	struct plan plan = { 0 };
	struct place *place;
	size_t places, count;
	bool all = true;

	coord_plan(&o, c->model, &plan, &place, &places);
	free(place);
	memcpy(plan.run, o.run, PLAN_RUN);
	*h = (struct holding){ .least = 1e9f, .most = -1e9f,
			       .variable = { find_table(c->model, "visits"),
					     find_table(c->model, "visits2") },
			       .records = c->s->files * c->s->file_records + 1,
			       .model = model_variables(c->model, &count),
			       .uneven = scenario_keeps_residuals(c->s),
			       .unsure = c->residuals_lost };
	if (c->s->sampler)
		h->visits = mem_alloc(h->records + c->s->second_files *
				      c->s->second_records,
				      sizeof(*h->visits));
	for (size_t i = 0; i < o.servers && all; i++) {
		struct process *p;
		struct host_server *server = holder(c, i, &p);

		/* A server with older files that no PLAN has reached is not
		   relied on. */
		all = server && !p->aged &&
			host_server_values(server, &plan, i, h,
					   clock_of(c, p));
	}
	plan_release(&plan);
	return all;
}

/* Returns the loss that an evaluation of these values has; see call_sum() in
   program.c. */
static double
loss_of(const struct cluster *c, const struct holding *h)
{
	return c->s->lines ? (h->sum + LOSS_OF_A_STEP * (double)h->counted) /
		2 : h->sum;
}

/* Rounds are not checked, since they may still be run again for a server. */
static void
check_rest(struct cluster *c)
{
	struct holding h;

	if (c->at_rest && accounts_given_up(c->accounts) > 0 && !c->filled &&
	    !c->s->o.queue &&
	    c->s->o.mode != MODE_SYNC && !scenario_may_fail(c->s) &&
	    !c->in_haste) {
		if (hold_all(c, &h))
			accounts_rest(c->accounts, loss_of(c, &h));
		free(h.visits);
		if (accounts_wrong(c->accounts))
			broken(c, "%s", accounts_wrong(c->accounts));
	}
	if (c->at_rest)
		memset(c->deaths, 0, sizeof(c->deaths));
	c->at_rest = false;
}

static void
check_servers(struct cluster *c)
{
	const float done = (float)accounts_done(c->accounts);
	const float beyond = (float)accounts_may_have(c->accounts);
	struct holding h;
	const bool all = hold_all(c, &h);

	if (!all && c->out.befell == 0)
		broken(c, "C6: a server does not have the run any more");
	if (all && c->s->lines && (h.counted < done ||
				   h.counted > done + beyond))
		broken(c, "C19: %g steps were done, those of both lines are "
		       "%g", (double)done, (double)h.counted);
	if (all && c->s->o.push.codec == &codec_float32 &&
	    !c->s->rule[WAY_PUSH].codec && (h.odd < 0 || h.odd > 0))
		broken(c, "C18: servers counted other attempts at a round: "
		       "%g is left", h.odd);
	if (c->unflushed && accounts_given_up(c->accounts) == 0)
		broken(c, "C17: residuals were not pushed before a "
		       "checkpoint");
	if (all && (h.least < done || h.most > done + beyond))
		broken(c, "C6: %g steps were done, weights are %g to %g",
		       (double)done, (double)h.least, (double)h.most);
	if (all) {
		accounts_scored(c->accounts, loss_of(c, &h),
				accounts_done(c->accounts), "at the end");
		if (accounts_wrong(c->accounts))
			broken(c, "%s", accounts_wrong(c->accounts));
	}
	if (all && h.visits && accounts_given_up(c->accounts) == 0)
		check_all_visits(c, h.visits);
	free(h.visits);
}

static void
check_last_checkpoint(struct cluster *c)
{
	const float done = (float)accounts_done(c->accounts);
	struct checkpoint *from;

	if (!c->s->o.checkpoint || done == 0)
		return;
	from = open_newest(c);
	if (!from)
		broken(c, "C8: there is no checkpoint");
	else if (!checkpoint_info(from)->final)
		broken(c, "C8: %s is not final", checkpoint_folder(from));
	else if (!holds(c, from, done, done +
			(float)accounts_may_have(c->accounts)))
		broken(c, "C8: %s does not hold the %g steps that were done",
		       checkpoint_folder(from), (double)done);
	if (from)
		checkpoint_close(from);
}

/* C8: a run that gave up steps in flight must report the steps that were not
   saved, even if it ends for another reason.  An incarnation that did not give
   them up runs them again, or ends with the reason why it cannot. */
static void
check_unsaved(struct cluster *c)
{
	const float done = (float)accounts_done(c->accounts);
	struct checkpoint *from;

	if (!c->s->o.checkpoint || !c->in_haste || c->unsaved ||
	    strstr(c->why.text, "no last checkpoint") || done == 0 ||
	    (c->hasty != c->coordinator && c->out.status != 0))
		return;
	from = open_newest(c);
	if (!from || !holds(c, from, done, done +
			    (float)accounts_given_up(c->accounts)))
		broken(c, "C8: nothing tells that the last steps were not "
		       "saved");
	if (from)
		checkpoint_close(from);
}

/* Must the servers have all steps that were done when the run ends in this
   way? */
static bool
ends_well(const struct cluster *c)
{
	/* A server may lack a step that cannot be run again, as steps were
	   given up or no data are left. */
	if (c->in_haste)
		return false;
	if (c->out.status == FAIL_DATA)
		return c->s->flaw && !strstr(c->why.text, "run again") &&
			!scenario_may_fail(c->s);
	return c->out.status == 0;
}

static bool
may_end_so(const struct cluster *c)
{
	const struct scenario *s = c->s;

	switch (c->out.status) {
	case 0:
		return true;
	case FAIL_IO:
		return c->filled || c->asked_to_end;
	case FAIL_DATA:
		return s->o.keep_going || s->flaw;
	case FAIL_NOINPUT:
		return s->flaw == FLAW_READ && !s->sampler;
	default:
		return false;
	}
}

static void
check_end(struct cluster *c)
{
	if (!may_end_so(c) && !scenario_may_fail(c->s))
		broken(c, "C5: the run ended with %d: %.150s", c->out.status,
		       c->why.text);
	check_unsaved(c);
	if (!ends_well(c))
		return;
	check_servers(c);
	if (c->out.status == 0 || !c->filled)
		check_last_checkpoint(c);
}

/* ---- a run ---- */

static void
write_requests(const struct cluster *c, const char *name, size_t owner,
	       const struct ask_line *ask, size_t asks)
{
	static const char *const op[] = { ['t'] = "train", ['j'] = "join",
		['e'] = "eval", ['s'] = "save", ['p'] = "epoch",
		['q'] = "stop", ['x'] = "frobnicate", ['c'] = "cancel",
		['u'] = "status", ['b'] = "eval" };
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", c->folder, name);
	file = fopen(path, "we");
	for (size_t i = 0; i < asks; i++) {
		const struct ask_line *a = &ask[i];

		fprintf(file, "{\"id\":%zu,\"op\":\"%s\"", i,
			op[(unsigned char)a->op]);
		if (a->op == 't')
			fprintf(file, ",\"steps\":%llu",
				(unsigned long long)a->steps);
		if (a->op == 'p')
			fprintf(file, ",\"epochs\":%llu",
				(unsigned long long)a->steps);
		if (a->op == 't' && !c->s->sampler)
			fprintf(file, ",\"batch\":%llu",
				(unsigned long long)a->batch);
		if (c->s->program && (a->op == 't' || a->op == 'p'))
			fprintf(file, ",\"args\":{\"ask\":%zu}",
				1000 * owner + i);
		if (a->op == 'c')
			fprintf(file, ",\"request\":%zu", a->target);
		if (a->priority > 0 && (a->op == 't' || a->op == 'p'))
			fprintf(file, ",\"priority\":%llu",
				(unsigned long long)a->priority);
		if (c->s->lines && (a->op == 't' || a->op == 'p') && i % 2)
			fprintf(file, ",\"step\":\"other\"");
		if (a->op == 'p' && scenario_counts_second(c->s, i))
			fprintf(file, ",\"data\":\"second\"");
		if (a->op == 'b')
			fprintf(file, ",\"background\":true");
		if ((a->op == 'e' || a->op == 'b') && c->s->sampler)
			fprintf(file, ",\"files\":[\"scores\"]");
		fprintf(file, "}\n");
	}
	fclose(file);
}

static void
write_all_requests(const struct cluster *c)
{
	write_requests(c, "requests", 0, c->s->ask, c->s->asks);
	for (size_t i = 0; i <= MAX_SUBMITTERS; i++) {
		const struct submitter_plan *p = &c->s->submitter[i];
		char name[32];

		snprintf(name, sizeof(name), "requests-%zu", i);
		if (p->asks > 0)
			write_requests(c, name, i + 1, p->ask, p->asks);
	}
}

static void
place_process(struct cluster *c, int node, enum process_kind kind,
	      size_t index, const char *name, uint64_t at_ms)
{
	struct process *p = &c->process[node];

	p->kind = kind;
	p->index = index;
	p->wanted = at_ms != NEVER;
	p->begin_at = at_ms == NEVER ? NEVER : at_ms * 1000;
	p->ahead = rng_below(&c->rng, (uint64_t)1 << 40);
	snprintf(p->name, sizeof(p->name), "%.8s %zu", name, index % 100);
}

static void
place_all(struct cluster *c)
{
	const struct scenario *s = c->s;

	for (int i = 0; i < NETWORK_NODES; i++) {
		c->process[i].begin_at = NEVER;
		snprintf(c->process[i].name, sizeof(c->process[i].name),
			 "node %d", i % NETWORK_NODES);
	}
	place_process(c, COORDINATOR, PROCESS_COORD, 0, "coord", 1);
	for (size_t i = 0; i < s->o.servers; i++) {
		const int node = FIRST_STANDBY + (int)i;

		place_process(c, FIRST_SERVER + (int)i, PROCESS_SERVER, i,
			      "serve", rng_below(&c->rng, 20));
		snprintf(c->at[i], sizeof(c->at[i]), "%s", s->endpoint[i]);
		place_process(c, node, PROCESS_SERVER, i, "standby",
			      s->standby[i] ? s->standby_at[i] : NEVER);
		snprintf(c->process[node].primary,
			 sizeof(c->process[node].primary), "%s",
			 s->endpoint[i]);
	}
	for (size_t i = 0; i < MAX_WORKERS; i++)
		place_process(c, FIRST_WORKER + (int)i, PROCESS_WORKER, i,
			      "work", i < s->workers ?
			      rng_below(&c->rng, 50) : NEVER);
	for (size_t i = 0; i < MAX_EVALUATORS; i++)
		place_process(c, FIRST_EVALUATOR + (int)i, PROCESS_EVAL, i,
			      "eval", NEVER);
	for (size_t i = 0; i < s->relays; i++)
		place_process(c, FIRST_RELAY + (int)i, PROCESS_RELAY, i,
			      "relay", s->relay_at[i]);
	for (size_t i = 0; i < MAX_SUBMITTERS + 1; i++)
		place_process(c, FIRST_SUBMITTER + (int)i, PROCESS_SUBMIT, i,
			      "submit", i < s->submitters ?
			      s->submitter[i].at_ms : NEVER);
}

static void
cluster_begin(struct cluster *c, struct scenario *s)
{
	char text[2048], path[128];
	struct fail f;

	c->s = s;
	c->rng.seed = rng_mix(s->seed + 1);
	files_begin(c->folder);
	snprintf(path, sizeof(path), "%s/ck", c->folder);
	mkdir(path, 0777);
	sim_task_begin(s->seed, s->publish_ms);
	host_model_text(s, text, sizeof(text));
	c->source = (struct model_source){ .count = 1 };
	c->source.file = mem_alloc(1, sizeof(*c->source.file));
	c->source.file->name = mem_text("model.ps");
	c->source.file->text = mem_text(text);
	c->source.file->size = strlen(text);
	c->model = model_parse(&c->source, &f);
	if (!c->model)
		broken(c, "the model: %s", f.text);
	c->program = s->program || s->layer ?
		program_new(scenario_keeps_residuals(s)) : NULL;
	c->site = (struct site){ s, c->model, &c->source, c->folder,
				 c->program ? program_externals(c->program) :
				 NULL, c->program };
	c->network = network_new(&s->network);
	c->accounts = accounts_new(s);
	c->patience = 1000 * patience(s);
	c->haste = 1000 * haste(s);
	for (size_t i = 0; i < MAX_FAULTS; i++)
		c->pending[i].due = i < s->faults &&
			s->fault[i].trigger == AT_TIME ? 1000 *
			(s->fault[i].nth + s->fault[i].later) : NEVER;
	write_all_requests(c);
	place_all(c);
}

static void
cluster_end(struct cluster *c)
{
	for (int i = 0; i < NETWORK_NODES; i++) {
		struct process *p = &c->process[i];

		if (p->any)
			drop_process(c, p, false);
		drop_corpse(p);
	}
	accounts_free(c->accounts);
	program_free(c->program);
	network_free(c->network);
	model_free(c->model);
	model_source_release(&c->source);
	files_end(c->folder);
}

/* Returns the time at which this process acts next. */
static uint64_t
wakes(const struct process *p)
{
	uint64_t at;

	if (!p->any)
		return p->wanted && !p->ended ? p->begin_at : NEVER;
	at = p->inbox ? p->busy_until : p->tick_at > p->busy_until ?
		p->tick_at : p->busy_until;
	return at > p->frozen_until ? at : p->frozen_until;
}

static uint64_t
next_event(const struct cluster *c)
{
	uint64_t next = network_next(c->network);

	for (int i = 0; i < NETWORK_NODES; i++)
		if (wakes(&c->process[i]) < next)
			next = wakes(&c->process[i]);
	for (size_t i = 0; i < c->s->faults; i++)
		if (c->pending[i].due < next)
			next = c->pending[i].due;
	return next;
}

static void
deliver(struct cluster *c)
{
	struct packet *e;
	int to, from;

	while ((e = network_take(c->network, c->now, &to, &from))) {
		struct packet **end = &c->process[to].inbox;

		look_at_message(c, e, to, from);
		note_stop(c, e, to, from);
		note_worker(c, e, to, from);
		if (from == COORDINATOR && e->kind == PACKET_MESSAGE &&
		    e->message.kind == MESSAGE_LEASE)
			check_lease(c, &e->message);
		if (from == COORDINATOR && e->kind == PACKET_MESSAGE &&
		    e->message.kind == MESSAGE_VOID)
			count_void(c, &e->message);
		if (to == COORDINATOR && e->kind == PACKET_MESSAGE &&
		    (e->message.kind == MESSAGE_DONE ||
		     e->message.kind == MESSAGE_EVALUATED ||
		     e->message.kind == MESSAGE_INDEXED))
			c->moved = c->now;
		if (!c->process[to].any) {
			packet_free(e);
			continue;
		}
		while (*end)
			end = &(*end)->next;
		*end = e;
	}
}

/* Is there a fault that is due at a known time, or still in effect? */
static bool
faults_lie_ahead(const struct cluster *c)
{
	for (size_t i = 0; i < c->s->faults; i++)
		if (c->pending[i].due < LAST_WAIT_MS * 1000)
			return true;
	return c->quiet > c->now && c->now < LAST_WAIT_MS * 1000;
}

/* Requests come now and then, as from a person who types.  The last ones come
   after the faults whose time is known. */
static void
allow_requests(struct cluster *c)
{
	struct process *p = &c->process[COORDINATOR];

	while (c->allowed < c->s->asks && c->now >= c->allow_at) {
		if (c->allowed + LAST_ASKS >= c->s->asks &&
		    faults_lie_ahead(c)) {
			disturbed(c, 0);
			break;
		}
		c->allow_at = c->now + 1000 *
			c->s->ask[c->allowed].wait_ms;
		c->allowed++;
		disturbed(c, 0);
	}
	if (p->coord)
		host_coord_allow(p->coord, c->allowed);
}

/* The requests of submitters come in the same way. */
static void
allow_submitters(struct cluster *c)
{
	for (size_t i = 0; i < c->s->submitters; i++) {
		const struct submitter_plan *plan = &c->s->submitter[i];
		struct asker *a = &c->asker[i];
		struct process *p = &c->process[FIRST_SUBMITTER + i];

		while (a->allowed < plan->asks && c->now >= a->allow_at) {
			if (a->allowed + 1 >= plan->asks &&
			    faults_lie_ahead(c)) {
				disturbed(c, 0);
				break;
			}
			a->allow_at = c->now + 1000 *
				plan->ask[a->allowed].wait_ms;
			a->allowed++;
			disturbed(c, 0);
		}
		if (p->submit)
			host_submit_allow(p->submit, a->allowed);
	}
}

/* The stopper starts when all submitters have ended and the coordinator's own
   requests are answered. */
static void
look_at_stopper(struct cluster *c)
{
	struct process *p = &c->process[STOPPER];
	const struct process *coord = &c->process[COORDINATOR];
	size_t taken;

	if (p->submit)
		host_submit_allow(p->submit, 1);
	if (!c->s->o.queue || p->wanted || !coord->coord || !all_submitted(c))
		return;
	taken = host_coord_taken(coord->coord);
	if (accounts_unanswered(c->accounts, 0, taken) ||
	    (taken < c->s->heard && (c->s->o.keep_going ||
				     !accounts_failed(c->accounts, 0))))
		return;
	p->wanted = true;
	wait_to_begin(c, p, 0);
}

static void
step(struct cluster *c)
{
	const uint64_t next = next_event(c);
	const int begin = (int)rng_below(&c->rng, OLD_NODES);

	if (next == NEVER) {
		broken(c, "C1: nothing will ever happen again");
		return;
	}
	c->now = next > c->now ? next : c->now;
	deliver(c);
	allow_requests(c);
	allow_submitters(c);
	look_at_stopper(c);
	kill_evaluators(c);
	wake_the_last(c);
	for (int k = 0; k < NETWORK_NODES && !c->over; k++) {
		struct process *p = &c->process[(begin + k) % NETWORK_NODES];

		if (wakes(p) > c->now)
			continue;
		if (!p->any)
			begin_process(c, p);
		else
			run_process(c, p);
		if (p->kind == PROCESS_COORD && p->coord) {
			take_warnings(c, p);
			read_results(c, host_coord_written(p->coord));
			check_rest(c);
			look_at_checkpoints(c, p);
			note_publication(c, p);
		}
		if (p->kind == PROCESS_SUBMIT && p->submit)
			read_submitter(c, p->index);
	}
	look_at_triggers(c);
	check_progress(c);
	check_hung(c);
	check_limits(c);
}

struct verdict
cluster_run(struct scenario *s, bool deaf)
{
	struct cluster *c = mem_alloc(1, sizeof(*c));
	struct verdict out;

	c->deaf = deaf;
	cluster_begin(c, s);
	while (!c->over && !c->out.broken)
		step(c);
	if (!c->out.broken)
		check_end(c);
	c->out.events = c->events;
	cluster_end(c);
	out = c->out;
	free(c);
	return out;
}
