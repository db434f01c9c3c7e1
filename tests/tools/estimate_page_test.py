"""The page of deltabloom estimate computes what the program does: both are held
against each other in a browser without a window.

Usage: estimate_page_test.py DELTABLOOM CHROMIUM
"""

import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL, CHROMIUM = sys.argv[1:3]


def estimate(*arguments):
    done = subprocess.run(
        [TOOL, "estimate", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "page.html"
        estimate("--html", str(cls.path))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def attributes(self, fragment, width=1280):
        """What the page says of itself once it has run."""
        profile = os.path.join(self.folder.name, "profile")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--disable-dev-shm-usage", f"--user-data-dir={profile}"]
        command += [f"--window-size={width},1200", "--dump-dom"]
        done = subprocess.run(
            [*command, f"file://{self.path}#{fragment}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return dict(
            (name, html.unescape(value))
            for name, value in re.findall(r'data-(\w+)="([^"]*)"', done.stdout)
        )

    def test_figures_are_the_programs(self):
        for keys, entry, bits, ratio in [
            (1e9, 100, 10, 10),
            (1e12, 200, 16, 4),
            (5e6, 1000, 6, 8),
        ]:
            shown = json.loads(
                self.attributes(f"keys={keys:.0f}&entry={entry}&bits={bits}&ratio={ratio}")["result"]
            )
            arguments = [f"--keys={keys}", f"--entry-size={entry}", f"--size-ratio={ratio}"]
            said = json.loads(estimate(*arguments, f"--bits-per-key={bits}", "--json"))
            self.assertEqual(len(shown), len(said["filters"]))
            for ours, theirs in zip(shown, said["filters"]):
                with self.subTest(f"{keys:g} keys, {theirs['filter']}, {theirs['allocation']}"):
                    self.assertEqual(ours["filter"], theirs["filter"])
                    self.assertEqual(ours["allocation"], theirs["allocation"])
                    self.assertEqual(len(ours["bits"]), len(theirs["levels"]))
                    # The page has the rates of one size of table; those of
                    # classic depend on it.
                    delta = 0.4 if ours["filter"] == "classic" else 0.05
                    reads = ours["absent_reads"] / theirs["absent_reads"]
                    self.assertAlmostEqual(reads, 1, delta=delta)
                    wasted = ours["present_reads"] - theirs["present_reads"]
                    self.assertAlmostEqual(wasted, 0, delta=delta * theirs["absent_reads"])
                    for b, level in zip(ours["bits"], theirs["levels"]):
                        self.assertAlmostEqual(b, level["bits_per_key"], delta=0.7)

    def test_fits_narrow_windows(self):
        # No window of Chromium is narrower than 500 pixels, headless or not.
        for width in (500, 1280):
            self.assertLessEqual(int(self.attributes("", width)["width"]), width)

    def test_needs_no_other_file(self):
        text = self.path.read_text()
        self.assertNotRegex(text, r"(src|href)=")
        self.assertNotIn("@import", text)

    def test_a_place_that_cannot_be_written_to_is_named(self):
        done = subprocess.run(
            [TOOL, "estimate", "--html", "/no/such/folder/x.html"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/folder/x.html: No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
