"""What a document lets its reader paste."""

import pathlib
import re
import subprocess
import tempfile


def blocks(text, language):
    """The blocks of a Markdown text that are marked as `language`."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(script, folder, environment=None):
    """Runs a script in one shell, which stops at the first failure."""
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500
    )


def compile_error(cxx, include, program):
    """What a C++17 compiler has against `program`; empty if nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "paste.cc"
        file.write_text(program)
        command = [cxx, "-std=c++17", "-Wall", "-Wno-unused", "-fsyntax-only", f"-I{include}", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr or ("failed" if done.returncode else "")
