"""The Debian packages of a build that was installed into PREFIX as well: each
installed file is in one of them, in the right one, and they depend on what they
load.

Usage: packages_test.py BUILD PREFIX [unittest options]
"""

import pathlib
import re
import subprocess
import sys
import unittest

BUILD, PREFIX = (pathlib.Path(path) for path in sys.argv[1:3])
SOURCE = pathlib.Path(__file__).parents[2]


def run(*command):
    return subprocess.run(
        command, cwd=BUILD, capture_output=True, text=True, timeout=900, check=True
    ).stdout


def files_of(package):
    """Returns the paths below PREFIX, without folders."""
    lines = run("dpkg-deb", "-c", str(package)).splitlines()
    paths = [line.split(None, 5)[5].split(" -> ")[0] for line in lines if line[0] != "d"]
    return {path.removeprefix("./usr/") for path in paths}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run("cpack", "-G", "DEB", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")  # faster than xz
        cls.files = {}
        cls.depends = {}
        for file in (BUILD / "packages").glob("*.deb"):
            name = run("dpkg-deb", "-f", str(file), "Package").strip()
            cls.files[name] = files_of(file)
            cls.depends[name] = run("dpkg-deb", "-f", str(file), "Depends").strip()

    def package(self, pattern):
        found = [name for name in self.files if re.fullmatch(pattern, name)]
        self.assertEqual(len(found), 1, (pattern, list(self.files)))
        return found[0]

    def test_each_file_is_in_one_package(self):
        installed = {
            path.relative_to(PREFIX).as_posix()
            for path in PREFIX.rglob("*")
            if path.is_symlink() or path.is_file()
        }
        packed = []
        for name, files in self.files.items():
            # These files are in packages only.
            documents = {
                file
                for file in files
                if file.startswith((f"share/doc/{name}/", "share/lintian/overrides/"))
            }
            for document in ("copyright", "changelog.gz", "changelog.Debian.gz"):
                self.assertIn(f"share/doc/{name}/{document}", documents)
            # Manual pages are compressed in packages only.
            packed += [re.sub(r"^(share/man/.*)\.gz$", r"\1", file) for file in files - documents]
        self.assertEqual(sorted(packed), sorted(installed))

    def test_libraries_are_where_they_belong(self):
        for name, files in self.files.items():
            ours = {file for file in files if not file.startswith("share/doc/")}
            libraries = {
                file for file in ours if re.fullmatch(r"lib/lib[a-z_]+\.so\.[-0-9.]+", file)
            }
            if re.match(r"libdeltabloom(-[a-z]+)?[0-9]", name):
                self.assertTrue(libraries, name)
                self.assertEqual(ours, libraries)
            else:
                self.assertFalse(libraries, name)
        development = self.files["libdeltabloom-dev"]
        self.assertIn("include/deltabloom/filter.h", development)
        self.assertIn("lib/libdeltabloom.so", development)
        self.assertIn("lib/libdeltabloom.a", development)
        self.assertIn("lib/pkgconfig/deltabloom.pc", development)

    def test_dependencies_on_rocksdb(self):
        names = [name for name in self.files if "rocksdb" in name]
        if not names:
            self.skipTest("a build without RocksDB")
        version = re.search(r"rocksdb([0-9]+\.[0-9]+)", " ".join(names))[1]
        library = self.depends[self.package(rf"libdeltabloom-rocksdb{version}-[0-9.]+")]
        self.assertRegex(library, rf"\blibrocksdb{version}\b")
        # Programs bring the RocksDB of the plugin and of the module.
        plugin = self.package("deltabloom-rocksdb-plugin")
        module = self.package(rf"deltabloom-rocksdb{version}-module")
        self.assertNotIn("librocksdb", self.depends[plugin] + self.depends[module])
        self.assertIn(plugin, self.depends[module])
        self.assertIn("libc6", self.depends[module])
        self.assertIn("lib/libdeltabloom_rocksdb_plugin.so", self.files[plugin])
        self.assertIn("lib/libdeltabloom_replace_bloom.so", self.files[plugin])
        leveldb = self.package("deltabloom-leveldb-module")
        self.assertIn(plugin, self.depends[leveldb])
        self.assertIn("lib/deltabloom/leveldb.so", self.files[leveldb])
        self.assertIn(f"lib/deltabloom/rocksdb-{version}-cxx11abi1.so", self.files[module])
        self.assertRegex(self.depends["libdeltabloom-dev"], rf"\blibrocksdb-dev \(>= {version}\)")
        core = self.depends[self.package(r"libdeltabloom[0-9.]+")]
        self.assertIn("libstdc++6", core)
        self.assertNotIn("rocksdb", core)

    def test_docker_example_has_two_stages_of_single_lines(self):
        # script/test --long packages runs its RUN lines as they stand.
        text = (SOURCE / "examples/docker/Dockerfile").read_text()
        self.assertEqual(text.count("\nFROM "), 2)
        self.assertNotIn("\\\n", text)
        self.assertIn("\nRUN script/package\n", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
