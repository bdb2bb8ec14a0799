#include "prog/checkpoint_publisher.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/meaning.h"
#include "store/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
warn(const char *text)
{
	log_warn("%s", text);
}

/*
 * Check that the checkpoint has every variable of the model, in the same shape.
 */
static int
check_model(const struct checkpoint *from, const struct model *model,
	    struct fail *f)
{
	size_t variables, entries, j;
	const struct variable *v = model_variables(model, &variables);
	const struct checkpoint_entry *e = checkpoint_entries(from, &entries);
	char here[SHAPE_TEXT], there[SHAPE_TEXT];

	for (size_t i = 0; i < variables; i++) {
		if (v[i].hashed)
			continue;	/* the table may have no rows */
		for (j = 0; j < entries; j++)
			if (strcmp(e[j].variable, v[i].name) == 0 &&
			    *e[j].slot == '\0')
				break;
		if (j == entries)
			return fail(f, FAIL_DATA, "%s is of another model: "
				    "it has no %s (--restore=none begins "
				    "anew)", checkpoint_path(from), v[i].name);
		if (!shape_equal(e[j].shape, v[i].shape))
			return fail(f, FAIL_DATA, "%s is of another model: "
				    "its %s is %s, not %s",
				    checkpoint_path(from), v[i].name,
				    shape_text(e[j].shape, there),
				    shape_text(v[i].shape, here));
	}
	return 0;
}

/*
 * Check that rows and classes stand for the same things as before.  If they did
 * not, the values learnt for one word would be used for another, and no number
 * would show it.
 */
static int
check_meaning(const struct checkpoint_publisher *k,
	      const struct checkpoint *from, const struct model *old,
	      const struct model *model, struct fail *f)
{
	struct text what = { 0 };
	int r = 0;

	meaning_compare(old, model, &what);
	if (what.size > 0 && k->as_is)
		log_warn("%s: restored, though it was trained with other "
			 "inputs: %s",
			 checkpoint_path(from), what.data);
	else if (what.size > 0)
		r = fail(f, FAIL_CONFIG, "%s: was trained with other inputs, "
			 "so its rows would stand for other things: %.200s; "
			 "restore those inputs, or begin anew with "
			 "--restore=none, or say --restore-as-is",
			 checkpoint_path(from),
			 what.data);
	text_release(&what);
	return r;
}

/*
 * Return whether a variable has a slot of this name, of an optimizer that can
 * resume with it.
 */
static bool
has_slot(const struct variable *v, const char *name,
	 const struct optimizer *of)
{
	const struct optimizer *o = v->optimizer;
	bool has = false;

	for (size_t i = 0; o && i < o->slots && !has; i++)
		has = strcmp(o->slot_name[i], name) == 0;
	return has && optimizer_can_resume(o, of);
}

/* List the slots of a variable that the other model's variable lacks. */
static void
list_missing_slots(struct text *to, const struct variable *of,
		   const struct variable *other)
{
	const struct optimizer *o = of->optimizer;

	for (size_t i = 0; o && i < o->slots; i++)
		if (!has_slot(other, o->slot_name[i], o))
			text_add(to, "%s%s@%s", to->size > 0 ? ", " : "",
				 of->name, o->slot_name[i]);
}

/* List the variables and slots of one model that the other one lacks. */
static void
list_missing(struct text *to, const struct model *of,
	     const struct model *other)
{
	size_t count;
	const struct variable *v = model_variables(of, &count), *w;

	text_reset(to);
	for (size_t i = 0; i < count; i++)
		if ((w = model_variable(other, v[i].name)))
			list_missing_slots(to, &v[i], w);
		else
			text_add(to, "%s%s", to->size > 0 ? ", " : "",
				 v[i].name);
}

/* How a schedule that the checkpoint does not have begins. */
enum beginning { ANEW, WITH_STEPS, WITH_UPDATES };

/*
 * Return whether the variable has a schedule that begins so: anew, because its
 * optimizer does; or one that differs from the old schedule, but continues at
 * the old number of steps, or of updates, if these are fewer.
 */
static bool
has_new_schedule(const struct variable *v, const struct variable *was,
		 enum beginning how)
{
	if (!v->optimizer || !was || !was->optimizer ||
	    schedule_constant(&v->optimizer->schedule))
		return false;
	if (!optimizer_can_resume(v->optimizer, was->optimizer))
		return how == ANEW;
	return how == (v->partly || was->optimizer->frozen ? WITH_UPDATES :
		       WITH_STEPS) &&
		!schedule_same(&v->optimizer->schedule,
			       &was->optimizer->schedule);
}

/* Return whether the variable has a "local" line with a schedule that is new;
   this counts the steps of the run. */
static bool
has_new_local(const struct variable *v, const struct variable *was,
	      enum beginning how)
{
	return how == WITH_STEPS && v->local && was &&
		!schedule_constant(&v->local->optimizer.schedule) &&
		!(was->local &&
		  schedule_same(&v->local->optimizer.schedule,
				&was->local->optimizer.schedule));
}

