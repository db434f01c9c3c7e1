"""A program that is not RocksDB's and reads a database by its C functions, with
the plugin's policy. It ends when its standard input does, or with a line there.

usage: host.py PLUGIN.so LIBROCKSDB.so DATABASE (read|fork)
"""

import ctypes
import os
import sys

plugin, rocksdb, database, mode = sys.argv[1:]
library = ctypes.CDLL(rocksdb)
loader = ctypes.CDLL(plugin)
if not loader.deltabloom_load(None, None):
    sys.exit("deltabloom_load found no module")


def call(name, *arguments, result=ctypes.c_void_p):
    error = ctypes.c_char_p()
    function = getattr(library, name)
    function.restype = result
    answer = function(*arguments, ctypes.byref(error))
    if error.value is not None:
        raise SystemExit(f"{name}: {error.value.decode()}")
    return answer


def new_options():
    """Options with a policy of their own."""
    library.rocksdb_options_create.restype = ctypes.c_void_p
    options = ctypes.c_void_p(library.rocksdb_options_create())
    text = b"block_based_table_factory={filter_policy=deltabloom:10}"
    call("rocksdb_get_options_from_string", options, text, options)
    return options


def read(options):
    """Looks up three absent keys in a database of db_bench, which stays open."""
    opened = call("rocksdb_open_for_read_only", options, os.fsencode(database), 0)
    library.rocksdb_readoptions_create.restype = ctypes.c_void_p
    read_options = ctypes.c_void_p(library.rocksdb_readoptions_create())
    length = ctypes.c_size_t()
    for number in range(1, 4):
        key = number.to_bytes(8, "big") + b"absent"  # between keys of db_bench
        call(
            "rocksdb_get",
            ctypes.c_void_p(opened),
            read_options,
            key,
            ctypes.c_size_t(len(key)),
            ctypes.byref(length),
        )


parents = new_options()
if mode == "read":
    read(parents)
    print("3 lookups", flush=True)
    sys.stdin.readline()
    sys.exit()

# RocksDB itself has no threads yet, which its destructors would miss in a child.
silent = os.fork()
if silent == 0:
    sys.exit()
os.waitpid(silent, 0)
stop, stopping = os.pipe()
reading = os.fork()
if reading == 0:
    os.close(stopping)
    read(new_options())
    os.read(stop, 1)
    sys.exit()
os.close(stop)
read(parents)
print(silent, reading, flush=True)
sys.stdin.readline()
os.close(stopping)
sys.exit(os.waitpid(reading, 0)[1] != 0)
