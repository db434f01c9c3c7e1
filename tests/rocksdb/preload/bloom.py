"""A program that asks an engine for its own Bloom filter, by C functions.

Its arguments are done in their order:

  LIBRARY DATABASE  loads the library, and writes and reads keys with its Bloom
                    filter of 10 bits per key
  fork              forks: the child does the rest, and its parent waits
  exec              starts itself anew for the rest, in the same process
  load LIBRARY      loads it
  policy LIBRARY    loads it, and makes a policy
  delete LIBRARY    deletes its file
"""

import ctypes
import os
import sys

KEYS = 2000
words = sys.argv[1:]


def function(library, name, *types, result=ctypes.c_void_p):
    found = getattr(library, name)
    found.restype = result
    found.argtypes = types
    return found


def engine_of(path):
    return "leveldb" if "leveldb" in os.path.basename(path) else "rocksdb"


def new_policy(path):
    engine = engine_of(path)
    library = ctypes.CDLL(path)  # visible to this program alone
    number = ctypes.c_int if engine == "leveldb" else ctypes.c_double
    create = function(library, f"{engine}_filterpolicy_create_bloom", number)
    return create(int(os.environ.get("BITS", 10)))


def use(path, database):
    engine = engine_of(path)
    library = ctypes.CDLL(path)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    policy = new_policy(path)
    options = function(library, f"{engine}_options_create")()
    if engine == "leveldb":
        function(library, "leveldb_options_set_filter_policy", pointer, pointer)(options, policy)
    else:
        table = function(library, "rocksdb_block_based_options_create")()
        call = function(library, "rocksdb_block_based_options_set_filter_policy", pointer, pointer)
        call(table, policy)
        call = function(library, "rocksdb_options_set_block_based_table_factory", pointer, pointer)
        call(options, table)
    function(library, f"{engine}_options_set_create_if_missing", pointer, ctypes.c_ubyte)(
        options, 1
    )
    error = text()
    opened = function(library, f"{engine}_open", pointer, text, pointer)(
        options, os.fsencode(database), ctypes.byref(error)
    )
    if not opened:
        raise SystemExit(error.value.decode())
    size = ctypes.c_size_t
    put = function(library, f"{engine}_put", pointer, pointer, text, size, text, size, pointer)
    write = function(library, f"{engine}_writeoptions_create")()
    keys = [b"key%06d" % i for i in range(KEYS)]
    for key in keys:
        put(opened, write, key, len(key), b"value", 5, ctypes.byref(error))
    compact = function(library, f"{engine}_compact_range", pointer, text, size, text, size)
    compact(opened, None, 0, None, 0)
    get = function(
        library, f"{engine}_get", pointer, pointer, text, size, pointer, pointer, result=text
    )
    read = function(library, f"{engine}_readoptions_create")()
    length = size()
    found = sum(
        get(opened, read, key, len(key), ctypes.byref(length), ctypes.byref(error)) is not None
        for key in keys
    )
    function(library, f"{engine}_close", pointer)(opened)
    print(engine, found, "of", KEYS, flush=True)


while words:
    word = words.pop(0)
    if word == "fork":
        child = os.fork()
        if child != 0:
            sys.exit(os.waitpid(child, 0)[1] != 0)
    elif word == "exec":
        os.execv(sys.executable, [sys.executable, __file__, *words])
    elif word == "load":
        ctypes.CDLL(words.pop(0))
    elif word == "policy":
        new_policy(words.pop(0))
    elif word == "delete":
        os.remove(words.pop(0))
    else:
        use(word, words.pop(0))
