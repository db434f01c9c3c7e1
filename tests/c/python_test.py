"""The C interface from Python, by ctypes: filters, and a policy in a database
that is opened through the shared librocksdb.

Usage: python_test.py LIBDELTABLOOM LIBDELTABLOOM_ROCKSDB
"""

import ctypes
import ctypes.util
import sys
import tempfile
import unittest

CORE, POLICY = sys.argv[1:3]


def function(library, name, result, *arguments):
    fn = getattr(library, name)
    fn.restype = result
    fn.argtypes = arguments
    return fn


class Core(unittest.TestCase):
    def test_a_filter(self):
        library = ctypes.CDLL(CORE)
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        create = function(library, "deltabloom_builder_create", pointer, pointer, pointer)
        add = function(library, "deltabloom_builder_add", None, pointer, text, size, pointer)
        finish = function(
            library,
            "deltabloom_builder_finish",
            pointer,
            pointer,
            ctypes.POINTER(size),
            pointer,
        )
        free = function(library, "deltabloom_free", None, pointer)
        destroy = function(library, "deltabloom_builder_destroy", None, pointer)
        filter_create = function(
            library, "deltabloom_filter_create", pointer, text, size, text, pointer
        )
        may_match = function(
            library, "deltabloom_filter_may_match", ctypes.c_ubyte, pointer, text, size
        )
        filter_destroy = function(library, "deltabloom_filter_destroy", None, pointer)

        builder = create(None, None)
        for i in range(1000):
            key = b"key%d" % i
            add(builder, key, len(key), None)
        length = size()
        memory = finish(builder, ctypes.byref(length), None)
        filter_bytes = ctypes.string_at(memory, length.value)
        free(memory)
        destroy(builder)
        self.assertEqual(len(filter_bytes), 1251)

        view = filter_create(filter_bytes, len(filter_bytes), None, None)
        found = [may_match(view, b"key%d" % i, len(b"key%d" % i)) for i in range(2000)]
        filter_destroy(view)
        self.assertEqual(sum(found[:1000]), 1000)
        self.assertLess(sum(found[1000:]), 50)


class RocksDB(unittest.TestCase):
    def test_a_database(self):
        # As README shows it: three lines around what the program has already.
        rocksdb = ctypes.CDLL(ctypes.util.find_library("rocksdb"))
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        policy = function(
            ctypes.CDLL(POLICY),
            "deltabloom_rocksdb_filterpolicy",
            pointer,
            text,
            ctypes.POINTER(text),
        )
        error = text()
        self.assertIsNone(policy(b"deltabloom:10:ribbon", ctypes.byref(error)))
        self.assertIn(b"layout 'ribbon' is unknown", error.value)
        error = text()
        filter_policy = policy(b"deltabloom:10:auto", ctypes.byref(error))
        self.assertIsNone(error.value)
        self.assertIsNotNone(filter_policy)

        def call(name, result, *arguments):
            types = {int: pointer, bytes: text}
            fn = getattr(rocksdb, name)
            fn.restype = result
            fn.argtypes = [types.get(type(a), type(a)) for a in arguments]
            return fn(*arguments)

        with tempfile.TemporaryDirectory() as folder:
            table = call("rocksdb_block_based_options_create", pointer)
            call("rocksdb_block_based_options_set_filter_policy", None, table, filter_policy)
            options = call("rocksdb_options_create", pointer)
            call("rocksdb_options_set_block_based_table_factory", None, options, table)
            create = ctypes.c_ubyte(1)
            call("rocksdb_options_set_create_if_missing", None, options, create)
            call("rocksdb_options_enable_statistics", None, options)
            error = ctypes.pointer(text())
            db = call("rocksdb_open", pointer, options, folder.encode(), error)
            self.assertIsNone(error.contents.value)
            write = call("rocksdb_writeoptions_create", pointer)
            for i in range(0, 2000, 2):
                key = b"%06d" % i
                call("rocksdb_put", None, db, write, key, size(6), b"v", size(1), error)
            flush = call("rocksdb_flushoptions_create", pointer)
            call("rocksdb_flush", None, db, flush, error)
            read = call("rocksdb_readoptions_create", pointer)
            for i in range(1999):
                length = ctypes.pointer(size())
                value = call(
                    "rocksdb_get", pointer, db, read, b"%06d" % i, size(6), length, error
                )
                self.assertEqual(value is not None, i % 2 == 0, i)
            statistics = call("rocksdb_options_statistics_get_string", text, options)
            useful = statistics.split(b"rocksdb.bloom.filter.useful COUNT : ")[1]
            self.assertGreater(int(useful.split()[0]), 900)
            call("rocksdb_close", None, db)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
