#include "prog/ckpt_options.h"

#include <string.h>

enum { ANYWHERE = CLI_LONG, BEST, JSON, KEEP, METRICS, SEED, SLOTS, TOLERANCE,
       IDS };

static const struct cli_option options[] = {
	{ 'D', "define", "NAME=VALUE",
	  "import: the value of ${NAME} in the model" },
	{ 'm', "model", "MODEL",
	  "import: the model file, or - for standard input" },
	{ BEST, "best", "METRIC",
	  "prune: keep the best by this metric" },
	{ JSON, "json", NULL,
	  "ls, show: print JSON, an object a line" },
	{ KEEP, "keep", "COUNT",
	  "prune: how many checkpoints to keep" },
	{ METRICS, "metrics", "FILE",
	  "prune: a file of JSON lines with the metrics" },
	{ SEED, "seed", "SEED",
	  "import: seed of initial values (default 0)" },
	{ SLOTS, "slots", NULL,
	  "convert, diff: the optimizer's slots, too" },
	{ TOLERANCE, "tolerance", "DIFFERENCE",
	  "diff: the largest difference that counts as equal (default 0)" },
	{ ANYWHERE, "vocab-anywhere", NULL,
	  "import: allow vocab_file= outside of the model's folder" },
	{ 0 }
};

static const struct cli_command commands[] = {
	[CKPT_CAT] = {
		"cat", "CKPT NAME[@SLOT]", 2, 2, "",
		"print one array as a .npy file" },
	[CKPT_CONVERT] = {
		"convert", "CKPT FILE", 2, 2, "slots",
		"write all variables as .npz or .safetensors" },
	[CKPT_DIFF] = {
		"diff", "CKPT CKPT", 2, 2, "slots tolerance",
		"print how much each variable differs" },
	[CKPT_IMPORT] = {
		"import", "FILE DIR", 2, 2, "define model seed "
		"vocab-anywhere",
		"make a checkpoint from .npz or .safetensors" },
	[CKPT_LS] = {
		"ls", "DIR", 1, 1, "json",
		"list the checkpoints of a folder" },
	[CKPT_PRUNE] = {
		"prune", "DIR", 1, 1, "best keep metrics",
		"remove old checkpoints from a folder" },
	[CKPT_SHOW] = {
		"show", "CKPT", 1, 1, "json",
		"print what a checkpoint holds" },
	[CKPT_VERIFY] = {
		"verify", "CKPT ...", 1, 1 << 20, "",
		"read all of a checkpoint and compare all hashes" },
	[CKPT_COMMANDS] = { 0 }
};

const struct cli_program ckpt_program = {
	.name = "ps-ckpt", .kind = CLI_FILTER, .options = options,
	.operands = "command operand ...", .commands = commands
};

static enum ckpt_command
find_command(int argc, char **argv)
{
	const struct cli_command *x = commands;

	if (optind == argc)
		cli_usage("a command is wanted");
	while (x->name && strcmp(x->name, argv[optind]) != 0)
		x++;
	if (!x->name)
		cli_no_command(argv[optind]);
	if (argc - optind - 1 < x->least || argc - optind - 1 > x->most)
		cli_usage("%s: %s wanted", x->name, x->operands);
	return (enum ckpt_command)(x - commands);
}

/* Check that the options are for this command, and that none is missing. */
static void
check(const struct ckpt_settings *s, const bool *given)
{
	const struct cli_command *x = &commands[s->command];

	for (const struct cli_option *own = options; own->id; own++)
		if (given[own->id] && !strstr(x->takes, own->name))
			cli_usage("--%s: not for %s", own->name, x->name);
	if (s->command == CKPT_IMPORT && !s->model)
		cli_usage("import: -m MODEL is wanted");
	if (s->command == CKPT_PRUNE &&
	    (s->keep == 0 || !s->best != !s->metrics))
		cli_usage("prune: --keep=COUNT is wanted, and --best with "
			  "--metrics");
}

void
ckpt_settings_read(struct ckpt_settings *s, int argc, char **argv)
{
	struct cli_common common = { 0 };
	bool given[IDS] = { 0 };
	struct fail f;
	int c;

	*s = (struct ckpt_settings){ 0 };
	while ((c = cli_next(argc, argv, &common)) != -1) {
		given[c] = true;
		switch (c) {
		case 'D':
			if (definitions_add(&s->definitions, optarg, &f) < 0)
				cli_usage("-D: %s", f.text);
			break;
		case 'm':	s->model = optarg; break;
		case ANYWHERE:	s->anywhere = true; break;
		case BEST:	s->best = optarg; break;
		case JSON:	s->json = true; break;
		case KEEP:	s->keep = cli_uint(1, 1 << 30); break;
		case METRICS:	s->metrics = optarg; break;
		case SEED:	s->seed = cli_uint(0, UINT64_MAX); break;
		case SLOTS:	s->slots = true; break;
		case TOLERANCE:	s->tolerance = cli_float(0, 1e300); break;
		}
	}
	s->command = find_command(argc, argv);
	s->operand = argv + optind + 1;
	check(s, given);
}
