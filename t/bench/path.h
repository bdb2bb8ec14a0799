/*
 * path - a bare data path: it computes the same sums on the same bytes as a
 * server, and does nothing else, so a server cannot be faster.
 *
 * A child holds an array of floats behind a ROUTER.  A request is a header of
 * 32 bytes and raw frames; rows are named by raw 64-bit keys; sums are x += y;
 * answers are a header and the values.  The child checks nothing, may apply a
 * request twice, and sends answers that point into the array, so that the next
 * push may change an answer before it is sent.
 */
#ifndef PS_BENCH_PATH_H
#define PS_BENCH_PATH_H

#include "bench.h"

#include <malloc.h>
#include <sched.h>
#include <zmq.h>

enum path_op { PATH_PUSH = 1, PATH_PULL = 2, PATH_PUSHPULL = 3 };

struct path_header {
	uint32_t op, width;	/* width 0: dense */
	uint64_t at, count;	/* floats of a dense one, from there */
	uint64_t request;
};

struct path {
	pid_t pid;
	void *context, *socket;
};

/*
 * Sets the memory and the scheduling as sys/net does: glibc does not return the
 * memory of every frame to the system, and a thread that a message wakes does
 * not interrupt the sender, except for the threads that carry messages.
 */
static inline void
path_prepare(void)
{
	const struct sched_param normal = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_BATCH, &normal);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

static inline void *
path_context(void)
{
	void *context = zmq_ctx_new();

	zmq_ctx_set(context, ZMQ_THREAD_SCHED_POLICY, SCHED_OTHER);
	return context;
}

static inline void
path_keep(void *data, void *hint)
{
	(void)data;
	(void)hint;
}

static inline void
path_send(void *socket, const void *data, size_t size, int flags)
{
	zmq_msg_t out;

	if (size < 65536) {
		zmq_send(socket, data, size, flags);
		return;
	}
	zmq_msg_init_data(&out, (void *)(uintptr_t)data, size, path_keep,
			  NULL);
	zmq_msg_send(&out, socket, flags);
}

/* Frames may lie at any address. */
static inline float
path_float(const void *from, size_t i)
{
	float x;

	memcpy(&x, (const char *)from + i * sizeof(x), sizeof(x));
	return x;
}

static inline uint64_t
path_key(const void *from, size_t i)
{
	uint64_t key;

	memcpy(&key, (const char *)from + i * sizeof(key), sizeof(key));
	return key;
}

/* Adds to the rows of some keys, copies them out, or both. */
static inline void
path_rows(float *x, const struct path_header *h, const void *key,
	  size_t keys, const void *y, float *out)
{
	const size_t width = h->width;

	for (size_t k = 0; k < keys; k++) {
		float *row = x + path_key(key, k) * width;

		for (size_t i = 0; y && i < width; i++)
			row[i] += path_float(y, k * width + i);
		for (size_t i = 0; out && i < width; i++)
			out[k * width + i] = row[i];
	}
}

static inline void
path_free(void *data, void *hint)
{
	(void)hint;
	free(data);
}

/* Answers a request: a header, keys if it is about rows, then values. */
static inline void
path_answer(void *socket, zmq_msg_t *id, zmq_msg_t *head, zmq_msg_t *frame,
	    float *x)
{
	const struct path_header *h = zmq_msg_data(head);
	const bool pushes = h->op & PATH_PUSH, pulls = h->op & PATH_PULL;
	const size_t keys = zmq_msg_size(&frame[0]) / sizeof(uint64_t);
	const size_t size = (h->width ? keys * h->width : h->count) *
		sizeof(float);
	const void *y = pushes ?
		zmq_msg_data(&frame[h->width ? 1 : 0]) : NULL;
	float *out = pulls && h->width ? malloc(size + !size) : NULL;
	zmq_msg_t values;

	if (h->width)
		path_rows(x, h, zmq_msg_data(&frame[0]), keys, y, out);
	for (size_t i = 0; pushes && !h->width && i < h->count; i++)
		x[h->at + i] += path_float(y, i);
	zmq_msg_send(id, socket, ZMQ_SNDMORE);
	zmq_send(socket, h, sizeof(*h), pulls ? ZMQ_SNDMORE : 0);
	if (out && zmq_msg_init_data(&values, out, size, path_free,
				     NULL) == 0)
		zmq_msg_send(&values, socket, 0);
	else if (pulls)
		path_send(socket, x + h->at, size, 0);
}

