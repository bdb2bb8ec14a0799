#include "prog/external_process.h"

#include "base/heartbeat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pause.h"
#include "base/text.h"
#include "model/model.h"
#include "prog/answer.h"
#include "prog/shared_arrays.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/spawn.h"

#include <assert.h>
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
#define HEARTBEAT_MS	100	/* between two heartbeat()s */
#define END_MS		1000	/* for a program to end, before the next
				   signal */
#define SOME_BYTES	4096	/* of an answer's line, read at a time */
#define AT_ONCE		16	/* pieces written by one call */

/* A request, and how much of its answer has come. */
struct request {
	const struct external_call *call;
	uint64_t examples;	/* of its answer, unless the program says
				   otherwise */
	struct text head;	/* its line; the memory is reused */
	bool written;		/* head is written, and the arrays in shared
				   memory: */
	const struct shared_place *sent, *wanted;	/* NULL: not in
							   memory */
	bool follows;		/* the program was sent another request
				   before */
	uint64_t until;		/* deadline for its answer */
	uint64_t advanced;	/* when advance() looked at it last */
	size_t piece, bytes;	/* piece being sent: 0 is the head, then the
				   arrays; and bytes of it that are sent */
	bool input_closed;	/* the program reads no more */
	bool has_line;		/* the answer's line has come */
	enum answer answer;	/* what the line is, and what follows it */
	size_t array, got;	/* array being received, and bytes of it */
	bool ended;
	struct fail why;	/* why it failed, if it has a kind */
};

/*
 * A program.  It gets one request at a time.  The next one is written, and its
 * arrays put into shared memory, before the answer to this one has come.
 */
struct child {
	char *layer;		/* the layer that it computes; NULL: steps */
	const char *command;	/* borrowed */
	pid_t group;
	int to, from;		/* its standard input and output */
	int gone;		/* a descriptor that is readable once it has
				   ended */
	bool asked;		/* it was asked before: its output may be an
				   answer */
	uint64_t restarts;	/* times it was started since it answered twice
				   in a row */
	struct shared_arrays *memory;	/* NULL: none */
	bool uses_memory;	/* it has answered that it uses the memory */
	bool memory_full;	/* the memory has no room for more arrays */
	struct text line;	/* of an answer; the memory is reused */
	struct request request[EXTERNAL_ASKED];
	size_t first, count;	/* requests not taken yet, as a ring */
	size_t done;		/* how many of them have ended */
};

/* ---- the command of each layer ---- */

void
external_processes_add(struct external_processes *p, char *text)
{
	p->command = mem_grow(p->command, p->commands, &p->command_room,
			      sizeof(char *));
	p->command[p->commands++] = text;
}

/*
 * Return the length of LAYER in "LAYER=COMMAND"; 0: the command is for any
 * layer.
 */
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

/*
 * Return the command with the name of a layer, or else one without a name; or
 * NULL.
 */
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

/*
 * Check that the model has a layer for a command: otherwise its name is
 * mistyped.
 */
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

