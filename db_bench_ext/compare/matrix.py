"""What is compared: filters, workloads and the cells that combine them."""

import dataclasses
import itertools

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Filter:
    """A filter as an OPTIONS file names it; no URI means no filter."""

    name: str
    uri: str = ""
    # Spreads its bits over the tree, which a listener learns as it grows.
    levels: bool = False
    # Asked about ranges, with this prefix extractor.
    extractor: str = ""

    @property
    def ours(self):
        return self.name.startswith("deltabloom")

    def policy(self, bits_per_key):
        return self.uri.format(bits=f"{bits_per_key:g}")


FILTERS = [
    Filter("none"),
    Filter("rocksdb-bloom", "bloomfilter:{bits}:false"),
    Filter("rocksdb-ribbon", "ribbonfilter:{bits}"),
    Filter("deltabloom-classic", "deltabloom:{bits}:classic"),
    Filter("deltabloom-local", "deltabloom:{bits}:local"),
    Filter("deltabloom-compact", "deltabloom:{bits}:compact"),
]

# On trees that grow, these beside them.
LEVELS_FILTERS = [
    Filter("deltabloom-compact-levels", "deltabloom:{bits}:compact:levels", levels=True),
    Filter("deltabloom-auto-levels", "deltabloom:{bits}:auto:levels", levels=True),
]

# Where ranges are asked, these and none.
RANGE_FILTERS = [
    Filter("rocksdb-bloom-prefix", "bloomfilter:{bits}:false", extractor="rocksdb.FixedPrefix.6"),
    Filter("deltabloom-range", "{{id=deltabloom:{bits};range=on}}", extractor="deltabloom.Range"),
]


@dataclasses.dataclass(frozen=True)
class Workload:
    """A benchmark of db_bench with its flags; `reads` is a share of --reads."""

    name: str
    flags: tuple = ()
    reads: float = 1.0
    writes: bool = False  # runs on a checkpoint, or on a fresh database
    fresh: bool = False
    prefix: bool = False  # the filter is asked for prefixes, not for keys
    grown: bool = False  # on a tree that RocksDB's own compactions made
    sparse: bool = False  # on keys that lie SPARSE_GAP numbers apart
    of: str = ""  # the benchmark, where its name is another
    latency_of: str = "lookup"  # what the percentiles are of

    @property
    def benchmark(self):
        return self.of or self.name


# The parameters of mixgraph are those of its authors' all-random example
# (Cao et al., FAST 2020; wiki page "RocksDB Trace, Replay, Analyzer, and
# Workload Generation").
MIXGRAPH = (
    "--mix_get_ratio=0.85",
    "--mix_put_ratio=0.14",
    "--mix_seek_ratio=0.01",
    "--mix_max_scan_len=100",
    "--key_dist_a=0.002312",
    "--key_dist_b=0.3467",
    "--keyrange_num=1",
    "--value_k=0.2615",
    "--value_sigma=25.45",
    "--iter_k=2.517",
    "--iter_sigma=14.236",
)

BATCH_KEYS = 32

# So far lie the numbers that are keys from each other, on average, where empty
# ranges are asked.
SPARSE_GAP = 100000


def seek_range(name, distance, nexts=0):
    """Seeks from a random number with an upper bound `distance` behind it."""
    flags = (
        f"--max_scan_distance={distance}",
        f"--seek_nexts={nexts}",
        "--auto_prefix_mode=true",
    )
    return Workload(name, flags, reads=0.5, sparse=True, of="seekrandom")


