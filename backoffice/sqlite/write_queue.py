"""Fair write queue of a SQLite file: writers of all processes go first come, first served.

SQLite's own wait is no queue: a blocked writer sleeps for longer and longer, and the next writer that happens to find
the file free goes first. With many writers most are quick and some wait for seconds.

The queue consists of kernel locks on bytes of an empty file. A writer takes a timestamp from the clock that all
processes share and locks the byte with that number. The writer may start once it can lock all bytes up to its own,
because then no earlier writer waits or writes. No state needs repair, and a killed process blocks no other.

Kernel locks can't wake a waiter that also has a timeout. A writer that finishes therefore looks up the next waiter,
uses the timestamp as its socket address and wakes it. Waiters also poll every ``POLL_SECONDS`` in case a process died
before it could wake them.

The queue only makes writers fair; SQLite's own lock keeps them apart. Without the queue (no such locks on this system,
or a read-only folder) SQLite works as usual.
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
# ``struct flock`` of 64-bit Linux: type, base, start, length, process id.
_FLOCK = struct.Struct("hhqqi4x")
_SUPPORTED = sys.platform == "linux" and sys.maxsize > 2**32

logger = logging.getLogger(__name__)
_open_queues: "weakref.WeakSet[WriteQueue]" = weakref.WeakSet()
_unusable_paths: set[str] = set()


class WriteQueue:
    """One connection's place in the write queue; it keeps the turn until ``leave`` or ``close``."""

    def __init__(self, path: str, fd: int) -> None:
        """Use a separate open file for each connection: connections that share one would count as one writer."""
        self._path, self._fd, self._has_turn = path, fd, False
        status = os.fstat(fd)
        self._name = f"\0backoffice-gate-{status.st_dev:x}-{status.st_ino:x}-"
        self._finalizer = weakref.finalize(self, os.close, fd)
        _open_queues.add(self)

    @classmethod
    def open_for(cls, database: str) -> "Self | None":
        """Return the queue of a database file; None, logged once, if the file can't have a queue."""
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
                "The write queue for %s is not available (%s): under load some writers may wait long.", database, reason
            )
        return None

    def try_enter(self) -> bool:
        """Take the turn if no other writer holds it or waits."""
        self._has_turn = self._has_turn or self._lock(0, time.monotonic_ns() + 1)
        return self._has_turn

    def wait(self, seconds: float) -> bool:
        """Queue for the turn and return True if it came in time."""
        deadline = time.monotonic() + seconds
        while not self._lock(stamp := time.monotonic_ns(), 1):
            # A writer that read the clock later already has the turn.
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
                # An earlier writer may have sent its wake-up here, so pass it on.
                self._release()

    def leave(self) -> None:
        """Pass the turn to the next writer; do nothing if the turn is not held."""
        if self._has_turn:
            self._has_turn = False
            self._release()

    def close(self) -> None:
        """Leave the queue for good."""
        self.leave()
        self._finalizer()

    def close_inherited(self) -> None:
        """Close the file in a forked process; the turn and the lock belong to the parent."""
        self._has_turn = False
        self._finalizer()

    @property
    def is_open(self) -> bool:
        """Return False after ``close``, and in a process forked from the one that opened the file."""
        return self._finalizer.alive

    def _release(self) -> None:
        self._set_lock(fcntl.F_UNLCK, 0, 0)
        # If the wake-up fails, the next writer finds out by polling.
        with contextlib.suppress(OSError):
            if (stamp := self._find_next_stamp()) > 0:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender_socket:
                    sender_socket.setblocking(False)
                    sender_socket.sendto(b"!", f"{self._name}{stamp}")

    def _find_next_stamp(self) -> int:
        """Return the timestamp of the next writer; 0 if a writer holds the turn or none waits."""
        next_stamp, end = 0, 0
        while True:
            request = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, end, 0)
            kind, _, start, *_ = _FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, request))
            if kind == fcntl.F_UNLCK:
                return next_stamp
            if start == 0:
                return 0
            # The kernel reports any of the locks, so there may be an earlier one.
            next_stamp = end = start

    def _open_wakeup_socket(self, stamp: int) -> socket.socket:
        """Return the socket that other writers wake; if it can't be bound, polling is enough."""
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
    """Open the queue's file with the permissions and, as root, the owner of the database file, as SQLite does."""
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
