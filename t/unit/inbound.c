/* Which peer a descriptor belongs to, when a message is received after its
   sender has gone. */
#include "sys/inbound.h"

#include "tap.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the number that libzmq gives to the nth connection. */
static uint64_t
caller(uint32_t n)
{
	unsigned char bytes[8] = { 0, (unsigned char)(n >> 24),
		(unsigned char)(n >> 16), (unsigned char)(n >> 8),
		(unsigned char)n };
	uint64_t peer;

	memcpy(&peer, bytes, sizeof(peer));
	return peer;
}

int
main(void)
{
	struct inbound *c = inbound_new(100);
	int pair[2];

	equals(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	inbound_accepted(c, pair[0], 0);
	inbound_identify(c, caller(0xffffffff), pair[0]);
	ok(inbound_is_connected(c, caller(0xffffffff)));
	inbound_closed(c, pair[0]);
	ok(!inbound_is_connected(c, caller(0xffffffff)));

	inbound_accepted(c, pair[0], 0);
	inbound_identify(c, caller(1), pair[0]);
	inbound_identify(c, caller(0xffffffff), pair[0]);
	named(inbound_is_connected(c, caller(1)) &&
	      !inbound_is_connected(c, caller(0xffffffff)),
	      "a late message of a lost connection does not take the place of "
	      "a newer peer");
	inbound_identify(c, caller(2), pair[0]);
	named(inbound_is_connected(c, caller(2)) &&
	      !inbound_is_connected(c, caller(1)),
	      "a newer peer takes the place of one that has gone");
	inbound_free(c);
	close(pair[0]);
	close(pair[1]);
	return tap_done();
}
