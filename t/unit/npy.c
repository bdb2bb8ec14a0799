/* Arrays that we write can be read again; arrays that NumPy may write are read,
   or refused. */
#include "store/npy.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static struct fail f;

/* Reads an .npy of version 1 with this dictionary. */
static int
read_text(struct npy *npy, const char *text)
{
	char bytes[NPY_HEADER_MAX] = "\x93NUMPY\x01";
	const size_t n = strlen(text);

	bytes[8] = (char)(n & 255);
	bytes[9] = (char)(n >> 8);
	memcpy(bytes + 10, text, n);
	return npy_read(npy, bytes, 10 + n, &f);
}

static void
round_trip(struct shape s)
{
	char header[NPY_HEADER_MAX];
	const size_t size = npy_header(s, header);
	struct npy npy;

	ok(size % 64 == 0 && header[size - 1] == '\n');
	equals(npy_read(&npy, header, size, &f), 0);
	ok(shape_equal(npy.shape, s) && npy.kind == 'f' && npy.item == 4 &&
	   !npy.big && npy.offset == size);
	for (size_t cut = 0; cut < size; cut++)
		if (npy_read(&npy, header, cut, &f) == 0)
			ok(!"a cut header is refused");
}

static bool
read_type(struct npy *npy, const char *type)
{
	char text[128];

	snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': "
		 "False, 'shape': ()}\n", type);
	return read_text(npy, text) == 0;
}

static float
value(const char *type, const char *bytes)
{
	struct npy npy;
	float x = -99;

	if (read_type(&npy, type))
		npy_floats(&npy, bytes, &x, 1);
	return x;
}

/* Returns the second of two integers. */
static uint64_t
integer(const char *type, const char *bytes)
{
	struct npy npy;
	uint64_t x[2] = { 99, 99 };

	if (read_type(&npy, type))
		npy_integers(&npy, bytes, x, 2);
	return x[1];
}

/* All 64 bits are read, and negative integers as those of all other types. */
static void
test_integers(void)
{
	ok(integer("<u8", "????????\xff\xff\xff\xff\xff\xff\xff\xff") ==
	   UINT64_MAX);
	ok(integer("<i8", "????????\xfe\xff\xff\xff\xff\xff\xff\xff") ==
	   (uint64_t)-2);
	ok(integer(">i8", "????????\x80\0\0\0\0\0\0\1") ==
	   ((uint64_t)1 << 63) + 1);
	ok(integer(">u8", "????????\0\x20\0\0\0\0\0\1") ==
	   ((uint64_t)1 << 53) + 1);
	ok(integer("|i1", "?\xff") == UINT64_MAX &&
	   integer("|u1", "?\xff") == 255);
	ok(integer("<i2", "??\0\x80") == (uint64_t)-32768 &&
	   integer(">u2", "??\x80\1") == 32769);
	equals(integer("<i4", "????\xff\xff\xff\xff"), UINT64_MAX);
}

static void
test_types(void)
{
	ok(value("<f4", "\0\0\xc0\xbf") == -1.5f);
	ok(value(">f4", "\xbf\xc0\0\0") == -1.5f);
	ok(value("<f8", "\0\0\0\0\0\0\xf8\xbf") == -1.5f);
	ok(value("<f2", "\0\xbe") == -1.5f);
	ok(value("<f2", "\1\0") == 0x1p-24f && isinf(value("<f2", "\0\x7c")) &&
	   isnan(value("<f2", "\1\x7c")));
	ok(value("|i1", "\xff") == -1 && value("|i1", "\x80") == -128);
	ok(value("|u1", "\xff") == 255 && value("|b1", "\1") == 1);
	ok(value("<i2", "\0\x80") == -32768 &&
	   value(">i2", "\x80\0") == -32768);
	equals(value("<i8", "\xfe\xff\xff\xff\xff\xff\xff\xff"), -2);
	equals(value("<i8", "\0\0\0\0\0\0\0\x80"), -0x1p63f);
	equals(value("<u8", "\xff\xff\xff\xff\xff\xff\xff\xff"), 0x1p64f);
	equals(value(">u4", "\0\0\1\0"), 256);
}

static void
test_foreign(void)
{
	static const char *const refused[] = {
		"", "{", "{}", "[]",
		"{'descr': '<f4', 'fortran_order': False}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (nan,)}",
		"{'descr': '<f4', 'fortran_order': False, "
			"'shape': (99999999999999999999999,)}",
		"{'descr': '<f4', 'fortran_order': False, "
			"'shape': (4294967296, 4294967296)}",
		"{'descr': '<f4', 'fortran_order': False, "
			"'shape': (1,1,1,1,1,1,1,1,1)}",
		"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}",
		"{'descr': '<f4', 'fortran_order': None, 'shape': (2, 2)}",
		"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<U4', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': [('a', '<f4')], 'fortran_order': False, "
			"'shape': (2,)}",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, "
			"'shape': (2,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), "
			"'more': 1}",
	};
	struct npy npy;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		f.kind = 0;
		ok(read_text(&npy, refused[i]) < 0 && f.kind == FAIL_DATA);
	}
	ok(read_text(&npy, "{\"shape\": (7 , 20,) , 'fortran_order':False,"
		     "'descr':'<i8'}   \n") == 0);
	ok(npy.shape.rank == 2 && npy.shape.dim[1] == 20 && npy.item == 8);
	ok(read_text(&npy, "{'descr': '<f4', 'fortran_order': True, "
		     "'shape': (5,), }") == 0);
	ok(read_text(&npy, "{'descr': '<f4', 'fortran_order': False, "
		     "'shape': (0, 3), }") == 0 && npy.shape.dim[0] == 0);
	ok(npy_read(&npy, "\x93NUMPY\4\0\0\0\0\0", 12, &f) < 0);
	ok(npy_read(&npy, "PK\3\4\0\0\0\0\0\0\0\0", 12, &f) < 0);
	/* Version 2 has four bytes of length, here more than there is. */
	ok(npy_read(&npy, "\x93NUMPY\2\0\xff\xff\xff\xff", 12, &f) < 0);
}

int
main(void)
{
	round_trip((struct shape){ 0 });
	round_trip((struct shape){ 1, { 7 } });
	round_trip((struct shape){ 2, { 7, 20 } });
	round_trip((struct shape){ 8, { 1, 2, 3, 4, 5, 6, 7, 1 << 30 } });
	test_types();
	test_integers();
	test_foreign();
	return tap_done();
}
