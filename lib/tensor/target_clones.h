/*
 * target_clones - compile one plain loop for several processors.
 *
 *	static TARGET_CLONES void
 *	kernel(float *restrict w, const float *restrict g, size_t n)
 *
 * The program takes the widest copy that the processor supports when it starts.
 * All copies give the same bits: contraction (a * b + c in one operation) is
 * off, and division and square root round correctly whatever the width.
 *
 * It needs glibc's indirect functions and a compiler that knows the levels;
 * elsewhere, and under sanitizers (which run before the choice is made), there
 * is one copy.
 */
#ifndef PS_TARGET_CLONES_H
#define PS_TARGET_CLONES_H

#include <stdint.h>	/* for __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
	!defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__) && !defined(PS_DEV)
#if __GNUC__ >= 12
#define TARGET_CLONES	__attribute__((target_clones("arch=x86-64-v4", \
		"arch=x86-64-v3", "default")))
#endif
#endif

#ifndef TARGET_CLONES
#define TARGET_CLONES
#endif

#endif
