/* A server that is killed and started again with its log has the same state,
   bit for bit: everything that it had answered, and nothing twice. */
#include "prog/wal.h"

#include "store/disk.h"
#include "store/record_log.h"

#include "files.h"
#include "server_replay.h"
#include "tap.h"

static struct wal *changes_log;
static struct fail f;

/* A server with a log, and its coordinator. */
static bool
start(struct side *s, uint64_t term)
{
	side_new(s, 1);
	changes_log = wal_open(".", 0, s->server, &f);
	if (!changes_log) {
		printf("# %s\n", f.text);
		return false;
	}
	greet(s, COORD, ROLE_COORDINATOR, term);
	return true;
}

static void
run_log(struct side *s)
{
	wal_run(changes_log, s->server, &f);
}

static void
receive_all(struct rng *rng, uint64_t until)
{
	while (heard < until) {
		const struct change *c = commit_log_find(&script, heard + 1);

		if (c->message.kind == MESSAGE_SAVE)	/* of what is frozen */
			run_log(&primary);
		receive_script(&primary, ++heard);
		if (heard == 1 || rng_below(rng, 4) == 0)
			run_log(&primary);
		if (heard == 1)
			greet(&primary, WORKER, ROLE_WORKER, TERM);
	}
}

/* Kills the server and starts it again: has it the state of one that received
   this number of messages? */
static bool
comes_back(uint64_t count)
{
	bool good;

	wal_close(changes_log);
	side_free(&primary);
	good = start(&standby, TERM + 1);
	if (good) {
		standby.after = run_log;
		make_reference(count);
		notify_plan(&standby, TERM + 1, 0);
		greet(&standby, WORKER, ROLE_WORKER, TERM + 1);
		good = same(&standby, &reference);
		side_free(&reference);
		wal_close(changes_log);
	}
	side_free(&standby);
	return good;
}

static void
clear(void)
{
	struct fail none;

	disk_remove_folder("log-0", &none);
	disk_remove_folder("log-0.old", &none);
	commit_log_release(&script);
	script = (struct commit_log){ 0 };
	heard = 0;
}

/* The server is killed at any time. */
static void
killed(void)
{
	bool all = true;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct rng rng = { seed, 0 };

		write_script(&rng);
		all = start(&primary, TERM) && all;
		receive_all(&rng, 2 + rng_below(&rng, script.last - 1));
		all = comes_back(server_acted(primary.server)) && all;
		clear();
	}
	named(all,
	      "a restarted server has all that it had answered, bit for bit");
}

/* ---- segments ---- */

static void
add_coord(enum message_kind kind, uint64_t published)
{
	struct message m = { .kind = kind };

	m.cut.run = plan_run(&plan);
	m.cut.term = TERM;
	m.cut.cut = kind == MESSAGE_MARK ? 10 : 1;
	m.cut.step = 10;
	m.cut.parts = 1;
	m.cut.published = published;
	if (kind == MESSAGE_SAVE)
		m.blob = (struct frame){ "ckpt-00000010", 13, NULL };
	add(&m, COORD);
}

/* Writes and publishes the checkpoint that the server was asked to save. */
static void
publish(struct side *s)
{
	struct checkpoint_info info = { .step = 10 };
	struct checkpoint_part part;
	struct server_job job;

	for (size_t i = 0; i < PLAN_RUN; i++)
		snprintf(info.run + 2 * i, 3, "%02x", plan.run[i]);
	if (!server_job(s->server, &job) ||
	    checkpoint_write_part(".", job.name, 0, 1, job.array, job.arrays,
				  &part, &f) < 0 ||
	    checkpoint_publish(".", job.name, &info, &fixture.source, &part, 1,
			       &f) < 0)
		printf("# %s\n", f.text);
	server_saved(s->server, &job, &part, NULL);
}

/* Ten steps, a cut of them, ten more: the script ends before the THAW. */
static void
write_cut(bool pushed_above)
{
	struct rng rng = { 3, 0 };
	struct message m = plan_message(TERM, 0);

	add(&m, COORD);
	for (uint64_t step = 0; step < 10; step++)
		add_push(&rng, step);
	if (pushed_above)
		add_push(&rng, 10);
	add_coord(MESSAGE_MARK, 0);
	add_coord(MESSAGE_FREEZE, 0);
	add_coord(MESSAGE_SAVE, 0);
	for (uint64_t step = 11; step < 20; step++)
		add_push(&rng, step);
}

static bool
segment(const char *number)
{
	char path[64];

	snprintf(path, sizeof(path), "log-0/%s", number);
	return access(path, F_OK) == 0;
}

/* Receives a script with a cut; returns the number of changes in the log. */
static uint64_t
receive_cut(bool pushed_above, bool published)
{
	struct rng rng = { 1, 0 };

	write_cut(pushed_above);
	ok(start(&primary, TERM));
	receive_all(&rng, script.last);
	run_log(&primary);
	if (published)
		publish(&primary);
	return script.last - 1;		/* SAVE is no change */
}

