"""The generated parts of docs/performance.md."""

import re

import plots
import targets

from common.markdown import percent, percent_and_error, table

BASELINE = "rocksdb-bloom"
TIMES = {
    "miss_ns": "Lookups of absent keys",
    "hit_ns": "Lookups of added keys",
    "batch_miss_ns": "Absent keys in batches",
    "batch_hit_ns": "Added keys in batches",
    "mixed_ns": "Absent and added keys at random",
    "dependent_miss_ns": "Absent keys, each known only when the answer before it is",
    "build_ns_per_key": "Building",
}
MANY = {
    "random_filter_miss_ns": "any filter, absent",
    "random_filter_hit_ns": "any filter, added",
    "random_filter_batch_miss_ns": "any filter, batch of absent",
    "skewed_filter_miss_ns": "80/20, absent",
    "skewed_filter_hit_ns": "80/20, added",
    "skewed_filter_batch_miss_ns": "80/20, batch of absent",
}
FIGURES = {
    "miss_ns": "miss",
    "hit_ns": "hit",
    "batch_miss_ns": "batch miss",
    "batch_hit_ns": "batch hit",
    "build_ns_per_key": "build",
    "build_bytes_per_key": "temporary bytes",
    "false_positive_rate": "false positives",
    "bits_per_information_bit": "bits per bit of information",
}
LEVELS = ("avx512", "avx2", "portable")
LEVEL_NAMES = {"avx512": "AVX-512", "avx2": "AVX2", "portable": "portable"}
# The others run their kernels for AVX2 there.
WITH_AVX512 = ("deltabloom-compact",)


