#!/usr/bin/python3
"""Encode numbers with codecs 2 to 4 as ps-wire(7) specifies them, and compare
the bytes with those of pskit.

Cases come on standard input.  A plain case has three lines: its kind and
parameters; the numbers, in hexadecimal; the bytes.  A case of residuals has a
line with the codec, its argument and the number of pushes; then for each push
the batch and the learning rate, the gradient, and the bytes.  A case of
differences has a line with the codec, its argument and the number of rounds;
the values before them; for each round the values after it and the difference;
then the published values.
"""
import sys

import numpy as np

M64 = (1 << 64) - 1
M32 = (1 << 32) - 1
G = 0x9E3779B97F4A7C15
LEAST = np.float32(2.0**-126)


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def r(s, t, n):
    z = mix((s + G) & M64)
    z = mix(z ^ ((t + G) & M64))
    return mix((z + (n + 1) * G) & M64)


def draws(key, count):
    low, high = key & M32, key >> 32
    all_of = []
    for i in range(count):
        h = (low + i * 0x9E3779B9) & M32
        h = (((h ^ (h >> 16)) * 0x85EBCA6B) & M32) ^ high
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) & M32
        all_of.append(h ^ (h >> 16))
    return np.array(all_of, dtype=np.uint32)


def scale_of(block):
    m = np.abs(block).max()
    if m < LEAST:
        return np.float32(0)
    s = max(np.float32(m / np.float32(127)), LEAST)
    bits = (int(np.float32(s).view(np.uint32)) + 0xFFFF) & 0xFFFF0000
    return np.uint32(bits).view(np.float32)


def encode_block(block, key, pulled):
    """The scale, and the bytes of all numbers of a block."""
    s = scale_of(block)
    if s == 0:
        return s, np.zeros(len(block), dtype=np.int8)
    y = np.where(np.abs(block) < LEAST, np.float32(0), block / s)
    y = np.clip(y, np.float32(-127), np.float32(127)).astype(np.float32)
    if pulled:
        return s, np.rint(y).astype(np.int8)
    q = np.floor(y)
    h = (draws(key, len(block)) >> 9).astype(np.float64)
    up = (h + 0.5) * 2.0**-23 < (y - q).astype(np.float32)
    return s, (q + up).astype(np.int8)


def message(scales, numbers):
    half = [int(np.float32(s).view(np.uint32)) >> 16 for s in scales]
    out = np.array(half, dtype="<u2").tobytes()
    out += np.array(numbers, dtype=np.int8).tobytes()
    return out + b"\0" * (len(out) % 2)


