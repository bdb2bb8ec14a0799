/*
 * flush_denormals - numbers too small to be whole.
 */
#ifndef PS_FLUSH_DENORMALS_H
#define PS_FLUSH_DENORMALS_H

#include <stdint.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/*
 * From here on those below 1.2e-38 are 0 for this thread and those that it
 * starts, in what is computed and in its results.  Momentums that nothing
 * feeds any more fade to such and stay there, at 0.9 times 4 units of the last
 * place rounded to 4; and processors that take them for what they are take 2
 * to 100 times as long.
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