static void
segments(void)
{
	const struct message thaw = { .kind = MESSAGE_THAW, .cut = {
		.run = plan_run(&plan), .term = TERM, .cut = 1,
		.published = 1
	} };
	struct fail none;
	uint64_t acted;

	/* A cut that never became a checkpoint. */
	acted = receive_cut(false, false);
	equals(server_acted(primary.server), acted);
	ok(segment("00000001") && segment("00000002"));
	ok(comes_back(script.last));
	clear();

	/* A checkpoint was published, but the server was not notified. */
	receive_cut(false, true);
	ok(comes_back(script.last));
	ok(!segment("00000001") && segment("00000002"));
	clear();
	disk_remove_folder("ckpt-00000010", &none);

	/* There is no cut without the steps above it, so no segment begins. */
	receive_cut(true, false);
	ok(segment("00000001") && !segment("00000002"));
	ok(comes_back(script.last));
	clear();
	disk_remove_folder("ckpt-00000010", &none);

	/* The older segments are removed, and then the checkpoint, too. */
	receive_cut(false, true);
	side_receive(&primary, COORD, &thaw);
	run_log(&primary);
	ok(!segment("00000001") && segment("00000002"));
	disk_remove_folder("ckpt-00000010", &none);
	wal_close(changes_log);
	side_free(&primary);
	ok(!start(&standby, TERM) && f.kind == FAIL_DATA &&
	   strcmp(f.text, "./log-0: the checkpoint that this log starts from "
		  "is not there (ckpt-00000010): put it back, or remove this "
		  "folder to begin anew") == 0);
	side_free(&standby);
	clear();

	/* The cut never became a checkpoint, and the segment before it has lost
	   what it began with. */
	receive_cut(false, false);
	wal_close(changes_log);
	side_free(&primary);
	ok(truncate("log-0/00000001", 100) == 0);
	ok(!start(&standby, TERM) && f.kind == FAIL_DATA &&
	   strcmp(f.text, "./log-0/00000001: its beginning was cut off: put "
		  "the file back, or remove this folder to begin anew") == 0);
	side_free(&standby);
	clear();
}

/* Changes one byte. */
static void
damage(const char *path, long at)
{
	FILE *file = fopen(path, "r+");
	int byte;

	fseek(file, at, SEEK_SET);
	byte = getc(file);
	fseek(file, at, SEEK_SET);
	putc(byte ^ 1, file);
	fclose(file);
}

/* Does a server that was killed refuse its damaged log with this text? */
static bool
refused(const char *text)
{
	bool good;

	wal_close(changes_log);
	side_free(&primary);
	good = !start(&standby, TERM) && f.kind == FAIL_DATA &&
		strncmp(f.text, text, strlen(text)) == 0;
	wal_close(changes_log);		/* which it should not be */
	side_free(&standby);
	return good;
}

static void
damaged(void)
{
	struct message freeze = { .kind = MESSAGE_FREEZE };

	/* A damaged beginning of the last segment: it cannot be torn, as it was
	   synced. */
	receive_cut(false, false);
	damage("log-0/00000002", RECORD_HEAD);
	named(refused("./log-0/00000002: damaged at byte 0 of "),
	      "a log with a damaged segment is refused");
	ok(segment("00000002"));
	clear();

	/* A missing segment in the middle. */
	receive_cut(false, false);
	freeze.cut.run = plan_run(&plan);
	freeze.cut.term = TERM;
	freeze.cut.cut = 3;
	freeze.cut.step = 20;
	side_receive(&primary, COORD, &freeze);
	run_log(&primary);
	ok(segment("00000003") && unlink("log-0/00000002") == 0);
	named(refused("./log-0/00000002: missing, though later files are "
		      "there"),
	      "a log without one of its segments is refused");
	clear();
}

/* A server that is still writing a checkpoint keeps its run and its log. */
static void
busy(void)
{
	unsigned char other[PLAN_RUN] = "another, 16 byte";
	struct message m = plan_message(TERM, 0);

	receive_cut(false, false);
	m.blob.data = other;
	m.request = CHANGES - 1;
	side_receive(&primary, COORD, &m);
	run_log(&primary);
	equals(primary.said.kind, MESSAGE_REFUSED);
	named(comes_back(script.last),
	      "a refused plan of another run leaves the log alone");
	clear();
}

static void
refusals(void)
{
	struct rng rng = { 1, 0 };

	write_script(&rng);
	ok(start(&primary, TERM));
	side_new(&standby, 2);
	ok(!wal_open(".", 0, standby.server, &f) &&
	   f.kind == FAIL_AGAIN);
	side_free(&standby);
	receive_all(&rng, 40);
	run_log(&primary);

	/* Another run begins: the server has no state of this run. */
	struct message m = plan_message(TERM, 0);
	unsigned char other[PLAN_RUN] = "another, 16 byte";

	m.blob.data = other;
	side_receive(&primary, COORD, &m);
	run_log(&primary);
	ok(!segment("00000001"));
	wal_close(changes_log);
	side_free(&primary);
	ok(start(&standby, TERM) &&
	   strncmp(server_state(standby.server), "mark 0, 0 pushes", 16) == 0);
	wal_close(changes_log);
	side_free(&standby);
	clear();
}

int
main(void)
{
	files_begin();
	replay_open();
	killed();
	segments();
	damaged();
	busy();
	refusals();
	replay_close();
	files_end();
	return tap_done();
}
