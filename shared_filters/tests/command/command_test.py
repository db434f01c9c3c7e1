#!/usr/bin/env python3
"""deltabloom-shared from the outside, against a real redis-server.

usage: command_test.py DELTABLOOM_SHARED REDIS_SERVER [unittest options]
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from redis_process import RedisProcess, free_port, file_of_product  # noqa: E402

TOOL, REDIS_SERVER = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
PASSWORD = "DELTABLOOM_REDIS_PASSWORD"


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = RedisProcess(REDIS_SERVER)
        cls.addClassCleanup(cls.redis.close)

    def setUp(self):
        self.redis.run("FLUSHALL")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.port = self.redis.port

    def call(self, *words, keys="", env=None):
        data = keys if isinstance(keys, bytes) else keys.encode()
        return subprocess.run(
            [TOOL, *words, "--port", str(self.port), "--timeout", "1m"],
            input=data,
            capture_output=True,
            timeout=900,
            env={**os.environ, **(env or {})},
        )

    def done(self, *words, keys=""):
        result = self.call(*words, keys=keys)
        self.assertEqual((result.returncode, result.stderr), (0, b""), words)
        return result.stdout.decode("utf-8", "surrogateescape")

    def fails(self, code, pattern, *words, keys="", env=None):
        result = self.call(*words, keys=keys, env=env)
        error = result.stderr.decode()
        self.assertEqual(result.returncode, code, error)
        self.assertRegex(error, pattern)
        self.assertEqual(error.count("\n"), 1, error)
        return error

    def may_match(self, name, why, *words):
        """A check of key "a" that the filter cannot answer."""
        result = self.call("check", name, "--key", "a", *words)
        self.assertEqual((result.returncode, result.stdout), (0, b"may match  a\n"))
        self.assertRegex(result.stderr.decode(), why)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def test_create_add_check_info_delete(self):
        for scheme in ("local", "go-murmur3", "go-murmur3-14", "guava-helper"):
            name = f"f:{scheme}"
            created = json.loads(
                self.done("create", name, "--keys", "5000", "--scheme", scheme, "--json")
            )
            self.assertEqual(created["result"], "created")
            keys = self.file("keys", "".join(f"k{i}\n" for i in range(3000)))
            added = json.loads(self.done("add", name, keys, "--json"))
            self.assertEqual(added["added"], 3000)
            self.assertGreater(added["new"], 2900)
            self.assertEqual(self.done("check", name, keys, "--only", "absent"), "")
            info = json.loads(self.done("info", name, "--json"))
            self.assertAlmostEqual(info["keys_estimate"], 3000, delta=150)
            self.assertEqual(info["expected_keys"], 5000)
            self.assertIsNone(info["expires_in_ms"])
            self.assertIn("made for 5000", self.done("info", name))
            self.fails(
                1, f"{self.port}, key '{name}': there is a filter", "create", name, "--keys", "1"
            )
            self.assertEqual(self.done("delete", name), f"{name}: deleted\n")
            self.fails(1, "no filter of this name", "info", name)
        self.assertEqual(self.redis.keys(), [])

    def test_keys_are_bytes(self):
        self.done("create", "f", "--keys", "1000")
        # An empty one, one without an end, a carriage return, what is not UTF-8.
        self.assertIn("5 keys added", self.done("add", "f", keys=b"a\n\nb\r\n\xff\xfe\nlast"))
        text = self.done("check", "f", "--key", "", "--key", "b", "--key", "last")
        self.assertEqual(
            text, "may match  \nabsent     b\nmay match  last\n" "3 keys: 1 absent, 2 may match\n"
        )
        raw = self.call("check", "f", "--only", "may-match", keys=b"\xff\xfe\nnone\nb\r\n")
        self.assertEqual(raw.stdout, b"\xff\xfe\nb\r\n")
        self.assertIn("2 keys added", self.done("add", "f", "-0", keys=b"x\ny\0z"))
        raw = self.call("check", "f", "--null", "--only", "may-match", keys=b"x\ny\0x\0z\0")
        self.assertEqual(raw.stdout, b"x\ny\0z\0")
        shown = json.loads(self.done("check", "f", "--json", keys=b"\xff\xfe\n\x1b[2J\n"))
        self.assertEqual([k["key"] for k in shown["keys"]], ["\\xff\\xfe", "\\x1b[2J"])
        self.assertEqual([k["answer"] for k in shown["keys"]], ["may match", "absent"])
        self.assertEqual((shown["checked"], shown["absent"]), (2, 1))
        self.assertIn("0 keys added", self.done("add", "f", keys=""))

    def test_long_keys(self):
        self.done("create", "f", "--keys", "10")
        longest = b"a" * (1 << 20)
        self.assertIn("2 keys added", self.done("add", "f", keys=longest + b"\nb"))
        self.fails(
            1,
            "standard input: key 2 has more than 1 MiB.*--null",
            "check",
            "f",
            keys=b"b\na" + longest,
        )

    def test_wrong_command_lines(self):
        for words, pattern in (
            (
                ("inf",),
                "deltabloom-shared: expected a command, found inf; see deltabloom-shared --help",
            ),
            (("create",), "NAME is required"),
            (
                ("create", "f"),
                "deltabloom-shared create: filter 'f': no size is set: use --keys, or "
                "--bits and --probes",
            ),
            (("info", "f", "--adopt", "--scheme", "go-murmur3"), "no size is set"),
            (("create", "f", "--keys", "-1"), "--keys"),
            (("create", "f", "--keys", "10", "--rate", "2"), "rate"),
            (("create", "f", "--keys", "10", "--scheme", "x"), "scheme is 'x'"),
            (("create", "f", "--keys", "10", "--expire", "1y"), "'1y' is not a duration"),
            (("check", "f", "--bits", "100"), "--bits requires --adopt"),
            (("check", "f", "--only", "all"), "--only"),
            (("check", "f", "file", "--key", "x"), "excludes"),
            (("check", "a}b", "--key", "x"), "a}b"),
            (("info", "f", "--cluster", "--db", "1"), "database"),
        ):
            self.fails(2, pattern, *words)

    def test_files_that_cannot_be_read(self):
        self.done("create", "f", "--keys", "10")
        self.fails(1, "/nonexistent: No such file", "add", "f", "/nonexistent")
        self.fails(1, "/: Is a directory", "rebuild", "f", "/")
        self.fails(1, ": /: Is a directory", "import", "g", "/")
        closed = f"'{TOOL}' add f --port {self.port} <&-"
        self.assertIn(b"0 keys added", subprocess.check_output(closed, shell=True, timeout=900))
        self.fails(1, "/nonexistent: no password", "info", "f", "--password-file", "/nonexistent")
        self.assertEqual(self.redis.keys(), ["f", "{f}:deltabloom"])

    def test_overfull(self):
        self.done("create", "f", "--keys", "10")
        self.done("add", "f", keys="".join(f"{i}\n" for i in range(100)))
        result = self.call("info", "f", "--json")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"f: overfull", result.stderr)

    def test_rebuild(self):
        self.done("create", "f", "--keys", "1000", "--expire", "1h")
        self.done("add", "f", keys="old\nboth")
        self.assertIn("replaced: 2 keys", self.done("rebuild", "f", keys="both\nnew"))
        answers = self.done("check", "f", keys="old\nboth\nnew")
        self.assertIn("absent     old\nmay match  both\nmay match  new\n", answers)
        info = json.loads(self.done("info", "f", "--json"))
        self.fails(1, "standard input: no key: f is unchanged", "rebuild", "f")
        self.assertEqual(self.done("check", "f", "--key", "new"), "may match  new\n")
        self.assertEqual(info["rebuilds"], 1)
        self.assertLess(info["expires_in_ms"], 3600001)
        self.assertEqual(self.redis.keys(), ["f", "{f}:deltabloom"])

    def test_filled_by_rebuild(self):
        self.assertIn(
            "f: created: local", self.done("create", "f", "--keys", "10", "--filled-by-rebuild")
        )
        self.fails(1, "lost", "check", "f", "--key", "x", "--fail-closed")
        self.done("rebuild", "f", "--key", "a")
        self.assertIn("absent     x", self.done("check", "f", "--key", "a", "--key", "x"))

    def test_adopted(self):
        theirs = ("--adopt", "--scheme", "go-murmur3-14", "--bits", "20000")
        self.may_match("g", "key 'g'.*all these keys may match", *theirs)
        self.done("add", "g", *theirs, keys="a")
        self.assertIn("absent     b", self.done("check", "g", *theirs, keys="a\nb"))
        self.assertIn("added to: 1 key,", self.done("rebuild", "g", *theirs, keys="b"))
        self.assertNotIn("1 absent", self.done("check", "g", *theirs, keys="a\nb"))
        self.assertIn("replaced", self.done("rebuild", "g", *theirs, "--writers-stopped", keys="b"))
        self.assertIn("absent     a", self.done("check", "g", *theirs, keys="a\nb"))
        self.assertTrue(json.loads(self.done("info", "g", "--json", *theirs))["adopted"])
        self.done("delete", "g", *theirs)
        self.assertEqual(self.redis.keys(), [])

    def test_moving(self):
        self.done("create", "f", "--keys", "100")
        self.done("create", "larger", "--keys", "1000")
        self.done("add", "f", keys="a")
        self.fails(1, "larger: has no key", "move", "f", "larger")
        self.done("add", "larger", keys="a")
        self.assertEqual(self.done("move", "f", "larger"), "f: moved to larger\n")
        self.assertEqual(self.done("check", "f", "--key", "a"), "may match  a\n")
        self.assertEqual(json.loads(self.done("info", "f", "--json"))["name"], "larger")

    def test_confirm(self):
        """Redis restarted, as far as the descriptor can tell."""
        self.done("create", "f", "--keys", "100")
        self.assertTrue(json.loads(self.done("info", "f", "--json"))["verified"])
        self.redis.run("HSET", "{f}:deltabloom", "run_id", "another")
        self.may_match("f", "restarted or failed over.*may match")
        self.fails(1, "confirm or rebuild", "check", "f", "--key", "a", "--fail-closed")
        self.assertIn("verified         no: Redis restarted", self.done("info", "f"))
        self.assertEqual(self.done("confirm", "f"), "f: confirmed\n")
        self.assertEqual(self.done("check", "f", "--key", "a"), "absent     a\n")

    def test_other_writers(self):
        """Asked for at the creation, and for each rebuild."""
        size = ("--scheme", "guava-helper", "--keys", "100")
        self.assertIn("--writers-stopped", self.done("create", "g", *size))
        self.done("add", "g", keys="a")
        self.assertIn("added to", self.done("rebuild", "g", keys="b"))
        self.assertIn("replaced", self.done("rebuild", "g", "--writers-stopped", keys="b"))
        self.assertNotIn("--writers-stopped", self.done("create", "h", *size, "--own-writers-only"))
        self.assertIn("replaced", self.done("rebuild", "h", keys="b"))

    def test_many_keys(self):
        """Many keys of a file or a pipe go in at once, not batch by batch."""
        keys = "".join(f"{i}\n" for i in range(200000))
        path = self.file("keys", keys)
        for words, data in (((path,), ""), ((), keys)):
            self.redis.run("FLUSHALL")
            self.done("create", "f", "--keys", "200000")
            self.done("add", "f", keys="0\nold")
            self.redis.run("CONFIG", "RESETSTAT")
            added = json.loads(self.done("add", "f", *words, "--json", keys=data))
            self.assertEqual(added["added"], 200000)
            self.assertGreater(added["new"], 198000)
            self.assertLess(added["new"], 200000)
            calls = re.search(
                r"cmdstat_evalsha:calls=(\d+)", self.redis.run("INFO", "commandstats")
            )
            self.assertLess(int(calls.group(1)), 20 if words else 1000)  # else 1,563
            self.assertEqual(self.done("check", "f", path, "--only", "absent"), "")
            self.assertEqual(self.done("check", "f", "--key", "old"), "may match  old\n")
            self.assertEqual(json.loads(self.done("info", "f", "--json"))["rebuilds"], 0)

    def test_guava_bytes(self):
        self.done("create", "g", "--scheme", "guava-helper", "--bits", "128", "--probes", "5")
        self.done("add", "g", keys=b"\0" * 8 + b"\n*" + b"\0" * 7 + b"\n" + b"\xff" * 8)
        path = str(self.folder / "g.bloom")
        self.done("export", "g", path)
        # Guava's own answer for the longs 0, 42, -1: docs/format.md.
        known = bytes.fromhex("00050000000212000092400600002021008010200000")
        self.assertEqual(pathlib.Path(path).read_bytes(), known)
        self.assertEqual(self.call("export", "g", "/dev/stdout").stdout, known)
        self.assertEqual(os.listdir(self.folder), ["g.bloom"])
        os.symlink(path, self.folder / "link")
        self.done("export", "g", str(self.folder / "link"))
        self.assertTrue(os.path.islink(self.folder / "link"))
        os.mkfifo(self.folder / "pipe")
        pipe = os.open(self.folder / "pipe", os.O_RDWR)
        self.done("export", "g", str(self.folder / "pipe"))
        self.assertEqual(os.read(pipe, 99), known)
        os.close(pipe)
        self.assertIn(
            "h: created: 128 bits, 5 per key, about 3 keys", self.done("import", "h", path)
        )
        self.assertEqual(self.call("export", "h", "-").stdout, known)
        self.fails(1, "there is a filter", "import", "h", path)
        self.done("add", "h", keys="goes")
        self.assertIn(
            "h: replaced", self.done("import", "h", path, "--replace", "--writers-stopped")
        )
        self.assertEqual(self.call("export", "h", "-").stdout, known)
        empty = self.file("empty", known[:6] + b"\0" * 16)
        self.fails(
            1, "no key: h is unchanged", "import", "h", empty, "--replace", "--writers-stopped"
        )
        self.assertIn("added to", self.done("import", "theirs", path, "--adopt"))
        self.done("create", "other", "--keys", "10", "--scheme", "guava-helper")
        self.fails(1, "bits", "import", "other", path, "--replace")
        self.fails(1, "Guava's filters have a multiple of 64", "export", "other", path)
        self.done("create", "local", "--keys", "10")
        self.fails(1, "its scheme is local", "export", "local", path)
        self.fails(1, "/nonexistent/x: No such file", "export", "g", "/nonexistent/x")
        before = self.redis.keys()
        for bad, pattern in (
            (b"", "truncated|bytes"),
            (known[:-1], "bytes"),
            (known + b"x", "bytes"),
            (b"\2" + known[1:], "strategy"),
            (b"\1" + known[1:], "MURMUR128_MITZ_64"),
        ):
            self.fails(1, pattern, "import", "bad", self.file("bad", bad))
        self.assertEqual(self.redis.keys(), before)

    def test_redis_away(self):
        self.port = free_port()
        result = self.call("check", "f", "--key", "a", "--key", "b")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.splitlines()[:2], [b"may match  a", b"may match  b"])
        self.assertRegex(
            result.stderr.decode(), f"redis 127.0.0.1:{self.port}, key .*--fail-closed"
        )
        counts = json.loads(self.call("check", "f", "--key", "a", "--json").stdout)
        self.assertEqual((counts["failed_open"], counts["absent"]), (1, 0))
        for words in (
            ("check", "f", "--key", "a", "--fail-closed"),
            ("add", "f", "--key", "a"),
            ("info", "f"),
            ("rebuild", "f"),
            ("create", "f", "--keys", "9"),
        ):
            self.fails(1, f"redis 127.0.0.1:{self.port}, key ", *words)

    def test_lost_bits(self):
        self.done("create", "f", "--keys", "10")
        self.redis.run("DEL", "f")
        self.fails(1, "lost|missing", "check", "f", "--key", "a", "--fail-closed")
        self.may_match("f", "lost")
        self.fails(1, "lost", "add", "f", "--key", "a", "--json")
        # Not the bits but the descriptor.
        self.redis.run("DEL", "{f}:deltabloom")
        self.may_match("f", "no filter of this name.*may match")
        self.fails(1, "no filter", "check", "f", "--key", "a", "--fail-closed")

    def test_passwords(self):
        self.redis.run("CONFIG", "SET", "requirepass", "s3cret")
        try:
            error = self.fails(1, "key '{f}:deltabloom'", "info", "f", env={PASSWORD: "wr0ng"})
            self.assertNotIn("wr0ng", error)
            self.fails(1, "redis 127.0.0.1:", "check", "f", "--key", "a")  # not away: refused
            created = self.call("create", "f", "--keys", "10", env={PASSWORD: "s3cret"})
            self.assertEqual(created.returncode, 0, created.stderr)
            path = self.file("password", "s3cret\n")
            self.assertIn("made for 10", self.done("info", "f", "--password-file", path))
        finally:
            server = RedisProcess(REDIS_SERVER)  # the old one refuses every client
            type(self).addClassCleanup(server.close)
            type(self).redis = server

    def start(self, *words, **pipes):
        return subprocess.Popen(
            [TOOL, *words, "--port", str(self.port), "--timeout", "1m"],
            stdout=subprocess.PIPE,
            **pipes,
        )

    def wait_until(self, holds):
        for _ in range(10000):
            if holds():
                return
            time.sleep(0.02)
        self.fail("it never holds")

    def test_interrupts(self):
        self.done("create", "f", "--keys", "1000")
        self.done("add", "f", keys="old")
        before = self.redis.keys()
        for words, what in (
            (("rebuild", "f"), signal.SIGINT),
            (("rebuild", "f"), signal.SIGTERM),
            (("rebuild", "f", "--settle", "1h"), signal.SIGHUP),
        ):
            process = self.start(*words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            self.wait_until(lambda: "{f}:rebuild" in self.redis.keys())
            process.send_signal(what)
            out, error = process.communicate(timeout=900)
            self.assertEqual(process.returncode, -what)
            self.assertEqual((out, error), (b"", b"deltabloom-shared rebuild: interrupted\n"))
            self.assertEqual(self.redis.keys(), before)
        # Pipes without another end.
        self.done("create", "g", "--scheme", "guava-helper", "--bits", "128", "--probes", "5")
        os.mkfifo(self.folder / "pipe")
        for action in ("export", "import", "add"):
            process = self.start(action, "g", str(self.folder / "pipe"))
            time.sleep(0.5)  # until it waits; a signal before that ends it as well
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=900)
            self.assertEqual(process.returncode, -signal.SIGINT)
        process = self.start("add", "f", "--json", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"a\nb\nhalf")
        process.stdin.flush()
        self.wait_until(lambda: b"may match" in self.call("check", "f", "--key", "b").stdout)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=900)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"2 keys added; to add", error)
        self.assertEqual(json.loads(out), {})
        self.assertEqual(self.done("check", "f", "--key", "half"), "absent     half\n")

    def test_the_page(self):
        """Every command of the page, and what it answers."""
        page = file_of_product("docs", "guide.md").read_text(encoding="utf-8")
        chapter = page.split("\n## From a shell\n")[1].split("\n## ")[0]
        examples = re.findall(r"```\n(\$ .*?)```", chapter, re.DOTALL)
        self.assertGreater(len(examples), 2)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        # Redis is on another port than the page says.
        wrapper = bin_folder / "deltabloom-shared"
        wrapper.write_text(f'#!/bin/sh\nexec "{TOOL}" "$@" --port {self.port}\n')
        wrapper.chmod(0o755)
        env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        commands = 0
        for example in examples:
            for part in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                result = subprocess.run(
                    ["bash", "-c", command],
                    cwd=self.folder,
                    env=env,
                    capture_output=True,
                    text=True,
                    timeout=900,
                )
                self.assertEqual((result.stdout, result.stderr), (expected, ""), command)
                commands += 1
        self.assertGreater(commands, 8)


if __name__ == "__main__":
    unittest.main()
