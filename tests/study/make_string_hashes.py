#!/usr/bin/env python3
"""Writes tests/data/string_hashes.csv: the study's hashes over some keys, except
the library's own, which have reference values elsewhere, by a second
implementation that follows the public definitions word by word, in
unbounded integers reduced at the end of every step.

    tests/study/make_string_hashes.py > tests/data/string_hashes.csv
"""

M32 = 2**32


def fold(start, step):
    """A hash that takes one byte after the other."""

    def function(key):
        h = start(key) if callable(start) else start
        for c in key:
            h = step(h, c) % M32
        return h

    return function


def pjw(key):
    h = 0
    for c in key:
        h = (h * 16 + c) % M32
        high = h // 2**28
        if high:
            h = (h ^ (high * 16)) % 2**28
    return h


def calc_nr(key):
    nr, add = 1, 4
    for c in key:
        nr ^= (((nr % 64) + add) * c + nr * 256) % M32
        add += 3
    return nr


def ap(key):
    h = 0xAAAAAAAA
    for i, c in enumerate(key):
        if i % 2 == 0:
            h ^= (h * 128 % M32) ^ (c * (h // 8) % M32)
        else:
            h ^= (M32 - 1) - (h * 2048 + (c ^ (h // 32))) % M32
    return h


def rs(key):
    a, b, h = 63689, 378551, 0
    for c in key:
        h = (h * a + c) % M32
        a = a * b % M32
    return h


HASHES = {
    "SDBMHash": fold(0, lambda h, c: c + h * 65599),
    "JSHash": fold(1315423911, lambda h, c: h ^ (h * 32 + c + h // 4) % M32),
    "PJW": pjw,
    "ELFHash": pjw,
    "BKDRHash": fold(0, lambda h, c: h * 131 + c),
    "CalcNrHash": calc_nr,
    "APHash": ap,
    "BPHash": fold(0, lambda h, c: (h * 128 % M32) ^ c),
    "FNVHash": fold(0x811C9DC5, lambda h, c: (h ^ c) * 0x01000193),
    "RSHash": rs,
    "DJB": fold(5381, lambda h, c: h * 33 + c),
    "DJB2Hash": fold(5381, lambda h, c: (h * 33 % M32) ^ c),
    "DEKHash": fold(len, lambda h, c: (h * 32 % M32) ^ (h // 2**27) ^ c),
}
KEYS = [b"", b"a", b"A", b"ab", b"abc", b"abcd", b"foobar", b"Hello, World", b"0123456789",
        b"user0000012345", b"\x00", b"\x80", b"\xff\x80\x00", bytes(range(64)),
        bytes(range(255, 191, -1)), b"The quick brown fox jumps over the lazy dog"]  # fmt: skip

if __name__ == "__main__":
    print("hash,key_hex,value_hex")
    for name, function in HASHES.items():
        for one in KEYS:
            print(f"{name},{one.hex()},{function(one):08x}")
