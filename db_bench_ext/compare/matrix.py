"""What is compared: filters, workloads and the cells that combine them."""

import dataclasses
import itertools

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Filter:
    """A filter as an OPTIONS file names it; no URI means no filter."""

    name: str
    uri: str = ""

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
    Filter(
        "deltabloom-compact-uniform",
        "{{id=deltabloom;bits_per_key={bits};upper_bits_per_key={bits}}}",
    ),
    Filter("deltabloom", "deltabloom:{bits}"),
]


@dataclasses.dataclass(frozen=True)
class Workload:
    """A benchmark of db_bench with its flags; `reads` is a share of --reads."""

    name: str
    flags: tuple = ()
    reads: float = 1.0
    writes: bool = False  # runs on a checkpoint, or on a fresh database
    fresh: bool = False
    prefix: bool = False  # filters hold prefixes of the keys, too
    grown: bool = False  # on a tree that RocksDB's own compactions made
    of: str = ""  # the benchmark, if its name differs
    latency_of: str = "lookup"  # the operation of the percentiles

    @property
    def benchmark(self):
        return self.of or self.name


# The parameters of mixgraph are those of its authors' all-random example
# (Cao et al., FAST 2020; wiki page "RocksDB Trace, Replay, Analyzer, and
# Workload Generation").
MIXGRAPH = tuple(
    "--mix_get_ratio=0.85 --mix_put_ratio=0.14 --mix_seek_ratio=0.01 --mix_max_scan_len=100 "
    "--key_dist_a=0.002312 --key_dist_b=0.3467 --keyrange_num=1 --value_k=0.2615 "
    "--value_sigma=25.45 "
    "--iter_k=2.517 --iter_sigma=14.236".split()
)

BATCH_KEYS = 32

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
]


@dataclasses.dataclass(frozen=True)
class Database:
    """All that a loaded database depends on."""

    filter: Filter
    bits_per_key: float
    partitioned: bool
    grown: bool = False

    @property
    def name(self):
        tail = "-grown" if self.grown else ""
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
        return (
            f"{self.workload.name}/{shape}/{database.bits_per_key:g}/{self.cache_bytes // MIB}MiB"
        )

    @property
    def name(self):
        return f"{self.group}/{self.database.filter.name}"


def latency_of(workload):
    """The operation whose percentiles the workload of this name has."""
    return next((one.latency_of for one in WORKLOADS if one.name == workload), "operation")


def by_name(things, names, option):
    """The things named, in the order of the names; ValueError names the first unknown."""
    known = {thing.name: thing for thing in things}
    for name in names:
        if name not in known:
            raise ValueError(f"{option} {name}: unknown; use {', '.join(known)}")
    return [known[name] for name in names]


def product(filters, workloads, bits_per_key=(10,), caches=(8 * MIB,), shapes=("full",)):
    """Every combination once. No filter takes part at each number of bits and in
    each shape, on the same database."""
    return [
        Cell(Database(one, bits, shape == "partitioned", workload.grown), workload, cache)
        for bits, shape, cache, workload in itertools.product(
            bits_per_key, shapes, caches, workloads
        )
        for one in filters
    ]


def preset(name, filters):
    """(cells, keys, reads, repetitions) of a preset."""

    def named(*names):
        return [workload for workload in WORKLOADS if workload.name in names]

    if name == "quick":
        cells = product(filters, named("readmissing", "readrandom", "multireadrandom"))
        usual = [one for one in filters if one.name in ("rocksdb-bloom", "deltabloom")]
        return cells + product(usual, named("readmissing-grown")), 200000, 40000, 2
    with_filter = [one for one in filters if one.uri]
    cells = product(filters, [one for one in WORKLOADS if not one.grown])
    cells += product(with_filter, named("readmissing"), bits_per_key=[5, 16])
    cells += product(with_filter, named("readmissing", "multireadrandom"), shapes=["partitioned"])
    cells += product(filters, named("readrandom"), caches=[64 * MIB])
    cells += product(with_filter, named("readmissing-grown"))
    return cells, 500000, 100000, 3
