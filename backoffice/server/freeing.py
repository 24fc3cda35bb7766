"""Memory that was freed goes back to the system.

The allocator of glibc learns from large blocks that large blocks are usual, and from then on takes them from arenas,
one for each thread, that it seldom gives back. With fixed bounds a large answer is a mapping of its own that goes with
it. Smaller blocks, of which nearly all requests are made, come as they came.
"""

import ctypes
import os
from collections.abc import Mapping

# What ``malloc.h`` calls M_TRIM_THRESHOLD, M_MMAP_THRESHOLD (bytes) and M_ARENA_MAX.
_BOUNDS = {-1: 128 * 1024, -3: 128 * 1024, -8: 2}


def give_back(environment: Mapping[str, str] = os.environ) -> bool:
    """Set the bounds for this process and those that it forks, unless its environment sets any (``MALLOC_…``).

    Returns:
        Whether they were set; other C libraries have none.
    """
    if any(name.startswith("MALLOC_") for name in environment):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(name, bound) for name, bound in _BOUNDS.items())
