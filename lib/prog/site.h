/*
 * site - the name of the site of a worker or a relay, by which those of one
 * site find each other.
 */
#ifndef PS_SITE_H
#define PS_SITE_H

/*
 * Return the name of the site: the argument of --site, or the host's name for
 * NULL.  It is good until the program ends.  End the program if the argument is
 * not a name.
 */
const char *site_name(const char *argument);

/* End the program if the argument of an option is not a name, as of a site or a
   submitter: see message_is_name(). */
void site_check_name(const char *option, const char *argument);

#endif
