#include "prog/external_process.h"

#include "base/breath.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/model.h"
#include "prog/answer.h"
#include "prog/shared_arrays.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/spawn.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES	(1 << 20)
#define BREATH_MS	100	/* between two signs of life */
#define END_MS		1000	/* until it is asked louder to end */
#define SOME_BYTES	4096	/* of an answer's line, read at once */
#define AT_ONCE		16	/* pieces that are written */

struct child {
	char *layer;		/* NULL: it computes steps */
	const char *command;	/* borrowed */
	pid_t group;
	int to, from;		/* its standard input and output, */
	int gone;		/* and what can be read when it has ended */
	bool asked;		/* before: what it says is an answer */
	uint64_t restarts;	/* since it last answered twice */
	struct shared_arrays *memory;	/* NULL: none */
	bool shares;		/* it has said that it uses that, */
	const struct shared_place *sent, *wanted;	/* where arrays are */
	struct text head;	/* of a request; its room is kept, */
	struct text line;	/* as is that of an answer's line */
};

/* ---- which command is whose ---- */

void
external_processes_add(struct external_processes *p, char *text)
{
	p->command = mem_grow(p->command, p->commands, &p->command_room,
			      sizeof(char *));
	p->command[p->commands++] = text;
}

/* The letters before the = in "LAYER=COMMAND"; 0: it is for any layer. */
static size_t
name_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) ||
	       (text[n] && strchr("_.-", text[n])))
		n++;
	return text[n] == '=' ? n : 0;
}

static bool
is_named(const char *text, const char *layer)
{
	const size_t n = name_length(text);

	return n > 0 && n == strlen(layer) && memcmp(text, layer, n) == 0;
}

/* That of its name, or else one without a name; NULL. */
static const char *
find_command(const struct external_processes *p, const char *layer)
{
	const char *any = NULL;

	for (size_t i = 0; i < p->commands; i++) {
		const char *text = p->command[i];

		if (is_named(text, layer))
			return text + name_length(text) + 1;
		if (name_length(text) == 0)
			any = text;
	}
	return any;
}

/* A command that no layer of the model is for is a slip of the pen. */
static int
check_command(const char *text, const struct model *m, struct fail *f)
{
	const char *layer, *where;
	bool used = false;

	for (size_t i = 0; (layer = model_external(m, i, &where)); i++)
		used = used || name_length(text) == 0 || is_named(text, layer);
	if (used)
		return 0;
	return fail(f, FAIL_CONFIG, "-x '%s': the model has no external layer"
		    "%s%.*s", text, name_length(text) > 0 ? " called " : "",
		    (int)name_length(text), text);
}

/* ---- its life ---- */

