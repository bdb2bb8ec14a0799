/*
 * elementary - exp and logarithms for loops that take several numbers at a
 * time (see target_clones).
 *
 * They are plain arithmetic without a branch, so a compiler can do in vectors
 * what it inlines them into, with the same bits as for one number.  Each has
 * the domain that layers and losses need, and is within 1.5 units in the last
 * place there.  NaN gives NaN.
 */
#ifndef PS_ELEMENTARY_H
#define PS_ELEMENTARY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Their sum is ln 2.  Whole multiples of the first are exact. */
#define LN_2_HIGH	0x1.62e42feep-1
#define LN_2_LOW	0x1.a39ef35793c76p-33

/* Added to a number below 2^51 it leaves whole ones, in the lowest bits. */
#define WHOLE		0x1.8p52

/* 2^n; n is that number plus WHOLE, -1022 to 1023. */
static inline double
power_of_2(double n)
{
	uint64_t bits;
	double power;

	memcpy(&bits, &n, sizeof(bits));
	bits = (bits + 1023) << 52;
	memcpy(&power, &bits, sizeof(power));
	return power;
}

/*
 * e^x of x <= 0; 0 of what is below -708, where it would be no normal number.
 * With x = n ln 2 + r it is 2^n e^r; |r| is at most ln(2) / 2, where 13 terms
 * of Taylor's series do.
 */
static inline double
exp_of_negative(double x)
{
	const double n = x * 1.4426950408889634 + WHOLE, whole = n - WHOLE;
	const double r = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
	double p = 1 / 6227020800.;

	p = p * r + 1 / 479001600.;
	p = p * r + 1 / 39916800.;
	p = p * r + 1 / 3628800.;
	p = p * r + 1 / 362880.;
	p = p * r + 1 / 40320.;
	p = p * r + 1 / 5040.;
	p = p * r + 1 / 720.;
	p = p * r + 1 / 120.;
	p = p * r + 1 / 24.;
	p = p * r + 1 / 6.;
	p = p * r + 1 / 2.;
	p = p * r * r + r + 1;
	return x < -708 ? 0 : p * power_of_2(n);
}

/*
 * ln(1 + f) of -0.3 <= f <= 0.5.  With s = f / (2 + f) it is
 * 2 artanh(s), or 2 s + 2 s^3 / 3 + 2 s^5 / 5 ...; and 2 s = f - s f, which
 * leaves the rounding of s little to say.
 */
static inline double
log1p_near_0(double f)
{
	const double s = f / (2 + f), q = s * s;
	double p = 2 / 21.;

	p = p * q + 2 / 19.;
	p = p * q + 2 / 17.;
	p = p * q + 2 / 15.;
	p = p * q + 2 / 13.;
	p = p * q + 2 / 11.;
	p = p * q + 2 / 9.;
	p = p * q + 2 / 7.;
	p = p * q + 2 / 5.;
	p = p * q + 2 / 3.;
	return f - s * (f - p * q);
}

/* ln(1 + x) of 0 <= x <= 1. */
static inline double
log1p_of_fraction(double x)
{
	const bool near_1 = x > .5;
	const double y = log1p_near_0(near_1 ? (x - 1) / 2 : x);

	return near_1 ? LN_2_HIGH + (y + LN_2_LOW) : y;
}

/*
 * ln(x) of a positive normal number up to 2^1023: of m where x = 2^n m, and
 * n ln 2.
 */
static inline double
log_of_positive(double x)
{
	const double least = M_SQRT1_2, two_to_52 = 0x1p52;
	uint64_t bits, low, high;
	double n;

	memcpy(&bits, &x, sizeof(bits));
	memcpy(&low, &least, sizeof(low));
	memcpy(&high, &two_to_52, sizeof(high));
	bits = (bits - low + ((uint64_t)1023 << 52)) >> 52 | high;
	memcpy(&n, &bits, sizeof(n));
	n -= two_to_52 + 1023;
	return n * LN_2_HIGH + (log1p_near_0(x * power_of_2(WHOLE - n) - 1) +
				n * LN_2_LOW);
}

#endif
