#!/usr/bin/env python3
"""Repairs a stopped OSD whose sharding names the family "default", which no tool
of Ceph opens: writes the text without that family over the one on its device, in
the same length, as zeros before the first number of shards. Work on a copy of the
device; then give the OSD its text again by ceph-bluestore-tool reshard.

usage: unname_default.py DEVICE SHARDING

DEVICE    block.db of the OSD, or block where it has none; it is read as a whole
SHARDING  the file sharding/def that ceph-bluestore-tool bluefs-export writes
"""

import errno
import os
import pathlib
import re
import sys

CHUNK = 4 << 20


def places(device, text):
    """Where the text is. Skips what was never written to a file."""
    end = os.lseek(device, 0, os.SEEK_END)
    at, found = 0, set()
    while at < end:
        try:
            at = os.lseek(device, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break  # no more data
            if error.errno != errno.EINVAL:  # a block device has data everywhere
                raise
        chunk = os.pread(device, CHUNK + len(text), at)
        found |= {at + match.start() for match in re.finditer(re.escape(text), chunk)}
        at += CHUNK
    return sorted(found)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old = pathlib.Path(sys.argv[2]).read_bytes().rstrip(b"\n")
    families = [one for one in old.split(b" ") if not re.match(rb"default([=(]|$)", one)]
    new = b" ".join(families)
    new = new.replace(b"(", b"(" + b"0" * (len(old) - len(new)), 1)
    if new == old or len(new) != len(old):
        sys.exit("the text does not name default, or no family with a number of shards")
    device = os.open(sys.argv[1], os.O_RDWR)
    found = places(device, old)
    if len(found) != 1:
        sys.exit(f"the text is at {len(found)} places of the device: nothing was written")
    os.pwrite(device, new, found[0])
    os.fsync(device)
    print(f"written at {found[0]}: {new.decode()}")


main()
