"""Leaky buckets in a file that all processes on one machine map into memory.

The file is a fixed-size table of records ``(key hash, level, time)``. The key's hash selects a group of adjacent
records, and any record of the group may store the bucket. A byte-range lock (between processes) and a mutex (between
threads) protect the group. If the group is full, a new bucket replaces the least recently used bucket, which has leaked
the most. A call takes about ten microseconds.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import threading
from pathlib import Path

_RECORD = struct.Struct("=Qdd")
_NEIGHBOURS = 8
_GROUPS = 8192
_GROUP_BYTES = _RECORD.size * _NEIGHBOURS


class FileBucketStore:
    """A table of leaky buckets in one file."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(descriptor).st_size < _GROUPS * _GROUP_BYTES:
            os.ftruncate(descriptor, _GROUPS * _GROUP_BYTES)
        self._descriptor = descriptor
        self._table = mmap.mmap(descriptor, _GROUPS * _GROUP_BYTES)
        self._mutex = threading.Lock()

    def consume(self, key: str, *, size: float, leak: float, now: float, amount: float = 1) -> tuple[float, bool]:
        """Add calls to a bucket of ``size`` calls that leaks ``leak`` calls per second. A negative amount is removed.

        Return the level after the call, and True if the bucket accepted the call. ``now`` is in seconds since 1970.
        """
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        name = int.from_bytes(digest[:8], "little") or 1
        start = int.from_bytes(digest[8:], "little") % _GROUPS * _GROUP_BYTES
        with self._mutex:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, _GROUP_BYTES, start)
            try:
                offset, level = self._find(name, start, leak, now)
                admitted = level + amount <= size
                if admitted:
                    level = max(0.0, level + amount)
                _RECORD.pack_into(self._table, offset, name, level, now)
                return level, admitted
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, _GROUP_BYTES, start)

    def _find(self, name: int, start: int, leak: float, now: float) -> tuple[int, float]:
        """Return the offset and current level of a bucket's record. A new bucket may replace the oldest record."""
        oldest, oldest_at = start, float("inf")
        for offset in range(start, start + _GROUP_BYTES, _RECORD.size):
            record_name, level, at = _RECORD.unpack_from(self._table, offset)
            if record_name == name:
                return offset, max(0.0, level - max(0.0, now - at) * leak)
            if at < oldest_at:
                oldest, oldest_at = offset, at
        return oldest, 0.0
