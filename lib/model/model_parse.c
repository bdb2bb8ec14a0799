/*
 * model_parse - make a model from its file: read the lines, and add what each
 * one says.
 */
#include "model/model.h"

#include "base/mem.h"
#include "model/build.h"
#include "model/graph.h"

#include <string.h>

struct model *
model_parse(const struct model_source *source, struct fail *f)
{
	const struct model_file *file = source->file;
	struct model *m;

	if (source->count == 0) {
		fail(f, FAIL_CONFIG, "there is no model file");
		return NULL;
	}
	/* The text may come from a file, a message or a checkpoint. */
	if (file->size > MODEL_BYTES) {
		fail(f, FAIL_CONFIG, "%s is larger than %zu bytes", file->name,
		     MODEL_BYTES);
		return NULL;
	}
	m = mem_alloc(1, sizeof(*m));
	m->source = source;
	for (size_t i = 1; i < source->count; i++)
		names_put(&m->file_named, source->file[i].name,
			  strlen(source->file[i].name), i);
	if (strlen(file->text) != file->size) {
		fail(f, FAIL_CONFIG, "%s is not a text", file->name);
		goto bad;
	}
	if (statements_read(&m->statements, file->name, file->text, f) ||
	    build_all(m, f))
		goto bad;
	m->source = NULL;
	names_release(&m->file_named);
	return m;
bad:
	model_free(m);
	return NULL;
}
