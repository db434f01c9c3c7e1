"""A redis-server of a test's own, on a free port in a temporary directory."""

import pathlib
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    """Of no other program until this one ends; Redis, which sets SO_REUSEADDR, can listen on it."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    holder.detach()  # it stays open
    return port


class RedisProcess:
    def __init__(self, program, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="deltabloom-redis.")
        self.port = free_port()
        self.program = program
        self.arguments = arguments
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [
                self.program,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                self.folder.name,
                *self.arguments,
            ],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(12000):
            try:
                self.run("PING")
                return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("redis-server does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.stop()
        self.folder.cleanup()

    def run(self, *words):
        """One command; its reply as on the wire, a list as a Python list."""
        data = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        request = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in data)
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(b"*%d\r\n%s" % (len(data), request))
            with connection.makefile("rb") as stream:
                return read_reply(stream)

    def keys(self):
        return sorted(self.run("KEYS", "*"))


def read_reply(stream):
    line = stream.readline().rstrip(b"\r\n")
    if not line:
        raise OSError("no answer")
    kind, rest = line[:1], line[1:]
    if kind == b"$":
        size = int(rest)
        return None if size < 0 else stream.read(size + 2)[:-2].decode("utf-8", "replace")
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(rest))]
    return int(rest) if kind == b":" else line.decode()


def file_of_product(*parts):
    """A file below shared_filters/."""
    return pathlib.Path(__file__).resolve().parents[1].joinpath(*parts)
