/*
 * breath - lets long work send signs of life.
 *
 * A function that may take long, such as the computation of a large batch,
 * calls breathe() between its parts.  A program whose peers would take its
 * silence for death sets, by breath_by(), a function that sends them a sign of
 * life.
 */
#ifndef PS_BREATH_H
#define PS_BREATH_H

/*
 * Set the function, and its argument, that breathe() calls in this thread; the
 * argument is borrowed.  NULL: breathe() does nothing.
 */
void breath_by(void (*)(void *), void *);
void breathe(void);

#endif
