#include "store/cluster.h"

#include "base/endpoint.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEMBERS	65536	/* of one type */
#define ADDRESS		1024	/* bytes */
#define CLUSTER_MAX	((size_t)16 << 20)	/* of a file */

static const char *const type_names[] = {
	[CLUSTER_CHIEF] = "chief",
	[CLUSTER_WORKER] = "worker",
	[CLUSTER_PS] = "ps",
	[CLUSTER_EVALUATOR] = "evaluator",
	[CLUSTER_RELAY] = "relay",
};

const char *
cluster_type_name(enum cluster_type type)
{
	return type_names[type];
}

static int
find_type(const char *name, enum cluster_type *type, struct fail *f)
{
	if (strcmp(name, "master") == 0)
		name = "chief";
	for (int i = 0; i < CLUSTER_TYPES; i++) {
		if (strcmp(name, type_names[i]) == 0) {
			*type = (enum cluster_type)i;
			return 0;
		}
	}
	return fail(f, FAIL_CONFIG, "'%s' is not a task type: chief, worker, "
		    "ps, evaluator or relay", name);
}

/* ---- the jobs ---- */

static int
add_member(struct cluster_job *job, uint64_t index, const json_t *address,
	   struct fail *f)
{
	const char *text = json_string_value(address);
	char endpoint[ADDRESS];

	if (!text)
		return fail(f, FAIL_CONFIG, "an address is a string, "
			    "\"HOST:PORT\"");
	if (index >= MAX_MEMBERS)
		return fail(f, FAIL_CONFIG, "more than %d members",
			    MAX_MEMBERS);
	snprintf(endpoint, sizeof(endpoint), "%s%.1000s",
		 strstr(text, "://") ? "" : "tcp://", text);
	if (endpoint_check(endpoint, ENDPOINT_CONNECT, f) < 0) {
		f->kind = FAIL_CONFIG;
		return -1;
	}
	if (index >= job->count) {
		job->endpoint = mem_resize(job->endpoint, index + 1,
					   sizeof(*job->endpoint));
		while (job->count <= index)
			job->endpoint[job->count++] = NULL;
	}
	if (job->endpoint[index])
		return fail(f, FAIL_CONFIG, "given twice");
	job->endpoint[index] = mem_text(endpoint);
	return 0;
}

static int
read_list(struct cluster_job *job, const char *name, const json_t *list,
	  struct fail *f)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (add_member(job, i, json_array_get(list, i), f) < 0)
			return fail_at(f, "%s %zu", name, i);
	return 0;
}

static int
read_map(struct cluster_job *job, const char *name, json_t *map,
	 struct fail *f)
{
	const char *key;
	json_t *address;
	uint64_t index;

	json_object_foreach(map, key, address) {
		if (!text_uint(key, &index))
			return fail(f, FAIL_CONFIG, "%s: '%s' is not an index",
				    name, key);
		if (add_member(job, index, address, f) < 0)
			return fail_at(f, "%s %s", name, key);
	}
	return 0;
}

static int
read_jobs(struct cluster *c, json_t *jobs, struct fail *f)
{
	enum cluster_type type = CLUSTER_CHIEF;
	const char *name;
	json_t *members;

	json_object_foreach(jobs, name, members) {
		if (find_type(name, &type, f) < 0)
			return -1;
		if (type == CLUSTER_EVALUATOR)
			continue;	/* nobody dials an evaluator */
		if (json_is_array(members)
		    ? read_list(&c->job[type], name, members, f) < 0
		    : read_map(&c->job[type], name, members, f) < 0)
			return -1;
		if (!json_is_array(members) && !json_is_object(members))
			return fail(f, FAIL_CONFIG, "%s: a list of addresses "
				    "is wanted", name);
	}
	return 0;
}

/* A sparse cluster, or that of an evaluator, may lack members that its reader
   need not know. */
static int
check_jobs(const struct cluster *c, bool sparse, struct fail *f)
{
	sparse = sparse || (c->has_task && c->type == CLUSTER_EVALUATOR);
	if (c->job[CLUSTER_CHIEF].count > 1)
		return fail(f, FAIL_CONFIG, "there is more than one chief");
	if (!sparse && c->job[CLUSTER_WORKER].count == 0)
		return fail(f, FAIL_CONFIG, "there is no worker");
	if (!sparse && c->job[CLUSTER_PS].count == 0)
		return fail(f, FAIL_CONFIG, "there is no ps");
	return 0;
}

/* ---- the task ---- */

/* The index may be a number, or a string of digits. */
static int
read_task(struct cluster *c, const json_t *task, struct fail *f)
{
	const char *type = json_string_value(json_object_get(task, "type"));
	const json_t *index = json_object_get(task, "index");

	if (!type)
		return fail(f, FAIL_CONFIG, "\"type\" is missing");
	if (find_type(type, &c->type, f) < 0)
		return -1;
	c->index = (uint64_t)json_integer_value(index);
	if (index && (json_is_string(index)
		      ? !text_uint(json_string_value(index), &c->index)
		      : !json_is_integer(index) ||
			json_integer_value(index) < 0))
		return fail(f, FAIL_CONFIG, "\"index\" is not a number from "
			    "0 up");
	c->has_task = true;
	return 0;
}

/* Parse "TYPE:INDEX"; "TYPE" stands for "TYPE:0". */
static int
parse_task(struct cluster *c, const char *text, struct fail *f)
{
	const size_t n = strcspn(text, ":");
	char *name = mem_text_n(text, n);
	int done = find_type(name, &c->type, f);

	c->index = 0;
	if (done == 0 && text[n] && !text_uint(text + n + 1, &c->index))
		done = fail(f, FAIL_USAGE, "'%s' is not TYPE:INDEX", text);
	free(name);
	if (done < 0) {
		f->kind = FAIL_USAGE;
		return fail_at(f, "-t");
	}
	c->has_task = true;
	return 0;
}

