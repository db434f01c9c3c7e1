"""A Conan 2 recipe that builds from this source tree: conan create cmake/conan"""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Deltabloom(ConanFile):
    name = "deltabloom"
    license = "Apache-2.0"
    description = "Filters for sorted string tables, and a RocksDB filter policy"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_rocksdb": [True, False]}
    default_options = {"with_rocksdb": True}

    def set_version(self):
        text = (SOURCE / "util" / "version.h").read_text()
        self.version = re.search(r'kVersion\[\] = "(.+)"', text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "util/*", "table/*",
                        "engines/*", "shared_filters/*"):  # fmt: skip
            copy(self, pattern, SOURCE, self.export_sources_folder)

    def requirements(self):
        if self.options.with_rocksdb:
            self.requires("rocksdb/[>=7.0.3 <12]", transitive_headers=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["DELTABLOOM_ROCKSDB"] = bool(self.options.with_rocksdb)
        for part in ("LEVELDB", "REDIS", "TOOLS", "EXAMPLES"):
            toolchain.cache_variables[f"DELTABLOOM_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", SOURCE, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        # The installed CMake package names the libraries itself.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/deltabloom")
