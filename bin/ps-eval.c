/*
 * ps-eval - score checkpoints or the live model, or predict with them.
 */
#include "base/flush_denormals.h"
#include "base/log.h"
#include "prog/checkpoint_watch.h"
#include "prog/eval_options.h"
#include "prog/scoring.h"
#include "store/checkpoint.h"
#include "store/disk.h"
#include "sys/cli.h"
#include "sys/clock.h"

#include <poll.h>

struct program {
	struct eval_settings s;
	struct scores scores;
	struct scoring scoring;
	bool damaged;			/* some checkpoint is damaged */
};

/*
 * Score a checkpoint.  Return 0; 1 if it cannot be used; -1 if no other could
 * be, either.
 */
static int
score(struct program *p, const struct checkpoint_watch *folder,
      const char *path, struct fail *f)
{
	struct checkpoint *from = checkpoint_open(path, true, f);
	char missed[CHECKPOINT_NAME];

	if (from && folder && checkpoint_watch_missed(folder,
						      checkpoint_info(from),
						      missed))
		log_warn("%s/%s was removed before it was scored, and perhaps "
			 "older ones, too", p->s.dir, missed);
	return from ? scoring_checkpoint(&p->scoring, &from, f) : 1;
}

/* Score a checkpoint; a failure of one does not stop the others. */
static int
score_next(struct program *p, struct checkpoint_watch *folder, const char *path,
	   struct fail *f)
{
	const int status = score(p, p->s.follow ? folder : NULL, path, f);

	if (status < 0)
		return -1;
	if (status > 0 && disk_is_there(path)) {
		if (checkpoint_watch_refuse(folder))
			log_warn("%s", f->text);
		p->damaged = true;
		return 0;
	}
	if (status > 0)
		log_warn("%s was removed before it was scored", path);
	checkpoint_watch_done(folder, status == 0 && p->scoring.final);
	return 0;
}

static void
wait_for(const struct checkpoint_watch *folder, uint64_t idle_ms)
{
	struct pollfd fds[] = {
		{ .fd = cli_stop_fd, .events = POLLIN },
		{ .fd = checkpoint_watch_fd(folder), .events = POLLIN }
	};

	poll(fds, 2, checkpoint_watch_wait(folder, idle_ms));
}

static int
score_all(struct program *p, struct checkpoint_watch *folder, struct fail *f)
{
	const bool *met = &p->scoring.met;
	uint64_t seen_ms = clock_ms();
	const char *path;
	bool over = false;

	while (!over && !*met && !cli_stop) {
		if (checkpoint_watch_look(folder, f) == 0)
			seen_ms = clock_ms();
		else if (!p->s.follow ||
			 clock_ms() - seen_ms >= p->s.common.timeout_ms)
			return -1;
		while (!*met && !cli_stop &&
		       (path = checkpoint_watch_next(folder)))
			if (score_next(p, folder, path, f) < 0)
				return -1;
		over = !p->s.follow || checkpoint_watch_is_over(folder);
		if (!over && !*met &&
		    checkpoint_watch_check(folder, p->s.idle_ms, f) < 0)
			return -1;
		if (!over && !*met)
			wait_for(folder, p->s.idle_ms);
	}
	if (cli_stop && !over && !*met)
		return scoring_stopped(f);
	if (p->scoring.ended == 0 && !p->damaged && !p->scores.begun)
		return fail(f, FAIL_NOINPUT, "%s: no checkpoint here",
			    p->s.dir);
	if (p->damaged && !*met && !p->s.follow)
		return fail(f, FAIL_DATA, "%s: not every checkpoint could be "
			    "scored", p->s.dir);
	return 0;
}

static void
warn(const char *text)
{
	log_warn("%s", text);
}

static int
score_checkpoints(struct program *p, struct fail *f)
{
	struct checkpoint *from;
	struct checkpoint_watch *folder;
	int status;

	if (p->scoring.met)
		return 0;	/* by a score of an earlier start */
	if (checkpoint_is_one(p->s.dir)) {
		if (p->s.follow || p->s.newest)
			cli_usage("%s is a checkpoint, not a folder of them",
				  p->s.dir);
		return score(p, NULL, p->s.dir, f) == 0 ? 0 : -1;
	}
	if (p->s.newest || p->s.predict) {
		from = checkpoint_newest(p->s.dir, warn, f);
		if (!p->s.newest && eval_settings_stream(&p->s))
			p->scoring.renew = p->s.dir;
		return from && scoring_checkpoint(&p->scoring, &from, f) == 0 ?
			0 : -1;
	}
	eval_settings_reread(&p->s);
	folder = checkpoint_watch_open(p->s.dir);
	if (p->scores.begun)
		checkpoint_watch_after(folder, p->scores.step, p->scores.final);
	status = score_all(p, folder, f);
	checkpoint_watch_close(folder);
	return status;
}

int
main(int argc, char **argv)
{
	struct program p = {
		.scores = { .fd = STDOUT_FILENO },
		.scoring = { .s = &p.s, .to = &p.scores }
	};
	struct fail f;
	int status;
	bool unmet;

	cli_begin(&eval_program);
	flush_denormals();
	eval_settings_read(&p.s, argc, argv);
	if (p.s.output &&
	    scores_open(&p.scores, p.s.output, &p.s.until, &f) < 0)
		cli_die(&f);
	p.scoring.met = p.scores.met;
	status = p.s.dir ? score_checkpoints(&p, &f) :
		scoring_live(&p.scoring, &f);
	eval_settings_release(&p.s);
	if (status < 0 && !(cli_stop && p.s.follow && f.kind == FAIL_AGAIN))
		cli_die(&f);
	unmet = *p.s.until.metric && !p.scoring.met;
	scores_close(&p.scores);
	return cli_end(unmet);
}
