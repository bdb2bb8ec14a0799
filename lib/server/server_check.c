/*
 * What always holds of a server that has taken an event and not yet the next
 * one.  A number is never given anew.
 */
#include "server/server_inside.h"

static const char *
check_run(const struct server *s)
{
	if (!s->shard)
		return s->stage || s->applied || s->jobs > 0 ?
			"server 1: nothing is left of a run that was "
			"forgotten" : NULL;
	if (s->plan.term > s->term)
		return "server 2: no plan is of a term that was not heard of";
	if (stage_step(s->stage) < s->mark)
		return "server 3: the round whose turn it is has not ended";
	for (size_t i = 0; i < s->plan.parts; i++) {
		const uint64_t end = window_end(&s->applied[i], s->mark);

		if (end > s->mark && end > s->above)
			return "server 4: no step is applied from the one on "
				"from which none was pushed";
		if (end > s->mark && s->initial)
			return "server 5: variables are not the initial ones "
				"when a step was applied";
	}
	return NULL;
}

static const char *
check_changes(const struct server *s)
{
	const struct change *c = s->changes.first;
	const bool followed = primary_followed(&s->primary);
	uint64_t limit = standby_limit(&s->standby);

	if (s->acted > s->changes.last || (c && c->number != s->acted + 1))
		return "server 6: changes are acted on in their order, and "
			"none is left out";
	if (s->logged != WIRE_NONE && s->acted > s->logged)
		return "server 7: nothing is acted on before it is in the log";
	if (followed && s->acted > s->primary.held)
		return "server 8: a standby acts on nothing that it has not "
			"said to hold";
	if (limit > s->logged)
		limit = s->logged;
	if (c && !followed && !server_loading(s) && c->number <= limit)
		return "server 9: what may be acted on does not wait";
	return NULL;
}

static const char *
check_standby(const struct server *s)
{
	const struct standby *b = &s->standby;

	if (b->counted && !b->in_sync)
		return "server 10: a standby that is counted on is in sync";
	if (b->in_sync && !standby_whole(b))
		return "server 11: a standby in sync has all of the cut";
	if (b->in_sync && b->held < s->acted)
		return "server 12: a standby in sync holds all that was acted "
			"on";
	if (b->life && s->primary.peer && !s->primary.promoted)
		return "server 13: a standby has none of its own";
	return NULL;
}

static const char *
check_cuts(const struct server *s)
{
	for (size_t k = 0; k < s->jobs; k++) {
		bool held = s->job[k].kind != JOB_SAVE;

		for (size_t i = 0; i < MAX_CUTS; i++)
			held = held || (s->cut[i].cut &&
					s->cut[i].cut == s->job[k].cut);
		if (!held)
			return "server 14: a cut that is being saved is held";
	}
	for (size_t i = 0; i < MAX_CUTS; i++)
		for (size_t k = 0; k < i; k++)
			if (s->cut[i].cut && s->cut[k].cut &&
			    s->cut[i].id == s->cut[k].id &&
			    s->cut[i].id != WIRE_NONE)
				return "server 15: two cuts have two numbers";
	return NULL;
}

static const char *
check_parked(const struct server *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->parked.count; i++) {
		const struct message *pull = &s->parked.pull[i].pull;

		bytes += pull->frame[0].size;
		if (s->stage && pull->pull.after <= stage_step(s->stage))
			return "server 16: a pull waits for a round that has "
				"not ended";
	}
	return bytes == s->parked.bytes ? NULL :
		"server 17: keys that wait are counted as they are";
}

const char *
server_check(const struct server *s)
{
	const char *broken = check_run(s);

	broken = broken ? broken : check_changes(s);
	broken = broken ? broken : check_standby(s);
	broken = broken ? broken : check_cuts(s);
	return broken ? broken : check_parked(s);
}
