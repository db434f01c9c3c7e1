"""The C interface of the core from Python, by ctypes.

Usage: python_test.py LIBDELTABLOOM
"""

import ctypes
import sys
import unittest

CORE = ctypes.CDLL(sys.argv[1])
TYPES = {int: ctypes.c_void_p, bytes: ctypes.c_char_p}
NULL, SIZE = ctypes.c_void_p(), ctypes.c_size_t


def call(name, result, *arguments):
    """Calls a function; integers are pointers."""
    function = getattr(CORE, "deltabloom_" + name)
    function.restype = TYPES.get(result, result)
    function.argtypes = [TYPES.get(type(a), type(a)) for a in arguments]
    return function(*arguments)


class Core(unittest.TestCase):
    def test_a_filter(self):
        builder = call("builder_create", int, NULL, NULL)
        for i in range(1000):
            key = b"key%d" % i
            call("builder_add", None, builder, key, SIZE(len(key)), NULL)
        size = ctypes.pointer(SIZE())
        memory = call("builder_finish", int, builder, size, NULL)
        data = ctypes.string_at(memory, size.contents.value)
        call("free", None, memory)
        call("builder_destroy", None, builder)
        self.assertEqual(len(data), 1251)

        view = call("filter_create", int, data, SIZE(len(data)), NULL, NULL)
        found = [
            call("filter_may_match", ctypes.c_ubyte, view, key, SIZE(len(key)))
            for key in (b"key%d" % i for i in range(2000))
        ]
        call("filter_destroy", None, view)
        self.assertEqual(sum(found[:1000]), 1000)
        self.assertLess(sum(found[1000:]), 50)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