def dense(x, d, first, count):
    scales, numbers = [], []
    for b in range(first // 64, (first + count - 1) // 64 + 1):
        s, q = encode_block(x[b * 64:b * 64 + 64], r(d, 0, b), False)
        scales.append(s)
        numbers += list(q[max(first - b * 64, 0):first + count - b * 64])
    return message(scales, numbers)


def rows(x, d, width, ids, pulled):
    size = width if width <= 128 else 64
    scales, numbers = [], []
    for k, key in enumerate(ids):
        row = x[k * width:(k + 1) * width]
        for b in range(0, width, size):
            s, q = encode_block(row[b:b + size], r(d, key, b // size), pulled)
            scales.append(s)
            numbers += list(q)
    return message(scales, numbers)


def numbers_of(line):
    return np.frombuffer(bytes.fromhex(line), dtype="<f4")


def bits_of(block):
    return block.view(np.uint32)


def bfloat16(x):
    """The nearest bfloat16 of each number, none of which is a NaN."""
    bits = np.array(x, dtype="<f4", ndmin=1).view("<u4").astype(np.uint64)
    one = np.uint64(1)
    odd = bits >> np.uint64(16) & one
    return (bits + np.uint64(0x7FFF) + odd >> np.uint64(16)).astype("<u2")


def float_of(half):
    return (half.astype("<u4") << np.uint32(16)).view("<f4")


def onebit(block, first, last, keep):
    """The bytes of numbers first to last - 1 of a block, and their values."""
    sums = [0.0] * 8
    for i, x in enumerate(np.abs(block).astype(np.float64)):
        sums[i % 8] += x if x >= float(LEAST) else 0.0
    mean = 0.0
    for x in sums:
        mean += x
    mean /= len(block)
    scale = bfloat16(np.float32(mean if mean >= float(LEAST) else 0.0))
    negative = bits_of(block)[first:last] >> 31
    packed = np.packbits(negative.astype(np.uint8), bitorder="little")
    value = float_of(scale)
    return (scale.tobytes() + packed.tobytes(),
            np.where(negative, -value, value).astype("<f4"))


def topk(block, first, last, keep):
    bits = bits_of(block)
    size = np.maximum(bits & 0x7FFFFFFF, bits >> 31)
    order = sorted(range(len(block)), key=lambda i: (-int(size[i]), i))
    sent = sorted(i for i in order[:keep] if size[i] > 0)
    sent = [i for i in sent if first <= i < last]
    numbers = bfloat16(block[sent])
    places = sum(int(i) << 10 * n for n, i in enumerate(sent))
    out = len(sent).to_bytes(2, "little") + numbers.tobytes()
    out += places.to_bytes((10 * len(sent) + 7) // 8, "little")
    value = np.zeros(last - first, dtype="<f4")
    value[[i - first for i in sent]] = float_of(numbers)
    return out, value


BLOCK = {onebit: 128, topk: 1024}


def sparse(x, first, count, keep, encode):
    """The bytes of a piece of a variable, and the values they decode to."""
    bitmap, runs, values = 0, b"", []
    size = BLOCK[encode]
    begin = first // size
    for b in range(begin, (first + count - 1) // size + 1):
        block = x[b * size:b * size + size]
        low = max(first - b * size, 0)
        high = min(first + count - b * size, len(block))
        if not bits_of(block).any():
            values.append(np.zeros(high - low, dtype="<f4"))
            continue
        bitmap |= 1 << b - begin
        out, value = encode(block, low, high, keep)
        runs += out
        values.append(value)
    out = bitmap.to_bytes((len(values) + 7) // 8, "little") + runs
    return out + b"\0" * (len(out) % 2), np.concatenate(values)


def int8(x, first, count, keep, encode):
    """The bytes of a difference, and the values that they decode to."""
    scales, numbers, values = [], [], []
    for b in range(0, len(x), 64):
        s, q = encode_block(x[b:b + 64], 0, True)
        scales.append(s)
        numbers += list(q)
        values.append(q.astype(np.float32) * s)
    return message(scales, numbers), np.concatenate(values)


CODECS = {"int8": (int8, None), "onebit": (sparse, onebit),
          "topk": (sparse, topk)}


def rounds(codec, keep, count):
    make, encode = CODECS[codec]
    p = numbers_of(sys.stdin.readline()).copy()
    for k in range(count):
        w = numbers_of(sys.stdin.readline())
        want = bytes.fromhex(sys.stdin.readline())
        got, numbers = make(w - p, 0, len(w), keep, encode)
        p += numbers
        if got != want:
            sys.exit(f"{codec}, round {k} of {count}: another difference")
    if p.tobytes() != bytes.fromhex(sys.stdin.readline()):
        sys.exit(f"{codec}: after {count} rounds something else is published")


def residuals(codec, keep, count):
    """Compare the pushes of a replica, the last of which flushes residuals."""
    make, encode = CODECS[codec]
    left, batch, rate = None, None, None
    for k in range(count):
        b, now = sys.stdin.readline().split()
        b, now = np.float32(b), np.float32(now)
        v = numbers_of(sys.stdin.readline()).copy()
        want = bytes.fromhex(sys.stdin.readline())
        if left is not None:
            v += np.float32(np.float32(b / batch) * rate) / now * left
        got, numbers = (make(v, 0, len(v), keep, encode) if k < count - 1
                        else (v.tobytes(), v))
        left, batch, rate = v - numbers, b, now
        if got != want:
            sys.exit(f"{codec}, push {k} of {count}: other bytes")


def sparse_case(codec, keep, first, count):
    x = numbers_of(sys.stdin.readline())
    want = bytes.fromhex(sys.stdin.readline())
    if sparse(x, first, count, keep, CODECS[codec][1])[0] != want:
        sys.exit(f"{codec} {keep}, {count} from {first} on: other bytes")


def int8_case(kind, pulled, seed, step, slot, variable, count, width, first,
              *ids):
    x = numbers_of(sys.stdin.readline())
    want = bytes.fromhex(sys.stdin.readline())
    d = r(r(seed, 0x636F646563, step), slot, variable)
    got = (dense(x, d, first, count) if kind == "dense" else
           rows(x, d, width, ids, pulled == 1))
    if got != want:
        sys.exit(f"{kind}, {count} from {first} on: other bytes")


def main():
    cases = 0
    while line := sys.stdin.readline().split():
        kind, *fields = line
        if kind == "delta":
            rounds(fields[0], int(fields[1]), int(fields[2]))
        elif kind == "residual":
            residuals(fields[0], int(fields[1]), int(fields[2]))
        elif kind in CODECS:
            sparse_case(kind, *map(int, fields))
        else:
            int8_case(kind, *map(int, fields))
        cases += 1
    print(cases, "cases")


main()
