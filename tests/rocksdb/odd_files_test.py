"""The loader among odd ELF files: libraries with RocksDB's mark, and modules, whose bytes
were changed. It loads the module or says in one line why not, and crashes on none that
ld.so itself opens and whose function can be called.

usage: odd_files_test.py PLUGIN.so LIBROCKSDB.so HOST.so [unittest options]
    HOST.so: a small library with RocksDB's mark. From the environment: ODD_FILES, how
    many of each kind (300), and SEED.
"""

import ctypes
import os
import pathlib
import random
import signal
import struct
import sys
import tempfile
import unittest

PLUGIN, ROCKSDB, HOST = map(pathlib.Path, sys.argv[1:4])
MODULE = next(PLUGIN.parent.glob("deltabloom/rocksdb-*.so"), None)
COUNT = int(os.environ.get("ODD_FILES", "300"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)


VERSION_FUNCTIONS = (
    "_ZN7rocksdb23GetRocksVersionAsStringEb",
    "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb",
)
PT_LOAD, PT_DYNAMIC, PF_R = 1, 2, 4
REFUSED = 2  # an exit code
INTERFACE = 2  # DELTABLOOM_MODULE_INTERFACE


class BeginningOfModule(ctypes.Structure):
    """struct deltabloom_module."""

    _fields_ = [
        ("interface", ctypes.c_int),
        ("built_for", ctypes.c_char_p),
        ("register_with_rocksdb", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
    ]


def parts(file):
    """(place, size) of the ELF header, the program headers, and what they say of the file's
    parts: of the dynamic section all, of a constant segment the beginning, with the tables
    of symbols. Changed code would crash wherever it runs."""
    yield 0, 64
    (start,) = struct.unpack_from("<Q", file, 32)
    header_size, number = struct.unpack_from("<HH", file, 54)
    for place in range(start, start + number * header_size, header_size):
        yield place, header_size
        kind, flags, offset, _, _, size = struct.unpack_from("<IIQQQQ", file, place)
        if kind == PT_DYNAMIC or (kind == PT_LOAD and flags == PF_R):
            yield offset, min(size, 4096)


def changed(original, generator):
    bytes_ = bytearray(original)
    places = list(parts(original))
    for _ in range(generator.choice((1, 1, 2, 4, 16))):
        start, size = generator.choice(places)
        place = start + generator.randrange(size)
        width = generator.choice((1, 1, 2, 8))
        values = (0, 1, 0xFF, generator.randrange(256))
        for at in range(place, min(place + width, len(bytes_))):
            bytes_[at] = generator.choice(values)
    if generator.random() < 0.1:
        del bytes_[generator.randrange(len(bytes_)) :]
    return bytes(bytes_)


def in_child(action):
    """The status and the output of a forked process that calls it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            signal.alarm(60)
            for stream in (1, 2):
                os.dup2(writing, stream)
            action()
            status = 0
        except OSError:
            status = REFUSED  # by ld.so
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    return os.waitpid(child, 0)[1], text


@unittest.skipUnless(os.uname().machine == "x86_64", "calls C++ functions as x86-64 does")
class OddFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"SEED={SEED} ODD_FILES={COUNT}")
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def load(self):
        error = ctypes.c_char_p()
        done = ctypes.CDLL(str(PLUGIN)).deltabloom_load(None, ctypes.byref(error))
        line = error.value.decode(errors="replace") if error.value else ""
        os.write(1, f"{done} {line}".encode())

    def check(self, original, name, plain, with_loader):
        """`plain` opens the file and calls the function that the loader calls. A file with which
        that crashes, or its process does later, shows nothing."""
        generator = random.Random(f"{SEED} {name}")
        outcomes = {}
        for number in range(COUNT):
            file = self.folder / name
            # A new file each time: what is loaded is not changed.
            file.unlink(missing_ok=True)
            file.write_bytes(changed(original, generator))
            status, _ = in_child(lambda: plain(file))
            refused = os.waitstatus_to_exitcode(status) == REFUSED
            if status != 0 and (not refused or name == "host.so"):
                outcome = "ld.so refuses" if refused else "ends its process"
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                continue
            status, text = in_child(lambda: with_loader(file))
            where = f"SEED={SEED}, {name} {number}: status {status}, {text}"
            self.assertEqual(status, 0, where)
            self.assertRegex(text, r"\A(1 |0 deltabloom: [^\n]+)\Z", where)
            outcome = "loaded" if text[0] == "1" else "refused"
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(name, outcomes)
        self.assertGreater(outcomes.get("refused", 0) + outcomes.get("loaded", 0), COUNT // 10)

    def test_hosts(self):
        def plain(file):
            library = ctypes.CDLL(str(file))
            ctypes.CDLL(str(PLUGIN))
            for name in VERSION_FUNCTIONS:
                if hasattr(library, name):
                    # A std::string, in memory whose address is the first argument.
                    text = (ctypes.c_void_p * 4)()
                    library[name](text, True)
                    ctypes.string_at(text[0])

        def with_loader(file):
            ctypes.CDLL(str(file))
            self.load()

        self.check(HOST.read_bytes(), "host.so", plain, with_loader)

    def test_modules(self):
        # What modules name as the library that they need.
        (self.folder / "deltabloom-rocksdb-host").symlink_to(ROCKSDB.resolve())

        def plain(file):
            ctypes.CDLL(str(ROCKSDB))
            ctypes.CDLL(str(PLUGIN))
            library = ctypes.CDLL(str(file))
            if hasattr(library, "deltabloom_rocksdb_module"):
                module = BeginningOfModule.in_dll(library, "deltabloom_rocksdb_module")
                if module.interface == INTERFACE:
                    module.register_with_rocksdb(ctypes.byref(ctypes.c_char_p()))

        def with_loader(file):
            ctypes.CDLL(str(ROCKSDB))
            os.environ["DELTABLOOM_MODULES"] = str(file.parent)
            self.load()

        self.check(MODULE.read_bytes(), MODULE.name, plain, with_loader)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
