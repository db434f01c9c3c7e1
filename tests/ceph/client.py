"""Writes objects with omap into the pool "data", reads them back, and looks for what
is not there. Ends with an error if an answer is wrong.

usage: client.py put FROM TO | get FROM TO | absent COUNT
"""

import contextlib
import errno
import sys
import time

import rados

OMAP = 6  # keys of an object
ABSENT = 200  # keys that an object is asked for and does not have
IN_FLIGHT = 32


def key(number):
    return f"key-{number:06d}"


def value(number):
    return f"{number:08d}".encode() * 8


def omap_of(number):
    return {key(2 * i): value(number + i) for i in range(OMAP)}


def connected():
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf")
    cluster.connect(timeout=120)
    # A new epoch of the map, when the OSD has started or stopped.
    for _ in range(600):
        _, answer, _ = cluster.mon_command('{"prefix": "osd stat", "format": "json"}', b"")
        if b'"num_up_osds":1' in answer:
            return cluster
        time.sleep(0.2)
    sys.exit("the OSD is not up")


def wait_for(requests, expected):
    for request in requests:
        request.wait_for_complete()
        if request.get_return_value() != expected:
            sys.exit(f"an operation returned {request.get_return_value()}, not {expected}")


def batches(numbers, start):
    """Starts the operation of each number, IN_FLIGHT at once."""
    numbers = list(numbers)
    for at in range(0, len(numbers), IN_FLIGHT):
        yield [start(number) for number in numbers[at : at + IN_FLIGHT]]


def put(pool, first, last):
    def start(number):
        with rados.WriteOpCtx() as operation:
            operation.write_full(value(number))
            omap = omap_of(number)
            pool.set_omap(operation, tuple(omap), tuple(omap.values()))
            return pool.operate_aio_write_op(operation, f"object-{number}")

    for requests in batches(range(first, last), start):
        wait_for(requests, 0)


def read_omap(pool, numbers, ask, expected):
    """The pairs that the operation returns of each object are as expected."""
    numbers = list(numbers)
    for at in range(0, len(numbers), IN_FLIGHT):
        with contextlib.ExitStack() as operations:
            asked = []
            for number in numbers[at : at + IN_FLIGHT]:
                operation = operations.enter_context(rados.ReadOpCtx())
                pairs, _ = ask(operation)
                request = pool.operate_aio_read_op(operation, f"object-{number}")
                asked.append((number, request, pairs))
            wait_for([request for _, request, _ in asked], 0)
            for number, _, pairs in asked:
                if dict(pairs) != expected(number):
                    sys.exit(f"object-{number} has another omap")


def get(pool, first, last):
    numbers = range(first, last)
    read_omap(pool, numbers, lambda op: pool.get_omap_vals(op, "", "", 2 * OMAP), omap_of)
    for number in numbers:
        if number % 20 == 0 and pool.read(f"object-{number}") != value(number):
            sys.exit(f"object-{number} has other bytes")


def absent(pool, count):
    """Objects that are not there, and keys that are not in the omap of those that are:
    each of the `count` objects is asked for ABSENT keys."""
    for requests in batches(range(count), lambda n: pool.aio_stat(f"no-{n}", lambda *_: None)):
        wait_for(requests, -errno.ENOENT)
    keys = tuple(f"{key(2 * (i % OMAP))}-{i}" for i in range(ABSENT))
    read_omap(pool, range(count), lambda op: pool.get_omap_vals_by_keys(op, keys), lambda _: {})


def main():
    what, *numbers = sys.argv[1:]
    cluster = connected()
    pool = cluster.open_ioctx("data")
    try:
        {"put": put, "get": get, "absent": absent}[what](pool, *map(int, numbers))
    finally:
        # Else threads of librados may run while the process ends.
        pool.close()
        cluster.shutdown()


main()