/* Check that the task is a member.  An evaluator is not in the jobs, so it may
   have any index. */
static int
check_task(const struct cluster *c, struct fail *f)
{
	const size_t count = c->job[c->type].count;

	if (!c->has_task || !c->has_jobs || c->type == CLUSTER_EVALUATOR ||
	    (c->type == CLUSTER_CHIEF && c->index == 0) ||
	    c->index < count)
		return 0;
	return fail(f, FAIL_CONFIG, "there is no %s %ju among %zu",
		    type_names[c->type], (uintmax_t)c->index, count);
}

/* ---- the whole text ---- */

/* The file may be a pipe that never ends, so its size is limited. */
static int
read_file(const char *path, struct text *text, struct fail *f)
{
	FILE *file = fopen(path, "re");
	char block[4096];
	size_t n;
	int r = 0;

	if (!file)
		return fail_sys(f, FAIL_NOINPUT, "cannot open");
	while ((n = fread(block, 1, sizeof(block), file)) > 0 &&
	       text->size <= CLUSTER_MAX)
		text_add_bytes(text, block, n);
	if (ferror(file))
		r = fail_sys(f, FAIL_IO, "cannot read");
	else if (text->size > CLUSTER_MAX)
		r = fail(f, FAIL_CONFIG, "more than %zu MiB",
			 CLUSTER_MAX >> 20);
	fclose(file);
	return r;
}

static json_t *
load_json(const char *source, bool is_file, struct fail *f)
{
	struct text text = { 0 };
	json_error_t error;
	json_t *root = NULL;

	if (!is_file)
		text_add_bytes(&text, source, strlen(source));
	if (!is_file || read_file(source, &text, f) == 0) {
		const size_t mark = text_mark(text.data, text.size);

		root = json_read(text.size ? text.data + mark : "",
				 text.size - mark, JSON_REJECT_DUPLICATES,
				 &error);
		if (!root)
			fail(f, FAIL_CONFIG, "line %d: no JSON: %s",
			     error.line, error.text);
	}
	text_release(&text);
	return root;
}

/* In a sparse cluster a ps gets no address of a ps but its own, as the first
   one of a list: move that to its index. */
static void
move_sparse_ps(struct cluster *c)
{
	struct cluster_job *ps = &c->job[CLUSTER_PS];

	if (!c->has_task || c->type != CLUSTER_PS || c->index == 0 ||
	    c->index >= MAX_MEMBERS || ps->count != 1)
		return;
	ps->count = c->index + 1;
	ps->endpoint = mem_resize(ps->endpoint, ps->count,
				  sizeof(*ps->endpoint));
	memset(ps->endpoint + 1, 0, c->index * sizeof(*ps->endpoint));
	ps->endpoint[c->index] = ps->endpoint[0];
	ps->endpoint[0] = NULL;
}

static int
read_root(struct cluster *c, json_t *root, bool own_task, struct fail *f)
{
	json_t *jobs = json_object_get(root, "cluster");
	json_t *task = json_object_get(root, "task");
	const bool sparse = !jobs;

	if (task && own_task && read_task(c, task, f) < 0)
		return fail_at(f, "task");
	if (!jobs)
		jobs = json_object_get(root, "sparseCluster");
	if (!jobs && c->has_task && c->type == CLUSTER_EVALUATOR)
		return 0;
	if (!json_is_object(jobs))
		return fail(f, FAIL_CONFIG, "there is no object \"cluster\"");
	if (read_jobs(c, jobs, f) < 0 || check_jobs(c, sparse, f) < 0)
		return fail_at(f, sparse ? "sparseCluster" : "cluster");
	c->has_jobs = true;
	if (sparse)
		move_sparse_ps(c);
	return 0;
}

int
cluster_read(struct cluster *c, const char *source, const char *task,
	     struct fail *f)
{
	const char *where = source, *variable = getenv("TF_CONFIG");
	bool is_file = source && source[strspn(source, " \t\n")] != '{';
	int done = 0;

	*c = (struct cluster){ 0 };
	if (source && !is_file)
		where = "-f";
	if (!source && variable && *variable) {
		source = variable;
		where = "TF_CONFIG";
	}
	if (task && parse_task(c, task, f) < 0)
		return -1;
	if (source) {
		json_t *root = load_json(source, is_file, f);

		done = root ? read_root(c, root, !task, f) : -1;
		json_decref(root);
		if (done == 0)
			done = check_task(c, f);
		if (done < 0)
			fail_at(f, "%s", where);
		c->where = where;
	}
	if (done < 0)
		cluster_release(c);
	return done;
}

void
cluster_release(struct cluster *c)
{
	for (size_t i = 0; i < CLUSTER_TYPES; i++) {
		for (size_t k = 0; k < c->job[i].count; k++)
			free(c->job[i].endpoint[k]);
		free(c->job[i].endpoint);
	}
	*c = (struct cluster){ 0 };
}

int
cluster_needs_chief(const struct cluster *c, const char *ways, struct fail *f)
{
	if (!c->has_jobs || cluster_endpoint(c, CLUSTER_CHIEF, 0))
		return 0;
	return fail(f, FAIL_CONFIG, "%s: cluster: there is no chief, which is "
		    "the coordinator: add it, or say %s", c->where, ways);
}

const char *
cluster_endpoint(const struct cluster *c, enum cluster_type type,
		 uint64_t index)
{
	return index < c->job[type].count ? c->job[type].endpoint[index]
		: NULL;
}
