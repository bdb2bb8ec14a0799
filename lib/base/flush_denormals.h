/*
 * flush_denormals - makes the processor treat denormal floats as 0.
 */
#ifndef PS_FLUSH_DENORMALS_H
#define PS_FLUSH_DENORMALS_H

#include <stdint.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/*
 * From this call on, floats below 1.2e-38 are 0, as operands and as results, in
 * this thread and in threads that it starts later.
 *
 * Arithmetic with denormals takes 2 to 100 times as long on many processors,
 * and training makes them: a momentum that gets no more gradients shrinks by a
 * factor of 0.9 a step until it is a denormal, and stays one, since 0.9 times 4
 * units in the last place is rounded to 4 again.
 */
static inline void
flush_denormals(void)
{
#if defined(__SSE2__)
	_mm_setcsr(_mm_getcsr() | 0x8000 /* results */ | 0x40 /* operands */);
#elif defined(__aarch64__)
	uint64_t control;

	__asm__ volatile("mrs %0, fpcr" : "=r"(control));
	control |= UINT64_C(1) << 24;
	__asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
}

#endif