static void
list_schedules(struct text *to, const struct model *model,
	       const struct model *old, enum beginning how)
{
	size_t count;
	const struct variable *v = model_variables(model, &count);

	text_reset(to);
	for (size_t i = 0; i < count; i++) {
		const struct variable *was = model_variable(old, v[i].name);

		if (has_new_schedule(&v[i], was, how))
			text_add(to, "%s%s", to->size > 0 ? ", " : "",
				 v[i].name);
		if (has_new_local(&v[i], was, how))
			text_add(to, "%s%s (local)", to->size > 0 ? ", " : "",
				 v[i].name);
	}
}

/* Warn of differences that do not prevent the restoring. */
static void
warn_of_changes(const struct checkpoint *from, const struct model *old,
		const struct model *model)
{
	const char *path = checkpoint_path(from);
	struct text names = { 0 };

	list_missing(&names, old, model);
	if (names.size > 0)
		log_warn("%s: not restored, because the model does not have "
			 "them: %s", path,
			 names.data);
	list_missing(&names, model, old);
	if (names.size > 0)
		log_warn("%s: starting from initial values, because the "
			 "checkpoint does not have them: %s", path,
			 names.data);
	list_schedules(&names, model, old, ANEW);
	if (names.size > 0)
		log_warn("%s: the schedules of these start anew, because their "
			 "optimizers have changed: %s", path, names.data);
	list_schedules(&names, model, old, WITH_STEPS);
	if (names.size > 0)
		log_warn("%s: the schedules of these have changed, and "
			 "continue at step %ju: %s", path,
			 (uintmax_t)checkpoint_info(from)->step, names.data);
	list_schedules(&names, model, old, WITH_UPDATES);
	if (names.size > 0)
		log_warn("%s: the schedules of these have changed, and "
			 "continue with the updates so far: %s", path,
			 names.data);
	text_release(&names);
}

/*
 * Compare the model of the checkpoint with the present one.  An old model that
 * is not valid any more cannot be compared.
 */
static int
compare_models(const struct checkpoint_publisher *k,
	       const struct checkpoint *from, const struct model *model,
	       struct fail *f)
{
	struct fail ignored;
	struct model *old = model_parse(checkpoint_model(from), &ignored);
	int r = old ? check_meaning(k, from, old, model, f) : 0;

	if (old && r == 0)
		warn_of_changes(from, old, model);
	model_free(old);
	return r;
}

/* NULL: it has none of this name. */
static const char *
find_value(const struct model_source *source, const char *name)
{
	for (size_t i = 0; i < source->values; i++)
		if (strcmp(source->value[i].name, name) == 0)
			return source->value[i].value;
	return NULL;
}

/* A name that is new, or is gone, is a model that was written anew. */
static void
warn_of_values(const struct checkpoint *from, const struct model_source *now)
{
	const struct model_source *old = checkpoint_model(from);

	for (size_t i = 0; i < old->values; i++) {
		const struct model_value *v = &old->value[i];
		const char *value = find_value(now, v->name);

		if (value && strcmp(value, v->value) != 0)
			log_warn("%s: saved with -D %s=%s; now %s=%s",
				 checkpoint_path(from), v->name, v->value,
				 v->name, value);
	}
}

static struct checkpoint *
open_restored(const struct checkpoint_publisher *k, const char *restore,
	      struct fail *f)
{
	struct checkpoint *c = NULL;
	char *name, *path;

	if (strcmp(restore, "latest") == 0)
		return checkpoint_newest(k->dir, warn, f);
	/* The servers are sent names, never paths. */
	name = disk_base(restore);
	path = disk_path("%s/%s", k->dir, name);
	if (strchr(restore, '/') && disk_is_there(restore) &&
	    !disk_is_same(restore, path))
		fail(f, FAIL_USAGE, "--restore: %s is not in %s, where the "
		     "servers look", restore, k->dir);
	else
		c = checkpoint_open(path, true, f);
	free(path);
	free(name);
	return c;
}

static void
set_restored(struct coord_options *o, const struct checkpoint *from)
{
	snprintf(o->restore, sizeof(o->restore), "%.60s",
		 checkpoint_folder(from));
	o->restored = *checkpoint_info(from);
	if (o->restored.sampler)
		o->restored.sampler = mem_text(o->restored.sampler);
}

static int
check_restored(const struct checkpoint_publisher *k, const char *restore,
	       const struct model *model, struct coord_options *o,
	       struct fail *f)
{
	struct checkpoint *from = open_restored(k, restore, f);
	int status;

	if (!from)
		return -1;
	status = check_model(from, model, f);
	if (status == 0)
		status = compare_models(k, from, model, f);
	if (status == 0) {
		warn_of_values(from, k->source);
		set_restored(o, from);
	}
	checkpoint_close(from);
	return status;
}

