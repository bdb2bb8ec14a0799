#include "store/prune_best.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/checkpoint.h"
#include "store/disk.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX	((size_t)256 << 20)

struct score {
	const char *name;		/* borrowed from the list */
	uint64_t step;
	double value;			/* high is good; NaN: the worst */
	bool judged;			/* a line is about it */
	bool needed;			/* a run will resume from it */
};

static bool
lower_is_better(const char *metric)
{
	return strstr(metric, "loss") || strstr(metric, "error") ||
	       strstr(metric, "crossentropy");
}

/* Read a line.  One about another metric, or about a checkpoint that is not in
   the list, is ignored; one that is not JSON is an error. */
static int
read_line(struct score *score, size_t n, const char *line,
	  const char *metric, struct fail *f)
{
	json_error_t error;
	json_t *o = json_read(line, strlen(line),
			      JSON_REJECT_DUPLICATES, &error);
	const char *path = json_string_value(json_object_get(o, "checkpoint"));
	const json_t *metrics = json_object_get(o, "metrics");
	const json_t *value = json_object_get(metrics, metric);
	const char *slash;

	if (!json_is_object(o)) {
		json_decref(o);
		return fail(f, FAIL_DATA, "no JSON object: %.100s", line);
	}
	if (!value)		/* the loss is beside the metrics */
		value = json_object_get(o, metric);
	slash = path ? strrchr(path, '/') : NULL;
	for (size_t i = 0; path && value && i < n; i++)
		if (strcmp(score[i].name, slash ? slash + 1 : path) == 0) {
			const double x = json_is_number(value) ?
					 json_number_value(value) : NAN;

			score[i].value = lower_is_better(metric) ? -x : x;
			score[i].judged = true;
		}
	json_decref(o);
	return 0;
}

static int
read_scores(struct score *score, size_t n, const char *path,
	    const char *metric, struct fail *f)
{
	struct text text = { 0 };
	int r = disk_read_text(AT_FDCWD, path, FILE_MAX, &text, f);
	size_t number = 0;
	char *line, *next;

	text_add_bytes(&text, "", 1);
	for (line = text.data; r == 0 && *line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		number++;
		if (*line && read_line(score, n, line, metric, f) < 0)
			r = fail_at(f, "%s:%zu", path, number);
	}
	text_release(&text);
	return r;
}

/*
 * Find the checkpoint from which a run would resume: the newest whole one.  It
 * is not needed if it is marked as the last of its run, and if the folder has
 * no journal, so that no other run has begun there since.
 */
static int
find_needed(struct score *score, size_t n, const char *dir, struct fail *f)
{
	char *journal = disk_path("%s/" JOURNAL_FILE, dir);
	const bool run = disk_is_there(journal);
	struct checkpoint *c = NULL;
	int r = 0;

	free(journal);
	for (size_t i = n; r == 0 && !c && i-- > 0;) {
		char *path = disk_path("%s/%s", dir, score[i].name);

		c = checkpoint_open(path, true, f);
		if (c)
			score[i].needed = run || !checkpoint_info(c)->final;
		else if (f->kind == FAIL_AGAIN)
			r = -1;
		free(path);
	}
	checkpoint_close(c);
	return r;
}

/* Order scores: best first, of equal ones the newer first, those without a line
   last. */
static int
compare(const void *left, const void *right)
{
	const struct score *a = left, *b = right;

	if (a->judged != b->judged)
		return a->judged ? -1 : 1;
	if (isnan(a->value) != isnan(b->value))
		return isnan(a->value) ? 1 : -1;
	if (a->value > b->value || a->value < b->value)
		return a->value > b->value ? -1 : 1;
	return a->step > b->step ? -1 : a->step < b->step;
}

/* Remove all after the first keep whole ones, except for the one needed. */
static int
remove_rest(const struct score *score, size_t n, const char *dir, size_t keep,
	    struct fail *f)
{
	struct fail why;
	size_t good = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		int whole = 0;

		if (good < keep)
			whole = checkpoint_is_whole(dir, score[i].name, true,
						    &why);
		else if (!score[i].needed)
			r = checkpoint_remove(dir, score[i].name, f);
		if (whole < 0)
			r = fail(f, why.kind, "%s", why.text);
		else
			good += (size_t)whole;
	}
	return r;
}

int
prune_best(const char *dir, const char *metric, const char *path, size_t keep,
	   struct fail *f)
{
	struct checkpoint_list list;
	struct score *score;
	size_t judged = 0;
	int r;

	if (checkpoint_list(&list, dir, f) < 0)
		return -1;
	score = mem_alloc(list.count, sizeof(*score));
	for (size_t i = 0; i < list.count; i++)
		score[i] = (struct score){ .name = list.name[i],
					   .step = list.step[i] };
	r = find_needed(score, list.count, dir, f);
	if (r == 0)
		r = read_scores(score, list.count, path, metric, f);
	qsort(score, list.count, sizeof(*score), compare);
	while (judged < list.count && score[judged].judged)
		judged++;
	if (r == 0 && judged == 0 && list.count > 0)
		r = fail(f, FAIL_DATA, "%s: says nothing of '%s' for any "
			 "checkpoint in %s", path, metric, dir);
	if (r == 0)
		r = remove_rest(score, judged, dir, keep, f);
	free(score);
	checkpoint_list_free(&list);
	return r;
}
