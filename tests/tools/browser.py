"""The page of deltabloom estimate, in a browser without a window."""

import html
import json
import re
import subprocess


def dump(chromium, folder, path, fragment="", width=1280):
    """The page's document once it has run. `folder`: for files of the browser."""
    return subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},1200",
            "--dump-dom",
            f"file://{path}#{fragment}",
        ],
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    ).stdout


def attribute(name, document):
    """Returns the JSON that the page has for programs in this attribute."""
    return json.loads(html.unescape(re.search(rf'data-{name}="([^"]*)"', document)[1]))