/* ---- start and end of a program ---- */

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
	/* Larger pipes, if the system allows it, need fewer switches. */
	fcntl(p->to, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(p->from, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(p->to, F_SETFL, O_NONBLOCK);
	fcntl(p->from, F_SETFL, O_NONBLOCK);
	return 0;
}

/*
 * Wait END_MS for the end of a program whose input was closed.  Return whether
 * it has ended.
 */
static bool
wait_for_end(const struct child *p)
{
	const uint64_t until = clock_ms() + END_MS;
	struct pollfd fd = { .fd = p->gone, .events = POLLIN };
	bool ended = false;

	while (!ended && clock_ms() < until) {
		heartbeat();
		ended = poll(&fd, 1, HEARTBEAT_MS) > 0;
	}
	return ended;
}

/*
 * Return the status of waitpid().  Processes that the program left behind are
 * killed first, while the number of its group cannot be another's.
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
	p->uses_memory = p->memory_full = false;
	for (size_t i = 0; i < EXTERNAL_ASKED; i++)
		p->request[i].written = false;
}

static struct request *
request_at(struct child *p, size_t i)
{
	return &p->request[(p->first + i) % EXTERNAL_ASKED];
}

/* Copy the answered arrays from shared memory, if they are there; once. */
static void
copy_from_memory(struct child *p, struct request *r)
{
	if (r->wanted && !r->why.kind && r->answer != ANSWER_ENDED)
		shared_arrays_receive(p->memory, r->call, r->wanted);
	r->wanted = NULL;
}

/* Kill a program that is of no more use. */
static void
kill_child(struct child *p)
{
	for (size_t i = 0; i < p->done; i++)
		copy_from_memory(p, request_at(p, i));
	if (p->group > 0)
		reap(p);
	spawn_close(&p->to);
	spawn_close(&p->from);
	drop_memory(p);
}

static void
end_child(struct child *p)
{
	spawn_close(&p->to);
	if (p->group > 0 && !wait_for_end(p)) {
		kill(-p->group, SIGTERM);
		wait_for_end(p);
	}
	p->done = 0;	/* no answer is taken any more */
	kill_child(p);
	for (size_t i = 0; i < EXTERNAL_ASKED; i++)
		text_release(&p->request[i].head);
	text_release(&p->line);
	free(p->layer);
}

void
external_processes_end(struct external_processes *p)
{
	/*
	 * All inputs are closed first, so that the programs end at the same
	 * time.
	 */
	for (size_t i = 0; i < p->count; i++)
		spawn_close(&p->child[i].to);
	for (size_t i = 0; i < p->count; i++)
		end_child(&p->child[i]);
	free(p->child);
	free(p->command);
	*p = (struct external_processes){ 0 };
}

/* Return the program of a layer, or for NULL that of the steps. */
static struct child *
find_child(const struct external_processes *p, const char *layer)
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

		if (find_child(p, layer))
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
	if (!name || find_child(p, NULL))
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

/* ---- requests ---- */

/*
 * Describe an array.  Without a place in shared memory its numbers follow the
 * line.
 */
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

/*
 * Write the line of a request.  Names need no escapes: check_letters() in
 * model/build.c allows only letters, digits and _ - .
 */
static void
write_head(const struct child *to, struct request *r)
{
	const struct external_call *c = r->call;
	const bool step = c->answer;
	struct text *t = &r->head;

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
	if (step && to->memory && !to->memory_full)
		text_add(t, ",\"shm\":{\"fd\":%d,\"size\":%zu}",
			 SPAWN_SHARED, shared_arrays_size(to->memory));
	add_arrays(t, "sent", c->sent, c->sents, r->sent);
	add_arrays(t, "wanted", c->wanted, c->wanteds, r->wanted);
	text_add(t, "}\n");
}

/*
 * Put the arrays into shared memory, if the program uses it.  When there is no
 * room, pipes are used from then on.
 */
static void
place_arrays(struct child *to, struct request *r)
{
	struct fail why;

	r->sent = r->wanted = NULL;
	if (!to->uses_memory || to->memory_full ||
	    shared_arrays_send(to->memory, (size_t)(r - to->request), r->call,
			       &r->sent, &r->wanted, &why) == 0)
		return;
	log_warn("%s: %s; its arrays go through pipes", r->call->name,
		 why.text);
	to->memory_full = true;
}

static void
write_request(struct child *to, struct request *r)
{
	place_arrays(to, r);
	write_head(to, r);
	r->written = true;
}

static struct iovec
piece_of(const struct external_array *a)
{
	return (struct iovec){ a->id ? (void *)(uintptr_t)a->id : a->at,
			       external_bytes(a) };
}

static struct iovec
piece(const struct request *r, size_t i)
{
	return i == 0 ? (struct iovec){ r->head.data, r->head.size } :
		piece_of(&r->call->sent[i - 1]);
}

static size_t
last_piece(const struct request *r)
{
	return r->sent ? 0 : r->call->sents;
}

static bool
is_sent(const struct request *r)
{
	return r->input_closed || r->piece > last_piece(r);
}

static bool
is_answered(const struct request *r)
{
	return r->has_line && (r->answer == ANSWER_REFUSED ||
			       r->answer == ANSWER_ENDED || r->wanted ||
			       r->array == r->call->wanteds);
}

/*
 * Write, and let a program that has ended be an error (EPIPE) only.  The signal
 * SIGPIPE would end us, as it ends a filter whose own reader has gone.
 */
static ssize_t
write_some(int fd, const struct iovec *v, int count)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe, before;
	ssize_t n;
	int why;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	n = writev(fd, v, count);
	why = errno;
	if (n < 0 && why == EPIPE)
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return n;
}

/* Send as much as the program takes now. */
static void
send_more(const struct child *to, struct request *r)
{
	while (!is_sent(r)) {
		struct iovec v[AT_ONCE];
		int count = 0;
		ssize_t n;

		for (size_t i = r->piece; count < AT_ONCE &&
		     i <= last_piece(r); i++)
			v[count++] = piece(r, i);
		v[0].iov_base = (char *)v[0].iov_base + r->bytes;
		v[0].iov_len -= r->bytes;
		n = write_some(to->to, v, count);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			r->input_closed = true;	/* its answer may say why */
		if (n <= 0)
			return;
		for (r->bytes += (size_t)n; !is_sent(r) &&
		     r->bytes >= piece(r, r->piece).iov_len; r->piece++)
			r->bytes -= piece(r, r->piece).iov_len;
	}
}

