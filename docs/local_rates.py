#!/usr/bin/python3
"""Simulates the false positives of the layout local.

    docs/local_rates.py            prints the table of docs/format.md and the rates
    docs/local_rates.py --figure   writes docs/images/local_rates.svg

The filters are real (random bits in the real shape); their rates are computed
from how full each sector became, so that no absent key has to be drawn.
Needs numpy, and matplotlib for the figure.
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "db_bench_ext"))

from common.colours import of_filter  # noqa: E402

BLOCKS = 20000
SECTORS = 8
SECTOR_BITS = 64
BLOCK_BITS = SECTORS * SECTOR_BITS
SEED = 20261120
# From here on two blocks hold the bits of a key.
TWO_BLOCKS_FROM = 12.0


def rounds(blocks, probes):
    """Probes in each block."""
    return [probes] if blocks == 1 else [(probes + 1) // 2, probes // 2]


def add_keys(bits, count, split, rng):
    """Sets the bits of `count` random keys."""
    block = rng.integers(0, BLOCKS, count)
    first = rng.integers(0, SECTORS, count)
    for number, probes in enumerate(split):
        base = (block + number) % BLOCKS * BLOCK_BITS
        for probe in range(probes):
            sector = (first + probe) % SECTORS
            bits[base + sector * SECTOR_BITS + rng.integers(0, SECTOR_BITS, count)] = True


def windows(fill, probes):
    """Products of `probes` neighbours in each row, the row taken as a ring."""
    logs = np.log(np.maximum(fill, 1e-30))
    sums = np.cumsum(np.hstack([np.zeros((len(fill), 1)), logs, logs]), axis=1)
    return np.exp(sums[:, probes : probes + SECTORS] - sums[:, :SECTORS])


def rate(bits, split):
    """Chance that a random absent key meets set bits only."""
    fill = bits.reshape(BLOCKS, SECTORS, SECTOR_BITS).mean(axis=2)
    chance = np.ones((BLOCKS, SECTORS))
    for number, probes in enumerate(split):
        chance *= windows(np.roll(fill, -number, axis=0), probes)
    return chance.mean()


def curve(split, bits_per_key):
    """Rates at each of bits_per_key (descending): one filter that fills up."""
    rng = np.random.default_rng(SEED)
    bits = np.zeros(BLOCKS * BLOCK_BITS, dtype=bool)
    rates, keys = [], 0
    for value in bits_per_key:
        wanted = int(BLOCKS * BLOCK_BITS / value)
        add_keys(bits, wanted - keys, split, rng)
        keys = wanted
        rates.append(rate(bits, split))
    return np.array(rates)


def plain_curve(probes, bits_per_key):
    """The same for one block without sectors: RocksDB's shape."""
    rng = np.random.default_rng(SEED)
    bits = np.zeros(BLOCKS * BLOCK_BITS, dtype=bool)
    rates, keys = [], 0
    for value in bits_per_key:
        wanted = int(BLOCKS * BLOCK_BITS / value)
        block = rng.integers(0, BLOCKS, wanted - keys) * BLOCK_BITS
        for _ in range(probes):
            bits[block + rng.integers(0, BLOCK_BITS, wanted - keys)] = True
        keys = wanted
        fill = bits.reshape(BLOCKS, BLOCK_BITS).mean(axis=1)
        rates.append((fill**probes).mean())
    return np.array(rates)


def simulate(bits_per_key):
    curves = {(1, probes): curve(rounds(1, probes), bits_per_key) for probes in range(1, 9)}
    curves.update({(2, probes): curve(rounds(2, probes), bits_per_key) for probes in range(8, 17)})
    return curves


def choices(curves, bits_per_key):
    """The best (blocks, probes) at each of bits_per_key."""
    best = []
    for i, value in enumerate(bits_per_key):
        blocks = 1 if value < TWO_BLOCKS_FROM - 1e-9 else 2
        best.append(
            min((key for key in curves if key[0] == blocks), key=lambda key: curves[key][i])
        )
    return best


def print_table(curves, bits_per_key):
    best = choices(curves, bits_per_key)
    print("| from bits per key | blocks | probes |\n|---|---|---|")
    last = None
    for value, choice in sorted(zip(bits_per_key, best)):
        if choice != last:
            print(f"| {value:.2f} | {choice[0]} | {choice[1]} |")
        last = choice
    print(
        "\n| bits per key | rate, % | one block, % | two blocks, % | plain block, % |\n"
        "|---|---|---|---|---|"
    )
    plain = {probes: plain_curve(probes, bits_per_key) for probes in range(2, 15)}
    for i, value in sorted(enumerate(bits_per_key), key=lambda item: item[1]):
        if abs(value - round(value)) > 1e-9 or not 2 <= value <= 32:
            continue
        one = min(curves[key][i] for key in curves if key[0] == 1)
        two = min(curves[key][i] for key in curves if key[0] == 2)
        chosen = curves[best[i]][i]
        print(
            f"| {value:.0f} | {100 * chosen:.4g} | {100 * one:.4g} | {100 * two:.4g} "
            f"| {100 * min(rates[i] for rates in plain.values()):.4g} |"
        )


def draw(path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "deltabloom"
    bits_per_key = np.arange(24, 4.9, -0.5)
    curves = simulate(bits_per_key)
    theory = 0.5 ** (bits_per_key * np.log(2))
    plain = np.min([plain_curve(probes, bits_per_key) for probes in range(3, 14)], axis=0)
    one = np.min([rates for key, rates in curves.items() if key[0] == 1], axis=0)
    two = np.min([rates for key, rates in curves.items() if key[0] == 2], axis=0)
    figure, axis = plt.subplots(figsize=(7.2, 4.2))
    axis.plot(
        bits_per_key,
        plain / theory,
        color=of_filter("rocksdb-bloom"),
        label="one block, any bit (RocksDB's Bloom)",
    )
    axis.plot(
        bits_per_key, one / theory, color="#5f6c7b", linestyle=":", label="one block, 8 sectors"
    )
    axis.plot(
        bits_per_key,
        two / theory,
        color=of_filter("local"),
        linestyle=":",
        label="two blocks, 8 sectors",
    )
    chosen = [curves[key][i] for i, key in enumerate(choices(curves, bits_per_key))]
    axis.plot(bits_per_key, chosen / theory, color=of_filter("local"), linewidth=2.4, label="local")
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xlabel("bits per key")
    axis.set_ylabel("false positives relative to a Bloom filter\nwithout blocks, at equal bits")
    axis.set_ylim(0.9, 4)
    axis.set_xlim(5, 24)
    axis.legend(frameon=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.tight_layout()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", action="store_true", help="write docs/images/local_rates.svg")
    if parser.parse_args().figure:
        draw(os.path.join(os.path.dirname(os.path.abspath(__file__)), "images", "local_rates.svg"))
        return
    bits_per_key = np.concatenate([np.arange(44, 16, -0.25), np.arange(16, 0.99, -0.1)])
    bits_per_key = np.round(bits_per_key, 2)
    print_table(simulate(bits_per_key), bits_per_key)


if __name__ == "__main__":
    main()
