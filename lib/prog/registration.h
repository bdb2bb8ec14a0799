/* registration - a server sends the coordinator its endpoint. */
#ifndef PS_REGISTRATION_H
#define PS_REGISTRATION_H

#include "sys/net.h"

struct registration {
	uint64_t peer;		/* the coordinator; 0: the server does not
				   register */
	uint64_t index, life;	/* index and incarnation of this server */
};

/*
 * Handle an event of the coordinator's connection.  Return 1 if it was one; 0
 * if it is of another peer; -1 with the reason if the coordinator refuses us.
 */
int registration_receive(const struct registration *, struct net *,
			 const struct net_event *, struct fail *);

#endif
