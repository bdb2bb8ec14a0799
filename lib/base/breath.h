/*
 * breath - a sign of life from who is at something long.
 *
 * What may take long calls breathe() between its parts.  A program whose peers
 * go by its answers says how to tell them that it still lives.
 */
#ifndef PS_BREATH_H
#define PS_BREATH_H

/* From now on this is called, in this thread alone; NULL: nothing is. */
void breath_by(void (*)(void *), void *);
void breathe(void);

#endif
