/*
 * site - where a worker or a relay is, for those who are there to find each
 * other.
 */
#ifndef PS_SITE_H
#define PS_SITE_H

/* That of --site, whose argument this is; it ends the program if it is no name
   (NULL: the host's name).  Good for ever. */
const char *site_name(const char *argument);

#endif
