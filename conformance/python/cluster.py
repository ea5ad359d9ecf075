"""Processes of a Ray cluster on this machine, which only this machine can reach."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

STORE_BYTES = 200_000_000


class Cluster:
    """A head without CPUs and some worker nodes with one CPU each, all in process groups of their
    own."""

    def __init__(self, folder, workers):
        self.folder = Path(folder)
        self.port = free_port()
        self.ip = loopback(0)
        self.address = f"{self.ip}:{self.port}"
        self.nodes = []
        self.start("--head", f"--port={self.port}", "--num-cpus=0", "--include-dashboard=false")
        for _ in range(workers):
            self.start_worker()

    def start_worker(self):
        return self.start(f"--address={self.address}", "--num-cpus=1")

    def start(self, *arguments):
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block"]
        # Ray takes 127.0.0.1 for the address of an interface.
        command += [f"--node-ip-address={loopback(len(self.nodes))}"]
        command += [f"--object-store-memory={STORE_BYTES}"]
        command += ["--disable-usage-stats", *arguments]
        path = self.folder / f"node-{len(self.nodes)}.txt"
        with path.open("wb") as output:
            node = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(self.folder),
                start_new_session=True,
            )
        self.nodes.append(node)
        # Nodes of one machine that start at the same time disturb each other.
        for _ in range(600):
            if b"block forever" in path.read_bytes():
                return node
            if node.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"a node does not start: {path.read_text()}")

    def close(self):
        for node in reversed(self.nodes):
            kill(node)


def loopback(index):
    """The address of a node, which only this machine can reach."""
    return f"127.0.0.{2 + index}"


def environment(folder):
    # One token for all processes, which Ray makes and checks.
    return os.environ | {"RAY_TMPDIR": str(folder), "HOME": str(folder)}


def kill(node):
    """Ends a node and its workers at once, without a goodbye."""
    for pid in descendants(node.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    node.wait()


def descendants(pid):
    """The process `pid` and all that it has started."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, rest = [], [pid]
    while rest:
        found.append(rest.pop())
        rest += children.get(found[-1], [])
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]

