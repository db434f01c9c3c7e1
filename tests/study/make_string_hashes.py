#!/usr/bin/env python3
"""Writes tests/data/string_hashes.csv: the study's hashes over some keys, by a
second implementation that follows the public definitions word by word, in
unbounded integers reduced at the end of every step.

    tests/study/make_string_hashes.py > tests/data/string_hashes.csv
"""

M32 = 2**32
M64 = 2**64


def fold(start, step):
    """A hash that takes one byte after the other."""

    def function(key):
        h = start(key) if callable(start) else start
        for c in key:
            h = step(h, c) % M32
        return h

    return function


def sim_murmur(key):
    h = (0xBC9F1D34 ^ (len(key) * 0xC6A4A793 % M32)) % M32
    whole = len(key) // 4 * 4
    for i in range(0, whole, 4):
        h = (h + int.from_bytes(key[i : i + 4], "little")) * 0xC6A4A793 % M32
        h ^= h // 2**16
    if whole < len(key):
        h = (h + int.from_bytes(key[whole:], "little")) * 0xC6A4A793 % M32
        h ^= h // 2**24
    return h


def pjw(key):
    h = 0
    for c in key:
        h = (h * 16 + c) % M32
        high = h // 2**28
        if high:
            h = (h ^ (high * 16)) % 2**28
    return h


def murmur2(key):
    m = 0x5BD1E995
    h = 0xBC9F1D34 ^ len(key)
    whole = len(key) // 4 * 4
    for i in range(0, whole, 4):
        w = int.from_bytes(key[i : i + 4], "little") * m % M32
        w = (w ^ (w // 2**24)) * m % M32
        h = (h * m % M32) ^ w
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * m % M32
    h = (h ^ (h // 2**13)) * m % M32
    return h ^ (h // 2**15)


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


def rotate(x, by):
    return (x << by | x >> (64 - by)) % M64


def siphash(key):
    secret = bytes(range(16))
    k0 = int.from_bytes(secret[:8], "little")
    k1 = int.from_bytes(secret[8:], "little")
    v = [int.from_bytes(part, "big") for part in (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")]
    v = [v[0] ^ k0, v[1] ^ k1, v[2] ^ k0, v[3] ^ k1]

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) % M64
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) % M64
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) % M64
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) % M64
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = key + bytes(7 - len(key) % 8) + bytes([len(key) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


HASHES = {
    "SDBMHash": fold(0, lambda h, c: c + h * 65599),
    "SimMurMurHash": sim_murmur,
    "JSHash": fold(1315423911, lambda h, c: h ^ (h * 32 + c + h // 4) % M32),
    "PJW": pjw,
    "MurMurHash2": murmur2,
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
    "SipHashNoCase": lambda key: siphash(key.lower()) % M32,
    "SipHash": lambda key: siphash(key) % M32,
}
KEYS = [b"", b"a", b"A", b"ab", b"abc", b"abcd", b"foobar", b"Hello, World", b"0123456789",
        b"user0000012345", b"\x00", b"\x80", b"\xff\x80\x00", bytes(range(64)),
        bytes(range(255, 191, -1)), b"The quick brown fox jumps over the lazy dog"]  # fmt: skip

if __name__ == "__main__":
    print("hash,key_hex,value_hex")
    for name, function in HASHES.items():
        for one in KEYS:
            print(f"{name},{one.hex()},{function(one):08x}")
