#include "prog/ended.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS	200

int
ended_notify(const char *path, const struct fail *why, struct fail *f)
{
	struct text name = { 0 };
	FILE *file;
	int r = -1;

	text_add(&name, "%s.new", path);
	file = fopen(name.data, "we");
	if (file && fprintf(file, "%d %s\n", (int)why->kind, why->text) > 0)
		r = 0;
	if (file && fclose(file) != 0)
		r = -1;
	if (r < 0 || rename(name.data, path) < 0)
		r = fail_sys(f, FAIL_CREATE, "cannot write %s", path);
	text_release(&name);
	return r;
}

void
ended_begin(struct ended *e, const char *endpoint)
{
	const char *of = getenv("PS_COORD"), *path = getenv(ENDED_VARIABLE);

	if (path && *path && of && strcmp(of, endpoint) == 0)
		e->path = path;
}

bool
ended_look(struct ended *e, uint64_t now, struct fail *why)
{
	char text[sizeof(why->text)];
	FILE *file;
	int kind;

	if (!e->path || now < e->next_ms)
		return false;
	e->next_ms = now + LOOK_MS;
	file = fopen(e->path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%d %511[^\n]", &kind, text) == 2) {
		e->path = NULL;
		fail(why, kind >= FAIL_USAGE && kind <= FAIL_CONFIG ?
		     (enum fail_kind)kind : FAIL_PEER, "%s", text);
	}
	fclose(file);
	return !e->path;
}