static int
start(struct child *p, struct fail *f)
{
	char sh[] = "sh", c[] = "-c", *command = mem_text(p->command);
	char *const word[] = { sh, c, command, NULL };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	p->group = -1;
	if (!p->layer)
		p->memory = shared_arrays_new();
	if (spawn_pipe(in, f) == 0 && spawn_pipe(out, f) == 0)
		p->group = spawn(&(struct spawn){
			word, { in[0], out[1], STDERR_FILENO }, -1,
			p->memory ? shared_arrays_file(p->memory) : 0 }, f);
	spawn_close(&in[0]);
	spawn_close(&out[1]);
	p->to = in[1];
	p->from = out[0];
	p->asked = false;
	free(command);
	if (p->group < 0)
		return -1;
	p->gone = pidfd_open(p->group, 0);
	/* Larger than they are, if the system lets us: fewer switches. */
	fcntl(p->to, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(p->from, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(p->to, F_SETFL, O_NONBLOCK);
	fcntl(p->from, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Without requests to come it is to end: does it, within END_MS? */
static bool
ends(const struct child *p)
{
	const uint64_t until = clock_ms() + END_MS;
	struct pollfd fd = { .fd = p->gone, .events = POLLIN };
	bool ended = false;

	while (!ended && clock_ms() < until) {
		breathe();
		ended = poll(&fd, 1, BREATH_MS) > 0;
	}
	return ended;
}

/*
 * Its status, as waitpid() has it; what it started and left behind goes with
 * it, while the number of the group is still its own.
 */
static int
reap(struct child *p)
{
	int status = 0;

	kill(-p->group, SIGKILL);
	while (waitpid(p->group, &status, 0) < 0 && errno == EINTR)
		;
	p->group = -1;
	spawn_close(&p->gone);
	return status;
}

static void
drop_memory(struct child *p)
{
	shared_arrays_free(p->memory);
	p->memory = NULL;
	p->sent = p->wanted = NULL;
	p->shares = false;
}

/* At once: it is of no more use. */
static void
kill_child(struct child *p)
{
	if (p->group > 0)
		reap(p);
	spawn_close(&p->to);
	spawn_close(&p->from);
	drop_memory(p);
}

static void
end(struct child *p)
{
	spawn_close(&p->to);
	if (p->group > 0 && !ends(p)) {
		kill(-p->group, SIGTERM);
		ends(p);
	}
	kill_child(p);
	text_release(&p->head);
	text_release(&p->line);
	free(p->layer);
}

void
external_processes_end(struct external_processes *p)
{
	/* All of them at once, then one by one. */
	for (size_t i = 0; i < p->count; i++)
		spawn_close(&p->child[i].to);
	for (size_t i = 0; i < p->count; i++)
		end(&p->child[i]);
	free(p->child);
	free(p->command);
	*p = (struct external_processes){ 0 };
}

/* That of a layer; NULL: that of the steps. */
static struct child *
find(const struct external_processes *p, const char *layer)
{
	for (size_t i = 0; i < p->count; i++) {
		const char *of = p->child[i].layer;

		if (of && layer ? strcmp(of, layer) == 0 : of == layer)
			return &p->child[i];
	}
	return NULL;
}

static int
add_child(struct external_processes *p, const char *layer, const char *command,
	  struct fail *f)
{
	struct child *new;

	p->child = mem_grow(p->child, p->count, &p->room, sizeof(*p->child));
	new = &p->child[p->count++];
	*new = (struct child){ .layer = layer ? mem_text(layer) : NULL,
			       .command = command };
	return start(new, f);
}

static int
begin_layers(struct external_processes *p, const struct model *m,
	     struct fail *f)
{
	const char *layer, *where;

	for (size_t i = 0; (layer = model_external(m, i, &where)); i++) {
		const char *command = find_command(p, layer);

		if (find(p, layer))
			continue;
		if (!command)
			return fail(f, FAIL_CONFIG, "%s: a program computes "
				    "%s: say which, -x %s=COMMAND", where,
				    layer, layer);
		if (add_child(p, layer, command, f) < 0)
			return -1;
	}
	return 0;
}

static int
begin_steps(struct external_processes *p, const struct model *m, struct fail *f)
{
	const char *where, *name = model_step(m, 0, &where);

	if (!name && p->step)
		return fail(f, FAIL_CONFIG, "--step='%s': the model has no "
			    "step line", p->step);
	if (!name || find(p, NULL))
		return 0;
	if (!p->step)
		return fail(f, FAIL_CONFIG, "%s: a program computes %s: say "
			    "which, --step=COMMAND", where, name);
	return add_child(p, NULL, p->step, f);
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	struct external_processes *p = own;

	for (size_t i = 0; i < p->commands; i++)
		if (check_command(p->command[i], m, f) < 0)
			return -1;
	return begin_layers(p, m, f) < 0 ? -1 : begin_steps(p, m, f);
}

/* ---- what is said ---- */

/* Of a NULL place the numbers follow the line. */
static void
add_array(struct text *t, const struct external_array *a,
	  const struct shared_place *at)
{
	const struct shape *s = &a->shape;

	text_add(t, "{\"name\":\"%s\",\"shape\":[", a->name);
	if (a->examples > 0)
		text_add(t, "%zu%s", a->examples, s->rank > 0 ? "," : "");
	for (int k = 0; k < s->rank; k++)
		text_add(t, "%s%zu", k ? "," : "", s->dim[k]);
	text_add(t, "]%s%s", a->id ? ",\"type\":\"uint64\"" : "",
		 a->fixed ? ",\"trainable\":false" : "");
	if (at)
		text_add(t, ",\"offset\":%zu%s", at->offset, at->unchanged ?
			 ",\"unchanged\":true" : "");
	text_add(t, "}");
}

static void
add_arrays(struct text *t, const char *key, const struct external_array *a,
	   size_t count, const struct shared_place *at)
{
	text_add(t, ",\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		text_add(t, "%s", i ? "," : "");
		add_array(t, &a[i], at ? &at[i] : NULL);
	}
	text_add(t, "]");
}

/* Names have no letter that JSON would want in another form. */
static void
write_head(struct child *to, const struct external_call *c)
{
	const bool step = c->answer;
	struct text *t = &to->head;

	text_reset(t);
	text_add(t, "{\"op\":\"%s\",\"%s\":\"%s\"", c->op,
		 step ? "name" : "layer", c->name);
	if (!step)
		text_add(t, ",\"training\":%s", c->training ? "true" :
			 "false");
	else if (c->training)
		text_add(t, ",\"step\":%llu", (unsigned long long)c->step);
	if (!step || c->training)
		text_add(t, ",\"seed\":%llu", (unsigned long long)c->seed);
	if (c->batch > 0)
		text_add(t, ",\"batch\":%llu", (unsigned long long)c->batch);
	if (step) {
		text_add(t, ",\"args\":");
		text_add_bytes(t, c->args, strlen(c->args));
	}
	if (step && to->memory)
		text_add(t, ",\"shm\":{\"fd\":%d,\"size\":%zu}",
			 SPAWN_SHARED, shared_arrays_size(to->memory));
	add_arrays(t, "sent", c->sent, c->sents, to->sent);
	add_arrays(t, "wanted", c->wanted, c->wanteds, to->wanted);
	text_add(t, "}\n");
}

/* A request on its way, and what is there of its answer. */
struct dialogue {
	struct child *child;
	const struct external_call *call;
	size_t piece, sent;	/* 0 is the head, then come the arrays; and
				   bytes of it */
	bool deaf;		/* it takes no more */
	bool said;		/* the line is there; then the arrays come: */
	enum answer answer;	/* or nothing does */
	size_t array, got;	/* this one, and bytes of it */
};

static struct iovec
piece_of(const struct external_array *a)
{
	return (struct iovec){ a->id ? (void *)(uintptr_t)a->id : a->at,
			       external_bytes(a) };
}

static struct iovec
piece(const struct dialogue *d, size_t i)
{
	const struct text *head = &d->child->head;

	return i == 0 ? (struct iovec){ head->data, head->size } :
		piece_of(&d->call->sent[i - 1]);
}

static bool
is_sent(const struct dialogue *d)
{
	return d->deaf || d->piece > (d->child->sent ? 0 : d->call->sents);
}

static bool
is_answered(const struct dialogue *d)
{
	return d->said && (d->answer == ANSWER_REFUSED ||
			   d->answer == ANSWER_ENDED || d->child->wanted ||
			   d->array == d->call->wanteds);
}

/* As much as it takes now. */
static void
send_on(struct dialogue *d)
{
	while (!is_sent(d)) {
		struct iovec v[AT_ONCE];
		int count = 0;
		ssize_t n;

		for (size_t i = d->piece; count < AT_ONCE && i <=
		     (d->child->sent ? 0 : d->call->sents); i++)
			v[count++] = piece(d, i);
		v[0].iov_base = (char *)v[0].iov_base + d->sent;
		v[0].iov_len -= d->sent;
		n = writev(d->child->to, v, count);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			d->deaf = true;	/* what it has to say comes first */
		if (n <= 0)
			return;
		for (d->sent += (size_t)n; !is_sent(d) &&
		     d->sent >= piece(d, d->piece).iov_len; d->piece++)
			d->sent -= piece(d, d->piece).iov_len;
	}
}

static int
misspoke(const struct dialogue *d, struct fail *f)
{
	const struct text *line = &d->child->line;
	char shown[33];
	size_t n = line->size < sizeof(shown) - 1 ? line->size :
		sizeof(shown) - 1;

	for (size_t i = 0; i < n; i++)
		shown[i] = isprint((unsigned char)line->data[i]) ?
			line->data[i] : '?';
	shown[n] = '\0';
	return fail(f, FAIL_PROTOCOL, "'%s' said '%s', which does not begin "
		    "an answer; that is a line %s or {\"error\":\"TEXT\"}",
		    d->child->command, shown, d->call->answer ?
		    "{\"loss\":NUMBER,...}" : "{}");
}

static int
take_line(struct dialogue *d, struct fail *f)
{
	const struct text *line = &d->child->line;

	d->said = true;
	d->answer = answer_read(line->data ? line->data : "", line->size,
				d->call->answer, f);
	return d->answer == ANSWER_NONE ? misspoke(d, f) : 0;
}

static int
said_more(const struct child *p, struct fail *f)
{
	return fail(f, FAIL_PROTOCOL, "'%s' has answered more than was wanted",
		    p->command);
}

/* Arrays begin in the very bytes behind the line. */
static int
take_rest(struct dialogue *d, const char *from, size_t n, struct fail *f)
{
	while (n > 0 && !is_answered(d)) {
		const struct external_array *a = &d->call->wanted[d->array];
		const size_t left = external_bytes(a) - d->got;
		const size_t some = n < left ? n : left;

		memcpy((char *)a->at + d->got, from, some);
		from += some;
		n -= some;
		d->got = some == left ? 0 : d->got + some;
		d->array += some == left;
	}
	return n > 0 ? said_more(d->child, f) : 0;
}

/* n bytes have come, which begin in the line. */
static int
hear_line(struct dialogue *d, const char *from, size_t n, struct fail *f)
{
	const size_t most = d->call->answer ? ANSWER_STEP : ANSWER_LAYER;
	const char *end = memchr(from, '\n', n);
	struct text *line = &d->child->line;

	text_add_bytes(line, from, end ? (size_t)(end - from) : n);
	if (line->size >= most)
		return misspoke(d, f);
	if (!end)
		return 0;
	return take_line(d, f) < 0 ? -1 :
		take_rest(d, end + 1, n - (size_t)(end + 1 - from), f);
}

/* What has come; 0, or 1: it says no more; or -1. */
static int
receive(struct dialogue *d, struct fail *f)
{
	const bool line = !d->said;
	const struct external_array *a = &d->call->wanted[d->array];
	char some[SOME_BYTES];
	char *to = line ? some : (char *)a->at + d->got;
	const size_t room = line ? sizeof(some) : external_bytes(a) - d->got;
	const ssize_t n = read(d->child->from, to, room);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 :
			fail_sys(f, FAIL_PEER, "'%s'", d->child->command);
	if (n == 0)
		return 1;
	if (line)
		return hear_line(d, some, (size_t)n, f);
	d->got += (size_t)n;
	if (d->got == external_bytes(a)) {
		d->got = 0;
		d->array++;
	}
	return 0;
}

/* It says no more: why? */
static int
say_end(struct child *p, struct fail *f)
{
	bool ended;
	int status;

	spawn_close(&p->to);
	ended = ends(p);
	status = reap(p);
	if (!ended)
		return fail(f, FAIL_PEER, "'%s' has closed its standard "
			    "output", p->command);
	if (WIFSIGNALED(status))
		return fail(f, FAIL_PEER, "'%s' was ended by signal %d",
			    p->command, WTERMSIG(status));
	return fail(f, FAIL_PEER, "'%s' has ended with status %d", p->command,
		    WEXITSTATUS(status));
}

static int
converse(struct external_processes *p, struct dialogue *d, struct fail *f)
{
	const uint64_t until = clock_ms() + p->timeout_ms;
	struct child *to = d->child;
	int heard;

	while (!is_sent(d) || !is_answered(d)) {
		struct pollfd fds[] = {
			{ .fd = is_sent(d) ? -1 : to->to, .events = POLLOUT },
			{ .fd = is_answered(d) ? -1 : to->from,
			  .events = POLLIN },
			{ .fd = p->steady ? -1 : cli_stop_fd,
			  .events = POLLIN },
			{ .fd = to->gone, .events = POLLIN }
		};
		const uint64_t now = clock_ms();

		if (now >= until)
			return fail(f, FAIL_PEER, "'%s' has not answered "
				    "within %g s", to->command,
				    (double)p->timeout_ms / 1000);
		breathe();
		if (poll(fds, 4, until - now < BREATH_MS ?
			 (int)(until - now) : BREATH_MS) < 0)
			continue;
		if (fds[2].revents)
			return fail(f, FAIL_AGAIN, "told to end while '%s' "
				    "was computing", to->command);
		if (fds[0].revents)
			send_on(d);
		/* What it has left to others says nothing for it. */
		heard = fds[1].revents ? receive(d, f) : fds[3].revents != 0;
		if (heard != 0)
			return heard < 0 ? -1 : say_end(to, f);
	}
	return d->answer == ANSWER_GOOD || d->answer == ANSWER_ENDED ? 0 : -1;
}

/*
 * Where the arrays are, if they are in memory.  Who has no room there goes on
 * with pipes: of what is there no request says any more.
 */
static void
place_arrays(struct child *to, const struct external_call *c)
{
	struct fail why;

	to->sent = to->wanted = NULL;
	if (!to->shares || shared_arrays_send(to->memory, c, &to->sent,
					      &to->wanted, &why) == 0)
		return;
	log_warn("%s: %s; its arrays go through pipes", c->name, why.text);
	drop_memory(to);
}

/* When it has answered. */
static void
take_from_memory(struct child *to, const struct external_call *c)
{
	if (to->wanted && !(c->answer && c->answer->ended))
		shared_arrays_receive(to->memory, c);
	if (c->answer && c->answer->shares && to->memory)
		to->shares = true;
}

/*
 * Who writes to a program that has ended is sent SIGPIPE, which a filter dies
 * of: but that is for who does not read its output.
 */
static int
ask(struct external_processes *p, struct child *to,
    const struct external_call *c, struct fail *f)
{
	struct dialogue d = { .child = to, .call = c };
	const struct timespec at_once = { 0 };
	const bool answered = to->asked;
	sigset_t pipe, before;
	int status;
	char more;

	if (to->asked && read(to->from, &more, 1) > 0)
		return said_more(to, f);
	place_arrays(to, c);
	write_head(to, c);
	text_reset(&to->line);
	to->asked = true;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	status = converse(p, &d, f);
	if (d.deaf)
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Only now is it known that nothing stood behind the answer before. */
	if (status == 0 && answered)
		to->restarts = 0;
	if (status == 0)
		take_from_memory(to, c);
	return status;
}

/* Would the same request to a new one be answered, perhaps? */
static bool
is_worth_a_restart(const struct fail *f)
{
	return f->kind == FAIL_PEER || f->kind == FAIL_PROTOCOL;
}

/*
 * One that computes steps keeps nothing from one request to the next that it
 * could not make anew.
 */
static int
ask_again(struct external_processes *p, struct child *to,
	  const struct external_call *c, struct fail *f)
{
	const uint64_t examples = c->answer->examples;
	struct fail why;

	for (;;) {
		external_answer_begin(c->answer, examples);
		if ((to->group >= 0 || start(to, &why) == 0) &&
		    ask(p, to, c, &why) == 0)
			return 0;
		if (!is_worth_a_restart(&why) ||
		    to->restarts == p->restarts) {
			*f = why;
			return -1;
		}
		kill_child(to);
		to->restarts++;
		log_warn("%s: %s; it is started again, %llu of %llu", c->name,
			 why.text, (unsigned long long)to->restarts,
			 (unsigned long long)p->restarts);
	}
}

static int
call(void *own, const struct external_call *c, struct fail *f)
{
	struct external_processes *p = own;
	struct child *to = find(p, c->answer ? NULL : c->name);

	if (c->answer)
		return ask_again(p, to, c, f);
	if (to->group < 0)
		return fail(f, FAIL_PEER, "'%s' has ended", to->command);
	return ask(p, to, c, f);
}

const struct externals *
external_processes_externals(struct external_processes *p)
{
	p->externals = (struct externals){ .own = p, .begin = begin,
					   .call = call };
	return &p->externals;
}
