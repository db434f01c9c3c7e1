"""The C interface of the core from Python, by ctypes.

Usage: python_test.py LIBDELTABLOOM
"""

import ctypes
import sys
import unittest

CORE = sys.argv[1]


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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
