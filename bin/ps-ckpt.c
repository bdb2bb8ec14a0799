/*
 * ps-ckpt - look at checkpoints, and carry them about, with no cluster: a
 * command is one function and one line of the table.
 */
#include "base/log.h"
#include "base/text.h"
#include "store/checkpoint.h"
#include "store/convert.h"
#include "store/describe.h"
#include "store/disk.h"
#include "store/rank.h"
#include "sys/cli.h"

#include <stdio.h>
#include <string.h>

#define USAGE \
	"[-m model] [--best=metric] [--json] [--keep=count] " \
	"[--metrics=file] [--seed=seed] [--slots] [--tolerance=difference] " \
	"[--vocab-anywhere] command operand ..."

enum { ANYWHERE = CLI_LONG, BEST, JSON, KEEP, METRICS, SEED, SLOTS, TOLERANCE };

static const struct cli_option options[] = {
	{ 'm',       "model",     "FILE" },
	{ BEST,      "best",      "METRIC" },
	{ JSON,      "json",      NULL },
	{ KEEP,      "keep",      "COUNT" },
	{ METRICS,   "metrics",   "FILE" },
	{ SEED,      "seed",      "SEED" },
	{ SLOTS,     "slots",     NULL },
	{ TOLERANCE, "tolerance", "DIFFERENCE" },
	{ ANYWHERE,  "vocab-anywhere", NULL },
	{ 0 }
};

static struct {
	const char *model, *best, *metrics;
	bool json, slots, anywhere;
	uint64_t keep, seed;
	double tolerance;
} o;

static void
print(struct text *text)
{
	if (text->size > 0)
		fwrite(text->data, 1, text->size, stdout); /* see cli_end() */
	text_release(text);
}

/* Each function returns the status to end with, or -1 for a failure. */
static void
warn(const char *text)
{
	log_warn("%s", text);
}

static int
run_ls(char **operand, struct fail *f)
{
	struct text text = { 0 };
	const int r = describe_folder(operand[0], o.json, warn, &text, f);

	print(&text);
	return r;
}

static int
run_show(char **operand, struct fail *f)
{
	struct checkpoint *c = checkpoint_choose(operand[0], false, f);
	struct text text = { 0 };

	if (!c)
		return -1;
	describe_checkpoint(c, o.json, &text);
	checkpoint_close(c);
	print(&text);
	return 0;
}

static int
run_verify(char **operand, struct fail *f)
{
	int status = 0;

	for (; *operand; operand++) {
		struct checkpoint *c = checkpoint_choose(*operand, true, f);
		const int r = c ? describe_unsound(c, log_error, f) : -1;

		if (r == 0)
			printf("%s: ok\n", checkpoint_path(c));
		checkpoint_close(c);
		if (r != 0)
			status = r < 0 ? (int)f->kind : FAIL_DATA;
		if (r < 0 && status == FAIL_AGAIN)
			return -1;
		if (r < 0)
			log_error("%s", f->text);
	}
	return status;
}

static int
write_out(void *to, const void *bytes, size_t size, struct fail *f)
{
	return fwrite(bytes, 1, size, to) == size ? 0 :
		fail_sys(f, FAIL_IO, "cannot write standard output");
}

static int
run_cat(char **operand, struct fail *f)
{
	struct checkpoint *c = checkpoint_choose(operand[0], false, f);
	int r = c ? convert_array(c, operand[1], write_out, stdout, f) : -1;
	checkpoint_close(c);
	return r;
}

static int
run_diff(char **operand, struct fail *f)
{
	struct checkpoint *a = checkpoint_choose(operand[0], false, f);
	struct checkpoint *b = a ? checkpoint_choose(operand[1], false, f) :
			       NULL;
	struct text text = { 0 };
	int status = b ? describe_difference(a, b, o.slots, o.tolerance, &text,
					     f) : -1;

	print(&text);
	checkpoint_close(b);
	checkpoint_close(a);
	return status;
}

