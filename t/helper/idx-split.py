#!/usr/bin/python3
"""idx-split.py FILE N REST PART - records of an IDX file of bytes, in two.

Every Nth record goes to PART, the others to REST.  FILE may be gzipped.
"""
import gzip
import math
import struct
import sys


def write(name, shape, records):
    with open(name, "wb") as out:
        out.write(struct.pack(">BBBB", 0, 0, 8, 1 + len(shape)))
        out.write(struct.pack(">%dI" % (1 + len(shape)), len(records),
                              *shape))
        out.write(b"".join(records))


def main(name, n, rest, part):
    with open(name, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    begin = 4 + 4 * data[3]
    shape = struct.unpack(">%dI" % data[3], data[4:begin])[1:]
    size = math.prod(shape)
    records = [data[at:at + size] for at in range(begin, len(data), size)]
    write(part, shape, records[n - 1::n])
    del records[n - 1::n]
    write(rest, shape, records)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