static inline void
path_serve(void *socket, size_t floats)
{
	float *x = calloc(floats, sizeof(*x));
	zmq_msg_t part[4];

	memset(x, 0, floats * sizeof(*x));
	for (size_t i = 0; i < 4; i++)
		zmq_msg_init(&part[i]);
	for (;;) {
		size_t n = 0;

		do {
			if (zmq_msg_recv(&part[n], socket, 0) < 0)
				exit(1);
		} while (zmq_msg_more(&part[n]) && ++n < 4);
		path_answer(socket, &part[0], &part[1], &part[2], x);
	}
}

static inline void *
path_socket(void *context, int type)
{
	void *socket = zmq_socket(context, type);
	const int none = 0;

	if (!socket)
		bench_die("no socket");
	zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof(none));
	zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof(none));
	zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
	return socket;
}

/* Starts a child with this number of floats, and a DEALER that is connected to
   it. */
static inline void
path_begin(struct path *p, size_t floats, enum bench_way way)
{
	const char *bind = way == BENCH_TCP ? "tcp://127.0.0.1:*" : "ipc://*";
	char endpoint[128] = "";
	int ready[2];

	path_prepare();
	if (pipe(ready) < 0)
		bench_die("no pipe");
	p->pid = bench_fork();
	if (p->pid == 0) {
		void *socket = path_socket(path_context(), ZMQ_ROUTER);
		size_t size = sizeof(endpoint);

		if (zmq_bind(socket, bind) < 0 ||
		    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint,
				   &size) < 0 ||
		    write(ready[1], endpoint, size) < 0)
			exit(1);
		path_serve(socket, floats);
	}
	close(ready[1]);
	if (read(ready[0], endpoint, sizeof(endpoint)) <= 0)
		bench_die("the bare server does not start");
	close(ready[0]);
	p->context = path_context();
	p->socket = path_socket(p->context, ZMQ_DEALER);
	if (zmq_connect(p->socket, endpoint) < 0)
		bench_die("cannot reach the bare server");
}

static inline void
path_end(struct path *p)
{
	zmq_close(p->socket);
	zmq_ctx_term(p->context);
	bench_kill(p->pid);
}

/* Sends a request; keys and values may be NULL, and must stay until it is
   answered. */
static inline void
path_ask(struct path *p, const struct path_header *h, const uint64_t *keys,
	 const float *values, size_t floats)
{
	zmq_send(p->socket, h, sizeof(*h), ZMQ_SNDMORE);
	if (keys)
		path_send(p->socket, keys, h->count * sizeof(*keys),
			  values ? ZMQ_SNDMORE : 0);
	if (values)
		path_send(p->socket, values, floats * sizeof(*values), 0);
	else if (!keys)
		zmq_send(p->socket, "", 0, 0);
}

/* Receives the next answer, and copies its values. */
static inline void
path_take(struct path *p, struct path_header *h, float *to, bool by_place)
{
	zmq_msg_t values;

	if (zmq_recv(p->socket, h, sizeof(*h), 0) < 0)
		bench_die("no answer");
	if (!(h->op & PATH_PULL))
		return;
	zmq_msg_init(&values);
	if (zmq_msg_recv(&values, p->socket, 0) < 0)
		bench_die("no values");
	memcpy(to + (by_place ? h->at : 0), zmq_msg_data(&values),
	       zmq_msg_size(&values));
	zmq_msg_close(&values);
}

#endif
