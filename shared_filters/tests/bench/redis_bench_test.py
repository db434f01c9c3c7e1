"""redis_bench checks and adds, and cleans up.

usage: redis_bench_test.py REDIS_BENCH REDIS_SERVER
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from redis_process import RedisProcess  # noqa: E402

BENCH, REDIS_SERVER = (sys.argv.pop(1) for _ in range(2))


def bench(port, *words):
    return subprocess.run(
        [BENCH, *words],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "DELTABLOOM_REDIS_PORT": str(port)},
    )


class Bench(unittest.TestCase):
    def test_checks_and_adds(self):
        redis = RedisProcess(REDIS_SERVER)
        self.addCleanup(redis.close)
        result = bench(
            redis.port,
            "--benchmark_filter=RedisFilter.*threads:1$",
            "--benchmark_min_time=0.01",
            "--benchmark_repetitions=1",
            "--benchmark_report_aggregates_only=false",
        )
        self.assertEqual(result.returncode, 0, result)
        self.assertNotIn("ERROR", result.stdout + result.stderr)
        for part in (
            "check/RedisFilter, local/keys_per_call:1/",
            "add/RedisFilter, go-murmur3/keys_per_call:100/",
            "server_us_per_key=",
        ):
            self.assertIn(part, result.stdout)
        self.assertEqual(redis.keys(), [])
        redis.stop()
        away = bench(redis.port)
        self.assertEqual(away.returncode, 1)
        self.assertIn("no Redis server at 127.0.0.1:", away.stdout + away.stderr)


if __name__ == "__main__":
    unittest.main()
