#include "prog/site.h"

#include "sys/cli.h"
#include "wire/message.h"

#include <string.h>
#include <unistd.h>

void
site_check_name(const char *option, const char *argument)
{
	if (!message_is_name(argument, strlen(argument)))
		cli_usage("%s: '%s' is not a name of 1 to %d characters "
			  "without blanks, quotes and backslashes", option,
			  argument, WIRE_NAME - 1);
}

const char *
site_name(const char *argument)
{
	static char host[WIRE_NAME];

	if (argument) {
		site_check_name("--site", argument);
		return argument;
	}
	/*
	 * A longer name is cut, in the same way for all programs of this host.
	 */
	if (gethostname(host, sizeof(host) - 1) < 0 ||
	    !message_is_name(host, strlen(host)))
		strcpy(host, "localhost");
	return host;
}
