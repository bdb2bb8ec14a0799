#include "prog/registration.h"

#include <string.h>

static void
send_endpoint(const struct registration *reg, struct net *net)
{
	const char *endpoint = net_endpoint(net);
	struct message m = message_hello(ROLE_SERVER, reg->index, reg->life,
					 0);

	m.frames = 1;
	m.frame[0] = (struct frame){ endpoint, strlen(endpoint), NULL };
	net_send(net, reg->peer, &m);
}

int
registration_receive(const struct registration *reg, struct net *net,
		     const struct net_event *e, struct fail *f)
{
	char text[MESSAGE_BLOB + 1];

	if (!reg->peer || e->peer != reg->peer)
		return 0;
	if (e->kind == NET_UP)
		send_endpoint(reg, net);
	if (e->kind != NET_MESSAGE || e->message.kind != MESSAGE_REFUSED)
		return 1;
	message_text(&e->message, text, sizeof(text));
	return fail(f, message_status(e->message.refused.status),
		    "the coordinator refuses us: %s", text);
}
