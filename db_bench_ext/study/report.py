#!/usr/bin/env python3
"""Turns the JSON of `study` into docs/studies.md and its plots."""

import argparse
import csv
import datetime
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import plots  # noqa: E402

from common import machine, terminal, whole_file  # noqa: E402
from common.markdown import percent, percent_and_error, table  # noqa: E402

PUBLISHED = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"


def with_error(row, rate="false_positive_rate", error="error"):
    return percent_and_error(row[rate], row[error])


def published(name):
    with open(PUBLISHED / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def select(rows, **fields):
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def rates_chapter(data):
    rates = data["rates"]
    keys = rates[0]["keys"]
    best = []
    for bits in sorted({row["bits_per_key"] for row in rates}):
        rows = select(rates, bits_per_key=bits)
        theory = min(rows, key=lambda row: row["theory"])
        classic = min(rows, key=lambda row: row["classic"])
        best.append(
            (
                bits,
                theory["k"],
                percent(theory["theory"]),
                with_error(theory, "ideal", "ideal_error"),
                with_error(theory, "classic", "classic_error"),
                classic["k"],
                f"{theory['classic'] / theory['theory']:.2f}",
            )
        )
    ten = select(rates, bits_per_key=10, k=6)[0]
    gap = max(abs(row["theory_finite"] / row["theory"] - 1) for row in rates)
    return f"""## Rates: how far practice follows the formula

A Bloom filter of m bits, n keys and k independent probes has the rate (1 - e^(-kn/m))^k.
The exact finite form (1 - (1 - 1/m)^(kn))^k differs from it by at most {percent(gap, 2)} % at {keys:,} keys: the size of the filter is no reason for a difference.
The classic filter takes its probes from one 32-bit hash, each the last plus a rotation of that hash, and that is one.

Measured with {keys:,} random keys of 16 bytes per filter; "ideal" has k independent hashes.
k is the best of 1 to 8 by theory; rates in %, with the 95 % error of the measurement.

{table(("bits per key", "k", "theory", "ideal", "classic", "best k of classic", "classic / theory"), best)}

![Rates over bits per key](images/study_rates.png)

The ideal filter stays on the formula everywhere: the formula is right, and so is the measurement.
The classic one leaves it as filters get better: at 10 bits per key and k = 6 it has {percent(ten["classic"])} % where theory says {percent(ten["theory"])} %.
Its third probe can fall on no more than 196,606 places, and on far fewer at some sizes, here at 10, 15, 19 and 30 bits per key ([design.md](design.md), chapter classic).
These filters have exactly as many bits as the table says; a writer takes the next size that probes well, as in the other tables here.
"""


def growth_chapter(data):
    growth = data["growth"]
    layouts = list(dict.fromkeys(row["layout"] for row in growth))
    counts = sorted({row["keys"] for row in growth})
    rows = []
    for count in counts:
        cells = [f"{count:,}"]
        for layout in layouts:
            row = select(growth, keys=count, layout=layout)[0]
            cells.append(f"{with_error(row)} ({row['stored_bits_per_key']:.2f})")
        rows.append(cells)
    return f"""## When classic stops being the right one

False positives in % at 10 bits per key over the number of keys in one filter; stored bits per key in brackets.

{table(["keys"] + layouts, rows)}

![Rate over keys](images/study_growth.png)

A 32-bit hash also runs out of values: each absent key meets an added key's hash with probability n / 2^32, which is {percent(1e7 / 2**32)} % at 10 million keys and {percent(1e8 / 2**32)} % at 100 million.
"""


def hashes_chapter(data):
    hashes = data["hashes"]
    names = [row["hash"] for row in data["hash_sources"]]
    sources = {row["hash"]: row["source"] for row in data["hash_sources"]}
    sets = [row["dataset"] for row in data["hash_keys"] if select(hashes, dataset=row["dataset"])]
    before = {(row["dataset"], row["hash"]): row for row in published("hash_study.csv")}
    parts = [
        table(
            ("keys", "what they are", "count", "bytes"),
            [
                (row["dataset"], row["origin"], f"{row['keys']:,}", f"{row['key_bytes']:,}")
                for row in data["hash_keys"]
            ],
            text_columns=2,
        )
    ]
    for name in sets:
        rows = []
        for hash_name in names:
            row = select(hashes, dataset=name, hash=hash_name)[0]
            old = before.get((name, hash_name))
            same_size = old and int(old["keys"]) == row["keys"]
            rows.append(
                (
                    hash_name,
                    f"{row['ns_per_key']:.1f}",
                    f"{row['collisions']:,}",
                    f"{int(old['collisions']):,}" if same_size else "",
                    f"{row['mean_flips']:.3f}",
                    f"{row['worst_bias']:.3f}",
                    with_error(row),
                )
            )
        expected = select(hashes, dataset=name)[0]["expected_collisions"]
        parts.append(
            f"### {name}\n\nAn ideal 32-bit hash would collide {expected:.1f} times.\n\n"
            + table(
                (
                    "hash",
                    "ns per key",
                    "collisions",
                    "published",
                    "flips",
                    "worst bias",
                    "false positives, %",
                ),
                rows,
            )
        )
    defined = table(("hash", "definition"), [(name, sources[name]) for name in names], text_columns=2)
    return f"""## Hashes: which one

Seventeen string hashes of a published study and two of today, each from its public definition.
Collisions are keys less distinct 32-bit values; "published" is that study's figure on its own keys of the same number.
Flips is the share of output bits that change with one input bit (ideal 0.5), worst bias how far the worst single output bit is from changing half the time (ideal 0, useless 0.5).
False positives are those of a classic filter at 10 bits per key, k = 6, of the size that its writer takes, made with that hash.
Times are CPU time, medians of interleaved repetitions.

{defined}

{chr(10).join(part + chr(10) for part in parts)}
![Time and false positives by hash](images/study_hashes.png)

{hash_findings(hashes)}"""


def hash_findings(hashes):
    words = {row["hash"]: row for row in select(hashes, dataset="words")}
    numbers = {row["hash"]: row for row in select(hashes, dataset="random_strings")}
    if not words or not numbers:
        return ""
    totals = {
        name: sum(row["collisions"] for row in select(hashes, hash=name))
        for name in ("MurMurHash2", "XXH3", "Deltabloom64")
    }
    expected = sum(row["expected_collisions"] for row in select(hashes, hash="MurMurHash2"))
    return f"""What came out, and why:

- **BP** shifts seven bits per byte and folds nothing back, so only the last five bytes of a key count, and of the fifth four bits: {words["BPHash"]["collisions"]:,} of {words["BPHash"]["keys"]:,} words collide and {percent(words["BPHash"]["false_positive_rate"])} % of the absent ones match. It is no hash for a filter, as published. Random strings that differ in their endings hide it ({numbers["BPHash"]["collisions"]:,} collisions here); the published 920,005 mean that a million strings had some 80,000 endings.
- **PJW** and **ELF** are the same function at 32 bits and keep 28 of them: {numbers["PJW"]["collisions"]:,} collisions on random strings, {numbers["PJW"]["collisions"] / numbers["PJW"]["expected_collisions"]:.0f} times the expectation (published: 3,901, the same for both).
- **SipHashNoCase** cannot tell keys apart that differ in case only: {words["SipHashNoCase"]["collisions"]:,} collisions on words. In the published figures DJB collides on app accounts just as often (30 and 29), which times 33 as defined here has no reason to do: that DJB seems to have folded case too.
- The byte-at-a-time multiply-and-add hashes are usable on most keys, but a flipped input bit changes less than half of the output, and short similar keys show it: DJB collides {words["DJB"]["collisions"]} times on words, JS {words["JSHash"]["collisions"]}, DEK {words["DEKHash"]["collisions"]}, where {words["DJB"]["expected_collisions"]:.1f} are to be expected.
- **MurmurHash2** has {totals["MurMurHash2"]} collisions over all sets where {expected:.0f} are to be expected (XXH3 {totals["XXH3"]}, Deltabloom64 {totals["Deltabloom64"]}), flips half of the output bits ({words["MurMurHash2"]["mean_flips"]:.3f}), and takes {words["MurMurHash2"]["ns_per_key"]:.1f} ns per word. LevelDB's simplified form (SimMurMurHash) takes {words["SimMurMurHash"]["ns_per_key"]:.1f} and is less even (worst bias {words["SimMurMurHash"]["worst_bias"]:.3f} against {words["MurMurHash2"]["worst_bias"]:.3f}).
- Of today's, **XXH3** and **Deltabloom64** are as even and read eight bytes at a time: {words["XXH3"]["ns_per_key"]:.1f} and {words["Deltabloom64"]["ns_per_key"]:.1f} ns per word.
- The published order of times does not come out: there every function took some 150 ns per key, most of it around the hash.
"""


def space_chapter(data):
    rows = []
    before = {(row["dataset"], row["bits_per_key"]): row for row in published("bloom_study.csv")}
    for row in data["space"]:
        old = before.get((row["dataset"], str(row["bits_per_key"])))
        rows.append(
            (
                row["dataset"],
                row["layout"],
                row["bits_per_key"],
                f"{row['key_bytes']:,}",
                f"{row['filter_bytes']:,}",
                f"{int(old['filter_bytes']):,}" if old and row["layout"] == "classic" else "",
                f"{100 * row['space_saved']:.1f}",
                with_error(row),
            )
        )
    return f"""## Space: how many bits

Bytes of the keys, bytes of their filter, and the rate among absent keys of the same kind.
The published rates divide a count by a fixed 10,000 whatever was asked; these divide by the absent keys asked.

{table(("keys", "layout", "bits per key", "key bytes", "filter bytes", "published", "space saved, %", "false positives, %"), rows, text_columns=2)}
"""


def probes_finding(rates):
    """How much k = 0.69 * bits per key, rounded down, costs against the best k."""
    worst = {"theory": 1.0, "classic": 1.0}
    # Beyond 12 bits per key the best k is above the 8 that were studied.
    for bits in range(2, 13):
        rows = {row["k"]: row for row in select(rates, bits_per_key=bits)}
        chosen = rows[max(1, int(bits * 0.69))]
        for name in worst:
            best = min(row[name] for row in rows.values())
            worst[name] = max(worst[name], chosen[name] / best)
    return (
        "Bits per key times ln 2 by theory, here 0.69 rounded down: from 2 to 12 bits per key "
        f"at most {100 * (worst['theory'] - 1):.0f} % above the rate of the best k by theory, "
        f"{100 * (worst['classic'] - 1):.0f} % in the classic filters measured, for one probe "
        "less on each lookup of a present key."
    )


def answers_chapter(data):
    space = data["space"]
    video = {
        (row["layout"], row["bits_per_key"]): row for row in select(space, dataset="video_ids")
    }
    ten, twenty = video[("classic", 10)], video[("classic", 20)]
    small = select(data["growth"], keys=10000, layout="classic")[0]
    large = max(select(data["growth"], layout="classic"), key=lambda row: row["keys"])
    others = [
        f"{row['layout']} {percent(row['false_positive_rate'])} %"
        for row in select(data["growth"], keys=large["keys"])
        if row["layout"] != "classic"
    ]
    return f"""## Answers

- **Which hash?** MurmurHash2 for the classic format: as even as an ideal hash on every kind of key here, quick, and with known answers everywhere. The newer layouts use a 64-bit hash that is faster and does not run out of values.
- **How many bits?** 10 per key is {percent(ten["false_positive_rate"])} % false positives and leaves {100 * ten["space_saved"]:.0f} % of the space even of nine-digit keys; 20 bits buy {ten["false_positive_rate"] / twenty["false_positive_rate"]:.0f} times fewer for twice the bytes. A false positive costs a disk read, so 10 is a sane default and more pays on the levels that are asked most.
- **What k?** {probes_finding(data["rates"])}
- **When does classic stop being the right one?** At {small["keys"]:,} keys it has {percent(small["false_positive_rate"])} % at 10 bits per key, at {large["keys"]:,} it has {percent(large["false_positive_rate"])} %{" (" + ", ".join(others) + " at the same count)" if others else ""}. Up to some 30,000 keys in one filter (blocks, partitions, small tables) it is right; above 100,000 use a newer layout, or partitioned filters.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path, help="what `study --json` wrote")
    parser.add_argument("--docs", type=pathlib.Path, required=True, help="folder to write to")
    arguments = parser.parse_args()
    try:
        data = json.loads(arguments.json.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"report.py: {arguments.json}: {error}")
    images = arguments.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    plots.rates(data["rates"], images / "study_rates.png")
    plots.growth(data["growth"], images / "study_growth.png")
    plots.hashes(data["hashes"], images / "study_hashes.png")
    chapters = [answers_chapter(data), rates_chapter(data), growth_chapter(data)]
    chapters += [hashes_chapter(data), space_chapter(data)]
    front = f"""# The studies

Which hash, how many bits, what k, and when classic stops being the right layout: measured, on keys one can make again.

Written by `script/study` on {datetime.date.today().isoformat()}, {machine.cpu_name()}, seed {data["seed"]}. On your own keys: `script/study --keys FILE`.

"""
    whole_file.write(arguments.docs / "studies.md", front + "\n".join(chapters))


if __name__ == "__main__":
    terminal.run("report.py", main)
