"""A database of LevelDB, by its C interface."""

import ctypes
import ctypes.util
import os

POINTER = ctypes.c_void_p


def make_leveldb(folder, bits_per_key, keys, compact=True):
    """Puts `keys` keys into a database, which it makes unless it is there, with the Bloom
    filter, or without one if bits_per_key is 0. The last ones stay in the log
    unless `compact`."""
    library = ctypes.CDLL(ctypes.util.find_library("leveldb"))
    for name in ("options_create", "open", "writeoptions_create", "filterpolicy_create_bloom"):
        getattr(library, "leveldb_" + name).restype = POINTER
    error = ctypes.c_char_p()
    options = POINTER(library.leveldb_options_create())
    library.leveldb_options_set_create_if_missing(options, 1)
    if bits_per_key > 0:
        policy = POINTER(library.leveldb_filterpolicy_create_bloom(bits_per_key))
        library.leveldb_options_set_filter_policy(options, policy)
    database = POINTER(library.leveldb_open(options, os.fsencode(folder), ctypes.byref(error)))
    writing = POINTER(library.leveldb_writeoptions_create())
    for i in range(keys):
        key, value = b"key%06d" % i, b"value"
        library.leveldb_put(
            database,
            writing,
            key,
            ctypes.c_size_t(len(key)),
            value,
            ctypes.c_size_t(len(value)),
            ctypes.byref(error),
        )
        if error.value:
            raise RuntimeError(error.value)
    if compact:
        none = ctypes.c_size_t(0)
        library.leveldb_compact_range(database, None, none, None, none)
    library.leveldb_close(database)
    return folder
