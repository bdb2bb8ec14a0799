/*
 * message_line - prints a message as a line of a script, and reads the words of
 * a message from a script.
 */
#ifndef PS_MESSAGE_LINE_H
#define PS_MESSAGE_LINE_H

#include "base/text.h"
#include "wire/message.h"
#include "wire/pack.h"
#include "wire/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_BATCH	4	/* examples of a step; it is not shown */
#define LINE_FRAME	32	/* bytes that a script puts into one, at most */

static const char *const line_status[] = {
	[FAIL_USAGE] = "usage", [FAIL_DATA] = "data",
	[FAIL_NOINPUT] = "noinput", [FAIL_PEER] = "peer",
	[FAIL_INTERNAL] = "internal", [FAIL_MEMORY] = "memory",
	[FAIL_CREATE] = "create", [FAIL_IO] = "io", [FAIL_AGAIN] = "again",
	[FAIL_PROTOCOL] = "protocol", [FAIL_DENIED] = "denied",
	[FAIL_CONFIG] = "config"
};
#define LINE_STATUSES	(sizeof(line_status) / sizeof(*line_status))

static const char *const line_role[] = {
	[ROLE_COORDINATOR] = "coordinator", [ROLE_SERVER] = "server",
	[ROLE_WORKER] = "worker", [ROLE_EVALUATOR] = "evaluator",
	[ROLE_STANDBY] = "standby", [ROLE_SUBMITTER] = "submitter",
	[ROLE_RELAY] = "relay"
};
#define LINE_ROLES	(sizeof(line_role) / sizeof(*line_role))

/* Is the word in a list, which has blanks around each? */
static inline bool
line_lists(const char *list, const char *word)
{
	char blank[80];

	snprintf(blank, sizeof(blank), " %s ", word);
	return strstr(list, blank);
}

/* ---- printing a message ---- */

/* Fields that are not printed when they have their usual value, or none. */
static const struct line_usual {
	const char *field;
	uint64_t value;
} line_usual[] = {
	{ "server", WIRE_NONE }, { "index", WIRE_NONE },
	{ "batch", LINE_BATCH }, { "batches", 1 }, { "attempt", 1 },
	{ "term", 1 }, { "shards", 1 }
};

/* Is the field left out, since its value tells nothing? */
static inline bool
line_skips(const struct message *m, const char *field, uint64_t value)
{
	static const char never[] =
		" version run plan seed journal parts hash saves slots more "
		"pass first count ";
	const bool welcome = m->kind == MESSAGE_WELCOME;

	if (line_lists(never, field) ||
	    (welcome && line_lists(" role life ", field)) ||
	    (m->kind == MESSAGE_HELLO && strcmp(field, "life") == 0))
		return true;
	for (size_t i = 0; i < sizeof(line_usual) / sizeof(*line_usual); i++) {
		const struct line_usual *u = &line_usual[i];

		if (strcmp(u->field, field) == 0)
			return value == u->value ||
				(value == 0 && u->value != WIRE_NONE);
	}
	return value == 0;
}

static inline void
line_add_number(struct text *to, const char *field, uint64_t value)
{
	text_add(to, " %s=", field);
	if (value == WIRE_NONE)
		text_add(to, "none");
	else if (strcmp(field, "role") == 0 && value < LINE_ROLES)
		text_add(to, "%s", line_role[value]);
	else if (strcmp(field, "status") == 0 && value < LINE_STATUSES)
		text_add(to, "%s", line_status[value]);
	else if (strcmp(field, "rate") == 0)
		text_add(to, "%g", (double)message_float(value));
	else
		text_add(to, "%" PRIu64, value);
}

/* Does a message of this kind answer another one, so that its request number is
   printed? */
static inline bool
line_answers(enum message_kind kind)
{
	return kind == MESSAGE_CUT || kind == MESSAGE_OK ||
		kind == MESSAGE_REFUSED || kind == MESSAGE_STANDBY;
}

/* Adds steps as "4", or "4..6". */
static inline void
line_add_steps(struct text *to, uint64_t first, uint64_t count)
{
	if (count == 0)
		text_add(to, " nothing");
	else if (count == UINT64_MAX)
		text_add(to, " all");
	else if (count == 1)
		text_add(to, " %" PRIu64, first);
	else
		text_add(to, " %" PRIu64 "..%" PRIu64, first,
			 first + count - 1);
}

/* Adds the first record of a lease's slice, and whether a slice follows its
   block. */