def ns(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def with_ratio(value, base, shown=ns):
    if value is None:
        return "-"
    return shown(value) if not base else f"{shown(value)} ({value / base:.2f})"


def grid(rows, key, column, cell, heading):
    """Competitors down, values of `column` across; cell(row, baseline row)."""
    values = sorted({row[column] for row in rows})
    by_place = {(row["competitor"], row[column]): row for row in rows}
    lines = []
    for name in plots.names_of(rows):
        cells = [
            cell(by_place.get((name, value)), by_place.get((BASELINE, value))) for value in values
        ]
        if any(text != "-" for text in cells):
            lines.append([name] + cells)
    shown = [plots.plain(v) if isinstance(v, int) else f"{v:g}" for v in values]
    return table([heading] + shown, lines) if lines else "Nothing was measured."


def time_grid(results, key, column, heading):
    def cell(row, base):
        if row is None:
            return "-"
        is_baseline = base is row or row["competitor"].startswith("floor-")
        return with_ratio(row[key], None if is_baseline or base is None else base[key])

    rows = results["rows"] + results["floors"]
    return grid(rows, key, column, cell, heading)


def machine(results, context):
    names = {
        "date": "Date",
        "cpu": "CPU",
        "cpus": "CPUs",
        "caches": "Data caches",
        "cpu_level": "Kernels",
        "system": "System",
        "compiler": "Compiler",
        "deltabloom": "Deltabloom",
        "rocksdb": "RocksDB",
        "leveldb": "LevelDB",
    }
    lines = [[title, context[key]] for key, title in names.items()]
    return table(["", ""], lines + [["Command", f"`{context['report_command']}`"]])


def times(results, context):
    parts = []
    for key, title in TIMES.items():
        parts.append(f"### {title}\n\n" + time_grid(results["keys"], key, "keys", "ns per key"))
    return "\n\n".join(parts)


def plain_cell(key, digits):
    return lambda row, base: "-" if row is None or row[key] is None else f"{row[key]:.{digits}f}"


def grids(rows, parts, column, heading):
    return "\n\n".join(
        f"### {title}\n\n" + grid(rows, None, column, cell, heading) for title, cell in parts
    )


def space(results, context):
    rows = results["keys"]["rows"]

    def rate(row, base):
        if row is None:
            return "-"
        return percent_and_error(row["false_positive_rate"], row["false_positive_error"])

    def theory(row, base):
        return "-" if row is None else percent(row["theoretical_false_positive_rate"])

    parts = [
        ("False positives, %", rate),
        ("The same in theory, %", theory),
        ("Stored bits per key", plain_cell("stored_bits_per_key", 2)),
        ("Stored bits per bit of information", plain_cell("bits_per_information_bit", 3)),
        ("Temporary bytes per key while building", plain_cell("build_bytes_per_key", 1)),
    ]
    return grids(rows, parts, "keys", "keys")


def bits(results, context):
    rows = results["bits"]["rows"]

    def rate(row, base):
        if row is None:
            return "-"
        key = "false_positive_rate"
        return with_ratio(row[key], None if base in (None, row) else base[key], percent)

    def to_theory(row, base):
        if row is None or not row["theoretical_false_positive_rate"]:
            return "-"
        error = row["false_positive_error"] / row["theoretical_false_positive_rate"]
        return f"{row['false_positive_rate'] / row['theoretical_false_positive_rate']:.3f} ± {error:.3f}"

    parts = [
        ("False positives, %", rate),
        ("Stored bits per key", plain_cell("stored_bits_per_key", 2)),
        ("False positives measured over those in theory", to_theory),
        ("Stored bits per bit of information", plain_cell("bits_per_information_bit", 3)),
    ]
    text = grids(rows, parts, "bits_per_key", "bits per key asked for")
    for key in ("miss_ns", "hit_ns", "batch_miss_ns", "batch_hit_ns", "build_ns_per_key"):
        text += f"\n\n### {TIMES[key]}\n\n"
        text += time_grid(results["bits"], key, "bits_per_key", "ns per key")
    return text


def many(results, context):
    rows = results["many"]["rows"] + results["many"]["floors"]
    lines = [[row["competitor"]] + [ns(row[key]) for key in MANY] for row in rows]
    return table(["ns per key"] + list(MANY.values()), lines)


def key_bytes(results, context):
    parts = []
    for key in ("miss_ns", "hit_ns", "batch_miss_ns", "batch_hit_ns", "build_ns_per_key"):
        text = time_grid(results["key_bytes"], key, "key_bytes", "bytes per key")
        parts.append(f"### {TIMES[key]}\n\n" + text)
    return "\n\n".join(parts)


def threads(results, context):
    parts = []
    for key in ("miss_ns", "batch_miss_ns"):
        text = time_grid(results["threads"], key, "threads", "threads")
        parts.append(f"### {TIMES[key]}\n\n" + text)
    return "\n\n".join(parts)


def kinds(results, context):
    lines = []
    random_rows = {(r["competitor"], r["keys"]): r for r in results["keys"]["rows"]}
    for row in results["sequential"]["rows"]:
        others = [random_rows.get((row["competitor"], row["keys"]))]
        others += [
            r
            for r in results["decimal"]["rows"]
            if (r["competitor"], r["keys"]) == (row["competitor"], row["keys"])
        ]
        rates = [percent(r["false_positive_rate"]) if r else "-" for r in others]
        lines.append(
            [row["competitor"], plots.plain(row["keys"]), rates[0]]
            + [percent(row["false_positive_rate"])]
            + rates[1:]
        )
    header = ["false positives, %", "keys", "random", "sequential", "decimal"]
    return table(header, lines)


def level_rows(results, context):
    """Rows by CPU level; None where the CPU lacks it."""
    detected = context["cpu_level_detected"]
    rows = {}
    for level in LEVELS:
        if level in results:
            rows[level] = results[level]["rows"]
        elif level == context["cpu_level"]:
            rows[level] = results["keys"]["rows"]
        else:
            lacking = LEVELS.index(level) < LEVELS.index(detected)
            rows[level] = None if lacking else []
    return rows


def target_tables(results, context):
    by_level = level_rows(results, context)
    present = set(plots.names_of(results["keys"]["rows"]))
    parts = []
    for name in dict.fromkeys(target[0] for target in targets.TARGETS):
        if name not in present:
            continue
        levels = LEVELS if name in WITH_AVX512 else LEVELS[1:]
        lines = []
        for competitor, figure, baseline, keys, limit in targets.TARGETS:
            if competitor != name:
                continue
            cells = []
            for level in levels:
                if figure in targets.COUNTED and by_level[level] is not None:
                    rows = results["keys"]["rows"]
                else:
                    rows = by_level[level]
                if rows is None:
                    cells.append("not measured on this CPU")
                    continue
                ratio = targets.measured(rows, competitor, figure, baseline, keys)
                if ratio is None:
                    cells.append("-")
                    continue
                cells.append(f"**{ratio:.2f}**" if ratio <= limit else f"{ratio:.2f}")
            lines.append(
                [f"{FIGURES[figure]}, {plots.plain(keys)} keys", baseline, f"{limit:.3g}"] + cells
            )
        header = ["figure", "ratio to", "at most", *(LEVEL_NAMES[level] for level in levels)]
        parts.append(f"### {name}\n\n" + table(header, lines))
    return "\n\n".join(parts)


def database(results, context):
    rows = results["database"]["database"]
    figures = {
        "get_miss_ns": "Get, absent",
        "multiget_miss_ns": "MultiGet, absent",
        "multiget_neighbours_miss_ns": "MultiGet, absent neighbours",
        "get_hit_ns": "Get, added",
        "multiget_hit_ns": "MultiGet, added",
    }
    baselines = {row["filter"]: row for row in rows if row["competitor"] == BASELINE}
    lines = []
    for row in sorted(rows, key=lambda row: row["filter"]):
        base = baselines.get(row["filter"])
        cells = [row["competitor"], row["filter"], f"{row['stored_bits_per_key']:.2f}"]
        for key in figures:
            cells.append(with_ratio(row[key], None if base in (None, row) else base[key]))
        asked = row["batched_share"] > 0
        batches = f"{row['keys_per_batch']:.1f}, {row['neighbours_per_batch']:.1f}"
        cells.append(f"{100 * row['batched_share']:.0f} % in {batches}" if asked else "-")
        lines.append(cells)
    header = ["ns per key", "filter", "bits per key", *figures.values(), "asked in batches of"]
    return table(header, lines)


SECTIONS = {
    "machine": machine,
    "targets": target_tables,
    "times": times,
    "space": space,
    "bits": bits,
    "many": many,
    "key_bytes": key_bytes,
    "threads": threads,
    "kinds": kinds,
    "database": database,
}


def fill(frame, results, context):
    """The document with its generated sections made anew."""
    for name, section in SECTIONS.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(frame):
            raise OSError(f"the document has no section {name}")
        text = f"{begin}\n\n{section(results, context)}\n\n{end}"
        frame = pattern.sub(lambda match, text=text: text, frame)
    return frame
