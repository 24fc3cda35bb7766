"""Run a benchmark with a share of its rows: ``BENCH_SHARE=0.01``.

The smoke tests use this variable to check that each benchmark still runs. The measured figures mean nothing.
"""

import os

SHARE = float(os.environ.get("BENCH_SHARE", "1"))


def scale(count: int, least: int = 2) -> int:
    """Return the share of a number of rows, but at least ``least``."""
    return max(round(count * SHARE), least) if SHARE < 1 else count


def get_exit_code(is_over_limit: bool) -> int:
    """Return 1 if a result is over its limit. With a share of the rows, the results mean nothing."""
    return int(is_over_limit and SHARE == 1)
