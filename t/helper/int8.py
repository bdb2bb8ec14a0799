#!/usr/bin/python3
"""Encode numbers as codec 2, by what ps-wire(7) says, and compare the bytes.

Cases come on standard input, three lines each: what it is of; the numbers, in
hexadecimal; the bytes.  One of differences has how many rounds; the values
before them; after each round the values and the difference; what is published.
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


def difference(w, p):
    """Its bytes, and what is published then."""
    scales, numbers = [], []
    p = p.copy()
    for b in range(0, len(w), 64):
        s, q = encode_block(w[b:b + 64] - p[b:b + 64], 0, True)
        scales.append(s)
        numbers += list(q)
        p[b:b + 64] += q.astype(np.float32) * s
    return message(scales, numbers), p


def rounds(count):
    p = numbers_of(sys.stdin.readline())
    for k in range(count):
        w = numbers_of(sys.stdin.readline())
        want = bytes.fromhex(sys.stdin.readline())
        got, p = difference(w, p)
        if got != want:
            sys.exit(f"round {k} of {count}: another difference")
    if p.tobytes() != bytes.fromhex(sys.stdin.readline()):
        sys.exit(f"after {count} rounds something else is published")


def main():
    cases = 0
    while line := sys.stdin.readline().split():
        kind, *fields = line
        if kind == "delta":
            rounds(int(fields[0]))
            cases += 1
            continue
        (pulled, seed, step, slot, variable, count, width,
         first, *ids) = map(int, fields)
        x = np.frombuffer(bytes.fromhex(sys.stdin.readline()), dtype="<f4")
        want = bytes.fromhex(sys.stdin.readline())
        d = r(r(seed, 0x636F646563, step), slot, variable)
        got = (dense(x, d, first, count) if kind == "dense" else
               rows(x, d, width, ids, pulled == 1))
        if got != want:
            sys.exit(f"case {cases}: {kind} {fields}: other bytes")
        cases += 1
    print(cases, "cases")


main()
