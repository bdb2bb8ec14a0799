/* served - a client of one server, which the test plays: for the parts of a
   worker between its coordinator and its servers. */
#ifndef PS_SERVED_H
#define PS_SERVED_H

#include "client/client.h"

#include "model_fixture.h"
#include "post.h"

#define SERVER	(1000 + post_dialled)	/* the peer that was dialled last */

static struct model_fixture fixture;
static struct plan plan;
static struct client *client;

/* The server sends WELCOME. */
static inline void
served_welcome(uint64_t now)
{
	struct message m = { .kind = MESSAGE_WELCOME };
	struct fail f;

	client_up(client, SERVER, now);
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 1;
	named(says(SERVER, MESSAGE_HELLO) &&
	      client_receive(client, SERVER, &m, now, &f) == 0 &&
	      client_ready(client), "the server accepts the client");
}

/* Begins with a model without tables, on one server. */
static inline void
served_begin(const char *model)
{
	char *endpoint[] = { (char *)(uintptr_t)"node:1" };
	struct place *place;
	struct fail f;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	free(place);
	client = client_new(&plan, fixture.model, ROLE_WORKER, 7, &post, 0, &f);
	served_welcome(0);
}

static inline void
served_end(void)
{
	client_free(client);
	post_clear();
	plan_release(&plan);
	fixture_end(&fixture);
}

/* The server answers the last message of the client: a pull with values that
   are all the same; a push is applied.  -1: the client refuses the answer. */
static inline int
serve_with(float value, enum outcome outcome, struct fail *f)
{
	const struct message *asked = &last_posted->m;
	struct message m = message_answer(asked, MESSAGE_VALUES);
	const size_t part = asked->kind == MESSAGE_PULL ? asked->pull.part :
		asked->push.part;
	const bool coded = asked->kind == MESSAGE_PULL ?
		asked->pull.coded : asked->push.values;
	const struct codec *codec = !coded ? &codec_float32 :
		plan.codings->of[0][WAY_PULL].codec;
	const size_t floats = plan_part_dense(&plan, part);
	float *values = mem_alloc(floats, sizeof(*values));
	void *bytes = mem_alloc(floats, sizeof(*values));
	int status;

	for (size_t i = 0; i < floats; i++)
		values[i] = value;
	m.values.outcome = asked->kind == MESSAGE_PULL ? OUTCOME_NONE :
		outcome;
	m.values.version = 3;
	m.frames = asked->kind != MESSAGE_PUSH;
	codec_for(codec, codec_elements(floats))->encode(bytes, values,
						codec_elements(floats));
	m.frame[0] = (struct frame){ bytes, codec_size(codec, floats), NULL };
	status = client_receive(client, SERVER, &m, 0, f);
	free(bytes);
	free(values);
	return status;
}

static inline bool
serve(float value)
{
	struct fail f;

	return serve_with(value, OUTCOME_APPLIED, &f) == 0;
}

/* A batch of this number of examples, of ones or of another number. */
static float fill_value = 1;

static inline void
fill_batch(struct batch *b, size_t examples)
{
	batch_reset(b);
	for (size_t i = 0; i < b->features; i++)
		for (size_t e = 0; e < examples * input_width(
						b->feature[i].input); e++)
			feature_add_value(&b->feature[i], e, fill_value);
	for (size_t e = 0; e < examples; e++)
		feature_add_value(&b->label, e, 1);
	b->examples = examples;
	b->prepared = false;
}

#endif
