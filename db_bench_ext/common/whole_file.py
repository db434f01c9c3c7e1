"""Files that are complete or not there, as common/files.h writes them."""

import os
import pathlib

UNFINISHED = ".unfinished"


def write(path, content):
    """Text or bytes, under a name of its own until it is whole. OSError names
    the file to be written."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        if isinstance(content, bytes):
            part.write_bytes(content)
        else:
            part.write_text(content, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        part.unlink(missing_ok=True)