/* ---- answers ---- */

/* Fail because of a line that begins no answer; why: of one that was to. */
static int
fail_line(const struct child *from, const struct request *r, const char *why,
	  struct fail *f)
{
	const struct text *line = &from->line;
	const bool meant = line->size > 0 && *line->data == '{' && *why;
	char shown[33];
	size_t n = line->size < sizeof(shown) - 1 ? line->size :
		sizeof(shown) - 1;

	for (size_t i = 0; i < n; i++)
		shown[i] = isprint((unsigned char)line->data[i]) ?
			line->data[i] : '?';
	shown[n] = '\0';
	return fail(f, FAIL_PROTOCOL, "'%s' printed '%s', which is not the "
		    "first line of an answer%s%s%s: that is %s or "
		    "{\"error\":\"TEXT\"}",
		    from->command, shown, meant ? " (" : "", meant ? why : "",
		    meant ? ")" : "", r->call->answer ?
		    "{\"loss\":NUMBER,...}" : "{}");
}

static int
take_line(const struct child *from, struct request *r, struct fail *f)
{
	const struct text *line = &from->line;
	struct fail why;

	r->has_line = true;
	r->answer = answer_read(line->data ? line->data : "", line->size,
				r->call->answer, &why);
	if (r->answer == ANSWER_NONE)
		return fail_line(from, r, why.text, f);
	r->why = why;
	if (r->answer != ANSWER_GOOD || r->call->answer ||
	    answer_check_shapes(line->data, line->size, r->call->wanted,
				r->call->wanteds, &r->why) == 0)
		return 0;
	r->answer = ANSWER_UNFIT;
	*f = r->why;
	return f->kind == FAIL_DATA ? 0 : -1;
}

static int
fail_extra(const struct child *p, struct fail *f)
{
	return fail(f, FAIL_PROTOCOL, "'%s' has answered more than was wanted",
		    p->command);
}

/* Fail because of bytes behind the arrays. */
static int
fail_extra_bytes(const struct child *to, const struct request *r,
		 struct fail *f)
{
	const size_t wanteds = r->call->wanteds;
	size_t bytes = 0;

	if (r->array < wanteds || wanteds == 0)
		return fail_extra(to, f);
	for (size_t i = 0; i < wanteds; i++)
		bytes += external_bytes(&r->call->wanted[i]);
	return fail(f, FAIL_PROTOCOL, "'%s' has answered more than was wanted: "
		    "%zu bytes, up to the end of %s", to->command, bytes,
		    r->call->wanted[wanteds - 1].name);
}

/* Add to a failure which array is not complete, if one is not. */
static void
fail_short(const struct request *r, struct fail *f)
{
	const struct fail why = *f;
	const struct external_array *a = &r->call->wanted[r->array];

	if (r->has_line && !is_answered(r))
		fail(f, why.kind, "%s: %s is incomplete: %zu of %zu bytes have "
		     "arrived",
		     why.text, a->name, r->got, external_bytes(a));
}

/* Take the bytes behind the line, with which the arrays begin. */
static int
receive_rest(const struct child *to, struct request *r, const char *from,
	     size_t n, struct fail *f)
{
	while (n > 0 && !is_answered(r)) {
		const struct external_array *a = &r->call->wanted[r->array];
		const size_t left = external_bytes(a) - r->got;
		const size_t some = n < left ? n : left;

		memcpy((char *)a->at + r->got, from, some);
		from += some;
		n -= some;
		r->got = some == left ? 0 : r->got + some;
		r->array += some == left;
	}
	return n > 0 ? fail_extra_bytes(to, r, f) : 0;
}

/* Take n bytes, the first of which belong to the line. */
static int
receive_line(struct child *to, struct request *r, const char *from, size_t n,
	     struct fail *f)
{
	const size_t most = r->call->answer ? ANSWER_STEP : ANSWER_LAYER;
	const char *end = memchr(from, '\n', n);
	struct text *line = &to->line;

	text_add_bytes(line, from, end ? (size_t)(end - from) : n);
	if (line->size >= most)
		return fail_line(to, r, "the line is too long", f);
	if (!end)
		return 0;
	return take_line(to, r, f) < 0 ? -1 :
		receive_rest(to, r, end + 1,
			     n - (size_t)(end + 1 - from), f);
}

