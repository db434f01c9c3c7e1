#!/usr/bin/python3
"""The figures that the comparison reads from outputs of db_bench and sst_dump
7.8.3, shortened by lines that are not read."""

import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = json.loads((HERE / "recorded.json").read_text())
for folder in ("", "compare"):
    sys.path.insert(0, str(HERE.parents[1] / "db_bench_ext" / folder))

import parse  # noqa: E402
import report  # noqa: E402


class Parse(unittest.TestCase):
    def test_benchmarks(self):
        readmissing, multireadrandom, seekrandom, mixgraph, fillrandom, load = (
            parse.result(RECORDED[name], benchmark)
            for name, benchmark in (
                *(
                    (one, one)
                    for one in "readmissing multireadrandom seekrandom mixgraph fillrandom".split()
                ),
                ("load", "filluniquerandomdeterministic"),
            )
        )
        self.assertEqual(readmissing["ops_per_second"], 57132)
        self.assertEqual((readmissing["found"], readmissing["asked"]), (0, 5000))
        self.assertEqual(readmissing["percentiles"]["read"]["count"], 5000)
        self.assertAlmostEqual(report.reads_per_lookup(readmissing), 0.0328)
        self.assertAlmostEqual(report.false_positives_per_lookup(readmissing), 0.0396)
        # Keys, not batches.
        self.assertEqual((multireadrandom["found"], multireadrandom["asked"]), (4992, 4992))
        self.assertEqual(report.lookups(multireadrandom), 4992)
        self.assertEqual(report.lookups(seekrandom), 2500)
        self.assertIsNotNone(report.percentile(seekrandom, "p99"))
        self.assertEqual(set(mixgraph["percentiles"]), {"read", "write", "seek"})
        self.assertEqual(mixgraph["percentiles"]["read"]["count"], 4230)
        self.assertGreater(report.compaction_cpu_s(fillrandom), 0.1)
        self.assertIsNone(report.reads_per_lookup(fillrandom))
        self.assertEqual(load["operations"], 132812)
        self.assertEqual(parse.levels(RECORDED["load"]), [(1, 1), (2, 1), (3, 2), (4, 6)])
        self.assertEqual(parse.version(RECORDED["load"]), "7.8.3")

    def test_properties(self):
        self.assertEqual(
            parse.table_properties(RECORDED["properties"]),
            {"tables": 10, "entries": 132812, "filter_bytes": 166450, "filter_entries": 132812},
        )
        self.assertEqual(parse.table_properties(RECORDED["properties_none"])["filter_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