static inline void
line_add_slice(struct text *to, const struct message *m)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);

	unpack_uint(&u);
	text_add(to, " from=%" PRIu64, unpack_uint(&u));
	if (m->frames > 1)
		text_add(to, " block_after");
}

static inline void
line_add_message(struct text *to, const struct message *m)
{
	const char *at = message_fields(m->kind);
	char field[32], why[MESSAGE_BLOB + 1];
	struct fail f;
	int n;

	text_add(to, "%s", message_name(m->kind));
	if (m->kind == MESSAGE_LEASE)
		line_add_steps(to, m->lease.first, m->lease.count);
	if (m->kind == MESSAGE_CANCEL)
		line_add_steps(to, m->cancel.first, m->cancel.count);
	if (m->kind == MESSAGE_VOID)
		line_add_steps(to, m->voided.first, m->voided.count);
	if (line_answers(m->kind) && m->request > 0)
		line_add_number(to, "request", m->request);
	for (size_t i = 0; sscanf(at, " %31s%n", field, &n) == 1; i++, at += n)
		if (!line_skips(m, field, m->number[i]))
			line_add_number(to, field, m->number[i]);
	if (m->kind == MESSAGE_LEASE && m->frames > 0 && m->frame[0].size > 0)
		line_add_slice(to, m);
	if (m->kind == MESSAGE_PLAN && m->frames > 2 && m->frame[2].size > 0)
		text_add(to, " data");
	if (m->kind == MESSAGE_REFUSED) {
		message_text(m, why, sizeof(why));
		text_add(to, " %s", why);
	}
	if (message_check_frames(m, &f) < 0)
		text_add(to, " malformed: %s", f.text);
	text_add(to, "\n");
}

/* ---- reading a message ---- */

/* Returns the value in NAME=VALUE, or NULL if the word has another name. */
static inline const char *
line_value(const char *word, const char *name)
{
	const size_t size = strlen(name);

	return strncmp(word, name, size) == 0 && word[size] == '=' ?
		word + size + 1 : NULL;
}

/* Reads a number, "none", or the name of a role or a status. */
static inline bool
line_number(const char *text, uint64_t *to)
{
	*to = WIRE_NONE;
	if (strcmp(text, "none") == 0)
		return true;
	for (*to = 0; *to < LINE_ROLES; ++*to)
		if (line_role[*to] && strcmp(line_role[*to], text) == 0)
			return true;
	for (*to = 0; *to < LINE_STATUSES; ++*to)
		if (line_status[*to] && strcmp(line_status[*to], text) == 0)
			return true;
	return text_uint(text, to);
}

static inline enum message_kind
line_kind(const char *word)
{
	for (enum message_kind kind = 1; word && kind < MESSAGE_KINDS; kind++)
		if (strcmp(message_name(kind), word) == 0)
			return kind;
	return 0;
}

/* Puts FIELD=NUMBER into a message.  false: the word is not of this form. */
static inline bool
line_set(struct message *m, const char *word)
{
	const char *at = message_fields(m->kind), *value;
	char field[32];
	int n;

	if ((value = line_value(word, "request")))
		return line_number(value, &m->request);
	for (size_t i = 0; sscanf(at, " %31s%n", field, &n) == 1; i++, at += n)
		if ((value = line_value(word, field)))
			return line_number(value, &m->number[i]);
	return false;
}

/* Puts bytes, which are LINE_FRAME at most, into the message's next frame. */
static inline bool
line_set_frame(struct message *m, const char *hex, unsigned char *bytes)
{
	const size_t size = strlen(hex) / 2;

	if (size > LINE_FRAME)
		return false;
	for (size_t i = 0; i < size; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &bytes[i]) < 1)
			return false;
	m->frame[m->frames++] = (struct frame){ bytes, size, NULL };
	return true;
}

/* Puts the text after the numbers into a message: a reason, or an endpoint, or
   "run" for a server that has the variables of the run.  false: the message has
   no place for it. */
static inline bool
line_set_text(struct message *m, const char *text)
{
	static const unsigned char run[PLAN_RUN];
	const struct frame f = { text, strlen(text), NULL };

	if (f.size == 0)
		return true;
	if (m->kind == MESSAGE_WELCOME && strcmp(text, "run") == 0)
		m->blob = (struct frame){ run, PLAN_RUN, NULL };
	else if (m->kind == MESSAGE_STANDBY || m->kind == MESSAGE_HELLO)
		m->frame[m->frames++] = f;
	else
		return false;
	return true;
}

#endif
