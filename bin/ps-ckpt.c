/*
 * ps-ckpt - list, show, verify, compare, convert and prune checkpoints, without
 * a cluster: each command is one function, and a row in ckpt_options.
 */
#include "base/log.h"
#include "base/text.h"
#include "prog/ckpt_options.h"
#include "store/checkpoint.h"
#include "store/convert.h"
#include "store/describe.h"
#include "store/disk.h"
#include "store/prune_best.h"

#include <stdio.h>

static struct ckpt_settings o;

static void
print(struct text *text)
{
	if (text->size > 0)
		fwrite(text->data, 1, text->size, stdout); /* see cli_end() */
	text_release(text);
}

/* Each run_ function returns the status to exit with, or -1 for a failure. */
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
	int r = model_source_read(&model, o.model, &o.definitions, o.anywhere,
				  f) < 0 ? -1 :
		convert_import(&model, operand[0], operand[1], o.seed, warn, f);

	if (r == 0)
		printf("%s/" CONVERT_NAME "\n", operand[1]);
	model_source_release(&model);
	definitions_release(&o.definitions);
	return r;
}

static int
run_prune(char **operand, struct fail *f)
{
	if (!o.best)
		return checkpoint_prune(*operand, UINT64_MAX, o.keep, true, f);
	return prune_best(operand[0], o.best, o.metrics, o.keep, f);
}

static int (*const run[CKPT_COMMANDS])(char **operand, struct fail *) = {
	[CKPT_CAT] = run_cat,
	[CKPT_CONVERT] = run_convert,
	[CKPT_DIFF] = run_diff,
	[CKPT_IMPORT] = run_import,
	[CKPT_LS] = run_ls,
	[CKPT_PRUNE] = run_prune,
	[CKPT_SHOW] = run_show,
	[CKPT_VERIFY] = run_verify,
};

int
main(int argc, char **argv)
{
	struct fail f;

	cli_begin(&ckpt_program);
	disk_read_until(&cli_stop);

	ckpt_settings_read(&o, argc, argv);

	const int status = run[o.command](o.operand, &f);

	if (status < 0)
		cli_die(&f);
	return cli_end(status);
}
