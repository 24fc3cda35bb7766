"""What a large answer took goes back to the system, whatever small things were made beside it."""

import ctypes
import os
import subprocess
import sys

import pytest
from django.conf import settings

from backoffice.server.freeing import limit_malloc_arenas

# Blocks of a megabyte between small ones that stay; before them one of the size from which the allocator learns.
WORK = """
import sys
from backoffice.server.freeing import give_back

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

if sys.argv[1] == "bounds":
    assert give_back()
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


def worked(how: str) -> tuple[int, int]:
    """The megabytes that the blocks took, and that were kept of them."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", WORK, how]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, check=True, text=True)
    most, kept = map(int, done.stdout.split())
    return most, kept


def test_large_blocks_go_back_and_without_bounds_they_stay() -> None:
    most, kept = worked("bounds")
    most_without, kept_without = worked("nothing")

    assert (most >= 95, kept < 10) == (True, True), (most, kept)
    assert (most_without >= 95, kept_without > 20) == (True, True), (most_without, kept_without)


def test_what_an_operator_has_set_stays() -> None:
    assert not limit_malloc_arenas({"MALLOC_ARENA_MAX": "1"})
