#include "sys/curve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

#define ZAP_ENDPOINT	"inproc://zeromq.zap.01"	/* ZAP's */
#define KEY_BYTES	32
#define ASKED_FRAMES	7

/* Read the one line of a file that only its owner may read. */
static int
read_secret(char secret[CURVE_TEXT], FILE *file, const char *path,
	    struct fail *f)
{
	struct stat st;
	char line[128];
	size_t length;

	if (fstat(fileno(file), &st) < 0)
		return fail_sys(f, FAIL_NOINPUT, "cannot read %s", path);
	if (S_ISREG(st.st_mode) && st.st_mode & (S_IRWXG | S_IRWXO))
		return fail(f, FAIL_DENIED, "%s: others may read or write "
			    "this key: chmod 600", path);
	if (!fgets(line, sizeof(line), file)) {
		if (ferror(file))
			return fail_sys(f, FAIL_IO, "cannot read %s", path);
		line[0] = '\0';
	}
	length = strcspn(line, "\n");
	line[length] = '\0';
	if (length != CURVE_TEXT - 1 || fgetc(file) != EOF)
		return fail(f, FAIL_DATA, "%s: a key is one line of 40 "
			    "characters: head -c 30 /dev/urandom | base64",
			    path);
	memcpy(secret, line, CURVE_TEXT);
	return 0;
}

int
curve_read(struct curve *c, const char *path, struct fail *f)
{
	unsigned char key[KEY_BYTES];
	FILE *file;
	int status;

	if (!zmq_has("curve"))
		return fail(f, FAIL_CONFIG, "%s: this libzmq was built "
			    "without encryption", path);
	file = fopen(path, "re");
	if (!file)
		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
	status = read_secret(c->secret, file, path, f);
	fclose(file);
	if (status < 0)
		return -1;
	if (!zmq_z85_decode(key, c->secret) ||
	    zmq_curve_public(c->public, c->secret) < 0)
		return fail(f, FAIL_DATA, "%s: this is not a key: a key has "
			    "only letters, digits, + and /", path);
	return 0;
}

int
curve_make(struct curve *c, struct fail *f)
{
	if (zmq_curve_keypair(c->public, c->secret) == 0)
		return 0;
	return fail(f, FAIL_CONFIG, "cannot make a key: %s",
		    zmq_strerror(errno));
}

void
curve_guard(const struct curve *c, void *socket)
{
	const int guard = 1;

	zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &guard, sizeof(guard));
	zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, c->secret, CURVE_TEXT);
}

void
curve_use(const struct curve *ours, const char *public, void *socket)
{
	zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, public, CURVE_TEXT);
	zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, ours->public, CURVE_TEXT);
	zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, ours->secret, CURVE_TEXT);
}

void *
curve_open_zap(void *context, struct fail *f)
{
	void *zap = zmq_socket(context, ZMQ_REP);

	if (zap && zmq_bind(zap, ZAP_ENDPOINT) == 0)
		return zap;
	fail(f, FAIL_INTERNAL, "cannot guard connections: %s",
	     zmq_strerror(errno));
	if (zap)
		zmq_close(zap);
	return NULL;
}

/*
 * Receive a question of ZAP, which has the frames version, request, domain,
 * address, routing id, mechanism and key.  The answer needs the request.  The
 * key stays 0, and is refused, if the question is malformed.
 */
static bool
receive_zap_request(void *zap, char *request, size_t *size, unsigned char *key)
{
	unsigned char frame[256];
	int more = 1, length = 0;
	size_t option = sizeof(more);
	bool good = true;

	for (int i = 0; more; i++) {
		length = zmq_recv(zap, frame, sizeof(frame), ZMQ_DONTWAIT);
		if (length < 0)
			return false;
		good = good && (size_t)length <= sizeof(frame);
		if (i == 1 && good)
			memcpy(request, frame, *size = (size_t)length);
		if (i == 5)
			good = good && length == 5 &&
				memcmp(frame, "CURVE", 5) == 0;
		if (i == ASKED_FRAMES - 1 && length == KEY_BYTES && good)
			memcpy(key, frame, KEY_BYTES);
		zmq_getsockopt(zap, ZMQ_RCVMORE, &more, &option);
	}
	return true;
}

bool
curve_answer_zap(const struct curve *c, void *zap)
{
	unsigned char key[KEY_BYTES] = { 0 };
	char request[256], text[CURVE_TEXT];
	size_t size = 0;

	if (!receive_zap_request(zap, request, &size, key))
		return false;

	const bool ours = zmq_z85_encode(text, key, KEY_BYTES) &&
		strcmp(text, c->public) == 0;
	const char *const status = ours ? "200" : "400";

	zmq_send(zap, "1.0", 3, ZMQ_SNDMORE);
	zmq_send(zap, request, size, ZMQ_SNDMORE);
	zmq_send(zap, status, 3, ZMQ_SNDMORE);
	zmq_send(zap, "", 0, ZMQ_SNDMORE);
	zmq_send(zap, "", 0, ZMQ_SNDMORE);
	zmq_send(zap, "", 0, 0);
	return true;
}
