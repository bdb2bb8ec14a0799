/*
 * elementary - exp and logarithms for loops that a compiler can vectorize (see
 * target_clones).
 *
 * The functions are plain arithmetic without a branch, and are inlined.  So the
 * compiler can compute several numbers at once in vector registers, and gets
 * the same bits as for one number.  Each function has only the domain that
 * layers and losses need, and is within 1.5 units in the last place there.  NaN
 * gives NaN.
 */
#ifndef PS_ELEMENTARY_H
#define PS_ELEMENTARY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * The sum of both is ln 2.  The product of the first and a whole number is
 * exact, for those that occur here (below 2^11).
 */
#define LN_2_HIGH	0x1.62e42feep-1
#define LN_2_LOW	0x1.a39ef35793c76p-33

/*
 * Added to a number below 2^51, this rounds it to a whole number, which then
 * stands in the lowest bits of the sum.
 */
#define WHOLE		0x1.8p52

/* Return 2^k for a whole k from -1022 to 1023; n is k + WHOLE. */
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
 * Return e^x for x <= 0; 0 for x below -708, where the result would not be a
 * normal number.  With x = n ln 2 + r the result is 2^n e^r; |r| is at most
 * ln(2) / 2, where Taylor's series up to r^13 is exact enough.
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
 * Return ln(1 + f) for -0.3 <= f <= 0.5.  With s = f / (2 + f) the result is 2
 * artanh(s), or 2 s + 2 s^3 / 3 + 2 s^5 / 5 ...; and since 2 s = f - s f, the
 * rounding of s hardly matters.
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

/* Return ln(1 + x) for 0 <= x <= 1. */
static inline double
log1p_of_fraction(double x)
{
	const bool near_1 = x > .5;
	const double y = log1p_near_0(near_1 ? (x - 1) / 2 : x);

	return near_1 ? LN_2_HIGH + (y + LN_2_LOW) : y;
}

/*
 * Return ln(x) for a positive normal x up to 2^1023: with x = 2^n m and m from
 * sqrt(1/2) to sqrt(2) the result is n ln 2 + ln m.
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
