"""Ports for servers that tests and benchmarks start."""

import itertools
import os
import socket
from contextlib import suppress

# Each process of a run takes ports from its own range, below the range of ports that the kernel assigns. Runs at the
# same time begin at different ports.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw9").removeprefix("gw"))
_ports = itertools.count(10_000 + 2_000 * (_WORKER % 10) + os.getpid() % 1_000)


def find_free_port() -> int:
    """Return a port that is free, and that this process has not returned before."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable")
