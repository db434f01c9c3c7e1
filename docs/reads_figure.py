#!/usr/bin/python3
"""Draws docs/images/reads_over_memory.svg: reads per lookup of an absent key
over the memory of the filters, a line per filter, as deltabloom estimate
computes them for a billion keys of 100 bytes.

    /usr/bin/python3 docs/reads_figure.py DELTABLOOM

DELTABLOOM is the built program, build/test/tools/deltabloom/deltabloom for
instance. Needs matplotlib.
"""
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "db_bench_ext"))

from common import colours, drawing  # noqa: E402

KEYS = 1e9
BITS = [4 + 0.5 * i for i in range(33)]
SHOWN = {
    "rocksdb-bloom": "RocksDB's Bloom",
    "rocksdb-ribbon": "RocksDB's Ribbon",
    "local": "local",
    "compact, uniform": "compact, uniform",
    "compact": "compact, the default",
}


def lines(program):
    """{filter: [(GiB, reads), ...]}"""
    found = {name: [] for name in SHOWN}
    for bits in BITS:
        command = [program, "estimate", f"--keys={KEYS}", f"--bits-per-key={bits}", "--json"]
        for row in json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[
            "filters"
        ]:
            if row["filter"] in found:
                found[row["filter"]].append((row["bytes"] / 2**30, row["absent_reads"]))
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    figure, (axes,) = drawing.figure(1, 1, 8, 4.4)
    drawing.logarithmic(axes, "y", (1,))
    for name, points in lines(sys.argv[1]).items():
        axes.plot(
            [point[0] for point in points],
            [point[1] for point in points],
            color=colours.of_filter(name.removesuffix(", uniform")),
            ls="--" if name.endswith(", uniform") else "-",
            label=SHOWN[name],
        )
    axes.set_xlabel("memory of the filters, GiB (linear)")
    axes.set_ylabel("reads per lookup of an absent key (logarithmic)")
    axes.set_xlim(BITS[0] * KEYS / 8 / 2**30, BITS[-1] * KEYS / 8 / 2**30)
    axes.axvline(10 * KEYS / 8 / 2**30, color=colours.MUTED, lw=0.8, ls=":")
    axes.annotate(
        "10 bits per key",
        (10 * KEYS / 8 / 2**30, 1),
        color=colours.MUTED,
        xytext=(4, 0),
        textcoords="offset points",
    )
    axes.legend(frameon=False)
    drawing.tidy(axes)
    drawing.margins(figure, 0.9, 0.15, 0.6, 0.15)
    path = TOP / "docs" / "images" / "reads_over_memory.svg"
    path.write_text(drawing.as_svg(figure))
    print(path)


if __name__ == "__main__":
    main()