/*
 * Receive what has come.  Return 0; 1 at the end of the program's output; or
 * -1.
 */
static int
receive(struct child *from, struct request *r, struct fail *f)
{
	const bool line = !r->has_line;
	const struct external_array *a = &r->call->wanted[r->array];
	char some[SOME_BYTES];
	char *to = line ? some : (char *)a->at + r->got;
	const size_t room = line ? sizeof(some) : external_bytes(a) - r->got;
	const ssize_t n = read(from->from, to, room);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 :
			fail_sys(f, FAIL_PEER, "'%s'", from->command);
	if (n == 0)
		return 1;
	if (line)
		return receive_line(from, r, some, (size_t)n, f);
	r->got += (size_t)n;
	if (r->got == external_bytes(a)) {
		r->got = 0;
		r->array++;
	}
	return 0;
}

/* Fail, and say why a program's output has ended. */
static int
fail_ended(struct child *p, struct fail *f)
{
	bool ended;
	int status;

	spawn_close(&p->to);
	ended = wait_for_end(p);
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

/* ---- requests, one after the other ---- */

static int
begin_request(const struct external_processes *p, struct child *to,
	      struct request *r, struct fail *f)
{
	char more;

	if (to->group < 0 && !r->call->answer)
		return fail(f, FAIL_PEER, "'%s' has ended", to->command);
	if (to->group < 0 && start(to, f) < 0)
		return -1;
	if (to->asked && read(to->from, &more, 1) > 0)
		return fail_extra(to, f);
	if (!r->written)
		write_request(to, r);
	if (r->call->answer)
		external_answer_begin(r->call->answer, r->examples);
	text_reset(&to->line);
	r->follows = to->asked;
	to->asked = true;
	r->piece = r->bytes = r->array = r->got = 0;
	r->input_closed = r->has_line = false;
	r->why.kind = 0;
	r->advanced = clock_ms();
	r->until = r->advanced + p->timeout_ms;
	send_more(to, r);
	return 0;
}

/*
 * Start the program again if the same request may succeed then, and return
 * true.  A program of steps keeps no state between requests that it could not
 * make anew; one of a layer does.
 */
static bool
restart(const struct external_processes *p, struct child *to,
	const struct request *r, const struct fail *why)
{
	if (!r->call->answer || to->restarts == p->restarts ||
	    (why->kind != FAIL_PEER && why->kind != FAIL_PROTOCOL))
		return false;
	kill_child(to);
	to->restarts++;
	log_warn("%s: %s; it is started again, %llu of %llu", r->call->name,
		 why->text, (unsigned long long)to->restarts,
		 (unsigned long long)p->restarts);
	return true;
}

/* Return the request that the program is computing; NULL: none. */
static struct request *
current_request(struct child *p)
{
	return p->done < p->count ? request_at(p, p->done) : NULL;
}

static void make_request(const struct external_processes *, struct child *);

/*
 * End a request, and send the next one before anything else: the program is
 * waiting.
 */
static void
end_request(const struct external_processes *p, struct child *to,
	    struct request *r)
{
	r->ended = true;
	to->done++;
	if (current_request(to) && r->why.kind != FAIL_AGAIN)
		make_request(p, to);
}

/* Make the request again, to a new process, or let it fail. */
static void
retry_or_fail(const struct external_processes *p, struct child *to,
	      struct request *r, const struct fail *why)
{
	if (restart(p, to, r, why)) {
		make_request(p, to);
		return;
	}
	r->why = *why;
	end_request(p, to, r);
}

static void
make_request(const struct external_processes *p, struct child *to)
{
	struct fail why;

	if (begin_request(p, to, current_request(to), &why) < 0)
		retry_or_fail(p, to, current_request(to), &why);
}

static void
take_answer(const struct external_processes *p, struct child *to,
	    struct request *r)
{
	const bool good = r->answer == ANSWER_GOOD ||
		r->answer == ANSWER_ENDED;

	/*
	 * Only the answer to a later request shows that nothing followed the
	 * one before.
	 */
	if (good && r->follows)
		to->restarts = 0;
	if (good && r->call->answer && r->call->answer->shares && to->memory)
		to->uses_memory = true;
	end_request(p, to, r);
}

/*
 * Send and receive what is possible now.  Return 0; 1 at the end of the
 * program's output; or -1.
 */
static int
exchange(struct child *to, struct request *r, const struct pollfd *fds,
	 struct fail *f)
{
	if (fds[0].revents)
		send_more(to, r);
	/*
	 * Other processes may hold the program's output open after it has
	 * ended, so an open output is no sign of life.
	 */
	return fds[1].revents ? receive(to, r, f) : fds[2].revents != 0;
}

/* Fill in what to wait for. */
static void
fill_fds(const struct child *to, const struct request *r, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = is_sent(r) ? -1 : to->to,
				  .events = POLLOUT };
	fds[1] = (struct pollfd){ .fd = is_answered(r) ? -1 : to->from,
				  .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = to->gone, .events = POLLIN };
}

