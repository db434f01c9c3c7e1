"""The native libraries of RocksJava as hosts: each module loads into the RocksDB that
it was built for, and whatever does not fit is refused in one line, after which RocksDB
goes on with its own filters.

usage: refusals.py PLUGIN.so MODULES LIBROCKSDB.so JAR... [-- unittest options]
"""

import itertools
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import preload as stock  # noqa: E402

PLUGIN, MODULES, ROCKSDB = map(pathlib.Path, sys.argv[1:4])
JARS, OPTIONS = sys.argv[4:], []
if "--" in JARS:
    JARS, OPTIONS = JARS[: JARS.index("--")], JARS[JARS.index("--") + 1 :]

# RocksDB's own filters: a database with a Bloom filter, by the C functions that
# RocksJava's library exports, too.
GOES_ON = r"""
    problem = ctypes.byref(ctypes.c_char_p())
    for name in ("options_create", "open", "writeoptions_create", "readoptions_create", "get"):
        getattr(rocksdb, "rocksdb_" + name).restype = ctypes.c_void_p
    P = ctypes.c_void_p
    options = P(rocksdb.rocksdb_options_create())
    wanted = b"create_if_missing=true;block_based_table_factory={filter_policy=bloomfilter:10:false}"
    rocksdb.rocksdb_get_options_from_string(options, wanted, options, problem)
    db = P(rocksdb.rocksdb_open(options, os.fsencode(DB), problem))
    write, read = P(rocksdb.rocksdb_writeoptions_create()), P(rocksdb.rocksdb_readoptions_create())
    size = ctypes.c_size_t(4)
    for i in range(1000):
        rocksdb.rocksdb_put(db, write, b"%04d" % i, size, b"%04d" % i, size, problem)
    rocksdb.rocksdb_compact_range(db, None, ctypes.c_size_t(), None, ctypes.c_size_t())
    found = sum(
        rocksdb.rocksdb_get(db, read, b"%04d" % i, size, ctypes.byref(size), problem) is not None
        for i in range(2000)
    )
    rocksdb.rocksdb_close(db)
    print("found", found)
"""


class Host:
    """The native library of one archive."""

    def __init__(self, jar, folder):
        self.version = re.search(r"rocksdbjni-([0-9.]*[0-9])", pathlib.Path(jar).name)[1]
        with zipfile.ZipFile(jar) as archive:
            self.library = pathlib.Path(archive.extract("librocksdbjni-linux64.so", folder))
        self.library = self.library.rename(folder / f"librocksdbjni-{self.version}.so")
        minor = ".".join(self.version.split(".")[:2])
        names = [f"rocksdb-{minor}-cxx11abi{abi}.so" for abi in (0, 1)]
        (self.module,) = [MODULES / name for name in names if (MODULES / name).exists()]


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.libraries = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.libraries.cleanup)
        cls.hosts = [Host(jar, pathlib.Path(cls.libraries.name)) for jar in JARS]

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def load(self, library, code="pass", modules=MODULES, **more):
        """1, or 0 and a line; and what RocksDB found afterwards."""
        number = len(list(self.folder.iterdir()))
        after = GOES_ON.replace("DB", repr(str(self.folder / f"db{number}")))
        done = stock.load_later(
            PLUGIN, library, code, after=after.strip(), DELTABLOOM_MODULES=str(modules), **more
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer, found = done.stdout.splitlines()
        self.assertEqual(found, "found 1000")
        loaded, line = answer.split(" ", 1)
        return int(loaded), line

    def refused(self, *arguments, **more):
        loaded, line = self.load(*arguments, **more)
        self.assertEqual(loaded, 0)
        start = r"deltabloom: no filters of Deltabloom in \S+: "
        self.assertRegex(line, start)
        line = re.sub(start, "", line)
        print(line)
        return line

    def test_each_module_loads(self):
        for host in self.hosts:
            self.assertEqual(self.load(host.library), (1, ""))

    def test_no_module(self):
        for host in self.hosts:
            abi = host.module.stem[-1]
            line = self.refused(host.library, modules="/nowhere")
            self.assertIn(f"there is no module for its RocksDB {host.version} (", line)
            self.assertIn(f"no {host.module.name} in /nowhere, ", line)
            self.assertIn(f"script/package modules --cxx11-abi {abi} HEADERS", line)

    def test_another_version_and_another_abi(self):
        """In each direction, under the name of the right module."""
        for host, other in itertools.permutations(self.hosts, 2):
            folder = self.folder / f"{host.version}-{other.version}"
            folder.mkdir()
            shutil.copy(other.module, folder / host.module.name)
            line = self.refused(host.library, modules=folder)
            same_abi = host.module.stem[-1] == other.module.stem[-1]
            minor = re.match(r"\d+\.\d+", other.version)[0]
            built = f"built for RocksDB {minor}.[0-9]+, but the RocksDB loaded is {host.version}"
            missing = "does not load into .*: undefined symbol: _Z"
            self.assertRegex(line, f"{built}|{missing}" if same_abi else missing)

    def test_two_in_a_process(self):
        for host, other in ((self.hosts[0].library, ROCKSDB), [h.library for h in self.hosts[-2:]]):
            line = self.refused(host, f"ctypes.CDLL({str(other)!r})")
            self.assertIn("more than one RocksDB, ", line)
            self.assertIn(str(host), line)
            self.assertIn(str(other), line)

    def test_its_file_was_deleted_or_replaced(self):
        """As an archive's may be."""
        for host in self.hosts:
            for code, expected in (
                ("os.remove(library)", "the file of its RocksDB, {}, is not there any more"),
                (
                    "shutil.copy(library, library + '2'); os.replace(library + '2', library)",
                    "the file {} is not the one that was loaded",
                ),
            ):
                copy = shutil.copy(host.library, self.folder)
                self.assertIn(expected.format(copy), self.refused(copy, code))

    def test_noexec(self):
        for host in self.hosts:
            mount = self.folder / f"noexec{host.version}"
            mount.mkdir()
            mounted = stock.noexec(mount, host.module)
            line = self.refused(host.library, modules=mount, before=mounted)
            self.assertIn(f"{mount}/{host.module.name} does not load into {host.library}", line)
            self.assertIn("mounted noexec?", line)
            # The folder of links may be on such a mount.
            answer = self.load(host.library, before=mounted, TMPDIR=str(mount))
            self.assertEqual(answer, (1, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + OPTIONS)