static void
find_newer(struct checkpoint_publisher *k, const struct checkpoint_list *list,
	   uint64_t step)
{
	const size_t last = list->count - 1;

	if (list->count > 0 && list->step[last] > step)
		snprintf(k->ahead, sizeof(k->ahead), "%s", list->name[last]);
}

/*
 * See the header.  While a checkpoint of a later step is there, the next start
 * would begin with that one.
 */
void
publisher_warn(const struct checkpoint_publisher *k, const char *restore,
	       const struct coord_options *o, const char *journal)
{
	const bool latest = strcmp(restore, "latest") == 0;

	if (journal && k->dir && !latest)
		log_warn("--restore=%s is ignored: the run in %s did not end, "
			 "and is resumed; remove it to begin another",
			 restore, journal);
	else if (!journal && *k->ahead && latest)
		log_warn("%s is incomplete: the run starts from %s, the newest "
			 "complete one", k->ahead, o->restore);
	else if (!journal && *k->ahead)
		log_warn("%s has checkpoints of later steps, up to %s, which "
			 "stays the newest until this run has passed it: "
			 "remove them if they are not wanted", k->dir,
			 k->ahead);
}

int
publisher_probe(const struct checkpoint_publisher *k, struct fail *f)
{
	return k->dir ? checkpoint_probe(k->dir, f) : 0;
}

int
publisher_begin(struct checkpoint_publisher *k, const char *restore,
		const struct model *model, struct coord_options *o,
		struct fail *f)
{
	const bool latest = strcmp(restore, "latest") == 0;
	const bool none = strcmp(restore, "none") == 0;
	struct checkpoint_list list;
	int status = 0;

	if (!k->dir)
		return 0;
	checkpoint_sweep(k->dir);	/* no server writes before it is
					   asked */
	k->task = task_new();
	o->checkpoint = true;
	if (checkpoint_list(&list, k->dir, f) < 0)
		return -1;
	if (!none && !(latest && list.count == 0))
		status = check_restored(k, restore, model, o, f);
	if (status == 0)
		find_newer(k, &list, o->restored.step);
	checkpoint_list_free(&list);
	return status;
}

/* Keep at least two, since the newest may turn out to be damaged. */
static size_t
keep_count(const struct checkpoint_publisher *k)
{
	return k->keep == 1 ? 2 : k->keep;
}

/*
 * Remove old checkpoints.  They are counted from the newest one of this run: if
 * it restored an older step, checkpoints of later steps do not count, and stay.
 */
static int
prune(const struct checkpoint_publisher *k, uint64_t newest, struct fail *f)
{
	return checkpoint_prune(k->dir, newest, keep_count(k), false, f);
}

/*
 * Make room after a checkpoint failed and while no server writes: the disk may
 * be full of remains and old checkpoints.
 */
static void
free_space(const struct checkpoint_publisher *k, uint64_t newest)
{
	struct fail why;

	checkpoint_sweep(k->dir);
	if (prune(k, newest, &why) < 0)
		log_warn("%s", why.text);
}

static void
publish(void *self)
{
	struct checkpoint_publisher *k = self;
	const struct coord_job *job = k->job;

	k->why_not_pruned.kind = 0;
	k->status = job->again ?
		checkpoint_finish(k->dir, job->name, &k->why) :
		checkpoint_publish(k->dir, job->name, &job->info, k->source,
				   job->part, job->parts, &k->why);
	if (k->status < 0 && k->why.kind == FAIL_NOINPUT)
		fail_at(&k->why, "what the servers wrote is not in %s: is "
			"that the directory of their -d?", k->dir);
	if (k->status < 0)
		return;
	prune(k, job->info.step, &k->why_not_pruned);
	k->status = failpoint("publish-told", &k->why);
}

static void
end_publish(struct checkpoint_publisher *k, struct coord *coord, uint64_t now)
{
	if (!task_ended(k->task))
		return;
	if (k->why_not_pruned.kind)
		log_warn("%s", k->why_not_pruned.text);
	coord_published(coord, k->status < 0 ? &k->why : NULL, now);
}

void
publisher_run(struct checkpoint_publisher *k, struct coord *coord,
	      uint64_t now)
{
	end_publish(k, coord, now);
	if (task_busy(k->task))
		return;
	if (coord_needs_cleanup(coord))
		free_space(k, coord_newest(coord));
	k->job = coord_job(coord);
	if (k->job)
		task_begin(k->task, publish, k);
}

bool
publisher_busy(const struct checkpoint_publisher *k)
{
	return task_busy(k->task);
}

int
publisher_fd(const struct checkpoint_publisher *k)
{
	return task_fd(k->task);
}

void
publisher_release(struct checkpoint_publisher *k)
{
	task_free(k->task);
	k->task = NULL;
}
