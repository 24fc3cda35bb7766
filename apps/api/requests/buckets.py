"""Leaky buckets in a file that all processes of one machine map into memory.

The file is a fixed table of records ``(key hash, level, time)``. A key may lie in one of a few neighbouring records,
which are locked together by a byte-range lock (between processes) and a mutex (between threads). A full neighbourhood
gives up its oldest record: a bucket that nobody touched for longest has leaked the most.
A call costs some ten microseconds.
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


class FileBuckets:
    """The table of buckets in one file."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make it where it is missing."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(descriptor).st_size < _GROUPS * _GROUP_BYTES:
            os.ftruncate(descriptor, _GROUPS * _GROUP_BYTES)
        self._descriptor = descriptor
        self._table = mmap.mmap(descriptor, _GROUPS * _GROUP_BYTES)
        self._mutex = threading.Lock()

    def pour(self, key: str, *, size: float, leak: float, now: float, amount: float = 1) -> tuple[float, bool]:
        """Pour one call, or as much as is said, into a bucket.

        Args:
            key: Names the bucket.
            size: How many calls it holds.
            leak: How many leak per second.
            now: Seconds since 1970.
            amount: How much; what is negative is taken out again.

        Returns:
            The level after the call, and whether the call went in.
        """
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        name = int.from_bytes(digest[:8], "little") or 1
        start = int.from_bytes(digest[8:], "little") % _GROUPS * _GROUP_BYTES
        with self._mutex:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, _GROUP_BYTES, start)
            try:
                return self._pour(name, start, size=size, leak=leak, now=now, amount=amount)
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, _GROUP_BYTES, start)

    def _pour(
        self, name: int, start: int, *, size: float, leak: float, now: float, amount: float
    ) -> tuple[float, bool]:
        offset, level = self._find(name, start, leak, now)
        admitted = level + amount <= size
        if admitted:
            level = max(0.0, level + amount)
        _RECORD.pack_into(self._table, offset, name, level, now)
        return level, admitted

    def _find(self, name: int, start: int, leak: float, now: float) -> tuple[int, float]:
        """The record of a bucket and its level by now; else a free or the oldest record, empty."""
        oldest, oldest_at = start, float("inf")
        for offset in range(start, start + _GROUP_BYTES, _RECORD.size):
            found, level, at = _RECORD.unpack_from(self._table, offset)
            if found == name:
                return offset, max(0.0, level - max(0.0, now - at) * leak)
            if at < oldest_at:
                oldest, oldest_at = offset, at
        return oldest, 0.0
