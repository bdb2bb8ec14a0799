/*
 * registration - a server tells the coordinator where it is.
 */
#ifndef PS_REGISTRATION_H
#define PS_REGISTRATION_H

#include "sys/net.h"

struct registration {
	uint64_t peer;		/* the coordinator; 0: it is not to be told */
	uint64_t index, life;	/* which server we are */
};

/* Is it about our registration?  -1: the coordinator does not want us. */
int registration_receive(const struct registration *, struct net *,
			 const struct net_event *, struct fail *);

#endif
