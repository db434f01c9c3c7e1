#!/usr/bin/python3
"""Simulates the construction of the layout compact.

    docs/compact_figure.py            prints what one layer keeps at each load
    docs/compact_figure.py --figure   writes docs/images/compact.svg

Keys are random equations over 64 rows, as in docs/format.md; only which fit is
asked for, so they have no fingerprints. Needs matplotlib for the figure.
"""
import argparse
import os
import random

BAND = 64
BUCKET = 128
LIMITS = (0, 16, 40, BUCKET)
SEED = 20261120


def insert(rows, row, coefficients):
    """Adds one equation by elimination. Returns (row taken or None, XORs)."""
    steps = 0
    while coefficients:
        zeros = (coefficients & -coefficients).bit_length() - 1
        row += zeros
        coefficients >>= zeros
        if row not in rows:
            rows[row] = coefficients
            return row, steps
        coefficients ^= rows[row]
        steps += 1
    return None, steps


def build_layer(rows, keys, starts, first_row, last):
    """Inserts (start, coefficients) keys bucket by bucket. Returns the keys
    kept, the keys bumped, the thresholds and the XORs."""
    buckets = [[] for _ in range((starts + BUCKET - 1) // BUCKET)]
    for key in keys:
        buckets[key[0] // BUCKET].append(key)
    kept, bumped, thresholds, steps = [], [], [], 0
    for bucket in buckets:
        for limit in LIMITS:
            staying = [key for key in bucket if key[0] % BUCKET >= limit]
            taken, fits = [], True
            for start, coefficients in staying:
                row, count = insert(rows, first_row + start, coefficients)
                steps += count + 1
                if row is None:
                    fits = False
                    break
                taken.append(row)
            if fits:
                break
            for row in taken:
                del rows[row]
            if last:
                raise ValueError("the last layer does not fit: another seed is needed")
        kept += staying
        bumped += [key for key in bucket if key[0] % BUCKET < limit]
        thresholds.append(limit)
    return kept, bumped, thresholds, steps


def random_key(rng, starts):
    return rng.randrange(starts), rng.getrandbits(BAND) | 1


def curve(loads, starts):
    """(load, share of rows free, share of keys bumped, XORs per key)"""
    points = []
    for load in loads:
        rng = random.Random(SEED)
        keys = [random_key(rng, starts) for _ in range(round(load * starts))]
        kept, bumped, _, steps = build_layer({}, keys, starts, 0, False)
        points.append((load, 1 - len(kept) / starts, len(bumped) / len(keys), steps / len(keys)))
    return points


def draw_keys(axes):
    """A filter of two layers: every key a bar over the rows it may use."""
    rng = random.Random(SEED + 3)
    first, second = 4 * BUCKET, BAND
    rows = {}
    keys = [random_key(rng, first) for _ in range(round(1.14 * first))]
    kept, bumped, thresholds, _ = build_layer(rows, keys, first, 0, False)
    again = [random_key(rng, second) for _ in bumped]
    build_layer(rows, again, second, first, True)

    def bars(group, offset, color, base):
        for number, (start, _) in enumerate(sorted(group)):
            axes.plot(
                [offset + start, offset + start + BAND - 1],
                [base + number] * 2,
                color=color,
                lw=0.7,
            )
        return base + len(group)

    top = bars(kept, 0, "#4477aa", 0)
    top = bars(again, first, "#cc6677", top)
    for number, limit in enumerate(thresholds):
        axes.axvline(number * BUCKET, color="0.75", lw=0.6, zorder=0)
        if limit:
            axes.axvspan(
                number * BUCKET, number * BUCKET + limit, color="#ddcc77", alpha=0.6, lw=0, zorder=0
            )
    axes.axvline(first, color="black", lw=1)
    axes.text(first / 2, -top * 0.03, "first layer: 4 buckets of 128 starts", ha="center")
    axes.text(first + second, -top * 0.03, "second layer", ha="center")
    axes.text(
        12,
        top * 0.8,
        f"{len(kept)} keys stay (blue),\n{len(bumped)} are bumped (red):\nthey started "
        "where it is yellow",
    )
    axes.set_xlim(0, first + 2 * BAND)
    axes.set_ylim(top * 1.02, -top * 0.09)
    axes.set_xlabel("rows of the table")
    axes.set_ylabel("keys, each over its 64 rows")


def draw_loads(axes, points):
    loads = [point[0] for point in points]
    axes.plot(
        loads, [100 * point[1] for point in points], color="#4477aa", label="rows left free, %"
    )
    axes.plot(loads, [100 * point[2] for point in points], color="#cc6677", label="keys bumped, %")
    axes.plot(
        loads, [point[3] for point in points], color="0.5", ls="--", label="XORs to insert a key"
    )
    axes.axvline(1.0, color="0.75", lw=0.6, zorder=0)
    axes.set_xlabel("keys per start of a layer")
    axes.set_ylim(0, 30)
    axes.legend(frameon=False)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", action="store_true", help="write docs/images/compact.svg")
    loads = [0.90 + 0.01 * i for i in range(21)]
    points = curve(loads, 512 * BUCKET)
    if not parser.parse_args().figure:
        print("keys per start  rows free  keys bumped  XORs per key")
        for load, free, bumped, steps in points:
            print(f"{load:14.2f}  {free:8.2%}  {bumped:10.2%}  {steps:12.1f}")
        return

    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "compact"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.5, 1))
    draw_keys(left)
    draw_loads(right, points)
    figure.tight_layout()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images", "compact.svg")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
