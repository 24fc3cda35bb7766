"""Return freed memory to the system.

glibc's allocator raises its thresholds after large blocks and then takes such blocks from per-thread arenas, which it
rarely gives back. With fixed thresholds a large response gets its own mapping, which is unmapped with it. Smaller
blocks, the bulk of all requests, are not affected.
"""

import ctypes
import os
from collections.abc import Mapping

# M_TRIM_THRESHOLD, M_MMAP_THRESHOLD (bytes) and M_ARENA_MAX in ``malloc.h``.
_BOUNDS = {-1: 128 * 1024, -3: 128 * 1024, -8: 2}


def limit_malloc_arenas(environment: Mapping[str, str] = os.environ) -> bool:
    """Set the thresholds for this process and its forks, unless the environment sets any (``MALLOC_…``).

    Returns:
        True if the thresholds were set; other C libraries have none.
    """
    if any(name.startswith("MALLOC_") for name in environment):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(name, bound) for name, bound in _BOUNDS.items())
