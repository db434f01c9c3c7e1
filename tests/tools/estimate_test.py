"""deltabloom estimate from the outside. With Chromium its page is compared with
the program, in a browser without a window.

Usage: estimate_test.py DELTABLOOM [CHROMIUM]
"""

import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import browser

TOOL = sys.argv[1]
CHROMIUM = sys.argv[2] if len(sys.argv) > 2 else None


def run(*arguments):
    return subprocess.run(
        [TOOL, "estimate", *arguments], capture_output=True, text=True, timeout=900
    )


def last_row(*arguments):
    return json.loads(run(*arguments, "--json").stdout)["filters"][-1]


class Estimate(unittest.TestCase):
    def test_text_and_json_agree(self):
        text = run("--keys", "1e9").stdout
        document = json.loads(run("--keys", "1G", "--json").stdout)
        self.assertEqual([level["runs"] for level in document["levels"]], [2, 1, 1, 1, 1])
        self.assertEqual(len(document["filters"]), 6)
        for row in document["filters"]:
            lines = [line for line in text.splitlines() if line.startswith(row["filter"] + "  ")]
            self.assertEqual(len(lines), 1, row)
            words = lines[0].split()
            reads = float(words[words.index("GiB") + 1])
            self.assertAlmostEqual(reads / row["absent_reads"], 1, delta=0.01)
            self.assertEqual(len(row["levels"]), 5)
        self.assertIn("12.5 12.5 12.5 12.5 10.0", text)
        self.assertTrue(text.endswith("\nThe last row is filter_policy=deltabloom:10\n"), text)
        self.assertEqual(document["filters"][-1]["policy"], "deltabloom:10")
        self.assertIsNone(document["filters"][0]["policy"])

    def test_a_total_or_a_rate_gives_bits_per_key(self):
        for argument, bits in ("--filter-memory=1GiB", 8.337), ("--rate=0.001", 11.068):
            text = run("--keys=1G", argument).stdout
            self.assertIn(f"The last row is filter_policy=deltabloom:{bits}\n", text)
            row = last_row("--keys=1G", argument)
            self.assertEqual(row, last_row("--keys=1G", f"--bits-per-key={bits}"))
            more, less = (
                last_row("--keys=1G", f"--bits-per-key={bits + d}") for d in (0.001, -0.001)
            )
            if bits < 10:
                self.assertTrue(row["bytes"] <= 2**30 < more["bytes"], row)
            else:
                self.assertTrue(row["absent_reads"] <= 0.001 < less["absent_reads"], row)

    def test_a_total_that_is_too_little_is_named(self):
        for arguments in ["--json"], []:
            done = run("--keys", "1G", "--filter-memory", "1", *arguments)
            self.assertEqual(
                (done.returncode, done.stderr),
                (
                    2,
                    "deltabloom estimate: --filter-memory 1 B is too little: with the least "
                    "bits_per_key, 0.5, the filters take 89.8 MiB\n",
                ),
            )

    def test_units(self):
        want = run("--keys", "64000000", "--entry-size", "1024", "--filter-memory", "67108864")
        self.assertEqual(want.returncode, 0, want.stderr)
        self.assertEqual(
            run("--keys", "64M", "--entry-size", "1KiB", "--filter-memory", "64MiB").stdout,
            want.stdout,
        )

    def test_wrong_use_is_named(self):
        for arguments, words in {
            (): "--keys",
            ("--keys", "0"): "'0' is not a number from 1 to 1e+15",
            ("--keys", "nan"): "'nan' is not a number",
            ("--keys", "1", "--rate", "nan"): "'nan' is not a number from 1e-09 to 1000",
            ("--keys", "10X"): "use a number as in",
            ("--keys", "1M", "--size-ratio", "1"): "--size-ratio",
            ("--keys", "1M", "--levels", "0"): "--levels",
            ("--keys", "1M", "--bits-per-key", "0.4"): "--bits-per-key",
            ("--keys", "1M", "--bits-per-key", "9", "--filter-memory", "1M"): "excludes",
            ("--keys", "1M", "--rate", "0"): "--rate",
            ("--keys", "1M", "more"): "more",
            ("--html", ""): "needs the name of a file",
            ("--html", "-"): "needs the name of a file; /dev/stdout prints it",
            ("--html", "x.html", "--filter-memory", "1G"): "--keys",
            ("--html", "x.html", "--rate", "0.1"): "--keys",
        }.items():
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.path = pathlib.Path(cls.folder) / "page.html"
        assert run("--html", str(cls.path)).returncode == 0

    def show(self, views):
        """The document of each view once the page has run."""
        if not CHROMIUM:
            self.skipTest("no Chromium")
        return browser.dump(CHROMIUM, self.folder, views)

    def dump(self, *fragments):
        return self.show([browser.View(self.path, fragment) for fragment in fragments])

    def results(self, *fragments):
        return [browser.attribute("result", document) for document in self.dump(*fragments)]

    def compare(self, shown, said):
        self.assertEqual(len(shown), len(said["filters"]))
        for ours, theirs in zip(shown, said["filters"]):
            with self.subTest(f"{said['keys']:g} keys, {theirs['filter']}"):
                self.assertEqual(ours["filter"], theirs["filter"])
                self.assertEqual(len(ours["bits"]), len(theirs["levels"]))
                self.assertAlmostEqual(ours["bytes"] / theirs["bytes"], 1, delta=0.002)
                reads = theirs["absent_reads"]
                self.assertAlmostEqual(ours["absent_reads"] / reads, 1, delta=0.05)
                wasted = ours["present_reads"] - theirs["present_reads"]
                self.assertAlmostEqual(wasted, 0, delta=0.08 * reads)
                for b, level in zip(ours["bits"], theirs["levels"]):
                    self.assertAlmostEqual(b, level["bits_per_key"], delta=0.001)

    def test_figures_are_the_programs(self):
        cases = (1e9, 100, 10, 10), (1e12, 200, 16, 4), (5e6, 1000, 6, 8)
        fragments = (f"keys={k:.0f}&entry={e}&bits={b}&ratio={r}" for k, e, b, r in cases)
        for (keys, entry, bits, ratio), shown in zip(cases, self.results(*fragments)):
            arguments = [f"--keys={keys}", f"--entry-size={entry}", f"--size-ratio={ratio}"]
            said = json.loads(run(*arguments, f"--bits-per-key={bits}", "--json").stdout)
            self.compare(shown, said)

    def test_begins_with_the_options_of_the_command(self):
        budgets = ("--bits-per-key=13.5", "--filter-memory=200M", "--rate=0.01")
        arguments = [
            "--keys=150M",
            "--entry-size=300",
            "--size-ratio=7",
            "--level-base=1G",
            "--write-buffer=32MiB",
            "--table-size=16MiB",
            "--level0-tables=4",
        ]
        views = [browser.View(f"{self.folder}/options{i}.html") for i in range(len(budgets))]
        for budget, view in zip(budgets, views):
            self.assertEqual(run(*arguments, budget, "--html", view.path).returncode, 0)
        for budget, document in zip(budgets, self.show(views)):
            # The other filters are shown with the bits_per_key of the last one.
            bits = last_row(*arguments, budget)["bits_per_key"]
            said = json.loads(run(*arguments, f"--bits-per-key={bits}", "--json").stdout)
            self.compare(browser.attribute("result", document), said)

    def test_odd_fragments_are_refused(self):
        odd = (
            "filter=rocksdb-bloom&keys=x&bits=&ratio=NaN&result=1",
            "%",
            "keys=-5&bits=0&ratio=0",
            "keys=1e300&entry=1e300&bits=1e9&ratio=1e9",
        )
        usual, *results = self.results("", *odd)
        for fragment, result in zip(odd, results):
            self.assertEqual(result, usual, fragment)
        (page,) = self.dump("keys=1e300&ratio=x")
        self.assertEqual(
            re.findall(r'<output[^>]*class="wrong">([^<]*)<', page),
            ["use a number from 1 to 1000000000000000", "use a number from 2 to 1000"],
        )

    def test_numbers_have_the_units_of_the_command(self):
        shown, want = self.results("keys=250M&entry=2k", "keys=250000000&entry=2000")
        self.assertEqual(shown, want)

    def test_uniform_bits_are_dashed(self):
        (page,) = self.dump("")
        lines = re.findall(r'<polyline[^>]*stroke="(#[^"]*)"[^>]*stroke-dasharray="([^"]*)"', page)
        self.assertEqual([dashes for _, dashes in lines], 4 * ["none"] + ["7 3", "none"])
        self.assertEqual(len({colour for colour, _ in lines}), 5)

    def test_names_the_policy(self):
        policies = {
            "": "deltabloom:10",
            "bits=9.873": "deltabloom:9.873",
            "filter=local&bits=12": "deltabloom:12:local",
            "filter=compact%2C+uniform": "{id=deltabloom;bits_per_key=10;upper_bits_per_key=10}",
        }
        for policy, page in zip(policies.values(), self.dump(*policies)):
            self.assertIn(f"<code>filter_policy={policy}</code>", page)

    def test_sliders_have_labels(self):
        (page,) = self.dump("")
        names = re.findall(
            r'<input[^>]*type="range"[^>]*id="(\w+)"|<input[^>]*id="(\w+)"[^>]*type="range"', page
        )
        self.assertEqual(len(names), 4)
        for name in map("".join, names):
            self.assertRegex(page, rf'<label for="{name}">')
            self.assertRegex(page, rf'<input id="{name}_number"[^>]*type="text"[^>]*aria-label=')

    def test_fits_narrow_windows(self):
        views = [browser.View(self.path, width=width) for width in (360, 390, 500, 1100)]
        for view, document in zip(views, self.show(views)):
            self.assertLessEqual(browser.attribute("width", document), view.width)

    def test_needs_no_other_file(self):
        text = self.path.read_text()
        self.assertNotRegex(text, r"(src|href)=")
        self.assertNotIn("@import", text)

    def test_a_place_that_cannot_be_written_to_is_named(self):
        done = run("--html", "/no/such/folder/x.html")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            "deltabloom estimate: /no/such/folder/x.html: cannot be written: "
            "No such file or directory\n",
        )

    def test_a_page_that_is_not_whole_is_removed(self):
        path = pathlib.Path(self.folder) / "cut.html"
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))  # noqa: E731
        done = subprocess.run(
            [TOOL, "estimate", "--html", path],
            capture_output=True,
            text=True,
            timeout=900,
            preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()),
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr, f"deltabloom estimate: {path}: cannot be written: File too large\n"
        )
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
