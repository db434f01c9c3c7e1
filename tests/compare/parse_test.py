#!/usr/bin/python3
"""The parsers on outputs of db_bench and sst_dump 7.8.3, shortened by lines that
are not read."""

import contextlib
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
from child import CellError  # noqa: E402


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

    def test_progress_by_carriage_return(self):
        text = "... finished 100 ops\r" * 3 + RECORDED["readmissing"]
        self.assertEqual(parse.result(text, "readmissing")["ops_per_second"], 57132)

    def test_what_cannot_be_parsed_says_so(self):
        for text in (
            "",
            "RocksDB: version 7.8.3\n",
            RECORDED["too_few_keys"],
            RECORDED["disk_full"],
        ):
            with self.assertRaises(CellError):
                parse.result(text, "readmissing")
            with self.assertRaises(CellError):
                parse.levels(text)
            with self.assertRaises(CellError):
                parse.table_properties(text)
        with self.assertRaisesRegex(CellError, "statistics"):
            text = RECORDED["readmissing"].partition("STATISTICS")[0]
            parse.result(text, "readmissing")

    def test_every_prefix_of_an_output_is_safe(self):
        for name, text in RECORDED.items():
            for size in range(0, len(text), 97):
                with contextlib.suppress(CellError):
                    parse.result(text[:size], name)


class Tables(unittest.TestCase):
    def test_median_and_spread(self):
        self.assertEqual(report.median_and_spread([3, 1, 2]), (2, 1))
        self.assertEqual(report.median_and_spread([None, None]), (None, None))

    def test_columns_name_the_operation_and_have_values(self):
        rows = [
            {"workload": "seekrandom", "filter": "none", "p99_micros": 12.5, "p50_micros": None}
        ]
        columns = {"filter": "filter", "p50_micros": "p50, µs", "p99_micros": "p99, µs"}
        self.assertEqual(
            report.table(rows, columns), (["filter", "p99 of a seek, µs"], [["none", "12.5"]])
        )


if __name__ == "__main__":
    unittest.main()
