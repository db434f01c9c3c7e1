"""A Conan 2 recipe of one release archive, which conandata.yml beside it names.
script/package source writes both; see the end of its help."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get

PARTS = ("shared_filters", "rocksdb", "leveldb", "redis")


class Deltabloom(ConanFile):
    name = "deltabloom"
    license = "Apache-2.0"
    description = "Filters for sorted string tables, and a RocksDB filter policy"
    settings = "os", "arch", "compiler", "build_type"
    # Each part is ON or OFF, so that none depends on what happens to be installed.
    options = {f"with_{part}": [True, False] for part in PARTS}
    default_options = {
        "with_shared_filters": True,
        "with_rocksdb": True,
        "with_leveldb": False,
        "with_redis": False,
    }

    def set_version(self):
        (self.version,) = self.conan_data["sources"]

    def requirements(self):
        if self.options.with_rocksdb:
            # The policy compiles with these versions (docs/compatibility.md).
            self.requires("rocksdb/[>=7.0.3 <11.13]", transitive_headers=True)
        if self.options.with_leveldb:
            self.requires("leveldb/[>=1.23]", transitive_headers=True)
        if self.options.with_redis:
            self.requires("hiredis/[>=1.0]")

    def layout(self):
        cmake_layout(self)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in PARTS:
            toolchain.cache_variables[f"DELTABLOOM_{part.upper()}"] = bool(
                self.options.get_safe(f"with_{part}")
            )
        for part in ("TOOLS", "SHARED_TOOLS", "EXAMPLES", "DB_BENCH_EXT", "TESTS"):
            toolchain.cache_variables[f"DELTABLOOM_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The installed CMake package names the libraries itself.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/deltabloom")
