"""The speeds and sizes that Deltabloom sets itself, as ratios to another
competitor in the same run."""

BLOOM = "rocksdb-bloom"
NATIVE = "rocksdb-bloom-native"
RIBBON = "rocksdb-ribbon"

SMALL = (3_000, 100_000)
TO_MILLION = (3_000, 100_000, 1_000_000)


def spread(competitor, figure, baseline, limits):
    """limits: pairs of key counts and the largest ratio allowed there."""
    for counts, limit in limits:
        for keys in counts if isinstance(counts, tuple) else (counts,):
            yield competitor, figure, baseline, keys, limit


def classic():
    name = "deltabloom-classic"
    million, ten_million = 1_000_000, 10_000_000
    yield from spread(name, "miss_ns", BLOOM, [(SMALL, 0.65), (million, 0.75), (ten_million, 0.80)])
    yield from spread(name, "hit_ns", BLOOM, [(TO_MILLION + (ten_million,), 1.2)])
    yield from spread(
        name, "batch_miss_ns", BLOOM, [(SMALL, 0.40), (million, 0.40), (ten_million, 0.50)]
    )
    yield from spread(
        name, "batch_hit_ns", BLOOM, [(SMALL, 0.55), (million, 0.75), (ten_million, 0.85)]
    )
    yield from spread(
        name, "build_ns_per_key", BLOOM, [(SMALL, 0.85), (million, 1.05), (ten_million, 1.05)]
    )
    yield from spread(name, "build_bytes_per_key", BLOOM, [((100_000, million), 0.5)])


def local():
    name = "deltabloom-local"
    ten_million = 10_000_000
    everywhere = TO_MILLION + (ten_million,)
    yield from spread(name, "miss_ns", BLOOM, [(TO_MILLION, 0.27), (ten_million, 0.35)])
    yield from spread(name, "miss_ns", NATIVE, [(everywhere, 0.82)])
    yield from spread(name, "batch_miss_ns", BLOOM, [(TO_MILLION, 0.25), (ten_million, 0.35)])
    yield from spread(name, "batch_miss_ns", NATIVE, [(TO_MILLION, 0.75), (ten_million, 0.86)])
    yield from spread(name, "build_ns_per_key", NATIVE, [(everywhere, 0.70)])
    yield from spread(name, "false_positive_rate", BLOOM, [((1_000_000,), 1.03)])


def compact():
    name = "deltabloom-compact"
    counts = (100_000, 1_000_000, 10_000_000)
    yield from spread(
        name,
        "bits_per_information_bit",
        RIBBON,
        [(1_000, 1.08), (3_000, 1.02)] + list(zip(counts, (0.98, 0.97, 0.955))),
    )
    yield from spread(name, "miss_ns", RIBBON, [(counts, 0.30)])
    yield from spread(name, "batch_miss_ns", RIBBON, [(counts, 0.28)])
    yield from spread(name, "build_ns_per_key", RIBBON, list(zip(counts, (0.75, 0.65, 0.40))))
    yield from spread(name, "build_bytes_per_key", RIBBON, [(1_000_000, 0.9)])
    yield from spread(name, "false_positive_rate", BLOOM, [(1_000_000, 1 / 9)])
    yield from spread(name, "miss_ns", BLOOM, [(1_000_000, 0.60)])


TARGETS = list(classic()) + list(local()) + list(compact())

# Figures that do not depend on the CPU level.
COUNTED = ("build_bytes_per_key", "false_positive_rate", "bits_per_information_bit")


def measured(rows, competitor, figure, baseline, keys):
    """The ratio in rows of one level, or None."""
    values = {
        row["competitor"]: row[figure]
        for row in rows
        if row["keys"] == keys and row["threads"] == 1 and row["competitor"] in (competitor, baseline)
    }
    if not values.get(competitor) or not values.get(baseline):
        return None
    return values[competitor] / values[baseline]
