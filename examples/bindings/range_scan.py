"""Scans with range filters in RocksDB from Python, by ctypes and RocksDB's C
interface: the orders of a user, where most users have none.

Usage: range_scan.py FOLDER [LIBDELTABLOOM_ROCKSDB]
"""

import ctypes
import ctypes.util
import json
import sys

P, SIZE, BYTE, TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_ubyte, ctypes.c_char_p
folder = sys.argv[1]
rocksdb = ctypes.CDLL(ctypes.util.find_library("rocksdb"), mode=ctypes.RTLD_GLOBAL)
deltabloom = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libdeltabloom_rocksdb.so")


def declared(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


def failing(library, name, result, *arguments):
    """A function whose last argument is `char** errptr`."""
    function = declared(library, name, result, *arguments, ctypes.POINTER(TEXT))

    def call(*values):
        error = TEXT()
        value = function(*values, ctypes.byref(error))
        if error.value is not None:
            sys.exit(f"{name}: {error.value.decode()}")
        return value

    return call


new_options = declared(rocksdb, "rocksdb_options_create", P)
create_if_missing = declared(rocksdb, "rocksdb_options_set_create_if_missing", None, P, BYTE)
new_write_options = declared(rocksdb, "rocksdb_writeoptions_create", P)
new_read_options = declared(rocksdb, "rocksdb_readoptions_create", P)
new_flush_options = declared(rocksdb, "rocksdb_flushoptions_create", P)
open_database = failing(rocksdb, "rocksdb_open", P, P, TEXT)
close_database = declared(rocksdb, "rocksdb_close", None, P)
put = failing(rocksdb, "rocksdb_put", None, P, P, TEXT, SIZE, TEXT, SIZE)
flush = failing(rocksdb, "rocksdb_flush", None, P, P)
seek_to_first = declared(deltabloom, "deltabloom_rocksdb_iterator_seek_to_first", None, P)
valid = declared(deltabloom, "deltabloom_rocksdb_iterator_valid", BYTE, P)
advance = declared(deltabloom, "deltabloom_rocksdb_iterator_next", None, P)
key_of = declared(deltabloom, "deltabloom_rocksdb_iterator_key", P, P, ctypes.POINTER(SIZE))
check = failing(deltabloom, "deltabloom_rocksdb_iterator_get_error", None, P)
destroy = declared(deltabloom, "deltabloom_rocksdb_iterator_destroy", None, P)
new_ranges = failing(deltabloom, "deltabloom_rocksdb_ranges_create", P, TEXT)
add_ranges = failing(deltabloom, "deltabloom_rocksdb_ranges_add_to", BYTE, P, P)
new_scan = failing(
    deltabloom, "deltabloom_rocksdb_ranges_create_prefix_iterator", P, P, P, P, P, TEXT, SIZE
)
statistics = failing(deltabloom, "deltabloom_rocksdb_ranges_statistics", P, P, TEXT)
free = declared(rocksdb, "rocksdb_free", None, P)

options = new_options()
create_if_missing(options, 1)
ranges = new_ranges(b"prefixes=':'")  # the keys of a scan share all up to a colon
add_ranges(ranges, options)  # before the database is opened
db = open_database(options, folder.encode())

write, read = new_write_options(), new_read_options()
for user in range(0, 4000, 4):
    for order in range(3):
        key = b"user:%06d:order:%06d" % (user, (user * 7919 + order * 104729) % 1000000)
        put(db, write, key, len(key), b"ordered", 7)
flush(db, new_flush_options())


def orders_of(user):
    prefix = b"user:%06d:" % user
    scan = new_scan(ranges, db, read, None, prefix, len(prefix))
    keys, size = [], SIZE()
    seek_to_first(scan)
    while valid(scan):
        at = key_of(scan, ctypes.byref(size))
        keys.append(ctypes.string_at(at, size.value))
        advance(scan)
    check(scan)
    destroy(scan)
    return keys


found = [len(orders_of(user)) for user in range(4000)]
if found != [3 if user % 4 == 0 else 0 for user in range(4000)]:
    sys.exit("orders are missing")
text = statistics(ranges, b"json")
counts = json.loads(ctypes.string_at(text))
free(text)
print(
    f"{sum(found)} orders found; "
    f"{counts['tables_rejected']} of {counts['empty_scans']} empty scans read nothing"
)
close_database(db)
