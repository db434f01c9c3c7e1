"""The page of deltabloom estimate, in a browser without a window."""

import html
import json
import pathlib
import re
import subprocess
import typing


class View(typing.NamedTuple):
    """A page as a user has it before them."""

    path: pathlib.Path
    fragment: str = ""
    width: int = 1280


def dump(chromium, folder, views):
    """The document of each view once its page has run. One browser, which takes a
    second to start, has all of them in frames: no window of Chromium is narrower than
    500 pixels, but a frame is. `folder`: for files of the browser."""
    frames = pathlib.Path(folder) / "frames.html"
    frames.write_text(
        "".join(
            f'<iframe width={view.width} height=1200 src="file://'
            f'{html.escape(f"{view.path}#{view.fragment}")}" onload="this.dataset.document = '
            'this.contentDocument.documentElement.outerHTML"></iframe>\n'
            for view in views
        )
    )
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            "--dump-dom",
            f"file://{frames}",
        ],
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    documents = re.findall(r'data-document="([^"]*)"', done.stdout)
    assert len(documents) == len(views), done.stdout
    return [html.unescape(document) for document in documents]


def attribute(name, document):
    """Returns the JSON that the page has for programs in this attribute."""
    return json.loads(html.unescape(re.search(rf'data-{name}="([^"]*)"', document)[1]))
