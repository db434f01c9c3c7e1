"""A RocksDB database with Deltabloom's filters, from Python, by
ctypes and RocksDB's C interface.

Usage: database.py FOLDER [LIBDELTABLOOM_ROCKSDB]
"""

import ctypes
import ctypes.util
import sys

folder = sys.argv[1]
rocksdb = ctypes.CDLL(ctypes.util.find_library("rocksdb"), mode=ctypes.RTLD_GLOBAL)
deltabloom = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libdeltabloom_rocksdb.so")
P, SIZE, BYTE = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_ubyte


def call(library, name, *arguments, result=None):
    """Calls a function whose last argument is `char** errptr`."""
    error = ctypes.c_char_p()
    value = plain(library, name, *arguments, ctypes.byref(error), result=result)
    if error.value is not None:
        sys.exit(f"{name}: {error.value.decode()}")
    return value


def plain(library, name, *arguments, result=None):
    function = getattr(library, name)
    function.restype = result
    # ctypes would pass a Python integer as 32 bits; here it is a pointer.
    return function(*(P(a) if isinstance(a, int) else a for a in arguments))


options = plain(rocksdb, "rocksdb_options_create", result=P)
plain(rocksdb, "rocksdb_options_set_create_if_missing", options, BYTE(1))
filters = b"bits_per_key=12"
call(deltabloom, "deltabloom_rocksdb_add_filters", options, filters)
db = call(rocksdb, "rocksdb_open", options, folder.encode(), result=P)

write = plain(rocksdb, "rocksdb_writeoptions_create", result=P)
for i in range(0, 2000, 2):
    key = b"%06d" % i
    call(rocksdb, "rocksdb_put", db, write, key, SIZE(6), key, SIZE(6))
call(rocksdb, "rocksdb_flush", db, plain(rocksdb, "rocksdb_flushoptions_create", result=P))

read = plain(rocksdb, "rocksdb_readoptions_create", result=P)
for i in range(1999):
    size = SIZE()
    value = call(
        rocksdb, "rocksdb_get", db, read, b"%06d" % i, SIZE(6), ctypes.byref(size), result=P
    )
    if (value is not None) != (i % 2 == 0):
        sys.exit(f"key {i}: found {value is not None}")
plain(rocksdb, "rocksdb_close", db)
text = call(deltabloom, "deltabloom_rocksdb_statistics", b"text", result=ctypes.c_char_p)
print(text.decode())
