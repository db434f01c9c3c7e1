"""What a document lets its reader paste."""

import pathlib
import re
import subprocess
import tempfile


def blocks(text, language):
    """The blocks of a Markdown text that are marked as `language`."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def compile_error(cxx, include, program):
    """What a C++17 compiler has against `program`; empty if nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "paste.cc"
        file.write_text(program)
        done = subprocess.run(
            [cxx, "-std=c++17", "-Wall", "-Wno-unused", "-fsyntax-only", f"-I{include}", str(file)],
            capture_output=True,
            text=True,
        )
    return done.stderr or ("failed" if done.returncode else "")
