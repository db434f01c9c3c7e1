"""A store of the package rockstore with Deltabloom's filters: a subclass that sets them.

usage: database.py DB POLICY, such as deltabloom:10
"""

import ctypes
import json
import os
import sys

from rockstore import RockStore

KEYS = 300000


class Deltabloom:
    """The installed plugin, or the file that DELTABLOOM_PLUGIN names."""

    def __init__(self):
        name = os.environ.get("DELTABLOOM_PLUGIN", "libdeltabloom_rocksdb_plugin.so")
        self.library = ctypes.CDLL(name)

    def call(self, function, *arguments, returned=ctypes.c_void_p):
        """Calls a function of deltabloom/load.h."""
        error = ctypes.c_char_p()
        function = self.library[function]
        function.restype = returned
        result = function(*arguments, ctypes.byref(error))
        if not result:
            raise RuntimeError(error.value.decode() if error.value else "out of memory")
        return ctypes.string_at(result).decode() if returned == ctypes.c_void_p else result

    def set_filters(self, options, text):
        arguments = ctypes.c_void_p(options), text.encode()
        self.call("deltabloom_load_set_filters", *arguments, returned=ctypes.c_int)

    def check(self, text):
        """What the text of a policy means, with all its options."""
        return self.call("deltabloom_load_check", text.encode())

    def filters_of_database(self, db):
        return self.call("deltabloom_load_filters_of_database", ctypes.c_void_p(db), None)

    def statistics(self, layout="text"):
        return self.call("deltabloom_load_statistics", layout.encode())

    def passed(self):
        """The lookups in filters that did not say "no"."""
        rows = json.loads(self.statistics("json"))["rows"]
        return sum(row["lookups"] - row["negatives"] for row in rows)


class FilteredStore(RockStore):
    def __init__(self, path, filters, **options):
        self.filters = filters
        super().__init__(path, **options)

    def _configure_db_options(self):
        super()._configure_db_options()
        address = int(self.ffi.cast("uintptr_t", self.db_options))
        Deltabloom().set_filters(address, self.filters)


def main():
    path, policy = sys.argv[1:]
    deltabloom = Deltabloom()
    for reopened in (False, True):
        with FilteredStore(path, policy) as store:
            address = int(store.ffi.cast("uintptr_t", store.db))
            print("filters:", deltabloom.filters_of_database(address).split(";")[0].strip("{"))
            if not reopened:
                for i in range(KEYS):
                    store.put(b"user%09d" % (2 * i), b"value")
        # A store that is closed has written its keys into tables when it is opened again.
    with FilteredStore(path, policy) as store:
        lost = sum(store.get(b"user%09d" % (2 * i)) != b"value" for i in range(KEYS))
        before = deltabloom.passed()
        found = sum(store.get(b"user%09d" % (2 * i + 1)) is not None for i in range(KEYS))
        positives = deltabloom.passed() - before
        print(f"{lost} keys lost, {found} absent keys found, {positives} false positives")
        print(deltabloom.statistics())
        sys.exit(1 if lost or found else 0)


if __name__ == "__main__":
    main()
