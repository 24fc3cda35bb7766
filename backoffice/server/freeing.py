"""Make glibc return freed memory to the operating system.

By default, glibc's allocator raises its thresholds when large blocks are freed. It then allocates such blocks in
per-thread arenas, and rarely returns this memory to the system. With fixed thresholds, each large response gets its own
memory mapping, which is removed when the response is freed. Smaller blocks, which most requests need, are not affected.
"""

import ctypes
import os
from collections.abc import Mapping

# Arguments for ``mallopt()``: M_TRIM_THRESHOLD (-1) and M_MMAP_THRESHOLD (-3) in bytes, and M_ARENA_MAX (-8).
_BOUNDS = {-1: 128 * 1024, -3: 128 * 1024, -8: 2}


def limit_malloc_arenas(environment: Mapping[str, str] = os.environ) -> bool:
    """Set fixed thresholds for this process and its forks, unless the environment contains a ``MALLOC_…`` variable.

    Returns:
        True if the thresholds were set. C libraries other than glibc do not have these thresholds.
    """
    if any(name.startswith("MALLOC_") for name in environment):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(name, bound) for name, bound in _BOUNDS.items())
