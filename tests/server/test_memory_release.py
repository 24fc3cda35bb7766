"""Tests that the memory of large responses is returned to the system, even if small objects lie between them."""

import ctypes
import os
import subprocess
import sys

import pytest
from django.conf import settings

from backoffice.server.freeing import limit_malloc_arenas

# Allocate large blocks between small blocks, then free the large blocks. Freeing the first block of 30 MB raises the
# allocator's dynamic mmap threshold.
WORK = """
import sys
from backoffice.server.freeing import limit_malloc_arenas

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

if sys.argv[1] == "bounds":
    assert limit_malloc_arenas()
block = b"x" * (30 * 2**20)
del block
before, large, small = resident(), [], []
for number in range(100):
    large.append(bytes([number]) * 2**20)
    small.append(bytes([number]) * 700)
most = resident()
del large
print(most - before, resident() - before)
"""

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="of glibc")


def measure_memory(how: str) -> tuple[int, int]:
    """Return the megabytes that the blocks used, and the megabytes that the process kept afterwards."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", WORK, how]
    process = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, check=True, text=True
    )
    most, remaining = map(int, process.stdout.split())
    return most, remaining


def test_large_blocks_go_back_and_without_bounds_they_stay() -> None:
    most, remaining = measure_memory("bounds")
    most_without, kept_without = measure_memory("nothing")

    assert (most >= 95, remaining < 10) == (True, True), (most, remaining)
    assert (most_without >= 95, kept_without > 20) == (True, True), (most_without, kept_without)


def test_memory_settings_of_the_operator_stay() -> None:
    assert not limit_malloc_arenas({"MALLOC_ARENA_MAX": "1"})