static int
run_convert(char **operand, struct fail *f)
{
	struct checkpoint *c = checkpoint_choose(operand[0], false, f);
	int r = c ? convert_export(c, operand[1], o.slots, f) : -1;
	checkpoint_close(c);
	return r;
}

static int
run_import(char **operand, struct fail *f)
{
	struct model_source model = { 0 };
	int r = model_source_read(&model, o.model, o.anywhere, f) < 0 ? -1 :
		convert_import(&model, operand[0], operand[1], o.seed, warn, f);

	if (r == 0)
		printf("%s/" CONVERT_NAME "\n", operand[1]);
	model_source_release(&model);
	return r;
}

static int
run_prune(char **operand, struct fail *f)
{
	if (!o.best)
		return checkpoint_prune(*operand, UINT64_MAX, o.keep, true, f);
	return rank_prune(operand[0], o.best, o.metrics, o.keep, f);
}

static const struct command {
	const char *name, *operands;	/* what it is, what it wants */
	int least, most;
	const char *takes;		/* options of its own, by name */
	int (*run)(char **operand, struct fail *);
} commands[] = {
	{ "cat",     "CKPT NAME[@SLOT]", 2, 2, "", run_cat },
	{ "convert", "CKPT FILE", 2, 2, "slots", run_convert },
	{ "diff",    "CKPT CKPT", 2, 2, "slots tolerance", run_diff },
	{ "import",  "FILE DIR", 2, 2, "model seed vocab-anywhere",
	  run_import },
	{ "ls",      "DIR", 1, 1, "json", run_ls },
	{ "prune",   "DIR", 1, 1, "best keep metrics", run_prune },
	{ "show",    "CKPT", 1, 1, "json", run_show },
	{ "verify",  "CKPT ...", 1, 1 << 20, "", run_verify },
	{ 0 }
};

static const struct command *
find_command(int argc, char **argv)
{
	const struct command *x = commands;

	if (optind == argc)
		cli_usage("a command is wanted");
	while (x->name && strcmp(x->name, argv[optind]) != 0)
		x++;
	if (!x->name)
		cli_usage("no command '%s'", argv[optind]);
	if (argc - optind - 1 < x->least || argc - optind - 1 > x->most)
		cli_usage("%s: %s wanted", x->name, x->operands);
	return x;
}

static const struct command *
parse(int argc, char **argv)
{
	bool given[CLI_LONG + 8] = { 0 };
	struct cli_common common = { 0 };
	const struct command *x;
	int c;

	while ((c = cli_next(argc, argv, options, &common)) != -1) {
		given[c] = true;
		switch (c) {
		case 'm':       o.model = optarg; break;
		case ANYWHERE:  o.anywhere = true; break;
		case BEST:      o.best = optarg; break;
		case JSON:      o.json = true; break;
		case KEEP:      o.keep = cli_uint(1, 1 << 30); break;
		case METRICS:   o.metrics = optarg; break;
		case SEED:      o.seed = cli_uint(0, UINT64_MAX); break;
		case SLOTS:     o.slots = true; break;
		case TOLERANCE: o.tolerance = cli_float(0, 1e300); break;
		}
	}
	x = find_command(argc, argv);
	for (const struct cli_option *own = options; own->id; own++)
		if (given[own->id] && !strstr(x->takes, own->name))
			cli_usage("--%s: not for %s", own->name, x->name);
	if (x->run == run_import && !o.model)
		cli_usage("import: -m MODEL is wanted");
	if (x->run == run_prune && (o.keep == 0 || !o.best != !o.metrics))
		cli_usage("prune: --keep=COUNT is wanted, and --best with "
			  "--metrics");
	return x;
}

int
main(int argc, char **argv)
{
	struct fail f;

	cli_begin("ps-ckpt", USAGE, CLI_FILTER);
	disk_read_until(&cli_stop);

	const struct command *command = parse(argc, argv);
	const int status = command->run(argv + optind + 1, &f);

	if (status < 0)
		cli_die(&f);
	return cli_end(status);
}
