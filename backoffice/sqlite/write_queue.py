"""A fair write queue for a SQLite file. It serves writers of all processes in the order of their arrival.

SQLite's own waiting is not a queue. A blocked writer sleeps for longer and longer, and the first writer that happens to
find the file unlocked goes next. With many writers, most are quick, but some wait for seconds.

The queue consists of kernel locks on bytes of an empty file. A writer takes a timestamp from the monotonic clock, which
all processes share, and locks the byte at that position. The writer may start once it can also lock all earlier bytes,
because then no earlier writer is waiting or writing. The kernel releases the locks of a killed process, so a crash
cannot block the queue.

Waiting for a kernel lock cannot be combined with a timeout. Each waiting writer therefore opens a socket with an
address that contains the writer's timestamp. A writer that finishes looks for the next timestamp and wakes the waiting
writer through the socket. Waiting writers also poll every ``POLL_SECONDS``, in case a process was killed before it
could wake them.

The queue only makes the order fair. SQLite's own lock prevents simultaneous writes. If the queue is not available
(because the system does not support such locks or the folder is read-only), SQLite works as usual.
"""

import contextlib
import fcntl
import logging
import os
import socket
import struct
import sys
import time
import weakref
from pathlib import Path
from typing import Self

POLL_SECONDS = 0.01
# The format of ``struct flock`` on 64-bit Linux: type, base, start, length, process ID.
_FLOCK = struct.Struct("hhqqi4x")
_SUPPORTED = sys.platform == "linux" and sys.maxsize > 2**32

logger = logging.getLogger(__name__)
_open_queues: "weakref.WeakSet[WriteQueue]" = weakref.WeakSet()
_unusable_paths: set[str] = set()


class WriteQueue:
    """A connection's access to the write queue. The connection's turn to write lasts until ``leave`` or ``close``."""

    def __init__(self, path: str, fd: int) -> None:
        """Initialize the queue. Each queue needs its own open file, because a shared file would count as one writer."""
        self._path, self._fd, self._has_turn = path, fd, False
        status = os.fstat(fd)
        self._name = f"\0backoffice-gate-{status.st_dev:x}-{status.st_ino:x}-"
        self._finalizer = weakref.finalize(self, os.close, fd)
        _open_queues.add(self)

    @classmethod
    def open_for(cls, database: str) -> "Self | None":
        """Return the queue for a database file. If the queue is not available, log this once and return None."""
        path = f"{os.path.realpath(database)}-gate"
        try:
            if _SUPPORTED:
                return cls(path, _open_file(path, database))
            reason: object = "requires 64-bit Linux"
        except OSError as error:
            reason = error
        if path not in _unusable_paths:
            _unusable_paths.add(path)
            logger.warning(
                "No write queue for %s (%s). Under load, some writers may wait for a long time.", database, reason
            )
        return None

    def try_enter(self) -> bool:
        """Start this connection's turn if no other writer is writing or waiting. Return True if it has the turn."""
        self._has_turn = self._has_turn or self._lock(0, time.monotonic_ns() + 1)
        return self._has_turn

    def wait(self, seconds: float) -> bool:
        """Wait in the queue for this connection's turn. Return False if the turn does not come in time."""
        deadline = time.monotonic() + seconds
        while not self._lock(stamp := time.monotonic_ns(), 1):
            # Another writer with a later timestamp already has the turn, so get a new timestamp.
            continue
        try:
            with self._open_wakeup_socket(stamp) as wakeup_socket:
                while not self._lock(0, stamp + 1):
                    if (remaining := deadline - time.monotonic()) <= 0:
                        return False
                    wakeup_socket.settimeout(min(remaining, POLL_SECONDS))
                    with contextlib.suppress(TimeoutError):
                        wakeup_socket.recv(1)
            self._has_turn = True
            return True
        finally:
            if not self._has_turn:
                # An earlier writer may have just sent the wake-up to this socket, so wake the next writer.
                self._release()

    def leave(self) -> None:
        """End the turn and wake the next writer. Do nothing if it is not this connection's turn."""
        if self._has_turn:
            self._has_turn = False
            self._release()

    def close(self) -> None:
        self.leave()
        self._finalizer()

    def close_inherited(self) -> None:
        """Close the file in a forked process. The lock is not released, because it belongs to the parent process."""
        self._has_turn = False
        self._finalizer()

    @property
    def is_open(self) -> bool:
        """Return False after ``close``, and in a process that was forked after the file was opened."""
        return self._finalizer.alive

    def _release(self) -> None:
        self._set_lock(fcntl.F_UNLCK, 0, 0)
        # If the wake-up fails, the next writer notices its turn by polling.
        with contextlib.suppress(OSError):
            if (stamp := self._find_next_stamp()) > 0:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender_socket:
                    sender_socket.setblocking(False)
                    sender_socket.sendto(b"!", f"{self._name}{stamp}")

    def _find_next_stamp(self) -> int:
        """Return the timestamp of the next writer. Return 0 if another writer has the turn or no writer is waiting."""
        next_stamp, end = 0, 0
        while True:
            request = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, end, 0)
            kind, _, start, *_ = _FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, request))
            if kind == fcntl.F_UNLCK:
                return next_stamp
            if start == 0:
                return 0
            # The kernel reports an arbitrary lock in the range, so look for an earlier lock.
            next_stamp = end = start

    def _open_wakeup_socket(self, stamp: int) -> socket.socket:
        """Return a socket through which other writers can wake this writer. If binding fails, polling is sufficient."""
        wakeup_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            wakeup_socket.bind(f"{self._name}{stamp}")
        return wakeup_socket

    def _lock(self, start: int, length: int) -> bool:
        try:
            self._set_lock(fcntl.F_WRLCK, start, length)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _set_lock(self, kind: int, start: int, length: int) -> None:
        fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, start, length, 0))


def _open_file(path: str, database: str) -> int:
    """Open the queue file. As SQLite does, copy the permissions and, if running as root, the owner of the database."""
    status = Path(database).stat()
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.fchmod(fd, status.st_mode & 0o777)
    if os.geteuid() == 0:
        os.fchown(fd, status.st_uid, status.st_gid)
    return fd


def _close_inherited() -> None:
    for write_queue in list(_open_queues):
        write_queue.close_inherited()


os.register_at_fork(after_in_child=_close_inherited)