WORKLOADS = [
    Workload("readmissing"),
    # Nearly every lookup of a present key waits for the disk.
    Workload("readrandom", reads=0.5),
    Workload(
        "multireadrandom",
        (f"--batch_size={BATCH_KEYS}", "--multiread_batched=true"),
        reads=0.5,
        latency_of=f"batch of {BATCH_KEYS} lookups",
    ),
    Workload(
        "seekrandom", ("--prefix_same_as_start=true",), reads=0.5, prefix=True, latency_of="seek"
    ),
    Workload("readwhilewriting", ("--benchmark_write_rate_limit=2097152",), writes=True),
    Workload("mixgraph", MIXGRAPH, writes=True),
    Workload("fillrandom", writes=True, fresh=True, latency_of="write"),
    Workload("readmissing-grown", grown=True, of="readmissing"),
    seek_range("seekempty-10", 10),
    seek_range("seekempty-1024", 1024),
    seek_range("seekfull", 10 * SPARSE_GAP, nexts=10),
]


@dataclasses.dataclass(frozen=True)
class Database:
    """What a loaded database depends on."""

    filter: Filter
    bits_per_key: float
    partitioned: bool
    grown: bool = False
    sparse: bool = False

    @property
    def name(self):
        tail = "-grown" if self.grown else "-sparse" if self.sparse else ""
        if not self.filter.uri:
            return self.filter.name + tail
        shape = "partitioned" if self.partitioned else "full"
        return f"{self.filter.name}-{self.bits_per_key:g}-{shape}{tail}"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One workload on one database with one cache size."""

    database: Database
    workload: Workload
    cache_bytes: int

    @property
    def group(self):
        """Cells of one group differ in the filter only."""
        database = self.database
        shape = "partitioned" if database.partitioned else "full"
        return f"{self.workload.name}/{shape}/{database.bits_per_key:g}/{self.cache_bytes // MIB}MiB"

    @property
    def name(self):
        return f"{self.group}/{self.database.filter.name}"


def latency_of(workload):
    """Of what, in the workload of this name, the percentiles are."""
    return next((one.latency_of for one in WORKLOADS if one.name == workload), "operation")


def by_name(things, names, option):
    """The things named, in the order of the names; ValueError names the first unknown."""
    known = {thing.name: thing for thing in things}
    for name in names:
        if name not in known:
            raise ValueError(f"{option} {name}: unknown; use {', '.join(known)}")
    return [known[name] for name in names]


def product(filters, workloads, bits_per_key, caches, shapes):
    """Every combination once. Without a filter bits and shape mean nothing, so
    "none" takes part at each of them under the same database."""
    cells = []
    for bits, shape, cache, workload in itertools.product(bits_per_key, shapes, caches, workloads):
        for one in filters:
            partitioned = shape == "partitioned"
            database = Database(one, bits, partitioned, workload.grown, workload.sparse)
            cells.append(Cell(database, workload, cache))
    return cells


def preset(name, filters, levels, ranges):
    """(cells, keys, reads, repetitions) of a preset; `levels` are filters that
    take part on grown trees only, `ranges` those that do where ranges are
    asked, with none."""
    workloads = {workload.name: workload for workload in WORKLOADS}
    if name == "quick":
        chosen = [workloads[one] for one in ("readmissing", "readrandom", "multireadrandom")]
        return product(filters, chosen, [10], [8 * MIB], ["full"]), 200000, 40000, 2
    with_filter = [one for one in filters if one.uri]
    settled = [one for one in WORKLOADS if not one.grown and not one.sparse]
    cells = product(filters, settled, [10], [8 * MIB], ["full"])
    missing = [workloads["readmissing"]]
    cells += product(with_filter, missing, [5, 16], [8 * MIB], ["full"])
    partitioned = [workloads["readmissing"], workloads["multireadrandom"]]
    cells += product(with_filter, partitioned, [10], [8 * MIB], ["partitioned"])
    cells += product(filters, [workloads["readrandom"]], [10], [64 * MIB], ["full"])
    grown = [workloads["readmissing-grown"]]
    cells += product(with_filter + levels, grown, [10], [8 * MIB], ["full"])
    sparse = [workload for workload in WORKLOADS if workload.sparse]
    without = [one for one in filters if not one.uri]
    cells += product(without + ranges, sparse, [18], [8 * MIB], ["full"])
    return cells, 500000, 100000, 3