/*
 * Continue the present request, once something happens within ms milliseconds.
 * Return false if nothing does.  stops: a signal to end counts, and breaks the
 * request off.
 */
static bool
advance(const struct external_processes *p, struct child *to, uint64_t ms,
	bool stops)
{
	struct request *r = current_request(to);
	struct pollfd fds[EXTERNAL_FDS + 1];
	const uint64_t now = clock_ms();
	struct fail why;
	int status;

	/* While this program was stopped, its children may have been, too. */
	r->until += pause_since(&r->advanced, now, 0);
	if (now >= r->until) {
		fail(&why, FAIL_PEER, "'%s' has not answered within %g s",
		     to->command, (double)p->timeout_ms / 1000);
		fail_short(r, &why);
		retry_or_fail(p, to, r, &why);
		return true;
	}
	fill_fds(to, r, fds);
	fds[EXTERNAL_FDS] = (struct pollfd){ .fd = stops ? cli_stop_fd : -1,
					     .events = POLLIN };
	if (poll(fds, EXTERNAL_FDS + 1, (int)(r->until - now < ms ?
					      r->until - now : ms)) <= 0)
		return false;
	if (fds[EXTERNAL_FDS].revents) {
		fail(&why, FAIL_AGAIN, "stopped while '%s' was computing",
		     to->command);
		retry_or_fail(p, to, r, &why);
		return true;
	}
	status = exchange(to, r, fds, &why);
	if (status > 0) {
		fail_ended(to, &why);
		fail_short(r, &why);
	}
	if (status != 0)
		retry_or_fail(p, to, r, &why);
	else if (is_sent(r) && is_answered(r))
		take_answer(p, to, r);
	return true;
}

static void
add_request(const struct external_processes *p, struct child *to,
	    const struct external_call *c)
{
	struct request *r = request_at(to, to->count++);

	assert(to->count <= EXTERNAL_ASKED);
	r->call = c;
	r->examples = c->answer ? c->answer->examples : 0;
	r->written = r->ended = false;
	r->sent = r->wanted = NULL;
	r->why.kind = 0;
	if (current_request(to) == r)
		make_request(p, to);
	else if (to->uses_memory)
		write_request(to, r);
}

/* Wait for the first request to end, and take it. */
static int
take_request(const struct external_processes *p, struct child *to,
	     struct fail *f)
{
	struct request *r = request_at(to, 0);

	while (!r->ended) {
		heartbeat();
		advance(p, to, HEARTBEAT_MS, !p->steady);
	}
	copy_from_memory(to, r);
	to->count--;
	to->done--;
	to->first = to->count > 0 ? (to->first + 1) % EXTERNAL_ASKED : 0;
	if (!r->why.kind)
		return 0;
	*f = r->why;
	return -1;
}

/* Return the program of a call: that of the steps, or of the layer. */
static struct child *
called(const struct external_processes *p, const struct external_call *c)
{
	return find_child(p, c->answer ? NULL : c->name);
}

static void
ask(void *own, const struct external_call *c)
{
	add_request(own, called(own, c), c);
}

static bool
answered(void *own, const struct external_call *c)
{
	struct child *to = called(own, c);

	return request_at(to, 0)->call == c && request_at(to, 0)->ended;
}

static int
take(void *own, const struct external_call *c, struct fail *f)
{
	struct child *to = called(own, c);

	assert(request_at(to, 0)->call == c);
	return take_request(own, to, f);
}

/* Return the program that is computing; NULL: none. */
static struct child *
computing(const struct external_processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (current_request(&p->child[i]))
			return &p->child[i];
	return NULL;
}

size_t
external_processes_fds(const struct external_processes *p, struct pollfd *fds)
{
	struct child *to = computing(p);

	if (!to)
		return 0;
	fill_fds(to, current_request(to), fds);
	return EXTERNAL_FDS;
}

void
external_processes_advance(const struct external_processes *p)
{
	struct child *to;

	while ((to = computing(p)) && advance(p, to, 0, false))
		;
}

const struct externals *
external_processes_externals(struct external_processes *p)
{
	p->externals = (struct externals){ .own = p, .begin = begin,
					   .ask = ask,
					   .answered = answered,
					   .take = take };
	return &p->externals;
}
