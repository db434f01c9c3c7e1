#!/usr/bin/env python3
"""examples/guard_a_store: the service, with Redis there, away and emptied, and
clients in Java, PHP and Go of the same bitmap.

usage: guard_test.py GUARD_A_STORE DELTABLOOM_SHARED REDIS_SERVER [unittest options]

DELTABLOOM: the command, or nothing where it is not built.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from redis_process import RedisProcess, file_of_product  # noqa: E402

GUARD, TOOL, REDIS_SERVER = (sys.argv.pop(1) for _ in range(3))
CLIENTS = file_of_product("examples", "guard_a_store")
GUAVA = "/usr/share/java/guava.jar"


class Guard:
    def __init__(self, redis, store, *options):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [
                GUARD,
                "--store",
                store,
                "--redis-port",
                str(redis.port),
                "--redis-timeout",
                "60000",
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on 127.0.0.1:"):
            raise RuntimeError(line + self.said())
        self.connection = socket.create_connection(("127.0.0.1", int(line.rsplit(":", 1)[1])))
        self.stream = self.connection.makefile("rw", newline="\n")

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def ask(self, line):
        self.stream.write(line + "\n")
        self.stream.flush()
        return self.stream.readline().rstrip("\n")

    def stats(self):
        line, counts = self.ask("STATS"), {}
        while line != "END":
            name, value = line.split()
            counts[name] = int(value) if value.isdigit() else value
            line = self.stream.readline().rstrip("\n")
        return counts

    def wait_for(self, name, *values):
        for _ in range(2400):
            if self.stats()[name] in values:
                return
            time.sleep(0.05)
        raise AssertionError(f"{name} is not {values}: {self.stats()}\n{self.said()}")

    def end(self):
        self.stream.close()
        self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=900)
        self.process.stdout.close()
        self.errors.close()
        return code


class Test(unittest.TestCase):
    def setUp(self):
        self.redis = RedisProcess(REDIS_SERVER)
        self.addCleanup(self.redis.close)
        self.store = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "store")

    def guard(self, *options):
        guard = Guard(self.redis, self.store, "--keys", "10000", *options)
        self.addCleanup(lambda: guard.process.poll() is None and guard.process.kill())
        return guard

    def test_unknown_ids_never_reach_the_store(self):
        guard = self.guard()
        for i in range(200):
            self.assertEqual(guard.ask(f"PUT {i} value of {i}"), "OK")
        before = guard.stats()
        for i in range(200):
            self.assertEqual(guard.ask(f"GET {i}"), f"VALUE value of {i}")
            self.assertEqual(guard.ask(f"GET absent{i}"), "NONE")
        stats = guard.stats()
        self.assertEqual(stats["lookups"] - before["lookups"], 400)
        self.assertEqual(stats["store_reads"] + stats["refused_by_filter"], stats["lookups"])
        # 200 of 10,000 keys: the rate is far below one in a million.
        self.assertEqual(stats["refused_by_filter"] - before["refused_by_filter"], 200)
        self.assertEqual(stats["failed_open"], 0)
        self.assertEqual(guard.end(), 0)

    def test_orders_are_used_once(self):
        guard = self.guard()
        self.assertEqual(guard.ask("ORDER 4711"), "NEW")
        self.assertEqual(guard.ask("ORDER 4711"), "USED")
        stats = guard.stats()
        # The store confirms each answer.
        self.assertEqual((stats["lookups"], stats["store_reads"]), (2, 2))
        self.assertEqual(guard.ask("GET 4711"), "NONE")  # ids are no orders
        guard.end()

    def test_warm_up_and_rebuild(self):
        guard = self.guard()
        guard.ask("PUT a 1")
        guard.end()
        self.redis.run("FLUSHALL")
        guard = self.guard("--rebuild-every", "1")
        self.assertEqual(guard.ask("GET a"), "VALUE 1")
        self.assertEqual(guard.ask("GET b"), "NONE")
        self.assertEqual(guard.stats()["refused_by_filter"], 1)
        guard.wait_for("rebuilds", *range(3, 100))  # on time
        # Lost bits: nothing is refused, and they come back.
        self.redis.run("FLUSHALL")
        self.assertEqual(guard.ask("GET a"), "VALUE 1")
        guard.wait_for("filter", "complete")
        self.assertEqual(guard.ask("REBUILD"), "OK")
        self.assertEqual(guard.ask("GET a"), "VALUE 1")
        guard.end()

    def test_redis_comes_back_from_an_older_snapshot(self):
        guard = self.guard()
        guard.wait_for("filter", "complete")
        self.redis.run("SAVE")
        self.assertEqual(guard.ask("PUT 17 x"), "OK")
        self.assertEqual(guard.ask("ORDER 4711"), "NEW")
        self.redis.stop()
        self.redis.start()
        self.assertEqual(guard.ask("GET 17"), "VALUE x")
        self.assertEqual(guard.ask("ORDER 4711"), "USED")
        guard.wait_for("filter", "complete")
        refused = guard.stats()["refused_by_filter"]
        self.assertEqual(guard.ask("GET 17"), "VALUE x")
        self.assertEqual(guard.ask("GET 18"), "NONE")
        self.assertEqual(guard.stats()["refused_by_filter"], refused + 1)
        guard.end()

    def test_redis_away(self):
        guard = self.guard()
        guard.ask("PUT a 1")
        self.redis.stop()
        self.assertEqual(guard.ask("GET a"), "VALUE 1")
        self.assertEqual(guard.ask("GET b"), "NONE")
        self.assertEqual(guard.stats()["failed_open"], 2)
        self.assertEqual(guard.ask("PUT c 3"), "OK filter behind")
        self.assertEqual(guard.ask("GET c"), "VALUE 3")
        self.assertEqual(guard.ask("ORDER 1"), "NEW")
        self.assertEqual(guard.ask("ORDER 1"), "USED")
        self.assertRegex(guard.ask("REBUILD"), "^ERROR redis 127.0.0.1:")
        self.redis.start()
        guard.wait_for("filter", "complete")
        refused = guard.stats()["refused_by_filter"]
        self.assertEqual(guard.ask("GET c"), "VALUE 3")
        self.assertEqual(guard.ask("GET d"), "NONE")
        self.assertEqual(guard.stats()["refused_by_filter"], refused + 1)
        guard.end()

    def test_starts_without_redis(self):
        self.redis.stop()
        guard = self.guard()
        self.assertIn("without a filter until Redis answers: redis 127.0.0.1:", guard.said())
        self.assertEqual(guard.ask("PUT a 1"), "OK filter behind")
        self.assertEqual(guard.ask("GET a"), "VALUE 1")
        self.redis.start()
        guard.wait_for("filter", "complete")
        guard.end()

    def test_wrong_lines_and_options(self):
        guard = self.guard()
        for line in ("", "PUT", "PUT a", "PUT  a", "GET", "GET a b", "ORDER", "put a b"):
            self.assertRegex(guard.ask(line), "^ERROR use PUT", line)
        self.assertEqual(guard.ask("QUIT"), "")
        guard.end()
        for options in (
            ["--port", "x"],
            ["--port"],
            ["--nonsense", "1"],
            ["--scheme", "nonsense"],
            ["--rebuild-every", "0"],
        ):
            result = subprocess.run([GUARD, *options], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, options)
            self.assertNotEqual(result.stderr, "")

    def client(self, *words):
        result = subprocess.run(words, capture_output=True, text=True, timeout=900)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return result.stdout.splitlines()

    def share(self, scheme, *client):
        """A client reads what the guard wrote, and the reverse."""
        guard = self.guard("--scheme", scheme, "--filter", "shared")
        guard.ask("PUT a 1")
        guard.ask("PUT caf\u00e9 2")
        words = [*client, "127.0.0.1", str(self.redis.port), "shared"]
        keys = ["id:a", "id:caf\u00e9", "id:b", "id:" + "x" * 40]
        answers = ["may match", "may match", "absent", "absent"]
        self.assertEqual(
            self.client(*words, "check", *keys),
            [f"{answer} {key}" for answer, key in zip(answers, keys)],
        )
        # The guard does not know keys that another process has added, so it
        # looks for them in the store.
        self.assertEqual(self.client(*words, "add", "id:b", keys[3]), ["added 2"])
        before = guard.stats()
        self.assertEqual(guard.ask("GET b"), "NONE")
        self.assertEqual(guard.ask("GET " + "x" * 40), "NONE")
        self.assertEqual(guard.stats()["store_reads_in_vain"], before["store_reads_in_vain"] + 2)
        guard.end()
        # The bits are lost: no key is refused.
        self.redis.run("DEL", "shared")
        self.assertEqual(
            self.client(*words, "check", "id:b", "id:no"), ["may match id:b", "may match id:no"]
        )

    @unittest.skipUnless(shutil.which("java") and os.path.exists(GUAVA), "no Java with Guava")
    def test_java(self):
        self.share("guava-helper", "java", "-cp", GUAVA, str(CLIENTS / "GuavaClient.java"))

    @unittest.skipUnless(shutil.which("php") and TOOL, "no PHP, or no deltabloom-shared")
    def test_php(self):
        """Without the guard, whose rebuild takes four times 512 MiB."""
        port = str(self.redis.port)
        client = ["php", str(CLIENTS / "php_client.php")]
        words = ["127.0.0.1", port, "shared"]
        self.client(TOOL, "create", "shared", "--scheme", "php-named-hashes", "--port", port)
        self.client(TOOL, "add", "shared", "--key", "a", "--key", "caf\u00e9", "--port", port)
        self.assertEqual(
            self.client(*client, *words, "check", "a", "caf\u00e9", "b"),
            ["may match a", "may match caf\u00e9", "absent b"],
        )
        self.assertEqual(self.client(*client, *words, "add", "b", "x" * 100), ["added 2"])
        self.assertEqual(
            self.client(
                TOOL,
                "check",
                "shared",
                "--key",
                "b",
                "--key",
                "x" * 100,
                "--key",
                "c",
                "--only",
                "may-match",
                "--port",
                port,
            ),
            ["b", "x" * 100],
        )
        self.redis.run("DEL", "shared")
        self.assertEqual(self.client(*client, *words, "check", "no"), ["may match no"])

    @unittest.skipUnless(shutil.which("go"), "no Go")
    def test_go(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "go_client")
            environment = {
                **os.environ,
                "GOFLAGS": "-mod=mod",
                "GO111MODULE": "off",
                "CGO_ENABLED": "0",
            }
            # The standard library is compiled, too, unless the cache of Go has it: with its
            # usual options, so once for all tests.
            subprocess.run(
                ["go", "build", "-o", program, CLIENTS / "go_client.go"],
                env=environment,
                check=True,
            )
            self.share("go-murmur3", program)


if __name__ == "__main__":
    unittest.main()
