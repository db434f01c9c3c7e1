"""script/package source: the archive of a commit has the same bytes wherever it is
written, the port and the recipe name it by its checksum, and CMake takes it.

Usage: source_test.py SOURCE [unittest options]
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))


def git(*words):
    return subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True)


@unittest.skipIf(
    not shutil.which("git") or git("rev-parse").returncode, "no git, or not a git checkout"
)
class Archive(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def package(self, folder, *words, umask=0o022):
        return subprocess.run(
            [SOURCE / "script/package", "source", *words],
            capture_output=True,
            text=True,
            env=dict(os.environ, BUILD_DIR=str(self.folder / folder)),
            umask=umask,
        )

    def test_same_bytes_twice_and_named_by_checksum(self):
        first = self.package("one")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(
            self.package(
                "two", "--url", "https://example.org/a.tar.gz", "HEAD", umask=0o077
            ).returncode,
            0,
        )
        (archive,) = (self.folder / "one").glob("deltabloom-*.tar.gz")
        data = archive.read_bytes()
        self.assertEqual((self.folder / "two" / archive.name).read_bytes(), data)
        self.assertEqual(
            first.stdout, f"{archive}\n{hashlib.sha256(data).hexdigest()}  {archive.name}\n"
        )

        for folder, url in (("one", f"file://{archive}"), ("two", "https://example.org/a.tar.gz")):
            folder = self.folder / folder
            port = (folder / "vcpkg/portfile.cmake").read_text()
            self.assertIn(f'URLS "{url}"', port)
            self.assertIn(f"SHA512 {hashlib.sha512(data).hexdigest()})", port)
            recipe = (folder / "conan/conandata.yml").read_text()
            self.assertIn(f'url: "{url}"', recipe)
            self.assertIn(f'sha256: "{hashlib.sha256(data).hexdigest()}"', recipe)
            for file in folder.rglob("*"):
                if file.is_file() and file.suffix != ".gz":
                    self.assertNotRegex(file.read_text(), "@[A-Z0-9]+@")

        version = re.search(r'kVersion\[\] = "(.+)"', (SOURCE / "util/version.h").read_text())[1]
        self.assertEqual(
            json.loads((self.folder / "one/vcpkg/vcpkg.json").read_text())["version"], version
        )
        with tarfile.open(archive) as tar:
            names = {name.removeprefix(f"deltabloom-{version}/") for name in tar.getnames()}
        tracked = set(git("ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines())
        self.assertLessEqual(tracked, names)

    def test_a_project_takes_the_archive_by_fetch_content(self):
        self.assertEqual(self.package("in a folder").returncode, 0)
        (archive,) = (self.folder / "in a folder").glob("*.tar.gz")
        sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
        command = ["cmake", "-S", SOURCE / "tests/install/parent", "-B", self.folder / "a build"]
        command += [f"-DARCHIVE={archive}", f"-DSHA256={sha256}", "-DCOMPONENTS=deltabloom::core"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_unpacked_archive_is_no_checkout_even_inside_another(self):
        self.assertEqual(self.package("out").returncode, 0)
        (archive,) = (self.folder / "out").glob("*.tar.gz")
        outer = self.folder / "outer"
        subprocess.run(["git", "init", "--quiet", outer], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(outer)
        (top,) = outer.glob("deltabloom-*")
        for command in (["package", "source"], ["debian", "12", "true"]):
            done = subprocess.run(
                [top / "script" / command[0], *command[1:]], capture_output=True, text=True
            )
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr),
                (1, "", f"script/{command[0]}: needs a git checkout, and {top} is none\n"),
            )

    def test_parts_of_the_port_are_those_of_the_build(self):
        parts = re.findall(r"deltabloom_part\((\w+)", (SOURCE / "CMakeLists.txt").read_text())
        port = (SOURCE / "cmake/vcpkg/portfile.cmake.in").read_text()
        recipe = (SOURCE / "cmake/conan/conanfile.py").read_text()
        self.assertGreater(len(parts), 5)
        for part in parts:
            # A part that is not named would depend on what is installed.
            self.assertIn(f"DELTABLOOM_{part}", port)
            self.assertTrue(f'"{part}"' in recipe or f'"{part.lower()}"' in recipe, part)

    def test_wrong_usage(self):
        for words, said in (
            (["nonsense"], "'nonsense' is no commit"),
            (["--lintian"], "bad option '--lintian'"),
            (["--url"], "--url needs a value"),
        ):
            done = self.package("wrong", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
